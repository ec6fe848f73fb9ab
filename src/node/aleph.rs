//! The aleph file: which image the node was installed from.

use super::{FileError, Root};
use crate::version::ImageVersion;
use serde::Deserialize;

/// Where alephs are, in the order they are looked at: coreos-assembler and osbuild, osbuild, bootc. Some are symlinks to others.
pub(super) const PATHS: [&str; 3] = ["/sysroot/.coreos-aleph-version.json", "/sysroot/.aleph-version.json", "/sysroot/.bootc-aleph.json"];

/// Real ones have at most a few KiB; labels of a container image may add some.
const MAX: u64 = 1 << 20;

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Aleph {
    #[serde(default)]
    version: Option<String>,
    /// Before December 2023.
    #[serde(default)]
    build: Option<String>,
}

/// Reads an aleph of any shape; `None` where it names no version (bootc writes null when it does not know).
///
/// # Errors
/// Not a JSON object, or the version is not text.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<ImageVersion>, serde_json::Error> {
    let aleph: Aleph = serde_json::from_slice(bytes)?;
    let names = [aleph.version, aleph.build];
    let name = names.into_iter().flatten().find(|name| !name.trim().is_empty());
    Ok(name.map(|name| ImageVersion::parse(name.trim())))
}

/// What a single aleph file says.
pub(super) fn load(root: &Root, path: &str) -> Result<Option<ImageVersion>, FileError> {
    let Some(bytes) = root.read(path, MAX)? else { return Ok(None) };
    let version = parse(&bytes).map_err(|error| FileError::content(path, format_args!("is no aleph: {error}")))?;
    match version {
        Some(version) => Ok(Some(version)),
        None => Err(FileError::content(path, "names no version")),
    }
}
