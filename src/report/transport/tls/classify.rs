//! reqwest's errors into ours: the cause is somewhere down the chain of sources, and only its type is trusted, never its text.

use super::Unresolved;
use crate::report::transport::error::of_io;
use crate::report::transport::{CertificateTime, Failure, Phase};
use crate::text::word;
use rustls::AlertDescription as Alert;
use rustls::CertificateError as Bad;
use std::error::Error;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(super) fn failure(error: &reqwest::Error) -> Failure {
    let mut link: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(cause) = link {
        if let Some(found) = one(cause) {
            return found;
        }
        link = cause.source();
    }
    if error.is_timeout() {
        return Failure::Timeout(if error.is_connect() { Phase::Connect } else { Phase::Answer });
    }
    if error.is_connect() { Failure::Unreachable(last(error)) } else { Failure::Malformed(last(error)) }
}

fn one(cause: &(dyn Error + 'static)) -> Option<Failure> {
    if let Some(Unresolved { host, error }) = cause.downcast_ref() {
        return Some(Failure::Resolve { host: host.clone(), detail: word(&error.to_string()) });
    }
    if let Some(error) = cause.downcast_ref::<rustls::Error>() {
        return Some(tls(error));
    }
    if let Some(error) = cause.downcast_ref::<std::io::Error>() {
        // What an io::Error wraps is not in its chain of sources.
        return error.get_ref().and_then(|inner| one(inner)).or_else(|| of_io(error));
    }
    let error = cause.downcast_ref::<hyper::Error>()?;
    if error.is_parse() {
        return Some(Failure::Malformed(word(&error.to_string())));
    }
    (error.is_incomplete_message() || error.is_closed() || error.is_canceled()).then(|| Failure::Reset(word(&error.to_string())))
}

fn tls(error: &rustls::Error) -> Failure {
    let now = SystemTime::now();
    let out_of_time = |not_yet, bound: Option<u64>| {
        let bound = bound.and_then(|seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds)));
        Failure::CertificateTime(CertificateTime { not_yet, clock: now, bound })
    };
    match error {
        rustls::Error::InvalidCertificate(bad) => match bad {
            Bad::Expired => out_of_time(false, None),
            Bad::ExpiredContext { not_after, .. } => out_of_time(false, Some(not_after.as_secs())),
            Bad::NotValidYet => out_of_time(true, None),
            Bad::NotValidYetContext { not_before, .. } => out_of_time(true, Some(not_before.as_secs())),
            Bad::UnknownIssuer | Bad::BadSignature => Failure::UnknownCa(word(&bad.to_string())),
            Bad::NotValidForNameContext { expected, .. } => Failure::WrongName { expected: word(&expected.to_str()) },
            Bad::NotValidForName => Failure::WrongName { expected: "the server's name".to_owned() },
            other => Failure::Tls(word(&other.to_string())),
        },
        // A server tells in an alert what it holds against our certificate (RFC 8446, 6.2).
        rustls::Error::AlertReceived(
            alert @ (Alert::CertificateRequired
            | Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            | Alert::AccessDenied),
        ) => Failure::ClientCertificate(format!("{alert:?}")),
        other => Failure::Tls(word(&other.to_string())),
    }
}

fn last(error: &dyn Error) -> String {
    let mut link = error;
    while let Some(source) = link.source() {
        link = source;
    }
    word(&link.to_string())
}
