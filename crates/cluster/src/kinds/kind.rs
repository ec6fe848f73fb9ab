//! A kind of objects that are read of a cluster: how it is asked for and where, what is missing without
//! it, and what is kept of it (pure).

use serde::Deserialize;

/// Whom a cluster is read for: how much of its objects is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Purpose {
    /// The sets, and the images of their next nodes.
    #[default]
    Sets,
    /// These, and why a machine is no Node.
    Nodes,
}

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
    /// The namespaces whose objects alone are read.
    pub namespaces: Vec<&'static str>,
    /// The names of the objects that alone are read.
    pub names: Vec<&'static str>,
    /// Of pods: a label, and the container whose log is read.
    pub log: Option<(&'static str, &'static str)>,
    /// Whom it is read for.
    pub purpose: Purpose,
    /// Sets of machines are missing where it cannot be read.
    pub hides_sets: bool,
    /// It is a set, or a pool, that makes nodes.
    pub(super) is_set: bool,
    /// Objects on a server have `spec` and `status`: their controllers write it at once.
    pub is_complete: bool,
}

impl Kind {
    /// Tells whether the cluster is asked for it.
    pub fn is_asked_for(&self) -> bool {
        !self.plural.is_empty()
    }

    /// Tells whether every API server has it.
    pub fn is_everywhere(&self) -> bool {
        self.group.is_empty() && self.hides_sets
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

    /// The places that it is read in: `None` where these are all namespaces, or it has none.
    pub fn places(&self) -> Vec<Option<&'static str>> {
        match &*self.namespaces {
            [] => vec![None],
            all => all.iter().copied().map(Some).collect(),
        }
    }

    /// The requests that read it.
    pub fn requests(&self, version: &str) -> Vec<Request> {
        let of_place = |place: Option<&'static str>| {
            let request = |one: Option<&&str>| Request {
                name: match (one, place) {
                    (Some(_), _) if self.purpose == Purpose::Sets => self.name(),
                    (Some(one), _) => format!("{} {one}", self.name()),
                    (None, Some(place)) => format!("{} in {place}", self.name()),
                    (None, None) => self.name(),
                },
                path: match one {
                    Some(one) => format!("{}/{one}", self.path(version, place)),
                    None => self.path(version, place),
                },
                api_version: self.api_version(version),
                kind: self.kind,
                namespace: place.map(str::to_owned),
                is_list: one.is_none(),
            };
            match &*self.names {
                [] => vec![request(None)],
                names => names.iter().map(|one| request(Some(one))).collect(),
            }
        };
        self.places().into_iter().flat_map(of_place).collect()
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
