//! A cluster: its objects and logs, as far as they are kept (pure). Objects are read one at a time, and
//! each kind's row says what is kept of one.

use crate::files::staged::Staged;
use crate::kinds::cluster_version::History;
use crate::kinds::config_pool::{ConfigPool, MachineConfig, Served};
use crate::kinds::image::{self, Image, WhyNot};
use crate::kinds::infrastructure::VSphere;
use crate::kinds::karpenter::Karpenter;
use crate::kinds::kind::Purpose;
use crate::kinds::machine::{Machine, Source};
use crate::kinds::machine_configuration::{BootImageConditions, ClusterSkew, ManagedBootImages};
use crate::kinds::metadata::{Condition, Identity, Metadata};
use crate::kinds::others::Others;
use crate::kinds::provisioning::Provisioning;
use crate::kinds::site::Site;
use crate::kinds::stream::OwnImage;
use crate::kinds::target;
use crate::kinds::user_data::{Authorities, Fingerprint, UserData};
use crate::kinds::{
    Agent, CertificateRequest, Event, HealthCheck, Host, HostedCluster, MachineSet, Node, NodePool,
    Report,
};
use crate::known_by::KnownBy;
use crate::logs::ignition_server::IgnitionServers;
use crate::logs::log_file::LogFile;
use crate::logs::server_log::ServerLogs;
use crate::moment::Moment;
use crate::seen::SeenObjects;
use crate::text::is_dns_name;
use crate::unread::Unread;
use crate::version::ImageVersion;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// At most so many ConfigMaps of NodePools are asked for one by one.
const MOST_POOL_CONFIGS: usize = 50;

/// At most this many Events are kept: the first ones.
const MAX_EVENTS: usize = 50_000;

/// Kind, namespace and name of an object.
type Key = (String, String, String);

