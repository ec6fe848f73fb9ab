//! Lines for the journal and updates of the console.

use super::ledger::Ledger;
use super::payload::Payload;
use super::stall::Progress;
pub use crate::verdict::ClusterKnows;
use crate::verdict::Verdict;

/// Receives what a run tells the journal and the console. A trait, so that tests can listen.
pub trait Output {
    /// Takes a line for the journal.
    fn line(&mut self, level: Level, line: &str);
    /// Called when the cluster's knowledge of this verdict or the node's first address has changed.
    /// Returns `false` to be told again later.
    fn cluster_knows(
        &mut self,
        verdict: &Verdict,
        knows: &ClusterKnows,
        address: Option<&str>,
    ) -> bool;
    /// Called again and again: a refused node is to be held still, and any other one not. `units`:
    /// those that the verdict says are held.
    fn look_at_the_hold(&mut self, _units: &[String]) {}
    /// Called when a first boot does not finish, and with `None` when it goes on.
    fn first_boot(&mut self, progress: Option<&Progress>);
    /// Returns the remedy for this verdict.
    fn remediation(&self, verdict: &Verdict) -> String;
}

/// The severity of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// All is well.
    Info,
    /// Something did not work, but may later.
    Warning,
    /// Something that a person should look at.
    Error,
}

/// State of the console: what is due, and what it was told last.
pub(super) struct ConsoleState {
    /// The reason why the cluster cannot be told until a person mends something.
    pub(super) obstacle: Option<String>,
    /// The last update: the cluster's knowledge, and the node's address.
    shown: (ClusterKnows, Option<String>),
}

impl ConsoleState {
    pub(super) fn new() -> Self {
        Self {
            obstacle: None,
            shown: (ClusterKnows::NotYet, None),
        }
    }

    /// Tells the console what the cluster knows and which address the node has, if either has
    /// changed.
    pub(super) fn tell(&mut self, output: &mut impl Output, payload: &Payload, ledger: &Ledger) {
        // The console has nothing of an earlier boot.
        let verdict = payload.verdict();
        let Some(verdict) = verdict.filter(|_| !payload.is_about_earlier_boot()) else {
            return;
        };
        let knows = if ledger.known_report(&payload.name).is_some() {
            ClusterKnows::Told(Some(payload.name.clone()))
        } else if ledger.last_event(&payload.name).is_some() {
            ClusterKnows::Told(None)
        } else {
            self.obstacle
                .clone()
                .map_or(ClusterKnows::NotYet, ClusterKnows::CannotBeTold)
        };
        let now = (knows, payload.identity.addresses.first().cloned());
        if now != self.shown && output.cluster_knows(&verdict, &now.0, now.1.as_deref()) {
            self.shown = now;
        }
    }
}
