//! `deniedVersions`: entries that deny nothing, everything, or what another one denies already.

use super::wording::plain_text;
use super::{Lint, Mistake};
use crate::policy::draft::{DeniedDraft, Field};
use crate::policy::json::{Items, Located};
use crate::version::ImageVersion;
use std::collections::HashSet;

const HELP: &str = "write a whole version, or its beginning followed by *";

/// Longer than any version; what is longer is not taken apart.
const LONGEST: usize = 40;

/// Checks the list; `alone` where it is the only rule of its limit.
pub(super) fn list(lint: &mut Lint, Field { at, value }: &Field<'_, Items<'_>>, alone: bool) {
    const ENTRY: &str = "write { \"version\": \"...\", \"reason\": \"...\" }";
    let Some(items) = value else {
        return lint.wrong_type(at, "an array of objects", format!("write [ {} ]", ENTRY.trim_start_matches("write ")));
    };
    if items.len() == 0 && !alone {
        lint.warning(at, Mistake::NoEffect, "is empty: it denies nothing", "remove it");
    }
    let mut seen = HashSet::new();
    for item in items.iter() {
        let Ok(draft) = DeniedDraft::read(&item) else {
            lint.wrong_type(&item, "an object", ENTRY);
            continue;
        };
        let meant = lint.fields(&draft.object);
        if let Some(reason) = &draft.reason {
            plain_text(lint, &reason.at);
        }
        let Some(Field { at: version, value }) = &draft.version else {
            if !meant.contains(&"version") {
                lint.error(&item, Mistake::MissingField, "the required field version is missing: the entry denies nothing", ENTRY);
            }
            continue;
        };
        let Some(written) = value.clone() else {
            lint.wrong_type(version, "a string", "put it in double quotes");
            continue;
        };
        if !denies_some(lint, version, &written) {
            continue;
        }
        if is_denied(&seen, &written) {
            let message = format!("{} is denied by an entry above", version.shown());
            lint.warning(version, Mistake::NoEffect, message, "remove it");
        }
        seen.insert(written);
    }
}

/// Whether an entry denies some versions but not all.
fn denies_some(lint: &mut Lint, at: &Located<'_>, written: &str) -> bool {
    let errors = lint.errors;
    let never = |lint: &mut Lint, why: &str, help: &str| lint.error(at, Mistake::NeverMatches, format!("{} {why}", at.shown()), help);
    match written.strip_suffix('*') {
        Some("") => {
            let message = "\"*\" denies every version: every node is refused";
            lint.error(at, Mistake::MatchesEverything, message, "name the versions that are meant");
        }
        None if written.is_empty() => never(lint, "matches no version", HELP),
        Some(beginning) if beginning.contains('*') => never(lint, "matches no version: only one * at the end stands for anything", HELP),
        Some(beginning) if !is_beginning(beginning) => {
            never(lint, "is the beginning of no version", "`skewguard inspect` decodes versions")
        }
        Some(beginning) if !beginning.contains('.') => {
            let message = format!("{} ends within a number and denies more than one release", at.shown());
            lint.warning(at, Mistake::MatchesEverything, message, format!("write \"{beginning}.*\" if {beginning} is meant"));
        }
        Some(_) => {}
        None if written.contains('*') => never(lint, "matches no version: only one * at the end stands for anything", HELP),
        None if !ImageVersion::parse(written).is_known() && is_beginning(written) => {
            never(lint, "is no whole version and matches none", &format!("write \"{written}*\" for all that begin with it"));
        }
        None if !ImageVersion::parse(written).is_known() => {
            let message = format!("{} follows no known scheme; only an image of exactly this version is denied", at.shown());
            lint.warning(at, Mistake::VersionNotUnderstood, message, "`skewguard inspect` decodes versions");
        }
        None => {}
    }
    lint.errors == errors
}

/// Whether a version of a known scheme begins like that: some real one's end completes it.
fn is_beginning(beginning: &str) -> bool {
    const ENDS: [&str; 12] = [
        "418.94.202511010000-0",
        "418.94.202511300000-0",
        "418.810.202511010000-0",
        "418.810.202511300000-0",
        "412.9.202211010000-0",
        "412.9.202211300000-0",
        "42.81.20191101.0",
        "42s390x.81.20191130.0",
        "9.6.20251101-0",
        "10.2.20251130-0",
        "39.20231101.3.0",
        "39.20231130.3.0",
    ];
    // Any tail of any of them: a beginning need not be as long as the sample's own.
    (1..LONGEST).contains(&beginning.len())
        && ENDS.iter().any(|sample| {
            (0..=sample.len()).any(|at| sample.get(at..).is_some_and(|end| ImageVersion::parse(&format!("{beginning}{end}")).is_known()))
        })
}

fn is_denied(seen: &HashSet<String>, written: &str) -> bool {
    if written.len() > LONGEST {
        return seen.contains(written);
    }
    let begins = |n: usize| written.get(..n).is_some_and(|beginning| seen.contains(&format!("{beginning}*")));
    seen.contains(written) || (0..=written.len()).any(begins)
}
