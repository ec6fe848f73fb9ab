//! Sources of Karpenter's nodes (pure): its NodePools, and the node classes that name their image.
//!
//! kubernetes-sigs/karpenter `pkg/apis/v1`; aws/karpenter-provider-aws `pkg/apis/v1` (`EC2NodeClassStatus.amis`);
//! openshift/hypershift `api/karpenter` (`OpenshiftEC2NodeClass`, which makes an EC2NodeClass of the
//! same name with the AMI of its release).

use super::fields::{list_at, str_at, text_at};
use super::groups::{KARPENTER, NODE_POOL};
use super::image::Image;
use super::machine::{Machine, Source};
use super::machine_set::architecture_name;
use super::metadata::{Metadata, condition, conditions};
use crate::platform::Platform;
use serde_json::Value;
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
#[derive(Debug)]
pub struct Pool {
    pub name: String,
    pub kind: String,
    pub class: String,
}

/// `EC2NodeClass`.
#[derive(Debug)]
pub struct NodeClass {
    pub name: String,
    /// HyperShift made it from an `OpenshiftEC2NodeClass`.
    pub is_owned: bool,
    pub amis: Vec<Ami>,
}

#[derive(Debug)]
pub struct Ami {
    pub id: String,
    pub name: Option<String>,
    pub architecture: Option<String>,
}

/// `OpenshiftEC2NodeClass`.
#[derive(Debug)]
pub struct HostedClass {
    pub name: String,
    pub release: Option<String>,
}

impl Pool {
    pub fn of(object: &Value) -> Self {
        let class =
            |path: &str| text_at(object, &format!("/spec/template/spec/nodeClassRef/{path}"));
        Self {
            name: Metadata::of(object).name,
            kind: class("kind").unwrap_or_default(),
            class: class("name").unwrap_or_default(),
        }
    }

    /// `Provisioner`, before Karpenter 0.32.
    pub fn of_provisioner(object: &Value) -> Self {
        Self {
            name: Metadata::of(object).name,
            kind: "AWSNodeTemplate".to_owned(),
            class: text_at(object, "/spec/providerRef/name").unwrap_or_default(),
        }
    }
}

impl NodeClass {
    pub fn of(object: &Value) -> Self {
        let mut owners = list_at(object, "/metadata/ownerReferences").iter();
        Self {
            name: Metadata::of(object).name,
            is_owned: owners.any(|owner| str_at(owner, "/kind") == Some(HOSTED_CLASS)),
            amis: amis(object),
        }
    }
}

impl HostedClass {
    pub fn of(object: &Value) -> Self {
        Self {
            name: Metadata::of(object).name,
            release: text_at(object, "/status/version")
                .or_else(|| text_at(object, "/spec/version")),
        }
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

/// The AMIs that a class resolved, else those that its selector names by their IDs.
fn amis(object: &Value) -> Vec<Ami> {
    let is_arch = |requirement: &&Value| str_at(requirement, "/key") == Some("kubernetes.io/arch");
    let ami = |ami: &Value| {
        let requirements = list_at(ami, "/requirements");
        let arch = requirements.iter().find(is_arch);
        let values = arch
            .map(|arch| list_at(arch, "/values"))
            .unwrap_or_default();
        let is_one = values.len() == 1;
        Some(Ami {
            id: text_at(ami, "/id")?,
            name: text_at(ami, "/name"),
            architecture: values
                .first()
                .filter(|_| is_one)
                .and_then(Value::as_str)
                .map(architecture_name),
        })
    };
    let resolved: Vec<Ami> = list_at(object, "/status/amis")
        .iter()
        .filter_map(ami)
        .collect();
    if resolved.is_empty() {
        let terms = list_at(object, "/spec/amiSelectorTerms").iter();
        return terms.filter_map(ami).collect();
    }
    resolved
}

/// `NodeClaim`, as a Machine of its NodePool.
pub fn machine(object: &Value) -> Machine {
    let conditions = conditions(object);
    let registered = condition(&conditions, "Registered");
    let pool = text_at(object, "/metadata/labels/karpenter.sh~1nodepool");
    let image = text_at(object, "/status/imageID");
    let node = text_at(object, "/status/nodeName");
    Machine {
        group: KARPENTER,
        metadata: Metadata::of(object),
        source: Arc::new(Source {
            image: Image {
                platform: image.as_ref().map(|_| Platform::Aws),
                value: image,
                ..Image::default()
            },
            ..Source::default()
        }),
        provider_id: text_at(object, "/status/providerID"),
        is_provisioned: !registered.is_some_and(|registered| registered.is_true()),
        owners: pool
            .map(|pool| (NODE_POOL.to_owned(), pool))
            .into_iter()
            .collect(),
        node,
        conditions,
        ..Machine::default()
    }
}
