//! systemd over D-Bus: the few calls of `org.freedesktop.systemd1` that holding and letting through need (org.freedesktop.systemd1(5)).
//!
//! Every call is bounded in time. Method calls are written out instead of generated: ten small ones do not need proxies, and what is not
//! linked in is not carried to every node.

use super::plan::UnitState;
use crate::text;
use std::future::Future;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};
use zbus::{Connection, DBusError, DynamicType, OwnedObjectPath, OwnedVariant, connection};

const SERVICE: &str = "org.freedesktop.systemd1";
const MANAGER_PATH: &str = "/org/freedesktop/systemd1";
const MANAGER: &str = "org.freedesktop.systemd1.Manager";
const UNIT: &str = "org.freedesktop.systemd1.Unit";
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";

/// Between two looks at something that takes a moment.
const PAUSE: Duration = Duration::from_millis(50);

/// How to reach systemd, and how long to wait for it.
#[derive(Debug, Clone)]
pub struct Systemd {
    /// D-Bus address of the system bus.
    pub address: String,
    /// `systemctl`, which reaches systemd without the bus; only for `daemon-reload`.
    pub systemctl: PathBuf,
    /// Longest wait for one answer.
    pub call: Duration,
    /// Longest wait for everything: the unit has 30 seconds in all, and the message still has to be written after this. Generous, because only
    /// a node to refuse waits for it: a reload runs every generator, and on an overcommitted host that takes many seconds.
    pub whole: Duration,
}

impl Systemd {
    /// The running system's.
    pub fn system() -> Self {
        Self {
            address: "unix:path=/run/dbus/system_bus_socket".to_owned(),
            systemctl: PathBuf::from("/usr/bin/systemctl"),
            call: Duration::from_secs(15),
            whole: Duration::from_secs(22),
        }
    }
}

/// Why systemd did not do something.
#[derive(Debug, thiserror::Error)]
pub enum SystemdError {
    /// It, or the bus, said no.
    #[error("{what}: {why}")]
    Refused {
        /// What was asked.
        what: String,
        /// The answer, made printable.
        why: String,
    },
    /// There was no answer.
    #[error("{what}: no answer in time")]
    Timeout {
        /// What was asked.
        what: String,
    },
}

impl SystemdError {
    fn refused(what: &str, why: impl std::fmt::Display) -> Self {
        Self::Refused { what: what.to_owned(), why: text::word(&why.to_string()) }
    }
}

/// A connection to systemd on the bus.
pub(super) struct Manager<'a> {
    bus: Connection,
    systemd: &'a Systemd,
    deadline: Instant,
}

impl<'a> Manager<'a> {
    /// Connects, and waits until systemd is on the bus: early in a boot it joins a moment after the bus is up.
    pub(super) async fn connect(systemd: &'a Systemd) -> Result<Self, SystemdError> {
        let deadline = Instant::now() + systemd.whole;
        let what = "the system bus";
        let open = connection::Builder::address(systemd.address.as_str()).build();
        let bus = timeout_at(deadline.min(Instant::now() + systemd.call), open)
            .await
            .map_err(|_| SystemdError::Timeout { what: what.to_owned() })?
            .map_err(|error| SystemdError::refused(what, error))?;
        let manager = Self { bus, systemd, deadline };
        let what = "systemd on the system bus";
        let give_up = deadline.min(Instant::now() + systemd.call);
        loop {
            let ask = manager.bus.call_method(Some(SERVICE), MANAGER_PATH, Some(PROPERTIES), "Get", &(MANAGER, "Version"));
            match manager.bounded(what, ask).await? {
                Ok(_) => return Ok(manager),
                Err(error) if is_not_there_yet(&error) && Instant::now() + PAUSE < give_up => sleep(PAUSE).await,
                Err(error) => return Err(SystemdError::refused(what, error)),
            }
        }
    }

    /// Waits for an answer as long as one may take and something is left of the whole.
    async fn bounded<T>(&self, what: &str, work: impl Future<Output = T>) -> Result<T, SystemdError> {
        let until = self.deadline.min(Instant::now() + self.systemd.call);
        timeout_at(until, work).await.map_err(|_| SystemdError::Timeout { what: what.to_owned() })
    }

    async fn manager<B, R>(&self, method: &str, body: &B) -> Result<R, SystemdError>
    where
        B: serde::Serialize + DynamicType,
        R: for<'d> zbus::zvariant::DynamicDeserialize<'d>,
    {
        let answer = self
            .bounded(method, self.bus.call_method(Some(SERVICE), MANAGER_PATH, Some(MANAGER), method, body))
            .await?
            .map_err(|error| SystemdError::refused(method, error))?;
        answer.body().deserialize().map_err(|error| SystemdError::refused(method, error))
    }

