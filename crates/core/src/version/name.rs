//! Versions in the names of images: files of the mirror, images of clouds, URNs of marketplaces
//! (pure).

use super::decode::{date, number, scheme_only};
use super::{ImageVersion, OcpMinor, Release, RhelVersion, Scheme};

/// Their names in files on the mirror.
const ARCHITECTURES: [&str; 4] = ["x86_64", "aarch64", "ppc64le", "s390x"];

impl ImageVersion {
    /// The one version that the name of an image has in it:
    /// `rhcos-416.94.202406251923-0-vmware.x86_64.ova`, with dashes for its dots as on GCP, or
    /// without time and build as in an Azure URN or in the name of a marketplace's AMI. Else what
    /// the name says of the OCP release.
    /// `None` where there is none, or more than one.
    pub fn from_image_name(name: &str) -> Option<Self> {
        let last = name.rsplit([':', '/']).next().unwrap_or_default();
        match whole(name).as_slice() {
            [version] => Some(version.clone()),
            [] => azure_urn(last)
                .or_else(|| marketplace_image(last))
                .or_else(|| marketplace_ami(last))
                .or_else(|| mirror_file(last)),
            _ => None,
        }
    }
}

/// The versions as an aleph has them.
fn whole(name: &str) -> Vec<ImageVersion> {
    // Where each run of letters and digits begins and ends.
    let mut words: Vec<(usize, usize)> = Vec::new();
    for (at, c) in name.char_indices() {
        match words.last_mut() {
            _ if !c.is_ascii_alphanumeric() => {}
            Some((_, end)) if *end == at => *end = at + 1,
            _ => words.push((at, at + 1)),
        }
    }
    let mut found: Vec<ImageVersion> = Vec::new();
    for window in words.windows(4) {
        let [(start, _), _, _, (_, end)] = window else {
            continue;
        };
        let parts: Vec<&str> = window
            .iter()
            .filter_map(|(start, end)| name.get(*start..*end))
            .collect();
        let [major, minor, stamp, build] = parts.as_slice() else {
            continue;
        };
        let forms = [
            name.get(*start..*end).unwrap_or_default().to_owned(),
            format!("{major}.{minor}.{stamp}-{build}"),
            format!("{major}.{minor}.{stamp}.{build}"),
        ];
        found.extend(
            forms
                .iter()
                .map(|form| ImageVersion::parse(form))
                .find(ImageVersion::is_known),
        );
    }
    found.dedup();
    found
}

/// The version of an Azure URN. `412.86.20230503` stands for `412.86.202305030036-0`,
/// `9.6.20251015` for `9.6.20251015-0`, without time of day and build number; some have two more
/// digits of Azure's own after the date. `4.18.2025031114` is OCP 4.18, and so is what
/// `419.6.20250523` says: OCP 4.19, the major of its RHEL left out, which is 9 from 4.13 on
/// (openshift/installer, `data/data/coreos/marketplace`; its 9.6.20250523-0 is of that day).
fn azure_urn(text: &str) -> Option<ImageVersion> {
    let (front, stamp) = text.rsplit_once('.')?;
    let day = stamp.get(..8).filter(|_| matches!(stamp.len(), 8 | 10))?;
    if let Some(minor) = front.strip_prefix("4.") {
        return with_release(text, 4, minor, day);
    }
    with_day(text, front, day).or_else(|| {
        let (ocp, minor) = front.strip_prefix('4')?.split_once('.')?;
        // With its major it would have been read above.
        let minor = number(minor).filter(|_| ocp.len() == 2 && minor.len() == 1)?;
        let version = with_release(text, 4, ocp, day)?;
        let is_of_9 = version.ocp.is_some_and(|ocp| ocp.minor >= 13);
        Some(ImageVersion {
            rhel: is_of_9.then_some(RhelVersion {
                major: 9,
                minor: Some(minor),
            }),
            ..version
        })
    })
}

/// `front` is that of a whole version, and `day` is all that is left of the rest.
fn with_day(text: &str, front: &str, day: &str) -> Option<ImageVersion> {
    // A legacy stamp is padded to 12 digits: with 8 digits 4.10 would be read as 4.1.
    let forms = [format!("{front}.{day}0000-0"), format!("{front}.{day}-0")];
    let version = forms
        .iter()
        .map(|form| ImageVersion::parse(form))
        .find(|version| matches!(version.scheme, Scheme::Legacy | Scheme::RhelVersioned))?;
    Some(ImageVersion {
        text: text.to_owned(),
        time: None,
        build_number: None,
        ..version
    })
}

