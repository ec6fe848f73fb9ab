//! Names of a node's OS and of its cluster, as its people use them (pure).

use super::{BootImageStatus, Verdict};
use crate::version::{ImageVersion, OsFamily};

/// The names of a node's OS and of its cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Product {
    /// The family of the judged image; RHCOS where it is unknown.
    pub family: OsFamily,
    /// The cluster is OKD, not OpenShift.
    pub is_okd: bool,
    /// The images to install from are of another family than the node's own: OKD went from Fedora
    /// CoreOS to CentOS Stream CoreOS.
    moves: bool,
}

impl Product {
    /// Name of its releases, before their number.
    pub fn release(self) -> &'static str {
        release_name(self.is_okd)
    }

    /// The image is of another family than the cluster's.
    pub fn is_mixed(self) -> bool {
        self.family.is_of_okd() != self.is_okd
    }

    /// The release of an image: named where it is one of another cluster's.
    pub(super) fn own_release(self, release: &str) -> String {
        match self.is_mixed() {
            true => format!("{} {release}", release_name(!self.is_okd)),
            false => release.to_owned(),
        }
    }

    /// Name of the images to install from, in a word that fits on a console.
    pub fn image(self) -> &'static str {
        match self.family {
            _ if self.is_mixed() && !self.is_okd => "RHCOS",
            _ if self.moves || self.is_mixed() => "CoreOS",
            OsFamily::Fcos => "FCOS",
            family => family.name(),
        }
    }
}

fn release_name(is_okd: bool) -> &'static str {
    if is_okd { "OKD" } else { "OCP" }
}

impl OsFamily {
    /// Name of its base, before the number of a release.
    pub fn base(self) -> &'static str {
        match self {
            Self::Rhcos => "RHEL",
            Self::Scos => "CentOS Stream",
            Self::Fcos => "Fedora",
        }
    }

    /// Tells whether clusters of OKD are made from it, not of OpenShift.
    pub fn is_of_okd(self) -> bool {
        self != Self::Rhcos
    }
}

impl ImageVersion {
    /// Names of the release in its version and of the cluster's: `RHEL` and `OCP`. They are
    /// Red Hat's where the family is unknown.
    pub(super) fn names(&self) -> [&'static str; 2] {
        let family = self.os_family().unwrap_or(OsFamily::Rhcos);
        [family.base(), release_name(family.is_of_okd())]
    }
}

impl BootImageStatus {
    /// The family of the image; `None` where its scheme is unknown.
    pub fn os_family(&self) -> Option<OsFamily> {
        let version = ImageVersion::parse(&self.version);
        // A minor that the version alone does not say is known by `ID=rhel`.
        let has_minor = self.rhel_version.iter().any(|rhel| rhel.contains('.'));
        let version = if has_minor {
            version.on_rhel()
        } else {
            version
        };
        version.os_family()
    }

    /// The systems that the version names: `Fedora CoreOS`, or `RHEL 8.6` and `OCP 4.11`. Empty
    /// where its scheme is unknown.
    pub fn systems(&self) -> Vec<String> {
        let family = self.os_family();
        let known = family.unwrap_or(OsFamily::Rhcos);
        let [base, release] = [known.base(), release_name(known.is_of_okd())];
        let fedora = (family == Some(OsFamily::Fcos)).then(|| OsFamily::Fcos.name().to_owned());
        let rhel = self
            .rhel_version
            .as_ref()
            .map(|rhel| format!("{base} {rhel}"));
        let ocp = self
            .ocp_version
            .as_ref()
            .map(|ocp| format!("{release} {ocp}"));
        [fedora, rhel, ocp].into_iter().flatten().collect()
    }
}

impl Verdict {
    /// Names of the node's OS and of its cluster.
    pub fn product(&self) -> Product {
        let family = self.judged_image().and_then(BootImageStatus::os_family);
        let is_of_okd = family.is_some_and(OsFamily::is_of_okd);
        let to_scos = self.target.release.iter().any(|text| text.contains("scos"));
        Product {
            family: family.unwrap_or(OsFamily::Rhcos),
            is_okd: self.target.is_okd().unwrap_or(is_of_okd),
            moves: family == Some(OsFamily::Fcos) && to_scos,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_of_an_image_have_the_names_of_its_family() {
        let systems = |version: ImageVersion| BootImageStatus::from(&version).systems().join(", ");
        for (version, names) in [
            ("411.86.202308081056-0", "RHEL 8.6, OCP 4.11"),
            ("413.9.202302280609-0", "CentOS Stream 9, OKD 4.13"),
            ("9.0.20250827-0", "CentOS Stream 9"),
            ("9.6.20250523-0", "RHEL 9.6"),
            ("39.20231101.3.0", "Fedora CoreOS"),
            ("4.18.2026012111", ""),
        ] {
            assert_eq!(systems(ImageVersion::parse(version)), names, "{version}");
        }
        let on_rhel = ImageVersion::parse("10.0.20250628-0").on_rhel();
        assert_eq!(systems(on_rhel), "RHEL 10.0");
    }
}
