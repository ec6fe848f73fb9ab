//! Checks against the schema of a policy: its fields, which of them are required, and their types.

use super::shape::{JsonType, Shape};
use super::wording::{consequence, is_in_issue, link, missing, nearest, plain_text, unknown_field};
use super::{Lint, Rule, START, bounds, families, issues, machine};
use crate::policy::fields::WHEN;
use crate::policy::json::Located;
use crate::version::OsFamily;
use std::collections::{BTreeMap, BTreeSet};

/// Checks a value, and all that is in it.
pub(super) fn check(lint: &mut Lint, at: &Located<'_>, shape: &'static Shape) {
    let kind = shape.resolved();
    if !has_type(at, kind) {
        let (words, help) = (shape.type_words(), type_help(at, shape));
        return lint.say(at, Rule::WrongType, &[("type", &words), ("help", &help)]);
    }
    match kind.json {
        JsonType::Object => fields(lint, at, kind),
        JsonType::Array => entries(lint, at, kind),
        JsonType::String => known_word(lint, at, shape),
        JsonType::Integer | JsonType::Boolean => {}
    }
    match shape.definition() {
        Some("line") => plain_text(lint, at),
        Some("url") => link(lint, at),
        Some("rhcosVersion") => bounds::rhcos_version(lint, at),
        Some("fcosVersion") => families::version(lint, at, OsFamily::Fcos),
        Some("scosVersion") => families::version(lint, at, OsFamily::Scos),
        Some("rhelMajors") => bounds::rhel_majors(lint, at),
        Some("releaseRange") => issues::release_range(lint, at),
        Some("shimVersion") => machine::shim_version(lint, at),
        Some("when") => secure_boot(lint, at),
        _ => {}
    }
}

/// Reports `secureBoot` without the architectures that it is meant for.
fn secure_boot(lint: &mut Lint, at: &Located<'_>) {
    let Some(when) = at.object(WHEN).ok() else {
        return;
    };
    if let Some(at) = when.get("secureBoot")
        && when.get("architectures").is_none()
    {
        lint.say(&at, Rule::SecureBootAlone, &[]);
    }
}

fn has_type(at: &Located<'_>, kind: &'static Shape) -> bool {
    match kind.json {
        JsonType::String => at.string().is_some(),
        JsonType::Integer => at.read::<u64>().is_some_and(|number| {
            let range = kind.range();
            range.is_none_or(|(low, high)| (low..=high).contains(&number))
        }),
        JsonType::Boolean => at.read::<bool>().is_some(),
        JsonType::Array => at.items().is_some(),
        JsonType::Object if kind.additional_properties.is_some() => {
            at.read::<BTreeMap<String, String>>().is_some()
        }
        JsonType::Object => at.object(&[]).is_ok(),
    }
}

fn type_help(at: &Located<'_>, shape: &'static Shape) -> String {
    // Shown as written, because 4.20 is a number and equal to 4.2.
    let shown = at.shown();
    let is_number = shown.starts_with(|c: char| c.is_ascii_digit());
    let is_string = shape.resolved().json == JsonType::String;
    match shape.example() {
        _ if at.path.is_empty() => START.to_owned(),
        _ if is_string && is_number && (shape.definition().is_some() || shown.contains('.')) => {
            format!("put it in quotes: \"{shown}\"")
        }
        Some(example) => format!("write it like {example}"),
        None => "put it in double quotes".to_owned(),
    }
}

/// Checks the fields: all known, none given twice, those that are required there.
fn fields(lint: &mut Lint, at: &Located<'_>, shape: &'static Shape) {
    let names: Vec<&'static str> = shape.properties.keys().copied().collect();
    let Some(object) = at.object(&names).ok().filter(|_| !names.is_empty()) else {
        return;
    };
    let mut seen = BTreeSet::new();
    let unknown = object.unknown().filter(|key| seen.insert(key.string()));
    // Fields that misspelt names were meant to be are not reported as missing, too.
    let meant: Vec<&str> = unknown
        .filter_map(|key| unknown_field(lint, &key, &names))
        .collect();
    for key in object.twice() {
        lint.say(&key, Rule::DuplicateField, &[]);
    }
    for key in object.nulls() {
        lint.say(&key, Rule::NullField, &[]);
    }
    for name in &shape.required {
        if object.get(name).is_none() && !meant.contains(name) {
            missing(lint, at, shape, name);
        }
    }
    let is_empty = names.iter().all(|name| object.get(name).is_none());
    if is_empty && meant.is_empty() && shape.min_properties > 0 {
        lint.say(at, Rule::NoKnownField, &[("names", &names.join(", "))]);
    }
    for (name, field) in &shape.properties {
        if let Some(at) = object.get(name) {
            check(lint, &at, field);
        }
    }
}

fn entries(lint: &mut Lint, at: &Located<'_>, shape: &'static Shape) {
    let mut is_empty = true;
    for entry in at.items().into_iter().flatten() {
        is_empty = false;
        if let Some(shape) = &shape.items {
            check(lint, &entry, shape);
        }
    }
    if !is_empty || shape.min_items == 0 {
        return;
    }
    let then = match at.path.as_str() {
        path if path.contains(".when.") && is_in_issue(path) => "the issue is for no node",
        path if path.contains(".when.") || path.ends_with(".pools") => "the limit is for no node",
        path => consequence(path),
    };
    let rule = match at.path.as_str() {
        "limits" => Rule::NoLimits,
        _ => Rule::EmptyList,
    };
    let example = shape.example().unwrap_or_default();
    lint.say(at, rule, &[("consequence", &then), ("example", &example)]);
}

/// Checks a string that this release knows all words for.
fn known_word(lint: &mut Lint, at: &Located<'_>, shape: &'static Shape) {
    let words = shape.known_words();
    let word = at.string().unwrap_or_default();
    let is_known = |known: &&str| known.eq_ignore_ascii_case(&word);
    if words.is_empty() || words.iter().any(is_known) {
        return;
    }
    let then = match shape.default {
        Some(default) if !is_in_issue(&at.path) => format!("; it acts as {default}"),
        _ => format!(": {}", consequence(&at.path)),
    };
    let help = match nearest(&word, words) {
        Some(meant) => format!("did you mean \"{meant}\"?"),
        None => format!("write \"{}\"", words.join("\" or \"")),
    };
    lint.say(
        at,
        Rule::UnknownWord,
        &[("consequence", &then), ("help", &help)],
    );
}
