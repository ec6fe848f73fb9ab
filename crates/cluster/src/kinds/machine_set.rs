//! Sets of Machines (pure): `MachineSet` of either API, `ControlPlaneMachineSet`, `MachineDeployment`
//! and `MachinePool`.

use super::machine::Source;
use super::metadata::{Condition, Metadata, conditions};
use super::owner::owner;
use super::readers::{architecture_name, is_windows, names, references};
use crate::lenient::{is_there, message_if_any};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A set of Machines.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "SetObject")]
pub struct MachineSet {
    pub metadata: Metadata,
    pub replicas: Option<i64>,
    pub architecture: Option<String>,
    pub source: Source,
    pub is_windows: bool,
    /// It has the annotation that may say its architecture.
    pub has_capacity_labels: bool,
    /// That annotation has several labels.
    pub has_several_capacity_labels: bool,
    /// The Cluster API is authoritative for it, not the Machine API.
    pub is_mirror: bool,
    pub is_deleting: bool,
    /// Its status is of an earlier spec.
    pub is_stale: bool,
    /// A ControlPlaneMachineSet that makes no Machine, because it is not activated.
    pub is_inactive: bool,
    /// The MachineDeployment that it belongs to.
    pub deployment: Option<String>,
    /// It belongs to another object, so that the Machine Config Operator leaves its image alone.
    pub is_owned: bool,
    /// The label for its stream: `rhel-9`, `rhel-10`.
    pub stream: Option<String>,
    pub labels: BTreeMap<String, String>,
    /// Namespace and name of the node pool that it belongs to.
    pub node_pool: Option<String>,
    /// Names of a control plane's failure domains on vSphere.
    pub failure_domains: Vec<String>,
    /// Number of its Machines.
    pub replicas_now: Option<i64>,
    pub conditions: Vec<Condition>,
    /// The cluster's name for what it makes.
    pub infra: Option<String>,
    /// Way in which Machines follow a change of the template: `RollingUpdate`, `OnDelete`.
    pub strategy: Option<String>,
    /// The tool or the object that writes it.
    pub owner: Option<String>,
    pub uid: String,
    /// A ControlPlaneMachineSet all of whose Machines are made from its template, by its own word.
    pub is_rolled_out: bool,
}

/// A set as the API has it.
#[derive(Deserialize)]
struct SetObject {
    api_version: String,
    metadata: Metadata,
    #[serde(rename = "metadata.deletionTimestamp", deserialize_with = "is_there")]
    is_deleting: bool,
    #[serde(rename = "metadata.generation")]
    generation: Option<i64>,
    #[serde(rename = "status.observedGeneration")]
    observed: Option<i64>,
    #[serde(rename = "metadata.labels")]
    labels: BTreeMap<String, String>,
    #[serde(rename = "metadata.ownerReferences", deserialize_with = "references")]
    owners: Vec<(String, String)>,
    #[serde(rename = ".metadata", deserialize_with = "owner")]
    owner: Option<String>,
    /// It may say the architecture of the set's machines.
    #[serde(rename = "metadata.annotations.capacity.cluster-autoscaler.kubernetes.io/labels")]
    capacity: Option<String>,
    #[serde(
        rename = "metadata.annotations.hypershift.openshift.io/nodePool",
        deserialize_with = "message_if_any"
    )]
    node_pool: Option<String>,
    #[serde(rename = "spec.replicas")]
    replicas: Option<i64>,
    #[serde(rename = "spec.state")]
    state: String,
    #[serde(rename = "spec.strategy.type|spec.rollout.strategy.type")]
    strategy: Option<String>,
    #[serde(
        rename = "spec.template.metadata.labels.machine.openshift.io/os-id",
        deserialize_with = "is_windows"
    )]
    is_windows: bool,
    #[serde(
        rename = "spec.template.machines_v1beta1_machine_openshift_io.spec|spec.template.spec"
    )]
    source: Source,
    #[serde(
        rename = "spec.template.machines_v1beta1_machine_openshift_io.failureDomains.vsphere",
        deserialize_with = "names"
    )]
    failure_domains: Vec<String>,
    #[serde(rename = "metadata.uid")]
    uid: String,
    #[serde(rename = "status.replicas")]
    replicas_now: Option<i64>,
    #[serde(rename = "status.updatedReplicas")]
    updated: Option<i64>,
    #[serde(rename = "status.conditions", deserialize_with = "conditions")]
    conditions: Vec<Condition>,
    #[serde(rename = "status.authoritativeAPI|spec.authoritativeAPI")]
    authority: String,
}

