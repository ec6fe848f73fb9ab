//! Logs and objects that are broken, too many, or another cluster's.

use super::{DATA, Gather, WAITS, json, only, why};
use serde_json::Value;
use skewguard_admin::cli::Exit;

fn sentence(report: &Value) -> String {
    only(report)["sentence"].as_str().unwrap().to_owned()
}

fn unseen(report: &Value) -> String {
    only(report)["unseen"].to_string()
}

/// A quiet machine: without the handshakes that it has in the case.
pub(super) fn quiet() -> Gather {
    let gather = Gather::of("no-request");
    gather.change(|_, text| {
        let lines = text
            .lines()
            .filter(|line| !line.contains("bad certificate"));
        lines.map(|line| format!("{line}\n")).collect()
    });
    gather
}

const MACHINE: &str = "namespaces/openshift-machine-api/machine.openshift.io/machines/c1-x7k2p-worker-us-east-2a-7qz4k.yaml";

fn ask(time: &str, pool: &str, address: &str) -> String {
    format!(
        "2026-08-20T{time}.000000000Z I0820 {time}.000000       1 api.go:119] Pool \"{pool}\" requested by address:\"{address}:40312\" User-Agent:\"Ignition/2.18.0\" Accept-Header: \"application/vnd.coreos.ignition+json;version=3.4.0, */*;q=0.1\"\n"
    )
}

#[test]
fn a_machine_that_asked_for_nothing_is_known_by_all_logs() {
    let report = quiet().json();
    assert_eq!(only(&report)["stage"], "NoRequest");
    assert_eq!(only(&report)["isCertain"], true);
    assert_eq!(
        sentence(&report),
        "c1-x7k2p-worker-us-east-2a-7qz4k is up and has not asked for its config in 2 hours; possible causes: user data, network or load balancer."
    );
    assert!(
        unseen(&report).contains("Secret openshift-machine-api/worker-user-data"),
        "{report:#}"
    );
}

#[test]
fn without_one_servers_log_it_is_not_certain() {
    let gather = quiet();
    std::fs::remove_file(&gather.logs()[1]).unwrap();
    let report = gather.json();
    assert_eq!(only(&report)["isCertain"], false);
    assert!(
        unseen(&report).contains("the logs of 1 of 3 machine-config-servers"),
        "{report:#}"
    );
}

#[test]
fn a_log_that_begins_later_says_no_more_than_it_can() {
    let gather = quiet();
    gather.change(|_, text| {
        let later = ask("09:30:00", "worker", "10.0.16.20");
        text.lines()
            .filter(|line| line.starts_with("2026-08-20T09:5"))
            .map(|line| format!("{line}\n"))
            .collect::<String>()
            + &later
    });
    let report = gather.json();
    assert_eq!(only(&report)["isCertain"], false);
    assert_eq!(
        sentence(&report),
        "c1-x7k2p-worker-us-east-2a-7qz4k has not asked for its config in the last 30 minutes, as far as the logs go back; whether it did before cannot be told."
    );
}

#[test]
fn a_log_that_is_cut_short_is_read_as_far_as_it_goes() {
    let gather = Gather::of("request-refused");
    // In the middle of the last request's line.
    gather.change(|_, text| match text.rfind("User-Agent") {
        Some(at) if text.contains("gpu") => text[..at].to_owned(),
        _ => text,
    });
    let report = gather.json();
    assert_eq!(only(&report)["stage"], "RequestRefused", "{report:#}");
}

