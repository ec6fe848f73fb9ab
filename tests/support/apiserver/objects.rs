//! The objects of the cluster, and what an API server checks of them beyond their schema.

use super::admission::{Admission, Request};
use super::apply::Applied;
use super::lists::Lists;
use super::schema::{Crd, Schema};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// The namespace that the manifests make.
pub const NAMESPACE: &str = "skewguard";

pub struct Cluster {
    pub crd: Option<Crd>,
    admission: Admission,
    /// How many reports there may be (`count/bootimagereports.skewguard.dev` of the ResourceQuota).
    quota: Option<usize>,
    event: Schema,
    meta: Schema,
    /// By plural, then by namespace and name.
    pub stored: BTreeMap<String, BTreeMap<(String, String), Value>>,
    /// So many objects are refused, because their namespace is still being deleted.
    pub terminating: u32,
    /// What can be read beside these.
    pub lists: Lists,
    /// What admins applied.
    pub applied: Applied,
}

/// An answer that is no success: status, reason, message.
pub struct Refusal(pub u16, pub &'static str, pub String);

impl Cluster {
    /// A cluster with the CRD, the quota and the admission policies of these manifests.
    pub fn new(manifests: &Path, has_crd: bool, node: &str) -> Self {
        let crd = has_crd.then(|| Crd::read(&manifests.join("crd.yaml")));
        // As large as a Node gets: annotations up to their limit, and what the kubelet puts into
        // its status.
        let annotations = json!({ "operator.example.com/state": "x".repeat(250 * 1024) });
        let images: Vec<Value> = (0..4000)
            .map(|n| json!({ "names": ["x".repeat(200)], "sizeBytes": n }))
            .collect();
        let node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": { "name": node, "labels": { "kubernetes.io/os": "linux" }, "annotations": annotations },
            "status": { "images": images },
        });
        let nodes = BTreeMap::from([(
            (
                String::new(),
                node["metadata"]["name"].as_str().unwrap().to_owned(),
            ),
            node,
        )]);
        Self {
            crd,
            admission: Admission::read(&manifests.join("../admission")),
            quota: quota(&manifests.join("quota.yaml")),
            event: Schema::of_kind("apis_events.k8s.io_v1", "io.k8s.api.events.v1.Event"),
            meta: Schema::of_kind(
                "apis_events.k8s.io_v1",
                "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
            ),
            stored: BTreeMap::from([("nodes".to_owned(), nodes)]),
            terminating: 0,
            lists: Lists::default(),
            applied: Applied::default(),
        }
    }

    /// Checks and stores a new object; returns it as stored, and remarks for the log.
    pub fn create(
        &mut self,
        user: &str,
        resource: &str,
        namespace: &str,
        mut object: Value,
    ) -> Result<(Value, Vec<String>), Refusal> {
        let mut remarks = Vec::new();
        let (api_version, kind) = match &self.crd {
            Some(crd) if crd.plural == resource => {
                (format!("{}/{}", crd.group, crd.version), crd.kind.clone())
            }
            _ if resource == "namespaces" => ("v1".to_owned(), "Namespace".to_owned()),
            _ => ("events.k8s.io/v1".to_owned(), "Event".to_owned()),
        };
        if object["apiVersion"] != *api_version || object["kind"] != *kind {
            return Err(Refusal(
                400,
                "BadRequest",
                format!("the object is not a {kind} of {api_version}"),
            ));
        }
        let name = object["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if self.terminating > 0 {
            self.terminating -= 1;
            return Err(being_deleted(resource, namespace, &name));
        }
        if resource != "namespaces" && namespace != NAMESPACE && namespace != "default" {
            return Err(Refusal(
                404,
                "NotFound",
                format!("namespaces \"{namespace}\" not found"),
            ));
        }
        let mut errors = self.meta_errors(&object["metadata"], namespace);
        match &self.crd {
            Some(crd) if crd.plural == resource => {
                remarks = crd
                    .prune(&mut object)
                    .iter()
                    .map(|path| format!("pruned {path}"))
                    .collect();
                errors.extend(crd.errors(&object));
            }
            _ if resource == "namespaces" => {}
            _ => {
                errors.extend(self.event.errors(&object));
                errors.extend(event_errors(&object, namespace));
            }
        }
        if !errors.is_empty() {
            return Err(Refusal(
                422,
                "Invalid",
                format!("{kind} is invalid: {}", errors.join("; ")),
            ));
        }
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        own_fields(&mut object);
        if let Some(denial) = self
            .admission
            .denials(
                group,
                resource,
                Request {
                    operation: "CREATE",
                    user,
                    namespace,
                    object: &object,
                    old: None,
                },
            )
            .first()
        {
            let policy = format!("ValidatingAdmissionPolicy denied request: {denial}");
            return Err(Refusal(
                422,
                "Invalid",
                format!("{resource}.{group} \"{name}\" is forbidden: {policy}"),
            ));
        }
        let used = self.stored.get(resource).map_or(0, BTreeMap::len);
        if let Some(limit) = self
            .quota
            .filter(|limit| group == "skewguard.dev" && used >= *limit)
        {
            let count = "count/bootimagereports.skewguard.dev";
            let quota = format!(
                "exceeded quota: skewguard-reports, requested: {count}=1, used: {count}={used}, limited: {count}={limit}"
            );
            return Err(Refusal(
                403,
                "Forbidden",
                format!("{resource}.{group} \"{name}\" is forbidden: {quota}"),
            ));
        }
        let of_kind = self.stored.entry(resource.to_owned()).or_default();
        if of_kind.contains_key(&(namespace.to_owned(), name.clone())) {
            return Err(Refusal(
                409,
                "AlreadyExists",
                format!("{resource} \"{name}\" already exists"),
            ));
        }
        object["metadata"]["namespace"] = json!(namespace);
        object["metadata"]["creationTimestamp"] = json!(CREATED);
        object["metadata"]["uid"] = json!(format!("00000000-0000-4000-8000-{:012}", of_kind.len()));
        object["metadata"]["resourceVersion"] = json!((of_kind.len() + 1).to_string());
        of_kind.insert((namespace.to_owned(), name), object.clone());
        Ok((object, remarks))
    }

    /// Takes an object away; with finalizers it is only marked, and stays.
    pub fn delete(&mut self, resource: &str, key: &(String, String)) -> Option<Value> {
        let objects = self.stored.get_mut(resource)?;
        let object = objects.get_mut(key)?;
        if object["metadata"]["finalizers"]
            .as_array()
            .is_some_and(|finalizers| !finalizers.is_empty())
        {
            object["metadata"]["deletionTimestamp"] = json!(CREATED);
            return Some(object.clone());
        }
        objects.remove(key)
    }

    /// A merge patch of a report's finalizers; one that is being deleted goes with the last of
    /// them.
    pub fn patch_finalizers(
        &mut self,
        resource: &str,
        key: &(String, String),
        patch: &Value,
    ) -> Result<Value, Refusal> {
        let missing = || {
            Refusal(
                404,
                "NotFound",
                format!("{resource} \"{}\" not found", key.1),
            )
        };
        let objects = self.stored.get_mut(resource).ok_or_else(missing)?;
        let object = objects.get_mut(key).ok_or_else(missing)?;
        if *patch != json!({ "metadata": { "finalizers": null } }) {
            return Err(Refusal(
                422,
                "Invalid",
                format!("a patch of {patch} is not expected here"),
            ));
        }
        object["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("finalizers");
        let object = object.clone();
        if object["metadata"].get("deletionTimestamp").is_some() {
            objects.remove(key);
        }
        Ok(object)
    }

    /// Merges labels and annotations into a Node.
    pub fn patch_node(&mut self, name: &str, patch: &Value) -> Result<Value, Refusal> {
        let bad = |what: String| {
            Refusal(
                422,
                "Invalid",
                format!("Node \"{name}\" is invalid: {what}"),
            )
        };
        for field in patch
            .as_object()
            .ok_or_else(|| bad("the patch is no object".to_owned()))?
            .keys()
        {
            if !["apiVersion", "kind", "metadata"].contains(&field.as_str()) {
                return Err(Refusal(
                    403,
                    "Forbidden",
                    format!(
                        "nodes \"{name}\" is forbidden: a patch of {field} is not expected here"
                    ),
                ));
            }
        }
        let metadata = patch["metadata"]
            .as_object()
            .ok_or_else(|| bad("metadata is missing".to_owned()))?;
        let node = self
            .stored
            .get_mut("nodes")
            .and_then(|nodes| nodes.get_mut(&(String::new(), name.to_owned())));
        let node =
            node.ok_or_else(|| Refusal(404, "NotFound", format!("nodes \"{name}\" not found")))?;
        for (field, entries) in metadata {
            if field != "labels" && field != "annotations" {
                return Err(bad(format!("metadata.{field} is not expected in a patch")));
            }
            for (key, value) in entries
                .as_object()
                .ok_or_else(|| bad(format!("metadata.{field} is no mapping")))?
            {
                let text = value
                    .as_str()
                    .ok_or_else(|| bad(format!("metadata.{field}[{key}] is no text")))?;
                if !is_qualified_name(key)
                    || (field == "labels" && !is_label_value(text))
                    || text.len() > 256 * 1024
                {
                    return Err(bad(format!("metadata.{field}: {key}={text}")));
                }
                node["metadata"][field][key] = value.clone();
            }
        }
        Ok(node.clone())
    }

    fn meta_errors(&self, metadata: &Value, namespace: &str) -> Vec<String> {
        let mut errors: Vec<String> = self
            .meta
            .errors(metadata)
            .into_iter()
            .map(|error| format!("metadata{error}"))
            .collect();
        let name = metadata["name"].as_str().unwrap_or_default();
        if !is_dns_subdomain(name) {
            errors.push(format!(
                "metadata.name: {name:?} is no DNS subdomain (RFC 1123)"
            ));
        }
        if metadata
            .get("namespace")
            .is_some_and(|value| value != namespace)
        {
            errors.push("metadata.namespace does not match the path".to_owned());
        }
        for (key, value) in metadata["labels"].as_object().into_iter().flatten() {
            if !is_qualified_name(key) || !value.as_str().is_some_and(is_label_value) {
                errors.push(format!("metadata.labels: {key}={value}"));
            }
        }
        errors
    }
}