/// Everything that was read.
#[derive(Debug, Default)]
pub struct Cluster {
    pub purpose: Purpose,
    pub machine_sets: Vec<MachineSet>,
    pub control_planes: Vec<MachineSet>,
    pub cluster_api_sets: Vec<MachineSet>,
    /// MachineSets of the Machine API that are labelled for Windows: they have no boot image of ours.
    pub windows_sets: Vec<MachineSet>,
    /// Of both APIs, and Karpenter's NodeClaims.
    pub machines: Vec<Machine>,
    pub windows_machines: Vec<Machine>,
    /// Specs that these are made from, each once.
    sources: BTreeSet<Arc<Source>>,
    pub health_checks: Vec<HealthCheck>,
    /// Images that the Cluster API makes machines from, by kind, namespace and name.
    pub infrastructure: BTreeMap<Key, Image>,
    pub node_pools: Vec<NodePool>,
    pub hosted_clusters: Vec<HostedCluster>,
    /// MachineDeployments of the Cluster API.
    pub deployments: Vec<MachineSet>,
    /// MachinePools of the Cluster API.
    pub machine_pools: Vec<MachineSet>,
    pub karpenter: Karpenter,
    /// Objects that are left out.
    pub others: Others,
    pub hosts: Vec<Host>,
    pub agents: Vec<Agent>,
    pub requests: Vec<CertificateRequest>,
    /// Those in a node's name that no kubelet makes: they are to a signer of other clients.
    pub misaddressed: Vec<CertificateRequest>,
    pub events: Vec<Event>,
    pub provisioning: Option<Provisioning>,
    /// MachineConfigPools, by name.
    pub config_pools: BTreeMap<String, ConfigPool>,
    /// MachineConfigs, by name.
    pub configs: BTreeMap<String, MachineConfig>,
    /// The stream of the pools that name none.
    pub default_stream: Option<String>,
    pub managed: Option<ManagedBootImages>,
    /// The Nodes' own times, by the clock of each.
    pub heartbeats: Vec<Moment>,
    /// The newest sign of life of a Node, by the folder of its file.
    pub(crate) heartbeats_by_folder: BTreeMap<PathBuf, Moment>,
    /// The newest time of what was read.
    pub newest: Option<Moment>,
    /// A moment after all that is read: when it is read.
    pub read_at: Option<Moment>,
    /// Lists are as the API server gave them: an empty one says that there is none.
    pub is_live: bool,
    /// Group and kind of what a live cluster did not give.
    pub not_given: BTreeSet<(&'static str, &'static str)>,
    /// The operator's own words on its work.
    pub conditions: BootImageConditions,
    /// The conditions of the objects that the Cluster API makes machines from, by kind, namespace and name.
    pub machine_conditions: BTreeMap<Key, Vec<Condition>>,
    /// The Clusters of the Cluster API, by namespace and name, and whether each is paused.
    pub clusters: BTreeMap<(String, String), bool>,
    /// The conditions of ClusterOperators.
    pub operators: BTreeMap<String, Vec<Condition>>,
    /// The conditions of MachineConfigNodes.
    pub config_nodes: BTreeMap<String, Vec<Condition>>,
    pub nodes: Vec<Node>,
    /// Nodes of Windows, and those that are made of packages.
    pub other_nodes: Vec<Node>,
    pub reports: Vec<Report>,
    pub own_images: Vec<OwnImage>,
    /// Images of other releases, and the file that has them.
    pub streams: Vec<(String, OwnImage)>,
    /// Version in the aleph file of each node, by the node's name.
    pub alephs: BTreeMap<String, ImageVersion>,
    /// vSphere, by the Infrastructure.
    pub vsphere: Option<VSphere>,
    /// The Infrastructure `cluster` was read.
    pub has_infrastructure: bool,
    /// It says whether the cluster is hosted, as each does since 4.8.
    pub has_topology: bool,
    /// Of AWS.
    pub region: Option<String>,
    /// Azure Stack Hub, whose images the cluster never keeps up to date.
    pub is_azure_stack: bool,
    /// The control plane is one node: the cluster does not scale by machines.
    pub is_single_node: bool,
    /// The platform, by the Infrastructure.
    pub platform: String,
    /// The control plane is elsewhere: HyperShift.
    pub is_hosted: bool,
    /// The release has more than one architecture.
    pub is_multi_arch: bool,
    pub release: Option<String>,
    /// The releases that it has had.
    pub history: History,
    /// User data, by namespace and name of the Secret.
    pub user_data: BTreeMap<(String, String), UserData>,
    /// ConfigMaps with config for NodePools, by namespace and name, and whether each asks for runc.
    pub pool_configs: BTreeMap<(String, String), bool>,
    /// The CAs of the machine-config-server, by its own ConfigMap.
    pub own_authorities: Authorities,
    /// The cluster's root CAs, which it had before.
    pub root_authorities: Authorities,
    /// The host of the machine-config-server, by the Infrastructure.
    pub server_host: Option<String>,
    /// The machine-config-server's pods, and since when their container runs.
    pub servers: BTreeMap<String, Option<Moment>>,
    /// Those of them that are not ready, and why.
    pub servers_not_ready: BTreeMap<String, String>,
    /// The pods of the machine-approver.
    pub approvers: BTreeSet<String>,
    /// Pods whose containers do not come up, by their Node and their name, and why.
    pub failing_pods: BTreeMap<(String, String), String>,
    /// Namespaces and names of the pods of HyperShift's ignition servers.
    pub ignition_pods: BTreeSet<(String, String)>,
    /// Logs of the machine-config-server.
    pub logs: ServerLogs,
    /// Those whose lines have no year, until the objects' clock is known.
    pub(crate) undated_logs: Vec<(LogFile, Vec<u8>)>,
    /// Logs of HyperShift's ignition servers, by the namespace of their hosted control plane.
    pub ignition_servers: BTreeMap<String, IgnitionServers>,
    /// Reasons against certificate requests, by the approver's log, and when each was written last.
    pub refusals: BTreeMap<String, (Option<Moment>, String)>,
    /// The first and the last time in the approvers' logs.
    pub approver_log: Option<(Moment, Moment)>,
    /// The last time that a machine-approver ignored all requests, and its words.
    pub ignores_all: Option<(Option<Moment>, String)>,
    /// The release of its next update.
    pub next_update: Option<String>,
    /// `spec.clusterID` of the ClusterVersion.
    pub cluster_id: Option<String>,
    /// `status.infrastructureName` of Infrastructure `cluster`.
    pub infrastructure_name: Option<String>,
    /// The public URL of the API server, by the Infrastructure `cluster`.
    pub server: Option<String>,
    pub skew: Option<ClusterSkew>,
    /// Objects that could not be understood.
    pub not_understood: Vec<Unread>,
    /// Number of objects that were read, of all kinds.
    pub count: usize,
    /// Number of lists without items.
    pub empty_lists: usize,
    /// Objects of kinds that say nothing here.
    pub(crate) foreign: usize,
    /// Group and kind of empty lists.
    pub empty: BTreeSet<(String, String)>,
    pub seen: SeenObjects,
    /// Number of those that were read once more.
    pub doubles: usize,
    /// Objects of files, until all are read.
    pub staged: Staged,
}

