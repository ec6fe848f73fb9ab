//! Holding a node, with a systemd that does what it should.

use crate::gate::{HoldChange, hold, restore_hold};
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

/// Somebody renamed the unit that rebases: nobody says that the update is held, too.
#[test]
fn a_rebase_by_another_unit_is_a_doubt() {
    let mut units = wiring_b();
    units.remove("machine-config-daemon-firstboot.service");
    let node = Node::new(Bus::start(), units, Behaviour::default());
    let config = "/etc/ignition-machine-config-encapsulated.json";
    node.root.write(config, b"{}", 0o644).expect("written");
    let status = hold(&node.root, Some(&node.systemd));
    let doubt = "machine-config-daemon-firstboot.service is not loaded, so it is not known what updates the OS, and that is not held";
    assert_eq!((status.held, status.error.as_deref()), (true, Some(doubt)));
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
fn its_own_socket_comes_before_the_bus() {
    let node = Node::with(Behaviour {
        deny_reload: true,
        private: true,
        ..Behaviour::default()
    });
    let status = hold(&node.root, Some(&node.systemd));
    assert_eq!((status.held, status.error), (true, None));
    assert_eq!(node.calls(), ["Reload"]);
    assert!(node.is_stamped());
}

/// A node with so many units that are only ordered after the rebase.
fn with_more_units(count: usize, behaviour: Behaviour) -> (Node, Vec<String>) {
    let more: Vec<String> = (0..count).map(|n| format!("u{n}.service")).collect();
    let before: Vec<&str> = more.iter().map(String::as_str).collect();
    let mut units = wiring_b();
    units.insert(
        "firstboot-osupdate.target".into(),
        unit("inactive", &before),
    );
    for name in &more {
        units.insert(name.clone(), unit("inactive", &[]));
    }
    (Node::new(Bus::start(), units, behaviour), more)
}

#[test]
fn a_slow_systemd_costs_its_delay_once_a_round() {
    for private in [true, false] {
        let behaviour = Behaviour {
            delay: Duration::from_millis(750),
            private,
            ..Behaviour::default()
        };
        // One after the other, that would be half a minute.
        let (node, more) = with_more_units(20, behaviour);
        let mut node = node.impatient();
        node.systemd.whole = Duration::from_secs(12);
        let status = hold(&node.root, Some(&node.systemd));
        assert_eq!((status.held, &status.error), (true, &None));
        assert!(node.is_stamped());
        assert!(more.iter().all(|unit| status.units.contains(unit)));
    }
}

#[test]
fn what_a_busy_systemd_has_no_time_to_say_is_in_doubt_and_the_hold_stands() {
    for private in [true, false] {
        let behaviour = Behaviour {
            in_turn: Duration::from_millis(60),
            private,
            ..Behaviour::default()
        };
        let (mut node, more) = with_more_units(60, behaviour);
        node.systemd.whole = Duration::from_secs(8);
        let status = hold(&node.root, Some(&node.systemd));
        assert!(status.held && node.is_stamped(), "{status:?}");
        let error = status.error.expect("a doubt");
        let said = "systemd does not say whether these are held: u";
        assert!(error.starts_with(said), "{error}");
        assert!(error.contains(" more (properties of u"), "{error}");
        assert!(error.len() < 400, "{error}");
        // What is not known not to be needed is held as well.
        assert!(more.iter().all(|unit| node.drop_ins().contains(unit)));
        assert!(status.units.contains(&"kubelet.service".to_owned()));
    }
}

#[test]
fn a_unit_of_an_admin_that_cannot_be_held_does_not_open_the_gate() {
    // A drop-in in the place of ours.
    let node = Node::with(Behaviour::default());
    let path = format!("/etc/systemd/system/{OVS}.d/50-skewguard.conf");
    node.root.write(&path, b"[Unit]\n", 0o644).expect("written");
    let overruled = format!(
        "{OVS} is not held: {path} replaces the drop-in of skewguard; to change that, remove it"
    );
    for _ in 0..2 {
        let status = hold(&node.root, Some(&node.systemd));
        assert_eq!((status.held, status.error), (true, Some(overruled.clone())));
        assert!(node.is_stamped() && !status.units.contains(&OVS.to_owned()));
    }
    assert_eq!(node.calls(), ["Reload"], "it is not read again for that");
    // A file where the folder of ours belongs.
    let node = Node::with(Behaviour::default());
    let folder = format!("/run/systemd/system/{OVS}.d");
    node.root.write(&folder, b"a file", 0o644).expect("written");
    let status = hold(&node.root, Some(&node.systemd));
    let why = format!("{folder}/50-skewguard.conf: Not a directory (os error 20)");
    assert_eq!((status.held, status.error), (true, Some(why)));
    assert!(node.is_stamped() && !status.units.contains(&OVS.to_owned()));
    // systemd never answers about it.
    let behaviour = Behaviour {
        silent: vec![OVS],
        ..Behaviour::default()
    };
    let status = {
        let node = Node::with(behaviour).impatient();
        let status = hold(&node.root, Some(&node.systemd));
        assert!(node.is_stamped() && node.drop_ins().contains(&OVS.to_owned()));
        status
    };
    let why = format!(
        "systemd does not say whether these are held: {OVS} (properties of {OVS}: no answer in time)"
    );
    assert_eq!((status.held, status.error), (true, Some(why)));
    // It may not say what comes after it.
    let mut units = wiring_b();
    units.insert(OVS.into(), unit("inactive", &["DENIED"]));
    let node = Node::new(Bus::start(), units, Behaviour::default());
    let status = hold(&node.root, Some(&node.systemd));
    let why = format!(
        "systemd does not say whether these are held: {OVS} (Before of {OVS}: systemd does not say)"
    );
    assert_eq!((status.held, status.error), (true, Some(why)));
    assert!(node.is_stamped());
}

#[test]
fn what_a_generator_made_is_held_by_its_unit_file() {
    let mut units = wiring_b();
    units.insert("web.service".into(), unit("inactive", &[]));
    let node = Node::new(Bus::start(), units, Behaviour::default());
    // As Podman makes it of a quadlet.
    node.root
        .write(
            "/run/systemd/generator/web.service",
            b"[Unit]\nAfter=network-online.target ovs-configuration.service\n[Service]\nExecStart=/usr/bin/podman run web\n",
            0o644,
        )
        .expect("written");
    let status = hold(&node.root, Some(&node.systemd));
    assert_eq!((status.held, &status.error), (true, &None));
    assert!(status.units.contains(&"web.service".to_owned()));
}

#[test]
fn what_comes_after_a_socket_or_by_a_failure_is_held() {
    let mut units = wiring_b();
    let mut target = unit("inactive", &["admins.socket"]);
    target.on_failure = vec!["repair.service".into()];
    units.insert("firstboot-osupdate.target".into(), target);
    units.insert("admins.socket".into(), unit("inactive", &["after.service"]));
    for name in ["after.service", "repair.service"] {
        units.insert(name.into(), unit("inactive", &[]));
    }
    let node = Node::new(Bus::start(), units, Behaviour::default());
    let status = hold(&node.root, Some(&node.systemd));
    assert_eq!((status.held, &status.error), (true, &None));
    assert_eq!(status.units[6..], ["after.service", "repair.service"]);
    assert!(!node.drop_ins().contains(&"admins.socket".to_owned()));
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
    let asked = node.model().asked;
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
    let again = node.model().asked - asked;
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
fn look(node: &Node, held: &[String]) -> HoldChange {
    node.systemd1
        .as_ref()
        .expect("a systemd")
        .model()
        .read_drop_ins();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    runtime.block_on(async { restore_hold(&node.root, &node.systemd, held) })
}

#[test]
fn a_hold_that_somebody_removed_is_made_again() {
    let node = Node::with(Behaviour::default());
    assert_eq!(look(&node, &[]), HoldChange::default(), "not refused");
    let first = hold(&node.root, Some(&node.systemd));
    assert!(first.units.contains(&OVS.to_owned()));
    assert_eq!(look(&node, &first.units), HoldChange::default());
    assert_eq!(node.calls(), ["Reload"], "nothing is changed");
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

/// Written or generated later, and started: a look takes it in, and the next one has nothing to do.
#[test]
fn a_unit_that_appears_after_the_hold_is_held() {
    const NEW: &str = "late.service";
    let node = Node::with(Behaviour::default());
    let first = hold(&node.root, Some(&node.systemd));
    let mut model = node.model();
    model.units.insert(NEW.into(), unit("active", &[]));
    let before = &mut model
        .units
        .get_mut("firstboot-osupdate.target")
        .expect("there")
        .before;
    before.push(NEW.into());
    drop(model);
    let since = look(&node, &first.units);
    assert_eq!((since.again, since.new), (None, vec![NEW.to_owned()]));
    assert!(node.drop_ins().contains(&NEW.to_owned()));
    let calls = [
        "Reload",
        "Reload [stamp]",
        "StopUnit late.service replace [stamp]",
    ];
    assert_eq!(node.calls(), calls);
    assert_eq!(look(&node, &first.units), HoldChange::default());
    assert_eq!(node.calls(), calls);
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
    let why = "ovs-configuration.service is not held: \
               /etc/systemd/system/ovs-configuration.service.d/50-skewguard.conf replaces the drop-in of skewguard; \
               to change that, remove it";
    assert_eq!((again.held, again.error.as_deref()), (true, Some(why)));
    assert!(node.drop_ins().contains(&"kubelet.service".to_owned()));
    // Once the admin takes it away, the hold is whole.
    node.root.remove(&path).expect("removed");
    assert_eq!(look(&node, &first.units), HoldChange::default());
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
