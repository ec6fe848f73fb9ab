//! Sample data is real: an API server of OpenShift would take it, and keep all of it.

use cel::{Context, Env, Value as CelValue};
use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Functions of rules that Kubernetes adds to CEL, and rules about what was there before.
const NOT_EVALUATED: [&str; 6] = ["oldSelf", "isIP(", "isCIDR(", "isURL(", "ip(", "format."];

fn schemas() -> Map<String, Value> {
    let text = std::fs::read_to_string("tests/data/crds/openshift.json").unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The schema as JSON Schema has it: what a server does not keep is an error.
fn strict(schema: &Value) -> Value {
    match schema {
        Value::Array(all) => all.iter().map(strict).collect(),
        Value::Object(fields) => {
            let mut own: Map<String, Value> = fields
                .iter()
                .map(|(name, value)| (name.clone(), strict(value)))
                .collect();
            let keeps_all =
                fields.get("x-kubernetes-preserve-unknown-fields") == Some(&json!(true));
            if fields.get("properties").is_some_and(Value::is_object)
                && fields.get("type") == Some(&json!("object"))
                && !keeps_all
            {
                own.entry("additionalProperties").or_insert(json!(false));
            }
            if fields.get("nullable") == Some(&json!(true)) {
                own["type"] = json!([fields["type"], "null"]);
            }
            Value::Object(own)
        }
        other => other.clone(),
    }
}

/// The rules of a schema that a value breaks, in their words.
fn broken_rules(schema: &Value, value: &Value, broken: &mut Vec<String>) {
    let rules = schema["x-kubernetes-validations"].as_array();
    for rule in rules
        .into_iter()
        .flatten()
        .map(|rule| rule["rule"].as_str().unwrap())
    {
        if NOT_EVALUATED.iter().any(|name| rule.contains(name)) {
            continue;
        }
        let program = Env::stdlib()
            .compile(rule)
            .unwrap_or_else(|error| panic!("{rule}: {error}"));
        let mut context = Context::with_env(Arc::new(Env::stdlib()));
        context.add_variable("self", value).unwrap();
        if program.execute(&context) != Ok(CelValue::Bool(true)) {
            broken.push(rule.to_owned());
        }
    }
    match value {
        Value::Array(items) => {
            for item in items {
                broken_rules(&schema["items"], item, broken);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let own = schema["properties"].get(name);
                let own = own.unwrap_or(&schema["additionalProperties"]);
                broken_rules(own, field, broken);
            }
        }
        _ => {}
    }
}

/// The faults of an object that an API server would not take or keep as it is; `None` of a kind without schema.
fn faults(schemas: &Map<String, Value>, object: &Value, is_whole: bool) -> Option<Vec<String>> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let schema = schemas.get(&format!("{} {}", text("apiVersion"), text("kind")))?;
    let validator = jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .build(&strict(schema))
        .unwrap();
    let errors = validator.iter_errors(object);
    let is_absent =
        |kind: &ValidationErrorKind| matches!(kind, ValidationErrorKind::Required { .. });
    let errors = errors.filter(|error| is_whole || !is_absent(error.kind()));
    let mut faults: Vec<String> = errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    if is_whole {
        broken_rules(schema, object, &mut faults);
    }
    Some(faults)
}

fn objects_of(text: &str) -> Vec<Value> {
    let documents: Vec<Value> = match serde_json::from_str(text) {
        Ok(document) => vec![document],
        Err(_) => serde_saphyr::from_multiple(text).unwrap_or_default(),
    };
    let all = documents
        .into_iter()
        .flat_map(|document| match document.get("items") {
            Some(items) => items.as_array().cloned().unwrap_or_default(),
            None => vec![document],
        });
    all.collect()
}

fn files(at: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(at)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut all: Vec<PathBuf> = entries
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect();
    all.sort();
    all
}

/// What insights-operator publishes is made unreadable, and what a tutorial applies has no status.
const OTHERS: &str = "tests/data/audit/real";

/// Cases of objects that no API server has as they are: an archive of Insights, and a manager of a later release.
const UNLIKE: [&str; 2] = ["control-plane-set-without-template", "capi-manager"];

/// The objects below a folder that have a schema, and their faults.
fn all_faults(root: &str, is_whole: bool) -> (usize, Vec<String>) {
    let schemas = schemas();
    let (mut count, mut wrong) = (0, Vec::new());
    for file in files(Path::new(root)) {
        let is_unlike = file
            .iter()
            .any(|part| UNLIKE.iter().any(|case| part == *case));
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        if file.starts_with(OTHERS) || is_unlike {
            continue;
        }
        for object in objects_of(&text) {
            let Some(faults) = faults(&schemas, &object, is_whole) else {
                continue;
            };
            count += 1;
            let name = format!(
                "{}: {} {}",
                file.display(),
                object["kind"],
                object["metadata"]["name"]
            );
            wrong.extend(faults.into_iter().map(|fault| format!("{name}: {fault}")));
        }
    }
    (count, wrong)
}

#[test]
fn samples_are_what_an_api_server_takes_and_keeps() {
    for (root, least) in [("tests/data/audit", 50), ("tests/data/why", 5)] {
        let (count, wrong) = all_faults(root, true);
        assert!(count >= least, "{root}: {count}");
        assert_eq!(wrong, Vec::<String>::new(), "{}", wrong.join("\n"));
    }
}

/// Cases leave out what does not matter; what they have is as a server keeps it.
#[test]
fn cases_have_nothing_that_an_api_server_does_not_keep() {
    let (count, wrong) = all_faults("tests/data/cases", false);
    assert!(count > 200, "{count}");
    assert_eq!(wrong, Vec::<String>::new(), "{}", wrong.join("\n"));
}

#[test]
fn what_no_server_keeps_is_found() {
    let schemas = schemas();
    let set = |template: Value| {
        json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "metadata": { "name": "a" },
            "spec": { "replicas": 1, "selector": {}, "template": template }
        })
    };
    let version = |spec: Value| {
        json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": { "name": "version" }, "spec": spec,
        })
    };
    let skew = |status: Value| {
        json!({
            "apiVersion": "operator.openshift.io/v1", "kind": "MachineConfiguration", "metadata": { "name": "cluster" }, "spec": {},
            "status": { "bootImageSkewEnforcementStatus": status }
        })
    };
    for (object, fault) in [
        (
            set(json!({ "metadata": { "creationTimestamp": null } })),
            "creationTimestamp",
        ),
        (
            set(json!({ "spec": { "providerSpec": { "value": 1 } } })),
            "1 is not of",
        ),
        (version(json!({ "channel": "stable" })), "clusterID"),
        (
            skew(json!({ "mode": "Automatic", "automatic": {} })),
            "has(self.ocpVersion) || has(self.rhcosVersion)",
        ),
        (
            skew(json!({ "mode": "Automatic", "automatic": { "ocpVersion": "4.21.0" } })),
            "managedBootImages.hasValue()",
        ),
        (skew(json!({ "mode": "Sometimes" })), "Sometimes"),
    ] {
        let found = faults(&schemas, &object, true).unwrap();
        assert!(
            found.iter().any(|found| found.contains(fault)),
            "{fault}: {found:?}"
        );
    }
}
