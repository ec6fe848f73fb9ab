//! The names of a policy's fields, and how their values are read.

use super::{LimitRelease, RhcosBound};
use crate::version::{ImageVersion, OcpMinor, Release, RhelVersion};

pub(super) const KIND: &str = "BootImageSkewPolicy";

/// RHEL majors that CoreOS was built from, or may be while this release of skewguard is in use.
pub(super) const RHEL_MAJORS: std::ops::Range<u16> = 7..40;

pub(super) const POLICY: &[&str] = &["apiVersion", "kind", "mode", "onUndetermined", "limits", "help"];

pub(super) const HELP: &[&str] = &["text", "url"];

/// The fields of an entry of `limits`: first the two that say which nodes it is for, then its rules.
pub(super) const LIMIT: &[&str] = &[
    "release",
    "pools",
    "minimumOCPVersion",
    "minimumRHCOSVersion",
    "maximumRHCOSVersion",
    "maximumReleasesBehind",
    "rhelMajors",
    "deniedVersions",
];

pub(super) const DENIED: &[&str] = &["version", "reason"];

/// `x.y` or `x.y.z`, as the `release` of a limit.
pub(super) fn limit_release(text: &str) -> Option<LimitRelease> {
    text.parse().map(LimitRelease::Minor).or_else(|_| text.parse().map(LimitRelease::Exact)).ok()
}

/// `x.y.z`, or `x.y` for `x.y.0`.
pub(super) fn minimum_ocp(text: &str) -> Option<Release> {
    text.parse().or_else(|_| format!("{text}.0").parse()).ok()
}

/// RHEL `major.minor`, or a full RHCOS version.
///
/// An OCP release (`4.13`) and the beginning of a version (`413.92`) look like RHEL releases but are not understood. Read as RHEL, the
/// first would allow every image and the second would allow none.
pub(super) fn rhcos_bound(text: &str) -> Option<RhcosBound> {
    // Parsed as an OCP release because both are written `x.y`.
    if let Ok(OcpMinor { major, minor }) = text.parse() {
        return RHEL_MAJORS.contains(&major).then_some(RhcosBound::Rhel(RhelVersion { major, minor: Some(minor) }));
    }
    let image = ImageVersion::parse(text);
    image.rhel.is_some().then_some(RhcosBound::Image(image))
}
