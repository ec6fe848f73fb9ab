//! Who may do what: the manifests' own Roles and RoleBindings, what the node authorizer gives to a
//! kubelet, and the administrator.

use super::identity::ADMIN_USER;
use serde_json::Value;
use std::path::Path;

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Action<'a> {
    pub verb: &'a str,
    pub group: &'a str,
    pub resource: &'a str,
    pub namespace: Option<&'a str>,
    pub name: Option<&'a str>,
}

pub struct Rbac {
    documents: Vec<Value>,
}

impl Rbac {
    /// The Roles and RoleBindings in one manifest; none of it where `granted` is false.
    pub fn read(file: &Path, granted: bool) -> Self {
        if !granted {
            return Self {
                documents: Vec::new(),
            };
        }
        let text = std::fs::read_to_string(file)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        Self {
            documents: serde_saphyr::from_multiple(&text).unwrap(),
        }
    }

    /// Whether `user` may do it.
    pub fn allows(&self, user: &str, action: Action<'_>) -> bool {
        if user == ADMIN_USER {
            return true;
        }
        if let Some(node) = user.strip_prefix("system:node:") {
            // The ClusterRole system:node, and the NodeRestriction admission plugin.
            let own = action.resource == "nodes"
                && action.name == Some(node)
                && ["get", "patch"].contains(&action.verb);
            return own || (action.resource == "events" && action.verb == "create");
        }
        let bound = self.documents.iter().filter(|binding| {
            binding["kind"] == "RoleBinding"
                && binding["metadata"]["namespace"].as_str() == action.namespace
                && names_user(&binding["subjects"], user)
        });
        bound
            .map(|binding| &binding["roleRef"]["name"])
            .any(|role| self.role_allows(role, action))
    }

    fn role_allows(&self, name: &Value, action: Action<'_>) -> bool {
        let is_role = |role: &&Value| {
            role["kind"] == "Role"
                && role["metadata"]["name"] == *name
                && role["metadata"]["namespace"].as_str() == action.namespace
        };
        let holds = |rule: &Value, field: &str, wanted: &str| {
            rule[field]
                .as_array()
                .is_some_and(|values| values.iter().any(|value| value == wanted || value == "*"))
        };
        self.documents
            .iter()
            .filter(is_role)
            .flat_map(|role| role["rules"].as_array().into_iter().flatten())
            .any(|rule| {
                holds(rule, "apiGroups", action.group)
                    && holds(rule, "resources", action.resource)
                    && holds(rule, "verbs", action.verb)
            })
    }
}

fn names_user(subjects: &Value, user: &str) -> bool {
    subjects.as_array().is_some_and(|subjects| {
        subjects
            .iter()
            .any(|subject| match subject["kind"].as_str() {
                Some("User") => subject["name"] == user,
                Some("ServiceAccount") => {
                    let name = |field: &str| subject[field].as_str().unwrap_or_default();
                    user == format!(
                        "system:serviceaccount:{}:{}",
                        name("namespace"),
                        name("name")
                    )
                }
                _ => false,
            })
    })
}
