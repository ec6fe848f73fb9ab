//! Certificate requests, Events, health checks and reports, as far as `why` keeps them (pure).

use super::kinds::{Condition, Machine, Meta, condition, labels, moment};
use crate::kinds::certificate::Validity;
use crate::kinds::fields::{list_at, message_at, str_at, text_at};
use crate::kinds::kind_table::CLUSTER_API;
use crate::kinds::nodes::reporter;
use crate::kinds::request_name::{NODE_USER, node_of_request};
use crate::moment::{Moment, go_duration};
use crate::text::printable;
use serde_json::Value;
use std::collections::BTreeMap;

/// A CertificateSigningRequest of a node.
#[derive(Debug, Default)]
pub struct CertificateRequest {
    pub name: String,
    pub created: Option<Moment>,
    /// The node that it is for, in lower case.
    pub node: Option<String>,
    /// A node's certificate as a client; else the one that it serves with.
    pub is_client: bool,
    /// Of a machine that is no Node yet: a node asks by its own name.
    pub is_first: bool,
    pub is_approved: bool,
    pub is_signed: bool,
    /// Dates of the certificate, where it is there.
    pub dates: Option<Validity>,
    /// The reason of a denial or a failure.
    pub denied: Option<String>,
}

impl CertificateRequest {
    pub fn of(object: &Value) -> Option<Self> {
        let is_client = match str_at(object, "/spec/signerName") {
            Some("kubernetes.io/kube-apiserver-client-kubelet") => true,
            Some("kubernetes.io/kubelet-serving") => false,
            _ => return None,
        };
        let conditions = Condition::list(object, "/status/conditions");
        let user = str_at(object, "/spec/username").unwrap_or_default();
        let node = match user.strip_prefix(NODE_USER) {
            Some(node) => Some(printable(node)),
            None => str_at(object, "/spec/request").and_then(node_of_request),
        };
        let certificate = str_at(object, "/status/certificate");
        let denied = condition(&conditions, "Denied").or_else(|| condition(&conditions, "Failed"));
        Some(Self {
            name: text_at(object, "/metadata/name")?,
            created: moment(object, "/metadata/creationTimestamp"),
            node: node.map(|node| node.trim_end_matches('.').to_ascii_lowercase()),
            is_client,
            is_first: is_client && !user.starts_with(NODE_USER),
            is_approved: condition(&conditions, "Approved").is_some(),
            is_signed: certificate.is_some(),
            dates: certificate.and_then(Validity::of_encoded_pem),
            denied: denied.map(Condition::says),
        })
    }

    pub fn is_pending(&self) -> bool {
        !self.is_approved && self.denied.is_none()
    }
}

/// An Event of either API.
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

/// A text of the agent without its hint at this command.
fn without_hint(text: &str) -> String {
    text.trim_end_matches(" (more: oc skewguard why)")
        .to_owned()
}

/// The controller of the agent's Events.
const AGENT: &str = "skewguard.dev/agent";

impl Event {
    pub fn of(object: &Value) -> Self {
        let text = |paths: [&str; 2]| {
            paths
                .iter()
                .find_map(|path| text_at(object, path))
                .unwrap_or_default()
        };
        let times = [
            "/series/lastObservedTime",
            "/lastTimestamp",
            "/deprecatedLastTimestamp",
            "/eventTime",
            "/firstTimestamp",
            "/metadata/creationTimestamp",
        ];
        Self {
            namespace: text(["/involvedObject/namespace", "/regarding/namespace"]),
            kind: text(["/involvedObject/kind", "/regarding/kind"]),
            name: text(["/involvedObject/name", "/regarding/name"]),
            reason: text(["/reason", "/reason"]),
            message: without_hint(
                &message_at(object, "/message")
                    .or_else(|| message_at(object, "/note"))
                    .unwrap_or_default(),
            ),
            is_warning: str_at(object, "/type") == Some("Warning"),
            last: times.iter().find_map(|path| moment(object, path)),
            // A joined node may make Events everywhere; the agents' own are there.
            agent: text_at(object, "/reportingInstance")
                .filter(|_| str_at(object, "/metadata/namespace") == Some("skewguard"))
                .filter(|_| text(["/reportingController", "/reportingComponent"]) == AGENT)
                .map(|host| host.to_ascii_lowercase()),
            action: text(["/action", "/action"]),
        }
    }
}

/// An expression of a selector.
#[derive(Debug)]
struct Expression {
    key: String,
    operator: String,
    values: Vec<String>,
}

impl Expression {
    fn of(object: &Value) -> Self {
        let values = list_at(object, "/values").iter();
        Self {
            key: text_at(object, "/key").unwrap_or_default(),
            operator: text_at(object, "/operator").unwrap_or_default(),
            values: values.filter_map(Value::as_str).map(printable).collect(),
        }
    }

