//! Machines that a health check deleted (pure).

use super::moment::Moment;
use skewguard_cluster::kinds::Event;

/// A Machine that a health check deleted, by the Event about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Deletion<'a> {
    pub(super) machine: &'a str,
    pub(super) at: Option<Moment>,
    pub(super) check: Option<&'a str>,
    /// Its Machine named a Node, which may have been gone.
    pub(super) had_node: bool,
}

impl<'a> Deletion<'a> {
    /// Of `Machine NAMESPACE/CHECK/MACHINE/NODE has been remediated by …`, where NODE is empty for a
    /// Machine that had none.
    pub(super) fn of(event: &'a Event) -> Option<Self> {
        if event.reason != "MachineDeleted" || event.kind != "Machine" {
            return None;
        }
        let names = event.message.strip_prefix("Machine ")?;
        let (names, _) = names.split_once(" has been remediated")?;
        let mut parts = names.split('/').skip(1);
        let (check, node) = (parts.next(), parts.nth(1)?);
        Some(Self {
            machine: &event.name,
            at: event.last,
            check: check.filter(|check| !check.is_empty()),
            had_node: !node.is_empty(),
        })
    }

    /// The set that made it, by its name.
    pub(super) fn set(&self) -> Option<&'a str> {
        self.machine.rsplit_once('-').map(|(set, _)| set)
    }
}
