//! The images of the cluster's own release: CoreOS stream metadata, as the ConfigMap `coreos-bootimages` holds it (pure).

use super::image::PLATFORMS;
use super::kinds::{fields_at, str_at, text_at};
use serde_json::Value;

/// An image of the cluster's own release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnImage {
    /// As [`super::image::Image::platform`].
    pub(super) platform: &'static str,
    pub(super) architecture: String,
    pub(super) region: Option<String>,
    /// What the image field says; absent where the image has to be uploaded first.
    pub(super) image: Option<String>,
    pub(super) release: String,
}

/// The images in the ConfigMap's `stream`, and in its `streams`, which OpenShift has from 5.0 on.
pub(super) fn own_images(config_map: &Value) -> serde_json::Result<Vec<OwnImage>> {
    let read = |path| str_at(config_map, path).map_or(Ok(Value::Null), serde_json::from_str);
    let (stream, streams): (Value, Value) = (read("/data/stream")?, read("/data/streams")?);
    let named = fields_at(&streams, "").map(|(_, stream)| stream);
    Ok([&stream].into_iter().chain(named).flat_map(|stream| fields_at(stream, "/architectures")).flat_map(of_architecture).collect())
}

fn of_architecture((architecture, value): (String, &Value)) -> Vec<OwnImage> {
    let mut images = Vec::new();
    let mut own = |platform, region, image, from: &Value| {
        let release = text_at(from, "/release");
        images.extend(release.map(|release| OwnImage { platform, architecture: architecture.clone(), region, image, release }));
    };
    for (region, ami) in fields_at(value, "/images/aws/regions") {
        if let Some(image) = text_at(ami, "/image") {
            own("aws", Some(region), Some(image), ami);
        }
    }
    if let Some(gcp) = value.pointer("/images/gcp")
        && let (Some(project), Some(name)) = (text_at(gcp, "/project"), text_at(gcp, "/name"))
    {
        own("gcp", None, Some(format!("projects/{project}/global/images/{name}")), gcp);
    }
    for (name, artifact) in fields_at(value, "/artifacts") {
        if let Some(platform) = PLATFORMS.iter().find(|platform| platform.stream == name) {
            own(platform.id, None, None, artifact);
        }
    }
    images
}
