//! A cluster's objects in YAML (pure). Aliases are refused: nothing that is read here has them.

use crate::text::printable;
use serde_json::Value;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};

/// Reads the objects of a cluster, at most `most`, each a document of its own; empty ones are left
/// out.
///
/// The bounds are those of the largest object of a must-gather, and of lists that are not written
/// as `oc` writes them: of its lists each item is read by itself.
///
/// # Errors
/// What is wrong, and where; printable.
pub fn documents(text: &str, most: usize) -> Result<Vec<Value>, String> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 1 << 20,
            max_nodes: 1 << 19,
            max_depth: 64,
            max_documents: most,
            max_aliases: 0,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::AsOrdinary,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        strict_booleans: true,
        ignore_binary_tag_for_string: true,
        emit_comments: false,
        with_snippet: false,
    };
    let documents: Vec<Value> =
        serde_saphyr::from_multiple_with_options(text, options).map_err(|error| {
            let what = match &error {
                serde_saphyr::Error::Budget {
                    breach: BudgetBreach::Aliases { .. },
                    ..
                } => "has a YAML alias, which is not supported",
                serde_saphyr::Error::Budget { .. } => {
                    "is larger or deeper than is read: 524288 values and 64 levels for an object"
                }
                // The others say where.
                _ => return format!("is not valid YAML ({})", printable(&error.to_string())),
            };
            match error.location() {
                Some(at) => format!("{what}: line {}, column {}", at.line(), at.column()),
                None => what.to_owned(),
            }
        })?;
    Ok(documents.into_iter().filter(|d| !d.is_null()).collect())
}
