//! Joined nodes with a known issue that breaks their update, by what they were born with (pure).

use super::asked::asked_of;
use super::issues;
use super::kinds::Node;
use super::objects::Objects;
use super::results::BirthAudit;
use crate::policy::KnownIssue;
use crate::verdict::{Birth, BootImageStatus, PolicyInput, Target, update_issues};
use crate::version::ImageVersion;
use std::collections::BTreeMap;

/// At most this many nodes of a row are named.
const MAX_NAMED: usize = 50;

/// Nodes of a row: those of one pool and one image, and whether they have the issue.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    /// Those that have an issue first.
    to_know: Option<&'static str>,
    pool: Option<&'a str>,
    /// The oldest image first; unknown ones last.
    unknown: bool,
    version: Option<ImageVersion>,
    /// The place of the issue in the list.
    issue: usize,
}

/// The nodes whose update to `release` an issue breaks, and those of which it cannot be told: by
/// pool, the oldest image first. Empty where no release was asked about.
pub(super) fn births(
    objects: &Objects,
    policy: &PolicyInput,
    asked: Option<&str>,
) -> Vec<BirthAudit> {
    let Some(asked) = asked else {
        return Vec::new();
    };
    let target = Target {
        release: Some(asked_of(objects.release.as_deref(), asked)),
        ..Target::default()
    };
    let issues = issues::all(policy);
    let mut rows: BTreeMap<Key<'_>, Vec<&Node>> = BTreeMap::new();
    for node in &objects.nodes {
        let version = objects.version_of(node).map(|(version, _)| version);
        let found = update_issues(
            &issues,
            Birth {
                version: version.as_ref(),
                target: &target,
                platform: None,
                machine: &node.machine(),
            },
        );
        let has = found.has.into_iter().map(|issue| (issue, None));
        let unknown = found
            .unknown
            .into_iter()
            .map(|(issue, why)| (issue, Some(why)));
        for (issue, to_know) in has.chain(unknown) {
            let key = Key {
                to_know,
                pool: node.pool.as_deref(),
                unknown: version.is_none(),
                version: version.clone(),
                issue: place(&issues, issue),
            };
            rows.entry(key).or_default().push(node);
        }
    }
    let row = |(key, nodes): (Key<'_>, Vec<&Node>)| row(key, nodes, issues.as_slice(), policy);
    rows.into_iter().filter_map(row).collect()
}

fn place(issues: &[KnownIssue], issue: &KnownIssue) -> usize {
    let is_it = |other: &KnownIssue| std::ptr::eq(other, issue);
    issues.iter().position(is_it).unwrap_or_default()
}

fn row(
    key: Key<'_>,
    mut nodes: Vec<&Node>,
    issues: &[KnownIssue],
    policy: &PolicyInput,
) -> Option<BirthAudit> {
    let issue = issues.get(key.issue)?;
    nodes.sort_by_key(|node| node.age());
    Some(BirthAudit {
        pool: key.pool.map(str::to_owned),
        boot_image: key.version.as_ref().map(BootImageStatus::from),
        issue: issue.id.clone(),
        reason: issue.reason.clone(),
        remedy: issue.remedy.clone(),
        url: issue.url.clone(),
        in_policy: issues::is_named(policy, &issue.id),
        to_know: key.to_know.map(str::to_owned),
        count: nodes.len(),
        nodes: nodes
            .iter()
            .take(MAX_NAMED)
            .map(|node| node.metadata.name.clone())
            .collect(),
    })
}
