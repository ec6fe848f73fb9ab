//! `knownIssues`: each on its own, and what the list that this version ships has beside them.

use super::bounds::ocp_version;
use super::published;
use super::shape::Shape;
use super::today::{self, Difference};
use super::wording::{has_typo, missing};
use super::{Lint, Rule};
use crate::policy::fields::{IMAGES, KNOWN_ISSUE, WHEN};
use crate::policy::json::Located;
use crate::policy::{MAX_ISSUES, ReleaseRange};
use crate::verdict::ISSUES_NAMED as NAMED;
use std::collections::HashSet;

pub(super) fn list(lint: &mut Lint, at: &Located<'_>) {
    let Some(items) = at.items() else {
        return;
    };
    let count = items.len();
    if count > MAX_ISSUES {
        lint.say(
            at,
            Rule::TooManyIssues,
            &[("count", &count), ("most", &MAX_ISSUES)],
        );
    }
    if count > NAMED {
        lint.say(
            at,
            Rule::UnnamedIssues,
            &[("count", &count), ("most", &NAMED)],
        );
    }
    let mut ids = HashSet::new();
    for item in items {
        issue(lint, &item, &mut ids);
    }
    // An empty list is the opt-out.
    if count > 0 {
        missing_issues(lint, at, &ids);
    }
}

pub(super) fn missing_issues(lint: &mut Lint, at: &Located<'_>, ids: &HashSet<String>) {
    let lacking = today::lacking(ids);
    if !lacking.is_empty() {
        let issues = lacking.join(", ");
        lint.say(at, Rule::KnownIssueMissing, &[("issues", &issues)]);
    }
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
        lint.say(&at, Rule::DuplicateIssue, &[]);
    }
    if let Some(at_id) = issue.get("id")
        && let Some(difference) = today::difference_at(at)
    {
        let rule = match difference {
            Difference::Fields(_) => Rule::KnownIssueDiffers,
            Difference::Withdrawn(_) => Rule::KnownIssueWithdrawn,
        };
        lint.say(&at_id, rule, &[("difference", &difference.says())]);
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
    match ReleaseRange::parse(&at.string().unwrap_or_default()) {
        None => lint.say(at, Rule::NotARange, &[]),
        Some(range) if range.has_empty_window() => lint.say(at, Rule::EmptyRange, &[]),
        Some(_) => {}
    }
}
