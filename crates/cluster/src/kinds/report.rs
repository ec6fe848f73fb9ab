//! Reports of nodes that did not join (pure).

use super::metadata::{Metadata, ObjectMeta};
use super::names;
use crate::lenient::message;
use crate::moment::{Moment, Time};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

/// A `BootImageReport`: a claim of whoever has the bootstrap identity.
#[derive(Debug, Default)]
pub struct Report {
    pub metadata: Metadata,
    observed: Option<Moment>,
    pub verdict: String,
    pub action: String,
    pub reason: String,
    pub message: String,
    /// The version of the boot image.
    pub version: Option<String>,
    pub progress: Option<Progress>,
    /// Addresses, host name and product UUID, as [`names::normal`] has them.
    pub names: Vec<String>,
}

/// The state of a first boot, by the node's own claim.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Progress {
    pub phase: String,
    pub cause: String,
    #[serde(deserialize_with = "message")]
    pub message: String,
    pub minutes: u64,
}

/// A report as the API has it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ReportObject {
    metadata: ObjectMeta,
    report: Content,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Content {
    observed_at: Time,
    verdict: Verdict,
    // Agents before 0.1.0 had no verdict of its own.
    boot_image: BootImage,
    progress: Option<Progress>,
    node: Reporter,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Verdict {
    verdict: String,
    action: String,
    reason: String,
    #[serde(deserialize_with = "message")]
    message: String,
    boot_image: BootImage,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct BootImage {
    version: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Reporter {
    hostname: Option<String>,
    #[serde(rename = "productUUID")]
    product_uuid: Option<String>,
    addresses: Vec<String>,
}

/// A text of the agent without its hint at `oc skewguard why`.
pub fn without_hint(text: &str) -> String {
    text.trim_end_matches(" (more: oc skewguard why)")
        .to_owned()
}

impl Report {
    /// The object without a verdict in one word, as agents before 0.1.0 had it.
    pub fn with_a_verdict(object: &Value) -> Cow<'_, Value> {
        let verdict = object.pointer("/report/verdict");
        if !verdict.is_some_and(Value::is_string) {
            return Cow::Borrowed(object);
        }
        let mut object = object.clone();
        if let Some(report) = object.get_mut("report").and_then(Value::as_object_mut) {
            report.remove("verdict");
        }
        Cow::Owned(object)
    }

    pub fn of(object: ReportObject) -> Self {
        let ReportObject { metadata, report } = object;
        let Content { verdict, node, .. } = report;
        let names = (node.hostname.iter())
            .chain(&node.product_uuid)
            .chain(&node.addresses)
            .filter(|name| !name.is_empty());
        Self {
            metadata: metadata.kept(),
            observed: report.observed_at.0,
            names: names.map(|name| names::normal(name)).collect(),
            version: verdict.boot_image.version.or(report.boot_image.version),
            verdict: verdict.verdict,
            action: verdict.action,
            reason: verdict.reason,
            message: verdict.message,
            progress: report.progress,
        }
    }

    /// When it was made: the server's clock, not the node's.
    pub fn at(&self) -> Option<Moment> {
        self.metadata.created.or(self.observed)
    }
}
