//! What a run of the report tells the journal and the console.

use super::matter::Matter;
use super::state::Deliveries;
pub use crate::verdict::ClusterKnows;
use crate::verdict::Verdict;

/// Receives what a run tells the journal and the console. A trait, so that tests can listen.
pub trait Watcher {
    /// Takes a line for the journal.
    fn line(&mut self, level: Level, line: &str);
    /// Called when the cluster's knowledge of this verdict or the node's first address has changed. Returns `false` to be told again later.
    fn cluster_knows(&mut self, verdict: &Verdict, knows: &ClusterKnows, address: Option<&str>) -> bool;
    /// What an admin can do about this verdict.
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

/// What the console should be told, and what it was told last.
pub(super) struct News {
    /// Why the cluster cannot be told until a person mends something.
    pub(super) obstacle: Option<String>,
    /// What the console was told last: the cluster's knowledge, and the node's address.
    said: (ClusterKnows, Option<String>),
}

impl News {
    pub(super) fn new() -> Self {
        Self { obstacle: None, said: (ClusterKnows::NotYet, None) }
    }

    /// Tells the console what the cluster knows and which address the node has, if either has changed.
    pub(super) fn tell(&mut self, watcher: &mut impl Watcher, matter: &Matter<'_>, delivered: &Deliveries) {
        let Some(verdict) = matter.verdict() else { return };
        let knows = if delivered.known_report(&matter.name).is_some() {
            ClusterKnows::Told(Some(matter.name.clone()))
        } else if delivered.last_event(&matter.name).is_some() {
            ClusterKnows::Told(None)
        } else {
            self.obstacle.clone().map_or(ClusterKnows::NotYet, ClusterKnows::CannotBeTold)
        };
        let news = (knows, matter.identity.addresses.first().cloned());
        if news != self.said && watcher.cluster_knows(&verdict, &news.0, news.1.as_deref()) {
            self.said = news;
        }
    }
}
