//! The policy itself, `help`, and the limits against each other.

use super::Lint;
use super::issues;
use super::limit::{Audience, limit};
use super::wording::{link, one_of, plain_text};
use crate::API_VERSION;
use crate::policy::MAX_LIMITS;
use crate::policy::fields::{HELP, KIND, POLICY, STALLED_AFTER_MINUTES};
use crate::policy::json::{Located, Object};
use crate::text;
use std::collections::{BTreeMap, HashSet};

/// What always fits into the two lines of 71 characters that a console has for `help`, wherever
/// they break.
const CONSOLE_HELP: usize = 120;

const ADD_LIMITS: &str =
    "add \"limits\": [ { \"minimumOCPVersion\": \"4.13.0\", \"minimumRHCOSVersion\": \"9.2\" } ]";

pub(super) fn policy(lint: &mut Lint, whole: &Located<'_>) {
    let Some((policy, meant)) = lint.object(
        whole,
        POLICY,
        "`oc skewguard policy init` writes a policy to start from",
    ) else {
        return;
    };
    required(lint, whole, &policy, &meant);
    if let Some(at) = policy.get("apiVersion") {
        api_version(lint, &at);
    }
    if let Some(at) = policy.get("kind") {
        kind(lint, &at);
    }
    if let Some(at) = policy.get("mode") {
        one_of(lint, &at, &["Enforce", "Warn", "None"], "Warn");
    }
    if let Some(at) = policy.get("onUndetermined") {
        one_of(lint, &at, &["Proceed", "Refuse"], "Proceed");
        lint.refuses_undetermined = at.string().as_deref() == Some("Refuse");
    }
    if let Some(at) = policy.get("stalledAfterMinutes") {
        let minutes = at
            .read()
            .filter(|minutes| STALLED_AFTER_MINUTES.contains(minutes));
        const HELP: &str = "write how many minutes a first boot may take, such as 30";
        lint.typed(&at, minutes, "a whole number from 5 to 1440", HELP);
    }
    if let Some(at) = policy.get("help") {
        help(lint, &at);
    }
    if let Some(at) = policy.get("limits") {
        limits(lint, &at);
    }
    match policy.get("knownIssues") {
        Some(at) => issues::list(lint, &at),
        None => issues::lacking(lint, whole, &HashSet::new()),
    }
}

fn required(lint: &mut Lint, whole: &Located<'_>, policy: &Object<'_>, meant: &[&str]) {
    let required = [
        (
            "apiVersion",
            format!("add \"apiVersion\": \"{API_VERSION}\""),
        ),
        ("kind", format!("add \"kind\": \"{KIND}\"")),
        ("mode", "add \"mode\": \"Warn\"".to_owned()),
        ("limits", ADD_LIMITS.to_owned()),
    ];
    for (field, help) in required {
        if policy.get(field).is_none() && !meant.contains(&field) {
            lint.error(
                whole,
                "MissingField",
                format!("the required field {field} is missing"),
                help,
            );
        }
    }
}

fn kind(lint: &mut Lint, at: &Located<'_>) {
    let help = format!("write \"{KIND}\"");
    if lint
        .typed(at, at.string(), "a string", &help)
        .is_some_and(|kind| kind != KIND)
    {
        lint.error(
            at,
            "NotAPolicy",
            format!("the kind of a policy is \"{KIND}\""),
            help,
        );
    }
}

fn limits(lint: &mut Lint, at: &Located<'_>) {
    let Some(items) = lint.typed(at, at.items(), "an array", "write [ { ... } ]") else {
        return;
    };
    if items.len() == 0 {
        return lint.error(
            at,
            "NoLimits",
            "there are no limits: no node is checked",
            ADD_LIMITS,
        );
    }
    if items.len() > MAX_LIMITS {
        let message = format!(
            "there are {} limits: a node reads at most {MAX_LIMITS}, and no policy with more",
            items.len()
        );
        lint.error(
            at,
            "TooLarge",
            message,
            "join limits for several pools, or leave out old releases",
        );
    }
    let audiences: Vec<_> = items.map(|item| limit(lint, item)).collect();
    for_the_rest(lint, at, &audiences);
    shadowed(lint, &audiences);
}

