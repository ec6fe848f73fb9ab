//! Objects that the cluster needs besides the MachineConfig: the files of `dist/manifests` as one stream,
//! and the entries of the node disruption policy.

use crate::forms::yaml;
use crate::template::Object;
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
    /// For a hosted cluster (HyperShift): without Roles in namespaces that it lacks.
    pub hosted: bool,
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
        let is_hex = |c: char| matches!(c, '0'..='9' | 'a'..='f');
        match name.split_once("@sha256:") {
            Some((_, digits)) if digits.len() != 64 || !digits.chars().all(is_hex) => {
                Err("behind @sha256: stand 64 digits, 0 to 9 and a to f")
            }
            _ => Ok(Self(name.to_owned())),
        }
    }
}

impl ImageReference {
    /// Tells whether it names one image for good; a tag can be moved.
    pub(crate) fn has_digest(&self) -> bool {
        self.0.contains("@sha256:")
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
const AUDIT_ROLE: &str = include_str!("../../../../dist/manifests/audit/role.yaml");
const AUDIT: &str = include_str!("../../../../dist/manifests/audit/audit.yaml");
const AUDIT_IMAGE: &str = "image: skewguard-cli\n";

/// The part of the job that Kubernetes has from 1.26 on; without it a finding is tried three times.
const POD_FAILURE_POLICY: &str = "      podFailurePolicy:
        rules:
        - action: FailJob
          onExitCodes: {containerName: audit, operator: NotIn, values: [0, 1]}
";

/// `dist/manifests/audit/standalone`.
const AUDIT_STANDALONE: &str =
    include_str!("../../../../dist/manifests/audit/standalone/user-data.yaml");

/// `dist/manifests/auditor`: what `oc skewguard audit` reads; and what of it is in a namespace that a
/// hosted cluster lacks.
const AUDITOR: &str = include_str!("../../../../dist/manifests/auditor/auditor.yaml");
const AUDITOR_STANDALONE: &str =
    include_str!("../../../../dist/manifests/auditor/standalone/user-data.yaml");

/// `dist/manifests/why`: what `oc skewguard why` reads beside.
const WHY: &str = include_str!("../../../../dist/manifests/why/why.yaml");
const WHY_STANDALONE: &str = include_str!("../../../../dist/manifests/why/standalone/why.yaml");

/// `dist/manifests/dashboard`: the console's dashboard of boot images.
pub const DASHBOARD: &str = include_str!("../../../../dist/manifests/dashboard/dashboard.yaml");

impl Manifests {
    /// The manifests as YAML documents.
    pub fn to_yaml(&self) -> String {
        let admission: &[&str] = if self.base_only { &[] } else { &ADMISSION };
        let prune: &[&str] = if self.prune { &PRUNE } else { &[] };
        let files = BASE.iter().chain(admission).chain(prune);
        let mut files: Vec<String> = files.map(|&file| file.to_owned()).collect();
        if let Some(audit) = &self.audit {
            files.extend(audit.files(self.base_only));
            files.extend((!self.hosted).then(|| AUDIT_STANDALONE.to_owned()));
        }
        files.join("---\n")
    }
}

impl Audit {
    /// The job, with what it reads: rights, and a ConfigMap of its own with the policy.
    fn files(&self, is_before_4_17: bool) -> [String; 3] {
        let policy = include_str!("audit-policy.yaml");
        let policy = Object::new(policy, &[("policy", &self.policy)]);
        let image = format!("image: \"{}\"\n", self.image);
        let mut job = AUDIT.replace(AUDIT_IMAGE, &image);
        if is_before_4_17 {
            job = job.replace(POD_FAILURE_POLICY, "");
        }
        [AUDIT_ROLE.to_owned(), yaml(&policy), job]
    }
}

/// The rights for `oc skewguard audit`, and `with_why` those for `oc skewguard why`, as YAML documents.
pub(crate) fn auditor(with_why: bool, hosted: bool) -> String {
    let all = [
        (AUDITOR, true),
        (AUDITOR_STANDALONE, !hosted),
        (WHY, with_why),
        (WHY_STANDALONE, with_why && !hosted),
    ];
    let parts = all.into_iter().filter(|(_, is_in)| *is_in);
    parts
        .map(|(part, _)| part)
        .collect::<Vec<_>>()
        .join("---\n")
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
