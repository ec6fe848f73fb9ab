//! The names of a policy's fields, and how their values are read.

use super::json::Located;
use super::{LimitRelease, VersionBound};
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
    "reportToMachineConfigServer",
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
    "fips",
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

/// A release of a family, or a whole version.
///
/// An OCP release (`4.13`) and the beginning of a version (`413.92`) look like RHEL releases but
/// are not understood. Read as RHEL, the first would allow every image and the second would allow
/// none. Neither is a CentOS Stream with another minor than 0 (`9.2`), which no SCOS image has, nor
/// a developer's build of Fedora CoreOS without stream or number: nothing of its day could be
/// compared with it.
pub fn version_bound(family: OsFamily, text: &str) -> Option<VersionBound> {
    let image = ImageVersion::parse(text);
    let (release, is_whole) = match family {
        OsFamily::Rhcos => {
            // Parsed as an OCP release because both are written `x.y`.
            if let Ok(OcpMinor { major, minor }) = text.parse() {
                let minor = Some(minor);
                let rhel = VersionBound::Release(RhelVersion { major, minor });
                return RHEL_MAJORS.contains(&major).then_some(rhel);
            }
            (None, image.rhel.is_some())
        }
        OsFamily::Fcos => (
            fedora_release(text),
            image.stream.is_some() && image.build_number.is_some(),
        ),
        OsFamily::Scos => {
            let major = text.strip_suffix(".0").unwrap_or(text).parse().ok();
            (
                major.filter(|major| STREAM_MAJORS.contains(major)),
                image.os_family() == Some(OsFamily::Scos),
            )
        }
    };
    match release {
        Some(major) => Some(VersionBound::Release(RhelVersion { major, minor: None })),
        None => is_whole.then_some(VersionBound::Image(image)),
    }
}
