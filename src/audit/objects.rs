//! What the cluster's objects say (pure).
//!
//! Read leniently: only the fields that the audit asks for, each of which may be absent. All text is made printable and bounded where it enters. An
//! object whose fields are of other types than their API has is left out and named.

use super::Unread;
use super::image::Spec;
use crate::text;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Deref;

/// The most objects that are read.
const MAX_OBJECTS: usize = 200_000;

/// Text of the cluster, printable and bounded.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(text::word(&Cow::<str>::deserialize(deserializer)?)))
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// An optional text; an empty one is none.
pub(super) fn given(text: &Option<Text>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

/// The part of an object that every kind has, and what this kind has of its own.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "S: Default + Deserialize<'de>, T: Default + Deserialize<'de>"))]
pub struct Object<S, T> {
    /// Name, labels and the like.
    pub metadata: Metadata,
    /// What is wanted.
    pub spec: S,
    /// What is.
    pub status: T,
}

/// `metadata` of any object.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Metadata {
    pub(super) name: Text,
    pub(super) namespace: Text,
    pub(super) creation_timestamp: Text,
    pub(super) labels: Labels,
    pub(super) annotations: Annotations,
    pub(super) owner_references: Vec<Reference>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Labels {
    #[serde(rename = "skewguard.dev/boot-image")]
    pub(super) boot_image: Option<Text>,
    #[serde(rename = "machine.openshift.io/cluster-api-machine-role")]
    pub(super) role: Option<Text>,
    #[serde(rename = "hypershift.openshift.io/nodePool")]
    pub(super) node_pool: Option<Text>,
    #[serde(rename = "node-role.kubernetes.io/master")]
    pub(super) master: Option<Text>,
    #[serde(rename = "node-role.kubernetes.io/worker")]
    pub(super) worker: Option<Text>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Annotations {
    #[serde(rename = "skewguard.dev/boot-image-verdict", deserialize_with = "version_of_verdict")]
    pub(super) boot_image: Option<Text>,
    #[serde(rename = "machineconfiguration.openshift.io/currentConfig")]
    pub(super) current_config: Option<Text>,
    #[serde(rename = "machine.openshift.io/machine", alias = "cluster.x-k8s.io/machine")]
    pub(super) machine: Option<Text>,
    #[serde(rename = "capacity.cluster-autoscaler.kubernetes.io/labels")]
    pub(super) capacity_labels: Option<Text>,
    #[serde(rename = "hypershift.openshift.io/nodePool")]
    pub(super) node_pool: Option<Text>,
}

/// Of a verdict in an annotation only the boot image's version: the label may have had to be cut.
fn version_of_verdict<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Text>, D::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Verdict {
        boot_image: Image,
    }
    #[derive(Deserialize)]
    struct Image {
        version: Text,
    }
    let verdict = Cow::<str>::deserialize(deserializer)?;
    Ok(serde_json::from_str(&verdict).ok().map(|verdict: Verdict| verdict.boot_image.version))
}

/// A reference to another object.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Reference {
    pub(super) kind: Text,
    pub(super) name: Text,
}

