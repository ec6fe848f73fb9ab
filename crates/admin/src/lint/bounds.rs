//! The rules of a limit that compare versions: minimum, maximum and majors, each on its own and
//! against the others.

use super::families::{self, family_field};
use super::published::{self, BoundKind};
use super::{Lint, Rule};
use crate::policy::fields::{self, RHEL_MAJORS};
use crate::policy::json::{Located, Object};
use crate::policy::{LimitRelease, VersionBound};
use crate::version::{BY_RHEL, ImageVersion, OcpMinor, OsFamily, Release, compare_rhel};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// An OCP release with this major or a later one is taken for a RHEL release.
pub(super) const NO_OCP_MAJOR: u16 = 7;

/// Newest RHEL major.
const LAST_MAJOR: u16 = 10;

/// Last minor of every RHEL major: 8.10, 9.10, 10.10 (Red Hat Enterprise Linux Life Cycle).
const LAST_MINOR: u16 = 10;

/// Checks the rules that compare versions. `target` is the release that the limit is for.
pub(super) fn versions(
    lint: &mut Lint,
    limit: &Object<'_>,
    target: Option<LimitRelease>,
    several_pools: bool,
) {
    if let Some(at) = limit.get("minimumOCPVersion") {
        minimum_ocp(lint, &at, target);
    }
    let [minimum, maximum] =
        ["minimum", "maximum"].map(|side| families::bound(limit, side, OsFamily::Rhcos));
    if let Some(at) = limit.get("rhelMajors") {
        let majors: BTreeSet<u16> = fields::rhel_majors(&at).into_iter().flatten().collect();
        if let (Some(major), 1, true) = (majors.first(), majors.len(), several_pools) {
            lint.say(&at, Rule::OneRHELMajor, &[("major", major)]);
        }
        let [low, high] =
            [&minimum, &maximum].map(|bound| Some(bound.as_ref()?.1.release()?.major));
        let bounds = low.unwrap_or(0)..=high.unwrap_or(u16::MAX);
        majors_in_bounds(lint, &at, &majors, bounds);
    }
    if let (Some((at, low)), Some(target)) = (&minimum, target) {
        above_release(lint, at, low, minor(target));
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
fn above_release(lint: &mut Lint, at: &Located<'_>, minimum: &VersionBound, target: OcpMinor) {
    let own = published::newest_of(target).and_then(|image| image.rhel);
    if let (Some(minimum), Some(own)) = (minimum.release(), own)
        && compare_rhel(minimum, own) == Some(Ordering::Greater)
    {
        lint.say(
            at,
            Rule::RHELAboveTarget,
            &[("own", &own), ("target", &target)],
        );
    }
}

/// An OCP release that images are compared with; reports one that is not understood.
pub(super) fn ocp_version(lint: &mut Lint, at: &Located<'_>) -> Option<Release> {
    let written = at.string()?;
    let release = fields::minimum_ocp(&written);
    if release.is_none() {
        let rhcos = fields::version_bound(OsFamily::Rhcos, &written);
        match rhcos.and(family_field(OsFamily::Rhcos, at)) {
            Some(field) => lint.say(at, Rule::RHCOSForOCP, &[("field", &field)]),
            None => lint.say(at, Rule::NotAnOCPRelease, &[]),
        }
    }
    release
}

fn minimum_ocp(lint: &mut Lint, at: &Located<'_>, target: Option<LimitRelease>) {
    let Some(minimum) = ocp_version(lint, at) else {
        return;
    };
    let Release { minor, patch } = minimum;
    let older = target.map(self::minor).filter(|target| *target < minor);
    let open = BY_RHEL
        .iter()
        .filter(|(_, own)| own.are_below(minor).is_none());
    let open: Vec<String> = open
        .map(|((major, of), own)| format!("RHEL {major}.{of} (OCP {own})"))
        .collect();
    let rule = if minor.major >= NO_OCP_MAJOR {
        Rule::RHELForOCP
    } else if older.is_some() {
        Rule::OCPAboveTarget
    } else if published::ocp(lint, at, minor) {
        return;
    } else if minor.major < 4 {
        Rule::BelowEveryImage
    } else if !open.is_empty() {
        Rule::BetweenReleasesOfRHEL
    } else if patch > 0 {
        Rule::PatchRelease
    } else {
        return;
    };
    lint.say(
        at,
        rule,
        &[
            ("minimum", &minimum),
            ("minor", &minor),
            ("target", &older.unwrap_or(minor)),
            ("open", &open.join(" and ")),
        ],
    );
}

/// Checks a RHEL release or a version of RHCOS.
pub(super) fn rhcos_version(lint: &mut Lint, at: &Located<'_>) {
    let written = at.string().unwrap_or_default();
    let Some(bound) = fields::version_bound(OsFamily::Rhcos, &written) else {
        return not_rhcos(lint, at, &written);
    };
    let rhel = bound.release();
    let major = rhel.map_or(0, |rhel| rhel.major);
    let rule = match (&bound, rhel.and_then(|rhel| rhel.minor)) {
        (VersionBound::Image(_), None) => Rule::WithoutMinor,
        // Somebody who writes 9.20 for 9.2 would refuse every image of RHEL 9.
        (VersionBound::Release(_), Some(minor)) if minor > LAST_MINOR => Rule::MinorTooLarge,
        _ if major > LAST_MAJOR => Rule::NoImagesOfRHEL,
        _ => return published::rhcos(lint, at, &bound),
    };
    let is_scos = ImageVersion::parse(&written).os_family() == Some(OsFamily::Scos);
    let scos = family_field(OsFamily::Scos, at).filter(|_| is_scos);
    let scos = scos.map(|field| format!("; for SCOS write it as {field}"));
    lint.say(
        at,
        rule,
        &[
            ("image", &written),
            ("rhel", &written),
            ("major", &major),
            ("release", &major),
            ("last", &LAST_MINOR),
            ("instead", &scos.unwrap_or_default()),
        ],
    );
}

/// Reports a text that names no RHEL release.
fn not_rhcos(lint: &mut Lint, at: &Located<'_>, written: &str) {
    let ocp = fields::minimum_ocp(written).filter(|release| release.minor.major < NO_OCP_MAJOR);
    let image = ImageVersion::parse(written);
    let is_fcos = image.os_family() == Some(OsFamily::Fcos);
    let fcos = family_field(OsFamily::Fcos, at).filter(|_| is_fcos);
    let instead = match BoundKind::of(at) {
        BoundKind::Minimum => "minimumOCPVersion",
        BoundKind::Maximum => "maximumReleasesBehind",
        BoundKind::Below | BoundKind::Above => "belowOCPVersion",
    };
    let rule = if fcos.is_some() {
        Rule::FCOSForRHCOS
    } else if image.is_known() {
        Rule::NamesNoRHEL
    } else if ocp.is_some() {
        Rule::OCPForRHEL
    } else if !written.is_empty() && written.bytes().all(|b| b.is_ascii_digit()) {
        Rule::MajorAlone
    } else {
        Rule::NoScheme
    };
    let field = fcos.unwrap_or_default();
    lint.say(at, rule, &[("field", &field), ("instead", &instead)]);
}

/// Checks a list of RHEL majors.
pub(super) fn rhel_majors(lint: &mut Lint, at: &Located<'_>) {
    let mut majors = BTreeSet::new();
    for item in at.items().into_iter().flatten() {
        let Some(major) = item.read::<u64>() else {
            continue;
        };
        if !u16::try_from(major).is_ok_and(|major| RHEL_MAJORS.contains(&major)) {
            lint.say(&item, Rule::NoSuchMajor, &[("major", &major)]);
        } else if !majors.insert(major) {
            lint.say(&item, Rule::NamedTwice, &[]);
        }
    }
    if let Some(oldest) = majors.first().filter(|oldest| **oldest > LAST_MAJOR.into()) {
        lint.say(at, Rule::NoImagesOfMajors, &[("release", oldest)]);
    }
}

/// Checks which of the majors lie between the minimum and the maximum.
fn majors_in_bounds(
    lint: &mut Lint,
    at: &Located<'_>,
    majors: &BTreeSet<u16>,
    bounds: RangeInclusive<u16>,
) {
    let outside = majors.iter().filter(|major| !bounds.contains(*major));
    let outside: Vec<String> = outside.map(|major| format!("RHEL {major}")).collect();
    if outside.is_empty() || bounds.is_empty() {
        return;
    }
    let rule = match outside.len() == majors.len() {
        true => Rule::NoMajorInBounds,
        false => Rule::MajorsOutOfBounds,
    };
    lint.say(at, rule, &[("majors", &outside.join(" and "))]);
}
