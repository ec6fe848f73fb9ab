//! What admins apply: objects of every kind, with the API server's defaults, the owners of fields
//! (server-side apply), and what it refuses to change.

use super::objects::Refusal;
use super::route::Asked;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The objects by their paths.
#[derive(Debug, Default)]
pub struct Applied {
    objects: BTreeMap<String, Stored>,
    revision: u64,
    /// Namespaces of OpenShift's own that this cluster lacks.
    pub lacks: Vec<String>,
}

#[derive(Debug, Default)]
struct Stored {
    live: Value,
    /// What each field manager last applied.
    managers: BTreeMap<String, Value>,
}

impl Applied {
    /// The answer to a server-side apply, and to a GET or DELETE of what was applied.
    pub fn answer(&mut self, asked: &Asked) -> Option<Result<Value, Refusal>> {
        let (path, query) = asked.uri.split_once('?').unwrap_or((&asked.uri, ""));
        match asked.method.as_str() {
            "PATCH" if asked.content_type == "application/apply-patch+yaml" => {
                let manager = query.strip_prefix("fieldManager=").unwrap_or("kubectl");
                let desired = serde_saphyr::from_slice(&asked.body).unwrap();
                Some(self.apply(path, manager, &desired))
            }
            "GET" => Some(Ok(self.objects.get(path)?.live.clone())),
            "DELETE" => {
                let gone = self.objects.remove(path)?;
                if let Some(name) = path.strip_prefix("/api/v1/namespaces/") {
                    let within = format!("/namespaces/{name}/");
                    self.objects.retain(|path, _| !path.contains(&within));
                }
                Some(Ok(gone.live))
            }
            _ => None,
        }
    }

    /// The paths of all objects.
    pub fn paths(&self) -> Vec<String> {
        self.objects.keys().cloned().collect()
    }

    fn has_namespace(&self, name: &str) -> bool {
        let own = name.starts_with("openshift-") || ["default", "kube-system"].contains(&name);
        (own && !self.lacks.iter().any(|lacked| lacked == name))
            || self
                .objects
                .contains_key(&format!("/api/v1/namespaces/{name}"))
    }

    fn apply(&mut self, path: &str, manager: &str, desired: &Value) -> Result<Value, Refusal> {
        let within = path.split_once("/namespaces/").and_then(|(_, rest)| {
            let (namespace, _) = rest.split_once('/')?;
            Some(namespace)
        });
        if let Some(namespace) = within.filter(|name| !self.has_namespace(name)) {
            let text = format!("namespaces \"{namespace}\" not found");
            return Err(Refusal(404, "NotFound", text));
        }
        let is_new = !self.objects.contains_key(path);
        let stored = self.objects.entry(path.to_owned()).or_default();
        let before = stored.live.clone();
        if !is_new && before["roleRef"] != desired["roleRef"] {
            let text = format!("{path}: roleRef: Invalid value: cannot change roleRef");
            return Err(Refusal(422, "Invalid", text));
        }
        let others: Vec<&Value> = stored
            .managers
            .iter()
            .filter(|(other, _)| *other != manager)
            .map(|(_, applied)| applied)
            .collect();
        if let Some(at) = others
            .iter()
            .find_map(|theirs| conflict("", desired, theirs))
        {
            let text = format!("Apply failed with 1 conflict: {at}");
            return Err(Refusal(409, "Conflict", text));
        }
        let prior = stored.managers.get(manager).unwrap_or(&Value::Null);
        let mut live = merged(&before, prior, desired, &others, "");
        default(&mut live);
        if live != before {
            self.revision += 1;
            if is_new {
                live["metadata"]["uid"] = json!(format!("uid-{}", self.revision));
            }
            live["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        }
        stored.live = live.clone();
        stored.managers.insert(manager.to_owned(), desired.clone());
        Ok(live)
    }
}

/// The key of a list that is merged entry by entry; others are taken as a whole (the Kubernetes API's
/// `listMapKey`; those of OpenShift's types are in openshift/api).
pub fn merge_key(field: &str, entry: &Value) -> Option<&'static str> {
    match field {
        "containers" | "initContainers" | "env" | "volumes" | "matchConditions" | "variables"
        | "groups" | "units" => Some("name"),
        "volumeMounts" => Some("mountPath"),
        "files" => Some("path"),
        _ => None,
    }
    .filter(|key| entry.get(*key).is_some())
}

fn entry_of<'a>(list: &'a Value, key: &str, entry: &Value) -> &'a Value {
    let all = list.as_array().into_iter().flatten();
    let mut same = all.filter(|other| other[key] == entry[key]);
    same.next().unwrap_or(&Value::Null)
}

