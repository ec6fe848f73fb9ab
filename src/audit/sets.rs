//! What makes nodes: sets of machines of both APIs, node pools, and machines, hosts and nodes without a set (pure).

use super::KnownBy;
use super::image::Image;
use super::kinds::{Machine, MachineSet, Node, NodePool, Text, given};
use super::known::{Knowledge, Known, Made, image_of, of_newest, version_of};
use super::objects::Objects;
use std::collections::{BTreeMap, BTreeSet};

const MACHINE_API: &str = "machine.openshift.io";
const CLUSTER_API: &str = "cluster.x-k8s.io";

/// A node pool's image field.
pub(super) const RELEASE_IMAGE: &str = "spec.release.image";

/// One of them, and what is known of its next node's image.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) kind: &'static str,
    pub(super) group: &'static str,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) replicas: Option<i64>,
    pub(super) architecture: Option<String>,
    pub(super) image: Image,
    /// The way to the spec that has the image field.
    pub(super) path: &'static str,
    pub(super) known: Option<Known>,
    /// The release of its next node, where that is not the cluster's.
    pub(super) release: Option<String>,
    /// What each of its joined nodes was made from.
    pub(super) nodes: Vec<Option<String>>,
    pub(super) notes: Vec<String>,
}

/// All of them.
pub(super) fn sets(objects: &Objects, knowledge: &Knowledge<'_>) -> Vec<Set> {
    let mut all = Vec::new();
    let name = |set: &MachineSet| set.metadata.name.clone();
    // Where the two APIs mirror each other, one of them has the say.
    let is_authoritative = |set: &MachineSet| given(&set.status.authoritative_api) != Some("ClusterAPI");
    let by_machine_api: BTreeSet<_> = objects.machine_sets.iter().filter(|set| is_authoritative(set)).map(name).collect();
    let mirrored: BTreeSet<_> = objects.cluster_api_sets.iter().map(name).collect();
    for set in objects.machine_sets.iter().filter(|set| is_authoritative(set) || !mirrored.contains(&set.metadata.name)) {
        all.push(machine_set(objects, knowledge, set, MACHINE_API));
    }
    for set in &objects.cluster_api_sets {
        // A node pool's is part of that, and a MachineDeployment leaves its former sets behind.
        let of_pool = set.metadata.annotations.node_pool.is_some();
        let is_former =
            set.spec.replicas == Some(0) && set.metadata.owner_references.iter().any(|owner| &*owner.kind == "MachineDeployment");
        if !of_pool && !is_former && !by_machine_api.contains(&set.metadata.name) {
            all.push(machine_set(objects, knowledge, set, CLUSTER_API));
        }
    }
    all.extend(objects.control_planes.iter().map(|set| control_plane(objects, knowledge, set)));
    all.extend(objects.node_pools.iter().map(|pool| node_pool(objects, knowledge, pool)));
    all.extend(single_machines(knowledge));
    all.extend(hosts(objects, knowledge));
    all.extend(nodes_without_machines(objects, knowledge));
    all
}

fn is_owned_by(machine: &Machine, kind: &str, name: Option<&str>) -> bool {
    machine.metadata.owner_references.iter().any(|owner| &*owner.kind == kind && name.is_none_or(|name| &*owner.name == name))
}

fn machine_set(objects: &Objects, knowledge: &Knowledge<'_>, set: &MachineSet, group: &'static str) -> Set {
    let template = &set.spec.template.spec;
    let is_member = |made: &&Made<'_>| {
        made.group == group
            && made.machine.metadata.namespace == set.metadata.namespace
            && is_owned_by(made.machine, "MachineSet", Some(&set.metadata.name))
    };
    let image = image_of(objects, &set.metadata.namespace, template);
    let path = if group == MACHINE_API { "spec.template.spec.providerSpec.value." } else { "infrastructureRef spec.template.spec." };
    let members = knowledge.machines.iter().filter(is_member);
    Set { path, ..of_machines("MachineSet", group, set, image, members, knowledge) }
}

fn control_plane(objects: &Objects, knowledge: &Knowledge<'_>, set: &MachineSet) -> Set {
    let image = image_of(objects, &set.metadata.namespace, &set.spec.template.control_plane.spec);
    let image = Image { pool: Some(image.pool.clone().unwrap_or_else(|| "master".to_owned())), ..image };
    let members = knowledge.machines.iter().filter(|made| is_owned_by(made.machine, "ControlPlaneMachineSet", Some(&set.metadata.name)));
    let mut set_of = of_machines("ControlPlaneMachineSet", MACHINE_API, set, image, members, knowledge);
    set_of.path = "spec.template.machines_v1beta1_machine_openshift_io.spec.providerSpec.value.";
    if given(&set.spec.state) == Some("Inactive") {
        set_of.notes.push("Inactive: it makes no Machine until it is activated".to_owned());
    }
    set_of
}

