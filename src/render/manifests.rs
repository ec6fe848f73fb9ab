//! What the cluster needs besides the MachineConfig: the files of `dist/manifests` as one stream, and the node disruption policy.

use super::units;
use crate::policy::POLICY_PATH;
use std::iter;

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
pub(crate) fn node_disruption_policy() -> String {
    let entry = |key: &str, name: &str| format!("      - {key}: {name}\n        actions:\n          - type: None\n");
    let files: String = iter::once(POLICY_PATH).chain(units::PACKED_PATHS).map(|path| entry("path", path)).collect();
    let units: String = units::DELIVERED.iter().map(|name| entry("name", name)).collect();
    format!(
        "# Lets skewguard's files and units change without a reboot of the pool's nodes. OpenShift 4.17 and later.
# Apply it before the MachineConfig, with a field manager of its own, so that entries of others stay:
#   oc apply --server-side --field-manager=skewguard -f -
apiVersion: operator.openshift.io/v1
kind: MachineConfiguration
metadata:
  name: cluster
spec:
  nodeDisruptionPolicy:
    files:
{files}    units:
{units}"
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn word_for_word() {
        assert_eq!(
            super::node_disruption_policy(),
            "# Lets skewguard's files and units change without a reboot of the pool's nodes. OpenShift 4.17 and later.
# Apply it before the MachineConfig, with a field manager of its own, so that entries of others stay:
#   oc apply --server-side --field-manager=skewguard -f -
apiVersion: operator.openshift.io/v1
kind: MachineConfiguration
metadata:
  name: cluster
spec:
  nodeDisruptionPolicy:
    files:
      - path: /etc/skewguard/policy.json
        actions:
          - type: None
      - path: /etc/skewguard/skewguard.xz
        actions:
          - type: None
      - path: /etc/skewguard/skewguard.gz
        actions:
          - type: None
    units:
      - name: skewguard-unpack.service
        actions:
          - type: None
      - name: skewguard-unpack-later.service
        actions:
          - type: None
      - name: skewguard.service
        actions:
          - type: None
      - name: skewguard-report.service
        actions:
          - type: None
"
        );
    }
}
