//! skewguard: refuses, at the first boot of an OpenShift node, a boot image that is too old for its
//! cluster, and says why.
//!
//! Facts in (`node`), decision in the middle ([`version`], [`policy`], [`verdict`]), effects out.
//! `docs/dev/architecture.md` draws it.
//!
//! Nodes run Linux. Elsewhere it is what admins do at their desks, without the node's side: that is
//! left out, and what only it calls is dead there.

#![cfg_attr(not(target_os = "linux"), allow(unused, unreachable_code))]

#[cfg(feature = "admin")]
pub mod admin;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
mod child;
pub mod cli;
mod clock;
pub mod console;
#[cfg(any(fuzzing, test))]
pub mod fuzzing;
#[cfg(target_os = "linux")]
mod gate;
mod gzip;
#[cfg(test)]
#[path = "../tests/inside.rs"]
mod inside;
#[cfg(target_os = "linux")]
mod journal;
pub mod kubeconfig;
pub mod node;
mod platform;
pub mod policy;
#[cfg(target_os = "linux")]
pub mod report;
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
mod text;
pub mod transport;
pub mod verdict;
mod version;

/// The address of a page of `docs/`, as it was at this release: for texts that people read who have
/// no checkout.
#[cfg(feature = "admin")]
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
#[cfg(feature = "admin")]
pub(crate) use docs;

/// The day of the commit that this program was made from, YYYY-MM-DD: `dist/build` sets it, from
/// git or from the source archive.
pub(crate) const COMMIT_DATE: Option<&str> = option_env!("SKEWGUARD_COMMIT_DATE");

/// The program in a boot image; the units in `systemd/` run it from there.
pub(crate) const IMAGE_PATH: &str = "/usr/bin/skewguard";

/// The packed program that a MachineConfig delivers: one of the two, by its compression.
pub(crate) const PACKED_PATHS: [&str; 2] =
    ["/etc/skewguard/skewguard.xz", "/etc/skewguard/skewguard.gz"];

/// Where a unit unpacks that program to.
pub(crate) const UNPACKED_PATH: &str = "/run/skewguard/bin/skewguard";

/// Where Ignition puts the program that a pointer names: writable on CoreOS, and of SELinux type
/// `bin_t` there.
pub(crate) const FETCHED_PATH: &str = "/usr/local/bin/skewguard";

/// The API version of every JSON object that skewguard writes or reads.
pub(crate) const API_VERSION: &str = "skewguard.dev/v1alpha1";
