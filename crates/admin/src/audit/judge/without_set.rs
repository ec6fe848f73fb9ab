//! What makes nodes without a set: machines, hosts, and nodes that no Machine stands for (pure).

use super::image_versions::{Lookup, by_newest_node};
use super::sets::{Set, versions};
use super::{upkeep, upkeep_rules};
use crate::audit::cluster::image::Image;
use crate::audit::cluster::kind_table::{
    HYPERSHIFT, MACHINE_API, MACHINE_CONFIG, METAL, NODE_POOL,
};
use crate::audit::cluster::kinds::{HostSource, Machine, Node};
use crate::audit::cluster::objects::Objects;
use crate::audit::results::some_of;
use crate::audit::results::upkeep::{Keeper, Rule, Upkeep};
use crate::platform::Platform;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) fn without_set(lookup: &Lookup<'_>) -> Vec<Set> {
    let objects = lookup.objects;
    let mut all = machines(objects, lookup);
    all.extend(hosts(objects, lookup));
    all.extend(nodes(objects));
    all
}

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
        let image = objects.image_of(&machine.metadata, &machine.source).value;
        groups
            .entry((
                &machine.metadata.namespace,
                machine.role.as_deref().unwrap_or("no role"),
                image,
            ))
            .or_default()
            .push(machine);
    }
    let to_set = |((namespace, role, _), machines): ((&String, &str, _), Vec<&Machine>)| {
        let names: Vec<&str> = machines
            .iter()
            .map(|machine| machine.metadata.name.as_str())
            .collect();
        let nodes = lookup.nodes_of(machines.iter().copied());
        let set = Set {
            kind: "Machine",
            group: MACHINE_API,
            namespace: namespace.clone(),
            name: format!("{role}: {}", some_of(&names)),
            path: "spec.providerSpec.value.",
            image: machines
                .first()
                .map(|machine| objects.image_of(&machine.metadata, &machine.source))
                .unwrap_or_default(),
            stream: upkeep::stream(objects, None, None),
            upkeep: Some(Upkeep::new(
                Keeper::Nobody,
                Rule::WithoutSet,
                "no set makes machines of it",
            )),
            architecture: lookup.architecture_of(&nodes),
            nodes: versions(objects, nodes),
            ..Set::default()
        };
        set.known_by(lookup)
    };
    groups.into_iter().map(to_set).collect()
}

/// Hosts that are installed from an image of their own: by that image.
fn hosts(objects: &Objects, lookup: &Lookup<'_>) -> Vec<Set> {
    let mut groups: BTreeMap<_, Vec<&str>> = BTreeMap::new();
    for host in &objects.hosts {
        groups
            .entry((&host.metadata.namespace, &host.source))
            .or_default()
            .push(&host.metadata.name);
    }
    let to_set = |((namespace, source), names): ((&String, &HostSource), Vec<&str>)| {
        let HostSource { url, pool, stream } = source;
        let image = Image {
            platform: Some(Platform::Metal),
            field: url.as_ref().map(|_| "spec.image.url".to_owned()),
            value: url.clone(),
            pool: pool.clone(),
            is_of_release: url.is_none(),
            ..Image::default()
        };
        let set = Set {
            kind: "BareMetalHost",
            group: METAL,
            namespace: namespace.clone(),
            name: some_of(&names),
            stream: upkeep::stream(objects, stream.as_deref(), pool.as_deref()),
            upkeep: Some(upkeep_rules::bare_metal(url.is_none(), objects)),
            image,
            ..Set::default()
        };
        set.known_by(lookup)
    };
    groups.into_iter().map(to_set).collect()
}

/// Nodes without a Machine, by pool. No object says how the next one is made; most likely like the
/// newest one.
fn nodes(objects: &Objects) -> Vec<Set> {
    let with_machine: BTreeSet<&str> = objects
        .machines
        .iter()
        .filter_map(|machine| machine.node.as_deref())
        .collect();
    let pools: BTreeSet<&String> = objects
        .node_pools
        .iter()
        .map(|pool| &pool.metadata.name)
        .collect();
    let mut groups: BTreeMap<_, Vec<&Node>> = BTreeMap::new();
    let is_karpenters = |node: &Node| {
        let pool = node.karpenter_pool.as_deref();
        pool.is_some_and(|pool| objects.karpenter.has(pool))
    };
    let is_loose = |node: &&Node| {
        // The Machines of a hosted cluster are in another cluster, and not read.
        (node.machine.is_none() || node.node_pool.is_some())
            && !with_machine.contains(node.metadata.name.as_str())
            && !is_karpenters(node)
            && node
                .node_pool
                .as_ref()
                .is_none_or(|pool| !pools.contains(pool))
    };
    for node in objects.nodes.iter().filter(is_loose) {
        let group = match (&node.node_pool, &node.pool) {
            (Some(pool), _) => (NODE_POOL, HYPERSHIFT, pool.as_str()),
            (None, pool) => (
                "MachineConfigPool",
                MACHINE_CONFIG,
                pool.as_deref().unwrap_or("no pool"),
            ),
        };
        groups.entry(group).or_default().push(node);
    }
    let to_set = |((kind, group, pool), nodes): ((_, _, &str), Vec<&Node>)| {
        let why_not = Some("no Machine stands for its nodes, and the newest of them has no label");
        let newest = nodes.iter().copied().max_by(|a, b| a.age().cmp(&b.age()));
        Set {
            kind,
            group,
            name: pool.to_owned(),
            image: Image { pool: Some(pool.to_owned()), why_not, ..Image::default() },
            known: newest
                .filter(|newest| objects.version_of(newest).is_some())
                .and_then(|_| by_newest_node(objects, nodes.iter().copied(), &mut Vec::new())),
            nodes: versions(objects, nodes),
            notes: vec!["made without the Machine API: judged as if the next node were made like the newest one".to_owned()],
            ..Set::default()
        }
    };
    groups.into_iter().map(to_set).collect()
}
