//! What is known of an image's version, and from which object (pure).
//!
//! The first of these that names a version counts: joined nodes that were made from the same image, reports of refused ones, the images of the
//! cluster's own release, the image's name.

use super::KnownBy;
use super::image::{self, Image};
use super::kinds::{Machine, Node, NodeReport};
use super::objects::Objects;
use super::stream::OwnImage;
use crate::version::ImageVersion;
use std::collections::BTreeMap;

/// A version, and how it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) version: ImageVersion,
    pub(super) by: KnownBy,
    pub(super) from: String,
}

/// The objects, with indexes to look them up by.
#[derive(Debug)]
pub(super) struct Knowledge<'a> {
    pub(super) objects: &'a Objects,
    nodes: BTreeMap<&'a str, &'a Node>,
    by_image: BTreeMap<(&'static str, String), Vec<&'a Machine>>,
    /// By host name, address and product UUID.
    by_identity: BTreeMap<&'a str, Vec<&'a NodeReport>>,
}

impl<'a> Knowledge<'a> {
    pub(super) fn new(objects: &'a Objects) -> Self {
        let nodes = objects.nodes.iter().map(|node| (&*node.metadata.name, node)).collect();
        let mut by_image: BTreeMap<_, Vec<&Machine>> = BTreeMap::new();
        for machine in &objects.machines {
            if let Some(key) = objects.image_of(&machine.metadata, &machine.source).key() {
                by_image.entry(key).or_default().push(machine);
            }
        }
        let mut by_identity: BTreeMap<&str, Vec<&NodeReport>> = BTreeMap::new();
        for report in &objects.reports {
            for name in &report.identities {
                by_identity.entry(name).or_default().push(report);
            }
        }
        Self { objects, nodes, by_image, by_identity }
    }

    /// The node of a Machine.
    fn node_of(&self, machine: &Machine) -> Option<&'a Node> {
        self.nodes.get(machine.node.as_deref()?).copied()
    }

    /// What each joined node of these Machines was made from.
    pub(super) fn versions_of<'m>(&self, machines: impl Iterator<Item = &'m Machine>) -> Vec<Option<String>> {
        machines.filter_map(|machine| self.node_of(machine)).map(Node::version_text).collect()
    }

    /// What is known of an image.
    pub(super) fn of_image(&self, image: &Image, architecture: Option<&str>, notes: &mut Vec<String>) -> Option<Known> {
        self.by_nodes(image, notes).or_else(|| self.by_reports(image)).or_else(|| self.by_config_map(image, architecture)).or_else(|| {
            let version = image::version_in(image)?;
            Some(Known { version, by: KnownBy::ImageName, from: "the image's name".to_owned() })
        })
    }

    fn same_image(&self, image: &Image) -> impl Iterator<Item = &'a Machine> {
        image.key().and_then(|key| self.by_image.get(&key)).into_iter().flatten().copied()
    }

    fn by_nodes(&self, image: &Image, notes: &mut Vec<String>) -> Option<Known> {
        of_newest(self.same_image(image).filter_map(|machine| self.node_of(machine)), notes)
    }

    fn by_reports(&self, image: &Image) -> Option<Known> {
        let reports = self.same_image(image).filter_map(|machine| self.report_of(machine));
        let newest = reports.max_by(|a, b| a.metadata.created.cmp(&b.metadata.created))?;
        let version = ImageVersion::parse(newest.version.as_deref()?);
        let from = format!("BootImageReport {}, a claim of the node's", newest.metadata.name);
        Some(Known { version, by: KnownBy::Report, from })
    }

    /// The report that this Machine's node made before it could join. If several reports fit, they must agree on the version.
    fn report_of(&self, machine: &Machine) -> Option<&'a NodeReport> {
        let mut reports = machine.identities.iter().filter_map(|name| self.by_identity.get(name.as_str())).flatten().copied();
        let first = reports.next()?;
        reports.all(|other| other.version == first.version).then_some(first)
    }

    fn by_config_map(&self, image: &Image, architecture: Option<&str>) -> Option<Known> {
        let value = image.value.as_deref()?;
        let own = self.own_images(image, architecture).find(|own| own.image.as_deref().is_some_and(|own| value.ends_with(own)))?;
        let place = own.region.as_ref().map(|region| format!(" {region}")).unwrap_or_default();
        let from = format!("ConfigMap coreos-bootimages, {}{place}", own.architecture);
        Some(Known { version: ImageVersion::parse(&own.release), by: KnownBy::ConfigMap, from })
    }

    /// The images of the cluster's own release that could replace this one.
    pub(super) fn own_images(&self, image: &Image, architecture: Option<&str>) -> impl Iterator<Item = &'a OwnImage> {
        let (platform, region) = (image.platform, image.region.clone());
        let architecture = architecture.map(str::to_owned);
        self.objects.own_images.iter().filter(move |own| {
            Some(own.platform) == platform
                && architecture.as_deref().is_none_or(|architecture| architecture == own.architecture)
                && (own.region.is_none() || region.is_none() || own.region.as_deref() == region.as_deref())
        })
    }

    /// The version of every node, and its name.
    pub(super) fn versions(&self) -> impl Iterator<Item = (&'a str, Option<ImageVersion>)> {
        self.objects.nodes.iter().map(|node| (&*node.metadata.name, node.version.clone()))
    }
}

/// What the newest of these nodes says. The older ones may have been made before the field was given another image.
pub(super) fn of_newest<'a>(nodes: impl Iterator<Item = &'a Node>, notes: &mut Vec<String>) -> Option<Known> {
    let mut told: Vec<(&Node, ImageVersion)> = nodes.filter_map(|node| Some((node, node.version.clone()?))).collect();
    told.sort_by(|(a, _), (b, _)| (&a.metadata.created, &a.metadata.name).cmp(&(&b.metadata.created, &b.metadata.name)));
    let (newest, version) = told.pop()?;
    let same = told.iter().filter(|(_, other)| *other == version).count();
    if same < told.len() {
        notes.push(format!("of the nodes made from it, {} have another version: what the field names was replaced", told.len() - same));
    }
    let more = if same > 0 { format!(" and {same} more") } else { String::new() };
    Some(Known { version, by: KnownBy::Node, from: format!("Node {}{more}", newest.metadata.name) })
}
