//! Sets, machines and hosts, as far as the audit keeps them (pure).

use super::fields::{fields_at, list_at, str_at, text_at};
use super::image::{self, Image};
use super::owner;
use super::platforms::{audit_row, first};
use crate::names::full_name;
use crate::platform::Platform;
use crate::text;
use serde_json::Value;
use std::collections::BTreeMap;

/// Metadata of every object.
#[derive(Debug, Clone, Default)]
pub struct Metadata {
    pub namespace: String,
    pub name: String,
    pub created: String,
}

impl Metadata {
    pub fn of(object: &Value) -> Self {
        let text = |path| text_at(object, path).unwrap_or_default();
        Self {
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
            created: text("/metadata/creationTimestamp"),
        }
    }

    pub fn full_name(&self) -> String {
        full_name(&self.namespace, &self.name)
    }
}

/// The kind and the name of each owner.
fn owners(object: &Value) -> Vec<(String, String)> {
    let owner = |owner: &Value| Some((text_at(owner, "/kind")?, text_at(owner, "/name")?));
    list_at(object, "/metadata/ownerReferences")
        .iter()
        .filter_map(owner)
        .collect()
}

/// Source of a Machine, by its own spec or that in the template of a set.
#[derive(Debug, Default)]
pub struct Source {
    /// The Machine API's provider spec has all of it; the Cluster API has only the pool here.
    pub image: Image,
    /// Kind and name of the Cluster API's infrastructure object, which has the rest.
    pub infrastructure: Option<(String, String)>,
    /// The Secret with the user data.
    pub user_data: Option<String>,
}

impl Source {
    fn of(spec: Option<&Value>) -> Self {
        let spec = spec.unwrap_or(&Value::Null);
        if let Some(provider) = spec
            .pointer("/providerSpec/value")
            .filter(|provider| !provider.is_null())
        {
            return Self {
                image: image::read_spec(str_at(provider, "/kind").unwrap_or_default(), provider),
                infrastructure: None,
                user_data: image::user_data(provider),
            };
        }
        let pool = str_at(spec, "/bootstrap/dataSecretName").and_then(image::pool);
        let reference = |path| text_at(spec, path);
        Self {
            image: Image {
                pool,
                why_not: Some("the template names no image"),
                ..Image::default()
            },
            infrastructure: reference("/infrastructureRef/kind")
                .zip(reference("/infrastructureRef/name")),
            user_data: None,
        }
    }
}

/// Windows, by the label that a template or a Machine has for its node's operating system.
pub fn is_windows(object: &Value, metadata: &str) -> bool {
    str_at(
        object,
        &format!("{metadata}/labels/machine.openshift.io~1os-id"),
    ) == Some("Windows")
}

/// `MachineSet` of either API, `ControlPlaneMachineSet` and `MachineDeployment`.
#[derive(Debug)]
pub struct MachineSet {
    pub metadata: Metadata,
    pub replicas: Option<i64>,
    pub architecture: Option<String>,
    pub source: Source,
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
    /// The cluster's name for what it makes.
    pub infra: Option<String>,
    /// Way in which Machines follow a change of the template: `RollingUpdate`, `OnDelete`.
    pub strategy: Option<String>,
    /// The tool or the object that writes it.
    pub owner: Option<String>,
}

