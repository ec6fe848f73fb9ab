//! Doing something with systemd on one connection after the other, until it works.

use super::GateError;
use super::systemd::{Manager, Route, Systemd, SystemdError};
use std::future::Future;
use std::pin::pin;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Waits before every route to systemd is tried again: long enough for a systemd that re-executes
/// itself.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_millis(1000),
    Duration::from_millis(2000),
];

/// The wait after a connection that broke, before the next one. systemd 239 crashes if it is told
/// to reload while it re-executes itself.
const BROKEN: Duration = Duration::from_millis(250);

/// Runs `work` on one connection to systemd after the other, until it succeeds: PID 1's own socket,
/// then the bus. After a pause both are tried again, because a systemd that re-executes itself
/// cannot be reached for a moment. If systemd refuses, the round is finished but not repeated.
///
/// `work` begins with a question: only a systemd that answers it is told to do something.
pub(super) async fn on_any_connection<T>(
    systemd: &Systemd,
    deadline: Instant,
    mut work: impl AsyncFnMut(&Manager<'_>) -> Result<T, GateError>,
) -> Result<T, GateError> {
    let mut tries = Tries::new(systemd, deadline);
    loop {
        let manager = tries.connected().await?;
        let done = work(&manager).await;
        drop(manager);
        match done {
            Err(error) => tries.failed(error).await?,
            done => return done,
        }
    }
}

const ROUTES: [Route; 2] = [Route::Private, Route::Bus];

/// The connections that were tried: the part that does not depend on the work, so that it is in a
/// program once.
struct Tries<'a> {
    systemd: &'a Systemd,
    deadline: Instant,
    /// The reason that each route failed at first.
    lost: Vec<(Route, String)>,
    pauses: std::array::IntoIter<Duration, 4>,
    /// Of this round: the routes that are left, and the one that is tried.
    routes: std::array::IntoIter<Route, 2>,
    route: Route,
    /// The first refusal.
    refused: Option<GateError>,
    may_pass: bool,
}

impl<'a> Tries<'a> {
    fn new(systemd: &'a Systemd, deadline: Instant) -> Self {
        Self {
            systemd,
            deadline,
            lost: Vec::new(),
            pauses: PAUSES.into_iter(),
            routes: ROUTES.into_iter(),
            route: Route::Private,
            refused: None,
            may_pass: false,
        }
    }

    /// The next connection that can be made.
    async fn connected(&mut self) -> Result<Manager<'a>, GateError> {
        loop {
            let Some(route) = self.routes.next() else {
                self.next_round().await?;
                continue;
            };
            self.route = route;
            match Manager::connect(self.systemd, route, self.deadline).await {
                Ok(manager) => return Ok(manager),
                Err(error) => self.take_down(error.into())?,
            }
        }
    }

    /// The work failed on a connection that was made.
    ///
    /// # Errors
    /// The same, if another connection does not change it.
    async fn failed(&mut self, error: GateError) -> Result<(), GateError> {
        self.take_down(error)?;
        let left = self.deadline.saturating_duration_since(Instant::now());
        sleep(BROKEN.min(left)).await;
        Ok(())
    }

    /// Takes down why the connection or the work failed.
    ///
    /// # Errors
    /// The same, if another connection does not change it.
    fn take_down(&mut self, error: GateError) -> Result<(), GateError> {
        match error {
            GateError::Systemd(SystemdError::Unreachable(why)) => {
                let route = self.route;
                if !self.lost.iter().any(|(lost, _)| *lost == route) {
                    self.lost.push((route, format!("{route}: {why}")));
                }
                self.may_pass = true;
            }
            error if is_systemd(&error) => {
                self.refused.get_or_insert(error);
            }
            error => return Err(error),
        }
        Ok(())
    }

    /// After a pause every route may be tried again.
    ///
    /// # Errors
    /// systemd refused, there is no time left, or all that was tried would fail again.
    async fn next_round(&mut self) -> Result<(), GateError> {
        let may_pass = std::mem::take(&mut self.may_pass);
        match self.pauses.next() {
            Some(pause)
                if may_pass && self.refused.is_none() && Instant::now() + pause < self.deadline =>
            {
                sleep(pause).await;
            }
            _ => {
                let lost: Vec<String> = self.lost.drain(..).map(|(_, why)| why).collect();
                let refused = self.refused.take();
                return Err(
                    refused.unwrap_or_else(|| SystemdError::Unreachable(lost.join("; ")).into())
                );
            }
        }
        self.routes = ROUTES.into_iter();
        Ok(())
    }
}

/// This is an answer of systemd, which may be another one on another connection.
fn is_systemd(error: &GateError) -> bool {
    !matches!(error, GateError::File(_) | GateError::HasBegun)
}

/// Does `work` on a thread of its own, because the caller may be in a runtime already. Its type is
/// erased: so the thread is in a program once.
pub(super) fn apart<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    let mut done = None;
    let work: Box<dyn FnOnce() + Send> = Box::new(|| done = Some(work()));
    let _ = std::thread::scope(|scope| scope.spawn(work).join());
    done
}

/// Runs the calls on a runtime made for them. A node with nothing to hold never gets here.
pub(super) fn run<T>(work: impl Future<Output = Result<T, GateError>>) -> Result<T, GateError> {
    let mut done = None;
    let started = crate::runtime::run(pin!(async { done = Some(work.await) }));
    let started = started.map_err(|error| SystemdError::Unreachable(format!("runtime: {error}")));
    started?;
    done.unwrap_or_else(|| Err(SystemdError::Unreachable("runtime: ended".to_owned()).into()))
}
