//! Applies the rules of a limit to an image.

mod family;
mod machine;

use super::words::{denied as denied_by, usually_wanted};
use super::{Finding, Judged, Machine, Reason, RuleResult, Wanted};
use crate::policy::{DeniedVersion, DeniedVersions, Limit, RhcosBound, Setting};
use crate::text;
use crate::version::{ImageVersion, Release, compare_images, compare_rhel};
pub(super) use family::{compare_family, show_family_bound};
use std::cmp::Ordering;

/// Longest text of a finding, in characters.
const TEXT_MAX: usize = 1024;

/// An entry of the policy, or its reason, at most so long.
pub(super) fn kept(text: &str) -> String {
    text::cut(text, text::KEPT_MAX)
}

/// The judged image; `version` is `None` where it is unknown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) judged: Judged,
    pub(super) version: Option<&'a ImageVersion>,
}

impl Subject<'_> {
    /// Its name in a sentence.
    pub(super) fn name(self) -> &'static str {
        self.judged.name()
    }
}

/// Applies every rule that the limit sets.
pub(super) fn apply(
    limit: &Limit,
    subject: Subject<'_>,
    target: Option<Release>,
    machine: &Machine,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    // Not chained and flattened: that copies every finding several times.
    findings.extend(image_rules(limit, subject, target).into_iter().flatten());
    findings.extend(family::rules(limit, subject).into_iter().flatten());
    findings.extend(machine::rules(limit, machine).into_iter().flatten());
    findings
}

fn image_rules(
    limit: &Limit,
    subject: Subject<'_>,
    target: Option<Release>,
) -> [Option<Finding>; 6] {
    use Reason as R;
    let behind = |most: &u16| {
        let target = target.map_or("the target".to_owned(), |t| t.minor.to_string());
        format!("at most {most} OCP minors behind {target}")
    };
    let rhcos_below = |bound: &_, image: &_| rhcos(bound, image, Ordering::Less, "minimum");
    let rhcos_above = |bound: &_, image: &_| rhcos(bound, image, Ordering::Greater, "maximum");
    [
        subject.rule(
            R::DeniedVersion,
            &limit.denied_versions,
            show_denied,
            denied,
        ),
        subject.rule(
            R::RhelMajorUnsupported,
            &limit.rhel_majors,
            |majors| one_of(majors),
            |majors, image| rhel_major(majors, image),
        ),
        subject.rule(
            R::BelowMinimumOcpVersion,
            &limit.minimum_ocp,
            Release::to_string,
            minimum_ocp,
        ),
        subject.rule(
            R::BelowMinimumRhcosVersion,
            &limit.minimum_rhcos,
            show_bound,
            rhcos_below,
        ),
        subject.rule(
            R::AboveMaximumRhcosVersion,
            &limit.maximum_rhcos,
            show_bound,
            rhcos_above,
        ),
        subject.rule(
            R::TooManyReleasesBehind,
            &limit.maximum_releases_behind,
            behind,
            |most, image| releases_behind(*most, image, target),
        ),
    ]
}

/// Answer of a rule. The message of a rule that passes or fails lacks its subject: "is RHEL 8".
pub(super) struct Evaluation {
    result: RuleResult,
    have: Option<String>,
    message: String,
    /// Which one would pass, where the rule alone does not say it.
    wanted: Option<Wanted>,
    why: Option<String>,
    entry: Option<String>,
}

impl Evaluation {
    pub(super) fn decided(passes: bool, have: String, message: String) -> Self {
        Self {
            result: if passes {
                RuleResult::Pass
            } else {
                RuleResult::Fail
            },
            have: Some(have),
            message,
            wanted: None,
            why: None,
            entry: None,
        }
    }

    pub(super) fn open(have: Option<String>, message: impl Into<String>) -> Self {
        Self {
            result: RuleResult::NotEvaluated,
            have,
            ..Self::decided(true, String::new(), message.into())
        }
    }

    /// The finding about what is called `name`.
    pub(super) fn into_finding(self, rule: Reason, name: &str, want: &str) -> Finding {
        let message = if self.result == RuleResult::NotEvaluated {
            self.message
        } else {
            format!("{name} {}", self.message)
        };
        // Lists in a policy can be long; a verdict stays short.
        Finding {
            rule,
            result: self.result,
            have: self.have,
            want: text::cut(want, TEXT_MAX),
            message: text::cut(&message, TEXT_MAX),
            wanted: self.wanted.or(usually_wanted(rule, self.result)),
            why: self.why.as_deref().map(kept),
            entry: self.entry.as_deref().map(kept),
            issue: None,
            url: None,
        }
    }
}

impl Subject<'_> {
    /// Applies one rule. Without a version to judge it is not evaluated.
    fn rule<T>(
        self,
        rule: Reason,
        setting: &Option<Setting<T>>,
        want: impl FnOnce(&T) -> String,
        apply: impl FnOnce(&T, &ImageVersion) -> Evaluation,
    ) -> Option<Finding> {
        finding(rule, setting, self.name(), want, |known| {
            match self.version {
                Some(image) => apply(known, image),
                None => Evaluation::open(None, format!("the {} is unknown", self.name())),
            }
        })
    }
}

/// Applies one rule to what is called `name`. A rule that is not set gives no finding. One of
/// unknown shape is not evaluated.
fn finding<T>(
    rule: Reason,
    setting: &Option<Setting<T>>,
    name: &str,
    want: impl FnOnce(&T) -> String,
    apply: impl FnOnce(&T) -> Evaluation,
) -> Option<Finding> {
    let (want, answer) = match setting.as_ref()? {
        Err(shape) => (
            shape.clone(),
            Evaluation::open(
                None,
                "the rule's shape is not known to this version of skewguard",
            ),
        ),
        Ok(known) => (want(known), apply(known)),
    };
    Some(answer.into_finding(rule, name, &want))
}

