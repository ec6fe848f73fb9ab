//! The rules of a limit that compare versions: minimum, maximum and majors, each on its own and
//! against the others.

use super::Lint;
use super::families::{self, family_field};
use super::published::{self, BoundKind};
use super::wording::not_a_version;
use crate::policy::fields::{self, RHEL_MAJORS};
use crate::policy::json::{Located, Object};
use crate::policy::{LimitRelease, VersionBound};
use crate::version::{self, ImageVersion, OcpMinor, OsFamily, Release, RhelVersion, compare_rhel};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

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
    limit: &Object<'_>,
    release: Option<LimitRelease>,
    several_pools: bool,
) {
    if let Some(at) = limit.get("minimumOCPVersion") {
        minimum_ocp(lint, &at, release);
    }
    let [minimum, maximum] =
        ["minimum", "maximum"].map(|side| families::bound(limit, side, OsFamily::Rhcos));
    if let Some(at) = limit.get("rhelMajors") {
        let mut majors = fields::rhel_majors(&at).unwrap_or_default();
        majors.sort_unstable();
        majors.dedup();
        one_major(lint, &at, &majors, several_pools);
        let [low, high] =
            [&minimum, &maximum].map(|bound| Some(bound.as_ref()?.1.release()?.major));
        majors_in_bounds(
            lint,
            &at,
            &majors,
            low.unwrap_or(0)..=high.unwrap_or(u16::MAX),
        );
    }
    if let (Some((at, low)), Some(release)) = (&minimum, release) {
        above_release(lint, at, low, minor(release));
    }
}

/// The minor release that a limit is for.
pub(super) fn minor(release: LimitRelease) -> OcpMinor {
    match release {
        LimitRelease::Minor(minor) => minor,
        LimitRelease::Exact(exact) => exact.minor,
    }
}

/// Reports a minimum of a newer RHEL than the images of the release that the limit is for have.
fn above_release(lint: &mut Lint, at: &Located<'_>, minimum: &VersionBound, release: OcpMinor) {
    let Some(own) = published::newest_of(release).and_then(|image| image.rhel) else {
        return;
    };
    let minimum = minimum.release();
    if minimum.and_then(|minimum| compare_rhel(minimum, own)) == Some(Ordering::Greater) {
        let message = format!(
            "the minimum {} is newer than RHEL {own} of {release}, which the limit is for: its own images are refused",
            at.shown()
        );
        lint.error(at, "MinimumAboveRelease", message, LOWER);
    }
}

const LOWER: &str = "lower the minimum, or raise release";

const OCP_HELP: &str = "write an OCP release, such as \"4.13.0\"";

/// An OCP release that images are compared with; reports one that is not understood.
pub(super) fn ocp_version(lint: &mut Lint, at: &Located<'_>) -> Option<Release> {
    let written = at.string()?;
    let release = fields::minimum_ocp(&written);
    if release.is_none() {
        let rhcos =
            fields::version_bound(OsFamily::Rhcos, &written).and(family_field(OsFamily::Rhcos, at));
        let help = rhcos.map(|field| format!("this is an RHCOS version: write it as {field}"));
        let help = help.unwrap_or_else(|| OCP_HELP.to_owned());
        not_a_version(lint, at, "is not an OCP release", help);
    }
    release
}

fn minimum_ocp(lint: &mut Lint, at: &Located<'_>, release: Option<LimitRelease>) {
    let Some(minimum) = ocp_version(lint, at) else {
        return;
    };
    let newer_than = release.map(minor).filter(|target| *target < minimum.minor);
    if minimum.minor.major >= NO_OCP_MAJOR {
        let message = format!(
            "{} looks like a RHEL release: every image is below it",
            at.shown()
        );
        let help = "write it as minimumRHCOSVersion";
        lint.error(at, "ImplausibleVersion", message, help);
    } else if let Some(target) = newer_than {
        let message = format!(
            "the minimum {minimum} is newer than {target}, which the limit is for: its own images are refused"
        );
        lint.error(at, "MinimumAboveRelease", message, LOWER);
    } else if !published::ocp(lint, at, minimum.minor) {
        no_effect(lint, at, minimum);
    }
}

/// Reports a minimum that makes no difference, or the same as a shorter one.
fn no_effect(lint: &mut Lint, at: &Located<'_>, minimum: Release) {
    let Release { minor, patch } = minimum;
    let (message, help) = if minor.major < 4 {
        let message = format!("every boot image is newer than {minimum}");
        (message, OCP_HELP.to_owned())
    } else if minor > FIRST_UNNAMED {
        let message = format!(
            "images from OCP {FIRST_UNNAMED} on do not name their OCP release: {minimum} refuses what {FIRST_UNNAMED}.0 refuses"
        );
        let help = "tell newer images apart with minimumRHCOSVersion";
        (message, help.to_owned())
    } else if patch > 0 {
        let message = format!(
            "images do not name their patch release: {minimum} refuses what {minor}.0 refuses"
        );
        let help = format!(
            "write \"{minor}.0\"; for one build, use minimumRHCOSVersion with a whole version"
        );
        (message, help)
    } else {
        return;
    };
    lint.warning(at, "NoEffect", message, help);
}

