//! What is held, how, and when it counts as held (pure).

use std::fmt;

/// Our own unit: what the held units are made to require.
pub const UNIT: &str = "skewguard.service";

/// The stamp makes [`UNIT`] fail, and with it everything that requires it.
pub use crate::node::STAMP_PATH;

/// Unit files of the running boot (systemd.unit(5), "Unit File Load Path").
pub(super) const RUNTIME_UNITS: &str = "/run/systemd/system";

/// The name of our drop-in in `UNIT.d/`.
const DROP_IN_NAME: &str = "50-skewguard.conf";

/// Services ordered after this target wait for the rebase (MCO templates, 4.14 and later).
pub(super) const OSUPDATE_TARGET: &str = "firstboot-osupdate.target";

/// Held on every node, whichever of them it has: the rebase, what waits for it, and what joins the cluster. `ovs-kubelet-recovery` starts the
/// kubelet again whenever `kubelet-dependencies.target` fails (MCO templates, 4.22).
const ALWAYS: [&str; 7] = [
    "machine-config-daemon-pull.service",
    "machine-config-daemon-firstboot.service",
    OSUPDATE_TARGET,
    "kubelet-dependencies.target",
    "crio.service",
    "kubelet.service",
    "ovs-kubelet-recovery.service",
];

/// Most units ordered after [`OSUPDATE_TARGET`] that are held; a real node has fewer than ten.
const ORDERED_MAX: usize = 64;

/// Longest name of a unit in bytes, `UNIT_NAME_MAX` of systemd.
const NAME_MAX: usize = 255;

/// The units to hold: the fixed ones, and the services among `ordered_after`, which is what systemd says is ordered after
/// `firstboot-osupdate.target` (its property `Before`).
pub fn to_hold(ordered_after: &[String]) -> Vec<String> {
    let mut units: Vec<String> = ALWAYS.iter().map(|&name| name.to_owned()).collect();
    let services = ordered_after.iter().filter(|name| is_unit_name(name) && name.ends_with(".service") && !is_ours(name));
    for name in services.take(ORDERED_MAX) {
        if !units.contains(name) {
            units.push(name.clone());
        }
    }
    units
}

/// `skewguard.service`, `skewguard-report.service` and what else we may come to have: held by itself, a refused node would never report.
fn is_ours(name: &str) -> bool {
    name.starts_with("skewguard.") || name.starts_with("skewguard-")
}

/// Whether this can be the name of a unit (systemd.unit(5)); in particular, it names no other directory.
pub(super) fn is_unit_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || ":-_.\\@".contains(c);
    name.len() <= NAME_MAX && !name.starts_with('.') && name.contains('.') && name.chars().all(allowed)
}

/// Where the drop-in of a unit goes.
pub fn drop_in_path(unit: &str) -> String {
    format!("{RUNTIME_UNITS}/{unit}.d/{DROP_IN_NAME}")
}

/// The drop-in, the same for every unit. A mask would not do: a unit file in /etc wins over one in /run, a drop-in adds to both.
pub fn drop_in() -> String {
    format!(
        "# Written by skewguard: this boot is refused, see /etc/issue.\n\
         # \"skewguard allow\" lets the node through and removes this file.\n\
         [Unit]\nRequires={UNIT}\nAfter={UNIT}\n"
    )
}

/// A unit as systemd shows it over D-Bus (org.freedesktop.systemd1(5), interface Unit).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnitState {
    /// `LoadState`: `loaded`, `not-found`, `masked`, `error`, …
    pub load: String,
    /// `ActiveState`: `active`, `activating`, `inactive`, `failed`, …
    pub active: String,
    /// `Requires`.
    pub requires: Vec<String>,
    /// `After`.
    pub after: Vec<String>,
}

/// What a held unit lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// It would run although we fail.
    Requires,
    /// It would not wait for us.
    After,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Requires => "Requires",
            Self::After => "After",
        })
    }
}

