//! `deniedVersions`: entries that deny nothing, everything, or what another entry denies already.

use super::Lint;
use crate::policy::fields::DENIED;
use crate::policy::json::Located;
use crate::version::ImageVersion;
use std::collections::HashSet;

/// Longer than any version, in bytes. Longer entries are not compared prefix by prefix.
const LONGEST: usize = 40;

/// Checks the list. `alone`: it is the only rule of its limit.
pub(super) fn list(lint: &mut Lint, at: &Located<'_>, alone: bool) {
    let Some(entries) = at.items() else {
        return;
    };
    if entries.len() == 0 && !alone {
        lint.warning(at, "NoEffect", "is empty: it denies nothing", "remove it");
    }
    let mut seen = HashSet::new();
    for entry in entries {
        let version = entry
            .object(DENIED)
            .ok()
            .and_then(|entry| entry.get("version"));
        let Some((version, written)) = version.and_then(|at| Some((at.clone(), at.string()?)))
        else {
            continue;
        };
        if denies_some(lint, &version, &written) {
            if is_denied(&seen, &written) {
                let message = format!("{} is denied by an entry above", version.shown());
                lint.warning(&version, "NoEffect", message, "remove it");
            }
            seen.insert(written);
        }
    }
}

/// Checks one entry; whether it denies some versions, but not all.
fn denies_some(lint: &mut Lint, at: &Located<'_>, written: &str) -> bool {
    const HELP: &str = "write a whole version, or its beginning followed by *";
    const ONE_STAR: &str = "matches no version: a * matches only at the end, and only once";
    const INSPECT: &str = "`oc skewguard inspect` decodes versions";
    let errors = lint.report.errors;
    let never = |lint: &mut Lint, why: &str, help: &str| {
        lint.error(at, "NeverMatches", format!("{} {why}", at.shown()), help)
    };
    match written.strip_suffix('*') {
        Some("") => {
            let message = "\"*\" denies every version: every node is refused";
            lint.error(
                at,
                "MatchesEverything",
                message,
                "name the versions that are meant",
            );
        }
        None if written.is_empty() => never(lint, "matches no version", HELP),
        beginning if beginning.unwrap_or(written).contains('*') => never(lint, ONE_STAR, HELP),
        Some(beginning) if !is_beginning(beginning) => {
            never(lint, "is the beginning of no version", INSPECT)
        }
        Some(beginning) if !beginning.contains('.') => {
            let message = format!(
                "{} ends within a number and denies more than one release",
                at.shown()
            );
            lint.warning(
                at,
                "MatchesEverything",
                message,
                format!("write \"{beginning}.*\" if {beginning} is meant"),
            );
        }
        None if !ImageVersion::parse(written).is_known() && is_beginning(written) => {
            never(
                lint,
                "is not a whole version and matches none",
                &format!("write \"{written}*\" for all that begin with it"),
            );
        }
        None if !ImageVersion::parse(written).is_known() => {
            let message = format!(
                "{} follows no known scheme; only an image of exactly this version is denied",
                at.shown()
            );
            lint.warning(at, "VersionNotUnderstood", message, INSPECT);
        }
        _ => {}
    }
    lint.report.errors == errors
}

/// Tells whether a version of a known scheme can begin like this: it can if the end of some real
/// version completes it.
fn is_beginning(beginning: &str) -> bool {
    const ENDS: [&str; 13] = [
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
        "39.20231130.dev.0",
    ];
    // Tails of every length are tried, because the beginning may be shorter or longer than the
    // sample's.
    let mut ends = ENDS
        .iter()
        .flat_map(|sample| (0..=sample.len()).filter_map(|at| sample.get(at..)));
    (1..LONGEST).contains(&beginning.len())
        && ends.any(|end| ImageVersion::parse(&format!("{beginning}{end}")).is_known())
}

fn is_denied(seen: &HashSet<String>, written: &str) -> bool {
    let begins = |n: usize| {
        written
            .get(..n)
            .is_some_and(|beginning| seen.contains(&format!("{beginning}*")))
    };
    seen.contains(written) || written.len() <= LONGEST && (0..=written.len()).any(begins)
}
