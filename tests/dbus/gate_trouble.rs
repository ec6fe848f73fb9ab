//! Holding a node, with everything in the way that can be: a hold that is not complete must hold nothing.

use crate::bus::Bus;
use crate::node::{Node, unit, wiring_b};
use crate::systemd1::Behaviour;
use skewguard::gate::hold;
use std::os::unix::net::UnixListener;
use std::time::Duration;

/// Expects that the node is not held, why, and that nothing of the attempt is left.
fn assert_let_go(node: &Node, error: &str) {
    let status = hold(&node.root, Some(&node.systemd));
    assert!(!status.held);
    assert_eq!(status.error.as_deref(), Some(error));
    assert_eq!(status.units, [""; 0]);
    assert!(!node.is_stamped());
    assert_eq!(node.drop_ins(), [""; 0]);
}

#[test]
fn no_bus_at_all() {
    let node = Node::alone("unix:path=/nonexistent/bus".into());
    assert_let_go(
        &node,
        "systemd: the system bus: failed to connect to `unix:path=/nonexistent/bus`: No such file or directory (os error 2)",
    );
    assert!(!node.path("run/systemd").exists(), "nothing was written before systemd was reached");
}

#[test]
fn a_bus_that_never_speaks() {
    let dir = tempfile::tempdir().expect("a directory");
    let socket = dir.path().join("bus");
    let _mute = UnixListener::bind(&socket).expect("bound");
    let node = Node::alone(format!("unix:path={}", socket.display())).impatient();
    assert_let_go(&node, "systemd: the system bus: no answer in time");
}

#[test]
fn a_bus_without_systemd() {
    let node = Node::on(Bus::start()).impatient();
    assert_let_go(
        &node,
        "systemd: systemd on the system bus: org.freedesktop.DBus.Error.ServiceUnknown: \
         The name org.freedesktop.systemd1 was not provided by any .service files",
    );
}

