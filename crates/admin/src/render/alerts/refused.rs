//! The boot images that a policy refuses, as PromQL over the label that joined nodes have (pure).
//!
//! No rule is written a second time here. The decision itself is asked about every published
//! version, and about each [`Beginning`]: its versions alert up to the first day on which one would be
//! let in. That is a day that the policy compares with, or one that an image was published on.

use super::beginnings::{Beginning, beginnings, day, escaped};
use crate::decider::Decider;
use crate::policy::{
    Affects, Bound, Effect, KnownIssue, Limit, Policy, Scope, VersionBound, When, choose,
};
use crate::verdict::Target;
use crate::version::{ImageVersion, Release};
use skewguard_cluster::names::count;
use std::collections::BTreeSet;

/// The label as kube-state-metrics exports it.
pub(super) const LABEL: &str = "label_skewguard_dev_boot_image";

/// The label of a node whose boot image is unknown.
const UNKNOWN: &str = "unknown";

/// The longest expression, in bytes.
const EXPRESSION_MAX: usize = 64 << 10;

/// Ends a denied version that stands for all that begin with it.
const ANYTHING: char = '*';

/// A text that no policy has: what is denied by its text is not asked by day.
const NO_TEXT: &str = "\0";

/// Nodes that a policy refuses, as far as a label can say it.
#[derive(Debug)]
pub(crate) struct Refused {
    /// A series for each node that has a refused version; `None` where nothing is refused.
    pub(crate) nodes: Option<String>,
    /// Parts of the policy that are left out, and why.
    pub(crate) left_out: Vec<String>,
}

impl Refused {
    /// For nodes of a cluster of the release `target`; `None` takes the limits for any release.
    ///
    /// # Errors
    /// The expression would be larger than Prometheus should evaluate. The text says what to do.
    pub(crate) fn new(policy: &Policy, target: Option<&str>) -> Result<Self, String> {
        let target = target_of(target);
        let limit = choose(&policy.limits, release(&target), None);
        let issues = policy.known_issues.iter();
        let asked = Policy {
            limits: limit.cloned().into_iter().collect(),
            known_issues: issues
                .filter(|issue| is_told(issue, &target))
                .cloned()
                .collect(),
            ..policy.clone()
        };
        let rules = asked.limits.iter().flat_map(|limit| &limit.rules);
        let rules = rules.filter_map(|(_, bound)| bound.as_ref().ok());
        let bounds: Vec<_> = rules.chain(bounds(&asked.known_issues)).collect();
        let mut left_out = left_out(policy, &target);
        let mut decider = Decider::new(asked.clone(), target.release, None);
        let versions = Versions::new(&bounds, |version| Some(decider.refuses(version)));
        if versions.of_no_label > 0 {
            left_out.push(format!(
                "{} denied versions with characters that a label cannot have",
                versions.of_no_label
            ));
        }
        Ok(Self {
            nodes: versions.nodes()?,
            left_out,
        })
    }
}

/// Versions of which something is asked.
#[derive(Debug, Default)]
pub(super) struct Versions {
    /// Those of which it is so, where no pattern has them.
    literals: BTreeSet<String>,
    patterns: Vec<String>,
    /// Patterns of those with an answer, whichever.
    pub(super) told: Vec<String>,
    of_no_label: usize,
}

impl Versions {
    /// `ask` says whether it is so, by these bounds.
    pub(super) fn new(
        bounds: &[&Bound],
        mut ask: impl FnMut(ImageVersion) -> Option<bool>,
    ) -> Self {
        let mut versions = Self::default();
        let denied = bounds.iter().flat_map(|bound| match bound {
            Bound::Denied(denied) => denied.entries.as_slice(),
            _ => &[],
        });
        let denied: BTreeSet<&str> = denied.map(|entry| &*entry.version).collect();
        for entry in denied {
            versions.add_text(entry, &mut ask);
        }
        let days = bounds.iter().filter_map(|bound| match bound {
            Bound::Version(.., VersionBound::Image(image)) => day(image),
            _ => None,
        });
        // One before and one after all of them: between two of them the answer is the same.
        let days = days.chain(["20000101", "20991231"].map(str::to_owned));
        let days = days.collect();
        for beginning in beginnings() {
            versions.add(&beginning, &days, |mut version| {
                NO_TEXT.clone_into(&mut version.text);
                ask(version)
            });
        }
        versions
    }

    fn add_text(&mut self, entry: &str, mut ask: impl FnMut(ImageVersion) -> Option<bool>) {
        let beginning = entry.strip_suffix(ANYTHING);
        let text = beginning.unwrap_or(entry);
        let is_of_label = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let more = beginning.map_or("", |_| "~");
        match ask(ImageVersion::parse(&format!("{text}{more}"))) {
            Some(true) if !text.chars().all(is_of_label) => self.of_no_label += 1,
            Some(true) if beginning.is_some() => self.patterns.push(escaped(text) + ".*"),
            Some(true) if text != UNKNOWN => drop(self.literals.insert(text.to_owned())),
            _ => {}
        }
    }

