//! The images of the cluster's own release: CoreOS stream metadata, as the ConfigMap
//! `coreos-bootimages` holds it (pure).

use super::image::Image;
use super::platforms::URN;
use crate::lenient;
use crate::platform::Platform;
use crate::version::ImageVersion;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// An image of the cluster's own release.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnImage {
    /// Platform as [`super::image::Image::platform`].
    pub platform: Platform,
    pub architecture: String,
    pub region: Option<String>,
    /// Value of the image field; absent where the image has to be uploaded first.
    pub image: Option<String>,
    pub release: String,
    /// Plan and generation of an image of Azure's marketplace, such as `ocp/hyperVGen2`.
    pub offer: Option<String>,
    /// `rhel-9`, `rhel-10`; absent where the ConfigMap has one stream without a name.
    pub stream: Option<String>,
}

impl OwnImage {
    /// Tells whether a field that says this names it: on GCP the name may have the API's URL before it.
    pub fn is_named_by(&self, value: &str) -> bool {
        let is_whole = |before: &str| before.is_empty() || before.ends_with('/');
        self.image
            .as_deref()
            .and_then(|image| value.strip_suffix(image))
            .is_some_and(is_whole)
    }

    /// Tells whether it could take this one's place. What is not known of either does not stand against
    /// it.
    pub fn fits(&self, image: &Image) -> bool {
        let region = self.region.as_ref().zip(image.region.as_ref());
        Some(self.platform) == image.platform
            && image.is_of_architecture(&self.architecture)
            && region.is_none_or(|(own, wanted)| own == wanted)
            && self
                .offer
                .as_ref()
                .is_none_or(|offer| image.offer.as_ref() == Some(offer))
    }

    /// Stream, architecture and region, in words.
    pub fn place(&self) -> String {
        let stream = self
            .stream
            .as_ref()
            .map(|stream| format!("{stream}, "))
            .unwrap_or_default();
        let region = self
            .region
            .as_ref()
            .map(|region| format!(" {region}"))
            .unwrap_or_default();
        format!("{stream}{}{region}", self.architecture)
    }

    /// The version of its release; of a marketplace's image, what the URN says.
    pub fn version(&self) -> ImageVersion {
        self.offer
            .as_ref()
            .and(self.image.as_deref())
            .and_then(ImageVersion::from_image_name)
            .unwrap_or_else(|| ImageVersion::parse(&self.release))
    }
}

/// The images in stream metadata as `openshift-install coreos print-stream-json` prints it, of any
/// number of releases one after another.
///
/// # Errors
/// It is not JSON, or one document has no architectures. The text does not name the file.
pub fn images_of_streams(text: &str) -> Result<Vec<OwnImage>, String> {
    let mut images = Vec::new();
    for document in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let stream = document.map_err(|error| format!("is not JSON: {error}"))?;
        let before = images.len();
        if stream.get("architectures").is_some() {
            images.extend(stream_images(None, lenient::known(&stream)));
        } else {
            images.extend(images_by_name(&stream));
        }
        if images.len() == before {
            return Err("is not stream metadata".to_owned());
        }
        if images.len() > MAX_IMAGES {
            return Err(format!("has more than {MAX_IMAGES} images"));
        }
    }
    if images.is_empty() {
        return Err("is empty".to_owned());
    }
    Ok(images)
}

/// The images in the ConfigMap's `streams`, which OpenShift has from 5.0 on, and what its `stream`
/// has beside them: before 5.0 all, later one of the named streams once more.
pub fn own_images(data: &BTreeMap<String, String>) -> serde_json::Result<Vec<OwnImage>> {
    let read = |name| (data.get(name)).map_or(Ok(Value::Null), |text| serde_json::from_str(text));
    let (stream, streams) = (read("stream")?, read("streams")?);
    let mut images: Vec<OwnImage> = images_by_name(&streams).collect();
    let unnamed = |own: &OwnImage| OwnImage {
        stream: None,
        ..own.clone()
    };
    let named: BTreeSet<OwnImage> = images.iter().map(unnamed).collect();
    let own = stream_images(None, lenient::known(&stream)).filter(|own| !named.contains(own));
    images.extend(own);
    Ok(images)
}

/// Stream metadata, as far as it names images.
#[derive(Default, Deserialize)]
struct Stream {
    architectures: BTreeMap<String, Architecture>,
}

