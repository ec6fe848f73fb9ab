//! The rules of a limit that compare versions: minimum, maximum and majors, each on its own and
//! against the others.

use super::Lint;
use super::families;
use super::published::{self, Does};
use super::wording::not_a_version;
use crate::policy::fields::{self, RHEL_MAJORS};
use crate::policy::json::{Field, Located, Object};
use crate::policy::{LimitRelease, RhcosBound};
use crate::version::{
    self, ImageVersion, OcpMinor, Release, RhelVersion, compare_images, compare_rhel,
};
use std::cmp::Ordering;
use std::collections::HashSet;

/// An OCP release with this major or a later one is taken for a RHEL release.
pub(super) const NO_OCP_MAJOR: u16 = 7;

/// From this OCP release on, boot image versions do not name the OCP release.
pub(super) const FIRST_UNNAMED: OcpMinor = version::FIRST_UNNAMED.minor;

/// Newest RHEL major.
const LAST_MAJOR: u16 = 10;

/// Last minor of every RHEL major: 8.10, 9.10, 10.10 (Red Hat Enterprise Linux Life Cycle).
const LAST_MINOR: u16 = 10;

/// Checks the rules that compare versions. `release` is the one that the limit is for.
pub(super) fn versions(
    lint: &mut Lint,
    object: &Object<'_>,
    release: Option<LimitRelease>,
    several_pools: bool,
) {
    if let Some(field) = object.word("minimumOCPVersion", fields::minimum_ocp) {
        minimum_ocp(lint, &field, release);
    }
    let minimum = object.word("minimumRHCOSVersion", fields::rhcos_bound);
    let maximum = object.word("maximumRHCOSVersion", fields::rhcos_bound);
    for (field, for_ocp, does) in [
        (&minimum, "minimumOCPVersion", Does::Refuses),
        (&maximum, "maximumReleasesBehind", Does::Allows),
    ] {
        if let Some(field) = field {
            bound(lint, field, for_ocp, does);
        }
    }
    let understood = |field: &Option<Field<'_, RhcosBound>>| {
        field.as_ref().and_then(|field| field.value.clone())
    };
    let (low, high) = (understood(&minimum), understood(&maximum));
    if let Some(at) = object.get("rhelMajors") {
        let majors = rhel_majors(lint, &at, several_pools);
        majors_in_bounds(lint, &at, &majors, low.as_ref(), high.as_ref());
    }
    if let (Some(minimum), Some(maximum), Some(low), Some(high)) = (&minimum, &maximum, &low, &high)
        && compare_bounds(low, high) == Some(Ordering::Greater)
    {
        above(lint, &minimum.at, &maximum.at, "every image");
    }
}

/// Reports a minimum above its maximum.
pub(super) fn above(lint: &mut Lint, minimum: &Located<'_>, maximum: &Located<'_>, images: &str) {
    let message = format!(
        "the minimum {} is above the maximum {}: {images} is refused",
        minimum.shown(),
        maximum.shown()
    );
    let help = "exchange them, or remove one";
    lint.error(minimum, "MinimumAboveMaximum", message, help);
}

/// The minor release that a limit is for.
pub(super) fn minor(release: LimitRelease) -> OcpMinor {
    match release {
        LimitRelease::Minor(minor) => minor,
        LimitRelease::Exact(exact) => exact.minor,
    }
}

