//! The boot images whose joined nodes an update breaks, as PromQL over the label that they have (pure).
//!
//! The issues of updates become issues of first boots, about images alone, and go the same way.

use super::refused::{LABEL, Refused};
use crate::audit::is_okd;
use crate::policy::{Affects, Effect, KnownIssue, Mode, Policy, Scope, When};
use crate::version::{OsFamily, Release};
use std::collections::BTreeMap;

/// A version of Fedora CoreOS: its release, day, stream and build.
pub(super) const FCOS: &str = "[1-9][0-9][.]20[0-9]{6}[.][0-9]{1,9}[.][0-9]{1,9}";

/// Joined nodes that the update to a release breaks, as far as a label can say it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Born {
    /// A series for each image that joined nodes were made from, its value the number of nodes;
    /// `None` where the policy names no such image.
    pub(crate) expression: Option<String>,
    /// Issues that the label cannot tell.
    pub(crate) left_out: usize,
}

impl Born {
    /// For the update to `target`.
    ///
    /// # Errors
    /// As [`Refused::new`].
    pub(crate) fn new(policy: &Policy, target: &str) -> Result<Self, String> {
        let release: Option<Release> = target.parse().ok();
        let Some(release) = release else {
            return Ok(Self::default());
        };
        let of_okd = is_okd(target);
        let mut born = Self::default();
        let (mut by_architecture, mut nodes) = (BTreeMap::<_, Vec<_>>::new(), Vec::new());
        let updates = policy.known_issues.iter();
        for issue in updates.filter(|issue| issue.affects == Affects::Update) {
            let Ok(scope) = &issue.scope else {
                born.left_out += 1;
                continue;
            };
            let is_other = scope.when.okd.is_some_and(|okd| okd != of_okd);
            let targets = scope.targets.as_ref();
            if is_other || targets.is_some_and(|targets| !targets.contains(release)) {
                continue;
            }
            match label_answer(scope) {
                LabelAnswer::ByImage => {
                    let these = by_architecture.entry(of_architectures(&scope.when));
                    these.or_default().push(at_birth(issue, scope));
                }
                LabelAnswer::IfFcos => nodes.push(fcos_nodes()),
                LabelAnswer::NotByLabel => born.left_out += 1,
            }
        }
        for (architectures, issues) in by_architecture {
            let (found, left_out) = nodes_with(policy, issues, architectures.as_deref(), release)?;
            born.left_out += left_out;
            nodes.extend(found);
        }
        nodes.sort_by_key(|nodes| nodes.contains(FCOS));
        born.expression = (!nodes.is_empty()).then(|| {
            let before = before(release);
            format!("count by ({LABEL}) (\n{})\n{before}", nodes.join("  or\n"))
        });
        Ok(born)
    }
}

/// The series of nodes of these architectures that have one of the issues, which are about images
/// alone, and the parts that are left out.
pub(super) fn nodes_with(
    policy: &Policy,
    known_issues: Vec<KnownIssue>,
    architectures: Option<&str>,
    release: Release,
) -> Result<(Option<String>, usize), String> {
    let policy = Policy {
        mode: Mode::Enforce,
        limits: Vec::new(),
        known_issues,
        warnings: Vec::new(),
        ..policy.clone()
    };
    let Refused {
        nodes, left_out, ..
    } = Refused::new(&policy, Some(release))?;
    let nodes = nodes.map(|nodes| match architectures {
        Some(these) => format!(
            "  (\n{nodes}  and on (node)\n  kube_node_labels{{{ARCHITECTURE}=~\"{these}\"}}\n  )\n"
        ),
        None => nodes,
    });
    Ok((nodes, left_out.len()))
}

/// The series of nodes that were installed from Fedora CoreOS.
pub(super) fn fcos_nodes() -> String {
    format!("  group by (node, {LABEL}) (\n    kube_node_labels{{{LABEL}=~\"{FCOS}\"}}\n  )\n")
}

/// Only while the cluster is not yet of the target's minor release: its nodes stay what they were born.
fn before(release: Release) -> String {
    let (major, minor) = (release.minor.major, release.minor.minor);
    format!(
        "and on ()\n(max(cluster_version{{type=\"current\",version!~\"{major}[.]{minor}[.].*\"}}) > 0)"
    )
}

/// Answer of a label about an issue.
pub(super) enum LabelAnswer {
    ByImage,
    /// Every node that was installed from Fedora CoreOS has it.
    IfFcos,
    NotByLabel,
}

pub(super) fn label_answer(scope: &Scope) -> LabelAnswer {
    let when = When {
        architectures: None,
        okd: None,
        ..scope.when.clone()
    };
    let of_fcos = When {
        os_families: Some(vec![OsFamily::Fcos]),
        ..When::default()
    };
    if when == of_fcos && scope.images.is_empty() && scope.when.architectures.is_none() {
        return LabelAnswer::IfFcos;
    }
    match when == When::default() {
        true => LabelAnswer::ByImage,
        false => LabelAnswer::NotByLabel,
    }
}

/// The issue, of the first boot of every node with its images.
pub(super) fn at_birth(issue: &KnownIssue, scope: &Scope) -> KnownIssue {
    KnownIssue {
        affects: Affects::FirstBoot,
        effect: Effect::Refuse,
        scope: Ok(Scope {
            when: When::default(),
            ..scope.clone()
        }),
        ..issue.clone()
    }
}

/// A Node's label for its architecture, as kube-state-metrics exports it.
pub(super) const ARCHITECTURE: &str = "label_kubernetes_io_arch";

/// An expression for the architectures, as that label has them.
pub(super) fn of_architectures(when: &When) -> Option<String> {
    let names = when.architectures.as_ref()?.iter();
    let names = names.map(|name| match name.as_str() {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        name => name,
    });
    Some(names.collect::<Vec<_>>().join("|"))
}
