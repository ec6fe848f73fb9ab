//! The boot images whose joined nodes an update breaks, as PromQL over the label that they have (pure).

use super::refused::{LABEL, Versions, bounds, concerns, is_told, target_of};
use crate::lint::starter::with_shipped;
use crate::policy::{Affects, KnownIssue, Policy};
use crate::verdict::{InstalledNode, Machine, Target, update_issues};
use crate::version::Release;
use std::collections::BTreeMap;

/// Joined nodes that the update to a release breaks, as far as a label can say it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NodesAtRisk {
    /// A series for each image that joined nodes were made from, its value the number of nodes;
    /// `None` where no such image is known.
    pub(crate) expression: Option<String>,
    /// Issues that the label cannot tell.
    pub(crate) left_out: Vec<String>,
}

impl NodesAtRisk {
    /// For the update to `release`, by the issues of the policy, and the shipped ones that it does not
    /// have: those of updates are left to the audit and to this.
    ///
    /// # Errors
    /// As [`super::Refused::new`].
    pub(crate) fn new(policy: &Policy, release: &str) -> Result<Self, String> {
        let target = target_of(Some(release));
        let issues = with_shipped(&policy.known_issues)
            .filter(|issue| issue.affects == Affects::Update && concerns(issue, &target));
        let (told, others): (Vec<_>, Vec<_>) =
            issues.cloned().partition(|issue| is_told(issue, &target));
        let mut by_architecture = BTreeMap::<_, Vec<_>>::new();
        for issue in told {
            let group = by_architecture.entry(architectures(&issue));
            group.or_default().push(issue);
        }
        let mut nodes = Vec::new();
        for (architectures, issues) in by_architecture {
            let versions = versions_at_risk(&issues, &architectures, &target);
            nodes.extend(nodes_of(&architectures, &versions)?);
        }
        let before = release.parse().map(before).unwrap_or_default();
        Ok(Self {
            expression: (!nodes.is_empty()).then(|| {
                let nodes = nodes.join("  or\n");
                format!("count by ({LABEL}) (\n{nodes})\n{before}")
            }),
            left_out: others.into_iter().map(|issue| issue.id).collect(),
        })
    }
}

/// The versions of which a node of one of these architectures has one of the issues at an update.
pub(super) fn versions_at_risk(
    issues: &[KnownIssue],
    architectures: &[String],
    target: &Target,
) -> Versions {
    let machine = Machine {
        architecture: architectures.first().cloned(),
        ..Machine::default()
    };
    let bounds: Vec<_> = bounds(issues).collect();
    Versions::new(&bounds, |version| {
        let node = InstalledNode {
            version: Some(&version),
            target,
            platform: None,
            machine: &machine,
        };
        let found = update_issues(issues, node);
        let has = !found.has.is_empty();
        (has || found.unknown.is_empty()).then_some(has)
    })
}

/// The series of nodes of these architectures that have one of the versions.
pub(super) fn nodes_of(
    architectures: &[String],
    versions: &Versions,
) -> Result<Option<String>, String> {
    let nodes = versions.nodes()?;
    if architectures.is_empty() {
        return Ok(nodes);
    }
    let these = labels(architectures);
    let and = format!("and on (node)\n  kube_node_labels{{{ARCHITECTURE}=~\"{these}\"}}");
    Ok(nodes.map(|nodes| format!("  (\n{nodes}  {and}\n  )\n")))
}

/// Only while the cluster is not yet of the target's minor release: its nodes keep the boot image
/// that they were installed from.
fn before(release: Release) -> String {
    let (major, minor) = (release.minor.major, release.minor.minor);
    format!(
        "and on ()\n(max(cluster_version{{type=\"current\",version!~\"{major}[.]{minor}[.].*\"}}) > 0)"
    )
}

/// A Node's label for its architecture, as kube-state-metrics exports it.
pub(super) const ARCHITECTURE: &str = "label_kubernetes_io_arch";

/// The architectures that an issue is of; none are all.
pub(super) fn architectures(issue: &KnownIssue) -> Vec<String> {
    let scope = issue.scope.as_ref().ok();
    let names = scope.and_then(|scope| scope.when.architectures.clone());
    names.unwrap_or_default()
}

/// An expression for architectures, as that label has them.
pub(super) fn labels(architectures: &[String]) -> String {
    let names = architectures.iter().map(|name| match name.as_str() {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        name => name,
    });
    names.collect::<Vec<_>>().join("|")
}
