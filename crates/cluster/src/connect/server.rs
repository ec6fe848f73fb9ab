//! Asks an API server, with kube's client: bounds of time and size, and errors that a person can
//! act on.

use super::stranger;
use crate::clock;
use crate::file::cause;
use crate::trouble::{Help, Trouble};
use http::Request;
use http::header::{ACCEPT, RETRY_AFTER};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use kube_client::Client;
use kube_client::client::Body;
use rustls::{AlertDescription as Alert, CertificateError as Bad};
use std::cell::Cell;
use std::error::Error;
use std::io::ErrorKind;
use std::time::{Duration, Instant, SystemTime};

/// The largest answer that is read, in bytes. Nodes are asked for their metadata only.
const MAX_ANSWER: usize = 16 << 20;

/// The longest time that reading a cluster may take altogether.
pub const LONGEST: Duration = Duration::from_secs(600);

/// An API server, and an identity.
pub struct Server {
    client: Client,
    timeout: Duration,
    /// The end of the time that all requests may take together.
    pub(super) deadline: Instant,
    /// Requests in a row that were not answered.
    pub(super) silent: Cell<usize>,
    /// The last path failed however often it was tried: the next one is tried once.
    pub(super) is_down: Cell<bool>,
}

/// An answer of any status.
pub struct Response {
    pub status: u16,
    /// `Retry-After`, if it is a number of seconds. (A date would need a correct clock.)
    pub retry_after: Option<Duration>,
    pub body: Vec<u8>,
}

/// A request without an answer. It is printable, and has no secret.
pub struct NoAnswer {
    pub trouble: Trouble,
    pub kind: NoAnswerKind,
}

#[derive(PartialEq, Eq)]
pub enum NoAnswerKind {
    /// A later try can succeed although nobody changes anything.
    Passing,
    Lasting,
    /// The answer is longer than is read.
    TooLong,
}

/// The table of Nodes as `oc get nodes` asks for it, without their metadata.
pub const NODE_TABLE: &str = "/api/v1/nodes?includeObject=None";

impl Server {
    /// `timeout` bounds what is asked for each path, until the last byte of the answer.
    pub fn new(client: Client, timeout: Duration) -> Self {
        Self {
            client,
            timeout,
            deadline: Instant::now() + LONGEST,
            silent: Cell::default(),
            is_down: Cell::default(),
        }
    }

    /// The time that the answer to a path may take, tries and pauses together.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The answer to one path, within this time.
    pub async fn get(&self, path: &str, within: Duration) -> Result<Response, NoAnswer> {
        // Of Nodes only the metadata is requested (Kubernetes 1.15 and later): a whole one has
        // hundreds of kilobytes.
        let accept = if path.starts_with(NODE_TABLE) {
            "application/json;as=Table;g=meta.k8s.io;v=v1"
        } else if path.starts_with("/api/v1/nodes?") {
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
        } else {
            "application/json"
        };
        let request = Request::get(path)
            .header(ACCEPT, accept)
            .body(Body::empty())
            .map_err(|error| NoAnswer::of(&error))?;
        let answer = async {
            let response = self.client.send(request).await;
            let (head, body) = response.map_err(|error| NoAnswer::of(&error))?.into_parts();
            let body = Limited::new(body, MAX_ANSWER).collect().await;
            let retry_after = head.headers.get(RETRY_AFTER);
            let retry_after =
                retry_after.and_then(|value| value.to_str().ok()?.trim().parse().ok());
            Ok(Response {
                status: head.status.as_u16(),
                retry_after: retry_after.map(Duration::from_secs),
                body: body
                    .map_err(|error| NoAnswer::of(error.as_ref()))?
                    .to_bytes()
                    .into(),
            })
        };
        tokio::time::timeout(within, answer)
            .await
            .unwrap_or_else(|_| {
                Err(NoAnswer::passing(
                    "no answer in time: the server did not answer, or not whole",
                ))
            })
    }
}

impl NoAnswer {
    fn new(kind: NoAnswerKind, trouble: impl Into<Trouble>) -> Self {
        let trouble = trouble.into().printable();
        Self { trouble, kind }
    }

