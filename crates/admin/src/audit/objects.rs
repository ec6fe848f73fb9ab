//! The cluster's objects, by kind (pure). They are read one at a time, and only what the audit
//! needs is kept of each.

use super::fields::{str_at, text_at};
use super::image::{self, Image};
use super::infrastructure::VSphere;
use super::kinds::{
    Host, Machine, MachineSet, Metadata, Node, NodePool, NodeReport, Source, is_windows,
};
use super::resources::{self, RESOURCES};
use super::settings::{ManagedBootImages, Provisioning, skew};
use super::stream::{OwnImage, images_of_streams, own_images};
use super::{ClusterSkew, KnownBy, Unread};
use crate::aleph;
use crate::text::printable;
use crate::version::ImageVersion;
use crate::yaml;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

pub(super) const MACHINE_API: &str = "machine.openshift.io";
pub(super) const CLUSTER_API: &str = "cluster.x-k8s.io";
const MACHINE_CONFIG: &str = "machineconfiguration.openshift.io";

/// The most objects that are read.
const MAX_OBJECTS: usize = 200_000;

/// Everything that was read.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    pub(super) machine_sets: Vec<MachineSet>,
    pub(super) control_planes: Vec<MachineSet>,
    pub(super) cluster_api_sets: Vec<MachineSet>,
    /// Of both APIs.
    pub(super) machines: Vec<Machine>,
    /// What the Cluster API makes machines from, by kind, namespace and name.
    pub(super) infrastructure: BTreeMap<(String, String, String), Image>,
    pub(super) node_pools: Vec<NodePool>,
    /// MachineDeployments of the Cluster API.
    pub(super) deployments: Vec<MachineSet>,
    pub(super) hosts: Vec<Host>,
    pub(super) provisioning: Option<Provisioning>,
    /// The names of the MachineConfigPools.
    pub(super) pools: BTreeSet<String>,
    /// The stream of each MachineConfigPool that names one.
    pub(super) pool_streams: BTreeMap<String, String>,
    /// The stream of the pools that name none.
    pub(super) default_stream: Option<String>,
    pub(super) managed: Option<ManagedBootImages>,
    /// Sets of Windows machines, by namespace and name: they have no boot image of ours.
    pub(super) windows_sets: BTreeSet<(String, String)>,
    pub(super) windows_nodes: usize,
    pub(super) nodes: Vec<Node>,
    pub(super) reports: Vec<NodeReport>,
    pub(super) own_images: Vec<OwnImage>,
    /// Images of other releases, and the file that has them.
    pub(super) streams: Vec<(String, OwnImage)>,
    /// What the aleph file of each node says, by the node's name.
    pub(super) alephs: BTreeMap<String, ImageVersion>,
    /// What the Infrastructure says of vSphere.
    pub(super) vsphere: Option<VSphere>,
    /// The Infrastructure `cluster` was read.
    pub(super) has_infrastructure: bool,
    /// Azure Stack Hub, whose images the cluster never keeps up to date.
    pub(super) is_azure_stack: bool,
    /// The control plane is one node: the cluster does not scale by machines.
    pub(super) is_single_node: bool,
    /// The release has more than one architecture.
    pub(super) is_multi_arch: bool,
    pub(super) release: Option<String>,
    /// `spec.clusterID` of the ClusterVersion.
    pub(crate) cluster_id: Option<String>,
    /// `status.infrastructureName` of Infrastructure `cluster`.
    pub(crate) infrastructure_name: Option<String>,
    /// The public URL of the API server, by the Infrastructure `cluster`.
    pub(crate) server: Option<String>,
    pub(super) skew: Option<ClusterSkew>,
    /// Objects that could not be understood.
    pub(super) not_understood: Vec<Unread>,
    /// How many were read, of all kinds.
    pub(super) count: usize,
    /// Kind, namespace, name and uid of each.
    seen: BTreeSet<String>,
    /// How many were read once more.
    pub(super) doubles: usize,
}

