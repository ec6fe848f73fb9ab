//! Who keeps an image up to date, by which rule, and where the policy and the Machine Config
//! Operator differ.

use serde::Serialize;

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
    pub(crate) fn new(by: Keeper, rule: Rule, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { by, rule, reason }
    }

    pub(crate) fn nobody(rule: Rule, reason: impl Into<String>) -> Self {
        Self::new(Keeper::Nobody, rule, reason)
    }
}

/// What differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Difference {
    /// The cluster opted out, and the policy enforces.
    OptedOut,
    /// The oldest image allowed.
    Limit,
    /// What is said to the boot image that the cluster names as its oldest.
    Value,
}

/// A difference between the policy and the Machine Config Operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
    /// One sentence, for a person.
    pub(crate) message: String,
}
