//! Commands that admins run and no node does: they check policies, audit clusters and render what to
//! apply to them.

pub mod audit;
pub mod cli;
mod data;
pub(crate) mod decider;
pub(crate) mod finding;
pub(crate) mod forms;
#[cfg(any(fuzzing, test))]
pub mod fuzzing;
pub(crate) mod gzip;
mod hops;
#[cfg(test)]
#[path = "../tests/inside.rs"]
mod inside;
pub mod lint;
pub(crate) mod operator;
pub mod render;
pub(crate) mod schema;
#[cfg(test)]
#[allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]
#[path = "../../../tests/support/mod.rs"]
mod support;
pub(crate) mod template;
pub mod trouble;
pub(crate) mod why;
pub(crate) mod yaml;

use skewguard_core::{
    API_VERSION, IMAGE_PATH, aleph, clock, platform, policy, text, verdict, version,
};

/// The file name of this program.
pub(crate) const NAME: &str = "kubectl-skewguard";

/// The address of a page of `docs/`, as it was at this release: for texts that people read who have
/// no checkout.
macro_rules! docs {
    ($page:literal) => {
        concat!(
            "https://github.com/skewguard/skewguard/blob/v",
            env!("CARGO_PKG_VERSION"),
            "/docs/",
            $page
        )
    };
}
pub(crate) use docs;
