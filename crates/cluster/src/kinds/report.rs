//! Reports of nodes that did not join (pure).

use super::metadata::Metadata;
use super::names;
use crate::lenient::message;
use crate::moment::{Moment, time};
use serde::{Deserialize, Deserializer};

/// A `BootImageReport`: a claim of whoever has the bootstrap identity.
#[derive(Debug, Default, Deserialize)]
pub struct Report {
    pub metadata: Metadata,
    #[serde(rename = "report.observedAt", deserialize_with = "time")]
    observed: Option<Moment>,
    #[serde(rename = "report.verdict.verdict")]
    pub verdict: String,
    #[serde(rename = "report.verdict.action")]
    pub action: String,
    #[serde(rename = "report.verdict.reason")]
    pub reason: String,
    #[serde(rename = "report.verdict.message", deserialize_with = "message")]
    pub message: String,
    /// The version of the boot image.
    #[serde(rename = "report.verdict.bootImage.version")]
    pub version: Option<String>,
    #[serde(rename = "report.progress")]
    pub progress: Option<Progress>,
    /// Addresses, host name and product UUID, as [`names::normal`] has them.
    #[serde(rename = "report.node", deserialize_with = "names_of")]
    pub names: Vec<String>,
}

/// The state of a first boot, by the node's own claim.
#[derive(Debug, Default, Deserialize)]
pub struct Progress {
    pub phase: String,
    pub cause: String,
    #[serde(deserialize_with = "message")]
    pub message: String,
    pub minutes: u64,
}

/// The names of a node, by its report.
fn names_of<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    struct Reporter {
        hostname: String,
        #[serde(rename = "productUUID")]
        product_uuid: String,
        addresses: Vec<String>,
    }

    let node = Reporter::deserialize(deserializer)?;
    let all = [node.hostname, node.product_uuid]
        .into_iter()
        .chain(node.addresses);
    let said = all.filter(|name| !name.is_empty());
    Ok(said.map(|name| names::normal(&name)).collect())
}

/// A text of the agent without its hint at `oc skewguard why`.
pub fn without_hint(text: &str) -> String {
    text.trim_end_matches(" (more: oc skewguard why)")
        .to_owned()
}

impl Report {
    /// When it was made: the server's clock, not the node's.
    pub fn at(&self) -> Option<Moment> {
        self.metadata.created.or(self.observed)
    }
}
