//! Sources of Karpenter's nodes (pure): its NodePools, and the node classes that name their image.
//!
//! kubernetes-sigs/karpenter `pkg/apis/v1`; aws/karpenter-provider-aws `pkg/apis/v1` (`EC2NodeClassStatus.amis`);
//! openshift/hypershift `api/karpenter` (`OpenshiftEC2NodeClass`, which makes an EC2NodeClass of the
//! same name with the AMI of its release).

use super::groups::{KARPENTER, NODE_POOL};
use super::image::Image;
use super::machine::{Machine, Source};
use super::metadata::{Condition, Metadata, condition, conditions};
use super::readers::{architecture_name, references};
use crate::platform::Platform;
use serde::{Deserialize, Deserializer};
use std::sync::Arc;

pub const EC2: &str = "EC2NodeClass";
pub const HOSTED_CLASS: &str = "OpenshiftEC2NodeClass";

/// Karpenter's objects.
#[derive(Debug, Default)]
pub struct Karpenter {
    pub pools: Vec<Pool>,
    pub classes: Vec<NodeClass>,
    pub hosted: Vec<HostedClass>,
}

/// `NodePool`, and the class of its nodes.
#[derive(Debug, Default, Deserialize)]
pub struct Pool {
    #[serde(rename = "metadata.name")]
    pub name: String,
    #[serde(rename = "spec.template.spec.nodeClassRef.kind")]
    pub kind: String,
    #[serde(rename = "spec.template.spec.nodeClassRef.name")]
    pub class: String,
}

/// `EC2NodeClass`.
#[derive(Debug, Default, Deserialize)]
pub struct NodeClass {
    #[serde(rename = "metadata.name")]
    pub name: String,
    #[serde(rename = "metadata.ownerReferences", deserialize_with = "references")]
    owners: Vec<(String, String)>,
    #[serde(rename = ".", deserialize_with = "amis")]
    pub amis: Vec<Ami>,
}

#[derive(Debug, Deserialize)]
pub struct Ami {
    pub id: String,
    pub name: Option<String>,
    #[serde(rename = "requirements", deserialize_with = "architecture")]
    pub architecture: Option<String>,
}

/// `OpenshiftEC2NodeClass`.
#[derive(Debug, Default, Deserialize)]
pub struct HostedClass {
    #[serde(rename = "metadata.name")]
    pub name: String,
    #[serde(rename = "status.version|spec.version")]
    pub release: Option<String>,
}

impl NodeClass {
    /// HyperShift made it from an `OpenshiftEC2NodeClass`.
    pub fn is_owned(&self) -> bool {
        self.owners.iter().any(|(kind, _)| kind == HOSTED_CLASS)
    }
}

impl Karpenter {
    /// Tells whether a NodePool of this name was read.
    pub fn has(&self, pool: &str) -> bool {
        self.pools.iter().any(|known| known.name == pool)
    }

    /// The NodePools whose nodes are of this class.
    pub fn users(&self, kind: &str, class: &str) -> Vec<&str> {
        let is_user = |pool: &&Pool| pool.kind == kind && pool.class == class;
        let users = self.pools.iter().filter(is_user);
        users.map(|pool| pool.name.as_str()).collect()
    }
}

/// The AMIs that a class resolved, and those that its selector names by their IDs.
fn amis<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Ami>, D::Error> {
    #[derive(Deserialize)]
    struct Class {
        #[serde(rename = "status.amis")]
        resolved: Vec<Ami>,
        #[serde(rename = "spec.amiSelectorTerms")]
        selected: Vec<Ami>,
    }

    let Class { resolved, selected } = Class::deserialize(deserializer)?;
    let mut all: Vec<Ami> = Vec::new();
    for ami in resolved.into_iter().chain(selected) {
        if !ami.id.is_empty() && !all.iter().any(|known| known.id == ami.id) {
            all.push(ami);
        }
    }
    Ok(all)
}

/// The architecture that an AMI is for, where it is for one.
fn architecture<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    struct Requirement {
        key: String,
        values: Vec<String>,
    }

    let all = Vec::<Requirement>::deserialize(deserializer)?;
    let arch = all.iter().find(|wanted| wanted.key == "kubernetes.io/arch");
    Ok(match arch.map(|wanted| &*wanted.values) {
        Some([one]) => Some(architecture_name(one)),
        _ => None,
    })
}

/// `NodeClaim`.
#[derive(Debug, Default, Deserialize)]
pub struct NodeClaim {
    metadata: Metadata,
    #[serde(rename = "metadata.labels.karpenter.sh/nodepool")]
    pool: Option<String>,
    #[serde(rename = "status.imageID")]
    image: Option<String>,
    #[serde(rename = "status.nodeName")]
    node: Option<String>,
    #[serde(rename = "status.providerID")]
    provider_id: Option<String>,
    #[serde(rename = "status.conditions", deserialize_with = "conditions")]
    conditions: Vec<Condition>,
}

/// A Machine of its NodePool.
impl From<NodeClaim> for Machine {
    fn from(claim: NodeClaim) -> Self {
        let registered = condition(&claim.conditions, "Registered");
        let pool = claim.pool.into_iter();
        Self {
            group: KARPENTER,
            metadata: claim.metadata,
            source: Arc::new(Source {
                image: Image {
                    platform: claim.image.as_ref().map(|_| Platform::Aws),
                    value: claim.image,
                    ..Image::default()
                },
                ..Source::default()
            }),
            provider_id: claim.provider_id,
            is_unregistered: !registered.is_some_and(Condition::is_true),
            owners: pool.map(|pool| (NODE_POOL.to_owned(), pool)).collect(),
            node: claim.node,
            conditions: claim.conditions,
            ..Self::default()
        }
    }
}
