//! Applies the rules of a limit to an image.

use super::{Finding, Judged, Reason, RuleResult};
use crate::policy::{DeniedVersion, DeniedVersions, Limit, RhcosBound, Setting};
use crate::text;
use crate::version::{ImageVersion, Release, compare_images, compare_rhel};
use std::cmp::Ordering;

/// Longest text of a finding, in characters.
const TEXT_MAX: usize = 1024;

/// What is judged; `version` is `None` where it is unknown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) judged: Judged,
    pub(super) version: Option<&'a ImageVersion>,
}

impl Subject<'_> {
    /// Its name in a sentence.
    pub(super) fn name(self) -> &'static str {
        if self.judged == Judged::BootedDeployment { "booted deployment" } else { "boot image" }
    }
}

/// Applies every rule that the limit sets, in the order of rank.
pub(super) fn apply(limit: &Limit, subject: Subject<'_>, target: Option<Release>) -> Vec<Finding> {
    let rules = [
        rule(Reason::DeniedVersion, &limit.denied_versions, subject, show_denied, denied),
        rule(Reason::RhelMajorUnsupported, &limit.rhel_majors, subject, |majors| one_of(majors), |majors, image| rhel_major(majors, image)),
        rule(Reason::BelowMinimumOcpVersion, &limit.minimum_ocp, subject, Release::to_string, minimum_ocp),
        rule(Reason::BelowMinimumRhcosVersion, &limit.minimum_rhcos, subject, show_bound, |bound, image| {
            rhcos(bound, image, Ordering::Less, "minimum")
        }),
        rule(Reason::AboveMaximumRhcosVersion, &limit.maximum_rhcos, subject, show_bound, |bound, image| {
            rhcos(bound, image, Ordering::Greater, "maximum")
        }),
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

/// What a rule says about an image. The message of a rule that passes or fails lacks its subject: "is RHEL 8".
struct Answer {
    result: RuleResult,
    have: Option<String>,
    message: String,
}

impl Answer {
    fn decided(passes: bool, have: String, message: String) -> Self {
        Self { result: if passes { RuleResult::Pass } else { RuleResult::Fail }, have: Some(have), message }
    }

    fn open(have: Option<String>, message: impl Into<String>) -> Self {
        Self { result: RuleResult::NotEvaluated, have, message: message.into() }
    }
}

/// Applies one rule. A rule that is not set gives no finding. One of unknown shape, and one without a version to judge, is not evaluated.
fn rule<T>(
    rule: Reason,
    setting: &Option<Setting<T>>,
    subject: Subject<'_>,
    want: impl FnOnce(&T) -> String,
    apply: impl FnOnce(&T, &ImageVersion) -> Answer,
) -> Option<Finding> {
    let (want, Answer { result, have, message }) = match (setting.as_ref()?, subject.version) {
        (Err(shape), _) => (shape.clone(), Answer::open(None, "the rule's shape is not known to this version of skewguard")),
        (Ok(known), None) => (want(known), Answer::open(None, format!("the {} is unknown", subject.name()))),
        (Ok(known), Some(image)) => (want(known), apply(known, image)),
    };
    let message = if result == RuleResult::NotEvaluated { message } else { format!("{} {message}", subject.name()) };
    // Lists in a policy can be long; a verdict stays short.
    Some(Finding { rule, result, have, want: text::cut(&want, TEXT_MAX), message: text::cut(&message, TEXT_MAX) })
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

fn denied(denied: &DeniedVersions, image: &ImageVersion) -> Answer {
    let text = &image.text;
    let hit = denied.entries.iter().find(|denied| match denied.version.strip_suffix('*') {
        Some(beginning) => text.starts_with(beginning),
        None => *text == denied.version,
    });
    let have = text.clone();
    match hit {
        Some(DeniedVersion { version, reason }) => {
            let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            Answer::decided(false, have, format!("{text} is denied by \"{version}\"{reason}"))
        }
        // Neither an entry nor a version that is not understood proves that the image is allowed.
        None if denied.not_understood > 0 => Answer::open(
            Some(have),
            format!("not denied as far as the list is understood: {} of its entries are not", denied.not_understood),
        ),
        None if !image.is_known() => Answer::open(Some(have), "the version is not understood; it is not on the list of denied versions"),
        None => Answer::decided(true, have, format!("{text} is not denied")),
    }
}

fn one_of(majors: &[u16]) -> String {
    let names: Vec<String> = majors.iter().map(u16::to_string).collect();
    names.join(" or ")
}

fn rhel_major(majors: &[u16], image: &ImageVersion) -> Answer {
    let Some(rhel) = image.rhel else { return Answer::open(None, "the version does not say its RHEL release") };
    let passes = majors.contains(&rhel.major);
    let allowed = if passes { String::new() } else { format!("; allowed is RHEL {}", one_of(majors)) };
    Answer::decided(passes, rhel.major.to_string(), format!("is RHEL {}{allowed}", rhel.major))
}

fn minimum_ocp(minimum: &Release, image: &ImageVersion) -> Answer {
    let Some(ocp) = image.ocp else { return Answer::open(None, "the version does not say its OCP release") };
    // An image does not name its patch release, so it counts as the last of its x.y.
    Answer::decided(ocp >= minimum.minor, ocp.to_string(), format!("is OCP {ocp}; the minimum is {minimum}"))
}

fn show_bound(bound: &RhcosBound) -> String {
    match bound {
        RhcosBound::Rhel(rhel) => rhel.to_string(),
        RhcosBound::Image(image) => image.text.clone(),
    }
}

/// Fails where comparing the image with the bound gives `wrong`.
fn rhcos(bound: &RhcosBound, image: &ImageVersion, wrong: Ordering, name: &str) -> Answer {
    let Some(rhel) = image.rhel else { return Answer::open(None, "the version does not say its RHEL release") };
    let (what, have, order) = match bound {
        RhcosBound::Rhel(bound) => ("RHEL ", rhel.to_string(), compare_rhel(rhel, *bound)),
        RhcosBound::Image(bound) => ("", image.text.clone(), compare_images(image, bound)),
    };
    let bound = show_bound(bound);
    match order {
        None => Answer::open(Some(have), format!("the RHEL minor is unknown; the {name} is {bound}")),
        Some(order) => Answer::decided(order != wrong, have.clone(), format!("is {what}{have}; the {name} is {bound}")),
    }
}

fn releases_behind(most: u16, image: &ImageVersion, target: Option<Release>) -> Answer {
    let Some(ocp) = image.ocp else { return Answer::open(None, "the version does not say its OCP release") };
    let have = ocp.to_string();
    let Some(Release { minor: target, .. }) = target else { return Answer::open(Some(have), "the target release is unknown") };
    let (old, new) = (ocp.counted(), target.counted());
    if old.major != new.major {
        return Answer::open(Some(have), format!("OCP minors cannot be counted from {ocp} to {target}"));
    }
    let behind = new.minor.saturating_sub(old.minor);
    Answer::decided(behind <= most, have, format!("is OCP {ocp}, {behind} minors behind {target}; allowed are {most}"))
}
