//! Letting a refused node through.

use crate::node::Node;
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
    gone.address = "unix:path=/nonexistent/bus".into();
    let error = release(&node.root, Some(&gone)).expect_err("systemd cannot be told").to_string();
    assert_eq!(error, "systemd: the system bus: failed to connect to `unix:path=/nonexistent/bus`: No such file or directory (os error 2)");
    assert!(!is_refused(&node.root));
    assert_eq!(node.drop_ins(), [""; 0]);
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
