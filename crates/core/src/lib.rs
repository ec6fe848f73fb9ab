//! Boot images ([`version`]), policies ([`policy`]) and decisions ([`verdict`]): for the agent,
//! which runs on nodes, and for what admins run. Pure: no clock, no
//! files, no network.

pub mod aleph;
pub mod clock;
pub mod command;
#[cfg(test)]
#[path = "../tests/inside.rs"]
mod inside;
pub mod platform;
pub mod policy;
pub mod text;
pub mod verdict;
pub mod version;

/// The program in a boot image; the units in `systemd/` run it from there.
pub const IMAGE_PATH: &str = "/usr/bin/skewguard";

/// The packed program that a MachineConfig delivers: one of the two, by its compression.
pub const PACKED_PATHS: [&str; 2] = ["/etc/skewguard/skewguard.xz", "/etc/skewguard/skewguard.gz"];

/// Path that a unit unpacks that program to.
pub const UNPACKED_PATH: &str = "/run/skewguard/bin/skewguard";

/// Path of the program that a pointer names: writable on CoreOS, and of SELinux type
/// `bin_t` there.
pub const FETCHED_PATH: &str = "/usr/local/bin/skewguard";

/// The override for this boot. It wins over the kernel argument `skewguard=`.
pub const OVERRIDE_PATH: &str = "/run/skewguard/override";

/// The API version of every JSON object that skewguard writes or reads.
pub const API_VERSION: &str = "skewguard.dev/v1alpha1";
