//! Rows for what Karpenter makes nodes from (pure).

use crate::audit::results::set::{KnownBy, SetKind};
use crate::audit::results::some_of;
use crate::audit::results::upkeep::{Keeper, Rule, Upkeep};
use crate::audit::set::{Place, Set};
use crate::audit::sets::made_from;
use crate::audit::upkeep;
use crate::audit::versions::image_versions::Lookup;
use crate::audit::versions::known_version::KnownVersion;
use crate::platform::Platform;
use crate::version::ImageVersion;
use skewguard_cluster::kinds::image::{Image, WhyNot};
use skewguard_cluster::kinds::karpenter::{Ami, EC2, HostedClass, NodeClass, Pool};
use skewguard_cluster::kinds::node::Node;
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

/// A row for each AMI of a class.
fn class_sets(lookup: &Lookup<'_>, class: &NodeClass, users: &[&str]) -> Vec<Set> {
    let objects = lookup.objects;
    // Hosted clusters alone have the controller, which in newer releases sets no owner
    // (hypershift `karpenter-operator/controllers/nodeclass`).
    let is_surely_hosted = class.is_owned() || objects.is_hosted;
    let is_hosted = is_surely_hosted || !objects.has_topology;
    let mut hosted = objects.karpenter.hosted.iter().filter(|_| is_hosted);
    let hosted = hosted.find(|hosted| hosted.name == class.name);
    let release = hosted.and_then(|hosted| hosted.release.clone());
    let release_open = match (is_surely_hosted, &release) {
        (true, None) => Some("the OpenshiftEC2NodeClass of its name, which says it, was not read"),
        (false, Some(_)) if release != objects.release => {
            Some("Infrastructure cluster, which says whether the cluster is hosted, was not read")
        }
        _ => None,
    };
    let nodes = nodes_of(lookup, users);
    let upkeep = match hosted {
        Some(_) => Upkeep::new(
            Keeper::Release,
            Rule::NodeClassRelease,
            "the OpenshiftEC2NodeClass of the same name takes the AMI of its release",
        ),
        None => Upkeep::nobody(
            Rule::NodeClass,
            "the Machine Config Operator does not look at Karpenter's node classes",
        ),
    };
    // Of several AMIs the nodes are of either.
    let is_one = class.amis.len() <= 1;
    let counted = nodes.iter().copied().filter(|_| is_one);
    let image = Image {
        platform: Some(Platform::Aws),
        region: lookup.region_of(&nodes),
        stream: upkeep::stream(objects, None, None),
        field: Some("amiSelectorTerms".to_owned()),
        ..Image::default()
    };
    let mut set = Set {
        upkeep: Some(upkeep),
        nodes_unread: !(lookup.has_nodes() && is_one),
        nodes: made_from(objects, counted),
        notes: users_note(users).into_iter().collect(),
        path: Place::NodeClass,
        image,
        release,
        release_open,
        ..Set::of(SetKind::EC2NodeClass, "", &*class.name)
    };
    if class.amis.is_empty() {
        set.image.why_not = Some(WhyNot::Selector);
        return vec![set.known_by(lookup)];
    }
    let amis = class.amis.iter();
    amis.map(|ami| ami_set(set.clone(), ami, lookup)).collect()
}

/// The row of a class's AMI.
fn ami_set(mut set: Set, ami: &Ami, lookup: &Lookup<'_>) -> Set {
    set.image.architecture.clone_from(&ami.architecture);
    set.image.value = Some(ami.id.clone());
    set.parts = vec![ami.id.clone()];
    let mut set = set.known_by(lookup);
    let by_name = || {
        let name = ami.name.as_deref()?;
        let from = format!("the AMI's name, {name}");
        let version = ImageVersion::from_image_name(name)?;
        Some(KnownVersion::new(version, KnownBy::ImageName, from))
    };
    set.known = match set.known.take() {
        Some(known) if known.claim.is_none() => Some(known),
        claim => by_name().or(claim),
    };
    set
}

fn hosted_set(lookup: &Lookup<'_>, class: &HostedClass) -> Set {
    let users = lookup.objects.karpenter.users(EC2, &class.name);
    let release = class.release.as_ref();
    let release_note = release.map(|release| format!("release {release}"));
    Set {
        upkeep: Some(Upkeep::new(
            Keeper::Release,
            Rule::NodeClassRelease,
            "it takes the AMI of its release",
        )),
        nodes_unread: !lookup.has_nodes(),
        nodes: made_from(lookup.objects, nodes_of(lookup, &users)),
        notes: release_note.into_iter().chain(users_note(&users)).collect(),
        image: Image {
            platform: Some(Platform::Aws),
            field: Some("spec.version".to_owned()),
            why_not: Some(WhyNot::Release),
            ..Image::default()
        },
        release: class.release.clone(),
        ..Set::of(SetKind::OpenshiftEC2NodeClass, "", &*class.name)
    }
}

/// A NodePool whose class is of another provider, or was not read.
fn pool_set(lookup: &Lookup<'_>, pool: &Pool) -> Set {
    let why_not = if pool.kind == EC2 {
        WhyNot::NodeClassUnread
    } else {
        WhyNot::MakerNotUnderstood
    };
    let note = format!("made by Karpenter from {} {}", pool.kind, pool.class);
    Set {
        nodes_unread: !lookup.has_nodes(),
        nodes: made_from(lookup.objects, nodes_of(lookup, &[&*pool.name])),
        notes: vec![note],
        image: Image {
            why_not: Some(why_not),
            ..Image::default()
        },
        ..Set::of(SetKind::KarpenterNodePool, "", &*pool.name)
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
