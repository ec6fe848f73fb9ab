//! `deniedVersions`: entries that deny nothing, everything, or what another entry denies already.

use super::{Lint, Rule, Severity};
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
        lint.say(at, Rule::DeniesNothing, &[]);
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
                lint.say(&version, Rule::DeniedAbove, &[]);
            }
            seen.insert(written);
        }
    }
}

/// Checks one entry; whether it denies some versions, but not all.
fn denies_some(lint: &mut Lint, at: &Located<'_>, written: &str) -> bool {
    let beginning = written.strip_suffix('*');
    let rule = match beginning {
        Some("") => Rule::DeniesEverything,
        None if written.is_empty() => Rule::DeniesNoVersion,
        beginning if beginning.unwrap_or(written).contains('*') => Rule::StarWithin,
        Some(beginning) if !is_beginning(beginning) => Rule::NoBeginning,
        Some(beginning) if !beginning.contains('.') => Rule::EndsWithinNumber,
        Some(_) => return true,
        None if ImageVersion::parse(written).is_known() => return true,
        None if is_beginning(written) => Rule::NotWhole,
        None => Rule::DeniesUnknown,
    };
    let beginning = beginning.unwrap_or_default();
    lint.say(
        at,
        rule,
        &[("written", &written), ("beginning", &beginning)],
    );
    rule.severity(lint.enforces) == Severity::Warning
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
