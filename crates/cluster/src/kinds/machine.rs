//! Machines of both APIs, and the source of what a spec or a template makes (pure).

use super::groups::{CLUSTER_API, KARPENTER};
use super::image::{self, Image};
use super::metadata::{Condition, Metadata, Object, ObjectMeta, bounded};
use super::names;
use crate::lenient::{Raw, message_if_any};
use crate::moment::{Moment, Time};
use crate::secrets::without_secrets;
use crate::text::printable_up_to;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

/// The most addresses of a Machine that are kept.
const MAX_ADDRESSES: usize = 100;

/// `Machine` of either API, and Karpenter's `NodeClaim`.
#[derive(Debug, Default)]
pub struct Machine {
    /// The API group.
    pub group: &'static str,
    pub metadata: Metadata,
    pub is_deleting: bool,
    pub is_windows: bool,
    pub role: Option<String>,
    /// Machines of one set share it.
    pub source: Arc<Source>,
    pub phase: Option<String>,
    /// Since when it has its phase.
    pub since: Option<Moment>,
    pub error_reason: Option<String>,
    pub error_message: Option<String>,
    pub conditions: Vec<Condition>,
    pub provider_conditions: Vec<Condition>,
    /// The cloud's name for the instance.
    pub instance: Option<String>,
    pub instance_state: Option<String>,
    pub provider_id: Option<String>,
    /// Type and address.
    pub addresses: Vec<(String, String)>,
    /// The name of its Node.
    pub node: Option<String>,
    /// Kind and name of each owner.
    pub owners: Vec<(String, String)>,
    pub labels: BTreeMap<String, String>,
    /// Namespace and name of its BareMetalHost.
    pub host: Option<String>,
    /// Namespace and name of its NodePool.
    pub node_pool: Option<String>,
    /// It was made, and has not joined.
    pub is_provisioned: bool,
    /// The API whose copy of it counts: `MachineAPI`, `ClusterAPI` or `Migrating`.
    pub authority: Option<String>,
    /// It has the annotation `cluster.x-k8s.io/paused`.
    pub is_paused: bool,
}

