//! skewguard: refuses, at the first boot of an OpenShift node, a boot image that is too old for its
//! cluster, and says why.
//!
//! Facts in (`node`), decision in the middle ([`version`], [`policy`], [`verdict`]), effects out.
//! `docs/dev/architecture.md` draws it.

#[cfg(not(target_os = "linux"))]
compile_error!("nodes run Linux; on this system build `-p skewguard-admin`");

mod child;
pub mod cli;
pub mod console;
#[cfg(any(fuzzing, test))]
pub mod fuzzing;
mod gate;
pub mod gzip;
#[cfg(test)]
#[path = "../tests/inside.rs"]
mod inside;
mod journal;
mod json;
pub mod kubeconfig;
pub mod node;
pub mod report;
mod runtime;
#[cfg(test)]
#[allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]
#[path = "../tests/support/mod.rs"]
mod support;
pub mod transport;

pub(crate) use skewguard_core::{
    API_VERSION, FETCHED_PATH, IMAGE_PATH, OVERRIDE_PATH, PACKED_PATHS, UNPACKED_PATH, clock,
    platform, text, version,
};
pub use skewguard_core::{policy, verdict};

/// The day of the commit that this program was made from, YYYY-MM-DD: `dist/build` sets it, from
/// git or from the source archive.
pub(crate) const COMMIT_DATE: Option<&str> = option_env!("SKEWGUARD_COMMIT_DATE");
