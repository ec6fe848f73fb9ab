//! What a run of the report tells to whom it may concern: the journal, and the console.

use super::matter::Matter;
use super::state::Deliveries;
pub use crate::verdict::ClusterKnows;
use crate::verdict::Verdict;

/// What happens on the way; for the journal and the console.
pub trait Watcher {
    /// A line for the journal.
    fn line(&mut self, level: Level, line: &str);
    /// What the cluster knows of this verdict has changed, or the node's first address. Whether that was taken in; else it is said again.
    fn cluster_knows(&mut self, verdict: &Verdict, knows: &ClusterKnows, address: Option<&str>) -> bool;
    /// What an admin can do about this verdict.
    fn remediation(&self, verdict: &Verdict) -> String;
}

/// How grave a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// As it should be.
    Info,
    /// Something did not work and may yet.
    Warning,
    /// A finding.
    Error,
}

pub(super) struct News {
    /// Why the cluster cannot be told, as far as a person has to mend it.
    pub(super) obstacle: Option<String>,
    /// What the console was told last: what the cluster knows, and the node's address.
    said: (ClusterKnows, Option<String>),
}

impl News {
    pub(super) fn new() -> Self {
        Self { obstacle: None, said: (ClusterKnows::NotYet, None) }
    }

    /// Tells the console what the cluster knows by now and at which address the node is, where that has changed.
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
