//! Failures of new nodes that a release is known for (pure): `release_issues.yaml` has them, with a source each.
//! They are possible causes beside a finding, and decide nothing.

use super::case::Case;
use super::rows::{Row, row};
use super::way::Stage;
use serde::Deserialize;
use skewguard_cluster::kinds::HostedCluster;
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
    /// The releases of NodePools that have it, where `releases` are those of their HostedCluster.
    #[serde(default)]
    node_pools: Vec<Range>,
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

/// The range that has the release.
fn range<'a>(ranges: &'a [Range], release: &str) -> Option<&'a Range> {
    let own = published(release)?;
    let has = |range: &&Range| {
        let ends = published(&range.from).zip(published(&range.to));
        ends.is_some_and(|(from, to)| from <= own && own <= to)
    };
    ranges.iter().find(has)
}

impl Case<'_> {
    /// Failures that the cluster's release is known for, of machines that stopped here.
    pub(super) fn release_issues(&self, stage: Stage) -> Vec<Row> {
        let platform = self.machine.and_then(|machine| machine.source.platform());
        let platform = platform.map_or("none", Platform::id);
        let operators = &self.facts.operators;
        let pool = self.own_node_pool();
        let pool = pool.and_then(|pool| pool.release.as_deref());
        let is_own = |issue: &&Issue| {
            let (platforms, operator) = (&issue.platforms, issue.operator.as_ref());
            issue.stages.contains(&stage)
                && (platforms.is_empty() || platforms.iter().any(|own| own == platform))
                && operator.is_none_or(|own| operators.is_empty() || operators.contains_key(own))
        };
        let of_cluster = self.facts.release.as_deref();
        let of_hosted = self.hosted_cluster().and_then(HostedCluster::release);
        let says = |issue: &Issue| {
            let release = match &*issue.node_pools {
                [] => of_cluster?,
                pools => range(pools, pool?).and(of_hosted)?,
            };
            let Range { from, to } = range(&issue.releases, release)?;
            let to = (to != from).then_some(to);
            let (issue, what, source) = (&issue.name, &issue.what, &issue.source);
            Some(row!(KnownOfReleases from, to, what, issue, source))
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
            for Range { from, to } in issue.releases.iter().chain(&issue.node_pools) {
                let ends = published(from).zip(published(to));
                assert!(ends.is_some_and(|(from, to)| from <= to), "{from} {to}");
            }
        }
        let of = |release| {
            ISSUES
                .iter()
                .find_map(|issue| range(&issue.releases, release))
        };
        assert_eq!(of("4.20.13").map(|range| &*range.from), Some("4.20.8"));
        for other in ["4.20.7", "4.20.14", "4.20.0-rc.1", "", "4.20"] {
            assert!(of(other).is_none(), "{other}");
        }
    }
}
