//! The rules of a limit for images of one family: Fedora CoreOS, CentOS Stream CoreOS.

use super::Lint;
use super::published::{self, BoundKind};
use super::wording::not_a_version;
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
        let message = format!(
            "the minimum {} is above the maximum {}: {images} is refused",
            minimum.shown(),
            maximum.shown()
        );
        let help = "exchange them, or remove one";
        lint.error(&minimum, "MinimumAboveMaximum", message, help);
    }
}

/// Checks a release or a version of the family.
pub(super) fn version(lint: &mut Lint, at: &Located<'_>, family: OsFamily) {
    let written = at.string().unwrap_or_default();
    let Some(bound) = version_bound(family, &written) else {
        let (what, help) = not_of_family(family, &written, at);
        return not_a_version(lint, at, &what, help);
    };
    let (what, last) = match family {
        OsFamily::Fcos => ("Fedora", published::newest_fedora()),
        _ => ("CentOS Stream", LAST_STREAM),
    };
    // What somebody allows may come.
    let later = if BoundKind::of(at) == BoundKind::Maximum {
        10
    } else {
        0
    };
    match (bound.release(), bound) {
        (Some(release), _) if release.major > last.saturating_add(later) => {
            published::no_images(lint, at, &format!("{what} {}", release.major), help(family));
        }
        (_, VersionBound::Image(image)) => published::later(lint, at, &image, family.name()),
        _ => {}
    }
}

/// Describes a value that is not of the family, and the remedy.
fn not_of_family(family: OsFamily, written: &str, at: &Located<'_>) -> (String, String) {
    let other = ImageVersion::parse(written).os_family();
    let (what, other) = match other {
        Some(other) if other == family => (
            "is a developer's build without stream or number".to_owned(),
            None,
        ),
        Some(other) => (format!("is a version of {}", other.name()), Some(other)),
        None if version_bound(OsFamily::Rhcos, written).is_none() => {
            ("follows no known scheme".to_owned(), None)
        }
        None if family == OsFamily::Scos => {
            let what = "is a RHEL release, and CentOS Stream has no minors";
            (what.to_owned(), Some(OsFamily::Rhcos))
        }
        None => ("is a RHEL release".to_owned(), Some(OsFamily::Rhcos)),
    };
    let help = match other.and_then(|other| family_field(other, at)) {
        Some(field) => format!("{}, or use {field}", help(family)),
        None => help(family).to_owned(),
    };
    (what, help)
}

fn help(family: OsFamily) -> &'static str {
    match family {
        OsFamily::Fcos => {
            "write a version of Fedora CoreOS, such as \"39.20231101.3.0\", or a Fedora release, such as \"39\""
        }
        _ => {
            "write a version of SCOS, such as \"9.0.20250510-0\", or a CentOS Stream release, such as \"9\""
        }
    }
}