/// All that asked have one address.
#[test]
fn behind_nat_requests_cannot_be_told_apart() {
    let gather = quiet();
    gather.change(|n, _| match n {
        0 => ask("07:00:00", "worker", "10.0.99.1") + &ask("08:03:00", "worker", "10.0.99.1"),
        _ => ask("07:00:00", "worker", "10.0.99.1"),
    });
    let report = gather.json();
    assert_eq!(only(&report)["stage"], "Unknown");
    assert_eq!(
        sentence(&report),
        "Whether c1-x7k2p-worker-us-east-2a-7qz4k asked for its config cannot be told apart: 1 request for pool worker between 2026-08-20T08:00:00Z and 2026-08-20T10:00:00Z, all from 10.0.99.1: NAT or a load balancer hides who asked; 1 Machine is without a Node."
    );
    // A bootstrap machine's server is asked past the load balancer, and refuses what it does not serve.
    let bootstrap = gather.dir.path().join("log-bundle/bootstrap/containers");
    std::fs::create_dir_all(&bootstrap).unwrap();
    let refused = ask("08:01:00", "worker", "10.0.16.20")
        + "2026-08-20T08:01:00.000000000Z E0820 08:01:00.000000       1 api.go:136] couldn't get config for req: {worker 0xc0000a1b2c}, error: refusing to serve bootstrap configuration to pool \"worker\"\n";
    let log = bootstrap.join("machine-config-server-0123456789ab.log");
    std::fs::write(&log, refused).unwrap();
    let report = gather.json();
    assert!(
        sentence(&report).contains(
            "those to the cluster's own servers, all from 10.0.99.1: NAT or a load balancer hides who asked"
        ),
        "{report:#}"
    );
    std::fs::remove_file(&log).unwrap();
    // None of them since the machine is there: then it did not ask either.
    gather.change(|_, _| ask("07:00:00", "worker", "10.0.99.1"));
    let report = gather.json();
    assert_eq!(only(&report)["stage"], "NoRequest");
    assert_eq!(only(&report)["isCertain"], true);
}

/// By its second interface, of which the Machine knows nothing.
#[test]
fn a_request_of_an_unknown_address_may_be_its_own() {
    let gather = quiet();
    gather.change(|_, text| text + &ask("08:05:00", "worker", "192.168.77.9"));
    let report = gather.json();
    assert_eq!(only(&report)["isCertain"], false);
    assert_eq!(
        sentence(&report),
        "c1-x7k2p-worker-us-east-2a-7qz4k has not asked for its config in 2 hours from an address that is known as its own; where no request of an unknown address is its own, possible causes: user data, network or load balancer."
    );
    assert!(
        unseen(&report).contains(
            "whose the requests from 192.168.77.9 (last at 2026-08-20T08:05:00Z) are: an address that no Machine, host or Node has, or a Node that had joined before"
        ),
        "{report:#}"
    );
    let step = &only(&report)["steps"][1];
    assert_eq!(step["mark"], "Unknown", "{report:#}");
    assert_eq!(step["text"], "none known as its own since 08:00:00 UTC");
    let others: String = (1..=5)
        .map(|n| ask("08:06:00", "worker", &format!("192.168.77.1{n}")))
        .collect();
    gather.change(|_, text| text + &others);
    assert!(
        unseen(&gather.json()).contains(
            "192.168.77.9 (last at 2026-08-20T08:05:00Z), 192.168.77.11 (last at 2026-08-20T08:06:00Z), 192.168.77.12 (last at 2026-08-20T08:06:00Z) and 3 more are: addresses"
        )
    );
}

/// The load balancer is on the control plane's Nodes: their addresses ask for the workers' config.
#[test]
fn behind_the_control_plane_requests_cannot_be_told_apart() {
    let gather = quiet();
    gather.change(|n, text| {
        text + &ask(
            "08:05:00",
            "worker",
            ["10.0.0.4", "10.0.32.4", "10.0.64.4"][n],
        )
    });
    let report = gather.json();
    assert_eq!(only(&report)["stage"], "Unknown");
    assert_eq!(
        sentence(&report),
        "Whether c1-x7k2p-worker-us-east-2a-7qz4k asked for its config cannot be told apart: 3 requests for pool worker between 2026-08-20T08:00:00Z and 2026-08-20T10:00:00Z, also from control plane Nodes (10.0.0.4, 10.0.32.4, 10.0.64.4): a load balancer or SNAT there hides who asked; 1 Machine is without a Node."
    );
    // The control plane's own config is for themselves.
    let gather = quiet();
    gather.change(|_, text| text + &ask("08:05:00", "master", "10.0.0.4"));
    assert_eq!(only(&gather.json())["stage"], "NoRequest");
}

