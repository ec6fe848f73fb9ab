//! Which proxy an API server is reached through, as Go's programs decide it
//! (`golang.org/x/net/http/httpproxy`; pure).

use crate::kubeconfig::Server;
use std::ffi::OsString;
use std::net::IpAddr;

/// The proxy that the environment names for this server: `HTTPS_PROXY`, unless `NO_PROXY` says
/// otherwise. Each also in lower case.
pub(super) fn of_environment(
    server: &Server,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Option<String> {
    let read = |names: [&str; 2]| {
        names
            .into_iter()
            .filter_map(|name| variable(name)?.into_string().ok())
            .find(|value| !value.is_empty())
    };
    let proxy = read(["HTTPS_PROXY", "https_proxy"])?;
    let without = read(["NO_PROXY", "no_proxy"]).unwrap_or_default();
    goes_by_proxy(&server.host, server.port(), &without).then_some(proxy)
}

fn goes_by_proxy(host: &str, port: u16, without: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let address: Option<IpAddr> = host.parse().ok();
    if host == "localhost" || address.is_some_and(|address| address.is_loopback()) {
        return false;
    }
    let matches = |entry: &str| {
        let entry = entry.trim().to_ascii_lowercase();
        if entry == "*" {
            return true;
        }
        if let (Some(address), Some((network, bits))) = (address, entry.split_once('/')) {
            return is_within(address, network, bits);
        }
        // The colons of an IPv6 address are no port, except behind brackets.
        let (entry, of_port) = match entry.rsplit_once(':') {
            Some((name, port)) if name.ends_with(']') || !name.contains(':') => {
                (name.to_owned(), port.parse().ok())
            }
            _ => (entry, None::<u16>),
        };
        let entry = entry.trim_matches(['[', ']']);
        if entry.is_empty() || of_port.is_some_and(|of_port| of_port != port) {
            return false;
        }
        if address.is_some() {
            return entry.parse().ok() == address;
        }
        // `.example.com` and `*.example.com` are the names below, `example.com` is that name, too.
        let domain = entry.strip_prefix('*').unwrap_or(entry);
        match domain.strip_prefix('.') {
            Some(_) => host.ends_with(domain),
            None => host == domain || host.ends_with(&format!(".{domain}")),
        }
    };
    !without.split(',').any(matches)
}

/// Whether an address is in `10.0.0.0/8` or the like.
fn is_within(address: IpAddr, network: &str, bits: &str) -> bool {
    let number = |address: IpAddr| match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    let (Ok(network), Ok(bits)) = (network.parse::<IpAddr>(), bits.parse::<u32>()) else {
        return false;
    };
    let ((address, size), (network, of_network)) = (number(address), number(network));
    size == of_network
        && bits <= size
        && (address ^ network)
            .checked_shr(128 - bits)
            .is_none_or(|rest| rest == 0)
}

/// The URL of a proxy, with its scheme; without one it is `http://`, as for Go.
///
/// # Errors
/// It is a kind of proxy that is not supported. The text does not quote it: there may be a password
/// in it.
pub(super) fn checked(url: &str) -> Result<String, &'static str> {
    let whole = if url.contains("://") {
        url.to_owned()
    } else {
        format!("http://{url}")
    };
    if whole.chars().any(|c| c.is_control() || c == ' ') {
        return Err("is not an URL");
    }
    match whole.strip_prefix("http://") {
        None => Err("is not supported: only a proxy that is reached by http:// is"),
        Some(rest) if rest.is_empty() || rest.starts_with('/') => Err("names no proxy"),
        Some(_) => Ok(whole),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_proxy_as_go_reads_it() {
        for (host, without, by_proxy) in [
            ("api.c1.example.com", "", true),
            ("api.c1.example.com", "example.com", false),
            ("api.c1.example.com", ".example.com", false),
            ("api.c1.example.com", "*.example.com", false),
            (
                "api.c1.example.com",
                "other.org, API.c1.example.com:6443",
                false,
            ),
            ("api.c1.example.com", "api.c1.example.com:443", true),
            ("example.com", ".example.com", true),
            ("badexample.com", "example.com", true),
            ("api.c1.example.com", "*", false),
            ("api.c1.example.com", ",", true),
            ("10.1.2.3", "10.0.0.0/8", false),
            ("11.1.2.3", "10.0.0.0/8", true),
            ("11.1.2.3", "0.0.0.0/0", false),
            ("11.1.2.3", "::/0", true),
            ("10.1.2.3", "10.1.2.3", false),
            ("10.1.2.3", "10.1.2.3:6443", false),
            ("fd00::1", "fd00::/8", false),
            ("fd00::1", "[fd00::1]:6443", false),
            ("localhost", "", false),
            ("127.0.0.1", "", false),
        ] {
            assert_eq!(
                goes_by_proxy(host, 6443, without),
                by_proxy,
                "{host}, {without}"
            );
        }
    }

    #[test]
    fn proxies_that_work() {
        assert_eq!(
            checked("proxy.example.com:3128").unwrap(),
            "http://proxy.example.com:3128"
        );
        assert!(checked("http://user:secret@proxy:3128").is_ok());
        for url in ["socks5://proxy", "https://proxy", "http://", "http://a b"] {
            assert!(checked(url).is_err(), "{url}");
        }
    }
}
