//! What skewguard keeps on a node: the record of its first run, which has the boot image as it was before any rebase, and the verdicts.

use super::{FileError, Root};
use crate::verdict::{BootImage, Verdict};
use crate::version::ImageVersion;
use crate::{API_VERSION, text};
use serde::{Deserialize, Serialize};

/// The record of the first run.
pub const RECORD_PATH: &str = "/var/lib/skewguard/boot-image.json";

const KIND: &str = "BootImageRecord";
const MAX: u64 = 64 << 10;

/// The record of the first run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub struct Record {
    api_version: String,
    kind: String,
    /// The boot image's version; absent where it was unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The file that named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The `ostree=` kernel argument of the first run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ostree: Option<String>,
    /// os-release had `ID=rhel`, so RHEL minor 0 in the version is taken literally and is not CentOS Stream.
    #[serde(default)]
    pub(crate) rhel: bool,
}

impl Record {
    pub fn new(image: Option<&BootImage>, ostree: Option<&str>) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            version: image.map(|image| image.version.text.clone()),
            path: image.map(|image| image.path.clone()),
            ostree: ostree.map(text::printable),
            rhel: image.and_then(|image| image.version.rhel).is_some_and(|rhel| rhel.minor == Some(0)),
        }
    }

    /// The boot image; `None` where it was unknown.
    pub fn image(&self) -> Option<ImageVersion> {
        let version = self.version.as_deref().filter(|version| !version.is_empty()).map(ImageVersion::parse)?;
        Some(if self.rhel { version.on_rhel() } else { version })
    }

    /// Whether the first run was in another deployment than the one that `ostree=` names now.
    ///
    /// # Errors
    /// Only one of the two is known, because the kernel command line could not be read, then or now.
    pub(super) fn is_of_another_deployment(&self, ostree: Option<&str>) -> Result<bool, FileError> {
        match (self.ostree.as_deref(), ostree) {
            (Some(recorded), Some(now)) => Ok(recorded != text::printable(now)),
            (None, None) => Ok(false),
            _ => Err(FileError::content(
                RECORD_PATH,
                "whether the node was rebased since is not known: only one of the two boots has ostree=",
            )),
        }
    }

    /// Reads the record of an earlier run; `None` where there was none.
    ///
    /// # Errors
    /// It cannot be read or is not a record.
    pub fn load(root: &Root) -> Result<Option<Self>, FileError> {
        let record = root.read(RECORD_PATH, MAX)?.map(|bytes| serde_json::from_slice(&bytes)).transpose();
        record.map_err(|error| FileError::content(RECORD_PATH, format_args!("is no record of a first run: {error}")))
    }

    /// Writes the record, as a whole or not at all.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save(&self, root: &Root) -> Result<(), FileError> {
        root.write(RECORD_PATH, &json(RECORD_PATH, self)?, 0o644)
    }
}

/// This boot's verdict, for the report, for scripts and people.
pub const RUN_VERDICT_PATH: &str = "/run/skewguard/verdict.json";

/// The last verdict, of this boot or an earlier one.
pub const KEPT_VERDICT_PATH: &str = "/var/lib/skewguard/verdict.json";

/// Writes one of the verdict files, as a whole or not at all. Only a refusal is synced to disk: a node that goes on must not wait for the
/// disk.
///
/// # Errors
/// It cannot be written; the old file is untouched.
pub(crate) fn save_verdict(root: &Root, path: &str, verdict: &Verdict) -> Result<(), FileError> {
    let json = json(path, verdict)?;
    if verdict.blocks() { root.write(path, &json, 0o644) } else { root.write_soon(path, &json, 0o644) }
}

fn json(path: &str, value: &impl Serialize) -> Result<Vec<u8>, FileError> {
    let mut json = serde_json::to_vec_pretty(value).map_err(|error| FileError::content(path, error))?;
    json.push(b'\n');
    Ok(json)
}
