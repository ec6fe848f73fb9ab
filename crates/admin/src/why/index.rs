//! Finds what belongs to a machine, for a thousand of them (pure).

use super::deletion::Deletion;
use super::ground::Ground;
use super::moment::Moment;
use skewguard_cluster::cluster::Cluster;
use skewguard_cluster::kinds::event::Event;
use skewguard_cluster::kinds::host::Host;
use skewguard_cluster::kinds::machine::Machine;
use skewguard_cluster::kinds::node::Node;
use skewguard_cluster::kinds::report::Report;
use skewguard_cluster::kinds::request::CertificateRequest;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// A node that is nobody's, by its requests for a first certificate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stranger<'a> {
    pub(super) first: Option<Moment>,
    pub(super) last: &'a CertificateRequest,
}

/// An address that asked for the config of a pool, and is nobody's who waits or joined later.
#[derive(Debug, Clone, Copy)]
pub(super) struct StrangeAsker {
    pub(super) pool: usize,
    pub(super) last: Moment,
}

pub(super) struct Index<'a> {
    pub(super) nodes: BTreeMap<String, &'a Node>,
    /// By the Machine that a Node names.
    pub(super) nodes_of_machines: BTreeMap<&'a str, &'a Node>,
    pub(super) nodes_by_provider: BTreeMap<&'a str, &'a Node>,
    pub(super) reports: BTreeMap<&'a str, Vec<&'a Report>>,
    pub(super) requests: BTreeMap<&'a str, Vec<&'a CertificateRequest>>,
    /// By the kind, namespace and name that they are about.
    events: BTreeMap<(&'a str, &'a str, &'a str), Vec<&'a Event>>,
    /// Of the nodes' own agents, by the host.
    pub(super) told: BTreeMap<&'a str, Vec<&'a Event>>,
    /// By namespace, and kind and name of what they are for.
    hosts: BTreeMap<(&'a str, &'a str, &'a str), &'a Host>,
    /// Addresses of what is in this cluster.
    pub(super) known: BTreeSet<IpAddr>,
    hosts_by_name: BTreeMap<String, &'a Host>,
    /// Nodes by their addresses that no Machine is linked to.
    pub(super) free_nodes: BTreeMap<IpAddr, &'a Node>,
    pub(super) ground: Ground,
    /// By the first part of the name of their node.
    requests_by_short: BTreeMap<&'a str, Vec<&'a CertificateRequest>>,
    /// The nodes of requests for a first certificate that are nobody's, the oldest first.
    pub(super) strangers: Vec<Stranger<'a>>,
    /// Machines, hosts and agents with an instance that wait, and have no request under their name.
    pub(super) unnamed: usize,
    /// Full names of the NodePools that have Machines.
    pub(super) pools_with_machines: BTreeSet<&'a str>,
    /// The Machines of machine.openshift.io that have another copy in the Cluster API, by name.
    twins: BTreeMap<&'a str, &'a Machine>,
    /// Machines that health checks deleted, by namespace and the name of their set.
    pub(super) deleted: BTreeMap<(&'a str, &'a str), Vec<Deletion<'a>>>,
    /// Addresses that asked for a config, and are nobody's who waits or joined later.
    pub(super) strange_askers: Vec<StrangeAsker>,
    /// Requests were made, and none of an address of this cluster.
    pub(super) is_everybody_strange: bool,
    /// The Machine that names a Node in its status, by the Node.
    takers: BTreeMap<&'a str, &'a Machine>,
    /// Events about first boots that failed, by the node that they name in lower case.
    pub(super) boot_failures: BTreeMap<String, Vec<&'a Event>>,
    /// Names that the approver finds Machines by, in lower case.
    pub(super) internal_names: BTreeMap<String, &'a str>,
}

impl<'a> Index<'a> {
    pub(super) fn new(facts: &'a Cluster) -> Self {
        let of_nodes = || {
            let requests = facts.requests.iter();
            requests.filter_map(|request| Some((request.node.as_deref()?, request)))
        };
        let short = |node: &'a str| node.split('.').next().unwrap_or(node);
        let events = facts.events.iter();
        let deletion = |event: &'a Event| {
            let deletion = Deletion::of(event)?;
            Some(((&*event.namespace, deletion.set()?), deletion))
        };
        let host = |host: &'a Host| {
            let (kind, name) = host.consumer.as_ref()?;
            Some(((&*host.metadata.namespace, &**kind, &**name), host))
        };
        let nodes = facts.all_nodes();
        let mut index = Self {
            nodes: of_all(nodes.clone(), |node| {
                Some(node.metadata.name.to_ascii_lowercase())
            }),
            nodes_of_machines: of_all(nodes.clone(), |node| node.machine.as_deref()),
            nodes_by_provider: of_all(nodes, |node| node.provider_id.as_deref()),
            reports: grouped(facts.reports.iter().flat_map(|report| {
                let names = report.names.iter();
                names.map(move |name| (&**name, report))
            })),
            requests: grouped(of_nodes()),
            requests_by_short: grouped(of_nodes().map(|(node, request)| (short(node), request))),
            events: grouped(events.clone().map(|event| {
                let about = (&*event.kind, &*event.namespace, &*event.name);
                (about, event)
            })),
            told: grouped(
                (events.clone()).filter_map(|event| Some((event.agent.as_deref()?, event))),
            ),
            deleted: grouped(events.clone().filter_map(deletion)),
            boot_failures: grouped(events.filter_map(|event| Some((failed_node(event)?, event)))),
            hosts: facts.hosts.iter().filter_map(host).collect(),
            known: addresses(facts),
            hosts_by_name: of_all(facts.hosts.iter(), |host| Some(host.metadata.full_name())),
            free_nodes: free_nodes(facts),
            ground: Ground::new(facts),
            internal_names: internal_names(facts),
            strangers: Vec::new(),
            unnamed: 0,
            pools_with_machines: (facts.all_machines())
                .filter_map(|machine| machine.node_pool.as_deref())
                .collect(),
            twins: twins(facts),
            strange_askers: Vec::new(),
            is_everybody_strange: false,
            takers: of_all(facts.all_machines(), |machine| machine.node.as_deref()),
        };
        index.find_strangers(facts);
        index.find_strange_askers(facts);
        index
    }

    /// Finds the requests of addresses that no Machine, host, agent or Node has, and those of a Node's that
    /// had joined before: whoever is behind such an address is not known.
    fn find_strange_askers(&mut self, facts: &Cluster) {
        let nodes = facts.all_nodes();
        let mut joined: BTreeMap<IpAddr, Moment> = BTreeMap::new();
        for (node, created) in nodes.filter_map(|node| Some((node, node.metadata.created?))) {
            for address in &node.addresses {
                let known = joined.entry(*address).or_insert(created);
                *known = created.max(*known);
            }
        }
        let waiting = facts
            .all_machines()
            .filter(|machine| machine.node.is_none());
        for address in waiting.flat_map(|machine| machine.ips()) {
            joined.remove(&address);
        }
        let logs = &facts.logs;
        let mut is_anybody_known = None;
        for (address, peer) in logs.peers.iter().filter(|(_, peer)| peer.count > 0) {
            let is_known = self.known.contains(address);
            is_anybody_known = Some(is_known || is_anybody_known == Some(true));
            let mut last: BTreeMap<usize, Moment> = BTreeMap::new();
            for request in peer.requests.iter().filter(|request| request.is_ignition) {
                let after = joined.get(address).map(|joined| joined.plus(60));
                if !is_known || after.is_some_and(|after| request.at > after) {
                    let known = last.entry(request.pool).or_insert(request.at);
                    *known = request.at.max(*known);
                }
            }
            let askers = last.into_iter();
            self.strange_askers
                .extend(askers.map(|(pool, last)| StrangeAsker { pool, last }));
        }
        self.is_everybody_strange = is_anybody_known == Some(false);
    }

    /// Tells if another Machine than this one names a Node as its own.
    pub(super) fn is_taken(&self, node: &Node, machine: Option<&Machine>) -> bool {
        let taker = self.takers.get(&*node.metadata.name);
        taker.is_some_and(|taker| {
            machine.is_none_or(|machine| taker.metadata.full_name() != machine.metadata.full_name())
        })
    }

    /// Finds the requests for a first certificate that are nobody's, and counts who waits without one.
    fn find_strangers(&mut self, facts: &'a Cluster) {
        let mut left: BTreeMap<&str, Stranger<'a>> = BTreeMap::new();
        for request in facts.requests.iter().filter(|request| request.is_first) {
            let Some(node) = request.node.as_deref() else {
                continue;
            };
            if request.denied.is_some() || self.nodes.contains_key(node) {
                continue;
            }
            let stranger = left.entry(node).or_insert(Stranger {
                first: request.created,
                last: request,
            });
            stranger.first = stranger.first.min(request.created);
            if request.created >= stranger.last.created {
                stranger.last = request;
            }
        }
        let mut unnamed = 0;
        let mut meet = |names: &mut dyn Iterator<Item = String>, waits: bool| {
            let mut is_named = false;
            for name in names {
                for request in self.first_requests(&name) {
                    is_named = true;
                    left.remove(request.node.as_deref().unwrap_or_default());
                }
            }
            unnamed += usize::from(waits && !is_named);
        };
        for machine in facts.all_machines() {
            let host = self.host_of(machine).into_iter().flat_map(Host::names);
            let is_up = machine.provider_id.is_some() || !machine.addresses.is_empty();
            let waits = machine.node.is_none() && !machine.is_deleting && is_up;
            meet(
                &mut machine.names().chain(host),
                waits && !machine.is_failed(),
            );
        }
        for host in facts.hosts.iter().filter(|host| host.consumer.is_none()) {
            let is_here = host.names().any(|name| self.nodes.contains_key(&name));
            meet(
                &mut host.names(),
                host.is_wanted && !host.is_external && !is_here,
            );
        }
        for agent in &facts.agents {
            meet(&mut agent.names(), agent.is_bound && !agent.is_over());
        }
        self.unnamed = unnamed;
        self.strangers = left.into_values().collect();
        self.strangers.sort_by_key(|stranger| stranger.first);
    }

    /// The requests for a first certificate of a node of this name, whole or its first part, the oldest
    /// first.
    pub(super) fn first_requests(&self, name: &str) -> Vec<&'a CertificateRequest> {
        let whole = self.requests.get(name);
        let is_short = !name.contains(['.', ':']) && !name.starts_with("localhost");
        let short = self.requests_by_short.get(name).filter(|_| is_short);
        let found = whole.or(short).into_iter().flatten().copied();
        let mut found: Vec<_> = found.filter(|request| request.is_first).collect();
        found.sort_by_key(|request| request.created);
        found
    }

    /// Tells if this copy of a Machine is the one that counts: between the two Machine APIs each has two.
    pub(super) fn counts(&self, machine: &Machine) -> bool {
        let Some(twin) = self.twins.get(&*machine.metadata.name) else {
            return true;
        };
        let is_of_cluster_api = twin.authority.as_deref() == Some("ClusterAPI");
        machine.is_of_cluster_api() == is_of_cluster_api
    }

    /// The host of a Machine, by its annotation, else by what the host is for: the Machine, or its
    /// infrastructure object.
    pub(super) fn host_of(&self, machine: &Machine) -> Option<&'a Host> {
        let named = machine.host.as_deref();
        let named = named.and_then(|name| self.hosts_by_name.get(name));
        let infrastructure = machine.source.infrastructure.as_ref();
        let infrastructure = infrastructure.map(|(kind, name)| (&**kind, &**name));
        let own = ("Machine", &*machine.metadata.name);
        let namespace = &*machine.metadata.namespace;
        let mut consumers = infrastructure.into_iter().chain([own]);
        let for_it = || consumers.find_map(|(kind, name)| self.hosts.get(&(namespace, kind, name)));
        named.or_else(for_it).copied()
    }

    /// The Node of this name.
    pub(super) fn node(&self, name: &str) -> Option<&'a Node> {
        self.nodes.get(&name.to_ascii_lowercase()).copied()
    }

    /// The Events about a Machine, and about its infrastructure object, the oldest first.
    pub(super) fn events_of(&self, machine: &Machine) -> Vec<&'a Event> {
        let namespace = &machine.metadata.namespace;
        let mut all = self.events(machine.kind(), namespace, &machine.metadata.name);
        if let Some((kind, name)) = &machine.source.infrastructure {
            all.extend(self.events(kind, namespace, name));
            all.sort_by_key(|event| event.last);
        }
        all
    }

    /// The Events about an object, the oldest first.
    pub(super) fn events(&self, kind: &str, namespace: &str, name: &str) -> Vec<&'a Event> {
        let mut all = self
            .events
            .get(&(kind, namespace, name))
            .cloned()
            .unwrap_or_default();
        all.sort_by_key(|event| event.last);
        all
    }
}

