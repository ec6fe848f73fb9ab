//! Texts to apply to a cluster or give to Ignition (pure): MachineConfig, Ignition config,
//! pointer, manifests.

pub(crate) mod admission;
pub mod alerts;
pub mod binary;
pub mod ignition;
pub(crate) mod machineconfig;
pub mod manifests;
pub(crate) mod pointer;
pub(crate) mod size;
pub mod units;
mod url;

use serde::Serialize;

/// Compact JSON: for Ignition, and as an API server keeps it.
pub(crate) fn json(document: &impl Serialize) -> String {
    serde_json::to_string(document).unwrap_or_default()
}
