//! One limit: whom it is for, and its rules, each by itself and against the others of the same limit.

use super::{Lint, Mistake, denied};
use crate::policy::draft::{self, Field, LimitDraft, RHEL_MAJORS};
use crate::policy::json::Located;
use crate::policy::{LimitRelease, MinimumOcp, RhcosBound};
use crate::version::{ImageVersion, OcpMinor, Release, RhelVersion, compare_images, compare_rhel};
use std::cmp::Ordering;
use std::collections::HashSet;

/// OCP majors from here on are taken for RHEL ones.
const NO_OCP_MAJOR: u16 = 7;

/// Boot images from this release on do not name their OCP release (RHCOS version schemes).
const FIRST_UNNAMED: OcpMinor = OcpMinor { major: 4, minor: 19 };

/// Configs served before this release do not name their release.
const FIRST_NAMED: OcpMinor = OcpMinor { major: 4, minor: 8 };

/// Newest RHEL major that there is.
const LAST_MAJOR: u16 = 10;

/// Last minor of a RHEL major (Red Hat Enterprise Linux Life Cycle): 8.10, 9.10, 10.10.
const LAST_MINOR: u16 = 10;

/// Checks one limit; `None` where it is none.
pub(super) fn limit<'a>(lint: &mut Lint, at: &Located<'a>) -> Option<LimitDraft<'a>> {
    let Ok(draft) = LimitDraft::read(at) else {
        lint.wrong_type(at, "an object", "write { ... }");
        return None;
    };
    let misspelt = !lint.fields(&draft.object).is_empty();
    if let Some(field) = &draft.release {
        release(lint, field);
    }
    if let Some(field) = &draft.pools {
        pools(lint, &field.at);
    }
    rules(lint, &draft, misspelt);
    Some(draft)
}

fn release(lint: &mut Lint, Field { at: value, value: release }: &Field<'_, LimitRelease>) {
    const HELP: &str = "write x.y, such as \"4.21\", or x.y.z for that one release; leave it out for any";
    let Some(release) = *release else {
        if value.read::<String>().is_none() {
            return lint.wrong_type(value, "a string", quote(value, HELP));
        }
        return lint.error(
            value,
            Mistake::VersionNotUnderstood,
            format!("{} is no OCP release: the limit is not used", value.shown()),
            HELP,
        );
    };
    match release {
        LimitRelease::Minor(OcpMinor { major, .. }) | LimitRelease::Exact(Release { minor: OcpMinor { major, .. }, .. })
            if major >= NO_OCP_MAJOR =>
        {
            let message = format!("{} looks like a RHEL release: no OCP target matches it", value.shown());
            lint.error(value, Mistake::NeverMatches, message, "write the OCP release of the cluster, such as \"4.21\"");
        }
        LimitRelease::Exact(exact) if exact.minor < FIRST_NAMED => {
            let message = format!("clusters before OCP {FIRST_NAMED} do not tell their nodes their release: {exact} never matches");
            lint.error(value, Mistake::NeverMatches, message, "leave release out");
        }
        LimitRelease::Exact(exact) if exact.patch == 0 => {
            let message = format!("{exact} is that one release with its pre-releases, not all of {}", exact.minor);
            lint.warning(value, Mistake::ExactRelease, message, format!("write \"{}\" if that is meant", exact.minor));
        }
        _ => {}
    }
}

fn pools(lint: &mut Lint, value: &Located<'_>) {
    const HELP: &str = "write the names of MachineConfigPools, such as [\"worker\"]; leave it out for any";
    let Some(items) = value.items() else {
        return lint.wrong_type(value, "an array of strings", HELP);
    };
    if items.len() == 0 {
        lint.error(value, Mistake::NeverMatches, "is empty: the limit is for no node", HELP);
    }
    let mut seen = HashSet::new();
    for item in items.iter() {
        let Some(pool) = item.read::<String>() else {
            return lint.wrong_type(&item, "a string", HELP);
        };
        if !seen.insert(pool.clone()) {
            lint.warning(&item, Mistake::NoEffect, format!("{} is named twice", item.shown()), "remove it");
        } else {
            pool_name(lint, &item, &pool);
        }
    }
}

