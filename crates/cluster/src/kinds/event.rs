//! Events of either API (pure).

use super::groups::REPORTS_NAMESPACE;
use super::metadata::{ObjectMeta, Reference};
use super::report::without_hint;
use crate::lenient::message_if_any;
use crate::moment::{Moment, Time};
use serde::Deserialize;

/// An Event.
#[derive(Debug, Default)]
pub struct Event {
    pub namespace: String,
    pub kind: String,
    pub name: String,
    pub reason: String,
    pub message: String,
    pub is_warning: bool,
    pub last: Option<Moment>,
    /// The host that made it, in lower case, where that is the node's own agent.
    pub agent: Option<String>,
    /// `Block` or `Proceed`, of such an Event.
    pub action: String,
}

/// An Event as either API has it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct EventObject {
    metadata: ObjectMeta,
    involved_object: Reference,
    regarding: Reference,
    reason: String,
    #[serde(deserialize_with = "message_if_any")]
    message: Option<String>,
    #[serde(deserialize_with = "message_if_any")]
    note: Option<String>,
    #[serde(rename = "type")]
    kind: String,
    series: Series,
    last_timestamp: Time,
    deprecated_last_timestamp: Time,
    event_time: Time,
    first_timestamp: Time,
    reporting_controller: Option<String>,
    reporting_component: Option<String>,
    reporting_instance: Option<String>,
    action: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Series {
    last_observed_time: Time,
}

/// The controller of the agent's Events.
const AGENT: &str = "skewguard.dev/agent";

/// The kinds whose Events say something, beside those of the nodes' own agent.
const ABOUT: [&str; 4] = [
    "Machine",
    "MachineSet",
    "MachineConfigPool",
    "BareMetalHost",
];

impl Event {
    pub fn of(object: EventObject) -> Self {
        let (old, new) = (object.involved_object, object.regarding);
        let about = |old: Option<String>, new: Option<String>| old.or(new).unwrap_or_default();
        let times = [
            object.series.last_observed_time,
            object.last_timestamp,
            object.deprecated_last_timestamp,
            object.event_time,
            object.first_timestamp,
            Time(object.metadata.kept().created),
        ];
        let controller = object.reporting_controller.or(object.reporting_component);
        Self {
            namespace: about(old.namespace, new.namespace),
            kind: about(old.kind, new.kind),
            name: about(old.name, new.name),
            reason: object.reason,
            message: without_hint(&about(object.message, object.note)),
            is_warning: object.kind == "Warning",
            last: times.iter().find_map(|time| time.0),
            // A joined node may make Events everywhere; the agents' own are there.
            agent: object
                .reporting_instance
                .filter(|_| object.metadata.kept().namespace == REPORTS_NAMESPACE)
                .filter(|_| controller.as_deref() == Some(AGENT))
                .map(|host| host.to_ascii_lowercase()),
            action: object.action,
        }
    }

    /// Tells whether it says something of machines: it is about one, or about the object of a provider that
    /// the Cluster API makes one from (`AWSMachine`), or of a node's own agent.
    pub fn is_of_interest(&self) -> bool {
        self.agent.is_some() || ABOUT.contains(&&*self.kind) || self.kind.ends_with("Machine")
    }
}
