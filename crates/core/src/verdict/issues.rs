//! Applies the known issues of a policy.

use super::rules::{
    Evaluation, Subject, compare_family, compare_rhcos, kept, names, one_of, show_bound,
    show_family_bound,
};
use super::{Finding, Judged, Machine, Reason, RuleResult, Target, Wanted};
use crate::policy::{
    Affects, Applies, Circumstances, Effect, FamilyBound, Images, KnownIssue, Scope, all,
};
use crate::version::{ImageVersion, OsFamily, Release, RpmVersion};
use std::cmp::Ordering;

/// A node, as an issue looks at it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'a> {
    pub(super) subject: Subject<'a>,
    pub(super) target: Option<Release>,
    /// Tells whether the target is OKD's.
    pub(super) okd: Option<bool>,
    pub(super) platform: Option<&'a str>,
    pub(super) machine: &'a Machine,
}

impl<'a> Node<'a> {
    pub(super) fn circumstances(self) -> Circumstances<'a> {
        Circumstances {
            platform: self.platform,
            architecture: self.machine.architecture.as_deref(),
            secure_boot: self.machine.secure_boot,
            family: self.subject.version.and_then(ImageVersion::os_family),
            okd: self.okd,
        }
    }
}

/// The most issues that are named, each on its own. A verdict has to stay readable: for `status`,
/// which reads so many bytes of one, and for people.
pub const ISSUES_NAMED: usize = 32;

/// Findings: one for each issue that the node has, up to [`ISSUES_NAMED`] of those that refuse and of
/// those that warn, and one for the others of each; one for those that cannot be looked for, each
/// cause apart; and one where all of them were looked for and the node has none.
pub(super) fn apply(issues: &[KnownIssue], node: Node<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut unknown: Vec<(&str, Vec<&str>)> = Vec::new();
    let issues: Vec<&KnownIssue> = issues
        .iter()
        .filter(|issue| issue.affects == Affects::FirstBoot)
        .collect();
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
            let have = have.clone().unwrap_or_default();
            let answer = Evaluation::decided(false, have, format!("has {more}"));
            findings.push(Finding {
                result: result(effect),
                why: Some(kept(&more)),
                ..answer.into_finding(Reason::KnownIssue, node.subject.name(), "")
            });
        }
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

/// A joined node, as far as it is known what it was born with.
#[derive(Debug, Clone, Copy)]
pub struct Birth<'a> {
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
    /// Those that cannot be looked for, and what is missing to tell.
    pub unknown: Vec<(&'a KnownIssue, &'static str)>,
}

/// Looks for the issues that affect updates.
pub fn update_issues<'a>(issues: &'a [KnownIssue], birth: Birth<'_>) -> UpdateIssues<'a> {
    let release = birth.target.release.as_deref();
    let node = Node {
        subject: Subject {
            judged: Judged::BootImage,
            version: birth.version,
        },
        target: release.and_then(|release| release.parse().ok()),
        okd: birth.target.is_okd(),
        platform: birth.platform,
        machine: birth.machine,
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
        result: result(issue.effect),
        wanted: Some(wanted),
        why: Some(kept(&issue.reason)).filter(|why| !why.is_empty()),
        issue: Some(issue.id.clone()),
        url: issue.url.clone(),
        ..finding
    }
}

/// Tells whether all of it holds.
fn has(scope: &Scope, node: Node<'_>) -> Applies {
    let targets = match &scope.targets {
        None => Ok(true),
        Some(range) => node
            .target
            .map(|target| range.contains(target))
            .ok_or("the target release is unknown"),
    };
    // Every image of the families that the conditions name.
    let is_any = scope.images == Images::default() && scope.when.os_families.is_some();
    let image = if is_any {
        Ok(true)
    } else {
        images(&scope.images, node)
    };
    all([targets, image, scope.when.holds(node.circumstances())])
}

