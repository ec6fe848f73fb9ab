//! The record of deliveries: kept in `/var/lib/skewguard`, so that later boots do not repeat them.

use super::stall::FirstBoot;
use crate::API_VERSION;
use crate::json;
use crate::node::{FileError, Root, STATE_PATH};
use crate::text::bounded;
use serde::{Deserialize, Serialize};

/// Largest state file that is read, in bytes; a full one has about 4 KiB.
const STATE_MAX: u64 = 64 * 1024;

/// Limit of remembered reports; a node makes a new one only when its verdict changes.
const REPORTS_MAX: usize = 16;

/// The record of deliveries.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ledger {
    api_version: String,
    kind: String,
    /// Reports that the cluster has, the latest last.
    #[serde(default)]
    reports: Vec<ReportEntry>,
    /// The last Event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    event: Option<EventEntry>,
    /// The last patch of the Node, by [`super::inventory::NodePatch::digest`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_patch: Option<String>,
    /// The id of the last boot without a verdict that the cluster was told about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_verdict_boot: Option<String>,
    /// The last failure that the Machine Config Server was told, by
    /// [`super::payload::Payload::failure_key`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) node_failure: Option<String>,
    /// Id of the installation.
    #[serde(default)]
    installation: String,
    /// The progress of the first boot; absent before the first look at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) first_boot: Option<FirstBoot>,
}

/// A report that the cluster has.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ReportEntry {
    /// Its name. The host part may differ from the current host name: before the network is up a
    /// node may be called `localhost`.
    pub(crate) name: String,
    /// Its uid, if the server returned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// An Event that the cluster has: the report it belongs to, and when, in seconds since 1970 by the
/// node's clock.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct EventEntry {
    report: String,
    at: u64,
}

impl Ledger {
    /// An empty one, for this installation.
    pub(crate) fn new(installation: &str) -> Self {
        let (api_version, kind) = (API_VERSION.to_owned(), "ReportState".to_owned());
        Self {
            api_version,
            kind,
            reports: Vec::new(),
            event: None,
            node_patch: None,
            no_verdict_boot: None,
            node_failure: None,
            installation: installation.to_owned(),
            first_boot: None,
        }
    }

    /// Reads the state; an empty one if there is none of this installation: /var may be older. After an error the caller goes on with an
    /// empty one: things are sent again, and the server answers 409 to a name that it has.
    pub(crate) fn load(root: &Root, installation: &str) -> Result<Self, FileError> {
        let fresh = Self::new(installation);
        let Some(text) = root.read_text(STATE_PATH, STATE_MAX)? else {
            return Ok(fresh);
        };
        let mut state: Self =
            json::read(text.as_bytes()).map_err(|error| FileError::content(STATE_PATH, error))?;
        if state.installation != installation {
            return Ok(fresh);
        }
        let surplus = state.reports.len().saturating_sub(REPORTS_MAX);
        state.reports.drain(..surplus);
        Ok(state)
    }

    /// Writes the state as a whole.
    pub(crate) fn save(&self, root: &Root) -> Result<(), FileError> {
        // A struct of strings always serialises.
        let mut json = json::pretty(self).unwrap_or_default();
        json.push(b'\n');
        root.write(STATE_PATH, &json, 0o644)
    }

    /// Records that the cluster has the report of that name.
    pub(crate) fn report_delivered(&mut self, name: &str, uid: Option<&str>) {
        self.reports.retain(|report| report.name != name);
        if self.reports.len() >= REPORTS_MAX {
            self.reports.remove(0);
        }
        self.reports.push(ReportEntry {
            name: name.to_owned(),
            uid: uid.map(|uid| bounded(uid, 64)),
        });
    }

    /// The report that the cluster has for the same verdict as `name`, perhaps under another host
    /// name.
    pub(crate) fn known_report(&self, name: &str) -> Option<&ReportEntry> {
        self.reports
            .iter()
            .find(|report| hash_of(&report.name) == hash_of(name))
    }

    /// The cluster has a report or an Event of that name.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.known_report(name).is_some() || self.last_event(name).is_some()
    }

    /// Records that the cluster has an Event about the report of that name.
    pub(crate) fn event_delivered(&mut self, report: &str, at: u64) {
        self.event = Some(EventEntry {
            report: report.to_owned(),
            at,
        });
    }

    /// The time of the last Event about the report of that name, in seconds since 1970.
    pub(crate) fn last_event(&self, report: &str) -> Option<u64> {
        self.event
            .as_ref()
            .filter(|event| hash_of(&event.report) == hash_of(report))
            .map(|event| event.at)
    }
}

/// The part of a report's name after the host.
pub(super) fn hash_of(name: &str) -> &str {
    name.rsplit_once('-').map_or(name, |(_, hash)| hash)
}
