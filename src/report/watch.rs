//! What a run of the report tells to whom it may concern: the journal, and the console.

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
