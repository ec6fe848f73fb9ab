//! The report of a failure to the Machine Config Server, as openshift/machine-config-operator#6124
//! takes it from the daemon (pure): one JSON object, without credentials.

use super::stall::Progress;
use crate::text::bounded;
use crate::transport::Request;
use crate::verdict::{Fate, Verdict};
use serde::{Deserialize, Serialize};

/// The server's root CA. Where there is no such file, the cluster's server takes no reports.
pub(crate) const CA_PATH: &str = "/etc/machine-config-daemon/mcs-ca-bundle.crt";

/// The annotations of the Node that is to be, with the server's address.
pub(crate) const ANNOTATIONS_PATH: &str = "/etc/machine-config-daemon/node-annotations.json";

/// The annotation that has it.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Annotations {
    #[serde(
        rename = "machineconfiguration.openshift.io/machineConfigServerURL",
        alias = "machineConfigServerURL"
    )]
    pub(super) server: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeFailure<'a> {
    pool: &'a str,
    #[serde(rename = "nodeID")]
    node: &'a str,
    stage: &'a str,
    #[serde(rename = "imageURL")]
    image: &'a str,
    error_message: &'a str,
}

/// The policy wants such a report, and there is a failure to tell: the node is held, or its first
/// boot does not finish. The server makes an Event of the pool's, so there has to be one.
pub(super) fn is_due(verdict: &Verdict, progress: Option<&Progress>) -> bool {
    let policy = verdict.policy.as_ref();
    policy.and_then(|policy| policy.report_to_machine_config_server) == Some(true)
        && verdict.target.pool.is_some()
        && (verdict.blocks() || progress.is_some())
}

/// The part of a message that the server keeps, in bytes.
const MESSAGE_MAX: usize = 200;

/// The cause first. The server puts the node's name and the stage before it.
fn message(verdict: &Verdict, progress: Option<&Progress>) -> String {
    let image = verdict.boot_image.as_ref();
    let about = match (progress, image) {
        (Some(progress), _) => format!(" ({})", progress.brief()),
        (None, Some(image)) => format!(" (boot image {})", image.version),
        (None, None) => String::new(),
    };
    let (cause, why) = match progress {
        Some(progress) => (progress.cause.to_string(), progress.message.clone()),
        None => (verdict.reason.to_string(), verdict.sentence()),
    };
    let held = match verdict.fate() {
        Fate::NotHeld => "; it could not be held back",
        _ => "",
    };
    bounded(&format!("{cause}: {why}{held}{about}"), MESSAGE_MAX)
}

pub(super) fn request(verdict: &Verdict, progress: Option<&Progress>, host: &str) -> Request {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let failure = NodeFailure {
        pool: &text(&verdict.target.pool),
        node: host,
        stage: if progress.is_some() {
            "first-boot"
        } else {
            "boot-image"
        },
        image: &text(&verdict.target.os_image_url),
        error_message: &message(verdict, progress),
    };
    Request::new("POST", "/v1/node-failure".to_owned(), &failure)
}