/// When everything was made.
const CREATED: &str = "2026-01-02T03:04:05Z";

/// The limit in the manifest of the quota, in the two forms that such a count has.
fn quota(file: &Path) -> Option<usize> {
    let manifest: Value = serde_saphyr::from_str(&std::fs::read_to_string(file).ok()?).unwrap();
    let hard = &manifest["spec"]["hard"]["count/bootimagereports.skewguard.dev"];
    let text = hard
        .as_str()
        .map_or_else(|| hard.to_string(), str::to_owned);
    Some(text.strip_suffix('k').map_or_else(
        || text.parse().unwrap(),
        |thousands| 1000 * thousands.parse::<usize>().unwrap(),
    ))
}

/// Adds what an API server notes about the fields of a request, behind what the request itself
/// brought.
fn own_fields(object: &mut Value) {
    let mut fields = object.clone();
    for known in ["apiVersion", "kind", "metadata"] {
        fields.as_object_mut().unwrap().remove(known);
    }
    let own = json!({
        "apiVersion": object["apiVersion"], "fieldsType": "FieldsV1", "fieldsV1": field_set(&fields), "manager": "skewguard",
        "operation": "Update", "time": CREATED,
    });
    let mut entries = object["metadata"]["managedFields"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    entries.push(own);
    object["metadata"]["managedFields"] = entries.into();
}

/// As `fieldsV1` has it: a key for each field, nothing for each value and each atomic list.
fn field_set(value: &Value) -> Value {
    let fields = value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| (format!("f:{name}"), field_set(value)));
    fields.collect::<Map<_, _>>().into()
}

