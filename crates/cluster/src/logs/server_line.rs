//! A line of the machine-config-server's log (pure).
//!
//! The messages are those of openshift/machine-config-operator, `pkg/server` and
//! `cmd/machine-config-server`, in the branches release-4.3 to release-5.2 and main of 2026-08-20.

use crate::moment::Moment;
use std::net::IpAddr;

/// The meaning of a line.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A client asked for a pool's config.
    Request(Asked<'a>),
    /// A request was not served. The line does not say whose.
    Failure(Failure<'a>),
    /// TLS failed before anything was asked for.
    Handshake {
        address: Option<IpAddr>,
        error: &'a str,
    },
    /// A node told that its first boot failed (`/v1/node-failure`): its name, and the rest.
    Told {
        node: &'a str,
        what: &'a str,
    },
    /// The server starts; what it is.
    Start(&'a str),
    /// Only the server of the bootstrap machine says so.
    Bootstrap,
    /// Known, and about no request.
    Known,
    Unknown,
}

impl Line<'_> {
    /// Tells if only the bootstrap machine's server writes it.
    pub fn is_of_bootstrap(&self) -> bool {
        let is_own = |failure: &Failure<'_>| failure.kind == FailureKind::Bootstrap;
        matches!(self, Self::Bootstrap) || matches!(self, Self::Failure(of) if is_own(of))
    }
}

/// What a client asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct Asked<'a> {
    pub pool: &'a str,
    pub peer: Option<PeerAddress>,
    /// `Ignition/2.14.0`; empty before 4.5.
    pub agent: &'a str,
    pub accept: &'a str,
}

/// The address and the port of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerAddress {
    pub address: IpAddr,
    pub port: u16,
}

/// A request that was not served, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure<'a> {
    pub kind: FailureKind,
    /// The pool that was asked for, where the line has it.
    pub pool: Option<&'a str>,
    /// The client, where the error has it: a net error does.
    pub peer: Option<PeerAddress>,
    pub error: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureKind {
    /// There is no such pool.
    NoPool,
    /// The server of the bootstrap machine answered, which serves the control plane alone.
    Bootstrap,
    /// The server could not make the config, whoever asks.
    NoConfig,
    /// The config cannot be said in the spec that this client asks for.
    Conversion,
    /// The client's Accept header names no spec that the server has.
    Spec,
    /// The client went away.
    Write,
}

impl FailureKind {
    /// The HTTP status that the client got.
    pub fn status(self) -> Option<u16> {
        match self {
            Self::NoPool | Self::Bootstrap | Self::NoConfig | Self::Conversion => Some(500),
            Self::Spec => Some(400),
            Self::Write => None,
        }
    }
}

/// Beginnings of lines that say nothing of a request.
const KNOWN: [&str; 29] = [
    "Launching ",
    "launching server",
    "reading file ",
    "could not find file",
    "could not read file",
    "could not unmarshal file",
    "could not marshal ignConf",
    "got controllerConfig",
    "got ignconf",
    "Could not get kubeconfig data",
    "error found during grabbing apiserver",
    "Failed to check if image is internal registry",
    "Certificate watcher failed",
    "failed to load serving cert",
    "Could not list MachineOS",
    "Failed to decode failure report",
    "Missing required fields in failure report",
    "Failed to process failure report",
    "Failed to get cluster infrastructure",
    "Failed to compute ignition host",
    "New nodes will bootstrap with base image",
    "Resolved layered image",
    "Setting initial node annotations",
    "overriding MC OSImageURL",
    "Machine Config Server exited",
    "Error executing ",
    "--apiserver-url",
    "Starting certificate watcher",
    "Updated current TLS certificate",
];

/// Beginnings of lines of the bootstrap machine's server alone.
const BOOTSTRAP: [&str; 2] = [
    "Launching bootstrap server",
    "reading file \"/etc/mcs/bootstrap",
];

/// Parts of lines about a pool that say nothing of a request.
const OF_POOL: [&str; 3] = [
    " has MachineOSConfig but ",
    " has MachineOSBuild but ",
    " has successful MOSB ",
];