fn api_version(lint: &mut Lint, at: &Located<'_>) {
    let help = format!("write \"{API_VERSION}\"");
    let Some(written) = lint.typed(at, at.string(), "a string", &help) else {
        return;
    };
    if !crate::policy::is_our_group(&written) {
        lint.error(
            at,
            "NotAPolicy",
            format!("{} is not an API version of skewguard", at.shown()),
            help,
        );
    } else if written != API_VERSION {
        let message = format!(
            "{} is not known to this version of skewguard: it reads what it understands and never blocks",
            at.shown()
        );
        lint.warning(
            at,
            "OtherVersion",
            message,
            format!("{help}, or check it with the skewguard that it is written for"),
        );
    }
}

fn help(lint: &mut Lint, at: &Located<'_>) {
    let Some((help, _)) = lint.object(
        at,
        HELP,
        "write { \"text\": \"...\", \"url\": \"https://...\" }",
    ) else {
        return;
    };
    let lines: Vec<_> = HELP.iter().filter_map(|name| help.get(name)).collect();
    let both: usize = lines
        .iter()
        .filter_map(|line| Some(line.string()?.chars().count()))
        .sum();
    if both > CONSOLE_HELP {
        let message = format!(
            "text and url have {both} characters; a console has room for about {CONSOLE_HELP} and cuts the end off"
        );
        lint.warning(
            at,
            "NotPlainText",
            message,
            "say it shorter, and leave the rest to the page behind the URL",
        );
    }
    if let Some(at) = help.get("text") {
        plain_text(lint, &at);
    }
    if let Some(at) = help.get("url") {
        link(lint, &at);
    }
}

fn for_the_rest(lint: &mut Lint, limits: &Located<'_>, audiences: &[Option<Audience<'_>>]) {
    let any_release = || {
        audiences
            .iter()
            .flatten()
            .filter(|limit| limit.release.is_none())
    };
    if any_release().any(|limit| limit.pools.is_none()) || audiences.iter().any(Option::is_none) {
        return;
    }
    let (what, whom) = if any_release().next().is_none() {
        (
            "release",
            "nodes of older releases, and nodes that do not know their release",
        )
    } else {
        ("release and pools", "nodes of other pools")
    };
    let message =
        format!("there is no limit without {what}: {whom} may find none and are not checked");
    lint.warning(
        limits,
        "NoLimitForTheRest",
        message,
        format!("add a limit without {what}"),
    );
}

/// Finds limits that are never chosen because earlier ones have the same release and pools.
fn shadowed(lint: &mut Lint, audiences: &[Option<Audience<'_>>]) {
    let mut first = BTreeMap::new();
    for Audience {
        limit: at,
        release,
        pools,
    } in audiences.iter().flatten()
    {
        let mut pools = pools
            .as_ref()
            .map_or(vec![None], |pools| pools.iter().map(Some).collect());
        pools.sort_unstable();
        pools.dedup();
        let before: Vec<(_, &Located<'_>)> = pools
            .iter()
            .filter_map(|pool| Some((*pool, *first.get(&(release, *pool))?)))
            .collect();
        if before.len() == pools.len()
            && let Some((_, other)) = before.first()
        {
            let message = format!(
                "the limit is never used: {} comes before it and is for the same release and pools",
                other.path
            );
            lint.error(at, "NeverMatches", message, "join the two, or remove one");
        } else {
            for (pool, other) in before {
                let pool = text::printable(pool.map_or("", String::as_str));
                let message = format!(
                    "for pool \"{pool}\" the limit is not used: {} comes before it and names that pool too",
                    other.path
                );
                lint.warning(
                    at,
                    "NeverMatches",
                    message,
                    format!("remove \"{pool}\" from one of the two"),
                );
            }
        }
        for pool in pools {
            first.entry((release, pool)).or_insert(at);
        }
    }
}
