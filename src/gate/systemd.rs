//! systemd over D-Bus: the few calls of `org.freedesktop.systemd1` that the gate needs
//! (org.freedesktop.systemd1(5)).
//!
//! Every call is bounded in time. They are written out instead of generated, which makes the binary
//! smaller.

use super::always_held::is_always;
use super::private;
use super::unit_state::UnitState;
use crate::runtime::{Work, first_done};
use crate::text;
use serde::{Serialize, Serializer};
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use zbus::{Connection, DynamicType, Message, OwnedVariant, Signature, Type, Variant, connection};

/// The system bus (D-Bus specification, "System message bus").
const SYSTEM_BUS: &str = "unix:path=/run/dbus/system_bus_socket";

/// The D-Bus interface that properties are read with.
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";

const SERVICE: &str = "org.freedesktop.systemd1";
const MANAGER_PATH: &str = "/org/freedesktop/systemd1";
const MANAGER: &str = "org.freedesktop.systemd1.Manager";
const UNIT_INTERFACE: &str = "org.freedesktop.systemd1.Unit";
const SERVICE_INTERFACE: &str = "org.freedesktop.systemd1.Service";
/// Interval of looks at something that takes a moment.
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// Limit of the calls that wait for their answers at the same time. dbus-daemon takes 128 of a connection
/// (`max_replies_per_connection`, dbus-daemon(1)); and what systemd was asked and nobody waits for
/// any more comes before a reload all the same.
const IN_FLIGHT: usize = 32;

/// Addresses of systemd, and the longest waits for it.
#[derive(Debug, Clone)]
pub(crate) struct Systemd {
    /// Path of PID 1's own socket.
    pub private: String,
    /// Address of the system bus.
    pub bus: String,
    /// Longest wait for an answer on the bus; on PID 1's own socket, for another answer after the
    /// first.
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
            private: "/run/systemd/private".to_owned(),
            bus: SYSTEM_BUS.to_owned(),
            answer: Duration::from_secs(4),
            reload: Duration::from_secs(10),
            whole: Duration::from_secs(40),
        }
    }
}

/// A way to connect to systemd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Route {
    /// PID 1's own socket.
    Private,
    Bus,
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Private => "its own socket",
            Self::Bus => "the system bus",
        })
    }
}

/// A failed call to systemd: what it was asked, and its answer, made printable.
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
    fn from_call(what: &str, error: &zbus::Error) -> Self {
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

/// The answer for each unit that was asked about, in the order in which they were asked for.
pub(super) type Answers<T> = Vec<(String, Result<T, SystemdError>)>;

/// A connection to systemd.
pub(super) struct Manager<'a> {
    connection: Connection,
    route: Route,
    systemd: &'a Systemd,
    pub(super) deadline: Instant,
    /// The connection broke.
    pub(super) is_broken: Cell<bool>,
}

impl<'a> Manager<'a> {
    pub(super) async fn connect(
        systemd: &'a Systemd,
        route: Route,
        deadline: Instant,
    ) -> Result<Self, SystemdError> {
        let what = "connecting";
        let until = deadline.min(Instant::now() + systemd.answer);
        let open = async {
            match route {
                Route::Private => private::connect(&systemd.private).await,
                Route::Bus => {
                    let bus = connection::Builder::address(systemd.bus.as_str());
                    bus.build().await
                }
            }
        };
        let open = timeout_at(until, open).await;
        let open = open.map_err(|_| SystemdError::timeout(what))?;
        Ok(Self {
            connection: open.map_err(|error| SystemdError::from_call(what, &error))?,
            route,
            systemd,
            deadline,
            is_broken: Cell::new(false),
        })
    }

    /// Until when to wait for an answer. Only systemd itself can delay one on its own socket, so
    /// most of the time that is left is for that; the rest is for the bus. On the bus it may take
    /// at most `most`.
    fn until(&self, most: Duration) -> Instant {
        let now = Instant::now();
        let left = self.deadline.saturating_duration_since(now);
        match self.route {
            Route::Private => now + left * 3 / 4,
            Route::Bus => now + left.min(most),
        }
    }

    /// Calls a method of the manager with these words.
    async fn call(
        &self,
        method: &'static str,
        words: &[&str],
        most: Duration,
    ) -> Result<(), SystemdError> {
        let call = Call::to_manager(method, "", words).send(&self.connection);
        match timeout_at(self.until(most), call).await {
            Ok((_, answer)) => answer.map(drop),
            Err(_) => Err(SystemdError::timeout(method)),
        }
    }