/// Splits a line into its time and its message. `year_of` gives the year of a month and day, which
/// klog does not write.
pub fn split<'a>(
    line: &'a str,
    year_of: &mut dyn FnMut(u8, u8) -> Option<u16>,
) -> (Option<Moment>, &'a str) {
    // `oc logs --prefix` begins with the pod and the container.
    let line = match line.strip_prefix("[pod/") {
        Some(rest) => rest.split_once("] ").map_or(line, |(_, rest)| rest),
        None => line,
    };
    // What the kubelet puts before each line; must-gathers have it.
    let (stamp, rest) = match line.split_once(' ') {
        Some((first, rest)) if first.len() >= 20 && first.contains('T') => {
            match Moment::parse(first) {
                Some(at) => (Some(at), rest),
                None => (None, line),
            }
        }
        _ => (None, line),
    };
    // CRI's own form of a container's log: `stderr F `.
    let rest = ["stderr F ", "stdout F ", "stderr P ", "stdout P "]
        .iter()
        .find_map(|mark| rest.strip_prefix(mark))
        .unwrap_or(rest);
    // The kubelet's stamp has the year.
    let mut year_of = |month, day| match stamp {
        Some(_) => None,
        None => year_of(month, day),
    };
    if let Some((at, message)) = klog(rest, &mut year_of) {
        return (stamp.or(at), message);
    }
    if let Some((at, message)) = go_log(rest) {
        return (stamp.or(at), message);
    }
    (stamp, rest)
}

/// `I1104 16:39:29.536108       1 api.go:117] message`.
fn klog<'a>(
    text: &'a str,
    year_of: &mut dyn FnMut(u8, u8) -> Option<u16>,
) -> Option<(Option<Moment>, &'a str)> {
    let head = text.get(..21)?;
    let (level, head) = head.split_at_checked(1)?;
    if !matches!(level, "I" | "W" | "E" | "F") || head.as_bytes().get(4) != Some(&b' ') {
        return None;
    }
    let month: u8 = head.get(..2)?.parse().ok()?;
    let day: u8 = head.get(2..4)?.parse().ok()?;
    let time = head.get(5..13)?;
    let (_, message) = text.split_once("] ")?;
    let at = year_of(month, day)
        .and_then(|year| Moment::parse(&format!("{year:04}-{month:02}-{day:02}T{time}Z")));
    Some((at, message))
}

/// `2020/03/30 08:28:35 message`, as Go's own logger writes.
fn go_log(text: &str) -> Option<(Option<Moment>, &str)> {
    let (day, time) = (text.get(..10)?, text.get(11..19)?);
    let is_stamp = text.as_bytes().get(4) == Some(&b'/')
        && text.as_bytes().get(10) == Some(&b' ')
        && text.as_bytes().get(19) == Some(&b' ');
    let at = Moment::parse(&format!("{}T{time}Z", day.replace('/', "-")));
    is_stamp.then_some((at, text.get(20..)?))
}

/// Reads a message.
pub fn read(message: &str) -> Line<'_> {
    if let Some(line) = request(message) {
        return line;
    }
    if let Some(failure) = failure(message) {
        return Line::Failure(failure);
    }
    if let Some(rest) = message.strip_prefix("http: TLS handshake error from ") {
        let (address, error) = rest.split_once(": ").unwrap_or((rest, ""));
        return Line::Handshake {
            address: peer(address).map(|peer| peer.address),
            error,
        };
    }
    if let Some(version) = message.strip_prefix("Version: ") {
        return Line::Start(version);
    }
    if let Some(rest) = message.strip_prefix("Received failure report: ") {
        let node = rest
            .split_whitespace()
            .find_map(|word| word.strip_prefix("node="));
        let node = node.unwrap_or_default().trim_matches('"');
        return Line::Told { node, what: rest };
    }
    if BOOTSTRAP.iter().any(|known| message.starts_with(known)) {
        return Line::Bootstrap;
    }
    // A request's line that was cut begins as these do.
    let is_of_pool =
        message.starts_with("Pool ") && OF_POOL.iter().any(|known| message.contains(known));
    let is_known = KNOWN.iter().any(|known| message.starts_with(known));
    if is_known || is_of_pool || message.trim().is_empty() {
        Line::Known
    } else {
        Line::Unknown
    }
}

