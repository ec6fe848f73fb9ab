//! The boot images whose joined nodes an update breaks, as PromQL over the label that they have (pure).
//!
//! The issues of updates become issues of first boots, about images alone, and go the same way.

use super::refused::{LABEL, Refused};
use crate::audit::is_okd;
use crate::policy::{Affects, Effect, KnownIssue, Mode, Policy, Scope, When};
use crate::version::{OsFamily, Release};

/// A version of Fedora CoreOS: its release, day, stream and build.
const FCOS: &str = "[1-9][0-9][.]20[0-9]{6}[.][0-9]{1,9}[.][0-9]{1,9}";

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
        let (mut of_images, mut has_fcos) = (Vec::new(), false);
        let updates = policy.known_issues.iter();
        for issue in updates.filter(|issue| issue.affects == Affects::Update) {
            match label_answer(issue, release, of_okd) {
                LabelAnswer::No => {}
                LabelAnswer::ByImage(issue) => of_images.push(*issue),
                LabelAnswer::IfFcos => has_fcos = true,
                LabelAnswer::NotByLabel => born.left_out += 1,
            }
        }
        let policy = Policy {
            mode: Mode::Enforce,
            limits: Vec::new(),
            known_issues: of_images,
            warnings: Vec::new(),
            ..policy.clone()
        };
        let refused = Refused::new(&policy, Some(release))?;
        born.left_out += refused.left_out.len();
        let fcos = has_fcos.then(|| {
            format!(
                "  group by (node, {LABEL}) (\n    kube_node_labels{{{LABEL}=~\"{FCOS}\"}}\n  )\n"
            )
        });
        let nodes: Vec<String> = refused.nodes.into_iter().chain(fcos).collect();
        born.expression = (!nodes.is_empty()).then(|| {
            let before = before(release);
            format!("count by ({LABEL}) (\n{})\n{before}", nodes.join("  or\n"))
        });
        Ok(born)
    }
}

/// Only while the cluster is not yet of the target's minor release: its nodes stay what they were born.
fn before(release: Release) -> String {
    let (major, minor) = (release.minor.major, release.minor.minor);
    format!(
        "and on ()\n(max(cluster_version{{type=\"current\",version!~\"{major}[.]{minor}[.].*\"}}) > 0)"
    )
}

/// Answer of a label about an issue.
enum LabelAnswer {
    /// The update is not affected.
    No,
    ByImage(Box<KnownIssue>),
    /// Every node that was born from Fedora CoreOS has it.
    IfFcos,
    NotByLabel,
}

fn label_answer(issue: &KnownIssue, release: Release, of_okd: bool) -> LabelAnswer {
    let Ok(scope) = &issue.scope else {
        return LabelAnswer::NotByLabel;
    };
    let targets = scope.targets.as_ref();
    let is_other = scope.when.okd.is_some_and(|okd| okd != of_okd);
    if is_other || targets.is_some_and(|targets| !targets.contains(release)) {
        return LabelAnswer::No;
    }
    let when = When {
        okd: None,
        ..scope.when.clone()
    };
    let of_fcos = When {
        os_families: Some(vec![OsFamily::Fcos]),
        ..When::default()
    };
    if when == of_fcos && scope.images.is_empty() {
        return LabelAnswer::IfFcos;
    }
    if when != When::default() {
        return LabelAnswer::NotByLabel;
    }
    LabelAnswer::ByImage(Box::new(KnownIssue {
        affects: Affects::FirstBoot,
        effect: Effect::Refuse,
        scope: Ok(Scope {
            when,
            ..scope.clone()
        }),
        ..issue.clone()
    }))
}
