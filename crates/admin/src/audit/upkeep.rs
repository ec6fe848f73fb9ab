//! Who keeps a set's boot image up to date, and which stream of images is its own (pure).
//!
//! Facts: machine-config-operator `pkg/controller/bootimage/ms_helpers.go`,
//! `pkg/controller/common/featuregates.go` (`CheckBootImagePlatform`) of each release branch,
//! `pkg/osimagestream/streams.go`; openshift/api `features/features.go` of each release branch, `machineconfiguration/v1`, `operator/v1`;
//! openshift/hypershift `NodePoolSpec.osImageStream`.

use super::kinds::MachineSet;
use super::objects::Objects;
use crate::version::{OcpMinor, Release};

/// The one stream that the Machine Config Operator keeps up to date (4.22 to 5.0).
const KEPT: &str = "rhel-9";

/// The stream of NodePools that are pinned to none, from OpenShift 5.0 on.
const OF_NODE_POOLS: &str = "rhel-10";

/// The stream that a set names, else its pool, else the cluster's own. A custom pool that names
/// none has that of the workers.
pub(super) fn stream(
    objects: &Objects,
    of_set: Option<&str>,
    pool: Option<&str>,
) -> Option<String> {
    let of_pool = |pool: &str| objects.pool_streams.get(pool).map(String::as_str);
    of_set
        .or_else(|| pool.and_then(of_pool))
        .or_else(|| {
            let is_custom = pool.is_some_and(|pool| pool != "master");
            is_custom.then(|| of_pool("worker")).flatten()
        })
        .or(objects.default_stream.as_deref())
        .map(str::to_owned)
}

/// The stream of a NodePool's next node at this release, and what to know of it.
pub(super) fn of_node_pool(
    pinned: Option<&str>,
    now: Option<&str>,
    release: Option<&str>,
) -> (Option<String>, Option<String>) {
    let is_five = release
        .and_then(|release| release.parse::<Release>().ok())
        .is_some_and(|release| release.minor.major >= 5);
    match (pinned, is_five) {
        (Some(pinned), _) => (Some(pinned.to_owned()), None),
        (None, true) => {
            let note = format!(
                "no stream is pinned (spec.osImageStream): from OpenShift 5.0 on its nodes are of {OF_NODE_POOLS}"
            );
            (Some(OF_NODE_POOLS.to_owned()), Some(note))
        }
        (None, false) => (now.map(str::to_owned), None),
    }
}

/// Why the Machine Config Operator leaves the image of this set alone.
pub(super) fn left_alone(set: &MachineSet) -> Option<String> {
    match &set.stream {
        _ if set.is_owned => Some("it belongs to another object".to_owned()),
        Some(stream) if stream != KEPT => Some(format!("its stream is {stream}")),
        _ => None,
    }
}

/// Whether the cluster keeps the image of this set up to date; `None` where that is not known.
pub(super) fn is_managed(objects: &Objects, set: &MachineSet, resource: &str) -> Option<bool> {
    let selected = objects.managed.as_ref()?.selects(resource, &set.labels)?;
    Some(selected && left_alone(set).is_none())
}

/// Whether the cluster could keep the images of sets of this kind and platform up to date:
/// generally available from this release on.
pub(super) fn can_be_managed(kind: &str, platform: Option<&str>, release: Option<&str>) -> bool {
    let minor = match (kind, platform) {
        ("MachineSet", Some("gcp")) => 17,
        ("MachineSet", Some("aws")) => 18,
        ("MachineSet", Some("vmware" | "azure")) => 21,
        ("ControlPlaneMachineSet", Some("aws" | "azure" | "gcp")) => 22,
        _ => return false,
    };
    let since = OcpMinor { major: 4, minor };
    release
        .and_then(|release| release.parse::<Release>().ok())
        .is_some_and(|release| release.minor.counted() >= since)
}

/// What to know of a set: the cluster keeps its image up to date, or the operator's value for the
/// oldest boot image does not cover it.
pub(super) fn note(objects: &Objects, set: &MachineSet, managed: Option<bool>) -> Option<String> {
    if managed == Some(true) {
        return Some("the cluster keeps this image up to date (managedBootImages)".to_owned());
    }
    let has_value = objects
        .skew
        .as_ref()
        .is_some_and(|skew| skew.mode != "None");
    let why = left_alone(set).filter(|_| has_value)?;
    Some(format!(
        "the Machine Config Operator leaves its image alone, because {why}: its value for the oldest boot image does not cover this set"
    ))
}
