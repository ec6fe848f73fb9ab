//! Finds what belongs to a machine, for a thousand of them (pure).

use super::deletion::Deletion;
use super::ground::Ground;
use super::moment::{CLOCKS, Moment};
use super::server_line::FailureKind;
use super::server_log::{Outcome, Request};
use skewguard_cluster::cluster::Cluster;
use skewguard_cluster::index::{Aliases, Index as Links, grouped};
use skewguard_cluster::kinds::event::Event;
use skewguard_cluster::kinds::host::Host;
use skewguard_cluster::kinds::machine::Machine;
use skewguard_cluster::kinds::names::{is_localhost, is_of_another_domain};
use skewguard_cluster::kinds::node::Node;
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
    /// It is of a Node that had joined before.
    pub(super) has_joined: bool,
}

pub(super) struct Index<'a> {
    pub(super) facts: &'a Cluster,
    pub(super) now: Moment,
    pub(super) links: Links<'a>,
    /// By the kind, namespace and name that they are about.
    events: BTreeMap<(&'a str, &'a str, &'a str), Vec<&'a Event>>,
    /// Of the nodes' own agents, by the host.
    pub(super) told: BTreeMap<&'a str, Vec<&'a Event>>,
    pub(super) ground: Ground,
    /// The nodes of requests for a first certificate that are nobody's, the oldest first.
    pub(super) strangers: Vec<Stranger<'a>>,
    /// Kubelets that ask under the name of a Node which is there, the oldest first: its own, which lost
    /// its certificate, or another machine's.
    pub(super) namesakes: Vec<Stranger<'a>>,
    /// Machines, hosts and agents with an instance that wait, and have no request under their name.
    pub(super) unnamed: usize,
    /// Machines that health checks deleted, by namespace and the name of their set.
    pub(super) deleted: BTreeMap<(&'a str, &'a str), Vec<Deletion<'a>>>,
    /// Events of the cluster-autoscaler.
    pub(super) autoscaler: Vec<&'a Event>,
    /// Addresses that asked for a config, and are nobody's who waits or joined later.
    pub(super) strange_askers: Vec<StrangeAsker>,
    /// Requests were made, and none of an address of this cluster.
    pub(super) is_everybody_strange: bool,
    /// Events about first boots that failed, by the node that they name in lower case.
    pub(super) boot_failures: BTreeMap<String, Vec<&'a Event>>,
    /// Nodes of workers that no Machine names.
    pub(super) nodes_of_nobody: Vec<&'a Node>,
    /// Machines without a Node that have one address.
    pub(super) shared_addresses: BTreeMap<IpAddr, Vec<&'a Machine>>,
    /// Several Machines name Nodes, and none of these is among the Nodes that were read.
    pub(super) is_of_two_clusters: bool,
    /// Names that the approver finds Machines by, as they are written: it takes no other.
    pub(super) internal_names: BTreeSet<&'a str>,
}

