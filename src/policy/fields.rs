//! The fields of a policy, and what the words in them mean.

use super::{LimitRelease, MinimumOcp, RhcosBound};
use crate::version::{ImageVersion, OcpMinor, RhelVersion};

pub(super) const KIND: &str = "BootImageSkewPolicy";

/// RHEL majors that CoreOS was ever built from, or may be while this version is in use.
pub(super) const RHEL_MAJORS: std::ops::Range<u16> = 7..40;

pub(super) const POLICY: &[&str] = &["apiVersion", "kind", "mode", "onUndetermined", "limits", "help"];

pub(super) const HELP: &[&str] = &["text", "url"];

/// The fields of an entry of `limits`: first whom it is for, then its rules.
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
pub(super) fn minimum_ocp(text: &str) -> Option<MinimumOcp> {
    text.parse().or_else(|_| format!("{text}.0").parse()).ok().map(MinimumOcp)
}

/// RHEL `major.minor`, or a full RHCOS version.
///
/// An OCP release (`4.13`) and a beginning of a version (`413.92`) look like a RHEL release and are none: as one, the first would allow every
/// image and the second no image.
pub(super) fn rhcos_bound(text: &str) -> Option<RhcosBound> {
    // A RHEL release is written like an OCP one: two numbers.
    if let Ok(OcpMinor { major, minor }) = text.parse() {
        return RHEL_MAJORS.contains(&major).then_some(RhcosBound::Rhel(RhelVersion { major, minor: Some(minor) }));
    }
    let image = ImageVersion::parse(text);
    image.rhel().is_some().then_some(RhcosBound::Image(image))
}
