//! The label and the annotation of a joined node's own Node object (pure).

use super::names::hex16;
use crate::text;
use crate::transport::Request;
use crate::verdict::{Action, BootImageStatus, Machine, Outcome, Reason, Target, Verdict};
use serde::Serialize;

/// The patch that a joined node applies to its own Node.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct NodePatch {
    metadata: PatchMetadata,
}

#[derive(Debug, Clone, Serialize)]
struct PatchMetadata {
    labels: Labels,
    annotations: Annotations,
}

#[derive(Debug, Clone, Serialize)]
struct Labels {
    /// The version of the boot image, for `oc get nodes -L`.
    #[serde(rename = "skewguard.dev/boot-image")]
    boot_image: String,
}

#[derive(Debug, Clone, Serialize)]
struct Annotations {
    /// An [`Annotation`] as JSON. It has the whole version, where the label may have to change it.
    #[serde(rename = "skewguard.dev/boot-image-verdict")]
    verdict: String,
}

/// The annotation's content.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Annotation<'a> {
    verdict: Outcome,
    action: Action,
    reason: Reason,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    boot_image: Option<&'a BootImageStatus>,
    target: &'a Target,
    /// Properties of the origin image, which decide over its updates.
    #[serde(skip_serializing_if = "Machine::is_unknown")]
    machine: &'a Machine,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy_digest: Option<&'a str>,
}

impl NodePatch {
    /// Makes the patch. The same verdict always gives the same patch: nothing in it depends on time
    /// or chance.
    pub(crate) fn new(verdict: &Verdict) -> Self {
        let version = verdict
            .boot_image
            .as_ref()
            .map(|image| image.version.as_str())
            .unwrap_or_default();
        let annotation = Annotation {
            verdict: verdict.verdict,
            action: verdict.action,
            reason: verdict.reason,
            message: &verdict.message,
            boot_image: verdict.boot_image.as_ref(),
            target: &verdict.target,
            machine: &verdict.machine,
            policy_digest: verdict
                .policy
                .as_ref()
                .and_then(|policy| policy.digest.as_deref()),
        };
        // A struct of strings always serialises.
        let annotation = serde_json::to_string(&annotation).unwrap_or_default();
        Self {
            metadata: PatchMetadata {
                labels: Labels {
                    boot_image: text::label_value(version),
                },
                annotations: Annotations {
                    verdict: annotation,
                },
            },
        }
    }

    /// The request that applies it to the Node `node`, a DNS subdomain
    /// ([`crate::kubeconfig::node_name`]).
    pub(crate) fn request(&self, node: &str) -> Request {
        Request::new("PATCH", format!("/api/v1/nodes/{node}"), self)
    }

    /// Identifies this patch, for this Node on this boot, so that it is applied once a boot. It is
    /// applied again on every boot because a Node object that was deleted and made anew has lost
    /// its labels; where it has not, that changes nothing.
    pub(crate) fn digest(&self, node: &str, boot: &str) -> String {
        let patch = serde_json::to_string(self).unwrap_or_default();
        hex16(&[node, "\n", boot, "\n", &patch])
    }
}
