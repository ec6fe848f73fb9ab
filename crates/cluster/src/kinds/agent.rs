//! Agents of the Assisted Installer (pure).

use super::metadata::{Condition, Metadata, conditions};
use super::names::{forms, ips};
use crate::lenient::{is_there, message_if_any};
use serde::Deserialize;
use std::net::IpAddr;

/// An `Agent`.
#[derive(Debug, Default, Deserialize)]
pub struct Agent {
    pub metadata: Metadata,
    #[serde(rename = "spec.hostname|status.inventory.hostname")]
    pub hostname: Option<String>,
    #[serde(rename = "status.debugInfo.state")]
    pub state: String,
    #[serde(
        rename = "status.debugInfo.stateInfo",
        deserialize_with = "message_if_any"
    )]
    pub state_info: Option<String>,
    /// `Rebooting`, `Waiting for ignition`, `Joined`…
    #[serde(
        rename = "status.progress.currentStage",
        deserialize_with = "message_if_any"
    )]
    pub progress: Option<String>,
    #[serde(rename = "status.inventory.interfaces", deserialize_with = "ips")]
    pub addresses: Vec<IpAddr>,
    #[serde(
        rename = "spec.clusterDeploymentName.name",
        deserialize_with = "is_there"
    )]
    pub is_bound: bool,
    #[serde(rename = "spec.approved")]
    pub is_approved: Option<bool>,
    #[serde(rename = "status.conditions", deserialize_with = "conditions")]
    pub conditions: Vec<Condition>,
}

impl Agent {
    /// Names of it in certificate requests and reports.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.hostname.as_deref().into_iter().flat_map(forms)
    }

    /// It is installed, or not wanted.
    pub fn is_over(&self) -> bool {
        let is_added = self.is_added() && self.progress.as_deref() == Some("Done");
        is_added || matches!(&*self.state, "installed" | "disabled")
    }

    /// Its disk is written, on day 2: it is to join the cluster that is there, whose administrator approves its requests.
    pub fn is_added(&self) -> bool {
        self.state == "added-to-existing-cluster"
    }
}
