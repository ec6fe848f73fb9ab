//! One limit: which nodes it is for, and its rules, each on its own and against the others of the
//! limit.

use super::{Lint, denied};
use crate::policy::fields::{self, RHEL_MAJORS};
use crate::policy::json::{Field, Located, Object};
use crate::policy::{LimitRelease, RhcosBound};
use crate::text::{self, is_dns_name};
use crate::version::{
    self, ImageVersion, OcpMinor, Release, RhelVersion, RpmVersion, compare_images, compare_rhel,
    cpu_levels, cpu_rank,
};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};

/// An OCP release with this major or a later one is taken for a RHEL release.
const NO_OCP_MAJOR: u16 = 7;

/// From this OCP release on, boot image versions do not name the OCP release.
const FIRST_UNNAMED: OcpMinor = version::FIRST_UNNAMED.minor;

/// From this OCP release on, served configs name the cluster's release.
const FIRST_NAMED: OcpMinor = OcpMinor { major: 4, minor: 8 };

/// Size of /boot in MiB (coreos-assembler, since RHCOS 4.1).
const BOOT_SIZE: u32 = 384;

/// Newest RHEL major.
const LAST_MAJOR: u16 = 10;

/// Last minor of every RHEL major: 8.10, 9.10, 10.10 (Red Hat Enterprise Linux Life Cycle).
const LAST_MINOR: u16 = 10;

/// Which nodes a limit is for.
pub(super) struct Audience<'a> {
    pub(super) limit: Located<'a>,
    pub(super) release: Option<LimitRelease>,
    pub(super) pools: Option<Vec<String>>,
}

/// Checks one limit; `None` where it is unclear which nodes it is for.
pub(super) fn limit<'a>(lint: &mut Lint, at: Located<'a>) -> Option<Audience<'a>> {
    let (object, meant) = lint.object(&at, fields::LIMIT, "write { ... }")?;
    let release = object.word("release", fields::limit_release);
    if let Some(field) = &release {
        self::release(lint, field);
    }
    let pools = object.field("pools", Located::read::<Vec<String>>);
    if let Some(field) = &pools {
        self::pools(lint, &field.at);
    }
    let for_release = release.as_ref().and_then(|release| release.value);
    let for_pools = pools
        .as_ref()
        .map(|pools| pools.value.as_ref().map_or(0, Vec::len));
    rules(
        lint,
        &object,
        !meant.is_empty(),
        for_release,
        for_pools.is_none_or(|pools| pools > 1),
    );
    let understood = release.is_none_or(|release| release.value.is_some())
        && pools.as_ref().is_none_or(|pools| pools.value.is_some());
    understood.then(|| Audience {
        limit: at,
        release: for_release,
        pools: pools.and_then(|pools| pools.value),
    })
}

fn minor(release: LimitRelease) -> OcpMinor {
    match release {
        LimitRelease::Minor(minor) => minor,
        LimitRelease::Exact(exact) => exact.minor,
    }
}

fn release(lint: &mut Lint, Field { at, value }: &Field<'_, LimitRelease>) {
    const HELP: &str =
        "write x.y, such as \"4.21\", or x.y.z for that one release; leave it out for any";
    let Some(release) = *value else {
        return not_a_version(lint, at, HELP, |_| {
            (
                "is not an OCP release: the limit is not used".to_owned(),
                HELP.to_owned(),
            )
        });
    };
    if minor(release).major >= NO_OCP_MAJOR {
        let message = format!(
            "{} looks like a RHEL release: no OCP target matches it",
            at.shown()
        );
        return lint.error(
            at,
            "NeverMatches",
            message,
            "write the OCP release of the cluster, such as \"4.21\"",
        );
    }
    let LimitRelease::Exact(exact) = release else {
        return;
    };
    if exact.minor < FIRST_NAMED {
        let message = format!(
            "clusters before OCP {FIRST_NAMED} do not tell their nodes their release: {exact} never matches"
        );
        lint.error(at, "NeverMatches", message, "leave release out");
    } else if exact.patch == 0 {
        let message = format!(
            "{exact} is that one release with its pre-releases, not all of {}",
            exact.minor
        );
        lint.warning(
            at,
            "ExactRelease",
            message,
            format!("write \"{}\" if that is meant", exact.minor),
        );
    }
}

