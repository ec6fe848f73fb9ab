//! Fields of another type than in their API (pure). The rest of their object is read.

use serde_json::Value;

/// Fields that hold what the audit reads, and their type in every kind that has them.
const SHAPES: [(&str, &str); 21] = [
    ("/metadata/annotations", "an object"),
    ("/metadata/labels", "an object"),
    ("/metadata/ownerReferences", "a list"),
    ("/report", "an object"),
    ("/spec", "an object"),
    ("/spec/managedBootImages/machineManagers", "a list"),
    ("/spec/platform", "an object"),
    ("/spec/providerSpec/value", "an object"),
    ("/spec/replicas", "a number"),
    ("/spec/template", "an object"),
    (
        "/spec/template/machines_v1beta1_machine_openshift_io/spec/providerSpec/value",
        "an object",
    ),
    ("/spec/template/spec", "an object"),
    ("/spec/template/spec/infrastructureRef", "an object"),
    ("/spec/template/spec/providerSpec/value", "an object"),
    ("/status", "an object"),
    ("/status/addresses", "a list"),
    ("/status/conditions", "a list"),
    ("/status/history", "a list"),
    ("/status/nodeInfo", "an object"),
    ("/status/nodeRef", "an object"),
    ("/status/provisioning", "an object"),
];

/// Words for the fields of an object that are of another type; `None` where there are none.
pub fn fields(object: &Value) -> Option<String> {
    let unfit = SHAPES.iter().filter(|(path, kind)| {
        object
            .pointer(path)
            .is_some_and(|value| !value.is_null() && type_of(value) != *kind)
    });
    let named = unfit.map(|(path, kind)| {
        let field = path.trim_start_matches('/').replace('/', ".");
        format!("{field} is not {kind}")
    });
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| format!("{}: what it says is not understood", named.join(", ")))
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Object(_) => "an object",
        Value::Array(_) => "a list",
        Value::Number(_) => "a number",
        _ => "other",
    }
}
