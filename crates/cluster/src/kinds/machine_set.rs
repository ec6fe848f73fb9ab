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
pub struct MachineSet {
    pub metadata: Metadata,
    api_version: String,
    #[serde(rename = "metadata.deletionTimestamp", deserialize_with = "is_there")]
    pub is_deleting: bool,
    #[serde(rename = "metadata.generation")]
    generation: Option<i64>,
    #[serde(rename = "status.observedGeneration")]
    observed: Option<i64>,
    #[serde(rename = "metadata.uid")]
    pub uid: String,
    #[serde(rename = "metadata.labels")]
    pub labels: BTreeMap<String, String>,
    /// The label for its stream: `rhel-9`, `rhel-10`.
    #[serde(rename = "metadata.labels.machineconfiguration.openshift.io/osstream")]
    pub stream: Option<String>,
    /// The cluster's name for what it makes.
    #[serde(rename = "metadata.labels.machine.openshift.io/cluster-api-cluster")]
    pub infra: Option<String>,
    /// The annotation that may say its architecture.
    #[serde(rename = "metadata.annotations.capacity.cluster-autoscaler.kubernetes.io/labels")]
    pub capacity_labels: Option<String>,
    /// Namespace and name of the node pool that it belongs to.
    #[serde(
        rename = "metadata.annotations.hypershift.openshift.io/nodePool",
        deserialize_with = "message_if_any"
    )]
    pub node_pool: Option<String>,
    #[serde(rename = "metadata.ownerReferences", deserialize_with = "references")]
    owners: Vec<(String, String)>,
    /// The tool that writes it.
    #[serde(rename = ".metadata", deserialize_with = "owner")]
    tool: Option<String>,
    #[serde(rename = "spec.replicas")]
    pub replicas: Option<i64>,
    #[serde(rename = "spec.state")]
    state: String,
    /// Way in which Machines follow a change of the template: `RollingUpdate`, `OnDelete`.
    #[serde(rename = "spec.strategy.type|spec.rollout.strategy.type")]
    pub strategy: Option<String>,
    #[serde(
        rename = "spec.template.metadata.labels.machine.openshift.io/os-id",
        deserialize_with = "is_windows"
    )]
    pub is_windows: bool,
    #[serde(
        rename = "spec.template.machines_v1beta1_machine_openshift_io.spec|spec.template.spec"
    )]
    pub source: Source,
    /// Names of a control plane's failure domains on vSphere.
    #[serde(
        rename = "spec.template.machines_v1beta1_machine_openshift_io.failureDomains.vsphere",
        deserialize_with = "names"
    )]
    pub failure_domains: Vec<String>,
    /// Number of its Machines.
    #[serde(rename = "status.replicas")]
    pub replicas_now: Option<i64>,
    #[serde(rename = "status.updatedReplicas")]
    updated: Option<i64>,
    #[serde(rename = "status.conditions", deserialize_with = "conditions")]
    pub conditions: Vec<Condition>,
    #[serde(rename = "status.authoritativeAPI|spec.authoritativeAPI")]
    authority: String,
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

    pub fn architecture(&self) -> Option<String> {
        self.capacity_labels.as_deref().and_then(architecture)
    }

    /// The Cluster API is authoritative for it, not the Machine API.
    pub fn is_mirror(&self) -> bool {
        self.authority == "ClusterAPI"
    }

    /// Its status is of an earlier spec.
    pub fn is_stale(&self) -> bool {
        self.observed.is_some() && self.observed < self.generation
    }

    /// A ControlPlaneMachineSet that makes no Machine, because it is not activated.
    pub fn is_inactive(&self) -> bool {
        self.state == "Inactive"
    }

    /// It belongs to another object, so that the Machine Config Operator leaves its image alone.
    pub fn is_owned(&self) -> bool {
        !self.owners.is_empty()
    }

    /// The MachineDeployment that it belongs to.
    pub fn deployment(&self) -> Option<&String> {
        let mut owners = self.owners.iter();
        let (_, name) = owners.find(|(kind, _)| kind == "MachineDeployment")?;
        Some(name)
    }

    /// The tool or the object that writes it. Beside the own controller of a set of the Machine API that is the
    /// object that it belongs to, or the Cluster API's set of its name.
    pub fn owner(&self) -> Option<String> {
        let of_machine_api = self.api_version.starts_with("machine.openshift.io/");
        let other = || match self.owners.first() {
            _ if self.is_mirror() => Some("the Cluster API (status.authoritativeAPI)".to_owned()),
            owner => owner.map(|(kind, name)| format!("{kind} {name}")),
        };
        let other = || other().filter(|_| of_machine_api);
        self.tool.clone().or_else(other)
    }

    /// A ControlPlaneMachineSet all of whose Machines are made from its template, by its own word: its operator
    /// replaces those that differ, and there is none left.
    pub fn is_rolled_out(&self) -> bool {
        let seen = self.observed.zip(self.generation);
        let is_of_now = seen.is_none_or(|(observed, generation)| observed == generation);
        let rolls = self.state == "Active" && self.strategy.as_deref() == Some("RollingUpdate");
        let has_all = self.replicas.is_some()
            && self.updated == self.replicas
            && self.replicas_now == self.replicas;
        rolls && is_of_now && has_all
    }
}

/// `x86_64` from `kubernetes.io/arch=amd64,topology.ebs.csi.aws.com/zone=us-east-1a`.
fn architecture(labels: &str) -> Option<String> {
    labels
        .split(',')
        .find_map(|label| label.trim().strip_prefix("kubernetes.io/arch="))
        .map(architecture_name)
}
