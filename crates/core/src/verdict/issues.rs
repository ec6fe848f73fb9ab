//! Applies the known issues of a policy.

use super::rules::{Evaluation, Subject, compare_rhcos, kept, names, one_of, show_bound};
use super::{Finding, Machine, Reason, Wanted};
use crate::platform::platform_of;
use crate::policy::{Images, KnownIssue, Scope, When};
use crate::version::{ImageVersion, Release};
use std::cmp::Ordering;

/// What an issue is looked for in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'a> {
    pub(super) subject: Subject<'a>,
    pub(super) target: Option<Release>,
    pub(super) platform: Option<&'a str>,
    pub(super) machine: &'a Machine,
}

/// Whether something applies; `Unknown` says what is missing to tell.
enum Applies {
    Yes,
    No,
    Unknown(&'static str),
}

impl Applies {
    fn from(known: Option<bool>, why_not: &'static str) -> Self {
        match known {
            Some(true) => Self::Yes,
            Some(false) => Self::No,
            None => Self::Unknown(why_not),
        }
    }
}

/// The most issues that are named, each on its own. A verdict has to stay readable: for `status`,
/// which reads so many bytes of one, and for people.
pub const ISSUES_NAMED: usize = 32;

/// One finding for each issue that the node has, up to [`ISSUES_NAMED`], and one for all the others;
/// one for those that cannot be looked for, each
/// cause apart, and one where all of them were looked for and the node has none.
pub(super) fn apply(issues: &[KnownIssue], node: Node<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut unknown: Vec<(&str, Vec<&str>)> = Vec::new();
    for issue in issues {
        let applies = match &issue.scope {
            Ok(scope) => has(scope, node),
            Err(_) => Applies::Unknown("not understood by this version of skewguard"),
        };
        match (applies, &issue.scope) {
            (Applies::Yes, Ok(scope)) => findings.push(failed(issue, scope, node)),
            (Applies::Unknown(why), _) => match unknown.iter_mut().find(|(known, _)| *known == why)
            {
                Some((_, ids)) => ids.push(&issue.id),
                None => unknown.push((why, vec![&issue.id])),
            },
            (Applies::No | Applies::Yes, _) => {}
        }
    }
    let have = node.subject.version.map(|version| version.text.clone());
    if findings.len() > ISSUES_NAMED {
        let others: Vec<String> = findings
            .drain(ISSUES_NAMED..)
            .filter_map(|finding| finding.issue)
            .collect();
        let more = format!("{} more known issues: {}", others.len(), others.join(", "));
        let message = format!("has {more}");
        let answer = Evaluation::decided(false, have.clone().unwrap_or_default(), message);
        findings.push(Finding {
            why: Some(kept(&more)),
            ..answer.into_finding(Reason::KnownIssue, node.subject.name(), "")
        });
    }
    for (why, ids) in unknown {
        let answer = Evaluation::open(have.clone(), format!("{}: {why}", ids.join(", ")));
        findings.push(answer.into_finding(Reason::KnownIssue, "", "no known issue"));
    }
    if findings.is_empty() && !issues.is_empty() {
        let message = format!("has none of the policy's {} known issues", issues.len());
        let answer = Evaluation::decided(true, String::new(), message);
        let name = node.subject.name();
        findings.push(Finding {
            have,
            ..answer.into_finding(Reason::KnownIssue, name, "no known issue")
        });
    }
    findings
}

fn failed(issue: &KnownIssue, scope: &Scope, node: Node<'_>) -> Finding {
    let version = node.subject.version;
    let message = format!("has known issue {}: {}", issue.id, issue.reason);
    let have = version.map(|version| version.text.clone());
    let (want, wanted) = version
        .map(|version| wanted(&scope.images, version))
        .unwrap_or((String::new(), Wanted::Another));
    let finding = Evaluation::decided(false, have.unwrap_or_default(), message).into_finding(
        Reason::KnownIssue,
        node.subject.name(),
        &want,
    );
    Finding {
        wanted: Some(wanted),
        why: Some(kept(&issue.reason)).filter(|why| !why.is_empty()),
        issue: Some(issue.id.clone()),
        url: issue.url.clone(),
        ..finding
    }
}

/// Whether all of it holds. What does not hold decides, whatever else is unknown.
fn has(scope: &Scope, node: Node<'_>) -> Applies {
    let targets = match (&scope.targets, node.target) {
        (None, _) => Applies::Yes,
        (Some(range), target) => Applies::from(
            target.map(|target| range.contains(target)),
            "the target release is unknown",
        ),
    };
    let conditions = conditions(&scope.when, node);
    let mut unknown = None;
    for applies in [targets, images(&scope.images, node.subject.version)]
        .into_iter()
        .chain(conditions)
    {
        match applies {
            Applies::No => return Applies::No,
            Applies::Unknown(why) => unknown = unknown.or(Some(why)),
            Applies::Yes => {}
        }
    }
    unknown.map_or(Applies::Yes, Applies::Unknown)
}

/// Whether one of them is the image.
fn images(images: &Images, version: Option<&ImageVersion>) -> Applies {
    let Some(version) = version else {
        return Applies::Unknown("the boot image is unknown");
    };
    let Images {
        below_ocp,
        below_rhcos,
        rhel_majors,
        versions,
    } = images;
    if versions.iter().any(|entry| names(entry, version)) {
        return Applies::Yes;
    }
    let below_rhcos = below_rhcos
        .as_ref()
        .map(|bound| Some(compare_rhcos(version, bound)? == Ordering::Less));
    let of_major =
        (!rhel_majors.is_empty()).then(|| Some(rhel_majors.contains(&version.rhel?.major)));
    let of_version = (!versions.is_empty()).then(|| version.is_known().then_some(false));
    let answers = [
        below_ocp.map(|bound| version.is_below_ocp(bound)),
        below_rhcos,
        of_major,
        of_version,
    ];
    let answers = || answers.iter().flatten();
    // One that applies is enough, whatever the others say.
    let known = if answers().any(|one| *one == Some(true)) {
        Some(true)
    } else if answers().any(Option::is_none) {
        None
    } else {
        Some(false)
    };
    Applies::from(known, "the boot image's version says too little")
}

fn conditions(when: &When, node: Node<'_>) -> [Applies; 3] {
    let Machine {
        architecture,
        secure_boot,
        ..
    } = node.machine;
    let named = |names: &Option<Vec<String>>, own: Option<&str>| match names {
        None => Some(true),
        Some(names) => own.map(|own| names.iter().any(|name| name == own)),
    };
    // The same platform has several names: vmware, vsphere.
    let platforms = when.platforms.as_ref();
    let platforms = platforms.map(|names| names.iter().map(|name| one_name(name)).collect());
    [
        Applies::from(
            named(&platforms, node.platform.map(one_name).as_deref()),
            "the platform is unknown",
        ),
        Applies::from(
            named(&when.architectures, architecture.as_deref()),
            "the architecture is unknown",
        ),
        Applies::from(
            match when.secure_boot {
                None => Some(true),
                Some(wanted) => secure_boot.map(|on| on == wanted),
            },
            "it is unknown whether Secure Boot is on",
        ),
    ]
}

fn one_name(platform: &str) -> String {
    let known = platform_of(platform).map(|known| known.id);
    known.unwrap_or(platform).to_owned()
}

/// Which image does not have the issue.
fn wanted(images: &Images, version: &ImageVersion) -> (String, Wanted) {
    if images.versions.iter().any(|entry| names(entry, version)) {
        return ("another version".to_owned(), Wanted::Another);
    }
    if let Some(bound) = images.below_ocp
        && version.is_below_ocp(bound) == Some(true)
    {
        return (format!("OCP {bound} or newer"), Wanted::Newer);
    }
    if let Some(bound) = &images.below_rhcos
        && compare_rhcos(version, bound) == Some(Ordering::Less)
    {
        let want = format!("RHCOS {} or newer", show_bound(bound));
        return (want, Wanted::Newer);
    }
    let want = format!("not RHEL {}", one_of(&images.rhel_majors));
    (want, Wanted::Another)
}
