//! Unknown words and what they were meant to be, and text that people read.

use super::shape::Shape;
use super::{Lint, Rule};
use crate::policy::fields::WHEN;
use crate::policy::json::{Located, Object};
use crate::text;

/// Returns what a node does with the part of a policy that it does not understand.
pub(super) fn consequence(path: &str) -> &'static str {
    let of_nodes = [".release", ".pools", ".when"];
    if path.contains(".platforms[") || path.contains(".architectures[") {
        "no node has it"
    } else if is_in_issue(path) {
        "the issue is not evaluated"
    } else if path.contains(".deniedVersions[") {
        "the entry denies nothing"
    } else if of_nodes.iter().any(|field| path.contains(field)) {
        "nodes that the limit may be for are not judged"
    } else {
        "the rule is not evaluated"
    }
}

pub(super) fn is_in_issue(path: &str) -> bool {
    path.starts_with("knownIssues[")
}

/// Reports a field that is not read: a typo, one that belongs elsewhere, or one that another
/// release may know. Returns the field that a typo was meant to be.
pub(super) fn unknown_field(
    lint: &mut Lint,
    key: &Located<'_>,
    names: &[&'static str],
) -> Option<&'static str> {
    let name = key.string().unwrap_or_default();
    let meant = nearest(&name, names);
    let places = Shape::objects().filter(|place| place.properties.contains_key(&*name));
    let places: Vec<String> = places.map(Shape::place).collect();
    let rule = if meant.is_some() {
        Rule::MistypedField
    } else if names.contains(&"when") && WHEN.contains(&&*name) {
        Rule::FieldOfWhen
    } else if name == "mode" {
        Rule::ModeOfLimit
    } else if !places.is_empty() {
        Rule::MisplacedField
    } else if is_in_issue(&key.path) {
        Rule::UnknownFieldOfIssue
    } else if key.path.contains(".when.") {
        Rule::UnknownCondition
    } else {
        Rule::UnknownField
    };
    lint.say(
        key,
        rule,
        &[
            ("name", &name),
            ("names", &names.join(", ")),
            ("meant", &meant.unwrap_or_default()),
            ("places", &places.join(" and of ")),
        ],
    );
    meant
}

/// Tells whether an unknown field of the object is a typo of one of `names`.
pub(super) fn has_typo(object: &Object<'_>, names: &[&'static str]) -> bool {
    let mut unknown = object.unknown().filter_map(|key| key.string());
    unknown.any(|name| nearest(&name, names).is_some())
}

/// Checks text that is shown on a console.
pub(super) fn plain_text(lint: &mut Lint, value: &Located<'_>) {
    let written = value.string().unwrap_or_default();
    let is_plain = |c| c != '\\' && matches!(c, ' '..='~');
    if !written.chars().all(is_plain) {
        let shown = text::printable_up_to(&written, 60);
        lint.say(value, Rule::NotASCII, &[("shown", &shown)]);
    }
    if written.chars().count() > text::KEPT_MAX {
        lint.say(value, Rule::LongText, &[("most", &text::KEPT_MAX)]);
    }
}

/// Checks a URL that is shown to people.
pub(super) fn link(lint: &mut Lint, at: &Located<'_>) {
    let is_url = |url: String| {
        let parts = url.split_once("://");
        parts.is_some_and(|(scheme, rest)| ["https", "http"].contains(&scheme) && !rest.is_empty())
    };
    plain_text(lint, at);
    if !at.string().is_none_or(is_url) {
        lint.say(at, Rule::NotAURL, &[]);
    }
}

/// The name that `word` was most likely meant to be.
pub(super) fn nearest(word: &str, names: &[&'static str]) -> Option<&'static str> {
    if word.len() > 60 {
        return None;
    }
    let plain = |word: &str| word.to_ascii_lowercase().replace(['_', '-', ' '], "");
    let word = plain(word);
    // Minimum and maximum are two letters apart and mean the opposite.
    let opposite = |name: &str| {
        (word.starts_with("min") && name.starts_with("max"))
            || (word.starts_with("max") && name.starts_with("min"))
    };
    // An OCP release is none of these two families.
    let family = |name: &str| {
        word.contains("ocp") && ["FCOS", "SCOS"].iter().any(|family| name.contains(family))
    };
    names
        .iter()
        .map(|name| (strsim::damerau_levenshtein(&word, &plain(name)), *name))
        .filter(|(distance, name)| {
            *distance <= (name.len() / 4).max(1) && !opposite(name) && !family(name)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Reports that a required field is missing.
pub(super) fn missing(lint: &mut Lint, at: &Located<'_>, shape: &'static Shape, name: &str) {
    let then = match at.path.as_str() {
        "" => String::new(),
        path => format!(": {}", consequence(path)),
    };
    let example = shape.properties.get(name).and_then(Shape::example);
    let example = example.unwrap_or_default();
    lint.say(
        at,
        Rule::MissingField,
        &[
            ("name", &name),
            ("consequence", &then),
            ("example", &example),
        ],
    );
}

#[cfg(test)]
mod tests {
    use super::nearest;
    use crate::policy::fields;

    #[test]
    fn typos_are_recognised_and_opposites_are_not_confused() {
        for (word, meant) in [
            ("minimumOcpVersion", Some("minimumOCPVersion")),
            ("minimumOCPversions", Some("minimumOCPVersion")),
            ("minOCPVersion", Some("minimumOCPVersion")),
            ("minimum_rhcos_version", Some("minimumRHCOSVersion")),
            ("minimunRHCOSVersion", Some("minimumRHCOSVersion")),
            ("maximumOCPVersion", Some("maximumRHCOSVersion")),
            ("releases", Some("release")),
            ("pool", Some("pools")),
            ("rhelMajor", Some("rhelMajors")),
            ("deniedVerions", Some("deniedVersions")),
            ("maxReleasesBehind", Some("maximumReleasesBehind")),
            ("platforms", None),
            ("name", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, fields::LIMIT), meant, "{word}");
        }
        assert_eq!(nearest("api_version", fields::POLICY), Some("apiVersion"));
        assert_eq!(nearest("metadata", fields::POLICY), None);
        assert_eq!(nearest(&"x".repeat(100_000), fields::POLICY), None);
    }
}
