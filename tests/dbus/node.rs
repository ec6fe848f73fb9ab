//! A node for the gate: a root, a bus, and a systemd with the units that a node has.

use crate::gate::Systemd;
use crate::inside::dbus::bus::Bus;
use crate::inside::dbus::systemd1::{Behaviour, Model, Systemd1, Unit};
use crate::node::Root;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::MutexGuard;
use std::time::Duration;
use tempfile::TempDir;

/// Everything that a test of the gate needs. Fields are dropped in their order: systemd leaves the
/// bus before the bus ends.
pub(crate) struct Node {
    pub(crate) systemd1: Option<Systemd1>,
    pub(crate) systemd: Systemd,
    pub(crate) root: Root,
    pub(crate) dir: TempDir,
    _bus: Option<Bus>,
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

pub(crate) fn unit(active: &str, before: &[&str]) -> Unit {
    Unit {
        load: "loaded".into(),
        active: active.into(),
        requires: names(&["sysinit.target"]),
        before: names(before),
        ..Unit::default()
    }
}

/// The units of a node with the newer wiring, in the middle of its first boot: all of them wait.
pub(crate) fn wiring_b() -> BTreeMap<String, Unit> {
    let waiting = [
        "machine-config-daemon-pull.service",
        "machine-config-daemon-firstboot.service",
        "kubelet-dependencies.target",
    ];
    let more = [
        "crio.service",
        "kubelet.service",
        "ovs-configuration.service",
        "nodeip-configuration.service",
        "skewguard.service",
    ];
    let mut units: BTreeMap<String, Unit> = waiting
        .iter()
        .chain(&more)
        .map(|&name| (name.to_owned(), unit("inactive", &["shutdown.target"])))
        .collect();
    let target = unit(
        "inactive",
        &[
            "nodeip-configuration.service",
            "ovs-configuration.service",
            "shutdown.target",
        ],
    );
    units.insert("firstboot-osupdate.target".into(), target);
    units
}

/// The units of a node with the older wiring: without the two targets, and nothing ordered after
/// them.
pub(crate) fn wiring_a() -> BTreeMap<String, Unit> {
    let mut units = wiring_b();
    units.retain(|name, _| !name.ends_with(".target"));
    units
}

impl Node {
    /// A node of the newer wiring whose systemd behaves like this.
    pub(crate) fn with(behaviour: Behaviour) -> Self {
        Self::new(Bus::start(), wiring_b(), behaviour)
    }

    pub(crate) fn new(bus: Bus, units: BTreeMap<String, Unit>, behaviour: Behaviour) -> Self {
        let mut node = Self::alone(bus.address.clone());
        node.systemd1 = Some(Systemd1::start(
            Some(&bus.address),
            Some(bus.id()),
            node.dir.path(),
            units,
            behaviour,
        ));
        node._bus = Some(bus);
        node
    }

    /// A node whose systemd is on no bus: `address` is what the gate finds in the bus's place.
    pub(crate) fn without_bus(address: String, behaviour: Behaviour) -> Self {
        let mut node = Self::alone(address);
        let behaviour = Behaviour {
            private: true,
            ..behaviour
        };
        node.systemd1 = Some(Systemd1::start(
            None,
            None,
            node.dir.path(),
            wiring_b(),
            behaviour,
        ));
        node
    }

    /// A node with no systemd on this bus, whatever is behind the address.
    pub(crate) fn alone(address: String) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = Root::open(dir.path()).expect("a root");
        let systemd = Systemd {
            bus: address,
            private: format!("{}/private", dir.path().display()),
            answer: Duration::from_secs(20),
            reload: Duration::from_secs(20),
            whole: Duration::from_secs(60),
        };
        Self {
            systemd1: None,
            systemd,
            root,
            dir,
            _bus: None,
        }
    }

    /// A node on a bus without systemd.
    pub(crate) fn on(bus: Bus) -> Self {
        let mut node = Self::alone(bus.address.clone());
        node._bus = Some(bus);
        node
    }

    /// For a test that runs into a limit: short ones.
    pub(crate) fn impatient(mut self) -> Self {
        self.systemd.answer = Duration::from_millis(1000);
        self.systemd.reload = Duration::from_millis(1000);
        self.systemd.whole = Duration::from_secs(5);
        self
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(crate) fn is_stamped(&self) -> bool {
        self.path("run/skewguard/refused").exists()
    }

    /// The units that have a drop-in of ours, sorted.
    pub(crate) fn drop_ins(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.path("run/systemd/system")) else {
            return Vec::new();
        };
        let dirs = entries.map(|entry| entry.expect("an entry").path());
        let ours = dirs.filter(|dir| dir.join("50-skewguard.conf").exists());
        let mut units: Vec<String> = ours
            .map(|dir| {
                dir.file_name()
                    .expect("a name")
                    .to_string_lossy()
                    .trim_end_matches(".d")
                    .to_owned()
            })
            .collect();
        units.sort();
        units
    }

    pub(crate) fn model(&self) -> MutexGuard<'_, Model> {
        self.systemd1.as_ref().expect("a systemd").model()
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        self.systemd1.as_ref().expect("a systemd").calls()
    }
}
