//! Cluster in YAML that end early (pure). A text that is cut between two lines is YAML all the same.

use crate::kinds::fields::str_at;
use crate::kinds::kind_table::{is_read, row};
use crate::kinds::metadata::Metadata;
use crate::text::printable;
use crate::unread::Unread;
use serde_json::Value;

/// Tells whether a document with one object was cut short, and what says so. `oc` and must-gather write
/// the fields in the order of the alphabet, `status` last, and end the last line. What a person
/// wrote, without what a server adds, may lack both.
pub fn cut_short(group: &str, kind: &str, object: &Value, ends_line: bool) -> Option<Unread> {
    let from_server = |fields: &[&str]| fields.iter().all(|field| str_at(object, field).is_some());
    let is_named = from_server(&["/metadata/creationTimestamp"]);
    let is_whole = from_server(&[
        "/metadata/creationTimestamp",
        "/metadata/resourceVersion",
        "/metadata/uid",
    ]);
    let lacks = |field: &str| object.get(field).is_none();
    let is_complete = row(group, kind).is_some_and(|row| row.is_complete);
    let why = if is_complete && is_named && lacks("spec") {
        "ends early: it has no spec"
    } else if is_complete && is_whole && lacks("status") {
        "ends early: it has no status"
    } else if is_read(group, kind) && is_whole && !ends_line {
        "ends early: its last line has no end"
    } else {
        return None;
    };
    let what = format!("{} {}", printable(kind), Metadata::of(object).full_name());
    let why = format!("{why}; `oc get -o yaml` prints all of it");
    Some(Unread::new(what, why).hiding_sets(true))
}
