//! Boot image versions: schemes, decoding and ordering (pure).
//!
//! What a string does not say is unknown and stays unknown. One table of releases says which an
//! image without a release of its own may be of: [`BY_RHEL`].

mod cpu;
mod decode;
mod family;
mod name;
mod release;
mod rpm;

pub use cpu::{cpu_levels, cpu_rank};
pub use family::{OsFamily, compare_fcos, compare_scos, fedora_release};
pub use release::{BY_RHEL, FIRST_UNNAMED, NotARelease, OcpMinor, Release, Releases};
pub use rpm::RpmVersion;

use crate::text::string_enums;
use std::cmp::Ordering;
use std::fmt;

string_enums! {
    /// Form of a boot image version string (RHCOS, SCOS and FCOS version schemes).
    pub enum Scheme {
        /// `418.94.202511191518-0` and older forms back to `400.7.20190306.0`: OCP release, RHEL
        /// release, build stamp.
        Legacy = "Legacy",
        /// `9.6.20250523-0`, from OCP 4.19 on: RHEL release and build date, but no OCP release. Some
        /// documents leave the build out.
        RhelVersioned = "RHELVersioned",
        /// `4.19.9.6.202506252250-0`: the build of a release's OS image, which is a layer on one of
        /// RHEL 9.6; OCP release, RHEL release, build stamp (openshift-eng/art-tools).
        LayeredBuild = "LayeredBuild",
        /// `39.20231101.3.0`: Fedora CoreOS, Fedora release, build date and stream. Says nothing of
        /// RHEL or OCP.
        Fcos = "FCOS",
        /// The name of an image that says an OCP release, and perhaps a day: less than any aleph.
        ImageName = "ImageName",
        /// Anything else. This is an answer, not an error.
        Unknown = "Unknown",
    }
}

/// A RHEL release as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RhelVersion {
    pub major: u16,
    /// `None` where only the major is known.
    pub minor: Option<u16>,
}

impl fmt::Display for RhelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.minor {
            Some(minor) => write!(f, "{}.{minor}", self.major),
            None => write!(f, "{}", self.major),
        }
    }
}

/// A boot image version, decoded as far as its string allows.
///
/// The order is total, by the fields as they stand here: RHEL release first (none is the oldest),
/// then the build.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImageVersion {
    pub rhel: Option<RhelVersion>,
    /// The Fedora release of Fedora CoreOS.
    pub fedora: Option<u16>,
    /// The day it was built on (UTC), `YYYY-MM-DD`.
    pub build_date: Option<String>,
    /// Time of day of a 12-digit stamp, hours and minutes as `hhmm`.
    time: Option<u16>,
    /// The stream of Fedora CoreOS: 1 next, 2 testing, 3 stable, 10 and more those of its
    /// developers. `None` where another scheme is used, or a developer's build names none.
    pub stream: Option<u16>,
    pub build_number: Option<u32>,
    pub scheme: Scheme,
    /// The string as it was read, made printable.
    pub text: String,
    /// The OCP release in the string; the OKD release for legacy SCOS.
    pub ocp: Option<OcpMinor>,
    /// The RHEL minor in a RHEL-versioned string is 0, which CentOS Stream writes for "no minor".
    zero_minor: bool,
}

impl ImageVersion {
    /// Decodes `text`. Never fails: what is not understood gets [`Scheme::Unknown`]. The text is
    /// made printable.
    pub fn parse(text: &str) -> Self {
        decode::decode(text)
    }

    pub fn is_known(&self) -> bool {
        self.scheme != Scheme::Unknown
    }

    /// Takes minor 0 of a RHEL-versioned string literally. Call it where os-release has `ID=rhel`,
    /// so that this is not CentOS Stream.
    #[must_use]
    pub fn on_rhel(mut self) -> Self {
        if self.zero_minor
            && let Some(rhel) = &mut self.rhel
        {
            rhel.minor = Some(0);
        }
        self
    }
}

impl fmt::Display for ImageVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Compares two RHEL releases; `None` where the majors are equal and a minor is unknown.
pub fn compare_rhel(a: RhelVersion, b: RhelVersion) -> Option<Ordering> {
    match a.major.cmp(&b.major) {
        Ordering::Equal => Some(a.minor?.cmp(&b.minor?)),
        decided => Some(decided),
    }
}

/// Compares two RHCOS versions across schemes: RHEL release, then build date.
///
/// Images of the same day are equal, because the stamps of one build differ by minutes between
/// architectures. `None` where either side says too little.
pub fn compare_images(a: &ImageVersion, b: &ImageVersion) -> Option<Ordering> {
    match compare_rhel(a.rhel?, b.rhel?)? {
        Ordering::Equal => Some(a.build_date.as_ref()?.cmp(b.build_date.as_ref()?)),
        decided => Some(decided),
    }
}
