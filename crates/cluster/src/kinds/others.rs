//! Objects that make no nodes of the cluster's (pure).

use serde::Deserialize;

/// Objects that are left out, and said to be.
#[derive(Debug, Default)]
pub struct Others {
    /// `MachinePool` of hive.openshift.io.
    pub hive_pools: usize,
    /// Images that an AgentServiceConfig boots hosts of other clusters with.
    pub os_images: Vec<String>,
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
}
