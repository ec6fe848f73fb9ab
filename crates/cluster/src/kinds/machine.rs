//! Machines of both APIs, and the source of what a spec or a template makes (pure).

use super::groups::{CLUSTER_API, KARPENTER};
use super::image::{self, Image, WhyNot};
use super::metadata::{Condition, Metadata, Reference, conditions};
use super::names;
use super::readers::{is_present, is_windows, references, shared, state};
use crate::lenient::{Raw, is_there, message_if_any};
use crate::moment::{Moment, time};
use crate::platform::Platform;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

/// The most addresses of a Machine that are kept.
const MAX_ADDRESSES: usize = 100;

/// `Machine` of either API, and Karpenter's `NodeClaim`.
#[derive(Debug, Default, Deserialize)]
pub struct Machine {
    /// The API group.
    #[serde(skip)]
    pub group: &'static str,
    pub metadata: Metadata,
    #[serde(rename = "metadata.deletionTimestamp", deserialize_with = "is_there")]
    pub is_deleting: bool,
    #[serde(
        rename = "metadata.labels.machine.openshift.io/os-id",
        deserialize_with = "is_windows"
    )]
    pub is_windows: bool,
    #[serde(rename = "metadata.labels.machine.openshift.io/cluster-api-machine-role")]
    pub role: Option<String>,
    /// Machines of one set share it.
    #[serde(rename = "spec", deserialize_with = "shared")]
    pub source: Arc<Source>,
    #[serde(rename = "status.phase")]
    pub phase: Option<String>,
    /// Since when it has its phase (machine-api-operator, `updateStatus` of pkg/controller/machine).
    #[serde(rename = "status.lastUpdated", deserialize_with = "time")]
    pub since: Option<Moment>,
    #[serde(
        rename = "status.errorReason|status.failureReason|status.deprecated.v1beta1.failureReason",
        deserialize_with = "message_if_any"
    )]
    pub error_reason: Option<String>,
    #[serde(
        rename = "status.errorMessage|status.failureMessage|status.deprecated.v1beta1.failureMessage",
        deserialize_with = "message_if_any"
    )]
    pub error_message: Option<String>,
    #[serde(rename = "status", deserialize_with = "of_both_versions")]
    pub conditions: Vec<Condition>,
    #[serde(
        rename = "status.providerStatus.conditions",
        deserialize_with = "conditions"
    )]
    pub provider_conditions: Vec<Condition>,
    /// The cloud's name for the instance.
    #[serde(
        rename = "status.providerStatus.instanceId|status.providerStatus.instanceID|\
                  status.providerStatus.vmId|status.providerStatus.vmID|status.providerStatus.vmUUID"
    )]
    pub instance: Option<String>,
    #[serde(
        rename = "status.providerStatus.instanceState|status.providerStatus.vmState|\
                  metadata.annotations.machine.openshift.io/instance-state",
        deserialize_with = "state"
    )]
    pub instance_state: Option<String>,
    /// The task of vCenter that made the instance, or failed to.
    #[serde(rename = "status.providerStatus.taskRef")]
    pub task: Option<String>,
    /// Of the Cluster API: the cluster that it is of.
    #[serde(rename = "spec.clusterName")]
    pub cluster: Option<String>,
    #[serde(rename = "spec.providerID")]
    pub provider_id: Option<String>,
    /// Type and address.
    #[serde(rename = "status.addresses", deserialize_with = "addresses")]
    pub addresses: Vec<(String, String)>,
    /// The name of its Node.
    #[serde(rename = "status.nodeRef.name")]
    pub node: Option<String>,
    /// Kind and name of each owner.
    #[serde(rename = "metadata.ownerReferences", deserialize_with = "references")]
    pub owners: Vec<(String, String)>,
    /// The uid of the ControlPlaneMachineSet that made it.
    #[serde(rename = ".metadata.ownerReferences", deserialize_with = "maker")]
    pub control_plane: Option<String>,
    #[serde(rename = "metadata.labels")]
    pub labels: BTreeMap<String, String>,
    /// Namespace and name of its BareMetalHost.
    #[serde(
        rename = "metadata.annotations.metal3.io/BareMetalHost",
        deserialize_with = "message_if_any"
    )]
    pub host: Option<String>,
    /// Namespace and name of its NodePool.
    #[serde(
        rename = "metadata.annotations.hypershift.openshift.io/nodePool",
        deserialize_with = "message_if_any"
    )]
    pub node_pool: Option<String>,
    /// Of a NodeClaim: it has not registered.
    #[serde(skip)]
    pub is_unregistered: bool,
    /// The API whose copy of it counts: `MachineAPI`, `ClusterAPI` or `Migrating`.
    #[serde(rename = "status.authoritativeAPI|spec.authoritativeAPI")]
    pub authority: Option<String>,
    /// The Cluster API leaves it alone.
    #[serde(
        rename = "metadata.annotations.cluster.x-k8s.io/paused",
        deserialize_with = "is_present"
    )]
    pub is_paused: bool,
}