fn of_machines<'a>(
    kind: &'static str,
    group: &'static str,
    set: &MachineSet,
    image: Image,
    members: impl Iterator<Item = &'a Made<'a>>,
    knowledge: &Knowledge<'_>,
) -> Set {
    let architecture = given(&set.metadata.annotations.capacity_labels).and_then(architecture);
    let mut notes = Vec::new();
    let known = knowledge.of_image(&image, architecture.as_deref(), &mut notes);
    Set {
        kind,
        group,
        namespace: set.metadata.namespace.to_string(),
        name: set.metadata.name.to_string(),
        replicas: set.spec.replicas,
        architecture,
        image,
        path: "",
        known,
        release: None,
        nodes: members.filter_map(|made| knowledge.node_of(made.machine)).map(version).collect(),
        notes,
    }
}

fn version(node: &Node) -> Option<String> {
    version_of(node).map(|version| version.text().to_owned())
}

/// `x86_64` of `kubernetes.io/arch=amd64,topology.ebs.csi.aws.com/zone=us-east-1a`.
fn architecture(labels: &str) -> Option<String> {
    let arch = labels.split(',').find_map(|label| label.trim().strip_prefix("kubernetes.io/arch="))?;
    Some(of_go(arch).to_owned())
}

/// From Go's name of an architecture to that of the stream metadata.
fn of_go(arch: &str) -> &str {
    match arch {
        "amd64" => "x86_64",
        "arm64" => "aarch64",
        other => other,
    }
}

/// A node pool's image is that of its release, which its machines' templates name where they are read; the release itself says no version.
fn node_pool(objects: &Objects, knowledge: &Knowledge<'_>, pool: &NodePool) -> Set {
    let full_name = format!("{}/{}", &*pool.metadata.namespace, &*pool.metadata.name);
    let of_pool = |set: &&MachineSet| given(&set.metadata.annotations.node_pool) == Some(&full_name) && set.spec.replicas != Some(0);
    let images: Vec<Image> = objects
        .cluster_api_sets
        .iter()
        .filter(of_pool)
        .map(|set| image_of(objects, &set.metadata.namespace, &set.spec.template.spec))
        .collect();
    let release_image = Image {
        field: Some(RELEASE_IMAGE),
        value: given(&pool.spec.release.image).map(str::to_owned),
        why_not: Some("a release image does not say which boot image is in it"),
        ..Image::default()
    };
    let mut image = match (pool.spec.platform.aws.as_ref().and_then(|aws| given(&aws.ami)), images.as_slice()) {
        (Some(ami), _) => {
            Image { platform: Some("aws"), field: Some("spec.platform.aws.ami"), value: Some(ami.to_owned()), ..Image::default() }
        }
        // What to change is the release, whatever the template then says.
        (None, [image]) if image.value.is_some() => Image { field: Some(RELEASE_IMAGE), ..image.clone() },
        (None, _) => release_image,
    };
    image.pool = Some(pool.metadata.name.to_string());
    let architecture = given(&pool.spec.arch).map(|arch| of_go(arch).to_owned());
    let mut notes = Vec::new();
    let known = knowledge.of_image(&image, architecture.as_deref(), &mut notes);
    let platform = given(&pool.spec.platform.r#type);
    notes.extend(platform.filter(|_| image.platform.is_none()).map(|platform| format!("platform {platform}")));
    let nodes = objects.nodes.iter().filter(|node| given(&node.metadata.labels.node_pool) == Some(&*pool.metadata.name));
    Set {
        kind: "NodePool",
        group: "hypershift.openshift.io",
        namespace: pool.metadata.namespace.to_string(),
        name: pool.metadata.name.to_string(),
        replicas: pool.spec.replicas,
        architecture,
        image,
        path: "",
        known,
        release: given(&pool.status.version).map(str::to_owned),
        nodes: nodes.map(version).collect(),
        notes,
    }
}

/// A set for what has none: objects that have their image, and so their fate, in common.
fn loose(kind: &'static str, group: &'static str, namespace: &str, name: String, image: Image) -> Set {
    Set {
        kind,
        group,
        namespace: namespace.to_owned(),
        name,
        replicas: None,
        architecture: None,
        image,
        path: "",
        known: None,
        release: None,
        nodes: Vec::new(),
        notes: Vec::new(),
    }
}

/// Machines that no set owns, such as a control plane's without a ControlPlaneMachineSet: by role and image.
fn single_machines(knowledge: &Knowledge<'_>) -> Vec<Set> {
    let mut groups: BTreeMap<_, Vec<&Made<'_>>> = BTreeMap::new();
    let is_single = |made: &&Made<'_>| {
        made.group == MACHINE_API
            && !is_owned_by(made.machine, "MachineSet", None)
            && !is_owned_by(made.machine, "ControlPlaneMachineSet", None)
    };
    for made in knowledge.machines.iter().filter(is_single) {
        let role = given(&made.machine.metadata.labels.role).unwrap_or("no role");
        groups.entry((&made.machine.metadata.namespace, role, made.image.value.clone())).or_default().push(made);
    }
    let to_set = |((namespace, role, _), made): ((&Text, &str, _), Vec<&Made<'_>>)| {
        let image = made.first().map(|made| made.image.clone()).unwrap_or_default();
        let names: Vec<&str> = made.iter().map(|made| &*made.machine.metadata.name).collect();
        let mut set = loose("Machine", MACHINE_API, namespace, format!("{role}: {}", some_of(&names)), image);
        set.path = "spec.providerSpec.value.";
        set.nodes = made.iter().filter_map(|made| knowledge.node_of(made.machine)).map(version).collect();
        set.known = knowledge.of_image(&set.image, None, &mut set.notes);
        set
    };
    groups.into_iter().map(to_set).collect()
}

