//! Doing something with systemd on one connection after the other, until it works.

use super::GateError;
use super::systemd::{Manager, Route, Systemd, SystemdError};
use std::collections::BTreeMap;
use std::future::Future;
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

/// Runs `work` on one connection to systemd after the other, until it succeeds: the bus; the bus
/// again, if it can be reached, because systemd may only have been slow to answer; then systemctl.
/// After a pause all of this is repeated, because a systemd that re-executes itself cannot be
/// reached for a moment. If systemd refuses, the round is finished but not repeated.
///
/// `work` begins with a question: only a systemd that answers it is told to do something.
pub(super) async fn on_any_connection<T>(
    systemd: &Systemd,
    deadline: Instant,
    mut work: impl AsyncFnMut(&Manager<'_>) -> Result<T, GateError>,
) -> Result<T, GateError> {
    let mut lost = BTreeMap::new();
    let mut pauses = PAUSES.into_iter();
    loop {
        let (mut refused, mut may_pass, mut has_bus) = (None, false, true);
        for route in [Route::Bus, Route::Bus, Route::Systemctl] {
            if route == Route::Bus && !has_bus {
                continue;
            }
            let done = match Manager::connect(systemd, route, deadline).await {
                Ok(manager) => work(&manager).await,
                Err(error) => {
                    has_bus = false;
                    Err(error.into())
                }
            };
            match done {
                Err(GateError::Systemd(SystemdError::Unreachable(why))) => {
                    lost.entry(route)
                        .or_insert_with(|| format!("{route}: {why}"));
                    may_pass = true;
                    if has_bus && route == Route::Bus {
                        sleep(BROKEN.min(deadline.saturating_duration_since(Instant::now()))).await;
                    }
                }
                Err(error) if is_systemd(&error) => refused = refused.or(Some(error)),
                done => return done,
            }
        }
        match pauses.next() {
            Some(pause) if may_pass && refused.is_none() && Instant::now() + pause < deadline => {
                sleep(pause).await
            }
            _ => {
                let lost = || {
                    SystemdError::Unreachable(lost.into_values().collect::<Vec<_>>().join("; "))
                        .into()
                };
                return Err(refused.unwrap_or_else(lost));
            }
        }
    }
}

/// Whether this is an answer of systemd, which may be another one on another connection.
fn is_systemd(error: &GateError) -> bool {
    !matches!(error, GateError::File(_) | GateError::HasBegun)
}

/// Runs the calls on a runtime made for them. A node with nothing to hold never gets here.
pub(super) fn run<T>(work: impl Future<Output = Result<T, GateError>>) -> Result<T, GateError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime =
        runtime.map_err(|error| SystemdError::Unreachable(format!("runtime: {error}")))?;
    runtime.block_on(work)
}
