//! systemd over D-Bus: the few calls of `org.freedesktop.systemd1` that the gate needs
//! (org.freedesktop.systemd1(5)).
//!
//! Every call is bounded in time. They are written out instead of generated, which makes the binary
//! smaller.

use super::plan::UnitState;
use crate::node::bus::{PROPERTIES, SYSTEM_BUS};
use crate::{child, text};
use std::collections::HashMap;
use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use zbus::{Connection, DynamicType, Message, OwnedVariant, Variant, connection};

const SERVICE: &str = "org.freedesktop.systemd1";
const MANAGER_PATH: &str = "/org/freedesktop/systemd1";
const MANAGER: &str = "org.freedesktop.systemd1.Manager";
const UNIT: &str = "org.freedesktop.systemd1.Unit";
/// How often something is looked at that takes a moment.
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// How to reach systemd, and how long to wait for it.
#[derive(Debug, Clone)]
pub(crate) struct Systemd {
    pub bus: String,
    /// `systemctl`. As root it needs no bus, because it uses systemd's own socket,
    /// `/run/systemd/private`. (zbus cannot: it rejects the sender's name that systemd uses there.)
    pub systemctl: PathBuf,
    /// Longest wait for an answer on the bus.
    pub answer: Duration,
    /// Longest wait for a reload on the bus. It runs every generator, which takes many seconds on
    /// an overcommitted host.
    pub reload: Duration,
    /// Longest wait for everything together. The unit has 50 seconds in all, and the message is
    /// written after this. It may be long, because only a node that is refused waits for it. And it
    /// must be: if the bus hangs after a reload, systemd 239 answers nobody for 25 seconds, until
    /// its own call to the bus times out (`manager_dispatch_sync_bus_names`,
    /// `BUS_DEFAULT_TIMEOUT`).
    pub whole: Duration,
}

impl Systemd {
    /// The running system's.
    pub(crate) fn system() -> Self {
        Self {
            bus: SYSTEM_BUS.to_owned(),
            systemctl: PathBuf::from("/usr/bin/systemctl"),
            answer: Duration::from_secs(4),
            reload: Duration::from_secs(10),
            whole: Duration::from_secs(40),
        }
    }
}

/// How to connect to systemd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Route {
    Bus,
    /// systemctl, over systemd's own socket.
    Systemctl,
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bus => "the system bus",
            Self::Systemctl => "systemctl",
        })
    }
}

/// Why systemd did not do something: what it was asked, and its answer, made printable.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SystemdError {
    /// It answered with an error. Asking again does not help.
    #[error("{0}")]
    Refused(String),
    /// It cannot be reached, the connection broke, or there was no answer in time. Another
    /// connection or a later try may help.
    #[error("{0}")]
    Unreachable(String),
}

impl SystemdError {
    fn refused(what: &str, why: impl fmt::Display) -> Self {
        Self::Refused(format!("{what}: {}", text::printable(&why.to_string())))
    }

    fn unreachable(what: &str, why: impl fmt::Display) -> Self {
        Self::Unreachable(format!("{what}: {}", text::printable(&why.to_string())))
    }

    fn timeout(what: &str) -> Self {
        Self::unreachable(what, "no answer in time")
    }

    /// From the error of a call.
    fn of_call(what: &str, error: &zbus::Error) -> Self {
        use zbus::fdo::Error as Fdo;
        let said_no = match error {
            zbus::Error::MethodError(..) => true,
            zbus::Error::FDO(error) => matches!(
                **error,
                Fdo::AccessDenied(_)
                    | Fdo::UnknownObject(_)
                    | Fdo::UnknownMethod(_)
                    | Fdo::UnknownInterface(_)
                    | Fdo::InvalidArgs(_)
            ),
            _ => false,
        };
        if said_no {
            Self::refused(what, error)
        } else {
            Self::unreachable(what, error)
        }
    }
}

/// The properties of a unit that are asked for.
const ASKED: &str = "--property=LoadState,ActiveState,Requires,After,Before,RequiredBy,RequisiteOf,BoundBy,Triggers,Job,Id";

/// A connection to systemd.
pub(super) struct Manager<'a> {
    /// `None` for systemctl.
    bus: Option<Connection>,
    systemd: &'a Systemd,
    deadline: Instant,
}

