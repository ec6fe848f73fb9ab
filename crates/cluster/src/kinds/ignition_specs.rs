//! Which Ignition a boot image has, and the config specs that it reads (pure).
//!
//! | of | seen in |
//! |---|---|
//! | specs by release of Ignition | coreos/ignition `docs/specs.md`, "Specification versions and Ignition releases" |
//! | 4.1 to 4.5 | Ignition 0.x; the machine-config-server gives it spec 2.2 |
//! | 4.6 | `Ignition/2.6.0` with Accept 3.1.0 in the log of a public bootstrap server of 4.6 |
//! | 4.7 | the operator of 4.7 writes user data of spec 3.2 (d4188ac40), which its own image reads |
//! | 4.8 | `ignition-2.9.0-7.rhaos4.8.el8` in Red Hat's errata; 4.9 and 4.10 have at least that |
//! | 4.11, 4.12 | `ignition-2.14.0-*.rhaos4.11.el8`, `…rhaos4.12.el8` in Red Hat's errata |
//! | 4.13 of RHEL 9.2 | `ignition-2.15.0-1.el9` (openshift/os #1188); those of RHEL 8.6 came before |
//! | 4.14, 4.15 | `ignition-2.16.2-*.rhaos4.14.el9`, `…rhaos4.15.el9` in Red Hat's errata |
//!
//! Of later ones nobody has a list here: they have at least what 4.15 had.

use crate::version::{ImageVersion, OcpMinor, OsFamily, RhelVersion, Scheme};
use std::fmt;

/// A config spec, such as 3.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spec {
    pub major: u16,
    pub minor: u16,
}

const fn spec(major: u16, minor: u16) -> Spec {
    Spec { major, minor }
}

impl Spec {
    /// `3.2.0`, without what comes after a hyphen.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.split('-').next()?;
        let mut parts = text.split('.');
        let mut next = || parts.next()?.parse().ok();
        Some(Self {
            major: next()?,
            minor: next()?,
        })
    }
}

impl Spec {
    /// As a config says it: `3.2.0`.
    pub fn version(self) -> String {
        format!("{self}.0")
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// An image's Ignition, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageIgnition {
    /// Its release, where that is known.
    pub release: Option<&'static str>,
    /// The newest spec that it surely reads.
    pub reads: Spec,
    /// It reads none that is newer.
    pub is_newest: bool,
}

impl ImageIgnition {
    /// In words: `Ignition 2.14.0, specs 3.0 to 3.3`.
    pub fn says(&self) -> String {
        let specs = match self.reads {
            Spec { major: 2, .. } => "spec 2.2, none of 3".to_owned(),
            reads if self.is_newest => format!("specs 3.0 to {reads}"),
            reads => format!("at least specs 3.0 to {reads}"),
        };
        match self.release {
            Some(release) => format!("Ignition {release}, {specs}"),
            None => format!("Ignition of unknown release, {specs}"),
        }
    }

    /// Tells if it reads a config of this spec; `None` where nobody knows.
    pub fn can_read(&self, config: Spec) -> Option<bool> {
        if config.major != self.reads.major {
            // Ignition 2.x reads no spec 2, and 0.x no spec 3.
            return Some(false);
        }
        if config <= self.reads {
            Some(true)
        } else {
            self.is_newest.then_some(false)
        }
    }
}

/// The newest spec of a release of Ignition; those that are newer than this program are unknown.
const RELEASES: [(u16, u16); 7] = [(0, 0), (3, 1), (7, 2), (11, 3), (15, 4), (20, 5), (26, 6)];

/// The newest spec that `Ignition/2.14.0` reads, from the client's name in a log.
pub fn of_agent(agent: &str) -> Option<Spec> {
    let release = agent.strip_prefix("Ignition/")?;
    let mut parts = release.split(['.', '-', '+']);
    let major: u16 = parts.next()?.parse().ok()?;
    let minor: u16 = parts.next()?.parse().ok()?;
    match major {
        0 => Some(spec(2, 2)),
        2 => {
            let (_, newest) = RELEASES.iter().rev().find(|(first, _)| *first <= minor)?;
            Some(spec(3, *newest))
        }
        _ => None,
    }
}

/// The boot images whose Ignition has this name and release, in words.
pub fn images_of_agent(agent: &str) -> Option<&'static str> {
    let release = agent.strip_prefix("Ignition/")?;
    match release {
        _ if release.starts_with("0.") => Some("boot images of OCP 4.1 to 4.5 have it"),
        "2.6.0" => Some("boot images of OCP 4.6 have it"),
        "2.9.0" => Some("boot images of OCP 4.8 have it"),
        "2.14.0" => Some("boot images of OCP 4.11 and 4.12 have it"),
        "2.15.0" => Some("boot images of OCP 4.13 have it"),
        "2.16.2" => Some("boot images of OCP 4.14 and 4.15 have it"),
        _ => None,
    }
}

