//! A change of an object: as a command, and as a patch file for the repository that it is kept in
//! (pure).

use crate::audit::results::effect::PatchFile;
use crate::audit::results::set::SetKind;
use crate::audit::set::Set;
use crate::forms::yaml;
use crate::text::is_dns_name;
use serde_json::{Map, Value, json};
use skewguard_cluster::kinds::image::FREE_PUBLISHER;

/// A change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// A JSON Patch of one operation (RFC 6902).
    Operation(Value),
    /// A JSON Merge Patch (RFC 7386).
    Merge(Value),
}

impl Change {
    /// The image field is set to `image`. `None` for what cannot be changed (templates of the Cluster
    /// API), and for a field that is in a list.
    pub(crate) fn of_image(set: &Set, image: &str) -> Option<Self> {
        let field = set.image.field.as_ref()?;
        // What is absent cannot be replaced.
        if set.template.is_some() || set.image.value.is_none() || field.contains("[]") {
            return None;
        }
        let field = format!("{}{field}", set.path);
        let (field, value) = match urn(image) {
            Some(fields) => (field.strip_suffix(".resourceID").unwrap_or(&field), fields),
            None => (field.as_str(), json!(image)),
        };
        Some(Self::replace(field, &value))
    }

    /// `disks[0].image` is `/disks/0/image` in a JSON Patch.
    pub(crate) fn replace(field: &str, value: &Value) -> Self {
        Self::Operation(json!({ "op": "replace", "path": path(field), "value": value }))
    }

    pub(crate) fn remove(field: &str) -> Self {
        Self::Operation(json!({ "op": "remove", "path": path(field) }))
    }

    /// The command that makes it; `None` for kinds that none is known for, and for names that cannot
    /// stand in one.
    pub(crate) fn command(&self, set: &Set) -> Option<String> {
        let (resource, _) = resource(set)?;
        let (kind, patch) = match self {
            Self::Operation(operation) => ("json", json!([operation])),
            Self::Merge(patch) => ("merge", patch.clone()),
        };
        let patch = patch.to_string();
        (!patch.contains('\'')).then(|| {
            format!(
                "oc patch {resource} {} -n {} --type {kind} -p '{patch}'",
                set.name, set.namespace
            )
        })
    }

    /// The same as a file of kustomize: a strategic merge patch, or operations where a list is in the
    /// way, which a merge replaces as a whole.
    pub(crate) fn file(&self, set: &Set) -> Option<PatchFile> {
        let (_, version) = resource(set)?;
        let name = format!("{}-{}.yaml", set.kind.name().to_ascii_lowercase(), set.name);
        let Set {
            kind,
            namespace,
            name: of,
            ..
        } = set;
        let group = kind.group();
        let head = format!("# kustomization.yaml:\n# patches:\n# - path: {name}\n");
        let text = match self.merge() {
            Some(patch) => {
                let mut whole = Map::from_iter([
                    ("apiVersion".to_owned(), json!(format!("{group}/{version}"))),
                    ("kind".to_owned(), json!(kind.name())),
                    (
                        "metadata".to_owned(),
                        json!({ "name": of, "namespace": namespace }),
                    ),
                ]);
                whole.extend(patch.as_object().cloned().unwrap_or_default());
                head + &yaml(&Value::Object(whole))
            }
            None => {
                let Self::Operation(operation) = self else {
                    return None;
                };
                format!(
                    "{head}#   target: {{group: {group}, version: {version}, kind: {kind}, name: {of}, namespace: {namespace}}}\n{}",
                    yaml(&json!([operation]))
                )
            }
        };
        Some(PatchFile { name, text })
    }

    /// The change as a merge patch; `None` where the path goes through a list.
    fn merge(&self) -> Option<Value> {
        let operation = match self {
            Self::Merge(patch) => return Some(patch.clone()),
            Self::Operation(operation) => operation,
        };
        let path = operation.get("path")?.as_str()?;
        let is_index = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
        let mut names = path.split('/').skip(1);
        if names.clone().any(is_index) {
            return None;
        }
        let value = operation.get("value").cloned().unwrap_or(Value::Null);
        let nest =
            |inner: Value, name: &str| Value::Object(Map::from_iter([(name.to_owned(), inner)]));
        let patch = names.by_ref().collect::<Vec<_>>();
        Some(patch.into_iter().rfold(value, nest))
    }
}

fn path(field: &str) -> String {
    format!(
        "/{}",
        field.replace('[', ".").replace(']', "").replace('.', "/")
    )
}

/// The resource as oc names it, and its version; `None` where the names cannot stand in a command.
fn resource(set: &Set) -> Option<(String, &'static str)> {
    let version = match set.kind {
        SetKind::MachineSet | SetKind::NodePool => "v1beta1",
        SetKind::ControlPlaneMachineSet => "v1",
        SetKind::BareMetalHost
        | SetKind::EC2NodeClass
        | SetKind::Machine
        | SetKind::MachineConfigPool
        | SetKind::MachineDeployment
        | SetKind::MachinePool
        | SetKind::ClusterMachineSet
        | SetKind::KarpenterNodePool
        | SetKind::OpenshiftEC2NodeClass
        | SetKind::Unknown => return None,
    };
    let is_named = is_dns_name(&set.name, 253) && is_dns_name(&set.namespace, 63);
    let kind = set.kind.name().to_ascii_lowercase();
    is_named.then(|| (format!("{kind}s.{}", set.kind.group()), version))
}

pub(crate) fn is_urn(image: &str) -> bool {
    urn(image).is_some()
}

/// The fields of `image` for a URN of Azure's marketplace (openshift/api `machine/v1beta1`,
/// `Image`). What the publisher `azureopenshift` offers has no plan to buy.
fn urn(image: &str) -> Option<Value> {
    let parts: Vec<&str> = image.split(':').collect();
    let [publisher, offer, sku, version] = parts[..] else {
        return None;
    };
    let plan = if publisher == FREE_PUBLISHER {
        "MarketplaceNoPlan"
    } else {
        "MarketplaceWithPlan"
    };
    Some(
        json!({ "publisher": publisher, "offer": offer, "sku": sku, "version": version, "resourceID": "", "type": plan }),
    )
}
