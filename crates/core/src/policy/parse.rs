//! Reads a [`Policy`] from JSON, with the forward compatibility that the format promises.

use super::fields::{
    self, DENIED, HELP, KIND, LIMIT, POLICY, STALLED_AFTER_MINUTES, limit_release,
};
use super::json::{Field, Located, Object};
use super::known_issue;
use super::lenient::{Warnings, denied_version, missing, names, object};
use super::when::when;
use super::{
    Bound, DeniedVersions, Limit, MAX_LIMITS, Mode, NULL, OnUndetermined, Policy, Setting,
    is_our_group,
};
use crate::{API_VERSION, text};

/// Reads a policy.
///
/// Unknown fields and modes, and limits and rules of unknown shape, become warnings of the policy.
///
/// # Errors
/// It is not a JSON object, a required field is missing or has the wrong type, or API group or kind
/// are others. A policy for another version of our group may lack `mode` and `limits`. The text is
/// printable.
pub fn parse(bytes: &[u8]) -> Result<Policy, String> {
    let whole = Located::whole(bytes).map_err(|error| format!("{error}; nodes read JSON"));
    let policy = whole
        .and_then(|whole| object(&whole, POLICY))
        .map_err(|why| text::printable(&why))?;
    let mut warnings = Warnings::default();
    // First, so that another kind of object is not called a policy with missing fields.
    let other_version = is_of_other_version(&policy, &mut warnings)?;
    let limits = limits(&policy, other_version)?;
    let (mode, mode_text) = mode(&policy, other_version, &mut warnings)?;
    let on_undetermined = on_undetermined(&policy, &mut warnings);
    let stalled_after_minutes = stalled_after(&policy, &mut warnings);
    let report_to_machine_config_server = policy
        .field("reportToMachineConfigServer", Located::read)
        .and_then(|told| warnings.understood(told, "it is not told").ok());
    warnings.unknown_fields(&policy);
    let (help_text, help_url) = help(&policy, &mut warnings);
    let limits = limits
        .into_iter()
        .flatten()
        .map(|at| limit(&at, &mut warnings))
        .collect();
    Ok(Policy {
        mode,
        mode_text,
        on_undetermined,
        stalled_after_minutes,
        report_to_machine_config_server,
        limits,
        known_issues: known_issue::list(&policy, &mut warnings),
        help_text,
        help_url,
        other_version,
        warnings: warnings.done(),
    })
}

/// Tells whether the policy is written for another version of our API group.
///
/// # Errors
/// It is not a policy.
fn is_of_other_version(policy: &Object<'_>, warnings: &mut Warnings) -> Result<bool, String> {
    let api_version = required(policy, "apiVersion", "a string", Located::string)?;
    let not_a_policy = |field: &str, found: &str, wanted: &str| {
        Err(format!(
            "{field} is \"{}\"; this is a policy only if it is \"{wanted}\"",
            text::printable(found)
        ))
    };
    if !is_our_group(&api_version) {
        return not_a_policy("apiVersion", &api_version, API_VERSION);
    }
    let kind = required(policy, "kind", "a string", Located::string)?;
    if kind != KIND {
        return not_a_policy("kind", &kind, KIND);
    }
    if api_version == API_VERSION {
        return Ok(false);
    }
    let api_version = text::printable_up_to(&api_version, 60);
    warnings.add(format!(
        "the policy is written for {api_version}; read as far as understood, and it never blocks"
    ));
    Ok(true)
}

fn limits<'a>(
    policy: &Object<'a>,
    other_version: bool,
) -> Result<Option<impl ExactSizeIterator<Item = Located<'a>> + use<'a>>, String> {
    let limits = match required(policy, "limits", "an array", Located::items) {
        Err(_) if other_version => return Ok(None),
        limits => limits?,
    };
    // All or none: if some were left out, nodes would be judged by the limits of others.
    let found = limits.len();
    if found > MAX_LIMITS {
        return Err(format!(
            "there are {found} limits; at most {MAX_LIMITS} are read"
        ));
    }
    Ok(Some(limits))
}

/// The mode in force, and as written.
fn mode(
    policy: &Object<'_>,
    other_version: bool,
    warnings: &mut Warnings,
) -> Result<(Mode, String), String> {
    let written = match policy.get("mode") {
        Some(at) => at
            .string()
            .map_or_else(|| at.shown(), |word| text::printable_up_to(&word, 60)),
        None if other_version => "Warn".to_owned(),
        None => return Err(missing("mode")),
    };
    if let Some((word, mode)) = Mode::named(&written) {
        return Ok((mode, word.to_owned()));
    }
    warnings.add(format!("unknown policy mode \"{written}\" acts as Warn"));
    Ok((Mode::Warn, written))
}

fn on_undetermined(policy: &Object<'_>, warnings: &mut Warnings) -> OnUndetermined {
    let Some(at) = policy.get("onUndetermined") else {
        return OnUndetermined::Proceed;
    };
    match at.string() {
        Some(word) if word.eq_ignore_ascii_case("Proceed") => OnUndetermined::Proceed,
        Some(word) if word.eq_ignore_ascii_case("Refuse") => OnUndetermined::Refuse,
        _ => {
            warnings.add(format!(
                "unknown onUndetermined {} acts as \"Proceed\"",
                at.shown()
            ));
            OnUndetermined::Proceed
        }
    }
}

