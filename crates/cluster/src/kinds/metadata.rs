//! Metadata and conditions, which objects of all kinds have (pure).

use crate::lenient::{self, Raw, message};
use crate::moment::{Moment, time};
use crate::names::full_name;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The most conditions of an object that are kept.
const MAX_CONDITIONS: usize = 50;

/// Metadata that is kept of every object.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Metadata {
    pub namespace: String,
    pub name: String,
    #[serde(rename = "creationTimestamp", deserialize_with = "time")]
    pub created: Option<Moment>,
}

impl Metadata {
    pub fn of(object: &Value) -> Self {
        lenient::known(object.get("metadata").unwrap_or(&Value::Null))
    }

    pub fn full_name(&self) -> String {
        full_name(&self.namespace, &self.name)
    }
}

/// What tells an object from others, and a list.
#[derive(Default, Deserialize)]
pub struct Identity {
    pub api_version: Raw<String>,
    pub kind: Raw<String>,
    pub metadata: Metadata,
    #[serde(rename = "metadata.uid")]
    pub uid: String,
    #[serde(rename = "metadata.selfLink")]
    pub link: String,
    /// Of a list: what the next page is asked for with.
    #[serde(rename = "metadata.continue")]
    pub next: Raw<String>,
}

/// An object that another one names.
#[derive(Debug, Default, Deserialize)]
pub struct Reference {
    pub kind: Option<String>,
    pub name: Option<String>,
    pub namespace: Option<String>,
    pub uid: Option<String>,
}

impl Reference {
    pub fn kind_and_name(&self) -> Option<(String, String)> {
        self.kind.clone().zip(self.name.clone())
    }
}

/// A condition of an object.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Condition {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    #[serde(deserialize_with = "message")]
    pub reason: String,
    #[serde(deserialize_with = "message")]
    pub message: String,
    #[serde(rename = "lastTransitionTime", deserialize_with = "time")]
    transition: Option<Moment>,
    /// When its writer last looked.
    #[serde(rename = "lastHeartbeatTime", deserialize_with = "time")]
    pub seen: Option<Moment>,
}

impl Condition {
    /// Since when it has its status.
    pub fn since(&self) -> Option<Moment> {
        self.transition
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
///
/// # Errors
/// They are no list of conditions.
pub fn conditions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Condition>, D::Error> {
    let mut all = Vec::deserialize(deserializer)?;
    all.truncate(MAX_CONDITIONS);
    Ok(all)
}
