//! What an answer means for a delivery (pure).

use super::api::{ApiError, Resource, Retry, sort};
use super::names::clean;
use super::transport::{Method, Response, TransportError};
use serde::Deserialize;

/// Longest uid kept; Kubernetes writes UUIDs.
const UID_MAX: usize = 64;

/// What is sent where, each with its own fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Channel {
    /// `POST` of the `BootImageReport`, as the bootstrap identity.
    Report,
    /// `POST` of the Event, as the bootstrap identity.
    Event,
    /// `PATCH` of the own Node, as the kubelet.
    Node,
}

/// What a 403 needs on the two channels of the bootstrap identity.
const ROLE: &str = "the Role skewguard-report in the namespace skewguard is missing there; dist/manifests/base/role.yaml grants it: \
                    skewguard render manifests | oc apply -f -";

impl Channel {
    /// As log lines call it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Event => "event",
            Self::Node => "node label",
        }
    }

    /// What is done to it.
    pub fn method(self) -> Method {
        match self {
            Self::Report | Self::Event => Method::Post,
            Self::Node => Method::Patch,
        }
    }

    fn resource(self) -> Resource {
        match self {
            Self::Report => Resource { name: "bootimagereports.skewguard.dev", grant: ROLE },
            Self::Event => Resource { name: "events.events.k8s.io", grant: ROLE },
            Self::Node => Resource {
                name: "nodes",
                grant: "a kubelet may patch its own Node wherever the Node authorizer is in use; is this certificate this cluster's?",
            },
        }
    }
}

/// Why there is no answer to sort.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The request was sent, or tried to be.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// It could not even be tried: the kubeconfig, or no transport. Only a change on this node helps.
    #[error("{0}")]
    Setup(String),
}

/// What became of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It is in the cluster.
    Delivered {
        /// The object's uid, where the server told it.
        uid: Option<String>,
        /// It was there before: an earlier try had arrived.
        already: bool,
    },
    /// It is not.
    Failed {
        /// When to try again.
        retry: Retry,
        /// Why, remedy included: one line for the journal.
        why: String,
        /// Why, as one clause for the console.
        brief: String,
    },
}

/// The part of a `metav1.Status`, or of a created object, that is looked at here.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Body {
    reason: String,
    metadata: Metadata,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    name: String,
    uid: Option<String>,
}

impl Answer {
    /// Reads the outcome of a request on `channel`.
    pub fn read(channel: Channel, result: Result<Response, SendError>) -> Self {
        let response = match result {
            Ok(response) => response,
            Err(SendError::Transport(error)) => return Self::failed(channel, &ApiError::Transport(error)),
            Err(SendError::Setup(why)) => return Self::Failed { retry: Retry::Slowly, brief: why.clone(), why },
        };
        let body: Body = serde_json::from_slice(&response.body).unwrap_or_default();
        match sort(response, channel.method(), channel.resource()) {
            // An API server gives back the object it has made or changed; whatever else says yes has not kept anything.
            Ok(response) if body.metadata.name.is_empty() => Self::failed(channel, &ApiError::Foreign { status: response.status }),
            Ok(_) => Self::Delivered { uid: body.metadata.uid.map(|uid| clean(&uid, UID_MAX)), already: false },
            Err(ApiError::Conflict(_)) if channel != Channel::Node && body.reason == "AlreadyExists" => {
                Self::Delivered { uid: None, already: true }
            }
            Err(error) => Self::failed(channel, &error),
        }
    }

    fn failed(channel: Channel, error: &ApiError) -> Self {
        let (retry, remedy) = match (error, channel) {
            (ApiError::NotFound { .. }, Channel::Report) => {
                (Retry::NextBoot, "; not tried again on this boot. To have reports: skewguard render manifests | oc apply -f -")
            }
            (ApiError::NotFound { .. }, Channel::Event) => (Retry::Slowly, "; Kubernetes has it from 1.19 on"),
            (ApiError::NoNamespace(_), _) => (Retry::Slowly, "; it is made by: skewguard render manifests | oc apply -f -"),
            (ApiError::NotFound { .. }, Channel::Node) => (Retry::Backoff, "; the kubelet has not registered this Node yet"),
            // A quota or a webhook in between lost a race; the next try may win it.
            (ApiError::Conflict(_), _) => (Retry::Backoff, ""),
            _ => (error.retry(), ""),
        };
        let brief = match error {
            ApiError::Unauthorized(_) => "401, it does not know these credentials".to_owned(),
            ApiError::Forbidden { .. } if channel == Channel::Node => "403, the kubelet may not patch its Node".to_owned(),
            ApiError::Forbidden { .. } => "403, the Role skewguard-report is missing there".to_owned(),
            ApiError::Denied(_) => "403, forbidden (journalctl -u skewguard-report)".to_owned(),
            ApiError::NoNamespace(_) => "404, it has no namespace skewguard".to_owned(),
            ApiError::Foreign { status } => format!("{status}, from something that is no API server"),
            ApiError::NotFound { resource, .. } => format!("404, it has no {resource}"),
            ApiError::Rejected { status, .. } => format!("{status}, it does not take this report"),
            _ => error.to_string(),
        };
        Self::Failed { retry, why: format!("{error}{remedy}"), brief }
    }
}
