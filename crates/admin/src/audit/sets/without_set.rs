//! Nodes' sources without a set (pure): machines, hosts, and nodes that no Machine stands for (pure).

use crate::audit::operator::skew;
use crate::audit::results::set::{KnownBy, SetKind};
use crate::audit::results::upkeep::{Rule, Upkeep};
use crate::audit::set::{Place, Set, repeated};
use crate::audit::sets::made_from;
use crate::audit::upkeep;
use crate::audit::upkeep::upkeep_rules;
use crate::audit::verdict::cpu;
use crate::audit::versions::image_versions::Lookup;
use crate::audit::versions::known_version::{
    KnownVersion, by_newest_node, contradiction, is_other,
};
use crate::platform::Platform;
use crate::version::ImageVersion;
use skewguard_cluster::cluster::Cluster as Objects;
use skewguard_cluster::kinds::groups::MACHINE_API;
use skewguard_cluster::kinds::host::{Host, HostSource};
use skewguard_cluster::kinds::image::{INSTALL_COREOS, Image, WhyNot};
use skewguard_cluster::kinds::machine::Machine;
use skewguard_cluster::kinds::node::Node;
use skewguard_cluster::kinds::site::Site;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) fn without_set(lookup: &Lookup<'_>) -> Vec<Set> {
    let objects = lookup.objects;
    let mut all = machines(objects, lookup);
    all.extend(hosts(objects, lookup));
    name_apart(&mut all);
    all.extend(nodes(lookup));
    all
}

/// Name of a row without a set: what its members have in common, and the last part of their image.
/// Members come and go, and are read in any order.
fn row_name(what: &str, image: Option<&str>) -> String {
    let image = image.unwrap_or("no image");
    format!("{what}: {}", image.rsplit('/').next().unwrap_or(image))
}

/// Rows of one name get the whole name of their image, and its digest where that does not tell them apart.
fn name_apart(sets: &mut [Set]) {
    let key = |set: &Set| (set.kind, set.namespace.clone(), set.name.clone());
    let several = repeated(sets.iter().map(key));
    for set in sets.iter_mut().filter(|set| several.contains(&key(set))) {
        let what = set.name.split_once(": ").map(|(what, _)| what);
        if let (Some(what), Some(image)) = (what, &set.image.value) {
            let whole = set.image.site.whole.map(|whole| format!(" #{whole:016x}"));
            set.name = format!("{what}: {image}{}", whole.unwrap_or_default());
        }
    }
}

/// Namespace, role and image of Machines that share a row.
type Alike<'a> = (&'a String, &'a str, (Option<String>, Option<u64>));

/// Machines that no set owns, such as a control plane's without a ControlPlaneMachineSet: by role
/// and image.
fn machines(objects: &Objects, lookup: &Lookup<'_>) -> Vec<Set> {
    let mut groups: BTreeMap<_, Vec<&Machine>> = BTreeMap::new();
    let is_owned = |machine: &Machine| {
        machine.is_owned_by("MachineSet", None)
            || machine.is_owned_by("ControlPlaneMachineSet", None)
    };
    for machine in objects
        .machines
        .iter()
        .filter(|machine| machine.group == MACHINE_API && !is_owned(machine))
    {
        let image = objects.image_of(&machine.metadata, &machine.source);
        let image = (image.value, image.site.whole);
        groups
            .entry((
                &machine.metadata.namespace,
                machine.role.as_deref().unwrap_or("no role"),
                image,
            ))
            .or_default()
            .push(machine);
    }
    let to_set = |((namespace, role, (image, _)), machines): (Alike<'_>, Vec<&Machine>)| {
        let mut members: Vec<String> = machines
            .iter()
            .map(|machine| machine.metadata.name.clone())
            .collect();
        members.sort();
        let nodes = lookup.nodes_of(machines.iter().copied());
        let own = machines
            .first()
            .map(|machine| objects.image_of(&machine.metadata, &machine.source))
            .unwrap_or_default();
        let set = Set {
            members,
            upkeep: Some(Upkeep::nobody(
                Rule::WithoutSet,
                "no set makes machines of it",
            )),
            nodes_unread: !lookup.has_nodes(),
            nodes: made_from(objects, nodes.iter().copied()),
            path: Place::Machine,
            image: Image {
                architecture: lookup.architecture_of(&nodes, &own),
                stream: upkeep::stream(objects, None, None),
                instance_cpu: cpu::of_set(&own, &nodes),
                ..own
            },
            ..Set::of(
                SetKind::Machine,
                namespace,
                row_name(role, image.as_deref()),
            )
        };
        by_running(set.known_by(lookup), &nodes, objects)
    };
    groups.into_iter().map(to_set).collect()
}

/// A Machine that runs is judged by what it was made from, whatever its spec says by now.
fn by_running(mut set: Set, nodes: &[&Node], objects: &Objects) -> Set {
    let Some(known) = &set.known else {
        return set;
    };
    let says = |node: &&Node| {
        let (version, by) = objects.version_of(node)?;
        Some((node.metadata.name.clone(), version, by))
    };
    let all: Vec<(String, ImageVersion, _)> = nodes.iter().filter_map(says).collect();
    let others = all
        .iter()
        .filter(|(_, version, _)| is_other(version, &known.version));
    let older = |a, b| {
        let (_, of_a, _): &(_, ImageVersion, _) = a;
        let (_, of_b, _): &(_, ImageVersion, _) = b;
        if skew::is_older(of_b, of_a) { b } else { a }
    };
    let Some((name, version, by)) = others.reduce(older) else {
        return set;
    };
    let note = format!(
        "the spec names {}: a Machine that runs is judged by what it was made from",
        known.version
    );
    let pairs = all.iter().map(|(name, version, _)| (&**name, version));
    let claim = match by {
        KnownBy::Aleph => None,
        _ => contradiction((name, version), pairs),
    };
    set.known = Some(KnownVersion {
        claim,
        ..KnownVersion::new(version.clone(), *by, format!("Node {name}"))
    });
    set.notes = vec![note];
    set.is_made_from_another = true;
    set
}

