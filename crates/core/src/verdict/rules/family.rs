//! The rules for images of one family: Fedora CoreOS, CentOS Stream CoreOS.

use super::{Evaluation, Subject};
use crate::policy::{FamilyBound, Limit};
use crate::verdict::{Finding, Reason};
use crate::version::{ImageVersion, OsFamily, compare_fcos, compare_images, compare_scos};
use std::cmp::Ordering;

/// Applies them.
pub(super) fn rules(limit: &Limit, subject: Subject<'_>) -> [Option<Finding>; 4] {
    use Ordering::{Greater, Less};
    use OsFamily::{Fcos, Scos};
    use Reason as R;
    [
        (R::BelowMinimumFcosVersion, &limit.minimum_fcos, Fcos, Less),
        (
            R::AboveMaximumFcosVersion,
            &limit.maximum_fcos,
            Fcos,
            Greater,
        ),
        (R::BelowMinimumScosVersion, &limit.minimum_scos, Scos, Less),
        (
            R::AboveMaximumScosVersion,
            &limit.maximum_scos,
            Scos,
            Greater,
        ),
    ]
    .map(|(rule, setting, family, wrong)| {
        subject.rule(rule, setting, show_family_bound, |bound, image| {
            within_family(bound, image, family, wrong)
        })
    })
}

pub(in crate::verdict) fn show_family_bound(bound: &FamilyBound) -> String {
    match bound {
        FamilyBound::Major(major) => major.to_string(),
        FamilyBound::Image(image) => image.text.clone(),
    }
}

/// Compares an image with a bound of its family; `None` where it says too little.
pub(in crate::verdict) fn compare_family(
    image: &ImageVersion,
    bound: &FamilyBound,
    family: OsFamily,
) -> Option<Ordering> {
    match (bound, family) {
        (FamilyBound::Major(bound), _) => Some(image.os_major()?.cmp(bound)),
        (FamilyBound::Image(bound), OsFamily::Fcos) => compare_fcos(image, bound),
        (FamilyBound::Image(bound), OsFamily::Scos) => compare_scos(image, bound),
        (FamilyBound::Image(bound), OsFamily::Rhcos) => compare_images(image, bound),
    }
}

/// Fails where comparing the image with the bound gives `wrong`. Images of other families are not
/// judged.
fn within_family(
    bound: &FamilyBound,
    image: &ImageVersion,
    family: OsFamily,
    wrong: Ordering,
) -> Evaluation {
    let name = family.name();
    match image.os_family() {
        Some(own) if own == family => {}
        Some(own) => {
            let message = format!("{image} is {}, and the rule is for {name}", own.name());
            return Evaluation::open(Some(image.text.clone()), message);
        }
        None => {
            let message = format!("the version is not understood; the rule is for {name}");
            return Evaluation::open(Some(image.text.clone()), message);
        }
    }
    let which = if wrong == Ordering::Less {
        "minimum"
    } else {
        "maximum"
    };
    let (what, have) = match bound {
        FamilyBound::Major(_) => (
            if family == OsFamily::Fcos {
                "Fedora "
            } else {
                "CentOS Stream "
            },
            image.os_major().unwrap_or_default().to_string(),
        ),
        FamilyBound::Image(_) => ("", image.text.clone()),
    };
    let order = compare_family(image, bound, family);
    let bound = show_family_bound(bound);
    match order {
        None => Evaluation::open(
            Some(have),
            format!("a developer's build of that day cannot be compared; the {which} is {bound}"),
        ),
        Some(order) => Evaluation::decided(
            order != wrong,
            have.clone(),
            format!("is {what}{have}; the {which} is {bound}"),
        ),
    }
}
