//! What the audit keeps of each kind of object (pure).
//!
//! Fields are read by their path (RFC 6901: `~1` stands for a slash in a name). What is absent and what is of another type than in its API are the
//! same: nothing is known of it. All text is made printable and bounded where it enters.

use super::image::{self, Image};
use super::{ClusterSkew, full_name};
use crate::text;
use crate::version::ImageVersion;
use serde_json::Value;

/// The text at a path, as it is; an empty one is none.
pub(super) fn str_at<'a>(object: &'a Value, path: &str) -> Option<&'a str> {
    object.pointer(path)?.as_str().filter(|text| !text.is_empty())
}

/// The text at a path, printable and bounded.
pub(super) fn text_at(object: &Value, path: &str) -> Option<String> {
    str_at(object, path).map(text::printable)
}

/// The list at a path; where there is none, an empty one.
pub(super) fn list_at<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    object.pointer(path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The fields of the object at a path, and their names, printable and bounded.
pub(super) fn fields_at<'a>(object: &'a Value, path: &str) -> impl Iterator<Item = (String, &'a Value)> {
    object.pointer(path).and_then(Value::as_object).into_iter().flatten().map(|(name, value)| (text::printable(name), value))
}

/// What every object has.
#[derive(Debug, Clone, Default)]
pub(super) struct Metadata {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) created: String,
}

impl Metadata {
    pub(super) fn of(object: &Value) -> Self {
        let text = |path| text_at(object, path).unwrap_or_default();
        Self { namespace: text("/metadata/namespace"), name: text("/metadata/name"), created: text("/metadata/creationTimestamp") }
    }

    pub(super) fn full_name(&self) -> String {
        full_name(&self.namespace, &self.name)
    }
}

/// The kind and the name of each owner.
fn owners(object: &Value) -> Vec<(String, String)> {
    let owner = |owner: &Value| Some((text_at(owner, "/kind")?, text_at(owner, "/name")?));
    list_at(object, "/metadata/ownerReferences").iter().filter_map(owner).collect()
}

/// What a Machine is made from, by its own spec or that in the template of a set.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// The Machine API's provider spec has all of it; the Cluster API has only the pool here.
    pub(super) image: Image,
    /// Kind and name of the Cluster API's infrastructure object, which has the rest.
    pub(super) infrastructure: Option<(String, String)>,
}

impl Source {
    fn of(spec: Option<&Value>) -> Self {
        let spec = spec.unwrap_or(&Value::Null);
        if let Some(provider) = spec.pointer("/providerSpec/value").filter(|provider| !provider.is_null()) {
            return Self { image: image::of_spec(str_at(provider, "/kind").unwrap_or_default(), provider), infrastructure: None };
        }
        let pool = str_at(spec, "/bootstrap/dataSecretName").and_then(image::pool);
        let reference = |path| text_at(spec, path);
        Self {
            image: Image { pool, why_not: Some("the template names no image"), ..Image::default() },
            infrastructure: reference("/infrastructureRef/kind").zip(reference("/infrastructureRef/name")),
        }
    }
}

/// `MachineSet` of either API, and `ControlPlaneMachineSet`.
#[derive(Debug)]
pub(super) struct MachineSet {
    pub(super) metadata: Metadata,
    pub(super) replicas: Option<i64>,
    pub(super) architecture: Option<String>,
    pub(super) source: Source,
    /// The Cluster API is authoritative for it, not the Machine API.
    pub(super) is_mirror: bool,
    /// A ControlPlaneMachineSet that makes no Machine, because it is not activated.
    pub(super) is_inactive: bool,
    /// A former revision of a MachineDeployment.
    pub(super) is_former: bool,
    /// Namespace and name of the node pool that it belongs to.
    pub(super) node_pool: Option<String>,
    /// Names of a control plane's failure domains on vSphere.
    pub(super) failure_domains: Vec<String>,
}

