//! The cluster's objects, by kind (pure). They are read one at a time, and only what the audit
//! needs is kept of each.

use super::fields::{str_at, text_at};
use super::image::{self, Image};
use super::infrastructure::VSphere;
use super::karpenter::Karpenter;
use super::kind_table::{self, INFRASTRUCTURE, Kind, MCO_NAMESPACE};
use super::listener::{Hears, Shared, held};
use super::machines::{Host, Machine, MachineSet, Metadata, NodePool, Source, is_windows};
use super::nodes::{Node, NodeReport, last_heartbeat};
use super::others::{self, Others};
use super::settings::{
    BootImageConditions, ClusterSkew, History, ManagedBootImages, Provisioning, cluster_operator,
    next_update, skew,
};
use super::stream::{OWN_IMAGES, OwnImage, images_of_streams, own_images};
use super::target;
use super::unfit;
use super::user_data;
use crate::aleph;
use crate::files::staged::{Staged, Staging};
use crate::known_by::KnownBy;
use crate::text::printable;
use crate::unread::Unread;
use crate::version::ImageVersion;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The most objects that are read.
pub const MAX_OBJECTS: usize = 200_000;

/// Everything that was read.
#[derive(Debug, Default)]
pub struct Objects {
    pub machine_sets: Vec<MachineSet>,
    pub control_planes: Vec<MachineSet>,
    pub cluster_api_sets: Vec<MachineSet>,
    /// Of both APIs.
    pub machines: Vec<Machine>,
    /// Images that the Cluster API makes machines from, by kind, namespace and name.
    pub infrastructure: BTreeMap<(String, String, String), Image>,
    pub node_pools: Vec<NodePool>,
    /// MachineDeployments of the Cluster API.
    pub deployments: Vec<MachineSet>,
    /// MachinePools of the Cluster API.
    pub machine_pools: Vec<MachineSet>,
    pub karpenter: Karpenter,
    /// Objects that are left out.
    pub others: Others,
    pub hosts: Vec<Host>,
    pub provisioning: Option<Provisioning>,
    /// The names of the MachineConfigPools.
    pub pools: BTreeSet<String>,
    /// The stream of each MachineConfigPool that names one.
    pub pool_streams: BTreeMap<String, String>,
    /// The stream of the pools that name none.
    pub default_stream: Option<String>,
    pub managed: Option<ManagedBootImages>,
    /// The newest sign of life of a node: about when the objects were read.
    pub seen_at: Option<String>,
    /// The operator's own words on its work.
    pub conditions: BootImageConditions,
    /// Complaints of ClusterOperator `machine-config`, in words.
    pub cluster_operator: Vec<String>,
    /// Sets of Windows machines, by namespace and name: they have no boot image of ours.
    pub windows_sets: BTreeSet<(String, String)>,
    pub windows_nodes: usize,
    pub nodes: Vec<Node>,
    pub reports: Vec<NodeReport>,
    pub own_images: Vec<OwnImage>,
    /// Images of other releases, and the file that has them.
    pub streams: Vec<(String, OwnImage)>,
    /// Version in the aleph file of each node, by the node's name.
    pub alephs: BTreeMap<String, ImageVersion>,
    /// vSphere, by the Infrastructure.
    pub vsphere: Option<VSphere>,
    /// The Infrastructure `cluster` was read.
    pub has_infrastructure: bool,
    /// Azure Stack Hub, whose images the cluster never keeps up to date.
    pub is_azure_stack: bool,
    /// The control plane is one node: the cluster does not scale by machines.
    pub is_single_node: bool,
    /// The control plane is elsewhere: HyperShift.
    pub is_hosted: bool,
    /// The release has more than one architecture.
    pub is_multi_arch: bool,
    pub release: Option<String>,
    /// The releases that it has had.
    pub history: History,
    /// The Ignition version of each Secret with user data, by namespace and name.
    pub user_data: BTreeMap<(String, String), String>,
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
    /// Kind, namespace, name and uid of each.
    seen: BTreeSet<String>,
    /// Number of those that were read once more.
    pub doubles: usize,
    /// Objects of files, until all are read.
    pub staged: Staged,
    /// Another command that hears of what is read.
    pub listener: Option<Shared>,
}

/// Name of what has neither kind nor name.
pub const OBJECT: &str = "object";

impl Objects {
    /// Takes this for the time at which they were read, where no node told of itself.
    pub fn read_at(&mut self, now: String) {
        self.seen_at.get_or_insert(now);
    }

