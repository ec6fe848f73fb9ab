//! `knownIssues`: each on its own, and what the list that this version ships has beside them.

use super::published::{self, Does};
use super::starter;
use super::wording::{link, not_a_version, plain_text};
use super::{KNOWN_ISSUE_MISSING, Lint};
use crate::platform::{PLATFORMS, platform_of};
use crate::policy::fields::{
    DENIED, IMAGES, KNOWN_ISSUE, WHEN, fcos_bound, minimum_ocp, rhcos_bound, rhel_majors,
    scos_bound,
};
use crate::policy::json::{Located, Object};
use crate::policy::{Affects, MAX_ISSUES, ReleaseRange};
use crate::text;
use crate::verdict::ISSUES_NAMED as NAMED;
use crate::version::{OsFamily, RpmVersion};
use std::collections::HashSet;

const TARGETS: &str = "write a range of releases, such as \">=4.16.0 <4.16.3\"";

const FCOS: &str = "write a Fedora release, such as \"39\", or a whole version of Fedora CoreOS";

const ARCHITECTURES: &[&str] = &["x86_64", "aarch64", "ppc64le", "s390x"];

pub(super) fn list(lint: &mut Lint, at: &Located<'_>) {
    let Some(items) = lint.typed(at, at.items(), "an array", "write [ { ... } ]") else {
        return;
    };
    // An empty list says that none is wanted.
    let is_empty = items.len() == 0;
    if items.len() > MAX_ISSUES {
        let message = format!(
            "there are {} known issues: a node reads the first {MAX_ISSUES}",
            items.len()
        );
        lint.error(
            at,
            "TooLarge",
            message,
            "remove those of releases that are past",
        );
    }
    if items.len() > NAMED {
        let message = format!(
            "there are {} known issues: a verdict names {NAMED} that a node has, and counts the others",
            items.len()
        );
        lint.warning(
            at,
            "TooLarge",
            message,
            "remove those of releases that are past",
        );
    }
    let mut ids = HashSet::new();
    for item in items {
        issue(lint, &item, &mut ids);
    }
    if !is_empty {
        lacking(lint, at, &ids);
    }
}

/// The issues that this version ships and the policy lacks. Those of OKD are for policies that have
/// one of them; the others are for all but those that have nothing else.
pub(super) fn lacking(lint: &mut Lint, at: &Located<'_>, ids: &HashSet<String>) {
    let [ocp, okd] = [starter::Cluster::Ocp, starter::Cluster::Okd].map(starter::known_issue_ids);
    let has = |shipped: &[String]| shipped.iter().any(|id| ids.contains(id));
    let is_of_okd = has(&okd);
    let shipped = [(&ocp, !is_of_okd || has(&ocp)), (&okd, is_of_okd)];
    let lacking: Vec<&str> = shipped
        .into_iter()
        .filter(|(_, is_meant)| *is_meant)
        .flat_map(|(shipped, _)| shipped)
        .map(String::as_str)
        .filter(|id| !ids.contains(*id))
        .collect();
    if lacking.is_empty() {
        return;
    }
    let message = format!(
        "the policy lacks known issues that this version of skewguard ships: {}",
        lacking.join(", ")
    );
    let help = "add them from `oc skewguard policy known-issues`; \"knownIssues\": [] says that none is wanted";
    lint.warning(at, KNOWN_ISSUE_MISSING, message, help);
}

fn issue(lint: &mut Lint, at: &Located<'_>, ids: &mut HashSet<String>) {
    let Some((issue, meant)) = lint.object(at, KNOWN_ISSUE, "write { ... }") else {
        return;
    };
    let required = [
        ("id", "give it a name, such as \"RPMOSTreeBefore2023.5\""),
        (
            "images",
            "say which images have it, such as { \"belowOCPVersion\": \"4.15.0\" }",
        ),
        ("reason", "say what fails, in one line"),
    ];
    let of_families = issue.get("when").is_some_and(|at| {
        let when = at.object(WHEN).ok();
        when.is_some_and(|when| when.get("osFamilies").is_some())
    });
    for (name, help) in required {
        let is_optional = name == "images" && of_families;
        if issue.get(name).is_none() && !meant.contains(&name) && !is_optional {
            let message = format!("the required field {name} is missing: it is not evaluated");
            lint.error(at, "MissingField", message, help);
        }
    }
    if let Some(at) = issue.get("id")
        && let Some(id) = lint.typed(&at, at.string(), "a string", "put it in double quotes")
        && !ids.insert(id)
    {
        let message = format!("{} stands here twice", at.shown());
        lint.warning(&at, "NoEffect", message, "remove one, or rename it");
    }
    for name in ["reason", "remedy"] {
        if let Some(at) = issue.get(name) {
            plain_text(lint, &at);
        }
    }
    if let Some(at) = issue.get("affects") {
        let [first, second] = Affects::WORDS;
        let help = format!("write \"{first}\" or \"{second}\"");
        if let Some(word) = lint.typed(&at, at.string(), "a string", &help)
            && !Affects::WORDS.contains(&word.as_str())
        {
            let message = format!("{} is unknown: the issue is not evaluated", at.shown());
            lint.error(&at, "UnknownValue", message, help);
        }
    }
    if let Some(at) = issue.get("url") {
        link(lint, &at);
    }
    if let Some(at) = issue.get("targets") {
        targets(lint, &at);
    }
    if let Some(at) = issue.get("images") {
        images(lint, &at);
    }
    if let Some(at) = issue.get("when") {
        when(lint, &at);
    }
}

