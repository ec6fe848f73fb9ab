//! Letting a refused node through.

use crate::gate::{self, GateError, Released, Systemd, clear, go_on, hold, is_refused, resume};
use crate::inside::dbus::bus::Bus;
use crate::inside::dbus::node::{Node, unit, wiring_b};
use crate::inside::dbus::systemd1::{Behaviour, Unit};
use crate::node::{ENCAPSULATED_PATH, OVERRIDE_PATH, Root, STAMP_PATH};

const REBASE: &str = "machine-config-daemon-firstboot.service";

/// Lets the node through, and nothing is in doubt. Whether there was anything to do.
fn release(root: &Root, systemd: Option<&Systemd>) -> Result<bool, GateError> {
    match gate::release(root, systemd)? {
        Released::NothingToDo => Ok(false),
        Released::Done { doubt } => {
            assert_eq!(doubt, None);
            Ok(true)
        }
    }
}

fn refused(behaviour: Behaviour) -> Node {
    let node = Node::with(behaviour);
    node.root
        .write(ENCAPSULATED_PATH, b"{}", 0o644)
        .expect("written");
    assert!(hold(&node.root, Some(&node.systemd)).held);
    let mut model = node.model();
    model.calls.clear();
    model.unsafe_moments.clear();
    drop(model);
    node
}

/// Expects that the node was let through, and that at no moment a kubelet could have been started
/// on the old OS.
fn assert_let_through(node: &Node) {
    assert!(!is_refused(&node.root));
    let model = node.model();
    assert_eq!(model.unsafe_moments, [""; 0]);
    for name in [
        "kubelet.service",
        "crio.service",
        "kubelet-dependencies.target",
        "ovs-configuration.service",
    ] {
        let unit = &model.units[name];
        assert_eq!(unit.requires, ["sysinit.target", REBASE], "{name}");
        assert_eq!(unit.after, [REBASE], "{name}");
    }
    for name in ["machine-config-daemon-pull.service", REBASE] {
        assert_eq!(model.units[name].requires, ["sysinit.target"], "{name}");
    }
}

#[test]
fn the_rebase_is_free_what_comes_after_it_requires_it_then_one_transaction() {
    let node = refused(Behaviour::default());
    assert!(release(&node.root, Some(&node.systemd)).expect("released"));
    assert_eq!(
        std::fs::read_to_string(node.path("run/skewguard/override")).expect("an override"),
        "warn\n"
    );
    let left = node.drop_ins();
    assert!(
        !left.contains(&REBASE.to_owned()) && left.contains(&"kubelet.service".to_owned()),
        "{left:?}"
    );
    assert_let_through(&node);

    resume(&node.systemd).expect("resumed");
    let calls = node.calls();
    // The stamp goes when systemd has read what is in the place of the hold.
    assert_eq!(calls.first().map(String::as_str), Some("Reload [stamp]"));
    assert_eq!(
        calls.last().map(String::as_str),
        Some("StartUnit default.target replace")
    );
    let starts: Vec<&String> = calls
        .iter()
        .filter(|call| call.starts_with("StartUnit"))
        .collect();
    assert_eq!(
        starts.len(),
        1,
        "the kubelet alone would join on the old OS: {calls:?}"
    );
    for unit in [
        "kubelet.service",
        "machine-config-daemon-firstboot.service",
        "ovs-configuration.service",
        "skewguard.service",
    ] {
        assert!(
            calls.contains(&format!("ResetFailedUnit {unit}")),
            "{unit}: {calls:?}"
        );
    }
    assert_let_through(&node);
}

/// Asked again, it goes on from whatever was left, and never says that there is nothing to let
/// through.
fn assert_completed(node: &Node) {
    node.model().behaviour = Behaviour::default();
    for _ in 0..2 {
        assert!(release(&node.root, Some(&node.systemd)).expect("released"));
        assert_let_through(node);
        resume(&node.systemd).expect("resumed");
    }
    let calls = node.calls();
    assert_eq!(
        calls.last().map(String::as_str),
        Some("StartUnit default.target replace")
    );
}

