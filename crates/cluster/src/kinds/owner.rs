//! The tool that keeps an object as it has it elsewhere (pure): a change by hand does not last there.
//!
//! Argo CD ("Resource Tracking"), Flux (kustomize-controller and helm-controller, labels), Helm
//! ("Labels and Annotations"), Hive (`hive.openshift.io/managed` of its MachineSets), Open Cluster
//! Management (AppliedManifestWork, subscriptions, policies).

use super::metadata::Reference;
use crate::lenient::is_there;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

/// A tool, by how it marks what it keeps.
struct Tool {
    name: &'static str,
    /// Beginnings of its annotations and labels.
    marks: &'static [&'static str],
    /// Beginnings of its names in `managedFields`.
    managers: &'static [&'static str],
}

/// The surest mark first: Helm's release may itself be kept by Argo CD or Flux.
const TOOLS: [Tool; 7] = [
    Tool {
        name: "Argo CD",
        marks: &[
            "argocd.argoproj.io/tracking-id",
            "argocd.argoproj.io/instance",
        ],
        managers: &["argocd"],
    },
    Tool {
        name: "Flux",
        marks: &["kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/"],
        managers: &["kustomize-controller", "helm-controller"],
    },
    Tool {
        name: "Hive",
        marks: &["hive.openshift.io/"],
        managers: &["hive"],
    },
    Tool {
        name: "ACM",
        marks: &[
            "apps.open-cluster-management.io/",
            "policy.open-cluster-management.io/",
            "work.open-cluster-management.io/",
        ],
        managers: &[
            "config-policy-controller",
            "klusterlet",
            "multicluster-operators-subscription",
            "work-agent",
        ],
    },
    Tool {
        name: "Helm",
        marks: &["meta.helm.sh/release-name"],
        managers: &["helm", "Helm"],
    },
    Tool {
        name: "kapp",
        marks: &["kapp.k14s.io/app"],
        managers: &["kapp"],
    },
    Tool {
        name: "Fleet",
        marks: &["objectset.rio.cattle.io/", "fleet.cattle.io/"],
        managers: &["fleetagent", "fleet-agent"],
    },
];

/// Field managers of server-side apply that are persons, or the cluster's own.
const NO_TOOLS: [&str; 8] = [
    "kubectl",
    "oc",
    "cluster-bootstrap",
    "machine-",
    "control-plane-machine-set",
    "openshift-",
    "cluster-api",
    "capi",
];

/// What the metadata of an object says of who writes it.
#[derive(Deserialize)]
struct Signs {
    owner_references: Vec<Reference>,
    annotations: BTreeMap<String, IgnoredAny>,
    labels: BTreeMap<String, IgnoredAny>,
    managed_fields: Vec<FieldManager>,
    /// Both are recommended labels of Kubernetes; the second is also the older way in which Argo CD
    /// tracks, and other tools set it, too.
    #[serde(rename = "labels.app.kubernetes.io/managed-by")]
    managed_by: Option<String>,
    #[serde(rename = "labels.app.kubernetes.io/instance")]
    application: Option<String>,
}

#[derive(Deserialize)]
struct FieldManager {
    manager: String,
    operation: String,
    #[serde(rename = "fieldsV1", deserialize_with = "is_there")]
    has_fields: bool,
    /// Of a template, or of a host's, a pool's or a Machine's image.
    #[serde(
        rename = "fieldsV1.f:spec.f:template|fieldsV1.f:spec.f:providerSpec|fieldsV1.f:spec.f:customDeploy|\
                  fieldsV1.f:spec.f:platform|fieldsV1.f:spec.f:release|fieldsV1.f:spec.f:image",
        deserialize_with = "is_there"
    )]
    has_template: bool,
}

impl FieldManager {
    /// Fields of the spec are its own; so where it is not said which are.
    fn has_spec(&self) -> bool {
        self.has_template || !self.has_fields
    }
}

/// The tool's name; `None` where the object has no sign of one.
///
/// # Errors
/// A sign is of another type.
pub fn owner<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Signs::deserialize(deserializer).map(Signs::owner)
}

