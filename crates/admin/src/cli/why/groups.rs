//! Machines whose cause is the same (pure): many of them are told once.

use crate::why::{CauseName, Explanation, HOST, Stage};
use skewguard_cluster::kinds::groups::REQUEST;
use skewguard_cluster::names::first_of;
use std::collections::BTreeMap;

/// Machines that are told alike, the one that waits longest first.
pub(super) struct Group<'a> {
    pub(super) first: &'a Explanation,
    pub(super) others: Vec<&'a Explanation>,
}

/// Names that are told of a group.
const NAMES: usize = 3;

/// The groups, in the order of their first ones.
pub(super) fn groups(machines: &[Explanation]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut places: BTreeMap<Key<'_>, usize> = BTreeMap::new();
    for machine in machines {
        let place = *places.entry(key(machine)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.others.push(machine),
            None => groups.push(Group {
                first: machine,
                others: Vec::new(),
            }),
        }
    }
    groups
}

impl<'a> Group<'a> {
    /// The sentence of its first one, and how many there are of which names where it has others.
    pub(super) fn sentence(&self) -> String {
        let first = self.first;
        if self.others.is_empty() {
            return first.sentence.clone();
        }
        let all = self.others.len() + 1;
        let machines = std::iter::once(&first).chain(&self.others);
        let names = first_of(machines.map(|machine| &*machine.name), NAMES, all);
        let owner = first.owner.as_ref().filter(|_| !first.cause.is_of_all());
        let owner = owner.map_or(String::new(), |owner| format!(" of {owner}"));
        let kinds = match first.kind {
            REQUEST => "machines that only a certificate request tells of".to_owned(),
            kind => format!("{kind}s"),
        };
        format!(
            "{all} {kinds}{owner} are alike: {names}. {}",
            first.sentence
        )
    }

    /// What to do with its first one, and the others' requests or hosts where it names one.
    pub(super) fn next(&self) -> Vec<String> {
        let mut next = self.first.next.clone();
        if self.first.names_request {
            next.extend(self.others_have("requests", REQUEST));
        }
        if self.first.names_host {
            next.extend(self.others_have("hosts", HOST));
        }
        next
    }

    /// `The same holds for the others' hosts: openshift-machine-api/rack-2 of worker-2`.
    fn others_have(&self, what: &str, kind: &str) -> Option<String> {
        let each = |other: &&Explanation| {
            let last = other.seen(kind).last()?;
            Some(format!("{last} of {}", other.name))
        };
        let all: Vec<String> = self.others.iter().filter_map(each).collect();
        let names = first_of(all.iter().map(String::as_str), SHOWN, all.len());
        (!all.is_empty()).then(|| format!("The same holds for the others' {what}: {names}"))
    }
}

/// Requests or hosts that are told of a group.
const SHOWN: usize = 20;

/// What tells a cause from another: its name, the rows and the words of others that it is told by, and whose machine it
/// is.
type Key<'a> = (
    &'static str,
    Stage,
    bool,
    Option<&'a str>,
    CauseName,
    &'a [&'static str],
    &'a [String],
);

fn key(machine: &Explanation) -> Key<'_> {
    let owner = machine.owner.as_deref();
    (
        machine.kind,
        machine.stage,
        machine.is_certain,
        owner.filter(|_| !machine.cause.is_of_all()),
        machine.cause,
        &machine.rows,
        &machine.key,
    )
}
