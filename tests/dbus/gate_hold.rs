//! Holding a node, with a systemd that does what it should.

use crate::gate::{Since, hold, look_again};
use crate::inside::dbus::bus::Bus;
use crate::inside::dbus::node::{Node, unit, wiring_a, wiring_b};
use crate::inside::dbus::systemd1::{Behaviour, Unit};
use std::time::Duration;

/// A unit that is held beside the fixed ones.
const OVS: &str = "ovs-configuration.service";

pub(crate) const FIXED: [&str; 7] = [
    "crio.service",
    "firstboot-osupdate.target",
    "kubelet-dependencies.target",
    "kubelet.service",
    "machine-config-daemon-firstboot.service",
    "machine-config-daemon-pull.service",
    "ovs-kubelet-recovery.service",
];

#[test]
fn holds_every_unit_of_the_newer_wiring_and_stamps_last() {
    let node = Node::with(Behaviour::default());
    let status = hold(&node.root, Some(&node.systemd));
    assert_eq!(status.error, None);
    assert!(status.held);
    assert_eq!(
        status.units,
        [
            "machine-config-daemon-pull.service",
            "machine-config-daemon-firstboot.service",
            "firstboot-osupdate.target",
            "kubelet-dependencies.target",
            "crio.service",
            "kubelet.service",
            "nodeip-configuration.service",
            "ovs-configuration.service",
        ]
    );
    let mut with_drop_in = [
        &FIXED[..],
        &["nodeip-configuration.service", "ovs-configuration.service"],
    ]
    .concat();
    with_drop_in.sort_unstable();
    assert_eq!(node.drop_ins(), with_drop_in);
    // systemd was only asked to reload, before the stamp was written; waiting units were left
    // alone.
    assert_eq!(node.calls(), ["Reload"]);
    assert!(node.is_stamped());
}

#[test]
fn holds_the_older_wiring_which_has_neither_target() {
    let node = Node::new(Bus::start(), wiring_a(), Behaviour::default());
    let status = hold(&node.root, Some(&node.systemd));
    assert_eq!((status.held, status.error), (true, None));
    let held = [
        "machine-config-daemon-pull.service",
        "machine-config-daemon-firstboot.service",
        "crio.service",
        "kubelet.service",
    ];
    assert_eq!(status.units, held);
    // Units that are missing have a drop-in too, in case they appear later in this boot.
    assert_eq!(node.drop_ins(), FIXED);
}

#[test]
fn stops_what_already_runs_before_the_stamp() {
    let mut units = wiring_b();
    units.insert("kubelet.service".into(), unit("active", &[]));
    units.insert(
        "machine-config-daemon-pull.service".into(),
        unit("activating", &[]),
    );
    let node = Node::new(Bus::start(), units, Behaviour::default());
    let status = hold(&node.root, Some(&node.systemd));
    assert_eq!((status.held, status.error), (true, None));
    let calls = [
        "Reload",
        "StopUnit machine-config-daemon-pull.service replace",
        "StopUnit kubelet.service replace",
    ];
    assert_eq!(node.calls(), calls);
    assert!(node.is_stamped());
}

#[test]
fn what_cannot_be_started_need_not_be_held() {
    let mut units = wiring_b();
    for load in ["masked", "not-found", "error", "bad-setting"] {
        units.insert(
            "crio.service".into(),
            Unit {
                load: load.into(),
                active: "inactive".into(),
                ..Unit::default()
            },
        );
        let node = Node::new(Bus::start(), units.clone(), Behaviour::default());
        let status = hold(&node.root, Some(&node.systemd));
        assert_eq!((status.held, status.error), (true, None), "{load}");
        assert!(
            !status.units.contains(&"crio.service".to_owned()),
            "{load}: {:?}",
            status.units
        );
    }
}

#[test]
fn waits_for_a_systemd_that_comes_to_the_bus_late() {
    let node = Node::with(Behaviour {
        late: Duration::from_millis(300),
        ..Behaviour::default()
    });
    let status = hold(&node.root, Some(&node.systemd));
    assert_eq!((status.held, status.error), (true, None));
}

#[test]
fn a_slow_systemd_is_waited_for() {
    let node = Node::with(Behaviour {
        delay: Duration::from_millis(20),
        ..Behaviour::default()
    });
    let status = hold(&node.root, Some(&node.systemd));
    assert_eq!((status.held, status.error), (true, None));
}

#[test]
fn what_the_bus_may_not_do_systemctl_does() {
    let node = Node::with(Behaviour {
        deny_reload: true,
        systemctl: true,
        ..Behaviour::default()
    });
    let status = hold(&node.root, Some(&node.systemd));
    assert_eq!((status.held, status.error), (true, None));
    // Two attempts on the bus, then systemctl.
    assert_eq!(
        node.calls(),
        ["Reload", "Reload", "systemctl daemon-reload"]
    );
    assert!(node.is_stamped());
}

