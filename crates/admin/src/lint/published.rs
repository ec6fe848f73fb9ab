//! Limits that are newer than every image that has been published: they refuse all there are.

use super::{Lint, Rule};
use crate::data::{PUBLISHED, all_versions};
use crate::policy::VersionBound;
use crate::policy::json::Located;
use crate::version::{ImageVersion, OcpMinor, OsFamily, RhelVersion, compare_images, compare_rhel};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::LazyLock;

/// The newest release of each major that this version of skewguard knows images of.
pub(super) const NEWEST_RELEASES: [OcpMinor; 2] = [
    OcpMinor {
        major: 4,
        minor: 23,
    },
    OcpMinor { major: 5, minor: 0 },
];

/// Kind of a bound, by the field that it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BoundKind {
    Minimum,
    Maximum,
    /// `below...` of a known issue.
    Below,
    /// `above...` of a known issue.
    Above,
}

impl BoundKind {
    /// The kind of the field at `at`.
    pub(super) fn of(at: &Located<'_>) -> Self {
        let field = at.path.rsplit('.').next().unwrap_or_default();
        match field.get(..3) {
            Some("min") => Self::Minimum,
            Some("max") => Self::Maximum,
            Some("abo") => Self::Above,
            _ => Self::Below,
        }
    }

    /// The effect on the images that it is newer than.
    fn effect(self) -> &'static str {
        match self {
            Self::Minimum => "all of them are refused",
            Self::Maximum => "none of them is refused",
            Self::Below => "all of them have the issue",
            Self::Above => "none of them has the issue",
        }
    }
}

/// Images of an architecture and a family, the newest first.
pub(super) type Images = ((&'static str, Option<OsFamily>), Vec<ImageVersion>);

/// All images that have been published, each version once.
pub(super) static IMAGES: LazyLock<Vec<Images>> = LazyLock::new(|| {
    let images = PUBLISHED.images.iter();
    let texts: BTreeSet<_> = images.map(|one| (one.architecture, one.version)).collect();
    let mut all: BTreeMap<_, BTreeSet<ImageVersion>> = BTreeMap::new();
    for (architecture, text) in texts {
        let version = ImageVersion::parse(text);
        let key = (architecture, version.os_family().map(OsFamily::name));
        all.entry(key).or_default().insert(version);
    }
    // x86_64 comes first.
    let all = all.into_iter().rev();
    let of_newest = all.map(|((architecture, _), images)| {
        let images: Vec<_> = images.into_iter().rev().collect();
        let family = images.first().and_then(ImageVersion::os_family);
        ((architecture, family), images)
    });
    of_newest.collect()
});

/// All versions of RHCOS.
fn rhcos_images() -> impl Iterator<Item = &'static ImageVersion> {
    // Without a minor it is SCOS, and without RHEL Fedora CoreOS.
    let has_minor = |rhel: RhelVersion| rhel.minor.is_some();
    all_versions()
        .iter()
        .filter(move |version| version.rhel.is_some_and(has_minor))
}

/// The newest image of RHEL's major, or of the major and minor that the bound names as a whole
/// version, where that is older than the bound.
fn newest_below(bound: &VersionBound) -> Option<(RhelVersion, &'static ImageVersion)> {
    let newest = |is_of: &dyn Fn(RhelVersion) -> bool| {
        rhcos_images()
            .filter(|image| image.rhel.is_some_and(is_of))
            .max()
    };
    let rhel = bound.release()?;
    let of_major = newest(&|of| of.major == rhel.major)?;
    if compare_rhel(rhel, of_major.rhel?) == Some(Ordering::Greater) {
        let major = RhelVersion {
            minor: None,
            ..rhel
        };
        return Some((major, of_major));
    }
    let VersionBound::Image(image) = bound else {
        return None;
    };
    let same = newest(&|of| of == rhel)?;
    (compare_images(image, same) == Some(Ordering::Greater)).then_some((rhel, same))
}

/// Warns where no published image is as new as `bound`.
pub(super) fn rhcos(lint: &mut Lint, at: &Located<'_>, bound: &VersionBound) {
    let kind = BoundKind::of(at);
    // What somebody allows may come.
    if matches!(
        (kind, bound),
        (BoundKind::Maximum, VersionBound::Release(_))
    ) {
        return;
    }
    let Some((rhel, newest)) = newest_below(bound) else {
        return;
    };
    let than = format!("image of RHEL {rhel}");
    // Of some later builds no more is known than that they were published.
    let is_later = (newest.build_date.as_deref()).is_some_and(|day| day > PUBLISHED.until);
    let known = match is_later {
        true => newest.to_string(),
        false => by_what_was_published(newest),
    };
    warn(lint, at, &than, &known, kind.effect());
}

/// Warns where a version of Fedora CoreOS or SCOS is of a day after the newest change that is known.
/// OKD has more of them than its installer names, so that no older one is doubted.
pub(super) fn later(lint: &mut Lint, at: &Located<'_>, bound: &ImageVersion, family: &str) {
    let day = bound.build_date.as_deref().unwrap_or_default();
    if day > PUBLISHED.until {
        let than = format!("image of {family}");
        let known = format!("published until {}", PUBLISHED.until);
        warn(lint, at, &than, &known, BoundKind::of(at).effect());
    }
}

/// The newest Fedora that Fedora CoreOS can have been built from by the day of the newest change
/// that is known. There are two releases a year, 40 was that of April 2024, and its `next` stream
/// has the one to come.
pub(super) fn newest_fedora() -> u16 {
    let mut date = PUBLISHED.until.splitn(3, '-').map(str::parse::<u16>);
    let (Some(Ok(year)), Some(Ok(month))) = (date.next(), date.next()) else {
        return u16::MAX;
    };
    let months = (12 * year + month).saturating_sub(12 * 2024 + 4);
    40 + months / 6 + 1
}

/// Warns where no release is as new as `minimum`, or none of its major.
pub(super) fn ocp(lint: &mut Lint, at: &Located<'_>, minimum: OcpMinor) -> bool {
    let [before, last] = NEWEST_RELEASES;
    let (newest, than) = if minimum.major > before.major {
        (last, "release".to_owned())
    } else {
        (before, format!("{}.y release", before.major))
    };
    let is_newer = minimum > newest;
    if is_newer {
        let what = match BoundKind::of(at) {
            BoundKind::Below => "every image that names its release has the issue",
            _ => "every image that names its release is refused",
        };
        warn(lint, at, &than, &by_what_was_published(newest), what);
    }
    is_newer
}

/// The newest image of an OCP release, where versions name it.
pub(super) fn newest_of(release: OcpMinor) -> Option<&'static ImageVersion> {
    rhcos_images()
        .filter(|image| image.ocp == Some(release))
        .max()
}

fn by_what_was_published(newest: impl Display) -> String {
    format!("{newest}, by what was published until {}", PUBLISHED.until)
}

fn warn(lint: &mut Lint, at: &Located<'_>, than: &str, known: &str, effect: &str) {
    lint.say(
        at,
        Rule::NewerThanPublished,
        &[("than", &than), ("known", &known), ("effect", &effect)],
    );
}