impl MachineSet {
    pub fn of(object: &Value) -> Self {
        let template = "/spec/template/machines_v1beta1_machine_openshift_io";
        let spec = object
            .pointer(&format!("{template}/spec"))
            .or_else(|| object.pointer("/spec/template/spec"));
        let replicas = object.pointer("/spec/replicas").and_then(Value::as_i64);
        let labels = str_at(
            object,
            "/metadata/annotations/capacity.cluster-autoscaler.kubernetes.io~1labels",
        );
        let domains = list_at(object, &format!("{template}/failureDomains/vsphere"));
        let owners = owners(object);
        Self {
            metadata: Metadata::of(object),
            replicas,
            architecture: labels.and_then(architecture),
            has_capacity_labels: labels.is_some(),
            source: Source::of(spec),
            replicas_now: object.pointer("/status/replicas").and_then(Value::as_i64),
            infra: text_at(
                object,
                "/metadata/labels/machine.openshift.io~1cluster-api-cluster",
            ),
            strategy: text_at(object, "/spec/strategy/type")
                .or_else(|| text_at(object, "/spec/rollout/strategy/type")),
            owner: owner::owner(object).or_else(|| other_writer(object, &owners)),
            is_mirror: str_at(object, "/status/authoritativeAPI") == Some("ClusterAPI"),
            is_inactive: str_at(object, "/spec/state") == Some("Inactive"),
            is_owned: !owners.is_empty(),
            deployment: owners
                .into_iter()
                .find(|(kind, _)| kind == "MachineDeployment")
                .map(|(_, name)| name),
            stream: text_at(
                object,
                "/metadata/labels/machineconfiguration.openshift.io~1osstream",
            ),
            labels: fields_at(object, "/metadata/labels")
                .filter_map(|(name, value)| Some((name, text_at(value, "")?)))
                .collect(),
            node_pool: text_at(
                object,
                "/metadata/annotations/hypershift.openshift.io~1nodePool",
            ),
            failure_domains: domains
                .iter()
                .filter_map(|domain| text_at(domain, "/name"))
                .collect(),
        }
    }
}

