//! Joined nodes, by the image that they were installed from.

use crate::verdict::BootImageStatus;
use schemars::JsonSchema;
use serde::Serialize;
use skewguard_cluster::names::{count, first_of};

/// Joined nodes of one pool and one boot image that a known issue hits at their update.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InstalledFrom {
    /// The release of the update.
    pub(crate) release: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pool: Option<String>,
    /// The image that they were installed from; absent where unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::schema::image")]
    pub(crate) boot_image: Option<BootImageStatus>,
    pub(crate) issue: String,
    pub(crate) reason: String,
    /// Change that helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remedy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// The policy names the issue.
    pub(crate) in_policy: bool,
    /// Fact that is missing to tell whether they have it; absent where they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to_know: Option<String>,
    pub(crate) count: usize,
    /// The first of them, in the order in which they joined.
    pub(crate) nodes: Vec<String>,
}

impl InstalledFrom {
    /// The first of its nodes, and how many more.
    pub(crate) fn names(&self) -> String {
        first_of(self.nodes.iter().map(String::as_str), 2, self.count)
    }

    fn image(&self) -> &str {
        let image = self.boot_image.as_ref();
        image.map_or("an unknown image", |image| &image.version)
    }

    /// Subject of it.
    pub(crate) fn title(&self) -> String {
        let pool = self.pool.as_deref().unwrap_or("unknown");
        format!(
            "pool {pool}, installed from {}: {}",
            self.image(),
            self.issue
        )
    }

    /// In words.
    pub(crate) fn says(&self) -> String {
        let pool = self.pool.as_deref().unwrap_or("unknown");
        let (image, nodes) = (self.image(), self.names());
        let (issue, release) = (&self.issue, &self.release);
        let what = match &self.to_know {
            Some(why) => format!("may have {issue} at the update to {release}: {why}"),
            None => format!("have {issue} at the update to {release}: {}", self.reason),
        };
        let help = self.remedy.as_ref().map(|remedy| format!("; {remedy}"));
        let url = self.url.as_ref().map(|url| format!(" ({url})"));
        format!(
            "pool {pool}, {} installed from {image} ({nodes}) {what}{}{}",
            count(self.count, "node"),
            help.unwrap_or_default(),
            url.unwrap_or_default()
        )
    }
}
