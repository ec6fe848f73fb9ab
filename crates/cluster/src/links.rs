//! Links between the objects of a cluster, for a thousand machines (pure): one rule for whoever asks.

use crate::cluster::Cluster;
use crate::kinds::groups::CLUSTER_API;
use crate::kinds::{Agent, CertificateRequest, Host, Machine, Node, Report};
use crate::moment::{CLOCKS, Moment};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Names and addresses of what should become a Node, by its Machine, its host and its agent.
#[derive(Debug, Default)]
pub struct Aliases {
    /// In lower case.
    pub names: BTreeSet<String>,
    pub addresses: BTreeSet<IpAddr>,
    /// The moment since when it is there.
    pub created: Option<Moment>,
}

impl Aliases {
    pub fn of(
        machine: Option<&Machine>,
        host: Option<&Host>,
        agent: Option<&Agent>,
        created: Option<Moment>,
    ) -> Self {
        let ips = machine.into_iter().flat_map(Machine::ips);
        let of_host = host.into_iter().flat_map(|host| &host.addresses);
        let of_agent = agent.into_iter().flat_map(|agent| &agent.addresses);
        let addresses: BTreeSet<IpAddr> = ips.chain(of_host.chain(of_agent).copied()).collect();
        let mut names: BTreeSet<String> = machine.into_iter().flat_map(Machine::names).collect();
        names.extend(host.into_iter().flat_map(Host::names));
        names.extend(agent.into_iter().flat_map(Agent::names));
        names.extend(addresses.iter().map(IpAddr::to_string));
        names.remove("localhost");
        names.remove("localhost.localdomain");
        Self {
            names,
            addresses,
            created,
        }
    }

    /// Tells whether something is of an earlier machine of this name or address, by the server's clock.
    pub fn is_before(&self, at: Option<Moment>) -> bool {
        matches!((at, self.created), (Some(at), Some(own)) if at.plus(CLOCKS) < own)
    }
}

/// API group and namespace of Machines, and kind and name of an owner of theirs.
type Owner<'a> = (&'a str, &'a str, &'a str, &'a str);

/// The objects by what links them. Of several that have one key, the last counts.
#[derive(Debug)]
pub struct Links<'a> {
    facts: &'a Cluster,
    /// By their name in lower case.
    pub nodes: BTreeMap<String, &'a Node>,
    /// By the Machine that a Node names.
    nodes_of_machines: BTreeMap<&'a str, &'a Node>,
    nodes_by_provider: BTreeMap<&'a str, &'a Node>,
    /// Nodes by their addresses that no Machine is linked to.
    free_nodes: BTreeMap<IpAddr, &'a Node>,
    /// The others, by their addresses.
    taken_addresses: BTreeMap<IpAddr, &'a Node>,
    /// The Machine that names a Node in its status, by the Node.
    owners: BTreeMap<&'a str, &'a Machine>,
    /// The Machine of each Node, by the Node's name.
    machines: BTreeMap<&'a str, &'a Machine>,
    machines_of_owners: BTreeMap<Owner<'a>, Vec<&'a Machine>>,
    /// The Machines of machine.openshift.io that have another copy in the Cluster API, by name.
    twins: BTreeMap<&'a str, &'a Machine>,
    /// By host name, address and product UUID.
    reports: BTreeMap<&'a str, Vec<&'a Report>>,
    /// By their node, the oldest first.
    pub requests: BTreeMap<&'a str, Vec<&'a CertificateRequest>>,
    /// By the first part of the name of their node, the oldest first.
    requests_by_short: BTreeMap<&'a str, Vec<&'a CertificateRequest>>,
    /// By namespace, and kind and name of what they are for.
    hosts: BTreeMap<(&'a str, &'a str, &'a str), &'a Host>,
    hosts_by_name: BTreeMap<String, &'a Host>,
}

