//! Aleph files: which image a node was installed from (pure).

use crate::text::printable;
use crate::version::ImageVersion;
use serde::Deserialize;

/// Largest aleph that is read, in bytes; real ones have a few KiB, or somewhat more with the labels
/// of a container image.
pub const MAX_BYTES: u64 = 1 << 20;

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Aleph {
    version: Option<String>,
    /// The field before December 2023.
    build: Option<String>,
}

/// The version that an aleph names.
///
/// # Errors
/// It is not a JSON object, or it names no version: bootc writes null where it does not know one.
/// The text goes on after the file's name, and is printable.
pub fn version(bytes: &[u8]) -> Result<ImageVersion, String> {
    let Aleph { version, build } = serde_json::from_slice(bytes)
        .map_err(|error| printable(&format!("is not an aleph: {error}")))?;
    [version, build]
        .into_iter()
        .flatten()
        .find(|version| !version.trim().is_empty())
        .map(|version| ImageVersion::parse(version.trim()))
        .ok_or_else(|| "names no version".to_owned())
}