    /// Makes one round: a call for each unit, without waiting for one answer before the next call, so that
    /// a slow systemd costs its delay once. It answers in the order of the calls, so the units that
    /// are always held come first. The others are waited for until `rest`, and as long as one more
    /// answer comes in time.
    async fn round(&self, calls: Vec<Call>, rest: Instant) -> Answers<Message> {
        let asked: Vec<(String, String)> = calls
            .iter()
            .map(|call| (call.unit.clone(), call.what()))
            .collect();
        let (always, others): (Vec<Call>, Vec<Call>) =
            calls.into_iter().partition(|call| is_always(&call.unit));
        let mut left = always.len();
        let mut to_ask = always.into_iter().chain(others);
        let mut asking: Work<'_, _> = Vec::new();
        let mut answers: Vec<(String, Result<Message, SystemdError>)> = Vec::new();
        let mut until = self.until(self.systemd.answer);
        loop {
            while asking.len() < IN_FLIGHT
                && let Some(call) = to_ask.next()
            {
                asking.push(Box::pin(call.send(&self.connection)));
            }
            if asking.is_empty() {
                break;
            }
            let until_now = if left > 0 { until } else { until.min(rest) };
            // Each is sent when it is polled first, so in this order.
            let Ok((unit, answer)) = timeout_at(until_now, first_done(&mut asking)).await else {
                break;
            };
            left -= usize::from(is_always(&unit)).min(left);
            if left == 0 {
                until = self.deadline.min(Instant::now() + self.systemd.answer);
            } else if self.route == Route::Bus {
                until = self.until(self.systemd.answer);
            }
            if matches!(answer, Err(SystemdError::Unreachable(_))) {
                self.is_broken.set(true);
            }
            answers.push((unit, answer));
        }
        let answer = |(unit, what): (String, String)| {
            let answer = match answers.iter().position(|(of, _)| *of == unit) {
                Some(at) => answers.swap_remove(at).1,
                None => Err(SystemdError::timeout(&what)),
            };
            (unit, answer)
        };
        asked.into_iter().map(answer).collect()
    }

    /// Asks for the states of units. systemd loads a unit that was not loaded.
    pub(super) async fn states(&self, units: &[String], rest: Instant) -> Answers<UnitState> {
        let calls = units.iter().map(|unit| Call::properties(unit)).collect();
        let state = |(unit, answer): (String, Result<Message, SystemdError>)| {
            let state = answer.and_then(|answer| state_of(&unit, &answer));
            (unit, state)
        };
        self.round(calls, rest)
            .await
            .into_iter()
            .map(state)
            .collect()
    }

    /// Asks for the state of `unit`.
    pub(super) async fn state(&self, unit: &str) -> Result<UnitState, SystemdError> {
        let until = self.until(self.systemd.answer);
        let answers = self.states(&[unit.to_owned()], until).await;
        let answer = answers.into_iter().next().map(|(_, answer)| answer);
        answer.unwrap_or_else(|| Err(SystemdError::timeout(unit)))
    }

    /// Number of a service's restarts by systemd; zero where it does not say.
    pub(super) async fn restarts(&self, service: &str) -> u64 {
        let asked = Call::restarts(service).send(&self.connection);
        let Ok((_, Ok(answer))) = timeout_at(self.until(self.systemd.answer), asked).await else {
            return 0;
        };
        let value: Option<OwnedVariant> = answer.body().deserialize().ok();
        value.and_then(|value| number(&value)).unwrap_or_default()
    }

    /// Makes systemd read the unit files again. It goes on with that even if it does not answer in
    /// time.
    pub(super) async fn reload(&self) -> Result<(), SystemdError> {
        self.call("Reload", &[], self.systemd.reload).await
    }

    /// Queues the stop of units.
    pub(super) async fn stop(&self, units: &[String]) -> Answers<()> {
        let call = |unit: &String| Call::to_manager("StopUnit", unit, &[unit, "replace"]);
        self.each(units.iter().map(call).collect()).await
    }

    /// Makes systemd forget that units failed. A unit that is not loaded is not an error.
    pub(super) async fn reset_failed(&self, units: &[String]) -> Answers<()> {
        let call = |unit: &String| Call::to_manager("ResetFailedUnit", unit, &[unit]);
        let mut answers = self.each(units.iter().map(call).collect()).await;
        for (_, answer) in &mut answers {
            if let Err(SystemdError::Refused(why)) = answer
                && why.contains(": org.freedesktop.systemd1.NoSuchUnit")
            {
                *answer = Ok(());
            }
        }
        answers
    }