#[test]
fn names_from_systemd_never_lead_out_of_the_unit_directory() {
    let mut units = wiring_b();
    let evil = [
        "../../../etc/evil.service",
        "a/../../b.service",
        "skewguard.service",
        "skewguard-report.service",
        "ok@1.service",
    ];
    units.insert("firstboot-osupdate.target".into(), unit("inactive", &evil));
    units.insert("ok@1.service".into(), unit("inactive", &[]));
    let node = Node::new(Bus::start(), units, Behaviour::default());
    let status = hold(&node.root, Some(&node.systemd));
    assert_eq!((status.held, status.error), (true, None));
    let mut expected = [&FIXED[..], &["ok@1.service"]].concat();
    expected.sort_unstable();
    assert_eq!(node.drop_ins(), expected);
    assert!(!node.path("etc").exists() && !node.path("run/systemd/system/b.service.d").exists());
}

#[test]
fn holding_twice_is_holding_once() {
    let node = Node::with(Behaviour::default());
    let first = hold(&node.root, Some(&node.systemd));
    let second = hold(&node.root, Some(&node.systemd));
    assert!(first.held);
    assert_eq!(first, second);
}

#[test]
fn what_is_held_already_is_verified_and_nothing_else() {
    let node = Node::with(Behaviour::default());
    let first = hold(&node.root, Some(&node.systemd));
    let stamped = std::fs::metadata(node.path("run/skewguard/refused"))
        .expect("a stamp")
        .modified()
        .expect("a time");
    let asked = node.systemd1.as_ref().expect("a systemd").model().asked;
    assert!(asked <= 20, "{asked} questions for the first time");
    assert_eq!(hold(&node.root, Some(&node.systemd)), first);
    assert_eq!(node.calls(), ["Reload"], "not read again");
    assert_eq!(
        std::fs::metadata(node.path("run/skewguard/refused"))
            .expect("a stamp")
            .modified()
            .expect("a time"),
        stamped
    );
    let again = node.systemd1.as_ref().expect("a systemd").model().asked - asked;
    assert!(again < 10, "{again} questions for the second time");
    // A drop-in that was removed is written again.
    std::fs::remove_file(node.path("run/systemd/system/kubelet.service.d/50-skewguard.conf"))
        .expect("removed");
    assert_eq!(hold(&node.root, Some(&node.systemd)), first);
    assert_eq!(node.calls(), ["Reload", "Reload [stamp]"]);
    assert!(node.drop_ins().contains(&"kubelet.service".to_owned()));
}

#[test]
fn a_service_that_nobody_has_loaded_is_held_by_its_unit_file() {
    let mut units = wiring_b();
    for name in ["late", "of-usr", "with-a-drop-in", "needed", "early"] {
        units.insert(format!("{name}.service"), unit("inactive", &[]));
    }
    units
        .get_mut("needed.service")
        .expect("a unit")
        .required_by
        .push("sshd.service".into());
    let node = Node::new(Bus::start(), units, Behaviour::default());
    let after = |name: &str| format!("[Unit]\nAfter={name}\n");
    for (path, text) in [
        (
            "/etc/systemd/system/late.service",
            after("ovs-configuration.service"),
        ),
        (
            "/etc/systemd/system/template@.service",
            after("late.service"),
        ),
        ("/etc/systemd/system/early.service", after("network.target")),
        // The file in /etc wins.
        (
            "/usr/lib/systemd/system/early.service",
            after("late.service"),
        ),
        (
            "/etc/systemd/system/sshd.service",
            after("ovs-configuration.service"),
        ),
        (
            "/etc/systemd/system/needed.service",
            after("ovs-configuration.service"),
        ),
        (
            "/usr/lib/systemd/system/of-usr.service",
            after("crio.service"),
        ),
        (
            "/usr/lib/systemd/system/with-a-drop-in.service",
            after("a.target"),
        ),
        (
            "/run/systemd/system/with-a-drop-in.service.d/10-order.conf",
            after("of-usr.service"),
        ),
    ] {
        node.root
            .write(path, text.as_bytes(), 0o644)
            .expect("written");
    }
    let status = hold(&node.root, Some(&node.systemd));
    assert_eq!((status.held, &status.error), (true, &None));
    assert_eq!(
        status.units[8..],
        ["late.service", "of-usr.service", "with-a-drop-in.service"]
    );
    let more: Vec<String> = node
        .drop_ins()
        .into_iter()
        .filter(|name| !FIXED.contains(&name.as_str()))
        .collect();
    assert_eq!(
        more,
        [
            "late.service",
            "nodeip-configuration.service",
            "of-usr.service",
            "ovs-configuration.service",
            "template@.service",
            "with-a-drop-in.service"
        ]
    );
    // Once they are held, nothing is read again.
    assert_eq!(hold(&node.root, Some(&node.systemd)), status);
    assert_eq!(node.calls(), ["Reload"]);
}

