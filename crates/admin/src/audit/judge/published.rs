//! Versions by what was published, and by names of images (pure).

use super::known_version::KnownVersion;
use super::published_images::{self, published_image, version_of};
use crate::audit::cluster::image::Image;
use crate::audit::cluster::stream::OwnImage;
use crate::audit::results::set::KnownBy;
use crate::data::PUBLISHED;
use crate::platform::Platform;
use crate::version::{ImageVersion, OcpMinor, OsFamily};
use std::collections::BTreeMap;

/// An image that was published, of any release.
pub(super) fn by_published(image: &Image, notes: &mut Vec<String>) -> Option<KnownVersion> {
    let found = PUBLISHED.find(image.value.as_deref()?)?;
    // An id may mean something else on another platform.
    let own = published_image(found, image.platform?)?;
    notes.extend(misplaced(image, &own));
    Some(KnownVersion::new(
        version_of(found)?,
        KnownBy::Published,
        format!("{}, {}", PUBLISHED.source(), found.place()),
    ))
}

/// Faults of the place of an image: AMIs are of one region, and each is of one
/// architecture.
fn misplaced(image: &Image, own: &OwnImage) -> Vec<String> {
    let mut notes = Vec::new();
    let regions = own.region.as_ref().zip(image.region.as_ref());
    if let Some((own, wanted)) = regions.filter(|(own, wanted)| own != wanted) {
        notes.push(format!(
            "the image is of region {own}, and the next machine is made in {wanted}, where it is not there"
        ));
    }
    let wanted = image.architecture.as_ref();
    if let Some(wanted) = wanted.filter(|wanted| **wanted != own.architecture) {
        notes.push(format!(
            "the image is of {}, and the next machine is one of {wanted}",
            own.architecture
        ));
    }
    notes
}

pub(super) fn by_name(image: &Image) -> Option<KnownVersion> {
    let mut version = ImageVersion::from_image_name(image.value.as_deref()?)?;
    let mut from = "the image's name".to_owned();
    let is_rhcos = matches!(version.os_family(), None | Some(OsFamily::Rhcos));
    if let Some(ocp) = version.ocp.filter(|_| is_rhcos && version.rhel.is_none())
        && let Some(rhel) = published_images::rhel_of(ocp)
    {
        version.rhel = Some(rhel);
        from = format!("{from}; all images published for {ocp} are RHEL {rhel}");
    }
    Some(KnownVersion::new(version, KnownBy::ImageName, from))
}

/// All images that were published for this release, of this platform where it has some: what a
/// release's own image is among.
pub(crate) fn of_release(
    release: OcpMinor,
    platform: Option<Platform>,
    image: &Image,
) -> Vec<ImageVersion> {
    let of_platform = |platform: Platform| {
        let all = published_images::published(release, image.stream.as_deref(), platform);
        let of_architecture = all
            .into_iter()
            .filter(|(_, own)| image.is_of_architecture(&own.architecture));
        of_architecture
            .map(|(version, _)| version)
            .collect::<Vec<_>>()
    };
    let own = platform.map(of_platform).unwrap_or_default();
    if !own.is_empty() {
        return own;
    }
    Platform::ALL.into_iter().flat_map(of_platform).collect()
}

/// The newest images that were published for a release and pass, where they could replace this
/// one: one for each architecture and stream.
pub(crate) fn newest_for(
    image: &Image,
    release: OcpMinor,
    passes: impl Fn(&ImageVersion) -> bool,
) -> Vec<OwnImage> {
    let Some(platform) = image.platform else {
        return Vec::new();
    };
    let mut newest: BTreeMap<_, (ImageVersion, OwnImage)> = BTreeMap::new();
    for (version, own) in published_images::published(release, image.stream.as_deref(), platform) {
        if !own.fits(image) || !passes(&version) {
            continue;
        }
        let key = (
            own.architecture.clone(),
            own.stream.clone(),
            own.offer.is_some(),
        );
        let is_newer = newest.get(&key).is_none_or(|(other, _)| *other < version);
        if is_newer {
            newest.insert(key, (version, own));
        }
    }
    // What a marketplace has need not be uploaded.
    let is_offered = newest.keys().any(|(.., is_offered)| *is_offered);
    newest
        .into_iter()
        .filter(|((.., of_offer), _)| *of_offer == is_offered)
        .map(|(_, (_, own))| own)
        .collect()
}