#[test]
fn what_was_begun_is_completed_wherever_it_ended() {
    // Before anything but the override was written.
    let node = refused(Behaviour::default());
    node.root
        .write(OVERRIDE_PATH, b"warn\n", 0o644)
        .expect("written");
    assert_completed(&node);
    // Half of the files were written.
    let node = refused(Behaviour::default());
    let stuck = node.path("run/systemd/system/crio.service.d/50-skewguard.conf");
    std::fs::remove_file(&stuck).expect("removed");
    std::fs::create_dir(&stuck).expect("a directory in the way");
    let error = release(&node.root, Some(&node.systemd))
        .expect_err("it is in the way")
        .to_string();
    assert!(
        error.starts_with("/run/systemd/system/crio.service.d/50-skewguard.conf: "),
        "{error}"
    );
    assert!(is_refused(&node.root), "nothing is lifted");
    std::fs::remove_dir(&stuck).expect("removed");
    assert_completed(&node);
    // systemd did not read them, or only said so.
    for behaviour in [
        Behaviour {
            deny_reload: true,
            ..Behaviour::default()
        },
        Behaviour {
            ignore_drop_ins: true,
            ..Behaviour::default()
        },
    ] {
        let node = refused(Behaviour::default());
        node.model().behaviour = behaviour;
        release(&node.root, Some(&node.systemd)).expect_err("not read");
        assert!(is_refused(&node.root), "nothing is lifted");
        assert_completed(&node);
    }
    // The stamp was still there.
    let node = refused(Behaviour::default());
    assert!(release(&node.root, Some(&node.systemd)).expect("released"));
    node.root.write(STAMP_PATH, b"", 0o644).expect("written");
    assert_completed(&node);
    // Nothing was started.
    let node = refused(Behaviour::default());
    assert!(release(&node.root, Some(&node.systemd)).expect("released"));
    assert_completed(&node);
    // The first boot is over.
    node.root.remove(ENCAPSULATED_PATH).expect("removed");
    assert!(!release(&node.root, Some(&node.systemd)).expect("nothing to do"));
}

#[test]
fn a_rebase_that_systemd_still_holds_is_an_error() {
    let node = refused(Behaviour::default());
    // As by a drop-in of somebody else.
    node.root
        .write(
            "/run/systemd/system/machine-config-daemon-firstboot.service.d/60-theirs.conf",
            b"[Unit]\nRequires=skewguard.service\nAfter=skewguard.service\n",
            0o644,
        )
        .expect("written");
    let error = release(&node.root, Some(&node.systemd))
        .expect_err("still held")
        .to_string();
    assert_eq!(
        error,
        "machine-config-daemon-firstboot.service is still held"
    );
    assert!(is_refused(&node.root));
}

#[test]
fn a_drop_in_of_an_admin_in_place_of_ours_is_named() {
    let node = refused(Behaviour::default());
    let path = "/etc/systemd/system/kubelet.service.d/50-skewguard.conf";
    node.root.write(path, b"[Unit]\n", 0o644).expect("written");
    let error = release(&node.root, Some(&node.systemd)).expect_err("it would start first");
    assert_eq!(
        error.to_string(),
        format!(
            "kubelet.service would start without the OS update: {path} replaces the drop-in of skewguard; \
             to change that, remove it"
        )
    );
    assert!(is_refused(&node.root));
    node.root.remove(path).expect("removed");
    assert!(release(&node.root, Some(&node.systemd)).expect("released"));
    assert!(!is_refused(&node.root));
}

#[test]
fn without_a_rebase_nothing_is_left_that_would_require_it() {
    let mut units = wiring_b();
    units.remove(REBASE);
    let node = Node::new(Bus::start(), units, Behaviour::default());
    assert!(hold(&node.root, Some(&node.systemd)).held);
    assert!(release(&node.root, Some(&node.systemd)).expect("released"));
    assert!(!is_refused(&node.root));
    assert_eq!(node.drop_ins(), [""; 0]);
}

#[test]
fn drop_ins_of_others_stay() {
    let node = refused(Behaviour::default());
    let theirs = "/run/systemd/system/kubelet.service.d/10-theirs.conf";
    node.root
        .write(theirs, b"[Unit]\n", 0o644)
        .expect("written");
    assert!(release(&node.root, Some(&node.systemd)).expect("released"));
    assert!(node.path(&theirs[1..]).exists());
    assert!(
        !node
            .path("run/systemd/system/machine-config-daemon-pull.service.d")
            .exists(),
        "no empty directory of ours"
    );
}

#[test]
fn a_node_that_is_not_refused_is_not_touched_and_no_bus_is_opened() {
    let node = Node::alone("unix:path=/nonexistent/bus".into());
    assert!(!release(&node.root, Some(&node.systemd)).expect("nothing to do"));
    assert_eq!(
        std::fs::read_dir(node.dir.path())
            .expect("the root")
            .count(),
        0
    );
}

