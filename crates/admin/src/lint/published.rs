//! Limits that are newer than every image that has been published: they refuse all there are.

use super::Lint;
use crate::data::PUBLISHED;
use crate::policy::RhcosBound;
use crate::policy::json::Located;
use crate::version::{ImageVersion, OcpMinor, RhelVersion, compare_images, compare_rhel};
use std::cmp::Ordering;
use std::sync::LazyLock;

/// The newest release that this version of skewguard knows images of.
const NEWEST_RELEASE: OcpMinor = OcpMinor { major: 5, minor: 0 };

/// What a bound does with the images that it is newer than.
#[derive(Clone, Copy)]
pub(super) enum Does {
    /// A minimum.
    Refuses,
    /// A maximum.
    Allows,
    /// `below...` of a known issue.
    Has,
}

impl Does {
    fn words(self) -> &'static str {
        match self {
            Self::Refuses => "all of them are refused",
            Self::Allows => "none of them is refused",
            Self::Has => "all of them have the issue",
        }
    }
}

/// All versions of RHCOS that have been published, each once.
static RHCOS: LazyLock<Vec<ImageVersion>> = LazyLock::new(|| {
    let mut texts: Vec<&str> = PUBLISHED.images.iter().map(|image| image.version).collect();
    texts.sort_unstable();
    texts.dedup();
    let versions = texts.into_iter().map(ImageVersion::parse);
    // Without a minor it is SCOS, and without RHEL Fedora CoreOS.
    let is_rhcos = |version: &ImageVersion| version.rhel.is_some_and(|rhel| rhel.minor.is_some());
    versions.filter(is_rhcos).collect()
});

/// The newest image of RHEL's major, or of the major and minor that the bound names as a whole
/// version, where that is older than the bound.
fn newest_below(bound: &RhcosBound) -> Option<(RhelVersion, &'static ImageVersion)> {
    let newest = |is_of: &dyn Fn(RhelVersion) -> bool| {
        let images = RHCOS.iter().filter(|image| image.rhel.is_some_and(is_of));
        images.max()
    };
    let rhel = match bound {
        RhcosBound::Rhel(rhel) => *rhel,
        RhcosBound::Image(image) => image.rhel?,
    };
    let of_major = newest(&|of| of.major == rhel.major)?;
    if compare_rhel(rhel, of_major.rhel?) == Some(Ordering::Greater) {
        let major = RhelVersion {
            minor: None,
            ..rhel
        };
        return Some((major, of_major));
    }
    let RhcosBound::Image(image) = bound else {
        return None;
    };
    let same = newest(&|of| of == rhel)?;
    (compare_images(image, same) == Some(Ordering::Greater)).then_some((rhel, same))
}

/// Warns where no published image is as new as `bound`.
pub(super) fn rhcos(lint: &mut Lint, at: &Located<'_>, bound: &RhcosBound, does: Does) {
    // What somebody allows may come.
    if matches!((does, bound), (Does::Allows, RhcosBound::Rhel(_))) {
        return;
    }
    let Some((rhel, newest)) = newest_below(bound) else {
        return;
    };
    let than = format!("image of RHEL {rhel}");
    warn(lint, at, &than, &newest.text, does.words());
}

/// Warns where a version of Fedora CoreOS or SCOS is of a day after the newest change that is known.
/// OKD has more of them than its installer names, so that no older one is doubted.
pub(super) fn later(
    lint: &mut Lint,
    at: &Located<'_>,
    bound: &ImageVersion,
    family: &str,
    does: Does,
) {
    let day = bound.build_date.as_deref().unwrap_or_default();
    if day > PUBLISHED.until {
        let than = format!("image of {family}");
        warn(lint, at, &than, PUBLISHED.until, does.words());
    }
}

/// Warns where no release is as new as `minimum`.
pub(super) fn ocp(lint: &mut Lint, at: &Located<'_>, minimum: OcpMinor, does: Does) -> bool {
    let is_newer = minimum.counted() > NEWEST_RELEASE.counted();
    if is_newer {
        let what = match does {
            Does::Has => "every image that names its release has the issue",
            _ => "every image that names its release is refused",
        };
        warn(lint, at, "release", &NEWEST_RELEASE.to_string(), what);
    }
    is_newer
}

fn warn(lint: &mut Lint, at: &Located<'_>, than: &str, newest: &str, what: &str) {
    let message = format!(
        "{} is newer than any {than} that this version of skewguard knows ({newest}, by what was published until {}): {what}",
        at.shown(),
        PUBLISHED.until
    );
    let help = "write a version that exists; a newer skewguard knows newer ones";
    lint.warning(at, "NewerThanPublished", message, help);
}
