//! The rules of a limit for images of one family: Fedora CoreOS, CentOS Stream CoreOS.

use super::Lint;
use super::bounds::above;
use super::published::{self, Does};
use super::wording::not_a_version;
use crate::policy::FamilyBound;
use crate::policy::fields::{fcos_bound, rhcos_bound, scos_bound};
use crate::policy::json::{Field, Located, Object};
use crate::version::{ImageVersion, OsFamily, compare_fcos, compare_scos};
use std::cmp::Ordering;

/// A family, its minimum and its maximum, how they are read, and how they are written.
struct Family {
    family: OsFamily,
    fields: [&'static str; 2],
    read: fn(&str) -> Option<FamilyBound>,
    help: &'static str,
}

const FAMILIES: [Family; 2] = [
    Family {
        family: OsFamily::Fcos,
        fields: ["minimumFCOSVersion", "maximumFCOSVersion"],
        read: fcos_bound,
        help: "write a version of Fedora CoreOS, such as \"39.20231101.3.0\", or a Fedora release, such as \"39\"",
    },
    Family {
        family: OsFamily::Scos,
        fields: ["minimumSCOSVersion", "maximumSCOSVersion"],
        read: scos_bound,
        help: "write a version of SCOS, such as \"9.0.20250510-0\", or a CentOS Stream release, such as \"9\"",
    },
];

/// Newest Fedora of a boot image that OKD's installer names, and as many again until a release of
/// skewguard is past its use.
const LAST_FEDORA: u16 = 60;

/// Newest CentOS Stream.
const LAST_STREAM: u16 = 10;

/// The rules here, by family.
pub(super) fn rules() -> impl Iterator<Item = (OsFamily, &'static str)> {
    FAMILIES
        .iter()
        .flat_map(|family| family.fields.map(|field| (family.family, field)))
}

/// The field for the version of an image of another family than RHCOS that stands at `at`, a
/// minimum or a maximum.
pub(super) fn field_of(image: &ImageVersion, at: &Located<'_>) -> Option<&'static str> {
    let own = image.os_family()?;
    let [minimum, maximum] = FAMILIES.iter().find(|family| family.family == own)?.fields;
    Some(if is_maximum(at) { maximum } else { minimum })
}

fn is_maximum(at: &Located<'_>) -> bool {
    at.path
        .rsplit('.')
        .next()
        .is_some_and(|field| field.starts_with("max"))
}

/// Checks each rule, and each minimum against its maximum.
pub(super) fn families(lint: &mut Lint, object: &Object<'_>) {
    for family in &FAMILIES {
        let [minimum, maximum] = family.fields.map(|field| object.word(field, family.read));
        for field in [&minimum, &maximum].into_iter().flatten() {
            bound(lint, family, field);
        }
        if let (Some(minimum), Some(maximum)) = (&minimum, &maximum)
            && let (Some(low), Some(high)) = (&minimum.value, &maximum.value)
            && is_above(low, high, family.family)
        {
            let images = format!("every image of {}", family.family.name());
            above(lint, &minimum.at, &maximum.at, &images);
        }
    }
}

fn bound(lint: &mut Lint, family: &Family, Field { at, value }: &Field<'_, FamilyBound>) {
    let help = family.help;
    let Some(bound) = value else {
        return not_a_version(lint, at, help, |written| {
            let (what, help) = another(family, written, at);
            (format!("{what}: the rule is not evaluated"), help)
        });
    };
    let major = match bound {
        FamilyBound::Major(major) => *major,
        FamilyBound::Image(image) => image.os_major().unwrap_or_default(),
    };
    let (what, last) = match family.family {
        OsFamily::Fcos => ("Fedora", LAST_FEDORA),
        _ => ("CentOS Stream", LAST_STREAM),
    };
    if major > last {
        let message = format!(
            "there are no boot images of {what} {major} that this version of skewguard knows of"
        );
        lint.warning(at, "ImplausibleVersion", message, help);
    } else if let FamilyBound::Image(image) = bound {
        let does = if is_maximum(at) {
            Does::Allows
        } else {
            Does::Refuses
        };
        published::later(lint, at, image, family.family.name(), does);
    }
}

/// What a value is that is not of the family, and the remedy.
fn another(family: &Family, written: &str, at: &Located<'_>) -> (String, String) {
    let image = ImageVersion::parse(written);
    let of_rhel = if is_maximum(at) {
        "maximumRHCOSVersion"
    } else {
        "minimumRHCOSVersion"
    };
    match image.os_family() {
        Some(own) if own == family.family => (
            "is a developer's build without stream or number".to_owned(),
            family.help.to_owned(),
        ),
        Some(own) => {
            let field = field_of(&image, at).unwrap_or(of_rhel);
            let what = format!("is a version of {}", own.name());
            (what, format!("{}, or use {field}", family.help))
        }
        None if rhcos_bound(written).is_some() => {
            let what = match family.family {
                OsFamily::Scos => "is a RHEL release, and CentOS Stream has no minors",
                _ => "is a RHEL release",
            };
            let help = format!("{}, or use {of_rhel}", family.help);
            (what.to_owned(), help)
        }
        None => ("follows no known scheme".to_owned(), family.help.to_owned()),
    }
}

/// Whether no image meets both. A release stands for all of its builds.
fn is_above(minimum: &FamilyBound, maximum: &FamilyBound, family: OsFamily) -> bool {
    let major = |bound: &FamilyBound| match bound {
        FamilyBound::Major(major) => Some(*major),
        FamilyBound::Image(image) => image.os_major(),
    };
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
