//! Sources that could say otherwise, and whether they were read (pure).

use crate::audit::Unread;
use serde::Deserialize;
use skewguard_cluster::cluster::Cluster;
use skewguard_cluster::kinds::groups::{
    CERTIFICATES, CLUSTER_API, KARPENTER, MACHINE_API, REQUEST,
};

/// A source that could say otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Counter {
    /// The object itself: it is what says so.
    Itself,
    Machines,
    /// Those of the Cluster API, of which NodePools and its own sets are.
    PoolMachines,
    Nodes,
    /// Certificate requests.
    Requests,
    /// The logs of all machine-config-servers since before the machine was made.
    ServerLogs,
    /// The BareMetalHost of a Machine that has one.
    Host,
}

impl Counter {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Itself => "the object itself",
            Self::Machines | Self::PoolMachines => "Machines",
            Self::Nodes => "Nodes",
            Self::Requests => "certificate requests",
            Self::ServerLogs => "the logs of all machine-config-servers",
            Self::Host => "its BareMetalHost",
        }
    }
}

/// The kinds that were read, if there are any objects of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ground {
    pub(super) has_machines: bool,
    pub(super) has_pool_machines: bool,
    pub(super) has_nodes: bool,
    pub(super) has_requests: bool,
}

impl Ground {
    pub(super) fn new(facts: &Cluster) -> Self {
        let mut machines = facts.all_machines();
        Self {
            // A NodeClaim is none: Machines may wait beside it.
            has_machines: machines.clone().any(|one| one.group != KARPENTER)
                || facts.is_listed(MACHINE_API, "Machine")
                // The Machine API has no provider there.
                || facts.platform == "None",
            has_pool_machines: machines.any(|one| one.group == CLUSTER_API)
                || facts.is_listed(CLUSTER_API, "Machine"),
            has_nodes: facts.all_nodes().next().is_some() || facts.is_listed("", "Node"),
            has_requests: !facts.requests.is_empty() || facts.is_listed(CERTIFICATES, REQUEST),
        }
    }

    /// What is unread of a kind; `None` where it was read.
    pub(super) fn missing(self, kind: Counter) -> Option<Unread> {
        let (is_read, how) = match kind {
            Counter::Machines => (
                self.has_machines,
                "list machines; `oc get machines.machine.openshift.io -A -o json`",
            ),
            Counter::PoolMachines => (
                self.has_pool_machines,
                "list machines; `oc get machines.cluster.x-k8s.io -A -o json`",
            ),
            Counter::Nodes => (self.has_nodes, "list nodes; `oc get nodes -o json`"),
            Counter::Requests => (
                self.has_requests,
                "list certificatesigningrequests; `oc adm inspect certificatesigningrequests`",
            ),
            Counter::Itself | Counter::ServerLogs | Counter::Host => return None,
        };
        (!is_read).then(|| Unread::new(kind.name(), format!("none was read ({how})")))
    }

    /// The kinds that were not read, without which it is not known who waits.
    pub(super) fn all_missing(self) -> impl Iterator<Item = Unread> {
        let kinds = [Counter::Machines, Counter::Nodes, Counter::Requests];
        kinds.into_iter().filter_map(move |kind| self.missing(kind))
    }
}