#[test]
fn logs_of_another_cluster_say_nothing() {
    let gather = quiet();
    gather.change(|n, _| {
        (0..5)
            .map(|m| ask("08:10:00", "worker", &format!("192.168.{n}.{m}")))
            .collect::<String>()
            + &ask("07:00:00", "worker", "192.168.9.9")
    });
    let report = gather.json();
    assert_eq!(only(&report)["stage"], "Unknown");
    assert!(
        sentence(&report).contains("or the logs are another cluster's"),
        "{report:#}"
    );
}

#[test]
fn clocks_that_differ_are_said() {
    let gather = quiet();
    gather.change(|n, text| match n {
        0 => text + &ask("13:00:00", "worker", "10.0.16.20"),
        _ => text,
    });
    let report = gather.json();
    assert_eq!(
        report["serverLog"]["notes"][0],
        "the log ends 3 hours after the newest object: clocks differ, or they were gathered at different times"
    );
}

#[test]
fn lines_that_nobody_knows_are_counted_and_said() {
    let gather = quiet();
    gather.change(|n, text| match n {
        0 => text + "2026-08-20T09:00:00.0Z I0820 09:00:00.000000       1 new.go:1] Something \u{1b}[31mnew\n",
        _ => text,
    });
    let report = gather.json();
    assert_eq!(report["serverLog"]["unknownLines"], 1);
    assert_eq!(
        report["serverLog"]["notes"][0],
        r"1 line of the log is not understood; the first: Something \u{1b}[31mnew"
    );
}

/// User data is of the cluster, and says more than its owner wants to read in a ticket.
fn secret(spec: &str, host: &str, pem: &str) -> String {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    let ca = BASE64_STANDARD.encode(pem);
    let pointer = serde_json::json!({ "ignition": {
        "config": { "merge": [{ "source": format!("https://{host}:22623/config/worker") }] },
        "security": { "tls": { "certificateAuthorities": [{ "source": format!("data:text/plain;charset=utf-8;base64,{ca}") }] } },
        "version": spec,
    }});
    let secret = serde_json::json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": { "name": "worker-user-data", "namespace": "openshift-machine-api", "creationTimestamp": "2026-03-02T08:11:40Z", "resourceVersion": "1", "uid": "5" },
        "data": { "disableTemplating": "dHJ1ZQo=", "userData": BASE64_STANDARD.encode(pointer.to_string()) },
    });
    secret.to_string()
}

const OLD_CA: &str = "-----BEGIN CERTIFICATE-----\nAQIDBAUG\n-----END CERTIFICATE-----\n";
const NEW_CA: &str = "-----BEGIN CERTIFICATE-----\nBgUEAwIB\n-----END CERTIFICATE-----\n";

fn authority(pem: &str) -> String {
    serde_json::json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "machine-config-server-ca", "namespace": "openshift-machine-config-operator", "resourceVersion": "1", "uid": "6" },
        "data": { "ca-bundle.crt": pem },
    })
    .to_string()
}

#[test]
fn user_data_is_looked_at_and_never_shown() {
    const HOST: &str = "api-int.c1.example.com";
    for (spec, host, ca, wanted) in [
        (
            "3.2.0",
            HOST,
            NEW_CA,
            "; possible causes: user data, network or load balancer.",
        ),
        (
            "3.2.0",
            HOST,
            OLD_CA,
            ": its user data trusts another CA than the machine-config-server's.",
        ),
        (
            "2.2.0",
            HOST,
            NEW_CA,
            ": its user data is of Ignition spec 2.2, which its boot image 418.94.202511191518-0 cannot read (Ignition of unknown release, at least specs 3.0 to 3.4).",
        ),
        (
            "3.2.0",
            "api-int.c9.example.com",
            NEW_CA,
            ": its user data asks another host than api-int.c1.example.com, the cluster's internal API.",
        ),
    ] {
        let gather = quiet();
        let write =
            |name: &str, text: String| std::fs::write(gather.dir.path().join(name), text).unwrap();
        write("secret.json", secret(spec, host, ca));
        write("ca.json", authority(NEW_CA));
        let report = gather.json();
        let begin =
            "c1-x7k2p-worker-us-east-2a-7qz4k is up and has not asked for its config in 2 hours";
        assert_eq!(sentence(&report), format!("{begin}{wanted}"));
        let (text, ..) = why(&[&format!("{DATA}/cluster"), gather.path()], &[]);
        let all = report.to_string() + &text;
        for hidden in [
            "c9.example",
            "22623/config",
            "CERTIFICATE",
            "AQIDBAUG",
            "BgUEAwIB",
        ] {
            assert!(!all.contains(hidden), "{hidden}: {all}");
        }
    }
}

