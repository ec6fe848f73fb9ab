//! A limit: which nodes it is for, and which rules it has.

use super::bounds::{self, FIRST_UNNAMED, NO_OCP_MAJOR, minor};
use super::machine::machine;
use super::wording::{has_typo, not_a_version};
use super::{Lint, denied, families};
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
    const HELP: &str =
        "write x.y, such as \"4.21\", or x.y.z for that one release; leave it out for any";
    let exact = match *value {
        None if at.string().is_none() => return,
        None => return not_a_version(lint, at, "is not an OCP release", HELP),
        Some(release) if minor(release).major >= NO_OCP_MAJOR => {
            let message = format!(
                "{} looks like a RHEL release: no OCP target matches it",
                at.shown()
            );
            let help = "write the OCP release of the cluster, such as \"4.21\"";
            return lint.error(at, "NeverMatches", message, help);
        }
        Some(LimitRelease::Minor(_)) => return,
        Some(LimitRelease::Exact(exact)) => exact,
    };
    if exact.minor < FIRST_NAMED {
        let message = format!(
            "clusters before OCP {FIRST_NAMED} do not tell their nodes their release: {exact} never matches"
        );
        lint.error(at, "NeverMatches", message, "leave release out");
    } else if exact.patch == 0 {
        let minor = exact.minor;
        let message =
            format!("{exact} is that one release with its pre-releases, not all of {minor}");
        let help = format!("write \"{minor}\" if that is meant");
        lint.warning(at, "ExactRelease", message, help);
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
        if !seen.insert(pool.clone()) {
            let message = format!("{} is named twice", item.shown());
            lint.warning(&item, "NoEffect", message, "remove it");
        } else {
            pool_name(lint, &item, &pool);
        }
    }
}

/// The pool that is probably meant by a name in another case, or with an `s`.
pub(crate) fn meant_pool(name: &str) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    let one = lower.strip_suffix('s').filter(|one| POOLS.contains(one));
    let meant = one.unwrap_or(&lower).to_owned();
    (meant != name).then_some(meant)
}

fn pool_name(lint: &mut Lint, at: &Located<'_>, pool: &str) {
    if !is_dns_name(pool, 253) {
        let message = format!("{} cannot be the name of a MachineConfigPool", at.shown());
        lint.error(
            at,
            "NeverMatches",
            message,
            "pools are named in lower case; see `oc get machineconfigpools`",
        );
    } else if !POOLS.contains(&pool) {
        let message = format!(
            "nodes of custom pool {} boot with /config/worker, and match \"worker\", unless their user-data names the pool",
            at.shown()
        );
        let help = "keep it only if the user-data names the pool (/config/POOL), as OCP 4.22 and later support it; else write \"worker\"";
        lint.warning(at, "CustomPool", message, help);
    }
}

fn rules(lint: &mut Lint, limit: &Object<'_>, release: Option<LimitRelease>, several_pools: bool) {
    let rules = fields::rules().iter().copied();
    let present: Vec<&str> = rules.filter(|rule| limit.get(rule).is_some()).collect();
    if present.is_empty() {
        if has_typo(limit, fields::LIMIT) {
            return;
        }
        let message = "the limit sets no rule: its nodes stay undetermined";
        let help = "add a rule, or remove the limit; \"deniedVersions\": [] allows every version that is understood";
        return lint.error(&limit.at, "NoRules", message, help);
    }
    bounds::versions(lint, limit, release, several_pools);
    families::minima(lint, limit);
    machine(lint, limit);
    if let Some(at) = limit.get("deniedVersions") {
        denied::list(lint, &at, present.len() == 1);
    }
    only_ocp_rules(lint, limit, &present);
}

fn is_about_machine(field: &str) -> bool {
    Reason::set_by(field).is_some_and(|rule| rule.about() == About::Machine)
}

/// Checks that images which do not name their OCP release can be judged.
fn only_ocp_rules(lint: &mut Lint, object: &Object<'_>, present: &[&str]) {
    const HELP: &str = "add minimumRHCOSVersion, such as \"9.2\"";
    const OCP_RULES: [&str; 2] = ["minimumOCPVersion", "maximumReleasesBehind"];
    let present = present.iter().copied();
    let image_rules: Vec<&str> = present.filter(|rule| !is_about_machine(rule)).collect();
    only_one_family(lint, object, &image_rules);
    if image_rules.is_empty() || !image_rules.iter().all(|rule| OCP_RULES.contains(rule)) {
        return;
    }
    let rules = image_rules.join(" and ");
    let message = format!(
        "images from OCP {FIRST_UNNAMED} on do not name their OCP release: {rules} cannot judge them"
    );
    if lint.refuses_undetermined {
        let message = format!("{message}, and onUndetermined refuses them all");
        lint.error(&object.at, "OnlyOCPRules", message, HELP);
    } else {
        lint.warning(&object.at, "OnlyOCPRules", message, HELP);
    }
}

/// Checks that images of other families can be judged, where they are refused if they cannot.
fn only_one_family(lint: &mut Lint, object: &Object<'_>, image_rules: &[&str]) {
    let families = image_rules.iter().map(|rule| families::family_of(rule));
    let families: Option<HashSet<OsFamily>> = families.collect();
    let Some(families) = families.filter(|families| !families.is_empty()) else {
        return;
    };
    let others: Vec<&str> = OsFamily::ALL
        .into_iter()
        .filter(|family| !families.contains(family))
        .map(OsFamily::name)
        .collect();
    if lint.refuses_undetermined && !others.is_empty() {
        let others = others.join(" and ");
        let message = format!(
            "no rule of the limit can judge an image of {others}, and onUndetermined refuses them all"
        );
        let help =
            "if the cluster has such images, add a rule for them: rhelMajors judges RHCOS and SCOS";
        lint.warning(&object.at, "OnlyOneFamily", message, help);
    }
}
