//! Errors of a request, in the same words for both transports.

use crate::clock;
use crate::text::printable;
use std::fmt;
use std::io::ErrorKind;
use std::time::SystemTime;

/// The error of a request that got no usable answer, and from which server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{failure}", server.as_ref().map(|server| format!("{server}: ")).unwrap_or_default())]
pub struct TransportError {
    /// The API server as the kubeconfig names it, such as `https://api-int.c1.example.com:6443`;
    /// `None` if that is unknown.
    pub server: Option<String>,
    /// The failure.
    #[source]
    pub failure: Failure,
}

impl TransportError {
    /// The request could not be tried.
    pub(crate) fn setup(what: impl fmt::Display) -> Self {
        Self {
            server: None,
            failure: Failure::Setup(what.to_string()),
        }
    }
}

/// The failure between us and the API server. Every text is printable and holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The name, and what the resolver said.
    #[error("the name {0} could not be resolved: check the DNS of this machine ({1})")]
    Resolve(String, String),
    /// Nothing listens there.
    #[error("connection refused: nothing listens there yet, or a firewall rejects it")]
    Refused,
    /// There is no route to the server.
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
    /// The connection broke, or was closed without an answer.
    #[error("the connection was closed before there was an answer: {0}")]
    Reset(String),
    /// Name resolution, TCP and TLS took too long.
    #[error("no answer in time: no connection was made")]
    ConnectTimeout,
    /// The answer took too long.
    #[error("no answer in time: the connection was made, but the answer did not come whole")]
    AnswerTimeout,
    /// The server's certificate is not for the name that was asked for.
    #[error(
        "the server's certificate is not for {0}; if the kubeconfig means another name, it needs tls-server-name"
    )]
    WrongName(String),
    /// The server's certificate is not from the CA that the kubeconfig names.
    #[error(
        "the server's certificate is not signed by the CA in the kubeconfig: the CA was replaced, or this is another server ({0})"
    )]
    UnknownCa(String),
    /// The server's certificate has expired or is not valid yet, or the clock here is wrong.
    #[error("the server's certificate {0}")]
    CertificateTime(String),
    /// The server did not take our certificate.
    #[error("the server did not accept the client certificate: {0}")]
    ClientCertificate(String),
    /// Any other failure of TLS.
    #[error("TLS failed: {0}")]
    Tls(String),
    /// The server redirects the request. An API server never does; a captive portal or a proxy
    /// does.
    #[error("the server answered {0}, a redirect; an API server does not, so this is not one")]
    Redirect(u16),
    /// The answer is longer than this many bytes.
    #[error("the answer is longer than {0} bytes; the rest was not read")]
    TooLarge(usize),
    /// The answer is not HTTP.
    #[error("the answer is not valid HTTP: {0}")]
    Malformed(String),
    /// The kubeconfig cannot be used, or there is no transport: only a change on this node helps.
    #[error("{0}")]
    Setup(String),
    /// The failure is on this node: a program, a memory file, a setting of ours.
    #[error("the request could not be sent: {0}")]
    Local(String),
}

impl Failure {
    /// A later try can succeed although nobody changes anything. A certificate's time
    /// may pass, because NTP sets the clock only some time into the first boot. Other
    /// failures are retried slowly: the cluster may still be coming up behind that address.
    pub fn is_passing(&self) -> bool {
        use Failure::*;
        matches!(
            self,
            Resolve(..)
                | Refused
                | Unreachable(_)
                | Reset(_)
                | ConnectTimeout
                | AnswerTimeout
                | CertificateTime(_)
        )
    }

    /// A certificate that is expired or not valid yet by this node's clock; `bound` is the end or
    /// start of its time, if the transport says so.
    pub(super) fn certificate_time(not_yet: bool, bound: Option<SystemTime>) -> Self {
        let (what, since) = if not_yet {
            ("is not valid yet", "starts")
        } else {
            ("has expired", "ended")
        };
        let bound = bound
            .map(|bound| format!(" (its time {since} at {})", clock::time(bound)))
            .unwrap_or_default();
        let now = clock::time(SystemTime::now());
        let remedy = "check the clock first (chronyc tracking), then the certificate";
        Self::CertificateTime(format!(
            "{what}{bound}; the clock here says {now}: {remedy}"
        ))
    }

    /// The connection failure behind a kernel error; `None` for any other kind of error.
    pub(super) fn from_io(error: &std::io::Error) -> Option<Self> {
        let said = || printable(&error.to_string());
        Some(match error.kind() {
            ErrorKind::ConnectionRefused => Self::Refused,
            ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::AddrNotAvailable => Self::Unreachable(said()),
            ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => {
                Self::Reset(said())
            }
            // rustls' own text for this is meant for programmers.
            ErrorKind::UnexpectedEof => Self::Reset("cut off without TLS being ended".to_owned()),
            _ => return None,
        })
    }
}
