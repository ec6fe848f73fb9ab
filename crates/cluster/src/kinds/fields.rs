//! The fields of an object, read by their path (pure).
//!
//! Paths are RFC 6901's: `~1` stands for a slash in a name. A field of another type than in its API
//! is absent here. All text is made printable and bounded where it enters.

use crate::secrets::without_secrets;
use crate::text;
use serde_json::Value;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The text at a path, as it is; an empty one is none.
pub fn str_at<'a>(object: &'a Value, path: &str) -> Option<&'a str> {
    object
        .pointer(path)?
        .as_str()
        .filter(|text| !text.is_empty())
}

/// The text at a path, printable, bounded, and without secrets.
pub fn text_at(object: &Value, path: &str) -> Option<String> {
    str_at(object, path).map(shown)
}

/// A text, printable, bounded, and without secrets.
pub fn shown(text: &str) -> String {
    text::printable(&without_secrets(text))
}

/// A digest of a text of which not all is shown; `None` where all is.
pub fn digest_of_hidden(text: &str) -> Option<u64> {
    let is_shown = shown(text) == text;
    (!is_shown).then(|| {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        hasher.finish()
    })
}

/// The list at a path; where there is none, an empty one.
pub fn list_at<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    object
        .pointer(path)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}
