//! Hosts of bare metal (pure).

use super::fields::identity;
use super::image::INSTALL_COREOS;
use super::metadata::{Metadata, Reference};
use super::names::{forms, ips};
use super::owner::owner;
use super::readers::{is_present, pool_of};
use crate::lenient::{Raw, is_there, message_if_any};
use crate::moment::{Moment, time};
use serde::{Deserialize, Deserializer};
use std::net::IpAddr;

/// A `BareMetalHost`.
#[derive(Debug, Default, Deserialize)]
pub struct Host {
    pub metadata: Metadata,
    #[serde(rename = ".")]
    pub source: HostSource,
    /// `provisioning`, `provisioned`, `available`…
    #[serde(rename = "status.provisioning.state")]
    pub state: String,
    #[serde(rename = "status.operationHistory")]
    history: Operations,
    /// Of any change of its status.
    #[serde(rename = "status.lastUpdated", deserialize_with = "time")]
    pub updated: Option<Moment>,
    #[serde(rename = "status.errorType")]
    pub error_type: Option<String>,
    #[serde(rename = "status.errorMessage", deserialize_with = "message_if_any")]
    pub error_message: Option<String>,
    #[serde(rename = "status.poweredOn")]
    pub is_on: Option<bool>,
    /// An image or the cluster's own installation is asked for.
    #[serde(
        rename = "spec.image.url|spec.customDeploy.method",
        deserialize_with = "is_there"
    )]
    pub is_wanted: bool,
    /// Kind and name of what it is for: a Machine, or a Metal3Machine.
    #[serde(rename = "spec.consumerRef", deserialize_with = "consumer")]
    pub consumer: Option<(String, String)>,
    #[serde(rename = "status.hardware.hostname")]
    pub hostname: Option<String>,
    #[serde(rename = "status.hardware.nics", deserialize_with = "ips")]
    pub addresses: Vec<IpAddr>,
    /// Its operator leaves it alone.
    #[serde(
        rename = "metadata.annotations.baremetalhost.metal3.io/paused",
        deserialize_with = "is_present"
    )]
    pub is_paused: bool,
    /// Its operator leaves the machine alone.
    #[serde(
        rename = "metadata.annotations.baremetalhost.metal3.io/detached",
        deserialize_with = "is_present"
    )]
    pub is_detached: bool,
    #[serde(rename = "spec.externallyProvisioned")]
    pub is_external: bool,
    #[serde(rename = "spec.image.format")]
    format: String,
    #[serde(rename = ".metadata", deserialize_with = "owner")]
    pub owner: Option<String>,
}

/// The last operations of each kind on a host.
#[derive(Debug, Default, Deserialize)]
struct Operations {
    register: Operation,
    inspect: Operation,
    provision: Operation,
    deprovision: Operation,
}

/// An operation: one that goes on has no end.
#[derive(Debug, Default, Deserialize)]
struct Operation {
    #[serde(deserialize_with = "time")]
    start: Option<Moment>,
    #[serde(deserialize_with = "time")]
    end: Option<Moment>,
}

/// Source that equal hosts share: they are installed from the same image, and ask for the same config.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct HostSource {
    /// An image of its own; `None` where the cluster's release brings it (`install_coreos`).
    #[serde(rename = "spec.image.url")]
    pub url: Option<String>,
    #[serde(rename = "spec.userData.name", deserialize_with = "pool_of")]
    pub pool: Option<String>,
    /// The label for its stream.
    #[serde(rename = "metadata.labels.coreos.openshift.io/stream")]
    pub stream: Option<String>,
    #[serde(rename = "spec.customDeploy.method")]
    method: Option<String>,
    /// A digest of the image, where its URL does not tell it from others.
    #[serde(rename = "spec.image", deserialize_with = "whole")]
    pub whole: Option<u64>,
}

fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    struct Named {
        url: Raw<String>,
        checksum: Raw<String>,
    }

    let Named { url, checksum } = Deserialize::deserialize(deserializer)?;
    Ok(identity(&url.0, Some(&checksum.0)))
}

/// The kinds that a host may be for and that become a Node.
const CONSUMERS: [&str; 2] = ["Machine", "Metal3Machine"];

fn consumer<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<(String, String)>, D::Error> {
    let named = Reference::deserialize(deserializer)?.kind_and_name();
    Ok(named.filter(|(kind, _)| CONSUMERS.contains(&&**kind)))
}

/// States of a host that was used, or goes.
const LEAVES: [&str; 3] = ["deprovisioning", "deleting", "powering off before delete"];

impl Host {
    /// A live ISO installs nodes of other clusters (baremetal-operator `Image.DiskFormat`).
    pub fn is_live(&self) -> bool {
        self.format == "live-iso"
    }

    /// The beginning of its last installation.
    pub fn provisioned_at(&self) -> Option<Moment> {
        self.history.provision.start
    }

    /// The moment since when it is in its state; `None` where its history does not say it.
    pub fn since(&self) -> Option<Moment> {
        let operation = match &*self.state {
            "registering" => &self.history.register,
            "inspecting" => &self.history.inspect,
            "provisioning" => &self.history.provision,
            "deprovisioning" => &self.history.deprovision,
            _ => return None,
        };
        operation.start.filter(|_| operation.end.is_none())
    }

    /// Tells whether it cannot be taken by a machine, for an error: of its registration, inspection or
    /// preparation.
    pub fn fails_before_use(&self) -> bool {
        let is_before = !is_installed(&self.state) && !LEAVES.contains(&&*self.state);
        self.error_type.is_some() && is_before && !self.is_wanted && !self.is_external
    }

    /// Names of it in certificate requests and reports.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let hostname = self.hostname.as_deref().into_iter();
        hostname
            .chain([self.metadata.name.as_str()])
            .flat_map(forms)
    }

    /// Tells whether it is installed, and not for a Machine.
    pub fn is_on_its_own(&self) -> bool {
        let is_of_release = self.source.method.as_deref() == Some(INSTALL_COREOS);
        let is_installed = self.source.url.is_some() || is_of_release;
        is_installed && !self.is_live() && !self.is_external && self.consumer.is_none()
    }
}

/// Tells whether a host has an image on its disk, by `status.provisioning.state`.
pub fn is_installed(state: &str) -> bool {
    matches!(
        state,
        "provisioning" | "provisioned" | "externally provisioned"
    )
}
