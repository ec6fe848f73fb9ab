//! A Machine, a host or an agent without a Node, and what belongs to it (pure).

use super::facts::Facts;
use super::index::Index;
use super::kinds::{Agent, Condition, Host, Machine, Node};
use super::moment::Moment;
use super::records::Report;
use super::report::Evidence;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// Something that should become a Node.
#[derive(Debug, Clone, Copy)]
pub(super) enum Subject<'a> {
    Machine(&'a Machine),
    Host(&'a Host),
    Agent(&'a Agent),
}

/// A subject, and what belongs to it.
pub(super) struct Case<'a> {
    pub(super) facts: &'a Facts,
    pub(super) index: &'a Index<'a>,
    pub(super) subject: Subject<'a>,
    pub(super) machine: Option<&'a Machine>,
    pub(super) host: Option<&'a Host>,
    pub(super) agent: Option<&'a Agent>,
    pub(super) now: Moment,
    pub(super) evidence: Vec<Evidence>,
    pub(super) unseen: Vec<String>,
}

impl<'a> Case<'a> {
    pub(super) fn new(
        facts: &'a Facts,
        index: &'a Index<'a>,
        subject: Subject<'a>,
        now: Moment,
    ) -> Self {
        let machine = match subject {
            Subject::Machine(machine) => Some(machine),
            Subject::Host(_) | Subject::Agent(_) => None,
        };
        let host = match subject {
            Subject::Host(host) => Some(host),
            Subject::Machine(machine) => index.host_of(machine),
            Subject::Agent(_) => None,
        };
        let agent = match subject {
            Subject::Agent(agent) => Some(agent),
            _ => host.and_then(|host| facts.agent_of(host)),
        };
        Self {
            facts,
            index,
            subject,
            machine,
            host,
            agent,
            now,
            evidence: Vec::new(),
            unseen: Vec::new(),
        }
    }

    pub(super) fn name(&self) -> &'a str {
        match self.subject {
            Subject::Machine(machine) => &machine.meta.name,
            Subject::Host(host) => &host.meta.name,
            Subject::Agent(agent) => agent.hostname.as_deref().unwrap_or(&agent.meta.name),
        }
    }

    /// `Machine openshift-machine-api/worker-7`.
    pub(super) fn object(&self) -> String {
        match self.subject {
            Subject::Machine(machine) => format!("Machine {}", machine.meta.full_name()),
            Subject::Host(host) => format!("BareMetalHost {}", host.meta.full_name()),
            Subject::Agent(agent) => format!("Agent {}", agent.meta.full_name()),
        }
    }

    pub(super) fn created(&self) -> Option<Moment> {
        match self.subject {
            Subject::Machine(machine) => machine.meta.created,
            // A host may have been inspected long before it was provisioned.
            Subject::Host(host) => host.since.or(host.meta.created),
            Subject::Agent(agent) => agent.meta.created,
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
            let secret = machine.user_data.as_deref()?;
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
        let host = self.host.into_iter();
        names.extend(host.clone().map(|host| host.meta.name.to_ascii_lowercase()));
        names.extend(host.filter_map(|host| Some(host.hostname.as_deref()?.to_ascii_lowercase())));
        let agent = self.agent.into_iter();
        names.extend(
            agent.filter_map(|agent| Some(agent.hostname.as_deref()?.to_ascii_lowercase())),
        );
        names.extend(self.addresses().iter().map(IpAddr::to_string));
        names.remove("localhost");
        names.remove("localhost.localdomain");
        names
    }

    /// Its Node: the one that it names, that names it, or that has its name or provider ID.
    pub(super) fn node(&self) -> Option<&'a Node> {
        let Some(machine) = self.machine else {
            return self.node_by_name();
        };
        let named = machine.node.as_deref();
        let named = named.and_then(|name| self.facts.nodes.get(name));
        let linked = || {
            let full_name = machine.meta.full_name();
            self.index.nodes_of_machines.get(&*full_name).copied()
        };
        let provided = || {
            let id = machine.provider_id.as_deref()?;
            self.index.nodes_by_provider.get(id).copied()
        };
        named
            .or_else(linked)
            .or_else(provided)
            .or_else(|| self.node_by_name())
    }

    /// A Node that was there before the machine is another's.
    fn node_by_name(&self) -> Option<&'a Node> {
        let names = self.names();
        let node = names.iter().find_map(|name| self.index.nodes.get(name))?;
        let is_older = matches!((node.created, self.created()), (Some(node), Some(own)) if node.plus(60) < own);
        (!is_older).then_some(*node)
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
        all.sort_by(|a, b| (a.at(), &a.meta.name).cmp(&(b.at(), &b.meta.name)));
        all.dedup_by_key(|report| &report.meta.name);
        all
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

    /// Notes a condition that says no.
    pub(super) fn see_condition(&mut self, condition: &Condition) {
        let source = format!("{}, condition {}", self.object(), condition.kind);
        let text = format!("{}: {}", condition.status, condition.says());
        self.see(source, condition.since, text);
    }
}