/// Others were served with the user data that has none of the server's CAs: it is hardly why.
#[test]
fn user_data_that_serves_others_is_not_blamed() {
    for (time, is_whole, wanted) in [
        (
            "09:10:00",
            true,
            "; possible causes: user data, network or load balancer. Its user data has none of the machine-config-server's CAs, and yet c1-other got its config 50 minutes ago with the same: that is hardly why.",
        ),
        (
            "09:10:00",
            false,
            ": nothing was read of the logs of 1 of 3 machine-config-servers, which may have its request. Its user data has none of the machine-config-server's CAs, and yet c1-other got its config 50 minutes ago with the same: that is hardly why.",
        ),
        (
            "07:10:00",
            true,
            ": its user data trusts another CA than the machine-config-server's.",
        ),
    ] {
        let gather = quiet();
        let root = gather.dir.path();
        let secret = secret("3.2.0", "api-int.c1.example.com", OLD_CA);
        std::fs::write(root.join("secret.json"), secret).unwrap();
        std::fs::write(root.join("ca.json"), authority(NEW_CA)).unwrap();
        let own = root.join(MACHINE);
        let other = std::fs::read_to_string(&own)
            .unwrap()
            .replace(WAITS, "c1-other");
        let other = other
            .replace("10.0.16.37", "10.0.16.39")
            .replace("10-0-16-37", "10-0-16-39");
        let other = other.replace("08:00:00Z", "07:00:00Z");
        std::fs::write(own.with_file_name("other.yaml"), other).unwrap();
        gather.change(|n, text| match n {
            0 => text + &ask(time, "worker", "10.0.16.39"),
            _ => text,
        });
        if !is_whole {
            std::fs::remove_file(&gather.logs()[1]).unwrap();
        }
        let report = json(&[&format!("{DATA}/cluster"), gather.path(), WAITS]);
        assert!(sentence(&report).ends_with(wanted), "{report:#}");
        let next = only(&report)["next"].to_string();
        assert_eq!(
            next.contains("delete the Machine"),
            time < "08",
            "{report:#}"
        );
        assert_eq!(
            next.starts_with("[\"Get the other logs first"),
            !is_whole,
            "{report:#}"
        );
    }
}

/// No cloud gives a machine an address of its link alone.
#[test]
fn a_link_local_address_is_no_clouds() {
    let gather = quiet();
    let own = gather.dir.path().join(MACHINE);
    let text = std::fs::read_to_string(&own).unwrap();
    std::fs::write(&own, text.replace("10.0.16.37", "169.254.12.6")).unwrap();
    let report = gather.json();
    assert_eq!(only(&report)["cause"], "NoAddressFromDhcp", "{report:#}");
    assert_eq!(only(&report)["isCertain"], false);
}

fn pem(until: (i32, u8, u8)) -> String {
    let mut params = rcgen::CertificateParams::new(vec!["root-ca".to_owned()]).unwrap();
    params.not_before = rcgen::date_time_ymd(2016, 8, 20);
    params.not_after = rcgen::date_time_ymd(until.0, until.1, until.2);
    let key = rcgen::KeyPair::generate().unwrap();
    params.self_signed(&key).unwrap().pem()
}

