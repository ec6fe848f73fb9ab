//! Machines, hosts, agents, NodePools and Nodes, as far as `why` keeps them (pure).

use crate::kinds::fields::{fields_at, list_at, message_at, str_at, text_at};
use crate::kinds::kind_table::CLUSTER_API;
use crate::moment::Moment;
use crate::text::printable;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The metadata of every object.
#[derive(Debug, Clone, Default)]
pub struct Meta {
    pub namespace: String,
    pub name: String,
    pub created: Option<Moment>,
}

impl Meta {
    pub fn of(object: &Value) -> Self {
        let text = |path| text_at(object, path).unwrap_or_default();
        Self {
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
            created: moment(object, "/metadata/creationTimestamp"),
        }
    }

    pub fn full_name(&self) -> String {
        crate::names::full_name(&self.namespace, &self.name)
    }
}

pub fn moment(object: &Value, path: &str) -> Option<Moment> {
    str_at(object, path).and_then(Moment::parse)
}

/// A condition of an object.
#[derive(Debug, Clone, Default)]
pub struct Condition {
    pub kind: String,
    pub status: String,
    pub reason: String,
    pub message: String,
    pub since: Option<Moment>,
    /// When its writer last looked.
    pub seen: Option<Moment>,
}

impl Condition {
    pub fn list(object: &Value, path: &str) -> Vec<Self> {
        let of = |condition: &Value| {
            let text = |path| text_at(condition, path).unwrap_or_default();
            Self {
                kind: text("/type"),
                status: text("/status"),
                reason: text("/reason"),
                message: message_at(condition, "/message").unwrap_or_default(),
                since: moment(condition, "/lastTransitionTime"),
                seen: moment(condition, "/lastHeartbeatTime"),
            }
        };
        list_at(object, path).iter().take(50).map(of).collect()
    }

    /// `Reason: message`, as far as it has them.
    pub fn says(&self) -> String {
        match (self.reason.as_str(), self.message.as_str()) {
            ("", "") => format!("{} is {}", self.kind, self.status),
            ("", message) => message.to_owned(),
            (reason, "") => reason.to_owned(),
            (reason, message) => format!("{reason}: {message}"),
        }
    }
}

/// The condition of this type.
pub fn condition<'a>(all: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    all.iter().find(|condition| condition.kind == kind)
}

/// A Machine of either API.
#[derive(Debug, Default)]
pub struct Machine {
    pub meta: Meta,
    pub is_of_cluster_api: bool,
    pub is_deleting: bool,
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
    pub node: Option<String>,
    pub owner: Option<(String, String)>,
    /// The Secret that has its user data.
    pub user_data: Option<String>,
    pub role: Option<String>,
    pub labels: BTreeMap<String, String>,
    /// Namespace and name of its BareMetalHost.
    pub host: Option<String>,
    /// Namespace and name of its NodePool.
    pub node_pool: Option<String>,
    /// The API whose copy of it counts: `MachineAPI`, `ClusterAPI` or `Migrating`.
    pub authority: Option<String>,
    /// It has the annotation `cluster.x-k8s.io/paused`.
    pub is_paused: bool,
}

impl Machine {
    pub fn of(group: &str, object: &Value) -> Self {
        let provider = "/status/providerStatus";
        let first = |paths: &[&str]| {
            paths
                .iter()
                .find_map(|path| text_at(object, &format!("{provider}/{path}")))
        };
        let owner = list_at(object, "/metadata/ownerReferences").first();
        let address = |address: &Value| {
            let kind = text_at(address, "/type").unwrap_or_default();
            Some((kind, text_at(address, "/address")?))
        };
        Self {
            meta: Meta::of(object),
            is_of_cluster_api: group == CLUSTER_API,
            is_deleting: object.pointer("/metadata/deletionTimestamp").is_some(),
            phase: text_at(object, "/status/phase"),
            since: moment(object, "/status/lastUpdated"),
            error_reason: text_at(object, "/status/errorReason")
                .or_else(|| text_at(object, "/status/failureReason")),
            error_message: message_at(object, "/status/errorMessage")
                .or_else(|| message_at(object, "/status/failureMessage")),
            conditions: [
                Condition::list(object, "/status/conditions"),
                Condition::list(object, "/status/v1beta2/conditions"),
            ]
            .concat(),
            provider_conditions: Condition::list(object, &format!("{provider}/conditions")),
            instance: first(&["instanceId", "instanceID", "vmId", "vmID", "vmUUID"]),
            instance_state: first(&["instanceState", "vmState"]).or_else(|| {
                text_at(
                    object,
                    "/metadata/annotations/machine.openshift.io~1instance-state",
                )
            }),
            provider_id: text_at(object, "/spec/providerID"),
            addresses: list_at(object, "/status/addresses")
                .iter()
                .take(100)
                .filter_map(address)
                .collect(),
            node: text_at(object, "/status/nodeRef/name"),
            owner: owner
                .and_then(|owner| Some((text_at(owner, "/kind")?, text_at(owner, "/name")?))),
            user_data: text_at(object, "/spec/providerSpec/value/userDataSecret/name")
                .or_else(|| text_at(object, "/spec/providerSpec/value/userData/name"))
                .or_else(|| text_at(object, "/spec/bootstrap/dataSecretName")),
            role: text_at(
                object,
                "/metadata/labels/machine.openshift.io~1cluster-api-machine-role",
            ),
            labels: labels(object, "/metadata/labels"),
            host: text_at(object, "/metadata/annotations/metal3.io~1BareMetalHost"),
            node_pool: text_at(
                object,
                "/metadata/annotations/hypershift.openshift.io~1nodePool",
            ),
            authority: text_at(object, "/status/authoritativeAPI")
                .or_else(|| text_at(object, "/spec/authoritativeAPI")),
            is_paused: object
                .pointer("/metadata/annotations/cluster.x-k8s.io~1paused")
                .is_some(),
        }
    }

