//! The images of the cluster's own release: CoreOS stream metadata, as the ConfigMap `coreos-bootimages` holds it (pure).

use super::kinds::Text;
use serde::Deserialize;
use std::collections::BTreeMap;

/// An image of the cluster's own release, from the ConfigMap `coreos-bootimages`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnImage {
    /// As [`super::image::Image::platform`].
    pub(super) platform: &'static str,
    pub(super) architecture: Text,
    pub(super) region: Option<Text>,
    /// What the image field says; absent where the image has to be uploaded first.
    pub(super) image: Option<String>,
    pub(super) release: Text,
}

/// The stream metadata of CoreOS, as far as it names images.
#[derive(Deserialize)]
struct Stream {
    #[serde(default)]
    architectures: BTreeMap<Text, Architecture>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Architecture {
    images: Images,
    artifacts: BTreeMap<String, Artifact>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Images {
    aws: Option<Regions>,
    gcp: Option<Gcp>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Regions {
    regions: BTreeMap<Text, RegionImage>,
}

#[derive(Deserialize)]
struct RegionImage {
    release: Text,
    image: Text,
}

#[derive(Deserialize)]
struct Gcp {
    #[serde(default)]
    release: Option<Text>,
    project: Text,
    name: Text,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Artifact {
    release: Option<Text>,
}

/// `stream`, and from OpenShift 5.0 on `streams`, by name.
pub(super) fn own_images(data: &BTreeMap<String, String>) -> serde_json::Result<Vec<OwnImage>> {
    let mut streams: Vec<Stream> = Vec::new();
    if let Some(stream) = data.get("stream") {
        streams.push(serde_json::from_str(stream)?);
    }
    if let Some(named) = data.get("streams") {
        streams.extend(serde_json::from_str::<BTreeMap<String, Stream>>(named)?.into_values());
    }
    let mut images = Vec::new();
    for (architecture, Architecture { images: uploaded, artifacts }) in streams.into_iter().flat_map(|stream| stream.architectures) {
        let mut own = |platform, region, image, release| {
            images.push(OwnImage { platform, architecture: architecture.clone(), region, image, release });
        };
        for (region, RegionImage { release, image }) in uploaded.aws.into_iter().flat_map(|aws| aws.regions) {
            own("aws", Some(region), Some(image.0), release);
        }
        if let Some(Gcp { release: Some(release), project, name }) = uploaded.gcp {
            own("gcp", None, Some(format!("projects/{}/global/images/{}", &*project, &*name)), release);
        }
        for (platform, artifact) in artifacts {
            let Some(release) = artifact.release else { continue };
            if let Some(platform) = super::image::PLATFORMS.iter().find(|known| known.stream == platform) {
                own(platform.id, None, None, release);
            }
        }
    }
    Ok(images)
}