/// Hosts that are installed from an image of their own: by that image.
fn hosts(objects: &Objects, lookup: &Lookup<'_>) -> Vec<Set> {
    let mut groups: BTreeMap<_, Vec<&Host>> = BTreeMap::new();
    for host in objects.hosts_on_their_own() {
        groups
            .entry((&host.metadata.namespace, &host.source))
            .or_default()
            .push(host);
    }
    let to_set = |((namespace, source), hosts): ((&String, &HostSource), Vec<&Host>)| {
        let mut members: Vec<String> = hosts
            .iter()
            .map(|host| host.metadata.name.clone())
            .collect();
        members.sort();
        let states = hosts.iter().map(|host| {
            (
                host.metadata.name.clone(),
                Some(host.state.clone()).filter(|state| !state.is_empty()),
            )
        });
        let HostSource {
            url, pool, stream, ..
        } = source;
        let pool_name = pool.as_deref().unwrap_or("no pool");
        let what = match stream {
            Some(stream) => format!("{pool_name} {stream}"),
            None => pool_name.to_owned(),
        };
        let image = Image {
            platform: Some(Platform::Metal),
            field: url.as_ref().map(|_| "spec.image.url".to_owned()),
            value: url.clone(),
            pool: pool.clone(),
            stream: upkeep::stream(objects, stream.as_deref(), pool.as_deref()),
            is_of_release: url.is_none(),
            site: Site::of_whole(source.whole),
            ..Image::default()
        };
        let name = row_name(&what, Some(url.as_deref().unwrap_or(INSTALL_COREOS)));
        let set = Set {
            members,
            upkeep: Some(upkeep_rules::bare_metal(url.is_none(), objects)),
            nodes_unread: true,
            hosts: states.collect(),
            owner: hosts.iter().find_map(|host| host.owner.clone()),
            image,
            ..Set::of(SetKind::BareMetalHost, namespace, name)
        };
        set.known_by(lookup)
    };
    groups.into_iter().map(to_set).collect()
}

/// Nodes without a Machine.
fn loose_nodes<'a>(lookup: &Lookup<'a>) -> impl Iterator<Item = &'a Node> {
    let objects = lookup.objects;
    let pools = objects.node_pools.iter();
    let pools: BTreeSet<&String> = pools.map(|pool| &pool.metadata.name).collect();
    let is_karpenters = |node: &Node| {
        let pool = node.karpenter_pool.as_deref();
        pool.is_some_and(|pool| objects.karpenter.has(pool))
    };
    objects.nodes.iter().filter(move |node| {
        let pool = node.node_pool.as_ref();
        // The Machines of a hosted cluster are in another cluster, and not read.
        (node.machine.is_none() || pool.is_some())
            && lookup.links.machine_of(node).is_none()
            && !is_karpenters(node)
            && pool.is_none_or(|pool| !pools.contains(pool))
    })
}

/// Nodes without a Machine, by pool. No object says how the next one is made; most likely like the
/// newest one.
fn nodes(lookup: &Lookup<'_>) -> Vec<Set> {
    let objects = lookup.objects;
    let mut groups: BTreeMap<_, Vec<&Node>> = BTreeMap::new();
    for node in loose_nodes(lookup) {
        let group = match (&node.node_pool, &node.pool) {
            (Some(pool), _) => (SetKind::NodePool, pool.as_str()),
            (None, pool) => (
                SetKind::MachineConfigPool,
                pool.as_deref().unwrap_or("no pool"),
            ),
        };
        groups.entry(group).or_default().push(node);
    }
    let to_set = |((kind, pool), nodes): ((_, &str), Vec<&Node>)| {
        let why_not = Some(WhyNot::Unlabelled);
        let newest = nodes.iter().copied().max_by(|a, b| a.age().cmp(&b.age()));
        // Any of those that do not say when they were made may be the newest.
        let versions = nodes
            .iter()
            .map(|node| objects.version_of(node).map(|(version, _)| version.text));
        let versions: BTreeSet<Option<String>> = versions.collect();
        let is_ordered = nodes.iter().all(|node| node.metadata.created.is_some());
        Set {
            nodes: made_from(objects, nodes.iter().copied()),
            notes: vec!["made without the Machine API: judged as if the next node were made like the newest one".to_owned()],
            image: Image {
                pool: Some(pool.to_owned()),
                why_not,
                architecture: newest.and_then(|newest| newest.architecture.clone()),
                instance_cpu: cpu::of_set(&Image::default(), &nodes),
                ..Image::default()
            },
            known: newest
                .filter(|newest| objects.version_of(newest).is_some())
                .filter(|_| is_ordered || versions.len() == 1)
                .and_then(|_| by_newest_node(objects, nodes.into_iter(), false, &mut Vec::new()))
                // The nodes of a pool need not be of one image.
                .map(|known| KnownVersion {
                    claim: None,
                    ..known
                }),
            ..Set::of(kind, "", pool)
        }
    };
    groups.into_iter().map(to_set).collect()
}