impl SetObject {
    /// Its operator replaces the Machines that differ from its template, and there is none left.
    fn is_rolled_out(&self) -> bool {
        let seen = self.observed.zip(self.generation);
        let is_of_now = seen.is_none_or(|(observed, generation)| observed == generation);
        let rolls = self.state == "Active" && self.strategy.as_deref() == Some("RollingUpdate");
        let has_all = self.replicas.is_some()
            && self.updated == self.replicas
            && self.replicas_now == self.replicas;
        rolls && is_of_now && has_all
    }
}

impl From<SetObject> for MachineSet {
    fn from(object: SetObject) -> Self {
        let is_rolled_out = object.is_rolled_out();
        let SetObject {
            owners,
            labels,
            capacity,
            ..
        } = object;
        let is_mirror = object.authority == "ClusterAPI";
        let is_of_machine_api = object.api_version.starts_with("machine.openshift.io/");
        let label = |name| labels.get(name).filter(|text| !text.is_empty()).cloned();
        Self {
            replicas: object.replicas,
            architecture: capacity.as_deref().and_then(architecture),
            has_capacity_labels: capacity.is_some(),
            has_several_capacity_labels: capacity.is_some_and(|labels| labels.contains(',')),
            source: object.source,
            is_windows: object.is_windows,
            replicas_now: object.replicas_now,
            conditions: object.conditions,
            infra: label("machine.openshift.io/cluster-api-cluster"),
            strategy: object.strategy,
            owner: (object.owner)
                .or_else(|| other_writer(is_mirror, &owners).filter(|_| is_of_machine_api)),
            is_mirror,
            is_deleting: object.is_deleting,
            is_stale: object.observed.is_some() && object.observed < object.generation,
            is_inactive: object.state == "Inactive",
            is_owned: !owners.is_empty(),
            deployment: (owners.into_iter())
                .find(|(kind, _)| kind == "MachineDeployment")
                .map(|(_, name)| name),
            stream: label("machineconfiguration.openshift.io/osstream"),
            node_pool: object.node_pool,
            failure_domains: object.failure_domains,
            uid: object.uid,
            is_rolled_out,
            metadata: object.metadata,
            labels,
        }
    }
}

impl MachineSet {
    /// Machines that it wants.
    pub fn wanted(&self) -> i64 {
        self.replicas.unwrap_or_default()
    }

    /// Machines that it has.
    pub fn made(&self) -> i64 {
        self.replicas_now.unwrap_or_default()
    }
}

/// Writer of a set of the Machine API beside its own controller: the object that it belongs to, or
/// the Cluster API's set of its name.
fn other_writer(is_mirror: bool, owners: &[(String, String)]) -> Option<String> {
    if is_mirror {
        return Some("the Cluster API (status.authoritativeAPI)".to_owned());
    }
    owners.first().map(|(kind, name)| format!("{kind} {name}"))
}

/// `x86_64` from `kubernetes.io/arch=amd64,topology.ebs.csi.aws.com/zone=us-east-1a`.
fn architecture(labels: &str) -> Option<String> {
    labels
        .split(',')
        .find_map(|label| label.trim().strip_prefix("kubernetes.io/arch="))
        .map(architecture_name)
}
