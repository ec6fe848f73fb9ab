//! The oldest boot image that sets make nodes from, and what the Machine Config Operator takes for
//! it (pure).
//!
//! The operator's value is about what makes nodes, not about the nodes that there are: by the
//! OpenShift 4.22 documentation the newest node of each machine set, and the oldest of these. What a
//! joined node was made from is named beside it.

use crate::audit::operator::is_stream_9;
use crate::audit::results::{ClusterSkew, Oldest, OldestNode, some_of};
use crate::operator::{self, Operator};
use crate::verdict::BootImageStatus;
use crate::version::{ImageVersion, Release, Scheme, compare_images};
use skewguard_cluster::kinds::target::parsed;
use std::cmp::Ordering;

/// User of a boot image, in words, and the image's version where it is known.
pub(crate) type User = (String, Option<ImageVersion>);

/// The oldest of the versions that these are known to have.
fn oldest_of(users: Vec<User>) -> Option<(ImageVersion, String, usize)> {
    let (known, unknown): (Vec<_>, Vec<_>) = users.into_iter().partition(|(_, version)| {
        version.as_ref().is_some_and(|version| {
            version.rhel.is_some() || version.ocp.is_some() || version.scheme == Scheme::Fcos
        })
    });
    let versions = known.iter().filter_map(|(_, version)| version.as_ref());
    let older = |a, b| if is_older(b, a) { b } else { a };
    let oldest = versions.reduce(older)?.clone();
    let mut users: Vec<&str> = known
        .iter()
        .filter(|(_, version)| version.as_ref() == Some(&oldest))
        .map(|(name, _)| name.as_str())
        .collect();
    // A control plane has a row for each of its images.
    users.dedup();
    let used_by = some_of(&users);
    Some((oldest, used_by, unknown.len()))
}

/// By the release of OpenShift where both name one: images of two releases may be of one RHEL
/// release and one day.
pub(crate) fn is_older(a: &ImageVersion, b: &ImageVersion) -> bool {
    match (a.ocp, b.ocp) {
        (Some(a), Some(b)) if a != b => a < b,
        _ => a < b,
    }
}

/// The oldest of the versions that these sets make nodes from.
pub(crate) fn oldest(users: Vec<User>) -> Option<(ImageVersion, Oldest)> {
    let (oldest, used_by, unknown) = oldest_of(users)?;
    Some((
        oldest.clone(),
        Oldest {
            boot_image: BootImageStatus::from(&oldest),
            used_by,
            command: None,
            way_back: None,
            unknown,
        },
    ))
}

/// The oldest of the versions that these joined nodes were made from.
pub(crate) fn oldest_node<'a>(
    nodes: impl Iterator<Item = (&'a str, Option<ImageVersion>)>,
) -> Option<OldestNode> {
    let named = nodes.map(|(name, version)| (format!("Node {name}"), version));
    let (oldest, used_by, unknown) = oldest_of(named.collect())?;
    Some(OldestNode {
        boot_image: BootImageStatus::from(&oldest),
        used_by,
        unknown,
    })
}

/// Command that undoes it, by what the cluster says now: without a value of its own the operator decides by itself.
pub(crate) fn way_back(said: &ClusterSkew) -> String {
    const REMOVE: &str = r#"oc patch machineconfiguration cluster --type json -p '[{"op":"remove","path":"/spec/bootImageSkewEnforcement"}]'"#;
    let is_manual = said.mode == "Manual";
    let value = match (&said.rhcos_version, &said.ocp_version) {
        (Some(rhcos), _) if fits_rhcos_version(rhcos) => Some(Manual::Rhcos(rhcos)),
        (None, Some(ocp)) if ocp.parse::<Release>().is_ok() => Some(Manual::Ocp(ocp)),
        _ => None,
    };
    let value = value.filter(|_| is_manual);
    value.map_or_else(|| REMOVE.to_owned(), |value| manual(&value))
}

/// A value of mode `Manual`.
enum Manual<'a> {
    Rhcos(&'a str),
    Ocp(&'a str),
}

/// The command that sets the mode `Manual`. `rhcosVersion` takes
/// `^[0-9]+\.[0-9]+\.([0-9]{8}|[0-9]{12})-[0-9]+$` of 14 to 21 characters, `ocpVersion` x.y.z; only
/// one of them may be there, so that the other, which may have been set before, is taken away
/// (openshift/api, `operator/v1`, `ClusterBootImageManual`).
pub(crate) fn command(version: &ImageVersion) -> Option<String> {
    if fits_rhcos_version(&version.text) && !is_stream_9(version) {
        return Some(manual(&Manual::Rhcos(&version.text)));
    }
    let ocp = version.ocp?;
    Some(manual(&Manual::Ocp(&format!("{ocp}.0"))))
}

fn manual(value: &Manual<'_>) -> String {
    let manual = match value {
        Manual::Rhcos(version) => {
            format!(r#"{{"mode":"RHCOSVersion","rhcosVersion":"{version}","ocpVersion":null}}"#)
        }
        Manual::Ocp(version) => {
            format!(r#"{{"mode":"OCPVersion","ocpVersion":"{version}","rhcosVersion":null}}"#)
        }
    };
    let patch = format!(
        r#"{{"spec":{{"bootImageSkewEnforcement":{{"mode":"Manual","manual":{manual}}}}}}}"#
    );
    format!("oc patch machineconfiguration cluster --type merge -p '{patch}'")
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

/// Tells whether the cluster has the field, and it is to be corrected: it takes the oldest image in use for newer
/// than it is, or for so old that it blocks updates.
pub(crate) fn is_wrong(cluster: Option<&ClusterSkew>) -> bool {
    cluster.is_some_and(|cluster| cluster.older_in_use == Some(true) || cluster.blocks_alone)
}

/// Tells whether the value that an admin set alone blocks updates: the operator takes it for too old, and the oldest
/// of the images that make nodes, which are all known, is new enough.
pub(crate) fn blocks_alone(said: &ClusterSkew, found: &Oldest, release: Option<&str>) -> bool {
    let limits = parsed(release).map(|release| operator::for_release(release.minor));
    let Some(Operator::Limits(limits)) = limits else {
        return false;
    };
    let image = ImageVersion::parse(&found.boot_image.version);
    let by_ocp = image.ocp.map(|ocp| ocp >= limits.minimum_ocp.minor);
    let by_rhcos = limits.accepts(None, Some(&image.text));
    let is_new = match fits_rhcos_version(&image.text) {
        true => by_ocp != Some(false) && by_rhcos == Some(true),
        false => by_ocp == Some(true),
    };
    let value = limits.accepts(said.ocp_version.as_deref(), said.rhcos_version.as_deref());
    said.mode == "Manual" && value == Some(false) && is_new
}

/// Compares what the cluster says of itself with the oldest image that was found.
pub(crate) fn cluster(said: &ClusterSkew, found: Option<&ImageVersion>) -> ClusterSkew {
    // 0.0.0 stands for a version that the operator does not know.
    let ocp = || {
        let release = said.ocp_version.as_ref()?.parse::<Release>().ok()?;
        (release.minor.major > 0).then_some(release)
    };
    let older_in_use = found.and_then(|found| match &said.rhcos_version {
        Some(rhcos) => {
            let rhcos = ImageVersion::parse(rhcos);
            match (found.ocp, rhcos.ocp) {
                (Some(own), Some(said)) if own != said => Some(own < said),
                _ => Some(compare_images(found, &rhcos)? == Ordering::Less),
            }
        }
        None => Some(found.ocp? < ocp()?.minor),
    });
    ClusterSkew {
        older_in_use,
        ..said.clone()
    }
}
