//! Nodes, and the reports of those that did not join (pure).

use super::fields::{list_at, str_at, text_at};
use super::machines::{Metadata, architecture_name, lower_case};
use crate::text;
use crate::verdict::Machine as BornWith;
use crate::version::ImageVersion;
use serde_json::Value;

/// `Node`.
#[derive(Debug)]
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
}

impl Node {
    /// Properties that it was born with, as far as its objects say them.
    pub fn machine(&self) -> BornWith {
        BornWith {
            architecture: self.architecture.clone(),
            ..self.born_with.as_deref().cloned().unwrap_or_default()
        }
    }

    pub fn of(object: &Value) -> Self {
        let config = str_at(
            object,
            "/metadata/annotations/machineconfiguration.openshift.io~1currentConfig",
        );
        // `worker` from `rendered-worker-0123456789abcdef0123456789abcdef`
        let rendered = config
            .and_then(|config| config.strip_prefix("rendered-")?.rsplit_once('-'))
            .map(|(pool, _)| text::printable(pool));
        let has = |path: &str| object.pointer(path).is_some();
        let is_of = |role: &&str| has(&format!("/metadata/labels/node-role.kubernetes.io~1{role}"));
        // The label may have had to be cut; the verdict beside it has the whole version.
        let verdict = str_at(
            object,
            "/metadata/annotations/skewguard.dev~1boot-image-verdict",
        );
        let verdict = verdict
            .and_then(|verdict| serde_json::from_str::<Value>(verdict).ok())
            .unwrap_or_default();
        let label = text_at(object, "/metadata/labels/skewguard.dev~1boot-image")
            .filter(|label| label != "unknown");
        Self {
            metadata: Metadata::of(object),
            version: text_at(&verdict, "/bootImage/version")
                .or(label)
                .map(|version| ImageVersion::parse(&version)),
            node_pool: text_at(object, "/metadata/labels/hypershift.openshift.io~1nodePool"),
            karpenter_pool: text_at(object, "/metadata/labels/karpenter.sh~1nodepool"),
            pool: rendered.or_else(|| {
                ["master", "worker"]
                    .into_iter()
                    .find(is_of)
                    .map(str::to_owned)
            }),
            is_of_machine_api: has("/metadata/annotations/machine.openshift.io~1machine"),
            machine: text_at(
                object,
                "/metadata/annotations/machine.openshift.io~1machine",
            )
            .or_else(|| text_at(object, "/metadata/annotations/cluster.x-k8s.io~1machine")),
            architecture: str_at(object, "/metadata/labels/kubernetes.io~1arch")
                .map(architecture_name),
            region: text_at(object, "/metadata/labels/topology.kubernetes.io~1region"),
            born_with: born_with(&verdict),
        }
    }

    /// Nodes in the order in which they joined.
    pub fn age(&self) -> (&str, &str) {
        (&self.metadata.created, &self.metadata.name)
    }
}

/// When a Node told of itself last.
pub fn last_heartbeat(node: &Value) -> Option<String> {
    let conditions = list_at(node, "/status/conditions").iter();
    conditions
        .filter_map(|condition| text_at(condition, "/lastHeartbeatTime"))
        .max()
}

/// Properties that the machine was born with, by its Node's annotation.
fn born_with(verdict: &Value) -> Option<Box<BornWith>> {
    let secure_boot = verdict.pointer("/machine/secureBoot");
    let born_with = BornWith {
        secure_boot: secure_boot.and_then(Value::as_bool),
        shim: text_at(verdict, "/machine/shim"),
        cpu: text_at(verdict, "/machine/cpu"),
        boot_free_mib: verdict
            .pointer("/machine/bootFreeMiB")
            .and_then(Value::as_u64)
            .and_then(|free| free.try_into().ok()),
        ..BornWith::default()
    };
    (!born_with.is_unknown()).then(|| Box::new(born_with))
}

/// A `BootImageReport`, as far as it says which machine had which image.
#[derive(Debug)]
pub struct NodeReport {
    pub metadata: Metadata,
    pub version: Option<String>,
    /// Names as [`Machine::identities`].
    pub identities: Vec<String>,
}

impl NodeReport {
    pub fn of(object: &Value) -> Self {
        Self {
            metadata: Metadata::of(object),
            // Agents before 0.1.0 had no verdict of its own there.
            version: text_at(object, "/report/verdict/bootImage/version")
                .or_else(|| text_at(object, "/report/bootImage/version")),
            identities: reporter(object),
        }
    }
}

/// Names and addresses of the node that made a report, in lower case.
pub fn reporter(report: &Value) -> Vec<String> {
    let names = ["/report/node/hostname", "/report/node/productUUID"]
        .into_iter()
        .filter_map(|path| text_at(report, path));
    let addresses = list_at(report, "/report/node/addresses")
        .iter()
        .filter_map(|address| text_at(address, ""));
    lower_case(names.chain(addresses))
}
