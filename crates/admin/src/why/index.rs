//! Finds what belongs to a machine, for a thousand of them (pure).

use super::deletion::Deletion;
use super::ground::Ground;
use super::moment::{CLOCKS, Moment};
use super::server_log::Request;
use skewguard_cluster::cluster::Cluster;
use skewguard_cluster::kinds::event::Event;
use skewguard_cluster::kinds::host::Host;
use skewguard_cluster::kinds::machine::Machine;
use skewguard_cluster::kinds::names::normal;
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
    pub(super) address: IpAddr,
    pub(super) pool: usize,
    pub(super) last: Moment,
    /// It is a control plane Node's.
    pub(super) is_control_plane: bool,
}

pub(super) struct Index<'a> {
    pub(super) facts: &'a Cluster,
    pub(super) now: Moment,
    pub(super) nodes: BTreeMap<String, &'a Node>,
    /// By the Machine that a Node names.
    pub(super) nodes_of_machines: BTreeMap<&'a str, &'a Node>,
    pub(super) nodes_by_provider: BTreeMap<&'a str, &'a Node>,
    pub(super) reports: BTreeMap<&'a str, Vec<&'a Report>>,
    /// The oldest first, as all lists here are.
    pub(super) requests: BTreeMap<&'a str, Vec<&'a CertificateRequest>>,
    /// By the kind, namespace and name that they are about.
    events: BTreeMap<(&'a str, &'a str, &'a str), Vec<&'a Event>>,
    /// Of the nodes' own agents, by the host.
    pub(super) told: BTreeMap<&'a str, Vec<&'a Event>>,
    /// By namespace, and kind and name of what they are for.
    hosts: BTreeMap<(&'a str, &'a str, &'a str), &'a Host>,
    hosts_by_name: BTreeMap<String, &'a Host>,
    /// Nodes by their addresses that no Machine is linked to.
    pub(super) free_nodes: BTreeMap<IpAddr, &'a Node>,
    pub(super) ground: Ground,
    /// By the first part of the name of their node.
    requests_by_short: BTreeMap<&'a str, Vec<&'a CertificateRequest>>,
    /// The nodes of requests for a first certificate that are nobody's, the oldest first.
    pub(super) strangers: Vec<Stranger<'a>>,
    /// Kubelets that ask under the name of a Node which is there, the oldest first: its own, which lost
    /// its certificate, or another machine's.
    pub(super) namesakes: Vec<Stranger<'a>>,
    /// Machines, hosts and agents with an instance that wait, and have no request under their name.
    pub(super) unnamed: usize,
    /// The Machines of machine.openshift.io that have another copy in the Cluster API, by name.
    twins: BTreeMap<&'a str, &'a Machine>,
    /// Machines that health checks deleted, by namespace and the name of their set.
    pub(super) deleted: BTreeMap<(&'a str, &'a str), Vec<Deletion<'a>>>,
    /// Events of the cluster-autoscaler.
    pub(super) autoscaler: Vec<&'a Event>,
    /// Addresses that asked for a config, and are nobody's who waits or joined later.
    pub(super) strange_askers: Vec<StrangeAsker>,
    /// Requests were made, and none of an address of this cluster.
    pub(super) is_everybody_strange: bool,
    /// The Machine that names a Node in its status, by the Node.
    takers: BTreeMap<&'a str, &'a Machine>,
    /// Events about first boots that failed, by the node that they name in lower case.
    pub(super) boot_failures: BTreeMap<String, Vec<&'a Event>>,
    /// Names that the approver finds Machines by, in lower case.
    pub(super) internal_names: BTreeSet<String>,
}

impl<'a> Index<'a> {
    pub(super) fn new(facts: &'a Cluster, now: Moment) -> Self {
        let mut requests: Vec<&CertificateRequest> = facts.requests.iter().collect();
        requests.retain(|request| !request.node.is_empty());
        requests.sort_by_key(|request| request.metadata.created);
        let requests = requests.into_iter();
        let mut events: Vec<&Event> = facts.events.iter().collect();
        events.sort_by_key(|event| event.last);
        let events = events.into_iter();
        let short = |node: &'a str| node.split('.').next().unwrap_or(node);
        let deletion = |event: &'a Event| {
            let deletion = Deletion::of(event)?;
            Some(((&*event.namespace, deletion.set()?), deletion))
        };
        let (machines, nodes) = (facts.all_machines(), facts.all_nodes());
        let takers = of_all(machines.clone(), |machine| machine.node.as_deref());
        let mut index = Self {
            facts,
            now,
            nodes: of_all(nodes.clone(), |node| {
                Some(node.metadata.name.to_ascii_lowercase())
            }),
            nodes_of_machines: of_all(nodes.clone(), |node| node.machine.as_deref()),
            nodes_by_provider: of_all(nodes.clone(), |node| node.provider_id.as_deref()),
            reports: grouped(facts.reports.iter().flat_map(|report| {
                let names = report.names.iter();
                names.map(move |name| (&**name, report))
            })),
            requests: grouped(requests.clone().map(|request| (&*request.node, request))),
            requests_by_short: grouped(requests.map(|request| (short(&request.node), request))),
            events: grouped(events.clone().map(|event| {
                let about = (&*event.kind, &*event.namespace, &*event.name);
                (about, event)
            })),
            told: grouped(
                (events.clone()).filter_map(|event| Some((event.agent.as_deref()?, event))),
            ),
            autoscaler: (events.clone())
                .filter(|event| event.is_of_autoscaler())
                .collect(),
            deleted: grouped(events.clone().filter_map(deletion)),
            boot_failures: grouped(events.filter_map(|event| Some((failed_node(event)?, event)))),
            hosts: facts.hosts.iter().filter_map(of_consumer).collect(),
            hosts_by_name: of_all(facts.hosts.iter(), |host| Some(host.metadata.full_name())),
            free_nodes: free(nodes, |node| takers.contains_key(&*node.metadata.name)),
            ground: Ground::new(facts),
            internal_names: internal_names(machines),
            strangers: Vec::new(),
            namesakes: Vec::new(),
            unnamed: 0,
            twins: twins(facts),
            strange_askers: Vec::new(),
            is_everybody_strange: false,
            takers,
        };
        index.find_strangers();
        index.find_namesakes();
        index.find_strange_askers();
        index
    }

    /// Finds the requests of addresses that no Machine, host, agent or Node has, and those of a Node's that
    /// had joined before: whoever is behind such an address is not known.
    fn find_strange_askers(&mut self) {
        let facts = self.facts;
        let known = addresses(facts);
        let mut joined: BTreeMap<IpAddr, Moment> = BTreeMap::new();
        let masters = facts.all_nodes().filter(|node| node.is_control_plane);
        let masters: BTreeSet<IpAddr> = masters.flat_map(|node| node.addresses.clone()).collect();
        let mut nodes: Vec<&Node> = facts.all_nodes().collect();
        nodes.sort_by_key(|node| node.metadata.created);
        for node in nodes {
            let created = node.metadata.created.into_iter();
            joined.extend(created.flat_map(|at| node.addresses.iter().map(move |ip| (*ip, at))));
        }
        let machines = facts.all_machines();
        for ip in machines
            .filter(|machine| machine.node.is_none())
            .flat_map(Machine::ips)
        {
            joined.remove(&ip);
        }
        let asked = facts.logs.peers.iter().filter(|(_, peer)| peer.count > 0);
        let is_known = |address: &IpAddr| known.contains(address);
        for (address, peer) in asked.clone() {
            let after = joined.get(address).map(|joined| joined.plus(CLOCKS));
            let is_strange = |request: &&Request| {
                let is_later = after.is_some_and(|after| request.at > after);
                request.is_ignition && (!is_known(address) || is_later)
            };
            let all = peer.requests.iter().filter(is_strange);
            let last: BTreeMap<usize, Moment> = all.map(|one| (one.pool, one.at)).collect();
            let askers = last.into_iter().map(|(pool, last)| StrangeAsker {
                address: *address,
                pool,
                last,
                is_control_plane: masters.contains(address),
            });
            self.strange_askers.extend(askers);
        }
        self.is_everybody_strange =
            asked.clone().next().is_some() && !asked.map(|(address, _)| address).any(is_known);
    }

    /// Tells if another Machine than this one names a Node as its own.
    pub(super) fn is_taken(&self, node: &Node, machine: Option<&Machine>) -> bool {
        let taker = self.takers.get(&*node.metadata.name);
        let full_name = |machine: &Machine| machine.metadata.full_name();
        taker.is_some_and(|taker| machine.map(full_name) != Some(full_name(taker)))
    }

    /// Finds the requests for a first certificate that are nobody's, and counts who waits without one.
    fn find_strangers(&mut self) {
        let facts = self.facts;
        let strange = |(node, all): (&&'a str, &Vec<&'a CertificateRequest>)| {
            let own = all.iter().copied();
            let mut own = own.filter(|request| request.is_first && request.denied.is_none());
            let first = own.next().filter(|_| !self.nodes.contains_key(*node))?;
            let last = own.next_back().unwrap_or(first);
            let first = first.metadata.created;
            Some((*node, Stranger { first, last }))
        };
        let mut left: BTreeMap<&str, Stranger<'_>> =
            self.requests.iter().filter_map(strange).collect();
        let mut unnamed = 0;
        let mut meet = |names: &mut dyn Iterator<Item = String>, waits: bool| {
            let mut is_named = false;
            for name in names {
                for request in self.first_requests(&name) {
                    is_named = true;
                    left.remove(&*request.node);
                }
            }
            unnamed += usize::from(waits && !is_named);
        };
        for machine in facts.all_machines() {
            let host = self.host_of(machine).into_iter().flat_map(Host::names);
            let is_up = machine.provider_id.is_some() || !machine.addresses.is_empty();
            let is_over = machine.node.is_some() || machine.is_deleting || machine.is_failed();
            meet(&mut machine.names().chain(host), is_up && !is_over);
        }
        for host in facts.hosts.iter().filter(|host| host.consumer.is_none()) {
            let is_here = host.names().any(|name| self.nodes.contains_key(&name));
            let waits = host.is_wanted && !host.is_external && !is_here;
            meet(&mut host.names(), waits);
        }
        for agent in &facts.agents {
            meet(&mut agent.names(), agent.is_bound && !agent.is_over());
        }
        self.unnamed = unnamed;
        self.strangers = left.into_values().collect();
        self.strangers.sort_by_key(|stranger| stranger.first);
    }

    /// Finds the pending requests of kubelets under the names of Nodes that are there.
    fn find_namesakes(&mut self) {
        let names = self.nodes.keys();
        let asking = names.filter_map(|name| {
            let own = self.kubelet_requests(name);
            let (first, last) = (own.first()?.metadata.created, *own.last()?);
            Some(Stranger { first, last })
        });
        let mut found: Vec<Stranger<'_>> = asking.collect();
        found.sort_by_key(|one| one.first);
        self.namesakes = found;
    }

    /// The pending requests of kubelets under the name of a Node that is there, the oldest first.
    pub(super) fn kubelet_requests(&self, node: &str) -> Vec<&'a CertificateRequest> {
        let there = self.nodes.get(node);
        let all = self.requests.get(node).into_iter().flatten().copied();
        let asks =
            |request: &&CertificateRequest| there.is_some_and(|there| asks_beside(there, request));
        all.filter(asks).collect()
    }

    /// The requests for a first certificate of a node of this name, whole or its first part, the oldest
    /// first.
    pub(super) fn first_requests(&self, name: &str) -> Vec<&'a CertificateRequest> {
        let whole = self.requests.get(name);
        let is_short = !name.contains(['.', ':']) && !name.starts_with("localhost");
        let short = self.requests_by_short.get(name).filter(|_| is_short);
        let found = whole.or(short).into_iter().flatten().copied();
        found.filter(|request| request.is_first).collect()
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
        let all = self.events.get(&(kind, namespace, name));
        all.cloned().unwrap_or_default()
    }
}

