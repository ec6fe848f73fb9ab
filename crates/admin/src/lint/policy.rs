//! The policy itself, `help`, and the limits against each other.

use super::issues;
use super::limit::{LimitScope, limit};
use super::{Lint, Rule};
use crate::API_VERSION;
use crate::policy::MAX_LIMITS;
use crate::policy::fields::{HELP, KIND, POLICY};
use crate::policy::json::Located;
use crate::text;
use crate::version::OcpMinor;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Characters that always fit into the two lines of 71 that a console has for `help`, wherever they
/// break.
const CONSOLE_HELP: usize = 120;

pub(super) fn policy(lint: &mut Lint, whole: &Located<'_>) {
    let Ok(policy) = whole.object(POLICY) else {
        return;
    };
    let undetermined = policy.get("onUndetermined").and_then(|at| at.string());
    lint.refuses_undetermined =
        undetermined.is_some_and(|word| word.eq_ignore_ascii_case("Refuse"));
    if let Some(at) = policy.get("apiVersion") {
        api_version(lint, &at);
    }
    if let Some(at) = policy.get("kind")
        && at.string().is_some_and(|kind| kind != KIND)
    {
        lint.say(&at, Rule::OtherKind, &[("kind", &KIND)]);
    }
    if let Some(at) = policy.get("help") {
        help(lint, &at);
    }
    if let Some(at) = policy.get("limits") {
        limits(lint, &at);
    }
    match policy.get("knownIssues") {
        Some(at) => issues::list(lint, &at),
        None => issues::missing_issues(lint, whole, &HashSet::new()),
    }
}

fn limits(lint: &mut Lint, at: &Located<'_>) {
    let Some(items) = at.items().filter(|items| items.len() > 0) else {
        return;
    };
    if items.len() > MAX_LIMITS {
        lint.say(
            at,
            Rule::TooManyLimits,
            &[("count", &items.len()), ("most", &MAX_LIMITS)],
        );
    }
    let scopes: Vec<_> = items.map(|item| limit(lint, item)).collect();
    uncovered_nodes(lint, at, &scopes);
    shadowed(lint, &scopes);
    overridden(lint, &scopes);
}

fn api_version(lint: &mut Lint, at: &Located<'_>) {
    let rule = match at.string() {
        Some(written) if written == API_VERSION => return,
        Some(written) if crate::policy::is_our_group(&written) => Rule::OtherAPIVersion,
        Some(_) => Rule::OtherAPIGroup,
        None => return,
    };
    lint.say(at, rule, &[("version", &API_VERSION)]);
}

fn help(lint: &mut Lint, at: &Located<'_>) {
    let Ok(help) = at.object(HELP) else {
        return;
    };
    let lines = HELP.iter().filter_map(|name| help.get(name)?.string());
    let both: usize = lines.map(|line| line.chars().count()).sum();
    if both > CONSOLE_HELP {
        lint.say(
            at,
            Rule::LongHelp,
            &[("both", &both), ("room", &CONSOLE_HELP)],
        );
    }
}

/// Reports nodes that may find no limit.
fn uncovered_nodes(lint: &mut Lint, at: &Located<'_>, scopes: &[Option<LimitScope<'_>>]) {
    let limits = || scopes.iter().flatten();
    let any_release: Vec<_> = limits().filter(|limit| limit.release.is_none()).collect();
    let is_for_all = |limit: &&LimitScope<'_>| limit.pools.is_none() && limit.when.is_none();
    if any_release.iter().any(is_for_all) || scopes.iter().any(Option::is_none) {
        return;
    }
    let (what, whom) = if any_release.is_empty() {
        (
            "release",
            "nodes of older releases, and nodes that do not know their release",
        )
    } else if any_release.iter().any(|limit| limit.when.is_some()) {
        ("release, pools and when", "other nodes")
    } else {
        ("release and pools", "nodes of other pools")
    };
    let example = missing_pool(scopes).map(|pool| {
        format!(
            "; one that lets every image of that pool through is {{ \"pools\": [\"{pool}\"], \"deniedVersions\": [] }}"
        )
    });
    lint.say(
        at,
        Rule::NoLimitForTheRest,
        &[
            ("what", &what),
            ("whom", &whom),
            ("example", &example.unwrap_or_default()),
        ],
    );
}

/// The first pool of every cluster that no limit is for, where limits name pools.
fn missing_pool(scopes: &[Option<LimitScope<'_>>]) -> Option<&'static str> {
    let pools = scopes.iter().flatten().map(|limit| limit.pools.as_deref());
    let named = pools.collect::<Option<Vec<_>>>()?.concat();
    let mut pools = ["master", "worker"].into_iter();
    pools.find(|pool| !named.iter().any(|named| named == pool))
}

/// Finds limits of pools for any release that are not chosen from some release on: its limit for
/// every pool is nearer.
fn overridden(lint: &mut Lint, scopes: &[Option<LimitScope<'_>>]) {
    let limits = || scopes.iter().flatten();
    for limit in limits().filter(|limit| limit.release.is_none()) {
        let Some(pools) = &limit.pools else { continue };
        let has_own = |release: OcpMinor, pool: &String| {
            let mut own = limits().filter(|own| own.minor() == Some(release));
            own.any(|own| own.pools.as_ref().is_some_and(|own| own.contains(pool)))
        };
        let nearer = limits().filter(|other| {
            other.pools.is_none() && (other.when.is_none() || other.when == limit.when)
        });
        let nearer = nearer.filter_map(|other| Some((other.minor()?, other)));
        let nearer =
            nearer.filter(|(release, _)| !pools.iter().all(|pool| has_own(*release, pool)));
        if let Some((release, other)) = nearer.min_by_key(|(release, _)| *release) {
            lint.say(
                &limit.limit,
                Rule::OverriddenLimit,
                &[("release", &release), ("other", &other.limit.path)],
            );
        }
    }
}

/// Finds limits that are never chosen because earlier ones have the same release, pools and
/// conditions.
fn shadowed(lint: &mut Lint, scopes: &[Option<LimitScope<'_>>]) {
    let mut first = BTreeMap::new();
    for scope in scopes.iter().flatten() {
        let at = &scope.limit;
        let pools: BTreeSet<Option<&String>> = match &scope.pools {
            Some(pools) => pools.iter().map(Some).collect(),
            None => [None].into(),
        };
        let key = |pool| (scope.release, &scope.when, pool);
        let before = pools
            .iter()
            .filter_map(|pool| Some((*pool, *first.get(&key(*pool))?)));
        let before: Vec<(_, &Located<'_>)> = before.collect();
        match before.first() {
            Some((_, other)) if before.len() == pools.len() => {
                lint.say(at, Rule::ShadowedLimit, &[("other", &other.path)]);
            }
            _ => {
                for (pool, other) in before {
                    let pool = text::printable(pool.map_or("", String::as_str));
                    lint.say(
                        at,
                        Rule::ShadowedPool,
                        &[("pool", &pool), ("other", &other.path)],
                    );
                }
            }
        }
        for pool in pools {
            first.entry(key(pool)).or_insert(at);
        }
    }
}