/// The first field that another manager has with another value.
fn conflict(at: &str, desired: &Value, theirs: &Value) -> Option<String> {
    match (desired, theirs) {
        (_, Value::Null) => None,
        (Value::Object(ours), Value::Object(_)) => ours
            .iter()
            .find_map(|(name, value)| conflict(&format!("{at}.{name}"), value, &theirs[name])),
        (Value::Array(ours), Value::Array(_)) => {
            let field = at.rsplit('.').next().unwrap_or_default();
            let Some(key) = ours.first().and_then(|entry| merge_key(field, entry)) else {
                return (desired != theirs).then(|| at.to_owned());
            };
            ours.iter()
                .find_map(|entry| conflict(&format!("{at}[]"), entry, entry_of(theirs, key, entry)))
        }
        _ => (desired != theirs).then(|| at.to_owned()),
    }
}

/// The live value after an apply: what this manager had and has no more goes, unless others have it.
fn merged(live: &Value, prior: &Value, desired: &Value, others: &[&Value], field: &str) -> Value {
    let inner = |name: &str| -> Vec<&Value> {
        let all = others.iter().map(|other| &other[name]);
        all.filter(|value| !value.is_null()).collect()
    };
    match desired {
        Value::Object(fields) => {
            let mut result = live.as_object().cloned().unwrap_or_default();
            for (name, had) in prior.as_object().into_iter().flatten() {
                if fields.contains_key(name) {
                    continue;
                }
                let was = result.get(name).unwrap_or(&Value::Null);
                let left = without(was, had, &inner(name), name);
                match left {
                    Value::Null => drop(result.remove(name)),
                    left => drop(result.insert(name.clone(), left)),
                }
            }
            for (name, value) in fields {
                let was = result.get(name).unwrap_or(&Value::Null);
                let value = merged(was, &prior[name], value, &inner(name), name);
                result.insert(name.clone(), value);
            }
            Value::Object(result)
        }
        Value::Array(entries) => {
            let Some(key) = entries.first().and_then(|entry| merge_key(field, entry)) else {
                return desired.clone();
            };
            let mut result = live.as_array().cloned().unwrap_or_default();
            let is_there = |list: &Value, entry: &Value| !entry_of(list, key, entry).is_null();
            result.retain(|entry| {
                !is_there(prior, entry)
                    || is_there(desired, entry)
                    || others.iter().any(|other| is_there(other, entry))
            });
            for entry in entries {
                let was = entry_of(prior, key, entry);
                let theirs: Vec<&Value> = others
                    .iter()
                    .map(|other| entry_of(other, key, entry))
                    .collect();
                match result.iter_mut().find(|one| one[key] == entry[key]) {
                    Some(one) => *one = merged(one, was, entry, &theirs, ""),
                    None => result.push(entry.clone()),
                }
            }
            Value::Array(result)
        }
        _ => desired.clone(),
    }
}

/// What is left of a value where its manager leaves it out; nothing is `null`.
fn without(live: &Value, had: &Value, others: &[&Value], field: &str) -> Value {
    match (live, had) {
        (Value::Object(fields), Value::Object(_)) => {
            let mut result = Map::new();
            for (name, value) in fields {
                let theirs: Vec<&Value> = others
                    .iter()
                    .map(|other| &other[name])
                    .filter(|value| !value.is_null())
                    .collect();
                let left = match &had[name] {
                    Value::Null => value.clone(),
                    had => without(value, had, &theirs, name),
                };
                if !left.is_null() {
                    result.insert(name.clone(), left);
                }
            }
            match result.is_empty() {
                true => Value::Null,
                false => Value::Object(result),
            }
        }
        (Value::Array(entries), Value::Array(_)) => {
            let key = entries.first().and_then(|entry| merge_key(field, entry));
            let Some(key) = key.filter(|_| others.is_empty() || !others.contains(&live)) else {
                return others.first().map_or(Value::Null, |_| live.clone());
            };
            let mut left = entries.clone();
            left.retain(|entry| {
                entry_of(had, key, entry).is_null()
                    || others
                        .iter()
                        .any(|other| !entry_of(other, key, entry).is_null())
            });
            match left.is_empty() {
                true => Value::Null,
                false => Value::Array(left),
            }
        }
        _ if others.is_empty() => Value::Null,
        _ => live.clone(),
    }
}

