//! Reads an API server's answer to a delivery: it arrived, it is to be tried again, or a
//! person has to mend something (pure).

use crate::json;
use crate::text::{bounded, printable_up_to};
use crate::transport::{Response, TransportError};
use serde::Deserialize;
use std::time::Duration;

/// Longest uid that is kept, in bytes; Kubernetes uses UUIDs.
const UID_MAX: usize = 64;

/// Longest part of a server's own message that is passed on, in characters.
const MESSAGE_MAX: usize = 300;

/// A longer `Retry-After` is cut to this.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3600);

/// Stands in for the message of an answer that has none.
const NO_REASON: &str = "the server gives no reason";

/// The four things that are sent, each independent of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Channel {
    /// `POST` of the `BootImageReport`, as the bootstrap identity.
    Report,
    /// `POST` of the Event, as the bootstrap identity.
    Event,
    /// `PATCH` of this node's Node, as the kubelet.
    Node,
    /// `POST` of a failure to the Machine Config Server, as nobody.
    Failure,
}

/// The remedy for a 403 on the two channels of the bootstrap identity.
const ROLE: &str = "the Role skewguard-report in the namespace skewguard is missing there; this grants it: \
                    oc skewguard render manifests | oc apply -f -";

impl Channel {
    /// Its name in log lines.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Event => "event",
            Self::Node => "node label",
            Self::Failure => "report to the machine-config-server",
        }
    }

    /// The verb and the resource as RBAC names them, and the remedy for a 403.
    fn rbac(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Report => ("create", "bootimagereports.skewguard.dev", ROLE),
            // Of a failure there are no rights: its answers are read before.
            Self::Event | Self::Failure => ("create", "events.events.k8s.io", ROLE),
            Self::Node => (
                "patch",
                "nodes",
                "a kubelet may patch its own Node wherever the Node authorizer is in use; is this certificate this cluster's?",
            ),
        }
    }
}

/// The time at which a failed request is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// After the quick backoff.
    Backoff,
    /// After the quick backoff, but not earlier than this.
    After(Duration),
    /// After the slow backoff: only a change in the cluster helps.
    Slowly,
    /// After the quick backoff a few times, then after the slow one: an API server that is just
    /// starting forbids everything.
    SlowlyIfRepeated,
    /// After an hour or two, if the run goes on as long: the cluster serves no such object.
    Unserved,
}

/// The outcome of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It is in the cluster.
    Delivered {
        /// The object's uid, if the server returned it.
        uid: Option<String>,
        /// It was there already: an earlier try had arrived.
        already: bool,
    },
    /// It is not in the cluster.
    Failed {
        /// The time of the next try.
        retry: Retry,
        /// The reason and the remedy: one line for the journal.
        why: String,
        /// The reason: one clause for the console.
        brief: String,
    },
}

/// The part of a body that is read: of a `metav1.Status`, or of the object that was created or
/// changed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Body {
    kind: String,
    message: String,
    reason: String,
    metadata: BodyMetadata,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct BodyMetadata {
    name: String,
    uid: Option<String>,
}

impl Answer {
    /// Reads the outcome of a request on `channel`.
    pub fn read(channel: Channel, result: Result<Response, TransportError>) -> Self {
        let response = match result {
            Ok(response) => response,
            Err(error) => {
                let retry = if error.failure.is_passing() {
                    Retry::Backoff
                } else {
                    Retry::Slowly
                };
                return Self::same(retry, error.to_string());
            }
        };
        let Response {
            status,
            retry_after,
            body: bytes,
        } = response;
        if channel == Channel::Failure && status != 429 && status < 500 {
            return if status == 202 {
                Self::Delivered {
                    uid: None,
                    already: false,
                }
            } else {
                Self::same(
                    Retry::Unserved,
                    format!("{status}: the machine-config-server does not take it"),
                )
            };
        }
        let body: Body = json::read(&bytes).unwrap_or_default();
        match status {
            // An API server returns the object that it has made or changed. A 2xx without one came
            // from something else, which stored nothing.
            200..300 if !body.metadata.name.is_empty() => Self::Delivered {
                uid: body.metadata.uid.map(|uid| bounded(&uid, UID_MAX)),
                already: false,
            },
            409 if body.kind == "Status"
                && body.reason == "AlreadyExists"
                && channel != Channel::Node =>
            {
                Self::Delivered {
                    uid: None,
                    already: true,
                }
            }
            _ => {
                // For a path that it does not serve, such as that of a missing CRD, an API server
                // writes plain text or JSON, but never HTML.
                let unserved = bytes
                    .trim_ascii_start()
                    .first()
                    .is_some_and(|first| *first != b'<');
                Self::failed(channel, status, retry_after, &body, unserved)
            }
        }
    }

