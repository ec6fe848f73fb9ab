//! Kinds and objects that could not be read, and why.

use crate::kinds::metadata::Metadata;
use crate::text::printable;
use crate::trouble::{Help, Trouble};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// At most this many objects that could not be understood are named.
pub const MAX_NOT_UNDERSTOOD: usize = 100;

/// Objects that could not be read, and why.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unread {
    /// The resource or the file.
    pub what: String,
    pub why: String,
    /// Sets of machines may be missing from the audit because of it.
    pub hides_sets: bool,
    /// It was read, and is of a kind that makes nodes and is not understood.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub makes_nodes: bool,
    /// It is user data, whose Ignition version the audit estimates.
    #[serde(skip)]
    pub is_estimated: bool,
    #[serde(skip)]
    pub help: Option<Help>,
}

impl Unread {
    /// Something that hides no sets.
    pub fn new(what: impl Into<String>, why: impl Into<Trouble>) -> Self {
        let Trouble { what: why, help } = why.into();
        Self {
            what: what.into(),
            why,
            hides_sets: false,
            makes_nodes: false,
            is_estimated: false,
            help,
        }
    }

    /// An object of a kind.
    pub fn of(kind: &str, object: &Value, why: impl Into<Trouble>) -> Self {
        let what = format!("{} {}", printable(kind), Metadata::of(object).full_name());
        Self::new(what.trim_end(), why)
    }

    /// The same, where sets may be missing because of it.
    #[must_use]
    pub fn hiding_sets(self, hides_sets: bool) -> Self {
        Self { hides_sets, ..self }
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.makes_nodes {
            "not understood"
        } else {
            "not read"
        };
        write!(f, "{word}: {}: {}", self.what, self.why)
    }
}