/// `RHEL-9.4-RHCOS-9.6_HVM_GA-20260210-x86_64-0-PRODUCT` of the AWS marketplace: RHCOS 9.6 of that
/// day; with `RHCOS-4.18` OCP 4.18 (machine-config-operator #6015, `docs/design/aws-marketplace.md`).
/// What stands before RHCOS is the product's name.
fn marketplace_ami(name: &str) -> Option<ImageVersion> {
    let (_, rest) = name.split_once("-RHCOS-")?;
    let (release, rest) = rest.split_once("_HVM")?;
    let day = rest
        .split('-')
        .nth(1)
        .filter(|stamp| matches!(stamp.len(), 8 | 10))?
        .get(..8)?;
    match release.strip_prefix("4.") {
        Some(minor) => with_release(name, 4, minor, day),
        None => with_day(name, release, day),
    }
}

/// `redhat-coreos-ocp-413-x86-64-202305021736`, of the marketplace (OpenShift documentation, "Using
/// the Google Cloud Marketplace offering").
fn marketplace_image(name: &str) -> Option<ImageVersion> {
    let rest = name.strip_prefix("redhat-coreos-")?;
    let (_, rest) = rest.split_once('-')?;
    let (release, _) = rest.split_once('-')?;
    let stamp = rest.rsplit('-').next().filter(|stamp| stamp.len() == 12)?;
    with_release(name, 4, release.strip_prefix('4')?, stamp.get(..8)?)
}

fn with_release(text: &str, major: u16, minor: &str, day: &str) -> Option<ImageVersion> {
    let minor = number(minor)?;
    Some(ImageVersion {
        ocp: Some(OcpMinor { major, minor }),
        build_date: Some(date(day)?),
        ..scheme_only(Scheme::ImageName, text)
    })
}

