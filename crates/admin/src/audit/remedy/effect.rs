//! Effects of a remedy beside the field that it changes (pure): which controller acts on the change,
//! and what has to come before it.
//!
//! Facts: openshift/cluster-control-plane-machine-set-operator (`Diff` of
//! `providerconfig/{aws,azure,gcp}.go`, since 4.21; `reconcile` of
//! `controlplanemachinesetgenerator`, for sets that are Inactive; `docs/user/update-strategies.md`);
//! metal3-io/baremetal-operator (`provisioningCancelled` of `host_state_machine.go`);
//! openshift/hypershift (`capi.go`: an image is part of the machine template, whose name is new with
//! it; `NodePoolManagement`); openshift/machine-config-operator (`upgradeStubIgnitionIfRequired`);
//! Cluster API ("Updating Machine Infrastructure"); Karpenter ("Drift").

use crate::audit::remedy::Remedy;
use crate::audit::results::effect::{Effect, EffectKind, STAYS};
use crate::audit::results::set::SetKind;
use crate::audit::results::some_of;
use crate::audit::set::user_data::Stub;
use crate::audit::set::{Place, RELEASE_IMAGE, Set};
use crate::audit::upkeep::candidate::ignores_images;
use crate::version::{ImageVersion, OcpMinor};
use skewguard_cluster::cluster::Cluster as Objects;
use skewguard_cluster::kinds::host::is_installed;

/// The operator of control planes.
const CONTROL_PLANE_OPERATOR: &str = "the control plane machine set operator";

/// Effect of a set's own controller once its image field changes.
pub(crate) fn of_controller(set: &Set, running: Option<OcpMinor>) -> Effect {
    match set.kind {
        SetKind::ControlPlaneMachineSet => control_plane(set, running),
        SetKind::NodePool => node_pool(set),
        SetKind::BareMetalHost => host(set),
        SetKind::MachineDeployment if set.strategy.as_deref() != Some("OnDelete") => {
            Effect::replaces(
                "the Cluster API",
                "a MachineDeployment replaces all of its Machines, one after another, once its template is another one",
            )
        }
        SetKind::MachineDeployment => {
            Effect::next_alone("by strategy OnDelete the others are replaced once they are deleted")
        }
        SetKind::MachinePool => Effect::replaces(
            "the Cluster API",
            "the cloud's scaling group replaces its instances once their template changes",
        ),
        SetKind::EC2NodeClass | SetKind::OpenshiftEC2NodeClass | SetKind::KarpenterNodePool => {
            Effect::replaces(
                "Karpenter",
                "Karpenter replaces nodes that drifted from their node class, within the disruption budgets of their NodePool",
            )
        }
        SetKind::Machine => {
            Effect::next_alone("a Machine that is made keeps what it was made from")
        }
        SetKind::MachineConfigPool
        | SetKind::MachineSet
        | SetKind::ClusterMachineSet
        | SetKind::Unknown => Effect::next_alone(STAYS),
    }
}

fn control_plane(set: &Set, running: Option<OcpMinor>) -> Effect {
    use EffectKind::IsReverted;
    let of_cloud = ignores_images(set.image.platform, None).is_none();
    let is_ignored = ignores_images(set.image.platform, running) == Some(true);
    let of_domain = set.path == Place::FailureDomain;
    let why = match (of_cloud, running) {
        (true, None) => "before OpenShift 4.21, and the cluster's release is not known",
        (true, Some(_)) => "before OpenShift 4.21",
        (false, _) => "on this platform, in every release",
    };
    if set.is_inactive {
        if is_ignored {
            return Effect::next_alone(
                "the set is Inactive: it makes no Machine until it is activated",
            );
        }
        if of_domain {
            return Effect::next_alone(
                "the set is Inactive; once it is activated it replaces the Machines that differ from it",
            );
        }
        return Effect::new(
            IsReverted,
            format!(
                "while the set is Inactive its operator makes it anew from the Machines that run, and the change is lost ({why})"
            ),
        )
        .by(CONTROL_PLANE_OPERATOR);
    }
    if is_ignored {
        return Effect::next_alone(
            "since OpenShift 4.21 a control plane is not replaced for its image on this platform",
        );
    }
    if set.strategy.as_deref() == Some("OnDelete") {
        return Effect::next_alone(format!(
            "by strategy OnDelete a control plane Machine is replaced once somebody deletes it; all of them count as outdated then ({why})"
        ));
    }
    Effect::replaces(
        CONTROL_PLANE_OPERATOR,
        format!(
            "the set is Active with strategy {}, so that its operator replaces every control plane node, one after another ({why}). With spec.strategy.type \
             OnDelete it waits until a Machine is deleted",
            set.strategy.as_deref().unwrap_or("RollingUpdate")
        ),
    )
}

