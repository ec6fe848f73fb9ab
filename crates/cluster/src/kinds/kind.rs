//! A kind of objects that are read of a cluster: how it is asked for and where, what is missing without
//! it, and what is kept of it (pure).

use crate::cluster::Purpose;
use serde::Deserialize;

/// A kind of objects.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Kind {
    /// The API group; empty for the core.
    pub group: &'static str,
    /// `None` for the one that the server prefers.
    pub version: Option<&'static str>,
    /// The plural; empty for what is not asked for.
    pub plural: &'static str,
    pub kind: &'static str,
    pub which: Which,
    /// Whom it is read for.
    pub purpose: Purpose,
    /// Sets of machines are missing where it cannot be read.
    pub hides_sets: bool,
    /// It is a set, or a pool, that makes nodes.
    pub(super) is_set: bool,
    /// Objects on a server have `spec` and `status`: their controllers write it at once.
    pub is_complete: bool,
}

/// The objects of a kind that are read.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Which {
    #[default]
    All,
    /// The one of this name, in a namespace if the kind has them.
    One(Option<&'static str>, &'static str),
    /// Those of these names, where the kind has no namespaces.
    Named(Vec<&'static str>),
    /// Those in these namespaces.
    In(Vec<&'static str>),
    /// The pods of a namespace with this label, and the log of this container.
    Logs(&'static str, &'static str, &'static str),
}

impl Kind {
    /// Tells whether the cluster is asked for it.
    pub fn is_asked_for(&self) -> bool {
        !self.plural.is_empty()
    }

    /// Name for oc and RBAC: `machines.machine.openshift.io`.
    pub fn name(&self) -> String {
        if self.group.is_empty() {
            self.plural.to_owned()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// The `apiVersion` of its objects.
    pub fn api_version(&self, version: &str) -> String {
        match self.group {
            "" => version.to_owned(),
            group => format!("{group}/{version}"),
        }
    }

    /// The path of its objects, or those of a namespace, on an API server.
    pub fn path(&self, version: &str, namespace: Option<&str>) -> String {
        let base = if self.group.is_empty() { "api" } else { "apis" };
        let namespace = namespace.map_or_else(String::new, |name| format!("/namespaces/{name}"));
        format!(
            "/{base}/{}{namespace}/{}",
            self.api_version(version),
            self.plural
        )
    }

    /// The requests that read it.
    pub fn requests(&self, version: &str) -> Vec<Request> {
        let name = self.name();
        let request = |name: String, path: String, namespace: Option<&str>| Request {
            name,
            path,
            api_version: self.api_version(version),
            kind: self.kind,
            namespace: namespace.map(str::to_owned),
            is_list: true,
        };
        let of_namespace = |namespace: &str| {
            let path = self.path(version, Some(namespace));
            request(format!("{name} in {namespace}"), path, Some(namespace))
        };
        match &self.which {
            Which::All => vec![request(name, self.path(version, None), None)],
            Which::Named(names) => {
                let one = |one: &&str| Request {
                    is_list: false,
                    ..request(
                        name.clone(),
                        format!("{}/{one}", self.path(version, None)),
                        None,
                    )
                };
                names.iter().map(one).collect()
            }
            Which::In(namespaces) => namespaces.iter().map(|all| of_namespace(all)).collect(),
            Which::Logs(namespace, ..) => vec![of_namespace(namespace)],
            Which::One(namespace, one) => {
                let path = format!("{}/{one}", self.path(version, *namespace));
                let name = match self.purpose {
                    Purpose::Sets => name,
                    Purpose::Nodes => format!("{name} {one}"),
                };
                vec![Request {
                    is_list: false,
                    ..request(name, path, *namespace)
                }]
            }
        }
    }

    /// The namespaces whose objects alone are read.
    pub(super) fn namespaces(&self) -> Vec<&'static str> {
        match &self.which {
            Which::All | Which::One(None, _) | Which::Named(_) => Vec::new(),
            Which::One(Some(namespace), _) | Which::Logs(namespace, ..) => vec![namespace],
            Which::In(namespaces) => namespaces.clone(),
        }
    }
}

/// A list, or one object, of an API server.
#[derive(Debug, Clone)]
pub struct Request {
    /// As oc and RBAC name it.
    pub name: String,
    pub path: String,
    pub api_version: String,
    pub kind: &'static str,
    pub namespace: Option<String>,
    pub is_list: bool,
}
