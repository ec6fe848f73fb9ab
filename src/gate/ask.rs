//! systemd's answers about units, for others than the gate.

use super::plan::UnitStates;
use super::retry::{apart, on_any_connection, run};
use super::systemd::{Manager, Systemd};
use std::time::Duration;
use tokio::time::Instant;

/// Asks systemd about units, round by round: `next` names those that are still to be asked about,
/// by what is known. Only of the services in `restarting` it is asked how often they were restarted,
/// with a call for each. `None`: it did not answer in `most`.
pub(crate) fn ask(
    systemd: &Systemd,
    most: Duration,
    restarting: &[&str],
    next: &(dyn Fn(&UnitStates) -> Vec<String> + Sync),
) -> Option<UnitStates> {
    let work = async |manager: &Manager<'_>| {
        let mut known = UnitStates::new();
        loop {
            let units = next(&known);
            if units.is_empty() {
                return Ok(known);
            }
            for (unit, state) in manager.states(&units, manager.deadline).await {
                let mut state = state?;
                if restarting.contains(&unit.as_str()) {
                    state.restarts = manager.restarts(&unit).await;
                }
                known.insert(unit, state);
            }
        }
    };
    apart(|| run(on_any_connection(systemd, Instant::now() + most, work)).ok())?
}