fn pool_name(lint: &mut Lint, at: &Located<'_>, pool: &str) {
    // metadata.name of a MachineConfigPool: a DNS subdomain name.
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    let ends = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let valid = pool.len() <= 253 && pool.chars().all(inner) && pool.starts_with(ends) && pool.ends_with(ends);
    let well_known = ["worker", "master", "arbiter"];
    if !valid {
        let message = format!("{} cannot be the name of a MachineConfigPool", at.shown());
        lint.error(at, Mistake::NeverMatches, message, "pools are named in lower case; see `oc get machineconfigpools`");
    } else if !well_known.contains(&pool) {
        let message = format!("the nodes of custom pool {} boot with /config/worker and match \"worker\"", at.shown());
        let help = "keep it only if the pool's user-data names the pool (/config/POOL); else write \"worker\"";
        lint.warning(at, Mistake::CustomPool, message, help);
    }
}

fn rules(lint: &mut Lint, draft: &LimitDraft<'_>, misspelt: bool) {
    let at = &draft.object.at;
    let present: Vec<&str> = draft::LIMIT.iter().copied().skip(2).filter(|rule| draft.object.get(rule).is_some()).collect();
    if present.is_empty() {
        if misspelt {
            return;
        }
        let message = "the limit sets no rule: its nodes stay undetermined";
        let help = "add a rule, or remove the limit; \"deniedVersions\": [] allows every version that is understood";
        return lint.error(at, Mistake::NoRules, message, help);
    }
    if let Some(field) = &draft.minimum_ocp {
        minimum_ocp(lint, field, draft.release.as_ref().and_then(|release| release.value));
    }
    for (field, for_ocp) in [(&draft.minimum_rhcos, "minimumOCPVersion"), (&draft.maximum_rhcos, "maximumReleasesBehind")] {
        if let Some(field) = field {
            bound(lint, field, for_ocp);
        }
    }
    if let Some(Field { at, value: None }) = &draft.maximum_releases_behind {
        lint.wrong_type(at, "a whole number from 0 to 65535", "write how many OCP minors an image may be behind, such as 8");
    }
    let majors = draft.rhel_majors.as_ref().and_then(|field| rhel_majors(lint, &field.at, draft));
    if let Some(field) = &draft.denied_versions {
        denied::list(lint, field, present.len() == 1);
    }
    let bound = |field: &Option<Field<'_, RhcosBound>>| field.as_ref().and_then(|field| field.value.clone());
    let (minimum, maximum) = (bound(&draft.minimum_rhcos), bound(&draft.maximum_rhcos));
    if let (Some(low), Some(high)) = (&draft.minimum_rhcos, &draft.maximum_rhcos)
        && let (Some(minimum), Some(maximum)) = (&minimum, &maximum)
        && compare_bounds(minimum, maximum) == Some(Ordering::Greater)
    {
        let message = format!("the minimum {} is above the maximum {}: every image is refused", low.at.shown(), high.at.shown());
        lint.error(&low.at, Mistake::MinimumAboveMaximum, message, "exchange them, or remove one");
    }
    if let (Some(majors), Some(field)) = (&majors, &draft.rhel_majors) {
        majors_in_bounds(lint, &field.at, majors, minimum.as_ref(), maximum.as_ref());
    }
    if present.iter().all(|rule| ["minimumOCPVersion", "maximumReleasesBehind"].contains(rule)) {
        const HELP: &str = "add minimumRHCOSVersion, such as \"9.2\"";
        let rules = present.join(" and ");
        let message = format!("images from OCP {FIRST_UNNAMED} on do not name their OCP release: {rules} cannot judge them");
        if lint.refuses_undetermined {
            lint.error(at, Mistake::OnlyOcpRules, format!("{message}, and onUndetermined refuses them all"), HELP);
        } else {
            lint.warning(at, Mistake::OnlyOcpRules, message, HELP);
        }
    }
}

