//! Unknown words and what they were meant to be, and text that people read.

use super::Lint;
use super::shape::Shape;
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

/// Reports a version that is not understood.
pub(super) fn not_a_version(
    lint: &mut Lint,
    at: &Located<'_>,
    what: &str,
    help: impl Into<String>,
) {
    let message = format!("{} {what}: {}", at.shown(), consequence(&at.path));
    lint.error(at, "VersionNotUnderstood", message, help);
}

/// Reports a field that is not read: a typo, one that belongs elsewhere, or one that another
/// release may know. Returns the field that a typo was meant to be.
pub(super) fn unknown_field(
    lint: &mut Lint,
    key: &Located<'_>,
    names: &[&'static str],
) -> Option<&'static str> {
    const MISTAKE: &str = "UnknownField";
    let name = key.string().unwrap_or_default();
    let meant = nearest(&name, names);
    let places = Shape::objects().filter(|place| place.properties.contains_key(&*name));
    let places: Vec<String> = places.map(Shape::place).collect();
    let help = format!("remove it; the fields here are {}", names.join(", "));
    let is_of_when = names.contains(&"when") && WHEN.contains(&&*name);
    if let Some(meant) = meant {
        let help = format!("did you mean {meant}?");
        lint.error(key, MISTAKE, "there is no such field", help);
    } else if is_of_when {
        let help = format!("write it as \"when\": {{ \"{name}\": ... }}");
        lint.error(key, MISTAKE, "is not read here", help);
    } else if !places.is_empty() {
        let help = format!("it is a field of {}", places.join(" and of "));
        lint.error(key, MISTAKE, "is not read here", help);
    } else if is_in_issue(&key.path) {
        let message = "there is no such field: no node evaluates the issue";
        lint.error(key, MISTAKE, message, help);
    } else if key.path.contains(".when.") {
        let message = format!("there is no such field: {}", consequence(&key.path));
        lint.error(key, MISTAKE, message, help);
    } else {
        let message = "there is no such field; it is ignored";
        lint.warning(key, MISTAKE, message, help);
    }
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
    if written
        .chars()
        .any(|c| c == '\\' || !matches!(c, ' '..='~'))
    {
        let shown = text::printable_up_to(&written, 60);
        let message = format!("consoles show plain ASCII only; it will read \"{shown}\"");
        lint.warning(
            value,
            "NotPlainText",
            message,
            "use printable ASCII characters on one line, without backslashes",
        );
    }
    if written.chars().count() > text::KEPT_MAX {
        let message = format!("only the first {} characters are kept", text::KEPT_MAX);
        lint.warning(value, "NotPlainText", message, "shorten it");
    }
}

/// Checks a URL that is shown to people.
pub(super) fn link(lint: &mut Lint, at: &Located<'_>) {
    let is_url = |url: &str| {
        ["https://", "http://"].iter().any(|scheme| {
            url.strip_prefix(scheme)
                .is_some_and(|rest| !rest.is_empty())
        })
    };
    plain_text(lint, at);
    if at.string().is_some_and(|url| !is_url(&url)) {
        lint.warning(
            at,
            "NotAURL",
            format!("{} is not an http or https URL", at.shown()),
            "write it whole, with https:// in front",
        );
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
    let message = format!("the required field {name} is missing{then}");
    let help = format!("add \"{name}\": {}", example.unwrap_or_default());
    lint.error(at, "MissingField", message, help);
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