fn pools(lint: &mut Lint, at: &Located<'_>) {
    const HELP: &str =
        "write the names of MachineConfigPools, such as [\"worker\"]; leave it out for any";
    let Some(items) = lint.typed(at, at.items(), "an array of strings", HELP) else {
        return;
    };
    if items.len() == 0 {
        lint.error(
            at,
            "NeverMatches",
            "is empty: the limit is for no node",
            HELP,
        );
    }
    let mut seen = HashSet::new();
    for item in items {
        let Some(pool) = lint.typed(&item, item.string(), "a string", HELP) else {
            return;
        };
        if !seen.insert(pool.clone()) {
            lint.warning(
                &item,
                "NoEffect",
                format!("{} is named twice", item.shown()),
                "remove it",
            );
        } else {
            pool_name(lint, &item, &pool);
        }
    }
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
    } else if !["worker", "master", "arbiter"].contains(&pool) {
        let message = format!(
            "nodes of custom pool {} boot with /config/worker, and match \"worker\", unless their user-data names the pool",
            at.shown()
        );
        let help = "keep it only if the user-data names the pool (/config/POOL), as OCP 4.22 and later support it; else write \"worker\"";
        lint.warning(at, "CustomPool", message, help);
    }
}

fn rules(
    lint: &mut Lint,
    object: &Object<'_>,
    misspelt: bool,
    release: Option<LimitRelease>,
    several_pools: bool,
) {
    let present: Vec<&str> = fields::rules()
        .iter()
        .copied()
        .filter(|rule| object.get(rule).is_some())
        .collect();
    if present.is_empty() {
        if misspelt {
            return;
        }
        let message = "the limit sets no rule: its nodes stay undetermined";
        let help = "add a rule, or remove the limit; \"deniedVersions\": [] allows every version that is understood";
        return lint.error(&object.at, "NoRules", message, help);
    }
    if let Some(field) = object.word("minimumOCPVersion", fields::minimum_ocp) {
        minimum_ocp(lint, &field, release);
    }
    let minimum = object.word("minimumRHCOSVersion", fields::rhcos_bound);
    let maximum = object.word("maximumRHCOSVersion", fields::rhcos_bound);
    for (field, for_ocp) in [
        (&minimum, "minimumOCPVersion"),
        (&maximum, "maximumReleasesBehind"),
    ] {
        if let Some(field) = field {
            bound(lint, field, for_ocp);
        }
    }
    if let Some(at) = object.get("maximumReleasesBehind") {
        const HELP: &str = "write how many OCP minors an image may be behind, such as 8";
        lint.typed(
            &at,
            at.read::<u16>(),
            "a whole number from 0 to 65535",
            HELP,
        );
    }
    machine(lint, object);
    let understood = |field: &Option<Field<'_, RhcosBound>>| {
        field.as_ref().and_then(|field| field.value.clone())
    };
    let (low, high) = (understood(&minimum), understood(&maximum));
    if let Some(at) = object.get("rhelMajors") {
        let majors = rhel_majors(lint, &at, several_pools);
        majors_in_bounds(lint, &at, &majors, low.as_ref(), high.as_ref());
    }
    if let Some(at) = object.get("deniedVersions") {
        denied::list(lint, &at, present.len() == 1);
    }
    if let (Some(minimum), Some(maximum), Some(low), Some(high)) = (&minimum, &maximum, &low, &high)
        && compare_bounds(low, high) == Some(Ordering::Greater)
    {
        let message = format!(
            "the minimum {} is above the maximum {}: every image is refused",
            minimum.at.shown(),
            maximum.at.shown()
        );
        lint.error(
            &minimum.at,
            "MinimumAboveMaximum",
            message,
            "exchange them, or remove one",
        );
    }
    only_ocp_rules(lint, object, &present);
}

