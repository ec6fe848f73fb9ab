//! The images of the cluster's own release: CoreOS stream metadata, as the ConfigMap
//! `coreos-bootimages` holds it (pure).

use super::fields::{fields_at, str_at, text_at};
use super::image::Image;
use super::platforms::URN;
use crate::platform::Platform;
use crate::version::ImageVersion;
use serde_json::Value;
use std::collections::BTreeSet;

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
    pub fn fits(&self, image: &Image, architecture: Option<&str>) -> bool {
        let region = self.region.as_ref().zip(image.region.as_ref());
        Some(self.platform) == image.platform
            && architecture.is_none_or(|architecture| architecture == self.architecture)
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
        if stream.pointer("/architectures").is_some() {
            images.extend(stream_images(None, &stream));
        } else {
            let streams = fields_at(&stream, "");
            images.extend(streams.flat_map(|(name, stream)| stream_images(Some(&name), stream)));
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
pub fn own_images(config_map: &Value) -> serde_json::Result<Vec<OwnImage>> {
    let read = |path| str_at(config_map, path).map_or(Ok(Value::Null), serde_json::from_str);
    let (stream, streams): (Value, Value) = (read("/data/stream")?, read("/data/streams")?);
    let mut images: Vec<OwnImage> = fields_at(&streams, "")
        .flat_map(|(name, stream)| stream_images(Some(&name), stream))
        .collect();
    let unnamed = |own: &OwnImage| OwnImage {
        stream: None,
        ..own.clone()
    };
    let named: BTreeSet<OwnImage> = images.iter().map(unnamed).collect();
    images.extend(
        stream_images(None, &stream)
            .into_iter()
            .filter(|own| !named.contains(own)),
    );
    Ok(images)
}

fn stream_images(name: Option<&str>, stream: &Value) -> Vec<OwnImage> {
    fields_at(stream, "/architectures")
        .flat_map(|(architecture, value)| architecture_images(name, &architecture, value))
        .collect()
}

/// Plan and generation, URN and version of each image of Azure's marketplace.
fn offers(architecture: &Value) -> impl Iterator<Item = (String, String, String)> {
    let plans = fields_at(architecture, MARKETPLACE);
    let offers = plans.flat_map(|(plan, generations)| {
        let generations = fields_at(generations, "");
        generations.map(move |(generation, fields)| (format!("{plan}/{generation}"), fields))
    });
    offers.filter_map(|(offer, fields)| {
        let parts = URN.map(|part| text_at(fields, &format!("/{part}")));
        let parts: Vec<String> = parts.into_iter().collect::<Option<_>>()?;
        Some((offer, parts.join(":"), parts.into_iter().next_back()?))
    })
}

fn architecture_images(stream: Option<&str>, architecture: &str, value: &Value) -> Vec<OwnImage> {
    let mut images = Vec::new();
    let image_of = |platform, release| OwnImage {
        platform,
        architecture: architecture.to_owned(),
        region: None,
        image: None,
        release,
        offer: None,
        stream: stream.map(str::to_owned),
    };
    images.extend(offers(value).map(|(offer, urn, release)| OwnImage {
        image: Some(urn),
        offer: Some(offer),
        ..image_of(Platform::Azure, release)
    }));
    let has_marketplace = !images.is_empty();
    let mut own = |platform, region, image, from: &Value| {
        let release = text_at(from, "/release");
        images.extend(release.map(|release| OwnImage {
            region,
            image,
            ..image_of(platform, release)
        }));
    };
    for (region, ami) in fields_at(value, "/images/aws/regions") {
        if let Some(image) = text_at(ami, "/image") {
            own(Platform::Aws, Some(region), Some(image), ami);
        }
    }
    if let Some(gcp) = value.pointer("/images/gcp")
        && let (Some(project), Some(name)) = (text_at(gcp, "/project"), text_at(gcp, "/name"))
    {
        own(
            Platform::Gcp,
            None,
            Some(format!("projects/{project}/global/images/{name}")),
            gcp,
        );
    }
    for (name, artifact) in fields_at(value, "/artifacts") {
        let of_stream = |platform: &Platform| platform.row().stream == name;
        for platform in Platform::ALL.into_iter().filter(of_stream) {
            // Where the cloud has the image, the file that it was made from is the same once more.
            let is_there = value
                .pointer(&format!("/images/{name}"))
                .is_some_and(|images| PUBLISHED_BY_NAME.contains(&platform) && images.is_object());
            let is_offered = platform == Platform::Azure && has_marketplace;
            if !is_there && !is_offered {
                own(platform, None, None, artifact);
            }
        }
    }
    images
}

/// Images of Azure's marketplace, by plan and generation (openshift/installer,
/// `data/data/coreos/marketplace`).
const MARKETPLACE: &str = "/rhel-coreos-extensions/marketplace/azure";

/// The ConfigMap with the images of the cluster's own release.
pub const OWN_IMAGES: &str = "coreos-bootimages";

/// The most images of stream metadata that are kept: 30 regions, two architectures and hundreds of
/// releases.
const MAX_IMAGES: usize = 50_000;

/// Platforms whose images a MachineSet can name as the stream metadata does.
pub const PUBLISHED_BY_NAME: [Platform; 2] = [Platform::Aws, Platform::Gcp];