    /// It has failed, which is final.
    pub fn is_failed(&self) -> bool {
        self.phase.as_deref() == Some("Failed")
    }

    pub fn ips(&self) -> impl Iterator<Item = IpAddr> {
        self.addresses.iter().filter_map(|(_, text)| ip(text))
    }

    /// Names of it in certificate requests and reports, in lower case.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let uuid = self.provider_id.as_deref();
        let uuid = uuid.and_then(|id| id.rsplit('/').next());
        // A node may know itself by the first part of its name alone.
        let short = self.addresses.iter().filter_map(|(_, text)| {
            let (host, _) = text.split_once('.')?;
            ip(text).is_none().then_some(host)
        });
        self.addresses
            .iter()
            .map(|(_, text)| text.as_str())
            .chain(short)
            .chain(uuid)
            .chain([self.meta.name.as_str()])
            .map(|name| name.trim_end_matches('.').to_ascii_lowercase())
    }
}

pub fn labels(object: &Value, path: &str) -> BTreeMap<String, String> {
    fields_at(object, path)
        .filter_map(|(name, value)| Some((name, printable(value.as_str()?))))
        .collect()
}

/// An IP address, also with a prefix: `10.0.0.5/24`.
pub fn ip(text: &str) -> Option<IpAddr> {
    let text = text.split('/').next()?;
    text.parse()
        .ok()
        .map(|address: IpAddr| address.to_canonical())
}

/// A `BareMetalHost`.
#[derive(Debug, Default)]
pub struct Host {
    pub meta: Meta,
    /// `provisioning`, `provisioned`, `available`…
    pub state: String,
    pub since: Option<Moment>,
    pub error_type: Option<String>,
    pub error_message: Option<String>,
    pub is_on: Option<bool>,
    pub is_wanted: bool,
    /// It is for a Machine.
    pub machine: Option<String>,
    pub hostname: Option<String>,
    pub addresses: Vec<IpAddr>,
    pub is_external: bool,
    /// A live ISO installs nodes of other clusters.
    pub is_live: bool,
}

impl Host {
    pub fn of(object: &Value) -> Self {
        let is_machine = str_at(object, "/spec/consumerRef/kind") == Some("Machine")
            || str_at(object, "/spec/consumerRef/kind") == Some("Metal3Machine");
        let wants = ["/spec/image/url", "/spec/customDeploy/method"];
        Self {
            meta: Meta::of(object),
            state: text_at(object, "/status/provisioning/state").unwrap_or_default(),
            since: moment(object, "/status/operationHistory/provision/start")
                .or_else(|| moment(object, "/status/lastUpdated")),
            error_type: text_at(object, "/status/errorType"),
            error_message: message_at(object, "/status/errorMessage"),
            is_on: object.pointer("/status/poweredOn").and_then(Value::as_bool),
            is_wanted: wants.iter().any(|path| str_at(object, path).is_some()),
            machine: text_at(object, "/spec/consumerRef/name").filter(|_| is_machine),
            hostname: text_at(object, "/status/hardware/hostname"),
            addresses: list_at(object, "/status/hardware/nics")
                .iter()
                .filter_map(|nic| ip(str_at(nic, "/ip")?))
                .collect(),
            is_external: object.pointer("/spec/externallyProvisioned") == Some(&Value::Bool(true)),
            is_live: str_at(object, "/spec/image/format") == Some("live-iso"),
        }
    }

    /// Names of it in certificate requests and reports, in lower case.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let hostname = self.hostname.as_deref().into_iter();
        hostname
            .chain([self.meta.name.as_str()])
            .map(|name| name.trim_end_matches('.').to_ascii_lowercase())
    }
}

