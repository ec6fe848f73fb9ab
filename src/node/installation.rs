//! The machine, and which boot this is.

use super::Root;
use super::cmdline::{self, Cmdline};
use std::time::{Duration, SystemTime};

const MACHINE_ID: &str = "/etc/machine-id";

/// This boot's id (proc_sys_kernel(5)).
pub(crate) const BOOT_ID_PATH: &str = "/proc/sys/kernel/random/boot_id";

/// Exists on every system that was booted from an OSTree deployment (ostree-prepare-root(1)). The
/// Machine Config Operator's own units have it as a condition.
const OSTREE_BOOTED: &str = "/run/ostree-booted";

/// This installation and this boot.
#[derive(Debug, Default)]
pub(super) struct Installation {
    /// machine-id(5). It is no identity: on KVM and OpenStack a reinstalled machine keeps it.
    pub(super) machine_id: Option<String>,
    pub(super) boot_id: Option<String>,
    /// This is the first boot of the installation: what is under /var was left by an earlier one.
    pub(super) is_new: bool,
}

impl Installation {
    /// Reads the ids. One that cannot be read is unknown, with a warning.
    pub(super) fn read(root: &Root, line: &Cmdline, warnings: &mut Vec<String>) -> Self {
        let mut id = |path| {
            let text = match root.read_text(path, 256) {
                Ok(text) => text?,
                Err(error) => {
                    warnings.push(error.to_string());
                    return None;
                }
            };
            let id = text.trim();
            let is_id = id.len() >= 32 && id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
            is_id.then(|| id.to_owned())
        };
        Self {
            machine_id: id(MACHINE_ID),
            boot_id: id(BOOT_ID_PATH),
            is_new: line.first_boot,
        }
    }
}

/// Asks if the system runs from an OSTree deployment, which a first boot rebases. RHEL workers that
/// are made of packages (up to OCP 4.18) have an encapsulated config and no rebase. If it cannot be
/// found out, it does.
pub(crate) fn is_image_based(root: &Root) -> bool {
    if root.exists(OSTREE_BOOTED).unwrap_or(true) {
        return true;
    }
    let Ok(Some(line)) = root.read_text(cmdline::PATH, cmdline::MAX) else {
        return true;
    };
    // A line without root= is not a kernel's.
    let has_root = line
        .split_ascii_whitespace()
        .any(|word| word.starts_with("root="));
    !has_root || cmdline::parse(&line).ostree.is_some()
}

/// The time that the kernel runs, to the second (proc_uptime(5)).
pub(crate) fn uptime(root: &Root) -> Option<Duration> {
    let uptime = root.read_text("/proc/uptime", 256).ok().flatten()?;
    let seconds = uptime.split(['.', ' ']).next()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// When the kernel started, by the current clock, to the second.
pub(crate) fn boot_time(root: &Root) -> Option<SystemTime> {
    SystemTime::now().checked_sub(uptime(root)?)
}
