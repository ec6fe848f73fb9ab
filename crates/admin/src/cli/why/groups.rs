//! Machines whose cause is the same (pure): many of them are told once.

use crate::why::Explanation;
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
        let names: Vec<&str> = std::iter::once(&first)
            .chain(&self.others)
            .take(NAMES)
            .map(|machine| machine.name.as_str())
            .collect();
        let more = match all - names.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let owner = first
            .owner
            .as_ref()
            .map_or(String::new(), |owner| format!(" of {owner}"));
        format!(
            "{all} {}{owner} are alike: {}{more}. {}",
            kinds(first.kind),
            names.join(", "),
            first.sentence
        )
    }
}

fn kinds(kind: &str) -> String {
    match kind {
        "CertificateSigningRequest" => {
            "machines that only a certificate request tells of".to_owned()
        }
        kind => format!("{kind}s"),
    }
}

/// What tells a cause from another: the sentence without names and numbers, and whose machine it is.
fn cause(machine: &Explanation) -> String {
    let plain = machine.sentence.replace(&machine.name, "");
    let words = plain.split_whitespace().map(|word| {
        let has_number = word.contains(|c: char| c.is_ascii_digit());
        if has_number { "#" } else { word }
    });
    let words: Vec<&str> = words.collect();
    // A span of time is said in one unit.
    let units = [
        "second", "seconds", "minute", "minutes", "hour", "hours", "day", "days",
    ];
    let words: Vec<&str> = words
        .into_iter()
        .filter(|word| !units.contains(&word.trim_end_matches([',', '.', ';', ':'])))
        .collect();
    format!(
        "{} {:?} {} {:?} {}",
        machine.kind,
        machine.stage,
        machine.is_certain,
        machine.owner,
        words.join(" ")
    )
}