#[test]
fn a_bus_that_lets_nobody_speak_to_systemd() {
    let bus = Bus::with_rules(r#"<deny send_destination="org.freedesktop.systemd1"/>"#);
    let node = Node::new(bus, wiring_b(), Behaviour::default());
    let status = hold(&node.root, Some(&node.systemd));
    assert!(!status.held && !node.is_stamped());
    let error = status.error.expect("an error");
    assert!(
        error.starts_with("systemd: systemd on the system bus: org.freedesktop.DBus.Error.AccessDenied: Rejected send message"),
        "{error}"
    );
}

#[test]
fn reload_denied_and_no_systemctl() {
    let node = Node::with(Behaviour { deny_reload: true, ..Behaviour::default() });
    assert_let_go(
        &node,
        "systemd: Reload: org.freedesktop.DBus.Error.AccessDenied: Access to org.freedesktop.systemd1.reload-daemon denied; \
         systemctl daemon-reload: No such file or directory (os error 2)",
    );
}

#[test]
fn reload_denied_and_systemctl_fails() {
    let mut node = Node::with(Behaviour { deny_reload: true, ..Behaviour::default() });
    node.install_systemctl(1);
    let status = hold(&node.root, Some(&node.systemd));
    assert!(!status.held && !node.is_stamped());
    assert!(status.error.expect("an error").ends_with("; systemctl daemon-reload: exit status: 1"));
    assert_eq!(node.drop_ins(), [""; 0]);
}

#[test]
fn reload_that_never_ends() {
    let mut node = Node::with(Behaviour { hang_reload: true, ..Behaviour::default() }).impatient();
    node.install_systemctl(0);
    assert_let_go(&node, "systemd: Reload: no answer in time");
    assert_eq!(node.systemctl_log(), "", "a second reload would only wait behind the first");
}

#[test]
fn a_systemd_slower_than_the_boot_can_wait() {
    let node = Node::with(Behaviour { delay: Duration::from_millis(300), ..Behaviour::default() }).impatient();
    let status = hold(&node.root, Some(&node.systemd));
    assert!(!status.held && !node.is_stamped());
    assert!(status.error.expect("an error").ends_with(": no answer in time"));
    assert_eq!(node.drop_ins(), [""; 0]);
}

#[test]
fn a_systemd_that_only_says_it_reloaded() {
    let node = Node::with(Behaviour { ignore_drop_ins: true, ..Behaviour::default() });
    assert_let_go(&node, "machine-config-daemon-pull.service is not held: its Requires does not name skewguard.service");
}

#[test]
fn a_systemd_that_takes_half_of_the_drop_in() {
    let node = Node::with(Behaviour { ignore_after: true, ..Behaviour::default() });
    assert_let_go(&node, "machine-config-daemon-pull.service is not held: its After does not name skewguard.service");
}

#[test]
fn a_systemd_whose_answers_have_other_types() {
    let node = Node::with(Behaviour { wrong_types: true, ..Behaviour::default() });
    let status = hold(&node.root, Some(&node.systemd));
    assert!(!status.held && !node.is_stamped());
    assert_eq!(node.drop_ins(), [""; 0]);
    let error = status.error.expect("an error");
    assert!(error.starts_with("systemd: Requires of machine-config-daemon-pull.service: "), "{error}");
}

#[test]
fn what_runs_and_may_not_be_stopped() {
    let mut units = wiring_b();
    units.insert("kubelet.service".into(), unit("active", &[]));
    let node = Node::new(Bus::start(), units, Behaviour { deny_stop: true, ..Behaviour::default() });
    assert_let_go(
        &node,
        "systemd: StopUnit: org.freedesktop.DBus.Error.AccessDenied: Access to org.freedesktop.systemd1.manage-units denied",
    );
}

#[test]
fn what_runs_and_does_not_stop() {
    let mut units = wiring_b();
    units.insert("kubelet.service".into(), unit("active", &[]));
    let node = Node::new(Bus::start(), units, Behaviour { never_stops: true, ..Behaviour::default() }).impatient();
    assert_let_go(&node, "systemd: StopUnit of kubelet.service: no answer in time");
}

#[test]
fn a_drop_in_that_cannot_be_written_takes_the_others_back() {
    let node = Node::with(Behaviour::default());
    node.root.write("/run/systemd/system/kubelet.service.d", b"a file where a directory should be", 0o644).expect("written");
    assert_let_go(&node, "/run/systemd/system/kubelet.service.d/50-skewguard.conf: Not a directory (os error 20)");
    assert_eq!(node.calls(), [""; 0], "systemd never came to read them");
    let left = std::fs::read_dir(node.path("run/systemd/system")).expect("a directory").count();
    assert_eq!(left, 1, "no empty directory of ours stays");
}

#[test]
fn a_stamp_that_cannot_be_written_takes_everything_back() {
    let mut node = Node::with(Behaviour::default());
    node.install_systemctl(0);
    node.root.write("/run/skewguard", b"a file where a directory should be", 0o644).expect("written");
    assert_let_go(&node, "/run/skewguard/refused: Not a directory (os error 20)");
    assert_eq!(node.systemctl_log(), "daemon-reload\n", "systemd is told that the drop-ins are gone");
}

#[test]
fn a_boot_that_is_refused_stays_refused_when_systemd_is_gone() {
    let node = Node::with(Behaviour::default());
    assert!(hold(&node.root, Some(&node.systemd)).held);
    let before = node.drop_ins();
    let mut gone = node.systemd.clone();
    gone.address = "unix:path=/nonexistent/bus".into();
    let status = hold(&node.root, Some(&gone));
    assert!(status.held);
    let error = status.error.expect("it is said");
    assert!(error.starts_with("an earlier run held the node, this one could not make sure: systemd: the system bus: "), "{error}");
    assert!(node.is_stamped());
    assert_eq!(node.drop_ins(), before);
}
