//! Tests of the machine-config-servers' logs.

use super::*;
use crate::logs::server_line::FailureKind;
use crate::logs::server_log::MAX_PEERS;

const NOW: &str = "2026-08-20T12:00:00Z";

fn logs(texts: &[(&str, &str)]) -> ServerLogs {
    let mut logs = ServerLogs::default();
    for (name, text) in texts {
        let mut bytes = text.as_bytes();
        logs.add(name, &mut bytes, Moment::parse(NOW).unwrap())
            .unwrap();
    }
    logs
}

fn ask(time: &str, pool: &str, address: &str) -> String {
    format!(
        "I0820 {time}.000000       1 api.go:119] Pool \"{pool}\" requested by address:\"{address}:40312\" User-Agent:\"Ignition/2.14.0\" Accept-Header: \"application/vnd.coreos.ignition+json;version=3.3.0, */*;q=0.1\"\n"
    )
}

const START: &str = "I0820 06:00:00.000000       1 start.go:52] Version: v4.20.5 (7ff337a4f0)\n";

const NOT_FOUND: &str = "E0820 10:00:01.000000       1 api.go:136] couldn't get config for req: {machineConfigPool:gpu version:0xc0}, error: could not fetch pool. err: x \"gpu\" not found\n";

#[test]
fn a_failure_is_that_of_the_request_before_it() {
    let text = ask("10:00:00", "worker", "10.0.0.1")
        + &ask("10:00:01", "gpu", "10.0.0.2")
        + NOT_FOUND
        + &ask("10:00:02", "worker", "10.0.0.3");
    let logs = logs(&[("mcs-1", &text)]);
    let outcome = |address: &str| {
        let peer = &logs.peers[&address.parse::<IpAddr>().unwrap()];
        (peer.count, peer.requests[0].outcome)
    };
    assert_eq!(outcome("10.0.0.1"), (1, Outcome::Served));
    assert_eq!(outcome("10.0.0.3"), (1, Outcome::Served));
    let (_, Outcome::Failed(FailureKind::NoPool, text)) = outcome("10.0.0.2") else {
        panic!("{logs:?}");
    };
    assert_eq!(
        logs.text(text),
        "could not fetch pool. err: x \"gpu\" not found"
    );
    assert_eq!((logs.requests, logs.unknown, logs.lines), (3, 0, 4));
    let at = |text| Moment::parse(text).unwrap();
    assert_eq!(
        logs.asked_since(Some("worker"), at("2026-08-20T10:00:01Z")),
        1
    );
    assert_eq!(logs.asked_since(None, at("2026-08-20T00:00:00Z")), 3);
}

#[test]
fn a_failure_of_one_of_several_requests_is_doubtful() {
    let convert = "E0820 10:00:01.000000       1 api.go:150] couldn't convert config for req: {worker 0xc0}, error: x\n";
    let text = ask("10:00:00", "worker", "10.0.0.1")
        + &ask("10:00:01", "worker", "10.0.0.2")
        + convert
        // Long after: whose it is cannot be known.
        + "E0820 10:09:00.000000       1 api.go:150] couldn't convert config for req: {worker 0xc0}, error: x\n";
    let logs = logs(&[("mcs-1", &text)]);
    let request = |address: &str| logs.peers[&address.parse::<IpAddr>().unwrap()].requests[0];
    assert!(request("10.0.0.2").is_doubtful);
    assert_eq!(request("10.0.0.1").outcome, Outcome::Served);
}

fn failed(time: &str, what: &str) -> String {
    format!(
        "E0820 {time}.000000       1 api.go:136] couldn't get config for req: {{worker 0xc0}}, error: could not fetch pool. err: {what}\n"
    )
}

fn outcomes(logs: &ServerLogs, address: &str) -> Vec<(String, bool, bool)> {
    let peer = &logs.peers[&address.parse::<IpAddr>().unwrap()];
    let of = |request: &Request| {
        let is_served = request.outcome == Outcome::Served;
        (
            request.at.clock().replace(" UTC", ""),
            is_served,
            request.is_doubtful,
        )
    };
    peer.requests.iter().map(of).collect()
}

/// A server waits a minute for the API server; others are served meanwhile.
#[test]
fn a_time_out_is_of_the_request_a_minute_before() {
    let text = START.to_owned()
        + &ask("10:00:00", "worker", "10.0.0.1")
        + &ask("10:00:15", "worker", "10.0.0.1")
        + &ask("10:00:58", "worker", "10.0.0.2")
        + &failed(
            "10:01:00",
            "the server was unable to return a response in the time allotted",
        )
        + &failed(
            "10:01:15",
            "the server was unable to return a response in the time allotted",
        );
    let logs = logs(&[("mcs-1", &text)]);
    let found = outcomes(&logs, "10.0.0.1");
    assert_eq!(
        found,
        [
            ("10:00:00".to_owned(), false, false),
            ("10:00:15".to_owned(), false, false)
        ]
    );
    assert_eq!(
        outcomes(&logs, "10.0.0.2"),
        [("10:00:58".to_owned(), true, false)]
    );
}

