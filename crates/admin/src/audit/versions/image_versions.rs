//! The version of an image, and the object that it is known from (pure).
//!
//! The first of these that names a version counts: the images of the cluster's own release, those
//! that were published for any release, the image's name, joined nodes that were made from it, and
//! last the reports of refused ones, which are claims. What joined nodes say otherwise is noted.

use crate::audit::results::set::{KnownBy, SetKind};
use crate::audit::versions::known_version::{
    Claim, KnownVersion, by_newest_node, is_other, says_more,
};
use crate::platform::Platform;
use crate::version::ImageVersion;
use skewguard_cluster::cluster::Cluster as Objects;
use skewguard_cluster::kinds::groups::MACHINE_API;
use skewguard_cluster::kinds::image::{Image, WhyNot};
use skewguard_cluster::kinds::machine::Machine;
use skewguard_cluster::kinds::machine_set::MachineSet;
use skewguard_cluster::kinds::node::Node;
use skewguard_cluster::kinds::node_pool::NodePool;
use skewguard_cluster::kinds::report::Report;
use skewguard_cluster::kinds::site::Site;
use skewguard_cluster::links::Links;
use skewguard_cluster::moment::Moment;
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The Machines that are made from an image, and what their nodes and reports say of it.
#[derive(Debug, Default)]
struct Joined {
    /// Number of them that are nodes.
    nodes: usize,
    by_nodes: Option<KnownVersion>,
    notes: Vec<String>,
    /// For each version: how many nodes say it, and the last of these with its place.
    says: BTreeMap<ImageVersion, (usize, usize, String)>,
    by_reports: Option<KnownVersion>,
}

/// The objects, with indexes to look them up by.
#[derive(Debug)]
pub(crate) struct Lookup<'a> {
    pub(crate) objects: &'a Objects,
    pub(crate) links: Links<'a>,
    by_image: BTreeMap<(Platform, String), Vec<(&'a Site, &'a Machine)>>,
    /// Nodes of an unknown image, whose Machine was not read or does not name it, and what they say.
    strays: Vec<(&'a Node, ImageVersion)>,
    /// Findings by an image and its site: many sets share one.
    joined: RefCell<BTreeMap<(Platform, String, Site), Rc<Joined>>>,
    /// The architecture of all nodes.
    architecture: OnceCell<Option<String>>,
    /// The region of all nodes, else of the cluster.
    region: OnceCell<Option<String>>,
    /// The groups of all Machines.
    groups: BTreeSet<&'static str>,
}

impl<'a> Lookup<'a> {
    pub(crate) fn new(objects: &'a Objects) -> Self {
        let mut by_image: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for machine in &objects.machines {
            let image = objects.image_of(&machine.metadata, &machine.source);
            if let (Some(key), Some(site)) = (image.key(), objects.site_of(machine)) {
                by_image.entry(key).or_default().push((site, machine));
            }
        }
        let links = Links::new(objects);
        let groups = objects.machines.iter().map(|machine| machine.group);
        Self {
            objects,
            strays: strays(objects, &links),
            links,
            by_image,
            joined: RefCell::default(),
            architecture: OnceCell::new(),
            region: OnceCell::new(),
            groups: groups.collect(),
        }
    }

