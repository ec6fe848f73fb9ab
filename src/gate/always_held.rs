//! The units that every refused node holds, and those that none does (pure).

use crate::node::units::{CRIO, FIRSTBOOT, KUBELET, PULL};

/// Reached when the rebase is done (MCO templates, 4.12 and later).
pub(super) const OSUPDATE_TARGET: &str = "firstboot-osupdate.target";

/// The target that the kubelet and CRI-O wait for (MCO templates, 4.12 and later).
pub(super) const DEPENDENCIES_TARGET: &str = "kubelet-dependencies.target";

/// Always held, as far as a node has them: the rebase, what waits for it, and what joins the
/// cluster. `ovs-kubelet-recovery` starts the kubelet whenever `kubelet-dependencies.target` fails
/// (machine-config-operator, 2026, in no release yet).
pub(super) const ALWAYS: [&str; 7] = [
    PULL,
    FIRSTBOOT,
    OSUPDATE_TARGET,
    DEPENDENCIES_TARGET,
    CRIO,
    KUBELET,
    "ovs-kubelet-recovery.service",
];

/// Never held, whatever they are ordered after: the network, logins, logging, and ourselves. Each
/// stands for `NAME.*` and `NAME@*`.
const NEVER: [&str; 28] = [
    "NetworkManager",
    "NetworkManager-clean-initrd-state",
    "NetworkManager-dispatcher",
    "NetworkManager-wait-online",
    "afterburn-sshkeys",
    "auditd",
    "autovt",
    "chronyd",
    "chronyd-restricted",
    "console-getty",
    "container-getty",
    "dbus",
    "dbus-broker",
    "emergency",
    "getty",
    "polkit",
    "rescue",
    "rsyslog",
    "serial-getty",
    "ssh",
    "sshd",
    "sshd-keygen",
    "sshd-unix-local",
    "sshd-vsock",
    "sssd",
    "user",
    "user-runtime-dir",
    "skewguard",
];

/// Never held either: every unit whose name begins so. These names belong to one project each; an
/// admin's own unit has no reason to take one, as it may to be called `ssh-tunnel`.
const NEVER_FAMILIES: [&str; 4] = [
    "console-login-helper-messages-",
    "skewguard-",
    "sssd-",
    "systemd-",
];

/// The units of [`ALWAYS`].
pub(crate) fn always() -> Vec<String> {
    ALWAYS.iter().map(|&name| name.to_owned()).collect()
}

pub(super) fn is_always(unit: &str) -> bool {
    ALWAYS.contains(&unit)
}

/// The unit is one of [`NEVER`] or of their families.
pub(super) fn is_never_held(name: &str) -> bool {
    let is = |never: &&str| {
        name.strip_prefix(*never)
            .is_some_and(|rest| rest.starts_with(['.', '@']))
    };
    NEVER.iter().any(is) || NEVER_FAMILIES.iter().any(|family| name.starts_with(family))
}

/// The unit is the rebase, or what the rebase needs: on a node that was let through it has no
/// drop-in.
pub(super) fn is_rebase(unit: &str) -> bool {
    [PULL, FIRSTBOOT].contains(&unit)
}

/// This is the name of a template, which systemd cannot load.
pub(super) fn is_template(unit: &str) -> bool {
    unit.contains("@.")
}

#[cfg(test)]
mod tests {
    use super::{is_rebase, is_template};

    #[test]
    fn the_rebase_and_templates_are_known_by_their_names() {
        for (unit, rebase, template) in [
            ("machine-config-daemon-pull.service", true, false),
            ("machine-config-daemon-firstboot.service", true, false),
            ("kubelet.service", false, false),
            ("getty@.service", false, true),
            ("getty@tty1.service", false, false),
        ] {
            assert_eq!((is_rebase(unit), is_template(unit)), (rebase, template));
        }
    }
}
