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

/// YAML, for people, with a line end.
pub(crate) fn yaml(document: &impl Serialize) -> String {
    let mut out = String::new();
    let options =
        serde_saphyr::ser_options! { compact_list_indent: false, folded_wrap_chars: usize::MAX };
    // Strings, numbers, lists and structs always serialise, here and below.
    let _ = serde_saphyr::to_fmt_writer_with_options(&mut out, document, options);
    out
}

/// Compact JSON: for Ignition, and as an API server keeps it.
pub(crate) fn json(document: &impl Serialize) -> String {
    serde_json::to_string(document).unwrap_or_default()
}
