//! Sets of Machines (pure): `MachineSet` of either API, `ControlPlaneMachineSet`, `MachineDeployment`
//! and `MachinePool`.

use super::machine::{MachineSpec, OF_NODE_POOL, Source, is_windows};
use super::metadata::{Condition, Metadata, ObjectMeta, bounded};
use super::owner;
use crate::text;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A set of Machines.
#[derive(Debug, Default)]
pub struct MachineSet {
    pub metadata: Metadata,
    pub replicas: Option<i64>,
    pub architecture: Option<String>,
    pub source: Source,
    pub is_windows: bool,
    /// It has the annotation that may say its architecture.
    pub has_capacity_labels: bool,
    /// The Cluster API is authoritative for it, not the Machine API.
    pub is_mirror: bool,
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
}

/// A set as the API has it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SetObject {
    api_version: String,
    metadata: ObjectMeta,
    spec: SetSpec,
    status: Status,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SetSpec {
    replicas: Option<i64>,
    state: String,
    strategy: Strategy,
    rollout: Rollout,
    template: Template,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Strategy {
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Rollout {
    strategy: Strategy,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Template {
    metadata: ObjectMeta,
    spec: MachineSpec,
    machines_v1beta1_machine_openshift_io: Option<ControlPlane>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ControlPlane {
    spec: Option<MachineSpec>,
    failure_domains: FailureDomains,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FailureDomains {
    vsphere: Vec<FailureDomain>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FailureDomain {
    name: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    replicas: Option<i64>,
    conditions: Vec<Condition>,
    #[serde(rename = "authoritativeAPI")]
    authoritative_api: String,
}

/// The annotation that may say the architecture of a set's machines.
const CAPACITY: &str = "capacity.cluster-autoscaler.kubernetes.io/labels";

impl MachineSet {
    /// Machines that it wants.
    pub fn wanted(&self) -> i64 {
        self.replicas.unwrap_or_default()
    }

    /// Machines that it has.
    pub fn made(&self) -> i64 {
        self.replicas_now.unwrap_or_default()
    }

    /// `whole` is the object itself, for the signs of who writes it.
    pub fn of(object: SetObject, whole: &Value) -> Self {
        let SetObject {
            api_version,
            metadata,
            spec,
            status,
        } = object;
        let Template {
            metadata: of_machines,
            spec: template,
            machines_v1beta1_machine_openshift_io: control_plane,
        } = spec.template;
        let ControlPlane {
            spec: of_control_plane,
            failure_domains,
        } = control_plane.unwrap_or_default();
        let owners = metadata.owners();
        let is_mirror = status.authoritative_api == "ClusterAPI";
        let is_of_machine_api = api_version.starts_with("machine.openshift.io/");
        let labels = metadata.annotation(CAPACITY);
        let domains = failure_domains.vsphere.into_iter();
        Self {
            replicas: spec.replicas,
            architecture: labels.as_deref().and_then(architecture),
            has_capacity_labels: labels.is_some(),
            source: Source::of(of_control_plane.unwrap_or(template)),
            is_windows: is_windows(&of_machines),
            replicas_now: status.replicas,
            conditions: bounded(status.conditions),
            infra: metadata.label("machine.openshift.io/cluster-api-cluster"),
            strategy: spec.strategy.kind.or(spec.rollout.strategy.kind),
            owner: owner::owner(whole)
                .or_else(|| other_writer(is_mirror, &owners).filter(|_| is_of_machine_api)),
            is_mirror,
            is_inactive: spec.state == "Inactive",
            is_owned: !owners.is_empty(),
            deployment: owners
                .into_iter()
                .find(|(kind, _)| kind == "MachineDeployment")
                .map(|(_, name)| name),
            stream: metadata.label("machineconfiguration.openshift.io/osstream"),
            node_pool: metadata.annotation(OF_NODE_POOL),
            failure_domains: domains.filter_map(|domain| domain.name).collect(),
            metadata: metadata.kept(),
            labels: metadata.labels,
        }
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

/// From Go's name of an architecture to that of the stream metadata.
pub fn architecture_name(arch: &str) -> String {
    match arch {
        "amd64" => "x86_64".to_owned(),
        "arm64" => "aarch64".to_owned(),
        other => text::printable(other),
    }
}
