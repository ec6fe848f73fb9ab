//! Ordering: the total order for sorting, and the partial ones that decide.

use super::{ImageVersion, RhelVersion};
use std::cmp::Ordering;

/// Compares two RHEL releases as far as both are known.
///
/// Different majors decide. With equal majors an unknown minor leaves the answer open: `None`.
pub fn compare_rhel(a: RhelVersion, b: RhelVersion) -> Option<Ordering> {
    match a.major.cmp(&b.major) {
        Ordering::Equal => Some(a.minor?.cmp(&b.minor?)),
        decided => Some(decided),
    }
}

/// Compares two RHCOS versions across schemes: RHEL release, then build date.
///
/// Images of one day are equal: architectures of one build differ in the minutes of their stamps. `None` where either side does not
/// say enough.
pub fn compare_images(a: &ImageVersion, b: &ImageVersion) -> Option<Ordering> {
    match compare_rhel(a.rhel()?, b.rhel()?)? {
        Ordering::Equal => Some(a.build_date()?.cmp(&b.build_date()?)),
        decided => Some(decided),
    }
}

impl Ord for ImageVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |v: &Self| (v.rhel, v.date, v.time, v.build, v.scheme);
        key(self).cmp(&key(other)).then_with(|| self.text.cmp(&other.text))
    }
}

impl PartialOrd for ImageVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
