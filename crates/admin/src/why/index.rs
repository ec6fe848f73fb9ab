//! Finds what belongs to a machine, for a thousand of them (pure).

use super::deletion::Deletion;
use super::ground::Ground;
use super::moment::{CLOCKS, Moment};
use super::server_line::FailureKind;
use super::server_log::{Outcome, Request};
use super::subject::Subject;
use skewguard_cluster::cluster::Cluster;
use skewguard_cluster::kinds::names::{is_localhost, is_of_another_domain, normal};
use skewguard_cluster::kinds::{CertificateRequest, Event, Host, Machine, Node};
use skewguard_cluster::links::{Aliases, Links, grouped};
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
    pub(super) told: BTreeMap<String, Vec<&'a Event>>,
    pub(super) ground: Ground,
    /// The nodes of requests for a first certificate that are nobody's, the oldest first.
    pub(super) strangers: Vec<Stranger<'a>>,
    /// Kubelets that ask under the name of a Node which is there, the oldest first: its own, which lost
    /// its certificate, or another machine's.
    pub(super) namesakes: Vec<Stranger<'a>>,
    /// Machines, hosts and agents with an instance that wait, and have no request under their name.
    pub(super) unnamed: Vec<Subject<'a>>,
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
        let about = |event: &'a Event| ((&*event.kind, &*event.namespace, &*event.name), event);
        let (links, ground) = (Links::new(facts), Ground::new(facts));
        let workers = facts.all_nodes().filter(|node| !node.is_control_plane);
        let (strangers, unnamed) = strangers(facts, &links);
        let (strange_askers, is_everybody_strange) = strange_askers(facts);
        Self {
            facts,
            now,
            events: grouped(events.clone().map(about)),
            told: grouped((events.clone()).filter_map(|event| Some((event.agent.clone()?, event)))),
            autoscaler: (events.clone())
                .filter(|event| event.is_of_autoscaler())
                .collect(),
            deleted: grouped(events.clone().filter_map(deletion)),
            boot_failures: grouped(events.filter_map(|event| Some((failed_node(event)?, event)))),
            internal_names: facts.all_machines().flat_map(internal_names).collect(),
            nodes_of_nobody: workers.filter(|node| is_nobodys(&links, node)).collect(),
            shared_addresses: shared_addresses(facts),
            is_of_two_clusters: ground.has_nodes && is_of_two_clusters(facts, &links),
            strangers,
            namesakes: namesakes(&links),
            unnamed,
            strange_askers,
            is_everybody_strange,
            ground,
            links,
        }
    }

    /// The Node of no Machine's that has the name of a request under one of these names: a kubelet's own name is the one
    /// in its request.
    pub(super) fn node_by_requests(&self, aliases: &Aliases) -> Option<&'a Node> {
        let own = requests_by(&self.links, &aliases.names);
        let own = own.filter(|one| one.is_approved && !aliases.is_before(one.metadata.created));
        let mut nodes = own.filter_map(|one| self.links.node(&one.node));
        nodes
            .find(|node| is_nobodys(&self.links, node) && !aliases.is_before(node.metadata.created))
    }

    /// The requests for a node's certificates, the oldest first.
    pub(super) fn requests_of(&self, node: &str) -> &[&'a CertificateRequest] {
        let all = self.links.requests.get(&*normal(node));
        all.map_or(&[], Vec::as_slice)
    }

    /// Those for the certificate that a Node serves with, which a Node alone asks for.
    pub(super) fn serving_requests(
        &self,
        node: &str,
    ) -> impl DoubleEndedIterator<Item = &'a CertificateRequest> {
        let all = self.requests_of(node).iter().copied();
        all.filter(|one| !one.is_client)
    }

    /// The pending requests of kubelets under the name of a Node that is there, the oldest first.
    pub(super) fn kubelet_requests(&self, node: &str) -> Vec<&'a CertificateRequest> {
        kubelet_requests(&self.links, &normal(node))
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

/// Tells if no Machine stands for a Node.
pub(super) fn is_nobodys(links: &Links<'_>, node: &Node) -> bool {
    node.machine.is_none() && links.machine_of(node).is_none()
}

fn is_of_two_clusters(facts: &Cluster, links: &Links<'_>) -> bool {
    let own = facts.all_machines().filter(|one| !facts.is_elsewhere(one));
    let mut named = own.filter_map(|machine| machine.node.as_deref());
    let is_several = named.clone().nth(1).is_some();
    is_several && !named.any(|name| links.node(name).is_some())
}

/// The requests for a first certificate under one of these names, whole or its first part.
pub(super) fn requests_by<'a>(
    links: &Links<'a>,
    names: &BTreeSet<String>,
) -> impl Iterator<Item = &'a CertificateRequest> {
    let all = names.iter().flat_map(|name| links.first_requests(name));
    all.filter(|one| !is_of_another_domain(names, &one.node))
}