/// The spec of a Machine, and of a template of one.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineSpec {
    #[serde(rename = "providerID")]
    provider_id: Option<String>,
    provider_spec: ProviderSpec,
    bootstrap: Bootstrap,
    infrastructure_ref: super::metadata::Reference,
    #[serde(rename = "authoritativeAPI")]
    authoritative_api: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ProviderSpec {
    value: Option<Raw<Map<String, Value>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Bootstrap {
    data_secret_name: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Status {
    phase: Option<String>,
    last_updated: Time,
    #[serde(deserialize_with = "message_if_any")]
    error_reason: Option<String>,
    #[serde(deserialize_with = "message_if_any")]
    failure_reason: Option<String>,
    #[serde(deserialize_with = "message_if_any")]
    error_message: Option<String>,
    #[serde(deserialize_with = "message_if_any")]
    failure_message: Option<String>,
    conditions: Vec<Condition>,
    provider_status: ProviderStatus,
    addresses: Vec<Address>,
    node_ref: super::metadata::Reference,
    #[serde(rename = "authoritativeAPI")]
    authoritative_api: Option<String>,
    v1beta2: Conditions,
}

/// The conditions of a later version of the API.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Conditions {
    conditions: Vec<Condition>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ProviderStatus {
    conditions: Vec<Condition>,
    instance_id: Option<String>,
    #[serde(rename = "instanceID")]
    instance_id_of_powervs: Option<String>,
    vm_id: Option<String>,
    #[serde(rename = "vmID")]
    vm_id_of_ovirt: Option<String>,
    #[serde(rename = "vmUUID")]
    vm_uuid: Option<String>,
    instance_state: Option<String>,
    vm_state: Option<String>,
}

/// An address of a Machine or a Node.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Address {
    #[serde(rename = "type")]
    pub kind: String,
    pub address: String,
}

/// The label and annotation of a NodePool's machines.
pub const OF_NODE_POOL: &str = "hypershift.openshift.io/nodePool";

/// The label of a template or a Machine for its node's operating system.
const OS: &str = "machine.openshift.io/os-id";

/// The annotation of what the Cluster API leaves alone.
const PAUSED: &str = "cluster.x-k8s.io/paused";

/// Windows, by the label for the node's operating system.
pub fn is_windows(metadata: &ObjectMeta) -> bool {
    metadata.labels.get(OS).is_some_and(|os| os == "Windows")
}

impl Machine {
    pub fn of(group: &'static str, object: Object<MachineSpec, Status>) -> Self {
        let Object {
            metadata,
            spec,
            status,
        } = object;
        let provider = status.provider_status;
        let addresses = status.addresses.into_iter().take(MAX_ADDRESSES);
        let addresses = addresses.filter(|address| !address.address.is_empty());
        Self {
            group,
            is_deleting: metadata.is_deleting(),
            is_windows: is_windows(&metadata),
            role: metadata.label("machine.openshift.io/cluster-api-machine-role"),
            // `lastUpdated` is set when the phase changes (machine-api-operator, `updateStatus` of
            // pkg/controller/machine).
            is_provisioned: status.phase.as_deref() == Some("Provisioned"),
            since: status.last_updated.0,
            phase: status.phase,
            error_reason: status.error_reason.or(status.failure_reason),
            error_message: status.error_message.or(status.failure_message),
            conditions: [
                bounded(status.conditions),
                bounded(status.v1beta2.conditions),
            ]
            .concat(),
            authority: status.authoritative_api.or(spec.authoritative_api.clone()),
            is_paused: metadata.annotations.contains_key(PAUSED),
            provider_conditions: bounded(provider.conditions),
            instance: provider
                .instance_id
                .or(provider.instance_id_of_powervs)
                .or(provider.vm_id)
                .or(provider.vm_id_of_ovirt)
                .or(provider.vm_uuid),
            instance_state: provider
                .instance_state
                .or(provider.vm_state)
                .or_else(|| metadata.annotation("machine.openshift.io/instance-state"))
                .map(|state| printable_up_to(&without_secrets(&state), 60)),
            provider_id: spec.provider_id.clone(),
            addresses: addresses.map(|all| (all.kind, all.address)).collect(),
            node: status.node_ref.name,
            owners: metadata.owners(),
            host: metadata.annotation("metal3.io/BareMetalHost"),
            node_pool: metadata.annotation(OF_NODE_POOL),
            source: Arc::new(Source::of(spec)),
            metadata: metadata.kept(),
            labels: metadata.labels,
        }
    }

    /// It has failed, which is final.
    pub fn is_failed(&self) -> bool {
        self.phase.as_deref() == Some("Failed")
    }

    /// The object's kind.
    pub fn kind(&self) -> &'static str {
        if self.group == KARPENTER {
            "NodeClaim"
        } else {
            "Machine"
        }
    }

    pub fn is_of_cluster_api(&self) -> bool {
        self.group == CLUSTER_API
    }

    /// Leaves out what says why it is no Node.
    pub fn without_details(mut self) -> Self {
        self.conditions = Vec::new();
        self.provider_conditions = Vec::new();
        self.labels = BTreeMap::new();
        (self.error_reason, self.error_message) = (None, None);
        (self.instance, self.instance_state) = (None, None);
        self
    }

    /// Since when it waits to become a Node; empty where that is unknown.
    pub fn provisioned(&self) -> Option<String> {
        let since = self.since.or(self.metadata.created);
        // One that names its Node has joined, whether that was read or not.
        (self.is_provisioned && self.node.is_none())
            .then(|| since.map(Moment::text).unwrap_or_default())
    }

    /// Machines in the order in which they were made.
    pub fn age(&self) -> (Option<Moment>, &str) {
        (self.metadata.created, &self.metadata.name)
    }

    /// Kind and name of the set that it says it belongs to.
    pub fn owner(&self) -> Option<String> {
        let (kind, name) = self.owners.first()?;
        Some(format!("{kind} {name}"))
    }

    /// Tells whether an object of this kind, and this name if one is given, owns it.
    pub fn is_owned_by(&self, kind: &str, name: Option<&str>) -> bool {
        self.owners
            .iter()
            .any(|(owner, named)| owner == kind && name.is_none_or(|name| name == named))
    }

    pub fn ips(&self) -> impl Iterator<Item = IpAddr> {
        let texts = self.addresses.iter();
        texts.filter_map(|(_, text)| names::ip(text))
    }

    /// Names of it in certificate requests and reports.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let addresses = self.addresses.iter().map(|(_, text)| text.as_str());
        let uuid = self.provider_id.as_deref().and_then(names::of_provider);
        let exact = uuid.into_iter().chain([self.metadata.name.as_str()]);
        let exact = exact.map(names::normal);
        addresses.flat_map(names::forms).chain(exact)
    }
}

/// Source of a Machine, by its own spec or that in the template of a set.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// The Machine API's provider spec has all of it; the Cluster API has only the pool here.
    pub image: Image,
    /// Kind and name of the Cluster API's infrastructure object, which has the rest.
    pub infrastructure: Option<(String, String)>,
    /// The Secret with the user data, by the Machine API.
    pub user_data: Option<String>,
    /// The Secret with the user data, by the Cluster API.
    pub bootstrap: Option<String>,
}

impl Source {
    pub fn of(spec: MachineSpec) -> Self {
        let bootstrap = spec.bootstrap.data_secret_name;
        if let Some(Raw(provider)) = spec.provider_spec.value {
            let provider = Value::Object(provider);
            let kind = provider.pointer("/kind").and_then(Value::as_str);
            return Self {
                image: image::read_spec(kind.unwrap_or_default(), &provider),
                infrastructure: None,
                user_data: image::user_data(&provider),
                bootstrap,
            };
        }
        Self {
            image: Image {
                pool: bootstrap.as_deref().and_then(image::pool),
                why_not: Some("the template names no image"),
                ..Image::default()
            },
            infrastructure: spec.infrastructure_ref.kind_and_name(),
            user_data: None,
            bootstrap,
        }
    }

    /// The Secret with the user data.
    pub fn secret(&self) -> Option<&str> {
        self.user_data.as_deref().or(self.bootstrap.as_deref())
    }
}
