//! Kinds without which it is not known who waits, and whether they were read (pure).

use crate::audit::Unread;
use skewguard_cluster::cluster::Cluster;
use skewguard_cluster::kinds::groups::{CERTIFICATES, KARPENTER, MACHINE_API, REQUEST};

/// A kind without which it is not known who waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NeededKind {
    Machines,
    Nodes,
    /// Certificate requests.
    Requests,
}

/// The kinds that were read, if there are any objects of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ground {
    pub(super) has_machines: bool,
    pub(super) has_nodes: bool,
    pub(super) has_requests: bool,
}

impl Ground {
    pub(super) fn new(facts: &Cluster) -> Self {
        // A list as the API server gave it, or without items, says that there is none.
        let is_listed =
            |group, kind: &'static str| facts.has_all(group, kind) || facts.empty.contains(kind);
        Self {
            // A NodeClaim is none: Machines may wait beside it.
            has_machines: facts.all_machines().any(|one| one.group != KARPENTER)
                || is_listed(MACHINE_API, "Machine"),
            has_nodes: facts.all_nodes().next().is_some() || is_listed("", "Node"),
            has_requests: !facts.requests.is_empty() || is_listed(CERTIFICATES, REQUEST),
        }
    }

    /// What is unread of a kind; `None` where it was read.
    pub(super) fn missing(self, kind: NeededKind) -> Option<Unread> {
        let (is_read, what, how) = match kind {
            NeededKind::Machines => (
                self.has_machines,
                "Machines",
                "list machines; `oc get machines.machine.openshift.io -A -o json`",
            ),
            NeededKind::Nodes => (
                self.has_nodes,
                "Nodes",
                "list nodes; `oc get nodes -o json`",
            ),
            NeededKind::Requests => (
                self.has_requests,
                "certificate requests",
                "list certificatesigningrequests; `oc adm inspect certificatesigningrequests`",
            ),
        };
        (!is_read).then(|| Unread::new(what, format!("none was read ({how})")))
    }

    /// The kinds that were not read, without which something more may wait.
    pub(super) fn all_missing(self) -> Vec<Unread> {
        use NeededKind::{Machines, Nodes, Requests};
        let kinds = [Machines, Nodes, Requests].into_iter();
        kinds.filter_map(|kind| self.missing(kind)).collect()
    }
}
