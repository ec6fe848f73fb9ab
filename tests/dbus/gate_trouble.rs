//! Holding a node while something fails: an incomplete hold must hold nothing.

use crate::gate::{Released, clear, hold, release};
use crate::inside::dbus::bus::Bus;
use crate::inside::dbus::node::{Node, unit, wiring_b};
use crate::inside::dbus::systemd1::Behaviour;
use nix::sys::signal::Signal;
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
    let node = Node::alone("unix:path=/nonexistent/bus".into()).impatient();
    assert_let_go(
        &node,
        "systemd: its own socket: connecting: I/O error: No such file or directory (os error 2); the system bus: connecting: \
         failed to connect to `unix:path=/nonexistent/bus`: No such file or directory (os error 2)",
    );
    assert!(
        !node.path("run/systemd").exists(),
        "nothing was written before systemd was reached"
    );
}

/// Expects that the node is not held because systemd cannot be reached, and that the error says
/// `bus` of the bus.
fn assert_lost(node: &Node, bus: &str) {
    let status = hold(&node.root, Some(&node.systemd));
    assert!(!status.held && !node.is_stamped());
    assert_eq!(node.drop_ins(), [""; 0]);
    let error = status.error.expect("an error");
    let socket =
        "systemd: its own socket: connecting: I/O error: No such file or directory (os error 2); ";
    assert!(
        error.starts_with(&format!("{socket}the system bus: {bus}")),
        "{error}"
    );
}

/// A socket that takes connections and never speaks.
fn mute(dir: &tempfile::TempDir) -> (UnixListener, String) {
    let socket = dir.path().join("bus");
    (
        UnixListener::bind(&socket).expect("bound"),
        format!("unix:path={}", socket.display()),
    )
}

#[test]
fn a_bus_that_never_speaks() {
    let dir = tempfile::tempdir().expect("a directory");
    let (_mute, address) = mute(&dir);
    assert_lost(
        &Node::alone(address).impatient(),
        "connecting: no answer in time",
    );
}

#[test]
fn a_bus_without_systemd() {
    let why = "properties of machine-config-daemon-pull.service: org.freedesktop.DBus.Error.ServiceUnknown: \
               The name org.freedesktop.systemd1 was not provided by any .service files";
    assert_lost(&Node::on(Bus::start()).impatient(), why);
}

