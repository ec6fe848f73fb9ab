//! What the cluster's objects say (pure): lists and single objects, sorted by kind. An object whose fields are of other types than their API has
//! is left out and named.

use super::Unread;
use super::image::Spec;
use super::kinds::{
    BootImageReport, ClusterVersion, ConfigMap, Host, Machine, MachineConfiguration, MachineSet, Metadata, Node, NodePool, Object, Skew,
    TemplateSpec, Text,
};
use super::stream::{OwnImage, own_images};
use crate::text;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The most objects that are read.
const MAX_OBJECTS: usize = 200_000;

/// Everything that was read.
#[derive(Debug, Default)]
pub struct Objects {
    pub(super) machine_sets: Vec<MachineSet>,
    pub(super) control_planes: Vec<MachineSet>,
    pub(super) cluster_api_sets: Vec<MachineSet>,
    pub(super) machines: Vec<Machine>,
    pub(super) cluster_api_machines: Vec<Machine>,
    /// By kind, namespace and name.
    pub(super) infrastructure: BTreeMap<(Text, Text, Text), Spec>,
    pub(super) node_pools: Vec<NodePool>,
    pub(super) hosts: Vec<Host>,
    pub(super) nodes: Vec<Node>,
    pub(super) reports: Vec<BootImageReport>,
    pub(super) own_images: Vec<OwnImage>,
    pub(super) release: Option<Text>,
    pub(super) skew: Option<Skew>,
    /// Objects that could not be understood.
    pub(super) odd: Vec<Unread>,
    count: usize,
}

/// What else a list says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ListMetadata {
    /// What to ask for the next page with; empty at the end.
    #[serde(rename = "continue")]
    pub next: String,
}

/// What was to be a list of objects and is not.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not JSON, or cut off.
    #[error("is not a JSON object of the cluster: {0}")]
    Json(#[from] serde_json::Error),
    /// More than is read.
    #[error("there are more than {MAX_OBJECTS} objects")]
    TooMany,
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(default, rename = "apiVersion", borrow)]
    api_version: Cow<'a, str>,
    #[serde(default, borrow)]
    kind: Cow<'a, str>,
    #[serde(default, borrow)]
    metadata: Option<&'a RawValue>,
    #[serde(default, borrow)]
    items: Option<Vec<&'a RawValue>>,
}

impl Objects {
    /// Adds what a file says: objects and lists of them, one behind the other. Kinds that say nothing of boot images are passed over.
    ///
    /// # Errors
    /// It is not JSON, or more than is read. What stands before stays added.
    pub fn add_file(&mut self, bytes: &[u8]) -> Result<(), ReadError> {
        serde_json::Deserializer::from_slice(bytes)
            .into_iter::<&RawValue>()
            .try_for_each(|document| self.add_page(document?.get(), None).map(|_| ()))
    }

    /// Adds one object or list, of this `apiVersion` and kind where that is known.
    ///
    /// # Errors
    /// As [`Self::add_file`].
    pub fn add_page(&mut self, document: &str, of: Option<(&str, &str)>) -> Result<ListMetadata, ReadError> {
        let head: Head<'_> = serde_json::from_str(document)?;
        let Some(items) = head.items else {
            self.add(&head.api_version, &head.kind, document)?;
            return Ok(ListMetadata::default());
        };
        for item in items {
            if let Some((api_version, kind)) = of {
                self.add(api_version, kind, item.get())?;
                continue;
            }
            let own: Head<'_> = serde_json::from_str(item.get())?;
            // A `MachineSetList` as the API server sends it: only the list has a kind.
            match own.kind.is_empty() {
                true => self.add(&head.api_version, head.kind.strip_suffix("List").unwrap_or_default(), item.get())?,
                false => self.add(&own.api_version, &own.kind, item.get())?,
            }
        }
        Ok(head.metadata.map(|metadata| serde_json::from_str(metadata.get())).transpose()?.unwrap_or_default())
    }

    pub(super) fn has_cluster_api(&self) -> bool {
        !self.cluster_api_sets.is_empty()
    }

    fn add(&mut self, api_version: &str, kind: &str, json: &str) -> Result<(), ReadError> {
        self.count += 1;
        if self.count > MAX_OBJECTS {
            return Err(ReadError::TooMany);
        }
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        if let Err(error) = self.add_kind(group, kind, json) {
            #[derive(Deserialize)]
            struct Named {
                metadata: Metadata,
            }
            let name = serde_json::from_str(json).map(|Named { metadata }| format!("{}/{}", &*metadata.namespace, &*metadata.name));
            let name = name.unwrap_or_else(|_| "without a name".to_owned());
            let hides_sets = kind.ends_with("Set") || kind == "NodePool";
            self.odd.push(Unread {
                what: text::printable(&format!("{kind} {name}")),
                why: text::printable(&error.to_string()),
                hides_sets,
            });
        }
        Ok(())
    }

    fn add_kind(&mut self, group: &str, kind: &str, json: &str) -> serde_json::Result<()> {
        match (group, kind) {
            ("machine.openshift.io", "MachineSet") => self.machine_sets.push(serde_json::from_str(json)?),
            ("machine.openshift.io", "ControlPlaneMachineSet") => self.control_planes.push(serde_json::from_str(json)?),
            ("machine.openshift.io", "Machine") => self.machines.push(serde_json::from_str(json)?),
            ("cluster.x-k8s.io", "MachineSet") => self.cluster_api_sets.push(serde_json::from_str(json)?),
            ("cluster.x-k8s.io", "Machine") => self.cluster_api_machines.push(serde_json::from_str(json)?),
            ("infrastructure.cluster.x-k8s.io", _) => {
                let (metadata, spec) = if kind.ends_with("Template") {
                    let object: Object<TemplateSpec, IgnoredAny> = serde_json::from_str(json)?;
                    (object.metadata, object.spec.template.spec)
                } else {
                    let object: Object<Spec, IgnoredAny> = serde_json::from_str(json)?;
                    (object.metadata, object.spec)
                };
                let kind = Text(text::printable(kind));
                self.infrastructure.insert((kind.clone(), metadata.namespace, metadata.name), spec.of_kind(kind));
            }
            ("hypershift.openshift.io", "NodePool") => self.node_pools.push(serde_json::from_str(json)?),
            ("metal3.io", "BareMetalHost") => self.hosts.push(serde_json::from_str(json)?),
            ("", "Node") => self.nodes.push(serde_json::from_str(json)?),
            ("skewguard.dev", "BootImageReport") => self.reports.push(serde_json::from_str(json)?),
            ("config.openshift.io", "ClusterVersion") => {
                self.release = serde_json::from_str::<ClusterVersion>(json)?.status.desired.version;
            }
            ("operator.openshift.io", "MachineConfiguration") => {
                let object: MachineConfiguration = serde_json::from_str(json)?;
                if &*object.metadata.name == "cluster" {
                    self.skew = object.status.boot_image_skew_enforcement_status;
                }
            }
            ("", "ConfigMap") => {
                let ConfigMap { metadata, data } = serde_json::from_str(json)?;
                if &*metadata.name == "coreos-bootimages" {
                    self.own_images = own_images(&data)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}
