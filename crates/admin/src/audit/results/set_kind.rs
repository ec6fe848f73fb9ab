//! Kinds of what makes nodes.

use serde::{Deserialize, Serialize};
use skewguard_cluster::kinds::groups::{
    CLUSTER_API, HYPERSHIFT, KARPENTER, KARPENTER_AWS, KARPENTER_HOSTED, MACHINE_API,
    MACHINE_CONFIG, METAL,
};
use std::fmt;

/// A kind of sets, of one API.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "&'static str")]
pub(crate) enum SetKind {
    BareMetalHost,
    ControlPlaneMachineSet,
    EC2NodeClass,
    Machine,
    MachineConfigPool,
    MachineDeployment,
    MachinePool,
    /// The Machine API's.
    MachineSet,
    /// The Cluster API's `MachineSet`.
    ClusterMachineSet,
    /// HyperShift's.
    NodePool,
    /// Karpenter's `NodePool`.
    KarpenterNodePool,
    OpenshiftEC2NodeClass,
    /// A kind of a later release's audit, which no set of this one has.
    #[default]
    Unknown,
}

// All lacks none but the unknown one.
const _: () = assert!(SetKind::Unknown as usize == SetKind::ALL.len());

impl SetKind {
    const ALL: [Self; 12] = [
        Self::BareMetalHost,
        Self::ControlPlaneMachineSet,
        Self::EC2NodeClass,
        Self::Machine,
        Self::MachineConfigPool,
        Self::MachineDeployment,
        Self::MachinePool,
        Self::MachineSet,
        Self::ClusterMachineSet,
        Self::NodePool,
        Self::KarpenterNodePool,
        Self::OpenshiftEC2NodeClass,
    ];

    /// Its name, and the API group.
    const fn row(self) -> (&'static str, &'static str) {
        match self {
            Self::BareMetalHost => ("BareMetalHost", METAL),
            Self::ControlPlaneMachineSet => ("ControlPlaneMachineSet", MACHINE_API),
            Self::EC2NodeClass => ("EC2NodeClass", KARPENTER_AWS),
            Self::Machine => ("Machine", MACHINE_API),
            Self::MachineConfigPool => ("MachineConfigPool", MACHINE_CONFIG),
            Self::MachineDeployment => ("MachineDeployment", CLUSTER_API),
            Self::MachinePool => ("MachinePool", CLUSTER_API),
            Self::MachineSet => ("MachineSet", MACHINE_API),
            Self::ClusterMachineSet => ("MachineSet", CLUSTER_API),
            Self::NodePool => ("NodePool", HYPERSHIFT),
            Self::KarpenterNodePool => ("NodePool", KARPENTER),
            Self::OpenshiftEC2NodeClass => ("OpenshiftEC2NodeClass", KARPENTER_HOSTED),
            Self::Unknown => ("", ""),
        }
    }

    /// Its name in the API, which two kinds of different groups may share.
    pub(crate) const fn name(self) -> &'static str {
        self.row().0
    }

    pub(crate) const fn group(self) -> &'static str {
        self.row().1
    }

    /// The names of all kinds.
    pub(super) fn names() -> Vec<&'static str> {
        let mut names = Self::ALL.map(Self::name).to_vec();
        names.dedup();
        names
    }
}

impl fmt::Display for SetKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<String> for SetKind {
    fn from(name: String) -> Self {
        let is_it = |kind: &Self| kind.name() == name;
        Self::ALL.into_iter().find(is_it).unwrap_or_default()
    }
}

impl From<SetKind> for &'static str {
    fn from(kind: SetKind) -> Self {
        kind.name()
    }
}
