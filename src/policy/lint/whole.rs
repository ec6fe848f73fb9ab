//! The policy itself, `help`, and the limits against each other.

use super::limit::limit;
use super::wording::{one_of, plain_text};
use super::{Lint, Mistake};
use crate::API_VERSION;
use crate::policy::draft::{Field, HelpDraft, KIND, LimitDraft, PolicyDraft};
use crate::policy::json::{Items, Located};
use crate::policy::{LimitRelease, MAX_LIMITS, OnUndetermined};
use crate::text;
use std::collections::BTreeMap;

/// What surely fits into the two lines of 71 characters that a console has for `help`, wherever they break.
const CONSOLE_HELP: usize = 120;

pub(super) fn policy(lint: &mut Lint, whole: &Located<'_>) {
    const LIMITS: &str = "add \"limits\": [ { \"minimumOCPVersion\": \"4.13.0\", \"minimumRHCOSVersion\": \"9.2\" } ]";
    let Ok(draft) = PolicyDraft::read(whole) else {
        return lint.wrong_type(whole, "an object", "`skewguard policy init` writes a policy to start from");
    };
    let meant = lint.fields(&draft.object);
    let required = [
        ("apiVersion", format!("add \"apiVersion\": \"{API_VERSION}\"")),
        ("kind", format!("add \"kind\": \"{KIND}\"")),
        ("mode", "add \"mode\": \"Warn\"".to_owned()),
        ("limits", LIMITS.to_owned()),
    ];
    for (field, help) in required {
        if draft.object.get(field).is_none() && !meant.contains(&field) {
            lint.error(whole, Mistake::MissingField, format!("the required field {field} is missing"), help);
        }
    }
    if let Some(field) = &draft.api_version {
        api_version(lint, field);
    }
    if let Some(Field { at, value }) = &draft.kind {
        let help = format!("write \"{KIND}\"");
        match value.as_deref() {
            Some(KIND) => {}
            Some(_) => lint.error(at, Mistake::NotAPolicy, format!("the kind of a policy is \"{KIND}\""), help),
            None => lint.wrong_type(at, "a string", help),
        }
    }
    if let Some(Field { at, .. }) = &draft.mode {
        one_of(lint, at, &["Enforce", "Warn", "None"], "Warn");
    }
    if let Some(Field { at, value }) = &draft.on_undetermined {
        one_of(lint, at, &["Proceed", "Refuse"], "Proceed");
        lint.refuses_undetermined = *value == Some(OnUndetermined::Refuse);
    }
    if let Some(field) = &draft.help {
        help(lint, field);
    }
    match &draft.limits {
        None => {}
        Some(Field { at, value: None }) => lint.wrong_type(at, "an array", "write [ { ... } ]"),
        Some(Field { at, value: Some(items) }) => limits(lint, at, items, LIMITS),
    }
}

fn limits(lint: &mut Lint, at: &Located<'_>, items: &Items<'_>, example: &str) {
    if items.len() == 0 {
        return lint.error(at, Mistake::NoLimits, "there are no limits: no node is checked", example);
    }
    if items.len() > MAX_LIMITS {
        let message = format!("there are {} limits: a node reads at most {MAX_LIMITS}, and no policy with more", items.len());
        lint.error(at, Mistake::TooLarge, message, "join limits for several pools, or leave out old releases");
    }
    let drafts: Vec<_> = items.iter().map(|item| limit(lint, &item)).collect();
    // Of the others it cannot be said whom they are for.
    let drafts: Vec<_> =
        drafts.iter().map(|draft| draft.as_ref().filter(|draft| understood(&draft.release) && understood(&draft.pools))).collect();
    for_the_rest(lint, at, &drafts);
    shadowed(lint, &drafts);
}

/// Absent, or understood.
fn understood<T>(field: &Option<Field<'_, T>>) -> bool {
    field.as_ref().is_none_or(|field| field.value.is_some())
}