impl MachineSet {
    pub(super) fn of(object: &Value) -> Self {
        let template = "/spec/template/machines_v1beta1_machine_openshift_io";
        let spec = object.pointer(&format!("{template}/spec")).or_else(|| object.pointer("/spec/template/spec"));
        let replicas = object.pointer("/spec/replicas").and_then(Value::as_i64);
        let labels = str_at(object, "/metadata/annotations/capacity.cluster-autoscaler.kubernetes.io~1labels");
        let domains = list_at(object, &format!("{template}/failureDomains/vsphere"));
        Self {
            metadata: Metadata::of(object),
            replicas,
            architecture: labels.and_then(architecture),
            source: Source::of(spec),
            is_mirror: str_at(object, "/status/authoritativeAPI") == Some("ClusterAPI"),
            is_inactive: str_at(object, "/spec/state") == Some("Inactive"),
            is_former: replicas == Some(0) && owners(object).iter().any(|(kind, _)| kind == "MachineDeployment"),
            node_pool: text_at(object, "/metadata/annotations/hypershift.openshift.io~1nodePool"),
            failure_domains: domains.iter().filter_map(|domain| text_at(domain, "/name")).collect(),
        }
    }
}

/// `x86_64` from `kubernetes.io/arch=amd64,topology.ebs.csi.aws.com/zone=us-east-1a`.
fn architecture(labels: &str) -> Option<String> {
    labels.split(',').find_map(|label| label.trim().strip_prefix("kubernetes.io/arch=")).map(of_go)
}

/// From Go's name of an architecture to that of the stream metadata.
fn of_go(arch: &str) -> String {
    match arch {
        "amd64" => "x86_64".to_owned(),
        "arm64" => "aarch64".to_owned(),
        other => text::printable(other),
    }
}

/// `Machine` of either API.
#[derive(Debug)]
pub(super) struct Machine {
    /// The API group.
    pub(super) group: &'static str,
    pub(super) metadata: Metadata,
    pub(super) role: Option<String>,
    pub(super) source: Source,
    /// The name of its Node.
    pub(super) node: Option<String>,
    /// What a report may name it by: addresses, product UUID and name, in lower case.
    pub(super) identities: Vec<String>,
    owners: Vec<(String, String)>,
}

impl Machine {
    pub(super) fn of(group: &'static str, object: &Value) -> Self {
        let metadata = Metadata::of(object);
        let addresses = list_at(object, "/status/addresses").iter().filter_map(|address| text_at(address, "/address"));
        // `vsphere://4237-...`, `openstack:///8e1f-...`: on these the last part is the product UUID.
        let uuid = str_at(object, "/spec/providerID").and_then(|id| id.rsplit('/').next()).map(text::printable);
        Self {
            group,
            role: text_at(object, "/metadata/labels/machine.openshift.io~1cluster-api-machine-role"),
            source: Source::of(object.pointer("/spec")),
            node: text_at(object, "/status/nodeRef/name"),
            identities: lower_case(addresses.chain(uuid).chain([metadata.name.clone()])),
            owners: owners(object),
            metadata,
        }
    }

    /// Whether an object of this kind, and this name if one is given, owns it.
    pub(super) fn is_owned_by(&self, kind: &str, name: Option<&str>) -> bool {
        self.owners.iter().any(|(owner, named)| owner == kind && name.is_none_or(|name| name == named))
    }
}

fn lower_case(names: impl Iterator<Item = String>) -> Vec<String> {
    names.map(|name| name.to_ascii_lowercase()).collect()
}

/// HyperShift's `NodePool`.
#[derive(Debug)]
pub(super) struct NodePool {
    pub(super) metadata: Metadata,
    pub(super) replicas: Option<i64>,
    pub(super) architecture: Option<String>,
    pub(super) release_image: Option<String>,
    /// The version of that.
    pub(super) release: Option<String>,
    pub(super) platform: Option<String>,
    pub(super) ami: Option<String>,
}

impl NodePool {
    pub(super) fn of(object: &Value) -> Self {
        Self {
            metadata: Metadata::of(object),
            replicas: object.pointer("/spec/replicas").and_then(Value::as_i64),
            architecture: str_at(object, "/spec/arch").map(of_go),
            release_image: text_at(object, "/spec/release/image"),
            release: text_at(object, "/status/version"),
            platform: text_at(object, "/spec/platform/type"),
            ami: text_at(object, "/spec/platform/aws/ami"),
        }
    }
}

