//! Nodes (pure).

use super::config_pool::pool_of_config;
use super::metadata::{Condition, Metadata, condition};
use super::names::ips;
use super::readers::{architecture, is_windows};
use crate::lenient::{self, Raw, is_there, message, message_if_any};
use crate::moment::Moment;
use crate::text::label_value;
use crate::verdict::Machine as Hardware;
use crate::version::ImageVersion;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The most taints of a Node that are kept.
const MAX_TAINTS: usize = 20;

/// `Node`.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "NodeObject")]
pub struct Node {
    pub metadata: Metadata,
    /// Version that it says it was installed from.
    pub version: Option<ImageVersion>,
    /// The versions by its label and by its annotation, where these differ: then it says none.
    pub says_two: Option<Box<[String; 2]>>,
    pub node_pool: Option<String>,
    /// The NodePool of Karpenter's that it is of.
    pub karpenter_pool: Option<String>,
    /// The MachineConfigPool, by its config, else by its role.
    pub pool: Option<String>,
    /// The Machine that stands for it.
    pub machine: Option<String>,
    /// Its Machine is one of the Machine API.
    pub is_of_machine_api: bool,
    /// Name as in the stream metadata.
    pub architecture: Option<String>,
    pub region: Option<String>,
    /// Properties that it was installed with, by its own annotation. Few have one, and there are many nodes.
    hardware: Option<Box<Hardware>>,
    pub provider_id: Option<String>,
    pub addresses: Vec<IpAddr>,
    /// Absent where only its metadata was read.
    pub ready: Option<Box<Condition>>,
    /// Conditions that say what it lacks.
    pub lacks: Vec<Condition>,
    pub taints: Vec<String>,
    /// The Machine Config Daemon's state and reason.
    pub daemon: Option<(String, String)>,
    pub is_control_plane: bool,
    pub is_windows: bool,
    /// Its OS is made of packages: RHEL, and neither CoreOS nor an image.
    pub is_of_packages: bool,
    /// Its OS is of RHEL 10, or of CentOS Stream 10; `None` where it does not say which it is.
    pub runs_rhel_10: Option<bool>,
    /// When it told of itself last; absent where its kubelet went silent.
    pub heartbeat: Option<Moment>,
}

/// Conditions of a Node that are true where it lacks something.
const LACKS: [&str; 4] = [
    "DiskPressure",
    "MemoryPressure",
    "PIDPressure",
    "NetworkUnavailable",
];

/// The taint of a Node until its cloud controller manager has looked at it.
pub const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

impl Node {
    /// Its condition Ready, where that is not true.
    pub fn not_ready(&self) -> Option<&Condition> {
        self.ready.as_deref().filter(|ready| !ready.is_true())
    }

    /// Its cloud controller manager has not looked at it yet.
    pub fn is_uninitialized(&self) -> bool {
        self.taints.iter().any(|taint| taint == UNINITIALIZED)
    }
}

/// A Node as the API has it.
#[derive(Deserialize)]
struct NodeObject {
    metadata: Metadata,
    #[serde(rename = "metadata.labels")]
    labels: BTreeMap<String, String>,
    /// The agent's verdict.
    #[serde(rename = "metadata.annotations.skewguard.dev/boot-image-verdict")]
    verdict: Raw<String>,
    #[serde(rename = "metadata.labels.skewguard.dev/boot-image")]
    label: Option<String>,
    #[serde(rename = "metadata.labels.hypershift.openshift.io/nodePool")]
    node_pool: Option<String>,
    #[serde(rename = "metadata.labels.karpenter.sh/nodepool")]
    karpenter_pool: Option<String>,
    #[serde(
        rename = "metadata.annotations.machine.openshift.io/machine",
        deserialize_with = "is_there"
    )]
    is_of_machine_api: bool,
    #[serde(
        rename = "metadata.annotations.machine.openshift.io/machine|\
                  metadata.annotations.cluster.x-k8s.io/machine",
        deserialize_with = "message_if_any"
    )]
    machine: Option<String>,
    #[serde(rename = "metadata.annotations.machineconfiguration.openshift.io/currentConfig")]
    config: String,
    #[serde(
        rename = "metadata.annotations.machineconfiguration.openshift.io/state",
        deserialize_with = "message_if_any"
    )]
    state: Option<String>,
    #[serde(
        rename = "metadata.annotations.machineconfiguration.openshift.io/reason",
        deserialize_with = "message"
    )]
    reason: String,
    #[serde(
        rename = "metadata.labels.kubernetes.io/arch",
        deserialize_with = "architecture"
    )]
    architecture: Option<String>,
    #[serde(rename = "metadata.labels.topology.kubernetes.io/region")]
    region: Option<String>,
    #[serde(
        rename = "metadata.labels.kubernetes.io/os",
        deserialize_with = "is_windows"
    )]
    is_windows: bool,
    #[serde(rename = "spec.providerID")]
    provider_id: Option<String>,
    #[serde(rename = "spec.taints")]
    taints: Vec<Taint>,
    #[serde(rename = "status.addresses", deserialize_with = "ips")]
    addresses: Vec<IpAddr>,
    #[serde(rename = "status.conditions")]
    conditions: Vec<Condition>,
    #[serde(rename = "status.nodeInfo.osImage")]
    os_image: String,
}

