//! Machines whose cause is the same (pure): many of them are told once.

use crate::why::Explanation;
use skewguard_cluster::kinds::groups::REQUEST;
use skewguard_cluster::names::first_of;
use std::collections::HashMap;

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
    let mut places: HashMap<String, usize> = HashMap::new();
    for machine in machines {
        let place = *places.entry(cause(machine)).or_insert(groups.len());
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

impl Group<'_> {
    /// The sentence of its first one, and how many there are of which names where it has others.
    pub(super) fn sentence(&self) -> String {
        let first = self.first;
        if self.others.is_empty() {
            return first.sentence.clone();
        }
        let all = self.others.len() + 1;
        let machines = std::iter::once(&first).chain(&self.others);
        let names = first_of(machines.map(|machine| &*machine.name), NAMES, all);
        let owner = first.owner.as_ref();
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

    /// What to do with its first one, and the others' requests where it names one.
    pub(super) fn next(&self) -> Vec<String> {
        let mut next = self.first.next.clone();
        let is_named = |request: &str| next.iter().any(|next| next.contains(request));
        let is_about_requests = self.first.requests().any(is_named);
        let others = self.others.iter();
        let others: Vec<&str> = others.filter_map(|other| other.requests().last()).collect();
        if is_about_requests && !others.is_empty() {
            let names = first_of(others.iter().copied(), REQUESTS, others.len());
            next.push(format!("The others' requests: {names}"));
        }
        next
    }
}

/// Requests that are told of a group.
const REQUESTS: usize = 20;

/// The units in which a span of time is said.
const UNITS: [&str; 4] = ["second", "minute", "hour", "day"];

/// What tells a cause from another: the sentence without names and numbers, and whose machine it is.
fn cause(machine: &Explanation) -> String {
    let plain = machine.sentence.replace(&machine.name, "");
    let is_unit = |word: &str| {
        let word = word.trim_end_matches([',', '.', ';', ':']);
        UNITS.contains(&word.strip_suffix('s').unwrap_or(word))
    };
    let words = plain.split_whitespace().filter(|word| !is_unit(word));
    let words = words.map(|word| {
        let has_number = word.contains(|c: char| c.is_ascii_digit());
        if has_number { "#" } else { word }
    });
    format!(
        "{} {:?} {} {:?} {}",
        machine.kind,
        machine.stage,
        machine.is_certain,
        machine.owner,
        words.collect::<Vec<_>>().join(" ")
    )
}
