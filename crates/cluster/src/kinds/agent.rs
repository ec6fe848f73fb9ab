//! Agents of the Assisted Installer (pure).

use super::metadata::{Condition, Metadata, Object, Reference, bounded};
use super::names::{forms, ip};
use crate::lenient::message_if_any;
use serde::Deserialize;
use std::net::IpAddr;

/// An `Agent`.
#[derive(Debug, Default)]
pub struct Agent {
    pub metadata: Metadata,
    pub hostname: Option<String>,
    pub state: String,
    pub state_info: Option<String>,
    /// `Rebooting`, `Waiting for ignition`, `Joined`…
    pub progress: Option<String>,
    pub addresses: Vec<IpAddr>,
    pub is_bound: bool,
    pub is_approved: Option<bool>,
    pub conditions: Vec<Condition>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    hostname: Option<String>,
    approved: Option<bool>,
    cluster_deployment_name: Reference,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Status {
    debug_info: DebugInfo,
    progress: Progress,
    inventory: Inventory,
    conditions: Vec<Condition>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct DebugInfo {
    state: String,
    #[serde(deserialize_with = "message_if_any")]
    state_info: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Progress {
    #[serde(deserialize_with = "message_if_any")]
    current_stage: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Inventory {
    hostname: Option<String>,
    interfaces: Vec<Interface>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Interface {
    #[serde(rename = "ipV4Addresses")]
    v4: Vec<String>,
    #[serde(rename = "ipV6Addresses")]
    v6: Vec<String>,
}

impl Agent {
    pub fn of(object: Object<Spec, Status>) -> Self {
        let Object {
            metadata,
            spec,
            status,
        } = object;
        let interfaces = status.inventory.interfaces.iter();
        let addresses = interfaces.flat_map(|all| all.v4.iter().chain(&all.v6));
        Self {
            metadata: metadata.kept(),
            addresses: addresses.filter_map(|text| ip(text)).collect(),
            hostname: spec.hostname.or(status.inventory.hostname),
            state: status.debug_info.state,
            state_info: status.debug_info.state_info,
            progress: status.progress.current_stage,
            is_approved: spec.approved,
            conditions: bounded(status.conditions),
            is_bound: spec.cluster_deployment_name.name.is_some(),
        }
    }

    /// Names of it in certificate requests and reports.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.hostname.as_deref().into_iter().flat_map(forms)
    }

    /// It is installed, or not wanted.
    pub fn is_over(&self) -> bool {
        matches!(
            &*self.state,
            "installed" | "added-to-existing-cluster" | "disabled"
        )
    }
}
