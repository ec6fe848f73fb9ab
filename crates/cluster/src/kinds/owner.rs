//! The tool that keeps an object as it has it elsewhere (pure): a change by hand does not last there.
//!
//! Argo CD ("Resource Tracking"), Flux (kustomize-controller and helm-controller, labels), Helm
//! ("Labels and Annotations"), Hive (`hive.openshift.io/managed` of its MachineSets), Open Cluster
//! Management (AppliedManifestWork, subscriptions, policies).

use super::fields::{fields_at, list_at, str_at};
use crate::text::printable;
use serde_json::Value;

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

/// The tool's name; `None` where the object has no sign of one.
pub fn owner(object: &Value) -> Option<String> {
    let owned = list_at(object, "/metadata/ownerReferences").iter();
    let kinds = || owned.clone().filter_map(|owner| str_at(owner, "/kind"));
    if kinds().any(|kind| kind == "AppliedManifestWork") {
        return Some("ACM".to_owned());
    }
    let marks: Vec<String> = ["/metadata/annotations", "/metadata/labels"]
        .into_iter()
        .flat_map(|path| fields_at(object, path).map(|(name, _)| name))
        .collect();
    let managers = field_managers(object);
    let is_of = |names: &[&str], text: &str| names.iter().any(|begin| text.starts_with(begin));
    for tool in &TOOLS {
        let mut entries = managers
            .iter()
            .filter(|entry| is_of(tool.managers, entry.name));
        // What a tool is known to manage counts; a mark alone where that is not known.
        if entries.clone().next().is_some() {
            if entries.any(|entry| entry.has_spec) {
                return Some(tool.name.to_owned());
            }
        } else if marks.iter().any(|mark| is_of(tool.marks, mark)) {
            return Some(tool.name.to_owned());
        }
    }
    let applied = managers
        .iter()
        .find(|entry| entry.is_applied && entry.has_spec && !is_of(&NO_TOOLS, entry.name));
    applied
        .map(|entry| format!("the field manager {}", printable(entry.name)))
        .or_else(|| managed_by(object))
}

/// `app.kubernetes.io/managed-by`, and the older way in which Argo CD tracks: both are recommended
/// labels of Kubernetes, which other tools set, too.
fn managed_by(object: &Value) -> Option<String> {
    let label = |name: &str| {
        let path = format!("/metadata/labels/app.kubernetes.io~1{name}");
        str_at(object, &path).map(printable)
    };
    label("managed-by").or_else(|| {
        label("instance").map(|name| format!("the application {name} (app.kubernetes.io/instance)"))
    })
}

struct FieldManager<'a> {
    name: &'a str,
    is_applied: bool,
    /// Fields of the spec are its own; so where it is not said which are.
    has_spec: bool,
}

fn field_managers(object: &Value) -> Vec<FieldManager<'_>> {
    let entries = list_at(object, "/metadata/managedFields").iter();
    let entry = |entry| {
        Some(FieldManager {
            name: str_at(entry, "/manager")?,
            is_applied: str_at(entry, "/operation") == Some("Apply"),
            has_spec: entry.pointer("/fieldsV1").is_none_or(|fields| {
                has_template(fields) || fields.pointer("/f:spec/f:image").is_some()
            }),
        })
    };
    entries.filter_map(entry).collect()
}

/// Tells whether the fields have something of a template, or of a host's, a pool's or a Machine's image.
fn has_template(fields: &Value) -> bool {
    [
        "f:template",
        "f:providerSpec",
        "f:customDeploy",
        "f:platform",
        "f:release",
    ]
    .iter()
    .any(|field| fields.pointer(&format!("/f:spec/{field}")).is_some())
}

#[cfg(test)]
mod tests {
    use super::owner;
    use serde_json::{Value, json};

    fn with(metadata: Value) -> Option<String> {
        owner(&json!({ "metadata": metadata }))
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
