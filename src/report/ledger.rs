//! The record of deliveries: kept in `/var/lib/skewguard`, so that later boots do not repeat them.

use super::names::hex16;
use super::random;
use super::stall::FirstBoot;
use crate::API_VERSION;
use crate::json;
use crate::node::{FileError, Record, Root};
pub(crate) use crate::node::{INSTALLATION_PATH, STATE_PATH};
use crate::text::bounded;
use crate::text::hex;
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
    /// The boot of the installation's first run, as its record has it; absent in the state of an
    /// older release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    installation: Option<String>,
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
    /// An empty one, for the installation whose record this is.
    pub(crate) fn new(record: Option<&Record>) -> Self {
        let (api_version, kind) = (API_VERSION.to_owned(), "ReportState".to_owned());
        Self {
            api_version,
            kind,
            reports: Vec::new(),
            event: None,
            node_patch: None,
            no_verdict_boot: None,
            node_failure: None,
            installation: record.and_then(Record::first_boot_id).map(str::to_owned),
            first_boot: None,
        }
    }

    /// An earlier installation left it on a /var that could not be written to since.
    fn is_of_an_earlier_installation(&self, record: Option<&Record>) -> bool {
        match (&self.installation, record.and_then(Record::first_boot_id)) {
            (Some(of), first) => Some(of.as_str()) != first,
            (None, Some(_)) => record.is_some_and(|record| !record.is_in_var()),
            (None, None) => false,
        }
    }

    /// Reads the state; an empty one if there is none. After an error the caller goes on with an
    /// empty one: things are sent again, and the server answers 409 to a name that it has.
    pub(crate) fn load(root: &Root, record: Option<&Record>) -> Result<Self, FileError> {
        let fresh = Self::new(record);
        let Some(text) = root.read_text(STATE_PATH, STATE_MAX)? else {
            return Ok(fresh);
        };
        let mut state: Self =
            json::read(text.as_bytes()).map_err(|error| FileError::content(STATE_PATH, error))?;
        if state.is_of_an_earlier_installation(record) {
            return Ok(fresh);
        }
        state.installation = fresh.installation;
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

/// The installation's random id, made at the first call and kept. If it cannot be kept (`/var` is
/// read-only or full), it is a hash of machine-id(5), which is the same on the next boot, and the
/// error is returned with it. Where /var could not hold the record either, what is there may be an
/// earlier installation's: then it is a hash of the first boot's id.
pub(crate) fn installation(
    root: &Root,
    record: Option<&Record>,
    machine_id: Option<&str>,
) -> (String, Option<FileError>) {
    let beside = record.filter(|record| !record.is_in_var());
    if let Some(first) = beside.and_then(Record::first_boot_id) {
        return (hex16(&["skewguard.dev/installation\n", first]), None);
    }
    match kept_installation(root) {
        Ok(id) => (id, None),
        Err(problem) => (
            hex16(&[
                "skewguard.dev/installation\n",
                machine_id.unwrap_or_default(),
            ]),
            Some(problem),
        ),
    }
}

fn kept_installation(root: &Root) -> Result<String, FileError> {
    let is_id = |text: &str| text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let kept = root
        .read_text(INSTALLATION_PATH, 128)?
        .map(|text| text.trim().to_owned());
    if let Some(id) = kept.filter(|id| is_id(id)) {
        return Ok(id);
    }
    let id = hex(&random::bytes::<16>().map_err(|error| FileError::new(random::SOURCE, error))?);
    root.write(INSTALLATION_PATH, format!("{id}\n").as_bytes(), 0o600)?;
    Ok(id)
}

/// The part of a report's name after the host.
pub(super) fn hash_of(name: &str) -> &str {
    name.rsplit_once('-').map_or(name, |(_, hash)| hash)
}
