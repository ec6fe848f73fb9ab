//! The rules of a limit for images of one family: Fedora CoreOS, CentOS Stream CoreOS.

use super::published::{self, BoundKind};
use super::{Lint, Rule};
use crate::policy::VersionBound;
use crate::policy::fields::{self, version_bound};
use crate::policy::json::{Located, Object};
use crate::version::{ImageVersion, OsFamily, compare_rhel};
use std::cmp::Ordering;

/// Newest CentOS Stream.
const LAST_STREAM: u16 = 10;

/// The field of a limit for images of a family.
fn limit_field(side: &str, family: OsFamily) -> String {
    format!("{side}{}Version", family.as_str().to_uppercase())
}

/// The family that a rule is for alone.
pub(super) fn family_of(rule: &str) -> Option<OsFamily> {
    [OsFamily::Fcos, OsFamily::Scos].into_iter().find(|family| {
        ["minimum", "maximum"]
            .iter()
            .any(|side| limit_field(side, *family) == rule)
    })
}

/// The field for images of a family, beside the one at `at`: both are minima, or maxima.
pub(super) fn family_field(family: OsFamily, at: &Located<'_>) -> Option<&'static str> {
    let (_, field) = at.path.rsplit_once('.')?;
    let (bound, _) = field.split_at_checked(field.find(|c: char| c.is_ascii_uppercase())?)?;
    let wanted = limit_field(bound, family);
    let mut fields = fields::LIMIT.iter().chain(fields::IMAGES);
    fields.find(|field| **field == wanted).copied()
}

/// A bound of a limit on images of a family, where it is understood.
pub(super) fn bound<'a>(
    limit: &Object<'a>,
    side: &str,
    family: OsFamily,
) -> Option<(Located<'a>, VersionBound)> {
    let read = |text: &str| version_bound(family, text);
    let field = limit.word(&limit_field(side, family), read)?;
    Some((field.at, field.value?))
}

/// Checks each minimum of a limit against its maximum.
pub(super) fn minima(lint: &mut Lint, limit: &Object<'_>) {
    for family in OsFamily::ALL {
        let [minimum, maximum] = ["minimum", "maximum"].map(|side| bound(limit, side, family));
        let (Some((minimum, low)), Some((maximum, high))) = (minimum, maximum) else {
            continue;
        };
        let order = match (&low, &high) {
            (VersionBound::Image(low), VersionBound::Image(_)) => high.compare(low, family),
            // A release stands for all of its builds.
            _ => {
                (low.release().zip(high.release())).and_then(|(low, high)| compare_rhel(low, high))
            }
        };
        if order != Some(Ordering::Greater) {
            continue;
        }
        let images = match family {
            OsFamily::Rhcos => "every image".to_owned(),
            _ => format!("every image of {}", family.name()),
        };
        lint.say(
            &minimum,
            Rule::MinimumAboveMaximum,
            &[("maximum", &maximum.shown()), ("images", &images)],
        );
    }
}

/// Checks a release or a version of the family.
pub(super) fn version(lint: &mut Lint, at: &Located<'_>, family: OsFamily) {
    let written = at.string().unwrap_or_default();
    let Some(bound) = version_bound(family, &written) else {
        return not_of_family(lint, at, family, &written);
    };
    let (rule, last) = match family {
        OsFamily::Fcos => (Rule::NoImagesOfFedora, published::newest_fedora()),
        _ => (Rule::NoImagesOfStream, LAST_STREAM),
    };
    // What somebody allows may come.
    let later = match BoundKind::of(at) {
        BoundKind::Maximum => 10,
        _ => 0,
    };
    match (bound.release(), bound) {
        (Some(release), _) if release.major > last.saturating_add(later) => {
            lint.say(at, rule, &[("release", &release.major)]);
        }
        (_, VersionBound::Image(image)) => published::later(lint, at, &image, family.name()),
        _ => {}
    }
}

/// Reports a value that is not of the family.
fn not_of_family(lint: &mut Lint, at: &Located<'_>, family: OsFamily, written: &str) {
    let of = ImageVersion::parse(written).os_family();
    let is_rhel = version_bound(OsFamily::Rhcos, written).is_some();
    let of_rhel = is_rhel.then_some(OsFamily::Rhcos);
    let what = match of {
        Some(of) if of == family => "is a developer's build without stream or number".to_owned(),
        Some(of) => format!("is a version of {}", of.name()),
        None if !is_rhel => "follows no known scheme".to_owned(),
        None if family == OsFamily::Scos => {
            "is a RHEL release, and CentOS Stream has no minors".to_owned()
        }
        None => "is a RHEL release".to_owned(),
    };
    let other = of.or(of_rhel).filter(|other| *other != family);
    let field = other.and_then(|other| family_field(other, at));
    let instead = field.map_or_else(String::new, |field| format!(", or use {field}"));
    let rule = match family {
        OsFamily::Fcos => Rule::NotFCOS,
        _ => Rule::NotSCOS,
    };
    lint.say(at, rule, &[("what", &what), ("instead", &instead)]);
}
