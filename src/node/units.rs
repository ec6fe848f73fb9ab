//! The units of a first boot (MCO templates), and what a unit's name may be.

/// Our own unit, which the held units are made to require.
pub(crate) const SKEWGUARD: &str = "skewguard.service";

/// Fetches what the rebase needs. Units ordered after this one alone may start before the rebase.
pub(crate) const PULL: &str = "machine-config-daemon-pull.service";

/// Rebases the node and reboots it. Units ordered after this one start only on the OS that the
/// cluster runs.
pub(crate) const FIRSTBOOT: &str = "machine-config-daemon-firstboot.service";

pub(crate) const CRIO: &str = "crio.service";

pub(crate) const KUBELET: &str = "kubelet.service";

/// Longest name of a unit, in bytes (`UNIT_NAME_MAX` of systemd).
const NAME_MAX: usize = 255;

/// Asks if this can be the name of a unit (systemd.unit(5)). Such a name cannot lead to another
/// directory.
pub(crate) fn is_unit_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || ":-_.\\@".contains(c);
    name.len() <= NAME_MAX
        && !name.starts_with('.')
        && name.contains('.')
        && name.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::is_unit_name;

    #[test]
    fn a_name_that_is_no_unit_name_never_becomes_a_path() {
        let long = format!("{}.service", "a".repeat(255));
        for name in [
            "../../etc/x.service",
            "a/b.service",
            "",
            "..service",
            ".service",
            "a\nb.service",
            "a b.service",
            "noending",
            &long,
        ] {
            assert!(!is_unit_name(name), "{name:?}");
        }
        for name in [
            "kubelet.service",
            "getty@tty1.service",
            "dev-disk-by\\x2dlabel-root.device",
            "a:b_c.mount",
            &long["a.service".len() - 1..],
        ] {
            assert!(is_unit_name(name), "{name:?}");
        }
    }
}