impl Cluster {
    /// The config that a pool serves to a new node.
    pub fn served(&self, pool: Option<&str>) -> Served {
        let Some(pool) = pool.and_then(|pool| self.config_pools.get(pool)) else {
            return Served::Cluster { is_read: false };
        };
        let Some(config) = pool.config() else {
            return match pool.is_open() {
                true => Served::Unread("a config that its status does not name".to_owned()),
                false => Served::Cluster { is_read: false },
            };
        };
        let read = self.configs.get(config);
        match read.and_then(|config| config.release.clone()) {
            Some(release) => Served::Release(release),
            None if pool.is_open() || self.history.is_updating => Served::Unread(config.to_owned()),
            None => Served::Cluster { is_read: true },
        }
    }

    /// The names of the MachineConfigs that say what release pools serve, where it may be another one.
    pub fn served_configs_to_read(&self) -> Vec<String> {
        let pools = self.config_pools.keys();
        let unread = pools.filter_map(|pool| match self.served(Some(pool)) {
            Served::Unread(config) => Some(config),
            _ => None,
        });
        unread.filter(|name| is_dns_name(name, 253)).collect()
    }

    /// Nothing yet, of files or of a live cluster, read at this time.
    pub fn new(purpose: Purpose, now: Moment, is_live: bool) -> Self {
        Self {
            purpose,
            read_at: Some(now),
            is_live,
            ..Self::default()
        }
    }

    /// Namespace and name of the ConfigMaps that say what NodePools without a pin ask for.
    pub fn pool_configs_to_read(&self) -> BTreeSet<(String, String)> {
        let unpinned = self.node_pools.iter().filter(|pool| pool.pinned.is_none());
        let all = unpinned.flat_map(|pool| {
            let namespace = &pool.metadata.namespace;
            let names = pool.config.iter();
            names.map(move |name| (namespace.clone(), name.clone()))
        });
        first_plain(all, MOST_POOL_CONFIGS)
    }

    /// Tells whether none of them is of a kind that says something.
    pub fn has_only_others(&self) -> bool {
        self.count == self.foreign
    }

    /// None yet, with the same images of other releases.
    pub fn with_the_same_streams(&self) -> Self {
        Self {
            streams: self.streams.clone(),
            purpose: self.purpose,
            read_at: self.read_at,
            is_live: self.is_live,
            ..Self::default()
        }
    }

    /// Tells whether the cluster opted out of boot image skew enforcement.
    pub fn is_opt_out(&self) -> bool {
        self.skew.as_ref().is_some_and(|skew| skew.mode == "None")
    }

    /// Tells whether the cluster is one of OKD, as its release says.
    pub fn is_okd(&self) -> bool {
        self.release.as_deref().is_some_and(target::is_okd)
    }

    /// Version that a node was made from: by its aleph file, which a person collected, else what it says
    /// itself.
    pub fn version_of(&self, node: &Node) -> Option<(ImageVersion, KnownBy)> {
        let aleph = self.alephs.get(&node.metadata.name);
        let aleph = aleph.map(|aleph| (aleph.clone(), KnownBy::Aleph));
        aleph.or_else(|| Some((node.version.clone()?, KnownBy::Node)))
    }

    /// The same as text.
    pub fn version_text(&self, node: &Node) -> Option<String> {
        Some(self.version_of(node)?.0.text)
    }