/// A `BareMetalHost` that is installed from an image of its own, and not for a Machine.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) metadata: Metadata,
    pub(super) url: String,
}

impl Host {
    pub(super) fn of(object: &Value) -> Option<Self> {
        let url = text_at(object, "/spec/image/url")?;
        (str_at(object, "/spec/consumerRef/kind") != Some("Machine")).then(|| Self { metadata: Metadata::of(object), url })
    }
}

/// `Node`.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) metadata: Metadata,
    /// What it says it was installed from.
    pub(super) version: Option<ImageVersion>,
    pub(super) node_pool: Option<String>,
    /// The MachineConfigPool, by its config, else by its role.
    pub(super) pool: Option<String>,
    /// A Machine stands for it.
    pub(super) has_machine: bool,
}

impl Node {
    pub(super) fn of(object: &Value) -> Self {
        let config = str_at(object, "/metadata/annotations/machineconfiguration.openshift.io~1currentConfig");
        // `worker` from `rendered-worker-0123456789abcdef0123456789abcdef`
        let rendered = config.and_then(|config| config.strip_prefix("rendered-")?.rsplit_once('-')).map(|(pool, _)| text::printable(pool));
        let has = |path: &str| object.pointer(path).is_some();
        let is_of = |role: &&str| has(&format!("/metadata/labels/node-role.kubernetes.io~1{role}"));
        // The label may have had to be cut; the verdict beside it has the whole version.
        let verdict = str_at(object, "/metadata/annotations/skewguard.dev~1boot-image-verdict");
        let verdict = verdict.and_then(|verdict| serde_json::from_str::<Value>(verdict).ok()).unwrap_or_default();
        let label = text_at(object, "/metadata/labels/skewguard.dev~1boot-image").filter(|label| label != "unknown");
        Self {
            metadata: Metadata::of(object),
            version: text_at(&verdict, "/bootImage/version").or(label).map(|version| ImageVersion::parse(&version)),
            node_pool: text_at(object, "/metadata/labels/hypershift.openshift.io~1nodePool"),
            pool: rendered.or_else(|| ["master", "worker"].into_iter().find(is_of).map(str::to_owned)),
            has_machine: has("/metadata/annotations/machine.openshift.io~1machine")
                || has("/metadata/annotations/cluster.x-k8s.io~1machine"),
        }
    }

    pub(super) fn version_text(&self) -> Option<String> {
        self.version.as_ref().map(|version| version.text.clone())
    }
}

/// A `BootImageReport`, as far as it says which machine had which image.
#[derive(Debug)]
pub(super) struct NodeReport {
    pub(super) metadata: Metadata,
    pub(super) version: Option<String>,
    /// As [`Machine::identities`].
    pub(super) identities: Vec<String>,
}

impl NodeReport {
    pub(super) fn of(object: &Value) -> Self {
        let names = ["/report/node/hostname", "/report/node/productUUID"].into_iter().filter_map(|path| text_at(object, path));
        let addresses = list_at(object, "/report/node/addresses").iter().filter_map(|address| text_at(address, ""));
        Self {
            metadata: Metadata::of(object),
            version: text_at(object, "/report/bootImage/version"),
            identities: lower_case(names.chain(addresses)),
        }
    }
}

/// What the MachineConfiguration `cluster` says, before it is compared with anything.
pub(super) fn skew(object: &Value) -> Option<ClusterSkew> {
    let status = object.pointer("/status/bootImageSkewEnforcementStatus").filter(|status| status.is_object())?;
    let versions = status.pointer("/manual").or_else(|| status.pointer("/automatic")).unwrap_or(&Value::Null);
    Some(ClusterSkew {
        mode: text_at(status, "/mode").unwrap_or_else(|| "unknown".to_owned()),
        rhcos_version: text_at(versions, "/rhcosVersion"),
        ocp_version: text_at(versions, "/ocpVersion"),
        older_in_use: None,
    })
}
