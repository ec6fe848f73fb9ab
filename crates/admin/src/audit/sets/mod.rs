//! Sets of machines of both APIs, and node pools; nodes without one, and what is missing (pure).

pub(crate) mod missing;
pub(crate) mod node_classes;
pub(crate) mod without_set;

use crate::audit::results::set::{NodeCount, SetKind};
use crate::audit::results::some_of;
use crate::audit::results::upkeep::{Keeper, Rule, Upkeep};
use crate::audit::set::user_data::Stub;
use crate::audit::set::{Place, RELEASE_IMAGE, Set};
use crate::audit::upkeep;
use crate::audit::upkeep::candidate::{Candidate, ignores_images};
use crate::audit::upkeep::swapped;
use crate::audit::verdict::cpu;
use crate::audit::versions::image_versions::Lookup;
use crate::audit::versions::known_version::{KnownVersion, by_newest_node};
use crate::platform::Platform;
use skewguard_cluster::cluster::Cluster as Objects;
use skewguard_cluster::kinds::image::{Image, WhyNot};
use skewguard_cluster::kinds::machine::Machine;
use skewguard_cluster::kinds::machine_set::MachineSet;
use skewguard_cluster::kinds::metadata::Metadata;
use skewguard_cluster::kinds::node::Node;
use skewguard_cluster::kinds::node_pool::NodePool;
use skewguard_cluster::kinds::site::Site;
use std::collections::{BTreeMap, BTreeSet};

/// The Secret that admission names where a provider spec names none (machine-api-operator, `machine_webhook.go`).
const DEFAULT_USER_DATA: &str = "worker-user-data";

/// Namespace of the Cluster API's side of the cluster's own sets.
const MIRRORS: &str = "openshift-cluster-api";

impl Set {
    /// Adds what is known of its image.
    pub(crate) fn known_by(mut self, lookup: &Lookup<'_>) -> Self {
        self.joined = lookup.joined_from(&self.image);
        self.other_region = lookup.other_region(&self.image);
        self.elsewhere = lookup.elsewhere(&self.image);
        if !swapped::add(&mut self, lookup) {
            self.known = lookup.image_version(&self.image, &mut self.notes);
        }
        let known = self.known.as_ref();
        self.is_published = known.is_some_and(KnownVersion::is_published);
        let stub = self.stub.as_ref().zip(known);
        self.is_stub_read = stub.is_some_and(|(stub, known)| {
            let secret = (&*self.namespace, stub.secret());
            lookup.has_joined_by(&self.image, secret, &known.version)
        });
        if self.image.is_of_release {
            let provisioning = lookup.objects.provisioning.as_ref();
            self.image.why_not = Some(match provisioning {
                None => WhyNot::ProvisioningUnread,
                Some(provisioning) if provisioning.has_own_images() => WhyNot::ProvisioningHasOwn,
                Some(_) => WhyNot::ReleaseHasNone,
            });
        }
        self
    }
}

pub(crate) fn sets(lookup: &Lookup<'_>) -> Vec<Set> {
    let (objects, mut all) = (lookup.objects, Vec::new());
    // Where the two APIs mirror each other, only the authoritative one counts. The mirror of a set of
    // the Machine API is in the one namespace of the cluster's own (openshift/cluster-capi-operator).
    let mirrored: BTreeSet<_> = objects
        .cluster_api_sets
        .iter()
        .filter(|set| set.metadata.namespace == MIRRORS)
        .map(|set| &set.metadata.name)
        .collect();
    let is_mirror = |set: &MachineSet| set.is_mirror() && mirrored.contains(&set.metadata.name);
    let by_machine_api: BTreeSet<_> = objects
        .machine_sets
        .iter()
        .filter(|set| !is_mirror(set))
        .map(|set| &set.metadata.name)
        .collect();
    let of_kind = |kind, path| move |set| machine_set(lookup, set, kind, path);
    let sets = objects.machine_sets.iter().filter(|set| !is_mirror(set));
    all.extend(sets.map(|set| {
        let row = machine_set(lookup, set, SetKind::MachineSet, Place::MachineSet);
        unless_mirror(row, set)
    }));
    let labelled = objects.windows_sets.iter();
    let labelled = labelled.filter(|set| !lookup.is_of_windows(set));
    let labelled = labelled.map(of_kind(SetKind::MachineSet, Place::MachineSet));
    all.extend(labelled.map(labelled_windows));
    let is_mirrored = |set: &&MachineSet| {
        set.metadata.namespace == MIRRORS && by_machine_api.contains(&set.metadata.name)
    };
    let sets = single_sets(objects)
        .into_iter()
        .filter(|set| !is_mirrored(set));
    all.extend(sets.map(of_kind(SetKind::ClusterMachineSet, Place::Template)));
    let deployments = objects
        .deployments
        .iter()
        .filter(|set| set.node_pool.is_none());
    all.extend(deployments.map(of_kind(SetKind::MachineDeployment, Place::Template)));
    let pools = objects.machine_pools.iter();
    all.extend(pools.map(|set| machine_pool(lookup, set)));
    all.extend(
        objects
            .control_planes
            .iter()
            .flat_map(|set| control_plane(lookup, set)),
    );
    all.extend(
        objects
            .node_pools
            .iter()
            .filter(|pool| !lookup.is_pool_of_windows(pool))
            .map(|pool| node_pool(objects, lookup, pool)),
    );
    all
}

