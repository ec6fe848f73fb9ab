//! A version, and the object that it is known from; what nodes of one image say of it (pure).

use crate::audit::operator::skew::is_older;
use crate::audit::results::set::KnownBy;
use crate::version::{ImageVersion, Scheme, compare_rhel};
use skewguard_cluster::cluster::Cluster as Objects;
use skewguard_cluster::kinds::node::Node;
use std::cmp::Ordering;

/// A version, and how it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownVersion {
    pub(crate) version: ImageVersion,
    pub(crate) by: KnownBy,
    pub(crate) from: String,
    /// Reason why nobody is refused for it, in words: a report alone says it, or another node of the same
    /// image contradicts.
    pub(crate) claim: Option<Claim>,
}

/// A claim that nothing bears out, or that another one contradicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    /// In words.
    pub(crate) says: String,
    /// Nothing says that the image is as old: it is not taken for the oldest one in use.
    pub(crate) may_be_newer: bool,
    /// It decides nothing either way: a node of the same image was not read or says nothing, the newest is not
    /// known, or the image cannot have been replaced.
    pub(crate) is_open: bool,
}

impl KnownVersion {
    pub(crate) fn new(version: ImageVersion, by: KnownBy, from: impl Into<String>) -> Self {
        Self {
            version,
            by,
            from: from.into(),
            claim: None,
        }
    }

    /// The same as a claim that decides nothing, for this reason.
    pub(crate) fn doubted(self, doubt: &str) -> Self {
        let says = format!("{} says {}, and {doubt}", self.from, self.version);
        Self {
            claim: Some(Claim {
                says,
                may_be_newer: false,
                is_open: true,
            }),
            ..self
        }
    }

    /// Tells whether it is one that Red Hat publishes.
    pub(crate) fn is_published(&self) -> bool {
        matches!(
            self.by,
            KnownBy::ConfigMap | KnownBy::Published | KnownBy::StreamMetadata
        )
    }
}

/// The version that the newest of these nodes says. The older ones may have been made before the field was
/// given another image, or its name, unless that is kept for one image.
pub(crate) fn by_newest_node<'a>(
    objects: &Objects,
    nodes: impl Iterator<Item = &'a Node>,
    keeps_name: bool,
    notes: &mut Vec<String>,
) -> Option<KnownVersion> {
    let mut all: Vec<&Node> = nodes.collect();
    all.sort_by(|a, b| a.age().cmp(&b.age()));
    let last = all.last().copied();
    if let Some(torn) = last.and_then(|newest| torn(objects, newest)) {
        return Some(torn);
    }
    let labelled = all.into_iter();
    let labelled = labelled.filter_map(|node| Some((node, objects.version_of(node)?)));
    let mut labelled: Vec<_> = labelled.collect();
    let (newest, (version, by)) = labelled.pop()?;
    let silent = last.filter(|last| last.metadata.name != newest.metadata.name);
    let created = newest.metadata.created;
    let mut nodes = labelled.iter();
    let has_twin =
        nodes.any(|(node, (other, _))| node.metadata.created == created && *other != version);
    let name = &newest.metadata.name;
    let says = labelled
        .iter()
        .map(|(node, (version, _))| (&*node.metadata.name, version));
    let others = says.clone().filter(|(_, other)| **other != version).count();
    if others > 0 {
        notes.push(disagreement(others, keeps_name));
    }
    // A node labels itself; an aleph file was read by a person.
    let claim = match (by, silent) {
        (_, Some(silent)) => Some(unlabelled((name, &version), silent)),
        (KnownBy::Aleph, None) => None,
        (_, None) => contradiction((name, &version), says).map(|claim| Claim {
            is_open: keeps_name || has_twin,
            ..claim
        }),
    };
    let more = match labelled.len() - others {
        0 => String::new(),
        same => format!(" and {same} more"),
    };
    let from = match by {
        KnownBy::Aleph => format!("the aleph of Node {name}{more}"),
        _ => format!("Node {name}{more}"),
    };
    Some(KnownVersion {
        claim,
        ..KnownVersion::new(version, by, from)
    })
}

/// The note on so many nodes that say other versions than the newest.
fn disagreement(others: usize, keeps_name: bool) -> String {
    let say = if others == 1 { "says" } else { "say" };
    let replaced = match keeps_name {
        true => "",
        false => "what the field names was replaced, or ",
    };
    format!("of the nodes made from it, {others} {say} another version: {replaced}a label is wrong")
}

/// The claim of the newest node with a label, where a newer one has none.
fn unlabelled((name, version): (&str, &ImageVersion), newer: &Node) -> Claim {
    let newer = &newer.metadata.name;
    Claim {
        says: format!(
            "Node {name} says {version}, and Node {newer}, the newest made from the same image, has no label"
        ),
        may_be_newer: false,
        is_open: true,
    }
}

/// The claim of a node whose label says another version than its annotation.
fn torn(objects: &Objects, node: &Node) -> Option<KnownVersion> {
    let [label, annotation] = node.says_two.as_deref()?;
    if objects.version_of(node).is_some() {
        return None;
    }
    let name = &node.metadata.name;
    let says = format!("Node {name} says {label} by its label, and {annotation} by its annotation");
    let claim = Claim {
        says,
        may_be_newer: true,
        is_open: false,
    };
    let version = ImageVersion::parse(annotation);
    Some(KnownVersion {
        claim: Some(claim),
        ..KnownVersion::new(version, KnownBy::Node, format!("Node {name}"))
    })
}

/// Nodes of the same image that say another version than this one.
pub(crate) fn contradiction<'a>(
    (name, version): (&str, &ImageVersion),
    all: impl DoubleEndedIterator<Item = (&'a str, &'a ImageVersion)> + Clone,
) -> Option<Claim> {
    let others = all.filter(|(_, other)| *other != version);
    let (other, says) = others.clone().next_back()?;
    let more = match others.clone().count() {
        1 => String::new(),
        all => format!(", and {} more say another", all - 1),
    };
    let mut newer = others.filter(|(_, other)| is_older(version, other));
    Some(Claim {
        says: format!(
            "Node {name} says {version}, and Node {other}, made from the same image, {says}{more}"
        ),
        may_be_newer: newer.next().is_some(),
        is_open: false,
    })
}

/// Tells whether a node's version is that of the name, and says more than the name does: names of files
/// and of marketplaces may say the OCP release alone.
pub(crate) fn says_more(node: &KnownVersion, named: &KnownVersion) -> bool {
    named.by == KnownBy::ImageName
        && named.version.scheme == Scheme::ImageName
        && node.version.is_known()
        && !is_other(&node.version, &named.version)
}

/// Tells whether one image cannot have both versions. What one of them does not say, it may have.
pub(crate) fn is_other(a: &ImageVersion, b: &ImageVersion) -> bool {
    let differ = a.ocp.zip(b.ocp).is_some_and(|(a, b)| a != b)
        || (a.build_date.as_ref().zip(b.build_date.as_ref())).is_some_and(|(a, b)| a != b);
    differ
        || a.rhel
            .zip(b.rhel)
            .and_then(|(a, b)| compare_rhel(a, b))
            .is_some_and(|order| order != Ordering::Equal)
}
