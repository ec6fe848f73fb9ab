//! ValidatingAdmissionPolicies, evaluated as an API server does.

use cel::extractors::{Arguments, This};
use cel::{Context, Program, Value as CelValue};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// One policy, bound everywhere with the action Deny.
struct Policy {
    name: String,
    group: String,
    resource: String,
    operations: Vec<String>,
    conditions: Vec<Program>,
    /// With what each says where it does not hold.
    validations: Vec<(Program, String)>,
}

/// The policies of a cluster.
#[derive(Default)]
pub struct Admission(Vec<Policy>);

fn text(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("{value}: no text"))
        .to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

impl Admission {
    /// The policies in the manifests of a directory; none where it is not there.
    pub fn read(dir: &Path) -> Self {
        let mut documents = Vec::new();
        for entry in std::fs::read_dir(dir).into_iter().flatten() {
            let path = entry.unwrap().path();
            let manifest = std::fs::read_to_string(&path).unwrap();
            documents.extend(
                serde_saphyr::from_multiple::<Value>(&manifest)
                    .unwrap_or_else(|error| panic!("{}: {error}", path.display())),
            );
        }
        Self::new(&documents)
    }

    /// The policies among these objects.
    pub fn new(documents: &[Value]) -> Self {
        let of_kind = |kind: &'static str| {
            documents
                .iter()
                .filter(move |document| document["kind"] == kind)
        };
        let compile = |expression: &Value| {
            Program::compile(expression.as_str().unwrap())
                .unwrap_or_else(|error| panic!("{expression}: {error}"))
        };
        let policies = of_kind("ValidatingAdmissionPolicy").map(|policy| {
            let (name, spec) = (text(&policy["metadata"]["name"]), &policy["spec"]);
            assert_eq!(spec["failurePolicy"], "Fail", "{name}");
            let bound = json!({ "policyName": name, "validationActions": ["Deny"] });
            assert!(
                of_kind("ValidatingAdmissionPolicyBinding").any(|binding| binding["spec"] == bound),
                "{name} is bound"
            );
            let rule = &spec["matchConstraints"]["resourceRules"][0];
            Policy {
                group: text(&rule["apiGroups"][0]),
                resource: text(&rule["resources"][0]),
                operations: list(&rule["operations"]).iter().map(text).collect(),
                conditions: list(&spec["matchConditions"])
                    .iter()
                    .map(|condition| compile(&condition["expression"]))
                    .collect(),
                validations: list(&spec["validations"])
                    .iter()
                    .map(|validation| {
                        (
                            compile(&validation["expression"]),
                            text(&validation["message"]),
                        )
                    })
                    .collect(),
                name,
            }
        });
        Self(policies.collect())
    }

    /// What the policies for this resource say against a request; an error counts as a no
    /// (`failurePolicy: Fail`).
    pub fn denials(
        &self,
        group: &str,
        resource: &str,
        operation: &str,
        user: &str,
        object: &Value,
    ) -> Vec<String> {
        let matching = |policy: &&Policy| {
            policy.group == group
                && policy.resource == resource
                && policy.operations.iter().any(|listed| listed == operation)
        };
        self.0
            .iter()
            .filter(matching)
            .flat_map(|policy| policy.denials(operation, user, object))
            .collect()
    }

    /// What one policy says, whatever it is for.
    pub fn denials_of(
        &self,
        policy: &str,
        operation: &str,
        user: &str,
        object: &Value,
    ) -> Vec<String> {
        let policy = self
            .0
            .iter()
            .find(|known| known.name == policy)
            .unwrap_or_else(|| panic!("there is no policy {policy}"));
        policy.denials(operation, user, object)
    }
}

impl Policy {
    fn denials(&self, operation: &str, user: &str, object: &Value) -> Vec<String> {
        let request = json!({ "operation": operation, "userInfo": { "username": user } });
        let variables = [("request", &request), ("object", object)];
        if !self
            .conditions
            .iter()
            .all(|condition| holds(condition, &variables) == Ok(true))
        {
            return Vec::new();
        }
        let failed = self
            .validations
            .iter()
            .filter(|(validation, _)| holds(validation, &variables) != Ok(true));
        failed.map(|(_, message)| message.clone()).collect()
    }
}

/// Evaluates a rule.
pub fn holds(program: &Program, variables: &[(&str, &Value)]) -> Result<bool, String> {
    let mut context = Context::default();
    for (name, value) in variables {
        context.add_variable(*name, *value).unwrap();
    }
    context.add_function("format", format).unwrap();
    match program.execute(&context) {
        Ok(CelValue::Bool(value)) => Ok(value),
        Ok(other) => Err(format!("{other:?} is no bool")),
        Err(error) => Err(error.to_string()),
    }
}

/// `'%s'.format([value])` of cel-go's string library (Kubernetes has it from 1.29 on); no other
/// form of it is used.
fn format(This(pattern): This<Arc<String>>, Arguments(values): Arguments) -> String {
    assert_eq!(*pattern, "%s");
    match values.first() {
        Some(CelValue::List(values)) => values.iter().map(written).collect(),
        other => panic!("{other:?}"),
    }
}

fn written(value: &CelValue) -> String {
    match value {
        CelValue::Map(map) => {
            let entries: Vec<String> = map
                .map
                .iter()
                .map(|(key, value)| format!("{:?}: {}", key.to_string(), written(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        CelValue::List(values) => format!(
            "[{}]",
            values.iter().map(written).collect::<Vec<_>>().join(", ")
        ),
        CelValue::String(text) => format!("{text:?}"),
        CelValue::Int(number) => number.to_string(),
        CelValue::UInt(number) => number.to_string(),
        CelValue::Bool(value) => value.to_string(),
        other => format!("{other:?}"),
    }
}
