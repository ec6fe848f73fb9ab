//! A stand-in for the part of `org.freedesktop.systemd1` that the gate uses (org.freedesktop.systemd1(5)), served on a private bus.
//!
//! Its units are those of a node; `Reload` really reads the drop-ins below the test's root. How it misbehaves is up to the test.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::Notify;
use zbus::{OwnedObjectPath, connection, fdo, interface, object_server::ObjectServer};

const NAME: &str = "org.freedesktop.systemd1";

/// One unit of the stand-in.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unit {
    pub(crate) load: String,
    pub(crate) active: String,
    pub(crate) requires: Vec<String>,
    pub(crate) after: Vec<String>,
    pub(crate) before: Vec<String>,
}

/// How it deviates from the real one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Behaviour {
    /// `Reload` is denied, as by polkit.
    pub(crate) deny_reload: bool,
    /// `Reload` is never answered.
    pub(crate) hang_reload: bool,
    /// `Reload` says it is done and reads nothing.
    pub(crate) ignore_drop_ins: bool,
    /// Of the drop-ins only `Requires=` takes effect.
    pub(crate) ignore_after: bool,
    /// `StopUnit` is denied.
    pub(crate) deny_stop: bool,
    /// `StopUnit` queues a job that never ends.
    pub(crate) never_stops: bool,
    /// `StartUnit` is denied.
    pub(crate) deny_start: bool,
    /// Objects of units have properties of other types than documented.
    pub(crate) wrong_types: bool,
    /// Every answer takes this long.
    pub(crate) delay: Duration,
    /// It comes to the bus this much later than the bus itself.
    pub(crate) late: Duration,
}

/// What it knows and what it was asked.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) units: BTreeMap<String, Unit>,
    /// Calls in their order, `Method argument…`; with ` [stamp]` where the node's stamp existed by then.
    pub(crate) calls: Vec<String>,
    root: PathBuf,
    behaviour: Behaviour,
}

impl Model {
    fn note(&mut self, call: String) {
        let stamp = if self.root.join("run/skewguard/refused").exists() { " [stamp]" } else { "" };
        self.calls.push(format!("{call}{stamp}"));
    }

    /// What a reload does: `Requires=` and `After=` of the drop-ins that there are now, beside what the unit files say.
    pub(crate) fn read_drop_ins(&mut self) {
        for (name, unit) in &mut self.units {
            for list in [&mut unit.requires, &mut unit.after] {
                list.retain(|other| other != "skewguard.service");
            }
            let Ok(dir) = std::fs::read_dir(self.root.join(format!("run/systemd/system/{name}.d"))) else { continue };
            for file in dir.map(|entry| entry.expect("an entry").path()) {
                if file.extension().is_none_or(|extension| extension != "conf") {
                    continue;
                }
                let text = std::fs::read_to_string(file).expect("a drop-in");
                let mut section = "";
                for line in text.lines().filter(|line| !line.starts_with('#')) {
                    match line.split_once('=') {
                        None => section = line,
                        Some(("Requires", names)) if section == "[Unit]" => unit.requires.extend(names.split(' ').map(str::to_owned)),
                        Some(("After", _)) if self.behaviour.ignore_after => {}
                        Some(("After", names)) if section == "[Unit]" => unit.after.extend(names.split(' ').map(str::to_owned)),
                        Some(other) => panic!("a drop-in says {other:?} in {section:?}"),
                    }
                }
            }
        }
    }
}

type Shared = Arc<Mutex<Model>>;

fn lock(model: &Shared) -> MutexGuard<'_, Model> {
    model.lock().expect("no test thread panicked with it")
}

struct Manager(Shared);

fn denied(what: &str) -> fdo::Error {
    fdo::Error::AccessDenied(format!("Access to {what} denied"))
}

fn escape(name: &str) -> String {
    let escaped = name.bytes().map(|b| if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("_{b:02x}") });
    format!("/org/freedesktop/systemd1/unit/{}", escaped.collect::<String>())
}

fn job() -> OwnedObjectPath {
    OwnedObjectPath::try_from("/org/freedesktop/systemd1/job/42").expect("a path")
}

impl Manager {
    /// Notes the call and takes the time that calls take here.
    async fn asked(&self, call: String) -> Behaviour {
        let behaviour = {
            let mut model = lock(&self.0);
            model.note(call);
            model.behaviour.clone()
        };
        tokio::time::sleep(behaviour.delay).await;
        behaviour
    }
}

#[interface(name = "org.freedesktop.systemd1.Manager")]
impl Manager {
    #[zbus(property(emits_changed_signal = "const"))]
    fn version(&self) -> String {
        "252".to_owned()
    }

    async fn load_unit(&self, name: String, #[zbus(object_server)] server: &ObjectServer) -> fdo::Result<OwnedObjectPath> {
        let behaviour = {
            let mut model = lock(&self.0);
            let absent = Unit { load: "not-found".into(), active: "inactive".into(), ..Unit::default() };
            model.units.entry(name.clone()).or_insert(absent);
            model.behaviour.clone()
        };
        tokio::time::sleep(behaviour.delay).await;
        let path = escape(&name);
        if behaviour.wrong_types {
            server.at(path.as_str(), WrongUnit).await?;
        } else {
            server.at(path.as_str(), UnitObject { name, model: self.0.clone() }).await?;
        }
        Ok(OwnedObjectPath::try_from(path).expect("a path"))
    }

