//! Kinds and objects that could not be read, and why.

use schemars::JsonSchema;
use serde::Serialize;

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
}
