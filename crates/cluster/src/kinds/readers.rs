//! Readers of fields that are not kept as they stand in an object (pure).

use super::image::pool;
use super::metadata::Reference;
use crate::secrets::without_secrets;
use crate::text::{printable, printable_up_to};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::sync::Arc;

/// A field that is there, be it empty.
pub(super) fn is_present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(!Value::deserialize(deserializer)?.is_null())
}

/// The label for a node's operating system, where that is Windows.
pub(super) fn is_windows<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let os = String::deserialize(deserializer)?;
    Ok(os.eq_ignore_ascii_case("windows"))
}

/// Go's name of an architecture, as the stream metadata has it.
pub(super) fn architecture<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    Ok(name.as_deref().map(architecture_name))
}

/// From Go's name of an architecture to that of the stream metadata.
pub(super) fn architecture_name(arch: &str) -> String {
    match arch {
        "amd64" => "x86_64".to_owned(),
        "arm64" => "aarch64".to_owned(),
        other => printable(other),
    }
}

/// The pool of user data of this name.
pub(super) fn pool_of<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let user_data = String::deserialize(deserializer)?;
    Ok(pool(&user_data))
}

/// A state in a few words.
pub(super) fn state<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.map(|text| printable_up_to(&without_secrets(&text), 60)))
}

/// Kind and name of each object that is referred to.
pub(super) fn references<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<(String, String)>, D::Error> {
    let all = Vec::<Reference>::deserialize(deserializer)?;
    Ok(all.iter().filter_map(Reference::kind_and_name).collect())
}

/// The name of each object that is referred to.
pub(super) fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let all = Vec::<Reference>::deserialize(deserializer)?;
    Ok(all.into_iter().filter_map(|named| named.name).collect())
}

/// What others may share.
pub(super) fn shared<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Arc<T>, D::Error> {
    T::deserialize(deserializer).map(Arc::new)
}
