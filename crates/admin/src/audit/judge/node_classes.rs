//! Rows for what Karpenter makes nodes from (pure).

use super::image_versions::{KnownVersion, Lookup};
use super::sets::{Set, versions};
use super::upkeep;
use crate::audit::cluster::image::Image;
use crate::audit::cluster::karpenter::{Ami, EC2, HOSTED_CLASS, HostedClass, NodeClass, Pool};
use crate::audit::cluster::kind_table::{KARPENTER, KARPENTER_AWS, KARPENTER_HOSTED, NODE_POOL};
use crate::audit::cluster::kinds::Node;
use crate::audit::results::upkeep::{Keeper, Rule, Upkeep};
use crate::audit::results::{KnownBy, some_of};
use crate::platform::Platform;
use crate::version::ImageVersion;
use std::collections::BTreeSet;

/// A row for each AMI of each class, and one for each NodePool whose class names none.
pub(crate) fn sets(lookup: &Lookup<'_>) -> Vec<Set> {
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
                platform: Some(Platform::Aws),
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
            is_nodes_read: lookup.has_nodes() && class.amis.len() <= 1,
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
            platform: Some(Platform::Aws),
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
        is_nodes_read: lookup.has_nodes(),
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
        is_nodes_read: lookup.has_nodes(),
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