/// Sets what is absent.
fn set(value: &mut Value, name: &str, default: Value) {
    if value.get(name).is_none_or(Value::is_null) {
        value[name] = default;
    }
}

/// The entries of a list; none where it is absent.
fn entries<'a>(value: &'a mut Value, pointer: &str) -> impl Iterator<Item = &'a mut Value> {
    let list = value.pointer_mut(pointer).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}

/// What an API server adds: k8s.io/kubernetes, `pkg/apis/*/v1/defaults.go`, and openshift/api for its
/// own types.
fn default(object: &mut Value) {
    let name = object["metadata"]["name"].clone();
    match object["kind"].as_str().unwrap_or_default() {
        "Namespace" => {
            object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
            object["spec"] = json!({ "finalizers": ["kubernetes"] });
        }
        "CronJob" => cron_job(&mut object["spec"]),
        "CustomResourceDefinition" => {
            set(
                &mut object["spec"],
                "conversion",
                json!({ "strategy": "None" }),
            );
            set(&mut object["spec"], "preserveUnknownFields", json!(false));
        }
        "RoleBinding" | "ClusterRoleBinding" => {
            for subject in entries(object, "/subjects") {
                if subject["kind"] != "ServiceAccount" {
                    set(subject, "apiGroup", json!("rbac.authorization.k8s.io"));
                }
            }
        }
        "ValidatingAdmissionPolicy" => {
            set(&mut object["spec"], "failurePolicy", json!("Fail"));
            let constraints = &mut object["spec"]["matchConstraints"];
            set(constraints, "matchPolicy", json!("Equivalent"));
            set(constraints, "namespaceSelector", json!({}));
            set(constraints, "objectSelector", json!({}));
            for rule in constraints["resourceRules"].as_array_mut().unwrap() {
                set(rule, "scope", json!("*"));
            }
        }
        "ResourceQuota" => {
            // The form that quantities have once they were read.
            for (_, hard) in object["spec"]["hard"].as_object_mut().unwrap() {
                if let Some(thousands) = hard.as_str().and_then(|text| text.strip_suffix("000")) {
                    *hard = format!("{thousands}k").into();
                }
            }
        }
        "MachineConfiguration" => {
            set(object, "spec", json!({}));
            for (field, value) in [("logLevel", "Normal"), ("operatorLogLevel", "Normal")] {
                set(&mut object["spec"], field, json!(value));
            }
        }
        _ => {}
    }
}

fn cron_job(spec: &mut Value) {
    set(spec, "suspend", json!(false));
    set(spec, "concurrencyPolicy", json!("Allow"));
    let job = &mut spec["jobTemplate"]["spec"];
    set(&mut job["template"], "metadata", json!({}));
    for rule in entries(job, "/podFailurePolicy/rules") {
        for condition in entries(rule, "/onPodConditions") {
            set(condition, "status", json!("True"));
        }
    }
    let pod = &mut job["template"]["spec"];
    set(pod, "dnsPolicy", json!("ClusterFirst"));
    set(pod, "schedulerName", json!("default-scheduler"));
    set(pod, "terminationGracePeriodSeconds", json!(30));
    let account = pod["serviceAccountName"].clone();
    set(pod, "serviceAccount", account);
    for container in entries(pod, "/containers") {
        set(
            container,
            "terminationMessagePath",
            json!("/dev/termination-log"),
        );
        set(container, "terminationMessagePolicy", json!("File"));
        let is_latest = container["image"].as_str().unwrap().ends_with(":latest");
        let pull = if is_latest { "Always" } else { "IfNotPresent" };
        set(container, "imagePullPolicy", json!(pull));
    }
    for volume in entries(pod, "/volumes") {
        if volume["configMap"].is_object() {
            set(&mut volume["configMap"], "defaultMode", json!(420));
        }
    }
}
