//! Everything that is read from a node, all of it under a [`Root`].

mod certificates;
mod cmdline;
mod deployment;
pub(crate) mod der;
mod digest;
mod error;
mod facts;
pub mod identity;
mod image;
mod installation;
mod joined;
mod lock;
mod machine;
mod machine_config;
pub mod policy;
mod rebase;
mod record;
mod root;
mod snapshot;
pub(crate) mod units;
pub mod user_file;
pub(crate) mod write;

pub(crate) use crate::OVERRIDE_PATH;
pub(crate) use digest::sha256_hex;
pub(crate) use error::is_denied;
pub use error::{FileError, Problem};
pub(crate) use facts::NODE_PATHS;
pub(crate) use facts::{Inputs, facts};
pub(crate) use installation::{BOOT_ID_PATH, boot_time, is_image_based, uptime};
pub(crate) use joined::Joined;
pub(crate) use lock::{LOCK_PATH, Lock};
pub(crate) use machine_config::ENCAPSULATED_BAK_PATH;
pub(crate) use machine_config::ENCAPSULATED_PATH;
#[cfg(test)]
pub(crate) use machine_config::SERVED_PATH;
pub(crate) use rebase::{LostRebase, is_renamed, lost_rebase};
pub(crate) use record::{
    KEPT_VERDICT_PATH, RECORD_PATH, RUN_VERDICT_PATH, Record, STATE_PATH, UNTOLD_VERDICT_PATH,
    is_unreadable, load_verdict, save_verdict,
};
pub use root::Root;
pub(crate) use snapshot::Node;

/// The kubelet's own identity; it exists once the kubelet was started.
pub(crate) const KUBELET_KUBECONFIG: &str = "/var/lib/kubelet/kubeconfig";

/// Exists while this boot is refused and the node is held back.
pub(crate) const STAMP_PATH: &str = "/run/skewguard/refused";

/// Asks if this boot is refused, by its stamp.
///
/// # Errors
/// The stamp cannot be examined. What a caller takes that for is its own choice: it says it.
pub(crate) fn is_refused(root: &Root) -> Result<bool, FileError> {
    root.exists(STAMP_PATH)
}
