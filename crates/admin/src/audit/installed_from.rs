//! Joined nodes with a known issue that breaks their update, by the image that they were installed from (pure).

use crate::audit::results::by_release;
use crate::audit::results::installed_from::InstalledFrom;
use crate::audit::results::set::NodeCount;
use crate::audit::verdict::{cpu, issues};
use crate::audit::versions::image_versions::Lookup;
use crate::policy::KnownIssue;
use crate::verdict::Machine as Facts;
use crate::verdict::{
    BootImageStatus, InstalledNode, PolicyInput, Target, UpdateIssues, update_issues,
};
use crate::version::{ImageVersion, OcpMinor};
use skewguard_cluster::cluster::Cluster as Objects;
use skewguard_cluster::kinds::image::Image;
use skewguard_cluster::kinds::machine::Machine;
use skewguard_cluster::kinds::node::Node;
use skewguard_cluster::kinds::target::meant_release;
use std::collections::BTreeMap;

/// At most this many nodes of a row are named.
const MAX_NAMED: usize = 50;

/// Nodes of a row: those of one pool and one image, and whether they have the issue.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    /// Nodes that have an issue come first.
    is_open: bool,
    pool: Option<&'a str>,
    /// The oldest image first; unknown ones last.
    unknown: bool,
    release: Option<(bool, Option<OcpMinor>)>,
    version: Option<ImageVersion>,
    /// The place of the issue in the list.
    issue: usize,
    to_know: Option<&'static str>,
}

/// The nodes whose update to `release` an issue breaks, and those of which it cannot be told: by
/// pool, the oldest image first. Empty where no update is known.
pub(crate) fn broken(
    lookup: &Lookup<'_>,
    policy: &PolicyInput,
    release: Option<&str>,
) -> Vec<InstalledFrom> {
    let Some(release) = release else {
        return Vec::new();
    };
    let objects = lookup.objects;
    let meant = meant_release(objects.release.as_deref(), release);
    let target = Target {
        release: Some(meant.clone()),
        ..Target::default()
    };
    let mut issues = issues::all(policy);
    issues.push(cpu::issue());
    let mut rows: BTreeMap<Key<'_>, Vec<&Node>> = BTreeMap::new();
    let sets = Sets::new(lookup);
    for node in &objects.nodes {
        let image = sets.image_of(node);
        let spec = sets.spec_of(node);
        let machine = machine(objects, node, spec.as_ref());
        let judge = |version: Option<&ImageVersion>| {
            update_issues(
                &issues,
                InstalledNode {
                    version,
                    target: &target,
                    platform: None,
                    machine: &machine,
                },
            )
        };
        let of_cpu = cpu::at_update(node, spec.as_ref(), &meant, objects);
        let of_cpu = of_cpu.map_or_else(|why| Some(Some(why)), |has| has.then_some(None));
        let of_cpu = of_cpu
            .zip(issues.last())
            .map(|(why, issue)| (issue, image.own(), why));
        for (issue, version, to_know) in found(image, judge).into_iter().chain(of_cpu) {
            let key = Key {
                is_open: to_know.is_some(),
                to_know,
                pool: node.pool.as_deref(),
                unknown: version.is_none(),
                release: version.as_ref().map(by_release),
                version,
                issue: place(&issues, issue),
            };
            rows.entry(key).or_default().push(node);
        }
    }
    let row = |(key, nodes): (Key<'_>, Vec<&Node>)| row(key, nodes, &issues, policy, release);
    rows.into_iter().filter_map(row).collect()
}

/// Facts of a node's machine, by the node, the spec that it was made from, and its pool.
fn machine(objects: &Objects, node: &Node, spec: Option<&Image>) -> Facts {
    let own = node.machine();
    let pool = node.pool.as_deref().filter(|_| node.node_pool.is_none());
    let fips = pool.and_then(|pool| objects.fips_of(pool));
    Facts {
        secure_boot: own.secure_boot.or(spec.and_then(|spec| spec.secure_boot)),
        fips: fips.or(own.fips),
        ..own
    }
}

/// All joined nodes by the image that they were installed from.
pub(crate) fn joined(lookup: &Lookup<'_>) -> Vec<NodeCount> {
    let sets = Sets::new(lookup);
    let image = |node| match sets.image_of(node) {
        NodeImage::Own(version) => Some(version.text),
        NodeImage::First(_) | NodeImage::Unknown => None,
    };
    let mut counts: BTreeMap<_, usize> = BTreeMap::new();
    for node in &lookup.objects.nodes {
        *counts.entry(image(node)).or_default() += 1;
    }
    let count = |(version, count)| NodeCount { version, count };
    counts.into_iter().map(count).collect()
}

/// The image that a node was installed from.
enum NodeImage {
    /// It says it itself, or its Machine names it.
    Own(ImageVersion),
    /// Version of the first node of its set. A set goes on to other images, as a rule to newer ones.
    First(ImageVersion),
    Unknown,
}

impl NodeImage {
    fn own(&self) -> Option<ImageVersion> {
        match self {
            Self::Own(version) => Some(version.clone()),
            Self::First(_) | Self::Unknown => None,
        }
    }
}

/// An issue, the image by which the node has it, and what is missing to tell.
type Found<'a> = (&'a KnownIssue, Option<ImageVersion>, Option<&'static str>);

/// The issues of a node. What the first node of its set has, the node may have.
fn found<'a>(
    image: NodeImage,
    judge: impl Fn(Option<&ImageVersion>) -> UpdateIssues<'a>,
) -> Vec<Found<'a>> {
    let (own, first) = match image {
        NodeImage::Own(version) => (Some(version), None),
        NodeImage::First(version) => (None, Some(version)),
        NodeImage::Unknown => (None, None),
    };
    let of_first = first.as_ref().map(|version| judge(Some(version)).has);
    let of_first = of_first.unwrap_or_default();
    let known = judge(own.as_ref());
    let has = known
        .has
        .into_iter()
        .map(|issue| (issue, own.clone(), None));
    let unknown = known.unknown.into_iter().map(|(issue, why)| {
        if of_first.iter().any(|has| std::ptr::eq(*has, issue)) {
            (issue, first.clone(), Some(OF_FIRST))
        } else {
            (issue, own.clone(), Some(why))
        }
    });
    has.chain(unknown).collect()
}

