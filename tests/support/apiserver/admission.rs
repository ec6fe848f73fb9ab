//! ValidatingAdmissionPolicies, evaluated as an API server does.

use cel::extractors::{Arguments, This};
use cel::{Context, Program, Value as CelValue};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// One policy, bound everywhere with the action Deny.
struct Policy {
    name: String,
    groups: Vec<String>,
    resource: String,
    namespaces: Value,
    /// `failurePolicy: Fail`.
    fails: bool,
    operations: Vec<String>,
    conditions: Vec<Program>,
    /// With what each says where it does not hold.
    validations: Vec<(Program, String)>,
}

/// A request as a policy sees it.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub operation: &'a str,
    pub user: &'a str,
    pub namespace: &'a str,
    pub object: &'a Value,
    /// The object before an update.
    pub old: Option<&'a Value>,
}

impl Request<'_> {
    /// The groups that authenticators add.
    fn groups(&self) -> &'static [&'static str] {
        match self.user {
            node if node.starts_with("system:node:") => &["system:nodes", "system:authenticated"],
            account if account.starts_with("system:serviceaccount:") => {
                &["system:serviceaccounts", "system:authenticated"]
            }
            _ => &["system:masters", "system:authenticated"],
        }
    }
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
            let bound = json!({ "policyName": name, "validationActions": ["Deny"] });
            assert!(
                of_kind("ValidatingAdmissionPolicyBinding").any(|binding| binding["spec"] == bound),
                "{name} is bound"
            );
            let rule = &spec["matchConstraints"]["resourceRules"][0];
            Policy {
                groups: list(&rule["apiGroups"]).iter().map(text).collect(),
                namespaces: spec["matchConstraints"]["namespaceSelector"].clone(),
                fails: spec["failurePolicy"] == "Fail",
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

    /// What the policies for this resource say against a request.
    pub fn denials(&self, group: &str, resource: &str, request: Request<'_>) -> Vec<String> {
        let matching = |policy: &&Policy| {
            policy.groups.iter().any(|listed| listed == group)
                && policy.resource == resource
                && policy
                    .operations
                    .iter()
                    .any(|listed| listed == request.operation)
                && policy.selects(request.namespace)
        };
        self.0
            .iter()
            .filter(matching)
            .flat_map(|policy| policy.denials(request))
            .collect()
    }

    /// What one policy says, whatever it is for.
    pub fn denials_of(&self, policy: &str, request: Request<'_>) -> Vec<String> {
        let policy = self
            .0
            .iter()
            .find(|known| known.name == policy)
            .unwrap_or_else(|| panic!("there is no policy {policy}"));
        policy.denials(request)
    }
}

impl Policy {
    /// The selectors that the manifests have.
    fn selects(&self, namespace: &str) -> bool {
        let selector = &self.namespaces;
        if *selector == json!({}) {
            return true;
        }
        if let Some(name) = selector["matchLabels"]["kubernetes.io/metadata.name"].as_str() {
            return name == namespace;
        }
        let expression = &selector["matchExpressions"][0];
        assert_eq!(
            (&expression["key"], &expression["operator"]),
            (&json!("kubernetes.io/metadata.name"), &json!("NotIn")),
            "{selector}"
        );
        !list(&expression["values"]).contains(&json!(namespace))
    }

    /// An error counts as a no, or with `failurePolicy: Ignore` as a yes.
    fn denials(&self, asked: Request<'_>) -> Vec<String> {
        let request = json!({ "operation": asked.operation, "namespace": asked.namespace,
            "userInfo": { "username": asked.user, "groups": asked.groups() } });
        let variables = [
            ("request", &request),
            ("object", asked.object),
            ("oldObject", asked.old.unwrap_or(&Value::Null)),
        ];
        for condition in &self.conditions {
            match holds(condition, &variables) {
                Ok(true) => {}
                Err(error) if self.fails => return vec![error],
                _ => return Vec::new(),
            }
        }
        let failed = self.validations.iter().filter(|(validation, _)| {
            let answer = holds(validation, &variables);
            answer == Ok(false) || (answer.is_err() && self.fails)
        });
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
    context.add_function("replace", replace).unwrap();
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

/// `replace` of cel-go's string library.
fn replace(This(text): This<Arc<String>>, from: Arc<String>, to: Arc<String>) -> String {
    text.replace(from.as_str(), &to)
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