#[test]
fn a_bus_that_lets_nobody_speak_to_systemd() {
    let bus = Bus::with_rules(r#"<deny send_destination="org.freedesktop.systemd1"/>"#);
    let node = Node::new(bus, wiring_b(), Behaviour::default());
    let status = hold(&node.root, Some(&node.systemd));
    assert!(!status.held && !node.is_stamped());
    let error = status.error.expect("an error");
    assert!(
        error.starts_with(
            "systemd: properties of machine-config-daemon-pull.service: org.freedesktop.DBus.Error.AccessDenied: Rejected send message"
        ),
        "{error}"
    );
}

#[test]
fn reload_denied_and_no_other_way() {
    let node = Node::with(Behaviour {
        deny_reload: true,
        ..Behaviour::default()
    });
    let why = "org.freedesktop.DBus.Error.AccessDenied: Access to org.freedesktop.systemd1.reload-daemon denied";
    assert_let_go(&node, &format!("systemd: Reload: {why}"));
}

#[test]
fn reload_that_never_ends() {
    let node = Node::with(Behaviour {
        hang_reload: true,
        ..Behaviour::default()
    })
    .impatient();
    assert_lost(&node, "Reload: no answer in time");
}

#[test]
fn a_systemd_slower_than_the_boot_can_wait() {
    let node = Node::with(Behaviour {
        delay: Duration::from_millis(2000),
        ..Behaviour::default()
    })
    .impatient();
    assert_lost(&node, "");
}

#[test]
fn a_systemd_that_only_says_it_reloaded() {
    let node = Node::with(Behaviour {
        ignore_drop_ins: true,
        ..Behaviour::default()
    });
    assert_let_go(
        &node,
        "machine-config-daemon-pull.service is not held: its Requires does not name skewguard.service",
    );
}

#[test]
fn a_systemd_that_takes_half_of_the_drop_in() {
    let node = Node::with(Behaviour {
        ignore_after: true,
        ..Behaviour::default()
    });
    assert_let_go(
        &node,
        "machine-config-daemon-pull.service is not held: its After does not name skewguard.service",
    );
}

#[test]
fn a_systemd_whose_answers_have_other_types() {
    let node = Node::with(Behaviour {
        wrong_types: true,
        ..Behaviour::default()
    });
    let status = hold(&node.root, Some(&node.systemd));
    assert!(!status.held && !node.is_stamped());
    assert_eq!(node.drop_ins(), [""; 0]);
    let error = status.error.expect("an error");
    assert!(
        error.starts_with("systemd: Requires of machine-config-daemon-pull.service: "),
        "{error}"
    );
}

/// Expects that a node whose running kubelet cannot be stopped is held, and that the error says
/// what still runs.
fn assert_held_beside_a_kubelet(behaviour: Behaviour, error: &str) {
    let mut units = wiring_b();
    units.insert("kubelet.service".into(), unit("active", &[]));
    let node = Node::new(Bus::start(), units, behaviour).impatient();
    let path = "/etc/systemd/system/ovs-configuration.service.d/50-skewguard.conf";
    node.root.write(path, b"[Unit]\n", 0o644).expect("written");
    let status = hold(&node.root, Some(&node.systemd));
    assert!(status.held && node.is_stamped());
    let said = status.error.expect("it is said");
    // And so is what else is in doubt.
    assert!(
        said.contains("; ovs-configuration.service is not held: "),
        "{said}"
    );
    let why = said.strip_prefix("kubelet.service may still run: systemd: ");
    assert!(why.is_some_and(|why| why.contains(error)), "{said}");
    assert!(node.drop_ins().contains(&"kubelet.service".to_owned()));
}

#[test]
fn a_rebase_that_has_begun_is_not_interrupted_and_nothing_is_held() {
    for active in ["activating", "active", "deactivating"] {
        let mut units = wiring_b();
        units.insert(
            "machine-config-daemon-firstboot.service".into(),
            unit(active, &[]),
        );
        let node = Node::new(Bus::start(), units, Behaviour::default());
        assert_let_go(
            &node,
            "machine-config-daemon-firstboot.service has begun and is not interrupted",
        );
        assert_eq!(node.calls(), [""; 0], "{active}");
    }
}

#[test]
fn a_decision_that_ended_in_the_middle_leaves_nothing_behind() {
    let node = Node::with(Behaviour::default());
    assert!(hold(&node.root, Some(&node.systemd)).held);
    assert!(!clear(&node.root, Some(&node.systemd)).expect("a refusal is left alone"));
    assert!(node.is_stamped() && !node.drop_ins().is_empty());
    // As it is before the stamp is written.
    node.root.remove("/run/skewguard/refused").expect("removed");
    assert!(clear(&node.root, Some(&node.systemd)).expect("cleared"));
    assert_eq!(node.drop_ins(), [""; 0]);
    assert_eq!(node.calls(), ["Reload", "Reload"]);
    assert!(!clear(&node.root, Some(&node.systemd)).expect("nothing to do"));
    assert_eq!(node.calls().len(), 2);
    // What holds nothing, because the node was let through, stays as long as there may be a rebase.
    let config = node.path("etc/ignition-machine-config-encapsulated.json");
    std::fs::create_dir_all(config.parent().expect("a folder")).expect("made");
    std::fs::write(&config, "{}").expect("written");
    assert!(hold(&node.root, Some(&node.systemd)).held);
    let released = release(&node.root, Some(&node.systemd)).expect("released");
    assert_eq!(released, Released::Done { doubt: None });
    assert!(!clear(&node.root, Some(&node.systemd)).expect("nothing to do"));
    assert!(node.drop_ins().contains(&"kubelet.service".to_owned()));
    // Renamed: there was one, and the reboot is to come. Removed: there was nothing to rebase.
    let renamed = config.with_extension("json.bak");
    std::fs::rename(&config, &renamed).expect("renamed");
    assert!(!clear(&node.root, Some(&node.systemd)).expect("nothing to do"));
    std::fs::remove_file(&renamed).expect("removed");
    assert!(clear(&node.root, Some(&node.systemd)).expect("cleared"));
    assert_eq!(node.drop_ins(), [""; 0]);
    let kubelet = node.model().units.get("kubelet.service").cloned();
    let requires = kubelet.expect("a kubelet").requires;
    assert!(
        !requires.iter().any(|unit| unit.contains("machine-config")),
        "{requires:?}"
    );
}

#[test]
fn what_runs_and_may_not_be_stopped() {
    let why = "StopUnit: org.freedesktop.DBus.Error.AccessDenied: Access to org.freedesktop.systemd1.manage-units denied";
    assert_held_beside_a_kubelet(
        Behaviour {
            deny_stop: true,
            ..Behaviour::default()
        },
        why,
    );
}

#[test]
fn what_runs_and_does_not_stop() {
    assert_held_beside_a_kubelet(
        Behaviour {
            never_stops: true,
            ..Behaviour::default()
        },
        "the system bus: ",
    );
}

#[test]
fn a_stop_that_is_never_answered() {
    assert_held_beside_a_kubelet(
        Behaviour {
            hang_stop: true,
            ..Behaviour::default()
        },
        "the system bus: StopUnit: no answer in time",
    );
}

#[test]
fn a_bus_that_is_lost_once_everything_is_verified() {
    let kill = Some(("StopUnit", Signal::SIGKILL));
    assert_held_beside_a_kubelet(
        Behaviour {
            signal_bus: kill,
            never_stops: true,
            ..Behaviour::default()
        },
        "the system bus: ",
    );
}

#[test]
fn a_drop_in_that_cannot_be_written_takes_the_others_back() {
    let node = Node::with(Behaviour::default());
    node.root
        .write(
            "/run/systemd/system/kubelet.service.d",
            b"a file where a directory should be",
            0o644,
        )
        .expect("written");
    assert_let_go(
        &node,
        "/run/systemd/system/kubelet.service.d/50-skewguard.conf: Not a directory (os error 20)",
    );
    assert_eq!(node.calls(), [""; 0], "systemd never came to read them");
    let left = std::fs::read_dir(node.path("run/systemd/system"))
        .expect("a directory")
        .count();
    assert_eq!(left, 1, "no empty directory of ours stays");
}

#[test]
fn a_stamp_that_cannot_be_written_takes_everything_back() {
    let node = Node::with(Behaviour::default());
    node.root
        .write(
            "/run/skewguard",
            b"a file where a directory should be",
            0o644,
        )
        .expect("written");
    assert_let_go(
        &node,
        "/run/skewguard/refused: Not a directory (os error 20)",
    );
    assert_eq!(
        node.calls(),
        ["Reload", "Reload"],
        "systemd is told that the drop-ins are gone"
    );
}

#[test]
fn a_boot_that_is_refused_stays_refused_when_systemd_is_gone() {
    let node = Node::with(Behaviour::default());
    assert!(hold(&node.root, Some(&node.systemd)).held);
    let before = node.drop_ins();
    let mut gone = node.systemd.clone();
    gone.bus = "unix:path=/nonexistent/bus".into();
    let status = hold(&node.root, Some(&gone));
    assert!(status.held);
    let error = status.error.expect("it is said");
    assert!(
        error.starts_with(
            "an earlier run held the node, this one could not make sure: systemd: its own socket: "
        ),
        "{error}"
    );
    assert!(node.is_stamped());
    assert_eq!(node.drop_ins(), before);
}

/// Expects that the node is held although the bus fails, or systemd for a moment.
fn assert_held(node: &Node) {
    let status = hold(&node.root, Some(&node.systemd));
    assert_eq!((status.held, status.error), (true, None));
    assert_eq!(status.units.len(), 8);
    assert!(node.is_stamped());
}

#[test]
fn without_a_bus_its_own_socket_will_do() {
    assert_held(&Node::without_bus(
        "unix:path=/nonexistent/bus".into(),
        Behaviour::default(),
    ));
}

#[test]
fn beside_a_bus_that_hangs_its_own_socket_will_do() {
    let dir = tempfile::tempdir().expect("a directory");
    let (_mute, address) = mute(&dir);
    assert_held(&Node::without_bus(address, Behaviour::default()).impatient());

    let bus = Bus::start();
    bus.hang();
    let node = Node::without_bus(bus.address.clone(), Behaviour::default()).impatient();
    assert_held(&node);
}

#[test]
fn a_bus_that_dies_or_hangs_in_the_middle_loses_nothing() {
    for signal in [Signal::SIGKILL, Signal::SIGSTOP] {
        for at in [
            "GetAll machine-config-daemon-pull.service",
            "GetAll kubelet.service",
            "Reload",
        ] {
            let behaviour = Behaviour {
                private: true,
                signal_bus: Some((at, signal)),
                ..Behaviour::default()
            };
            let mut node = Node::new(Bus::start(), wiring_b(), behaviour).impatient();
            node.systemd.whole = Duration::from_secs(20);
            assert_held(&node);
        }
    }
}

#[test]
fn a_systemd_that_executes_itself_anew_is_waited_for() {
    for at in ["GetAll firstboot-osupdate.target", "Reload"] {
        let behaviour = Behaviour {
            private: true,
            break_at: Some(at),
            ..Behaviour::default()
        };
        assert_held(&Node::new(Bus::start(), wiring_b(), behaviour));
        // Also on the bus alone.
        assert_held(&Node::new(
            Bus::start(),
            wiring_b(),
            Behaviour {
                break_at: Some(at),
                ..Behaviour::default()
            },
        ));
    }
}

#[test]
fn a_reload_slower_than_one_answer_is_not_asked_for_twice() {
    let mut node = Node::with(Behaviour {
        delay: Duration::from_millis(400),
        slow_reload: Duration::from_secs(2),
        ..Behaviour::default()
    });
    node.systemd.answer = Duration::from_secs(1);
    node.systemd.reload = Duration::from_secs(1);
    assert_held(&node);
    assert_eq!(node.calls(), ["Reload"]);
}

/// The connection breaks when the units that are always held are verified already, as when systemd
/// executes itself anew just then: what is in doubt is asked once more.
#[test]
fn a_connection_that_breaks_after_the_hold_leaves_no_doubt() {
    for private in [true, false] {
        let node = Node::with(Behaviour {
            private,
            ..Behaviour::default()
        });
        let first = hold(&node.root, Some(&node.systemd));
        assert_eq!((first.held, first.error), (true, None));
        node.model().behaviour = Behaviour {
            break_at: Some("GetAll ovs-configuration.service"),
            delay: Duration::from_millis(50),
            ..Behaviour::default()
        };
        let again = hold(&node.root, Some(&node.systemd));
        assert_eq!((again.held, again.error), (true, None));
        assert_eq!(again.units, first.units);
        // It has broken, and nothing was done again.
        assert_eq!(node.model().behaviour.break_at, None);
        assert_eq!(node.calls(), ["Reload"]);
    }
}

/// If it breaks whenever these are asked about, the hold stands with a doubt.
#[test]
fn a_connection_that_always_breaks_after_the_hold_is_a_doubt() {
    let node = Node::with(Behaviour {
        private: true,
        ..Behaviour::default()
    });
    assert!(hold(&node.root, Some(&node.systemd)).held);
    node.model().behaviour = Behaviour {
        break_at: Some("GetAll ovs-configuration.service"),
        breaks_again: true,
        delay: Duration::from_millis(50),
        ..Behaviour::default()
    };
    let again = hold(&node.root, Some(&node.systemd));
    assert!(again.held && node.is_stamped());
    let error = again.error.expect("a doubt");
    assert!(
        error.starts_with("systemd does not say whether these are held: ")
            && error.contains("ovs-configuration.service"),
        "{error}"
    );
}
