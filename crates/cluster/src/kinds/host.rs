//! Hosts of bare metal (pure).

use super::image::{INSTALL_COREOS, pool};
use super::metadata::{Metadata, Object, Reference};
use super::names::{forms, ip};
use super::owner;
use crate::lenient::message_if_any;
use crate::moment::{Moment, Time};
use serde::Deserialize;
use serde_json::Value;
use std::net::IpAddr;

/// A `BareMetalHost`.
#[derive(Debug, Default)]
pub struct Host {
    pub metadata: Metadata,
    pub source: HostSource,
    /// `status.provisioning.state`: `provisioning`, `provisioned`, `available`…
    pub state: String,
    pub since: Option<Moment>,
    pub error_type: Option<String>,
    pub error_message: Option<String>,
    pub is_on: Option<bool>,
    /// An image or the cluster's own installation is asked for.
    pub is_wanted: bool,
    /// Kind and name of what it is for: a Machine, or a Metal3Machine.
    pub consumer: Option<(String, String)>,
    pub hostname: Option<String>,
    pub addresses: Vec<IpAddr>,
    pub is_external: bool,
    /// A live ISO installs nodes of other clusters (baremetal-operator `Image.DiskFormat`).
    pub is_live: bool,
    pub owner: Option<String>,
}

/// Source that equal hosts share: they are installed from the same image, and ask for the same config.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostSource {
    /// An image of its own; `None` where the cluster's release brings it (`install_coreos`).
    pub url: Option<String>,
    pub pool: Option<String>,
    /// The label for its stream.
    pub stream: Option<String>,
    is_of_release: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    image: Image,
    custom_deploy: CustomDeploy,
    consumer_ref: Reference,
    externally_provisioned: bool,
    user_data: Reference,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Image {
    url: Option<String>,
    format: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CustomDeploy {
    method: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Status {
    provisioning: Provisioning,
    operation_history: OperationHistory,
    last_updated: Time,
    error_type: Option<String>,
    #[serde(deserialize_with = "message_if_any")]
    error_message: Option<String>,
    powered_on: Option<bool>,
    hardware: Hardware,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Provisioning {
    state: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OperationHistory {
    provision: Span,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Span {
    start: Time,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Hardware {
    hostname: Option<String>,
    nics: Vec<Nic>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Nic {
    ip: String,
}

/// The kinds that a host may be for and that become a Node.
const CONSUMERS: [&str; 2] = ["Machine", "Metal3Machine"];

impl Host {
    /// `whole` is the object itself, for the signs of who writes it.
    pub fn of(object: Object<Spec, Status>, whole: &Value) -> Self {
        let Object {
            metadata,
            spec,
            status,
        } = object;
        let Spec {
            image,
            custom_deploy,
            ..
        } = spec;
        let nics = status.hardware.nics.iter();
        let consumer = spec.consumer_ref.kind_and_name();
        Self {
            state: status.provisioning.state,
            since: (status.operation_history.provision.start.0).or(status.last_updated.0),
            error_type: status.error_type,
            error_message: status.error_message,
            is_on: status.powered_on,
            is_wanted: image.url.is_some() || custom_deploy.method.is_some(),
            consumer: consumer.filter(|(kind, _)| CONSUMERS.contains(&&**kind)),
            hostname: status.hardware.hostname,
            addresses: nics.filter_map(|nic| ip(&nic.ip)).collect(),
            is_external: spec.externally_provisioned,
            is_live: image.format == "live-iso",
            owner: owner::owner(whole),
            source: HostSource {
                is_of_release: custom_deploy.method.as_deref() == Some(INSTALL_COREOS),
                url: image.url,
                pool: spec.user_data.name.as_deref().and_then(pool),
                stream: metadata.label("coreos.openshift.io/stream"),
            },
            metadata: metadata.kept(),
        }
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
        let is_installed = self.source.url.is_some() || self.source.is_of_release;
        is_installed && !self.is_live && !self.is_external && self.consumer.is_none()
    }

    /// Tells whether a Machine of this name, or its infrastructure object, is what it is for.
    pub fn is_for(&self, kind: &str, name: &str) -> bool {
        let is_it = |(of, named): &(String, String)| of == kind && named == name;
        self.consumer.as_ref().is_some_and(is_it)
    }
}

/// Tells whether a host has an image on its disk, by `status.provisioning.state`.
pub fn is_installed(state: &str) -> bool {
    matches!(
        state,
        "provisioning" | "provisioned" | "externally provisioned"
    )
}
