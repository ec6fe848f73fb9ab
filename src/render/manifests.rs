//! What the cluster needs besides the MachineConfig: the files of `dist/manifests` as one stream, and the node disruption policy.

/// What to print.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Manifests {
    /// Without the admission policies, for clusters before Kubernetes 1.30 (OpenShift 4.17).
    pub base_only: bool,
    /// With the job that deletes old reports.
    pub prune: bool,
}

/// `dist/manifests/base`, in the order in which a fresh cluster can take them.
const BASE: [&str; 5] = [
    include_str!("../../dist/manifests/base/namespace.yaml"),
    include_str!("../../dist/manifests/base/crd.yaml"),
    include_str!("../../dist/manifests/base/quota.yaml"),
    include_str!("../../dist/manifests/base/role.yaml"),
    include_str!("../../dist/manifests/base/reader.yaml"),
];

/// `dist/manifests/admission`.
const ADMISSION: [&str; 2] =
    [include_str!("../../dist/manifests/admission/reports.yaml"), include_str!("../../dist/manifests/admission/events.yaml")];

/// `dist/manifests/prune`.
const PRUNE: [&str; 1] = [include_str!("../../dist/manifests/prune/prune.yaml")];

/// `dist/manifests/auditor`: the ClusterRole of `skewguard audit`.
pub const AUDITOR: &str = include_str!("../../dist/manifests/auditor/auditor.yaml");

impl Manifests {
    /// The manifests as YAML documents.
    pub fn to_yaml(self) -> String {
        let admission: &[&str] = if self.base_only { &[] } else { &ADMISSION };
        let prune: &[&str] = if self.prune { &PRUNE } else { &[] };
        let files: Vec<&str> = BASE.iter().chain(admission).chain(prune).copied().collect();
        files.join("---\n")
    }
}

/// The node disruption policy that keeps the pool's nodes running while our files change, with a comment on how to apply it.
///
/// `operator.openshift.io/v1` MachineConfiguration, `spec.nodeDisruptionPolicy` (openshift/api, operator/v1/types_machineconfiguration.go;
/// generally available from OpenShift 4.17). Files and units are lists keyed by path and name, so a server-side apply under a field manager
/// of its own adds these entries and touches no other. The action is `None`: what is delivered matters at a node's first boot only, and a
/// restart of the gate on a joined node has no use.
pub(crate) const NODE_DISRUPTION_POLICY: &str = include_str!("node-disruption-policy.yaml");
