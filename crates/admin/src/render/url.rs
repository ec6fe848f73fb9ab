//! URLs that Ignition fetches (pure).
//!
//! Ignition parses URLs with Go's net/url. If one does not parse, Ignition refuses the config in
//! the initramfs, where nobody sees that. So a URL that RFC 3986 does not allow is refused here,
//! which is a little stricter than Go.

use super::ignition::Spec;
use fluent_uri::Uri;
use std::fmt;

const SCHEMES: &str = "it takes https, http, s3, tftp and, from spec 3.2.0, gs";
const AUTHORITY: &str = "invalid host or port";
const NO_FILE: &str = "it names no file";

/// A URL that Ignition fetches.
#[derive(Debug, Clone)]
pub(crate) struct FetchUrl(Uri<String>);

impl FetchUrl {
    /// Parses a URL. The error does not repeat it, because it may have a password.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if !text.contains("://") {
            return Err(SCHEMES.to_owned());
        }
        let url = Uri::parse(text).map_err(|error| {
            format!("{error}; what is not allowed there has to be percent-encoded")
        })?;
        let scheme = url.scheme().as_str();
        // "Configuration Specification v2.2.0" to "v3.5.0" of coreos/ignition, `source`.
        let authority = url
            .authority()
            .filter(|_| ["https", "http", "s3", "tftp", "gs"].contains(&scheme))
            .ok_or(SCHEMES)?;
        let host = authority.host();
        // The parser has checked IPv6 addresses. As names RFC 3986 allows more than DNS.
        let named = host.starts_with('[')
            || !host.is_empty()
                && host
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
        let port = authority
            .port_to_u16()
            .map(|port| port.map_or(!authority.has_port(), |port| port > 0));
        if !named || host.starts_with("[v") || port != Ok(true) {
            return Err(AUTHORITY.to_owned());
        }
        if !scheme.starts_with("http") && url.path().as_str().len() < 2 {
            return Err(NO_FILE.to_owned());
        }
        Ok(Self(url.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The oldest spec with this scheme.
    pub(crate) fn oldest_spec(&self) -> Spec {
        if self.0.scheme().as_str() == "gs" {
            Spec::V3(2)
        } else {
            Spec::V2_2
        }
    }

    /// Tells whether it has a user or a password.
    pub(crate) fn has_credentials(&self) -> bool {
        self.0
            .authority()
            .is_some_and(|authority| authority.has_userinfo())
    }
}

/// Displays without credentials, and without the query, which may have a signature.
impl fmt::Display for FetchUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (host, port) = self
            .0
            .authority()
            .map_or(("", None), |authority| (authority.host(), authority.port()));
        write!(f, "{}://{host}", self.0.scheme())?;
        port.map_or(Ok(()), |port| write!(f, ":{port}"))?;
        f.write_str(self.0.path().as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ignition_fetches() {
        for good in [
            "https://mirror.example.com/skewguard",
            "http://10.0.0.1:8080/a%20b?version=1&x=y#z",
            "https://user:p%40ss@[fd00::1]:8443/x",
            "https://mirror",
            "s3://bucket/skewguard",
            "tftp://host/skewguard",
            "gs://my_bucket/skewguard",
        ] {
            assert_eq!(FetchUrl::parse(good).unwrap().as_str(), good);
        }
        let oldest = |url| FetchUrl::parse(url).unwrap().oldest_spec();
        assert_eq!(
            (oldest("gs://bucket/x"), oldest("s3://bucket/x")),
            (Spec::V3(2), Spec::V2_2)
        );
    }

    #[test]
    fn what_ignition_refuses_or_cannot_fetch() {
        for bad in [
            "https://h/a b",
            "https://h/\u{1b}",
            "https://h/\u{e4}",
            "https://h/%zz",
            "https://h/x%2",
            "https://h\\x",
            "https://h/[x]",
            "https://h/?x=[y]",
            "https://h:port/x",
            "https://h:+80/x",
            "https://[::1/x",
            "https://[::1]8443/x",
            "https://[h]/x",
            "https://a:b:80/x",
        ] {
            let said = FetchUrl::parse(bad).unwrap_err();
            assert!(
                said.ends_with("; what is not allowed there has to be percent-encoded"),
                "{bad}: {said}"
            );
        }
        for (bad, error) in [
            ("", SCHEMES),
            ("skewguard", SCHEMES),
            ("HTTPS//h", SCHEMES),
            ("ftp://h/x", SCHEMES),
            ("file:///x", SCHEMES),
            ("https:x", SCHEMES),
            ("https://", AUTHORITY),
            ("https:///x", AUTHORITY),
            ("https://?x", AUTHORITY),
            ("https://@/x", AUTHORITY),
            ("https://:80/x", AUTHORITY),
            ("https://h:/x", AUTHORITY),
            ("https://h:0/x", AUTHORITY),
            ("https://h:65536/x", AUTHORITY),
            ("https://[v1.a]/x", AUTHORITY),
            ("https://h%41/x", AUTHORITY),
            ("s3://bucket", NO_FILE),
            ("gs://bucket/", NO_FILE),
        ] {
            assert_eq!(FetchUrl::parse(bad).unwrap_err(), error, "{bad}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        for (url, wanted) in [
            ("https://user:p%40ss@h:1/x?sig=abc#y", "https://h:1/x"),
            ("https://h/x@y", "https://h/x@y"),
            ("http://token@h", "http://h"),
        ] {
            assert_eq!(FetchUrl::parse(url).unwrap().to_string(), wanted);
        }
        let credentials = |url| FetchUrl::parse(url).unwrap().has_credentials();
        assert!(credentials("https://user@h/x") && !credentials("https://h/user@x"));
        let error = FetchUrl::parse("https://me:s3cret@h/a b").unwrap_err();
        assert_eq!(
            error,
            "unexpected character at index 21; what is not allowed there has to be percent-encoded"
        );
    }
}