fn minimum_ocp(
    lint: &mut Lint,
    Field { at, value }: &Field<'_, Release>,
    release: Option<LimitRelease>,
) {
    const HELP: &str = "write an OCP release, such as \"4.13.0\"";
    let Some(minimum) = *value else {
        return not_a_version(lint, at, HELP, |written| {
            let is_rhcos = fields::rhcos_bound(written).is_some();
            let help = if is_rhcos {
                "this is an RHCOS version: write it as minimumRHCOSVersion"
            } else {
                HELP
            };
            (
                "is not an OCP release: the rule is not evaluated".to_owned(),
                help.to_owned(),
            )
        });
    };
    if minimum.minor.major >= NO_OCP_MAJOR {
        let message = format!(
            "{} looks like a RHEL release: every image is below it",
            at.shown()
        );
        lint.error(
            at,
            "ImplausibleVersion",
            message,
            "write it as minimumRHCOSVersion",
        );
    } else if let Some(target) = release
        .map(minor)
        .filter(|target| target.counted() < minimum.minor.counted())
    {
        let message = format!(
            "the minimum {minimum} is newer than {target}, which the limit is for: its own images are refused"
        );
        lint.error(
            at,
            "MinimumAboveRelease",
            message,
            "lower the minimum, or raise release",
        );
    } else if minimum.minor.major < 4 {
        lint.warning(
            at,
            "NoEffect",
            format!("every boot image is newer than {minimum}"),
            HELP,
        );
    } else if published::ocp(lint, at, minimum.minor, Does::Refuses) {
        // It says what it does.
    } else if minimum.minor > FIRST_UNNAMED {
        let message = format!(
            "images from OCP {FIRST_UNNAMED} on do not name their OCP release: {minimum} refuses what {FIRST_UNNAMED}.0 refuses"
        );
        lint.warning(
            at,
            "NoEffect",
            message,
            "tell newer images apart with minimumRHCOSVersion",
        );
    } else if minimum.patch > 0 {
        let message = format!(
            "images do not name their patch release: {minimum} refuses what {}.0 refuses",
            minimum.minor
        );
        let help = format!(
            "write \"{}.0\"; for one build, use minimumRHCOSVersion with a whole version",
            minimum.minor
        );
        lint.warning(at, "NoEffect", message, help);
    }
}

/// Checks `minimumRHCOSVersion` or `maximumRHCOSVersion`. `for_ocp` is the rule to use instead for
/// an OCP release.
fn bound(lint: &mut Lint, Field { at, value }: &Field<'_, RhcosBound>, for_ocp: &str, does: Does) {
    const HELP: &str = "write RHEL major.minor, such as \"9.2\", or a whole version, such as \"418.94.202511191518-0\"";
    const PLAUSIBLE: &str = "write RHEL major.minor, such as \"9.2\"";
    match value {
        None => not_a_version(lint, at, HELP, |written| {
            let ocp =
                fields::minimum_ocp(written).filter(|release| release.minor.major < NO_OCP_MAJOR);
            let image = ImageVersion::parse(written);
            let (what, help) = if let Some(field) = families::field_of(&image, at) {
                (
                    "names no RHEL release",
                    format!("this is a version of Fedora CoreOS: write it as {field}"),
                )
            } else if image.is_known() {
                ("names no RHEL release", HELP.to_owned())
            } else if ocp.is_some() {
                (
                    "is an OCP release, not one of RHEL",
                    format!("{PLAUSIBLE}, or use {for_ocp}"),
                )
            } else if !written.is_empty() && written.bytes().all(|b| b.is_ascii_digit()) {
                ("has no minor", HELP.to_owned())
            } else {
                ("follows no known scheme", HELP.to_owned())
            };
            (format!("{what}: the rule is not evaluated"), help)
        }),
        Some(bound @ RhcosBound::Image(image)) => {
            if let Some(RhelVersion { major, minor: None }) = image.rhel {
                let message = format!(
                    "{image} does not say its RHEL minor: images of RHEL {major} cannot be compared with it"
                );
                let rhel = format!("write RHEL major.minor, such as \"{major}.2\"");
                let help = match families::field_of(image, at) {
                    Some(field) => format!("{rhel}; for SCOS write it as {field}"),
                    None => rhel,
                };
                lint.warning(at, "NoEffect", message, help);
            } else {
                published::rhcos(lint, at, bound, does);
            }
        }
        // Somebody who writes 9.20 for 9.2 would refuse every image of RHEL 9.
        Some(RhcosBound::Rhel(rhel)) if rhel.minor.is_some_and(|minor| minor > LAST_MINOR) => {
            let message =
                format!("there is no RHEL {rhel}: the last minor of a major is {LAST_MINOR}");
            lint.error(at, "ImplausibleVersion", message, PLAUSIBLE);
        }
        Some(RhcosBound::Rhel(rhel)) if rhel.major > LAST_MAJOR => {
            let message = format!(
                "there are no boot images of RHEL {} that this version of skewguard knows of",
                rhel.major
            );
            lint.warning(at, "ImplausibleVersion", message, PLAUSIBLE);
        }
        Some(bound @ RhcosBound::Rhel(_)) => published::rhcos(lint, at, bound, does),
    }
}