/// An `Agent` of the Assisted Installer.
#[derive(Debug, Default)]
pub struct Agent {
    pub meta: Meta,
    pub hostname: Option<String>,
    pub state: String,
    pub state_info: Option<String>,
    /// `Rebooting`, `Waiting for ignition`, `Joined`…
    pub progress: Option<String>,
    pub addresses: Vec<IpAddr>,
    pub is_bound: bool,
    pub is_approved: Option<bool>,
    pub conditions: Vec<Condition>,
}

impl Agent {
    pub fn of(object: &Value) -> Self {
        let of_interface = |interface: &Value| {
            let all = ["/ipV4Addresses", "/ipV6Addresses"];
            let lists = all
                .iter()
                .flat_map(|path| list_at(interface, path).to_vec());
            lists
                .filter_map(|address| ip(address.as_str()?))
                .collect::<Vec<_>>()
        };
        Self {
            meta: Meta::of(object),
            hostname: text_at(object, "/spec/hostname")
                .or_else(|| text_at(object, "/status/inventory/hostname")),
            state: text_at(object, "/status/debugInfo/state").unwrap_or_default(),
            state_info: message_at(object, "/status/debugInfo/stateInfo"),
            progress: text_at(object, "/status/progress/currentStage"),
            addresses: list_at(object, "/status/inventory/interfaces")
                .iter()
                .flat_map(of_interface)
                .collect(),
            is_bound: text_at(object, "/spec/clusterDeploymentName/name").is_some(),
            is_approved: object.pointer("/spec/approved").and_then(Value::as_bool),
            conditions: Condition::list(object, "/status/conditions"),
        }
    }

    /// Names of it in certificate requests and reports, in lower case.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let hostname = self.hostname.as_deref().into_iter();
        hostname.map(|name| name.trim_end_matches('.').to_ascii_lowercase())
    }

    /// It is installed, or not wanted.
    pub fn is_over(&self) -> bool {
        matches!(
            &*self.state,
            "installed" | "added-to-existing-cluster" | "disabled"
        )
    }
}

/// A NodePool of HyperShift.
#[derive(Debug, Default)]
pub struct NodePool {
    pub meta: Meta,
    pub conditions: Vec<Condition>,
    /// Machines that it wants, at least.
    pub wanted: usize,
}

impl NodePool {
    pub fn of(object: &Value) -> Self {
        let number = |path| object.pointer(path).and_then(Value::as_u64);
        let wanted = number("/spec/replicas").or_else(|| number("/spec/autoScaling/min"));
        Self {
            meta: Meta::of(object),
            conditions: Condition::list(object, "/status/conditions"),
            wanted: wanted
                .and_then(|wanted| wanted.try_into().ok())
                .unwrap_or_default(),
        }
    }
}

/// A `Node`.
#[derive(Debug, Default)]
pub struct Node {
    pub name: String,
    pub created: Option<Moment>,
    pub provider_id: Option<String>,
    pub addresses: Vec<IpAddr>,
    /// Absent where only its metadata was read.
    pub ready: Option<Condition>,
    pub taints: Vec<String>,
    pub machine: Option<String>,
    /// The Machine Config Daemon's state and reason.
    pub daemon: Option<(String, String)>,
    pub is_control_plane: bool,
}

impl Node {
    pub fn of(object: &Value) -> Self {
        let annotation = |name: &str| text_at(object, &format!("/metadata/annotations/{name}"));
        let conditions = Condition::list(object, "/status/conditions");
        let role = |role: &str| {
            object
                .pointer(&format!("/metadata/labels/node-role.kubernetes.io~1{role}"))
                .is_some()
        };
        Self {
            name: text_at(object, "/metadata/name").unwrap_or_default(),
            created: moment(object, "/metadata/creationTimestamp"),
            provider_id: text_at(object, "/spec/providerID"),
            addresses: list_at(object, "/status/addresses")
                .iter()
                .filter_map(|address| ip(str_at(address, "/address")?))
                .collect(),
            ready: condition(&conditions, "Ready").cloned(),
            taints: list_at(object, "/spec/taints")
                .iter()
                .take(20)
                .filter_map(|taint| text_at(taint, "/key"))
                .collect(),
            machine: annotation("machine.openshift.io~1machine")
                .or_else(|| annotation("cluster.x-k8s.io~1machine")),
            daemon: annotation("machineconfiguration.openshift.io~1state").map(|state| {
                let reason = annotation("machineconfiguration.openshift.io~1reason");
                (state, reason.unwrap_or_default())
            }),
            is_control_plane: role("master") || role("control-plane"),
        }
    }
}