    fn add(
        &mut self,
        beginning: &Beginning,
        days: &BTreeSet<String>,
        mut ask: impl FnMut(ImageVersion) -> Option<bool>,
    ) {
        let published = beginning.published.iter().map(|version| (*version).clone());
        let (found, others): (Vec<_>, Vec<_>) =
            published.partition(|version| ask(version.clone()) == Some(true));
        let on_days = days.iter().map(|day| (day, ask(beginning.on(day))));
        let on_days: Vec<_> = on_days.collect();
        let not_on = on_days.iter().filter(|(_, answer)| *answer != Some(true));
        let not_on = not_on.map(|(day, _)| (*day).clone());
        let first = others.iter().filter_map(day).chain(not_on).min();
        if first.as_ref() != days.first() {
            self.patterns.push(beginning.pattern(first.as_ref()));
        }
        if on_days.iter().all(|(_, answer)| answer.is_some()) {
            self.told.push(beginning.pattern(None));
        }
        let left = found
            .into_iter()
            .filter(|version| first.is_some() && day(version) >= first);
        self.literals.extend(left.map(|version| version.text));
    }

    /// The series of nodes with one of them.
    pub(super) fn nodes(&self) -> Result<Option<String>, String> {
        let mut selectors = Vec::new();
        // Alternatives of nothing but literals are looked up, and not evaluated one by one
        // (prometheus/prometheus, model/labels/regexp.go).
        if !self.literals.is_empty() {
            let literals: Vec<_> = self.literals.iter().map(|text| escaped(text)).collect();
            selectors.push(format!(
                "kube_node_labels{{{LABEL}=~\"{}\"}}",
                literals.join("|")
            ));
        }
        if !self.patterns.is_empty() {
            // Every node without the label has the empty one here.
            selectors.push(format!(
                "kube_node_labels{{{LABEL}!=\"\",{LABEL}!=\"{UNKNOWN}\",{LABEL}=~\"{}\"}}",
                self.patterns.join("|")
            ));
        }
        let nodes = selectors.join("\n    or\n    ");
        if nodes.len() > EXPRESSION_MAX {
            return Err(format!(
                "the versions that the policy denies make an expression of {} bytes; Prometheus should not evaluate more than \
                 {EXPRESSION_MAX} every 30 seconds. Deny them by their common beginning, with * at its end, or by a minimum",
                nodes.len()
            ));
        }
        // Two instances of kube-state-metrics are one node.
        let group = || format!("  group by (node, {LABEL}) (\n    {nodes}\n  )\n");
        Ok((!nodes.is_empty()).then(group))
    }
}

pub(super) fn target_of(release: Option<&str>) -> Target {
    Target {
        release: release.map(str::to_owned),
        ..Target::default()
    }
}

fn release(target: &Target) -> Option<Release> {
    target.release.as_ref()?.parse().ok()
}

/// The bounds of issues that are understood.
pub(super) fn bounds(issues: &[KnownIssue]) -> impl Iterator<Item = &Bound> {
    let scopes = issues.iter().filter_map(|issue| issue.scope.as_ref().ok());
    scopes
        .flat_map(|scope| &scope.images)
        .map(|(_, bound)| bound)
}

/// Parts of the policy that no label tells.
fn left_out(policy: &Policy, target: &Target) -> Vec<String> {
    let parts = [
        (
            target.release.is_none() && policy.limits.iter().any(|limit| limit.release.is_some()),
            "limits for certain releases: name the cluster's with --target",
        ),
        (
            policy.limits.iter().any(|limit| limit.pools.is_some()),
            "limits for certain pools: the metric does not say a node's pool",
        ),
        (
            policy.limits.iter().any(Limit::is_narrowed),
            "limits with conditions: the metric does not say more than a node's boot image",
        ),
    ];
    let parts = parts.into_iter().filter(|(is_left_out, _)| *is_left_out);
    let mut left_out: Vec<String> = parts.map(|(_, part)| part.to_owned()).collect();
    let conditional = policy.known_issues.iter().filter(|issue| {
        let refuses = issue.affects == Affects::FirstBoot && issue.effect == Effect::Refuse;
        refuses && concerns(issue, target) && !is_told(issue, target)
    });
    let conditional: Vec<&str> = conditional.map(|issue| &*issue.id).collect();
    if !conditional.is_empty() {
        left_out.push(format!(
            "{} with conditions ({}): the metric does not say more than a node's boot image",
            count(conditional.len(), "known issue"),
            conditional.join(", ")
        ));
    }
    left_out
}

/// Tells whether nodes of a cluster of this release may have the issue.
pub(super) fn concerns(issue: &KnownIssue, target: &Target) -> bool {
    let Ok(Scope { targets, when, .. }) = &issue.scope else {
        return true;
    };
    let window = targets.as_ref().zip(release(target));
    let okd = when.okd.zip(target.is_okd());
    window.is_none_or(|(window, release)| window.contains(release))
        && okd.is_none_or(|(wanted, okd)| wanted == okd)
}

/// Tells whether labels say all that the issue asks for: of joined nodes also the architecture.
pub(super) fn is_told(issue: &KnownIssue, target: &Target) -> bool {
    let Ok(Scope { images, when, .. }) = &issue.scope else {
        return false;
    };
    let is_of_update = issue.affects == Affects::Update;
    let told = When {
        os_families: when.os_families.clone(),
        okd: when.okd.filter(|_| target.is_okd().is_some()),
        architectures: when.architectures.clone().filter(|_| is_of_update),
        ..When::default()
    };
    *when == told && images.iter().all(|(_, bound)| !bound.is_about_machine())
}
