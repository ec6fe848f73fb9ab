//! What a message says beside the verdict, as far as it is known in this boot.
//!
//! The report learns it, and leaves it here: whoever writes or prints the message afterwards says the same.

use super::message::Context;
use crate::node::{FileError, Root};
use crate::verdict::{ClusterKnows, Verdict};
use crate::{FETCHED_PATH, IMAGE_PATH, PACKED_PATHS, UNPACKED_PATH};
use serde::{Deserialize, Serialize};

/// Where it is kept.
const KNOWN_PATH: &str = "/run/skewguard/console.json";

/// Largest such file that is read, in bytes.
const KNOWN_MAX: u64 = 16 * 1024;

#[derive(Serialize, Deserialize)]
struct Known {
    /// The sentence of the verdict that it is known about.
    about: String,
    address: Option<String>,
    cluster: ClusterKnows,
}

impl Context {
    /// What is known about this verdict. What cannot be read is not known.
    pub fn load(root: &Root, verdict: &Verdict) -> Self {
        let bytes = root.read(KNOWN_PATH, KNOWN_MAX).ok().flatten().unwrap_or_default();
        let known = serde_json::from_slice(&bytes).ok().filter(|known: &Known| known.about == verdict.message);
        let program = installed(root).to_owned();
        match known {
            Some(Known { address, cluster, .. }) => Self { address, program, cluster },
            None => Self { program, ..Self::default() },
        }
    }

    /// Leaves it for the rest of this boot.
    ///
    /// # Errors
    /// The kernel says no.
    pub(super) fn save(&self, root: &Root, verdict: &Verdict) -> Result<(), FileError> {
        let known = Known { about: verdict.message.clone(), address: self.address.clone(), cluster: self.cluster.clone() };
        let bytes = serde_json::to_vec(&known).map_err(|error| FileError::content(KNOWN_PATH, error))?;
        root.write_soon(KNOWN_PATH, &bytes, 0o644)
    }
}

/// The program that the units of this node run. Those of a MachineConfig and of a pointer shadow the boot image's.
fn installed(root: &Root) -> &'static str {
    let there = |path: &str| root.exists(path).unwrap_or(false);
    let program = [UNPACKED_PATH, FETCHED_PATH, IMAGE_PATH].into_iter().find(|path| there(path));
    // Of a node that is not running, nothing is in /run.
    program.unwrap_or_else(|| if PACKED_PATHS.iter().any(|path| there(path)) { UNPACKED_PATH } else { IMAGE_PATH })
}