/// Checks that images which do not name their OCP release can be judged.
fn only_ocp_rules(lint: &mut Lint, object: &Object<'_>, present: &[&str]) {
    const HELP: &str = "add minimumRHCOSVersion, such as \"9.2\"";
    const OF_OCP: [&str; 2] = ["minimumOCPVersion", "maximumReleasesBehind"];
    let of_image: Vec<&str> = present
        .iter()
        .copied()
        .filter(|rule| !OF_MACHINE.contains(rule))
        .collect();
    if of_image.is_empty() || !of_image.iter().all(|rule| OF_OCP.contains(rule)) {
        return;
    }
    let rules = of_image.join(" and ");
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

/// The rules that judge the machine.
const OF_MACHINE: [&str; 3] = ["minimumCPU", "minimumBootFreeMiB", "minimumShim"];

/// Checks [`OF_MACHINE`].
fn machine(lint: &mut Lint, object: &Object<'_>) {
    if let Some(at) = object.get("minimumCPU") {
        minimum_cpu(lint, &at);
    }
    if let Some(at) = object.get("minimumBootFreeMiB") {
        const HELP: &str = "write how many MiB have to be free in /boot, such as 150";
        let free = lint.typed(&at, at.read::<u32>(), "a whole number of MiB", HELP);
        if let Some(free) = free.filter(|free| *free > BOOT_SIZE) {
            let message =
                format!("/boot of RHCOS has {BOOT_SIZE} MiB in all so far: {free} are never free");
            lint.warning(&at, "NothingCanPass", message, HELP);
        }
    }
    if let Some(field) = object.word("minimumShim", RpmVersion::parse)
        && field.value.is_none()
    {
        const HELP: &str = "write version and release of the package, such as \"15.8-3\"";
        not_a_version(lint, &field.at, HELP, |_| {
            let what = "is not a version of a package: the rule is not evaluated";
            (what.to_owned(), HELP.to_owned())
        });
    }
}

fn minimum_cpu(lint: &mut Lint, at: &Located<'_>) {
    const HELP: &str =
        "write the lowest level for each architecture, such as { \"x86_64\": \"x86-64-v3\" }";
    let levels = at.read::<BTreeMap<String, String>>();
    let Some(levels) = lint.typed(at, levels, "an object of strings", HELP) else {
        return;
    };
    if levels.is_empty() {
        lint.warning(at, "NoEffect", "is empty: no CPU is judged", HELP);
    }
    for (architecture, level) in levels {
        let [architecture, level] =
            [architecture, level].map(|word| text::printable_up_to(&word, 60));
        let Some(known) = cpu_levels(&architecture) else {
            let message = format!("there are no levels for \"{architecture}\"");
            lint.error(at, "UnknownValue", message, HELP);
            continue;
        };
        if cpu_rank(&architecture, &level).is_none() {
            let message = format!("\"{level}\" is not a level of {architecture}");
            let help = format!("write one of {}", known.join(", "));
            lint.error(at, "UnknownValue", message, help);
        }
    }
}

fn minimum_ocp(
    lint: &mut Lint,
    Field { at, value }: &Field<'_, Release>,
    release: Option<LimitRelease>,
) {
    const HELP: &str = "write an OCP release, such as \"4.13.0\"";
    let Some(minimum) = *value else {
        return not_a_version(lint, at, HELP, |written| {
            let is_rhcos = fields::rhcos_bound(written).is_some();
            let help = if is_rhcos {
                "this is an RHCOS version: write it as minimumRHCOSVersion"
            } else {
                HELP
            };
            (
                "is not an OCP release: the rule is not evaluated".to_owned(),
                help.to_owned(),
            )
        });
    };
    if minimum.minor.major >= NO_OCP_MAJOR {
        let message = format!(
            "{} looks like a RHEL release: every image is below it",
            at.shown()
        );
        lint.error(
            at,
            "ImplausibleVersion",
            message,
            "write it as minimumRHCOSVersion",
        );
    } else if let Some(target) = release
        .map(minor)
        .filter(|target| target.counted() < minimum.minor.counted())
    {
        let message = format!(
            "the minimum {minimum} is newer than {target}, which the limit is for: its own images are refused"
        );
        lint.error(
            at,
            "MinimumAboveRelease",
            message,
            "lower the minimum, or raise release",
        );
    } else if minimum.minor.major < 4 {
        lint.warning(
            at,
            "NoEffect",
            format!("every boot image is newer than {minimum}"),
            HELP,
        );
    } else if minimum.minor > FIRST_UNNAMED {
        let message = format!(
            "images from OCP {FIRST_UNNAMED} on do not name their OCP release: {minimum} refuses what {FIRST_UNNAMED}.0 refuses"
        );
        lint.warning(
            at,
            "NoEffect",
            message,
            "tell newer images apart with minimumRHCOSVersion",
        );
    } else if minimum.patch > 0 {
        let message = format!(
            "images do not name their patch release: {minimum} refuses what {}.0 refuses",
            minimum.minor
        );
        let help = format!(
            "write \"{}.0\"; for one build, use minimumRHCOSVersion with a whole version",
            minimum.minor
        );
        lint.warning(at, "NoEffect", message, help);
    }
}

/// Checks `minimumRHCOSVersion` or `maximumRHCOSVersion`. `for_ocp` is the rule to use instead for
/// an OCP release.
fn bound(lint: &mut Lint, Field { at, value }: &Field<'_, RhcosBound>, for_ocp: &str) {
    const HELP: &str = "write RHEL major.minor, such as \"9.2\", or a whole version, such as \"418.94.202511191518-0\"";
    const PLAUSIBLE: &str = "write RHEL major.minor, such as \"9.2\"";
    match value {
        None => not_a_version(lint, at, HELP, |written| {
            let ocp =
                fields::minimum_ocp(written).filter(|release| release.minor.major < NO_OCP_MAJOR);
            let (what, help) = if ImageVersion::parse(written).is_known() {
                ("names no RHEL release", HELP.to_owned())
            } else if ocp.is_some() {
                (
                    "is an OCP release, not one of RHEL",
                    format!("{PLAUSIBLE}, or use {for_ocp}"),
                )
            } else if !written.is_empty() && written.bytes().all(|b| b.is_ascii_digit()) {
                ("has no minor", HELP.to_owned())
            } else {
                ("follows no known scheme", HELP.to_owned())
            };
            (format!("{what}: the rule is not evaluated"), help)
        }),
        Some(RhcosBound::Image(image)) => {
            if let Some(RhelVersion { major, minor: None }) = image.rhel {
                let message = format!(
                    "{image} does not say its RHEL minor: images of RHEL {major} cannot be compared with it"
                );
                lint.warning(
                    at,
                    "NoEffect",
                    message,
                    format!("write RHEL major.minor, such as \"{major}.2\""),
                );
            }
        }
        // Somebody who writes 9.20 for 9.2 would refuse every image of RHEL 9.
        Some(RhcosBound::Rhel(rhel)) if rhel.minor.is_some_and(|minor| minor > LAST_MINOR) => {
            let message =
                format!("there is no RHEL {rhel}: the last minor of a major is {LAST_MINOR}");
            lint.error(at, "ImplausibleVersion", message, PLAUSIBLE);
        }
        Some(RhcosBound::Rhel(rhel)) if rhel.major > LAST_MAJOR => {
            let message = format!(
                "there are no boot images of RHEL {} that this version of skewguard knows of",
                rhel.major
            );
            lint.warning(at, "ImplausibleVersion", message, PLAUSIBLE);
        }
        Some(RhcosBound::Rhel(_)) => {}
    }
}

/// Checks `rhelMajors`; returns those that exist, each once.
fn rhel_majors(lint: &mut Lint, at: &Located<'_>, several_pools: bool) -> Vec<u16> {
    const HELP: &str = "write the RHEL majors that are allowed, such as [9, 10]";
    let Some(items) = lint.typed(at, at.items(), "an array of whole numbers", HELP) else {
        return Vec::new();
    };
    if items.len() == 0 {
        lint.error(
            at,
            "NeverMatches",
            "is empty: the rule is not evaluated",
            "name the majors, or leave it out",
        );
    }
    let mut majors = Vec::new();
    for item in items {
        let Some(major) = lint.typed(&item, item.read::<u16>(), "a whole number", HELP) else {
            return Vec::new();
        };
        if majors.contains(&major) {
            lint.warning(
                &item,
                "NoEffect",
                format!("{major} is named twice"),
                "remove it",
            );
        } else if !RHEL_MAJORS.contains(&major) {
            lint.error(
                &item,
                "NeverMatches",
                format!("there is no RHEL {major}"),
                HELP,
            );
        }
        majors.push(major);
    }
    if let [major] = majors.as_slice()
        && several_pools
    {
        let message = format!(
            "every pool of this limit is held to RHEL {major}, but from OCP 4.22 on pools can run different majors"
        );
        lint.warning(
            at,
            "OneRHELMajor",
            message,
            "write a limit for each pool, or name every major that is in use",
        );
    }
    let mut seen = HashSet::new();
    majors.retain(|major| RHEL_MAJORS.contains(major) && seen.insert(*major));
    majors
}

/// Checks which of `majors` lie between the minimum and the maximum.
fn majors_in_bounds(
    lint: &mut Lint,
    at: &Located<'_>,
    majors: &[u16],
    minimum: Option<&RhcosBound>,
    maximum: Option<&RhcosBound>,
) {
    let low = minimum.and_then(rhel).map_or(0, |rhel| rhel.major);
    let high = maximum.and_then(rhel).map_or(u16::MAX, |rhel| rhel.major);
    let outside: Vec<String> = majors
        .iter()
        .filter(|major| !(low..=high).contains(*major))
        .map(|major| format!("RHEL {major}"))
        .collect();
    let bounds = "minimumRHCOSVersion and maximumRHCOSVersion";
    if outside.is_empty() || low > high {
        return;
    }
    if outside.len() == majors.len() {
        let message = format!("no RHEL of rhelMajors is within {bounds}: every image is refused");
        lint.error(at, "NothingCanPass", message, "make them agree");
    } else {
        let message = format!(
            "{} is outside of {bounds} and refused anyway",
            outside.join(" and ")
        );
        lint.warning(at, "NoEffect", message, "remove it, or move the bounds");
    }
}

fn rhel(bound: &RhcosBound) -> Option<RhelVersion> {
    match bound {
        RhcosBound::Rhel(rhel) => Some(*rhel),
        RhcosBound::Image(image) => image.rhel,
    }
}

/// Compares a minimum with a maximum. Where one is a RHEL release and the other a version, only
/// their RHEL releases are compared: a RHEL release stands for all of its builds.
fn compare_bounds(minimum: &RhcosBound, maximum: &RhcosBound) -> Option<Ordering> {
    match (minimum, maximum) {
        (RhcosBound::Image(minimum), RhcosBound::Image(maximum)) => {
            compare_images(minimum, maximum)
        }
        _ => compare_rhel(rhel(minimum)?, rhel(maximum)?),
    }
}

/// Reports a version that is not understood. `explain` returns what is wrong with a string, and the
/// remedy; `form` is the remedy for a value of another type.
pub(super) fn not_a_version(
    lint: &mut Lint,
    at: &Located<'_>,
    form: &str,
    explain: impl FnOnce(&str) -> (String, String),
) {
    let shown = at.shown();
    // Shown as written, because 4.20 is a number and equal to 4.2.
    let is_number = shown.starts_with(|c: char| c.is_ascii_digit());
    let help = if is_number {
        format!("put it in quotes: \"{shown}\"")
    } else {
        form.to_owned()
    };
    if let Some(written) = lint.typed(at, at.string(), "a string", help) {
        let (what, help) = explain(&written);
        lint.error(at, "VersionNotUnderstood", format!("{shown} {what}"), help);
    }
}
