//! Nodes (pure).

use super::machine::Address;
use super::machine_set::architecture_name;
use super::metadata::{Condition, Metadata, Object, ObjectMeta, condition};
use super::names::ip;
use crate::lenient;
use crate::moment::Moment;
use crate::verdict::Machine as BornWith;
use crate::version::ImageVersion;
use serde::Deserialize;
use serde_json::Value;
use std::net::IpAddr;

/// The most taints of a Node that are kept.
const MAX_TAINTS: usize = 20;

/// `Node`.
#[derive(Debug, Default)]
pub struct Node {
    pub metadata: Metadata,
    /// Version that it says it was installed from.
    pub version: Option<ImageVersion>,
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
    /// Properties that it was born with, by its own annotation. Few have one, and there are many nodes.
    born_with: Option<Box<BornWith>>,
    pub provider_id: Option<String>,
    pub addresses: Vec<IpAddr>,
    /// Absent where only its metadata was read.
    pub ready: Option<Box<Condition>>,
    pub taints: Vec<String>,
    /// The Machine Config Daemon's state and reason.
    pub daemon: Option<(String, String)>,
    pub is_control_plane: bool,
    pub is_windows: bool,
    /// Its OS is made of packages: RHEL, and neither CoreOS nor an image.
    pub is_of_packages: bool,
    /// When it told of itself last; absent where its kubelet went silent.
    pub heartbeat: Option<Moment>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Spec {
    #[serde(rename = "providerID")]
    provider_id: Option<String>,
    taints: Vec<Taint>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Taint {
    key: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Status {
    addresses: Vec<Address>,
    conditions: Vec<Condition>,
    node_info: NodeInfo,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct NodeInfo {
    os_image: String,
}

/// The agent's verdict, as an annotation of the Node has it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Verdict {
    boot_image: BootImage,
    machine: Born,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct BootImage {
    version: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Born {
    secure_boot: Option<bool>,
    fips: Option<bool>,
    shim: Option<String>,
    cpu: Option<String>,
    #[serde(rename = "bootFreeMiB")]
    boot_free_mib: Option<u64>,
}

/// `worker` from `rendered-worker-0123456789abcdef0123456789abcdef`.
fn pool_of_config(metadata: &ObjectMeta) -> Option<String> {
    let config = metadata.annotation("machineconfiguration.openshift.io/currentConfig")?;
    let (pool, _) = config.strip_prefix("rendered-")?.rsplit_once('-')?;
    Some(pool.to_owned())
}

impl Node {
    /// `whole` is the object itself, for the annotation with the verdict.
    pub fn of(object: Object<Spec, Status>, whole: &Value) -> Self {
        let Object {
            metadata,
            spec,
            status,
        } = object;
        let has_role = |role: &str| {
            let label = format!("node-role.kubernetes.io/{role}");
            metadata.labels.contains_key(&label)
        };
        let roles = ["master", "worker"].into_iter();
        let of_role = || roles.clone().find(|role| has_role(role)).map(str::to_owned);
        // The label may have had to be cut; the verdict beside it has the whole version.
        let verdict = verdict(whole);
        let label = metadata.label("skewguard.dev/boot-image");
        let label = label.filter(|label| label != "unknown");
        let of_machine_api = metadata.annotation("machine.openshift.io/machine");
        let state = metadata.annotation("machineconfiguration.openshift.io/state");
        let reason = metadata.annotation("machineconfiguration.openshift.io/reason");
        let os_image = &status.node_info.os_image;
        Self {
            version: (verdict.boot_image.version.or(label))
                .map(|version| ImageVersion::parse(&version)),
            node_pool: metadata.label(super::machine::OF_NODE_POOL),
            karpenter_pool: metadata.label("karpenter.sh/nodepool"),
            pool: pool_of_config(&metadata).or_else(of_role),
            is_of_machine_api: of_machine_api.is_some(),
            machine: of_machine_api.or_else(|| metadata.annotation("cluster.x-k8s.io/machine")),
            architecture: metadata
                .label("kubernetes.io/arch")
                .map(|arch| architecture_name(&arch)),
            region: metadata.label("topology.kubernetes.io/region"),
            born_with: born_with(verdict.machine),
            provider_id: spec.provider_id,
            addresses: (status.addresses.iter())
                .filter_map(|address| ip(&address.address))
                .collect(),
            ready: condition(&status.conditions, "Ready")
                .cloned()
                .map(Box::new),
            taints: (spec.taints.into_iter().take(MAX_TAINTS))
                .filter_map(|taint| taint.key)
                .collect(),
            daemon: state.map(|state| (state, reason.unwrap_or_default())),
            is_control_plane: has_role("master") || has_role("control-plane"),
            is_windows: metadata.label("kubernetes.io/os").as_deref() == Some("windows"),
            // RHCOS has the same `os_id` in some releases.
            is_of_packages: os_image.starts_with("Red Hat Enterprise Linux")
                && !os_image.contains("CoreOS"),
            heartbeat: (status.conditions.iter())
                .filter(|condition| condition.status != "Unknown")
                .filter_map(Condition::seen)
                .max(),
            metadata: metadata.kept(),
        }
    }

    /// Leaves out what says whether it is ready.
    pub fn without_details(mut self) -> Self {
        (self.provider_id, self.ready, self.daemon) = (None, None, None);
        (self.addresses, self.taints) = (Vec::new(), Vec::new());
        self
    }

    /// Properties that it was born with, as far as its objects say them.
    pub fn machine(&self) -> BornWith {
        BornWith {
            architecture: self.architecture.clone(),
            ..self.born_with.as_deref().cloned().unwrap_or_default()
        }
    }

    /// Nodes in the order in which they joined.
    pub fn age(&self) -> (Option<Moment>, &str) {
        (self.metadata.created, &self.metadata.name)
    }
}

/// The verdict in a Node's annotation.
fn verdict(node: &Value) -> Verdict {
    let text = node.pointer("/metadata/annotations/skewguard.dev~1boot-image-verdict");
    let text = text.and_then(Value::as_str);
    let read = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
    read.map(|verdict| lenient::known(&verdict))
        .unwrap_or_default()
}

/// Properties that the machine was born with, by its Node's annotation.
fn born_with(machine: Born) -> Option<Box<BornWith>> {
    let born_with = BornWith {
        secure_boot: machine.secure_boot,
        fips: machine.fips,
        shim: machine.shim,
        cpu: machine.cpu,
        boot_free_mib: machine.boot_free_mib.and_then(|free| free.try_into().ok()),
        ..BornWith::default()
    };
    (!born_with.is_unknown()).then(|| Box::new(born_with))
}