    async fn each(&self, calls: Vec<Call>) -> Answers<()> {
        let answers = self.round(calls, self.deadline).await.into_iter();
        answers
            .map(|(unit, answer)| (unit, answer.map(drop)))
            .collect()
    }

    /// Queues the start of `unit` and of everything that it wants, as one transaction. With the mode
    /// `fail` nothing that is queued already is changed.
    pub(super) async fn start(&self, unit: &str, mode: &str) -> Result<(), SystemdError> {
        self.call("StartUnit", &[unit, mode], self.systemd.answer)
            .await
    }
}

/// A call that takes nothing but words: all that are needed here. One type for all of them is in the
/// program once.
struct Call {
    /// The unit that it is about; empty where that is no unit.
    unit: String,
    path: String,
    interface: &'static str,
    method: &'static str,
    words: Words,
}

impl Call {
    fn to_manager(method: &'static str, unit: &str, words: &[&str]) -> Self {
        Self {
            unit: unit.to_owned(),
            path: MANAGER_PATH.to_owned(),
            interface: MANAGER,
            method,
            words: Words(words.iter().map(|word| (*word).to_owned()).collect()),
        }
    }

    /// All properties of a unit.
    fn properties(unit: &str) -> Self {
        Self {
            unit: unit.to_owned(),
            path: object_path(unit),
            interface: PROPERTIES,
            method: "GetAll",
            words: Words(vec![UNIT_INTERFACE.to_owned()]),
        }
    }

    /// Number of a service's restarts.
    fn restarts(service: &str) -> Self {
        Self {
            method: "Get",
            words: Words(vec![SERVICE_INTERFACE.to_owned(), "NRestarts".to_owned()]),
            ..Self::properties(service)
        }
    }

    /// Its name in errors.
    fn what(&self) -> String {
        if self.interface == PROPERTIES {
            format!("properties of {}", self.unit)
        } else {
            self.method.to_owned()
        }
    }

    /// The unit, and the answer.
    async fn send(self, connection: &Connection) -> (String, Result<Message, SystemdError>) {
        let answer = connection
            .call_method(
                Some(SERVICE),
                &*self.path,
                Some(self.interface),
                self.method,
                &self.words,
            )
            .await;
        let answer = answer.map_err(|error| SystemdError::from_call(&self.what(), &error));
        (self.unit, answer)
    }
}

/// The body of a message: no, one or two strings.
struct Words(Vec<String>);

impl DynamicType for Words {
    fn signature(&self) -> Signature {
        match self.0.len() {
            0 => <()>::SIGNATURE.clone(),
            1 => <(&str,)>::SIGNATURE.clone(),
            _ => <(&str, &str)>::SIGNATURE.clone(),
        }
    }
}

impl Serialize for Words {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [] => ().serialize(serializer),
            [word] => (word,).serialize(serializer),
            [word, other, ..] => (word, other).serialize(serializer),
        }
    }
}

/// Reads systemd's answer about a unit.
fn state_of(unit: &str, answer: &Message) -> Result<UnitState, SystemdError> {
    let all: Result<HashMap<String, OwnedVariant>, _> = answer.body().deserialize();
    let all =
        all.map_err(|error| SystemdError::refused(&format!("properties of {unit}"), error))?;
    let mut state = unit_state(|name| {
        let words = all.get(name).map_or(Err("systemd does not say"), |value| {
            words(value).ok_or("of another type")
        });
        words.map_err(|why| SystemdError::refused(&format!("{name} of {unit}"), why))
    })?;
    let since = all.get("StateChangeTimestampMonotonic");
    state.since = since.and_then(|value| number(value)).unwrap_or_default();
    Ok(state)
}

/// The state of a unit. `words` gives each property: one word, or a list of names.
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
        on_failure: words("OnFailure")?,
        has_job: !matches!(word("Job")?.as_str(), "" | "0"),
        id: word("Id")?,
        sub: word("SubState").unwrap_or_default(),
        ..UnitState::default()
    })
}

/// A property that is a number.
fn number(value: &Variant<'_>) -> Option<u64> {
    match value {
        Variant::U32(number) => Some(u64::from(*number)),
        Variant::U64(number) => Some(*number),
        _ => None,
    }
}

/// A property: a word, a list of names, or a job with its number.
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