    pub fn has_cluster_api(&self) -> bool {
        !self.cluster_api_sets.is_empty()
            || !self.deployments.is_empty()
            || !self.machine_pools.is_empty()
    }

    /// The same source, as others that are equal have it.
    pub fn shared(&mut self, source: Arc<Source>) -> Arc<Source> {
        if let Some(known) = self.sources.get(&source) {
            return Arc::clone(known);
        }
        self.sources.insert(Arc::clone(&source));
        source
    }

    /// Site of the image that a Machine is made from; `None` where that was not read.
    pub fn site_of<'a>(&'a self, machine: &'a Machine) -> Option<&'a Site> {
        let image = match key(&machine.metadata, &machine.source) {
            None => &machine.source.image,
            Some(key) => self.infrastructure.get(&key)?,
        };
        Some(&image.site)
    }

    /// The conditions of a Machine's infrastructure object.
    pub fn infrastructure_conditions(&self, machine: &Machine) -> &[Condition] {
        let key = key(&machine.metadata, &machine.source);
        let found = key.and_then(|key| self.machine_conditions.get(&key));
        found.map_or(&[], Vec::as_slice)
    }

    /// Tells whether its Cluster is paused; `None` where that was not read.
    pub fn is_cluster_paused(&self, machine: &Machine) -> Option<bool> {
        let name = machine.cluster.clone()?;
        let key = (machine.metadata.namespace.clone(), name);
        self.clusters.get(&key).copied()
    }

    /// Tells whether a Machine's Node is in another cluster: a hosted one, or one that the Cluster API makes from here.
    pub fn is_elsewhere(&self, machine: &Machine) -> bool {
        let own = self.infrastructure_name.as_ref();
        let cluster = machine.cluster.as_ref();
        let cluster = cluster.filter(|_| machine.is_of_cluster_api());
        machine.node_pool.is_some() || cluster.is_some() && own.is_some() && cluster != own
    }

    /// Tells whether the object that the Cluster API makes a Machine from was read.
    pub fn has_infrastructure_of(&self, machine: &Machine) -> bool {
        let is_read = |key| {
            self.infrastructure.contains_key(&key) || self.machine_conditions.contains_key(&key)
        };
        key(&machine.metadata, &machine.source).is_some_and(is_read)
    }

    /// Image that a Machine, or the template of one, is made from.
    pub fn image_of(&self, metadata: &Metadata, source: &Source) -> Image {
        let Some(key) = key(metadata, source) else {
            return source.image.clone();
        };
        let pool = source.image.pool.clone();
        match self.infrastructure.get(&key) {
            Some(image) => Image {
                pool,
                ..image.clone()
            },
            None => {
                let of_kind = image::read_spec(&key.0, &Value::Null);
                Image {
                    pool,
                    field: None,
                    why_not: Some(WhyNot::TemplateUnread),
                    ..of_kind
                }
            }
        }
    }

    /// Tells whether it is the first of its kind, namespace, name and uid. The uid alone is not enough:
    /// tools that make objects anonymous give all of them the same.
    pub fn is_new(&mut self, kind: (&str, &str), identity: &Identity) -> bool {
        let Identity { metadata, uid, .. } = identity;
        let Metadata {
            namespace, name, ..
        } = metadata;
        // What has neither name nor uid is told apart by nothing.
        let is_nameless = name.is_empty() && uid.is_empty();
        is_nameless || self.seen.add(&(kind, namespace, name, uid))
    }

    pub fn has_room_for_events(&self) -> bool {
        self.events.len() < MAX_EVENTS
    }

    /// Adds a Node; a whole one takes the place of its metadata alone.
    pub fn add_node(&mut self, node: Node) {
        self.heartbeats.extend(node.heartbeat);
        let node = match self.purpose {
            Purpose::Sets => node.without_details(),
            Purpose::Nodes => node,
        };
        let nodes = match node.has_boot_image() {
            true => &mut self.nodes,
            false => &mut self.other_nodes,
        };
        nodes.push(node);
    }