/// The conditions of an object of the Cluster API, and those of a later version of the API.
///
/// # Errors
/// They are no lists of conditions.
pub fn of_both_versions<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Condition>, D::Error> {
    #[derive(Deserialize)]
    struct Status {
        #[serde(deserialize_with = "conditions")]
        conditions: Vec<Condition>,
        #[serde(rename = "v1beta2.conditions", deserialize_with = "conditions")]
        later: Vec<Condition>,
    }

    let Status { conditions, later } = Deserialize::deserialize(deserializer)?;
    Ok([conditions, later].concat())
}

fn maker<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let mut all = Vec::<Reference>::deserialize(deserializer)?.into_iter();
    let made = all.find(|owner| owner.kind.as_deref() == Some("ControlPlaneMachineSet"));
    Ok(made.and_then(|owner| owner.uid))
}

/// Type and address of the first addresses.
fn addresses<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<(String, String)>, D::Error> {
    #[derive(Deserialize)]
    struct Address {
        #[serde(rename = "type")]
        kind: String,
        address: String,
    }

    let all = Vec::<Address>::deserialize(deserializer)?.into_iter();
    let said = all.take(MAX_ADDRESSES).filter(|it| !it.address.is_empty());
    Ok(said.map(|it| (it.kind, it.address)).collect())
}

impl Machine {
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

    /// Its status was read: each that a controller has looked at has one, and a file that ends early has not.
    pub fn has_status(&self) -> bool {
        self.phase.is_some() || self.since.is_some() || !self.conditions.is_empty()
    }

    /// A NodeClaim that Karpenter has registered: its Node is known to it.
    pub fn is_registered_claim(&self) -> bool {
        self.group == KARPENTER && !self.is_unregistered
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

    /// It was made, and runs, as far as its API says.
    pub fn is_provisioned(&self) -> bool {
        let is_up = self.is_unregistered || self.phase.as_deref() == Some("Provisioned");
        is_up && !self.is_deleting
    }

    /// Since when it has its phase, as far as it is known.
    pub fn since(&self) -> Option<Moment> {
        self.since.or(self.metadata.created)
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
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(from = "MachineSpec")]
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

/// The spec of a Machine, and of a template of one.
#[derive(Deserialize)]
struct MachineSpec {
    #[serde(rename = "providerSpec.value")]
    provider: Option<Raw<Map<String, Value>>>,
    #[serde(rename = "bootstrap.dataSecretName")]
    bootstrap: Option<String>,
    infrastructure_ref: Reference,
}

impl From<MachineSpec> for Source {
    fn from(spec: MachineSpec) -> Self {
        let bootstrap = spec.bootstrap;
        if let Some(Raw(provider)) = spec.provider {
            let provider = Value::Object(provider);
            let kind = provider.get("kind").and_then(Value::as_str);
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
                why_not: Some(WhyNot::NoImage),
                ..Image::default()
            },
            infrastructure: spec.infrastructure_ref.kind_and_name(),
            user_data: None,
            bootstrap,
        }
    }
}

impl Source {
    /// Its platform, by the kind of its provider spec or of its infrastructure object.
    pub fn platform(&self) -> Option<Platform> {
        let of_kind = || image::platform_of(&self.infrastructure.as_ref()?.0);
        self.image.platform.or_else(of_kind)
    }

    /// The Secret with the user data.
    pub fn secret(&self) -> Option<&str> {
        self.user_data.as_deref().or(self.bootstrap.as_deref())
    }
}
