//! A document as text: YAML for people, JSON for Ignition and for the size, which is that of the JSON (pure).

use serde::Serialize;

/// As YAML, with a line end.
pub fn yaml(document: &impl Serialize) -> String {
    let mut out = String::new();
    let options = serde_saphyr::ser_options! { compact_list_indent: false, folded_wrap_chars: usize::MAX };
    // Strings, numbers, lists and structs always serialise; so below.
    let _ = serde_saphyr::to_fmt_writer_with_options(&mut out, document, options);
    out
}

/// As compact JSON, as an API server keeps it.
pub fn json(document: &impl Serialize) -> String {
    serde_json::to_string(document).unwrap_or_default()
}