impl<'a> Links<'a> {
    pub fn new(facts: &'a Cluster) -> Self {
        let (machines, nodes) = (facts.all_machines(), facts.all_nodes());
        let owners = of_all(machines.clone(), |machine| machine.node.as_deref());
        let mut requests: Vec<&CertificateRequest> = facts.requests.iter().collect();
        requests.retain(|request| !request.node.is_empty());
        requests.sort_by_key(|request| request.metadata.created);
        let requests = requests.into_iter();
        let reports = facts.reports.iter().flat_map(|report| {
            let names = report.names.iter();
            names.map(move |name| (&**name, report))
        });
        let is_taken =
            |node: &Node| node.machine.is_some() || owners.contains_key(&*node.metadata.name);
        let mut links = Self {
            facts,
            nodes: of_all(nodes.clone(), |node| {
                Some(node.metadata.name.to_ascii_lowercase())
            }),
            nodes_of_machines: of_all(nodes.clone(), |node| node.machine.as_deref()),
            nodes_by_provider: of_all(nodes.clone(), |node| node.provider_id.as_deref()),
            free_nodes: by_address(nodes.clone(), |node| !is_taken(node)),
            taken_addresses: by_address(nodes, is_taken),
            owners,
            machines: BTreeMap::new(),
            machines_of_owners: grouped(machines.clone().flat_map(with_owners)),
            twins: twins(facts),
            reports: grouped(reports),
            requests: grouped(requests.clone().map(|request| (&*request.node, request))),
            requests_by_short: grouped(requests.map(|request| (short(&request.node), request))),
            hosts: facts.hosts.iter().filter_map(of_consumer).collect(),
            hosts_by_name: of_all(facts.hosts.iter(), |host| Some(host.metadata.full_name())),
        };
        let of_node = |machine| Some((&*links.node_of(machine)?.metadata.name, machine));
        links.machines = machines.filter_map(of_node).collect();
        links
    }