/// What has neither kind nor name.
const OBJECT: &str = "object";

/// An object or a list, its items unread.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Document<'a> {
    api_version: Value,
    kind: Value,
    metadata: Value,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

impl Objects {
    /// Adds the objects of a file: in JSON any number of objects and lists, in YAML any number of
    /// documents with one object or list each. Kinds that say nothing of boot images are passed
    /// over.
    ///
    /// # Errors
    /// It is neither, or larger than is read. What came before the error stays added.
    pub(crate) fn add_file(&mut self, file: &str, text: &str) -> Result<(), String> {
        let before = self.not_understood.len();
        let done = self.add_documents(text);
        // What has no name of its own is found by the file's; once is enough.
        let new = self.not_understood.split_off(before);
        for mut unread in new {
            if unread.what == OBJECT {
                unread.what = file.to_owned();
            }
            if self.not_understood.last() != Some(&unread) {
                self.not_understood.push(unread);
            }
        }
        done
    }

    fn add_documents(&mut self, text: &str) -> Result<(), String> {
        if !text.trim_start().starts_with('{') {
            return self.add_yaml(text);
        }
        let mut documents = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
        documents.try_for_each(|document| {
            self.add_page(document.map_err(no_json)?.get(), None)
                .map(|_| ())
        })
    }