#[derive(Deserialize)]
struct Taint {
    key: Option<String>,
}

/// The agent's verdict, as an annotation of the Node has it.
#[derive(Default, Deserialize)]
struct Verdict {
    #[serde(rename = "bootImage.version")]
    version: Option<String>,
    machine: Hardware,
}

impl From<NodeObject> for Node {
    fn from(object: NodeObject) -> Self {
        let has_role = |role: &str| {
            let label = format!("node-role.kubernetes.io/{role}");
            object.labels.contains_key(&label)
        };
        let mut roles = ["master", "worker"].into_iter();
        let of_role = || roles.find(|role| has_role(role)).map(str::to_owned);
        // The label may have had to be cut; the verdict beside it has the whole version.
        let Verdict { version, machine } = (serde_json::from_str::<Value>(&object.verdict.0))
            .map_or_else(|_| Verdict::default(), |verdict| lenient::known(&verdict));
        let both = object.label.clone().zip(version.clone());
        let says_two = both.filter(|(label, version)| label_value(version) != *label);
        let label = object.label.filter(|label| label != "unknown");
        let version = version.or(label).filter(|_| says_two.is_none());
        let conditions = object.conditions;
        Self {
            version: version.map(|version| ImageVersion::parse(&version)),
            says_two: says_two.map(|(label, version)| Box::new([label, version])),
            node_pool: object.node_pool,
            karpenter_pool: object.karpenter_pool,
            pool: pool_of_config(&object.config)
                .map(str::to_owned)
                .or_else(of_role),
            is_of_machine_api: object.is_of_machine_api,
            machine: object.machine,
            architecture: object.architecture,
            region: object.region,
            hardware: hardware(machine),
            provider_id: object.provider_id,
            addresses: object.addresses,
            ready: condition(&conditions, "Ready").cloned().map(Box::new),
            lacks: (conditions.iter())
                .filter(|one| one.is_true() && LACKS.contains(&&*one.kind))
                .cloned()
                .collect(),
            taints: (object.taints.into_iter().take(MAX_TAINTS))
                .filter_map(|taint| taint.key)
                .collect(),
            daemon: object.state.map(|state| (state, object.reason)),
            is_control_plane: has_role("master") || has_role("control-plane"),
            is_windows: object.is_windows,
            // RHCOS has the same `os_id` in some releases.
            is_of_packages: object.os_image.starts_with("Red Hat Enterprise Linux")
                && !object.os_image.contains("CoreOS"),
            runs_rhel_10: runs_rhel_10(&object.os_image),
            heartbeat: (conditions.iter())
                .filter(|condition| condition.status != "Unknown")
                .filter_map(|condition| condition.seen)
                .max(),
            metadata: object.metadata,
        }
    }
}

/// By `CentOS Stream CoreOS 10.0.20251103-0`.
fn runs_rhel_10(os_image: &str) -> Option<bool> {
    let (name, version) = os_image.split_once("CoreOS ")?;
    let version = ImageVersion::parse(version.split(' ').next()?);
    let major = version.rhel.map(|rhel| rhel.major >= 10);
    major.or_else(|| name.starts_with("Fedora").then_some(false))
}

impl Node {
    /// Leaves out what says whether it is ready.
    pub fn without_details(mut self) -> Self {
        (self.ready, self.daemon, self.taints) = (None, None, Vec::new());
        self.lacks = Vec::new();
        self
    }

    /// Tells whether it was made from a boot image of the cluster's.
    pub fn has_boot_image(&self) -> bool {
        !self.is_windows && !self.is_of_packages
    }

    /// Properties that it was installed with, as far as its objects say them.
    pub fn machine(&self) -> Hardware {
        Hardware {
            architecture: self.architecture.clone(),
            ..self.hardware.as_deref().cloned().unwrap_or_default()
        }
    }

    /// Nodes in the order in which they joined.
    pub fn age(&self) -> (Option<Moment>, &str) {
        (self.metadata.created, &self.metadata.name)
    }
}

/// Properties that the machine was installed with, by its Node's annotation.
fn hardware(machine: Hardware) -> Option<Box<Hardware>> {
    let hardware = Hardware {
        architecture: None,
        ..machine
    };
    (!hardware.is_unknown()).then(|| Box::new(hardware))
}
