//! A limit: which nodes it is for, and which rules it has.

use super::bounds::{self, NO_OCP_MAJOR, minor};
use super::machine::machine;
use super::own_release::FIRST_NAMED;
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
    let Some(written) = at.string() else { return };
    let Some(release) = *value else {
        return lint.say(at, Rule::NotAnOCPTarget, &[]);
    };
    let minor = minor(release);
    let rule = match release {
        _ if minor.major >= NO_OCP_MAJOR => Rule::RHELTarget,
        LimitRelease::Exact(_) if minor < FIRST_NAMED => Rule::UnnamedTarget,
        _ if operator::is_far_ahead(minor) => Rule::UnknownTarget,
        LimitRelease::Exact(exact) if exact.patch == 0 => Rule::ExactRelease,
        _ => return,
    };
    lint.say(
        at,
        rule,
        &[
            ("first", &FIRST_NAMED),
            ("exact", &written),
            ("release", &minor),
            ("minor", &minor),
        ],
    );
}

/// The pools of every cluster.
const POOLS: [&str; 3] = ["worker", "master", "arbiter"];

fn pools(lint: &mut Lint, at: &Located<'_>) {
    let mut seen = HashSet::new();
    for item in at.items().into_iter().flatten() {
        let Some(pool) = item.string() else {
            continue;
        };
        let is_custom = !POOLS.contains(&&*pool);
        let is_name = is_dns_name(&pool, 253);
        let rule = match seen.insert(pool) {
            false => Rule::NamedTwice,
            _ if !is_name => Rule::NotAPool,
            _ if is_custom => Rule::CustomPool,
            _ => continue,
        };
        lint.say(&item, rule, &[]);
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
