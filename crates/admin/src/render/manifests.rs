//! Objects that the cluster needs besides the MachineConfig: the files of `dist/manifests` as one stream,
//! and the entries of the node disruption policy.

use super::yaml;
use serde_json::json;
use std::fmt;
use std::str::FromStr;

/// The part to print.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifests {
    /// Without the admission policies, for clusters before Kubernetes 1.30 (OpenShift 4.17).
    pub base_only: bool,
    /// With the job that deletes old reports.
    pub prune: bool,
    /// With the job that audits the cluster.
    pub audit: Option<Audit>,
    /// With the console's dashboard.
    pub dashboard: bool,
}

/// Objects that the job that audits the cluster needs beside `dist/manifests/audit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    /// The container image of the program.
    pub image: ImageReference,
    /// The policy, as text.
    pub policy: String,
}

/// The name of a container image. It has no character that means something in YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageReference(String);

impl FromStr for ImageReference {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
        let ends = |c: char| c.is_ascii_alphanumeric();
        if name.len() > 512
            || !name.chars().all(known)
            || !name.starts_with(ends)
            || !name.ends_with(ends)
        {
            return Err(
                "not the name of an image, such as registry.example.com/skewguard-cli:0.1.0",
            );
        }
        Ok(Self(name.to_owned()))
    }
}

impl fmt::Display for ImageReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `dist/manifests/base`, in the order in which a fresh cluster can take them.
const BASE: [&str; 5] = [
    include_str!("../../../../dist/manifests/base/namespace.yaml"),
    include_str!("../../../../dist/manifests/base/crd.yaml"),
    include_str!("../../../../dist/manifests/base/quota.yaml"),
    include_str!("../../../../dist/manifests/base/role.yaml"),
    include_str!("../../../../dist/manifests/base/reader.yaml"),
];

/// `dist/manifests/admission`.
const ADMISSION: [&str; 2] = [
    include_str!("../../../../dist/manifests/admission/reports.yaml"),
    include_str!("../../../../dist/manifests/admission/events.yaml"),
];

/// `dist/manifests/prune`.
const PRUNE: [&str; 1] = [include_str!("../../../../dist/manifests/prune/prune.yaml")];

/// `dist/manifests/audit`, and the line of it that names the image.
const AUDIT: &str = include_str!("../../../../dist/manifests/audit/audit.yaml");
const AUDIT_IMAGE: &str = "image: skewguard-cli\n";

/// `dist/manifests/auditor`: the ClusterRole of `oc skewguard audit`.
pub const AUDITOR: &str = include_str!("../../../../dist/manifests/auditor/auditor.yaml");

/// `dist/manifests/why/why.yaml`: what `oc skewguard why` reads beside.
pub const WHY: &str = include_str!("../../../../dist/manifests/why/why.yaml");

/// `dist/manifests/dashboard`: the console's dashboard of boot images.
pub const DASHBOARD: &str = include_str!("../../../../dist/manifests/dashboard/dashboard.yaml");

impl Manifests {
    /// The manifests as YAML documents.
    pub fn to_yaml(&self) -> String {
        let admission: &[&str] = if self.base_only { &[] } else { &ADMISSION };
        let prune: &[&str] = if self.prune { &PRUNE } else { &[] };
        let files = BASE.iter().chain(admission).chain(prune);
        let mut files: Vec<String> = files.map(|&file| file.to_owned()).collect();
        if let Some(Audit { image, policy }) = &self.audit {
            files.extend(job(AUDIT, image, policy));
        }
        if self.dashboard {
            files.push(DASHBOARD.to_owned());
        }
        files.join("---\n")
    }
}

/// A job of the program, with what it reads: rights, and the policy.
fn job(manifest: &str, image: &ImageReference, policy: &str) -> [String; 3] {
    let policy = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "skewguard-policy", "namespace": "skewguard" },
        "data": { "policy.json": policy }
    });
    let image = format!("image: \"{image}\"\n");
    let job = manifest.replace(AUDIT_IMAGE, &image);
    [AUDITOR.to_owned(), yaml(&policy), job]
}

/// The entries of the node disruption policy that keep the pool's nodes running while our files
/// change, with a comment on how to apply them and on the way back.
///
/// `operator.openshift.io/v1` MachineConfiguration, `spec.nodeDisruptionPolicy` (openshift/api,
/// operator/v1/types_machineconfiguration.go; generally available from OpenShift 4.17). Files and
/// units are lists keyed by path and name, so a server-side apply under a field manager of its own
/// adds these entries and touches no other. The action is `None`: what is delivered matters at a
/// node's first boot only, and a restart of the gate on a joined node has no use.
pub const NODE_DISRUPTION_POLICY: &str = include_str!("node-disruption-policy.yaml");

/// The way back: a server-side apply under the same field manager that names none of the entries
/// takes them away, and leaves the object to the cluster, whose own it is.
pub const NODE_DISRUPTION_POLICY_REMOVAL: &str = include_str!("node-disruption-policy-remove.yaml");