    /// The Machines of this namespace that an object of this kind and name owns.
    pub(crate) fn owned_by<'s>(
        &'s self,
        kind: SetKind,
        namespace: &'s str,
        name: &'s str,
    ) -> &'s [&'a Machine] {
        self.links
            .owned_by(kind.group(), kind.name(), namespace, name)
    }

    /// Tells whether Machines of this group were read.
    pub(crate) fn has_machines(&self, group: &str) -> bool {
        self.groups.contains(group)
    }

    /// Tells whether Nodes were read: no cluster is without.
    pub(crate) fn has_nodes(&self) -> bool {
        !self.objects.nodes.is_empty()
    }

    /// The joined nodes of these Machines.
    pub(crate) fn nodes_of<'m>(
        &self,
        machines: impl Iterator<Item = &'m Machine>,
    ) -> Vec<&'a Node> {
        let nodes = machines.filter_map(|machine| self.links.node_of(machine));
        nodes.filter(|node| node.has_boot_image()).collect()
    }

    /// The architecture of these nodes, else of the instances, else of the image, else of all nodes of the
    /// cluster.
    pub(crate) fn architecture_of(&self, nodes: &[&Node], image: &Image) -> Option<String> {
        let own = common(nodes.iter().copied(), |node| node.architecture.as_ref());
        // Where the release has several, the next node may be of any.
        let of_all = || {
            let nodes = self.objects.nodes.iter();
            let nodes = nodes.filter(|_| !self.objects.is_multi_arch);
            common(nodes, |node| node.architecture.as_ref())
        };
        own.or_else(|| image.instance_architecture.map(str::to_owned))
            .or_else(|| self.image_architecture(image))
            .or_else(|| self.architecture.get_or_init(of_all).clone())
    }

    /// The region of these nodes, else of all of the cluster, else of its Infrastructure.
    pub(crate) fn region_of(&self, nodes: &[&Node]) -> Option<String> {
        let of_all = || {
            common(self.objects.nodes.iter(), |node| node.region.as_ref())
                .or_else(|| self.objects.region.clone())
        };
        common(nodes.iter().copied(), |node| node.region.as_ref())
            .or_else(|| self.region.get_or_init(of_all).clone())
    }

    /// Tells whether the image of a set that is labelled for Windows is not known as one of CoreOS.
    pub(crate) fn is_of_windows(&self, set: &MachineSet) -> bool {
        let image = self.objects.image_of(&set.metadata, &set.source);
        // What was not read says nothing.
        let is_read = image.value.is_some() && image.why_not != Some(WhyNot::NoText);
        is_read && self.listed(&image, &mut Vec::new()).is_none()
    }

    /// Tells the same of a node pool of Windows.
    pub(crate) fn is_pool_of_windows(&self, pool: &NodePool) -> bool {
        let named = pool.image.as_ref();
        let listed = named.and_then(|image| self.listed(image, &mut Vec::new()));
        pool.is_windows && listed.is_none()
    }

    /// The Nodes that alone would say an image's version, and were not read, though Machines name them. Where the
    /// API server gave all, such a Node is gone.
    pub(crate) fn nodes_not_read(&self) -> Vec<&'a str> {
        if self.objects.is_listed("", "Node") {
            return Vec::new();
        }
        let named = self.by_image.values().flatten();
        let missing =
            named.filter_map(|(_, machine)| Some((self.links.node_not_read(machine)?, *machine)));
        let decides = |machine: &Machine| {
            let image = self.objects.image_of(&machine.metadata, &machine.source);
            self.listed(&image, &mut Vec::new()).is_none()
        };
        let missing = missing.filter(|(_, machine)| decides(machine));
        missing.map(|(name, _)| name).collect()
    }

    /// The version of an image, as far as it is known.
    pub(crate) fn image_version(
        &self,
        image: &Image,
        notes: &mut Vec<String>,
    ) -> Option<KnownVersion> {
        match self.listed(image, notes) {
            Some(known) => {
                let joined = self.joined(image);
                let nodes = joined.by_nodes.as_ref();
                let is_better =
                    |nodes: &&KnownVersion| nodes.claim.is_none() && says_more(nodes, &known);
                if let Some(nodes) = nodes.filter(is_better) {
                    return Some(nodes.clone());
                }
                // A name may be another image's by now: of that the newest node knows more.
                let is_contradicted = known.by == KnownBy::ImageName
                    && !image.keeps_name()
                    && nodes.is_some_and(|nodes| is_other(&nodes.version, &known.version));
                match self.doubt(image, &known) {
                    Some(doubt) if is_contradicted => Some(known.doubted(&doubt)),
                    doubt => {
                        notes.extend(doubt);
                        Some(known)
                    }
                }
            }
            None => {
                let joined = self.joined(image);
                notes.extend_from_slice(&joined.notes);
                let by_nodes = joined.by_nodes.as_ref();
                by_nodes.or(joined.by_reports.as_ref()).cloned()
            }
        }
    }

    /// Joined nodes whose Machines name the image, and which say that they were made from another.
    fn doubt(&self, image: &Image, known: &KnownVersion) -> Option<String> {
        let joined = self.joined(image);
        let others = || {
            let says = joined.says.iter();
            says.filter(|(version, _)| is_other(version, &known.version))
        };
        let (version, (_, _, name)) = others().max_by_key(|(_, (_, place, _))| *place)?;
        Some(match others().map(|(_, (count, ..))| count).sum() {
            1 => format!(
                "Node {name}, whose Machine names it, says {version}: it was made from another image"
            ),
            more => format!(
                "{more} nodes whose Machines name it say another version, such as Node {name} {version}: they were made from other images"
            ),
        })
    }

    /// The Machines that are made from this image. Where the set does not say its site, and Machines
    /// of two sites have an image of that name, it may be either: none.
    fn same_image<'s>(&'s self, image: &'s Image) -> impl Iterator<Item = &'a Machine> + 's {
        let named = image.key().and_then(|key| self.by_image.get(&key));
        let of_site = named.into_iter().flatten();
        let mut of_site = of_site
            .filter(|(site, _)| image.site.agrees(site))
            .peekable();
        let first = of_site.peek().map(|(site, _)| site);
        let is_one = first.is_none_or(|first| of_site.clone().all(|(site, _)| site.agrees(first)));
        of_site.filter(move |_| is_one).map(|(_, machine)| *machine)
    }

    /// Tells whether a node joined that was made from this image, of this version, with the user data of a Secret.
    pub(crate) fn has_joined_by(
        &self,
        image: &Image,
        (namespace, secret): (&str, &str),
        version: &ImageVersion,
    ) -> bool {
        let is_it = |machine: &&Machine| {
            machine.metadata.namespace == namespace && machine.source.secret() == Some(secret)
        };
        let nodes = self.nodes_of(self.same_image(image).filter(is_it));
        nodes.into_iter().any(|node| {
            let says = self.objects.version_of(node);
            says.is_none_or(|(says, _)| !is_other(&says, version))
        })
    }

    /// The version by the nodes of Machines that were made from this image after a time.
    pub(crate) fn made_since(&self, image: &Image, since: &str) -> Option<KnownVersion> {
        let machines = self.same_image(image);
        let since = Moment::parse(since)?;
        let newer = machines.filter(|machine| machine.metadata.created > Some(since));
        let newer: Vec<&Machine> = newer.collect();
        let nodes = self.nodes_of(newer.iter().copied());
        let known = by_newest_node(self.objects, nodes.into_iter(), false, &mut Vec::new())?;
        Some(self.doubted(known, newer.into_iter()))
    }

    /// Number of joined nodes that are made from this image.
    pub(crate) fn joined_from(&self, image: &Image) -> usize {
        self.joined(image).nodes
    }

    fn joined(&self, image: &Image) -> Rc<Joined> {
        let Some((platform, name)) = image.key() else {
            return Rc::default();
        };
        let key = (platform, name, image.site.clone());
        if let Some(known) = self.joined.borrow().get(&key) {
            return Rc::clone(known);
        }
        let nodes = self.nodes_of(self.same_image(image));
        let mut joined = Joined {
            nodes: nodes.len(),
            by_reports: self.by_reports(image),
            ..Joined::default()
        };
        for (place, node) in nodes.iter().enumerate() {
            if let Some((version, _)) = self.objects.version_of(node) {
                let says = joined.says.entry(version).or_default();
                *says = (says.0 + 1, place, node.metadata.name.clone());
            }
        }
        let keeps_name = image.keeps_name();
        let (nodes, notes) = (nodes.into_iter(), &mut joined.notes);
        let by_nodes = by_newest_node(self.objects, nodes, keeps_name, notes);
        joined.by_nodes = by_nodes.map(|known| self.doubted(known, self.same_image(image)));
        let joined = Rc::new(joined);
        self.joined.borrow_mut().insert(key, Rc::clone(&joined));
        joined
    }

    /// What the nodes of these Machines say, as a claim where one of them was not read, or where a node of an unknown
    /// image says another version.
    fn doubted<'m>(
        &self,
        known: KnownVersion,
        mut machines: impl Iterator<Item = &'m Machine>,
    ) -> KnownVersion {
        let is_gone = self.objects.is_listed("", "Node");
        let unread = machines.find_map(|machine| self.links.node_not_read(machine));
        let unread = unread.filter(|_| !is_gone);
        let unread =
            unread.map(|name| format!("Node {name}, made from the same image, was not read"));
        let other = || {
            let mut strays = self.strays.iter();
            let (node, says) = strays.find(|(_, says)| *says != known.version)?;
            let name = &node.metadata.name;
            Some(format!("Node {name}, whose image is unknown, says {says}"))
        };
        if known.claim.is_none()
            && let Some(doubt) = unread.or_else(other)
        {
            return known.doubted(&doubt);
        }
        known
    }

    /// A claim: anybody who has the bootstrap identity can make a report.
    fn by_reports(&self, image: &Image) -> Option<KnownVersion> {
        let reports = self
            .same_image(image)
            .filter_map(|machine| self.report_of(machine));
        let newest = reports.max_by(|a, b| a.metadata.created.cmp(&b.metadata.created))?;
        let version = ImageVersion::parse(newest.version.as_deref()?);
        let name = &newest.metadata.name;
        let says = format!("BootImageReport {name} alone says {version}, and a report is a claim");
        let from = format!("BootImageReport {name}, a claim of the node's");
        Some(KnownVersion {
            claim: Some(Claim {
                says,
                may_be_newer: true,
                is_open: false,
            }),
            ..KnownVersion::new(version, KnownBy::Report, from)
        })
    }

    /// The report that this Machine's node made before it could join: a node that joined says itself what
    /// it was made from. If several reports fit, they must agree on the version.
    fn report_of(&self, machine: &Machine) -> Option<&'a Report> {
        if self.links.has_joined(machine) {
            return None;
        }
        let aliases = self.links.aliases_of(machine);
        let mut reports = self.links.reports_by(&aliases).into_iter();
        let first = reports.next()?;
        reports
            .all(|other| other.version == first.version)
            .then_some(first)
    }

    /// The version of every node, and its name.
    pub(crate) fn versions(&self) -> impl Iterator<Item = (&'a str, Option<ImageVersion>)> {
        self.objects.nodes.iter().map(|node| {
            let version = self.objects.version_of(node);
            (&*node.metadata.name, version.map(|(version, _)| version))
        })
    }
}

