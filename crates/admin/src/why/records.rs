//! Certificate requests, Events, health checks and reports, as far as `why` keeps them (pure).

use super::certificate::Validity;
use super::kinds::{Condition, Machine, Meta, condition, labels, moment};
use super::moment::{Moment, go_duration};
use super::request_name::{NODE_USER, node_of_request};
use crate::audit::cluster::fields::{list_at, str_at, text_at};
use crate::audit::cluster::kind_table::CLUSTER_API;
use crate::audit::cluster::nodes::reporter;
use crate::text::printable;
use serde_json::Value;
use std::collections::BTreeMap;

/// A CertificateSigningRequest of a node.
#[derive(Debug, Default)]
pub(super) struct CertificateRequest {
    pub(super) name: String,
    pub(super) created: Option<Moment>,
    /// The node that it is for, in lower case.
    pub(super) node: Option<String>,
    /// A node's first certificate; else the one that it serves with.
    pub(super) is_client: bool,
    pub(super) is_approved: bool,
    pub(super) is_signed: bool,
    /// Dates of the certificate, where it is there.
    pub(super) dates: Option<Validity>,
    /// The reason of a denial or a failure.
    pub(super) denied: Option<String>,
}

impl CertificateRequest {
    pub(super) fn of(object: &Value) -> Option<Self> {
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
            node: node.map(|node| node.to_ascii_lowercase()),
            is_client,
            is_approved: condition(&conditions, "Approved").is_some(),
            is_signed: certificate.is_some(),
            dates: certificate.and_then(Validity::of_encoded_pem),
            denied: denied.map(Condition::says),
        })
    }

    pub(super) fn is_pending(&self) -> bool {
        !self.is_approved && self.denied.is_none()
    }
}

/// An Event of either API.
#[derive(Debug, Default)]
pub(super) struct Event {
    pub(super) namespace: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) is_warning: bool,
    pub(super) last: Option<Moment>,
    /// The host that made it, in lower case, where that is the node's own agent.
    pub(super) agent: Option<String>,
    /// `Block` or `Proceed`, of such an Event.
    pub(super) action: String,
}

/// A text of the agent without its hint at this command.
fn without_hint(text: &str) -> String {
    text.trim_end_matches(" (more: oc skewguard why)")
        .to_owned()
}

/// The controller of the agent's Events.
const AGENT: &str = "skewguard.dev/agent";

impl Event {
    pub(super) fn of(object: &Value) -> Self {
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
            message: without_hint(&text(["/message", "/note"])),
            is_warning: str_at(object, "/type") == Some("Warning"),
            last: times.iter().find_map(|path| moment(object, path)),
            agent: text_at(object, "/reportingInstance")
                .filter(|_| text(["/reportingController", "/reportingComponent"]) == AGENT)
                .map(|host| host.to_ascii_lowercase()),
            action: text(["/action", "/action"]),
        }
    }
}

/// A MachineHealthCheck of either API.
#[derive(Debug, Default)]
pub(super) struct HealthCheck {
    pub(super) meta: Meta,
    pub(super) is_of_cluster_api: bool,
    labels: BTreeMap<String, String>,
    /// Its selector has expressions, which are not understood here.
    pub(super) has_expressions: bool,
    /// In seconds; 0 is never.
    pub(super) startup_timeout: u64,
    pub(super) is_default: bool,
    /// It is of cluster.x-k8s.io/v1beta2.
    pub(super) has_checks: bool,
}

impl HealthCheck {
    pub(super) fn of(group: &str, object: &Value) -> Self {
        // In seconds, of cluster.x-k8s.io/v1beta2.
        let seconds = object.pointer("/spec/checks/nodeStartupTimeoutSeconds");
        let timeout = seconds
            .and_then(Value::as_u64)
            .or_else(|| go_duration(str_at(object, "/spec/nodeStartupTimeout")?));
        Self {
            meta: Meta::of(object),
            is_of_cluster_api: group == CLUSTER_API,
            labels: labels(object, "/spec/selector/matchLabels"),
            has_expressions: !list_at(object, "/spec/selector/matchExpressions").is_empty(),
            // machine-api-operator, `defaultNodeStartupTimeout`; the Cluster API has the same.
            startup_timeout: timeout.unwrap_or(600),
            has_checks: object.pointer("/spec/checks").is_some(),
            is_default: timeout.is_none(),
        }
    }

    /// Tells if it surely looks after a Machine. An empty selector takes all.
    pub(super) fn covers(&self, machine: &Machine) -> bool {
        self.is_of_cluster_api == machine.is_of_cluster_api
            && self.meta.namespace == machine.meta.namespace
            && !self.has_expressions
            && self
                .labels
                .iter()
                .all(|(name, value)| machine.labels.get(name) == Some(value))
    }
}

/// A MachineSet that may have failed to make a Machine.
#[derive(Debug, Default)]
pub(super) struct MachineSet {
    pub(super) meta: Meta,
    pub(super) wanted: i64,
    pub(super) made: i64,
}

impl MachineSet {
    pub(super) fn of(object: &Value) -> Self {
        let number = |path| object.pointer(path).and_then(Value::as_i64);
        Self {
            meta: Meta::of(object),
            wanted: number("/spec/replicas").unwrap_or_default(),
            made: number("/status/replicas").unwrap_or_default(),
        }
    }
}

/// A `BootImageReport`.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) meta: Meta,
    pub(super) observed: Option<Moment>,
    pub(super) verdict: String,
    pub(super) action: String,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) image: Option<String>,
    pub(super) remediation: Option<String>,
    pub(super) progress: Option<Progress>,
    /// Addresses, host name and product UUID, in lower case.
    pub(super) names: Vec<String>,
}

/// The state of a first boot, by the node's own claim.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) phase: String,
    pub(super) cause: String,
    pub(super) message: String,
    pub(super) minutes: u64,
}

impl Report {
    pub(super) fn of(object: &Value) -> Self {
        let text = |path: &str| text_at(object, path).unwrap_or_default();
        let progress = object.pointer("/report/progress").map(|_| Progress {
            phase: text("/report/progress/phase"),
            cause: text("/report/progress/cause"),
            message: text("/report/progress/message"),
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
            message: text("/report/verdict/message"),
            image: text_at(object, "/report/verdict/bootImage/version"),
            remediation: text_at(object, "/report/remediation/text")
                .map(|text| without_hint(&text)),
            progress,
            names: reporter(object),
        }
    }

    /// When it was made: the server's clock, not the node's.
    pub(super) fn at(&self) -> Option<Moment> {
        self.meta.created.or(self.observed)
    }
}