#[test]
fn without_the_override_nothing_is_lifted() {
    let node = refused(Behaviour::default());
    std::fs::create_dir(node.path("run/skewguard/override")).expect("a directory in the way");
    let error = release(&node.root, Some(&node.systemd))
        .expect_err("it cannot be written")
        .to_string();
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
    let requires = node.model().units["kubelet.service"].requires.clone();
    assert_eq!(requires, ["sysinit.target", REBASE]);
}

#[test]
fn systemd_out_of_reach_is_an_error_and_nothing_is_lifted() {
    let node = refused(Behaviour::default());
    let mut gone = node.systemd.clone();
    gone.bus = "unix:path=/nonexistent/bus".into();
    let error = release(&node.root, Some(&gone))
        .expect_err("systemd cannot be told")
        .to_string();
    assert_eq!(
        error,
        format!(
            "systemd: its own socket: connecting: I/O error: No such file or directory (os error 2); the system bus: connecting: \
             failed to connect to `unix:path=/nonexistent/bus`: No such file or directory (os error 2)"
        )
    );
    assert!(is_refused(&node.root));
    assert!(node.drop_ins().contains(&REBASE.to_owned()));
    assert_completed(&node);
}

#[test]
fn a_denied_start_is_an_error() {
    let node = refused(Behaviour {
        deny_start: true,
        ..Behaviour::default()
    });
    assert!(release(&node.root, Some(&node.systemd)).expect("released"));
    let error = resume(&node.systemd).expect_err("it is denied").to_string();
    assert_eq!(
        error,
        "systemd: StartUnit: org.freedesktop.DBus.Error.AccessDenied: Access to org.freedesktop.systemd1.manage-units denied"
    );
}

#[test]
fn a_start_that_starts_nothing_is_an_error() {
    let node = refused(Behaviour {
        starts_nothing: true,
        ..Behaviour::default()
    });
    assert!(release(&node.root, Some(&node.systemd)).expect("released"));
    let error = resume(&node.systemd).expect_err("no job").to_string();
    assert_eq!(
        error,
        "machine-config-daemon-firstboot.service was not started"
    );
    // If the rebase runs or has run, no job is needed.
    let mut units = wiring_b();
    units.insert(
        "machine-config-daemon-firstboot.service".into(),
        unit("active", &[]),
    );
    let node = Node::new(
        Bus::start(),
        units,
        Behaviour {
            starts_nothing: true,
            ..Behaviour::default()
        },
    );
    resume(&node.systemd).expect("it runs");
}

#[test]
fn a_node_without_a_rebase_goes_on_with_its_kubelet() {
    let mut units = wiring_b();
    units.remove("machine-config-daemon-firstboot.service");
    let node = Node::new(Bus::start(), units, Behaviour::default());
    resume(&node.systemd).expect("the kubelet has a job");
    let node = Node::new(
        Bus::start(),
        std::collections::BTreeMap::new(),
        Behaviour::default(),
    );
    assert!(
        resume(&node.systemd).is_err(),
        "nothing that could be started"
    );
}

#[test]
fn on_a_rescue_boot_nothing_is_started() {
    for target in ["rescue.target", "emergency.target", "custom.target"] {
        let node = refused(Behaviour {
            default_target: target.into(),
            ..Behaviour::default()
        });
        assert!(release(&node.root, Some(&node.systemd)).expect("released"));
        let error = resume(&node.systemd)
            .expect_err("it is not the usual target")
            .to_string();
        assert_eq!(
            error,
            format!("default.target is {target}, so nothing was started")
        );
        assert!(
            !node
                .calls()
                .iter()
                .any(|call| call.starts_with("StartUnit")),
            "{:?}",
            node.calls()
        );
    }
    let node = refused(Behaviour {
        default_target: "graphical.target".into(),
        ..Behaviour::default()
    });
    assert!(release(&node.root, Some(&node.systemd)).expect("released"));
    resume(&node.systemd).expect("graphical.target wants multi-user.target");
}

