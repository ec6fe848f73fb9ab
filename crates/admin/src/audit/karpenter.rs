//! What Karpenter makes nodes from (pure): its NodePools, and the node classes that name their image.
//!
//! kubernetes-sigs/karpenter `pkg/apis/v1`; aws/karpenter-provider-aws `pkg/apis/v1` (`EC2NodeClassStatus.amis`);
//! openshift/hypershift `api/karpenter` (`OpenshiftEC2NodeClass`, which makes an EC2NodeClass of the
//! same name with the AMI of its release).

use super::fields::{list_at, str_at, text_at};
use super::groups::{KARPENTER, KARPENTER_AWS, KARPENTER_HOSTED};
use super::image::Image;
use super::kinds::{Machine, Metadata, Node, Source, architecture_name};
use super::lookup::{KnownVersion, Lookup};
use super::sets::{NODE_POOL, Set, some_of, versions};
use super::upkeep::{Keeper, Rule, Upkeep};
use super::{KnownBy, upkeep};
use crate::version::ImageVersion;
use serde_json::Value;
use std::collections::BTreeSet;

const EC2: &str = "EC2NodeClass";
const HOSTED_CLASS: &str = "OpenshiftEC2NodeClass";

/// What was read of Karpenter's.
#[derive(Debug, Default)]
pub(super) struct Karpenter {
    pools: Vec<Pool>,
    classes: Vec<NodeClass>,
    hosted: Vec<HostedClass>,
}

/// `NodePool`, and the class of its nodes.
#[derive(Debug)]
struct Pool {
    name: String,
    kind: String,
    class: String,
}

/// `EC2NodeClass`.
#[derive(Debug)]
struct NodeClass {
    name: String,
    /// HyperShift made it from an `OpenshiftEC2NodeClass`.
    is_owned: bool,
    amis: Vec<Ami>,
}

#[derive(Debug)]
struct Ami {
    id: String,
    name: Option<String>,
    architecture: Option<String>,
}

/// `OpenshiftEC2NodeClass`.
#[derive(Debug)]
struct HostedClass {
    name: String,
    release: Option<String>,
}

impl Karpenter {
    /// Whether the object is one of Karpenter's; then it is added.
    pub(super) fn add(&mut self, group: &str, kind: &str, object: &Value) -> bool {
        let name = Metadata::of(object).name;
        match (group, kind) {
            (KARPENTER, NODE_POOL) => {
                let class = |path: &str| {
                    text_at(object, &format!("/spec/template/spec/nodeClassRef/{path}"))
                };
                self.pools.push(Pool {
                    name,
                    kind: class("kind").unwrap_or_default(),
                    class: class("name").unwrap_or_default(),
                });
            }
            // Before Karpenter 0.32.
            (KARPENTER, "Provisioner") => self.pools.push(Pool {
                name,
                kind: "AWSNodeTemplate".to_owned(),
                class: text_at(object, "/spec/providerRef/name").unwrap_or_default(),
            }),
            (KARPENTER_AWS, EC2) => self.classes.push(NodeClass {
                name,
                is_owned: list_at(object, "/metadata/ownerReferences")
                    .iter()
                    .any(|owner| str_at(owner, "/kind") == Some(HOSTED_CLASS)),
                amis: amis(object),
            }),
            (KARPENTER_HOSTED, HOSTED_CLASS) => self.hosted.push(HostedClass {
                name,
                release: text_at(object, "/status/version")
                    .or_else(|| text_at(object, "/spec/version")),
            }),
            _ => return false,
        }
        true
    }

    /// Whether a NodePool of this name was read.
    pub(super) fn has(&self, pool: &str) -> bool {
        self.pools.iter().any(|known| known.name == pool)
    }

