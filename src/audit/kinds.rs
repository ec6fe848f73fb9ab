//! The fields that the audit reads of each kind of object (pure).
//!
//! Read leniently: each may be absent. All text is made printable and bounded where it enters.

use super::image::Spec;
use crate::text;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Deref;

/// Text of the cluster, printable and bounded.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Text(pub(super) String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(text::printable(&Cow::<str>::deserialize(deserializer)?)))
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
pub(super) struct Object<S, T> {
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
pub(super) struct Metadata {
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
pub(super) struct TemplateSpec {
    pub(super) template: InfrastructureTemplate,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct InfrastructureTemplate {
    pub(super) spec: Spec,
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

pub(super) type ClusterVersion = Object<IgnoredAny, ClusterVersionStatus>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ClusterVersionStatus {
    pub(super) desired: Desired,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Desired {
    pub(super) version: Option<Text>,
}

pub(super) type MachineConfiguration = Object<IgnoredAny, MachineConfigurationStatus>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct MachineConfigurationStatus {
    pub(super) boot_image_skew_enforcement_status: Option<Skew>,
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
pub(super) struct ConfigMap {
    pub(super) metadata: Metadata,
    pub(super) data: BTreeMap<String, String>,
}