fn api_version(lint: &mut Lint, Field { at, value }: &Field<'_, String>) {
    let help = format!("write \"{API_VERSION}\"");
    let Some(written) = value.as_deref() else {
        return lint.wrong_type(at, "a string", help);
    };
    if written == API_VERSION {
        return;
    }
    let group = API_VERSION.split_once('/').map(|(group, _)| group);
    if written.split_once('/').map(|(group, _)| group) == group {
        let message = format!("{} is not known to this version of skewguard: it reads what it understands and never blocks", at.shown());
        lint.warning(at, Mistake::OtherVersion, message, format!("{help}, or check it with the skewguard that it is written for"));
    } else {
        lint.error(at, Mistake::NotAPolicy, format!("{} is no API version of skewguard", at.shown()), help);
    }
}

fn help(lint: &mut Lint, Field { at, value }: &Field<'_, HelpDraft<'_>>) {
    let Some(help) = value else {
        return lint.wrong_type(at, "an object", "write { \"text\": \"...\", \"url\": \"https://...\" }");
    };
    lint.fields(&help.object);
    let lines = [&help.text, &help.url];
    let both: usize = lines.iter().filter_map(|line| Some(line.as_ref()?.value.as_ref()?.chars().count())).sum();
    if both > CONSOLE_HELP {
        let message = format!("text and url have {both} characters; a console has room for about {CONSOLE_HELP} and cuts the end off");
        lint.warning(at, Mistake::NotPlainText, message, "say it shorter, and leave the rest to the page behind the URL");
    }
    for line in lines.into_iter().flatten() {
        plain_text(lint, &line.at);
    }
    let is_url = |url: &String| ["https://", "http://"].iter().any(|scheme| url.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()));
    if let Some(Field { at, value: Some(url) }) = &help.url
        && !is_url(url)
    {
        let message = format!("{} is not an http or https URL", at.shown());
        lint.warning(at, Mistake::NotAUrl, message, "write it whole, with https:// in front");
    }
}

fn for_the_rest(lint: &mut Lint, limits: &Located<'_>, read: &[Option<&LimitDraft<'_>>]) {
    let any_release = || read.iter().flatten().filter(|limit| limit.release.is_none());
    if any_release().any(|limit| limit.pools.is_none()) || read.iter().any(Option::is_none) {
        return;
    }
    let (what, whom) = if any_release().next().is_none() {
        ("release", "nodes of older releases, and nodes that do not know their release")
    } else {
        ("release and pools", "nodes of other pools")
    };
    let message = format!("there is no limit without {what}: {whom} may find none and are not checked");
    lint.warning(limits, Mistake::NoLimitForTheRest, message, format!("add a limit without {what}"));
}

/// A limit is never chosen where an earlier one has its release and its pools.
fn shadowed(lint: &mut Lint, read: &[Option<&LimitDraft<'_>>]) {
    let mut first: BTreeMap<(Option<LimitRelease>, Option<&str>), &Located<'_>> = BTreeMap::new();
    for limit in read.iter().flatten() {
        let release = limit.release.as_ref().and_then(|field| field.value);
        let at = &limit.object.at;
        let pools: Vec<Option<&str>> = match limit.pools.as_ref().and_then(|field| field.value.as_ref()) {
            None => vec![None],
            Some(pools) => {
                let mut pools: Vec<_> = pools.iter().map(|pool| Some(pool.as_str())).collect();
                pools.sort_unstable();
                pools.dedup();
                pools
            }
        };
        let before: Vec<_> = pools.iter().filter_map(|pool| Some((*pool, *first.get(&(release, *pool))?))).collect();
        if before.len() == pools.len()
            && let Some((_, other)) = before.first()
        {
            let message = format!("the limit is never used: {} comes before it and is for the same release and pools", other.path);
            lint.error(at, Mistake::NeverMatches, message, "join the two, or remove one");
        } else {
            for (pool, other) in before {
                let pool = text::word(pool.unwrap_or_default());
                let message = format!("for pool \"{pool}\" the limit is not used: {} comes before it and names that pool too", other.path);
                lint.warning(at, Mistake::NeverMatches, message, format!("remove \"{pool}\" from one of the two"));
            }
        }
        for pool in pools {
            first.entry((release, pool)).or_insert(at);
        }
    }
}
