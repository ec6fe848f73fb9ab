//! The oldest boot image in use, and what the Machine Config Operator takes for it (pure).

use super::sets::some_of;
use super::{ClusterSkew, Oldest};
use crate::verdict::BootImageStatus;
use crate::version::{ImageVersion, Release, Scheme, compare_images};
use std::cmp::Ordering;

/// The oldest of the versions that these sets and nodes are known to have.
pub(super) fn oldest(users: Vec<(String, Option<ImageVersion>)>) -> Option<(ImageVersion, Oldest)> {
    let (known, unknown): (Vec<_>, Vec<_>) = users.into_iter().partition(|(_, version)| {
        version
            .as_ref()
            .is_some_and(|version| version.rhel.is_some() || version.scheme == Scheme::Fcos)
    });
    let oldest = known
        .iter()
        .filter_map(|(_, version)| version.as_ref())
        .min()?
        .clone();
    let users: Vec<&str> = known
        .iter()
        .filter(|(_, version)| version.as_ref() == Some(&oldest))
        .map(|(name, _)| name.as_str())
        .collect();
    let (used_by, command) = (some_of(&users), command(&oldest));
    Some((
        oldest.clone(),
        Oldest {
            boot_image: BootImageStatus::from(&oldest),
            used_by,
            command,
            unknown: unknown.len(),
        },
    ))
}

/// The command that sets the mode `Manual`. `rhcosVersion` takes
/// `^[0-9]+\.[0-9]+\.([0-9]{8}|[0-9]{12})-[0-9]+$` of 14 to 21 characters, `ocpVersion` x.y.z; only
/// one of them may be there, so that the other, which may have been set before, is taken away
/// (openshift/api, `operator/v1`, `ClusterBootImageManual`).
fn command(version: &ImageVersion) -> Option<String> {
    let manual = if fits_rhcos_version(&version.text) {
        format!(r#"{{"mode":"RHCOSVersion","rhcosVersion":"{version}","ocpVersion":null}}"#)
    } else {
        format!(
            r#"{{"mode":"OCPVersion","ocpVersion":"{}.0","rhcosVersion":null}}"#,
            version.ocp?
        )
    };
    let patch = format!(
        r#"{{"spec":{{"bootImageSkewEnforcement":{{"mode":"Manual","manual":{manual}}}}}}}"#
    );
    Some(format!(
        "oc patch machineconfiguration cluster --type merge -p '{patch}'"
    ))
}

fn fits_rhcos_version(text: &str) -> bool {
    let digits = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = text.split(['.', '-']).collect();
    let [major, minor, stamp, build] = parts[..] else {
        return false;
    };
    let is_in_form = text == format!("{major}.{minor}.{stamp}-{build}") && parts.iter().all(digits);
    is_in_form && matches!(stamp.len(), 8 | 12) && (14..=21).contains(&text.len())
}

/// Whether the cluster has the field, and takes the oldest image in use for newer than it is.
pub(super) fn is_understated(cluster: Option<&ClusterSkew>) -> bool {
    cluster.is_some_and(|cluster| cluster.older_in_use == Some(true))
}

/// Compares what the cluster says of itself with the oldest image that was found.
pub(super) fn cluster(said: &ClusterSkew, found: Option<&ImageVersion>) -> ClusterSkew {
    // 0.0.0 stands for a version that the operator does not know.
    let ocp = || {
        let release = said.ocp_version.as_ref()?.parse::<Release>().ok()?;
        (release.minor.major > 0).then_some(release)
    };
    let older_in_use = found.and_then(|found| match &said.rhcos_version {
        Some(rhcos) => Some(compare_images(found, &ImageVersion::parse(rhcos))? == Ordering::Less),
        None => Some(found.ocp?.counted() < ocp()?.minor.counted()),
    });
    ClusterSkew {
        older_in_use,
        ..said.clone()
    }
}
