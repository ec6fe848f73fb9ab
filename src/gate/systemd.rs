//! systemd over D-Bus: the few calls of `org.freedesktop.systemd1` that holding and letting through need (org.freedesktop.systemd1(5)).
//!
//! Every call is bounded in time. Method calls are written out instead of generated: a handful of small ones does not need proxies, and what is
//! not linked in is not carried to every node.

use super::plan::UnitState;
use crate::text;
use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};
use zbus::{Connection, DynamicType, OwnedObjectPath, OwnedVariant, connection};

const SERVICE: &str = "org.freedesktop.systemd1";
const MANAGER_PATH: &str = "/org/freedesktop/systemd1";
const MANAGER: &str = "org.freedesktop.systemd1.Manager";
const UNIT: &str = "org.freedesktop.systemd1.Unit";
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";

/// Between two looks at something that takes a moment.
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// How to reach systemd, and how long to wait for it.
#[derive(Debug, Clone)]
pub struct Systemd {
    /// D-Bus address of the system bus.
    pub bus: String,
    /// D-Bus address of systemd's own socket, for root only: no bus is needed between the two.
    pub own: String,
    /// `systemctl`; only for `daemon-reload`.
    pub systemctl: PathBuf,
    /// Longest wait for one answer.
    pub answer: Duration,
    /// Longest wait for a reload, which runs every generator: on an overcommitted host that takes many seconds.
    pub reload: Duration,
    /// Longest wait for everything: the unit has 30 seconds in all, and the message still has to be written after this. Generous, because only
    /// a node to refuse waits for it.
    pub whole: Duration,
}

impl Systemd {
    /// The running system's.
    pub fn system() -> Self {
        Self {
            bus: "unix:path=/run/dbus/system_bus_socket".to_owned(),
            own: "unix:path=/run/systemd/private".to_owned(),
            systemctl: PathBuf::from("/usr/bin/systemctl"),
            answer: Duration::from_secs(4),
            reload: Duration::from_secs(10),
            whole: Duration::from_secs(22),
        }
    }
}

/// A way to systemd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Route {
    /// The system bus.
    Bus,
    /// `/run/systemd/private`, where systemctl speaks to it as root.
    Own,
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bus => "the system bus",
            Self::Own => "systemd's own socket",
        })
    }
}

/// Why systemd did not do something.
#[derive(Debug, thiserror::Error)]
pub enum SystemdError {
    /// It said no.
    #[error("{what}: {why}")]
    Refused {
        /// What was asked.
        what: String,
        /// The answer, made printable.
        why: String,
    },
    /// It cannot be reached, or the connection broke.
    #[error("{what}: {why}")]
    Unreachable {
        /// What was asked.
        what: String,
        /// What went wrong, made printable.
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
    fn refused(what: &str, why: impl fmt::Display) -> Self {
        Self::Refused { what: what.to_owned(), why: text::word(&why.to_string()) }
    }

    /// From what came of a call.
    fn of_call(what: &str, error: &zbus::Error) -> Self {
        use zbus::fdo::Error as Fdo;
        let said_no = match error {
            zbus::Error::MethodError(..) => true,
            zbus::Error::FDO(error) => matches!(
                **error,
                Fdo::AccessDenied(_) | Fdo::UnknownObject(_) | Fdo::UnknownMethod(_) | Fdo::UnknownInterface(_) | Fdo::InvalidArgs(_)
            ),
            _ => false,
        };
        let (what, why) = (what.to_owned(), text::word(&error.to_string()));
        if said_no { Self::Refused { what, why } } else { Self::Unreachable { what, why } }
    }
}

/// A connection to systemd.
pub(super) struct Manager<'a> {
    connection: Connection,
    /// The name to address on a bus; on its own socket there is nobody else.
    name: Option<&'static str>,
    systemd: &'a Systemd,
    deadline: Instant,
}

impl<'a> Manager<'a> {
    pub(super) async fn connect(systemd: &'a Systemd, route: Route, deadline: Instant) -> Result<Self, SystemdError> {
        let (open, name) = match route {
            Route::Bus => (connection::Builder::address(systemd.bus.as_str()), Some(SERVICE)),
            Route::Own => (connection::Builder::address(systemd.own.as_str()).p2p(), None),
        };
        let what = "connecting";
        let connection = timeout_at(deadline.min(Instant::now() + systemd.answer), open.build())
            .await
            .map_err(|_| SystemdError::Timeout { what: what.to_owned() })?
            .map_err(|error| SystemdError::of_call(what, &error))?;
        Ok(Self { connection, name, systemd, deadline })
    }

    async fn call<B, R>(&self, path: &str, interface: &str, method: &str, body: &B, what: &str, most: Duration) -> Result<R, SystemdError>
    where
        B: serde::Serialize + DynamicType,
        R: for<'d> zbus::zvariant::DynamicDeserialize<'d>,
    {
        let until = self.deadline.min(Instant::now() + most);
        let answer = timeout_at(until, self.connection.call_method(self.name, path, Some(interface), method, body))
            .await
            .map_err(|_| SystemdError::Timeout { what: what.to_owned() })?
            .map_err(|error| SystemdError::of_call(what, &error))?;
        answer.body().deserialize().map_err(|error| SystemdError::refused(what, error))
    }

