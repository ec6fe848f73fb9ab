//! Failures of new nodes that a release is known for (pure): `release_issues.yaml` has them, with a source each.
//! They are possible causes beside a finding, and decide nothing.

use super::case::Case;
use super::way::Stage;
use serde::Deserialize;
use skewguard_core::platform::Platform;
use skewguard_core::version::Release;
use std::sync::LazyLock;

#[derive(Debug, Deserialize)]
struct Issue {
    name: String,
    source: String,
    releases: Vec<Range>,
    /// Those of Machines; none is all.
    #[serde(default)]
    platforms: Vec<String>,
    /// The ClusterOperator that its clusters have.
    operator: Option<String>,
    /// It is of hosted clusters alone.
    #[serde(default)]
    hosted: bool,
    stages: Vec<Stage>,
    what: String,
}

#[derive(Debug, Deserialize)]
struct Range {
    from: String,
    to: String,
}

static ISSUES: LazyLock<Vec<Issue>> = LazyLock::new(|| {
    serde_saphyr::from_str(include_str!("release_issues.yaml")).unwrap_or_default()
});

/// A release; a candidate is none.
fn published(text: &str) -> Option<Release> {
    let release: Release = text.parse().ok()?;
    (release.to_string() == text).then_some(release)
}

impl Issue {
    /// The range that has the release.
    fn range(&self, release: &str) -> Option<&Range> {
        let own = published(release)?;
        let has = |range: &&Range| {
            let ends = published(&range.from).zip(published(&range.to));
            ends.is_some_and(|(from, to)| from <= own && own <= to)
        };
        self.releases.iter().find(has)
    }
}

impl Case<'_> {
    /// Failures that the cluster's release is known for, of machines that stopped here.
    pub(super) fn release_issues(&self, stage: Stage) -> Vec<String> {
        let platform = self.machine.and_then(|machine| machine.source.platform());
        let platform = platform.map_or("none", Platform::id);
        let operators = &self.facts.operators;
        let is_hosted = self
            .machine
            .is_some_and(|machine| machine.node_pool.is_some());
        let is_own = |issue: &&Issue| {
            let operator = issue.operator.as_ref();
            issue.stages.contains(&stage)
                && (is_hosted || !issue.hosted)
                && (issue.platforms.is_empty() || issue.platforms.iter().any(|own| own == platform))
                && operator.is_none_or(|own| operators.is_empty() || operators.contains_key(own))
        };
        let release = self.facts.release.as_deref().unwrap_or_default();
        let says = |issue: &Issue| {
            let Range { from, to } = issue.range(release)?;
            Some(format!(
                "A possible cause, known of {from} to {to}: {} ({}, {})",
                issue.what, issue.name, issue.source
            ))
        };
        ISSUES.iter().filter(is_own).filter_map(says).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_issue_has_releases_a_source_and_stages() {
        assert_eq!(ISSUES.len(), 7);
        for issue in ISSUES.iter() {
            assert!(issue.source.starts_with("https://"), "{issue:?}");
            assert!(!issue.stages.is_empty() && !issue.releases.is_empty());
            for platform in &issue.platforms {
                assert!(platform == "none" || Platform::named(platform).is_some());
            }
            for Range { from, to } in &issue.releases {
                let ends = published(from).zip(published(to));
                assert!(ends.is_some_and(|(from, to)| from <= to), "{from} {to}");
            }
        }
        let of = |release| ISSUES.iter().find_map(|issue| issue.range(release));
        assert_eq!(of("4.20.13").map(|range| &*range.from), Some("4.20.8"));
        for other in ["4.20.7", "4.20.14", "4.20.0-rc.1", "", "4.20"] {
            assert!(of(other).is_none(), "{other}");
        }
    }
}
