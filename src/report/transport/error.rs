//! Why a request got no answer, in the same words whichever transport carried it.

use crate::node::kubeconfig::Kubeconfig;
use crate::text::word;
use std::fmt;
use std::io::ErrorKind;
use std::time::SystemTime;

/// A request that got no usable answer, and the server it was for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{failure}", server.as_ref().map(|server| format!("{server}: ")).unwrap_or_default())]
pub struct TransportError {
    /// The API server as the kubeconfig names it, such as `https://api-int.c1.example.com:6443`; absent where it is not known.
    pub server: Option<String>,
    /// What went wrong.
    #[source]
    pub failure: Failure,
}

impl TransportError {
    /// The request could not even be tried.
    pub fn setup(what: impl fmt::Display) -> Self {
        Self { server: None, failure: Failure::Setup(what.to_string()) }
    }

    pub(super) fn at(kubeconfig: &Kubeconfig, failure: Failure) -> Self {
        Self { server: Some(kubeconfig.server.to_string()), failure }
    }
}

/// What went wrong between us and the API server. Every text is printable and holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The name could not be resolved.
    #[error("the name {host} could not be resolved: check the node's DNS ({detail})")]
    Resolve {
        /// The name.
        host: String,
        /// What the resolver said.
        detail: String,
    },
    /// Nothing listens there.
    #[error("connection refused: nothing listens there yet, or a firewall rejects it")]
    Refused,
    /// No way to the server.
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
    /// The connection broke, or was closed without an answer.
    #[error("the connection was closed before there was an answer: {0}")]
    Reset(String),
    /// Time is up.
    #[error("no answer in time: {0}")]
    Timeout(Phase),
    /// The server's certificate is for other names.
    #[error("the server's certificate is not for {expected}; if the kubeconfig means another name, it needs tls-server-name")]
    WrongName {
        /// The name that was asked for.
        expected: String,
    },
    /// The server's certificate is not from the CA that the kubeconfig names.
    #[error("the server's certificate is not signed by the CA in the kubeconfig: the CA was replaced, or this is another server ({0})")]
    UnknownCa(String),
    /// The server's certificate is out of its time, or this node's clock is.
    #[error("{0}")]
    CertificateTime(CertificateTime),
    /// The server did not take our certificate.
    #[error("the server did not accept the client certificate: {0}")]
    ClientCertificate(String),
    /// Any other failure of TLS.
    #[error("TLS failed: {0}")]
    Tls(String),
    /// The server sent us elsewhere. An API server never does; a captive portal or a proxy does.
    #[error("the server answered {status}, a redirect; an API server does not, so this is not one")]
    Redirect {
        /// The status.
        status: u16,
    },
    /// The answer is longer than any we need.
    #[error("the answer is longer than {max} bytes; the rest was not read")]
    TooLarge {
        /// Bytes allowed.
        max: usize,
    },
    /// What came is not HTTP.
    #[error("the answer is not valid HTTP: {0}")]
    Malformed(String),
    /// The kubeconfig cannot be used, or there is no transport: only a change on this node helps.
    #[error("{0}")]
    Setup(String),
    /// The failure is on this node: a program, a memory file, a setting of ours.
    #[error("the request could not be sent: {0}")]
    Local(String),
}

/// What was being waited for when time was up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Name, TCP and TLS.
    Connect,
    /// The whole answer.
    Answer,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "no connection was made",
            Self::Answer => "the connection was made, but the answer did not come whole",
        })
    }
}

/// A certificate whose time does not fit this node's clock. At a first boot either of them may be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CertificateTime {
    /// Not yet valid, else expired.
    pub not_yet: bool,
    /// This node's clock at that moment.
    pub clock: SystemTime,
    /// The start or the end of the certificate's time, where the transport tells.
    pub bound: Option<SystemTime>,
}

impl fmt::Display for CertificateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |t: SystemTime| humantime::format_rfc3339_seconds(t);
        let (what, since) = if self.not_yet { ("is not valid yet", "starts") } else { ("has expired", "ended") };
        write!(f, "the server's certificate {what}")?;
        if let Some(bound) = self.bound {
            write!(f, " (its time {since} at {})", time(bound))?;
        }
        write!(f, "; this node's clock says {}: check the clock first (chronyc tracking), then the certificate", time(self.clock))
    }
}

impl Failure {
    /// Whether a later attempt can be expected to fare better with nothing changed on this node. A wrong name, an unknown CA or a captive
    /// portal are still retried, slowly: the cluster may still be coming up behind that address.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Resolve { .. } | Self::Refused | Self::Unreachable(_) | Self::Reset(_) | Self::Timeout(_) => true,
            // NTP sets the clock of a first boot some seconds or minutes in.
            Self::CertificateTime(_) => true,
            Self::WrongName { .. }
            | Self::UnknownCa(_)
            | Self::ClientCertificate(_)
            | Self::Tls(_)
            | Self::Redirect { .. }
            | Self::TooLarge { .. }
            | Self::Malformed(_)
            | Self::Setup(_)
            | Self::Local(_) => false,
        }
    }
}

/// What an error of the kernel means for a connection, if anything.
pub(super) fn of_io(error: &std::io::Error) -> Option<Failure> {
    Some(match error.kind() {
        ErrorKind::ConnectionRefused => Failure::Refused,
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown | ErrorKind::AddrNotAvailable => {
            Failure::Unreachable(word(&error.to_string()))
        }
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => Failure::Reset(word(&error.to_string())),
        // What rustls says of this is for its programmers.
        ErrorKind::UnexpectedEof => Failure::Reset("cut off without TLS being ended".to_owned()),
        _ => return None,
    })
}
