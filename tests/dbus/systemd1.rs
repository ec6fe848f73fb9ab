//! A stand-in for the part of `org.freedesktop.systemd1` that the gate uses
//! (org.freedesktop.systemd1(5)), served on a bus of the test's own, and on a socket of its own
//! that needs no bus.
//!
//! Its units are those of a node; `Reload` really reads the drop-ins below the test's root. How it
//! misbehaves is up to the test.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::Notify;
use zbus::{OwnedObjectPath, connection, fdo, interface};

const NAME: &str = "org.freedesktop.systemd1";

/// What drop-ins of ours name.
const OURS: [&str; 2] = [
    "skewguard.service",
    "machine-config-daemon-firstboot.service",
];

/// One unit of the stand-in.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unit {
    pub(crate) load: String,
    pub(crate) active: String,
    pub(crate) requires: Vec<String>,
    pub(crate) after: Vec<String>,
    pub(crate) before: Vec<String>,
    pub(crate) required_by: Vec<String>,
    pub(crate) triggers: Vec<String>,
    pub(crate) on_failure: Vec<String>,
    pub(crate) has_job: bool,
}

/// How it deviates from the real one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Behaviour {
    /// `Reload` is denied on the bus, as by polkit.
    pub(crate) deny_reload: bool,
    /// `Reload` takes this long, and nobody is answered meanwhile.
    pub(crate) slow_reload: Duration,
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
    /// `StopUnit` is never answered.
    pub(crate) hang_stop: bool,
    /// `StartUnit` queues nothing for the rebase and the kubelet.
    pub(crate) starts_nothing: bool,
    /// What `default.target` stands for; `multi-user.target` where it is empty.
    pub(crate) default_target: String,
    /// It has its own socket, too.
    pub(crate) private: bool,
    /// When this is called first (a method, or "GetAll" of a unit), the bus gets the signal.
    pub(crate) signal_bus: Option<(&'static str, Signal)>,
    /// When this is called first, all connections to it break, as when systemd executes itself
    /// anew.
    pub(crate) break_at: Option<&'static str>,
    /// They break whenever this is called.
    pub(crate) breaks_again: bool,
    /// A start of `skewguard.service` ends when the unit is looked at for the nth time.
    pub(crate) ends_at: usize,
    /// `StartUnit` is denied.
    pub(crate) deny_start: bool,
    /// Objects of units have properties of other types than documented.
    pub(crate) wrong_types: bool,
    /// Every answer takes this long.
    pub(crate) delay: Duration,
    /// Every answer about a unit takes this long, and comes after the one before.
    pub(crate) in_turn: Duration,
    /// These units are never answered about.
    pub(crate) silent: Vec<&'static str>,
    /// It comes to the bus this much later than the bus itself.
    pub(crate) late: Duration,
}

/// What it knows and what it was asked.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) units: BTreeMap<String, Unit>,
    /// Calls in their order, `Method argument…`; with ` [stamp]` where the node's stamp existed by
    /// then.
    pub(crate) calls: Vec<String>,
    /// How many questions it was asked in all.
    pub(crate) asked: usize,
    /// When a kubelet that somebody starts would run on the old OS.
    pub(crate) unsafe_moments: Vec<String>,
    root: PathBuf,
    pub(crate) behaviour: Behaviour,
    bus: Option<Pid>,
    broken: Arc<Notify>,
}

impl Model {
    /// Something is called: what was to happen then happens.
    fn called(&mut self, method: &str) {
        self.asked += 1;
        self.look_at_the_kubelet(method);
        if let Some((_, signal)) = self
            .behaviour
            .signal_bus
            .take_if(|(at, _)| method.starts_with(*at))
        {
            kill(self.bus.expect("there is a bus"), signal).expect("signalled");
        }
        let again = self.behaviour.breaks_again;
        let breaks = |at: &&str| method.starts_with(*at);
        if self.behaviour.break_at.is_some_and(|at| breaks(&at)) {
            self.behaviour.break_at.take_if(|_| !again);
            self.broken.notify_waiters();
        }
        if method == "GetAll skewguard.service" && self.behaviour.ends_at > 0 {
            self.behaviour.ends_at -= 1;
            if self.behaviour.ends_at == 0 {
                self.units
                    .get_mut("skewguard.service")
                    .expect("a unit")
                    .active = "failed".into();
                self.calls.push("skewguard.service has ended".into());
            }
        }
    }