/// Addresses of everything that was read.
fn addresses(facts: &Cluster) -> BTreeSet<IpAddr> {
    let machine_ips = facts.all_machines().flat_map(|machine| machine.ips());
    let host_ips = facts.hosts.iter().flat_map(|host| &host.addresses);
    let node_ips = facts.all_nodes().flat_map(|node| &node.addresses);
    let agent_ips = facts.agents.iter().flat_map(|agent| &agent.addresses);
    let others = host_ips.chain(node_ips).chain(agent_ips).copied();
    machine_ips.chain(others).collect()
}

/// The last value of each key; values without one are left out.
fn of_all<'a, K: Ord, V>(
    all: impl Iterator<Item = &'a V>,
    key: impl Fn(&'a V) -> Option<K>,
) -> BTreeMap<K, &'a V> {
    all.filter_map(|one| Some((key(one)?, one))).collect()
}

/// The values of each key, in their order.
fn grouped<K: Ord, V>(pairs: impl Iterator<Item = (K, V)>) -> BTreeMap<K, Vec<V>> {
    let mut all: BTreeMap<K, Vec<V>> = BTreeMap::new();
    for (key, value) in pairs {
        all.entry(key).or_default().push(value);
    }
    all
}

/// Names that the approver finds Machines by, and the Machine of each.
fn internal_names(facts: &Cluster) -> BTreeMap<String, &str> {
    let mut names = BTreeMap::new();
    for machine in facts.all_machines() {
        for (kind, name) in &machine.addresses {
            if kind == "InternalDNS" {
                let name = name.trim_end_matches('.').to_ascii_lowercase();
                names.entry(name).or_insert(&*machine.metadata.name);
            }
        }
    }
    names
}