/// `a, b and 3 more`.
pub(super) fn some_of(names: &[&str]) -> String {
    let shown = names.iter().take(2).copied().collect::<Vec<_>>().join(", ");
    if names.len() > 2 { format!("{shown} and {} more", names.len() - 2) } else { shown }
}

/// Hosts that are installed from an image of their own, and not for a Machine: by that image.
fn hosts(objects: &Objects, knowledge: &Knowledge<'_>) -> Vec<Set> {
    let mut groups: BTreeMap<_, Vec<&str>> = BTreeMap::new();
    for host in &objects.hosts {
        let is_consumed = host.spec.consumer_ref.as_ref().is_some_and(|consumer| &*consumer.kind == "Machine");
        if let Some(url) = host.spec.image.as_ref().and_then(|image| given(&image.url)).filter(|_| !is_consumed) {
            groups.entry((&*host.metadata.namespace, url)).or_default().push(&host.metadata.name);
        }
    }
    let to_set = |((namespace, url), names): ((&str, &str), Vec<&str>)| {
        let image = Image { platform: Some("metal"), field: Some("spec.image.url"), value: Some(url.to_owned()), ..Image::default() };
        let mut set = loose("BareMetalHost", "metal3.io", namespace, some_of(&names), image);
        set.known = knowledge.of_image(&set.image, None, &mut set.notes);
        set
    };
    groups.into_iter().map(to_set).collect()
}

/// Nodes that no Machine stands for, by pool. How the next one is made stands nowhere; the newest one is the best there is to go by.
fn nodes_without_machines(objects: &Objects, knowledge: &Knowledge<'_>) -> Vec<Set> {
    let with_machine: BTreeSet<&str> =
        knowledge.machines.iter().filter_map(|made| Some(&*made.machine.status.node_ref.as_ref()?.name)).collect();
    let pools: BTreeSet<&str> = objects.node_pools.iter().map(|pool| &*pool.metadata.name).collect();
    let mut groups: BTreeMap<(&'static str, String), Vec<&Node>> = BTreeMap::new();
    for node in &objects.nodes {
        let metadata = &node.metadata;
        let of_pool = given(&metadata.labels.node_pool);
        if metadata.annotations.machine.is_some()
            || with_machine.contains(&*metadata.name)
            || of_pool.is_some_and(|pool| pools.contains(pool))
        {
            continue;
        }
        let group = match of_pool {
            Some(pool) => ("NodePool", pool.to_owned()),
            None => ("MachineConfigPool", pool_of(node).unwrap_or_else(|| "no pool".to_owned())),
        };
        groups.entry(group).or_default().push(node);
    }
    let to_set = |((kind, pool), nodes): ((&'static str, String), Vec<&Node>)| {
        let group = if kind == "NodePool" { "hypershift.openshift.io" } else { "machineconfiguration.openshift.io" };
        let why_not = Some("no Machine stands for its nodes, and none of them has a label");
        let image = Image { pool: Some(pool.clone()), why_not, ..Image::default() };
        let mut set = loose(kind, group, "", pool, image);
        set.known = of_newest(nodes.iter().copied(), &mut Vec::new()).map(|known| Known { by: KnownBy::Node, ..known });
        set.notes.push("made without the Machine API: judged as if the next node were made like the newest one".to_owned());
        set.nodes = nodes.into_iter().map(version).collect();
        set
    };
    groups.into_iter().map(to_set).collect()
}

/// `worker` of `rendered-worker-0123456789abcdef0123456789abcdef`, else by the node's role.
fn pool_of(node: &Node) -> Option<String> {
    let config = given(&node.metadata.annotations.current_config);
    let rendered = config.and_then(|config| config.strip_prefix("rendered-")?.rsplit_once('-')).map(|(pool, _)| pool.to_owned());
    let labels = &node.metadata.labels;
    let roles = [(&labels.master, "master"), (&labels.worker, "worker")];
    rendered.or_else(|| roles.into_iter().find(|(label, _)| label.is_some()).map(|(_, pool)| pool.to_owned()))
}