fn targets(lint: &mut Lint, at: &Located<'_>) {
    let Some(written) = lint.typed(at, at.string(), "a string", TARGETS) else {
        return;
    };
    match ReleaseRange::parse(&written) {
        None => {
            let message = format!(
                "{} is not a range of releases: it is not evaluated",
                at.shown()
            );
            lint.error(at, "VersionNotUnderstood", message, TARGETS);
        }
        Some(range) if range.is_empty() => {
            let message = format!("no release is in {}", at.shown());
            lint.error(at, "NeverMatches", message, TARGETS);
        }
        Some(_) => {}
    }
}

/// An object, and whether it has any of its fields. An unknown field makes the issue one that is
/// never evaluated.
fn part<'a>(
    lint: &mut Lint,
    at: &Located<'a>,
    names: &'static [&'static str],
) -> Option<Object<'a>> {
    let (object, meant) = lint.object(at, names, "write { ... }")?;
    if names.iter().all(|name| object.get(name).is_none()) && meant.is_empty() {
        let message = "has no field that is understood";
        lint.error(
            at,
            "NeverMatches",
            message,
            format!("its fields are {}", names.join(", ")),
        );
    }
    Some(object)
}

fn images(lint: &mut Lint, at: &Located<'_>) {
    let Some(images) = part(lint, at, IMAGES) else {
        return;
    };
    for (name, form) in [
        (
            "belowOCPVersion",
            "write an OCP release, such as \"4.15.0\"",
        ),
        (
            "belowRHCOSVersion",
            "write RHEL major.minor, such as \"9.2\", or a whole version",
        ),
        ("belowFCOSVersion", FCOS),
        ("aboveFCOSVersion", FCOS),
        (
            "belowSCOSVersion",
            "write a CentOS Stream release, such as \"9\", or a whole version of SCOS",
        ),
        ("belowShim", "write its version-release, such as \"15.8-3\""),
    ] {
        let Some(at) = images.get(name) else {
            continue;
        };
        let written = at.string().unwrap_or_default();
        let understood = match name {
            "belowOCPVersion" => minimum_ocp(&written).map(|below| {
                published::ocp(lint, &at, below.minor, Does::Has);
            }),
            "belowFCOSVersion" | "aboveFCOSVersion" => fcos_bound(&written).map(|_| ()),
            "belowSCOSVersion" => scos_bound(&written).map(|_| ()),
            "belowShim" => RpmVersion::parse(&written).map(|_| ()),
            _ => rhcos_bound(&written).map(|below| published::rhcos(lint, &at, &below, Does::Has)),
        };
        if understood.is_none() {
            not_a_version(lint, &at, form, |_| {
                (
                    "is not understood: the issue is not evaluated".to_owned(),
                    form.to_owned(),
                )
            });
        }
    }
    if let Some(at) = images.get("belowBootFreeMiB") {
        let help = "write the MiB that have to be free, such as 150";
        lint.typed(&at, at.read::<u32>(), "a whole number of MiB", help);
    }
    if let Some(at) = images.get("rhelMajors") {
        let help = "write the RHEL majors that have it, such as [8]";
        lint.typed(&at, rhel_majors(&at), "an array of whole numbers", help);
    }
    if let Some(at) = images.get("versions") {
        versions(lint, &at);
    }
}

fn versions(lint: &mut Lint, at: &Located<'_>) {
    const ENTRY: &str = "write [ { \"version\": \"...\" } ]";
    let Some(items) = lint.typed(at, at.items(), "an array of objects", ENTRY) else {
        return;
    };
    for item in items {
        let Some((entry, _)) = lint.object(&item, DENIED, ENTRY) else {
            continue;
        };
        let version = entry.get("version").and_then(|at| at.string());
        lint.typed(&item, version, "an object with a version", ENTRY);
    }
}

fn when(lint: &mut Lint, at: &Located<'_>) {
    let Some(when) = part(lint, at, WHEN) else {
        return;
    };
    let is_platform = |name: &str| platform_of(name).is_some() || name == "qemu";
    let platforms: Vec<&str> = PLATFORMS.iter().map(|platform| platform.id).collect();
    names(lint, when.get("platforms"), &platforms, is_platform);
    let is_architecture = |name: &str| ARCHITECTURES.contains(&name);
    names(
        lint,
        when.get("architectures"),
        ARCHITECTURES,
        is_architecture,
    );
    let families = OsFamily::ALL.map(OsFamily::as_str);
    let is_family = |name: &str| OsFamily::parse(name).is_some();
    names(lint, when.get("osFamilies"), &families, is_family);
    for name in ["secureBoot", "okd"] {
        if let Some(at) = when.get(name) {
            const HELP: &str = "write true or false";
            lint.typed(&at, at.read::<bool>(), "true or false", HELP);
        }
    }
}

fn names(
    lint: &mut Lint,
    at: Option<Located<'_>>,
    known: &[&str],
    is_known: impl Fn(&str) -> bool,
) {
    let Some(at) = at else {
        return;
    };
    let help = format!("the names are {}", known.join(", "));
    let names = at.read::<Vec<String>>();
    let Some(names) = lint.typed(&at, names, "an array of strings", &help) else {
        return;
    };
    if names.is_empty() {
        lint.error(
            &at,
            "NeverMatches",
            "is empty: the issue is for no node",
            &help,
        );
    }
    for name in names.iter().filter(|name| !is_known(name)) {
        let name = text::printable_up_to(name, 60);
        lint.error(&at, "UnknownValue", format!("\"{name}\" is unknown"), &help);
    }
}
