//! OCP releases: a cluster's (`4.21.3`), a limit's (`4.21`), the one in an image's version
//! (`4.11`).

use super::decode::number;
use super::{ImageVersion, RhelVersion, Scheme};
use std::fmt;
use std::str::FromStr;

/// An OCP (or OKD) release without its patch level, `4.13`. In the order 4.22, 4.23, 5.0, 5.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OcpMinor {
    /// 4, or 5 from 2026 on.
    pub major: u16,
    pub minor: u16,
}

impl OcpMinor {
    /// The minors from this release to `newer`, 0 if there are none; `None` where they cannot be
    /// counted. 4.23 and 5.0 are made from one code base and as far away: 5.y counts as 4.(23+y).
    /// That is a distance, never an order.
    pub fn minors_to(self, newer: Self) -> Option<u16> {
        let counted = |release: Self| match release.major {
            5 => (4, release.minor.saturating_add(23)),
            major => (major, release.minor),
        };
        let ((old, from), (new, to)) = (counted(self), counted(newer));
        (old == new).then(|| to.saturating_sub(from))
    }
}

impl fmt::Display for OcpMinor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

const fn ocp(minor: u16) -> OcpMinor {
    OcpMinor { major: 4, minor }
}

/// From this OCP release on, boot image versions do not name the OCP release.
pub const FIRST_UNNAMED: OcpMinor = ocp(19);

/// Releases of OCP, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Releases {
    pub first: OcpMinor,
    /// `None` where a later one may follow.
    pub last: Option<OcpMinor>,
}

/// RHEL releases whose images do not name their OCP release, and the OCP releases with such images
/// (openshift/os and openshift/installer, branches of 4.19 to 5.0).
pub const BY_RHEL: [((u16, u16), Releases); 3] = [
    ((9, 6), releases(19, Some(ocp(21)))),
    ((9, 8), releases(22, None)),
    ((10, 2), releases(22, None)),
];

const fn releases(first: u16, last: Option<OcpMinor>) -> Releases {
    let first = ocp(first);
    Releases { first, last }
}

impl Releases {
    pub const fn of(release: OcpMinor) -> Self {
        Self {
            first: release,
            last: Some(release),
        }
    }

    /// Tells whether all of them are older than `release`, or none is; `None` where some are.
    pub fn are_below(self, release: OcpMinor) -> Option<bool> {
        if self.first >= release {
            return Some(false);
        }
        self.last.filter(|last| *last < release).map(|_| true)
    }

    /// The fewest and the most minors to `newer`; `None` where they cannot be counted.
    pub fn minors_to(self, newer: OcpMinor) -> Option<[u16; 2]> {
        let most = self.first.minors_to(newer)?;
        let fewest = self.last.map_or(Some(0), |last| last.minors_to(newer))?;
        Some([fewest, most])
    }
}

impl fmt::Display for Releases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.last {
            Some(last) if last == self.first => last.fmt(f),
            Some(last) => write!(f, "{} to {last}", self.first),
            None => write!(f, "{} or later", self.first),
        }
    }
}

impl ImageVersion {
    /// The OCP release that it names, or those that its RHEL release and its scheme leave. A minor
    /// between two of [`BY_RHEL`], or after the last, is at least as new as the one before it.
    pub fn releases(&self) -> Option<Releases> {
        if let Some(ocp) = self.ocp {
            return Some(Releases::of(ocp));
        }
        let RhelVersion { major, minor } =
            self.rhel.filter(|_| self.scheme == Scheme::RhelVersioned)?;
        let own = (major, minor.unwrap_or_default());
        let mut before = BY_RHEL.iter().rev();
        let before = before.find(|(rhel, _)| rhel.0 == major && *rhel <= own);
        Some(match before {
            Some((rhel, releases)) if *rhel == own => *releases,
            before => Releases {
                first: before.map_or(FIRST_UNNAMED, |(_, releases)| releases.first),
                last: None,
            },
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an OCP release: write x.y or x.y.z, such as 4.21 or 4.21.3")]
pub struct NotARelease;

impl FromStr for OcpMinor {
    type Err = NotARelease;

    fn from_str(text: &str) -> Result<Self, NotARelease> {
        let (major, minor) = text.split_once('.').ok_or(NotARelease)?;
        Ok(Self {
            major: number(major).ok_or(NotARelease)?,
            minor: number(minor).ok_or(NotARelease)?,
        })
    }
}

/// An OCP release with its patch level, `4.21.3`.
///
/// Pre-releases and nightlies (`4.21.0-0.nightly-2026-05-20-043516`, `4.19.0-ec.3`,
/// `4.20.0-okd-scos.3`) count as their x.y.z, because a policy for 4.21 is meant for them as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Release {
    pub minor: OcpMinor,
    pub patch: u32,
}

impl Release {
    /// The release after it, of the same x.y.
    pub fn next_patch(self) -> Self {
        Self {
            patch: self.patch.saturating_add(1),
            ..self
        }
    }

    /// `4.22` for 4.22.0.
    pub fn short(self) -> String {
        match self.patch {
            0 => self.minor.to_string(),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.minor, self.patch)
    }
}

impl FromStr for Release {
    type Err = NotARelease;

    fn from_str(text: &str) -> Result<Self, NotARelease> {
        let numbers = text
            .split_once(['-', '+'])
            .map_or(text, |(numbers, _)| numbers);
        let (minor, patch) = numbers.rsplit_once('.').ok_or(NotARelease)?;
        Ok(Self {
            minor: minor.parse()?,
            patch: number(patch).ok_or(NotARelease)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nightlies_and_early_candidates_count_as_their_release() {
        for (text, want) in [
            ("4.21.3", "4.21.3"),
            ("4.21.0-0.nightly-2026-05-20-043516", "4.21.0"),
            ("4.20.0-okd-scos.3", "4.20.0"),
            ("4.19.0-ec.3", "4.19.0"),
            ("5.0.0-ec.2", "5.0.0"),
            ("4.16.48+build.1", "4.16.48"),
        ] {
            assert_eq!(
                text.parse::<Release>().map(|r| r.to_string()),
                Ok(want.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_release_is_said_to_be_none() {
        for text in [
            "",
            "4",
            "4.21",
            "v4.21.3",
            "4.21.3.1",
            "4.-1.0",
            "4.021.0",
            "latest",
            "4.21.x",
            "99999.1.1",
        ] {
            assert_eq!(text.parse::<Release>(), Err(NotARelease), "{text}");
        }
    }
}
