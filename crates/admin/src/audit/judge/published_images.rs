//! Published images, as the ConfigMap of their release would have them (pure).

use crate::audit::cluster::stream::{OwnImage, PUBLISHED_BY_NAME};
use crate::data::{PUBLISHED, PublishedImage, is_of_release};
use crate::platform::Platform;
use crate::version::{ImageVersion, OcpMinor, RhelVersion};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// The images that were published for this release, of any build: of its stream where it has
/// several. Images before 4.19 name their release; since then they name RHEL's, and a release has
/// one of each stream (openshift/installer `data/data/coreos`, by release branch).
pub(super) fn published(
    release: OcpMinor,
    stream: Option<&str>,
    platform: Platform,
) -> Vec<(ImageVersion, OwnImage)> {
    let default = (release.major < 5).then_some("rhel-9");
    let (mut last, mut images) = ("", Vec::new());
    let mut of_release = None;
    for image in &PUBLISHED.images {
        if image.version != last {
            last = image.version;
            of_release = version_of(image)
                .filter(|version| is_of_release(version, release, stream.or(default)));
        }
        if let Some(version) = &of_release {
            let of_stream = |own| OwnImage {
                stream: name_of(version, release),
                ..own
            };
            let own = published_image(image, platform).map(of_stream);
            images.extend(own.map(|own| (version.clone(), own)));
        }
    }
    images
}

/// The RHEL release of all images that were published for a release, where they have one: then the
/// release says it.
pub(super) fn rhel_of(release: OcpMinor) -> Option<RhelVersion> {
    static ALL: LazyLock<BTreeMap<OcpMinor, BTreeSet<Option<RhelVersion>>>> = LazyLock::new(|| {
        let mut all: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for version in PUBLISHED.images.iter().filter_map(version_of) {
            // What the name of a marketplace's image does not say is no other release.
            if let (Some(ocp), Some(_)) = (version.ocp, version.rhel) {
                all.entry(ocp).or_default().insert(version.rhel);
            }
        }
        all
    });
    let mut of_release = ALL.get(&release)?.iter();
    let first = *of_release.next()?;
    first.filter(|rhel| rhel.minor.is_some() && of_release.next().is_none())
}

/// Version that it says; of a marketplace's image, that of the URN.
pub(super) fn version_of(image: &PublishedImage) -> Option<ImageVersion> {
    let version = ImageVersion::parse(image.version);
    if version.is_known() {
        return Some(version);
    }
    ImageVersion::from_image_name(image.version)
}

/// The stream of an image of this release, where it has several.
fn name_of(version: &ImageVersion, release: OcpMinor) -> Option<String> {
    let first = OcpMinor {
        major: 4,
        minor: 22,
    };
    let is_one_of_several = release >= first;
    let rhel = version.rhel.filter(|_| is_one_of_several)?;
    Some(format!("rhel-{}", rhel.major))
}

/// The image as the ConfigMap of its release would have it, of no stream.
pub(super) fn published_image(image: &PublishedImage, platform: Platform) -> Option<OwnImage> {
    if platform.row().stream != image.platform {
        return None;
    }
    let (mut region, mut offer) = (None, None);
    let name = match (platform, image.name) {
        (Platform::Aws, Some(ami)) => {
            region = image.place.map(str::to_owned);
            Some(ami.to_owned())
        }
        (Platform::Gcp, Some(name)) => {
            Some(format!("projects/{}/global/images/{name}", image.place?))
        }
        (Platform::Azure, Some(urn)) => {
            offer = image.place.map(str::to_owned);
            Some(urn.to_owned())
        }
        (Platform::KubeVirt, Some(digest)) => Some(digest.to_owned()),
        // Where the cloud has the image, nobody uploads the file.
        (platform, None) if !PUBLISHED_BY_NAME.contains(&platform) => None,
        _ => return None,
    };
    Some(OwnImage {
        platform,
        architecture: image.architecture.to_owned(),
        region,
        image: name,
        release: image.version.to_owned(),
        offer,
        stream: None,
    })
}
