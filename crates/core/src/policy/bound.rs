//! Bounds on boot images and machines: the rules of a limit, and what a known issue says of images.

use super::fields::{minimum_ocp, rhel_majors, version_bound};
use super::json::Located;
use crate::version::{
    ImageVersion, OsFamily, Release, RhelVersion, RpmVersion, compare_fcos, compare_images,
    compare_rhel, compare_scos,
};
use std::cmp::Ordering::{self, Greater, Less};
use std::collections::BTreeMap;
use std::fmt;

/// A bound. Within a known issue it is what an image without the issue keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bound {
    /// Versions that are never allowed.
    Denied(DeniedVersions),
    /// The RHEL majors of a limit are those that are allowed; of a known issue, those that have it.
    Majors(Vec<u16>),
    /// The oldest OCP release.
    Ocp(Release),
    /// The oldest version of a family, or the newest: comparing with it must not give this order.
    Version(OsFamily, Ordering, VersionBound),
    /// The most OCP minors that the image may be behind the target.
    Behind(u16),
    /// The lowest level of CPU, by architecture.
    Cpu(BTreeMap<String, String>),
    /// Space that has to be free in /boot before the rebase, in MiB.
    BootFree(u32),
    /// The oldest shim.
    Shim(RpmVersion),
}

/// A release, or a whole version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VersionBound {
    /// RHEL `9.2`; `39` of Fedora, `10` of CentOS Stream, which have no minors: every build of it.
    Release(RhelVersion),
    /// `418.94.202510081222-0`, `39.20231101.3.0`.
    Image(ImageVersion),
}

/// `deniedVersions`, or `versions` of a known issue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeniedVersions {
    /// The entries that are understood.
    pub entries: Vec<DeniedVersion>,
    /// Number of entries that are not understood, and so deny nothing.
    pub not_understood: usize,
}

/// An entry of `deniedVersions`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeniedVersion {
    /// An exact version, or the beginning of versions followed by `*`. Printable.
    pub version: String,
    /// Reason, for the console. Printable.
    pub reason: Option<String>,
}

impl DeniedVersions {
    /// The entry that is this version, or its beginning followed by `*`.
    pub fn hit(&self, image: &ImageVersion) -> Option<&DeniedVersion> {
        let names = |entry: &&DeniedVersion| match entry.version.strip_suffix('*') {
            Some(beginning) => image.text.starts_with(beginning),
            None => image.text == entry.version,
        };
        self.entries.iter().find(names)
    }
}

impl Bound {
    /// Reads the value of a field of a limit, or of `images`. Lists of versions are read by their
    /// owners, who differ about entries that are not understood.
    pub(super) fn read(field: &str, at: &Located<'_>) -> Option<Self> {
        let version = |family: OsFamily, wrong| {
            let bound = version_bound(family, &at.string()?)?;
            Some(Self::Version(family, wrong, bound))
        };
        match field {
            "rhelMajors" => rhel_majors(at).map(Self::Majors),
            "minimumOCPVersion" | "belowOCPVersion" => minimum_ocp(&at.string()?).map(Self::Ocp),
            "minimumRHCOSVersion" | "belowRHCOSVersion" => version(OsFamily::Rhcos, Less),
            "maximumRHCOSVersion" => version(OsFamily::Rhcos, Greater),
            "minimumFCOSVersion" | "belowFCOSVersion" => version(OsFamily::Fcos, Less),
            "maximumFCOSVersion" | "aboveFCOSVersion" => version(OsFamily::Fcos, Greater),
            "minimumSCOSVersion" | "belowSCOSVersion" => version(OsFamily::Scos, Less),
            "maximumSCOSVersion" => version(OsFamily::Scos, Greater),
            "maximumReleasesBehind" => at.read().map(Self::Behind),
            "minimumCPU" => {
                let levels: BTreeMap<_, _> = at.read()?;
                (!levels.is_empty()).then_some(Self::Cpu(levels))
            }
            "minimumBootFreeMiB" | "belowBootFreeMiB" => at.read().map(Self::BootFree),
            "minimumShim" | "belowShim" => RpmVersion::parse(&at.string()?).map(Self::Shim),
            _ => None,
        }
    }

    /// Tells whether it is about the machine, not about an image.
    pub fn is_about_machine(&self) -> bool {
        matches!(self, Self::Cpu(_) | Self::BootFree(_) | Self::Shim(_))
    }
}

impl VersionBound {
    /// The release that it names, or that of its version.
    pub fn release(&self) -> Option<RhelVersion> {
        match self {
            Self::Release(release) => Some(*release),
            Self::Image(image) => image.os_release(),
        }
    }

    /// Compares an image with it; `None` where that says too little.
    pub fn compare(&self, image: &ImageVersion, family: OsFamily) -> Option<Ordering> {
        match (self, family) {
            (Self::Release(RhelVersion { major, minor: None }), _) => {
                Some(image.os_major()?.cmp(major))
            }
            (Self::Release(bound), _) => compare_rhel(image.rhel?, *bound),
            (Self::Image(bound), OsFamily::Rhcos) => compare_images(image, bound),
            (Self::Image(bound), OsFamily::Fcos) => compare_fcos(image, bound),
            (Self::Image(bound), OsFamily::Scos) => compare_scos(image, bound),
        }
    }
}

impl fmt::Display for VersionBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Release(release) => release.fmt(f),
            Self::Image(image) => image.fmt(f),
        }
    }
}