/// The Nodes that no Machine is linked to, by their addresses.
fn free_nodes(facts: &Cluster) -> BTreeMap<IpAddr, &Node> {
    let taken: BTreeSet<&str> = (facts.all_machines())
        .filter_map(|machine| machine.node.as_deref())
        .collect();
    let free = facts.all_nodes();
    let free = free.filter(|node| node.machine.is_none() && !taken.contains(&*node.metadata.name));
    free.flat_map(|node| node.addresses.iter().map(move |address| (*address, node)))
        .collect()
}

/// The node of an Event about a first boot that failed, which the machine-config-server makes of what
/// the node told it: `Node ip-10-0-1-215 failed during firstboot at stage '…': …`.
fn failed_node(event: &Event) -> Option<String> {
    if event.kind != "MachineConfigPool" || !event.reason.eq_ignore_ascii_case("FirstbootFailed") {
        return None;
    }
    let (_, rest) = event.message.split_once("Node ")?;
    let node = rest.split([' ', ',', ';', ':']).next()?;
    Some(node.trim_end_matches('.').to_ascii_lowercase())
}

/// The Machines that have a copy in each of the two Machine APIs: that of machine.openshift.io says
/// which one counts.
fn twins(facts: &Cluster) -> BTreeMap<&str, &Machine> {
    let machines = facts.all_machines();
    let copies: BTreeSet<&str> = machines
        .clone()
        .filter(|machine| machine.is_of_cluster_api() && machine.node_pool.is_none())
        .map(|machine| &*machine.metadata.name)
        .collect();
    let own =
        machines.filter(|machine| !machine.is_of_cluster_api() && machine.authority.is_some());
    let own = own.filter(|machine| copies.contains(&*machine.metadata.name));
    own.map(|machine| (&*machine.metadata.name, machine))
        .collect()
}
