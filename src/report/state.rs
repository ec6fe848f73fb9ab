//! What was delivered, kept in `/var/lib/skewguard` so that later boots neither forget nor repeat it.

use super::names::{clean, hex16};
use super::random;
use crate::API_VERSION;
use crate::node::{FileError, Root};
use crate::text::hex;
use serde::{Deserialize, Serialize};

/// What was delivered.
pub const STATE_PATH: &str = "/var/lib/skewguard/report-state.json";

/// The installation's random id; apart from the state, so that a damaged state does not make a new installation of it.
pub const INSTALLATION_PATH: &str = "/var/lib/skewguard/installation-id";

/// Largest state file read, in bytes. A full one has about 4 KiB.
const STATE_MAX: u64 = 64 * 1024;

/// Most reports remembered; a node makes a new one only when its verdict changes.
const REPORTS_MAX: usize = 16;

/// What was delivered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deliveries {
    api_version: String,
    kind: String,
    /// Reports that the cluster has, the latest last.
    #[serde(default)]
    reports: Vec<Delivered>,
    /// The last Event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    event: Option<LastEvent>,
    /// The last patch of the Node, by [`super::inventory::NodePatch::digest`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node_patch: Option<String>,
    /// The boot whose run without a verdict was told, by its boot id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    no_verdict_boot: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Delivered {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
}

/// An Event that the cluster has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastEvent {
    /// The report it belongs to.
    pub report: String,
    /// When, in seconds since 1970 by the node's clock.
    pub at: u64,
}

impl Default for Deliveries {
    fn default() -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "ReportState".to_owned(),
            reports: Vec::new(),
            event: None,
            node_patch: None,
            no_verdict_boot: None,
        }
    }
}

impl Deliveries {
    /// Reads the state; a fresh one where there is none.
    ///
    /// # Errors
    /// It cannot be read or understood. The caller goes on with a fresh one: the worst that follows is a 409.
    pub fn load(root: &Root) -> Result<Self, FileError> {
        let Some(text) = root.read_text(STATE_PATH, STATE_MAX)? else { return Ok(Self::default()) };
        let mut state: Self = serde_json::from_str(&text).map_err(|error| FileError::content(STATE_PATH, error))?;
        let surplus = state.reports.len().saturating_sub(REPORTS_MAX);
        state.reports.drain(..surplus);
        Ok(state)
    }

    /// Writes the state as a whole.
    ///
    /// # Errors
    /// The kernel says no.
    pub fn save(&self, root: &Root) -> Result<(), FileError> {
        // A struct of strings always serialises.
        let mut json = serde_json::to_vec_pretty(self).unwrap_or_default();
        json.push(b'\n');
        root.write(STATE_PATH, &json, 0o644)
    }

    /// The cluster has the report of that name.
    pub fn report_delivered(&mut self, name: &str, uid: Option<&str>) {
        self.reports.retain(|report| report.name != name);
        if self.reports.len() >= REPORTS_MAX {
            self.reports.remove(0);
        }
        self.reports.push(Delivered { name: name.to_owned(), uid: uid.map(|uid| clean(uid, 64)) });
    }

    /// The name of the report that the cluster has of the same verdict. The host part may differ: before the network is up a node may be
    /// called `localhost`.
    pub fn known_report(&self, name: &str) -> Option<&str> {
        self.find(name).map(|report| report.name.as_str())
    }

    /// The report's uid, where the server told it.
    pub fn report_uid(&self, name: &str) -> Option<&str> {
        self.find(name).and_then(|report| report.uid.as_deref())
    }

    fn find(&self, name: &str) -> Option<&Delivered> {
        self.reports.iter().find(|report| hash_of(&report.name) == hash_of(name))
    }

    /// The cluster has an Event about the report of that name.
    pub fn event_delivered(&mut self, report: &str, at: u64) {
        self.event = Some(LastEvent { report: report.to_owned(), at });
    }

    /// When the last Event about the report of that name was delivered, in seconds since 1970.
    pub fn last_event(&self, report: &str) -> Option<u64> {
        self.event.as_ref().filter(|event| hash_of(&event.report) == hash_of(report)).map(|event| event.at)
    }

    /// The Node has the patch of that digest.
    pub fn node_patched(&mut self, digest: &str) {
        self.node_patch = Some(digest.to_owned());
    }

    /// Whether the Node has the patch of that digest.
    pub fn has_node_patch(&self, digest: &str) -> bool {
        self.node_patch.as_deref() == Some(digest)
    }

    /// The cluster was told of the run without a verdict in that boot.
    pub fn no_verdict_told(&mut self, boot: &str) {
        self.no_verdict_boot = Some(boot.to_owned());
    }

    /// Whether it was.
    pub fn was_no_verdict_told(&self, boot: &str) -> bool {
        self.no_verdict_boot.as_deref() == Some(boot)
    }
}

/// The installation's random id, made and kept at the first call. Where it cannot be kept (a read-only or full `/var`) it is derived from
/// machine-id(5), hashed as that page asks for, so that it still is the same at the next boot.
pub fn installation(root: &Root, machine_id: Option<&str>) -> (String, Option<FileError>) {
    let problem = match root.read_text(INSTALLATION_PATH, 128) {
        Ok(Some(text)) if is_id(text.trim()) => return (text.trim().to_owned(), None),
        Ok(_) => match random::bytes::<16>().map(|bytes| hex(&bytes)) {
            Ok(id) => match root.write(INSTALLATION_PATH, format!("{id}\n").as_bytes(), 0o600) {
                Ok(()) => return (id, None),
                Err(error) => error,
            },
            Err(error) => FileError::new(random::SOURCE, error),
        },
        Err(error) => error,
    };
    (hex16(&["skewguard.dev/installation\n", machine_id.unwrap_or_default()]), Some(problem))
}

/// The part of a report's name after the host.
fn hash_of(name: &str) -> &str {
    name.rsplit_once('-').map_or(name, |(_, hash)| hash)
}

fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit())
}
