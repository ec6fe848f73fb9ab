//! Carrying one request to the API server, over our own TLS or over the host's curl, with the same answers and the same errors.

mod choose;
mod curl;
mod error;
#[cfg(feature = "tls")]
mod tls;

pub use choose::{CURL, Choice, HostFacts, NoTransport, choose};
pub use error::{CertificateTime, Failure, Phase, TransportError};

use crate::node::kubeconfig::Kubeconfig;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// HTTP's: `POST` to create, `PATCH` to change in part.
    pub method: &'static str,
    /// Path and query below the server's own, starting with `/`, such as `/apis/events.k8s.io/v1/namespaces/skewguard/events`. It must be
    /// a URL's path already: names in it are percent-encoded by who builds it.
    pub path: String,
    /// `Content-Type` of the body, such as `application/json` or `application/merge-patch+json`.
    pub content_type: &'static str,
    /// The body; empty for none.
    pub body: Vec<u8>,
}

impl Request {
    /// A request with this object as its body.
    pub fn new(method: &'static str, path: String, content_type: &'static str, object: &impl Serialize) -> Self {
        // Structs of strings always serialise.
        Self { method, path, content_type, body: serde_json::to_vec(object).unwrap_or_default() }
    }

    /// What the answer may be: of a patched object only its metadata, where the server can do that (Kubernetes 1.15). A Node as a whole has
    /// hundreds of kilobytes, with the images on it and whatever operators put there.
    fn accept(&self) -> &'static str {
        match self.method {
            "PATCH" => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
            _ => "application/json",
        }
    }
}

/// An answer, whatever its status (redirects excepted: they are [`Failure::Redirect`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// `Retry-After`, where it is a number of seconds. (A date would need a clock that can be trusted.)
    pub retry_after: Option<Duration>,
    /// The body, at most [`Limits::body`] bytes.
    pub body: Vec<u8>,
}

/// Bounds of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For name resolution, TCP and TLS together.
    pub connect: Duration,
    /// For the whole, from the first packet to the last byte of the answer.
    pub total: Duration,
    /// Bytes of an answer's body.
    pub body: usize,
}

impl Default for Limits {
    /// 10 s, 30 s, 512 KiB: the metadata of an object has up to 256 KiB of annotations (Kubernetes, `TotalAnnotationSizeLimitB`), and labels and
    /// managed fields beside them.
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), total: Duration::from_secs(30), body: 512 * 1024 }
    }
}

/// How we name ourselves.
const USER_AGENT: &str = concat!("skewguard/", env!("CARGO_PKG_VERSION"));

/// A way to one API server, as one identity.
#[derive(Debug)]
pub struct Transport(Kind);

#[derive(Debug)]
enum Kind {
    #[cfg(feature = "tls")]
    Tls(tls::Tls),
    Curl(curl::Curl),
}

impl Transport {
    /// Our own TLS, or the curl at this path; see [`choose`].
    ///
    /// # Errors
    /// The kubeconfig's certificates or keys cannot be used; the text says which.
    pub fn new(choice: Choice, kubeconfig: &Kubeconfig, limits: Limits, curl: PathBuf) -> Result<Self, TransportError> {
        match choice {
            #[cfg(feature = "tls")]
            Choice::Tls => tls::Tls::new(kubeconfig, limits).map(|tls| Self(Kind::Tls(tls))),
            #[cfg(not(feature = "tls"))]
            Choice::Tls => Err(TransportError::setup("this build of skewguard has no TLS of its own")),
            Choice::Curl => Ok(Self(Kind::Curl(curl::Curl::new(kubeconfig, limits, curl)))),
        }
    }

    /// Sends one request and reads the whole answer.
    ///
    /// # Errors
    /// There was no usable answer.
    pub async fn send(&self, request: &Request) -> Result<Response, TransportError> {
        match &self.0 {
            #[cfg(feature = "tls")]
            Kind::Tls(tls) => tls.send(request).await,
            Kind::Curl(curl) => curl.send(request).await,
        }
    }
}

/// `Retry-After` as a number of seconds.
fn seconds(value: &str) -> Option<Duration> {
    value.trim().parse().ok().map(Duration::from_secs)
}
