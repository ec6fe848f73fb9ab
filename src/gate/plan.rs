//! What is held, how, and when it counts as held (pure).

use std::collections::{BTreeMap, BTreeSet};

/// Our own unit, which the held units are made to require.
pub(crate) const UNIT: &str = "skewguard.service";

/// The stamp. It makes [`UNIT`] fail, and so every unit that requires it.
pub use crate::node::STAMP_PATH;

/// Unit files of the running boot (systemd.unit(5), "Unit File Load Path").
pub(super) const RUNTIME_UNITS: &str = "/run/systemd/system";

const DROP_IN_NAME: &str = "50-skewguard.conf";

/// Rebases the node and reboots it. Units ordered after this one start only on the OS that the cluster runs.
pub(super) const FIRSTBOOT: &str = "machine-config-daemon-firstboot.service";

/// Fetches what the rebase needs. Units ordered after this one alone may start before the rebase.
const PULL: &str = "machine-config-daemon-pull.service";

/// Reached when the rebase is done (MCO templates, 4.12 and later).
const OSUPDATE_TARGET: &str = "firstboot-osupdate.target";

/// What the kubelet and CRI-O wait for (MCO templates, 4.12 and later).
const DEPENDENCIES_TARGET: &str = "kubelet-dependencies.target";

pub(super) const KUBELET: &str = "kubelet.service";

/// Always held, as far as a node has them: the rebase, what waits for it, and what joins the cluster. `ovs-kubelet-recovery` starts the
/// kubelet whenever `kubelet-dependencies.target` fails (MCO templates, 4.22).
const ALWAYS: [&str; 7] = [PULL, FIRSTBOOT, OSUPDATE_TARGET, DEPENDENCIES_TARGET, "crio.service", KUBELET, "ovs-kubelet-recovery.service"];

/// Never held, whatever they are ordered after: the network, logins, logging, and ourselves. Each stands for `NAME.*`, `NAME@*` and
/// `NAME-*`.
const NEVER: [&str; 21] = [
    "NetworkManager",
    "afterburn-sshkeys",
    "auditd",
    "autovt",
    "chronyd",
    "console-getty",
    "console-login-helper-messages",
    "container-getty",
    "dbus",
    "emergency",
    "getty",
    "polkit",
    "rescue",
    "rsyslog",
    "serial-getty",
    "skewguard",
    "ssh",
    "sshd",
    "sssd",
    "systemd",
    "user",
];

/// Most units that are held besides [`ALWAYS`]; a real node has fewer than twenty.
const ORDERED_MAX: usize = 64;

/// Once this many units are known, [`is_needed`] asks for no more.
const LOOK_MAX: usize = 128;

/// Longest name of a unit, in bytes (`UNIT_NAME_MAX` of systemd).
const NAME_MAX: usize = 255;

/// The units of [`ALWAYS`].
pub fn always() -> Vec<String> {
    ALWAYS.iter().map(|&name| name.to_owned()).collect()
}

pub(super) fn is_always(unit: &str) -> bool {
    ALWAYS.contains(&unit)
}

/// The units whose state is known, by name.
pub type Known = BTreeMap<String, UnitState>;

/// The next step in finding the units to hold.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// The state of this unit must become known first.
    Look(String),
    /// These are the units to hold.
    Hold(Vec<String>),
}

/// Finds the units to hold: [`ALWAYS`], and every service that a healthy node starts only after its rebase, because it is ordered after the
/// rebase, directly or through other services. Orderings are not followed through targets, except for the two that stand for the rebase:
/// most of the system is ordered after `network-online.target` or `multi-user.target`.
///
/// systemd keeps both ends of an ordering, so `Before` of a unit names every loaded unit that waits for it.
pub fn to_hold(known: &Known) -> Step {
    let mut hold = always();
    let mut done = 0;
    while let Some(name) = hold.get(done).cloned() {
        let Some(state) = known.get(&name) else { return Step::Look(name) };
        done += 1;
        if name == PULL {
            continue;
        }
        for next in &state.before {
            if hold.contains(next) || !is_holdable(next) || hold.len() >= ALWAYS.len() + ORDERED_MAX {
                continue;
            }
            match is_needed(next, known) {
                Err(unknown) => return Step::Look(unknown),
                Ok(true) => {}
                Ok(false) => hold.push(next.clone()),
            }
        }
    }
    Step::Hold(hold)
}

