//! HyperShift's `NodePool` and `HostedCluster` (pure).

use super::cluster_version::Update;
use super::fields::at;
use super::image::{Image, WhyNot, nameless};
use super::metadata::{Condition, Metadata, condition, conditions};
use super::owner::owner;
use super::platforms::{audit_row, first, unfit};
use super::readers::{architecture, is_windows, names};
use crate::lenient::Raw;
use crate::platform::Platform;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// HyperShift's `NodePool`.
#[derive(Debug, Default, Deserialize)]
pub struct NodePool {
    pub metadata: Metadata,
    /// The HostedCluster in its namespace.
    #[serde(rename = "spec.clusterName")]
    pub cluster: Option<String>,
    #[serde(rename = "spec.replicas")]
    pub replicas: Option<i64>,
    #[serde(rename = "spec.arch", deserialize_with = "architecture")]
    pub architecture: Option<String>,
    #[serde(rename = "spec.release.image")]
    pub release_image: Option<String>,
    /// The version of that.
    #[serde(rename = "status.version")]
    pub release: Option<String>,
    #[serde(rename = "spec.platform.type")]
    pub platform: Option<String>,
    /// It has no boot image of the release's.
    #[serde(
        rename = "spec.platform.aws.imageType",
        deserialize_with = "is_windows"
    )]
    pub is_windows: bool,
    /// The image that it names in place of its release's.
    #[serde(rename = "spec.platform", deserialize_with = "image")]
    pub image: Option<Image>,
    #[serde(rename = "status.conditions", deserialize_with = "conditions")]
    pub conditions: Vec<Condition>,
    /// Machines that it wants, at least.
    #[serde(
        rename = "spec.replicas|spec.autoScaling.min",
        deserialize_with = "wanted"
    )]
    pub wanted: usize,
    /// Nodes of it that are available, as it says.
    #[serde(rename = "status.replicas")]
    pub available: Option<i64>,
    /// `true`, or the time until which its controller leaves it alone.
    #[serde(rename = "spec.pausedUntil")]
    pub paused_until: Option<String>,
    /// The stream that it is pinned to.
    #[serde(rename = "spec.osImageStream.name")]
    pub pinned: Option<String>,
    /// The ConfigMaps of `spec.config`.
    #[serde(rename = "spec.config", deserialize_with = "names")]
    pub config: Vec<String>,
    /// `Replace` or `InPlace`.
    #[serde(rename = "spec.management.upgradeType")]
    pub upgrade: Option<String>,
    /// Way in which `Replace` goes on: `RollingUpdate`, `OnDelete`.
    #[serde(rename = "spec.management.replace.strategy")]
    pub strategy: Option<String>,
    #[serde(rename = ".metadata", deserialize_with = "owner")]
    pub owner: Option<String>,
}

/// HyperShift's `HostedCluster`.
#[derive(Debug, Default, Deserialize)]
pub struct HostedCluster {
    pub metadata: Metadata,
    #[serde(rename = "status.conditions", deserialize_with = "conditions")]
    pub conditions: Vec<Condition>,
    /// The newest first.
    #[serde(rename = "status.version.history")]
    history: Vec<Update>,
}

impl HostedCluster {
    /// The release of its control plane, which is another one than that of the cluster that hosts it.
    pub fn release(&self) -> Option<&str> {
        self.history.first()?.version.as_deref()
    }

    /// The namespace of its control plane and of its Machines.
    pub fn control_plane(&self) -> String {
        let Metadata {
            namespace, name, ..
        } = &self.metadata;
        format!("{namespace}-{name}").replace('.', "-")
    }
}

fn wanted<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let wanted = i64::deserialize(deserializer)?;
    Ok(wanted.try_into().unwrap_or_default())
}

fn image<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Image>, D::Error> {
    let Raw(platforms) = Raw::<Value>::deserialize(deserializer)?;
    let image = |platform| {
        let row = audit_row(platform);
        let (field, value) = first(row.node_pool, &platforms).unzip();
        let has = |path: &str| at(&platforms, path).is_some_and(Value::is_object);
        let half = || {
            if let Some(field) = unfit(row.node_pool, &platforms) {
                return Some(field);
            }
            let [object, other] = row.node_pool_object?;
            (has(object) && (other.is_empty() || !has(other))).then_some(object)
        };
        let field = field.or_else(|| half().map(str::to_owned))?;
        Some(Image {
            platform: Some(platform),
            field: Some(format!("spec.platform.{field}")),
            why_not: match &value {
                Some(value) => nameless(platform, value, &Value::Null),
                // It is named by half, or otherwise than is read.
                None => Some(WhyNot::FieldNotUnderstood),
            },
            value,
            ..Image::default()
        })
    };
    Ok(Platform::ALL.into_iter().find_map(image))
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
