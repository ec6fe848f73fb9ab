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
    /// 403.
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
    /// 429 and 5xx: not now.
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
            Self::Transport(_) | Self::Unauthorized(_) | Self::Forbidden { .. } | Self::Rejected { .. } => Retry::Slowly,
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
    let message = message(&response);
    let verb = match method {
        Method::Get => "get",
        Method::Post => "create",
        Method::Patch => "patch",
        Method::Delete => "delete",
    };
    let Resource { name: resource, grant } = resource;
    Err(match status {
        401 => ApiError::Unauthorized(message),
        403 => ApiError::Forbidden { verb, resource, grant, message },
        404 => ApiError::NotFound { resource, message },
        409 => ApiError::Conflict(message),
        429 | 500.. => ApiError::Unavailable { status, retry_after: retry_after.map(|time| time.min(RETRY_AFTER_MAX)), message },
        _ => ApiError::Rejected { status, message },
    })
}

/// The message of a `Status` object (meta/v1), else that there is none.
fn message(response: &Response) -> String {
    #[derive(Deserialize)]
    struct Status {
        message: String,
    }
    match serde_json::from_slice::<Status>(&response.body) {
        Ok(status) if !status.message.is_empty() => printable(&status.message, MESSAGE_MAX),
        _ => "the server gives no reason".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, retry_after: Option<u64>, body: &str) -> Result<Response, ApiError> {
        let response = Response { status, retry_after: retry_after.map(Duration::from_secs), body: body.as_bytes().to_vec() };
        sort(response, Method::Post, Resource { name: "events.events.k8s.io", grant: "ask X" })
    }

    #[test]
    fn each_status_says_what_helps_and_when_to_try_again() {
        let status = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no\u001b[2J","reason":"Forbidden","code":403}"#;
        let table = [
            (
                401,
                None,
                Retry::Slowly,
                "401: the API server does not know this identity: its token or certificate has expired, or is from another cluster or from before the CA was replaced (no\\u{1b}[2J)",
            ),
            (403, None, Retry::Slowly, "403: this identity may not create events.events.k8s.io: ask X (no\\u{1b}[2J)"),
            (404, None, Retry::NextBoot, "404: the cluster has no events.events.k8s.io (no\\u{1b}[2J)"),
            (409, None, Retry::NextBoot, "409: there is such an object already (no\\u{1b}[2J)"),
            (
                422,
                None,
                Retry::Slowly,
                "422: the cluster does not take this object: its CRD or admission policy may be of another release of skewguard (no\\u{1b}[2J)",
            ),
            (429, Some(7), Retry::After(Duration::from_secs(7)), "429: the API server cannot do it now (no\\u{1b}[2J)"),
            (503, None, Retry::Backoff, "503: the API server cannot do it now (no\\u{1b}[2J)"),
            (503, Some(86_400), Retry::After(RETRY_AFTER_MAX), "503: the API server cannot do it now (no\\u{1b}[2J)"),
        ];
        for (code, retry_after, retry, text) in table {
            let error = answer(code, retry_after, status).unwrap_err();
            assert_eq!((error.retry(), error.to_string().as_str()), (retry, text));
        }
    }

    #[test]
    fn an_answer_that_is_no_status_object_is_not_passed_on() {
        for body in ["", "<html>", "{}", r#"{"message":""}"#, r#"{"message":5}"#] {
            assert_eq!(
                answer(502, None, body).unwrap_err().to_string(),
                "502: the API server cannot do it now (the server gives no reason)"
            );
        }
        assert_eq!(answer(201, None, "{}").map(|response| response.status), Ok(201));
    }
}