/// Tells whether one of them is the image.
fn images(images: &Images, node: Node<'_>) -> Applies {
    let by_machine = [
        below_shim(images, node.machine),
        below_boot_free(images, node.machine),
    ];
    let names_machine = by_machine.iter().any(Option::is_some);
    if names_machine && let Some(is_below) = is_any(&by_machine) {
        return Ok(is_below);
    }
    // The versions tell, where the issue names any.
    if names_machine && names_machine_alone(images) {
        return Err(match by_machine {
            [Some(None), _] => "the node's shim is unknown",
            _ => "what was free in /boot before its first rebase is unknown",
        });
    }
    let Some(version) = node.subject.version else {
        return Err("the boot image is unknown");
    };
    let Images {
        below_ocp,
        below_rhcos,
        below_fcos,
        above_fcos,
        below_scos,
        below_shim: _,
        below_boot_free: _,
        rhel_majors,
        versions,
    } = images;
    if versions.iter().any(|entry| names(entry, version)) {
        return Ok(true);
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
        bound_applies(version, below_fcos, OsFamily::Fcos, Ordering::Less),
        bound_applies(version, above_fcos, OsFamily::Fcos, Ordering::Greater),
        bound_applies(version, below_scos, OsFamily::Scos, Ordering::Less),
        of_major,
        of_version,
    ];
    is_any(&answers).ok_or("the boot image's version says too little")
}

/// One that applies is enough, whatever the others say. What the issue does not name is left out.
fn is_any(answers: &[Option<Option<bool>>]) -> Option<bool> {
    let named = || answers.iter().flatten();
    if named().any(|one| *one == Some(true)) {
        Some(true)
    } else if named().any(Option::is_none) {
        None
    } else {
        Some(false)
    }
}

/// By the node's own shim, where the issue names one.
fn below_shim(images: &Images, machine: &Machine) -> Option<Option<bool>> {
    let least = images.below_shim.as_ref()?;
    let own = machine.shim.as_deref().and_then(RpmVersion::parse);
    Some(own.map(|own| own.compare(least) == Ordering::Less))
}

/// By the space that the node recorded, where the issue names any.
fn below_boot_free(images: &Images, machine: &Machine) -> Option<Option<bool>> {
    let least = images.below_boot_free?;
    Some(machine.boot_free_mib.map(|free| free < least))
}

fn names_machine_alone(images: &Images) -> bool {
    let others = Images {
        below_shim: None,
        below_boot_free: None,
        ..images.clone()
    };
    others == Images::default()
}

/// Whether comparing the image with a bound of a family gives `order`. An image of another family
/// is on neither side of it. `None` where there is no bound.
fn bound_applies(
    image: &ImageVersion,
    bound: &Option<FamilyBound>,
    family: OsFamily,
    order: Ordering,
) -> Option<Option<bool>> {
    let bound = bound.as_ref()?;
    Some(image.os_family().and_then(|own| {
        if own != family {
            return Some(false);
        }
        Some(compare_family(image, bound, family)? == order)
    }))
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
    for (bound, family, order, word, wanted) in [
        (
            &images.below_fcos,
            OsFamily::Fcos,
            Ordering::Less,
            "newer",
            Wanted::Newer,
        ),
        (
            &images.above_fcos,
            OsFamily::Fcos,
            Ordering::Greater,
            "older",
            Wanted::Older,
        ),
        (
            &images.below_scos,
            OsFamily::Scos,
            Ordering::Less,
            "newer",
            Wanted::Newer,
        ),
    ] {
        if bound_applies(version, bound, family, order) == Some(Some(true)) {
            let bound = bound.as_ref().map(show_family_bound).unwrap_or_default();
            return (format!("{} {bound} or {word}", family.name()), wanted);
        }
    }
    if let Some(least) = &images.below_shim {
        return (format!("shim {} or newer", least.as_str()), Wanted::Newer);
    }
    if let Some(least) = images.below_boot_free {
        return (format!("{least} MiB free in /boot"), Wanted::Another);
    }
    let want = if images.rhel_majors.is_empty() {
        let family = version.os_family().map_or("this", OsFamily::name);
        format!("another image than {family}'s")
    } else {
        format!("not RHEL {}", one_of(&images.rhel_majors))
    };
    (want, Wanted::Another)
}