/// Requests of unknown clients: from an address that no Machine, host, agent or Node has, or that a Node has which had
/// joined before. Also whether all are.
fn strange_askers(facts: &Cluster) -> (Vec<StrangeAsker>, bool) {
    let known = addresses(facts);
    let masters = facts.all_nodes().filter(|node| node.is_control_plane);
    let masters: BTreeSet<IpAddr> = masters.flat_map(|node| node.addresses.clone()).collect();
    let mut joined: BTreeMap<IpAddr, Option<Moment>> = BTreeMap::new();
    for node in facts.all_nodes() {
        for ip in &node.addresses {
            let last = joined.entry(*ip).or_default();
            *last = node.metadata.created.max(*last);
        }
    }
    let waiting = facts.all_machines().filter(|one| one.node.is_none());
    for ip in waiting.flat_map(Machine::ips) {
        joined.remove(&ip);
    }
    let asked = facts.logs.peers.iter().filter(|(_, peer)| peer.count > 0);
    let is_known = |address: &IpAddr| known.contains(address);
    let mut strange = Vec::new();
    for (address, peer) in asked.clone() {
        let joined = joined.get(address).copied().flatten();
        let after = joined.map(|joined| joined.plus(CLOCKS));
        let is_strange = |request: &&Request| {
            let is_later = after.is_some_and(|after| request.at > after);
            request.is_ignition && (!is_known(address) || is_later)
        };
        let all = peer.requests.iter().filter(is_strange);
        let last: BTreeMap<usize, Moment> = all.map(|one| (one.pool, one.at)).collect();
        strange.extend(last.into_iter().map(|(pool, last)| StrangeAsker {
            address: *address,
            pool,
            last,
            is_control_plane: masters.contains(address),
            has_joined: is_known(address),
        }));
    }
    // A bootstrap machine's server is asked past the load balancer of the cluster's.
    let is_refused_there =
        |one: &Request| matches!(one.outcome, Outcome::Failed(FailureKind::Bootstrap, _));
    let mut asked = asked.filter(|(_, peer)| {
        let mut own = peer.requests.iter().filter(|one| one.is_ignition);
        own.any(|one| !is_refused_there(one))
    });
    let is_any = asked.clone().next().is_some();
    let is_everybody = is_any && !asked.any(|(address, _)| is_known(address));
    (strange, is_everybody)
}

/// The requests for a first certificate that are nobody's, and what waits without one.
fn strangers<'a>(facts: &'a Cluster, links: &Links<'a>) -> (Vec<Stranger<'a>>, Vec<Subject<'a>>) {
    let strange = |(node, all): (&&'a str, &Vec<&'a CertificateRequest>)| {
        let own = all.iter().copied();
        let mut own = own.filter(|request| request.is_first && request.denied.is_none());
        let first = own.next().filter(|_| !links.nodes.contains_key(*node))?;
        let last = own.next_back().unwrap_or(first);
        let first = first.metadata.created;
        Some((*node, Stranger { first, last }))
    };
    let mut left: BTreeMap<&str, Stranger<'_>> =
        links.requests.iter().filter_map(strange).collect();
    let mut unnamed = Vec::new();
    let mut meet = |one: Subject<'a>, names: &mut dyn Iterator<Item = String>, waits: bool| {
        // Nobody's name is no machine's.
        let names = names.filter(|name| !is_localhost(name)).collect();
        let mut own = requests_by(links, &names).peekable();
        unnamed.extend((waits && own.peek().is_none()).then_some(one));
        for request in own {
            left.remove(&*request.node);
        }
    };
    for machine in facts.all_machines() {
        let host = links.host_of(machine).into_iter().flat_map(Host::names);
        let is_up = machine.provider_id.is_some() || !machine.addresses.is_empty();
        let is_over = machine.node.is_some() || machine.is_deleting || machine.is_failed();
        let mut names = machine.names().chain(host);
        meet(Subject::Machine(machine), &mut names, is_up && !is_over);
    }
    for host in facts.hosts.iter().filter(|host| host.consumer.is_none()) {
        let is_here = host.names().any(|name| links.nodes.contains_key(&name));
        let waits = host.is_wanted && !host.is_external && !is_here;
        meet(Subject::Host(host), &mut host.names(), waits);
    }
    for agent in &facts.agents {
        let waits = agent.is_bound && !agent.is_over();
        meet(Subject::Agent(agent), &mut agent.names(), waits);
    }
    let mut all: Vec<Stranger<'_>> = left.into_values().collect();
    all.sort_by_key(|stranger| stranger.first);
    (all, unnamed)
}

/// The pending requests of kubelets under the names of Nodes that are there.
fn namesakes<'a>(links: &Links<'a>) -> Vec<Stranger<'a>> {
    let asking = links.nodes.keys().filter_map(|name| {
        let own = kubelet_requests(links, name);
        let (first, last) = (own.first()?.metadata.created, *own.last()?);
        Some(Stranger { first, last })
    });
    let mut found: Vec<Stranger<'_>> = asking.collect();
    found.sort_by_key(|one| one.first);
    found
}

fn kubelet_requests<'a>(links: &Links<'a>, node: &str) -> Vec<&'a CertificateRequest> {
    let Some(there) = links.nodes.get(node) else {
        return Vec::new();
    };
    let all = links.requests.get(node).into_iter().flatten().copied();
    all.filter(|request| asks_beside(there, request)).collect()
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
    let waiting = facts.all_machines().filter(|one| one.node.is_none());
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