    /// The Node with this address that a Machine is linked to, or that names one.
    pub fn taken_by(&self, address: IpAddr) -> Option<&'a Node> {
        self.taken_addresses.get(&address).copied()
    }

    /// The Node of this name.
    pub fn node(&self, name: &str) -> Option<&'a Node> {
        self.nodes.get(&name.to_ascii_lowercase()).copied()
    }

    /// The Node of a Machine.
    pub fn node_of(&self, machine: &Machine) -> Option<&'a Node> {
        let named = machine.node.as_deref().and_then(|name| self.node(name));
        named.or_else(|| self.node_by(Some(machine), &self.aliases_of(machine)))
    }

    /// The Node of a machine: the one that its Machine names, that has its provider ID, that names it,
    /// or that has its name or its address.
    pub fn node_by(&self, machine: Option<&Machine>, aliases: &Aliases) -> Option<&'a Node> {
        let named = || self.node(machine?.node.as_deref()?);
        let provided = || {
            let id = machine?.provider_id.as_deref()?;
            self.nodes_by_provider.get(id).copied()
        };
        let linked = || self.node_naming(machine?);
        let by_name = || {
            let mut names = aliases.names.iter();
            names.find_map(|name| self.nodes.get(name)).copied()
        };
        let by_address = || {
            let nodes = aliases.addresses.iter();
            nodes.filter_map(|ip| self.free_nodes.get(ip)).copied()
        };
        // A node's annotation, name and address are its own word: what another Machine names is that
        // one's, and so is a Node that was there before.
        let is_own = |node: &&Node| !self.is_taken(node, machine);
        let is_later = |node: &&Node| !aliases.is_before(node.metadata.created);
        named()
            .or_else(|| provided().filter(is_own))
            .or_else(|| linked().filter(is_own).filter(is_later))
            .or_else(|| by_name().filter(is_own).filter(is_later))
            .or_else(|| by_address().find(is_later))
    }

    /// The Node that names a Machine. Nodes of the Cluster API name it without its namespace.
    fn node_naming(&self, machine: &Machine) -> Option<&'a Node> {
        let full_name = machine.metadata.full_name();
        let short = Some(&*machine.metadata.name).filter(|_| machine.group == CLUSTER_API);
        let mut names = std::iter::once(&*full_name).chain(short);
        names.find_map(|name| self.nodes_of_machines.get(name).copied())
    }

    /// Tells whether another Machine than this one names a Node as its own.
    fn is_taken(&self, node: &Node, machine: Option<&Machine>) -> bool {
        let owner = self.owners.get(&*node.metadata.name);
        let full_name = |machine: &Machine| machine.metadata.full_name();
        owner.is_some_and(|owner| machine.map(full_name) != Some(full_name(owner)))
    }

    /// Tells whether a Machine has its Node. One that names it has joined, whether that was read or not.
    pub fn has_joined(&self, machine: &Machine) -> bool {
        machine.node.is_some() || self.node_of(machine).is_some()
    }

    /// The name of a Machine's Node, where that one was not read.
    pub fn node_not_read<'m>(&self, machine: &'m Machine) -> Option<&'m str> {
        let named = machine.node.as_deref()?;
        self.node_of(machine).is_none().then_some(named)
    }

    /// The Machine of a Node.
    pub fn machine_of(&self, node: &Node) -> Option<&'a Machine> {
        self.machines.get(&*node.metadata.name).copied()
    }

    /// The Machines of a group that an object of this kind and name owns, in its namespace.
    pub fn owned_by<'s>(
        &'s self,
        group: &'s str,
        kind: &'s str,
        namespace: &'s str,
        name: &'s str,
    ) -> &'s [&'a Machine] {
        let owned = self.machines_of_owners.get(&(group, namespace, kind, name));
        owned.map_or(&[], Vec::as_slice)
    }

    /// Names and addresses of a Machine, also by its host and that one's agent.
    pub fn aliases_of(&self, machine: &Machine) -> Aliases {
        let host = self.host_of(machine);
        let agent = host.and_then(|host| self.facts.agent_of(host));
        Aliases::of(Some(machine), host, agent, machine.metadata.created)
    }

    /// The reports of a machine, since it is there.
    pub fn reports_by(&self, aliases: &Aliases) -> Vec<&'a Report> {
        let names = aliases.names.iter();
        let all = names.filter_map(|name| self.reports.get(&**name));
        let own = all.flatten().copied();
        own.filter(|report| !aliases.is_before(report.at()))
            .collect()
    }

    /// The requests for a first certificate of a node of this name, whole or its first part, the oldest
    /// first.
    pub fn first_requests(&self, name: &str) -> Vec<&'a CertificateRequest> {
        let whole = self.requests.get(name);
        let is_short = !name.contains(['.', ':']) && !name.starts_with("localhost");
        let short = self.requests_by_short.get(name).filter(|_| is_short);
        let found = whole.or(short).into_iter().flatten().copied();
        found.filter(|request| request.is_first).collect()
    }

    /// Tells whether this copy of a Machine is the one that counts: between the two Machine APIs each has
    /// two.
    pub fn counts(&self, machine: &Machine) -> bool {
        let Some(twin) = self.twins.get(&*machine.metadata.name) else {
            return true;
        };
        let is_of_cluster_api = twin.authority.as_deref() == Some("ClusterAPI");
        machine.is_of_cluster_api() == is_of_cluster_api
    }

    /// The host of a Machine, by its annotation, else by what the host is for: the Machine, or its
    /// infrastructure object.
    pub fn host_of(&self, machine: &Machine) -> Option<&'a Host> {
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
}

/// The first part of a host name.
fn short(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// The last value of each key; values without one are left out.
fn of_all<'a, K: Ord, V>(
    all: impl Iterator<Item = &'a V>,
    key: impl Fn(&'a V) -> Option<K>,
) -> BTreeMap<K, &'a V> {
    all.filter_map(|one| Some((key(one)?, one))).collect()
}

/// The values of each key, in their order.
pub fn grouped<K: Ord, V>(pairs: impl Iterator<Item = (K, V)>) -> BTreeMap<K, Vec<V>> {
    let mut all: BTreeMap<K, Vec<V>> = BTreeMap::new();
    for (key, value) in pairs {
        all.entry(key).or_default().push(value);
    }
    all
}

fn with_owners(machine: &Machine) -> impl Iterator<Item = (Owner<'_>, &Machine)> {
    machine.owners.iter().map(move |(kind, name)| {
        let namespace = &*machine.metadata.namespace;
        ((machine.group, namespace, &**kind, &**name), machine)
    })
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

/// Nodes by address, of those that count.
fn by_address<'a>(
    nodes: impl Iterator<Item = &'a Node>,
    counts: impl Fn(&Node) -> bool,
) -> BTreeMap<IpAddr, &'a Node> {
    let nodes = nodes.filter(|node| counts(node));
    nodes
        .flat_map(|node| node.addresses.iter().map(move |address| (*address, node)))
        .collect()
}
