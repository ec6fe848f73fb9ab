//! A Machine, a host or an agent without a Node, and what belongs to it (pure).

use super::evidence::Evidence;
use super::index::Index;
use super::moment::Moment;
use super::way::At;
use skewguard_cluster::cluster::Cluster;
use skewguard_cluster::kinds::agent::Agent;
use skewguard_cluster::kinds::host::Host;
use skewguard_cluster::kinds::machine::Machine;
use skewguard_cluster::kinds::machine_set::MachineSet;
use skewguard_cluster::kinds::metadata::Condition;
use skewguard_cluster::kinds::node::Node;
use skewguard_cluster::kinds::node_pool::NodePool;
use skewguard_cluster::kinds::report::Report;
use skewguard_cluster::kinds::request::CertificateRequest;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// Something that should become a Node.
#[derive(Debug, Clone, Copy)]
pub(super) enum Subject<'a> {
    Machine(&'a Machine),
    Host(&'a Host),
    Agent(&'a Agent),
    /// The last request for a first certificate of a node that is nobody's.
    Request(&'a CertificateRequest),
    /// A set that makes fewer Machines than it wants.
    Set(&'a MachineSet),
    /// A NodePool without Machines.
    NodePool(&'a NodePool),
}

impl Subject<'_> {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Machine(machine) => machine.kind(),
            Self::Host(_) => "BareMetalHost",
            Self::Agent(_) => "Agent",
            Self::Request(_) => "CertificateSigningRequest",
            Self::Set(_) => "MachineSet",
            Self::NodePool(_) => "NodePool",
        }
    }
}

impl Subject<'_> {
    /// Tells if it is in a namespace.
    pub(super) fn is_in(&self, namespace: &str) -> bool {
        namespace
            == match self {
                Self::Machine(machine) => &machine.metadata.namespace,
                Self::Host(host) => &host.metadata.namespace,
                Self::Agent(agent) => &agent.metadata.namespace,
                Self::Request(_) => "",
                Self::Set(set) => &set.metadata.namespace,
                Self::NodePool(pool) => &pool.metadata.namespace,
            }
    }
}

/// A subject, and what belongs to it.
pub(super) struct Case<'a> {
    pub(super) facts: &'a Cluster,
    pub(super) index: &'a Index<'a>,
    pub(super) subject: Subject<'a>,
    pub(super) machine: Option<&'a Machine>,
    pub(super) host: Option<&'a Host>,
    pub(super) agent: Option<&'a Agent>,
    pub(super) now: Moment,
    /// The steps that were seen, and what stands beside each.
    pub(super) known: Vec<(At, String)>,
    pub(super) evidence: Vec<Evidence>,
    pub(super) unseen: Vec<String>,
}

impl<'a> Case<'a> {
    pub(super) fn new(
        facts: &'a Cluster,
        index: &'a Index<'a>,
        subject: Subject<'a>,
        now: Moment,
    ) -> Self {
        let machine = match subject {
            Subject::Machine(machine) => Some(machine),
            Subject::Host(_)
            | Subject::Agent(_)
            | Subject::Request(_)
            | Subject::Set(_)
            | Subject::NodePool(_) => None,
        };
        let host = match subject {
            Subject::Host(host) => Some(host),
            Subject::Machine(machine) => index.host_of(machine),
            Subject::Agent(_) | Subject::Request(_) | Subject::Set(_) | Subject::NodePool(_) => {
                None
            }
        };
        let agent = match subject {
            Subject::Agent(agent) => Some(agent),
            Subject::Machine(_) | Subject::Host(_) => host.and_then(|host| facts.agent_of(host)),
            Subject::Request(_) | Subject::Set(_) | Subject::NodePool(_) => None,
        };
        Self {
            facts,
            index,
            subject,
            machine,
            host,
            agent,
            now,
            known: Vec::new(),
            evidence: Vec::new(),
            unseen: Vec::new(),
        }
    }

