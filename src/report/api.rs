//! What an API server's answer means for a report: delivered, refused for a reason that a person can mend, or to be tried again.

use crate::report::transport::{Method, Response, TransportError};
use crate::text::printable;
use serde::Deserialize;
use std::time::Duration;

/// Longest part of a server's own message that is passed on, in characters.
const MESSAGE_MAX: usize = 300;

/// `Retry-After` beyond this is not believed.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3600);

/// When a failed request is worth another attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// With the ordinary backoff.
    Backoff,
    /// With the ordinary backoff, but not before this much time.
    After(Duration),
    /// With the slowest backoff: only a change in the cluster helps.
    Slowly,
    /// With the ordinary backoff at first, then with the slowest: an API server that is just starting forbids everything.
    SlowlyIfRepeated,
    /// Not on this boot.
    NextBoot,
}

/// A request that did not do what it should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApiError {
    /// No answer.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// 401.
    #[error(
        "401: the API server does not know this identity: its token or certificate has expired, or is from another cluster or from before the \
         CA was replaced ({0})"
    )]
    Unauthorized(String),
    /// 403 for want of a grant (RBAC).
    #[error("403: this identity may not {verb} {resource}: {grant} ({message})")]
    Forbidden {
        /// What was to be done, such as `create`.
        verb: &'static str,
        /// To what.
        resource: &'static str,
        /// Who has to grant it, and how.
        grant: &'static str,
        /// What the server says.
        message: String,
    },
    /// 403 for another reason: a quota, an admission webhook, a namespace that is being deleted.
    #[error("403: the cluster forbids it ({0})")]
    Denied(String),
    /// 404 for the namespace that the object was to be in.
    #[error("404: the cluster has no such namespace ({0})")]
    NoNamespace(String),
    /// 404.
    #[error("404: the cluster has no {resource} ({message})")]
    NotFound {
        /// What was asked for.
        resource: &'static str,
        /// What the server says.
        message: String,
    },
    /// 409: there is such an object already.
    #[error("409: there is such an object already ({0})")]
    Conflict(String),
    /// 413, 422 and every other 4xx: the cluster does not take this object.
    #[error(
        "{status}: the cluster does not take this object: its CRD or admission policy may be of another release of skewguard ({message})"
    )]
    Rejected {
        /// HTTP status.
        status: u16,
        /// What the server says.
        message: String,
    },
    /// Not the answer of an API server: something that TLS took for one stands in its place.
    #[error("{status}, but not as an API server answers: is it a load balancer, a proxy or another server that stands there?")]
    Foreign {
        /// HTTP status.
        status: u16,
    },
    /// 408, 429 and 5xx: not now.
    #[error("{status}: the API server cannot do it now ({message})")]
    Unavailable {
        /// HTTP status.
        status: u16,
        /// How long it wants us to wait, at most an hour.
        retry_after: Option<Duration>,
        /// What the server says.
        message: String,
    },
}

impl ApiError {
    /// When to try again.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Transport(error) if error.failure.is_passing() => Retry::Backoff,
            // An identity or a grant may come later; nothing of ours changes until then.
            Self::Transport(_) | Self::Unauthorized(_) | Self::NoNamespace(_) | Self::Rejected { .. } | Self::Foreign { .. } => {
                Retry::Slowly
            }
            Self::Forbidden { .. } | Self::Denied(_) => Retry::SlowlyIfRepeated,
            Self::NotFound { .. } | Self::Conflict(_) => Retry::NextBoot,
            Self::Unavailable { retry_after: Some(time), .. } => Retry::After(*time),
            Self::Unavailable { .. } => Retry::Backoff,
        }
    }
}

/// A kind of object, for what is said about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resource {
    /// As RBAC names it, such as `bootimagereports.skewguard.dev`.
    pub name: &'static str,
    /// What a 403 needs: which Role grants it, and the manifest or command that brings that Role.
    pub grant: &'static str,
}

/// Sorts an answer by its status (pure).
///
/// # Errors
/// Its status is not 2xx.
pub fn sort(response: Response, method: Method, resource: Resource) -> Result<Response, ApiError> {
    let Response { status, retry_after, .. } = response;
    if (200..300).contains(&status) {
        return Ok(response);
    }
    let raw = message(&response.body);
    let message = raw.as_deref().map(|raw| if raw.is_empty() { NO_REASON.to_owned() } else { printable(raw, MESSAGE_MAX) });
    // As k8s.io/apiserver words it (endpoints/handlers/responsewriters), after names that may be long.
    let lacks_grant = |verb: &str| raw.as_deref().is_some_and(|raw| raw.contains(&format!("cannot {verb} resource")));
    let verb = match method {
        Method::Get => "get",
        Method::Post => "create",
        Method::Patch => "patch",
        Method::Delete => "delete",
    };
    let Resource { name: resource, grant } = resource;
    Err(match (status, message) {
        // Go's own servers and filters, and a load balancer in front of them, say these without a Status.
        (408 | 429 | 500.., message) => ApiError::Unavailable {
            status,
            retry_after: retry_after.map(|time| time.min(RETRY_AFTER_MAX)),
            message: message.unwrap_or_else(|| NO_REASON.to_owned()),
        },
        // A path that nothing serves, as that of a CRD that is missing: "404 page not found", or a list of paths. Never HTML.
        (404, None) if response.body.trim_ascii_start().first().is_some_and(|first| *first != b'<') => {
            ApiError::NotFound { resource, message: NO_REASON.to_owned() }
        }
        (401, Some(message)) => ApiError::Unauthorized(message),
        (403, Some(message)) if lacks_grant(verb) => ApiError::Forbidden { verb, resource, grant, message },
        (403, Some(message)) => ApiError::Denied(message),
        (404, Some(message)) if message.starts_with("namespaces \"") => ApiError::NoNamespace(message),
        (404, Some(message)) => ApiError::NotFound { resource, message },
        (409, Some(message)) => ApiError::Conflict(message),
        (400..500, Some(message)) => ApiError::Rejected { status, message },
        _ => ApiError::Foreign { status },
    })
}