    fn passing(trouble: impl Into<Trouble>) -> Self {
        Self::new(NoAnswerKind::Passing, trouble)
    }

    fn lasting(trouble: impl Into<Trouble>) -> Self {
        Self::new(NoAnswerKind::Lasting, trouble)
    }

    /// The cause is somewhere in the chain of sources; it is recognised by its type, never by its
    /// text.
    pub fn of(error: &(dyn Error + 'static)) -> Self {
        let chain = || std::iter::successors(Some(error), |error| (*error).source());
        chain()
            .find_map(precise)
            .unwrap_or_else(|| Self::lasting(chain().last().unwrap_or(error).to_string()))
    }
}

fn precise(found: &(dyn Error + 'static)) -> Option<NoAnswer> {
    if let Some(error) = found.downcast_ref::<rustls::Error>() {
        return Some(tls(error));
    }
    if found.is::<LengthLimitError>() {
        let mib = MAX_ANSWER >> 20;
        let what = format!("the answer is longer than {mib} MiB, also of one object alone");
        return Some(NoAnswer::new(NoAnswerKind::TooLong, what));
    }
    if found
        .downcast_ref::<hyper::Error>()
        .is_some_and(hyper::Error::is_parse)
    {
        let why = "it speaks TLS on this port, and something else than HTTP";
        return Some(NoAnswer::lasting(stranger::trouble(why)));
    }
    let error = found.downcast_ref::<std::io::Error>()?;
    // The error inside an io::Error is not in its chain of sources.
    if let Some(found) = error.get_ref().and_then(|inner| precise(inner)) {
        return Some(found);
    }
    Some(match error.kind() {
        ErrorKind::ConnectionRefused => {
            NoAnswer::passing("connection refused: nothing listens there, or a firewall rejects it")
        }
        ErrorKind::TimedOut => NoAnswer::passing(
            "no answer in time: the server said nothing, not even in TLS; a firewall may drop what is sent to it",
        ),
        // rustls' own text for this is meant for programmers.
        ErrorKind::UnexpectedEof => NoAnswer::passing("the connection was cut off"),
        _ => NoAnswer::passing(format!("the server cannot be reached: {}", cause(error))),
    })
}

fn tls(error: &rustls::Error) -> NoAnswer {
    match error {
        rustls::Error::InvalidCertificate(Bad::UnknownIssuer | Bad::BadSignature) => {
            NoAnswer::lasting(format!(
                "the server's certificate is not signed by the CA in the kubeconfig: the CA was replaced, or this is another server ({error})"
            ))
        }
        // A type of rustls-webpki's, which rustls does not show.
        rustls::Error::InvalidCertificate(Bad::Other(other))
            if format!("{:?}", other.0) == "CaUsedAsEndEntity" =>
        {
            let what = "the server's certificate is a CA, its own one, which oc accepts and this program does not";
            NoAnswer::lasting(Help::OwnCertificate.after(what))
        }
        rustls::Error::InvalidCertificate(
            Bad::Expired
            | Bad::ExpiredContext { .. }
            | Bad::NotValidYet
            | Bad::NotValidYetContext { .. },
        ) => NoAnswer::lasting(format!(
            "the server's certificate has expired or is not valid yet ({error}); the clock here says {}",
            clock::time(SystemTime::now())
        )),
        rustls::Error::InvalidCertificate(
            Bad::NotValidForName | Bad::NotValidForNameContext { .. },
        ) => {
            let what = format!("the server's certificate is for another name ({error})");
            NoAnswer::lasting(Help::TlsServerName.after(what))
        }
        // With these alerts a server rejects our certificate (RFC 8446, 6.2).
        rustls::Error::AlertReceived(
            alert @ (Alert::CertificateRequired
            | Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            | Alert::DecryptError
            | Alert::AccessDenied),
        ) => NoAnswer::lasting(format!(
            "the server did not accept the client certificate: {alert:?}"
        )),
        rustls::Error::InvalidMessage(_) => {
            NoAnswer::lasting(stranger::trouble("it does not speak TLS on this port"))
        }
        other => NoAnswer::lasting(format!("TLS failed: {other}")),
    }
}
