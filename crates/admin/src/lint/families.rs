//! The rules of a limit for images of one family: Fedora CoreOS, CentOS Stream CoreOS.

use super::Lint;
use super::bounds::above;
use super::published::{self, Effect};
use super::wording::not_a_version;
use crate::policy::FamilyBound;
use crate::policy::fields::{self, fcos_bound, rhcos_bound, scos_bound};
use crate::policy::json::{Located, Object};
use crate::version::{ImageVersion, OsFamily, compare_fcos, compare_scos};
use std::cmp::Ordering;

/// A family, its minimum and its maximum, how they are read, and how they are written.
pub(super) struct Family {
    pub(super) family: OsFamily,
    fields: [&'static str; 2],
    read: fn(&str) -> Option<FamilyBound>,
    help: &'static str,
}

pub(super) const FCOS: Family = Family {
    family: OsFamily::Fcos,
    fields: ["minimumFCOSVersion", "maximumFCOSVersion"],
    read: fcos_bound,
    help: "write a version of Fedora CoreOS, such as \"39.20231101.3.0\", or a Fedora release, such as \"39\"",
};

pub(super) const SCOS: Family = Family {
    family: OsFamily::Scos,
    fields: ["minimumSCOSVersion", "maximumSCOSVersion"],
    read: scos_bound,
    help: "write a version of SCOS, such as \"9.0.20250510-0\", or a CentOS Stream release, such as \"9\"",
};

/// Newest CentOS Stream.
const LAST_STREAM: u16 = 10;

/// The family that a rule is for alone.
pub(super) fn family_of(rule: &str) -> Option<OsFamily> {
    let family = [FCOS, SCOS]
        .into_iter()
        .find(|family| family.fields.contains(&rule))?;
    Some(family.family)
}

/// The field for images of a family, beside the one at `at`: both are minima, or maxima.
pub(super) fn family_field(family: OsFamily, at: &Located<'_>) -> Option<&'static str> {
    let (_, field) = at.path.rsplit_once('.')?;
    let (bound, _) = field.split_at_checked(field.find(|c: char| c.is_ascii_uppercase())?)?;
    let wanted = format!("{bound}{}Version", family.as_str().to_uppercase());
    let mut fields = fields::LIMIT.iter().chain(fields::IMAGES);
    fields.find(|field| **field == wanted).copied()
}

/// Checks each minimum of a limit against its maximum.
pub(super) fn minima(lint: &mut Lint, limit: &Object<'_>) {
    for family in [FCOS, SCOS] {
        let [minimum, maximum] = family.fields.map(|name| {
            let field = limit.word(name, family.read)?;
            Some((field.at, field.value?))
        });
        if let (Some((minimum, low)), Some((maximum, high))) = (&minimum, &maximum)
            && is_above(low, high, family.family)
        {
            let images = format!("every image of {}", family.family.name());
            above(lint, minimum, maximum, &images);
        }
    }
}

/// Checks a release or a version of the family.
pub(super) fn version(lint: &mut Lint, at: &Located<'_>, family: &Family) {
    let written = at.string().unwrap_or_default();
    let Some(bound) = (family.read)(&written) else {
        let (what, help) = not_of_family(family, &written, at);
        return not_a_version(lint, at, &what, help);
    };
    let (what, last) = match family.family {
        OsFamily::Fcos => ("Fedora", published::newest_fedora()),
        _ => ("CentOS Stream", LAST_STREAM),
    };
    // What somebody allows may come.
    let later = if Effect::of(at) == Effect::Allows {
        10
    } else {
        0
    };
    match (major(&bound), bound) {
        (Some(major), _) if major > last.saturating_add(later) => {
            published::no_images(lint, at, &format!("{what} {major}"), family.help);
        }
        (_, FamilyBound::Image(image)) => published::later(lint, at, &image, family.family.name()),
        _ => {}
    }
}

/// Describes a value that is not of the family, and the remedy.
fn not_of_family(family: &Family, written: &str, at: &Located<'_>) -> (String, String) {
    let other = ImageVersion::parse(written).os_family();
    let (what, other) = match other {
        Some(other) if other == family.family => (
            "is a developer's build without stream or number".to_owned(),
            None,
        ),
        Some(other) => (format!("is a version of {}", other.name()), Some(other)),
        None if rhcos_bound(written).is_none() => ("follows no known scheme".to_owned(), None),
        None if family.family == OsFamily::Scos => {
            let what = "is a RHEL release, and CentOS Stream has no minors";
            (what.to_owned(), Some(OsFamily::Rhcos))
        }
        None => ("is a RHEL release".to_owned(), Some(OsFamily::Rhcos)),
    };
    let help = match other.and_then(|other| family_field(other, at)) {
        Some(field) => format!("{}, or use {field}", family.help),
        None => family.help.to_owned(),
    };
    (what, help)
}

fn major(bound: &FamilyBound) -> Option<u16> {
    match bound {
        FamilyBound::Major(major) => Some(*major),
        FamilyBound::Image(image) => image.os_major(),
    }
}

/// Tells whether no image meets both. A release stands for all of its builds.
fn is_above(minimum: &FamilyBound, maximum: &FamilyBound, family: OsFamily) -> bool {
    match (minimum, maximum) {
        (FamilyBound::Image(minimum), FamilyBound::Image(maximum)) => {
            let order = match family {
                OsFamily::Fcos => compare_fcos(minimum, maximum),
                _ => compare_scos(minimum, maximum),
            };
            order == Some(Ordering::Greater)
        }
        _ => major(minimum) > major(maximum),
    }
}
