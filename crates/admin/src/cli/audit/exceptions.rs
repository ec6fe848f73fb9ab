//! `--exceptions`: sets that do not count, each with a reason and a last day.

use super::super::inputs::{json_mistake, read_file};
use crate::audit::{BootImageAudit, SetException};
use crate::text::printable;
use crate::yaml;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use skewguard_cluster::file::name as named;
use skewguard_core::command::Failure;
use std::path::Path;

/// The most that is read of the file.
const MAX_BYTES: u64 = 1 << 20;

/// The form of the file, for who has it wrong.
const FORM: &str =
    "the file is a list `exceptions` of `set`, `reason`, `until` (YYYY-MM-DD) and `cluster`";

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exceptions {
    exceptions: Vec<Exception>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    /// The context, the ID or the infrastructure name of its cluster.
    #[serde(default, deserialize_with = "some_words")]
    cluster: Option<String>,
    /// `NAME`, `NAMESPACE/NAME` or `KIND/NAME`.
    #[serde(deserialize_with = "words")]
    set: String,
    #[serde(deserialize_with = "words")]
    reason: String,
    /// The last day that it holds, in UTC: days are in the order of their text.
    #[serde(deserialize_with = "day")]
    until: String,
}

/// Text that says something.
fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    match text.trim() {
        "" => Err(D::Error::custom("is empty")),
        text => Ok(printable(text)),
    }
}

fn some_words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    words(deserializer).map(Some)
}

/// `YYYY-MM-DD`.
fn day<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    match humantime::parse_rfc3339(&format!("{text}T00:00:00Z")) {
        Ok(_) if text.len() == 10 => Ok(text),
        _ => {
            let text = printable(&text);
            Err(D::Error::custom(format!(
                "{text} is not a day such as 2026-12-31"
            )))
        }
    }
}

/// # Errors
/// It cannot be read, or is not what it should be. The text names the place.
pub(super) fn load(path: &Path) -> Result<Exceptions, Failure> {
    let file = named(path);
    let bytes = read_file(path, MAX_BYTES, FORM)
        .map_err(|error| format!("--exceptions {file}: {error}"))?;
    parse(&bytes).map_err(|((line, column), what)| {
        format!("--exceptions {file}:{line}:{column}: {what}").into()
    })
}

/// JSON or YAML; a mistake with its place.
fn parse(bytes: &[u8]) -> Result<Exceptions, (yaml::Place, String)> {
    let text = std::str::from_utf8(bytes).map_err(|_| ((1, 1), "is not UTF-8".to_owned()))?;
    if text.trim().is_empty() {
        return Err(((1, 1), format!("is empty: {FORM}")));
    }
    if text.trim_start().starts_with(['[', '-']) {
        return Err(((1, 1), format!("begins with the list itself: {FORM}")));
    }
    let source = yaml::looks_like_yaml(text)
        .then(|| yaml::convert(text))
        .transpose()
        .map_err(|broken| (broken.place, broken.what))?;
    let json = source.as_ref().map_or(text, |source| &source.json);
    serde_json::from_str(json).map_err(|error| {
        let (here, what) = json_mistake(&error);
        let source = source.as_ref();
        let place = source.map_or(here, |source| source.place_before(here));
        // The form has the names.
        let what = what.split(", expected ").next().unwrap_or(&what);
        (place, format!("{what}: {FORM}"))
    })
}

impl Exceptions {
    /// # Errors
    /// An exception names no cluster. A set of that name may be in several.
    pub(super) fn name_clusters(&self) -> Result<(), String> {
        let mut all = self.exceptions.iter();
        match all.find(|exception| exception.cluster.is_none()) {
            None => Ok(()),
            Some(Exception { set, .. }) => Err(format!(
                "exception for {set}: with several clusters each has to say its `cluster`: context, cluster ID or infrastructure name"
            )),
        }
    }

