//! A limit: which nodes it is for, and which rules it has.

use super::bounds::{self, NO_OCP_MAJOR, minor};
use super::machine::machine;
use super::wording::has_typo;
use super::{Lint, Rule, denied, families};
use crate::operator;
use crate::policy::LimitRelease;
use crate::policy::fields;
use crate::policy::json::{Field, Located, Object};
use crate::text::is_dns_name;
use crate::verdict::Reason;
use crate::verdict::words::About;
use crate::version::{OcpMinor, OsFamily};
use serde_json::Value;
use std::collections::HashSet;

/// From this OCP release on, served configs name the cluster's release.
const FIRST_NAMED: OcpMinor = OcpMinor { major: 4, minor: 8 };

/// Which nodes a limit is for.
pub(super) struct LimitScope<'a> {
    pub(super) limit: Located<'a>,
    pub(super) release: Option<LimitRelease>,
    pub(super) pools: Option<Vec<String>>,
    /// Compact JSON.
    pub(super) when: Option<String>,
}

impl LimitScope<'_> {
    /// The minor release that it is for, where it is not for one patch release alone.
    pub(super) fn minor(&self) -> Option<OcpMinor> {
        match self.release? {
            LimitRelease::Minor(minor) => Some(minor),
            LimitRelease::Exact(_) => None,
        }
    }
}

/// Checks one limit; `None` where it is unclear which nodes it is for.
pub(super) fn limit<'a>(lint: &mut Lint, at: Located<'a>) -> Option<LimitScope<'a>> {
    let limit = at.object(fields::LIMIT).ok()?;
    let release = limit.word("release", fields::limit_release);
    if let Some(field) = &release {
        self::release(lint, field);
    }
    let pools = limit.field("pools", Located::read::<Vec<String>>);
    if let Some(field) = &pools {
        self::pools(lint, &field.at);
    }
    let for_release = release.as_ref().and_then(|release| release.value);
    let several_pools = pools
        .as_ref()
        .is_none_or(|pools| pools.value.as_ref().is_some_and(|pools| pools.len() > 1));
    rules(lint, &limit, for_release, several_pools);
    let understood = release.is_none_or(|release| release.value.is_some())
        && pools.as_ref().is_none_or(|pools| pools.value.is_some());
    let when = limit.get("when").and_then(|at| at.read::<Value>());
    understood.then(|| LimitScope {
        limit: at,
        release: for_release,
        pools: pools.and_then(|pools| pools.value),
        when: when.map(|when| when.to_string()),
    })
}

fn release(lint: &mut Lint, Field { at, value }: &Field<'_, LimitRelease>) {
    match *value {
        None if at.string().is_none() => {}
        None => lint.say(at, Rule::NotAnOCPTarget, &[]),
        Some(release) if minor(release).major >= NO_OCP_MAJOR => {
            lint.say(at, Rule::RHELTarget, &[]);
        }
        Some(LimitRelease::Exact(exact)) if exact.minor < FIRST_NAMED => {
            lint.say(
                at,
                Rule::UnnamedTarget,
                &[("first", &FIRST_NAMED), ("exact", &exact)],
            );
        }
        Some(release) if operator::is_far_ahead(minor(release)) => {
            lint.say(at, Rule::UnknownTarget, &[("release", &minor(release))]);
        }
        Some(LimitRelease::Exact(exact)) if exact.patch == 0 => {
            lint.say(
                at,
                Rule::ExactRelease,
                &[("exact", &exact), ("minor", &exact.minor)],
            );
        }
        Some(_) => {}
    }
}

/// The pools of every cluster.
const POOLS: [&str; 3] = ["worker", "master", "arbiter"];

fn pools(lint: &mut Lint, at: &Located<'_>) {
    let mut seen = HashSet::new();
    for item in at.items().into_iter().flatten() {
        let Some(pool) = item.string() else {
            continue;
        };
        if seen.contains(&pool) {
            lint.say(&item, Rule::NamedTwice, &[]);
        } else if !is_dns_name(&pool, 253) {
            lint.say(&item, Rule::NotAPool, &[]);
        } else if !POOLS.contains(&&*pool) {
            lint.say(&item, Rule::CustomPool, &[]);
        }
        seen.insert(pool);
    }
}

/// The pool that is probably meant by a name in another case, or with an `s`.
pub(crate) fn meant_pool(name: &str) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    let one = lower.strip_suffix('s').filter(|one| POOLS.contains(one));
    let meant = one.unwrap_or(&lower).to_owned();
    (meant != name).then_some(meant)
}

fn rules(lint: &mut Lint, limit: &Object<'_>, release: Option<LimitRelease>, several_pools: bool) {
    let rules = fields::rules().iter().copied();
    let mut present: Vec<&str> = rules.filter(|rule| limit.get(rule).is_some()).collect();
    if present.is_empty() {
        if has_typo(limit, fields::LIMIT) {
            return;
        }
        return lint.say(&limit.at, Rule::NoRules, &[]);
    }
    bounds::versions(lint, limit, release, several_pools);
    families::minima(lint, limit);
    machine(lint, limit);
    if let Some(at) = limit.get("deniedVersions") {
        denied::list(lint, &at, present.len() == 1);
    }
    present.retain(|rule| !is_about_machine(rule));
    only_one_family(lint, limit, &present);
}

fn is_about_machine(field: &str) -> bool {
    Reason::set_by(field).is_some_and(|rule| rule.about() == About::Machine)
}

/// Checks that images of other families can be judged, where they are refused if they cannot.
fn only_one_family(lint: &mut Lint, object: &Object<'_>, image_rules: &[&str]) {
    let families = image_rules.iter().map(|rule| families::family_of(rule));
    let families: Option<HashSet<OsFamily>> = families.collect();
    let Some(families) = families.filter(|families| !families.is_empty()) else {
        return;
    };
    let others = OsFamily::ALL.into_iter();
    let others = others.filter(|family| !families.contains(family));
    let others: Vec<&str> = others.map(OsFamily::name).collect();
    if lint.refuses_undetermined && !others.is_empty() {
        let others = others.join(" and ");
        lint.say(&object.at, Rule::OnlyOneFamily, &[("others", &others)]);
    }
}