/// As many failures as requests: each failed, whichever is whose.
#[test]
fn failures_of_all_requests_are_sure() {
    let both = START.to_owned()
        + &ask("10:00:00", "worker", "10.0.0.1")
        + &ask("10:00:01", "worker", "10.0.0.2");
    let one = failed("10:00:01", "x");
    let all = logs(&[("mcs-1", &(both.clone() + &one + &one))]);
    for address in ["10.0.0.1", "10.0.0.2"] {
        let found = outcomes(&all, address);
        assert!(!found[0].1 && !found[0].2, "{found:?}");
    }
    let half = logs(&[("mcs-1", &(both + &one))]);
    for address in ["10.0.0.1", "10.0.0.2"] {
        assert!(outcomes(&half, address)[0].2, "{address}");
    }
}

/// Three failures of four requests: a time-out of etcd may be of a request a minute before it, and moves
/// the others along. Only the one whose minute was over failed for certain.
#[test]
fn failures_move_along_a_chain() {
    let text = START.to_owned()
        + &ask("10:00:46", "worker", "10.0.0.1")
        + &ask("10:00:48", "worker", "10.0.0.2")
        + &ask("10:01:40", "worker", "10.0.0.3")
        + &failed("10:01:47", "etcdserver: request timed out")
        + &failed(
            "10:01:48",
            "unable to return a response in the time allotted",
        )
        + &ask("10:01:52", "worker", "10.0.0.3")
        + &failed("10:01:59", "etcdserver: request timed out");
    let logs = logs(&[("mcs-1", &text)]);
    let of = |address: &str| {
        let found = outcomes(&logs, address);
        let flags = found.into_iter().map(|(_, served, doubt)| (served, doubt));
        flags.collect::<Vec<_>>()
    };
    assert_eq!(of("10.0.0.1"), [(true, true)]);
    assert_eq!(of("10.0.0.2"), [(false, false)]);
    assert_eq!(of("10.0.0.3"), [(false, true), (false, true)]);
}

/// Where it asks again before the error comes, the error may be of the try that went before.
#[test]
fn a_failure_may_be_of_another_try_of_the_same_machine() {
    let text = START.to_owned()
        + &ask("10:00:00", "worker", "10.0.0.1")
        + &ask("10:00:15", "worker", "10.0.0.1")
        + &failed("10:00:16", "etcdserver: request timed out");
    let found = outcomes(&logs(&[("mcs-1", &text)]), "10.0.0.1");
    assert!(found[0].2 && found[1].2, "{found:?}");
}

/// What was asked before the log begins may fail in it, and what was asked in its rotated part.
#[test]
fn a_failure_at_a_logs_beginning_is_doubtful() {
    let early = ask("09:58:30", "gpu", "10.0.0.9");
    let own = ask("10:00:00", "worker", "10.0.0.1") + &failed("10:00:01", "x");
    let found = |logs: &[(&str, &str)]| outcomes(&self::logs(logs), "10.0.0.1");
    let doubtful = [("10:00:00".to_owned(), false, true)];
    let sure = [("10:00:00".to_owned(), false, false)];
    let with = |before: &str| before.to_owned() + &early + &own;
    assert_eq!(found(&[("mcs-1", &with(""))]), doubtful);
    assert_eq!(found(&[("mcs-1", &with(START))]), sure);
    // A machine that asks as the log begins was made before it, which is doubt enough.
    assert_eq!(found(&[("mcs-1", &own)]), sure);
    assert_eq!(found(&[("mcs-1", &early), ("mcs-1", &own)]), doubtful);
    assert_eq!(found(&[("mcs-2", &early), ("mcs-1", &own)]), sure);
}

/// Two failed, and for two reasons: which is whose is not known.
#[test]
fn a_failure_for_another_reason_is_doubtful() {
    let text = START.to_owned()
        + &ask("10:00:00", "worker", "10.0.0.1")
        + &ask("10:00:01", "worker", "10.0.0.2")
        + &failed("10:00:02", "x")
        + &failed("10:00:02", "y");
    let logs = logs(&[("mcs-1", &text)]);
    for address in ["10.0.0.1", "10.0.0.2"] {
        let found = outcomes(&logs, address);
        assert!(!found[0].1 && found[0].2, "{found:?}");
    }
}

#[test]
fn times_order_the_requests_of_several_servers() {
    let late = START.to_owned() + &ask("11:50:00", "worker", "10.0.0.1") + &failed("11:50:01", "x");
    let early = START.to_owned() + &ask("09:00:00", "worker", "10.0.0.1");
    let logs = logs(&[("mcs-1", &late), ("mcs-2", &early)]);
    let found = outcomes(&logs, "10.0.0.1");
    assert_eq!(
        found,
        [
            ("09:00:00".to_owned(), true, false),
            ("11:50:00".to_owned(), false, false)
        ]
    );
}

