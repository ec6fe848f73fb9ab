//! The cluster's objects, as far as `why` keeps more of them than the audit (pure).

use super::kinds::{Agent, Condition, Host, Machine, Meta, Node, NodePool, moment};
use super::records::{CertificateRequest, Event, HealthCheck, MachineSet, Report};
use super::user_data::{Fingerprint, UserData, fingerprints, last_day};
use crate::kinds::fields::{list_at, str_at, text_at};
use crate::kinds::kind_table::{
    AGENT_INSTALL, CERTIFICATES, CLUSTER_API, CONFIG, EVENTS, HYPERSHIFT, MACHINE_API,
    MACHINE_CONFIG, METAL, SKEWGUARD,
};
use crate::logs::ignition_server::IgnitionServers;
use crate::logs::server_log::ServerLogs;
use crate::moment::Moment;
use crate::text::{is_dns_name, printable};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// At most this many Events are kept: the first ones.
const MAX_EVENTS: usize = 50_000;

/// The kinds whose Events say something here, beside those of the nodes' own agent.
const EVENTS_ABOUT: [&str; 4] = [
    "Machine",
    "MachineSet",
    "MachineConfigPool",
    "BareMetalHost",
];

/// Tells if an Event says something here.
fn is_of_interest(event: &Event) -> bool {
    event.agent.is_some() || EVENTS_ABOUT.contains(&&*event.kind)
}

/// Everything that was read.
#[derive(Debug, Default)]
pub struct Facts {
    pub machines: Vec<Machine>,
    pub hosts: Vec<Host>,
    pub agents: Vec<Agent>,
    pub node_pools: Vec<NodePool>,
    pub nodes: BTreeMap<String, Node>,
    pub requests: Vec<CertificateRequest>,
    pub events: Vec<Event>,
    pub checks: Vec<HealthCheck>,
    pub sets: Vec<MachineSet>,
    /// The MachineConfigPools, and whether they were read.
    pub pools: BTreeSet<String>,
    pub config_nodes: BTreeMap<String, Vec<Condition>>,
    /// User data, by namespace and name of the Secret.
    pub user_data: BTreeMap<(String, String), Option<UserData>>,
    /// The CAs of the machine-config-server: its own ConfigMap's, else the cluster's root.
    pub own_authorities: BTreeSet<Fingerprint>,
    /// The moment at which the last of its own CAs expires.
    pub own_until: Option<Moment>,
    pub root_authorities: BTreeSet<Fingerprint>,
    pub reports: Vec<Report>,
    pub operators: BTreeMap<String, Vec<Condition>>,
    /// The machine-config-server's pods, and since when their container runs.
    pub servers: BTreeMap<String, Option<Moment>>,
    /// Namespaces and names of the pods of HyperShift's ignition servers.
    pub ignition_pods: BTreeSet<(String, String)>,
    /// The logs of these, by the namespace of their hosted control plane.
    pub ignition_servers: BTreeMap<String, IgnitionServers>,
    /// The pods of the machine-approver.
    pub approvers: BTreeSet<String>,
    /// The host of the machine-config-server, by the Infrastructure.
    pub server_host: Option<String>,
    /// Reasons against certificate requests, by the approver's log.
    pub refusals: BTreeMap<String, String>,
    pub logs: ServerLogs,
    /// Kinds of which an empty list was read.
    pub empty: BTreeSet<String>,
    /// The Nodes' own times, by the clock of each.
    pub heartbeats: Vec<Moment>,
    /// The newest time that an object has.
    pub newest: Option<Moment>,
    /// A moment after all that is read, for years that log lines do not have.
    pub reference: Option<Moment>,
    /// Lists are as the API server gave them: an empty one says that there is none.
    pub is_live: bool,
}

impl Facts {
    /// Nothing yet, at this time.
    pub fn new(now: Moment, is_live: bool) -> Self {
        Self {
            reference: Some(now),
            is_live,
            ..Self::default()
        }
    }

    /// Adds an object; what is of another kind is passed over.
    pub fn add(&mut self, group: &str, kind: &str, object: &Value) {
        self.newest = self
            .newest
            .max(moment(object, "/metadata/creationTimestamp"));
        match (group, kind) {
            (MACHINE_API | CLUSTER_API, "Machine") => {
                let machine = Machine::of(group, object);
                self.newest = self.newest.max(machine.since);
                self.machines.push(machine);
            }
            (MACHINE_API | CLUSTER_API, "MachineSet") => self.sets.push(MachineSet::of(object)),
            (MACHINE_API | CLUSTER_API, "MachineHealthCheck") => {
                self.checks.push(HealthCheck::of(group, object));
            }
            (METAL, "BareMetalHost") => self.hosts.push(Host::of(object)),
            (AGENT_INSTALL, "Agent") => self.agents.push(Agent::of(object)),
            (HYPERSHIFT, "NodePool") => self.node_pools.push(NodePool::of(object)),
            (CERTIFICATES, "CertificateSigningRequest") => {
                self.requests.extend(CertificateRequest::of(object));
            }
            ("" | EVENTS, "Event") if self.events.len() < MAX_EVENTS => {
                let event = Event::of(object);
                if !is_of_interest(&event) {
                    return;
                }
                self.newest = self.newest.max(event.last);
                self.events.push(event);
            }
            ("", "Node") => self.add_node(Node::of(object)),
            // What goes into a path.
            _ => self.add_setting(group, kind, object),
        }
    }

