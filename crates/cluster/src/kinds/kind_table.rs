//! The kinds of objects that are read of a cluster, by `kinds.json`, which has a row for each (pure). Requests,
//! rights, scripts and the names of files come from it.
//!
//! Of MachineConfigs the installer's two are read: rendered ones are large, and have the files of a node. Of
//! user data the Ignition version alone is kept. The Events of
//! `default` are of what has no namespace, such as a MachineConfigPool. The last rows are kinds of groups that
//! make nodes, and make none themselves.

use super::groups::*;
use super::kind::{Kind, Purpose};
use crate::lenient;
use crate::unread::Unread;
use serde::Deserialize;
use serde_json::Value;
use std::sync::LazyLock;

/// The kinds, but for the infrastructure of the Cluster API, which the server names.
pub static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    let rows = serde_json::from_str(include_str!("kinds.json"));
    // A test reads it.
    rows.unwrap_or_default()
});

/// Tells whether objects of this group and kind say something to the audit.
pub fn is_read(kind: (&str, &str)) -> bool {
    is_read_for(Purpose::Sets, kind)
}

/// Tells whether objects of this group and kind are read for this purpose.
pub fn is_read_for(purpose: Purpose, (group, kind): (&str, &str)) -> bool {
    let is_asked = |row: &Kind| row.is_asked_for() && row.purpose <= purpose;
    group == INFRASTRUCTURE || row(group, kind).is_some_and(is_asked)
}

/// Tells whether there are many objects of a kind, each of which is read where it is found.
pub fn is_one_of_many(kind: (&str, &str)) -> bool {
    matches!(kind, ("" | EVENTS, "Event") | ("", "Pod"))
}

/// The row of a kind.
pub fn row(group: &str, kind: &str) -> Option<&'static Kind> {
    let is_it = |row: &&Kind| row.group == group && row.kind == kind;
    KINDS.iter().find(is_it)
}

/// The kinds that a cluster is asked for, for this purpose.
pub fn asked_for(purpose: Purpose) -> impl Iterator<Item = &'static Kind> {
    let is_wanted = move |kind: &&Kind| kind.is_asked_for() && kind.purpose <= purpose;
    KINDS.iter().filter(is_wanted)
}

/// Tells whether sets are missing where an object of this kind is; so where it does not say its kind.
pub fn is_of_sets((group, kind): (&str, &str)) -> bool {
    kind.is_empty() || row(group, kind).is_some_and(|row| row.is_set)
}

/// Tells whether a kind of this name makes sets in some group.
pub fn is_name_of_set(kind: &str) -> bool {
    KINDS.iter().any(|row| row.is_set && row.kind == kind)
}

/// Groups and kinds of what makes nodes; a star ends the beginning of a name. A kind of theirs that is not
/// understood is named. Karpenter's providers have groups of their own (`karpenter.azure.com`).
pub const MAKERS: [(&str, &str); 7] = [
    (MACHINE_API, "*"),
    (CLUSTER_API, "*"),
    (HYPERSHIFT, "*"),
    (METAL, "*"),
    ("karpenter.*", "*"),
    ("*", "MachineSet"),
    ("*", "ControlPlaneMachineSet"),
];

/// Tells whether a kind that is not understood may make nodes.
pub fn is_unknown_maker(group: &str, kind: &str) -> bool {
    let fits = |row: &str, own: &str| match row.strip_suffix('*') {
        Some(begin) => own.starts_with(begin),
        None => own == row,
    };
    let mut makers = MAKERS.iter();
    makers.any(|(of, named)| fits(of, group) && fits(named, kind)) && row(group, kind).is_none()
}

/// A resource that could not be gathered, by its `Status`; `None` where that says nothing of a failure.
pub fn unread(status: &Value) -> Option<Unread> {
    #[derive(Default, Deserialize)]
    struct Status {
        status: String,
        #[serde(rename = "details.kind")]
        kind: Option<String>,
        message: Option<String>,
    }

    let status = lenient::known::<Status>(status);
    if status.status != "Failure" {
        return None;
    }
    let what = status.kind.unwrap_or_else(|| "an object".to_owned());
    let known = asked_for(Purpose::Nodes).find(|kind| kind.name() == what);
    let why = status.message;
    let why = why.unwrap_or_else(|| "the server failed".to_owned());
    let hides_sets = known.is_none_or(|kind| kind.hides_sets);
    Some(Unread {
        hides_sets,
        is_estimated: known.is_some_and(|kind| kind.kind == SECRET),
        ..Unread::new(what, why.trim_end())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read() {
        let rows: Vec<Kind> = serde_json::from_str(include_str!("kinds.json")).unwrap();
        assert_eq!(rows.len(), KINDS.len());
        for row in &rows {
            assert!(!row.kind.is_empty(), "{row:?}");
        }
    }
}