/// Whether one of [`NEVER`] cannot start without `unit`. `Err` names a unit whose state must become known first.
fn is_needed(unit: &str, known: &Known) -> Result<bool, String> {
    let (mut todo, mut seen) = (vec![unit], BTreeSet::new());
    while let Some(name) = todo.pop() {
        if is_never_held(name) {
            return Ok(true);
        }
        // Targets are not followed, because they run nothing themselves; nor are units that are held anyway.
        let counts = is_unit_name(name) && (name.ends_with(".service") || name.ends_with(".socket"));
        if !counts || is_always(name) || seen.len() == ORDERED_MAX || !seen.insert(name) {
            continue;
        }
        match known.get(name) {
            Some(state) => todo.extend(state.required_by.iter().map(String::as_str).take(ORDERED_MAX)),
            None if known.len() < LOOK_MAX => return Err(name.to_owned()),
            None => {}
        }
    }
    Ok(false)
}

fn is_holdable(name: &str) -> bool {
    is_unit_name(name) && name.ends_with(".service") && !is_never_held(name)
}

fn is_never_held(name: &str) -> bool {
    NEVER.iter().any(|never| name.strip_prefix(never).is_some_and(|rest| rest.starts_with(['.', '@', '-'])))
}

/// Whether the text of a unit file says that `unit` waits for one of `held`. systemd only names loaded units, but one that is not loaded
/// yet can be started later, by a timer or by hand.
pub(crate) fn waits_for(unit: &str, text: &str, held: &[String]) -> bool {
    let joined = text.replace("\\\n", " ");
    let mut after = joined.lines().filter_map(|line| line.trim().strip_prefix("After")?.trim_start().strip_prefix('='));
    is_holdable(unit) && after.any(|names| names.split_whitespace().any(|name| name != PULL && held.iter().any(|held| held == name)))
}

/// Whether this can be the name of a unit (systemd.unit(5)). Such a name cannot lead to another directory.
pub(super) fn is_unit_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || ":-_.\\@".contains(c);
    name.len() <= NAME_MAX && !name.starts_with('.') && name.contains('.') && name.chars().all(allowed)
}

pub(crate) fn drop_in_path(unit: &str) -> String {
    format!("{RUNTIME_UNITS}/{unit}.d/{DROP_IN_NAME}")
}

/// The drop-in, the same for every unit. A mask would not work, because a unit file in /etc wins over one in /run; a drop-in applies to
/// both. The assertion is for `systemctl --job-mode=ignore-requirements start`, which ignores dependencies.
pub fn drop_in() -> String {
    format!(
        "# Written by skewguard: this boot is refused, see /etc/issue.\n\
         # \"skewguard allow\" lets the node through and removes this file.\n\
         [Unit]\nRequires={UNIT}\nAfter={UNIT}\nAssertPathExists=!{STAMP_PATH}\n"
    )
}

/// A unit as systemd shows it over D-Bus (org.freedesktop.systemd1(5), interface Unit).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnitState {
    /// `LoadState`: `loaded`, `not-found`, `masked`, `error`, …
    pub load: String,
    /// `ActiveState`: `active`, `activating`, `inactive`, `failed`, …
    pub active: String,
    pub requires: Vec<String>,
    pub after: Vec<String>,
    pub before: Vec<String>,
    /// `RequiredBy`, `RequisiteOf` and `BoundBy`: the units that cannot start without it.
    pub required_by: Vec<String>,
    /// A job is queued or running for it.
    pub has_job: bool,
    /// `Id`: the unit that an alias like `default.target` stands for.
    pub id: String,
}

impl UnitState {
    /// Whether it can be started. A unit that is missing, masked or broken cannot be; if that changes, the drop-in applies.
    pub(crate) fn is_loaded(&self) -> bool {
        self.load == "loaded"
    }