    async fn manager<B, R>(&self, method: &str, body: &B) -> Result<R, SystemdError>
    where
        B: serde::Serialize + DynamicType,
        R: for<'d> zbus::zvariant::DynamicDeserialize<'d>,
    {
        self.call(MANAGER_PATH, MANAGER, method, body, method, self.systemd.answer).await
    }

    /// How `unit` stands, in one question; it is loaded if it was not.
    pub(super) async fn state(&self, unit: &str) -> Result<UnitState, SystemdError> {
        let what = format!("properties of {unit}");
        let mut all: HashMap<String, OwnedVariant> =
            self.call(&object_path(unit), PROPERTIES, "GetAll", &(UNIT,), &what, self.systemd.answer).await?;
        let mut state = UnitState {
            load: take(&mut all, unit, "LoadState")?,
            active: take(&mut all, unit, "ActiveState")?,
            requires: take(&mut all, unit, "Requires")?,
            after: take(&mut all, unit, "After")?,
            before: take(&mut all, unit, "Before")?,
            required_by: Vec::new(),
            has_job: take::<(u32, OwnedObjectPath)>(&mut all, unit, "Job")?.0 != 0,
            id: take(&mut all, unit, "Id")?,
        };
        for name in ["RequiredBy", "RequisiteOf", "BoundBy"] {
            state.required_by.extend(take::<Vec<String>>(&mut all, unit, name)?);
        }
        Ok(state)
    }

    /// Makes systemd read the unit files again.
    pub(super) async fn reload(&self) -> Result<(), SystemdError> {
        let until = self.deadline.min(Instant::now() + self.systemd.reload);
        let denied = match self.call::<_, ()>(MANAGER_PATH, MANAGER, "Reload", &(), "Reload", self.systemd.reload).await {
            Err(SystemdError::Refused { why, .. }) => why,
            // After a timeout it still reads them; asking a second time would only wait behind that.
            done_or_lost => return done_or_lost,
        };
        daemon_reload(self.systemd, until).await.map_err(|error| SystemdError::refused("Reload", format_args!("{denied}; {error}")))
    }

    /// Queues the stop of `unit`.
    pub(super) async fn stop(&self, unit: &str) -> Result<(), SystemdError> {
        self.manager::<_, OwnedObjectPath>("StopUnit", &(unit, "replace")).await.map(drop)
    }

    /// Forgets that `unit` failed; that it is not loaded, and so did not fail, is as good.
    pub(super) async fn reset_failed(&self, unit: &str) -> Result<(), SystemdError> {
        match self.manager("ResetFailedUnit", &(unit,)).await {
            Err(SystemdError::Refused { why, .. }) if why.starts_with("org.freedesktop.systemd1.NoSuchUnit") => Ok(()),
            done => done,
        }
    }

    /// Queues the start of `unit` with all that it wants, as one transaction.
    pub(super) async fn start(&self, unit: &str) -> Result<(), SystemdError> {
        self.manager::<_, OwnedObjectPath>("StartUnit", &(unit, "replace")).await.map(drop)
    }
}

fn take<T>(all: &mut HashMap<String, OwnedVariant>, unit: &str, name: &str) -> Result<T, SystemdError>
where
    T: TryFrom<OwnedVariant>,
    T::Error: fmt::Display,
{
    let what = || format!("{name} of {unit}");
    let value = all.remove(name).ok_or_else(|| SystemdError::refused(&what(), "systemd does not say"))?;
    T::try_from(value).map_err(|error| SystemdError::refused(&what(), error))
}

/// The object of a unit. systemd documents how a name becomes a path, so that nobody has to ask for it (org.freedesktop.systemd1(5), "Unit
/// Objects"; sd_bus_path_encode(3)): what is no letter or digit becomes `_` and two hexadecimal digits, and so does a digit at the beginning.
fn object_path(unit: &str) -> String {
    let escaped = unit.bytes().enumerate().map(|(at, byte)| {
        let plain = byte.is_ascii_alphabetic() || (byte.is_ascii_digit() && at > 0);
        if plain { char::from(byte).to_string() } else { format!("_{byte:02x}") }
    });
    format!("{MANAGER_PATH}/unit/{}", escaped.collect::<String>())
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

#[cfg(test)]
mod tests {
    #[test]
    fn a_unit_has_the_path_that_systemd_gives_it() {
        assert_eq!(super::object_path("kubelet.service"), "/org/freedesktop/systemd1/unit/kubelet_2eservice");
        assert_eq!(super::object_path("1a-b@c.service"), "/org/freedesktop/systemd1/unit/_31a_2db_40c_2eservice");
    }
}