#[derive(Deserialize)]
struct Architecture {
    /// Images of Azure's marketplace, by plan and generation (openshift/installer,
    /// `data/data/coreos/marketplace`).
    #[serde(rename = "rhel-coreos-extensions.marketplace.azure")]
    plans: BTreeMap<String, BTreeMap<String, BTreeMap<String, String>>>,
    images: BTreeMap<String, IgnoredAny>,
    #[serde(rename = "images.aws.regions")]
    regions: BTreeMap<String, Published>,
    #[serde(rename = "images.gcp")]
    gcp: Published,
    artifacts: BTreeMap<String, Published>,
}

/// What is published of a release: an image of a cloud, or a file.
#[derive(Deserialize)]
struct Published {
    release: Option<String>,
    image: Option<String>,
    project: Option<String>,
    name: Option<String>,
}

fn images_by_name(streams: &Value) -> impl Iterator<Item = OwnImage> {
    let streams: BTreeMap<String, Stream> = lenient::known(streams);
    let all = streams.into_iter();
    all.flat_map(|(name, stream)| stream_images(Some(name), stream))
}

fn stream_images(name: Option<String>, stream: Stream) -> impl Iterator<Item = OwnImage> {
    let all = stream.architectures.into_iter();
    all.flat_map(move |(architecture, of)| {
        let own = |platform| OwnImage {
            platform,
            architecture: architecture.clone(),
            region: None,
            image: None,
            release: String::new(),
            offer: None,
            stream: name.clone(),
        };
        of.images(&own)
    })
}

impl Architecture {
    fn images(self, own: &dyn Fn(Platform) -> OwnImage) -> Vec<OwnImage> {
        let mut images: Vec<OwnImage> = self.offers(own).collect();
        let has_marketplace = !images.is_empty();
        let mut add = |platform, region, image, release: Option<String>| {
            images.extend(release.map(|release| OwnImage {
                region,
                image,
                release,
                ..own(platform)
            }));
        };
        for (region, ami) in self.regions {
            if ami.image.is_some() {
                add(Platform::Aws, Some(region), ami.image, ami.release);
            }
        }
        if let (Some(project), Some(name)) = (self.gcp.project, self.gcp.name) {
            let image = format!("projects/{project}/global/images/{name}");
            add(Platform::Gcp, None, Some(image), self.gcp.release);
        }
        for (name, artifact) in self.artifacts {
            let of_stream = |platform: &Platform| platform.row().stream == name;
            for platform in Platform::ALL.into_iter().filter(of_stream) {
                // Where the cloud has the image, the file that it was made from is the same once more.
                let is_named = PUBLISHED_BY_NAME.contains(&platform);
                let is_there = is_named && self.images.contains_key(&name);
                let is_offered = platform == Platform::Azure && has_marketplace;
                if !is_there && !is_offered {
                    add(platform, None, None, artifact.release.clone());
                }
            }
        }
        images
    }

    /// The images of Azure's marketplace: plan and generation, URN and version of each.
    fn offers(&self, own: &dyn Fn(Platform) -> OwnImage) -> impl Iterator<Item = OwnImage> {
        let all = self.plans.iter().flat_map(|(plan, generations)| {
            let offer = move |(generation, urn)| (format!("{plan}/{generation}"), urn);
            generations.iter().map(offer)
        });
        all.filter_map(|(offer, urn)| {
            let parts: Option<Vec<&str>> =
                URN.iter().map(|part| Some(&**urn.get(*part)?)).collect();
            let parts = parts.filter(|parts| !parts.contains(&""))?;
            Some(OwnImage {
                image: Some(parts.join(":")),
                offer: Some(offer),
                release: (*parts.last()?).to_owned(),
                ..own(Platform::Azure)
            })
        })
    }
}

/// The ConfigMap with the images of the cluster's own release.
pub const OWN_IMAGES: &str = "coreos-bootimages";

/// The most images of stream metadata that are kept: 30 regions, two architectures and hundreds of
/// releases.
const MAX_IMAGES: usize = 50_000;

/// Platforms whose images a MachineSet can name as the stream metadata does.
pub const PUBLISHED_BY_NAME: [Platform; 2] = [Platform::Aws, Platform::Gcp];
