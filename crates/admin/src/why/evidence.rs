//! Evidence (pure).

use schemars::JsonSchema;
use serde::Serialize;

/// A statement, and its source.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) struct Evidence {
    /// The object and its field, or the log.
    pub(crate) source: String,
    /// RFC 3339 in UTC; absent where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) time: Option<String>,
    pub(crate) text: String,
}
