//! Applies the known issues of a policy.

use super::rules::{Asker, Node, Subject, kept, one_of};
use super::{Finding, Judged, Machine, Reason, RuleResult, Target, Wanted};
use crate::policy::{Affects, Applies, Bound, Effect, KnownIssue, Scope, all};
use crate::version::{ImageVersion, OsFamily};

/// The most issues that are named, each on its own. A verdict has to stay readable: for `status`,
/// which reads so many bytes of one, and for people.
pub const ISSUES_NAMED: usize = 32;

/// Makes the findings: one for each issue that the node has, up to [`ISSUES_NAMED`] of each effect,
/// and one for the rest of that effect; one for each cause that kept issues from being checked; and
/// one if all were checked and the node has none.
pub(super) fn apply(issues: &[KnownIssue], node: Node<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut unknown: Vec<(&str, Vec<&str>)> = Vec::new();
    let issues: Vec<&KnownIssue> = issues
        .iter()
        .filter(|issue| issue.affects == Affects::FirstBoot)
        .collect();
    let name = node.subject.name();
    let have = node.subject.version.map(|version| version.text.clone());
    for effect in [Effect::Refuse, Effect::Warn] {
        let mut has = Vec::new();
        for issue in issues.iter().filter(|issue| issue.effect == effect) {
            match (applies(issue, node), &issue.scope) {
                (Ok(true), Ok(scope)) => has.push(found(issue, scope, node)),
                (Err(why), _) => match unknown.iter_mut().find(|(known, _)| *known == why) {
                    Some((_, ids)) => ids.push(&issue.id),
                    None => unknown.push((why, vec![&issue.id])),
                },
                (Ok(_), _) => {}
            }
        }
        let others: Vec<String> = has
            .drain(has.len().min(ISSUES_NAMED)..)
            .filter_map(|finding| finding.issue)
            .collect();
        findings.append(&mut has);
        if !others.is_empty() {
            let more = format!("{} more known issues: {}", others.len(), others.join(", "));
            let message = format!("{name} has {more}");
            let have = Some(have.clone().unwrap_or_default());
            findings.push(Finding {
                result: result(effect),
                why: Some(kept(&more)),
                ..Finding::new(Reason::KnownIssue, Some(false), have, "", &message)
            });
        }
    }
    let known_issue = |passes, message: String| {
        let want = "no known issue";
        Finding::new(Reason::KnownIssue, passes, have.clone(), want, &message)
    };
    for (why, ids) in unknown {
        findings.push(known_issue(None, format!("{}: {why}", ids.join(", "))));
    }
    if findings.is_empty() && !issues.is_empty() {
        let known = issues.len();
        let message = format!("{name} has none of the policy's {known} known issues");
        findings.push(known_issue(Some(true), message));
    }
    findings
}

/// A joined node, as far as it is known what it was installed with.
#[derive(Debug, Clone, Copy)]
pub struct InstalledNode<'a> {
    pub version: Option<&'a ImageVersion>,
    /// Target of the update.
    pub target: &'a Target,
    pub platform: Option<&'a str>,
    pub machine: &'a Machine,
}

/// Which issues the update of a joined node has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpdateIssues<'a> {
    pub has: Vec<&'a KnownIssue>,
    /// Issues that cannot be looked for, and what is missing to tell.
    pub unknown: Vec<(&'a KnownIssue, &'static str)>,
}

/// Looks for the issues that affect updates.
pub fn update_issues<'a>(issues: &'a [KnownIssue], joined: InstalledNode<'_>) -> UpdateIssues<'a> {
    let release = joined.target.release.as_deref();
    let node = Node {
        subject: Subject {
            judged: Judged::BootImage,
            version: joined.version,
        },
        target: release.and_then(|release| release.parse().ok()),
        okd: joined.target.is_okd(),
        platform: joined.platform,
        machine: joined.machine,
    };
    let mut found = UpdateIssues::default();
    for issue in issues {
        if issue.affects != Affects::Update {
            continue;
        }
        match applies(issue, node) {
            Ok(true) => found.has.push(issue),
            Err(why) => found.unknown.push((issue, why)),
            Ok(false) => {}
        }
    }
    found
}

