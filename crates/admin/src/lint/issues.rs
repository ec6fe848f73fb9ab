//! `knownIssues`: each on its own, and what the list that this version ships has beside them.

use super::bounds::ocp_version;
use super::published;
use super::shape::Shape;
use super::starter;
use super::today::{self, Difference};
use super::wording::{has_typo, missing, not_a_version};
use super::{KNOWN_ISSUE_MISSING, Lint};
use crate::policy::fields::{IMAGES, KNOWN_ISSUE, WHEN};
use crate::policy::json::Located;
use crate::policy::{MAX_ISSUES, ReleaseRange};
use crate::verdict::ISSUES_NAMED as NAMED;
use std::collections::HashSet;

pub(super) fn list(lint: &mut Lint, at: &Located<'_>) {
    let Some(items) = at.items() else {
        return;
    };
    const HELP: &str = "remove those of releases that are past";
    // An empty list is the opt-out.
    let is_empty = items.len() == 0;
    if items.len() > MAX_ISSUES {
        let message = format!(
            "there are {} known issues: a node reads the first {MAX_ISSUES}",
            items.len()
        );
        lint.error(at, "TooLarge", message, HELP);
    }
    if items.len() > NAMED {
        let message = format!(
            "there are {} known issues: a verdict names {NAMED} that a node has, and counts the others",
            items.len()
        );
        lint.warning(at, "TooLarge", message, HELP);
    }
    let mut ids = HashSet::new();
    for item in items {
        issue(lint, &item, &mut ids);
    }
    if !is_empty {
        missing_issues(lint, at, &ids);
    }
}

/// The issues that this version ships and the policy lacks. Those of OKD are for policies that have
/// one of them; the others are for all but those that have nothing else.
pub(super) fn missing_issues(lint: &mut Lint, at: &Located<'_>, ids: &HashSet<String>) {
    let [ocp, okd] = [starter::Cluster::Ocp, starter::Cluster::Okd].map(starter::known_issue_ids);
    let has = |shipped: &[String]| shipped.iter().any(|id| ids.contains(id));
    let is_for_okd = has(&okd);
    let mut shipped = Vec::new();
    if !is_for_okd || has(&ocp) {
        shipped.extend(ocp);
    }
    if is_for_okd {
        shipped.extend(okd);
    }
    shipped.retain(|id| !ids.contains(id));
    if shipped.is_empty() {
        return;
    }
    let message = format!(
        "the policy lacks known issues that this version of skewguard ships: {}",
        shipped.join(", ")
    );
    let help = "add them from `oc skewguard policy known-issues`; \"knownIssues\": [] opts out";
    lint.warning(at, KNOWN_ISSUE_MISSING, message, help);
}

fn issue(lint: &mut Lint, at: &Located<'_>, ids: &mut HashSet<String>) {
    let Ok(issue) = at.object(KNOWN_ISSUE) else {
        return;
    };
    let when = issue.get("when").and_then(|at| at.object(WHEN).ok());
    let names_families = when
        .as_ref()
        .is_some_and(|when| when.get("osFamilies").is_some());
    if issue.get("images").is_none() && !names_families && !has_typo(&issue, &["images"]) {
        missing(lint, at, Shape::defined("knownIssue"), "images");
    }
    if let Some(at) = issue.get("id")
        && let Some(id) = at.string()
        && !ids.insert(id)
    {
        let message = format!("duplicate id {}", at.shown());
        lint.warning(&at, "NoEffect", message, "remove one, or rename it");
    }
    if let Some(at_id) = issue.get("id")
        && let Some(difference) = today::difference_at(at)
    {
        let (mistake, then) = match difference {
            Difference::Fields(_) => (
                "KnownIssueDiffers",
                "takes today's entry; one of your own needs another id",
            ),
            Difference::Withdrawn(_) => ("KnownIssueWithdrawn", "removes it"),
        };
        let message = format!("{} {}", at_id.shown(), difference.says());
        let help = format!("`oc skewguard policy refresh` {then}");
        lint.warning(&at_id, mistake, message, help);
    }
    let images = issue.get("images").and_then(|at| at.object(IMAGES).ok());
    if let Some(at) = images.and_then(|images| images.get("belowOCPVersion"))
        && let Some(below) = ocp_version(lint, &at)
    {
        published::ocp(lint, &at, below.minor);
    }
}

/// Checks a range of releases.
pub(super) fn release_range(lint: &mut Lint, at: &Located<'_>) {
    const HELP: &str = "write a range of releases, such as \">=4.16.0 <4.16.3\"";
    match ReleaseRange::parse(&at.string().unwrap_or_default()) {
        None => not_a_version(lint, at, "is not a range of releases", HELP),
        Some(range) if range.is_empty() => {
            let message = format!("no release is in {}", at.shown());
            lint.error(at, "NeverMatches", message, HELP);
        }
        Some(_) => {}
    }
}
