//! The fields of an object, read by their path (pure).
//!
//! Paths are RFC 6901's: `~1` stands for a slash in a name. A field of another type than in its API
//! is absent here. All text is made printable and bounded where it enters.

use crate::secrets::without_secrets;
use crate::text;
use serde_json::Value;
use sha2::{Digest, Sha256};

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

/// The first text at these paths.
pub fn first_at(object: &Value, paths: &[&str]) -> Option<String> {
    paths.iter().find_map(|path| text_at(object, path))
}

/// The value at a path with dots.
pub fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    object.pointer(&format!("/{}", path.replace('.', "/")))
}

/// A text, printable, bounded, and without secrets.
pub fn shown(text: &str) -> String {
    text::printable(&without_secrets(text))
}

/// The lengths of MD5, SHA-256 and SHA-512 in hexadecimal: another checksum is a URL, or says nothing.
const CHECKSUMS: [usize; 3] = [32, 64, 128];

/// A digest of what tells an image from others of the same shown name: its checksum, else its reference, where not
/// all of that is shown.
pub fn identity(reference: &str, checksum: Option<&str>) -> Option<u64> {
    let is_hex = |text: &&str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let checksum = checksum.filter(|text| CHECKSUMS.contains(&text.len()));
    let hidden = (shown(reference) != reference).then_some(reference);
    let all = Sha256::digest(checksum.filter(is_hex).or(hidden)?);
    let first = all.iter().take(8);
    Some(first.fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

/// The list at a path; where there is none, an empty one.
pub fn list_at<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    object
        .pointer(path)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}
