//! A bound and a node: whether it holds, and the words for that.

use super::{Node, kept};
use crate::policy::{Bound, DeniedVersions, VersionBound};
use crate::text;
use crate::verdict::words::denied as denied_by;
use crate::verdict::{Finding, Machine, Reason, Wanted};
use crate::version::{
    BY_RHEL, FIRST_UNNAMED, ImageVersion, OcpMinor, OsFamily, Release, Releases, RpmVersion,
    cpu_rank,
};
use std::cmp::Ordering::Less;
use std::collections::BTreeMap;

/// The part of a policy that a bound is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::verdict) enum Asker {
    /// It judges images of one family, by what their versions say, and the shim only where Secure
    /// Boot is on.
    Limit,
    /// Images of another family do not have it, nor do those too new to name their OCP release.
    /// Secure Boot is a condition of its own.
    Issue,
}

/// The node's own value of what a rule is about, and the message about it.
type Answer = (Option<String>, String);

impl Bound {
    /// Tells whether the node is within it; `None` where too little is known.
    pub(in crate::verdict) fn holds(&self, node: Node<'_>, asker: Asker) -> Option<bool> {
        let (image, machine) = (node.subject.version, node.machine);
        let in_limit = asker == Asker::Limit;
        Some(match self {
            Self::Denied(denied) => match denied.hit(image?) {
                Some(_) => false,
                // Neither an entry nor a version that is not understood proves that the image is
                // allowed.
                None if denied.not_understood > 0 || !image?.is_known() => return None,
                None => true,
            },
            Self::Majors(majors) => majors.contains(&image?.rhel?.major) == in_limit,
            // An image does not name its patch release, so it counts as the last of its x.y.
            Self::Version(family, ..) if is_of_another(image?, *family)? => {
                return (!in_limit).then_some(true);
            }
            Self::Version(family, wrong, bound) => bound.compare(image?, *family)? != *wrong,
            Self::Ocp(_) | Self::Behind(_) => {
                self.holds_of(releases(image?, asker)?, node.target)?
            }
            Self::Cpu(levels) => {
                let architecture = machine.architecture.as_ref()?;
                let least = cpu_rank(architecture, levels.get(architecture)?)?;
                cpu_rank(architecture, machine.cpu.as_ref()?)? >= least
            }
            Self::BootFree(least) => machine.boot_free_mib? >= *least,
            Self::Shim(_) if in_limit && !machine.secure_boot? => true,
            Self::Shim(least) => RpmVersion::parse(machine.shim.as_ref()?)?.compare(least) != Less,
        })
    }

    /// Tells whether it is a rule for images of this family: that some image of it passes, and
    /// another does not.
    pub(super) fn is_for(&self, family: OsFamily) -> bool {
        match self {
            Self::Denied(_) => true,
            Self::Majors(_) => family != OsFamily::Fcos,
            Self::Version(of, ..) => family == *of,
            _ => family == OsFamily::Rhcos,
        }
    }

    /// Tells whether the image's version says too little for this rule, which is for its family.
    pub(super) fn asks_too_much(&self, node: Node<'_>) -> bool {
        let family = node.subject.version.and_then(ImageVersion::os_family);
        !self.is_about_machine()
            && family.is_none_or(|family| self.is_for(family))
            && self.holds(node, Asker::Limit).is_none()
            && self.helps_an_image(node.target)
    }

    /// Tells whether images pass whose OCP releases are known as far as those of this target's are.
    fn helps_an_image(&self, target: Option<Release>) -> bool {
        let passes = |releases: Releases| self.holds_of(releases, target) == Some(true);
        let Some(target) = target else {
            return !matches!(self, Self::Behind(_));
        };
        let known = BY_RHEL.iter().map(|(_, releases)| *releases);
        let named = FIRST_UNNAMED.minor.checked_sub(1);
        let named = named.map(|minor| {
            Releases::of(OcpMinor {
                minor,
                ..FIRST_UNNAMED
            })
        });
        let mut images = known
            .chain(named)
            .filter(|releases| releases.first <= target.minor);
        !matches!(self, Self::Behind(_) | Self::Ocp(_)) || images.any(passes)
    }

