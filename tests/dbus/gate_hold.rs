//! Holding a node, with a systemd that does what it should.

use crate::bus::Bus;
use crate::node::{Node, unit, wiring_a, wiring_b};
use crate::systemd1::{Behaviour, Unit};
use skewguard::gate::hold;
use std::time::Duration;

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
    let mut with_drop_in = [&FIXED[..], &["nodeip-configuration.service", "ovs-configuration.service"]].concat();
    with_drop_in.sort_unstable();
    assert_eq!(node.drop_ins(), with_drop_in);
    // systemd was only asked to reload, before the stamp was written; waiting units were left alone.
    assert_eq!(node.calls(), ["Reload"]);
    assert!(node.is_stamped());
}

#[test]
fn holds_the_older_wiring_which_has_neither_target() {
    let node = Node::new(Bus::start(), wiring_a(), Behaviour::default());
    let status = hold(&node.root, Some(&node.systemd));
    assert_eq!((status.held, status.error), (true, None));
    let held = ["machine-config-daemon-pull.service", "machine-config-daemon-firstboot.service", "crio.service", "kubelet.service"];
    assert_eq!(status.units, held);
    // Units that are missing have a drop-in too, in case they appear later in this boot.
    assert_eq!(node.drop_ins(), FIXED);
}

#[test]
fn stops_what_already_runs_before_the_stamp() {
    let mut units = wiring_b();
    units.insert("kubelet.service".into(), unit("active", &[]));
    units.insert("machine-config-daemon-pull.service".into(), unit("activating", &[]));
    let node = Node::new(Bus::start(), units, Behaviour::default());
    let status = hold(&node.root, Some(&node.systemd));
    assert_eq!((status.held, status.error), (true, None));
    let calls = ["Reload", "StopUnit machine-config-daemon-pull.service replace", "StopUnit kubelet.service replace"];
    assert_eq!(node.calls(), calls);
    assert!(node.is_stamped());
}

#[test]
fn what_cannot_be_started_need_not_be_held() {
    let mut units = wiring_b();
    for load in ["masked", "not-found", "error", "bad-setting"] {
        units.insert("crio.service".into(), Unit { load: load.into(), active: "inactive".into(), ..Unit::default() });
        let node = Node::new(Bus::start(), units.clone(), Behaviour::default());
        let status = hold(&node.root, Some(&node.systemd));
        assert_eq!((status.held, status.error), (true, None), "{load}");
        assert!(!status.units.contains(&"crio.service".to_owned()), "{load}: {:?}", status.units);
    }
}

#[test]
fn waits_for_a_systemd_that_comes_to_the_bus_late() {
    let node = Node::with(Behaviour { late: Duration::from_millis(300), ..Behaviour::default() });
    let status = hold(&node.root, Some(&node.systemd));
    assert_eq!((status.held, status.error), (true, None));
}

#[test]
fn a_slow_systemd_is_waited_for() {
    let node = Node::with(Behaviour { delay: Duration::from_millis(20), ..Behaviour::default() });
    let status = hold(&node.root, Some(&node.systemd));
    assert_eq!((status.held, status.error), (true, None));
}

#[test]
fn what_the_bus_may_not_do_systemctl_does() {
    let node = Node::with(Behaviour { deny_reload: true, systemctl: true, ..Behaviour::default() });
    let status = hold(&node.root, Some(&node.systemd));
    assert_eq!((status.held, status.error), (true, None));
    // Two attempts on the bus, then systemctl.
    assert_eq!(node.calls(), ["Reload", "Reload", "systemctl daemon-reload"]);
    assert!(node.is_stamped());
}

#[test]
fn names_from_systemd_never_lead_out_of_the_unit_directory() {
    let mut units = wiring_b();
    let evil = ["../../../etc/evil.service", "a/../../b.service", "skewguard.service", "skewguard-report.service", "ok@1.service"];
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
    let stamped = std::fs::metadata(node.path("run/skewguard/refused")).expect("a stamp").modified().expect("a time");
    let asked = node.systemd1.as_ref().expect("a systemd").model().asked;
    assert!(asked <= 20, "{asked} questions for the first time");
    assert_eq!(hold(&node.root, Some(&node.systemd)), first);
    assert_eq!(node.calls(), ["Reload"], "not read again");
    assert_eq!(std::fs::metadata(node.path("run/skewguard/refused")).expect("a stamp").modified().expect("a time"), stamped);
    let again = node.systemd1.as_ref().expect("a systemd").model().asked - asked;
    assert!(again < 10, "{again} questions for the second time");
    // A drop-in that was removed is written again.
    std::fs::remove_file(node.path("run/systemd/system/kubelet.service.d/50-skewguard.conf")).expect("removed");
    assert_eq!(hold(&node.root, Some(&node.systemd)), first);
    assert_eq!(node.calls(), ["Reload", "Reload [stamp]"]);
    assert!(node.drop_ins().contains(&"kubelet.service".to_owned()));
}

#[test]
fn a_service_that_nobody_has_loaded_is_held_by_its_unit_file() {
    let mut units = wiring_b();
    units.insert("late.service".into(), unit("inactive", &[]));
    let node = Node::new(Bus::start(), units, Behaviour::default());
    for (name, text) in [
        ("late.service", "[Unit]\nAfter=ovs-configuration.service\n"),
        ("template@.service", "[Unit]\nAfter=late.service\n"),
        ("early.service", "[Unit]\nAfter=network.target\n"),
        ("sshd.service", "[Unit]\nAfter=ovs-configuration.service\n"),
    ] {
        node.root.write(&format!("/etc/systemd/system/{name}"), text.as_bytes(), 0o644).expect("written");
    }
    let status = hold(&node.root, Some(&node.systemd));
    assert_eq!((status.held, status.error), (true, None));
    assert_eq!(status.units.last().map(String::as_str), Some("late.service"));
    let more: Vec<String> = node.drop_ins().into_iter().filter(|name| !FIXED.contains(&name.as_str())).collect();
    assert_eq!(more, ["late.service", "nodeip-configuration.service", "ovs-configuration.service", "template@.service"]);
}

#[test]
fn what_the_ways_in_need_is_not_held() {
    let mut units = wiring_b();
    units.insert("firstboot-osupdate.target".into(), unit("inactive", &["keys.service", "sshd.service", "other.service"]));
    units.insert("keys.service".into(), Unit { required_by: vec!["sshd.service".into()], ..unit("inactive", &[]) });
    units.insert("other.service".into(), unit("inactive", &[]));
    let node = Node::new(Bus::start(), units, Behaviour::default());
    let status = hold(&node.root, Some(&node.systemd));
    assert_eq!((status.held, status.error), (true, None));
    let more: Vec<String> = node.drop_ins().into_iter().filter(|name| !FIXED.contains(&name.as_str())).collect();
    assert_eq!(more, ["other.service"]);
}
