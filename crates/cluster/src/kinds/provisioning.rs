//! `Provisioning` of metal3.io (pure).

use crate::lenient::is_there;
use serde::Deserialize;
use std::collections::BTreeMap;

/// `Provisioning` of metal3.io: from where bare metal hosts get their image, instead of what comes with the
/// release (cluster-baremetal-operator, `ProvisioningSpec`).
#[derive(Debug, Default, Deserialize)]
pub struct Provisioning {
    #[serde(rename = "spec", deserialize_with = "is_there")]
    has_spec: bool,
    #[serde(
        rename = "spec.provisioningOSDownloadURL",
        deserialize_with = "is_there"
    )]
    has_disk: bool,
    #[serde(rename = "spec.preProvisioningOSDownloadURLs")]
    live: BTreeMap<String, String>,
}

impl Provisioning {
    /// Tells whether its spec was read, which every one has.
    pub fn is_whole(&self) -> bool {
        self.has_spec
    }

    /// The fields that name images.
    pub fn image_fields(&self) -> Vec<&'static str> {
        let has_live = self.live.values().any(|url| !url.is_empty());
        let fields = [
            (self.has_disk, "spec.provisioningOSDownloadURL"),
            (has_live, "spec.preProvisioningOSDownloadURLs"),
        ];
        let named = fields.into_iter().filter(|(is_named, _)| *is_named);
        named.map(|(_, field)| field).collect()
    }

    pub fn has_own_images(&self) -> bool {
        !self.image_fields().is_empty()
    }
}
