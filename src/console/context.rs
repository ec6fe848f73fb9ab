//! The rest of a message, beside the verdict: the node's address, and whether the cluster knows.
//!
//! The report learns this and keeps it in a file, so that a message that is written or printed
//! later on this boot says the same.

use crate::clock::time;
use crate::json;
use crate::node::{FileError, Root, boot_time};
use crate::verdict::{ClusterKnows, Verdict};
use crate::{FETCHED_PATH, IMAGE_PATH, PACKED_PATHS, UNPACKED_PATH};
use serde::{Deserialize, Serialize};

/// The file that keeps it, together with the message of the verdict that it belongs to.
const KNOWN_PATH: &str = "/run/skewguard/console.json";

/// 1 in a guest under Secure Execution (Linux, `arch/s390/kernel/uv.c`).
const SECURE_GUEST: &str = "/sys/firmware/uv/prot_virt_guest";

/// Largest such file that is read, in bytes.
const KNOWN_MAX: u64 = 16 * 1024;

/// The rest of a message, beside the verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// The node's address for `ssh`. While it is unknown the login prompt has agetty's escapes `\4`
    /// and `\6` instead.
    pub address: Option<String>,
    /// The full path of this program on the node.
    #[serde(skip)]
    pub program: String,
    /// When this boot began. A message outlives it where nothing of ours runs on the next.
    #[serde(skip)]
    pub boot: Option<String>,
    /// This is a guest under Secure Execution (IBM Z): its console is the host's, and nothing that
    /// identifies the node goes there.
    #[serde(skip)]
    pub is_secret: bool,
    /// The cluster's knowledge of the verdict.
    pub cluster: ClusterKnows,
}

impl Default for Context {
    fn default() -> Self {
        Self {
            address: None,
            program: IMAGE_PATH.to_owned(),
            boot: None,
            is_secret: false,
            cluster: ClusterKnows::NotYet,
        }
    }
}

impl Context {
    /// Reads what is known about this verdict. What cannot be read is unknown.
    pub(crate) fn load(root: &Root, verdict: &Verdict) -> Self {
        let bytes = root
            .read(KNOWN_PATH, KNOWN_MAX)
            .ok()
            .flatten()
            .unwrap_or_default();
        let known = json::read::<(String, Self)>(&bytes)
            .ok()
            .filter(|(about, _)| *about == verdict.message);
        Self {
            program: installed(root).to_owned(),
            is_secret: matches!(root.read(SECURE_GUEST, 8), Ok(Some(text)) if text.starts_with(b"1")),
            // To the minute.
            boot: boot_time(root).map(|at| format!("{:.16}Z", time(at))),
            ..known.map_or_else(Self::default, |(_, known)| known)
        }
    }

    /// Keeps it for the rest of this boot.
    pub(super) fn save(&self, root: &Root, verdict: &Verdict) -> Result<(), FileError> {
        let bytes = serde_json::to_vec(&(&verdict.message, self))
            .map_err(|error| FileError::content(KNOWN_PATH, error))?;
        root.write_soon(KNOWN_PATH, &bytes, 0o644)
    }
}

/// The program that the units of this node run. Units from a MachineConfig or a pointer replace
/// those of the boot image.
fn installed(root: &Root) -> &'static str {
    let there = |path: &&str| root.exists(path).unwrap_or(false);
    [UNPACKED_PATH, FETCHED_PATH, IMAGE_PATH]
        .into_iter()
        .find(there)
        .unwrap_or_else(|| {
            // The root tree of a node that is not running has an empty /run.
            if PACKED_PATHS.iter().any(there) {
                UNPACKED_PATH
            } else {
                IMAGE_PATH
            }
        })
}