/// The Ignition of an image of RHEL CoreOS; `None` where nothing is known.
pub fn of_image(version: &ImageVersion) -> Option<ImageIgnition> {
    if version.os_family() != Some(OsFamily::Rhcos) || version.scheme == Scheme::ImageName {
        return None;
    }
    let exact = |release, reads| ImageIgnition {
        release: Some(release),
        reads,
        is_newest: true,
    };
    let at_least = |reads| ImageIgnition {
        release: None,
        reads,
        is_newest: false,
    };
    let Some(OcpMinor { major: 4, minor }) = version.ocp else {
        let is_new = version.scheme == Scheme::RhelVersioned
            && version.rhel.is_some_and(|rhel| rhel.major >= 9);
        return is_new.then(|| at_least(spec(3, 4)));
    };
    let is_9_2 = version.rhel
        >= Some(RhelVersion {
            major: 9,
            minor: Some(2),
        });
    Some(match minor {
        0..=5 => ImageIgnition {
            release: None,
            reads: spec(2, 2),
            is_newest: true,
        },
        6 => exact("2.6.0", spec(3, 1)),
        7 => at_least(spec(3, 2)),
        8 => exact("2.9.0", spec(3, 2)),
        9 | 10 => at_least(spec(3, 2)),
        11 | 12 => exact("2.14.0", spec(3, 3)),
        13 if is_9_2 => exact("2.15.0", spec(3, 4)),
        13 => at_least(spec(3, 3)),
        14 | 15 => exact("2.16.2", spec(3, 4)),
        _ => at_least(spec(3, 4)),
    })
}

/// Tells whether an image's Ignition surely does not read a config of this spec: by the table of Red Hat's
/// releases, else by the major version alone.
pub fn cannot_read(version: &ImageVersion, config: Spec) -> bool {
    match of_image(version) {
        Some(ignition) => ignition.can_read(config) == Some(false),
        None => major(version).is_some_and(|major| major != config.major),
    }
}

/// The major version of the specs that an image reads, where only that is known: RHCOS reads spec 2 until
/// 4.5 and spec 3 since 4.6 (Ignition 0.35 and 2.6); FCOS and SCOS never read spec 2.
fn major(version: &ImageVersion) -> Option<u16> {
    if matches!(version.os_family(), Some(OsFamily::Fcos | OsFamily::Scos)) {
        return Some(3);
    }
    if let Some(ocp) = version.ocp {
        let first = OcpMinor { major: 4, minor: 6 };
        return Some(if ocp < first { 2 } else { 3 });
    }
    let rhel = version.rhel?;
    match (rhel.major, rhel.minor) {
        (8, Some(0 | 1)) => Some(2),
        // 8.2 is that of 4.4 to 4.6.
        (8, Some(2) | None) => None,
        (8.., _) => Some(3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_have_the_ignition_of_their_release() {
        for (version, wanted) in [
            (
                "410.8.20190520.0",
                Some("Ignition of unknown release, spec 2.2, none of 3"),
            ),
            (
                "46.82.202011260640-0",
                Some("Ignition 2.6.0, specs 3.0 to 3.1"),
            ),
            (
                "47.83.202103251640-0",
                Some("Ignition of unknown release, at least specs 3.0 to 3.2"),
            ),
            (
                "412.86.202301311551-0",
                Some("Ignition 2.14.0, specs 3.0 to 3.3"),
            ),
            (
                "413.86.202301191042-0",
                Some("Ignition of unknown release, at least specs 3.0 to 3.3"),
            ),
            (
                "413.92.202305090606-0",
                Some("Ignition 2.15.0, specs 3.0 to 3.4"),
            ),
            (
                "415.92.202402130021-0",
                Some("Ignition 2.16.2, specs 3.0 to 3.4"),
            ),
            (
                "418.94.202501221327-0",
                Some("Ignition of unknown release, at least specs 3.0 to 3.4"),
            ),
            (
                "9.6.20250523-0",
                Some("Ignition of unknown release, at least specs 3.0 to 3.4"),
            ),
            ("39.20231101.3.0", None),
            ("what", None),
        ] {
            let found = of_image(&ImageVersion::parse(version)).map(|found| found.says());
            assert_eq!(found.as_deref(), wanted, "{version}");
        }
    }

    #[test]
    fn a_config_is_read_refused_or_open() {
        let of = |version| of_image(&ImageVersion::parse(version)).unwrap();
        for (version, config, wanted) in [
            ("412.86.202301311551-0", "3.3.0", Some(true)),
            ("412.86.202301311551-0", "3.5.0", Some(false)),
            ("412.86.202301311551-0", "2.2.0", Some(false)),
            ("410.8.20190520.0", "3.0.0", Some(false)),
            ("410.8.20190520.0", "2.2.0", Some(true)),
            ("418.94.202501221327-0", "3.4.0", Some(true)),
            ("418.94.202501221327-0", "3.5.0", None),
        ] {
            let config = Spec::parse(config).unwrap();
            assert_eq!(of(version).can_read(config), wanted, "{version} {config}");
        }
    }

    #[test]
    fn clients_name_the_newest_spec_that_they_read() {
        for (agent, wanted) in [
            ("Ignition/0.35.1", Some("2.2")),
            ("Ignition/2.3.0", Some("3.1")),
            ("Ignition/2.6.0", Some("3.1")),
            ("Ignition/2.14.0", Some("3.3")),
            ("Ignition/2.20.0", Some("3.5")),
            ("curl/7.61.1", None),
            ("Ignition/", None),
        ] {
            let found = of_agent(agent).map(|spec| spec.to_string());
            assert_eq!(found.as_deref(), wanted, "{agent}");
        }
    }
}