impl<'a> Manager<'a> {
    pub(super) async fn connect(
        systemd: &'a Systemd,
        route: Route,
        deadline: Instant,
    ) -> Result<Self, SystemdError> {
        let bus = match route {
            Route::Systemctl => None,
            Route::Bus => {
                let what = "connecting";
                let open = connection::Builder::address(systemd.bus.as_str()).build();
                let open = timeout_at(deadline.min(Instant::now() + systemd.answer), open).await;
                let open = open.map_err(|_| SystemdError::timeout(what))?;
                Some(open.map_err(|error| SystemdError::of_call(what, &error))?)
            }
        };
        Ok(Self {
            bus,
            systemd,
            deadline,
        })
    }

    /// Calls a method on the bus, and waits at most `most` for the answer.
    async fn call<B>(
        &self,
        bus: &Connection,
        to: (&str, &str, &str),
        body: &B,
        what: &str,
        most: Duration,
    ) -> Result<Message, SystemdError>
    where
        B: serde::Serialize + DynamicType,
    {
        let (path, interface, method) = to;
        let until = self.deadline.min(Instant::now() + most);
        let answer = timeout_at(
            until,
            bus.call_method(Some(SERVICE), path, Some(interface), method, body),
        )
        .await;
        answer
            .map_err(|_| SystemdError::timeout(what))?
            .map_err(|error| SystemdError::of_call(what, &error))
    }

    /// Has the manager do something: on the bus by a method, else by a systemctl command.
    async fn ask<B>(
        &self,
        method: &str,
        body: &B,
        most: Duration,
        command: &[&str],
    ) -> Result<(), SystemdError>
    where
        B: serde::Serialize + DynamicType,
    {
        match &self.bus {
            Some(bus) => self
                .call(bus, (MANAGER_PATH, MANAGER, method), body, method, most)
                .await
                .map(drop),
            None => self.systemctl(command).map(drop),
        }
    }

    /// Runs systemctl and returns what it prints. It may take all the time that is left, because
    /// nothing but systemd can delay it.
    fn systemctl(&self, args: &[&str]) -> Result<String, SystemdError> {
        child::run(
            Command::new(&self.systemd.systemctl).args(args),
            self.deadline.into_std(),
        )
        .map_err(|error| {
            let what = args.join(" ");
            if error.kind() == ErrorKind::TimedOut {
                SystemdError::timeout(&what)
            } else {
                SystemdError::unreachable(&what, error)
            }
        })
    }

    /// Asks for the state of `unit`, with one call. systemd loads the unit if it was not loaded.
    pub(super) async fn state(&self, unit: &str) -> Result<UnitState, SystemdError> {
        let Some(bus) = &self.bus else {
            let text = self.systemctl(&["show", ASKED, "--", unit])?;
            return unit_state(|name| Ok(shown(&text, name)));
        };
        let what = format!("properties of {unit}");
        let (path, most) = (object_path(unit), self.systemd.answer);
        let answer = self
            .call(bus, (&path, PROPERTIES, "GetAll"), &(UNIT,), &what, most)
            .await?;
        let all: Result<HashMap<String, OwnedVariant>, _> = answer.body().deserialize();
        let all = all.map_err(|error| SystemdError::refused(&what, error))?;
        unit_state(|name| {
            let words = all.get(name).map_or(Err("systemd does not say"), |value| {
                words(value).ok_or("of another type")
            });
            words.map_err(|why| SystemdError::refused(&format!("{name} of {unit}"), why))
        })
    }

    /// Makes systemd read the unit files again. It goes on with that even if it does not answer in
    /// time.
    pub(super) async fn reload(&self) -> Result<(), SystemdError> {
        self.ask("Reload", &(), self.systemd.reload, &["daemon-reload"])
            .await
    }

    /// Queues the stop of `unit`.
    pub(super) async fn stop(&self, unit: &str) -> Result<(), SystemdError> {
        self.ask(
            "StopUnit",
            &(unit, "replace"),
            self.systemd.answer,
            &["--no-block", "stop", "--", unit],
        )
        .await
    }