/// Tells if a request waits that the kubelet of a silent Node made, or another machine under the name of a
/// Node whose kubelet has its certificate.
fn asks_beside(node: &Node, request: &CertificateRequest) -> bool {
    let made = request.metadata.created;
    let is_after =
        |at: Option<Moment>| matches!((made, at), (Some(own), Some(at)) if own > at.plus(CLOCKS));
    let Some(ready) = &node.ready else {
        return false;
    };
    let is_silent = ready.status == "Unknown";
    request.is_client
        && request.is_pending()
        && is_after(node.metadata.created)
        && (is_silent || request.is_first && is_after(ready.since()))
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

/// A host by what consumes it: namespace, kind and name.
fn of_consumer(host: &Host) -> Option<((&str, &str, &str), &Host)> {
    let (kind, name) = host.consumer.as_ref()?;
    Some(((&host.metadata.namespace, kind, name), host))
}

/// Nodes of no Machine, by address; `is_taken` where one names them.
fn free<'a>(
    nodes: impl Iterator<Item = &'a Node>,
    is_taken: impl Fn(&Node) -> bool,
) -> BTreeMap<IpAddr, &'a Node> {
    let free = nodes.filter(|node| node.machine.is_none() && !is_taken(node));
    free.flat_map(|node| node.addresses.iter().map(move |address| (*address, node)))
        .collect()
}

fn internal_names<'a>(machines: impl Iterator<Item = &'a Machine>) -> BTreeSet<String> {
    let addresses = machines.flat_map(|machine| &machine.addresses);
    let internal = addresses.filter(|(kind, _)| kind == "InternalDNS");
    internal.map(|(_, name)| normal(name)).collect()
}