impl<'a> Index<'a> {
    pub(super) fn new(facts: &'a Cluster, now: Moment) -> Self {
        let mut events: Vec<&Event> = facts.events.iter().collect();
        events.sort_by_key(|event| event.last);
        let events = events.into_iter();
        let deletion = |event: &'a Event| {
            let deletion = Deletion::of(event)?;
            Some(((&*event.namespace, deletion.set()?), deletion))
        };
        let mut index = Self {
            facts,
            now,
            links: Links::new(facts),
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
            ground: Ground::new(facts),
            internal_names: facts.all_machines().flat_map(internal_names).collect(),
            nodes_of_nobody: Vec::new(),
            shared_addresses: shared_addresses(facts),
            is_of_two_clusters: false,
            strangers: Vec::new(),
            namesakes: Vec::new(),
            unnamed: 0,
            strange_askers: Vec::new(),
            is_everybody_strange: false,
        };
        let nodes = facts.all_nodes().filter(|node| !node.is_control_plane);
        let nobodys =
            nodes.filter(|node| node.machine.is_none() && index.links.machine_of(node).is_none());
        index.nodes_of_nobody = nobodys.collect();
        index.is_of_two_clusters = index.is_of_two_clusters();
        index.find_strangers();
        index.find_namesakes();
        index.find_strange_askers();
        index
    }

    /// Tells if its Node is in another cluster: a hosted one, or one that the Cluster API makes from here.
    pub(super) fn is_elsewhere(&self, machine: &Machine) -> bool {
        let own = self.facts.infrastructure_name.as_ref();
        let cluster = machine
            .cluster
            .as_ref()
            .filter(|_| machine.is_of_cluster_api());
        machine.node_pool.is_some() || cluster.is_some() && own.is_some() && cluster != own
    }

    fn is_of_two_clusters(&self) -> bool {
        let machines = self.facts.all_machines();
        let own = machines.filter(|machine| !self.is_elsewhere(machine));
        let mut named = own.filter_map(|machine| machine.node.as_deref());
        let several = named.clone().nth(1).is_some() && self.ground.has_nodes;
        several && !named.any(|name| self.links.node(name).is_some())
    }

    /// Finds requests of unknown clients: from an address that no Machine, host, agent or Node has, or that
    /// a Node has which had joined before.
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
                has_joined: is_known(address),
            });
            self.strange_askers.extend(askers);
        }
        // A bootstrap machine's server is asked past the load balancer of the cluster's.
        let is_refused_there =
            |one: &Request| matches!(one.outcome, Outcome::Failed(FailureKind::Bootstrap, _));
        let mut asked = asked.filter(|(_, peer)| {
            let mut own = peer.requests.iter().filter(|one| one.is_ignition);
            own.any(|one| !is_refused_there(one))
        });
        self.is_everybody_strange =
            asked.clone().next().is_some() && !asked.any(|(address, _)| is_known(address));
    }

    /// Finds the requests for a first certificate that are nobody's, and counts who waits without one.
    fn find_strangers(&mut self) {
        let facts = self.facts;
        let strange = |(node, all): (&&'a str, &Vec<&'a CertificateRequest>)| {
            let own = all.iter().copied();
            let mut own = own.filter(|request| request.is_first && request.denied.is_none());
            let first = own
                .next()
                .filter(|_| !self.links.nodes.contains_key(*node))?;
            let last = own.next_back().unwrap_or(first);
            let first = first.metadata.created;
            Some((*node, Stranger { first, last }))
        };
        let mut left: BTreeMap<&str, Stranger<'_>> =
            self.links.requests.iter().filter_map(strange).collect();
        let mut unnamed = 0;
        let mut meet = |names: &mut dyn Iterator<Item = String>, waits: bool| {
            let mut is_named = false;
            let names: BTreeSet<String> = names.collect();
            // Nobody's name is no machine's.
            for name in names.iter().filter(|name| !is_localhost(name)) {
                let own = self.links.first_requests(name).into_iter();
                for request in own.filter(|one| !is_of_another_domain(&names, &one.node)) {
                    is_named = true;
                    left.remove(&*request.node);
                }
            }
            unnamed += usize::from(waits && !is_named);
        };
        for machine in facts.all_machines() {
            let host = self
                .links
                .host_of(machine)
                .into_iter()
                .flat_map(Host::names);
            let is_up = machine.provider_id.is_some() || !machine.addresses.is_empty();
            let is_over = machine.node.is_some() || machine.is_deleting || machine.is_failed();
            meet(&mut machine.names().chain(host), is_up && !is_over);
        }
        for host in facts.hosts.iter().filter(|host| host.consumer.is_none()) {
            let is_here = host
                .names()
                .any(|name| self.links.nodes.contains_key(&name));
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
        let names = self.links.nodes.keys();
        let asking = names.filter_map(|name| {
            let own = self.kubelet_requests(name);
            let (first, last) = (own.first()?.metadata.created, *own.last()?);
            Some(Stranger { first, last })
        });
        let mut found: Vec<Stranger<'_>> = asking.collect();
        found.sort_by_key(|one| one.first);
        self.namesakes = found;
    }

    /// The Node of no Machine's that has the name of a request under one of these names, whole or its first part: a
    /// kubelet's own name is the one in its request.
    pub(super) fn node_by_requests(&self, aliases: &Aliases) -> Option<&'a Node> {
        let names = aliases.names.iter();
        let requests = names.flat_map(|name| self.links.first_requests(name));
        let own = requests.filter(|one| {
            let is_since = one.is_approved && !aliases.is_before(one.metadata.created);
            is_since && !is_of_another_domain(&aliases.names, &one.node)
        });
        let mut nodes = own.filter_map(|one| self.links.node(&one.node));
        nodes.find(|node| {
            let is_free = node.machine.is_none() && self.links.machine_of(node).is_none();
            is_free && !aliases.is_before(node.metadata.created)
        })
    }

    /// The pending requests of kubelets under the name of a Node that is there, the oldest first.
    pub(super) fn kubelet_requests(&self, node: &str) -> Vec<&'a CertificateRequest> {
        let there = self.links.nodes.get(node);
        let all = self.links.requests.get(node).into_iter().flatten().copied();
        let asks =
            |request: &&CertificateRequest| there.is_some_and(|there| asks_beside(there, request));
        all.filter(asks).collect()
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

/// The addresses that several Machines without a Node have.
fn shared_addresses(facts: &Cluster) -> BTreeMap<IpAddr, Vec<&Machine>> {
    let waiting = facts
        .all_machines()
        .filter(|machine| machine.node.is_none());
    // A machine may have an address twice, and its copy in the other API has it, too.
    let own = waiting.flat_map(|machine| {
        let ips: BTreeSet<IpAddr> = machine.ips().collect();
        ips.into_iter().map(move |ip| (ip, machine))
    });
    let mut all = grouped(own);
    all.retain(|_, own: &mut Vec<&Machine>| {
        let names: BTreeSet<&str> = own.iter().map(|one| &*one.metadata.name).collect();
        names.len() > 1
    });
    all
}

/// The names of a Machine by which the approver finds it.
pub(super) fn internal_names(machine: &Machine) -> impl Iterator<Item = &str> {
    let addresses = machine.addresses.iter();
    let internal = addresses.filter(|(kind, _)| kind == "InternalDNS");
    internal.map(|(_, name)| &**name)
}