    /// The dependency on us that it lacks to be held; `None` if it is held or cannot be started.
    pub fn missing(&self) -> Option<&'static str> {
        if !self.is_loaded() {
            return None;
        }
        let names_us = |list: &[String]| list.iter().any(|name| name == UNIT);
        match (names_us(&self.requires), names_us(&self.after)) {
            // It would start although we fail.
            (false, _) => Some("Requires"),
            // It would not wait for us.
            (true, false) => Some("After"),
            (true, true) => None,
        }
    }

    /// Whether it runs or may run: only `inactive` and `failed` units do not.
    pub(crate) fn is_running(&self) -> bool {
        !matches!(self.active.as_str(), "inactive" | "failed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    /// All that has to be looked at, from what each unit is `Before` and what requires it.
    fn walk(units: &[(&str, &[&str], &[&str])]) -> Vec<String> {
        let mut known = Known::new();
        for _ in 0..10_000 {
            match to_hold(&known) {
                Step::Hold(hold) => return hold,
                Step::Look(name) => {
                    let (before, required_by) =
                        units.iter().find(|unit| unit.0 == name).map_or((&[][..], &[][..]), |unit| (unit.1, unit.2));
                    let state = UnitState { before: names(before), required_by: names(required_by), ..UnitState::default() };
                    assert!(known.insert(name.clone(), state).is_none(), "{name} is looked at twice");
                }
            }
        }
        panic!("it never ends");
    }

    /// What is held beside the fixed ones.
    fn more(units: &[(&str, &[&str], &[&str])]) -> Vec<String> {
        walk(units).split_off(ALWAYS.len())
    }

    #[test]
    fn holds_what_waits_for_the_rebase_through_services_and_not_through_targets() {
        let held = more(&[
            (OSUPDATE_TARGET, &["nodeip-configuration.service", "ovs-configuration.service", "shutdown.target", "x.path"], &[]),
            ("nodeip-configuration.service", &["ovs-configuration.service", "nmstate-configuration.service"], &[]),
            ("nmstate-configuration.service", &["nmstate.service", "kubelet-dependencies.target"], &[]),
            ("nmstate.service", &["network-online.target", "wait-for-primary-ip.service"], &[]),
            ("network-online.target", &["everything.service"], &[]),
            (FIRSTBOOT, &["crio-wipe.service", "kubelet.service"], &[]),
            (PULL, &["beside-the-rebase.service"], &[]),
            (KUBELET, &["multi-user.target", "after-the-kubelet.service"], &[]),
        ]);
        let expected = [
            "crio-wipe.service",
            "nodeip-configuration.service",
            "ovs-configuration.service",
            "after-the-kubelet.service",
            "nmstate-configuration.service",
            "nmstate.service",
            "wait-for-primary-ip.service",
        ];
        assert_eq!(held, names(&expected));
    }

    #[test]
    fn never_holds_the_network_the_ways_in_logging_or_what_reports_the_refusal() {
        let never = [
            "NetworkManager.service",
            "NetworkManager-wait-online.service",
            "sshd.service",
            "sshd-keygen@rsa.service",
            "getty@tty1.service",
            "serial-getty@ttyS0.service",
            "systemd-logind.service",
            "systemd-journald.service",
            "systemd-user-sessions.service",
            "user@1000.service",
            "rsyslog.service",
            "dbus-broker.service",
            "skewguard.service",
            "skewguard-report.service",
        ];
        let before = [&never[..], &["skewguards.service", "userland.service"]].concat();
        assert_eq!(more(&[(FIRSTBOOT, &before, &[])]), names(&["skewguards.service", "userland.service"]));
        // And nothing is followed through them.
        assert_eq!(more(&[(FIRSTBOOT, &["sshd.service"], &[]), ("sshd.service", &["after-sshd.service"], &[])]), names(&[]));
    }

    #[test]
    fn never_holds_what_they_cannot_start_without() {
        let held = more(&[
            (OSUPDATE_TARGET, &["keys.service", "helper.service", "other.service", "loop.service"], &[]),
            ("keys.service", &["after-keys.service"], &["sshd.service"]),
            ("helper.service", &[], &["middle.service", "kubelet-dependencies.target"]),
            ("middle.service", &[], &["middle.socket"]),
            ("middle.socket", &[], &["NetworkManager.service"]),
            ("other.service", &[], &["multi-user.target", "kubelet.service", "app.service"]),
            ("loop.service", &[], &["app.service"]),
            ("app.service", &[], &["loop.service"]),
        ]);
        assert_eq!(held, names(&["other.service", "loop.service"]));
    }

    #[test]
    fn a_unit_file_that_systemd_has_not_loaded_says_what_it_waits_for() {
        let held = names(&["ovs-configuration.service", OSUPDATE_TARGET, PULL]);
        for (text, waits) in [
            ("[Unit]\nAfter=network.target ovs-configuration.service\n", true),
            ("[Unit]\nAfter = \\\n  firstboot-osupdate.target\n", true),
            ("[Unit]\nAfter=network.target\nBefore=ovs-configuration.service\n", false),
            ("[Unit]\n#After=ovs-configuration.service\n", false),
            ("[Unit]\nAfter=machine-config-daemon-pull.service\n", false),
        ] {
            assert_eq!(waits_for("late.service", text, &held), waits, "{text}");
        }
        let text = "[Unit]\nAfter=ovs-configuration.service\n";
        assert!(waits_for("of-a-template@.service", text, &held));
        assert!(!waits_for("sshd.service", text, &held) && !waits_for("late.timer", text, &held));
    }

    #[test]
    fn a_name_that_is_no_unit_name_never_becomes_a_path() {
        let long = format!("{}.service", "a".repeat(255));
        for name in ["../../etc/x.service", "a/b.service", "", "..service", ".service", "a\nb.service", "a b.service", "noending", &long] {
            assert!(!is_unit_name(name), "{name:?}");
        }
        assert_eq!(more(&[(FIRSTBOOT, &["../x.service", "a/../../b.service"], &[])]), names(&[]));
        for name in ["kubelet.service", "getty@tty1.service", "dev-disk-by\\x2dlabel-root.device", "a:b_c.mount"] {
            assert!(is_unit_name(name), "{name:?}");
        }
    }

    #[test]
    fn holds_no_more_than_a_node_can_have() {
        let many: Vec<String> = (0..200).map(|n| format!("u{n}.service")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(more(&[(OSUPDATE_TARGET, &many, &[])]).len(), ORDERED_MAX);
        // Each is required by all others.
        let units: Vec<(&str, &[&str], &[&str])> = many.iter().map(|&name| (name, &[][..], &many[..])).collect();
        assert_eq!(more(&[&[(OSUPDATE_TARGET, &many[..], &[][..])][..], &units].concat()).len(), ORDERED_MAX);
    }

    #[test]
    fn the_drop_in_in_full() {
        assert_eq!(drop_in_path("crio.service"), "/run/systemd/system/crio.service.d/50-skewguard.conf");
        assert_eq!(
            drop_in(),
            "# Written by skewguard: this boot is refused, see /etc/issue.\n# \"skewguard allow\" lets the node through and removes this file.\n\
             [Unit]\nRequires=skewguard.service\nAfter=skewguard.service\nAssertPathExists=!/run/skewguard/refused\n"
        );
    }

    #[test]
    fn held_means_both_dependencies_for_what_can_be_started() {
        let with = |requires: &[&str], after: &[&str]| UnitState {
            load: "loaded".into(),
            active: "inactive".into(),
            requires: names(requires),
            after: names(after),
            ..UnitState::default()
        };
        let us = ["basic.target", "skewguard.service"];
        assert_eq!(with(&us, &us).missing(), None);
        assert_eq!(with(&us, &["skewguard-report.service"]).missing(), Some("After"));
        assert_eq!(with(&["skewguard.service.d"], &us).missing(), Some("Requires"));
        assert_eq!(UnitState { load: "masked".into(), ..UnitState::default() }.missing(), None);
    }

    #[test]
    fn anything_not_at_rest_runs() {
        for (active, running) in [("inactive", false), ("failed", false), ("active", true), ("activating", true), ("maintenance", true)] {
            assert_eq!(UnitState { active: active.into(), ..UnitState::default() }.is_running(), running, "{active}");
        }
    }
}
