//! Sends one request to the API server, over our own TLS or through the host's curl, with the same
//! answers and errors.

mod curl;
mod error;
#[cfg(feature = "tls")]
mod tls;

#[cfg(any(fuzzing, test))]
pub(crate) use curl::read_curl;
pub use error::{Failure, TransportError};

use crate::kubeconfig::Kubeconfig;
use crate::node::Root;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// curl's path in every RHCOS.
pub const CURL: &str = "/usr/bin/curl";

/// The HTTP header `User-Agent`.
const USER_AGENT: &str = concat!("skewguard/", env!("CARGO_PKG_VERSION"));

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `POST` to create, `PATCH` to change, `GET` to read.
    pub method: &'static str,
    /// Path and query after the server's own, such as
    /// `/apis/events.k8s.io/v1/namespaces/skewguard/events`. Whoever builds it percent-encodes the
    /// names in it.
    pub path: String,
    /// The body; empty for none.
    pub body: Vec<u8>,
}

impl Request {
    pub fn get(path: &str) -> Self {
        Self {
            method: "GET",
            path: path.to_owned(),
            body: Vec::new(),
        }
    }

    pub(crate) fn new(method: &'static str, path: String, object: &impl Serialize) -> Self {
        // Structs of strings always serialise.
        Self {
            method,
            path,
            body: serde_json::to_vec(object).unwrap_or_default(),
        }
    }

    /// The type of the body. Every patch of ours is a merge patch (RFC 7396).
    pub(crate) fn content_type(&self) -> &'static str {
        if self.method == "PATCH" {
            "application/merge-patch+json"
        } else {
            "application/json"
        }
    }

    /// The types that the answer may have. For a patched object and for a list of Nodes only the
    /// metadata is requested (Kubernetes 1.15 and later): a whole Node has hundreds of kilobytes.
    fn accept(&self) -> &'static str {
        match self.method {
            "PATCH" => {
                "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
            }
            "GET" if self.path.starts_with("/api/v1/nodes?") => {
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
            }
            _ => "application/json",
        }
    }
}

/// An answer of any status but a redirect, which is [`Failure::Redirect`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// `Retry-After`, if it is a number of seconds. (A date would need a correct clock.)
    pub retry_after: Option<Duration>,
    /// The body, at most [`Limits::body`] bytes.
    pub body: Vec<u8>,
}

/// Bounds of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For name resolution, TCP and TLS together.
    pub connect: Duration,
    /// For the whole request, until the last byte of the answer.
    pub total: Duration,
    /// Limit of an answer's body, in bytes.
    pub body: usize,
}

impl Default for Limits {
    /// The body may have 512 KiB: the metadata of an object has up to 256 KiB of annotations
    /// (Kubernetes, `TotalAnnotationSizeLimitB`), and also labels and managed fields.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            total: Duration::from_secs(30),
            body: 512 * 1024,
        }
    }
}

/// The transport to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// reqwest and rustls, in this process.
    Tls,
    /// The host's curl, a process per request.
    Curl,
}

impl Choice {
    pub fn for_host(root: &Root) -> Result<Self, TransportError> {
        let fips = root
            .read_text("/proc/sys/crypto/fips_enabled", 16)
            .ok()
            .flatten()
            .is_some_and(|text| text.trim() == "1");
        // curl is always the host's own, not one inside the root.
        choose(cfg!(feature = "tls"), fips, Path::new(CURL).exists()).map_err(TransportError::setup)
    }
}

/// Chooses our own TLS, unless this build has none, or the host is in FIPS mode and so only its own
/// validated cryptography may be used.
fn choose(tls_built: bool, fips: bool, curl: bool) -> Result<Choice, String> {
    match (tls_built, fips, curl) {
        (true, false, _) => Ok(Choice::Tls),
        (_, _, true) => Ok(Choice::Curl),
        (_, true, _) => Err(format!(
            "this host is in FIPS mode, where only its own curl may be used, and there is no {CURL}"
        )),
        _ => Err(format!(
            "this build of skewguard reports through the host's curl, and there is no {CURL}"
        )),
    }
}

/// A transport to one API server, with one identity.
#[derive(Debug)]
pub struct Transport {
    server: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    #[cfg(feature = "tls")]
    Tls(tls::Tls),
    Curl(curl::Curl),
}

impl Transport {
    /// `curl` is the program to run for [`Choice::Curl`].
    ///
    /// # Errors
    /// A certificate or key of the kubeconfig cannot be used; the text says which.
    pub fn new(
        choice: Choice,
        kubeconfig: &Kubeconfig,
        limits: Limits,
        curl: PathBuf,
    ) -> Result<Self, TransportError> {
        let server = kubeconfig.server.to_string();
        let kind = match choice {
            #[cfg(feature = "tls")]
            Choice::Tls => tls::Tls::new(kubeconfig, limits).map(Kind::Tls),
            #[cfg(not(feature = "tls"))]
            Choice::Tls => Err("this build of skewguard has no TLS of its own".to_owned()),
            Choice::Curl => Ok(Kind::Curl(curl::Curl::new(kubeconfig, limits, curl))),
        };
        match kind {
            Ok(kind) => Ok(Self { server, kind }),
            Err(what) => Err(TransportError {
                server: Some(server),
                failure: Failure::Local(what),
            }),
        }
    }

    /// Sends one request and reads the whole answer.
    pub async fn send(&self, request: &Request) -> Result<Response, TransportError> {
        let answer: Result<Response, Failure> = match self.kind {
            #[cfg(feature = "tls")]
            Kind::Tls(ref tls) => tls.send(request).await,
            Kind::Curl(ref curl) => curl.send(request).await,
        };
        answer.map_err(|failure| TransportError {
            server: Some(self.server.clone()),
            failure,
        })
    }
}

/// `Retry-After` as a number of seconds.
fn seconds(value: &str) -> Option<Duration> {
    value.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_has_its_transport() {
        let fips = format!(
            "this host is in FIPS mode, where only its own curl may be used, and there is no {CURL}"
        );
        let nothing = format!(
            "this build of skewguard reports through the host's curl, and there is no {CURL}"
        );
        let table = [
            ((true, false, true), Ok(Choice::Tls)),
            ((true, false, false), Ok(Choice::Tls)),
            ((true, true, true), Ok(Choice::Curl)),
            ((true, true, false), Err(fips.clone())),
            ((false, false, true), Ok(Choice::Curl)),
            ((false, false, false), Err(nothing)),
            ((false, true, true), Ok(Choice::Curl)),
            ((false, true, false), Err(fips)),
        ];
        for ((tls_built, fips, curl), want) in table {
            assert_eq!(
                choose(tls_built, fips, curl),
                want,
                "tls built {tls_built}, FIPS {fips}, curl {curl}"
            );
        }
    }
}