    /// Adds pods, and what is there of the cluster's own.
    fn add_setting(&mut self, group: &str, kind: &str, object: &Value) {
        let name = str_at(object, "/metadata/name").unwrap_or_default();
        let namespace = str_at(object, "/metadata/namespace").unwrap_or_default();
        match (group, kind) {
            ("", "Pod") if !is_dns_name(name, 253) => {}
            ("", "Pod") if name.starts_with("machine-config-server-") => {
                let began = list_at(object, "/status/containerStatuses")
                    .iter()
                    .find_map(|status| moment(status, "/state/running/startedAt"));
                self.servers.insert(printable(name), began);
            }
            ("", "Pod") if is_ignition_server(name) && is_dns_name(namespace, 63) => {
                let pod = (namespace.to_owned(), name.to_owned());
                self.ignition_pods.insert(pod);
            }
            ("", "Pod") if name.starts_with("machine-approver-") => {
                self.approvers.insert(printable(name));
            }
            ("", "Secret") => self.add_secret(object),
            ("", "ConfigMap") => self.add_authorities(namespace, name, object),
            (MACHINE_CONFIG, "MachineConfigPool") => {
                self.pools.insert(printable(name));
            }
            (MACHINE_CONFIG, "MachineConfigNode") => {
                let conditions = Condition::list(object, "/status/conditions");
                self.config_nodes.insert(printable(name), conditions);
            }
            (CONFIG, "ClusterOperator") => {
                let conditions = Condition::list(object, "/status/conditions");
                self.operators.insert(printable(name), conditions);
            }
            (CONFIG, "Infrastructure") => {
                let url = text_at(object, "/status/apiServerInternalURI")
                    .or_else(|| text_at(object, "/status/apiServerInternalURL"));
                self.server_host = url.as_deref().and_then(host).map(str::to_owned);
            }
            (SKEWGUARD, "BootImageReport") if namespace == "skewguard" => {
                self.reports.push(Report::of(object));
            }
            _ => {}
        }
    }

    /// A whole Node counts more than its metadata alone.
    fn add_node(&mut self, node: Node) {
        let known = self.nodes.get(&node.name);
        if known.is_none_or(|known| known.ready.is_none()) {
            if let Some(ready) = &node.ready {
                self.heartbeats.extend(ready.seen);
            }
            self.nodes.insert(node.name.clone(), node);
        }
    }

    /// Of a Secret only what [`UserData`] has is kept, whatever else is in it.
    fn add_secret(&mut self, object: &Value) {
        let Meta {
            namespace, name, ..
        } = Meta::of(object);
        let data = ["/data/userData", "/data/value"]
            .iter()
            .find_map(|path| str_at(object, path));
        if let Some(data) = data {
            self.user_data
                .insert((namespace, name), UserData::of_secret(data));
        }
    }

    fn add_authorities(&mut self, namespace: &str, name: &str, object: &Value) {
        let all = match (namespace, name) {
            ("openshift-machine-config-operator", "machine-config-server-ca") => {
                &mut self.own_authorities
            }
            ("kube-system", "root-ca") => &mut self.root_authorities,
            _ => return,
        };
        let bundles = ["/data/ca-bundle.crt", "/data/ca.crt"];
        for pem in bundles.iter().filter_map(|path| str_at(object, path)) {
            all.extend(fingerprints(pem));
            if name == "machine-config-server-ca" {
                self.own_until = self.own_until.max(last_day(pem));
            }
        }
    }

    /// Adds the log of a machine-approver.
    ///
    /// # Errors
    /// It cannot be read to its end. What came before stays added.
    pub fn add_approver_log(&mut self, log: &mut dyn std::io::Read) -> std::io::Result<()> {
        crate::logs::log_lines::lines(log, &mut |line| {
            let line = String::from_utf8_lossy(line);
            if let Some((name, why)) = crate::logs::approver_line::refusal(&line)
                && (self.refusals.len() < 10_000 || self.refusals.contains_key(name))
            {
                self.refusals.insert(printable(name), why);
            }
        })
    }

    /// Adds the log of a pod of HyperShift's ignition server.
    ///
    /// # Errors
    /// It cannot be read to its end. What came before stays added.
    pub fn add_ignition_log(
        &mut self,
        (namespace, pod): (&str, &str),
        log: &mut dyn std::io::Read,
    ) -> std::io::Result<()> {
        let now = self.reference.unwrap_or(Moment(0));
        let servers = self.ignition_servers.entry(namespace.to_owned());
        servers.or_default().add(pod, log, now)
    }