fn show_denied(denied: &DeniedVersions) -> String {
    let DeniedVersions {
        entries,
        not_understood,
    } = denied;
    let names: Vec<&str> = entries
        .iter()
        .take(4)
        .map(|denied| denied.version.as_str())
        .collect();
    if names.is_empty() && *not_understood == 0 {
        return "any version that is understood".to_owned();
    }
    let more = if entries.len() + not_understood > names.len() {
        ", ..."
    } else {
        ""
    };
    format!("none of: {}{more}", names.join(", "))
}

/// Tells whether the entry is this version, or its beginning followed by `*`.
pub(super) fn names(entry: &DeniedVersion, image: &ImageVersion) -> bool {
    match entry.version.strip_suffix('*') {
        Some(beginning) => image.text.starts_with(beginning),
        None => image.text == entry.version,
    }
}

fn denied(denied: &DeniedVersions, image: &ImageVersion) -> Evaluation {
    let text = &image.text;
    let hit = denied.entries.iter().find(|denied| names(denied, image));
    let have = text.clone();
    match hit {
        Some(DeniedVersion { version, reason }) => {
            let denied = denied_by(Some(version), reason.as_deref());
            Evaluation {
                why: reason.clone(),
                entry: Some(version.clone()),
                ..Evaluation::decided(false, have, format!("{text} is {denied}"))
            }
        }
        // Neither an entry nor a version that is not understood proves that the image is allowed.
        None if denied.not_understood > 0 => Evaluation::open(
            Some(have),
            format!(
                "not denied as far as the list is understood: {} of its entries are not",
                denied.not_understood
            ),
        ),
        None if !image.is_known() => Evaluation::open(
            Some(have),
            "the version is not understood; it is not on the list of denied versions",
        ),
        None => Evaluation::decided(true, have, format!("{text} is not denied")),
    }
}

pub(super) fn one_of(majors: &[u16]) -> String {
    let names: Vec<String> = majors.iter().map(u16::to_string).collect();
    names.join(" or ")
}

fn rhel_major(majors: &[u16], image: &ImageVersion) -> Evaluation {
    let Some(rhel) = image.rhel else {
        return Evaluation::open(None, "the version does not say its RHEL release");
    };
    let passes = majors.contains(&rhel.major);
    let [base, _] = image.names();
    let allowed = if passes {
        String::new()
    } else {
        format!("; allowed is {base} {}", one_of(majors))
    };
    let answer = Evaluation::decided(
        passes,
        rhel.major.to_string(),
        format!("is {base} {}{allowed}", rhel.major),
    );
    Evaluation {
        wanted: (!passes).then(|| wanted_major(majors, rhel.major)),
        ..answer
    }
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

fn minimum_ocp(minimum: &Release, image: &ImageVersion) -> Evaluation {
    let [_, name] = image.names();
    let Some(ocp) = image.ocp else {
        return Evaluation::open(None, format!("the version does not say its {name} release"));
    };
    // An image does not name its patch release, so it counts as the last of its x.y.
    Evaluation::decided(
        ocp >= minimum.minor,
        ocp.to_string(),
        format!("is {name} {ocp}; the minimum is {minimum}"),
    )
}

pub(super) fn show_bound(bound: &RhcosBound) -> String {
    match bound {
        RhcosBound::Rhel(rhel) => rhel.to_string(),
        RhcosBound::Image(image) => image.text.clone(),
    }
}

/// Compares an image with a bound; `None` where it says too little.
pub(super) fn compare_rhcos(image: &ImageVersion, bound: &RhcosBound) -> Option<Ordering> {
    match bound {
        RhcosBound::Rhel(bound) => compare_rhel(image.rhel?, *bound),
        RhcosBound::Image(bound) => compare_images(image, bound),
    }
}

/// Fails where comparing the image with the bound gives `wrong`.
fn rhcos(bound: &RhcosBound, image: &ImageVersion, wrong: Ordering, name: &str) -> Evaluation {
    let Some(rhel) = image.rhel else {
        return Evaluation::open(None, "the version does not say its RHEL release");
    };
    let [base, _] = image.names();
    let (what, have) = match bound {
        RhcosBound::Rhel(_) => (format!("{base} "), rhel.to_string()),
        RhcosBound::Image(_) => (String::new(), image.text.clone()),
    };
    let order = compare_rhcos(image, bound);
    let bound = show_bound(bound);
    match order {
        None => Evaluation::open(
            Some(have),
            format!("the RHEL minor is unknown; the {name} is {bound}"),
        ),
        Some(order) => Evaluation::decided(
            order != wrong,
            have.clone(),
            format!("is {what}{have}; the {name} is {bound}"),
        ),
    }
}

fn releases_behind(most: u16, image: &ImageVersion, target: Option<Release>) -> Evaluation {
    let [_, name] = image.names();
    let Some(ocp) = image.ocp else {
        return Evaluation::open(None, format!("the version does not say its {name} release"));
    };
    let have = ocp.to_string();
    let Some(Release { minor: target, .. }) = target else {
        return Evaluation::open(Some(have), "the target release is unknown");
    };
    let Some(behind) = ocp.minors_to(target) else {
        return Evaluation::open(
            Some(have),
            format!("OCP minors cannot be counted from {ocp} to {target}"),
        );
    };
    Evaluation::decided(
        behind <= most,
        have,
        format!("is {name} {ocp}, {behind} minors behind {target}; at most {most} allowed"),
    )
}