    /// Makes systemd forget that `unit` failed. A unit that is not loaded is not an error.
    pub(super) async fn reset_failed(&self, unit: &str) -> Result<(), SystemdError> {
        match self
            .ask(
                "ResetFailedUnit",
                &(unit,),
                self.systemd.answer,
                &["reset-failed", "--", unit],
            )
            .await
        {
            Err(SystemdError::Refused(why))
                if why.contains(": org.freedesktop.systemd1.NoSuchUnit") =>
            {
                Ok(())
            }
            // systemctl has one exit status for all failures, so they are all ignored.
            Err(SystemdError::Unreachable(_)) if self.bus.is_none() => Ok(()),
            done => done,
        }
    }

    /// Queues the start of `unit` and of everything that it wants, as one transaction.
    pub(super) async fn start(&self, unit: &str) -> Result<(), SystemdError> {
        self.ask(
            "StartUnit",
            &(unit, "replace"),
            self.systemd.answer,
            &["--no-block", "start", "--", unit],
        )
        .await
    }
}

/// The state of a unit. `words` gives each property as `systemctl show` prints it: one word, or a
/// list of names.
fn unit_state(
    words: impl Fn(&str) -> Result<Vec<String>, SystemdError>,
) -> Result<UnitState, SystemdError> {
    let word = |name: &str| Ok(words(name)?.pop().unwrap_or_default());
    Ok(UnitState {
        load: word("LoadState")?,
        active: word("ActiveState")?,
        requires: words("Requires")?,
        after: words("After")?,
        before: words("Before")?,
        required_by: [
            words("RequiredBy")?,
            words("RequisiteOf")?,
            words("BoundBy")?,
        ]
        .concat(),
        triggers: words("Triggers")?,
        has_job: !matches!(word("Job")?.as_str(), "" | "0"),
        id: word("Id")?,
    })
}

/// A property in what `systemctl show` printed.
fn shown(text: &str, name: &str) -> Vec<String> {
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    value
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// A property on the bus: a word, a list of names, or a job with its number.
fn words(value: &Variant<'_>) -> Option<Vec<String>> {
    match value {
        Variant::Str(word) => Some(vec![word.to_string()]),
        Variant::Array(names) => names
            .iter()
            .map(|name| name.downcast_ref::<&str>().ok().map(str::to_owned))
            .collect(),
        Variant::Structure(job) => job
            .fields()
            .first()?
            .downcast_ref::<u32>()
            .ok()
            .map(|number| vec![number.to_string()]),
        _ => None,
    }
}

/// The object path of a unit, which is made from its name (org.freedesktop.systemd1(5), "Unit
/// Objects"; sd_bus_path_encode(3)): every character but letters and digits becomes `_` and two
/// hexadecimal digits, and so does a digit at the beginning.
fn object_path(unit: &str) -> String {
    let escaped = unit.bytes().enumerate().map(|(at, byte)| {
        let plain = byte.is_ascii_alphabetic() || (byte.is_ascii_digit() && at > 0);
        if plain {
            char::from(byte).to_string()
        } else {
            format!("_{byte:02x}")
        }
    });
    format!("{MANAGER_PATH}/unit/{}", escaped.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_systemctl_shows() {
        let text = "LoadState=loaded\nActiveState=activating\nRequires=a.service b.target\nAfter=\nRequiredBy=c.service\nBoundBy=d.service\nJob=42\nId=x.service\nNew=1\n";
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        let expected = UnitState {
            load: "loaded".into(),
            active: "activating".into(),
            requires: names(&["a.service", "b.target"]),
            required_by: names(&["c.service", "d.service"]),
            has_job: true,
            id: "x.service".into(),
            ..UnitState::default()
        };
        assert_eq!(unit_state(|name| Ok(shown(text, name))).unwrap(), expected);
    }

    #[test]
    fn a_unit_has_the_path_that_systemd_gives_it() {
        assert_eq!(
            object_path("kubelet.service"),
            "/org/freedesktop/systemd1/unit/kubelet_2eservice"
        );
        assert_eq!(
            object_path("1a-b@c.service"),
            "/org/freedesktop/systemd1/unit/_31a_2db_40c_2eservice"
        );
    }
}