/// `Store.Create` of k8s.io/apiserver/pkg/registry/generic/registry, and the admission plugin
/// NamespaceLifecycle.
fn being_deleted(resource: &str, namespace: &str, name: &str) -> Refusal {
    if resource == "namespaces" {
        return Refusal(
            409,
            "AlreadyExists",
            format!("object is being deleted: {resource} \"{name}\" already exists"),
        );
    }
    let why = format!(
        "unable to create new content in namespace {namespace} because it is being terminated"
    );
    Refusal(
        403,
        "Forbidden",
        format!("{resource} \"{name}\" is forbidden: {why}"),
    )
}

/// `ValidateEventCreate` of k8s.io/kubernetes/pkg/apis/core/validation/events.go, for
/// events.k8s.io/v1.
fn event_errors(event: &Value, namespace: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let text = |field: &str| event[field].as_str().unwrap_or_default();
    let mut check = |right: bool, what: &str| {
        if !right {
            errors.push(what.to_owned());
        }
    };
    check(!event["eventTime"].is_null(), "eventTime: required");
    check(
        is_qualified_name(text("reportingController")),
        "reportingController: required, a qualified name",
    );
    check(
        (1..=128).contains(&text("reportingInstance").len()),
        "reportingInstance: required, at most 128 characters",
    );
    check(
        (1..=128).contains(&text("action").len()),
        "action: required, at most 128 characters",
    );
    check(
        (1..=128).contains(&text("reason").len()),
        "reason: required, at most 128 characters",
    );
    check(text("note").len() <= 1024, "note: at most 1024 characters");
    check(
        ["Normal", "Warning"].contains(&text("type")),
        "type: must be Normal or Warning",
    );
    let deprecated = [
        "deprecatedCount",
        "deprecatedFirstTimestamp",
        "deprecatedLastTimestamp",
        "deprecatedSource",
    ];
    check(
        deprecated.iter().all(|field| event.get(field).is_none()),
        "deprecated fields must not be set",
    );
    let regarding = event["regarding"]["namespace"].as_str().unwrap_or_default();
    let fits = if regarding.is_empty() {
        ["default", "kube-system"].contains(&namespace)
    } else {
        regarding == namespace
    };
    check(fits, "regarding.namespace: does not match event.namespace");
    errors
}

fn is_dns_subdomain(text: &str) -> bool {
    let edge = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let label = |l: &str| {
        edge(l.as_bytes().first())
            && edge(l.as_bytes().last())
            && l.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

fn is_label_value(text: &str) -> bool {
    let edge = |b: Option<&u8>| b.is_none_or(u8::is_ascii_alphanumeric);
    let inner = text
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    text.len() <= 63 && edge(text.as_bytes().first()) && edge(text.as_bytes().last()) && inner
}

fn is_qualified_name(text: &str) -> bool {
    let (prefix, name) = text
        .split_once('/')
        .map_or((None, text), |(prefix, name)| (Some(prefix), name));
    prefix.is_none_or(is_dns_subdomain) && !name.is_empty() && is_label_value(name)
}
