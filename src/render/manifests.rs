//! What the cluster needs so that nodes can report: the files of `dist/manifests`, as one stream.

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

impl Manifests {
    /// The manifests as YAML documents.
    pub fn to_yaml(self) -> String {
        let admission: &[&str] = if self.base_only { &[] } else { &ADMISSION };
        let prune: &[&str] = if self.prune { &PRUNE } else { &[] };
        let files: Vec<&str> = BASE.iter().chain(admission).chain(prune).copied().collect();
        files.join("---\n")
    }
}
