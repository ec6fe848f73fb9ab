//! Unknown words and what they were meant to be, and text that people read.

use super::Lint;
use crate::policy::fields;
use crate::policy::json::Located;
use crate::text;

/// All fields, by where they belong.
const FIELDS: [(&[&str], &str); 7] = [
    (fields::POLICY, "the policy itself"),
    (fields::LIMIT, "an entry of limits"),
    (fields::HELP, "help"),
    (fields::DENIED, "an entry of deniedVersions"),
    (fields::KNOWN_ISSUE, "an entry of knownIssues"),
    (fields::IMAGES, "images of a known issue"),
    (fields::WHEN, "when of a known issue"),
];

/// Reports a version that is not understood. `explain` returns what is wrong with a string, and the
/// remedy; `form` is the remedy for a value of another type.
pub(super) fn not_a_version(
    lint: &mut Lint,
    at: &Located<'_>,
    form: &str,
    explain: impl FnOnce(&str) -> (String, String),
) {
    let shown = at.shown();
    // Shown as written, because 4.20 is a number and equal to 4.2.
    let is_number = shown.starts_with(|c: char| c.is_ascii_digit());
    let help = if is_number {
        format!("put it in quotes: \"{shown}\"")
    } else {
        form.to_owned()
    };
    if let Some(written) = lint.typed(at, at.string(), "a string", help) {
        let (what, help) = explain(&written);
        lint.error(at, "VersionNotUnderstood", format!("{shown} {what}"), help);
    }
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
    if let Some(meant) = meant {
        lint.error(
            key,
            "UnknownField",
            "there is no such field",
            format!("did you mean {meant}?"),
        );
    } else if let Some((_, place)) = FIELDS
        .iter()
        .find(|(fields, _)| fields.contains(&name.as_str()))
    {
        lint.error(
            key,
            "UnknownField",
            "is not read here",
            format!("it is a field of {place}"),
        );
    } else if [fields::KNOWN_ISSUE, fields::IMAGES, fields::WHEN].contains(&names) {
        let help = format!("remove it; the fields here are {}", names.join(", "));
        let message = "there is no such field: no node evaluates the issue";
        lint.error(key, "UnknownField", message, help);
    } else {
        let help = format!("remove it; the fields here are {}", names.join(", "));
        lint.warning(
            key,
            "UnknownField",
            "there is no such field; it is ignored",
            help,
        );
    }
    meant
}

/// Checks a value that must be one of `words`. Any other word acts as `acts_as` does.
pub(super) fn one_of(lint: &mut Lint, value: &Located<'_>, words: &[&'static str], acts_as: &str) {
    let list = format!("write \"{}\"", words.join("\" or \""));
    let word = lint.typed(value, value.string(), "a string", &list);
    if let Some(word) = word.filter(|word| !words.contains(&word.as_str())) {
        let help = nearest(&word, words).map_or(list, |meant| format!("did you mean \"{meant}\"?"));
        lint.error(
            value,
            "UnknownValue",
            format!("{} is unknown; it acts as \"{acts_as}\"", value.shown()),
            help,
        );
    }
}

/// Checks text that is shown on a console.
pub(super) fn plain_text(lint: &mut Lint, value: &Located<'_>) {
    let Some(written) = lint.typed(value, value.string(), "a string", "put it in double quotes")
    else {
        return;
    };
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