/// Looks at the hold as the report does, which has a runtime of its own.
fn look(node: &Node, held: &[String]) -> Since {
    node.systemd1
        .as_ref()
        .expect("a systemd")
        .model()
        .read_drop_ins();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    runtime.block_on(async { look_again(&node.root, &node.systemd, held) })
}

#[test]
fn a_hold_that_somebody_removed_is_made_again() {
    let node = Node::with(Behaviour::default());
    assert_eq!(look(&node, &[]), Since::default(), "not refused");
    let first = hold(&node.root, Some(&node.systemd));
    assert!(first.units.contains(&OVS.to_owned()));
    assert_eq!(look(&node, &first.units), Since::default());
    assert_eq!(node.calls(), ["Reload"], "nobody is asked");
    // As `systemctl revert` does, of a unit that every node has and of one that this one has.
    for (unit, reloads) in [("kubelet.service", 2), (OVS, 3)] {
        let folder = format!("run/systemd/system/{unit}.d");
        std::fs::remove_dir_all(node.path(&folder)).expect("removed");
        let since = look(&node, &first.units);
        assert_eq!(
            (since.again, since.overruled.len()),
            (Some(first.clone()), 0)
        );
        assert_eq!(node.calls().len(), reloads, "{unit}");
        assert!(node.drop_ins().contains(&unit.to_owned()));
    }
}

#[test]
fn a_drop_in_of_an_admin_is_left_alone_and_said() {
    let node = Node::with(Behaviour::default());
    let first = hold(&node.root, Some(&node.systemd));
    let path = format!("/etc/systemd/system/{OVS}.d/50-skewguard.conf");
    node.root.write(&path, b"[Unit]\n", 0o644).expect("written");
    let since = look(&node, &first.units);
    assert_eq!((since.again, since.overruled), (None, vec![OVS.to_owned()]));
    assert_eq!(node.calls(), ["Reload"]);
    // What was removed beside it is held again.
    let folder = node.path("run/systemd/system/kubelet.service.d");
    std::fs::remove_dir_all(folder).expect("removed");
    let since = look(&node, &first.units);
    assert_eq!(since.overruled, [OVS]);
    let again = since.again.expect("held again");
    let why = "an earlier run held the node, this one could not make sure: ovs-configuration.service is not held: \
               /etc/systemd/system/ovs-configuration.service.d/50-skewguard.conf replaces the drop-in of skewguard; \
               to change that, remove it";
    assert_eq!((again.held, again.error.as_deref()), (true, Some(why)));
    assert!(node.drop_ins().contains(&"kubelet.service".to_owned()));
    // Once the admin takes it away, the hold is whole.
    node.root.remove(&path).expect("removed");
    assert_eq!(look(&node, &first.units), Since::default());
}

#[test]
fn what_a_timer_or_a_path_starts_after_the_rebase_is_held() {
    let mut units = wiring_b();
    units.insert(
        "kubelet.service".into(),
        unit("inactive", &["backup.timer"]),
    );
    units.insert(
        "backup.timer".into(),
        Unit {
            triggers: vec!["backup.service".into()],
            ..unit("active", &[])
        },
    );
    units.insert("backup.service".into(), unit("inactive", &[]));
    let node = Node::new(Bus::start(), units, Behaviour::default());
    let status = hold(&node.root, Some(&node.systemd));
    assert_eq!((status.held, status.error), (true, None));
    assert!(status.units.contains(&"backup.service".to_owned()));
    assert!(!node.drop_ins().contains(&"backup.timer".to_owned()));
}

#[test]
fn units_beyond_what_a_node_can_have_are_named() {
    let mut units = wiring_b();
    let many: Vec<String> = (1000..1258).map(|n| format!("u{n}.service")).collect();
    let before: Vec<&str> = many.iter().map(String::as_str).collect();
    units.insert("kubelet.service".into(), unit("inactive", &before));
    let node = Node::new(Bus::start(), units, Behaviour::default());
    let status = hold(&node.root, Some(&node.systemd));
    assert!(status.held);
    // Beside the two that wait for the target of the rebase.
    assert_eq!(
        status.error.as_deref(),
        Some(
            "too many units wait for the OS update, these are not held: u1254.service u1255.service u1256.service u1257.service"
        )
    );
}

#[test]
fn what_the_ways_in_need_is_not_held() {
    let mut units = wiring_b();
    units.insert(
        "firstboot-osupdate.target".into(),
        unit(
            "inactive",
            &["keys.service", "sshd.service", "other.service"],
        ),
    );
    units.insert(
        "keys.service".into(),
        Unit {
            required_by: vec!["sshd.service".into()],
            ..unit("inactive", &[])
        },
    );
    units.insert("other.service".into(), unit("inactive", &[]));
    let node = Node::new(Bus::start(), units, Behaviour::default());
    let status = hold(&node.root, Some(&node.systemd));
    assert_eq!((status.held, status.error), (true, None));
    let more: Vec<String> = node
        .drop_ins()
        .into_iter()
        .filter(|name| !FIXED.contains(&name.as_str()))
        .collect();
    assert_eq!(more, ["other.service"]);
}
