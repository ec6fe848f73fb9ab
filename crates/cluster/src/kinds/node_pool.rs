//! HyperShift's `NodePool` (pure).

use super::machine_set::architecture_name;
use super::metadata::{Condition, Metadata, Object, Reference, bounded, condition};
use super::owner;
use super::platforms::{audit_row, first};
use crate::lenient::Raw;
use crate::platform::Platform;
use serde::Deserialize;
use serde_json::{Map, Value};

/// HyperShift's `NodePool`.
#[derive(Debug, Default)]
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
    pub conditions: Vec<Condition>,
    /// Machines that it wants, at least.
    pub wanted: usize,
    /// The stream that it is pinned to.
    pub pinned: Option<String>,
    /// The ConfigMaps of `spec.config`.
    pub config: Vec<String>,
    /// The stream of its nodes now.
    pub stream: Option<String>,
    /// `Replace` or `InPlace`.
    pub upgrade: Option<String>,
    /// Way in which `Replace` goes on: `RollingUpdate`, `OnDelete`.
    pub strategy: Option<String>,
    pub owner: Option<String>,
}

/// An image that a NodePool names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodePoolImage {
    pub platform: Platform,
    pub field: String,
    pub value: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    replicas: Option<i64>,
    arch: Option<String>,
    release: Release,
    platform: Option<Raw<Map<String, Value>>>,
    management: Management,
    os_image_stream: Reference,
    config: Vec<Reference>,
    auto_scaling: AutoScaling,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AutoScaling {
    min: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Release {
    image: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Management {
    upgrade_type: Option<String>,
    replace: Replace,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Replace {
    strategy: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Status {
    version: Option<String>,
    conditions: Vec<Condition>,
    os_image_stream: Option<Stream>,
}

/// A stream, by its name or as an object that has it.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Stream {
    Name(String),
    Object { name: String },
}

/// Conditions that say whether the nodes reached Ignition's server, and are machines and healthy
/// (openshift/hypershift `nodepool_conditions.go`).
const SHOWN: [&str; 4] = [
    "ReachedIgnitionEndpoint",
    "AllMachinesReady",
    "AllNodesHealthy",
    "ValidPlatformImage",
];

impl NodePool {
    /// `whole` is the object itself, for the signs of who writes it.
    pub fn of(object: Object<Spec, Status>, whole: &Value) -> Self {
        let Object {
            metadata,
            spec,
            status,
        } = object;
        let platform = spec.platform.map(|Raw(platform)| Value::Object(platform));
        let kind = platform.as_ref().and_then(|of| of.get("type"));
        Self {
            metadata: metadata.kept(),
            wanted: (spec.replicas.or(spec.auto_scaling.min))
                .and_then(|wanted| wanted.try_into().ok())
                .unwrap_or_default(),
            replicas: spec.replicas,
            architecture: spec.arch.as_deref().map(architecture_name),
            release_image: spec.release.image,
            release: status.version,
            platform: kind.and_then(Value::as_str).map(crate::text::printable),
            image: platform.as_ref().and_then(NodePoolImage::of),
            conditions: bounded(status.conditions),
            upgrade: spec.management.upgrade_type,
            strategy: spec.management.replace.strategy,
            owner: owner::owner(whole),
            pinned: spec.os_image_stream.name,
            config: (spec.config.into_iter())
                .filter_map(|config| config.name)
                .collect(),
            stream: status.os_image_stream.map(|stream| match stream {
                Stream::Name(name) | Stream::Object { name } => name,
            }),
        }
    }

    /// Conditions of its nodes, in words.
    pub fn says(&self) -> Option<String> {
        let says = |name: &&str| {
            let found = condition(&self.conditions, name)?;
            let Condition {
                status, message, ..
            } = found;
            Some(if message.is_empty() || found.is_true() {
                format!("{name} {status}")
            } else {
                format!("{name} {status} ({message})")
            })
        };
        let says: Vec<String> = SHOWN.iter().filter_map(says).collect();
        (!says.is_empty()).then(|| format!("conditions: {}", says.join(", ")))
    }
}

impl NodePoolImage {
    fn of(platforms: &Value) -> Option<Self> {
        Platform::ALL.into_iter().find_map(|platform| {
            let (field, value) = first(audit_row(platform).node_pool, platforms)?;
            Some(Self {
                platform,
                field: format!("spec.platform.{field}"),
                value,
            })
        })
    }
}