    /// Takes note of a list without items.
    pub fn note_empty(&mut self, kind: &str) {
        self.empty_lists += 1;
        if let Some(listener) = &self.listener {
            held(listener).hear_empty(&self.staged.file.place, kind);
        }
    }

    /// Number of objects that were read, of all kinds.
    pub fn count(&self) -> usize {
        self.count
    }

    /// None yet, with the same images of other releases.
    pub fn with_the_same_streams(&self) -> Self {
        Self {
            streams: self.streams.clone(),
            ..Self::default()
        }
    }

    /// Adds what the files have, once all are read: of an object that several have, the newest.
    ///
    /// # Errors
    /// The objects are of more than one cluster.
    pub fn settle(&mut self) -> Result<(), String> {
        let Staged {
            objects,
            conflicts,
            clusters,
            ..
        } = std::mem::take(&mut self.staged);
        clusters.one()?;
        self.not_understood.extend(conflicts);
        for Staging {
            group, kind, json, ..
        } in objects
        {
            let object = serde_json::from_str(&json).map_err(no_json)?;
            self.add_named(&group, &kind, &object);
        }
        Ok(())
    }

    /// Adds the images of stream metadata, of any number of releases.
    ///
    /// # Errors
    /// It is something else. The text does not name the file.
    pub fn add_streams(&mut self, file: &str, text: &str) -> Result<(), String> {
        let images = images_of_streams(text)?;
        let published = images.into_iter().filter(|own| own.image.is_some());
        self.streams
            .extend(published.map(|own| (file.to_owned(), own)));
        Ok(())
    }

