//! The next step after an audit (pure).

use super::conclusion::{AuditRequest, Counts, STARTER_NAME, is_open};
use crate::audit::{BootImageAudit, SetAudit};
use crate::version::Release;

/// The next step for a cluster alone; empty where nothing has to be done.
pub(super) fn next(counts: &Counts, audit: &BootImageAudit, asked: &AuditRequest) -> String {
    if counts.hidden == 0 && counts.has_no_changes() {
        String::new()
    } else if counts.refused > 0 {
        mend(audit, asked)
    } else if counts.open() > 0 {
        know(audit)
    } else if counts.hidden + counts.makers > 0 {
        "see below what was not read, and audit again".to_owned()
    } else {
        ready(audit, asked)
    }
}

/// The last steps, where nothing stands against it.
fn ready(audit: &BootImageAudit, asked: &AuditRequest) -> String {
    let policy = audit.policy.as_ref();
    let mode = policy.and_then(|policy| policy.mode.as_deref());
    let lacks = |set: &SetAudit| set.known_issues.iter().any(|issue| !issue.in_policy);
    match (&asked.policy, mode) {
        (Some(policy), _) if audit.sets.iter().any(lacks) => {
            format!("oc skewguard policy lint {policy}, which names the known issues that it lacks")
        }
        (None, _) => {
            let init = policy.map_or(STARTER_NAME, |policy| &policy.path);
            format!("{init} --file policy.json")
        }
        (Some(_), Some("Enforce")) => String::new(),
        (Some(policy), _) => format!(
            "set \"mode\": \"Enforce\" in {policy}, then oc skewguard render machineconfig --policy {policy}"
        ),
    }
}

/// The release that is written as `x.y.z` or `x.y`.
pub(super) fn release_of(text: &str) -> Option<Release> {
    let whole = text.parse::<Release>();
    whole.or_else(|_| format!("{text}.0").parse()).ok()
}

/// Compares a minor release with the one that the cluster runs.
pub(super) fn is_own_release(audit: &BootImageAudit, asked: &str) -> bool {
    let minor = |release: &str| release_of(release).map(|release| release.minor);
    let origin = audit.origin.as_ref();
    let own = origin.and_then(|origin| origin.release.as_deref());
    let asked = minor(asked);
    asked.is_some() && own.and_then(minor) == asked
}

fn mend(audit: &BootImageAudit, asked: &AuditRequest) -> String {
    let is_mended =
        |set: &SetAudit| set.would_be_refused() && !set.is_excepted() && set.patch.is_some();
    // The images of another release than the cluster's own are no fix yet.
    let target = asked.target.as_deref();
    let is_own = target.is_none_or(|target| is_own_release(audit, target));
    if is_own && audit.sets.iter().any(is_mended) {
        format!("{} --print-commands fix", asked.command(target))
    } else {
        "see below what to change".to_owned()
    }
}

/// The script that makes most unknown versions known, where one does; else what is said below.
fn know(audit: &BootImageAudit) -> String {
    let script = |name: &str| {
        let command = format!("oc skewguard audit --print-commands {name}");
        let helps = |set: &SetAudit| {
            let clue = set.to_know.as_deref();
            !set.is_excepted() && clue.is_some_and(|clue| clue.contains(&command))
        };
        audit.sets.iter().any(helps).then_some(command)
    };
    script("labels")
        .or_else(|| script("alephs"))
        .unwrap_or_else(|| below(audit).to_owned())
}

/// The place of the text that says what to do about open sets.
fn below(audit: &BootImageAudit) -> &'static str {
    let any = |is: fn(&SetAudit) -> bool| audit.sets.iter().filter(|set| is_open(set)).any(is);
    if any(|set| set.to_know.is_some()) {
        "see below what makes them known"
    } else if any(|set| set.remedy.is_some()) {
        "see below what to change"
    } else if any(|set| set.boot_image.is_none()) {
        "see below why they are not known"
    } else {
        "see below why they are not decided"
    }
}
