//! Who keeps a set's boot image up to date, and which stream of images is its own (pure).
//!
//! Facts: machine-config-operator `pkg/controller/bootimage` (`ms_helpers.go`, `cpms_helpers.go`, `platform_helpers.go`,
//! `aws_helpers.go`, `vsphere_helpers.go`) and `pkg/controller/common/featuregates.go`
//! (`CheckBootImagePlatform`) of the release branches 4.17 to 5.1; `pkg/osimagestream/streams.go`;
//! openshift/api `features/features.go` of each release branch, `machineconfiguration/v1`, `operator/v1`;
//! openshift/hypershift `NodePoolSpec.osImageStream`.

mod amis;
pub(super) mod rules;

use super::groups::MACHINE_API;
use super::image::Image;
use super::kinds::MachineSet;
use super::lookup::Lookup;
use super::objects::Objects;
use crate::version::{OcpMinor, Release};
use serde::Serialize;

/// The one stream that the Machine Config Operator keeps up to date (4.22 to 5.1).
const KEPT: &str = "rhel-9";

/// The stream of NodePools that are pinned to none, from OpenShift 5.0 on.
const OF_NODE_POOLS: &str = "rhel-10";

/// Who keeps an image up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Keeper {
    /// The Machine Config Operator changes the image field after each update of the cluster.
    MachineConfigOperator,
    /// The image comes with the release, whichever it is.
    Release,
    Nobody,
    Unknown,
}

/// The rule that says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Rule {
    /// The set is selected, and nothing stands against it.
    Selected,
    /// `managedBootImages` does not select the set.
    NotSelected,
    /// What is selected was not read, or its selector is more than labels.
    SelectionUnknown,
    /// The release cannot do it on this platform.
    ReleaseTooOld,
    /// No release can do it on this platform.
    Platform,
    AzureStackHub,
    /// vSphere's control plane is not looked at.
    ControlPlaneOnVSphere,
    /// The set is one of the Cluster API.
    ClusterAPI,
    /// The set belongs to another object.
    Owned,
    /// The set's stream is not the default one.
    Stream,
    /// The payload has several architectures, and the set does not say which is its own.
    Architecture,
    /// A filter or an ARN chooses the AMI.
    AMIWithoutID,
    /// The cluster's release has no AMI for the set's region.
    AMIRegion,
    /// Before 5.0: the AMI is not on the operator's list.
    AMIList,
    /// From 5.0 on: the AMI's owner decides, and no object says it.
    AMIOwner,
    /// The image is not one of the project rhcos-cloud.
    GCPProject,
    /// Confidential VMs and trusted launch.
    AzureSecurityType,
    /// The image is of a publisher or an offer that the operator does not know.
    AzureOffer,
    /// The cluster's images have none of Azure's marketplace: OKD.
    AzureWithoutMarketplace,
    /// The workspace is in no failure domain of the Infrastructure.
    VSphereFailureDomain,
    /// `install_coreos`: the release's own image.
    InstallCoreOS,
    /// Bare metal, with an image that the set, the host or the Provisioning names.
    BareMetalImage,
    /// A NodePool whose image is that of its release.
    NodePoolRelease,
    /// A NodePool that names an image.
    NodePoolImage,
    /// A node class of Karpenter's.
    NodeClass,
    /// A node class of Karpenter's whose AMI is that of its release.
    NodeClassRelease,
    /// No set makes machines of it.
    WithoutSet,
}

/// Who keeps the image of a set up to date, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Upkeep {
    pub(crate) by: Keeper,
    pub(crate) rule: Rule,
    /// In words, as the end of a sentence.
    pub(crate) reason: String,
}

impl Upkeep {
    pub(super) fn new(by: Keeper, rule: Rule, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { by, rule, reason }
    }

    fn nobody(rule: Rule, reason: impl Into<String>) -> Self {
        Self::new(Keeper::Nobody, rule, reason)
    }
}

/// A set as the Machine Config Operator looks at it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate<'a> {
    pub(super) kind: &'static str,
    pub(super) group: &'static str,
    pub(super) set: &'a MachineSet,
    pub(super) image: &'a Image,
    pub(super) architecture: Option<&'a str>,
}

/// Who keeps a set up to date, and what to know of it.
#[derive(Debug)]
pub(super) struct Judgement {
    pub(super) upkeep: Upkeep,
    /// Something about the set stands against the operator, whether or not it is selected.
    pub(super) is_left_alone: bool,
    pub(super) note: Option<String>,
}

impl Judgement {
    /// As the set's field `managed` has it: only where the cluster says what it manages.
    pub(super) fn managed(&self) -> Option<bool> {
        match (self.upkeep.by, self.upkeep.rule) {
            (Keeper::MachineConfigOperator, _) => Some(true),
            (_, Rule::ClusterAPI) => None,
            (Keeper::Nobody, _) => Some(false),
            (Keeper::Release | Keeper::Unknown, _) => None,
        }
    }
}

