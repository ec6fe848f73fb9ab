//! What the report asks systemd about a first boot.

use crate::cli::report::first_boot_units;
use crate::inside::dbus::bus::Bus;
use crate::inside::dbus::node::{Node, unit, wiring_b};
use crate::inside::dbus::systemd1::{Behaviour, Unit};
use crate::report::stall::{Phase, Rebase, waits_for};
use std::collections::BTreeMap;
use std::time::Duration;

const PULL: &str = "machine-config-daemon-pull.service";
const FIRSTBOOT: &str = "machine-config-daemon-firstboot.service";
const ONLINE: &str = "network-online.target";
const WAIT_ONLINE: &str = "NetworkManager-wait-online.service";

/// A node whose pull waits for the network.
fn units() -> BTreeMap<String, Unit> {
    let mut units = wiring_b();
    let mut wait = |name: &str, active: &str, after: &[&str]| {
        let unit = Unit {
            has_job: true,
            after: after.iter().map(|&name| name.to_owned()).collect(),
            ..unit(active, &[])
        };
        units.insert(name.to_owned(), unit);
    };
    wait(PULL, "inactive", &[ONLINE]);
    wait(FIRSTBOOT, "inactive", &[PULL]);
    wait(ONLINE, "inactive", &[WAIT_ONLINE]);
    wait(WAIT_ONLINE, "activating", &["NetworkManager.service"]);
    units.insert("NetworkManager.service".to_owned(), unit("active", &[]));
    units
}

fn blocking_unit(node: &Node) -> Option<String> {
    let units = first_boot_units(&node.systemd).expect("systemd answers");
    let waiting = waits_for(&units, Rebase::ToCome).expect("it is asked about all");
    assert_eq!(waiting.phase, Phase::Other);
    waiting.unit.map(|unit| unit.id)
}

#[test]
fn names_the_unit_that_the_pull_waits_for() {
    for private in [true, false] {
        let behaviour = Behaviour {
            private,
            ..Behaviour::default()
        };
        let node = Node::new(Bus::start(), units(), behaviour);
        assert_eq!(blocking_unit(&node).as_deref(), Some(WAIT_ONLINE));
        assert!(node.calls().is_empty(), "it only looks: {:?}", node.calls());
    }
}

#[test]
fn a_pull_that_has_begun_is_shown_with_its_state_and_its_restarts() {
    let mut units = units();
    units.insert(PULL.to_owned(), unit("activating", &[]));
    let node = Node::new(Bus::start(), units, Behaviour::default());
    let units = first_boot_units(&node.systemd).expect("systemd answers");
    let waiting = waits_for(&units, Rebase::ToCome).expect("it is asked about all");
    let pull = waiting.unit.expect("a unit");
    assert_eq!((waiting.phase, pull.id.as_str()), (Phase::Pull, PULL));
    assert_eq!(
        (pull.active.as_str(), pull.sub.as_str()),
        ("activating", "start")
    );
    assert_eq!((pull.restarts, pull.since), (7, Duration::from_secs(61)));
    // The jobs of others are not looked at.
    assert_eq!(units.len(), 4);
}

/// The connection breaks in the middle, as when systemd executes itself anew.
#[test]
fn a_connection_that_breaks_is_made_again() {
    let node = Node::new(
        Bus::start(),
        units(),
        Behaviour {
            private: true,
            break_at: Some("GetAll network-online.target"),
            ..Behaviour::default()
        },
    );
    assert_eq!(blocking_unit(&node).as_deref(), Some(WAIT_ONLINE));
}

#[test]
fn a_systemd_that_is_silent_or_not_there_is_no_answer() {
    let silent = Behaviour {
        silent: vec![FIRSTBOOT],
        ..Behaviour::default()
    };
    let node = Node::new(Bus::start(), units(), silent).impatient();
    assert_eq!(first_boot_units(&node.systemd), None);
    let node = Node::alone("unix:path=/nonexistent/bus".to_owned()).impatient();
    assert_eq!(first_boot_units(&node.systemd), None);
}
