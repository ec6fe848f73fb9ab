//! The known issues of updates as conditional risks of an update graph (pure).
//!
//! Graph data (openshift/cincinnati-graph-data, `blocked-edges`) guesses what nodes were born with
//! from the cluster's history. Their label says it: the expression is 1 where a node has the issue,
//! 0 where every node's label says that it has not, and without an answer otherwise, as the
//! cluster-version operator takes it.

use super::born::{
    ARCHITECTURE, FCOS, LabelAnswer, at_birth, fcos_nodes, label_answer, nodes_with,
    of_architectures,
};
use super::refused::{LABEL, well_formed};
use crate::lint::starter::{KNOWN_ISSUES, STARTER};
use crate::lint::today::shipped;
use crate::policy::{Affects, KnownIssue, Policy, Scope, parse};
use crate::template::Object;
use crate::version::{OcpMinor, Release};
use serde_json::Value;

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
    /// As [`Refused::new`].
    pub(crate) fn shipped() -> Result<Self, String> {
        let list: Vec<Value> = serde_json::from_str(KNOWN_ISSUES).unwrap_or_default();
        let policy = parse(STARTER.as_bytes())?;
        let mut found = Self::default();
        let updates = shipped().iter();
        for issue in updates.filter(|issue| issue.affects == Affects::Update) {
            let written = list.iter().find(|written| written["id"] == *issue.id);
            match (expression(&policy, issue)?, written) {
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

/// 1, 0 or no answer; `None` where the label cannot tell.
fn expression(policy: &Policy, issue: &KnownIssue) -> Result<Option<String>, String> {
    let Ok(scope) = &issue.scope else {
        return Ok(None);
    };
    let architectures = of_architectures(&scope.when);
    let (nodes, understood) = match label_answer(scope) {
        LabelAnswer::NotByLabel => return Ok(None),
        LabelAnswer::IfFcos => (Some(fcos_nodes()), format!("{FCOS}|{}", well_formed())),
        LabelAnswer::ByImage => {
            let any_target = Scope {
                targets: None,
                ..scope.clone()
            };
            let issues = vec![at_birth(issue, &any_target)];
            let (nodes, _) = nodes_with(policy, issues, architectures.as_deref(), ANY)?;
            (nodes, well_formed())
        }
    };
    const LINUX: &str = "label_kubernetes_io_os!=\"windows\"";
    let unknown = format!("{LABEL}!~\"{understood}\",{LINUX}");
    let unknown = match architectures {
        None => format!("kube_node_labels{{{unknown}}}"),
        Some(these) => format!(
            "(kube_node_labels{{{ARCHITECTURE}=\"\",{LINUX}}} or kube_node_labels{{{ARCHITECTURE}=~\"{these}\",{unknown}}})"
        ),
    };
    let expression = nodes.map(|nodes| {
        format!(
            "group(\n{nodes})\nor\n0 * group(kube_node_labels{{{LABEL}!=\"\"}})\nunless on ()\n{unknown}\n"
        )
    });
    // HyperShift puts a cluster's id there, where one engine has the metrics of many.
    let of_one_cluster =
        |text: String| text.replace("kube_node_labels{", "kube_node_labels{_id=\"\",");
    Ok(expression.map(of_one_cluster))
}

/// Release of an issue without targets.
const ANY: Release = Release {
    minor: OcpMinor { major: 4, minor: 0 },
    patch: 0,
};
