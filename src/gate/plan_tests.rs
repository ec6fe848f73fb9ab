use super::*;
use crate::gate::always_held::OSUPDATE_TARGET;
use crate::node::units::{FIRSTBOOT, KUBELET};

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// A unit: what it is `Before`, and what requires it, or what it triggers if it is not a
/// service.
type Line<'a> = (&'a str, &'a [&'a str], &'a [&'a str]);

/// The state of a unit of these.
fn state(units: &[Line<'_>], name: &str) -> UnitState {
    let (before, more) = units
        .iter()
        .find(|unit| unit.0 == name)
        .map_or((&[][..], &[][..]), |unit| (unit.1, unit.2));
    let triggers = name.ends_with(".timer") || name.ends_with(".path");
    let (triggers, required_by) = if triggers {
        (names(more), Vec::new())
    } else {
        (Vec::new(), names(more))
    };
    UnitState {
        before: names(before),
        required_by,
        triggers,
        ..UnitState::default()
    }
}

/// The whole plan, and how many rounds of questions it takes. Nothing is asked twice.
fn whole(state: impl Fn(&str) -> UnitState, files: &BTreeMap<String, String>) -> (Plan, usize) {
    let (mut known, mut rounds) = (UnitStates::new(), 0);
    loop {
        let plan = super::plan(&known, files);
        if plan.ask.is_empty() {
            assert!(known.len() <= LOOK_MAX);
            return (plan, rounds);
        }
        rounds += 1;
        for name in plan.ask {
            assert!(!known.contains_key(&name), "{name} is asked for twice");
            let state = state(&name);
            known.insert(name, state);
        }
    }
}

/// The plan on a node with these units.
fn plan(units: &[Line<'_>]) -> Plan {
    whole(|name| state(units, name), &BTreeMap::new()).0
}

/// The units that are held beside the fixed ones.
fn more(units: &[Line<'_>]) -> Vec<String> {
    let plan = plan(units);
    assert!(plan.left_out.is_empty(), "{:?}", plan.left_out);
    plan.units.into_iter().skip(ALWAYS.len()).collect()
}

#[test]
fn holds_what_waits_for_the_rebase_through_services_and_not_through_targets() {
    let held = more(&[
        (
            OSUPDATE_TARGET,
            &[
                "nodeip-configuration.service",
                "ovs-configuration.service",
                "shutdown.target",
                "x.path",
            ],
            &[],
        ),
        (
            "nodeip-configuration.service",
            &["ovs-configuration.service", "nmstate-configuration.service"],
            &[],
        ),
        (
            "nmstate-configuration.service",
            &["nmstate.service", "kubelet-dependencies.target"],
            &[],
        ),
        (
            "nmstate.service",
            &["network-online.target", "wait-for-primary-ip.service"],
            &[],
        ),
        ("network-online.target", &["everything.service"], &[]),
        (FIRSTBOOT, &["crio-wipe.service", "kubelet.service"], &[]),
        (PULL, &["beside-the-rebase.service"], &[]),
        (
            KUBELET,
            &["multi-user.target", "after-the-kubelet.service"],
            &[],
        ),
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
    // Names that only begin like one of them.
    let held = [
        "skewguards.service",
        "userland.service",
        "user-setup.service",
        "ssh-tunnel.service",
        "rsyslog-k8s.service",
        "NetworkManager-routes.service",
        "getty-banner@tty1.service",
    ];
    let before = [&never[..], &held].concat();
    assert_eq!(more(&[(FIRSTBOOT, &before, &[])]), names(&held));
    // And nothing is followed through them.
    assert_eq!(
        more(&[
            (FIRSTBOOT, &["sshd.service"], &[]),
            ("sshd.service", &["after-sshd.service"], &[])
        ]),
        names(&[])
    );
}

#[test]
fn holds_what_timers_paths_and_sockets_after_the_rebase_start() {
    let held = more(&[
        (KUBELET, &["backup.timer"], &[]),
        (
            OSUPDATE_TARGET,
            &["routes.path", "sshd.socket", "data.mount"],
            &[],
        ),
        ("backup.timer", &["timers.target"], &["backup.service"]),
        ("routes.path", &[], &["routes.service", "sshd.service"]),
        ("routes.service", &["after-routes.service"], &[]),
    ]);
    assert_eq!(
        held,
        names(&["routes.service", "backup.service", "after-routes.service"])
    );
}

#[test]
fn never_holds_what_they_cannot_start_without() {
    let held = more(&[
        (
            OSUPDATE_TARGET,
            &[
                "keys.service",
                "helper.service",
                "other.service",
                "loop.service",
            ],
            &[],
        ),
        ("keys.service", &["after-keys.service"], &["sshd.service"]),
        (
            "helper.service",
            &[],
            &["middle.service", "kubelet-dependencies.target"],
        ),
        ("middle.service", &[], &["middle.socket"]),
        ("middle.socket", &[], &["NetworkManager.service"]),
        (
            "other.service",
            &[],
            &["multi-user.target", "kubelet.service", "app.service"],
        ),
        ("loop.service", &[], &["app.service"]),
        ("app.service", &[], &["loop.service"]),
    ]);
    assert_eq!(held, names(&["other.service", "loop.service"]));
    // Neither through a target, which runs nothing itself, nor through what is held anyway.
    let held = more(&[
        (OSUPDATE_TARGET, &["app.service"], &[]),
        ("app.service", &[], &["some.target", "crio.service"]),
        ("some.target", &[], &["sshd.service"]),
        ("crio.service", &[], &["sshd.service"]),
    ]);
    assert_eq!(held, names(&["app.service"]));
}

#[test]
fn a_unit_file_that_systemd_has_not_loaded_says_what_it_waits_for() {
    let held = |name: &str| ["ovs-configuration.service", OSUPDATE_TARGET, PULL].contains(&name);
    for (text, waits) in [
        (
            "[Unit]\nAfter=network.target ovs-configuration.service\n",
            true,
        ),
        ("[Unit]\nAfter = \\\n  firstboot-osupdate.target\n", true),
        (
            "[Unit]\nAfter=network.target\nBefore=ovs-configuration.service\n",
            false,
        ),
        ("[Unit]\n#After=ovs-configuration.service\n", false),
        ("[Unit]\nAfter=machine-config-daemon-pull.service\n", false),
    ] {
        assert_eq!(waits_for("late.service", text, held), waits, "{text}");
    }
    let text = "[Unit]\nAfter=ovs-configuration.service\n";
    assert!(waits_for("of-a-template@.service", text, held));
    assert!(!waits_for("sshd.service", text, held) && !waits_for("late.timer", text, held));
    // Also through a socket, and through another service that is not loaded.
    let socket = Line::from((OSUPDATE_TARGET, &["x.socket"][..], &[][..]));
    let files = [("a", "x.socket"), ("b", "a.service"), ("c", "y.socket")];
    let files = files.map(|(name, after)| {
        (
            format!("{name}.service"),
            format!("[Unit]\nAfter={after}\n"),
        )
    });
    let (plan, _) = whole(|name| state(&[socket], name), &BTreeMap::from(files));
    assert_eq!(plan.units[ALWAYS.len()..], ["a.service", "b.service"]);
}

#[test]
fn orderings_are_followed_through_sockets_mounts_and_the_like() {
    let held = more(&[
        (OSUPDATE_TARGET, &["x.socket", "var-data.mount"], &[]),
        (
            "x.socket",
            &["after-the-socket.service", "sockets.target", "y.socket"],
            &[],
        ),
        ("y.socket", &["after-both.service", "x.socket"], &[]),
        ("sockets.target", &["everything.service"], &[]),
        ("var-data.mount", &["after-the-mount.service"], &[]),
        ("after-the-mount.service", &["at-last.service"], &[]),
    ]);
    let mut held: Vec<&str> = held.iter().map(String::as_str).collect();
    held.sort_unstable();
    assert_eq!(
        held,
        [
            "after-both.service",
            "after-the-mount.service",
            "after-the-socket.service",
            "at-last.service"
        ]
    );
}

#[test]
fn what_the_failure_of_a_held_unit_starts_is_held() {
    let on_failure = |name: &str| UnitState {
        on_failure: match name {
            KUBELET => names(&["repair@kubelet.service", "emergency.target", "sshd.service"]),
            PULL => names(&["retry.service"]),
            "retry.service" => names(&["give-up.service"]),
            _ => Vec::new(),
        },
        ..UnitState::default()
    };
    let (plan, _) = whole(on_failure, &BTreeMap::new());
    assert_eq!(
        plan.units[ALWAYS.len()..],
        ["retry.service", "repair@kubelet.service", "give-up.service"]
    );
}

#[test]
fn many_units_that_wait_for_one_cost_one_round() {
    let many: Vec<String> = (0..200).map(|n| format!("u{n}.service")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let units: [Line<'_>; 1] = [(OSUPDATE_TARGET, &many, &[])];
    let (plan, rounds) = whole(|name| state(&units, name), &BTreeMap::new());
    assert_eq!((plan.units.len(), rounds), (ALWAYS.len() + 200, 2));
    let first = super::plan(&UnitStates::new(), &BTreeMap::new());
    assert_eq!(first.ask, ALWAYS);
}

#[test]
fn a_name_that_is_no_unit_name_is_not_held() {
    let units = [(
        FIRSTBOOT,
        &["../x.service", "a/../../b.service"][..],
        &[][..],
    )];
    assert_eq!(more(&units), names(&[]));
}

#[test]
fn holds_no_more_than_a_node_can_have_and_names_the_rest() {
    let many: Vec<String> = (0..ORDERED_MAX + 2)
        .map(|n| format!("u{n}.service"))
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let left_out = |units: &[Line<'_>]| {
        let plan = plan(units);
        (
            plan.units.len() - ALWAYS.len(),
            plan.left_out.into_iter().collect::<Vec<_>>(),
        )
    };
    let rest = names(&many[ORDERED_MAX..]);
    assert_eq!(
        left_out(&[(OSUPDATE_TARGET, &many, &[])]),
        (ORDERED_MAX, rest.clone())
    );
    // Each is required by all others.
    let units: Vec<Line<'_>> = many
        .iter()
        .map(|&name| (name, &[][..], &many[..]))
        .collect();
    assert_eq!(
        left_out(&[&[(OSUPDATE_TARGET, &many[..], &[][..])][..], &units].concat()),
        (ORDERED_MAX, rest)
    );
    // What requires it cannot be known: perhaps a way in.
    let many: Vec<String> = (0..LOOK_MAX).map(|n| format!("u{n}.service")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(
        left_out(&[
            (OSUPDATE_TARGET, &["a.service"], &[]),
            ("a.service", &[], &many)
        ]),
        (0, names(&["a.service"]))
    );
}