/// `MachineSet` of either API, and `ControlPlaneMachineSet`.
pub(super) type MachineSet = Object<SetSpec, SetStatus>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct SetSpec {
    pub(super) replicas: Option<i64>,
    pub(super) state: Option<Text>,
    pub(super) template: SetTemplate,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct SetTemplate {
    pub(super) spec: MachineSpec,
    #[serde(rename = "machines_v1beta1_machine_openshift_io")]
    pub(super) control_plane: ControlPlaneTemplate,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ControlPlaneTemplate {
    pub(super) spec: MachineSpec,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SetStatus {
    #[serde(rename = "authoritativeAPI")]
    pub(super) authoritative_api: Option<Text>,
}

/// A Machine's spec of either API.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct MachineSpec {
    pub(super) provider_spec: ProviderSpec,
    pub(super) infrastructure_ref: Option<Reference>,
    pub(super) bootstrap: Bootstrap,
    #[serde(rename = "providerID")]
    pub(super) provider_id: Option<Text>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ProviderSpec {
    pub(super) value: Option<Spec>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Bootstrap {
    pub(super) data_secret_name: Option<Text>,
}

/// `Machine` of either API.
pub(super) type Machine = Object<MachineSpec, MachineStatus>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct MachineStatus {
    pub(super) node_ref: Option<Reference>,
    pub(super) addresses: Option<Vec<Address>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Address {
    pub(super) address: Text,
}

/// The spec of `AWSMachineTemplate` and its like.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct TemplateSpec {
    template: InfrastructureTemplate,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct InfrastructureTemplate {
    spec: Spec,
}

/// HyperShift's `NodePool`.
pub(super) type NodePool = Object<NodePoolSpec, NodePoolStatus>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct NodePoolSpec {
    pub(super) replicas: Option<i64>,
    pub(super) arch: Option<Text>,
    pub(super) release: ReleaseImage,
    pub(super) platform: NodePoolPlatform,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ReleaseImage {
    pub(super) image: Option<Text>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct NodePoolPlatform {
    pub(super) r#type: Option<Text>,
    pub(super) aws: Option<NodePoolAws>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct NodePoolAws {
    pub(super) ami: Option<Text>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct NodePoolStatus {
    pub(super) version: Option<Text>,
}

/// `BareMetalHost`.
pub(super) type Host = Object<HostSpec, IgnoredAny>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct HostSpec {
    pub(super) consumer_ref: Option<Reference>,
    pub(super) image: Option<HostImage>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct HostImage {
    pub(super) url: Option<Text>,
}

/// `Node`: its metadata.
pub(super) type Node = Object<IgnoredAny, IgnoredAny>;

/// A `BootImageReport`, as far as it says which machine had which image.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct BootImageReport {
    pub(super) metadata: Metadata,
    pub(super) report: Report,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Report {
    pub(super) boot_image: Option<ReportedImage>,
    pub(super) node: ReportedNode,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ReportedImage {
    pub(super) version: Option<Text>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ReportedNode {
    pub(super) hostname: Option<Text>,
    pub(super) addresses: Vec<Text>,
    #[serde(rename = "productUUID")]
    pub(super) product_uuid: Option<Text>,
}

type ClusterVersion = Object<IgnoredAny, ClusterVersionStatus>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct ClusterVersionStatus {
    desired: Desired,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Desired {
    version: Option<Text>,
}

type MachineConfiguration = Object<IgnoredAny, MachineConfigurationStatus>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct MachineConfigurationStatus {
    boot_image_skew_enforcement_status: Option<Skew>,
}

/// What the Machine Config Operator takes for the cluster's oldest boot image.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Skew {
    pub(super) mode: Option<Text>,
    pub(super) automatic: Option<SkewVersions>,
    pub(super) manual: Option<SkewVersions>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SkewVersions {
    pub(super) rhcos_version: Option<Text>,
    pub(super) ocp_version: Option<Text>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct ConfigMap {
    metadata: Metadata,
    data: BTreeMap<String, String>,
}

/// An image of the cluster's own release, from the ConfigMap `coreos-bootimages`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnImage {
    /// As [`super::image::Image::platform`].
    pub(super) platform: &'static str,
    pub(super) architecture: Text,
    pub(super) region: Option<Text>,
    /// What the image field says; absent where the image has to be uploaded first.
    pub(super) image: Option<String>,
    pub(super) release: Text,
}

/// The stream metadata of CoreOS, as far as it names images.
#[derive(Deserialize)]
struct Stream {
    #[serde(default)]
    architectures: BTreeMap<Text, Architecture>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Architecture {
    images: Images,
    artifacts: BTreeMap<String, Artifact>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Images {
    aws: Option<Regions>,
    gcp: Option<Gcp>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Regions {
    regions: BTreeMap<Text, RegionImage>,
}

#[derive(Deserialize)]
struct RegionImage {
    release: Text,
    image: Text,
}

#[derive(Deserialize)]
struct Gcp {
    #[serde(default)]
    release: Option<Text>,
    project: Text,
    name: Text,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Artifact {
    release: Option<Text>,
}

/// Everything that was read.
#[derive(Debug, Default)]
pub struct Objects {
    pub(super) machine_sets: Vec<MachineSet>,
    pub(super) control_planes: Vec<MachineSet>,
    pub(super) cluster_api_sets: Vec<MachineSet>,
    pub(super) machines: Vec<Machine>,
    pub(super) cluster_api_machines: Vec<Machine>,
    /// By kind, namespace and name.
    pub(super) infrastructure: BTreeMap<(Text, Text, Text), Spec>,
    pub(super) node_pools: Vec<NodePool>,
    pub(super) hosts: Vec<Host>,
    pub(super) nodes: Vec<Node>,
    pub(super) reports: Vec<BootImageReport>,
    pub(super) own_images: Vec<OwnImage>,
    pub(super) release: Option<Text>,
    pub(super) skew: Option<Skew>,
    /// Objects that could not be understood.
    pub(super) odd: Vec<Unread>,
    count: usize,
}

/// What else a list says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ListMetadata {
    /// What to ask for the next page with; empty at the end.
    #[serde(rename = "continue")]
    pub next: String,
}

/// What was to be a list of objects and is not.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not JSON, or cut off.
    #[error("is not a JSON object of the cluster: {0}")]
    Json(#[from] serde_json::Error),
    /// More than is read.
    #[error("there are more than {MAX_OBJECTS} objects")]
    TooMany,
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(default, rename = "apiVersion", borrow)]
    api_version: Cow<'a, str>,
    #[serde(default, borrow)]
    kind: Cow<'a, str>,
    #[serde(default, borrow)]
    metadata: Option<&'a RawValue>,
    #[serde(default, borrow)]
    items: Option<Vec<&'a RawValue>>,
}

impl Objects {
    /// Adds what a file says: objects and lists of them, one behind the other. Kinds that say nothing of boot images are passed over.
    ///
    /// # Errors
    /// It is not JSON, or more than is read. What stands before stays added.
    pub fn add_file(&mut self, bytes: &[u8]) -> Result<(), ReadError> {
        serde_json::Deserializer::from_slice(bytes)
            .into_iter::<&RawValue>()
            .try_for_each(|document| self.add_page(document?.get(), None).map(|_| ()))
    }

    /// Adds one object or list, of this `apiVersion` and kind where that is known.
    ///
    /// # Errors
    /// As [`Self::add_file`].
    pub fn add_page(&mut self, document: &str, of: Option<(&str, &str)>) -> Result<ListMetadata, ReadError> {
        let head: Head<'_> = serde_json::from_str(document)?;
        let Some(items) = head.items else {
            self.add(&head.api_version, &head.kind, document)?;
            return Ok(ListMetadata::default());
        };
        for item in items {
            if let Some((api_version, kind)) = of {
                self.add(api_version, kind, item.get())?;
                continue;
            }
            let own: Head<'_> = serde_json::from_str(item.get())?;
            // A `MachineSetList` as the API server sends it: only the list has a kind.
            match own.kind.is_empty() {
                true => self.add(&head.api_version, head.kind.strip_suffix("List").unwrap_or_default(), item.get())?,
                false => self.add(&own.api_version, &own.kind, item.get())?,
            }
        }
        Ok(head.metadata.map(|metadata| serde_json::from_str(metadata.get())).transpose()?.unwrap_or_default())
    }

    pub(super) fn has_cluster_api(&self) -> bool {
        !self.cluster_api_sets.is_empty()
    }

    fn add(&mut self, api_version: &str, kind: &str, json: &str) -> Result<(), ReadError> {
        self.count += 1;
        if self.count > MAX_OBJECTS {
            return Err(ReadError::TooMany);
        }
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        if let Err(error) = self.add_kind(group, kind, json) {
            #[derive(Deserialize)]
            struct Named {
                metadata: Metadata,
            }
            let name = serde_json::from_str(json).map(|Named { metadata }| format!("{}/{}", &*metadata.namespace, &*metadata.name));
            let name = name.unwrap_or_else(|_| "without a name".to_owned());
            let hides_sets = kind.ends_with("Set") || kind == "NodePool";
            self.odd.push(Unread { what: text::word(&format!("{kind} {name}")), why: text::word(&error.to_string()), hides_sets });
        }
        Ok(())
    }

    fn add_kind(&mut self, group: &str, kind: &str, json: &str) -> serde_json::Result<()> {
        match (group, kind) {
            ("machine.openshift.io", "MachineSet") => self.machine_sets.push(serde_json::from_str(json)?),
            ("machine.openshift.io", "ControlPlaneMachineSet") => self.control_planes.push(serde_json::from_str(json)?),
            ("machine.openshift.io", "Machine") => self.machines.push(serde_json::from_str(json)?),
            ("cluster.x-k8s.io", "MachineSet") => self.cluster_api_sets.push(serde_json::from_str(json)?),
            ("cluster.x-k8s.io", "Machine") => self.cluster_api_machines.push(serde_json::from_str(json)?),
            ("infrastructure.cluster.x-k8s.io", _) => {
                let (metadata, spec) = if kind.ends_with("Template") {
                    let object: Object<TemplateSpec, IgnoredAny> = serde_json::from_str(json)?;
                    (object.metadata, object.spec.template.spec)
                } else {
                    let object: Object<Spec, IgnoredAny> = serde_json::from_str(json)?;
                    (object.metadata, object.spec)
                };
                let kind = Text(text::word(kind));
                self.infrastructure.insert((kind.clone(), metadata.namespace, metadata.name), spec.of_kind(kind));
            }
            ("hypershift.openshift.io", "NodePool") => self.node_pools.push(serde_json::from_str(json)?),
            ("metal3.io", "BareMetalHost") => self.hosts.push(serde_json::from_str(json)?),
            ("", "Node") => self.nodes.push(serde_json::from_str(json)?),
            ("skewguard.dev", "BootImageReport") => self.reports.push(serde_json::from_str(json)?),
            ("config.openshift.io", "ClusterVersion") => {
                self.release = serde_json::from_str::<ClusterVersion>(json)?.status.desired.version;
            }
            ("operator.openshift.io", "MachineConfiguration") => {
                let object: MachineConfiguration = serde_json::from_str(json)?;
                if &*object.metadata.name == "cluster" {
                    self.skew = object.status.boot_image_skew_enforcement_status;
                }
            }
            ("", "ConfigMap") => {
                let ConfigMap { metadata, data } = serde_json::from_str(json)?;
                if &*metadata.name == "coreos-bootimages" {
                    self.own_images = own_images(&data)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// `stream`, and from OpenShift 5.0 on `streams`, by name.
fn own_images(data: &BTreeMap<String, String>) -> serde_json::Result<Vec<OwnImage>> {
    let mut streams: Vec<Stream> = Vec::new();
    if let Some(stream) = data.get("stream") {
        streams.push(serde_json::from_str(stream)?);
    }
    if let Some(named) = data.get("streams") {
        streams.extend(serde_json::from_str::<BTreeMap<String, Stream>>(named)?.into_values());
    }
    let mut images = Vec::new();
    for (architecture, Architecture { images: uploaded, artifacts }) in streams.into_iter().flat_map(|stream| stream.architectures) {
        let mut own = |platform, region, image, release| {
            images.push(OwnImage { platform, architecture: architecture.clone(), region, image, release });
        };
        for (region, RegionImage { release, image }) in uploaded.aws.into_iter().flat_map(|aws| aws.regions) {
            own("aws", Some(region), Some(image.0), release);
        }
        if let Some(Gcp { release: Some(release), project, name }) = uploaded.gcp {
            own("gcp", None, Some(format!("projects/{}/global/images/{}", &*project, &*name)), release);
        }
        for (platform, artifact) in artifacts {
            let Some(release) = artifact.release else { continue };
            if let Some(platform) = super::image::PLATFORMS.iter().find(|known| known.stream == platform) {
                own(platform.id, None, None, release);
            }
        }
    }
    Ok(images)
}
