//! The address of an API server, `https://host:port/path` (pure).

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// An API server's address. It displays as written, without a trailing slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// A DNS name, or an IP address without brackets.
    pub host: String,
    port: Option<u16>,
    path: String,
}

impl Server {
    /// Parses a URL.
    ///
    /// # Errors
    /// What is wrong with it, as a clause.
    pub fn parse(url: &str) -> Result<Self, &'static str> {
        let form = "is not an URL of the form https://host:port";
        let rest = url
            .strip_prefix("https://")
            .ok_or("does not start with https://: credentials are never sent in the clear")?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err("has a user in it: credentials belong into users");
        }
        let (host, port) = match authority.rsplit_once(':') {
            // The colons of an IPv6 address are inside brackets.
            Some((host, port)) if !port.contains(']') => (
                host,
                Some(
                    port.parse::<u16>()
                        .ok()
                        .filter(|port| *port > 0)
                        .ok_or(form)?,
                ),
            ),
            _ => (authority, None),
        };
        let in_brackets = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let host_fits = match in_brackets {
            Some(address) => address.parse::<Ipv6Addr>().is_ok(),
            None => is_host_name(host) || host.parse::<Ipv4Addr>().is_ok(),
        };
        let path_fits = path
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"/-._~%".contains(&b))
            && !path.contains("..");
        if !host_fits || !path_fits {
            return Err(form);
        }
        Ok(Self {
            host: in_brackets.unwrap_or(host).to_owned(),
            port,
            path: path.trim_end_matches('/').to_owned(),
        })
    }

    /// The port; 443 where the URL has none.
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(443)
    }

    /// The host, in brackets where it is an IPv6 address.
    pub fn bracketed_host(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        }
    }

    /// Host and port as written: the value of the HTTP header `Host`.
    pub fn authority(&self) -> String {
        let host = self.bracketed_host();
        self.port
            .map_or_else(|| host.clone(), |port| format!("{host}:{port}"))
    }

    /// The same address with another host.
    #[must_use]
    pub fn at(&self, host: &str) -> Self {
        Self {
            host: host.to_owned(),
            ..self.clone()
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "https://{}{}", self.authority(), self.path)
    }
}

/// This is a DNS name that may stand in a URL: at most 253 letters, digits, `-`, `_` and
/// dots, without empty labels, and not an IP address.
pub(super) fn is_host_name(name: &str) -> bool {
    let is_label = |label: &str| {
        let bytes = label.bytes();
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && bytes
                .clone()
                .all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
    };
    let numeric = name.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    name.len() <= 253
        && !numeric
        && name
            .strip_suffix('.')
            .unwrap_or(name)
            .split('.')
            .all(is_label)
}