/// `Pool worker requested by address:"10.0.2.113:40148" User-Agent:"…" Accept-Header: "…"`. The
/// pool has quotes since 4.17; `requested by 10.0.2.113:40148` was all in 4.3.
fn request(message: &str) -> Option<Line<'_>> {
    let (pool, rest) = message
        .strip_prefix("Pool ")?
        .split_once(" requested by ")?;
    let quoted = |name: &str| {
        let (_, value) = rest.split_once(name)?;
        let value = value.trim_start().strip_prefix('"')?;
        // A cut line has no end.
        value.split('"').next()
    };
    // Up to 4.5 there is no more than the address, or the client behind it.
    let bare = rest.split_whitespace().next().unwrap_or_default();
    let address = quoted("address:").unwrap_or(bare);
    Some(Line::Request(Asked {
        pool: pool.trim_matches('"'),
        peer: peer(address),
        agent: quoted("User-Agent:").unwrap_or_default(),
        accept: quoted("Accept-Header:").unwrap_or_default(),
    }))
}

/// Beginnings of lines about a request that was not served, with what else is in them.
const FAILURES: [(&str, &str, FailureKind); 7] = [
    ("couldn't get config for req: ", "", FailureKind::NoConfig),
    (
        "couldn't convert config for req: ",
        "",
        FailureKind::Conversion,
    ),
    ("failed to translate ", "", FailureKind::Conversion),
    ("failed to prepare ", "", FailureKind::Conversion),
    (
        "unsupported Ignition version in Accept header: ",
        "",
        FailureKind::Spec,
    ),
    ("failed to write ", " response: ", FailureKind::Write),
    ("failed to marshal ", " config: ", FailureKind::NoConfig),
];

fn failure(message: &str) -> Option<Failure<'_>> {
    let (kind, rest) = FAILURES.iter().find_map(|(begin, part, kind)| {
        let rest = message.strip_prefix(begin)?;
        rest.contains(part).then_some((*kind, rest))
    })?;
    let kind = match kind {
        FailureKind::Spec => {
            return Some(Failure {
                kind,
                pool: None,
                peer: None,
                error: rest,
            });
        }
        FailureKind::NoConfig
            if rest.contains("could not fetch pool") && rest.contains("not found") =>
        {
            FailureKind::NoPool
        }
        FailureKind::NoConfig if rest.contains("refusing to serve bootstrap configuration") => {
            FailureKind::Bootstrap
        }
        kind => kind,
    };
    let error = ["error: ", " response: ", " config: "]
        .iter()
        .find_map(|mark| rest.split_once(mark))
        .map_or(rest, |(_, error)| error);
    Some(Failure {
        kind,
        pool: requested_pool(rest),
        peer: peer_of_error(error),
        error,
    })
}

/// The client of a net error: `write tcp 10.0.0.3:22623->10.0.7.21:40312: write: broken pipe`.
fn peer_of_error(error: &str) -> Option<PeerAddress> {
    let (_, rest) = error.split_once("->")?;
    peer(rest.split(": ").next()?)
}

/// `worker` from `{worker 0xc000…}` and `{machineConfigPool:worker version:0xc000…}`: Go prints the
/// version's address.
fn requested_pool(rest: &str) -> Option<&str> {
    let fields = rest.strip_prefix('{')?;
    let first = fields.split([' ', '}', ',']).next()?;
    let pool = first.strip_prefix("machineConfigPool:").unwrap_or(first);
    (!pool.is_empty()).then_some(pool)
}