/// Who keeps the image of this set up to date: by the cluster's own release, whatever is asked
/// about.
pub(super) fn judge_set(candidate: Candidate<'_>, lookup: &Lookup<'_>) -> Judgement {
    let objects = lookup.objects;
    if let Some(upkeep) = rules::elsewhere(candidate, objects) {
        return Judgement {
            is_left_alone: true,
            note: None,
            upkeep,
        };
    }
    let resource = match candidate.kind {
        "ControlPlaneMachineSet" => "controlplanemachinesets",
        _ => "machinesets",
    };
    let selected = objects
        .managed
        .as_ref()
        .and_then(|managed| managed.selects(resource, &candidate.set.labels));
    let obstacle = rules::obstacle(candidate, lookup, selected == Some(true));
    let note = obstacle
        .as_ref()
        .and_then(|obstacle| note(objects, candidate, obstacle, selected == Some(true)));
    let upkeep = match (selected, &obstacle) {
        (Some(true), None) => Upkeep::new(
            Keeper::MachineConfigOperator,
            Rule::Selected,
            "managedBootImages selects it",
        ),
        (Some(true), Some(obstacle)) => obstacle.clone(),
        (_, Some(obstacle)) if obstacle.by == Keeper::Nobody => obstacle.clone(),
        (Some(false), _) => Upkeep::nobody(
            Rule::NotSelected,
            "managedBootImages of MachineConfiguration cluster does not select it",
        ),
        (None, _) => Upkeep::new(
            Keeper::Unknown,
            Rule::SelectionUnknown,
            if objects.managed.is_some() {
                "managedBootImages of MachineConfiguration cluster selects by more than labels"
            } else {
                "MachineConfiguration cluster was not read"
            },
        ),
    };
    let is_kept = upkeep.by == Keeper::MachineConfigOperator;
    let kept = || "the cluster keeps this image up to date (managedBootImages)".to_owned();
    Judgement {
        is_left_alone: obstacle.is_some_and(|obstacle| obstacle.by == Keeper::Nobody),
        note: if is_kept { Some(kept()) } else { note },
        upkeep,
    }
}

/// What to know of a set that the operator leaves alone: where it is expected to keep its image, or
/// has a value for the oldest boot image.
fn note(
    objects: &Objects,
    candidate: Candidate<'_>,
    obstacle: &Upkeep,
    is_selected: bool,
) -> Option<String> {
    let reason = &obstacle.reason;
    if obstacle.by == Keeper::Unknown {
        return is_selected.then(|| {
            format!("whether the cluster keeps this image up to date (managedBootImages) is unknown: {reason}")
        });
    }
    let skew = objects.skew.as_ref().filter(|skew| skew.mode != "None");
    let of_object = matches!(obstacle.rule, Rule::Owned | Rule::Stream);
    if !is_selected && (skew.is_none() || !of_object) {
        return None;
    }
    let alone = format!("the Machine Config Operator leaves its image alone, because {reason}");
    let is_reset = is_selected
        && skew.is_some_and(|skew| skew.mode == "Automatic")
        && counts(candidate, obstacle.rule);
    Some(match skew {
        None => alone,
        // Since 4.22 what is skipped counts, but for some.
        Some(_) if is_reset => format!(
            "{alone}; then it takes the release that the cluster was installed as for the oldest boot image"
        ),
        Some(_) => format!("{alone}: its value for the oldest boot image does not cover this set"),
    })
}

/// Whether a set that is skipped by this rule resets the operator's value to the installed release
/// (`reconcileSkipped`; PR 6162, in 4.22).
fn counts(candidate: Candidate<'_>, rule: Rule) -> bool {
    candidate.kind == "MachineSet"
        && matches!(
            rule,
            Rule::Owned
                | Rule::Architecture
                | Rule::AMIWithoutID
                | Rule::AMIRegion
                | Rule::AMIList
                | Rule::GCPProject
                | Rule::AzureWithoutMarketplace
        )
}

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
pub(super) fn node_pool_stream(
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

/// Whether the cluster could keep the images of sets of this kind and platform up to date:
/// generally available from this release on.
pub(super) fn can_be_managed(kind: &str, platform: Option<&str>, release: Option<&str>) -> bool {
    since(kind, platform).is_some_and(|since| {
        release
            .and_then(|release| release.parse::<Release>().ok())
            .is_some_and(|release| release.minor >= since)
    })
}

/// The release from which on that is so; `None` where it is in none.
fn since(kind: &str, platform: Option<&str>) -> Option<OcpMinor> {
    let minor = match (kind, platform) {
        ("MachineSet", Some("gcp")) => 17,
        ("MachineSet", Some("aws")) => 18,
        ("MachineSet", Some("vmware" | "azure")) => 21,
        ("ControlPlaneMachineSet", Some("aws" | "azure" | "gcp")) => 22,
        _ => return None,
    };
    Some(OcpMinor { major: 4, minor })
}

/// Whether sets of this group are the Machine API's.
fn is_of_machine_api(group: &str) -> bool {
    group == MACHINE_API
}
