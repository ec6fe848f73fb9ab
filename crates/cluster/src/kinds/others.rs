//! Objects that make no nodes of the cluster's (pure).

use super::fields::{list_at, text_at};
use crate::names::some_of;
use serde_json::Value;

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

impl Others {
    /// Adds an `AgentServiceConfig`.
    pub fn add(&mut self, object: &Value) {
        let images = list_at(object, "/spec/osImages");
        let images = images.iter().filter_map(os_image);
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

fn os_image(image: &Value) -> Option<String> {
    let version = text_at(image, "/version")?;
    let words = ["/openshiftVersion", "/cpuArchitecture"].map(|path| text_at(image, path));
    let words: Vec<String> = words.into_iter().flatten().collect();
    Some(format!("{version} ({})", words.join(", ")))
}