impl UnitState {
    /// Whether it is there to be started at all. What is not found, masked or broken cannot be, and once it can, the drop-in applies.
    pub fn is_loaded(&self) -> bool {
        self.load == "loaded"
    }

    /// What it lacks to be held; `None` if it is.
    pub fn missing(&self) -> Option<Missing> {
        let names_us = |list: &[String]| list.iter().any(|name| name == UNIT);
        match (names_us(&self.requires), names_us(&self.after)) {
            (false, _) => Some(Missing::Requires),
            (true, false) => Some(Missing::After),
            (true, true) => None,
        }
    }

    /// Whether it runs, or is about to. Anything that is not known to be at rest counts.
    pub fn is_running(&self) -> bool {
        !matches!(self.active.as_str(), "inactive" | "failed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn holds_the_fixed_units_and_the_services_ordered_after_the_update() {
        let seen = names(&["shutdown.target", "nodeip-configuration.service", "ovs-configuration.service", "kubelet.service"]);
        assert_eq!(
            to_hold(&seen),
            names(&[
                "machine-config-daemon-pull.service",
                "machine-config-daemon-firstboot.service",
                "firstboot-osupdate.target",
                "kubelet-dependencies.target",
                "crio.service",
                "kubelet.service",
                "ovs-kubelet-recovery.service",
                "nodeip-configuration.service",
                "ovs-configuration.service",
            ])
        );
    }

    #[test]
    fn never_holds_what_reports_the_refusal() {
        let held = to_hold(&names(&["skewguard.service", "skewguard-report.service", "skewguards.service"]));
        assert_eq!(held.iter().filter(|name| name.contains("skewguard")).collect::<Vec<_>>(), ["skewguards.service"]);
    }

    #[test]
    fn a_name_that_is_no_unit_name_never_becomes_a_path() {
        let long = format!("{}.service", "a".repeat(255));
        for name in ["../../etc/x.service", "a/b.service", "", "..service", ".service", "a\nb.service", "a b.service", "noending", &long] {
            assert!(!is_unit_name(name), "{name:?}");
        }
        assert_eq!(to_hold(&names(&["../x.service", "a/../../b.service"])), to_hold(&[]));
        for name in ["kubelet.service", "getty@tty1.service", "dev-disk-by\\x2dlabel-root.device", "a:b_c.mount"] {
            assert!(is_unit_name(name), "{name:?}");
        }
    }

    #[test]
    fn holds_no_more_than_a_node_can_have() {
        let many: Vec<String> = (0..1000).map(|n| format!("u{n}.service")).collect();
        assert_eq!(to_hold(&many).len(), ALWAYS.len() + ORDERED_MAX);
    }

    #[test]
    fn the_drop_in_in_full() {
        assert_eq!(drop_in_path("crio.service"), "/run/systemd/system/crio.service.d/50-skewguard.conf");
        assert_eq!(
            drop_in(),
            "# Written by skewguard: this boot is refused, see /etc/issue.\n# \"skewguard allow\" lets the node through and removes this file.\n\
             [Unit]\nRequires=skewguard.service\nAfter=skewguard.service\n"
        );
    }

    #[test]
    fn held_means_both_dependencies() {
        let with = |requires: &[&str], after: &[&str]| UnitState {
            load: "loaded".into(),
            active: "inactive".into(),
            requires: names(requires),
            after: names(after),
        };
        let us = ["basic.target", "skewguard.service"];
        assert_eq!(with(&us, &us).missing(), None);
        assert_eq!(with(&us, &["skewguard-report.service"]).missing(), Some(Missing::After));
        assert_eq!(with(&["skewguard.service.d"], &us).missing(), Some(Missing::Requires));
    }

    #[test]
    fn anything_not_at_rest_runs() {
        for (active, running) in [("inactive", false), ("failed", false), ("active", true), ("activating", true), ("maintenance", true)] {
            assert_eq!(UnitState { active: active.into(), ..UnitState::default() }.is_running(), running, "{active}");
        }
    }
}