/// A set of which the Cluster API's is in charge, and was not read, says nothing.
fn unless_mirror(mut row: Set, set: &MachineSet) -> Set {
    if set.is_mirror() {
        (row.known, row.image.why_not) = (None, Some(WhyNot::MirrorUnread));
    }
    row
}

/// The Cluster API's sets that stand for themselves: those of a node pool are listed as that pool, those of a
/// deployment as that deployment.
fn single_sets(objects: &Objects) -> Vec<&MachineSet> {
    let deployments: BTreeSet<_> = objects
        .deployments
        .iter()
        .map(|set| (&set.metadata.namespace, &set.metadata.name))
        .collect();
    let is_of_deployment = |set: &MachineSet| {
        let name = set.deployment();
        name.is_some_and(|name| {
            deployments.contains(&(&set.metadata.namespace, name)) || set.replicas == Some(0)
        })
    };
    let sets = objects.cluster_api_sets.iter();
    sets.filter(|set| set.node_pool.is_none() && !is_of_deployment(set))
        .collect()
}

fn machine_set(lookup: &Lookup<'_>, set: &MachineSet, kind: SetKind, path: Place) -> Set {
    let Metadata {
        namespace, name, ..
    } = &set.metadata;
    // A deployment's Machines belong to its sets.
    let of_deployment = |other: &&MachineSet| {
        other.metadata.namespace == *namespace && other.deployment() == Some(name)
    };
    let owned = |kind, name| lookup.owned_by(kind, namespace, name).iter().copied();
    let members: Vec<&Machine> = if kind == SetKind::MachineDeployment {
        let sets = lookup.objects.cluster_api_sets.iter().filter(of_deployment);
        let names: BTreeSet<&str> = sets.map(|set| &*set.metadata.name).collect();
        let of_sets = names.into_iter();
        of_sets
            .flat_map(|name| owned(SetKind::ClusterMachineSet, name))
            .collect()
    } else {
        owned(kind, name).collect()
    };
    let of_set = Set {
        path,
        image: lookup.objects.image_of(&set.metadata, &set.source),
        ..Set::of(kind, namespace, name)
    };
    with_machines(of_set, set, members, lookup)
}

fn machine_pool(lookup: &Lookup<'_>, set: &MachineSet) -> Set {
    let infrastructure = set.source.infrastructure.as_ref();
    let is_of_aws = infrastructure.is_some_and(|(kind, _)| kind == "AWSMachinePool");
    let path = if is_of_aws {
        Place::AwsMachinePool
    } else {
        Place::MachinePool
    };
    machine_set(lookup, set, SetKind::MachinePool, path)
}

/// The facts of an object.
fn set_of(kind: SetKind, metadata: &Metadata) -> Set {
    Set::of(kind, &metadata.namespace, &*metadata.name)
}

