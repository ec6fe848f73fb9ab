//! URLs that Ignition fetches (pure).
//!
//! Ignition parses them with Go's net/url, and a config with one that does not parse is refused in the initramfs, where nobody is told. So what
//! RFC 3986 does not allow is refused here, which is a little more than what Go refuses.

use crate::render::ignition::Spec;
use std::net::Ipv6Addr;

/// Why a text is not a URL that Ignition fetches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// No scheme, or another one ("Configuration Specification v2.2.0" to "v3.5.0" of coreos/ignition, `source`).
    #[error("it takes https, http, s3, tftp and, from spec 3.2.0, gs")]
    Scheme,
    /// The scheme came with a later spec than the one asked for.
    #[error("gs came with spec 3.2.0")]
    Spec,
    /// A character that RFC 3986 does not allow, or half of a percent-encoding.
    #[error("it has a character that must be percent-encoded, or a % that is not followed by two hexadecimal digits")]
    Character,
    /// No host, one that is none, or a port that is none.
    #[error("its host or port is none")]
    Authority,
    /// A bucket or server without the name of a file.
    #[error("it names no file")]
    File,
}

/// A URL, taken apart as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Parts<'a> {
    scheme: &'a str,
    credentials: Option<&'a str>,
    host: &'a str,
    path: &'a str,
}

fn parts(url: &str) -> Option<Parts<'_>> {
    let (scheme, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    let (credentials, host) = match authority.rsplit_once('@') {
        Some((credentials, host)) => (Some(credentials), host),
        None => (None, authority),
    };
    Some(Parts { scheme, credentials, host, path: tail.split(['?', '#']).next().unwrap_or_default() })
}

/// Checks a URL for a config of this spec.
pub(super) fn check(url: &str, spec: Spec) -> Result<(), UrlError> {
    let Parts { scheme, host, path, .. } = parts(url).ok_or(UrlError::Scheme)?;
    match scheme {
        "https" | "http" | "s3" | "tftp" => {}
        "gs" if spec >= oldest_spec(url) => {}
        "gs" => return Err(UrlError::Spec),
        _ => return Err(UrlError::Scheme),
    }
    if !encoded(url) || path.contains(['[', ']']) {
        return Err(UrlError::Character);
    }
    if !host_and_port(host) {
        return Err(UrlError::Authority);
    }
    if !scheme.starts_with("http") && path.len() < 2 { Err(UrlError::File) } else { Ok(()) }
}

/// The oldest spec that fetches it: gs came with 3.2.0.
pub(super) fn oldest_spec(url: &str) -> Spec {
    if url.starts_with("gs://") { Spec::V3(2) } else { Spec::V2_2 }
}

/// Whether a name or a password is in it.
pub(super) fn has_credentials(url: &str) -> bool {
    parts(url).is_some_and(|parts| parts.credentials.is_some())
}

/// What may be shown of it: without credentials, and without the query, which may hold a signature.
pub(super) fn shown(url: &str) -> String {
    parts(url).map_or_else(|| url.to_owned(), |Parts { scheme, host, path, .. }| format!("{scheme}://{host}{path}"))
}

/// Whether it has characters of RFC 3986 only, and `%` before two hexadecimal digits only.
fn encoded(url: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte);
    let digits = |rest: &str| rest.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    url.bytes().all(allowed) && url.split('%').skip(1).all(digits)
}

/// A name, an IPv4 address or an IPv6 address in brackets; then perhaps a port.
fn host_and_port(text: &str) -> bool {
    let (host_is_one, port) = match text.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(Some((address, port))) => (address.parse::<Ipv6Addr>().is_ok(), port),
        Some(None) => return false,
        None => {
            let (host, port) = text.split_at(text.find(':').unwrap_or(text.len()));
            (!host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte)), port)
        }
    };
    let number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u16>().is_ok_and(|port| port > 0);
    host_is_one && (port.is_empty() || port.strip_prefix(':').is_some_and(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEWEST: Spec = Spec::V3(5);

    #[test]
    fn what_ignition_fetches() {
        for good in [
            "https://mirror.example.com/skewguard",
            "http://10.0.0.1:8080/a%20b?version=1&x=[y]#z",
            "https://user:p%40ss@[fd00::1]:8443/x",
            "https://mirror",
            "s3://bucket/skewguard",
            "tftp://host/skewguard",
            "gs://my_bucket/skewguard",
        ] {
            assert_eq!(check(good, NEWEST), Ok(()), "{good}");
        }
        assert_eq!(check("gs://bucket/x", Spec::V3(1)), Err(UrlError::Spec));
        assert_eq!(check("gs://bucket/x", Spec::V3(2)), Ok(()));
    }

    #[test]
    fn what_ignition_refuses_or_cannot_fetch() {
        for (bad, error) in [
            ("", UrlError::Scheme),
            ("skewguard", UrlError::Scheme),
            ("ftp://h/x", UrlError::Scheme),
            ("file:///x", UrlError::Scheme),
            ("HTTPS//h", UrlError::Scheme),
            ("https://h/a b", UrlError::Character),
            ("https://h/\u{1b}", UrlError::Character),
            ("https://h/\u{e4}", UrlError::Character),
            ("https://h/%zz", UrlError::Character),
            ("https://h/x%2", UrlError::Character),
            ("https://h\\x", UrlError::Character),
            ("https://h/[x]", UrlError::Character),
            ("https://", UrlError::Authority),
            ("https:///x", UrlError::Authority),
            ("https://?x", UrlError::Authority),
            ("https://@/x", UrlError::Authority),
            ("https://:80/x", UrlError::Authority),
            ("https://h:/x", UrlError::Authority),
            ("https://h:port/x", UrlError::Authority),
            ("https://h:+80/x", UrlError::Authority),
            ("https://h:65536/x", UrlError::Authority),
            ("https://[::1/x", UrlError::Authority),
            ("https://[::1]8443/x", UrlError::Authority),
            ("https://[h]/x", UrlError::Authority),
            ("https://a:b:80/x", UrlError::Authority),
            ("s3://bucket", UrlError::File),
            ("gs://bucket/", UrlError::File),
        ] {
            assert_eq!(check(bad, NEWEST), Err(error), "{bad}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        for (url, wanted) in [
            ("https://user:p@ss@h:1/x?sig=abc#y", "https://h:1/x"),
            ("https://h/x@y", "https://h/x@y"),
            ("https://token@", "https://"),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(shown(url), wanted);
        }
        assert!(has_credentials("https://user@h/x") && !has_credentials("https://h/user@x"));
    }
}