    async fn reload(&self) -> fdo::Result<()> {
        let behaviour = self.asked("Reload".into()).await;
        if behaviour.hang_reload {
            std::future::pending::<()>().await;
        }
        if behaviour.deny_reload {
            return Err(denied("org.freedesktop.systemd1.reload-daemon"));
        }
        if !behaviour.ignore_drop_ins {
            lock(&self.0).read_drop_ins();
        }
        Ok(())
    }

    async fn stop_unit(&self, name: String, mode: String) -> fdo::Result<OwnedObjectPath> {
        let behaviour = self.asked(format!("StopUnit {name} {mode}")).await;
        if behaviour.deny_stop {
            return Err(denied("org.freedesktop.systemd1.manage-units"));
        }
        let mut model = lock(&self.0);
        let unit = model.units.get_mut(&name).ok_or_else(|| fdo::Error::Failed("no such unit".into()))?;
        unit.active = if behaviour.never_stops { "deactivating".into() } else { "inactive".into() };
        Ok(job())
    }

    async fn start_unit(&self, name: String, mode: String) -> fdo::Result<OwnedObjectPath> {
        let behaviour = self.asked(format!("StartUnit {name} {mode}")).await;
        if behaviour.deny_start { Err(denied("org.freedesktop.systemd1.manage-units")) } else { Ok(job()) }
    }

    async fn reset_failed_unit(&self, name: String) -> Result<(), Systemd1Error> {
        self.asked(format!("ResetFailedUnit {name}")).await;
        let loaded = lock(&self.0).units.get(&name).is_some_and(|unit| unit.load == "loaded");
        if loaded { Ok(()) } else { Err(Systemd1Error::NoSuchUnit(format!("Unit {name} not loaded."))) }
    }
}

#[derive(Debug, zbus::DBusError)]
#[zbus(prefix = "org.freedesktop.systemd1")]
enum Systemd1Error {
    #[zbus(error)]
    ZBus(zbus::Error),
    NoSuchUnit(String),
}

struct UnitObject {
    name: String,
    model: Shared,
}

impl UnitObject {
    async fn unit(&self) -> Unit {
        let delay = lock(&self.model).behaviour.delay;
        tokio::time::sleep(delay).await;
        let mut model = lock(&self.model);
        // `systemctl daemon-reload` comes past the bus; the node's stand-in for it leaves this file.
        if model.root.join("systemctl.log").exists() {
            model.read_drop_ins();
        }
        model.units.get(&self.name).cloned().expect("it was loaded")
    }
}

#[interface(name = "org.freedesktop.systemd1.Unit")]
impl UnitObject {
    #[zbus(property)]
    async fn load_state(&self) -> String {
        self.unit().await.load
    }
    #[zbus(property)]
    async fn active_state(&self) -> String {
        self.unit().await.active
    }
    #[zbus(property)]
    async fn requires(&self) -> Vec<String> {
        self.unit().await.requires
    }
    #[zbus(property)]
    async fn after(&self) -> Vec<String> {
        self.unit().await.after
    }
    #[zbus(property)]
    async fn before(&self) -> fdo::Result<Vec<String>> {
        let before = self.unit().await.before;
        if before.iter().any(|name| name == "DENIED") { Err(denied("Before")) } else { Ok(before) }
    }
}

struct WrongUnit;

#[interface(name = "org.freedesktop.systemd1.Unit")]
impl WrongUnit {
    #[zbus(property)]
    fn load_state(&self) -> String {
        "loaded".into()
    }
    #[zbus(property)]
    fn active_state(&self) -> String {
        "inactive".into()
    }
    #[zbus(property)]
    fn requires(&self) -> u32 {
        7
    }
    #[zbus(property)]
    fn after(&self) -> u32 {
        7
    }
    #[zbus(property)]
    fn before(&self) -> u32 {
        7
    }
}

/// The stand-in on a bus, in a thread of its own; it leaves the bus with the test.
pub(crate) struct Systemd1 {
    model: Shared,
    leave: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl Systemd1 {
    pub(crate) fn start(address: &str, root: &Path, units: BTreeMap<String, Unit>, behaviour: Behaviour) -> Self {
        let late = behaviour.late;
        let model = Arc::new(Mutex::new(Model { units, calls: Vec::new(), root: root.to_owned(), behaviour }));
        let leave = Arc::new(Notify::new());
        let (ready, is_ready) = std::sync::mpsc::channel();
        let (address, shared, leaves) = (address.to_owned(), model.clone(), leave.clone());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(serve(&address, shared, late, &ready, &leaves));
        });
        is_ready.recv().expect("the stand-in starts");
        Self { model, leave, thread: Some(thread) }
    }

    pub(crate) fn model(&self) -> MutexGuard<'_, Model> {
        lock(&self.model)
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        self.model().calls.clone()
    }
}

async fn serve(address: &str, model: Shared, late: Duration, ready: &Sender<()>, leave: &Notify) {
    if !late.is_zero() {
        ready.send(()).expect("the test waits");
        tokio::time::sleep(late).await;
    }
    let bus = connection::Builder::address(address)
        .serve_at("/org/freedesktop/systemd1", Manager(model))
        .name(NAME)
        .build()
        .await
        .expect("the stand-in is on the bus");
    if late.is_zero() {
        ready.send(()).expect("the test waits");
    }
    leave.notified().await;
    drop(bus);
}

impl Drop for Systemd1 {
    fn drop(&mut self) {
        self.leave.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