/// A control plane's set; where its failure domains name the template, one for each template.
fn control_plane(lookup: &Lookup<'_>, set: &MachineSet) -> Vec<Set> {
    let objects = lookup.objects;
    let image = objects.image_of(&set.metadata, &set.source);
    let image = Image {
        pool: image.pool.or_else(|| Some("master".to_owned())),
        ..image
    };
    let mut ways = by_failure_domain(set, &image, objects);
    if ways.is_empty() {
        ways.push((Place::ControlPlane, image, Vec::new()));
    }
    let images: Vec<Image> = ways.iter().map(|(_, image, _)| image.clone()).collect();
    let to_set = |(n, (path, image, domains)): (usize, Way)| {
        let is_here = |machine: &&Machine| {
            let own = objects.image_of(&machine.metadata, &machine.source);
            let is_of = |image: &Image| own.value == image.value && own.site.agrees(&image.site);
            // A machine that is of none of the templates counts with the first.
            machine.is_owned_by("ControlPlaneMachineSet", Some(&set.metadata.name))
                && (is_of(&image) || n == 0 && !images.iter().any(is_of))
        };
        let machines = objects.machines.iter().filter(is_here).collect();
        let inactive = set
            .is_inactive()
            .then(|| "Inactive: it makes no Machine until it is activated".to_owned());
        let names: Vec<&str> = domains.iter().map(String::as_str).collect();
        let note = (!names.is_empty()).then(|| format!("failure domain {}", some_of(&names)));
        let of_set = Set {
            notes: inactive.into_iter().chain(note).collect(),
            parts: domains,
            path,
            image,
            ..set_of(SetKind::ControlPlaneMachineSet, &set.metadata)
        };
        with_machines(of_set, set, machines, lookup)
    };
    ways.into_iter().enumerate().map(to_set).collect()
}

/// The path to an image's spec, the image, and the failure domains that name it.
type Way = (Place, Image, Vec<String>);

/// The templates that a control plane's failure domains name.
fn by_failure_domain(set: &MachineSet, image: &Image, objects: &Objects) -> Vec<Way> {
    let vsphere = objects.vsphere.as_ref();
    let mut domains: BTreeMap<(Option<String>, Site), Vec<&str>> = BTreeMap::new();
    for name in &set.failure_domains {
        let template = vsphere.and_then(|vsphere| vsphere.template(name));
        let site = vsphere.map(|vsphere| vsphere.site(name));
        let domain = domains.entry((template, site.unwrap_or_default()));
        domain.or_default().push(name);
    }
    let why_not = if vsphere.is_some() {
        WhyNot::DomainWithoutTemplate
    } else {
        WhyNot::DomainUnread
    };
    let way = |((template, site), names): ((Option<String>, Site), Vec<&str>)| {
        let image = Image {
            field: Some("failureDomains[].topology.template".to_owned()),
            why_not: template.is_none().then_some(why_not),
            value: template,
            site,
            ..image.clone()
        };
        (
            Place::FailureDomain,
            image,
            names.into_iter().map(str::to_owned).collect(),
        )
    };
    domains.into_iter().map(way).collect()
}

/// Adds what the set and its machines say.
fn with_machines(
    mut of_set: Set,
    set: &MachineSet,
    members: Vec<&Machine>,
    lookup: &Lookup<'_>,
) -> Set {
    let newest = members.iter().copied().max_by(|a, b| a.age().cmp(&b.age()));
    let nodes = lookup.nodes_of(members.into_iter());
    if let Some(offer) = lookup.own_offer(&of_set.image) {
        of_set.image.offer = Some(offer);
    }
    if of_set.image.platform == Some(Platform::Aws) && of_set.image.region.is_none() {
        of_set.image.region = lookup.region_of(&nodes);
    }
    let is_read = lookup.has_nodes()
        && (set.replicas_now == Some(0) || lookup.has_machines(of_set.kind.group()));
    let secret = secret_of(of_set.kind, set);
    let asked = secret.and_then(|secret| asked_pool(lookup.objects, &set.metadata, secret));
    let is_pool_asked = asked.is_some();
    let pool = asked.or_else(|| of_set.image.pool.clone());
    let stream = upkeep::stream(lookup.objects, set.stream.as_deref(), pool.as_deref());
    let own = set.architecture();
    let image = Image {
        pool,
        architecture: own.or_else(|| lookup.architecture_of(&nodes, &of_set.image)),
        stream,
        instance_cpu: cpu::of_set(&of_set.image, &nodes),
        ..of_set.image
    };
    // Pools can be changed, templates cannot.
    let template = (of_set.kind != SetKind::MachinePool).then(|| set.source.infrastructure.clone());
    let of_set = Set {
        is_pool_asked,
        replicas: set.replicas,
        nodes: made_from(lookup.objects, nodes.iter().copied()),
        nodes_unread: !is_read,
        image,
        template: template.flatten(),
        is_inactive: set.is_inactive(),
        infra: set.infra.clone(),
        strategy: set.strategy.clone(),
        owner: set.owner(),
        stub: secret.and_then(|secret| Stub::of(lookup.objects, &set.metadata.namespace, secret)),
        ..of_set
    };
    let mut of_set = with_upkeep(of_set, set, lookup).known_by(lookup);
    if of_set.stub.is_none() {
        let known = secret.zip(of_set.known.as_ref());
        of_set.stub = known.and_then(|(secret, known)| Stub::by_image(secret, &known.version));
    }
    let newest = newest.filter(|newest| says_image(newest, &of_set, set, lookup.objects));
    if let Some(newest) = newest {
        let own = own_image(&of_set, newest, lookup.objects);
        of_set.known = by_member(newest, &own, nodes, lookup);
    }
    upkeep::with_capabilities(of_set, lookup.objects)
}