fn minimum_ocp(lint: &mut Lint, Field { at: value, value: minimum }: &Field<'_, MinimumOcp>, release: Option<LimitRelease>) {
    const HELP: &str = "write an OCP release, such as \"4.13.0\"";
    let Some(MinimumOcp(minimum)) = *minimum else {
        let Some(written) = value.read::<String>() else {
            return lint.wrong_type(value, "a string", quote(value, HELP));
        };
        let help = if draft::rhcos_bound(&written).is_some() { "this is an RHCOS version: write it as minimumRHCOSVersion" } else { HELP };
        let message = format!("{} is no OCP release: the rule is not evaluated", value.shown());
        return lint.error(value, Mistake::VersionNotUnderstood, message, help);
    };
    let of_release = match release {
        Some(LimitRelease::Minor(minor)) => Some(minor),
        Some(LimitRelease::Exact(exact)) => Some(exact.minor),
        None => None,
    };
    if minimum.minor.major >= NO_OCP_MAJOR {
        let message = format!("{} looks like a RHEL release: every image is below it", value.shown());
        lint.error(value, Mistake::ImplausibleVersion, message, "write it as minimumRHCOSVersion");
    } else if let Some(target) = of_release.filter(|target| target.counted() < minimum.minor.counted()) {
        let message = format!("the minimum {minimum} is newer than {target}, which the limit is for: its own images are refused");
        lint.error(value, Mistake::MinimumAboveRelease, message, "lower the minimum, or raise release");
    } else if minimum.minor.major < 4 {
        let message = format!("every boot image is newer than {minimum}");
        lint.warning(value, Mistake::NoEffect, message, HELP);
    } else if minimum.minor > FIRST_UNNAMED {
        let message =
            format!("images from OCP {FIRST_UNNAMED} on do not name their OCP release: {minimum} refuses what {FIRST_UNNAMED}.0 refuses");
        lint.warning(value, Mistake::NoEffect, message, "tell newer images apart with minimumRHCOSVersion");
    } else if minimum.patch > 0 {
        let message = format!("images do not name their patch release: {minimum} refuses what {}.0 refuses", minimum.minor);
        let help = format!("write \"{}.0\"; for one build, use minimumRHCOSVersion with a whole version", minimum.minor);
        lint.warning(value, Mistake::NoEffect, message, help);
    }
}

/// `minimumRHCOSVersion` or `maximumRHCOSVersion`. `for_ocp` is the rule for those who think in OCP releases.
fn bound(lint: &mut Lint, Field { at: value, value: bound }: &Field<'_, RhcosBound>, for_ocp: &str) {
    const HELP: &str = "write RHEL major.minor, such as \"9.2\", or a whole version, such as \"418.94.202511191518-0\"";
    let Some(bound) = bound else {
        let Some(written) = value.read::<String>() else {
            return lint.wrong_type(value, "a string", quote(value, HELP));
        };
        let image = ImageVersion::parse(&written);
        let major = draft::minimum_ocp(&written).map(|MinimumOcp(release)| release.minor.major);
        let (what, help) = if image.is_known() {
            ("names no RHEL release", HELP.to_owned())
        } else if major.is_some_and(|major| major < NO_OCP_MAJOR) {
            ("is an OCP release, not one of RHEL", format!("write RHEL major.minor, such as \"9.2\", or use {for_ocp}"))
        } else if !written.is_empty() && written.bytes().all(|b| b.is_ascii_digit()) {
            ("has no minor", HELP.to_owned())
        } else {
            ("follows no known scheme", HELP.to_owned())
        };
        let message = format!("{} {what}: the rule is not evaluated", value.shown());
        return lint.error(value, Mistake::VersionNotUnderstood, message, help);
    };
    if let RhcosBound::Image(image) = bound
        && let Some(RhelVersion { major, minor: None }) = image.rhel()
    {
        let message = format!("{image} does not say its RHEL minor: images of RHEL {major} cannot be compared with it");
        lint.warning(value, Mistake::NoEffect, message, format!("write RHEL major.minor, such as \"{major}.2\""));
    }
    if let RhcosBound::Rhel(rhel) = bound {
        plausible(lint, value, *rhel);
    }
}

