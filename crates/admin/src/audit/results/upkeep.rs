//! Keepers of images, by rule, and where the policy and the Machine Config
//! Operator differ.

use crate::version::OcpMinor;
use schemars::JsonSchema;
use serde::Serialize;

/// Keeper of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) enum Keeper {
    /// The Machine Config Operator changes the image field after each update of the cluster.
    MachineConfigOperator,
    /// The image comes with the release, whichever it is.
    Release,
    Nobody,
    Unknown,
}

/// The rule that says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) enum Rule {
    /// The set is selected, and nothing stands against it.
    Selected,
    /// The set is selected, and the operator says itself that it fails.
    Degraded,
    /// The set is selected, and its image is still an older one.
    Behind,
    /// `managedBootImages` does not select the set.
    NotSelected,
    /// The selection was not read, or its selector is more than labels.
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
    /// The operator of this release fails on several labels in the set's annotation for the autoscaler.
    CapacityLabels,
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

/// Keeper of a set's image, and why.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Upkeep {
    pub(crate) by: Keeper,
    pub(crate) rule: Rule,
    /// In words, as the end of a sentence.
    pub(crate) reason: String,
    /// The first release that has the rule; absent where it is of no release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<&'static str>,
    /// The day on which the rule was read from its source.
    pub(crate) read: &'static str,
}

/// The day on which the rules were read.
pub(crate) const READ: &str = "2026-08-20";

/// The newest release whose rules were read.
pub(crate) const NEWEST: OcpMinor = OcpMinor { major: 5, minor: 2 };

/// Tells whether a set that the operator skips by a rule counts for its value of the oldest boot image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    Yes,
    No,
    /// In 4.22 from some patch on.
    FromSomePatch,
}

impl Rule {
    /// The first release that has it, and whether sets that are skipped by it count.
    const fn row(self) -> (Option<&'static str>, Counted) {
        match self {
            Self::Selected
            | Self::Degraded
            | Self::Behind
            | Self::NotSelected
            | Self::SelectionUnknown
            | Self::ReleaseTooOld
            | Self::Platform
            | Self::CapacityLabels
            | Self::ClusterAPI => (Some("4.17"), Counted::No),
            Self::Owned | Self::GCPProject => (Some("4.17"), Counted::Yes),
            Self::AMIWithoutID | Self::AMIRegion | Self::AMIList => (Some("4.18"), Counted::Yes),
            Self::Architecture => (Some("4.20"), Counted::Yes),
            Self::AzureStackHub | Self::AzureOffer | Self::VSphereFailureDomain | Self::Stream => {
                (Some("4.21"), Counted::No)
            }
            Self::AzureSecurityType => (Some("4.21"), Counted::FromSomePatch),
            Self::AzureWithoutMarketplace => (Some("4.21"), Counted::Yes),
            Self::ControlPlaneOnVSphere => (Some("4.22"), Counted::No),
            Self::AMIOwner => (Some("5.0"), Counted::No),
            Self::InstallCoreOS | Self::BareMetalImage => (Some("4.10"), Counted::No),
            Self::NodePoolRelease
            | Self::NodePoolImage
            | Self::NodeClass
            | Self::NodeClassRelease
            | Self::WithoutSet => (None, Counted::No),
        }
    }

    pub(crate) const fn counts(self) -> Counted {
        self.row().1
    }
}

impl Upkeep {
    pub(crate) fn new(by: Keeper, rule: Rule, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self {
            by,
            rule,
            reason,
            since: rule.row().0,
            read: READ,
        }
    }

    pub(crate) fn nobody(rule: Rule, reason: impl Into<String>) -> Self {
        Self::new(Keeper::Nobody, rule, reason)
    }
}

/// Subject of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) enum Difference {
    /// The cluster opted out, and the policy enforces.
    OptedOut,
    /// The oldest image allowed.
    Limit,
    /// The boot image that the cluster names as its oldest, which one of the two alone accepts.
    Value,
}

/// A difference between the policy and the Machine Config Operator.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OperatorDifference {
    pub(crate) what: Difference,
    /// The field of a limit; absent where it is not about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) field: Option<&'static str>,
    /// The operator's value.
    pub(crate) operator: String,
    /// The policy's value.
    pub(crate) policy: String,
    /// A sentence for a person.
    pub(crate) message: String,
}
