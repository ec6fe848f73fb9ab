//! A subject of `why` (pure).

use super::report::HOST;
use skewguard_cluster::kinds::groups::{HOSTED_CLUSTER, NODE_POOL, REQUEST};
use skewguard_cluster::kinds::{
    Agent, CertificateRequest, Host, HostedCluster, Machine, MachineSet, Metadata, Node, NodePool,
};

/// Something that should become a Node.
#[derive(Debug, Clone, Copy)]
pub(super) enum Subject<'a> {
    Machine(&'a Machine),
    Host(&'a Host),
    Agent(&'a Agent),
    /// The last request for a first certificate of a node that is nobody's.
    Request(&'a CertificateRequest),
    /// A set that makes fewer Machines than it wants, by its kind.
    Set(&'static str, &'a MachineSet),
    /// A NodePool without Machines.
    NodePool(&'a NodePool),
    /// A HostedCluster that cannot ask its cloud, and of which no Machine was read.
    HostedCluster(&'a HostedCluster),
    /// A Node that no Machine, host or Agent stands for.
    Node(&'a Node),
}

impl<'a> Subject<'a> {
    pub(super) fn kind(self) -> &'static str {
        self.head().0
    }

    pub(super) fn metadata(self) -> &'a Metadata {
        self.head().1
    }

    /// Its kind, its metadata, and the name of its node where it says one.
    pub(super) fn head(self) -> (&'static str, &'a Metadata, &'a str) {
        match self {
            Self::Machine(machine) => (machine.kind(), &machine.metadata, ""),
            Self::Host(host) => (HOST, &host.metadata, ""),
            Self::Agent(agent) => {
                let hostname = agent.hostname.as_deref();
                ("Agent", &agent.metadata, hostname.unwrap_or_default())
            }
            Self::Request(request) => (REQUEST, &request.metadata, &request.node),
            Self::Set(kind, set) => (kind, &set.metadata, ""),
            Self::NodePool(pool) => (NODE_POOL, &pool.metadata, ""),
            Self::HostedCluster(cluster) => (HOSTED_CLUSTER, &cluster.metadata, ""),
            Self::Node(node) => ("Node", &node.metadata, ""),
        }
    }

    /// Tells if it is in a namespace.
    pub(super) fn is_in(self, namespace: &str) -> bool {
        self.metadata().namespace == namespace
    }
}