/// `rhcos-4.16.36-x86_64-vmware.x86_64.ova`: OCP 4.16, and no more. The mirror names files after
/// the release that they came with.
fn mirror_file(name: &str) -> Option<ImageVersion> {
    let (before, rest) = name.split_once("rhcos-")?;
    if before.ends_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let release = ARCHITECTURES
        .iter()
        .find_map(|architecture| rest.split_once(&format!("-{architecture}-")))?
        .0;
    Some(ImageVersion {
        ocp: Some(release.parse::<Release>().ok()?.minor),
        ..scheme_only(Scheme::ImageName, release)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Version, OCP and RHEL release, day.
    fn said(name: &str) -> Option<String> {
        let version = ImageVersion::from_image_name(name)?;
        let text = |part: Option<String>| part.unwrap_or_else(|| "-".to_owned());
        Some(format!(
            "{version} {} {} {}",
            text(version.ocp.map(|ocp| ocp.to_string())),
            text(version.rhel.map(|rhel| rhel.to_string())),
            text(version.build_date.clone())
        ))
    }

    #[test]
    fn versions_in_the_names_of_images() {
        for (name, want) in [
            (
                "projects/rhcos-cloud/global/images/rhcos-416-94-202406251923-0-gcp-x86-64",
                Some("416.94.202406251923-0 4.16 9.4 2024-06-25"),
            ),
            (
                "projects/rhcos-cloud/global/images/rhcos-9-6-20250523-0-gcp-x86-64",
                Some("9.6.20250523-0 - 9.6 2025-05-23"),
            ),
            (
                "projects/fedora-coreos-cloud/global/images/fedora-coreos-39-20231101-3-0-gcp-x86-64",
                Some("39.20231101.3.0 - - 2023-11-01"),
            ),
            (
                "rhcos-418.94.202501221327-0-vmware.x86_64.ova",
                Some("418.94.202501221327-0 4.18 9.4 2025-01-22"),
            ),
            (
                "rhcos-42.80.20191002.0",
                Some("42.80.20191002.0 4.2 8.0 2019-10-02"),
            ),
            (
                "https://mirror.example.com/10.0.0.1/rhcos-412.86.202301311551-0-live.x86_64.iso",
                Some("412.86.202301311551-0 4.12 8.6 2023-01-31"),
            ),
            (
                "azureopenshift:aro4:418-v2:418.94.20250122",
                Some("418.94.20250122 4.18 9.4 2025-01-22"),
            ),
            (
                "azureopenshift:aro4:420-v2:9.6.20251015",
                Some("9.6.20251015 - 9.6 2025-10-15"),
            ),
            (
                "/subscriptions/a/galleries/g/images/i/versions/410.84.20220112",
                Some("410.84.20220112 4.10 8.4 2022-01-12"),
            ),
            (
                "redhat:rh-ocp-worker:rh-ocp-worker:413.92.2023101700",
                Some("413.92.2023101700 4.13 9.2 2023-10-17"),
            ),
            // The release alone.
            (
                "redhat:rh-ocp-worker:rh-ocp-worker:4.18.2025031114",
                Some("4.18.2025031114 4.18 - 2025-03-11"),
            ),
            (
                "RedHat:rh-ocp-worker:rh-ocp-worker-gen1:4.8.2021122100",
                Some("4.8.2021122100 4.8 - 2021-12-21"),
            ),
            (
                "redhat:rh-ocp-worker:rh-ocp-worker:9.6.2026030314",
                Some("9.6.2026030314 - 9.6 2026-03-03"),
            ),
            (
                "azureopenshift:aro4:aro_419:419.6.20250523",
                Some("419.6.20250523 4.19 9.6 2025-05-23"),
            ),
            (
                "RHEL-9.4-RHCOS-9.6_HVM_GA-20260210-x86_64-0-59ead7de-2540-4653-a8b0-fa7926d5c845",
                Some(
                    "RHEL-9.4-RHCOS-9.6_HVM_GA-20260210-x86_64-0-59ead7de-2540-4653-a8b0-fa7926d5c845 - 9.6 2026-02-10",
                ),
            ),
            (
                "RHEL-9.4-RHCOS-4.18_HVM_GA-20251119-aarch64-0-59ead7de-2540-4653-a8b0-fa7926d5c845",
                Some(
                    "RHEL-9.4-RHCOS-4.18_HVM_GA-20251119-aarch64-0-59ead7de-2540-4653-a8b0-fa7926d5c845 4.18 - 2025-11-19",
                ),
            ),
            (
                "https://www.googleapis.com/compute/v1/projects/redhat-marketplace-public/global/images/redhat-coreos-ocp-413-x86-64-202305021736",
                Some("redhat-coreos-ocp-413-x86-64-202305021736 4.13 - 2023-05-02"),
            ),
            (
                "projects/redhat-marketplace-public/global/images/redhat-coreos-ocp-48-x86-64-202210040145",
                Some("redhat-coreos-ocp-48-x86-64-202210040145 4.8 - 2022-10-04"),
            ),
            (
                "rhcos-4.16.36-x86_64-vmware.x86_64.ova",
                Some("4.16.36 4.16 - -"),
            ),
            (
                "prod-rhcos-4.5.2-x86_64-vmware.x86_64",
                Some("4.5.2 4.5 - -"),
            ),
            (
                "https://mirror.example.com/rhcos-4.12.3-x86_64-live.x86_64.iso",
                Some("4.12.3 4.12 - -"),
            ),
            // Says nothing.
            ("ami-0a1b2c3d4e5f60718", None),
            ("c1-x7k2p-rhcos-generated-region-generated-zone", None),
            ("rhcos-4.12", None),
            ("rhcos-vmware.x86_64.ova", None),
            ("norhcos-4.12.3-x86_64-vmware.x86_64.ova", None),
            ("rhcos-4.12.3.4-x86_64-vmware.x86_64.ova", None),
            ("redhat-coreos-ocp-413-x86-64-202313021736", None),
            ("azureopenshift:aro4:aro_419:419.61.20250523", None),
            ("azureopenshift:aro4:aro_419:41.6.20250523", None),
            ("RHEL-9.4.0_HVM_GA-20240605-x86_64-82-Hourly2-GP3", None),
            ("RHEL-9.4-RHCOS-9.6_HVM_GA-20261310-x86_64-0", None),
            ("RHEL-9.4-RHCOS-9.6_HVM_GA", None),
            ("RHEL-9.4-RHCOS-9.6_HVM_GA-*", None),
            ("RHEL-9.4-RHCOS-_HVM_GA-20260210-x86_64-0", None),
            ("redhat:rh-ocp-worker:rh-ocp-worker:4.18.20250311141", None),
            // Says two things.
            ("412.86.202301311551-0-not-418.94.202501221327-0", None),
        ] {
            assert_eq!(said(name).as_deref(), want, "{name}");
        }
        let azure = ImageVersion::from_image_name("a:b:c:410.84.20220112").unwrap();
        assert_eq!((azure.time, azure.build_number), (None, None));
    }
}
