//! Objects that make no nodes of the cluster's (pure).

use crate::names::some_of;
use serde::Deserialize;

/// Objects that are left out, and said to be.
#[derive(Debug, Default)]
pub struct Others {
    /// `MachinePool` of hive.openshift.io.
    pub hive_pools: usize,
    /// Images that an AgentServiceConfig boots hosts of other clusters with.
    os_images: Vec<String>,
}

/// The most images of AgentServiceConfigs that are kept.
const MAX_OS_IMAGES: usize = 1_000;

/// `AgentServiceConfig`.
#[derive(Debug, Default, Deserialize)]
pub struct AgentService {
    #[serde(rename = "spec.osImages")]
    images: Vec<OsImage>,
}

#[derive(Debug, Deserialize)]
struct OsImage {
    version: Option<String>,
    openshift_version: Option<String>,
    cpu_architecture: Option<String>,
}

impl Others {
    pub fn add(&mut self, service: AgentService) {
        let images = service.images.into_iter().filter_map(|image| {
            let words = [image.openshift_version, image.cpu_architecture];
            let words: Vec<String> = words.into_iter().flatten().collect();
            Some(format!("{} ({})", image.version?, words.join(", ")))
        });
        let room = MAX_OS_IMAGES.saturating_sub(self.os_images.len());
        self.os_images.extend(images.take(room));
    }

    /// The images that hosts of other clusters are booted with, in words.
    pub fn os_images(&self) -> Option<String> {
        let images: Vec<&str> = self.os_images.iter().map(String::as_str).collect();
        (!images.is_empty()).then(|| {
            format!(
                "AgentServiceConfig boots hosts of other clusters from {}: a policy of theirs judges them, not this one",
                if images.len() > 8 {
                    some_of(&images)
                } else {
                    images.join(", ")
                }
            )
        })
    }
}
