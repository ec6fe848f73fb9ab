//! Finds what belongs to a machine, for a thousand of them (pure).

use super::facts::Facts;
use super::kinds::{Host, Machine, Node};
use super::records::{CertificateRequest, Event, Report};
use crate::audit::Unread;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

pub(super) struct Index<'a> {
    facts: &'a Facts,
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
    /// By namespace and name of their Machine.
    pub(super) hosts: BTreeMap<(&'a str, &'a str), &'a Host>,
    /// Addresses of what is in this cluster.
    pub(super) known: BTreeSet<IpAddr>,
    /// Certificate requests were read, if there are any.
    pub(super) has_requests: bool,
    /// Names that the approver finds Machines by, in lower case.
    pub(super) internal_names: BTreeMap<String, &'a str>,
}

impl<'a> Index<'a> {
    pub(super) fn new(facts: &'a Facts, unread: &[Unread]) -> Self {
        let mut reports: BTreeMap<&str, Vec<&Report>> = BTreeMap::new();
        for report in &facts.reports {
            for name in &report.names {
                reports.entry(name).or_default().push(report);
            }
        }
        let mut requests: BTreeMap<&str, Vec<&CertificateRequest>> = BTreeMap::new();
        for request in &facts.requests {
            if let Some(node) = &request.node {
                requests.entry(node).or_default().push(request);
            }
        }
        let mut events: BTreeMap<_, Vec<&Event>> = BTreeMap::new();
        let mut told: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
        for event in &facts.events {
            let about = (&*event.kind, &*event.namespace, &*event.name);
            events.entry(about).or_default().push(event);
            if let Some(host) = &event.agent {
                told.entry(host).or_default().push(event);
            }
        }
        let host = |host: &'a Host| Some(((&*host.meta.namespace, host.machine.as_deref()?), host));
        let machine_ips = facts.machines.iter().flat_map(|machine| machine.ips());
        let host_ips = facts.hosts.iter().flat_map(|host| &host.addresses);
        let node_ips = facts.nodes.values().flat_map(|node| &node.addresses);
        let agent_ips = facts.agents.iter().flat_map(|agent| &agent.addresses);
        let others = host_ips.chain(node_ips).chain(agent_ips).copied();
        let nodes = facts.nodes.values();
        Self {
            facts,
            nodes: nodes
                .clone()
                .map(|node| (node.name.to_ascii_lowercase(), node))
                .collect(),
            nodes_of_machines: nodes
                .clone()
                .filter_map(|node| Some((node.machine.as_deref()?, node)))
                .collect(),
            nodes_by_provider: nodes
                .filter_map(|node| Some((node.provider_id.as_deref()?, node)))
                .collect(),
            reports,
            requests,
            events,
            told,
            hosts: facts.hosts.iter().filter_map(host).collect(),
            known: machine_ips.chain(others).collect(),
            has_requests: !facts.requests.is_empty()
                || facts.is_live
                    && !unread
                        .iter()
                        .any(|unread| unread.what.starts_with("certificatesigningrequests")),
            internal_names: internal_names(facts),
        }
    }

    /// The host of a Machine, by its annotation, else by the host's consumer.
    pub(super) fn host_of(&self, machine: &Machine) -> Option<&'a Host> {
        let by_annotation = machine.host.as_deref().and_then(|full_name| {
            let mut hosts = self.facts.hosts.iter();
            hosts.find(|host| host.meta.full_name() == full_name)
        });
        by_annotation.or_else(|| {
            let key = (&*machine.meta.namespace, &*machine.meta.name);
            self.hosts.get(&key).copied()
        })
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

/// Names that the approver finds Machines by, and the Machine of each.
fn internal_names(facts: &Facts) -> BTreeMap<String, &str> {
    let mut names = BTreeMap::new();
    for machine in &facts.machines {
        for (kind, name) in &machine.addresses {
            if kind == "InternalDNS" {
                let name = name.trim_end_matches('.').to_ascii_lowercase();
                names.entry(name).or_insert(&*machine.meta.name);
            }
        }
    }
    names
}
