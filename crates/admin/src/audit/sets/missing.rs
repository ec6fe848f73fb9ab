//! Objects that were not read, and are named by what was (pure).

use crate::audit::results::{Unread, full_name, some_of};
use crate::audit::versions::image_versions::Lookup;
use skewguard_cluster::cluster::Cluster as Objects;
use skewguard_cluster::kinds::groups::MACHINE_API;
use std::collections::{BTreeMap, BTreeSet};

/// Sets that Machines name as their owner, Machines that Nodes name, and Nodes that Machines name, where these were
/// not read: their next node is not judged, or not by all that is known of its image.
pub(crate) fn missing(lookup: &Lookup<'_>) -> Vec<Unread> {
    let objects = lookup.objects;
    let mut all = sets(objects);
    all.extend(machines(objects));
    all.extend(nodes(lookup));
    all
}

/// Nodes that Machines name and that alone would tell an image; all Nodes, where a host is installed on its own and
/// none was read.
fn nodes(lookup: &Lookup<'_>) -> Option<Unread> {
    let objects = lookup.objects;
    if objects.all_nodes().next().is_none() {
        let mut hosts = objects.hosts_on_their_own();
        let is_installed = hosts.any(|host| host.state == "provisioned");
        let why = "they were not read, though a host is installed";
        return is_installed.then(|| Unread::new("Nodes", why).hiding_sets(true));
    }
    let missing = lookup.nodes_not_read();
    let why = match missing.len() {
        0 => return None,
        1 => "it was not read, though a Machine names it",
        _ => "they were not read, though Machines name them",
    };
    Some(Unread::new(format!("Node {}", some_of(&missing)), why).hiding_sets(true))
}

fn sets(objects: &Objects) -> Vec<Unread> {
    let mut read: BTreeSet<(&str, &str, &str)> = BTreeSet::new();
    let groups = [
        ("MachineSet", &objects.machine_sets),
        ("MachineSet", &objects.windows_sets),
        ("MachineSet", &objects.cluster_api_sets),
        ("ControlPlaneMachineSet", &objects.control_planes),
    ];
    for (kind, sets) in groups {
        let names = sets.iter().map(|set| &set.metadata);
        read.extend(names.map(|metadata| (kind, &*metadata.namespace, &*metadata.name)));
    }
    let mut unread: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    // The sets of a node pool are listed as that pool.
    for machine in objects
        .machines
        .iter()
        .filter(|machine| machine.node_pool.is_none())
    {
        for (kind, name) in &machine.owners {
            let set = (&**kind, &*machine.metadata.namespace, &**name);
            if matches!(set.0, "MachineSet" | "ControlPlaneMachineSet") && !read.contains(&set) {
                *unread.entry(set).or_default() += 1;
            }
        }
    }
    let to_unread = |((kind, namespace, name), count): ((&str, &str, &str), usize)| {
        let machines = if count == 1 {
            "Machine is"
        } else {
            "Machines are"
        };
        let what = format!("{kind} {}", full_name(namespace, name));
        let why = format!("it was not read, and {count} {machines} of it");
        Unread::new(what, why).hiding_sets(true)
    };
    unread.into_iter().map(to_unread).collect()
}

fn machines(objects: &Objects) -> Option<Unread> {
    let read: BTreeSet<&str> = objects
        .machines
        .iter()
        .filter(|machine| machine.group == MACHINE_API)
        .map(|machine| &*machine.metadata.name)
        .collect();
    let missing: Vec<&str> = objects
        .nodes
        .iter()
        .filter(|node| node.is_of_machine_api)
        .filter_map(|node| node.machine.as_deref())
        .filter(|machine| !read.contains(machine.rsplit('/').next().unwrap_or(machine)))
        .collect();
    let why = match missing.len() {
        0 => return None,
        1 => "it was not read, though a Node names it",
        _ => "they were not read, though Nodes name them",
    };
    let what = format!("Machine {}", some_of(&missing));
    Some(Unread::new(what, why).hiding_sets(true))
}