/// Checks a RHEL release or a version of RHCOS.
pub(super) fn rhcos_version(lint: &mut Lint, at: &Located<'_>) {
    const RHEL: &str = "write RHEL major.minor, such as \"9.2\"";
    let written = at.string().unwrap_or_default();
    match fields::version_bound(OsFamily::Rhcos, &written) {
        None => {
            let (what, help) = not_rhcos(&written, at);
            not_a_version(lint, at, what, help);
        }
        Some(VersionBound::Image(image)) if image.rhel.is_some_and(|rhel| rhel.minor.is_none()) => {
            without_minor(lint, at, &image);
        }
        // Somebody who writes 9.20 for 9.2 would refuse every image of RHEL 9.
        Some(VersionBound::Release(rhel)) if rhel.minor.is_some_and(|minor| minor > LAST_MINOR) => {
            let message =
                format!("there is no RHEL {rhel}: the last minor of a major is {LAST_MINOR}");
            lint.error(at, "ImplausibleVersion", message, RHEL);
        }
        Some(bound) => match bound.release() {
            Some(RhelVersion { major, .. }) if major > LAST_MAJOR => {
                published::no_images(lint, at, &format!("RHEL {major}"), RHEL);
            }
            _ => published::rhcos(lint, at, &bound),
        },
    }
}

/// Reports a version of RHCOS or SCOS that says its RHEL major alone.
fn without_minor(lint: &mut Lint, at: &Located<'_>, image: &ImageVersion) {
    let major = image.os_major().unwrap_or_default();
    let message = format!(
        "{image} does not say its RHEL minor: images of RHEL {major} cannot be compared with it"
    );
    let is_scos = image.os_family() == Some(OsFamily::Scos);
    let scos = family_field(OsFamily::Scos, at).filter(|_| is_scos);
    let scos = scos.map_or_else(String::new, |field| {
        format!("; for SCOS write it as {field}")
    });
    let help = format!("write RHEL major.minor, such as \"{major}.2\"{scos}");
    lint.warning(at, "NoEffect", message, help);
}

/// Describes a text that names no RHEL release, and the remedy.
fn not_rhcos(written: &str, at: &Located<'_>) -> (&'static str, String) {
    const HELP: &str = "write RHEL major.minor, such as \"9.2\", or a whole version, such as \"418.94.202511191518-0\"";
    let ocp = fields::minimum_ocp(written).filter(|release| release.minor.major < NO_OCP_MAJOR);
    let image = ImageVersion::parse(written);
    let is_fcos = image.os_family() == Some(OsFamily::Fcos);
    if let Some(field) = family_field(OsFamily::Fcos, at).filter(|_| is_fcos) {
        let help = format!("this is a version of Fedora CoreOS: write it as {field}");
        ("names no RHEL release", help)
    } else if image.is_known() {
        ("names no RHEL release", HELP.to_owned())
    } else if ocp.is_some() {
        let instead = match BoundKind::of(at) {
            BoundKind::Minimum => "minimumOCPVersion",
            BoundKind::Maximum => "maximumReleasesBehind",
            BoundKind::Below | BoundKind::Above => "belowOCPVersion",
        };
        let help = format!("write RHEL major.minor, such as \"9.2\", or use {instead}");
        ("is an OCP release, not one of RHEL", help)
    } else if !written.is_empty() && written.bytes().all(|b| b.is_ascii_digit()) {
        ("has no minor", HELP.to_owned())
    } else {
        ("follows no known scheme", HELP.to_owned())
    }
}

/// Checks a list of RHEL majors.
pub(super) fn rhel_majors(lint: &mut Lint, at: &Located<'_>) {
    const HELP: &str = "write the RHEL majors that are meant, such as [9, 10]";
    let mut majors = BTreeSet::new();
    for item in at.items().into_iter().flatten() {
        let Some(major) = item.read::<u64>() else {
            continue;
        };
        if !u16::try_from(major).is_ok_and(|major| RHEL_MAJORS.contains(&major)) {
            let message = format!("there is no RHEL {major}");
            lint.error(&item, "NeverMatches", message, HELP);
        } else if !majors.insert(major) {
            let message = format!("{major} is named twice");
            lint.warning(&item, "NoEffect", message, "remove it");
        }
    }
    if let Some(oldest) = majors.first().filter(|oldest| **oldest > LAST_MAJOR.into()) {
        published::no_images(lint, at, &format!("RHEL {oldest}"), HELP);
    }
}

/// Reports a single RHEL major where there are several pools.
fn one_major(lint: &mut Lint, at: &Located<'_>, majors: &[u16], several_pools: bool) {
    if let [major] = majors
        && several_pools
    {
        let message = format!(
            "every pool of this limit is held to RHEL {major}, but from OCP 4.22 on pools can run different majors"
        );
        let help = "write a limit for each pool, or name every major that is in use";
        lint.warning(at, "OneRHELMajor", message, help);
    }
}

/// Checks which of `majors` lie between the minimum and the maximum.
fn majors_in_bounds(
    lint: &mut Lint,
    at: &Located<'_>,
    majors: &[u16],
    bounds: RangeInclusive<u16>,
) {
    let outside: Vec<String> = majors
        .iter()
        .filter(|major| !bounds.contains(*major))
        .map(|major| format!("RHEL {major}"))
        .collect();
    if outside.is_empty() || bounds.is_empty() {
        return;
    }
    let bounds = "minimumRHCOSVersion and maximumRHCOSVersion";
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