impl Signs {
    fn owner(self) -> Option<String> {
        let is_work = |owner: &Reference| owner.kind.as_deref() == Some("AppliedManifestWork");
        if self.owner_references.iter().any(is_work) {
            return Some("ACM".to_owned());
        }
        let is_of = |names: &[&str], text: &str| names.iter().any(|begin| text.starts_with(begin));
        for tool in &TOOLS {
            let own = |entry: &&FieldManager| is_of(tool.managers, &entry.manager);
            let mut entries = self.managed_fields.iter().filter(own).peekable();
            let mut marks = self.annotations.keys().chain(self.labels.keys());
            // What a tool is known to manage counts; a mark alone where that is not known.
            let is_owner = match entries.peek() {
                Some(_) => entries.any(FieldManager::has_spec),
                None => marks.any(|mark| is_of(tool.marks, mark)),
            };
            if is_owner {
                return Some(tool.name.to_owned());
            }
        }
        let is_applied = |entry: &&FieldManager| {
            entry.operation == "Apply" && entry.has_spec() && !is_of(&NO_TOOLS, &entry.manager)
        };
        let applied = self.managed_fields.iter().find(is_applied);
        let of = |name: String| format!("the application {name} (app.kubernetes.io/instance)");
        applied
            .map(|entry| format!("the field manager {}", entry.manager))
            .or(self.managed_by)
            .or_else(|| self.application.map(of))
    }
}

#[cfg(test)]
mod tests {
    use crate::kinds::host::Host;
    use crate::lenient;
    use serde_json::{Value, json};

    fn with(metadata: Value) -> Option<String> {
        lenient::known::<Host>(&json!({ "metadata": metadata })).owner
    }

    #[test]
    fn tools_are_known_by_their_marks() {
        for (metadata, name) in [
            (
                json!({ "annotations": { "argocd.argoproj.io/tracking-id": "a:b/C:d/e" } }),
                "Argo CD",
            ),
            (
                json!({ "labels": { "argocd.argoproj.io/instance": "a" } }),
                "Argo CD",
            ),
            (
                json!({ "labels": { "kustomize.toolkit.fluxcd.io/name": "a" } }),
                "Flux",
            ),
            (
                json!({ "labels": { "helm.toolkit.fluxcd.io/name": "a", "app.kubernetes.io/managed-by": "Helm" } }),
                "Flux",
            ),
            (
                json!({ "labels": { "hive.openshift.io/managed": "true" } }),
                "Hive",
            ),
            (
                json!({ "annotations": { "apps.open-cluster-management.io/hosting-subscription": "a" } }),
                "ACM",
            ),
            (
                json!({ "ownerReferences": [{ "kind": "AppliedManifestWork", "name": "a" }] }),
                "ACM",
            ),
            (
                json!({ "annotations": { "meta.helm.sh/release-name": "a" } }),
                "Helm",
            ),
            (
                json!({ "labels": { "app.kubernetes.io/managed-by": "Pulumi" } }),
                "Pulumi",
            ),
            (
                json!({ "labels": { "app.kubernetes.io/instance": "a" } }),
                "the application a (app.kubernetes.io/instance)",
            ),
        ] {
            assert_eq!(with(metadata.clone()).as_deref(), Some(name), "{metadata}");
        }
        assert_eq!(
            with(json!({ "annotations": { "machine.openshift.io/GPU": "0" } })),
            None
        );
    }

    #[test]
    fn a_tool_that_manages_other_fields_does_not_own_the_image() {
        let managed = |manager: &str, operation: &str, fields: Value| {
            with(json!({
                "annotations": { "argocd.argoproj.io/tracking-id": "x" },
                "managedFields": [{ "manager": manager, "operation": operation, "fieldsV1": fields }],
            }))
        };
        let template = json!({ "f:spec": { "f:template": { "f:spec": {} } } });
        let replicas = json!({ "f:spec": { "f:replicas": {} } });
        let argocd = "argocd-controller";
        assert_eq!(
            managed(argocd, "Apply", template.clone()).as_deref(),
            Some("Argo CD")
        );
        assert_eq!(managed(argocd, "Apply", replicas), None);
        assert_eq!(
            managed("kubectl", "Apply", template.clone()).as_deref(),
            Some("Argo CD")
        );
        let of = |manager: &str, operation: &str| {
            with(
                json!({ "managedFields": [{ "manager": manager, "operation": operation, "fieldsV1": template }] }),
            )
        };
        assert_eq!(
            of("acme", "Apply").as_deref(),
            Some("the field manager acme")
        );
        assert_eq!(of("kubectl-client-side-apply", "Update"), None);
        assert_eq!(of("kubectl", "Apply"), None);
        assert_eq!(of("machine-config-controller", "Update"), None);
    }
}
