//! Bodies against the Kubernetes OpenAPI documents and the CRD's own schema.

use serde_json::{Map, Value, json};
use std::path::Path;

/// A schema that bodies are checked against.
pub struct Schema(jsonschema::Validator);

impl Schema {
    /// One kind of an OpenAPI document of the cluster, such as `apis_events.k8s.io_v1` and
    /// `io.k8s.api.events.v1.Event`. Stricter than a cluster in one thing: a field that it does not
    /// know is an error, where an API server would drop it and carry on.
    pub fn of_kind(document: &str, kind: &str) -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/data/kubernetes")
            .join(format!("{document}.json"));
        let mut document: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        close(&mut document["components"]["schemas"]);
        let schemas = document["components"]["schemas"].take();
        assert!(schemas.get(kind).is_some(), "{kind} is not in the document");
        Self::new(
            &json!({ "$ref": format!("#/components/schemas/{kind}"), "components": { "schemas": schemas } }),
        )
    }

    /// From a JSON schema.
    pub fn new(schema: &Value) -> Self {
        Self(
            jsonschema::options()
                .should_validate_formats(true)
                .build(schema)
                .unwrap(),
        )
    }

    /// What is wrong with `value`; empty if nothing.
    pub fn errors(&self, value: &Value) -> Vec<String> {
        self.0
            .iter_errors(value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect()
    }
}

/// Puts `additionalProperties: false` wherever properties are listed.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("properties").is_some_and(Value::is_object)
                && !fields.contains_key("additionalProperties")
            {
                fields.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
            fields.values_mut().for_each(close);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// A custom resource: the schema of its CRD, with the pruning that an API server does before it
/// validates.
pub struct Crd {
    pub group: String,
    pub version: String,
    pub plural: String,
    pub kind: String,
    structure: Value,
    schema: Schema,
}

impl Crd {
    /// Reads the manifest of a CRD with one version.
    pub fn read(file: &Path) -> Self {
        let text = std::fs::read_to_string(file)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let crd: Value = serde_saphyr::from_str(&text).unwrap();
        let of_crd = Schema::of_kind(
            "apis_apiextensions.k8s.io_v1",
            "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
        );
        assert_eq!(
            of_crd.errors(&crd),
            Vec::<String>::new(),
            "{}",
            file.display()
        );
        let text = |at: &str| {
            crd.pointer(at)
                .and_then(Value::as_str)
                .unwrap_or_else(|| panic!("{}: no {at}", file.display()))
                .to_owned()
        };
        let structure = crd
            .pointer("/spec/versions/0/schema/openAPIV3Schema")
            .unwrap()
            .clone();
        Self {
            group: text("/spec/group"),
            version: text("/spec/versions/0/name"),
            plural: text("/spec/names/plural"),
            kind: text("/spec/names/kind"),
            schema: Schema::new(&nullable(structure.clone())),
            structure,
        }
    }

    /// Drops what the schema does not know and returns the paths of it.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        let mut pruned = Vec::new();
        let mut root = self.structure.clone();
        // An API server knows these of every object.
        for (name, schema) in [
            ("apiVersion", json!({})),
            ("kind", json!({})),
            (
                "metadata",
                json!({ "x-kubernetes-preserve-unknown-fields": true }),
            ),
        ] {
            root["properties"][name] = schema;
        }
        prune(object, &root, "", &mut pruned);
        pruned
    }

    /// What is wrong with a pruned object.
    pub fn errors(&self, object: &Value) -> Vec<String> {
        self.schema.errors(object)
    }
}

/// `nullable` of OpenAPI 3.0, as a JSON schema says it.
fn nullable(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(fields) => {
            if fields.get("nullable") == Some(&Value::Bool(true)) {
                let kind = fields["type"].take();
                fields["type"] = json!([kind, "null"]);
            }
            for field in fields.values_mut() {
                *field = nullable(field.take());
            }
        }
        Value::Array(items) => {
            for item in items {
                *item = nullable(item.take());
            }
        }
        _ => {}
    }
    schema
}

fn prune(value: &mut Value, schema: &Value, at: &str, pruned: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let empty = Map::new();
            let known = schema
                .get("properties")
                .and_then(Value::as_object)
                .unwrap_or(&empty);
            let others = schema
                .get("additionalProperties")
                .filter(|others| others.is_object());
            let keeps =
                schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
            fields.retain(|name, value| {
                let path = format!("{at}.{name}");
                match known.get(name).or(others) {
                    Some(schema) => prune(value, schema, &path, pruned),
                    None if keeps => {}
                    None => {
                        pruned.push(path);
                        return false;
                    }
                }
                true
            });
        }
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else {
                return;
            };
            items
                .iter_mut()
                .for_each(|item| prune(item, schema, &format!("{at}[]"), pruned));
        }
        _ => {}
    }
}