#[test]
fn a_ca_that_has_expired_is_told() {
    let (old, new) = (pem((2026, 8, 18)), pem((2036, 8, 18)));
    for (own, server, wanted) in [
        (
            &new,
            &new,
            "; possible causes: user data, network or load balancer.",
        ),
        (&old, &new, ": the CA in its user data expired 2 days ago."),
        (&old, &old, ": the CA in its user data expired 2 days ago."),
        (
            &new,
            &old,
            ": the machine-config-server's CA expired 2 days ago.",
        ),
    ] {
        let gather = quiet();
        let write =
            |name: &str, text: String| std::fs::write(gather.dir.path().join(name), text).unwrap();
        write(
            "secret.json",
            secret("3.2.0", "api-int.c1.example.com", own),
        );
        write("ca.json", authority(server));
        let report = gather.json();
        assert!(sentence(&report).ends_with(wanted), "{report:#}");
    }
}

/// 2 GB, of which nearly all is a hole.
#[test]
fn a_log_of_2_gb_is_bounded_and_that_is_said() {
    let gather = quiet();
    let log = &gather.logs()[0];
    let file = std::fs::OpenOptions::new().write(true).open(log).unwrap();
    file.set_len(2 << 30).unwrap();
    let report = gather.json();
    let pod = log.iter().rev().nth(4).unwrap().to_str().unwrap();
    assert_eq!(
        report["serverLog"]["notes"]
            .as_array()
            .unwrap()
            .last()
            .unwrap(),
        &serde_json::json!(format!(
            "{pod}: only the first 256 MiB of its log were read"
        ))
    );
    assert_eq!(only(&report)["isCertain"], false, "{report:#}");
}

#[test]
fn a_machine_without_an_address_is_told_by_its_pool() {
    let gather = quiet();
    let machine = gather.dir.path().join("namespaces/openshift-machine-api/machine.openshift.io/machines/c1-x7k2p-worker-us-east-2a-7qz4k.yaml");
    let text = std::fs::read_to_string(&machine).unwrap();
    let (before, rest) = text.split_once("  addresses:\n").unwrap();
    let (_, after) = rest.split_once("  authoritativeAPI:").unwrap();
    std::fs::write(&machine, format!("{before}  authoritativeAPI:{after}")).unwrap();
    let report = gather.json();
    assert_eq!(only(&report)["isCertain"], true, "{report:#}");
    gather.change(|_, text| text + &ask("08:10:00", "worker", "10.0.16.99"));
    let report = gather.json();
    assert_eq!(only(&report)["stage"], "Unknown", "{report:#}");
    assert!(
        sentence(&report).contains("; its own address is not known."),
        "{report:#}"
    );
    // Nobody else asked: that it is hidden by a load balancer is no ground for that.
    gather.change(|_, _| ask("08:10:00", "worker", "10.0.16.99"));
    assert!(
        sentence(&gather.json())
            .contains("Z, from 10.0.16.99; its own address is not known, and may be among them."),
        "{:#}",
        gather.json()
    );
}

/// The same gather as an archive, and its logs alone.
#[test]
fn archives_are_read_as_folders_are() {
    let gather = Gather::of("request-refused");
    let cluster = format!("{DATA}/cluster");
    let file = gather.dir.path().with_extension("tar.gz");
    let packed = flate2::write::GzEncoder::new(
        std::fs::File::create(&file).unwrap(),
        flate2::Compression::fast(),
    );
    let mut archive = tar::Builder::new(packed);
    archive
        .append_dir_all("must-gather", gather.path())
        .unwrap();
    archive.into_inner().unwrap().finish().unwrap();
    let of_archive = json(&[&cluster, file.to_str().unwrap()]);
    assert_eq!(of_archive, gather.json());
    std::fs::remove_file(file).unwrap();
    let (_, err, exit) = why(&[gather.logs()[0].to_str().unwrap()], &[]);
    assert_eq!(
        (err.as_str(), exit),
        (
            "skewguard: nothing was read that should become a node: no Machine, BareMetalHost or Agent; `oc skewguard why --print-commands` \
             prints a script that gathers what is read\n",
            Exit::Failed
        )
    );
}
