//! The rules of a limit, each applied to one image.

use super::{Finding, Judged, Reason, RuleResult};
use crate::policy::{DeniedVersion, DeniedVersions, Limit, MinimumOcp, RhcosBound, Setting};
use crate::text;
use crate::version::{ImageVersion, Release, compare_images, compare_rhel};
use std::cmp::Ordering;

/// Longest text of a finding.
const TEXT_MAX: usize = 1024;

/// What is judged; `version` is `None` where no source names it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) judged: Judged,
    pub(super) version: Option<&'a ImageVersion>,
}

impl Subject<'_> {
    /// What a sentence calls it.
    pub(super) fn name(self) -> &'static str {
        match self.judged {
            Judged::BootImage | Judged::Other(_) => "boot image",
            Judged::BootedDeployment => "booted deployment",
        }
    }
}

/// Applies every rule that the limit sets, in the order of their rank.
pub(super) fn apply(limit: &Limit, subject: Subject<'_>, target: Option<Release>) -> Vec<Finding> {
    let rules = [
        rule(Reason::DeniedVersion, &limit.denied_versions, subject, show_denied, denied),
        rule(Reason::RhelMajorUnsupported, &limit.rhel_majors, subject, |majors| one_of(majors), |majors, image| rhel_major(majors, image)),
        rule(Reason::BelowMinimumOcpVersion, &limit.minimum_ocp, subject, |minimum| minimum.0.to_string(), minimum_ocp),
        rule(Reason::BelowMinimumRhcosVersion, &limit.minimum_rhcos, subject, show_bound, minimum_rhcos),
        rule(Reason::AboveMaximumRhcosVersion, &limit.maximum_rhcos, subject, show_bound, maximum_rhcos),
        rule(
            Reason::TooManyReleasesBehind,
            &limit.maximum_releases_behind,
            subject,
            |most| format!("at most {most} OCP minors behind {}", target.map_or("the target".to_owned(), |t| t.minor.to_string())),
            |most, image| releases_behind(*most, image, target),
        ),
    ];
    rules.into_iter().flatten().collect()
}

/// How one rule came out for one image.
struct Answer {
    result: RuleResult,
    have: Option<String>,
    message: String,
}

impl Answer {
    fn pass(have: String, message: String) -> Self {
        Self { result: RuleResult::Pass, have: Some(have), message }
    }

    fn fail(have: String, message: String) -> Self {
        Self { result: RuleResult::Fail, have: Some(have), message }
    }

    fn open(have: Option<String>, message: impl Into<String>) -> Self {
        Self { result: RuleResult::NotEvaluated, have, message: message.into() }
    }

    /// Fails where `fails`, with the sentence for that case.
    fn fail_if(fails: bool, have: String, fail: String, pass: String) -> Self {
        if fails { Self::fail(have, fail) } else { Self::pass(have, pass) }
    }
}

/// What a rule looks at.
#[derive(Clone, Copy)]
struct Image<'a> {
    name: &'static str,
    version: &'a ImageVersion,
}