/// Reason why an issue of the first node is not told of another.
const OF_FIRST: &str = "the image is that of the first node of its set, and its own is unknown";

/// The first nodes of sets.
struct Sets<'a> {
    lookup: &'a Lookup<'a>,
    first: BTreeMap<(&'a str, String), &'a Node>,
}

impl<'a> Sets<'a> {
    fn new(lookup: &'a Lookup<'a>) -> Self {
        let mut first: BTreeMap<_, &Node> = BTreeMap::new();
        for machine in &lookup.objects.machines {
            let Some(node) = lookup.links.node_of(machine) else {
                continue;
            };
            let Some(set) = set_of(machine) else {
                continue;
            };
            let oldest = first.entry(set).or_insert(node);
            if node.age() < oldest.age() {
                *oldest = node;
            }
        }
        Self { lookup, first }
    }

    /// What a node's Machine names.
    fn spec_of(&self, node: &Node) -> Option<Image> {
        let machine = self.lookup.links.machine_of(node)?;
        let objects = self.lookup.objects;
        Some(objects.image_of(&machine.metadata, &machine.source))
    }

    fn image_of(&self, node: &Node) -> NodeImage {
        let objects = self.lookup.objects;
        if let Some((version, _)) = objects.version_of(node) {
            return NodeImage::Own(version);
        }
        let Some(machine) = self.lookup.links.machine_of(node) else {
            return NodeImage::Unknown;
        };
        if let Some(version) = self.lookup.named_by(machine, node) {
            return NodeImage::Own(version);
        }
        let first = set_of(machine).and_then(|set| self.first.get(&set));
        match first.and_then(|first| objects.version_of(first)) {
            Some((version, _)) => NodeImage::First(version),
            None => NodeImage::Unknown,
        }
    }
}

/// The namespace and the owner of a Machine.
fn set_of(machine: &Machine) -> Option<(&str, String)> {
    Some((&*machine.metadata.namespace, machine.owner()?))
}

fn place(issues: &[KnownIssue], issue: &KnownIssue) -> usize {
    let is_it = |other: &KnownIssue| std::ptr::eq(other, issue);
    issues.iter().position(is_it).unwrap_or_default()
}

fn row(
    key: Key<'_>,
    mut nodes: Vec<&Node>,
    issues: &[KnownIssue],
    policy: &PolicyInput,
    release: &str,
) -> Option<InstalledFrom> {
    let issue = issues.get(key.issue)?;
    nodes.sort_by_key(|node| node.age());
    Some(InstalledFrom {
        release: release.to_owned(),
        pool: key.pool.map(str::to_owned),
        boot_image: key.version.as_ref().map(BootImageStatus::from),
        issue: issue.id.clone(),
        reason: issue.reason.clone(),
        remedy: issue.remedy.clone(),
        url: issue.url.clone(),
        in_policy: issues::is_named(policy, &issue.id),
        to_know: key.to_know.map(str::to_owned),
        count: nodes.len(),
        nodes: nodes
            .iter()
            .take(MAX_NAMED)
            .map(|node| node.metadata.name.clone())
            .collect(),
    })
}
