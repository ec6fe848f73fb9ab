//! The names of a policy's fields, and how their values are read.

use super::json::Located;
use super::{FamilyBound, LimitRelease, RhcosBound};
use crate::version::{ImageVersion, OcpMinor, OsFamily, Release, RhelVersion, fedora_release};

pub const KIND: &str = "BootImageSkewPolicy";

/// RHEL majors that CoreOS was built from, or may be while this release of skewguard is in use.
pub const RHEL_MAJORS: std::ops::Range<u16> = 7..40;

/// Releases of CentOS Stream that SCOS was built from, or may be.
const STREAM_MAJORS: std::ops::Range<u16> = 9..40;

/// Range of `stalledAfterMinutes`.
pub const STALLED_AFTER_MINUTES: std::ops::RangeInclusive<u16> = 5..=1440;

pub const POLICY: &[&str] = &[
    "apiVersion",
    "kind",
    "mode",
    "onUndetermined",
    "stalledAfterMinutes",
    "limits",
    "knownIssues",
    "help",
    "$schema",
    "description",
    "ticket",
];

pub const HELP: &[&str] = &["text", "url"];

/// The fields of an entry of `limits`: first the three that say which nodes it is for, then its
/// rules, then two for its readers.
pub const LIMIT: &[&str] = &[
    "release",
    "pools",
    "when",
    "minimumOCPVersion",
    "minimumRHCOSVersion",
    "maximumRHCOSVersion",
    "minimumFCOSVersion",
    "maximumFCOSVersion",
    "minimumSCOSVersion",
    "maximumSCOSVersion",
    "maximumReleasesBehind",
    "rhelMajors",
    "deniedVersions",
    "minimumCPU",
    "minimumBootFreeMiB",
    "minimumShim",
    "description",
    "ticket",
];

/// The fields of [`LIMIT`] that are rules.
pub fn rules() -> &'static [&'static str] {
    LIMIT.get(3..LIMIT.len() - 2).unwrap_or_default()
}

pub const KNOWN_ISSUE: &[&str] = &[
    "id",
    "targets",
    "images",
    "when",
    "affects",
    "effect",
    "reason",
    "remedy",
    "url",
    "evidence",
    "until",
    "description",
    "ticket",
];

/// Fields of `images` of a known issue.
pub const IMAGES: &[&str] = &[
    "belowOCPVersion",
    "belowRHCOSVersion",
    "belowFCOSVersion",
    "aboveFCOSVersion",
    "belowSCOSVersion",
    "belowShim",
    "belowBootFreeMiB",
    "rhelMajors",
    "versions",
];

/// Fields of `when` of a limit or a known issue.
pub const WHEN: &[&str] = &[
    "platforms",
    "architectures",
    "secureBoot",
    "osFamilies",
    "okd",
];

pub const DENIED: &[&str] = &["version", "reason"];

/// `x.y` or `x.y.z`, as the `release` of a limit.
pub fn limit_release(text: &str) -> Option<LimitRelease> {
    text.parse()
        .map(LimitRelease::Minor)
        .or_else(|_| text.parse().map(LimitRelease::Exact))
        .ok()
}

/// `x.y.z`, or `x.y` for `x.y.0`.
pub fn minimum_ocp(text: &str) -> Option<Release> {
    text.parse().or_else(|_| format!("{text}.0").parse()).ok()
}

/// The RHEL majors of a list. An empty list would refuse every image, which nobody means.
pub fn rhel_majors(at: &Located<'_>) -> Option<Vec<u16>> {
    at.read().filter(|majors: &Vec<u16>| !majors.is_empty())
}

/// RHEL `major.minor`, or a full RHCOS version.
///
/// An OCP release (`4.13`) and the beginning of a version (`413.92`) look like RHEL releases but
/// are not understood. Read as RHEL, the first would allow every image and the second would allow
/// none.
pub fn rhcos_bound(text: &str) -> Option<RhcosBound> {
    // Parsed as an OCP release because both are written `x.y`.
    if let Ok(OcpMinor { major, minor }) = text.parse() {
        return RHEL_MAJORS
            .contains(&major)
            .then_some(RhcosBound::Rhel(RhelVersion {
                major,
                minor: Some(minor),
            }));
    }
    let image = ImageVersion::parse(text);
    image.rhel.is_some().then_some(RhcosBound::Image(image))
}

/// A release of Fedora (`39`), or a whole version of Fedora CoreOS. A developer's build without
/// stream or number is none: nothing of its day could be compared with it.
pub fn fcos_bound(text: &str) -> Option<FamilyBound> {
    if let Some(fedora) = fedora_release(text) {
        return Some(FamilyBound::Major(fedora));
    }
    let image = ImageVersion::parse(text);
    (image.stream.is_some() && image.build_number.is_some()).then_some(FamilyBound::Image(image))
}

/// A release of CentOS Stream (`9`, or `9.0` as its versions write it), or a whole version of SCOS.
///
/// A release with another minor (`9.2`) is not understood: no SCOS image has one, so that a minimum
/// of it would refuse every image.
pub fn scos_bound(text: &str) -> Option<FamilyBound> {
    let major = text.strip_suffix(".0").unwrap_or(text).parse().ok();
    if let Some(major) = major.filter(|major| STREAM_MAJORS.contains(major)) {
        return Some(FamilyBound::Major(major));
    }
    let image = ImageVersion::parse(text);
    (image.os_family() == Some(OsFamily::Scos)).then_some(FamilyBound::Image(image))
}