fn applies(issue: &KnownIssue, node: Node<'_>) -> Applies {
    match &issue.scope {
        Ok(scope) => has(scope, node),
        Err(_) => Err("not understood by this version of skewguard"),
    }
}

fn result(effect: Effect) -> RuleResult {
    match effect {
        Effect::Refuse => RuleResult::Fail,
        Effect::Warn => RuleResult::Warn,
    }
}

fn found(issue: &KnownIssue, scope: &Scope, node: Node<'_>) -> Finding {
    let (id, reason, name) = (&issue.id, &issue.reason, node.subject.name());
    let message = format!("{name} has known issue {id}: {reason}");
    let version = node.subject.version;
    let (want, wanted) = version
        .map(|version| wanted(&scope.images, version, node))
        .unwrap_or((String::new(), Wanted::Another));
    let have = version.map(|version| version.text.clone());
    let have = Some(have.unwrap_or_default());
    Finding {
        result: result(issue.effect),
        wanted: Some(wanted),
        why: Some(kept(reason)).filter(|why| !why.is_empty()),
        issue: Some(id.clone()),
        url: issue.url.clone(),
        ..Finding::new(Reason::KnownIssue, Some(false), have, &want, &message)
    }
}

/// Tells whether all of it holds.
fn has(scope: &Scope, node: Node<'_>) -> Applies {
    let targets = match (&scope.targets, node.target) {
        (None, _) => Ok(true),
        (Some(range), Some(target)) => Ok(range.contains(target)),
        (Some(_), None) => Err("the target release is unknown"),
    };
    let image = images(&scope.images, node);
    all([targets, image, scope.when.holds(node.circumstances())])
}

/// Tells whether the node is out of one of the bounds, or there are none.
fn images(bounds: &[(&str, Bound)], node: Node<'_>) -> Applies {
    let (of_machine, of_image): (Vec<&Bound>, Vec<&Bound>) = bounds
        .iter()
        .map(|(_, bound)| bound)
        .partition(|bound| bound.is_about_machine());
    if bounds.is_empty() {
        return Ok(true);
    }
    if !of_machine.is_empty()
        && let Some(breaks) = breaks(&of_machine, node)
    {
        return Ok(breaks);
    }
    // The versions tell, where the issue names any.
    if of_image.is_empty() {
        let is_unknown = |bound: &&&Bound| bound.holds(node, Asker::Issue).is_none();
        return Err(match of_machine.iter().find(is_unknown) {
            Some(Bound::Shim(_)) => "the node's shim is unknown",
            _ => "what was free in /boot before its first rebase is unknown",
        });
    }
    if node.subject.version.is_none() {
        return Err("the boot image is unknown");
    }
    breaks(&of_image, node).ok_or("the boot image's version says too little")
}

/// Tells whether the node is out of one of them: that is enough, whatever the others say.
fn breaks(bounds: &[&Bound], node: Node<'_>) -> Option<bool> {
    let mut breaks = Some(false);
    for bound in bounds {
        match bound.holds(node, Asker::Issue) {
            Some(false) => return Some(true),
            Some(true) => {}
            None => breaks = None,
        }
    }
    breaks
}

/// Which image does not have the issue.
fn wanted(bounds: &[(&str, Bound)], version: &ImageVersion, node: Node<'_>) -> (String, Wanted) {
    let is_broken = |(_, bound): &&(&str, Bound)| {
        bound.is_about_machine() || bound.holds(node, Asker::Issue) == Some(false)
    };
    match bounds.iter().find(is_broken) {
        None => {
            let family = version.os_family().map_or("this", OsFamily::name);
            (format!("another image than {family}'s"), Wanted::Another)
        }
        Some((_, Bound::Majors(majors))) => {
            (format!("not RHEL {}", one_of(majors)), Wanted::Another)
        }
        Some((_, bound @ Bound::BootFree(_))) => (bound.want(node), Wanted::Another),
        Some((field, bound)) => {
            let words = Reason::set_by(field).unwrap_or(Reason::KnownIssue).words();
            (words.instead(&bound.want(node)), words.wanted)
        }
    }
}
