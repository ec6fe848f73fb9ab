//! skewguard: refuses, at the first boot of an OpenShift node, a boot image that is too old for its cluster, and says why.
//!
//! Facts in (`node`), decision in the middle ([`version`], [`policy`], [`verdict`]), effects out. `docs/architecture.md` draws it.

pub mod cli;
pub mod console;
pub mod gate;
mod gzip;
pub mod journal;
#[cfg(skewguard_static)]
mod no_unwind;
pub mod node;
pub mod policy;
#[cfg(feature = "author")]
pub mod render;
pub mod report;
pub mod text;
pub mod verdict;
pub mod version;

/// The API version of every JSON object that skewguard writes or reads.
pub const API_VERSION: &str = "skewguard.dev/v1alpha1";