/// The frame of every rule: unset is no finding, an unknown shape and an unknown image are not evaluated.
fn rule<T>(
    rule: Reason,
    setting: &Option<Setting<T>>,
    subject: Subject<'_>,
    want: impl FnOnce(&T) -> String,
    apply: impl FnOnce(&T, Image<'_>) -> Answer,
) -> Option<Finding> {
    let (want, answer) = match setting.as_ref()? {
        Setting::Unknown(shape) => (shape.clone(), Answer::open(None, "the rule's shape is not known to this version of skewguard")),
        Setting::Known(known) => {
            let answer = match subject.version {
                None => Answer::open(None, format!("the {} is unknown", subject.name())),
                Some(version) => apply(known, Image { name: subject.name(), version }),
            };
            (want(known), answer)
        }
    };
    // A list in a policy may be of any length; a verdict must not be.
    let cut = |text: String| text::cut(&text, TEXT_MAX);
    Some(Finding { rule, result: answer.result, have: answer.have, want: cut(want), message: cut(answer.message) })
}

fn show_denied(denied: &DeniedVersions) -> String {
    let DeniedVersions { entries, not_understood } = denied;
    let names: Vec<&str> = entries.iter().take(4).map(|denied| denied.version.as_str()).collect();
    if names.is_empty() && *not_understood == 0 {
        return "any version that is understood".to_owned();
    }
    let more = if entries.len() + not_understood > names.len() { ", ..." } else { "" };
    format!("none of: {}{more}", names.join(", "))
}

fn denied(denied: &DeniedVersions, image: Image<'_>) -> Answer {
    let Image { name, version } = image;
    let text = version.text();
    let hit = denied.entries.iter().find(|denied| match denied.version.strip_suffix('*') {
        Some(beginning) => text.starts_with(beginning),
        None => text == denied.version,
    });
    let have = text.to_owned();
    match hit {
        Some(DeniedVersion { version: entry, reason: Some(reason) }) => {
            Answer::fail(have, format!("{name} {text} is denied by \"{entry}\": {reason}"))
        }
        Some(DeniedVersion { version: entry, reason: None }) => Answer::fail(have, format!("{name} {text} is denied by \"{entry}\"")),
        // A string that nobody understands being absent from a list says nothing good about it.
        None if denied.not_understood > 0 => Answer::open(
            Some(have),
            format!("not denied as far as the list is understood: {} of its entries are not", denied.not_understood),
        ),
        None if !version.is_known() => Answer::open(Some(have), "the version is not understood; it is not on the list of denied versions"),
        None => Answer::pass(have, format!("{name} {text} is not denied")),
    }
}

fn one_of(majors: &[u16]) -> String {
    let names: Vec<String> = majors.iter().map(u16::to_string).collect();
    names.join(" or ")
}

fn rhel_major(majors: &[u16], image: Image<'_>) -> Answer {
    match image.version.rhel() {
        None => Answer::open(None, "the version does not say its RHEL release"),
        Some(rhel) => Answer::fail_if(
            !majors.contains(&rhel.major),
            rhel.major.to_string(),
            format!("{} is RHEL {}; allowed is RHEL {}", image.name, rhel.major, one_of(majors)),
            format!("{} is RHEL {}", image.name, rhel.major),
        ),
    }
}

fn minimum_ocp(minimum: &MinimumOcp, image: Image<'_>) -> Answer {
    match image.version.ocp() {
        None => Answer::open(None, "the version does not say its OCP release"),
        // The patch level is unknown: the image counts as the end of its x.y.
        Some(ocp) => {
            let message = format!("{} is OCP {ocp}; the minimum is {}", image.name, minimum.0);
            Answer::fail_if(ocp < minimum.0.minor, ocp.to_string(), message.clone(), message)
        }
    }
}

fn show_bound(bound: &RhcosBound) -> String {
    match bound {
        RhcosBound::Rhel(rhel) => rhel.to_string(),
        RhcosBound::Image(image) => image.text().to_owned(),
    }
}

fn minimum_rhcos(minimum: &RhcosBound, image: Image<'_>) -> Answer {
    rhcos(minimum, image, Ordering::Less, "minimum")
}

fn maximum_rhcos(maximum: &RhcosBound, image: Image<'_>) -> Answer {
    rhcos(maximum, image, Ordering::Greater, "maximum")
}

/// Fails where the image compares as `wrong` to the bound.
fn rhcos(bound: &RhcosBound, image: Image<'_>, wrong: Ordering, name: &str) -> Answer {
    let Some(rhel) = image.version.rhel() else {
        return Answer::open(None, "the version does not say its RHEL release");
    };
    let (have, order) = match bound {
        RhcosBound::Rhel(bound) => (rhel.to_string(), compare_rhel(rhel, *bound)),
        RhcosBound::Image(bound) => (image.version.text().to_owned(), compare_images(image.version, bound)),
    };
    let what = match bound {
        RhcosBound::Rhel(_) => format!("RHEL {rhel}"),
        RhcosBound::Image(_) => image.version.text().to_owned(),
    };
    let message = format!("{} is {what}; the {name} is {}", image.name, show_bound(bound));
    match order {
        None => Answer::open(Some(have), format!("the RHEL minor is unknown; the {name} is {}", show_bound(bound))),
        Some(order) => Answer::fail_if(order == wrong, have, message.clone(), message),
    }
}

fn releases_behind(most: u16, image: Image<'_>, target: Option<Release>) -> Answer {
    let Some(ocp) = image.version.ocp() else {
        return Answer::open(None, "the version does not say its OCP release");
    };
    let have = Some(ocp.to_string());
    let Some(Release { minor: target, .. }) = target else {
        return Answer::open(have, "the target release is unknown");
    };
    let (old, new) = (ocp.counted(), target.counted());
    if old.major != new.major {
        return Answer::open(have, format!("OCP minors cannot be counted from {ocp} to {target}"));
    }
    let behind = new.minor.saturating_sub(old.minor);
    let message = format!("{} is OCP {ocp}, {behind} minors behind {target}; allowed are {most}", image.name);
    Answer::fail_if(behind > most, ocp.to_string(), message.clone(), message)
}