/// `help.text` and `help.url`. A mistake in them must not invalidate the policy.
fn help(policy: &Object<'_>, warnings: &mut Warnings) -> (Option<String>, Option<String>) {
    let help = policy.field("help", |at| object(at, HELP).ok());
    let help = help.and_then(|help| warnings.understood(help, "it is not shown").ok());
    let Some(help) = help else {
        return (None, None);
    };
    warnings.unknown_fields(&help);
    let mut line = |name| {
        let line = warnings.understood(help.field(name, Located::string)?, "it is not shown");
        line.ok().map(|line| text::printable(&line))
    };
    (line("text"), line("url"))
}

fn required<'a, T>(
    object: &Object<'a>,
    name: &str,
    want: &str,
    read: impl FnOnce(&Located<'a>) -> Option<T>,
) -> Result<T, String> {
    let Field { at, value } = object.field(name, read).ok_or_else(|| missing(name))?;
    value.ok_or_else(|| format!("{name} must be {want}, not {}", at.shown()))
}

/// `stalledAfterMinutes`; a value that is not understood is as if there were none.
fn stalled_after(policy: &Object<'_>, warnings: &mut Warnings) -> Option<u16> {
    let minutes = policy.field("stalledAfterMinutes", |at| {
        at.read()
            .filter(|minutes| STALLED_AFTER_MINUTES.contains(minutes))
    })?;
    warnings.understood(minutes, "30 acts instead").ok()
}

/// Reads one limit. Where it is unclear which nodes it is for, it must not be applied to any, and no
/// other in its place.
fn limit(at: &Located<'_>, warnings: &mut Warnings) -> Limit {
    const THEN: &str = "nodes that the limit may be for are not judged";
    let limit = match object(at, LIMIT) {
        Ok(limit) => limit,
        Err(why) => {
            // serde_json's position counts from the beginning of the limit.
            let why = why
                .split_once(" at line ")
                .map_or(why.as_str(), |(why, _)| why);
            warnings.add(format!(
                "{} is not understood ({}); {THEN}",
                at.path,
                text::printable_up_to(why, 60)
            ));
            return Limit {
                unclear: vec![""],
                ..Limit::default()
            };
        }
    };
    warnings.unknown_fields(&limit);
    let release = setting(limit.word("release", limit_release), THEN, warnings);
    let pools = setting(limit.field("pools", names), THEN, warnings);
    let (when, wrong) = limit.get("when").map(|at| when(&at)).unwrap_or_default();
    if let Some(why) = &wrong {
        warnings.add(format!("{why}; {THEN}"));
    }
    // Without a condition that is null more nodes would be meant.
    let mut is_null = |name| {
        let null = limit
            .nulls()
            .find(|key| key.string().as_deref() == Some(name));
        null.map(|key| warnings.add(format!("{} is null; {THEN}", key.path)))
            .is_some()
    };
    let unclear = [
        (
            "release",
            matches!(release, Some(Err(_))) || is_null("release"),
        ),
        ("pools", matches!(pools, Some(Err(_))) || is_null("pools")),
        ("when", wrong.is_some() || is_null("when")),
    ];
    Limit {
        release: release.and_then(Result::ok),
        pools: pools.and_then(Result::ok),
        when,
        unclear: unclear
            .into_iter()
            .filter_map(|(field, is_unclear)| is_unclear.then_some(field))
            .collect(),
        rules: rules(&limit, warnings),
        unknown: limit.unknown().map(|key| key.path).collect(),
    }
}

/// The rules of a limit: CONTRIBUTING.md says what else a new one needs.
fn rules(limit: &Object<'_>, warnings: &mut Warnings) -> Vec<(&'static str, Setting<Bound>)> {
    const THEN: &str = "the rule is not evaluated";
    let rule = |field: &&'static str| {
        let mut nulls = limit.nulls();
        let null = nulls.find(|key| key.string().as_deref() == Some(*field));
        let bound = if let Some(key) = null {
            warnings.add(format!("{} is null; {THEN}", key.path));
            Err(NULL.to_owned())
        } else if *field == "deniedVersions" {
            let entries = setting(limit.field(field, Located::items), THEN, warnings)?;
            entries.map(|entries| Bound::Denied(denied(entries, warnings)))
        } else {
            let bound = limit.field(field, |at| Bound::read(field, at));
            setting(bound, THEN, warnings)?
        };
        Some((*field, bound))
    };
    fields::rules().iter().filter_map(rule).collect()
}

fn setting<T>(
    field: Option<Field<'_, T>>,
    then: &str,
    warnings: &mut Warnings,
) -> Option<Setting<T>> {
    Some(warnings.understood(field?, then))
}

fn denied<'a>(items: impl Iterator<Item = Located<'a>>, warnings: &mut Warnings) -> DeniedVersions {
    let mut denied = DeniedVersions::default();
    for at in items {
        let entry = object(&at, DENIED).ok();
        let value = entry.as_ref().and_then(denied_version);
        if let (Some(entry), Some(_)) = (&entry, &value) {
            warnings.unknown_fields(entry);
        }
        match warnings.understood(Field { at, value }, "it denies nothing") {
            Ok(entry) => denied.entries.push(entry),
            Err(_) => denied.not_understood += 1,
        }
    }
    denied
}
