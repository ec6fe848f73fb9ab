//! API groups, and names of objects that are read (pure).

pub const AGENT_INSTALL: &str = "agent-install.openshift.io";
/// Of what the Cluster API makes machines of Agents from.
pub const AGENT_PROVIDER: &str = "capi-provider.agent-install.openshift.io";
pub const CERTIFICATES: &str = "certificates.k8s.io";
pub const CLUSTER_API: &str = "cluster.x-k8s.io";
pub const CONFIG: &str = "config.openshift.io";
pub const EVENTS: &str = "events.k8s.io";
pub const HYPERSHIFT: &str = "hypershift.openshift.io";
/// Group of what the Cluster API's machines are made from.
pub const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
pub const KARPENTER: &str = "karpenter.sh";
pub const KARPENTER_AWS: &str = "karpenter.k8s.aws";
/// HyperShift's own of Karpenter.
pub const KARPENTER_HOSTED: &str = "karpenter.hypershift.openshift.io";
pub const MACHINE_API: &str = "machine.openshift.io";
pub const MACHINE_CONFIG: &str = "machineconfiguration.openshift.io";
pub const METAL: &str = "metal3.io";
pub const OPERATOR: &str = "operator.openshift.io";
/// Of the reports.
pub const SKEWGUARD: &str = "skewguard.dev";

pub const NODE_POOL: &str = "NodePool";
pub const HOSTED_CLUSTER: &str = "HostedCluster";

/// Kind of certificate requests.
pub const REQUEST: &str = "CertificateSigningRequest";

/// Kind of user data.
pub const SECRET: &str = "Secret";

pub const MCO_NAMESPACE: &str = "openshift-machine-config-operator";
pub const APPROVER_NAMESPACE: &str = "openshift-cluster-machine-approver";
/// Namespace of the Cluster API's objects.
pub const CLUSTER_API_NAMESPACE: &str = "openshift-cluster-api";
/// Namespace of the reports.
pub const REPORTS_NAMESPACE: &str = "skewguard";
