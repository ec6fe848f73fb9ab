//! What to apply to a cluster or give to Ignition, as text (pure): MachineConfig, Ignition config, pointer, manifests.

pub mod binary;
pub mod disruption;
pub mod document;
pub mod ignition;
pub mod machineconfig;
pub mod manifests;
pub mod pointer;
pub mod size;
pub mod units;
mod url;