/// The Secret with the user data; of a MachineSet that names none, the one that admission fills in.
fn secret_of(kind: SetKind, set: &MachineSet) -> Option<&str> {
    let has_webhook = kind == SetKind::MachineSet && set.source.infrastructure.is_none();
    let named = set.source.user_data.as_deref();
    named.or(has_webhook.then_some(DEFAULT_USER_DATA))
}

/// The image that the newest Machine of a set names, for what that set makes.
fn own_image(of_set: &Set, newest: &Machine, objects: &Objects) -> Image {
    Image {
        architecture: of_set.image.architecture.clone(),
        stream: of_set.image.stream.clone(),
        ..objects.image_of(&newest.metadata, &newest.source)
    }
}

/// Tells whether the newest Machine says the image that a set does not name. A MachineSet never replaces a Machine,
/// which so proves nothing of a template that was not read; where the provider spec leaves out its image alone,
/// admission fills it in. A control plane's operator replaces what differs, unless it does not look at images.
fn says_image(newest: &Machine, of_set: &Set, set: &MachineSet, objects: &Objects) -> bool {
    let why_not = of_set.image.why_not;
    let is_left_out = why_not == Some(WhyNot::FieldAbsent);
    let says = match of_set.kind {
        SetKind::ControlPlaneMachineSet => {
            let platform = newest.source.platform();
            let running = objects.history.running_minor();
            let is_own = newest.control_plane.as_deref() == Some(&*set.uid);
            let is_unread = is_left_out || why_not == Some(WhyNot::NoImage);
            let looks = ignores_images(platform, running) == Some(false);
            is_unread && set.is_rolled_out() && is_own && looks
        }
        _ => is_left_out && matches!(of_set.image.platform, Some(Platform::Azure | Platform::Gcp)),
    };
    of_set.known.is_none() && says
}

/// Adds who keeps its image up to date.
fn with_upkeep(mut of_set: Set, set: &MachineSet, lookup: &Lookup<'_>) -> Set {
    let candidate = Candidate {
        kind: of_set.kind,
        set,
        image: &of_set.image,
    };
    let judgement = upkeep::judge_set(candidate, lookup);
    of_set.is_left_alone = judgement.is_left_alone;
    of_set.managed = judgement.managed();
    of_set.notes.extend(judgement.note);
    of_set.upkeep = Some(judgement.upkeep);
    of_set
}

/// Version by the set's own Machines, where its field is absent: their image is what admission
/// filled in, and what the next one gets.
fn by_member(
    newest: &Machine,
    image: &Image,
    nodes: Vec<&Node>,
    lookup: &Lookup<'_>,
) -> Option<KnownVersion> {
    let named = image.value.as_ref();
    let known = named.and_then(|_| lookup.image_version(image, &mut Vec::new()));
    let known = known
        .or_else(|| by_newest_node(lookup.objects, nodes.into_iter(), false, &mut Vec::new()))?;
    Some(KnownVersion {
        from: format!(
            "{}, and Machine {}, which was made from the set, whose field is absent",
            known.from, newest.metadata.name
        ),
        ..known
    })
}

/// The pool that the user data in this Secret asks for, where it was read.
fn asked_pool(objects: &Objects, set: &Metadata, secret: &str) -> Option<String> {
    let place = (set.namespace.clone(), secret.to_owned());
    let pools = &objects.user_data.get(&place)?.pools;
    pools.first().filter(|_| pools.len() == 1).cloned()
}

