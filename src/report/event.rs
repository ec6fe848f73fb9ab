//! The Event about a verdict, for people who look at Events first (pure).

use super::names::event_name;
use super::objects::{NAMESPACE, ObjectMeta, WHY};
use super::stall::{Phase, Progress};
use crate::API_VERSION;
use crate::clock;
use crate::node::identity::Identity;
use crate::text::bounded;
use crate::transport::Request;
use crate::verdict::{Action, Fate, Reason, Verdict};
use serde::Serialize;
use std::time::SystemTime;

/// The reporting controller. The admission policy in `dist/manifests` lets the bootstrap identity
/// write Events of this controller only.
pub(crate) const REPORTING_CONTROLLER: &str = "skewguard.dev/agent";

/// Longest note (Kubernetes, `events.k8s.io/v1` Event: "Maximal length of the note is 1kB").
pub(crate) const NOTE_MAX: usize = 1024;

/// Longest `reportingInstance`, `action` and `reason` (Kubernetes, `events.k8s.io/v1` Event).
const NAME_MAX: usize = 128;

/// An `events.k8s.io/v1` Event.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    api_version: &'static str,
    kind: &'static str,
    metadata: ObjectMeta,
    event_time: String,
    r#type: &'static str,
    reason: String,
    action: Action,
    pub(super) note: String,
    regarding: Regarding,
    reporting_controller: &'static str,
    reporting_instance: String,
}

/// The part of `core/v1` ObjectReference that is set here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Regarding {
    api_version: &'static str,
    kind: &'static str,
    name: String,
    /// Set even if `kind` is Namespace: without it an Event is only accepted in `default` and
    /// `kube-system`.
    namespace: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
}

impl Regarding {
    /// The node's report, with the `uid` that the server gave it, so that `oc describe bir` shows
    /// the Event.
    pub fn report(name: &str, uid: Option<&str>) -> Self {
        let uid = uid
            .filter(|uid| !uid.is_empty())
            .map(|uid| bounded(uid, NAME_MAX));
        Self {
            api_version: API_VERSION,
            kind: "BootImageReport",
            name: name.to_owned(),
            namespace: NAMESPACE,
            uid,
        }
    }

    /// The namespace, where there is no report to refer to.
    pub fn namespace() -> Self {
        Self {
            api_version: "v1",
            kind: "Namespace",
            name: NAMESPACE.to_owned(),
            namespace: NAMESPACE,
            uid: None,
        }
    }
}

/// The subject of an Event.
#[derive(Debug, Clone, Copy)]
pub enum EventSubject<'a> {
    /// A verdict.
    Verdict(&'a Verdict),
    /// A run of `skewguard.service` that ended without one.
    NoVerdict {
        /// The node is held nevertheless: the run ended after the hold.
        held: bool,
    },
    /// A first boot that does not finish.
    Stalled(&'a Progress),
    /// A first boot that goes on after it hung in this phase.
    WentOn(Phase),
}

impl EventSubject<'_> {
    /// Reason, action and note of the Event about the node `who`.
    fn told(self, who: &str) -> (String, Action, String) {
        let (reason, action, note) = match self {
            Self::Verdict(verdict) => {
                let reason = match verdict.fate() {
                    Fate::Warned => Reason::KnownIssue,
                    _ => verdict.reason,
                };
                return (reason.to_string(), verdict.action, note(verdict, who));
            }
            Self::NoVerdict { held } => {
                let action = if held { Action::Block } else { Action::Proceed };
                let note = format!(
                    "Node {who}: {}. See `journalctl -b -u skewguard.service` on the node.",
                    no_verdict(held)
                );
                (NO_VERDICT, action, note)
            }
            Self::Stalled(progress) => {
                let note = format!("Node {who}: {}{WHY}", progress.told(NOTE_MAX));
                (STALLED, Action::Proceed, note)
            }
            Self::WentOn(phase) => {
                let note = format!(
                    "Node {who}: the first boot goes on after the phase {}.",
                    phase.as_str()
                );
                (WENT_ON, Action::Proceed, note)
            }
        };
        (reason.to_owned(), action, bounded(&note, NOTE_MAX))
    }
}

impl Event {
    /// Makes the Event, named after the report and the two-hour slot that `now` is in.
    pub fn new(
        about: EventSubject<'_>,
        report: &str,
        regarding: Regarding,
        identity: &Identity,
        now: SystemTime,
    ) -> Self {
        let host = identity
            .hostname
            .as_deref()
            .filter(|host| !host.is_empty())
            .unwrap_or("unknown");
        let (reason, action, note) = about.told(&who(identity, host));
        let went_on = matches!(about, EventSubject::WentOn(_));
        let mut name = event_name(report, clock::unix(now));
        if went_on {
            // The admission policy takes a number there; one digit more is no other Event's.
            name.push('f');
        }
        Self {
            api_version: "events.k8s.io/v1",
            kind: "Event",
            metadata: ObjectMeta {
                name,
                namespace: NAMESPACE,
            },
            event_time: clock::micro_time(now),
            r#type: if went_on { "Normal" } else { "Warning" },
            reason,
            action,
            note,
            regarding,
            reporting_controller: REPORTING_CONTROLLER,
            reporting_instance: bounded(host, NAME_MAX),
        }
    }

    /// The request that creates it.
    pub fn request(&self) -> Request {
        Request::new(
            "POST",
            format!("/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"),
            self,
        )
    }
}

/// The reason of the Event about a first boot that does not finish.
const STALLED: &str = "FirstBootStalled";

/// The reason of the Event about one that goes on.
const WENT_ON: &str = "FirstBootWentOn";

/// The reason of the Event about a run without a verdict.
pub(crate) const NO_VERDICT: &str = "NoVerdict";

fn note(verdict: &Verdict, who: &str) -> String {
    let what = verdict.fate_words().event;
    let image = verdict.boot_image.as_ref().map(|image| &image.version);
    let facts = [
        ("boot image", image),
        ("target release", verdict.target.release.as_ref()),
        ("pool", verdict.target.pool.as_ref()),
    ];
    let facts: Vec<String> = facts
        .into_iter()
        .filter_map(|(name, value)| value.map(|value| format!("{name} {value}")))
        .collect();
    let facts = if facts.is_empty() {
        String::new()
    } else {
        format!(" ({})", facts.join(", "))
    };
    bounded(
        &format!("Node {who} {what}: {}{facts}{WHY}", verdict.sentence()),
        NOTE_MAX,
    )
}

/// Describes a node on which a run of the service left no verdict.
pub(super) fn no_verdict(held: bool) -> &'static str {
    if held {
        "skewguard.service ended without a verdict that can be read, but it holds the node back, which does not join the cluster"
    } else {
        "skewguard.service ended without a verdict, so the boot image was not checked and the node goes on to join"
    }
}

/// The host name and the first address; either may identify the Machine.
fn who(identity: &Identity, host: &str) -> String {
    match identity.addresses.first() {
        Some(address) => format!(
            "{} ({})",
            bounded(host, NAME_MAX),
            bounded(address, NAME_MAX)
        ),
        None => bounded(host, NAME_MAX),
    }
}