    /// The clusters that they name.
    pub(super) fn clusters(&self) -> impl Iterator<Item = &str> {
        let named = self.exceptions.iter();
        named.filter_map(|exception| exception.cluster.as_deref())
    }

    /// Gives each set its exception; those of other clusters than that of these contexts are passed
    /// over. Those without a set, and those that ran out, become warnings.
    pub(super) fn apply(&self, audit: &mut BootImageAudit, contexts: &[String]) {
        let origin = audit.origin.clone();
        let today = origin.time.get(..10).unwrap_or_default();
        let is_here =
            |name: &str| contexts.iter().any(|context| context == name) || origin.is_of(name);
        let here = self.exceptions.iter();
        let here = here.filter(|exception| exception.cluster.as_deref().is_none_or(is_here));
        for Exception {
            set: name,
            reason,
            until,
            ..
        } in here.clone()
        {
            for set in audit.sets.iter_mut().filter(|set| set.is_named(name)) {
                // Of two the longer one holds.
                let other = set.exception.as_ref();
                if other.is_none_or(|other| other.until < *until) {
                    set.exception = Some(SetException {
                        reason: reason.clone(),
                        until: until.clone(),
                        ran_out: until.as_str() < today,
                    });
                }
            }
        }
        for Exception {
            set: name, until, ..
        } in here
        {
            let sets = audit.sets.iter().filter(|set| set.is_named(name));
            let counted: Vec<bool> = sets.map(|set| !set.is_excepted()).collect();
            let what = match &*counted {
                [] => "there is no such set".to_owned(),
                of if until.as_str() < today && of.contains(&true) => {
                    format!("expired on {until}; the set is included again")
                }
                _ => continue,
            };
            audit.warnings.push(format!("exception for {name}: {what}"));
        }
        let sets = audit.sets.iter();
        let excepted = sets.filter(|set| !set.would_be_allowed() && set.is_excepted());
        audit.summary.excepted = excepted.count();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_and_json_say_the_same() {
        let yaml = "exceptions:\n- set: c1-old\n  reason: OPS-1\n  until: 2026-12-01\n";
        let json = r#"{"exceptions":[{"set":"c1-old","reason":"OPS-1","until":"2026-12-01"}]}"#;
        assert_eq!(parse(yaml.as_bytes()), parse(json.as_bytes()));
        assert_eq!(parse(json.as_bytes()).unwrap().exceptions.len(), 1);
    }

    #[test]
    fn a_mistake_has_its_place() {
        let entry = |text: &str| format!("exceptions:\n- set: c1-old\n  {text}\n");
        for (text, place, what) in [
            (String::new(), (1, 1), "is empty"),
            ("{".to_owned(), (1, 1), "EOF while parsing"),
            (
                "- set: x\n".to_owned(),
                (1, 1),
                "begins with the list itself",
            ),
            (
                "exceptions: 3\n".to_owned(),
                (1, 13),
                "invalid type: integer",
            ),
            (entry("reason: x"), (3, 3), "missing field `until`"),
            (entry("why: x"), (3, 3), "unknown field `why`"),
            (
                entry("reason: ''\n  until: 2026-12-01"),
                (3, 11),
                "is empty",
            ),
            (
                entry("reason: x\n  until: 2026-02-30"),
                (4, 10),
                "2026-02-30 is not a day",
            ),
            (
                entry("reason: x\n  until: tomorrow\u{1b}"),
                (4, 10),
                "tomorrow",
            ),
            (entry("reason: x\n  set: y"), (4, 3), "the same key twice"),
        ] {
            let (found, says) = parse(text.as_bytes()).unwrap_err();
            assert!(says.contains(what), "{text:?}: {says}");
            assert!(!says.contains('\u{1b}'), "{says}");
            assert_eq!(found.0, place.0, "{text:?}: {found:?} {says}");
        }
        assert_eq!(parse(b"\xff\xfe").unwrap_err().1, "is not UTF-8");
    }
}
