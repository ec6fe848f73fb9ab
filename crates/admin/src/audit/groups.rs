//! The API groups of what the audit reads.

pub(super) const AGENT_INSTALL: &str = "agent-install.openshift.io";
pub(super) const CLUSTER_API: &str = "cluster.x-k8s.io";
pub(super) const CONFIG: &str = "config.openshift.io";
pub(super) const HYPERSHIFT: &str = "hypershift.openshift.io";
/// What the Cluster API's machines are made from.
pub const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
pub(super) const KARPENTER: &str = "karpenter.sh";
pub(super) const KARPENTER_AWS: &str = "karpenter.k8s.aws";
/// HyperShift's own of Karpenter.
pub(super) const KARPENTER_HOSTED: &str = "karpenter.hypershift.openshift.io";
pub(super) const MACHINE_API: &str = "machine.openshift.io";
pub(super) const MACHINE_CONFIG: &str = "machineconfiguration.openshift.io";
pub(super) const METAL: &str = "metal3.io";
pub(super) const OPERATOR: &str = "operator.openshift.io";
/// Of the reports.
pub(super) const SKEWGUARD: &str = "skewguard.dev";
