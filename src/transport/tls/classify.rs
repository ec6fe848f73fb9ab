//! Turns reqwest's errors into ours. The cause is somewhere in the chain of sources; it is
//! recognised by its type, never by its text.

use super::Unresolved;
use crate::text::printable;
use crate::transport::Failure;
use rustls::AlertDescription as Alert;
use rustls::CertificateError as Bad;
use std::error::Error;
use std::time::{Duration, UNIX_EPOCH};

pub(super) fn failure(error: &reqwest::Error) -> Failure {
    // An error of the kernel or of TLS counts first, however deep it is: hyper's may only say that
    // the request was cancelled.
    if let Some(found) = chain(error)
        .find_map(precise)
        .or_else(|| chain(error).find_map(http))
    {
        return found;
    }
    if error.is_timeout() {
        return if error.is_connect() {
            Failure::ConnectTimeout
        } else {
            Failure::AnswerTimeout
        };
    }
    let last = chain(error)
        .last()
        .map(|cause| printable(&cause.to_string()))
        .unwrap_or_default();
    if error.is_connect() {
        Failure::Unreachable(last)
    } else {
        Failure::Malformed(last)
    }
}

fn chain(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(Some(error as &(dyn Error + 'static)), |error| {
        (*error).source()
    })
}

fn precise(cause: &(dyn Error + 'static)) -> Option<Failure> {
    if let Some(Unresolved { host, error }) = cause.downcast_ref() {
        return Some(Failure::Resolve(
            host.clone(),
            printable(&error.to_string()),
        ));
    }
    if let Some(error) = cause.downcast_ref::<rustls::Error>() {
        return Some(tls(error));
    }
    let error = cause.downcast_ref::<std::io::Error>()?;
    // The error inside an io::Error is not in its chain of sources.
    error
        .get_ref()
        .and_then(|inner| precise(inner))
        .or_else(|| Failure::from_io(error))
}

fn http(cause: &(dyn Error + 'static)) -> Option<Failure> {
    let error = cause.downcast_ref::<hyper::Error>()?;
    if error.is_parse() {
        return Some(Failure::Malformed(printable(&error.to_string())));
    }
    (error.is_incomplete_message() || error.is_closed() || error.is_canceled())
        .then(|| Failure::Reset(printable(&error.to_string())))
}

fn tls(error: &rustls::Error) -> Failure {
    let out_of_time = |not_yet, bound: Option<u64>| {
        Failure::certificate_time(
            not_yet,
            bound.and_then(|seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds))),
        )
    };
    match error {
        rustls::Error::InvalidCertificate(bad) => match bad {
            Bad::Expired => out_of_time(false, None),
            Bad::ExpiredContext { not_after, .. } => out_of_time(false, Some(not_after.as_secs())),
            Bad::NotValidYet => out_of_time(true, None),
            Bad::NotValidYetContext { not_before, .. } => {
                out_of_time(true, Some(not_before.as_secs()))
            }
            Bad::UnknownIssuer | Bad::BadSignature => {
                Failure::UnknownCa(printable(&bad.to_string()))
            }
            Bad::NotValidForNameContext { expected, .. } => {
                Failure::WrongName(printable(&expected.to_str()))
            }
            Bad::NotValidForName => Failure::WrongName("the server's name".to_owned()),
            Bad::Other(inner) => Failure::Tls(match inner.0.downcast_ref() {
                Some(webpki::Error::CaUsedAsEndEntity) => {
                    "the server's certificate is that of a CA, not of a server: give the server one that the CA signed"
                        .to_owned()
                }
                _ => printable(&inner.0.to_string()),
            }),
            other => Failure::Tls(printable(&other.to_string())),
        },
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
        ) => Failure::ClientCertificate(format!("{alert:?}")),
        rustls::Error::AlertReceived(
            alert
            @ (Alert::HandshakeFailure | Alert::InsufficientSecurity | Alert::ProtocolVersion),
        ) => Failure::Tls(format!(
            "nothing in common ({alert:?}): this build speaks TLS 1.2 and 1.3 with AES-GCM over P-256 and P-384, skewguard-embed what the host's curl does"
        )),
        other => Failure::Tls(printable(&other.to_string())),
    }
}