    fn failed(
        channel: Channel,
        status: u16,
        retry_after: Option<Duration>,
        body: &Body,
        unserved: bool,
    ) -> Self {
        let is_status = body.kind == "Status";
        let raw = if is_status { &*body.message } else { "" };
        let message = match raw {
            "" => NO_REASON.to_owned(),
            _ => printable_up_to(raw, MESSAGE_MAX),
        };
        let retry = match retry_after {
            Some(time) => Retry::After(time.min(RETRY_AFTER_MAX)),
            None => Retry::Backoff,
        };
        match (status, is_status) {
            // These also come without a Status: from Go's HTTP server, from filters, from a load
            // balancer in front.
            (408 | 429 | 500.., _) => Self::same(
                retry,
                format!("{status}: the API server cannot do it now ({message})"),
            ),
            (401, true) => Self::failure(
                Retry::Slowly,
                format!(
                    "401: the API server does not know this identity: its token or certificate has expired, or is from another cluster or from \
                     before the CA was replaced ({message})"
                ),
                "401, it does not know these credentials",
            ),
            (403, true) => Self::forbidden(channel, raw, &message),
            (404, is_status) if is_status || unserved => Self::not_found(channel, raw, &message),
            // A quota or a webhook lost a race; the next try may succeed.
            (409, true) => Self::same(
                Retry::Backoff,
                format!("409: there is such an object already ({message})"),
            ),
            (400..500, true) => Self::failure(
                Retry::Slowly,
                format!(
                    "{status}: the cluster does not take this object: its CRD or admission policy may be of another release of skewguard ({message})"
                ),
                format!("{status}, it does not take this report"),
            ),
            // TLS accepted the server, but it does not answer like an API server.
            _ => Self::failure(
                Retry::Slowly,
                format!(
                    "{status}, not a Kubernetes API response; check for a load balancer or proxy at this address"
                ),
                format!("{status}, from something that is not an API server"),
            ),
        }
    }

    /// 403: by RBAC, or else by a quota, by an admission webhook, or because the namespace is being
    /// deleted. `raw` is the whole message, because long names may come first in it. It is worded
    /// as in k8s.io/apiserver, endpoints/handlers/responsewriters.
    fn forbidden(channel: Channel, raw: &str, message: &str) -> Self {
        let (verb, resource, grant) = channel.rbac();
        if !raw.contains(&format!("cannot {verb} resource")) {
            return Self::failure(
                Retry::SlowlyIfRepeated,
                format!("403: the cluster forbids it ({message})"),
                "403, forbidden (journalctl -u skewguard-report)",
            );
        }
        let brief = match channel {
            Channel::Node => "403, the kubelet may not patch its Node",
            _ => "403, the Role skewguard-report is missing there",
        };
        Self::failure(
            Retry::SlowlyIfRepeated,
            format!("403: this identity may not {verb} {resource}: {grant} ({message})"),
            brief,
        )
    }

    /// 404: without the namespace, the CRD or the Node.
    fn not_found(channel: Channel, raw: &str, message: &str) -> Self {
        if raw.starts_with("namespaces \"") {
            return Self::failure(
                Retry::Slowly,
                format!(
                    "404: the cluster has no such namespace ({message}); it is made by: oc skewguard render manifests | oc apply -f -"
                ),
                "404, it has no namespace skewguard",
            );
        }
        let (_, resource, _) = channel.rbac();
        let (retry, remedy) = match channel {
            Channel::Report => (
                Retry::Unserved,
                "to have reports: oc skewguard render manifests | oc apply -f -",
            ),
            Channel::Event | Channel::Failure => (Retry::Slowly, "Kubernetes has it from 1.19 on"),
            Channel::Node => (
                Retry::Backoff,
                "the kubelet has not registered this Node yet",
            ),
        };
        Self::failure(
            retry,
            format!("404: the cluster has no {resource} ({message}); {remedy}"),
            format!("404, it has no {resource}"),
        )
    }

    /// A failure with the same words for console and journal.
    fn same(retry: Retry, why: String) -> Self {
        Self::failure(retry, why.clone(), why)
    }

    fn failure(retry: Retry, why: String, brief: impl Into<String>) -> Self {
        Self::Failed {
            retry,
            why,
            brief: brief.into(),
        }
    }
}
