//! What is read from a node, all of it under a [`Root`].

pub mod bus;
mod cmdline;
mod deployment;
mod facts;
pub mod identity;
mod image;
pub mod kubeconfig;
mod lock;
mod machine_config;
mod policy;
mod record;
mod root;
pub(crate) mod write;

pub use facts::{Options, facts};
pub(crate) use lock::{LOCK_PATH, Lock};
pub(crate) use machine_config::ENCAPSULATED_BAK_PATH;
pub use machine_config::{ENCAPSULATED_PATH, SERVED_PATH};
pub(crate) use record::save_verdict;
pub use record::{KEPT_VERDICT_PATH, RECORD_PATH, RUN_VERDICT_PATH, Record};
pub use root::{FileError, Problem, Root};

/// The override for this boot. It wins over the kernel argument `skewguard=`.
pub const OVERRIDE_PATH: &str = "/run/skewguard/override";

/// Exists while this boot is refused and the node is held back.
pub const STAMP_PATH: &str = "/run/skewguard/refused";