    /// Tells whether images of these releases are within it; `None` where some are.
    fn holds_of(&self, releases: Releases, target: Option<Release>) -> Option<bool> {
        match self {
            Self::Ocp(least) => releases.are_below(least.minor).map(|below| !below),
            Self::Behind(most) => match releases.minors_to(target?.minor)? {
                [_, behind] if behind <= *most => Some(true),
                [behind, _] if behind > *most => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    /// Describes what it asks for.
    pub(in crate::verdict) fn want(&self, node: Node<'_>) -> String {
        match self {
            Self::Denied(denied) => show_denied(denied),
            Self::Majors(majors) => one_of(majors),
            Self::Ocp(least) => least.to_string(),
            Self::Version(.., bound) => bound.to_string(),
            Self::Behind(most) => {
                let target = node.target.map(|target| target.minor.to_string());
                let target = target.as_deref().unwrap_or("the target");
                format!("at most {most} OCP minors behind {target}")
            }
            Self::Cpu(levels) => {
                let own = node.machine.architecture.as_ref();
                let own = own.and_then(|own| levels.get(own));
                // All of them where the machine's is unknown.
                let wanted = own.map_or_else(|| levels.values().collect(), |own| vec![own]);
                let wanted = wanted.into_iter().map(|level| text::printable(level));
                wanted.collect::<Vec<_>>().join(", ")
            }
            Self::BootFree(least) => format!("{least} MiB free in /boot"),
            Self::Shim(least) => least.as_str().to_owned(),
        }
    }

    /// The finding of a limit's rule.
    pub(super) fn finding(&self, rule: Reason, node: Node<'_>) -> Finding {
        let passes = self.holds(node, Asker::Limit);
        let (name, image) = (node.subject.name(), node.subject.version);
        let (have, message) = match (self, image) {
            (Self::Cpu(levels), _) => cpu(levels, node.machine, passes),
            (Self::BootFree(least), _) => boot_free(*least, node.machine),
            (Self::Shim(least), _) => shim(least, node.machine, passes),
            (_, None) => (None, format!("the {name} is unknown")),
            (Self::Denied(denied), Some(image)) => {
                (Some(image.text.clone()), denial(denied, image, name))
            }
            (Self::Majors(majors), Some(image)) => rhel_major(majors, image, name),
            (Self::Ocp(least), Some(image)) => of_release(image, &|_, is| {
                format!("{name} is {is}; the minimum is {least}")
            }),
            (Self::Version(family, wrong, bound), Some(image)) => {
                let side = if *wrong == Less { "minimum" } else { "maximum" };
                let limit = format!("the {side} is {bound}");
                let (own, what) = own_version(image, bound);
                match passes {
                    Some(_) => (Some(own), format!("{name} is {what}; {limit}")),
                    None => not_compared(image, *family, own, &limit),
                }
            }
            (Self::Behind(most), Some(image)) => match node.target {
                None => (
                    releases(image, Asker::Limit).map(|releases| releases.to_string()),
                    "the target release is unknown".to_owned(),
                ),
                Some(Release { minor: target, .. }) => {
                    of_release(image, &|releases, is| match releases.minors_to(target) {
                        None => format!("OCP minors cannot be counted from {releases} to {target}"),
                        Some([fewest, behind]) => {
                            let from = match fewest < behind {
                                true => format!("{fewest} to "),
                                false => String::new(),
                            };
                            format!(
                                "{name} is {is}, {from}{behind} minors behind {target}; at most {most} allowed"
                            )
                        }
                    })
                }
            },
        };
        let mut finding = Finding::new(rule, passes, have, &self.want(node), &message);
        match (self, image) {
            (Self::Majors(majors), Some(image)) if passes == Some(false) => {
                finding.wanted = image.rhel.map(|rhel| wanted_major(majors, rhel.major));
            }
            (Self::Denied(denied), Some(image)) => {
                let entry = denied.hit(image);
                finding.entry = entry.map(|entry| kept(&entry.version));
                finding.why = entry.and_then(|entry| entry.reason.as_deref()).map(kept);
            }
            _ => {}
        }
        finding
    }
}

/// Tells whether a rule of this family is about other images. RHCOS's are for all of RHEL.
fn is_of_another(image: &ImageVersion, family: OsFamily) -> Option<bool> {
    Some(family != OsFamily::Rhcos && image.os_family()? != family)
}

fn unnamed(what: &str) -> Answer {
    (None, format!("the version does not say its {what} release"))
}

/// The releases that the image may be of. A limit takes no CentOS Stream for one: it has no minor
/// that would tell.
fn releases(image: &ImageVersion, asker: Asker) -> Option<Releases> {
    let is_told = image.ocp.is_some() || image.os_family() == Some(OsFamily::Rhcos);
    image
        .releases()
        .filter(|_| is_told || asker == Asker::Issue)
}

fn of_release(image: &ImageVersion, say: &dyn Fn(Releases, &str) -> String) -> Answer {
    let [base, release] = image.names();
    let Some(releases) = releases(image, Asker::Limit) else {
        return unnamed(release);
    };
    let is = match (image.ocp, image.rhel) {
        (None, Some(rhel)) => format!("{base} {rhel}, of {release} {releases}"),
        _ => format!("{release} {releases}"),
    };
    (Some(releases.to_string()), say(releases, &is))
}

fn rhel_major(majors: &[u16], image: &ImageVersion, name: &str) -> Answer {
    let Some(rhel) = image.rhel else {
        return unnamed("RHEL");
    };
    let [base, _] = image.names();
    let mut message = format!("{name} is {base} {}", rhel.major);
    if !majors.contains(&rhel.major) {
        message += &format!("; {base} {} is allowed", one_of(majors));
    }
    (Some(rhel.major.to_string()), message)
}

/// The image's own version or release, as a bound compares it, and in a sentence.
fn own_version(image: &ImageVersion, bound: &VersionBound) -> (String, String) {
    match (bound, image.os_release()) {
        (VersionBound::Release(_), Some(own)) => {
            let [base, _] = image.names();
            (own.to_string(), format!("{base} {own}"))
        }
        _ => (image.text.clone(), image.text.clone()),
    }
}

/// Says why an image cannot be compared with a version or release of a family.
fn not_compared(image: &ImageVersion, family: OsFamily, have: String, limit: &str) -> Answer {
    let have = Some(have);
    let name = family.name();
    let text = Some(image.text.clone());
    match image.os_family() {
        _ if family == OsFamily::Rhcos && image.rhel.is_none() => unnamed("RHEL"),
        _ if family == OsFamily::Rhcos => (have, format!("the RHEL minor is unknown; {limit}")),
        None => (
            text,
            format!("the version is not understood; the rule is for {name}"),
        ),
        Some(own) if own != family => (
            text,
            format!("{image} is {}, and the rule is for {name}", own.name()),
        ),
        Some(_) => (
            have,
            format!("a developer's build of that day cannot be compared; {limit}"),
        ),
    }
}

fn denial(denied: &DeniedVersions, image: &ImageVersion, name: &str) -> String {
    match denied.hit(image) {
        Some(entry) => {
            let denied = denied_by(Some(&entry.version), entry.reason.as_deref());
            format!("{name} {image} is {denied}")
        }
        None if denied.not_understood > 0 => format!(
            "not denied as far as the list is understood; entries that are not: {}",
            denied.not_understood
        ),
        None if !image.is_known() => {
            "the version is not understood; it is not on the list of denied versions".to_owned()
        }
        None => format!("{name} {image} is not denied"),
    }
}

fn cpu(levels: &BTreeMap<String, String>, machine: &Machine, passes: Option<bool>) -> Answer {
    let have = machine.cpu.clone();
    let Some(architecture) = &machine.architecture else {
        return (have, "the machine's architecture is unknown".to_owned());
    };
    let Some(least) = levels.get(architecture) else {
        return (have, format!("the rule has no level for {architecture}"));
    };
    match have {
        Some(have) if passes.is_some() => {
            let message = format!("CPU is {have}; the minimum is {least}");
            (Some(have), message)
        }
        have if cpu_rank(architecture, least).is_none() => (
            have,
            format!("a level of {architecture} that is not known to this version of skewguard"),
        ),
        _ => (None, "the level of the machine's CPU is unknown".to_owned()),
    }
}

fn boot_free(least: u32, machine: &Machine) -> Answer {
    match machine.boot_free_mib {
        Some(free) => (
            Some(format!("{free} MiB")),
            format!("/boot has {free} MiB free; the minimum is {least}"),
        ),
        None => (
            None,
            "what is free in /boot is unknown: it is read before the rebase, and where /boot is mounted".to_owned(),
        ),
    }
}

fn shim(least: &RpmVersion, machine: &Machine, passes: Option<bool>) -> Answer {
    let have = machine.shim.clone();
    match (machine.secure_boot, have) {
        (None, have) => (have, "it is unknown whether Secure Boot is on".to_owned()),
        (Some(false), have) => (
            have.or(Some("Secure Boot off".to_owned())),
            "shim may be of any version: Secure Boot is off".to_owned(),
        ),
        (Some(true), Some(have)) if passes.is_some() => {
            let least = least.as_str();
            let message = format!("shim is {have}; with Secure Boot on the minimum is {least}");
            (Some(have), message)
        }
        (Some(true), _) => (None, "no file on this node names its shim".to_owned()),
    }
}

fn show_denied(denied: &DeniedVersions) -> String {
    let entries = denied.entries.iter().take(4);
    let mut names: Vec<&str> = entries.map(|denied| denied.version.as_str()).collect();
    let all = denied.entries.len() + denied.not_understood;
    if all == 0 {
        return "any version that is understood".to_owned();
    }
    if all > names.len() {
        names.push("...");
    }
    format!("none of: {}", names.join(", "))
}

pub(in crate::verdict) fn one_of(majors: &[u16]) -> String {
    let names: Vec<String> = majors.iter().map(u16::to_string).collect();
    names.join(" or ")
}

/// A newer one if all allowed majors are above the image's, an older one if all are below.
fn wanted_major(majors: &[u16], own: u16) -> Wanted {
    if majors.iter().all(|major| *major > own) {
        Wanted::Newer
    } else if majors.iter().all(|major| *major < own) {
        Wanted::Older
    } else {
        Wanted::Another
    }
}
