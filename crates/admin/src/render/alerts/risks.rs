//! The known issues of updates as conditional risks of an update graph (pure).
//!
//! Graph data (openshift/cincinnati-graph-data, `blocked-edges`) guesses what nodes were installed with
//! from the cluster's history. Their label says it: the expression is 1 where a node has the issue,
//! 0 where every node's label says that it has not, and without an answer otherwise, as the
//! cluster-version operator takes it.

use super::at_risk::{ARCHITECTURE, architectures, labels, nodes_of, versions_at_risk};
use super::refused::{LABEL, is_told, target_of};
use crate::lint::starter::{KNOWN_ISSUES, shipped};
use crate::policy::{Affects, KnownIssue};
use crate::template::Object;
use crate::verdict::Target;
use serde_json::Value;
use std::slice;

/// The risks of all releases, and the issues that no label tells.
#[derive(Debug, Default)]
pub(crate) struct Risks {
    pub(crate) risks: Vec<Object>,
    pub(crate) left_out: Vec<String>,
}

impl Risks {
    /// Risks of the issues that this version ships.
    ///
    /// # Errors
    /// As [`super::Refused::new`].
    pub(crate) fn shipped() -> Result<Self, String> {
        let list: Vec<Value> = serde_json::from_str(KNOWN_ISSUES).unwrap_or_default();
        let mut found = Self::default();
        let updates = shipped().iter();
        for issue in updates.filter(|issue| issue.affects == Affects::Update) {
            let written = list.iter().find(|written| written["id"] == *issue.id);
            match (expression(issue)?, written) {
                (Some(expression), Some(written)) => {
                    found.risks.push(risk(issue, &expression, written));
                }
                _ => found.left_out.push(issue.id.clone()),
            }
        }
        Ok(found)
    }
}

fn risk(issue: &KnownIssue, expression: &str, written: &Value) -> Object {
    let text = |field: &str| written[field].as_str().unwrap_or_default();
    let [targets, url, remedy] = ["targets", "url", "remedy"].map(text);
    Object::new(
        include_str!("risk.yaml"),
        &[
            ("name", &issue.id),
            ("targets", &targets),
            ("url", &url),
            ("reason", &issue.reason),
            ("remedy", &remedy),
            ("expression", &expression),
        ],
    )
}

/// A release that the issue concerns.
fn concerned(issue: &KnownIssue) -> Option<Target> {
    let scope = issue.scope.as_ref().ok()?;
    let window = scope.targets.as_ref()?;
    let release = window.turns().find(|turn| window.contains(*turn))?;
    let okd = scope.when.okd.filter(|okd| *okd).map_or("", |_| "-okd");
    Some(target_of(Some(&format!("{release}{okd}"))))
}

/// 1, 0 or no answer; `None` where the label cannot tell.
fn expression(issue: &KnownIssue) -> Result<Option<String>, String> {
    let target = concerned(issue).filter(|target| is_told(issue, target));
    let Some(target) = target else {
        return Ok(None);
    };
    let architectures = architectures(issue);
    let versions = versions_at_risk(slice::from_ref(issue), &architectures, &target);
    const LINUX: &str = "label_kubernetes_io_os!=\"windows\"";
    let unknown = format!("{LABEL}!~\"{}\",{LINUX}", versions.told.join("|"));
    let unknown = match labels(&architectures) {
        these if these.is_empty() => format!("kube_node_labels{{{unknown}}}"),
        these => format!(
            "(kube_node_labels{{{ARCHITECTURE}=\"\",{LINUX}}} or kube_node_labels{{{ARCHITECTURE}=~\"{these}\",{unknown}}})"
        ),
    };
    let expression = nodes_of(&architectures, &versions)?.map(|nodes| {
        format!(
            "group(\n{nodes})\nor\n0 * group(kube_node_labels{{{LABEL}!=\"\"}})\nunless on ()\n{unknown}\n"
        )
    });
    // HyperShift puts a cluster's id there, where one engine has the metrics of many.
    let of_one_cluster =
        |text: String| text.replace("kube_node_labels{", "kube_node_labels{_id=\"\",");
    Ok(expression.map(of_one_cluster))
}