    /// The agent of a host, by its addresses or its name.
    pub fn agent_of(&self, host: &Host) -> Option<&Agent> {
        self.agents.iter().find(|agent| {
            let shares = agent.addresses.iter().any(|ip| host.addresses.contains(ip));
            shares || agent.hostname.as_deref() == Some(&host.meta.name)
        })
    }

    /// The user data of a Machine; `None` where it was not read, or is no Ignition config.
    pub fn user_data_of(&self, machine: &Machine) -> Option<&UserData> {
        let secret = machine.user_data.clone()?;
        let key = (machine.meta.namespace.clone(), secret);
        self.user_data.get(&key)?.as_ref()
    }

    /// Some node's agent has reported.
    pub fn has_reports(&self) -> bool {
        !self.reports.is_empty()
    }

    /// The namespaces of hosted control planes whose machines have no Node.
    pub fn hosted_namespaces(&self, most: usize) -> Vec<String> {
        let waiting = self
            .machines
            .iter()
            .filter(|machine| machine.node_pool.is_some() && machine.node.is_none());
        let names: BTreeSet<&str> = waiting.map(|machine| &*machine.meta.namespace).collect();
        let names = names.into_iter().filter(|name| is_dns_name(name, 63));
        names.take(most).map(str::to_owned).collect()
    }

    /// Nothing that should become a node was read.
    pub fn is_empty(&self) -> bool {
        self.machines.is_empty()
            && self.hosts.is_empty()
            && self.agents.is_empty()
            && self.sets.is_empty()
            && self.nodes.is_empty()
    }

    /// Namespace and name of the Secrets that have the user data of Machines without a Node.
    pub fn user_data_names(&self, most: usize) -> BTreeSet<(String, String)> {
        let waiting = self
            .machines
            .iter()
            .filter(|machine| machine.node.is_none());
        let names: BTreeSet<_> = waiting
            .filter_map(|machine| {
                Some((machine.meta.namespace.clone(), machine.user_data.clone()?))
            })
            .collect();
        let is_plain = |name: &str| is_dns_name(name, 253);
        let names = names.into_iter();
        names
            .filter(|(namespace, name)| is_plain(namespace) && is_plain(name))
            .take(most)
            .collect()
    }

    /// The Nodes of these names, or of Machines of these names, then those that are broken, and those
    /// that were made since then: the newest first.
    pub fn nodes_to_read(
        &self,
        names: &[String],
        broken: &BTreeSet<String>,
        since: Moment,
        most: usize,
    ) -> Vec<String> {
        let own = |name: &'_ String| name.rsplit('/').next().unwrap_or_default().to_owned();
        let names: BTreeSet<String> = names.iter().map(own).collect();
        let machines = self.machines.iter();
        let of_machines = machines.filter(|machine| names.contains(&machine.meta.name));
        let of_machines: BTreeSet<&str> = of_machines
            .filter_map(|machine| machine.node.as_deref())
            .collect();
        let is_named =
            |node: &Node| names.contains(&node.name) || of_machines.contains(&*node.name);
        let mut all: Vec<&Node> = self
            .nodes
            .values()
            .filter(|node| {
                is_named(node) || broken.contains(&node.name) || node.created >= Some(since)
            })
            .filter(|node| is_dns_name(&node.name, 253))
            .collect();
        all.sort_by_key(|node| {
            let is_other = !broken.contains(&node.name);
            (!is_named(node), is_other, std::cmp::Reverse(node.created))
        });
        all.into_iter()
            .take(most)
            .map(|node| node.name.clone())
            .collect()
    }

    /// The newest time of all that was read: for what a gather has, that is now.
    pub fn newest(&self) -> Option<Moment> {
        let hosted = self.ignition_servers.values().filter_map(|log| log.last);
        self.newest_of_objects()
            .max(self.logs.end())
            .max(hosted.max())
    }

    /// The newest time of an object. A Node's clock that is far ahead of most Nodes' does not count.
    pub fn newest_of_objects(&self) -> Option<Moment> {
        let mut heartbeats = self.heartbeats.clone();
        heartbeats.sort_unstable();
        let middle = heartbeats.len().saturating_sub(1) / 2;
        let latest = heartbeats.get(middle).map(|middle| middle.plus(600));
        let seen = heartbeats.into_iter().filter(|at| Some(*at) <= latest);
        self.newest.max(seen.max())
    }

    /// The CAs that the machine-config-server's certificate may be of.
    pub fn authorities(&self) -> &BTreeSet<Fingerprint> {
        if self.own_authorities.is_empty() {
            &self.root_authorities
        } else {
            &self.own_authorities
        }
    }
}

/// Tells if a pod is one of HyperShift's ignition server, not of the proxy before it.
pub fn is_ignition_server(name: &str) -> bool {
    name.starts_with("ignition-server-") && !name.starts_with("ignition-server-proxy")
}

/// The host of a URL.
fn host(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split('/').next()?;
    Some(
        authority
            .rsplit_once(':')
            .map_or(authority, |(host, _)| host),
    )
}