    /// Adds the aleph file of a node.
    ///
    /// # Errors
    /// It is none, or names no version. The text does not name the file.
    pub fn add_aleph(&mut self, node: &str, bytes: &[u8]) -> Result<(), String> {
        let version = aleph::version(bytes)?;
        self.count += 1;
        self.alephs.insert(printable(node), version);
        Ok(())
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

    /// Image that a Machine, or the template of one, is made from.
    pub fn image_of(&self, metadata: &Metadata, source: &Source) -> Image {
        let Some((kind, name)) = &source.infrastructure else {
            return source.image.clone();
        };
        let pool = source.image.pool.clone();
        match self
            .infrastructure
            .get(&(kind.clone(), metadata.namespace.clone(), name.clone()))
        {
            Some(image) => Image {
                pool,
                ..image.clone()
            },
            None => {
                let of_kind = image::read_spec(kind, &Value::Null);
                Image {
                    pool,
                    field: None,
                    why_not: Some("the infrastructure template that it refers to was not read"),
                    ..of_kind
                }
            }
        }
    }

    /// Adds an object of this kind, else of its own, else of its list's.
    pub fn add(
        &mut self,
        of: Option<(&str, &str)>,
        of_list: (&str, &str),
        object: &Value,
    ) -> Result<(), String> {
        self.count += 1;
        if self.count > MAX_OBJECTS {
            return Err(format!("there are more than {MAX_OBJECTS} objects"));
        }
        let own = || {
            str_at(object, "/kind")
                .map(|kind| (str_at(object, "/apiVersion").unwrap_or_default(), kind))
        };
        let (api_version, kind) = of.or_else(own).unwrap_or(of_list);
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let (group, kind) = match kind {
            "" => kind_in_link(object)
                .or_else(|| kind_table::kind_of_file(&self.staged.file.place))
                .unwrap_or_default(),
            kind => (group, kind),
        };
        // Before a Secret loses its content.
        let hears = self.hears(group, kind);
        if hears == Hears::AtOnce {
            self.tell(group, kind, object);
        }
        let secret;
        let object = if (group, kind) == ("", "Secret") {
            secret = user_data::without_content(object);
            &secret
        } else {
            object
        };
        let is_of_file = of.is_none();
        let is_staged = kind_table::is_read(group, kind) || hears == Hears::TheNewest;
        if is_of_file && is_staged && has_name(object) {
            self.doubles += usize::from(!self.staged.add(group, kind, object));
        } else if self.is_new(group, kind, object) {
            self.add_named(group, kind, object);
        } else {
            self.doubles += 1;
        }
        Ok(())
    }

    pub fn hears(&self, group: &str, kind: &str) -> Hears {
        let listener = self.listener.as_ref();
        listener.map_or(Hears::Never, |listener| held(listener).hears(group, kind))
    }

    fn tell(&self, group: &str, kind: &str, object: &Value) {
        if let Some(listener) = &self.listener {
            held(listener).hear(group, kind, object);
        }
    }

    /// Adds an object of a kind, or names it among those that could not be understood.
    fn add_named(&mut self, group: &str, kind: &str, object: &Value) {
        if self.hears(group, kind) == Hears::TheNewest {
            self.tell(group, kind, object);
        }
        let kept = self.add_kind(group, kind, object);
        let is_kept = kept.is_ok();
        let is_set = kind_table::is_of_sets(group, kind);
        let unfit = || unfit::fields(object).filter(|_| kind_table::is_read(group, kind));
        if let Some(why) = kept.err().or_else(unfit) {
            let kind = if kind.is_empty() { OBJECT } else { kind };
            let what = format!("{} {}", printable(kind), Metadata::of(object).full_name());
            self.not_understood.push(Unread {
                what: what.trim_end().to_owned(),
                why,
                hides_sets: is_set && !is_kept,
                makes_nodes: is_set && is_kept,
            });
        }
    }

    /// Tells whether it is the first of its kind, namespace, name and uid. The uid alone is not enough:
    /// tools that make objects anonymous give all of them the same.
    fn is_new(&mut self, group: &str, kind: &str, object: &Value) -> bool {
        let Metadata {
            namespace, name, ..
        } = Metadata::of(object);
        let uid = text_at(object, "/metadata/uid").unwrap_or_default();
        // What has neither name nor uid is told apart by nothing.
        if name.is_empty() && uid.is_empty() {
            return true;
        }
        let kind = printable(kind);
        self.seen
            .insert(format!("{group} {kind} {namespace} {name} {uid}"))
    }

    /// Adds an object.
    fn add_kind(&mut self, group: &str, kind: &str, object: &Value) -> Result<(), String> {
        if kind.is_empty() {
            return Err("has no kind: `oc get -o json` prints what is read".to_owned());
        }
        // What the commands that gather objects leave where one could not be read.
        if (group, kind) == ("", "Status") && str_at(object, "/status") == Some("Failure") {
            self.not_understood.push(kind_table::unread(object));
            return Ok(());
        }
        match kind_table::row(group, kind) {
            Some(row) => (row.keep)(self, object),
            None if group == INFRASTRUCTURE => self.keep_infrastructure_machine(kind, object),
            None => self
                .not_understood
                .extend(others::not_understood(group, kind, object)),
        }
        if kind_table::is_read(group, kind) && !has_name(object) {
            return Err("has no name".to_owned());
        }
        Ok(())
    }

    pub fn keep_set(&mut self, object: &Value, list: fn(&mut Self) -> &mut Vec<MachineSet>) {
        let set = MachineSet::of(object);
        if is_windows(object, "/spec/template/metadata") {
            let Metadata {
                namespace, name, ..
            } = set.metadata;
            self.windows_sets.insert((namespace, name));
        } else {
            list(self).push(set);
        }
    }

    pub fn keep_machine(&mut self, group: &'static str, object: &Value) {
        if !is_windows(object, "/metadata") {
            self.machines.push(Machine::of(group, object));
        }
    }

    /// An object that the Cluster API makes a machine from.
    fn keep_infrastructure_machine(&mut self, kind: &str, object: &Value) {
        let spec = match kind {
            _ if kind.ends_with("Template") => "/spec/template/spec",
            "AWSMachinePool" => "/spec/awsLaunchTemplate",
            _ if kind.ends_with("MachinePool") => "/spec/template",
            _ => "/spec",
        };
        let Metadata {
            namespace, name, ..
        } = Metadata::of(object);
        let image = image::read_spec(kind, object.pointer(spec).unwrap_or(&Value::Null));
        self.infrastructure
            .insert((printable(kind), namespace, name), image);
    }

    pub fn keep_host(&mut self, object: &Value) {
        if others::is_live_iso(object) {
            self.others.live_isos += 1;
        } else {
            self.hosts.extend(Host::of(object));
        }
    }

    pub fn keep_node(&mut self, object: &Value) {
        if str_at(object, "/metadata/labels/kubernetes.io~1os") == Some("windows") {
            self.windows_nodes += 1;
        } else if others::is_package_mode(object) {
            self.others.package_mode += 1;
        } else {
            self.seen_at = self.seen_at.take().max(last_heartbeat(object));
            self.nodes.push(Node::of(object));
        }
    }

    /// Any user may create a report in another namespace.
    pub fn keep_report(&mut self, object: &Value) {
        if str_at(object, "/metadata/namespace") == Some("skewguard") {
            self.reports.push(NodeReport::of(object));
        }
    }

    pub fn keep_pool(&mut self, object: &Value) {
        let name = text_at(object, "/metadata/name");
        let stream = text_at(object, "/spec/osImageStream/name");
        self.pool_streams.extend(name.clone().zip(stream));
        self.pools.extend(name);
    }

    pub fn keep_stream(&mut self, object: &Value) {
        if is_named(object, "cluster") {
            self.default_stream = text_at(object, "/status/defaultStream")
                .or_else(|| text_at(object, "/spec/defaultStream"));
        }
    }

    pub fn keep_version(&mut self, object: &Value) {
        self.release = text_at(object, "/status/desired/version");
        self.is_multi_arch = str_at(object, "/status/desired/architecture") == Some("Multi");
        self.cluster_id = text_at(object, "/spec/clusterID");
        self.next_update = next_update(object);
        self.history = History::of(object);
    }

    pub fn keep_operator(&mut self, object: &Value) {
        if is_named(object, "machine-config") {
            self.cluster_operator = cluster_operator(object);
        }
    }

    pub fn keep_configuration(&mut self, object: &Value) {
        if is_named(object, "cluster") {
            self.skew = skew(object);
            self.managed = Some(ManagedBootImages::of(object));
            self.conditions = BootImageConditions::of(object);
        }
    }

    pub fn keep_secret(&mut self, object: &Value) {
        let Metadata {
            namespace, name, ..
        } = Metadata::of(object);
        let version = text_at(object, "/ignitionVersion");
        self.user_data
            .extend(version.map(|version| ((namespace, name), version)));
    }

    pub fn keep_config_map(&mut self, object: &Value) {
        let namespace = str_at(object, "/metadata/namespace");
        if is_named(object, OWN_IMAGES) && namespace == Some(MCO_NAMESPACE) {
            match own_images(object) {
                Ok(images) => self.own_images = images,
                Err(error) => self.not_understood.push(Unread {
                    what: format!("ConfigMap {MCO_NAMESPACE}/{OWN_IMAGES}"),
                    why: printable(&error.to_string()),
                    hides_sets: false,
                    makes_nodes: false,
                }),
            }
        }
    }

    pub fn keep_infrastructure(&mut self, object: &Value) {
        let topology = str_at(object, "/status/controlPlaneTopology");
        self.infrastructure_name = text_at(object, "/status/infrastructureName");
        self.is_hosted = topology == Some("External");
        self.is_single_node = topology == Some("SingleReplica");
        self.server = text_at(object, "/status/apiServerURL");
        self.is_azure_stack =
            str_at(object, "/status/platformStatus/azure/cloudName") == Some("AzureStackCloud");
        self.vsphere = VSphere::of(object);
        self.has_infrastructure = true;
    }
}

fn is_named(object: &Value, name: &str) -> bool {
    str_at(object, "/metadata/name") == Some(name)
}

pub fn no_json(error: serde_json::Error) -> String {
    format!("is not a JSON object of the cluster: {error}")
}

fn has_name(object: &Value) -> bool {
    str_at(object, "/metadata/name").is_some()
}

/// Group and kind of an object without either, by the link to itself that API servers gave to
/// objects until Kubernetes 1.20 (`/apis/config.openshift.io/v1/clusterversions/version`): the
/// sample archive of openshift/insights-operator has such objects.
fn kind_in_link(object: &Value) -> Option<(&'static str, &'static str)> {
    let link = str_at(object, "/metadata/selfLink")?;
    let parts: Vec<&str> = link.trim_start_matches('/').split('/').collect();
    let (group, rest) = match parts.as_slice() {
        ["api", _, rest @ ..] => ("", rest),
        ["apis", group, _, rest @ ..] => (*group, rest),
        _ => return None,
    };
    let plural = match rest {
        ["namespaces", _, plural, ..] | [plural, _] => *plural,
        _ => return None,
    };
    let is_it = |kind: &&Kind| kind.group == group && kind.plural == plural;
    let row = kind_table::asked_for().find(is_it)?;
    Some((row.group, row.kind))
}