/// An image is part of the machine template.
fn node_pool(set: &Set) -> Effect {
    const BY: &str = "HyperShift";
    let of_release = set.image.field.as_deref() == Some(RELEASE_IMAGE);
    match (set.upgrade.as_deref(), set.strategy.as_deref(), of_release) {
        (Some("InPlace"), _, false) => {
            Effect::next_alone("by upgradeType InPlace the nodes that are there stay as they are")
        }
        (Some("InPlace"), ..) => Effect::replaces(
            BY,
            "by upgradeType InPlace every node is drained and updated to that release",
        ),
        (_, Some("OnDelete"), _) => Effect::next_alone(
            "by strategy OnDelete a node is replaced once its Machine is deleted",
        ),
        (upgrade, ..) => Effect::replaces(
            BY,
            format!(
                "by upgradeType {} every node of the NodePool is replaced, one after another",
                upgrade.unwrap_or("Replace")
            ),
        ),
    }
}

fn host(set: &Set) -> Effect {
    let of = |wanted: fn(&Option<String>) -> bool| {
        let hosts = set.hosts.iter().filter(|(_, state)| wanted(state));
        let names: Vec<&str> = hosts.map(|(name, _)| name.as_str()).collect();
        names
    };
    let installed = of(|state| state.as_deref().is_some_and(is_installed));
    let unknown = of(|state| state.is_none());
    const BY: &str = "the baremetal-operator";
    const DOWN: &str = "the baremetal-operator deprovisions a host whose spec.image or customDeploy changes: its node goes down without a drain, and is \
        installed anew";
    match (installed.as_slice(), unknown.as_slice()) {
        ([], []) => Effect::next_alone("no image is on the host's disk yet"),
        ([], unknown) => Effect::new(
            EffectKind::Reinstalls,
            format!(
                "{DOWN}. Look at status.provisioning.state of {} first, which was not read",
                some_of(unknown)
            ),
        )
        .by(BY),
        (installed, _) => Effect::new(
            EffectKind::Reinstalls,
            format!("{DOWN}. {} is installed", some_of(installed)),
        )
        .by(BY),
    }
}

/// All effects of a remedy, the worst first. None where something else than the set is changed.
pub(crate) fn effects(set: &Set, remedy: &Remedy, objects: &Objects) -> Vec<Effect> {
    if remedy.text.is_none() || remedy.is_elsewhere {
        return Vec::new();
    }
    let of_user_data = || {
        let stub = set.stub.as_ref()?;
        // An image up to 4.5 says more than the release that the cluster was installed as.
        let known = set.known.as_ref().filter(|_| !stub.is_known());
        let by_image = known.and_then(|known| Stub::by_image(stub.secret(), &known.version));
        let stub = by_image.as_ref().unwrap_or(stub);
        let image = remedy.version.as_deref().map(ImageVersion::parse);
        of_user_data(stub, image.as_ref(), set.is_converted)
    };
    let first = remedy.first.map(|reason| Effect {
        is_in_remedy: true,
        ..Effect::new(EffectKind::NeedsFirst, reason)
    });
    let all = [
        Some(of_controller(set, objects.history.running_minor())),
        of_owner(set),
        of_operator(set, remedy),
        of_user_data(),
        first,
    ];
    let mut all: Vec<Effect> = all.into_iter().flatten().collect();
    all.sort_by_key(|effect| std::cmp::Reverse(effect.effect));
    all
}

/// The operator sets its own image again.
fn of_operator(set: &Set, remedy: &Remedy) -> Option<Effect> {
    let is_other = set.managed == Some(true) && remedy.image.is_some() && !remedy.is_own;
    is_other.then(|| {
        Effect::new(
            EffectKind::IsReverted,
            "the Machine Config Operator keeps this set at the cluster's own image (managedBootImages), and sets that again",
        )
        .by("the Machine Config Operator")
    })
}

/// Effect of a tool that keeps the set elsewhere, or another controller that writes it.
pub(crate) fn of_owner(set: &Set) -> Option<Effect> {
    let owner = set.owner.as_ref()?;
    Some(
        Effect::new(
            EffectKind::IsReverted,
            format!(
                "{owner} keeps this object, and writes again what it has: make the change there"
            ),
        )
        .by(owner),
    )
}

/// Steps that have to come before the image, for user data that its Ignition does not read. An image of
/// unknown version that a policy allows counts as one that reads spec 3.
fn of_user_data(stub: &Stub, image: Option<&ImageVersion>, is_converted: bool) -> Option<Effect> {
    let is_unreadable = image.map_or(stub.is_of_spec_2(), |image| stub.is_unreadable(image));
    if !is_unreadable {
        return None;
    }
    let how = match (stub.is_of_spec_2(), is_converted) {
        (true, true) => {
            "Let the cluster convert it: managedBootImages of MachineConfiguration cluster does so before it sets the image"
        }
        (true, false) => "Convert the Secret to spec 3 before the image (docs/audit.md)",
        _ => "Take an image of OpenShift 4.6 or later",
    };
    Some(Effect::new(
        EffectKind::NeedsFirst,
        format!("{}. {how}", stub.unreadable(image)),
    ))
}