    /// Tells if it surely holds for a Machine: an operator that is not known does not.
    fn holds(&self, machine: &Machine) -> bool {
        let own = machine.labels.get(&self.key);
        let is_listed = own.is_some_and(|own| self.values.contains(own));
        match &*self.operator {
            "In" => is_listed,
            "NotIn" => !is_listed,
            "Exists" => own.is_some(),
            "DoesNotExist" => own.is_none(),
            _ => false,
        }
    }
}

/// A MachineHealthCheck of either API.
#[derive(Debug, Default)]
pub struct HealthCheck {
    pub meta: Meta,
    pub is_of_cluster_api: bool,
    labels: BTreeMap<String, String>,
    expressions: Vec<Expression>,
    /// In seconds; 0 is never.
    pub startup_timeout: u64,
    pub is_default: bool,
    /// It is of cluster.x-k8s.io/v1beta2.
    pub has_checks: bool,
}

impl HealthCheck {
    pub fn of(group: &str, object: &Value) -> Self {
        // In seconds, of cluster.x-k8s.io/v1beta2.
        let seconds = object.pointer("/spec/checks/nodeStartupTimeoutSeconds");
        let timeout = seconds
            .and_then(Value::as_u64)
            .or_else(|| go_duration(str_at(object, "/spec/nodeStartupTimeout")?));
        Self {
            meta: Meta::of(object),
            is_of_cluster_api: group == CLUSTER_API,
            labels: labels(object, "/spec/selector/matchLabels"),
            expressions: list_at(object, "/spec/selector/matchExpressions")
                .iter()
                .map(Expression::of)
                .collect(),
            // machine-api-operator, `defaultNodeStartupTimeout`; the Cluster API has the same.
            startup_timeout: timeout.unwrap_or(600),
            has_checks: object.pointer("/spec/checks").is_some(),
            is_default: timeout.is_none(),
        }
    }

    /// Tells if it surely looks after a Machine. An empty selector takes all.
    pub fn covers(&self, machine: &Machine) -> bool {
        self.is_of_cluster_api == machine.is_of_cluster_api
            && self.meta.namespace == machine.meta.namespace
            && self.expressions.iter().all(|one| one.holds(machine))
            && self
                .labels
                .iter()
                .all(|(name, value)| machine.labels.get(name) == Some(value))
    }
}

/// A MachineSet that may have failed to make a Machine.
#[derive(Debug, Default)]
pub struct MachineSet {
    pub meta: Meta,
    pub wanted: i64,
    pub made: i64,
    pub conditions: Vec<Condition>,
}

impl MachineSet {
    pub fn of(object: &Value) -> Self {
        let number = |path| object.pointer(path).and_then(Value::as_i64);
        Self {
            meta: Meta::of(object),
            wanted: number("/spec/replicas").unwrap_or_default(),
            made: number("/status/replicas").unwrap_or_default(),
            conditions: Condition::list(object, "/status/conditions"),
        }
    }
}

/// A `BootImageReport`.
#[derive(Debug, Default)]
pub struct Report {
    pub meta: Meta,
    pub observed: Option<Moment>,
    pub verdict: String,
    pub action: String,
    pub reason: String,
    pub message: String,
    pub image: Option<String>,
    pub progress: Option<Progress>,
    /// Addresses, host name and product UUID, in lower case.
    pub names: Vec<String>,
}

/// The state of a first boot, by the node's own claim.
#[derive(Debug, Default)]
pub struct Progress {
    pub phase: String,
    pub cause: String,
    pub message: String,
    pub minutes: u64,
}

impl Report {
    pub fn of(object: &Value) -> Self {
        let text = |path: &str| text_at(object, path).unwrap_or_default();
        let message = |path: &str| message_at(object, path).unwrap_or_default();
        let progress = object.pointer("/report/progress").map(|_| Progress {
            phase: text("/report/progress/phase"),
            cause: text("/report/progress/cause"),
            message: message("/report/progress/message"),
            minutes: object
                .pointer("/report/progress/minutes")
                .and_then(Value::as_u64)
                .unwrap_or_default(),
        });
        Self {
            meta: Meta::of(object),
            observed: moment(object, "/report/observedAt"),
            verdict: text("/report/verdict/verdict"),
            action: text("/report/verdict/action"),
            reason: text("/report/verdict/reason"),
            message: message("/report/verdict/message"),
            image: text_at(object, "/report/verdict/bootImage/version"),
            progress,
            names: reporter(object),
        }
    }

    /// When it was made: the server's clock, not the node's.
    pub fn at(&self) -> Option<Moment> {
        self.meta.created.or(self.observed)
    }
}