    /// A kubelet that is started now fails, or waits for the rebase: as systemd has read the
    /// drop-ins, and as it would if somebody had it read them now.
    fn look_at_the_kubelet(&mut self, when: &str) {
        let mut now = Self {
            units: self.units.clone(),
            root: self.root.clone(),
            ..Self::default()
        };
        let stamp = self.root.join("run/skewguard/refused").exists();
        for read in ["", ", read anew"] {
            if !read.is_empty() {
                now.read_drop_ins();
            }
            let is_safe = now.units.get("kubelet.service").is_none_or(|kubelet| {
                let [us, rebase] = OURS.map(|name| {
                    [&kubelet.requires, &kubelet.after]
                        .iter()
                        .all(|list| list.iter().any(|other| other == name))
                });
                (us && stamp) || rebase
            });
            if !is_safe {
                self.unsafe_moments.push(format!("{when}{read}"));
            }
        }
    }

    fn note(&mut self, call: String) {
        self.called(&call);
        let stamp = if self.root.join("run/skewguard/refused").exists() {
            " [stamp]"
        } else {
            ""
        };
        self.calls.push(format!("{call}{stamp}"));
    }

    /// What a reload does: `Requires=` and `After=` of the drop-ins that there are now, beside what
    /// the unit files say.
    pub(crate) fn read_drop_ins(&mut self) {
        for (name, unit) in &mut self.units {
            for list in [&mut unit.requires, &mut unit.after] {
                list.retain(|other| !OURS.contains(&other.as_str()));
            }
            let folder = |place: &str| self.root.join(format!("{place}/systemd/system/{name}.d"));
            let Ok(dir) = std::fs::read_dir(folder("run")) else {
                continue;
            };
            for file in dir.map(|entry| entry.expect("an entry").path()) {
                if file.extension().is_none_or(|extension| extension != "conf") {
                    continue;
                }
                // One of the same name in /etc wins. systemd skips what it cannot read.
                let of_an_admin = folder("etc").join(file.file_name().expect("a name"));
                let file = if of_an_admin.exists() {
                    of_an_admin
                } else {
                    file
                };
                let Ok(text) = std::fs::read_to_string(file) else {
                    continue;
                };
                let mut section = "";
                for line in text.lines().filter(|line| !line.starts_with('#')) {
                    match line.split_once('=') {
                        None => section = line,
                        Some(("AssertPathExists", "!/run/skewguard/refused"))
                            if section == "[Unit]" => {}
                        Some(("Requires", names)) if section == "[Unit]" => {
                            unit.requires.extend(names.split(' ').map(str::to_owned))
                        }
                        Some(("After", _)) if self.behaviour.ignore_after => {}
                        Some(("After", names)) if section == "[Unit]" => {
                            unit.after.extend(names.split(' ').map(str::to_owned))
                        }
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

/// The manager, on the bus or on its own socket.
struct Manager {
    model: Shared,
    on_the_bus: bool,
}

fn denied(what: &str) -> fdo::Error {
    fdo::Error::AccessDenied(format!("Access to {what} denied"))
}

fn escape(name: &str) -> String {
    let escaped = name.bytes().map(|b| {
        if b.is_ascii_alphanumeric() {
            char::from(b).to_string()
        } else {
            format!("_{b:02x}")
        }
    });
    format!(
        "/org/freedesktop/systemd1/unit/{}",
        escaped.collect::<String>()
    )
}

fn job() -> OwnedObjectPath {
    OwnedObjectPath::try_from("/org/freedesktop/systemd1/job/42").expect("a path")
}

impl Manager {
    /// Notes the call and takes the time that calls take here.
    async fn asked(&self, call: String) -> Behaviour {
        let behaviour = {
            let mut model = lock(&self.model);
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
        "239".to_owned()
    }

    async fn reload(&self) -> fdo::Result<()> {
        let behaviour = self.asked("Reload".into()).await;
        // It does nothing else meanwhile, and is done whether or not somebody still waits.
        std::thread::sleep(behaviour.slow_reload);
        if behaviour.hang_reload {
            std::future::pending::<()>().await;
        }
        if behaviour.deny_reload && self.on_the_bus {
            return Err(denied("org.freedesktop.systemd1.reload-daemon"));
        }
        if !behaviour.ignore_drop_ins {
            lock(&self.model).read_drop_ins();
        }
        Ok(())
    }

    async fn stop_unit(&self, name: String, mode: String) -> fdo::Result<OwnedObjectPath> {
        let behaviour = self.asked(format!("StopUnit {name} {mode}")).await;
        if behaviour.hang_stop {
            std::future::pending::<()>().await;
        }
        if behaviour.deny_stop {
            return Err(denied("org.freedesktop.systemd1.manage-units"));
        }
        let mut model = lock(&self.model);
        let unit = model
            .units
            .get_mut(&name)
            .ok_or_else(|| fdo::Error::Failed("no such unit".into()))?;
        unit.active = if behaviour.never_stops {
            "deactivating".into()
        } else {
            "inactive".into()
        };
        Ok(job())
    }

    async fn start_unit(&self, name: String, mode: String) -> fdo::Result<OwnedObjectPath> {
        let behaviour = self.asked(format!("StartUnit {name} {mode}")).await;
        if behaviour.deny_start {
            return Err(denied("org.freedesktop.systemd1.manage-units"));
        }
        if !behaviour.starts_nothing {
            for unit in lock(&self.model).units.values_mut() {
                unit.has_job = true;
            }
        }
        Ok(job())
    }

    async fn reset_failed_unit(&self, name: String) -> Result<(), Systemd1Error> {
        self.asked(format!("ResetFailedUnit {name}")).await;
        let loaded = lock(&self.model)
            .units
            .get(&name)
            .is_some_and(|unit| unit.load == "loaded");
        if loaded {
            Ok(())
        } else {
            Err(Systemd1Error::NoSuchUnit(format!(
                "Unit {name} not loaded."
            )))
        }
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
        let model = lock(&self.model);
        let absent = Unit {
            load: "not-found".into(),
            active: "inactive".into(),
            ..Unit::default()
        };
        model.units.get(&self.name).cloned().unwrap_or(absent)
    }
}

#[interface(name = "org.freedesktop.systemd1.Unit")]
impl UnitObject {
    /// Asked once for each time that all are.
    #[zbus(property)]
    async fn load_state(&self) -> String {
        let behaviour = {
            let mut model = lock(&self.model);
            model.called(&format!("GetAll {}", self.name));
            model.behaviour.clone()
        };
        if behaviour.silent.contains(&self.name.as_str()) {
            std::future::pending::<()>().await;
        }
        std::thread::sleep(behaviour.in_turn);
        if !behaviour.delay.is_zero() {
            tokio::time::sleep(behaviour.delay).await;
        }
        self.unit().await.load
    }
    #[zbus(property)]
    fn id(&self) -> String {
        let default = lock(&self.model).behaviour.default_target.clone();
        match self.name.as_str() {
            "default.target" if default.is_empty() => "multi-user.target".into(),
            "default.target" => default,
            name => name.into(),
        }
    }
    #[zbus(property)]
    async fn job(&self) -> (u32, OwnedObjectPath) {
        if self.unit().await.has_job {
            (42, job())
        } else {
            (0, OwnedObjectPath::try_from("/").expect("a path"))
        }
    }
    #[zbus(property)]
    async fn required_by(&self) -> Vec<String> {
        self.unit().await.required_by
    }
    #[zbus(property)]
    async fn triggers(&self) -> Vec<String> {
        self.unit().await.triggers
    }
    #[zbus(property)]
    async fn on_failure(&self) -> Vec<String> {
        self.unit().await.on_failure
    }
    #[zbus(property)]
    fn requisite_of(&self) -> Vec<String> {
        Vec::new()
    }
    #[zbus(property)]
    fn bound_by(&self) -> Vec<String> {
        Vec::new()
    }
    #[zbus(property)]
    async fn active_state(&self) -> String {
        self.unit().await.active
    }
    /// `start` while it is started, as of a service.
    #[zbus(property)]
    async fn sub_state(&self) -> String {
        match self.unit().await.active.as_str() {
            "activating" => "start".into(),
            active => active.into(),
        }
    }
    /// This and the next two: of types that nothing reads, as systemd has them (239 and later).
    #[zbus(property)]
    fn asserts(&self) -> Vec<(String, bool, bool, String, i32)> {
        vec![(
            "AssertPathExists".into(),
            false,
            true,
            "/run/skewguard/refused".into(),
            0,
        )]
    }
    #[zbus(property, name = "InvocationID")]
    fn invocation_id(&self) -> Vec<u8> {
        vec![7; 16]
    }
    #[zbus(property)]
    fn load_error(&self) -> (String, String) {
        Default::default()
    }
    #[zbus(property)]
    fn state_change_timestamp_monotonic(&self) -> u64 {
        61_000_000
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
        if before.iter().any(|name| name == "DENIED") {
            Err(denied("Before"))
        } else {
            Ok(before)
        }
    }
}

struct ServiceObject;

#[interface(name = "org.freedesktop.systemd1.Service")]
impl ServiceObject {
    #[zbus(property)]
    fn n_restarts(&self) -> u32 {
        7
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

/// The stand-in, in a thread of its own; it leaves the bus with the test.
pub(crate) struct Systemd1 {
    model: Shared,
    leave: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl Systemd1 {
    /// On the bus at `address`, which is the process `bus`, and, if it is to have one, on its own
    /// socket.
    pub(crate) fn start(
        address: Option<&str>,
        bus: Option<u32>,
        root: &Path,
        units: BTreeMap<String, Unit>,
        behaviour: Behaviour,
    ) -> Self {
        let bus = bus.map(|id| Pid::from_raw(id.cast_signed()));
        let (late, private) = (behaviour.late, behaviour.private);
        let broken = Arc::new(Notify::new());
        let model = Model {
            units,
            calls: Vec::new(),
            asked: 0,
            unsafe_moments: Vec::new(),
            root: root.to_owned(),
            behaviour,
            bus,
            broken,
        };
        let model = Arc::new(Mutex::new(model));
        let socket = private.then(|| {
            let socket = UnixListener::bind(root.join("private")).expect("bound");
            socket.set_nonblocking(true).expect("set");
            socket
        });
        let leave = Arc::new(Notify::new());
        let (ready, is_ready) = std::sync::mpsc::channel();
        let (address, shared, leaves) = (address.map(str::to_owned), model.clone(), leave.clone());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                if let Some(socket) = socket {
                    tokio::spawn(serve_private(socket, shared.clone()));
                }
                serve_bus(address, &shared, late, &ready, &leaves).await;
            });
        });
        is_ready.recv().expect("the stand-in starts");
        Self {
            model,
            leave,
            thread: Some(thread),
        }
    }

    pub(crate) fn model(&self) -> MutexGuard<'_, Model> {
        lock(&self.model)
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        self.model().calls.clone()
    }
}

/// The same objects on every connection.
fn objects<'a>(
    builder: connection::Builder<'a>,
    model: &Shared,
    on_the_bus: bool,
) -> connection::Builder<'a> {
    let (names, wrong) = {
        let model = lock(model);
        let named = model
            .units
            .values()
            .flat_map(|unit| {
                [
                    &unit.before,
                    &unit.required_by,
                    &unit.triggers,
                    &unit.on_failure,
                ]
            })
            .flatten();
        let mut names: BTreeSet<String> = named.chain(model.units.keys()).cloned().collect();
        names.extend(crate::inside::dbus::gate_hold::FIXED.map(str::to_owned));
        let targets = ["default", "emergency", "rescue", "sysinit"];
        names.extend(targets.map(|name| format!("{name}.target")));
        names.insert("late.service".to_owned());
        (names, model.behaviour.wrong_types)
    };
    let manager = Manager {
        model: model.clone(),
        on_the_bus,
    };
    let manager = builder.serve_at("/org/freedesktop/systemd1", manager);
    names.into_iter().fold(manager, |builder, name| {
        let path = escape(&name);
        if wrong {
            builder.serve_at(path, WrongUnit)
        } else {
            let unit = UnitObject {
                name,
                model: model.clone(),
            };
            let builder = builder.serve_at(path.clone(), unit);
            builder.serve_at(path, ServiceObject)
        }
    })
}

async fn serve_bus(
    address: Option<String>,
    model: &Shared,
    late: Duration,
    ready: &Sender<()>,
    leave: &Notify,
) {
    let broken = lock(model).broken.clone();
    let Some(address) = address else {
        ready.send(()).expect("the test waits");
        return leave.notified().await;
    };
    if !late.is_zero() {
        ready.send(()).expect("the test waits");
        tokio::time::sleep(late).await;
    }
    let mut is_ready = !late.is_zero();
    loop {
        let breaks = broken.notified();
        let builder = objects(connection::Builder::address(address.as_str()), model, true);
        let bus = builder
            .name(NAME)
            .build()
            .await
            .expect("the stand-in is on the bus");
        if !std::mem::replace(&mut is_ready, true) {
            ready.send(()).expect("the test waits");
        }
        tokio::select! {
            () = leave.notified() => return,
            () = breaks => {}
        }
        bus.close().await.ok();
        tokio::time::sleep(Duration::from_millis(400)).await;
    }
}

/// Answers on its own socket, where there is no bus. A connection ends with the client, or breaks.
async fn serve_private(socket: UnixListener, model: Shared) {
    let socket = tokio::net::UnixListener::from_std(socket).expect("a socket");
    loop {
        let (stream, _) = socket.accept().await.expect("accepted");
        let model = model.clone();
        tokio::spawn(async move {
            let broken = lock(&model).broken.clone();
            let breaks = broken.notified();
            let stream = stream.into_std().expect("a stream");
            let builder = connection::Builder::unix_stream(stream)
                .server(zbus::Guid::generate())
                .p2p();
            let Ok(client) = objects(builder, &model, false).build().await else {
                return;
            };
            tokio::select! {
                () = client.closed() => {}
                () = breaks => drop(client.close().await),
            }
        });
    }
}

impl Drop for Systemd1 {
    fn drop(&mut self) {
        self.leave.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