/// What stands for the message of an answer that has none.
const NO_REASON: &str = "the server gives no reason";

/// The message of a `Status` (meta/v1); `None` where the body is no such object.
fn message(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Status {
        kind: String,
        #[serde(default)]
        message: String,
    }
    let Status { kind, message } = serde_json::from_slice(body).ok()?;
    (kind == "Status").then_some(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, retry_after: Option<u64>, body: &str) -> Result<Response, ApiError> {
        let response = Response { status, retry_after: retry_after.map(Duration::from_secs), body: body.as_bytes().to_vec() };
        sort(response, Method::Post, Resource { name: "events.events.k8s.io", grant: "ask X" })
    }

    fn status(message: &str) -> String {
        format!(r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","message":"{message}"}}"#)
    }

    #[test]
    fn each_status_says_what_helps_and_when_to_try_again() {
        let escape = status("no\\u001b[2J");
        let role = status("events is forbidden: User \\\"a\\\" cannot create resource \\\"events\\\"");
        let quota = status("events \\\"a\\\" is forbidden: exceeded quota: q");
        let namespace = status("namespaces \\\"skewguard\\\" not found");
        let table = [
            (
                401,
                None,
                &escape,
                Retry::Slowly,
                "401: the API server does not know this identity: its token or certificate has expired, or is from another cluster or from before the CA was replaced (no\\u{1b}[2J)",
            ),
            (
                403,
                None,
                &role,
                Retry::SlowlyIfRepeated,
                "403: this identity may not create events.events.k8s.io: ask X (events is forbidden: User \"a\" cannot create resource \"events\")",
            ),
            (403, None, &quota, Retry::SlowlyIfRepeated, "403: the cluster forbids it (events \"a\" is forbidden: exceeded quota: q)"),
            (404, None, &escape, Retry::NextBoot, "404: the cluster has no events.events.k8s.io (no\\u{1b}[2J)"),
            (404, None, &namespace, Retry::Slowly, "404: the cluster has no such namespace (namespaces \"skewguard\" not found)"),
            (409, None, &escape, Retry::NextBoot, "409: there is such an object already (no\\u{1b}[2J)"),
            (
                422,
                None,
                &escape,
                Retry::Slowly,
                "422: the cluster does not take this object: its CRD or admission policy may be of another release of skewguard (no\\u{1b}[2J)",
            ),
            (429, Some(7), &escape, Retry::After(Duration::from_secs(7)), "429: the API server cannot do it now (no\\u{1b}[2J)"),
            (503, None, &escape, Retry::Backoff, "503: the API server cannot do it now (no\\u{1b}[2J)"),
            (503, Some(86_400), &escape, Retry::After(RETRY_AFTER_MAX), "503: the API server cannot do it now (no\\u{1b}[2J)"),
        ];
        for (code, retry_after, body, retry, text) in table {
            let error = answer(code, retry_after, body).unwrap_err();
            assert_eq!((error.retry(), error.to_string().as_str()), (retry, text));
        }
    }

    #[test]
    fn what_is_no_status_object_is_not_passed_on_and_not_taken_for_an_api_server() {
        for body in ["", "<html>", "{}", r#"{"message":"m"}"#, r#"{"kind":"Status","message":5}"#, r#"{"kind":"Pod","message":"m"}"#] {
            for code in [408, 429, 500, 502] {
                let said = answer(code, None, body).unwrap_err().to_string();
                assert_eq!(said, format!("{code}: the API server cannot do it now (the server gives no reason)"));
            }
            for code in [400, 401, 403, 405, 409, 413, 421, 422] {
                let error = answer(code, None, body).unwrap_err();
                assert_eq!((&error, error.retry()), (&ApiError::Foreign { status: code }, Retry::Slowly), "{body}");
            }
        }
        // What Go's servers answer where nothing serves the path (net/http, NotFound), and what older API servers do.
        for body in ["404 page not found\n", r#"{"paths":["/api"]}"#] {
            assert!(matches!(answer(404, None, body), Err(ApiError::NotFound { .. })), "{body}");
        }
        for body in ["", " <html>"] {
            assert_eq!(answer(404, None, body), Err(ApiError::Foreign { status: 404 }), "{body}");
        }
        assert_eq!(answer(422, None, r#"{"kind":"Status"}"#).map_err(|error| error.retry()), Err(Retry::Slowly));
        assert_eq!(answer(201, None, "{}").map(|response| response.status), Ok(201));
    }

    #[test]
    fn a_missing_grant_is_seen_behind_long_names() {
        let name = "n".repeat(253);
        let body =
            status(&format!("nodes \\\"{name}\\\" is forbidden: User \\\"system:node:{name}\\\" cannot create resource \\\"nodes\\\""));
        assert!(matches!(answer(403, None, &body), Err(ApiError::Forbidden { .. })), "{body}");
    }
}
