//! Regular expressions for sets of strings, in RE2's syntax (Prometheus) and without backslashes,
//! so that PromQL's strings need no escape (pure).

use std::collections::{BTreeMap, BTreeSet};

/// Ends a word that stands for all strings that begin with it. No label value has this character.
pub(super) const ANYTHING: char = '*';

/// An expression that matches these words and nothing else, anchored at both ends as Prometheus
/// does it. Words have the characters of label values: letters, digits, `-`, `_` and `.`.
pub(super) fn any_of(words: impl IntoIterator<Item: AsRef<str>>) -> String {
    let words: Vec<_> = words.into_iter().collect();
    branch(&words.iter().map(AsRef::as_ref).collect())
}

fn branch(words: &BTreeSet<&str>) -> String {
    let mut tails: BTreeMap<char, BTreeSet<&str>> = BTreeMap::new();
    for word in words {
        let mut rest = word.chars();
        if let Some(first) = rest.next() {
            tails.entry(first).or_default().insert(rest.as_str());
        }
    }
    if tails.contains_key(&ANYTHING) {
        return ".*".to_owned();
    }
    let mut heads: BTreeMap<String, Vec<char>> = BTreeMap::new();
    for (first, rest) in tails {
        heads.entry(branch(&rest)).or_default().push(first);
    }
    let branches: Vec<String> = heads
        .iter()
        .map(|(tail, heads)| class(heads) + tail)
        .collect();
    let joined = branches.join("|");
    match (words.contains(""), branches.len()) {
        (_, 0) => String::new(),
        (true, _) => format!("(?:{joined})?"),
        (false, 1) => joined,
        (false, _) => format!("(?:{joined})"),
    }
}

/// Matches one of these characters, which are sorted.
fn class(chars: &[char]) -> String {
    if let [only] = chars
        && only.is_ascii_alphanumeric()
    {
        return only.to_string();
    }
    let mut runs: Vec<(char, char)> = Vec::new();
    for &c in chars {
        match runs.last_mut() {
            Some((_, last)) if c.is_ascii_digit() && u32::from(*last) + 1 == u32::from(c) => {
                *last = c;
            }
            _ => runs.push((c, c)),
        }
    }
    let shown =
        runs.iter().map(
            |&(first, last)| match u32::from(last).saturating_sub(u32::from(first)) {
                0 => first.to_string(),
                1 => format!("{first}{last}"),
                _ => format!("{first}-{last}"),
            },
        );
    // `-` sorts before all others, and first in a class it is no range.
    format!("[{}]", shown.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sets_of_words_are_short() {
        assert_eq!(any_of(["10", "11", "12", "9"]), "(?:9|1[0-2])");
        assert_eq!(any_of(["4", "41", "42", "49"]), "4(?:[129])?");
        assert_eq!(any_of(["9.6", "9.8"]), "9[.][68]");
        assert_eq!(
            any_of(["417.94.*", "417.94.2024", "418"]),
            "41(?:8|7[.]94[.].*)"
        );
        assert_eq!(any_of(["-", "a", "."]), "[-.a]");
        assert_eq!(any_of([""; 0]), "");
    }

    proptest! {
        #[test]
        fn exactly_the_words_match(words in prop::collection::btree_set("[-._a9]{1,4}", 1..9), other in "[-._a9]{1,4}") {
            let pattern = regex::Regex::new(&format!("^(?:{})$", any_of(&words))).unwrap();
            for word in &words {
                prop_assert!(pattern.is_match(word), "{} {}", pattern, word);
            }
            prop_assert_eq!(pattern.is_match(&other), words.contains(&other), "{} {}", pattern, other);
        }
    }
}