fn strays<'a>(objects: &'a Objects, links: &Links<'a>) -> Vec<(&'a Node, ImageVersion)> {
    let is_gone = objects.is_listed(MACHINE_API, "Machine");
    let is_stray = |node: &&Node| match links.machine_of(node) {
        None => node.is_of_machine_api && !is_gone,
        Some(machine) => {
            let image = objects.image_of(&machine.metadata, &machine.source);
            matches!(
                image.why_not,
                Some(WhyNot::FieldAbsent | WhyNot::NoImage | WhyNot::UnknownPlatform)
            )
        }
    };
    let nodes = objects.nodes.iter().filter(is_stray);
    nodes
        .filter_map(|node| Some((node, objects.version_of(node)?.0)))
        .collect()
}

/// The value that all of these nodes have, where they say the same.
fn common<'n, T: Ord + Clone + 'n>(
    nodes: impl Iterator<Item = &'n Node>,
    what: impl Fn(&'n Node) -> Option<&'n T>,
) -> Option<T> {
    one_of(nodes.map(|node| what(node).cloned()).collect())
}

/// The one element, where there is one.
pub(super) fn one_of<T: Ord>(all: BTreeSet<Option<T>>) -> Option<T> {
    if all.len() == 1 {
        all.into_iter().next().flatten()
    } else {
        None
    }
}
