//! Letting a refused node through.

use crate::bus::Bus;
use crate::node::{Node, unit, wiring_b};
use crate::systemd1::Behaviour;
use skewguard::gate::{hold, is_refused, release, resume};

fn refused(behaviour: Behaviour) -> Node {
    let node = Node::with(behaviour);
    assert!(hold(&node.root, Some(&node.systemd)).held);
    node.systemd1.as_ref().expect("a systemd").model().calls.clear();
    node
}

#[test]
fn override_first_then_everything_off_then_one_transaction() {
    let node = refused(Behaviour::default());
    assert!(release(&node.root, Some(&node.systemd)).expect("released"));
    assert!(!is_refused(&node.root));
    assert_eq!(node.drop_ins(), [""; 0]);
    assert_eq!(std::fs::read_to_string(node.path("run/skewguard/override")).expect("an override"), "warn\n");
    let requires: Vec<String> = node.systemd1.as_ref().expect("a systemd").model().units["kubelet.service"].requires.clone();
    assert_eq!(requires, ["sysinit.target"], "systemd has read that the drop-ins are gone");

    resume(&node.systemd).expect("resumed");
    let calls = node.calls();
    assert_eq!(calls.first().map(String::as_str), Some("Reload"));
    assert_eq!(calls.last().map(String::as_str), Some("StartUnit default.target replace"));
    let starts: Vec<&String> = calls.iter().filter(|call| call.starts_with("StartUnit")).collect();
    assert_eq!(starts.len(), 1, "the kubelet alone would join on the old OS: {calls:?}");
    for unit in ["kubelet.service", "machine-config-daemon-firstboot.service", "ovs-configuration.service", "skewguard.service"] {
        assert!(calls.contains(&format!("ResetFailedUnit {unit}")), "{unit}: {calls:?}");
    }
}

#[test]
fn drop_ins_of_others_stay() {
    let node = refused(Behaviour::default());
    let theirs = "/run/systemd/system/kubelet.service.d/10-theirs.conf";
    node.root.write(theirs, b"[Unit]\n", 0o644).expect("written");
    assert!(release(&node.root, Some(&node.systemd)).expect("released"));
    let left: Vec<_> = std::fs::read_dir(node.path("run/systemd/system")).expect("a directory").flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(node.path(&theirs[1..]).exists());
}

#[test]
fn a_node_that_is_not_refused_is_not_touched_and_no_bus_is_opened() {
    let node = Node::alone("unix:path=/nonexistent/bus".into());
    assert!(!release(&node.root, Some(&node.systemd)).expect("nothing to do"));
    assert_eq!(std::fs::read_dir(node.dir.path()).expect("the root").count(), 0);
}

#[test]
fn without_the_override_nothing_is_lifted() {
    let node = refused(Behaviour::default());
    std::fs::create_dir(node.path("run/skewguard/override")).expect("a directory in the way");
    let error = release(&node.root, Some(&node.systemd)).expect_err("it cannot be written").to_string();
    assert!(error.starts_with("/run/skewguard/override: "), "{error}");
    assert!(is_refused(&node.root));
    assert!(node.drop_ins().contains(&"kubelet.service".to_owned()));
    assert_eq!(node.calls(), [""; 0]);
}

#[test]
fn leftover_drop_ins_without_a_stamp_are_released_too() {
    let node = refused(Behaviour::default());
    node.root.remove("/run/skewguard/refused").expect("removed");
    assert!(release(&node.root, Some(&node.systemd)).expect("released"));
    assert_eq!(node.drop_ins(), [""; 0]);
}

#[test]
fn systemd_out_of_reach_is_an_error_and_the_files_are_gone() {
    let node = refused(Behaviour::default());
    let mut gone = node.systemd.clone();
    gone.bus = "unix:path=/nonexistent/bus".into();
    let error = release(&node.root, Some(&gone)).expect_err("systemd cannot be told").to_string();
    assert_eq!(
        error,
        "systemd: the system bus: connecting: failed to connect to `unix:path=/nonexistent/bus`: No such file or directory (os error 2); \
         systemctl: daemon-reload: No such file or directory (os error 2)"
    );
    assert!(!is_refused(&node.root));
    assert_eq!(node.drop_ins(), [""; 0]);
}