/// 9.20 is not 9.2: as a minimum it refuses every image of RHEL 9.
fn plausible(lint: &mut Lint, value: &Located<'_>, rhel: RhelVersion) {
    if rhel.minor.is_some_and(|minor| minor > LAST_MINOR) {
        let message = format!("there is no RHEL {rhel}: the last minor of a major is {LAST_MINOR}");
        lint.error(value, Mistake::ImplausibleVersion, message, "write RHEL major.minor, such as \"9.2\"");
    } else if rhel.major > LAST_MAJOR {
        let message = format!("there are no boot images of RHEL {} that this version of skewguard knows of", rhel.major);
        lint.warning(value, Mistake::ImplausibleVersion, message, "write RHEL major.minor, such as \"9.2\"");
    }
}

fn rhel_majors(lint: &mut Lint, value: &Located<'_>, draft: &LimitDraft<'_>) -> Option<Vec<u16>> {
    const HELP: &str = "write the RHEL majors that are allowed, such as [9, 10]";
    let Some(items) = value.items() else {
        lint.wrong_type(value, "an array of whole numbers", HELP);
        return None;
    };
    if items.len() == 0 {
        lint.error(value, Mistake::NeverMatches, "is empty: the rule is not evaluated", "name the majors, or leave it out");
    }
    let mut majors = Vec::new();
    let mut plausible = Vec::new();
    for item in items.iter() {
        let Some(major) = item.read::<u16>() else {
            lint.wrong_type(&item, "a whole number", HELP);
            return None;
        };
        if majors.contains(&major) {
            lint.warning(&item, Mistake::NoEffect, format!("{major} is named twice"), "remove it");
        } else if !RHEL_MAJORS.contains(&major) {
            lint.error(&item, Mistake::NeverMatches, format!("there is no RHEL {major}"), HELP);
        } else {
            plausible.push(major);
        }
        majors.push(major);
    }
    let several_pools = draft.pools.as_ref().is_none_or(|pools| pools.value.as_ref().is_some_and(|pools| pools.len() > 1));
    if let [major] = majors.as_slice()
        && several_pools
    {
        let message = format!("every pool of this limit is held to RHEL {major}, but from OCP 4.22 on pools can run different majors");
        lint.warning(value, Mistake::OneRhelMajor, message, "write a limit for each pool, or name every major that is in use");
    }
    (!plausible.is_empty()).then_some(plausible)
}

/// What is left of the majors between minimum and maximum.
fn majors_in_bounds(lint: &mut Lint, value: &Located<'_>, majors: &[u16], minimum: Option<&RhcosBound>, maximum: Option<&RhcosBound>) {
    let low = minimum.and_then(rhel).map_or(0, |rhel| rhel.major);
    let high = maximum.and_then(rhel).map_or(u16::MAX, |rhel| rhel.major);
    let outside: Vec<String> = majors.iter().filter(|major| !(low..=high).contains(*major)).map(|major| format!("RHEL {major}")).collect();
    let bounds = "minimumRHCOSVersion and maximumRHCOSVersion";
    if outside.len() == majors.len() && low <= high {
        let message = format!("no RHEL of rhelMajors is within {bounds}: every image is refused");
        lint.error(value, Mistake::NothingCanPass, message, "make them agree");
    } else if !outside.is_empty() && low <= high {
        let message = format!("{} is outside of {bounds} and refused anyway", outside.join(" and "));
        lint.warning(value, Mistake::NoEffect, message, "remove it, or move the bounds");
    }
}

fn rhel(bound: &RhcosBound) -> Option<RhelVersion> {
    match bound {
        RhcosBound::Rhel(rhel) => Some(*rhel),
        RhcosBound::Image(image) => image.rhel(),
    }
}

/// Compares as far as an image that meets both could tell them apart: a RHEL release holds all of its builds.
fn compare_bounds(minimum: &RhcosBound, maximum: &RhcosBound) -> Option<Ordering> {
    match (minimum, maximum) {
        (RhcosBound::Image(minimum), RhcosBound::Image(maximum)) => compare_images(minimum, maximum),
        _ => compare_rhel(rhel(minimum)?, rhel(maximum)?),
    }
}

/// The remedy for a number where a string belongs: the digits as written, because 4.20 is 4.2 to most programs.
fn quote(value: &Located<'_>, otherwise: &str) -> String {
    if value.raw().starts_with(|c: char| c.is_ascii_digit()) {
        format!("put it in quotes: \"{}\"", value.shown())
    } else {
        otherwise.to_owned()
    }
}
