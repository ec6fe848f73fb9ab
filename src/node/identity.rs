//! The node's identity, by which an admin finds its Machine, instance or host.
//!
//! Everything is optional: a node that cannot say who it is still reports. Text is made printable
//! and bounded where it enters.

use super::{Root, cmdline};
use crate::text;
use nix::ifaddrs::InterfaceAddress;
use nix::net::if_::InterfaceFlags;
use serde::Serialize;
use std::net::IpAddr;

/// Longest name or id kept, in characters (hostname(7): a host name has at most 253).
const NAME_MAX: usize = 253;

/// Limit of IP addresses that are kept, and of hardware addresses.
const ADDRESSES_MAX: usize = 16;

/// The node's identity. A part that could not be read is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// hostname(5), else uname(2)'s node name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// machine-id(5); a Node object shows it as `status.nodeInfo.machineID`.
    #[serde(rename = "machineID", skip_serializing_if = "Option::is_none")]
    pub machine_id: Option<String>,
    /// SMBIOS product UUID; a Node object shows it as `status.nodeInfo.systemUUID`, clouds and
    /// vSphere as the instance's UUID.
    #[serde(rename = "productUUID", skip_serializing_if = "Option::is_none")]
    pub product_uuid: Option<String>,
    /// `ignition.platform.id` from the kernel command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// Addresses of the interfaces that are up, IPv4 first, without loopback and link-local ones.
    pub addresses: Vec<String>,
    /// Hardware addresses of these interfaces.
    pub mac_addresses: Vec<String>,
}

impl Identity {
    /// Reads the identity. uname and interfaces only count where `root` is the running system.
    pub(crate) fn read(root: &Root) -> Self {
        let mut identity = Self::from_files(root);
        identity.complete(root);
        identity
    }

    /// Fills in a missing host name and reads the addresses again, if this is the running system.
    /// Early in a boot there may be neither, and addresses of one family may come later than those
    /// of the other.
    pub(crate) fn complete(&mut self, root: &Root) {
        if !root.is_live() {
            return;
        }
        if self
            .hostname
            .as_deref()
            .is_none_or(|name| name.starts_with("localhost"))
            && let Some(name) = nix::sys::utsname::uname()
                .ok()
                .and_then(|uname| name_of(&uname.nodename().to_string_lossy()))
        {
            self.hostname = Some(name);
        }
        if let Ok(interfaces) = nix::ifaddrs::getifaddrs() {
            let (ips, macs) = addresses(interfaces);
            if !ips.is_empty() || self.addresses.is_empty() {
                (self.addresses, self.mac_addresses) = (ips, macs);
            }
        }
    }

    /// Reads what the node's files say.
    pub(crate) fn from_files(root: &Root) -> Self {
        let line = |path| {
            root.read_text(path, 4096)
                .ok()
                .flatten()
                .and_then(|text| name_of(text.lines().next().unwrap_or_default()))
        };
        Self {
            hostname: line("/etc/hostname"),
            machine_id: line("/etc/machine-id")
                .filter(|id| id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit())),
            product_uuid: line("/sys/class/dmi/id/product_uuid"),
            platform: cmdline::load(root, &mut Vec::new())
                .ok()
                .and_then(|line| line.platform)
                .as_deref()
                .map(|platform| text::bounded(platform, NAME_MAX)),
            addresses: Vec::new(),
            mac_addresses: Vec::new(),
        }
    }
}

fn name_of(name: &str) -> Option<String> {
    let name = name.trim();
    (!name.is_empty()).then(|| text::bounded(&text::printable(name), NAME_MAX))
}

/// Addresses and hardware addresses of the interfaces that are up.
fn addresses(interfaces: impl Iterator<Item = InterfaceAddress>) -> (Vec<String>, Vec<String>) {
    let (mut ips, mut macs): (Vec<IpAddr>, Vec<String>) = (Vec::new(), Vec::new());
    let up = |interface: &InterfaceAddress| {
        interface.flags.contains(InterfaceFlags::IFF_UP)
            && !interface.flags.contains(InterfaceFlags::IFF_LOOPBACK)
    };
    for address in interfaces
        .filter(up)
        .filter_map(|interface| interface.address)
    {
        let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
        let ip = v4.or_else(|| address.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip())));
        ips.extend(ip.filter(|ip| !is_link_local(*ip) && !ips.contains(ip)));
        let mac = address
            .as_link_addr()
            .and_then(|link| link.addr())
            .filter(|mac| mac.iter().any(|byte| *byte != 0));
        let mac = mac.map(|mac| mac.map(|byte| format!("{byte:02x}")).join(":"));
        macs.extend(mac.filter(|mac| !macs.contains(mac)));
    }
    macs.truncate(ADDRESSES_MAX);
    let of = |is_v6| ips.iter().filter(move |ip| ip.is_ipv6() == is_v6);
    let ips = of(false).chain(of(true)).take(ADDRESSES_MAX);
    (ips.map(IpAddr::to_string).collect(), macs)
}

fn is_link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => v4.is_link_local() || v4.is_unspecified(),
        IpAddr::V6(v6) => v6.is_unicast_link_local() || v6.is_unspecified(),
    }
}