/// A node pool, and what makes its nodes.
fn node_pool(objects: &Objects, lookup: &Lookup<'_>, pool: &NodePool) -> Set {
    let image = node_pool_image(objects, pool);
    let upkeep = if image.field.as_deref() == Some(RELEASE_IMAGE) {
        Upkeep::new(
            Keeper::Release,
            Rule::NodePoolRelease,
            "the image is that of its release",
        )
    } else {
        Upkeep::new(
            Keeper::Nobody,
            Rule::NodePoolImage,
            "the NodePool names an image, which stays whatever its release is",
        )
    };
    let is_unknown = image.platform.is_none();
    let name = &pool.metadata.name;
    let nodes = objects
        .nodes
        .iter()
        .filter(|node| node.node_pool.as_ref() == Some(name));
    let nodes = made_from(objects, nodes);
    let platform = pool.platform.as_deref();
    let note = platform
        .filter(|_| is_unknown)
        .map(|platform| platform_note(platform, pool.release.as_deref()));
    let set = Set {
        replicas: pool.replicas,
        upkeep: Some(upkeep),
        nodes_unread: nodes.is_empty(),
        nodes,
        notes: note.into_iter().chain(pool.says()).collect(),
        image: Image {
            architecture: pool.architecture.clone(),
            ..image
        },
        release: pool.release.clone(),
        pinned: pool.pinned.clone(),
        runc: asks_for_runc(objects, pool),
        release_platform: platform.and_then(platform_id),
        has_release_image: !matches!(platform, Some("Agent" | "None") | None),
        upgrade: pool.upgrade.clone(),
        strategy: pool.strategy.clone(),
        owner: pool.owner.clone(),
        ..set_of(SetKind::NodePool, &pool.metadata)
    };
    match pool.is_windows {
        true => labelled_windows(set.known_by(lookup)),
        false => set.known_by(lookup),
    }
}

/// A set that is labelled for Windows, and whose image is one of CoreOS.
fn labelled_windows(mut set: Set) -> Set {
    if set.known.take().is_some() {
        set.image.why_not = Some(WhyNot::LabelledWindows);
    }
    set
}

/// Tells whether the config that a node pool names asks for runc; `None` where part of it was not read.
fn asks_for_runc(objects: &Objects, pool: &NodePool) -> Option<bool> {
    let namespace = &pool.metadata.namespace;
    let of = |name: &String| objects.pool_configs.get(&(namespace.clone(), name.clone()));
    let known: Vec<Option<&bool>> = pool.config.iter().map(of).collect();
    match known.contains(&Some(&true)) {
        true => Some(true),
        false => known.iter().all(Option::is_some).then_some(false),
    }
}

/// A node pool's image is that of its release, which its machines' templates name where they are
/// read; the release itself says no version.
fn node_pool_image(objects: &Objects, pool: &NodePool) -> Image {
    let full_name = pool.metadata.full_name();
    let of_pool =
        |set: &&MachineSet| set.node_pool.as_ref() == Some(&full_name) && set.replicas != Some(0);
    let sets = objects.cluster_api_sets.iter().chain(&objects.deployments);
    let mut images: Vec<Image> = sets
        .filter(of_pool)
        .map(|set| objects.image_of(&set.metadata, &set.source))
        .collect();
    images.dedup();
    let image = match (&pool.image, images.as_slice()) {
        (Some(named), _) => named.clone(),
        // What to change is the release, whatever the template then says.
        (None, [image]) if image.value.is_some() => Image {
            field: Some(RELEASE_IMAGE.to_owned()),
            ..image.clone()
        },
        (None, _) => Image {
            field: Some(RELEASE_IMAGE.to_owned()),
            value: pool.release_image.clone(),
            why_not: Some(WhyNot::ReleaseImage),
            ..Image::default()
        },
    };
    // Its nodes get the config of a pool of this name, whatever theirs is (openshift/hypershift).
    Image {
        pool: Some("master".to_owned()),
        ..image
    }
}

/// `AWS` as `aws` (openshift/hypershift `PlatformType`).
fn platform_id(platform: &str) -> Option<Platform> {
    let name = platform.to_ascii_lowercase();
    Platform::named(&name)
}

/// Note on a NodePool that names no image. Its Agents have booted from an ISO of
/// their own (hypershift `NodePoolPlatform`).
fn platform_note(platform: &str, release: Option<&str>) -> String {
    match (platform, release) {
        ("Agent" | "None", _) | (_, None) => format!("platform {platform}"),
        (_, Some(release)) => {
            format!("platform {platform}: the image is the one that release {release} brings")
        }
    }
}

/// Numbers of these nodes by what they were made from; those without a label last.
pub(crate) fn made_from<'n>(
    objects: &Objects,
    nodes: impl IntoIterator<Item = &'n Node>,
) -> Vec<NodeCount> {
    let mut counts: BTreeMap<_, usize> = BTreeMap::new();
    for node in nodes {
        let version = objects.version_text(node);
        *counts.entry((version.is_none(), version)).or_default() += 1;
    }
    let count = |((_, version), count)| NodeCount { version, count };
    counts.into_iter().map(count).collect()
}
