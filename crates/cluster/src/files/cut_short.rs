//! Cluster in YAML that end early (pure). A text that is cut between two lines is YAML all the same.

use crate::kinds::kind_table::{is_read, row};
use crate::lenient;
use crate::trouble::Help;
use crate::unread::Unread;
use serde::Deserialize;
use serde_json::Value;

/// Fields that a server adds to an object.
#[derive(Default, Deserialize)]
struct Added {
    #[serde(rename = "metadata.creationTimestamp")]
    created: String,
    #[serde(rename = "metadata.resourceVersion")]
    version: String,
    #[serde(rename = "metadata.uid")]
    uid: String,
}

/// Tells whether a document with one object was cut short, and what says so. `oc` and must-gather write
/// the fields in the order of the alphabet, `status` last, and end the last line. What a person
/// wrote, without what a server adds, may lack both.
pub fn cut_short((group, kind): (&str, &str), object: &Value, ends_line: bool) -> Option<Unread> {
    let Added {
        created,
        version,
        uid,
    } = lenient::known(object);
    let is_named = !created.is_empty();
    let is_whole = is_named && !version.is_empty() && !uid.is_empty();
    let lacks = |field: &str| object.get(field).is_none();
    let is_complete = row(group, kind).is_some_and(|row| row.is_complete);
    let why = if is_complete && is_named && lacks("spec") {
        "ends early: it has no spec"
    } else if is_complete && is_whole && lacks("status") {
        "ends early: it has no status"
    } else if is_read((group, kind)) && is_whole && !ends_line {
        "ends early: its last line has no end"
    } else {
        return None;
    };
    Some(Unread::of(kind, object, Help::PrintWhole.after(why)).hiding_sets(true))
}