    /// Adds the whole of a Node whose metadata was read.
    pub fn complete_node(&mut self, node: Node) {
        let is_it = |known: &Node| known.metadata.name == node.metadata.name;
        self.nodes.retain(|known| !is_it(known));
        self.other_nodes.retain(|known| !is_it(known));
        self.add_node(node);
    }

    /// All Machines, also those of Windows.
    pub fn all_machines(&self) -> impl Iterator<Item = &Machine> + Clone {
        self.machines.iter().chain(&self.windows_machines)
    }

    /// All Nodes, also those without a boot image of the cluster's.
    pub fn all_nodes(&self) -> impl Iterator<Item = &Node> + Clone {
        self.nodes.iter().chain(&self.other_nodes)
    }

    /// All MachineSets of both APIs.
    pub fn all_machine_sets(&self) -> impl Iterator<Item = &MachineSet> {
        let own = self.machine_sets.iter().chain(&self.windows_sets);
        own.chain(&self.cluster_api_sets)
    }

    /// Hosts that are installed, and not for a Machine.
    pub fn hosts_on_their_own(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter().filter(|host| host.is_on_its_own())
    }

    /// The agent of a host, by its addresses or its name.
    pub fn agent_of(&self, host: &Host) -> Option<&Agent> {
        self.agents.iter().find(|agent| {
            let shares = agent.addresses.iter().any(|ip| host.addresses.contains(ip));
            shares || agent.hostname.as_deref() == Some(&host.metadata.name)
        })
    }

    /// The user data of a Machine; `None` where it was not read, or is no Ignition config.
    pub fn user_data_of(&self, machine: &Machine) -> Option<&UserData> {
        let secret = machine.source.secret()?.to_owned();
        let key = (machine.metadata.namespace.clone(), secret);
        self.user_data.get(&key)
    }

    /// The CAs that the machine-config-server's certificate may be of.
    pub fn authorities(&self) -> &BTreeSet<Fingerprint> {
        let own = &self.own_authorities.fingerprints;
        if own.is_empty() {
            &self.root_authorities.fingerprints
        } else {
            own
        }
    }

    /// Tells whether something that should become a node, or makes such, is in a namespace.
    pub fn has_in(&self, namespace: &str) -> bool {
        let machines = self.all_machines().map(|machine| &machine.metadata);
        let sets = self.all_machine_sets().map(|set| &set.metadata);
        let hosts = self.hosts.iter().map(|host| &host.metadata);
        let agents = self.agents.iter().map(|agent| &agent.metadata);
        let pools = self.node_pools.iter().map(|pool| &pool.metadata);
        let mut all = machines.chain(sets).chain(hosts).chain(agents).chain(pools);
        all.any(|metadata| metadata.namespace == namespace)
    }

    /// Nothing that should become a node was read.
    pub fn has_no_nodes(&self) -> bool {
        self.all_machines().next().is_none()
            && self.all_nodes().next().is_none()
            && self.all_machine_sets().next().is_none()
            && self.hosts.is_empty()
            && self.agents.is_empty()
    }

    /// Tells whether all objects of a kind were read, or would have been if there were any.
    fn has_all(&self, group: &'static str, kind: &'static str) -> bool {
        self.is_live && !self.not_given.contains(&(group, kind))
    }

    /// Tells whether a list of a kind has all there are: as the API server gave it, or without items.
    pub fn is_listed(&self, group: &'static str, kind: &'static str) -> bool {
        let is_it = |(of, named): &(String, String)| of == group && named == kind;
        self.has_all(group, kind) || self.empty.iter().any(is_it)
    }
}

/// The object of the Cluster API that a Machine is made from, if there is one.
fn key(metadata: &Metadata, source: &Source) -> Option<Key> {
    let (kind, name) = source.infrastructure.clone()?;
    Some((kind, metadata.namespace.clone(), name))
}

/// The first namespaces and names that may go into a path.
pub(crate) fn first_plain(
    names: impl Iterator<Item = (String, String)>,
    most: usize,
) -> BTreeSet<(String, String)> {
    let is_plain =
        |(namespace, name): &(String, String)| is_dns_name(namespace, 63) && is_dns_name(name, 253);
    let names: BTreeSet<_> = names.filter(is_plain).collect();
    names.into_iter().take(most).collect()
}
