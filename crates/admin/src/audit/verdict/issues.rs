//! Which known issues the image of a set has, whether or not the policy names them (pure).

use crate::API_VERSION;
use crate::audit::results::set::SetIssue;
use crate::audit::verdict::image_judge::Judge;
use crate::audit::verdict::valid;
use crate::lint::starter::{KNOWN_ISSUES, with_shipped};
use crate::lint::today::difference;
use crate::policy::fields::KIND;
use crate::policy::{KnownIssue, Policy, parse};
use crate::verdict::{PolicyInput, RuleResult};
use crate::version::ImageVersion;
use std::sync::LazyLock;

/// A policy without limits that has the list of known issues.
static SHIPPED: LazyLock<Option<Policy>> = LazyLock::new(|| {
    let policy = format!(
        r#"{{"apiVersion":"{API_VERSION}","kind":"{KIND}","mode":"Warn","limits":[],"knownIssues":{KNOWN_ISSUES}}}"#
    );
    parse(policy.as_bytes()).ok()
});

/// The issues that the policy names, then those of the shipped list that it does not, as far as a node of this version
/// has them.
pub(crate) fn known_to_fail(judge: Judge<'_>, version: Option<&ImageVersion>) -> Vec<SetIssue> {
    let policy = judge.policy;
    let Some(shipped) = SHIPPED.clone() else {
        return Vec::new();
    };
    let issues = all(policy);
    let all = Policy {
        known_issues: issues.clone(),
        ..shipped
    };
    let all = PolicyInput::Valid {
        path: String::new(),
        digest: String::new(),
        policy: all,
    };
    let judge = Judge {
        policy: &all,
        ..judge
    };
    let verdict = judge.verdict(version);
    let has = verdict
        .findings
        .iter()
        .filter(|finding| matches!(finding.result, RuleResult::Fail | RuleResult::Warn));
    let ids: Vec<_> = has.filter_map(|finding| finding.issue.as_ref()).collect();
    let issues = issues.into_iter().filter(|issue| ids.contains(&&issue.id));
    issues
        .map(|issue| SetIssue {
            in_policy: is_named(policy, &issue.id),
            effect: issue.effect.as_str(),
            id: issue.id,
            reason: issue.reason,
            url: issue.url,
        })
        .collect()
}

/// The issues that the policy names, then those of the shipped list that it does not.
pub(crate) fn all(policy: &PolicyInput) -> Vec<KnownIssue> {
    with_shipped(named(policy)).cloned().collect()
}

/// The policy's issues that are not as this version ships them.
pub(in crate::audit) fn of_another_day(policy: &PolicyInput) -> impl Iterator<Item = String> {
    named(policy).iter().filter_map(|issue| {
        let says = difference(issue)?.says();
        let id = &issue.id;
        Some(format!(
            "policy: known issue {id} {says}; `oc skewguard policy refresh FILE --file FILE` takes today's list in"
        ))
    })
}

/// Tells whether the policy names the issue.
pub(crate) fn is_named(policy: &PolicyInput, id: &str) -> bool {
    named(policy).iter().any(|issue| issue.id == id)
}

fn named(policy: &PolicyInput) -> &[KnownIssue] {
    valid(policy).map_or(&[], |policy| &policy.known_issues)
}
