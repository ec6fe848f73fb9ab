//! What a joined node says of itself on its own Node object (pure).

use super::names::{clean, hex16, label_value};
use super::objects::{self, TEXT_MAX, WORD_MAX};
use super::transport::Request;
use crate::verdict::{Action, BootImageStatus, Outcome, Reason, Target, Verdict};
use serde::Serialize;
use std::collections::BTreeMap;

/// Label with the boot image version, for `oc get nodes -L`.
pub(crate) const LABEL: &str = "skewguard.dev/boot-image";

/// Annotation with the verdict as JSON; it keeps the version whole.
pub(crate) const ANNOTATION: &str = "skewguard.dev/boot-image-verdict";

/// The patch that a joined node applies to its own Node.
#[derive(Debug, Clone, Serialize)]
pub struct NodePatch {
    metadata: PatchMetadata,
}

#[derive(Debug, Clone, Serialize)]
struct PatchMetadata {
    labels: BTreeMap<&'static str, String>,
    annotations: BTreeMap<&'static str, String>,
}

/// The annotation's content.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Annotation {
    verdict: Outcome,
    action: Action,
    reason: Reason,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    boot_image: Option<BootImageStatus>,
    target: Target,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy_digest: Option<String>,
}

impl NodePatch {
    /// Makes the patch. Nothing of it depends on time or chance, so that the same verdict always gives the same patch.
    pub fn new(verdict: &Verdict) -> Self {
        let version = verdict.boot_image.as_ref().map(|image| image.version.as_str()).unwrap_or_default();
        let annotation = Annotation {
            verdict: verdict.verdict,
            action: verdict.action,
            reason: verdict.reason,
            message: clean(&verdict.message, TEXT_MAX),
            boot_image: verdict.boot_image.as_ref().map(objects::boot_image),
            target: objects::target(&verdict.target),
            policy_digest: verdict.policy.as_ref().and_then(|policy| policy.digest.as_deref()).map(|digest| clean(digest, WORD_MAX)),
        };
        // A struct of strings always serialises.
        let annotation = serde_json::to_string(&annotation).unwrap_or_default();
        Self {
            metadata: PatchMetadata {
                labels: BTreeMap::from([(LABEL, label_value(version))]),
                annotations: BTreeMap::from([(ANNOTATION, annotation)]),
            },
        }
    }

    /// Applies it to the Node of that name, which is a DNS subdomain ([`crate::node::kubeconfig::node_name`]).
    pub fn request(&self, node: &str) -> Request {
        Request::new("PATCH", format!("/api/v1/nodes/{node}"), self)
    }

    /// What tells whether this patch was applied to that Node on this boot. At every boot it is applied again, which changes nothing where it is
    /// there: a Node object that was deleted and made anew has lost its labels.
    pub fn digest(&self, node: &str, boot: &str) -> String {
        let patch = serde_json::to_string(self).unwrap_or_default();
        hex16(&[node, "\n", boot, "\n", &patch])
    }
}