#[test]
fn a_drop_in_that_cannot_be_removed_is_an_error_and_the_others_are_gone() {
    let node = refused(Behaviour::default());
    let stuck = node.path("run/systemd/system/crio.service.d/50-skewguard.conf");
    std::fs::remove_file(&stuck).expect("removed");
    std::fs::create_dir(&stuck).expect("a directory in the way");
    let error = release(&node.root, Some(&node.systemd)).expect_err("it is left").to_string();
    assert!(error.starts_with("/run/systemd/system/crio.service.d/50-skewguard.conf: "), "{error}");
    assert_eq!(node.drop_ins(), ["crio.service"]);
    // Asked again, it is still there, and still not "nothing to let through".
    assert!(release(&node.root, Some(&node.systemd)).is_err());
}

#[test]
fn a_denied_start_is_an_error() {
    let node = refused(Behaviour { deny_start: true, ..Behaviour::default() });
    assert!(release(&node.root, Some(&node.systemd)).expect("released"));
    let error = resume(&node.systemd).expect_err("it is denied").to_string();
    assert_eq!(
        error,
        "systemd: StartUnit: org.freedesktop.DBus.Error.AccessDenied: Access to org.freedesktop.systemd1.manage-units denied"
    );
}

#[test]
fn a_start_that_starts_nothing_is_an_error() {
    let node = refused(Behaviour { starts_nothing: true, ..Behaviour::default() });
    assert!(release(&node.root, Some(&node.systemd)).expect("released"));
    let error = resume(&node.systemd).expect_err("no job").to_string();
    assert_eq!(error, "machine-config-daemon-firstboot.service was not started");
    // If the rebase runs or has run, no job is needed.
    let mut units = wiring_b();
    units.insert("machine-config-daemon-firstboot.service".into(), unit("active", &[]));
    let node = Node::new(Bus::start(), units, Behaviour { starts_nothing: true, ..Behaviour::default() });
    resume(&node.systemd).expect("it runs");
}

#[test]
fn a_node_without_a_rebase_goes_on_with_its_kubelet() {
    let mut units = wiring_b();
    units.remove("machine-config-daemon-firstboot.service");
    let node = Node::new(Bus::start(), units, Behaviour::default());
    resume(&node.systemd).expect("the kubelet has a job");
    let node = Node::new(Bus::start(), std::collections::BTreeMap::new(), Behaviour::default());
    assert!(resume(&node.systemd).is_err(), "nothing that could be started");
}

#[test]
fn on_a_rescue_boot_nothing_is_started() {
    for target in ["rescue.target", "emergency.target", "custom.target"] {
        let node = refused(Behaviour { default_target: target.into(), ..Behaviour::default() });
        assert!(release(&node.root, Some(&node.systemd)).expect("released"));
        let error = resume(&node.systemd).expect_err("it is not the usual target").to_string();
        assert_eq!(error, format!("default.target is {target}, so nothing was started"));
        assert!(!node.calls().iter().any(|call| call.starts_with("StartUnit")), "{:?}", node.calls());
    }
    let node = refused(Behaviour { default_target: "graphical.target".into(), ..Behaviour::default() });
    assert!(release(&node.root, Some(&node.systemd)).expect("released"));
    resume(&node.systemd).expect("graphical.target wants multi-user.target");
}

#[test]
fn a_start_of_ours_that_has_begun_is_waited_for() {
    let calls = |ends_at| {
        let mut units = wiring_b();
        units.insert("skewguard.service".into(), unit("activating", &[]));
        let node = Node::new(Bus::start(), units, Behaviour { ends_at, ..Behaviour::default() });
        resume(&node.systemd).expect("resumed");
        node.calls()
    };
    assert_eq!(calls(2), ["skewguard.service has ended", "StartUnit default.target replace"]);
    // If it never ends, the boot is started nevertheless.
    assert_eq!(calls(usize::MAX), ["StartUnit default.target replace"]);
}

#[test]
fn a_refused_node_is_let_through_without_a_bus() {
    let node = Node::without_bus("unix:path=/nonexistent/bus".into(), Behaviour::default());
    assert!(hold(&node.root, Some(&node.systemd)).held);
    assert!(release(&node.root, Some(&node.systemd)).expect("released"));
    resume(&node.systemd).expect("resumed");
    assert_eq!(node.calls().last().map(String::as_str), Some("systemctl start default.target"));
}
