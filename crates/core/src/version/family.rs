//! The families of CoreOS, and the order within Fedora CoreOS and within CentOS Stream CoreOS
//! (pure).

use super::decode::{FEDORA, number};
use super::{ImageVersion, RhelVersion, Scheme};
use std::cmp::Ordering;

/// A family of CoreOS. Versions are compared within one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OsFamily {
    Rhcos,
    /// CentOS Stream CoreOS, OKD's since 4.16.
    Scos,
    /// Fedora CoreOS, OKD's until 4.15.
    Fcos,
}

impl OsFamily {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Rhcos, Self::Scos, Self::Fcos];

    /// The word for it in a policy.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rhcos => "rhcos",
            Self::Scos => "scos",
            Self::Fcos => "fcos",
        }
    }

    /// Reads the word of a policy.
    pub fn parse(word: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|family| family.as_str().eq_ignore_ascii_case(word))
    }

    /// The word for it in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rhcos => "RHCOS",
            Self::Scos => "SCOS",
            Self::Fcos => "Fedora CoreOS",
        }
    }
}

/// The first RHEL major with a CentOS Stream CoreOS.
const FIRST_STREAM: u16 = 9;

impl ImageVersion {
    /// The family of the image; `None` where its scheme is unknown. CentOS Stream has no minors:
    /// `9.0.20250510-0` and `413.9.202302280609-0` are SCOS. [`Self::on_rhel`] makes the former
    /// RHCOS, where os-release says so.
    pub fn os_family(&self) -> Option<OsFamily> {
        match self.scheme {
            Scheme::Fcos => Some(OsFamily::Fcos),
            Scheme::Legacy | Scheme::RhelVersioned | Scheme::LayeredBuild => {
                Some(match self.rhel {
                    Some(RhelVersion { major, minor: None }) if major >= FIRST_STREAM => {
                        OsFamily::Scos
                    }
                    _ => OsFamily::Rhcos,
                })
            }
            // Files of the mirror and images of marketplaces are Red Hat's.
            Scheme::ImageName => Some(OsFamily::Rhcos),
            Scheme::Unknown | Scheme::Other(_) => None,
        }
    }

    /// The release that the image was made from, as its family counts: of Fedora, else of RHEL or
    /// CentOS Stream.
    pub fn os_release(&self) -> Option<RhelVersion> {
        let fedora = self.fedora.map(|major| RhelVersion { major, minor: None });
        fedora.or(self.rhel)
    }

    /// The major of that release.
    pub fn os_major(&self) -> Option<u16> {
        self.os_release().map(|release| release.major)
    }
}

/// A release of Fedora as text: `39`.
pub fn fedora_release(text: &str) -> Option<u16> {
    number(text).filter(|release| FEDORA.contains(release))
}

/// Compares two versions of Fedora CoreOS: Fedora release, build date, stream and build.
///
/// A later stream has what an earlier one of the same day has: `stable` (3) is promoted from
/// `testing` (2) with its date. `None` where either is of another family, or says too little.
pub fn compare_fcos(a: &ImageVersion, b: &ImageVersion) -> Option<Ordering> {
    match (a.fedora?, a.build_date.as_ref()?).cmp(&(b.fedora?, b.build_date.as_ref()?)) {
        Ordering::Equal => match a.stream?.cmp(&b.stream?) {
            Ordering::Equal => Some(a.build_number?.cmp(&b.build_number?)),
            decided => Some(decided),
        },
        decided => Some(decided),
    }
}

/// Compares two versions of SCOS across schemes: CentOS Stream release, then build date, as
/// [`super::compare_images`] does for RHCOS. `None` where either is of another family.
pub fn compare_scos(a: &ImageVersion, b: &ImageVersion) -> Option<Ordering> {
    let build = |image: &ImageVersion| {
        let rhel = image
            .rhel
            .filter(|_| image.os_family() == Some(OsFamily::Scos))?;
        Some((rhel.major, image.build_date.clone()?))
    };
    Some(build(a)?.cmp(&build(b)?))
}
