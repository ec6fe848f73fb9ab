//! Metadata and conditions, which objects of all kinds have (pure).

use crate::lenient::{self, message};
use crate::moment::{Moment, Time};
use crate::names::full_name;
use crate::secrets::without_secrets;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::collections::BTreeMap;

/// The most conditions of an object that are kept.
const MAX_CONDITIONS: usize = 50;

/// Metadata that is kept of every object.
#[derive(Debug, Clone, Default)]
pub struct Metadata {
    pub namespace: String,
    pub name: String,
    pub created: Option<Moment>,
}

impl Metadata {
    pub fn of(object: &Value) -> Self {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Object {
            metadata: Head,
        }

        #[derive(Default, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        struct Head {
            namespace: String,
            name: String,
            creation_timestamp: Time,
        }

        let Object { metadata } = lenient::known(object);
        Self {
            namespace: metadata.namespace,
            name: metadata.name,
            created: metadata.creation_timestamp.0,
        }
    }

    pub fn full_name(&self) -> String {
        full_name(&self.namespace, &self.name)
    }
}

/// Metadata of an object, as the API has it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ObjectMeta {
    namespace: String,
    name: String,
    creation_timestamp: Time,
    deletion_timestamp: Option<IgnoredAny>,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    owner_references: Vec<Reference>,
}

/// An object as the API has it, of the fields that are needed.
#[derive(Debug, Default, Deserialize)]
#[serde(
    default,
    bound = "S: Default + Deserialize<'de>, T: Default + Deserialize<'de>"
)]
pub struct Object<S, T> {
    pub metadata: ObjectMeta,
    pub spec: S,
    pub status: T,
}

/// An object that another one names.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Reference {
    pub kind: Option<String>,
    pub name: Option<String>,
    pub namespace: Option<String>,
}

impl ObjectMeta {
    pub fn kept(&self) -> Metadata {
        Metadata {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            created: self.creation_timestamp.0,
        }
    }

    pub fn is_deleting(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// The kind and the name of each owner.
    pub fn owners(&self) -> Vec<(String, String)> {
        let all = self.owner_references.iter();
        all.filter_map(Reference::kind_and_name).collect()
    }

    pub fn label(&self, name: &str) -> Option<String> {
        said(&self.labels, name)
    }

    pub fn annotation(&self, name: &str) -> Option<String> {
        said(&self.annotations, name).map(|text| without_secrets(&text))
    }
}

impl Reference {
    pub fn kind_and_name(&self) -> Option<(String, String)> {
        self.kind.clone().zip(self.name.clone())
    }
}

fn said(all: &BTreeMap<String, String>, name: &str) -> Option<String> {
    all.get(name).filter(|text| !text.is_empty()).cloned()
}

/// A condition of an object.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Condition {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    #[serde(deserialize_with = "message")]
    pub reason: String,
    #[serde(deserialize_with = "message")]
    pub message: String,
    #[serde(rename = "lastTransitionTime")]
    transition: Time,
    #[serde(rename = "lastHeartbeatTime")]
    heartbeat: Time,
}

impl Condition {
    /// Since when it has its status.
    pub fn since(&self) -> Option<Moment> {
        self.transition.0
    }

    /// When its writer last looked.
    pub fn seen(&self) -> Option<Moment> {
        self.heartbeat.0
    }

    pub fn is_true(&self) -> bool {
        self.status == "True"
    }

    /// `Reason: message`, as far as it has them.
    pub fn says(&self) -> String {
        match (self.reason.as_str(), self.message.as_str()) {
            ("", "") => format!("{} is {}", self.kind, self.status),
            ("", message) => message.to_owned(),
            (reason, "") => reason.to_owned(),
            (reason, message) => format!("{reason}: {message}"),
        }
    }
}

/// The condition of this type.
pub fn condition<'a>(all: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    all.iter().find(|condition| condition.kind == kind)
}

/// The first conditions of an object.
pub fn bounded(mut conditions: Vec<Condition>) -> Vec<Condition> {
    conditions.truncate(MAX_CONDITIONS);
    conditions
}

/// The conditions of an object of any kind.
pub fn conditions(object: &Value) -> Vec<Condition> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Object {
        status: Status,
    }

    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Status {
        conditions: Vec<Condition>,
    }

    let Object { status } = lenient::known(object);
    bounded(status.conditions)
}
