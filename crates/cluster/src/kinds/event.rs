//! Events of either API (pure).

use super::groups::REPORTS_NAMESPACE;

use super::report::without_hint;
use crate::lenient::message;
use crate::moment::{Moment, time};
use serde::Deserialize;

/// An Event.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "EventObject")]
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
#[derive(Deserialize)]
struct EventObject {
    #[serde(rename = "metadata.namespace")]
    own_namespace: String,
    #[serde(rename = "involvedObject.namespace|regarding.namespace")]
    namespace: String,
    #[serde(rename = "involvedObject.kind|regarding.kind")]
    kind: String,
    #[serde(rename = "involvedObject.name|regarding.name")]
    name: String,
    reason: String,
    #[serde(rename = "message|note", deserialize_with = "message")]
    message: String,
    #[serde(rename = "type")]
    weight: String,
    #[serde(
        rename = "series.lastObservedTime|lastTimestamp|deprecatedLastTimestamp|\
                  eventTime|firstTimestamp|metadata.creationTimestamp",
        deserialize_with = "time"
    )]
    last: Option<Moment>,
    #[serde(rename = "reportingController|reportingComponent")]
    controller: String,
    reporting_instance: Option<String>,
    action: String,
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

impl From<EventObject> for Event {
    fn from(object: EventObject) -> Self {
        // A joined node may make Events everywhere; the agents' own are there.
        let is_agent = object.own_namespace == REPORTS_NAMESPACE && object.controller == AGENT;
        let agent = object.reporting_instance.filter(|_| is_agent);
        Self {
            namespace: object.namespace,
            kind: object.kind,
            name: object.name,
            reason: object.reason,
            message: without_hint(&object.message),
            is_warning: object.weight == "Warning",
            last: object.last,
            agent: agent.map(|host| host.to_ascii_lowercase()),
            action: object.action,
        }
    }
}

impl Event {
    /// Tells whether it says something of machines: it is about one, or about the object of a provider that
    /// the Cluster API makes one from (`AWSMachine`), of a node's own agent, or of the cluster-autoscaler.
    pub fn is_of_interest(&self) -> bool {
        let is_about_machines = ABOUT.contains(&&*self.kind) || self.kind.ends_with("Machine");
        self.agent.is_some() || is_about_machines || self.is_of_autoscaler()
    }

    /// Tells whether it is about the cluster-autoscaler's work, by the ConfigMap that it is about.
    pub fn is_of_autoscaler(&self) -> bool {
        self.kind == "ConfigMap" && self.name == "cluster-autoscaler-status"
    }
}
