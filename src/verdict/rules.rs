//! The rules of a limit, each applied to one boot image.

use super::{Finding, Reason, RuleResult};
use crate::policy::{DeniedVersion, Limit, MinimumOcp, RhcosBound, Setting};
use crate::version::{ImageVersion, OcpMinor, Release, compare_images, compare_rhel};
use std::cmp::Ordering;

/// Applies every rule that the limit sets, in the order of their rank. `image` is `None` where no source names it.
pub(super) fn apply(limit: &Limit, image: Option<&ImageVersion>, target: Option<Release>) -> Vec<Finding> {
    let rules = [
        rule(Reason::DeniedVersion, &limit.denied_versions, image, |list| show_denied(list), |list, image| denied(list, image)),
        rule(Reason::RhelMajorUnsupported, &limit.rhel_majors, image, |majors| one_of(majors), |majors, image| rhel_major(majors, image)),
        rule(Reason::BelowMinimumOcpVersion, &limit.minimum_ocp, image, |minimum| minimum.0.to_string(), minimum_ocp),
        rule(Reason::BelowMinimumRhcosVersion, &limit.minimum_rhcos, image, show_bound, minimum_rhcos),
        rule(Reason::AboveMaximumRhcosVersion, &limit.maximum_rhcos, image, show_bound, maximum_rhcos),
        rule(
            Reason::TooManyReleasesBehind,
            &limit.maximum_releases_behind,
            image,
            |most| format!("at most {most} OCP minors behind {}", target.map_or("the target".to_owned(), |t| t.minor.to_string())),
            |most, image| releases_behind(*most, image, target),
        ),
    ];
    rules.into_iter().flatten().collect()
}

/// How one rule came out for one image.
struct Judged {
    result: RuleResult,
    have: Option<String>,
    message: String,
}

impl Judged {
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

/// The frame of every rule: unset is no finding, an unknown shape and an unknown image are not evaluated.
fn rule<T>(
    rule: Reason,
    setting: &Option<Setting<T>>,
    image: Option<&ImageVersion>,
    want: impl FnOnce(&T) -> String,
    judge: impl FnOnce(&T, &ImageVersion) -> Judged,
) -> Option<Finding> {
    let (want, judged) = match setting.as_ref()? {
        Setting::Unknown(shape) => (shape.clone(), Judged::open(None, "the rule's shape is not known to this version of skewguard")),
        Setting::Known(known) => {
            let judged = match image {
                None => Judged::open(None, "the boot image is unknown"),
                Some(image) => judge(known, image),
            };
            (want(known), judged)
        }
    };
    Some(Finding { rule, result: judged.result, have: judged.have, want, message: judged.message })
}

fn show_denied(list: &[DeniedVersion]) -> String {
    let names: Vec<&str> = list.iter().take(4).map(|denied| denied.version.as_str()).collect();
    if names.is_empty() {
        return "any version that is understood".to_owned();
    }
    let more = if list.len() > names.len() { ", ..." } else { "" };
    format!("none of: {}{more}", names.join(", "))
}

fn denied(list: &[DeniedVersion], image: &ImageVersion) -> Judged {
    let text = image.text();
    let hit = list.iter().find(|denied| match denied.version.strip_suffix('*') {
        Some(beginning) => text.starts_with(beginning),
        None => text == denied.version,
    });
    let have = text.to_owned();
    match hit {
        Some(DeniedVersion { version, reason: Some(reason) }) => {
            Judged::fail(have, format!("boot image {text} is denied by \"{version}\": {reason}"))
        }
        Some(DeniedVersion { version, reason: None }) => Judged::fail(have, format!("boot image {text} is denied by \"{version}\"")),
        // A string that nobody understands being absent from a list says nothing good about it.
        None if !image.is_known() => Judged::open(Some(have), "the version is not understood; it is not on the list of denied versions"),
        None => Judged::pass(have, format!("boot image {text} is not denied")),
    }
}

fn one_of(majors: &[u16]) -> String {
    let names: Vec<String> = majors.iter().map(u16::to_string).collect();
    names.join(" or ")
}

fn rhel_major(majors: &[u16], image: &ImageVersion) -> Judged {
    match image.rhel() {
        None => Judged::open(None, "the version does not say its RHEL release"),
        Some(rhel) => Judged::fail_if(
            !majors.contains(&rhel.major),
            rhel.major.to_string(),
            format!("boot image is RHEL {}; allowed is RHEL {}", rhel.major, one_of(majors)),
            format!("boot image is RHEL {}", rhel.major),
        ),
    }
}

fn minimum_ocp(minimum: &MinimumOcp, image: &ImageVersion) -> Judged {
    match image.ocp() {
        None => Judged::open(None, "the version does not say its OCP release"),
        // The patch level is unknown: the image counts as the end of its x.y.
        Some(ocp) => Judged::fail_if(
            ocp < minimum.0.minor,
            ocp.to_string(),
            format!("boot image is OCP {ocp}; the minimum is {}", minimum.0),
            format!("boot image is OCP {ocp}; the minimum is {}", minimum.0),
        ),
    }
}

fn show_bound(bound: &RhcosBound) -> String {
    match bound {
        RhcosBound::Rhel(rhel) => rhel.to_string(),
        RhcosBound::Image(image) => image.text().to_owned(),
    }
}

fn minimum_rhcos(minimum: &RhcosBound, image: &ImageVersion) -> Judged {
    rhcos(minimum, image, Ordering::Less, "minimum")
}

fn maximum_rhcos(maximum: &RhcosBound, image: &ImageVersion) -> Judged {
    rhcos(maximum, image, Ordering::Greater, "maximum")
}

/// Fails where the image compares as `wrong` to the bound.
fn rhcos(bound: &RhcosBound, image: &ImageVersion, wrong: Ordering, name: &str) -> Judged {
    let Some(rhel) = image.rhel() else {
        return Judged::open(None, "the version does not say its RHEL release");
    };
    let (have, order) = match bound {
        RhcosBound::Rhel(bound) => (rhel.to_string(), compare_rhel(rhel, *bound)),
        RhcosBound::Image(bound) => (image.text().to_owned(), compare_images(image, bound)),
    };
    let what = match bound {
        RhcosBound::Rhel(_) => format!("RHEL {rhel}"),
        RhcosBound::Image(_) => image.text().to_owned(),
    };
    let message = format!("boot image is {what}; the {name} is {}", show_bound(bound));
    match order {
        None => Judged::open(Some(have), format!("the RHEL minor is unknown; the {name} is {}", show_bound(bound))),
        Some(order) => Judged::fail_if(order == wrong, have, message.clone(), message),
    }
}

fn releases_behind(most: u16, image: &ImageVersion, target: Option<Release>) -> Judged {
    let Some(ocp) = image.ocp() else {
        return Judged::open(None, "the version does not say its OCP release");
    };
    let have = Some(ocp.to_string());
    let Some(Release { minor: OcpMinor { major, minor }, .. }) = target else {
        return Judged::open(have, "the target release is unknown");
    };
    if ocp.major != major {
        return Judged::open(have, "OCP minors cannot be counted across majors");
    }
    let behind = minor.saturating_sub(ocp.minor);
    let message = format!("boot image is OCP {ocp}, {behind} minors behind {major}.{minor}; allowed are {most}");
    Judged::fail_if(behind > most, ocp.to_string(), message.clone(), message)
}