/// The address and port of `10.0.2.113:40148` and `[fd00::5]:40148`; port 0 where there is none.
fn peer(text: &str) -> Option<PeerAddress> {
    let (host, port) = text.rsplit_once(':').unwrap_or((text, ""));
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address: IpAddr = host.parse().ok()?;
    Some(PeerAddress {
        address: address.to_canonical(),
        port: port.parse().unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> (Option<String>, Line<'_>) {
        let (at, message) = split(line, &mut |_, _| Some(2026));
        (at.map(Moment::text), read(message))
    }

    fn request<'a>(pool: &'a str, address: &str, agent: &'a str, accept: &'a str) -> Line<'a> {
        Line::Request(Asked {
            pool,
            peer: peer(address),
            agent,
            accept,
        })
    }

    /// The first two are public: a bootstrap server of 4.6 (no prefix of the kubelet's).
    #[test]
    fn requests_of_each_release_are_read() {
        const ACCEPT: &str = "application/vnd.coreos.ignition+json;version=3.1.0, */*;q=0.1";
        for (line, time, wanted) in [
            (
                r#"I1104 16:39:29.536108       1 api.go:117] Pool master requested by address:"10.0.2.113:40148" User-Agent:"Ignition/2.6.0" Accept-Header: "application/vnd.coreos.ignition+json;version=3.1.0, */*;q=0.1""#,
                Some("2026-11-04T16:39:29Z"),
                request("master", "10.0.2.113:40148", "Ignition/2.6.0", ACCEPT),
            ),
            (
                r#"2026-08-20T09:14:03.123456789Z I0820 09:14:03.123456       1 api.go:119] Pool "worker" requested by address:"[fd00::5]:40312" User-Agent:"Ignition/2.20.0" Accept-Header: "application/vnd.coreos.ignition+json;version=3.5.0, */*;q=0.1""#,
                Some("2026-08-20T09:14:03Z"),
                request(
                    "worker",
                    "[fd00::5]:40312",
                    "Ignition/2.20.0",
                    "application/vnd.coreos.ignition+json;version=3.5.0, */*;q=0.1",
                ),
            ),
            (
                "I0911 10:00:00.000000       1 api.go:102] Pool worker requested by 10.0.0.5:1234",
                Some("2026-09-11T10:00:00Z"),
                request("worker", "10.0.0.5:1234", "", ""),
            ),
            (
                // An IPv4 peer of a socket for both.
                r#"Pool worker requested by address:"[::ffff:10.0.0.5]:1" User-Agent:"curl/7.61.1" Accept-Header: "*/*""#,
                None,
                request("worker", "10.0.0.5:1", "curl/7.61.1", "*/*"),
            ),
            // 4.5.
            (
                r#"I0911 10:00:00.000000       1 api.go:102] Pool master requested by 192.168.126.12:32780 User-Agent:"Ignition/2.6.0""#,
                Some("2026-09-11T10:00:00Z"),
                request("master", "192.168.126.12:32780", "Ignition/2.6.0", ""),
            ),
            (
                r#"[pod/machine-config-server-x7k2p/machine-config-server] I0911 10:00:00.000000       1 api.go:102] Pool worker requested by 10.0.0.5:1234"#,
                Some("2026-09-11T10:00:00Z"),
                request("worker", "10.0.0.5:1234", "", ""),
            ),
            (
                // Cut short.
                r#"I0820 09:14:03.123456       1 api.go:119] Pool "worker" requested by address:"10.0.7.21:403"#,
                Some("2026-08-20T09:14:03Z"),
                request("worker", "10.0.7.21:403", "", ""),
            ),
        ] {
            let (at, found) = of(line);
            assert_eq!((at.as_deref(), found), (time, wanted), "{line}");
        }
    }

    #[test]
    fn failures_name_what_failed() {
        use FailureKind::{Conversion, NoConfig, NoPool, Spec, Write};
        for (message, kind, pool, error) in [
            (
                r#"couldn't get config for req: {machineConfigPool:gpu version:0xc0004a2d20}, error: could not fetch pool. err: machineconfigpool.machineconfiguration.openshift.io "gpu" not found"#,
                NoPool,
                Some("gpu"),
                r#"could not fetch pool. err: machineconfigpool.machineconfiguration.openshift.io "gpu" not found"#,
            ),
            (
                "couldn't get config for req: {worker 0xc00033c0f0}, error: could not get controllerconfig: x",
                NoConfig,
                Some("worker"),
                "could not get controllerconfig: x",
            ),
            (
                "couldn't convert config for req: {worker 0xc00033c0f0}, error: failed to convert config from spec v3.2 to v2.2: x",
                Conversion,
                Some("worker"),
                "failed to convert config from spec v3.2 to v2.2: x",
            ),
            (
                "unsupported Ignition version in Accept header: application/vnd.coreos.ignition+json;version=3.0.0, */*;q=0.1",
                Spec,
                None,
                "application/vnd.coreos.ignition+json;version=3.0.0, */*;q=0.1",
            ),
            (
                "failed to write {worker 0xc00033c0f0} response: write tcp 10.0.0.3:22623->10.0.7.21:40312: write: broken pipe",
                Write,
                Some("worker"),
                "write tcp 10.0.0.3:22623->10.0.7.21:40312: write: broken pipe",
            ),
        ] {
            assert_eq!(
                read(message),
                Line::Failure(Failure {
                    kind,
                    pool,
                    peer: peer_of_error(error),
                    error
                }),
                "{message}"
            );
        }
    }

    #[test]
    fn a_broken_pipe_is_of_its_address_and_port() {
        let line = "failed to write {worker 0xc0} response: write tcp 192.0.2.3:22623->192.0.2.77:41984: write: broken pipe";
        let Line::Failure(failure) = read(line) else {
            panic!("{line}");
        };
        assert_eq!(failure.peer, peer("192.0.2.77:41984"));
        let refused = "couldn't get config for req: {worker 0xc0}, error: refusing to serve bootstrap configuration to pool \"worker\"";
        assert!(
            matches!(read(refused), Line::Failure(failure) if failure.kind == FailureKind::Bootstrap)
        );
    }

    #[test]
    fn handshakes_starts_and_the_rest_are_told_apart() {
        assert_eq!(
            of("2020/03/30 08:28:35 http: TLS handshake error from 10.223.231.21:57068: EOF"),
            (
                Some("2020-03-30T08:28:35Z".to_owned()),
                Line::Handshake {
                    address: Some("10.223.231.21".parse().unwrap()),
                    error: "EOF"
                }
            )
        );
        assert!(matches!(
            read(
                "http: TLS handshake error from 10.0.7.21:40312: remote error: tls: bad certificate"
            ),
            Line::Handshake {
                error: "remote error: tls: bad certificate",
                ..
            }
        ));
        assert!(matches!(of("I1104 16:39:27.135474       1 bootstrap.go:37] Version: v4.6.0-202109221828.p0.git.cb3a981 (cb3a)").1, Line::Start(_)));
        for known in [
            "I1104 16:39:27.135786       1 api.go:72] Launching server on :22624",
            r#"I1 x] reading file "/etc/mcs/x.yaml""#,
            "I1 x] Pool worker has MachineOSConfig but image not ready yet",
            "",
        ] {
            let (_, message) = split(known, &mut |_, _| None);
            let message = message.split_once("] ").map_or(message, |(_, rest)| rest);
            assert_eq!(read(message), Line::Known, "{known}");
        }
        assert_eq!(
            read(r#"reading file "/etc/mcs/bootstrap/machine-pools/master.yaml""#),
            Line::Bootstrap
        );
        assert_eq!(
            read("Received failure report: pool=worker node=ip-10-0-16-37 stage=firstboot-update"),
            Line::Told {
                node: "ip-10-0-16-37",
                what: "pool=worker node=ip-10-0-16-37 stage=firstboot-update"
            }
        );
        for unknown in [
            "I0820 09:14:03.123456       1 x.go:1] What is this",
            "\u{1f980} nonsense",
            "Poo",
            "Pool \"worker\" reques",
        ] {
            assert_eq!(of(unknown).1, Line::Unknown, "{unknown}");
        }
    }
}