    /// Adds the images of stream metadata, of any number of releases.
    ///
    /// # Errors
    /// It is something else. The text does not name the file.
    pub(crate) fn add_streams(&mut self, file: &str, text: &str) -> Result<(), String> {
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
    pub(crate) fn add_aleph(&mut self, node: &str, bytes: &[u8]) -> Result<(), String> {
        let version = aleph::version(bytes)?;
        self.count += 1;
        self.alephs.insert(printable(node), version);
        Ok(())
    }

    /// What a node was made from: what it says itself, else its aleph file.
    pub(super) fn version_of(&self, node: &Node) -> Option<(ImageVersion, KnownBy)> {
        let own = node.version.clone().map(|version| (version, KnownBy::Node));
        own.or_else(|| {
            let aleph = self.alephs.get(&node.metadata.name)?;
            Some((aleph.clone(), KnownBy::Aleph))
        })
    }

    /// That version as text.
    pub(super) fn version_text(&self, node: &Node) -> Option<String> {
        Some(self.version_of(node)?.0.text)
    }

    /// Adds one object or list in JSON, of this `apiVersion` and kind where that is known, and
    /// gives back what to ask for the next page with; empty at the end.
    ///
    /// # Errors
    /// As [`Self::add_file`].
    pub(crate) fn add_page(
        &mut self,
        json: &str,
        of: Option<(&str, &str)>,
    ) -> Result<String, String> {
        let Document {
            api_version,
            kind,
            metadata,
            items,
        } = serde_json::from_str(json).map_err(no_json)?;
        let Some(items) = items else {
            self.add(of, ("", ""), &serde_json::from_str(json).map_err(no_json)?)?;
            return Ok(String::new());
        };
        let of_items = of_items(&api_version, &kind);
        for item in items {
            self.add(
                of,
                of_items,
                &serde_json::from_str(item.get()).map_err(no_json)?,
            )?;
        }
        Ok(str_at(&metadata, "/continue")
            .unwrap_or_default()
            .to_owned())
    }

    /// Adds objects and lists in YAML, as must-gather keeps them.
    fn add_yaml(&mut self, text: &str) -> Result<(), String> {
        let documents = yaml::documents(text, MAX_OBJECTS).map_err(no_yaml)?;
        if documents.is_empty() {
            return Err(no_yaml("has no kind"));
        }
        documents
            .iter()
            .try_for_each(|document| self.add_document(document))
    }

    fn add_document(&mut self, document: &Value) -> Result<(), String> {
        let null = Value::Null;
        let field = |name: &str| document.get(name).unwrap_or(&null);
        match field("items").as_array() {
            Some(items) => items.iter().try_for_each(|item| {
                self.add(None, of_items(field("apiVersion"), field("kind")), item)
            }),
            None if field("kind").is_null() => Err(no_yaml("has no kind")),
            None => self.add(None, ("", ""), document),
        }
    }

    pub(super) fn has_cluster_api(&self) -> bool {
        !self.cluster_api_sets.is_empty() || !self.deployments.is_empty()
    }

    /// What a Machine, or the template of one, is made from.
    pub(super) fn image_of(&self, metadata: &Metadata, source: &Source) -> Image {
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
                let of_kind = image::of_spec(kind, &Value::Null);
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
    fn add(
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
            "" => of_link(object).unwrap_or_default(),
            kind => (group, kind),
        };
        if !self.is_new(group, kind, object) {
            self.doubles += 1;
            return Ok(());
        }
        if let Err(why) = self.add_kind(group, kind, object) {
            let hides_sets =
                kind.ends_with("Set") || matches!(kind, "" | "NodePool" | "MachineDeployment");
            let kind = if kind.is_empty() { OBJECT } else { kind };
            let what = format!("{} {}", printable(kind), Metadata::of(object).full_name());
            self.not_understood.push(Unread {
                what: what.trim_end().to_owned(),
                why,
                hides_sets,
            });
        }
        Ok(())
    }

    /// Whether it is the first of its kind, namespace, name and uid. The uid alone is not enough:
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
            self.not_understood.push(resources::unread(object));
            return Ok(());
        }
        let is_read = self.add_windows(group, kind, object)
            || self.add_machines(group, kind, object)
            || self.add_settings(group, kind, object)?;
        if is_read && str_at(object, "/metadata/name").is_none() {
            return Err("has no name".to_owned());
        }
        Ok(())
    }

    /// Windows machines and nodes, which are only counted; returns whether it is one of them.
    fn add_windows(&mut self, group: &str, kind: &str, object: &Value) -> bool {
        match (group, kind) {
            (MACHINE_API | CLUSTER_API, "MachineSet" | "MachineDeployment")
                if is_windows(object, "/spec/template/metadata") =>
            {
                let Metadata {
                    namespace, name, ..
                } = Metadata::of(object);
                self.windows_sets.insert((namespace, name));
            }
            (MACHINE_API | CLUSTER_API, "Machine") if is_windows(object, "/metadata") => {}
            ("", "Node")
                if str_at(object, "/metadata/labels/kubernetes.io~1os") == Some("windows") =>
            {
                self.windows_nodes += 1;
            }
            _ => return false,
        }
        true
    }

    /// What makes nodes, nodes, and what tells of them; returns whether it is one of these. What
    /// any user may create counts only in the namespaces of the cluster's own.
    fn add_machines(&mut self, group: &str, kind: &str, object: &Value) -> bool {
        match (group, kind) {
            (MACHINE_API, "MachineSet") => self.machine_sets.push(MachineSet::of(object)),
            (MACHINE_API, "ControlPlaneMachineSet") => {
                self.control_planes.push(MachineSet::of(object));
            }
            (MACHINE_API, "Machine") => self.machines.push(Machine::of(MACHINE_API, object)),
            (CLUSTER_API, "MachineDeployment") => self.deployments.push(MachineSet::of(object)),
            (CLUSTER_API, "MachineSet") => self.cluster_api_sets.push(MachineSet::of(object)),
            (CLUSTER_API, "Machine") => self.machines.push(Machine::of(CLUSTER_API, object)),
            ("infrastructure.cluster.x-k8s.io", _) => {
                let spec = if kind.ends_with("Template") {
                    "/spec/template/spec"
                } else {
                    "/spec"
                };
                let Metadata {
                    namespace, name, ..
                } = Metadata::of(object);
                let image = image::of_spec(kind, object.pointer(spec).unwrap_or(&Value::Null));
                self.infrastructure
                    .insert((printable(kind), namespace, name), image);
            }
            ("hypershift.openshift.io", "NodePool") => self.node_pools.push(NodePool::of(object)),
            ("metal3.io", "BareMetalHost") => self.hosts.extend(Host::of(object)),
            ("", "Node") => self.nodes.push(Node::of(object)),
            ("skewguard.dev", "BootImageReport")
                if str_at(object, "/metadata/namespace") == Some("skewguard") =>
            {
                self.reports.push(NodeReport::of(object));
            }
            _ => return false,
        }
        true
    }

    /// What there is one of in a cluster, and pools; returns whether it is one of these.
    fn add_settings(&mut self, group: &str, kind: &str, object: &Value) -> Result<bool, String> {
        let name = str_at(object, "/metadata/name");
        match (group, kind) {
            ("metal3.io", "Provisioning") => self.provisioning = Some(Provisioning::of(object)),
            (MACHINE_CONFIG, "MachineConfigPool") => {
                let stream = text_at(object, "/spec/osImageStream/name");
                self.pools.extend(text_at(object, "/metadata/name"));
                self.pool_streams
                    .extend(text_at(object, "/metadata/name").zip(stream));
            }
            (MACHINE_CONFIG, "OSImageStream") if name == Some("cluster") => {
                self.default_stream = text_at(object, "/status/defaultStream")
                    .or_else(|| text_at(object, "/spec/defaultStream"));
            }
            ("config.openshift.io", "ClusterVersion") => {
                self.release = text_at(object, "/status/desired/version");
                self.is_multi_arch =
                    str_at(object, "/status/desired/architecture") == Some("Multi");
                self.cluster_id = text_at(object, "/spec/clusterID");
            }
            ("config.openshift.io", "Infrastructure") => self.add_infrastructure(object),
            ("operator.openshift.io", "MachineConfiguration") if name == Some("cluster") => {
                self.skew = skew(object);
                self.managed = Some(ManagedBootImages::of(object));
            }
            ("", "ConfigMap")
                if name == Some("coreos-bootimages")
                    && str_at(object, "/metadata/namespace")
                        == Some("openshift-machine-config-operator") =>
            {
                self.own_images =
                    own_images(object).map_err(|error| printable(&error.to_string()))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn add_infrastructure(&mut self, object: &Value) {
        self.infrastructure_name = text_at(object, "/status/infrastructureName");
        self.is_single_node =
            str_at(object, "/status/controlPlaneTopology") == Some("SingleReplica");
        self.server = text_at(object, "/status/apiServerURL");
        self.is_azure_stack =
            str_at(object, "/status/platformStatus/azure/cloudName") == Some("AzureStackCloud");
        self.vsphere = VSphere::of(object);
        self.has_infrastructure = true;
    }
}

fn no_json(error: serde_json::Error) -> String {
    format!("is not a JSON object of the cluster: {error}")
}

fn no_yaml(what: impl Display) -> String {
    format!("is neither JSON nor YAML of the cluster: {what}; `oc get -o json` prints what is read")
}

/// The `apiVersion` and kind of a list's items, by its own: a `MachineSetList` as the API server
/// sends it has items without either.
fn of_items<'a>(api_version: &'a Value, kind: &'a Value) -> (&'a str, &'a str) {
    let kind = kind
        .as_str()
        .and_then(|kind| kind.strip_suffix("List"))
        .unwrap_or_default();
    (api_version.as_str().unwrap_or_default(), kind)
}

/// Group and kind of an object without either, by the link to itself that API servers gave to
/// objects until Kubernetes 1.20 (`/apis/config.openshift.io/v1/clusterversions/version`): the
/// sample archive of openshift/insights-operator has such objects.
fn of_link(object: &Value) -> Option<(&'static str, &'static str)> {
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
    RESOURCES
        .iter()
        .find(|resource| resource.group == group && resource.plural == plural)
        .map(|resource| (resource.group, resource.kind))
}