    /// The NodePools whose nodes are of this class.
    fn users(&self, kind: &str, class: &str) -> Vec<&str> {
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
pub(super) fn machine(object: &Value) -> Machine {
    let is_registered = list_at(object, "/status/conditions")
        .iter()
        .any(|condition| {
            str_at(condition, "/type") == Some("Registered")
                && str_at(condition, "/status") == Some("True")
        });
    let metadata = Metadata::of(object);
    let pool = text_at(object, "/metadata/labels/karpenter.sh~1nodepool");
    let image = text_at(object, "/status/imageID");
    let identities = text_at(object, "/status/nodeName").into_iter();
    Machine {
        group: KARPENTER,
        role: None,
        source: Source {
            image: Image {
                platform: image.as_ref().map(|_| "aws"),
                value: image,
                ..Image::default()
            },
            infrastructure: None,
        },
        node: text_at(object, "/status/nodeName"),
        identities: identities.map(|name| name.to_ascii_lowercase()).collect(),
        provisioned: (!is_registered).then(|| metadata.created.clone()),
        owners: pool
            .map(|pool| (NODE_POOL.to_owned(), pool))
            .into_iter()
            .collect(),
        is_of_node_pool: false,
        metadata,
    }
}

/// A row for each AMI of each class, and one for each NodePool whose class names none.
pub(super) fn sets(lookup: &Lookup<'_>) -> Vec<Set> {
    let karpenter = &lookup.objects.karpenter;
    let mut all = Vec::new();
    for class in &karpenter.classes {
        let users = karpenter.users(EC2, &class.name);
        // A class that no NodePool names makes no nodes.
        if users.is_empty() && !karpenter.pools.is_empty() {
            continue;
        }
        all.extend(class_sets(lookup, class, &users));
    }
    let is_read = |class: &HostedClass| karpenter.classes.iter().any(|own| own.name == class.name);
    let hosted = karpenter.hosted.iter().filter(|class| !is_read(class));
    all.extend(hosted.map(|class| hosted_set(lookup, class)));
    let is_shown = |pool: &Pool| {
        pool.kind == EC2
            && (karpenter
                .classes
                .iter()
                .any(|class| class.name == pool.class)
                || karpenter
                    .hosted
                    .iter()
                    .any(|class| class.name == pool.class))
    };
    let others = karpenter.pools.iter().filter(|pool| !is_shown(pool));
    all.extend(others.map(|pool| pool_set(lookup, pool)));
    all
}

fn class_sets(lookup: &Lookup<'_>, class: &NodeClass, users: &[&str]) -> Vec<Set> {
    let hosted = lookup.objects.karpenter.hosted.iter();
    // Hosted clusters alone have the controller, which in newer releases sets no owner
    // (hypershift `karpenter-operator/controllers/nodeclass`).
    let objects = lookup.objects;
    let is_hosted = class.is_owned || objects.is_hosted || !objects.has_infrastructure;
    let hosted = hosted.clone().find(|hosted| hosted.name == class.name);
    let hosted = hosted.filter(|_| is_hosted);
    let nodes = nodes_of(lookup, users);
    let to_set = |ami: Option<&Ami>| {
        let set = Set {
            kind: EC2,
            group: KARPENTER_AWS,
            name: class.name.clone(),
            path: "spec.",
            architecture: ami.and_then(|ami| ami.architecture.clone()),
            image: Image {
                platform: Some("aws"),
                region: lookup.region_of(&nodes),
                field: Some("amiSelectorTerms".to_owned()),
                value: ami.map(|ami| ami.id.clone()),
                why_not: ami.is_none().then_some(
                    "a selector chooses the AMI (spec.amiSelectorTerms), and no status says which it is",
                ),
                ..Image::default()
            },
            stream: upkeep::stream(lookup.objects, None, None),
            release: hosted.and_then(|hosted| hosted.release.clone()),
            upkeep: Some(match hosted {
                Some(_) => Upkeep::new(
                    Keeper::Release,
                    Rule::NodeClassRelease,
                    "the OpenshiftEC2NodeClass of the same name takes the AMI of its release",
                ),
                None => Upkeep::new(
                    Keeper::Nobody,
                    Rule::NodeClass,
                    "the Machine Config Operator does not look at Karpenter's node classes",
                ),
            }),
            // Of several AMIs the nodes are of either.
            nodes: if class.amis.len() > 1 {
                Vec::new()
            } else {
                versions(lookup.objects, nodes.iter().copied())
            },
            notes: users_note(users).into_iter().collect(),
            ..Set::default()
        };
        let mut set = set.known_by(lookup);
        let name = ami.and_then(|ami| ami.name.as_deref());
        set.known = set.known.or_else(|| {
            let name = name?;
            Some(KnownVersion {
                version: ImageVersion::from_image_name(name)?,
                by: KnownBy::ImageName,
                from: format!("the AMI's name, {name}"),
            })
        });
        set
    };
    if class.amis.is_empty() {
        return vec![to_set(None)];
    }
    class.amis.iter().map(|ami| to_set(Some(ami))).collect()
}

fn hosted_set(lookup: &Lookup<'_>, class: &HostedClass) -> Set {
    let users = lookup.objects.karpenter.users(EC2, &class.name);
    let release = class.release.as_ref();
    let release_note = release.map(|release| format!("release {release}"));
    Set {
        kind: HOSTED_CLASS,
        group: KARPENTER_HOSTED,
        name: class.name.clone(),
        image: Image {
            platform: Some("aws"),
            field: Some("spec.version".to_owned()),
            why_not: Some("a release does not say which boot image is in it"),
            ..Image::default()
        },
        release: class.release.clone(),
        upkeep: Some(Upkeep::new(
            Keeper::Release,
            Rule::NodeClassRelease,
            "it takes the AMI of its release",
        )),
        nodes: versions(lookup.objects, nodes_of(lookup, &users)),
        notes: release_note.into_iter().chain(users_note(&users)).collect(),
        ..Set::default()
    }
}

/// A NodePool whose class is of another provider, or was not read.
fn pool_set(lookup: &Lookup<'_>, pool: &Pool) -> Set {
    let why_not = if pool.kind == EC2 {
        "its EC2NodeClass was not read"
    } else {
        "what makes its nodes is not understood"
    };
    let nodes = nodes_of(lookup, &[&*pool.name]);
    Set {
        kind: NODE_POOL,
        group: KARPENTER,
        name: pool.name.clone(),
        image: Image {
            why_not: Some(why_not),
            ..Image::default()
        },
        nodes: versions(lookup.objects, nodes),
        notes: vec![format!(
            "made by Karpenter from {} {}",
            pool.kind, pool.class
        )],
        ..Set::default()
    }
}

fn users_note(users: &[&str]) -> Option<String> {
    (!users.is_empty()).then(|| {
        format!(
            "Karpenter makes nodes from it for NodePool {}",
            some_of(users)
        )
    })
}

fn nodes_of<'a>(lookup: &Lookup<'a>, pools: &[&str]) -> Vec<&'a Node> {
    let pools: BTreeSet<&str> = pools.iter().copied().collect();
    let is_of = |node: &&Node| {
        let pool = node.karpenter_pool.as_deref();
        pool.is_some_and(|pool| pools.contains(pool))
    };
    lookup.objects.nodes.iter().filter(is_of).collect()
}
