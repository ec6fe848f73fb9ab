//! Sets as the Machine Config Operator looks at them, and the releases that keep their images (pure).

use crate::audit::results::set::SetKind;
use crate::platform::Platform;
use crate::version::OcpMinor;
use skewguard_cluster::kinds::image::Image;
use skewguard_cluster::kinds::machine_set::MachineSet;
use skewguard_cluster::kinds::platforms::audit_row;
use skewguard_cluster::kinds::target::parsed;

/// The one stream that the Machine Config Operator keeps up to date (4.22 to 5.1).
pub(crate) const KEPT: &str = "rhel-9";

/// A set as the Machine Config Operator looks at it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate<'a> {
    pub(crate) kind: SetKind,
    pub(crate) set: &'a MachineSet,
    pub(crate) image: &'a Image,
}

/// Tells whether the cluster could keep the images of sets of this kind and platform up to date:
/// generally available from this release on.
pub(crate) fn can_be_managed(
    kind: SetKind,
    platform: Option<Platform>,
    release: Option<&str>,
) -> bool {
    let (since, release) = (since(kind, platform), parsed(release));
    (since.zip(release)).is_some_and(|(since, release)| release.minor >= since)
}

/// Tells whether the operator of control planes, since 4.21, compares a Machine with its set without the image: on
/// AWS, Azure and Google Cloud. `None` where that depends on a release that is unknown.
pub(crate) fn ignores_images(
    platform: Option<Platform>,
    running: Option<OcpMinor>,
) -> Option<bool> {
    const SINCE: OcpMinor = OcpMinor {
        major: 4,
        minor: 21,
    };
    match platform {
        Some(Platform::Aws | Platform::Azure | Platform::Gcp) => Some(running? >= SINCE),
        _ => Some(false),
    }
}

/// The release from which on that is so; `None` where it is in none.
pub(crate) fn since(kind: SetKind, platform: Option<Platform>) -> Option<OcpMinor> {
    let row = audit_row(platform?);
    let minor = match kind {
        SetKind::MachineSet => row.kept_since,
        SetKind::ControlPlaneMachineSet => row.control_plane_kept_since,
        SetKind::BareMetalHost
        | SetKind::EC2NodeClass
        | SetKind::Machine
        | SetKind::MachineConfigPool
        | SetKind::MachineDeployment
        | SetKind::MachinePool
        | SetKind::ClusterMachineSet
        | SetKind::NodePool
        | SetKind::KarpenterNodePool
        | SetKind::OpenshiftEC2NodeClass
        | SetKind::Unknown => None,
    };
    Some(OcpMinor {
        major: 4,
        minor: minor?,
    })
}