    pub(super) fn name(&self) -> &'a str {
        match self.subject {
            Subject::Machine(machine) => &machine.metadata.name,
            Subject::Host(host) => &host.metadata.name,
            Subject::Agent(agent) => agent.hostname.as_deref().unwrap_or(&agent.metadata.name),
            Subject::Request(request) => request.node.as_deref().unwrap_or(&request.name),
            Subject::Set(set) => &set.metadata.name,
            Subject::NodePool(pool) => &pool.metadata.name,
        }
    }

    pub(super) fn namespace(&self) -> &'a str {
        match self.subject {
            Subject::Machine(machine) => &machine.metadata.namespace,
            Subject::Host(host) => &host.metadata.namespace,
            Subject::Agent(agent) => &agent.metadata.namespace,
            Subject::Request(_) => "",
            Subject::Set(set) => &set.metadata.namespace,
            Subject::NodePool(pool) => &pool.metadata.namespace,
        }
    }

    /// `Machine openshift-machine-api/worker-7`.
    pub(super) fn object(&self) -> String {
        let kind = self.subject.kind();
        match self.subject {
            Subject::Machine(machine) => format!("{kind} {}", machine.metadata.full_name()),
            Subject::Host(host) => format!("{kind} {}", host.metadata.full_name()),
            Subject::Agent(agent) => format!("{kind} {}", agent.metadata.full_name()),
            Subject::Request(request) => format!("{kind} {}", request.name),
            Subject::Set(set) => format!("{kind} {}", set.metadata.full_name()),
            Subject::NodePool(pool) => format!("{kind} {}", pool.metadata.full_name()),
        }
    }

    pub(super) fn created(&self) -> Option<Moment> {
        match self.subject {
            Subject::Machine(machine) => machine.metadata.created,
            // A host may have been inspected long before it was provisioned.
            Subject::Host(host) => host.since.or(host.metadata.created),
            Subject::Agent(agent) => agent.metadata.created,
            Subject::Request(request) => request.created,
            Subject::Set(set) => set.metadata.created,
            Subject::NodePool(pool) => pool.metadata.created,
        }
    }

    /// The pool whose config it asks for.
    pub(super) fn pool(&self) -> Option<String> {
        let machine = self.machine?;
        let of_user_data = self.facts.user_data_of(machine).and_then(|user_data| {
            (user_data.pools.len() == 1)
                .then(|| user_data.pools.first().cloned())
                .flatten()
        });
        let of_secret = || {
            let secret = machine.source.secret()?;
            let pool = secret.strip_suffix("-managed").unwrap_or(secret);
            pool.strip_suffix("-user-data").map(str::to_owned)
        };
        of_user_data
            .or_else(of_secret)
            .or_else(|| machine.role.clone())
    }

    /// Every address of Machine, host and agent.
    pub(super) fn addresses(&self) -> BTreeSet<IpAddr> {
        let machine = self.machine.into_iter().flat_map(Machine::ips);
        let host = self.host.into_iter().flat_map(|host| &host.addresses);
        let agent = self.agent.into_iter().flat_map(|agent| &agent.addresses);
        machine.chain(host.chain(agent).copied()).collect()
    }

    /// Names of it in certificate requests and reports, in lower case.
    pub(super) fn names(&self) -> BTreeSet<String> {
        let mut names: BTreeSet<String> = BTreeSet::new();
        names.extend(self.machine.into_iter().flat_map(Machine::names));
        names.extend(self.host.into_iter().flat_map(Host::names));
        names.extend(self.agent.into_iter().flat_map(Agent::names));
        if let Subject::Request(request) = self.subject {
            names.extend(request.node.clone());
        }
        names.extend(self.addresses().iter().map(IpAddr::to_string));
        names.remove("localhost");
        names.remove("localhost.localdomain");
        names
    }

    /// Its Node: the one that it names, that names it, or that has its provider ID, its name or its
    /// address.
    pub(super) fn node(&self) -> Option<&'a Node> {
        let Some(machine) = self.machine else {
            return self.node_by_name().or_else(|| self.node_by_address());
        };
        let named = machine.node.as_deref();
        let named = named.and_then(|name| self.index.node(name));
        let linked = || {
            let full_name = machine.metadata.full_name();
            self.index.nodes_of_machines.get(&*full_name).copied()
        };
        let provided = || {
            let id = machine.provider_id.as_deref()?;
            self.index.nodes_by_provider.get(id).copied()
        };
        // A node's annotation, name and address are its own word: what another Machine names is that
        // one's.
        let is_own = |node: &&Node| !self.index.is_taken(node, Some(machine));
        named
            .or_else(|| provided().filter(is_own))
            .or_else(|| linked().filter(is_own).filter(|node| !self.is_older(node)))
            .or_else(|| self.node_by_name())
            .or_else(|| self.node_by_address())
    }

    /// A Node that was there before the machine is another's.
    fn is_older(&self, node: &Node) -> bool {
        matches!((node.metadata.created, self.created()), (Some(node), Some(own)) if node.plus(60) < own)
    }

    fn node_by_name(&self) -> Option<&'a Node> {
        let names = self.names();
        let node = names.iter().find_map(|name| self.index.nodes.get(name))?;
        let is_own = !self.is_older(node) && !self.index.is_taken(node, self.machine);
        is_own.then_some(*node)
    }

    /// A Node of another name that has its address, and is no other Machine's.
    fn node_by_address(&self) -> Option<&'a Node> {
        let addresses = self.addresses();
        let mut found = addresses
            .iter()
            .filter_map(|address| self.index.free_nodes.get(address));
        let node = found.find(|node| !self.is_older(node))?;
        Some(*node)
    }

    /// The reports about it, the oldest first: those that were made since it is there.
    pub(super) fn reports(&self) -> Vec<&'a Report> {
        let (names, created) = (self.names(), self.created());
        let mut all: Vec<&Report> = names
            .iter()
            .filter_map(|name| self.index.reports.get(&**name))
            .flatten()
            .copied()
            .filter(|report| {
                // An address is used again: by the server's clock it is an earlier machine's.
                !matches!((report.at(), created), (Some(at), Some(own)) if at.plus(60) < own)
            })
            .collect();
        all.sort_by(|a, b| (a.at(), &a.metadata.name).cmp(&(b.at(), &b.metadata.name)));
        all.dedup_by_key(|report| &report.metadata.name);
        all
    }

    /// Notes that a step was seen.
    pub(super) fn reach(&mut self, at: At, text: impl Into<String>) {
        self.known.push((at, text.into()));
    }

    pub(super) fn see(
        &mut self,
        source: impl Into<String>,
        at: Option<Moment>,
        text: impl Into<String>,
    ) {
        let evidence = Evidence {
            source: source.into(),
            time: at.map(Moment::text),
            text: text.into(),
        };
        if !self.evidence.contains(&evidence) && self.evidence.len() < 30 {
            self.evidence.push(evidence);
        }
    }

    pub(super) fn unseen(&mut self, what: impl Into<String>) {
        let what = what.into();
        if !self.unseen.contains(&what) {
            self.unseen.push(what);
        }
    }

    /// The BareMetalHost that it names, and that was not read.
    pub(super) fn missing_host(&self) -> Option<String> {
        let named = self.machine?.host.as_deref()?;
        self.host.is_none().then(|| {
            format!("BareMetalHost {named} (list baremetalhosts.metal3.io; `oc get baremetalhosts.metal3.io -A -o json`)")
        })
    }

    /// Notes a condition that says no.
    pub(super) fn see_condition(&mut self, condition: &Condition) {
        let source = format!("{}, condition {}", self.object(), condition.kind);
        let text = format!("{}: {}", condition.status, condition.says());
        self.see(source, condition.since(), text);
    }
}
