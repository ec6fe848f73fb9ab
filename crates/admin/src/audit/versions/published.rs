//! Versions by what was published, and by names of images (pure).

use crate::audit::results::set::KnownBy;
use crate::audit::versions::known_version::KnownVersion;
use crate::data::{PUBLISHED, PublishedImage, is_of_release};
use crate::platform::Platform;
use crate::version::{ImageVersion, OcpMinor, OsFamily, RhelVersion};
use skewguard_cluster::kinds::image::{Image, WhyNot};
use skewguard_cluster::kinds::stream::{OwnImage, PUBLISHED_BY_NAME};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// An image that was published, of any release.
pub(crate) fn by_published(image: &Image, notes: &mut Vec<String>) -> Option<KnownVersion> {
    if image.why_not.is_some_and(WhyNot::is_of_name) {
        return None;
    }
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

/// The architecture of a published image.
pub(crate) fn architecture_of(image: &Image) -> Option<String> {
    let found = PUBLISHED.find(image.value.as_deref()?)?;
    Some(published_image(found, image.platform?)?.architecture)
}

/// The region of a published image.
pub(crate) fn region_of(image: &Image) -> Option<String> {
    let found = PUBLISHED.find(image.value.as_deref()?)?;
    published_image(found, image.platform?)?.region
}

/// Note on an image of another architecture.
fn misplaced(image: &Image, own: &OwnImage) -> Option<String> {
    let wanted = image.architecture.as_ref();
    let wanted = wanted.filter(|wanted| **wanted != own.architecture)?;
    let own = &own.architecture;
    Some(format!(
        "the image is of {own}, and the next machine is one of {wanted}"
    ))
}

pub(crate) fn by_name(image: &Image) -> Option<KnownVersion> {
    let says_nothing = image.why_not.is_some_and(WhyNot::is_of_name);
    let name = image.value.as_deref().filter(|_| !says_nothing)?;
    let mut version = ImageVersion::from_image_name(name)?;
    if is_of_publisher(image) && !may_be_unlisted(name, &version) {
        return None;
    }
    let mut from = "the image's name".to_owned();
    let is_rhcos = matches!(version.os_family(), None | Some(OsFamily::Rhcos));
    if let Some(ocp) = version.ocp.filter(|_| is_rhcos && version.rhel.is_none())
        && let Some(rhel) = rhel_of(ocp)
    {
        version.rhel = Some(rhel);
        from = format!("{from}; all images published for {ocp} are RHEL {rhel}");
    }
    Some(KnownVersion::new(version, KnownBy::ImageName, from))
}

/// Tells whether an image is named in the project whose images are all published.
pub(crate) fn is_of_publisher(image: &Image) -> bool {
    let path = image.value.as_deref().unwrap_or_default();
    let below = path.split_once("projects/");
    below.is_some_and(|(_, below)| below.starts_with("rhcos-cloud/"))
}

/// Tells whether a name there is one that images have, and of a day that the list has not: it begins with those of 4.6.
fn may_be_unlisted(name: &str, version: &ImageVersion) -> bool {
    const FIRST: OcpMinor = OcpMinor { major: 4, minor: 6 };
    let has_form = ["-gcp-x86-64", "-gcp-aarch64"]
        .iter()
        .any(|end| name.ends_with(end));
    let is_newer = (version.build_date.as_deref()).is_some_and(|built| built > PUBLISHED.until);
    has_form && (is_newer || version.ocp.is_some_and(|ocp| ocp < FIRST))
}

/// All images that were published for this release, of this platform where it has some: what a
/// release's own image is among.
pub(crate) fn of_release(
    release: OcpMinor,
    platform: Option<Platform>,
    image: &Image,
) -> Vec<ImageVersion> {
    let of_platform = |platform: Platform| {
        let all = published(release, image.stream.as_deref(), platform);
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
    for (version, own) in published(release, image.stream.as_deref(), platform) {
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

/// The images that were published for this release, of any build: of its stream where it has
/// several. Images before 4.19 name their release; since then they name RHEL's, and a release has
/// one of each stream (openshift/installer `data/data/coreos`, by release branch).
fn published(
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
pub(crate) fn rhel_of(release: OcpMinor) -> Option<RhelVersion> {
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
fn version_of(image: &PublishedImage) -> Option<ImageVersion> {
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
fn published_image(image: &PublishedImage, platform: Platform) -> Option<OwnImage> {
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