/// `systemd.unit=rescue.target` and `systemctl rescue` leave `default.target` as it is.
#[test]
fn in_rescue_and_emergency_nothing_is_started_however_they_were_entered() {
    for (target, active, has_job) in [
        ("rescue.target", "active", false),
        ("emergency.target", "active", false),
        ("emergency.target", "inactive", true),
    ] {
        let node = refused(Behaviour::default());
        assert!(release(&node.root, Some(&node.systemd)).expect("released"));
        let state = Unit {
            has_job,
            ..unit(active, &[])
        };
        node.model().units.insert(target.into(), state);
        for start in [resume, go_on] {
            let error = start(&node.systemd).expect_err("somebody works there alone");
            let said = format!("{target} is up, so nothing was started");
            assert_eq!(error.to_string(), said);
        }
        let calls = node.calls();
        assert!(
            !calls.iter().any(|call| call.starts_with("StartUnit")),
            "{calls:?}"
        );
    }
}

#[test]
fn a_boot_that_lost_its_jobs_goes_on_and_changes_nothing_that_is_queued() {
    let node = refused(Behaviour::default());
    node.root.remove("/run/skewguard/refused").expect("removed");
    assert!(clear(&node.root, Some(&node.systemd)).expect("cleared"));
    go_on(&node.systemd).expect("it goes on");
    let calls = node.calls();
    assert_eq!(
        calls.last().map(String::as_str),
        Some("StartUnit default.target fail")
    );
}

#[test]
fn a_start_of_ours_that_has_begun_is_waited_for() {
    let calls = |ends_at| {
        let mut units = wiring_b();
        units.insert("skewguard.service".into(), unit("activating", &[]));
        let node = Node::new(
            Bus::start(),
            units,
            Behaviour {
                ends_at,
                ..Behaviour::default()
            },
        );
        resume(&node.systemd).expect("resumed");
        node.calls()
    };
    assert_eq!(
        calls(2),
        [
            "skewguard.service has ended",
            "StartUnit default.target replace"
        ]
    );
    // If it never ends, the boot is started nevertheless.
    assert_eq!(calls(usize::MAX), ["StartUnit default.target replace"]);
}

#[test]
fn a_refused_node_is_let_through_without_a_bus() {
    let node = Node::without_bus("unix:path=/nonexistent/bus".into(), Behaviour::default());
    assert!(hold(&node.root, Some(&node.systemd)).held);
    assert!(release(&node.root, Some(&node.systemd)).expect("released"));
    resume(&node.systemd).expect("resumed");
    assert_eq!(
        node.calls().last().map(String::as_str),
        Some("StartUnit default.target replace")
    );
}

/// A unit that is only ordered after the rebase.
const ADMINS: &str = "ovs-configuration.service";

/// What is said of a node that was let through.
fn doubt(node: &Node) -> String {
    match gate::release(&node.root, Some(&node.systemd)).expect("released") {
        Released::Done { doubt } => doubt.expect("a doubt"),
        Released::NothingToDo => panic!("there is something to do"),
    }
}

#[test]
fn a_unit_that_is_only_ordered_after_the_rebase_does_not_keep_a_node() {
    // An admin's drop-in in the place of ours.
    let node = refused(Behaviour::default());
    let path = format!("/etc/systemd/system/{ADMINS}.d/50-skewguard.conf");
    node.root.write(&path, b"[Unit]\n", 0o644).expect("written");
    assert_eq!(
        doubt(&node),
        format!(
            "{ADMINS} would start without the OS update: {path} replaces the drop-in of skewguard; \
             to change that, remove it"
        )
    );
    assert!(!is_refused(&node.root));
    resume(&node.systemd).expect("resumed");
    // Something in the way of ours.
    let node = refused(Behaviour::default());
    let folder = node.path(&format!("run/systemd/system/{ADMINS}.d"));
    std::fs::remove_dir_all(&folder).expect("removed");
    std::fs::create_dir_all(folder.join("50-skewguard.conf/x")).expect("in the way");
    let said = doubt(&node);
    assert!(
        said.starts_with(&format!(
            "/run/systemd/system/{ADMINS}.d/50-skewguard.conf: "
        )),
        "{said}"
    );
    assert!(!is_refused(&node.root));
    // systemd says nothing of it.
    let mut node = refused(Behaviour::default());
    node.systemd.answer = std::time::Duration::from_millis(300);
    node.systemd1
        .as_ref()
        .expect("a systemd")
        .model()
        .behaviour
        .silent = vec![ADMINS];
    assert_eq!(
        doubt(&node),
        format!(
            "systemd does not say whether these are held: {ADMINS} (properties of {ADMINS}: no answer in time)"
        )
    );
    assert!(!is_refused(&node.root));
}