    async fn property<T>(&self, path: &OwnedObjectPath, unit: &str, name: &str) -> Result<T, SystemdError>
    where
        T: TryFrom<OwnedVariant>,
        T::Error: std::fmt::Display,
    {
        let what = format!("{name} of {unit}");
        let which = (UNIT, name);
        let ask = self.bus.call_method(Some(SERVICE), path, Some(PROPERTIES), "Get", &which);
        let answer = self.bounded(&what, ask).await?.map_err(|error| SystemdError::refused(&what, error))?;
        let value: OwnedVariant = answer.body().deserialize().map_err(|error| SystemdError::refused(&what, error))?;
        T::try_from(value).map_err(|error| SystemdError::refused(&what, error))
    }

    async fn load(&self, unit: &str) -> Result<OwnedObjectPath, SystemdError> {
        self.manager("LoadUnit", &(unit,)).await
    }

    /// What is ordered after `unit`: systemd keeps both ends of an ordering, so the unit's own `Before` names every loaded one.
    pub(super) async fn ordered_after(&self, unit: &str) -> Result<Vec<String>, SystemdError> {
        let path = self.load(unit).await?;
        self.property(&path, unit, "Before").await
    }

    /// How `unit` stands; it is loaded if it was not.
    pub(super) async fn state(&self, unit: &str) -> Result<UnitState, SystemdError> {
        let path = self.load(unit).await?;
        Ok(UnitState {
            load: self.property(&path, unit, "LoadState").await?,
            active: self.property(&path, unit, "ActiveState").await?,
            requires: self.property(&path, unit, "Requires").await?,
            after: self.property(&path, unit, "After").await?,
        })
    }

    /// Makes systemd read the unit files again.
    pub(super) async fn reload(&self) -> Result<(), SystemdError> {
        let denied = match self.manager::<_, ()>("Reload", &()).await {
            Err(SystemdError::Refused { why, .. }) => why,
            // After a timeout it still reads them; asking a second time would only wait behind that.
            done_or_timeout => return done_or_timeout,
        };
        let until = self.deadline.min(Instant::now() + self.systemd.call);
        daemon_reload(self.systemd, until).await.map_err(|error| SystemdError::refused("Reload", format_args!("{denied}; {error}")))
    }

    /// Stops `unit` and waits until it is down.
    pub(super) async fn stop(&self, unit: &str) -> Result<(), SystemdError> {
        let _job: OwnedObjectPath = self.manager("StopUnit", &(unit, "replace")).await?;
        let path = self.load(unit).await?;
        let down = async {
            loop {
                let active = self.property(&path, unit, "ActiveState").await?;
                if !(UnitState { active, ..UnitState::default() }).is_running() {
                    return Ok(());
                }
                sleep(PAUSE).await;
            }
        };
        // Time that is up in the middle of a look is the time of the stop all the same.
        match timeout_at(self.deadline, down).await {
            Err(_) | Ok(Err(SystemdError::Timeout { .. })) => Err(SystemdError::Timeout { what: format!("StopUnit of {unit}") }),
            Ok(done) => done,
        }
    }

    /// Forgets that `unit` failed; that it is not loaded, and so did not fail, is as good.
    pub(super) async fn reset_failed(&self, unit: &str) -> Result<(), SystemdError> {
        let which = (unit,);
        let ask = self.bus.call_method(Some(SERVICE), MANAGER_PATH, Some(MANAGER), "ResetFailedUnit", &which);
        match self.bounded("ResetFailedUnit", ask).await? {
            Ok(_) => Ok(()),
            Err(zbus::Error::MethodError(name, ..)) if name.as_str() == "org.freedesktop.systemd1.NoSuchUnit" => Ok(()),
            Err(error) => Err(SystemdError::refused("ResetFailedUnit", error)),
        }
    }

    /// Queues the start of `unit` with all that it wants, as one transaction.
    pub(super) async fn start(&self, unit: &str) -> Result<(), SystemdError> {
        let _job: OwnedObjectPath = self.manager("StartUnit", &(unit, "replace")).await?;
        Ok(())
    }
}

/// The bus is up and systemd is not on it yet, or the bus tried in vain to start it.
fn is_not_there_yet(error: &zbus::Error) -> bool {
    let zbus::Error::FDO(error) = error else { return false };
    let name = error.name();
    let Some(name) = name.strip_prefix("org.freedesktop.DBus.Error.") else { return false };
    name == "ServiceUnknown" || name == "NameHasNoOwner" || name.starts_with("Spawn.")
}

/// `systemctl daemon-reload`, which reaches systemd through its own socket.
pub(super) async fn daemon_reload(systemd: &Systemd, until: Instant) -> Result<(), SystemdError> {
    let what = "systemctl daemon-reload";
    let mut child = Command::new(&systemd.systemctl)
        .arg("daemon-reload")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| SystemdError::refused(what, error))?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(SystemdError::refused(what, status)),
            Ok(None) if Instant::now() + PAUSE < until => sleep(PAUSE).await,
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(SystemdError::Timeout { what: what.to_owned() });
            }
            Err(error) => return Err(SystemdError::refused(what, error)),
        }
    }
}