/// Writer of a set of the Machine API beside its own controller: the object that it belongs to, or
/// the Cluster API's set of its name.
fn other_writer(object: &Value, owners: &[(String, String)]) -> Option<String> {
    if !str_at(object, "/apiVersion")?.starts_with("machine.openshift.io/") {
        return None;
    }
    if str_at(object, "/status/authoritativeAPI") == Some("ClusterAPI") {
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

/// `Machine` of either API.
#[derive(Debug)]
pub struct Machine {
    /// The API group.
    pub group: &'static str,
    pub metadata: Metadata,
    pub role: Option<String>,
    pub source: Source,
    /// The name of its Node.
    pub node: Option<String>,
    /// Names that a report may use: addresses, product UUID and name, in lower case.
    pub identities: Vec<String>,
    /// Kind and name of each owner.
    pub owners: Vec<(String, String)>,
    /// It belongs to a node pool.
    pub is_of_node_pool: bool,
    /// Since when its phase is `Provisioned`: made, and not joined.
    pub provisioned: Option<String>,
}

impl Machine {
    pub fn of(group: &'static str, object: &Value) -> Self {
        let metadata = Metadata::of(object);
        let addresses = list_at(object, "/status/addresses")
            .iter()
            .filter_map(|address| text_at(address, "/address"));
        // `vsphere://4237-...`, `openstack:///8e1f-...`: on these the last part is the product
        // UUID.
        let uuid = str_at(object, "/spec/providerID")
            .and_then(|id| id.rsplit('/').next())
            .map(text::printable);
        Self {
            group,
            role: text_at(
                object,
                "/metadata/labels/machine.openshift.io~1cluster-api-machine-role",
            ),
            source: Source::of(object.pointer("/spec")),
            node: text_at(object, "/status/nodeRef/name"),
            identities: lower_case(addresses.chain(uuid).chain([metadata.name.clone()])),
            // `lastUpdated` is set when the phase changes (machine-api-operator, `updateStatus` of
            // pkg/controller/machine).
            provisioned: (str_at(object, "/status/phase") == Some("Provisioned"))
                .then(|| text_at(object, "/status/lastUpdated"))
                .map(|since| since.unwrap_or_else(|| metadata.created.clone())),
            owners: owners(object),
            is_of_node_pool: object
                .pointer("/metadata/annotations/hypershift.openshift.io~1nodePool")
                .is_some(),
            metadata,
        }
    }

    /// Machines in the order in which they were made.
    pub fn age(&self) -> (&str, &str) {
        (&self.metadata.created, &self.metadata.name)
    }

    /// The set that it says it belongs to.
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
}

pub fn lower_case(names: impl Iterator<Item = String>) -> Vec<String> {
    names.map(|name| name.to_ascii_lowercase()).collect()
}

/// HyperShift's `NodePool`.
#[derive(Debug)]
pub struct NodePool {
    pub metadata: Metadata,
    pub replicas: Option<i64>,
    pub architecture: Option<String>,
    pub release_image: Option<String>,
    /// The version of that.
    pub release: Option<String>,
    pub platform: Option<String>,
    /// The image that it names in place of its release's.
    pub image: Option<NodePoolImage>,
    /// Conditions of its nodes, in words.
    pub conditions: Option<String>,
    /// The stream that it is pinned to.
    pub pinned: Option<String>,
    /// The stream of its nodes now.
    pub stream: Option<String>,
    /// `Replace` or `InPlace`.
    pub upgrade: Option<String>,
    /// Way in which `Replace` goes on: `RollingUpdate`, `OnDelete`.
    pub strategy: Option<String>,
    pub owner: Option<String>,
}

impl NodePool {
    pub fn of(object: &Value) -> Self {
        Self {
            metadata: Metadata::of(object),
            replicas: object.pointer("/spec/replicas").and_then(Value::as_i64),
            architecture: str_at(object, "/spec/arch").map(architecture_name),
            release_image: text_at(object, "/spec/release/image"),
            release: text_at(object, "/status/version"),
            platform: text_at(object, "/spec/platform/type"),
            image: NodePoolImage::of(object),
            conditions: conditions(object),
            upgrade: text_at(object, "/spec/management/upgradeType"),
            strategy: text_at(object, "/spec/management/replace/strategy"),
            owner: owner::owner(object),
            pinned: text_at(object, "/spec/osImageStream/name"),
            stream: text_at(object, "/status/osImageStream/name")
                .or_else(|| text_at(object, "/status/osImageStream")),
        }
    }
}

/// An image that a NodePool names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodePoolImage {
    pub platform: Platform,
    pub field: String,
    pub value: String,
}

impl NodePoolImage {
    fn of(object: &Value) -> Option<Self> {
        let of = object.pointer("/spec/platform")?;
        Platform::ALL.into_iter().find_map(|platform| {
            let (field, value) = first(audit_row(platform).node_pool, of)?;
            Some(Self {
                platform,
                field: format!("spec.platform.{field}"),
                value,
            })
        })
    }
}

/// Tells whether the nodes of a NodePool reached Ignition's server, and are machines and healthy
/// (openshift/hypershift `nodepool_conditions.go`).
fn conditions(object: &Value) -> Option<String> {
    let shown = [
        "ReachedIgnitionEndpoint",
        "AllMachinesReady",
        "AllNodesHealthy",
        "ValidPlatformImage",
    ];
    let all = list_at(object, "/status/conditions");
    let says = |name: &&str| {
        let is = |condition: &&Value| str_at(condition, "/type") == Some(name);
        let condition = all.iter().find(is)?;
        let status = text_at(condition, "/status")?;
        let message = text_at(condition, "/message").filter(|_| status != "True");
        Some(match message {
            Some(message) => format!("{name} {status} ({message})"),
            None => format!("{name} {status}"),
        })
    };
    let says: Vec<String> = shown.iter().filter_map(says).collect();
    (!says.is_empty()).then(|| format!("conditions: {}", says.join(", ")))
}

/// A `BareMetalHost` that is installed, and not for a Machine.
#[derive(Debug)]
pub struct Host {
    pub metadata: Metadata,
    pub source: HostSource,
    /// `status.provisioning.state`.
    pub state: Option<String>,
    pub owner: Option<String>,
}

/// Source that equal hosts share: they are installed from the same image, and ask for the same config.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostSource {
    /// An image of its own; `None` where the cluster's release brings it (`install_coreos`).
    pub url: Option<String>,
    pub pool: Option<String>,
    /// The label for its stream.
    pub stream: Option<String>,
}

impl Host {
    pub fn of(object: &Value) -> Option<Self> {
        let url = text_at(object, "/spec/image/url");
        let is_installed = url.is_some()
            || str_at(object, "/spec/customDeploy/method") == Some(image::INSTALL_COREOS);
        let is_elsewhere = str_at(object, "/spec/consumerRef/kind") == Some("Machine")
            || object.pointer("/spec/externallyProvisioned") == Some(&Value::Bool(true));
        (is_installed && !is_elsewhere).then(|| Self {
            metadata: Metadata::of(object),
            state: text_at(object, "/status/provisioning/state"),
            owner: owner::owner(object),
            source: HostSource {
                url,
                pool: str_at(object, "/spec/userData/name").and_then(image::pool),
                stream: text_at(object, "/metadata/labels/coreos.openshift.io~1stream"),
            },
        })
    }
}