/// Checks `rhelMajors`; returns those that exist, each once.
fn rhel_majors(lint: &mut Lint, at: &Located<'_>, several_pools: bool) -> Vec<u16> {
    const HELP: &str = "write the RHEL majors that are allowed, such as [9, 10]";
    let Some(items) = lint.typed(at, at.items(), "an array of whole numbers", HELP) else {
        return Vec::new();
    };
    if items.len() == 0 {
        lint.error(
            at,
            "NeverMatches",
            "is empty: the rule is not evaluated",
            "name the majors, or leave it out",
        );
    }
    let mut majors = Vec::new();
    for item in items {
        let Some(major) = lint.typed(&item, item.read::<u16>(), "a whole number", HELP) else {
            return Vec::new();
        };
        if majors.contains(&major) {
            lint.warning(
                &item,
                "NoEffect",
                format!("{major} is named twice"),
                "remove it",
            );
        } else if !RHEL_MAJORS.contains(&major) {
            lint.error(
                &item,
                "NeverMatches",
                format!("there is no RHEL {major}"),
                HELP,
            );
        }
        majors.push(major);
    }
    if let [major] = majors.as_slice()
        && several_pools
    {
        let message = format!(
            "every pool of this limit is held to RHEL {major}, but from OCP 4.22 on pools can run different majors"
        );
        lint.warning(
            at,
            "OneRHELMajor",
            message,
            "write a limit for each pool, or name every major that is in use",
        );
    }
    let mut seen = HashSet::new();
    majors.retain(|major| RHEL_MAJORS.contains(major) && seen.insert(*major));
    majors
}

/// Checks which of `majors` lie between the minimum and the maximum.
fn majors_in_bounds(
    lint: &mut Lint,
    at: &Located<'_>,
    majors: &[u16],
    minimum: Option<&RhcosBound>,
    maximum: Option<&RhcosBound>,
) {
    let low = minimum.and_then(rhel).map_or(0, |rhel| rhel.major);
    let high = maximum.and_then(rhel).map_or(u16::MAX, |rhel| rhel.major);
    let outside: Vec<String> = majors
        .iter()
        .filter(|major| !(low..=high).contains(*major))
        .map(|major| format!("RHEL {major}"))
        .collect();
    let bounds = "minimumRHCOSVersion and maximumRHCOSVersion";
    if outside.is_empty() || low > high {
        return;
    }
    if outside.len() == majors.len() {
        let message = format!("no RHEL of rhelMajors is within {bounds}: every image is refused");
        lint.error(at, "NothingCanPass", message, "make them agree");
    } else {
        let message = format!(
            "{} is outside of {bounds} and refused anyway",
            outside.join(" and ")
        );
        lint.warning(at, "NoEffect", message, "remove it, or move the bounds");
    }
}

fn rhel(bound: &RhcosBound) -> Option<RhelVersion> {
    match bound {
        RhcosBound::Rhel(rhel) => Some(*rhel),
        RhcosBound::Image(image) => image.rhel,
    }
}

/// Compares a minimum with a maximum. Where one is a RHEL release and the other a version, only
/// their RHEL releases are compared: a RHEL release stands for all of its builds.
fn compare_bounds(minimum: &RhcosBound, maximum: &RhcosBound) -> Option<Ordering> {
    match (minimum, maximum) {
        (RhcosBound::Image(minimum), RhcosBound::Image(maximum)) => {
            compare_images(minimum, maximum)
        }
        _ => compare_rhel(rhel(minimum)?, rhel(maximum)?),
    }
}