#[test]
fn a_broken_pipe_is_of_its_own_client() {
    let pipe = "E0820 10:00:02.000000       1 api.go:182] failed to write {worker 0xc0} response: write tcp 10.0.0.3:22623->10.0.0.1:40312: write: broken pipe\n";
    let text =
        ask("10:00:00", "worker", "10.0.0.1") + &ask("10:00:01", "worker", "10.0.0.2") + pipe;
    let logs = logs(&[("mcs-1", &text)]);
    assert_eq!(
        outcomes(&logs, "10.0.0.1"),
        [("10:00:00".to_owned(), false, false)]
    );
    assert_eq!(
        outcomes(&logs, "10.0.0.2"),
        [("10:00:01".to_owned(), true, false)]
    );
}

/// The installer asks from the same address.
#[test]
fn other_clients_are_kept_apart() {
    let text = ask("10:00:00", "worker", "10.0.0.1")
        .replace("Ignition/2.14.0", "Go-http-client/1.1")
        + &failed("10:00:01", "x");
    let logs = logs(&[("mcs-1", &text)]);
    let peer = &logs.peers[&"10.0.0.1".parse::<IpAddr>().unwrap()];
    assert_eq!((peer.count, peer.requests[0].is_ignition), (0, false));
    assert!(matches!(
        peer.requests[0].outcome,
        Outcome::Failed(FailureKind::NoConfig, _)
    ));
}

#[test]
fn a_log_without_an_end_and_a_bootstrap_servers_are_told() {
    let cut = ask("10:00:00", "worker", "10.0.0.1");
    let found = logs(&[("mcs-1", cut.trim_end())]);
    assert!(found.sources[0].cut.is_some());
    let text = "I0820 10:00:00.000000       1 bootstrap.go:59] Launching bootstrap server with tls min version: x\n";
    let found = logs(&[("mcs-1", text)]);
    assert!(found.sources[0].is_bootstrap && found.servers().next().is_none());
}

#[test]
fn lines_that_nobody_knows_are_counted_and_the_first_is_kept() {
    let logs = logs(&[(
        "mcs-1",
        "I0820 10:00:00.000000       1 new.go:1] A new \u{1b}[31mmessage\nnonsense\n\n",
    )]);
    assert_eq!(logs.unknown, 2);
    assert_eq!(
        logs.unknown_sample.as_deref(),
        Some(r"A new \u{1b}[31mmessage")
    );
}

#[test]
fn logs_go_back_as_far_as_the_shortest() {
    let logs = logs(&[
        ("mcs-1", &ask("08:00:00", "worker", "10.0.0.1")),
        ("mcs-2", &ask("09:00:00", "worker", "10.0.0.1")),
        // The rotated log of the second.
        ("mcs-2", &ask("07:00:00", "worker", "10.0.0.1")),
    ]);
    let text = |at: Option<Moment>| at.map(Moment::text);
    assert_eq!(text(logs.begin()).as_deref(), Some("2026-08-20T08:00:00Z"));
    assert_eq!(text(logs.end()).as_deref(), Some("2026-08-20T09:00:00Z"));
    assert_eq!((logs.sources.len(), logs.peers.len()), (2, 1));
}

/// Two gathers have the same pod: one cut after a request, the other without the kubelet's
/// stamps and with the failure.
#[test]
fn copies_of_a_log_count_once() {
    let own = ask("10:00:00", "worker", "10.0.0.1") + &ask("10:00:01", "gpu", "10.0.0.2");
    let stamped: String = own
        .lines()
        .map(|line| {
            let time = line.split([' ', '.']).nth(1).unwrap();
            format!("2026-08-20T{time}.5Z {line}\n")
        })
        .collect();
    let later = own.clone() + NOT_FOUND + "nonsense\n" + &ask("10:00:02", "worker", "10.0.0.1");
    let logs = logs(&[("mcs-1", &stamped), ("mcs-1", &later), ("mcs-1", &later)]);
    let peer = |address: &str| &logs.peers[&address.parse::<IpAddr>().unwrap()];
    assert_eq!((peer("10.0.0.1").count, peer("10.0.0.2").count), (2, 1));
    assert!(matches!(
        peer("10.0.0.2").requests[0].outcome,
        Outcome::Failed(FailureKind::NoPool, _)
    ));
    assert_eq!((logs.requests, logs.unknown, logs.lines), (3, 1, 5));
    // The same lines of two servers are two requests.
    let two = self::logs(&[("mcs-1", &own), ("mcs-2", &own)]);
    assert_eq!(two.requests, 4);
}

#[test]
fn a_long_line_and_a_flood_of_addresses_are_bounded() {
    let long = format!(
        "I0820 10:00:00.000000       1 x.go:1] got ignconf {}\n",
        "x".repeat(1 << 20)
    );
    let text = long + &ask("10:00:00", "worker", "10.0.0.1");
    assert_eq!(logs(&[("mcs-1", &text)]).requests, 1);
    let flood: String = (0..=MAX_PEERS)
        .map(|n| {
            ask(
                "10:00:00",
                "worker",
                &format!("10.{}.{}.{}", n >> 16, n >> 8 & 255, n & 255),
            )
        })
        .collect();
    let logs = logs(&[("mcs-1", &flood)]);
    assert_eq!((logs.peers.len(), logs.peers_left_out), (MAX_PEERS, 1));
}
