//! Names and addresses that a node goes by, and whether two are the same (pure): one matcher for
//! Machines, hosts, reports, certificate requests and logs.

use serde::{Deserialize, Deserializer};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// A network interface of a host or an agent, or an address of a Node.
#[derive(Deserialize)]
struct Interface {
    ip: String,
    address: String,
    #[serde(rename = "ipV4Addresses")]
    v4: Vec<String>,
    #[serde(rename = "ipV6Addresses")]
    v6: Vec<String>,
}

/// The IP addresses of interfaces.
///
/// # Errors
/// These are none.
pub fn ips<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpAddr>, D::Error> {
    let all = Vec::<Interface>::deserialize(deserializer)?;
    let texts = (all.iter()).flat_map(|it| it.v4.iter().chain(&it.v6).chain([&it.ip, &it.address]));
    Ok(texts.filter_map(|text| ip(text)).collect())
}

/// An IP address, also with a prefix: `10.0.0.5/24`.
pub fn ip(text: &str) -> Option<IpAddr> {
    let text = text.split('/').next()?;
    let address: IpAddr = text.parse().ok()?;
    Some(address.to_canonical())
}

/// A name as it is compared: in lower case, without the root's dot.
pub fn normal(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

/// The forms in which a name is looked for: itself, and of a long host name the first part, by which a
/// node may know itself.
pub fn forms(name: &str) -> impl Iterator<Item = String> {
    let short = match (ip(name), name.split_once('.')) {
        (None, Some((host, _))) if !host.is_empty() => Some(normal(host)),
        _ => None,
    };
    std::iter::once(normal(name)).chain(short)
}

/// Tells if the host of a full name is of another domain than the host of that first name among these.
pub fn is_of_another_domain(names: &BTreeSet<String>, host: &str) -> bool {
    let first = |name: &str| name.split_once('.').map(|(first, _)| first.to_owned());
    let Some(own) = first(host) else {
        return false;
    };
    let is_alike = |name: &&String| first(name).as_ref() == Some(&own) && ip(name).is_none();
    let mut alike = names.iter().filter(is_alike).peekable();
    alike.peek().is_some() && !alike.any(|name| name == host)
}

/// The last part of a provider's ID: `vsphere://4237-...`, `openstack:///8e1f-...`; on these it is the
/// product UUID.
pub fn of_provider(id: &str) -> Option<&str> {
    id.rsplit('/').next().filter(|part| !part.is_empty())
}

/// Tells if a node has no name of its own.
pub fn is_localhost(node: &str) -> bool {
    node == "localhost" || node.starts_with("localhost.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_name_of_another_domain_is_another_hosts() {
        let names = |all: &[&str]| all.iter().map(|&name| name.to_owned()).collect();
        for (own, host, wanted) in [
            (&["w-0", "w-0.a.example"][..], "w-0.b.example", true),
            (&["w-0", "w-0.a.example"], "w-0.a.example", false),
            (&["w-0"], "w-0.b.example", false),
            (&["w-0.a.example"], "w-0", false),
            (&["10.0.0.5"], "10.example", false),
        ] {
            assert_eq!(is_of_another_domain(&names(own), host), wanted, "{host}");
        }
    }

    #[test]
    fn a_long_name_is_looked_for_by_its_first_part_too() {
        for (name, wanted) in [
            ("W-9.Example.com.", &["w-9.example.com", "w-9"][..]),
            ("w-9", &["w-9"]),
            ("10.0.0.5", &["10.0.0.5"]),
            ("fe80::1", &["fe80::1"]),
            (".", &[""]),
        ] {
            assert_eq!(forms(name).collect::<Vec<_>>(), wanted, "{name}");
        }
    }
}
