//! The clocks: up to when logs go, the year that klog leaves out, and objects without a clock beside them.

use super::input::quiet;
use super::{Gather, WAITS, json, only, why};
use serde_json::{Value, json as object};
use std::process::Command;

fn sentence(report: &Value) -> String {
    only(report)["sentence"].as_str().unwrap().to_owned()
}

fn unseen(report: &Value) -> String {
    only(report)["unseen"].to_string()
}

/// The quiet machine, and the servers' logs as a person saves them, with one more line each at this time.
fn loose(time: Option<&str>) -> Gather {
    let gather = quiet();
    for (n, log) in gather.logs().iter().enumerate() {
        let mut text = std::fs::read_to_string(log).unwrap();
        if let Some(time) = time {
            text += &format!(
                "2026-08-20T{time}.0Z I0820 {time}.000000       1 api.go:119] Pool \"worker\" requested by address:\"10.0.16.20:40312\" User-Agent:\"curl/8.5.0\" Accept-Header: \"*/*\"\n"
            );
        }
        let name = format!("machine-config-server-{n}.log");
        std::fs::write(gather.dir.path().join(name), text).unwrap();
        std::fs::remove_file(log).unwrap();
    }
    gather
}

/// A server that nobody asks writes nothing: only the gather's own time says that its log is whole.
#[test]
fn a_saved_log_proves_silence_up_to_its_last_line() {
    let report = loose(None).json();
    assert_eq!(only(&report)["isCertain"], false);
    assert_eq!(only(&report)["stage"], "Unknown");
    let said = sentence(&report);
    assert!(
        said.starts_with(&format!(
            "Why {WAITS} is no Node cannot be told from what was read: its instance is there, and nothing else of it was seen"
        )),
        "{said}"
    );
    assert!(
        unseen(&report).contains("what the machine-config-servers served after 2026-08-19T05:12:44Z, where the first of their logs ends: a saved log goes to its last line, and one of a gather to the time of that"),
        "{report:#}"
    );
    let report = loose(Some("09:00:00")).json();
    assert_eq!(only(&report)["isCertain"], false);
    assert_eq!(only(&report)["stage"], "NoRequest");
    assert_eq!(
        sentence(&report),
        format!(
            "{WAITS} did not ask for its config in 60 minutes up to 09:00:00 UTC, where the logs end; possible causes: user data, network or load balancer."
        )
    );
    assert!(
        unseen(&report).contains("served after 2026-08-20T09:00:00Z"),
        "{report:#}"
    );
    let report = loose(Some("09:58:00")).json();
    assert_eq!(only(&report)["isCertain"], true, "{report:#}");
    assert!(!unseen(&report).contains("served after"), "{report:#}");
}

/// An older gather's logs go to its own time, by its Nodes, whatever newer objects are beside it.
#[test]
fn the_logs_of_an_older_gather_go_to_its_own_time() {
    let node = |time: &str| {
        object!({ "apiVersion": "v1", "kind": "Node",
            "metadata": { "name": "ip-10-0-16-20.ec2.internal", "uid": time, "resourceVersion": "9" },
            "status": { "conditions": [{ "type": "Ready", "status": "True", "lastHeartbeatTime": time }] } })
    };
    for (time, is_certain) in [
        ("2026-08-20T09:50:00Z", true),
        ("2026-08-20T09:00:00Z", false),
        ("2026-08-19T10:00:00Z", false),
    ] {
        let gather = quiet();
        let path = gather.dir.path().join("nodes.json");
        std::fs::write(path, node(time).to_string()).unwrap();
        let report = gather.json();
        assert_eq!(only(&report)["isCertain"], is_certain, "{report:#}");
        let said = format!("what the machine-config-servers served after {time}");
        assert_eq!(unseen(&report).contains(&said), !is_certain, "{report:#}");
    }
}

/// A host's status is written again and again in one state: its history says since when it is in that.
#[test]
fn a_hosts_time_in_a_state_is_that_of_its_history() {
    let gather = Gather::of("nothing-known");
    std::fs::remove_dir_all(gather.dir.path().join("namespaces")).unwrap();
    let inspected = object!({ "start": "2026-08-20T06:00:00Z", "end": "2026-08-20T06:20:00Z" });
    let goes_on = object!({ "start": "2026-08-20T07:00:00Z", "end": null });
    for (state, history, wanted) in [
        ("inspecting", object!({ "inspect": goes_on }), "for 3 hours"),
        (
            "inspecting",
            object!({ "inspect": inspected, "provision": goes_on }),
            "for at least 5 minutes",
        ),
        (
            "deprovisioning",
            object!({ "provision": inspected, "deprovision": goes_on }),
            "for 3 hours",
        ),
        (
            "preparing",
            object!({ "inspect": goes_on }),
            "for at least 5 minutes",
        ),
        (
            "provisioning",
            object!({ "provision": { "start": "yesterday" } }),
            "for at least 5 minutes",
        ),
        ("provisioning", object!("none"), "for at least 5 minutes"),
    ] {
        let host = object!({ "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": { "name": "rack1-u7", "namespace": "openshift-machine-api", "creationTimestamp": "2026-08-20T05:00:00Z" },
            "spec": { "customDeploy": { "method": "install_coreos" }, "online": true },
            "status": { "lastUpdated": "2026-08-20T09:55:00Z", "operationHistory": history,
                "provisioning": { "state": state } } });
        std::fs::write(gather.dir.path().join("more.json"), host.to_string()).unwrap();
        assert_eq!(
            sentence(&gather.json()),
            format!(
                "rack1-u7 is not installed yet: host openshift-machine-api/rack1-u7 is {state} {wanted}."
            )
        );
    }
}

fn machine(made: &str) -> Value {
    object!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": { "name": WAITS, "namespace": "openshift-machine-api", "creationTimestamp": made,
            "labels": { "machine.openshift.io/cluster-api-machine-role": "worker" } },
        "spec": { "providerID": "aws:///us-east-2a/i-0bff87b2026a36e76" },
        "status": { "phase": "Provisioned",
            "addresses": [{ "type": "InternalIP", "address": "10.0.16.37" }] } })
}

/// What is said of a Machine, of a Node's sign of life and of a log without years.
fn undated(made: &str, now: &str, log: &str) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let node = object!({ "apiVersion": "v1", "kind": "Node",
        "metadata": { "name": "m0", "creationTimestamp": "2019-01-01T00:00:00Z",
            "labels": { "node-role.kubernetes.io/master": "" } },
        "status": { "addresses": [{ "type": "InternalIP", "address": "10.0.0.4" }],
            "conditions": [{ "type": "Ready", "status": "True", "lastHeartbeatTime": now,
                "lastTransitionTime": "2019-01-01T00:00:00Z" }] } });
    let list = object!({ "apiVersion": "v1", "kind": "List", "items": [machine(made), node] });
    std::fs::write(dir.path().join("a.log"), log).unwrap();
    std::fs::write(dir.path().join("objects.json"), list.to_string()).unwrap();
    let report = json(&[dir.path().to_str().unwrap()]);
    // A pipe is read once, and its log comes before its objects.
    let mut pipe = Command::new("sh");
    let command = "tar c -C \"$1\" a.log objects.json | \"$0\" why -o json --from -";
    let program = env!("CARGO_BIN_EXE_kubectl-skewguard");
    let output = pipe.args(["-c", command, program]).arg(dir.path()).output();
    let piped: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
    assert_eq!(piped["serverLog"], report["serverLog"], "{piped:#}");
    assert_eq!(sentence(&piped), sentence(&report));
    report
}

fn line(time: &str, message: &str) -> String {
    format!("I{time}.100000       1 api.go:119] {message}\n")
}

fn ask(time: &str) -> String {
    line(
        time,
        "Pool \"worker\" requested by address:\"10.0.16.37:40312\" User-Agent:\"Ignition/2.22.0\" Accept-Header: \"application/vnd.coreos.ignition+json;version=3.5.0, */*;q=0.1\"",
    )
}

/// Whenever it is read: the objects' clock says the year, not the reader's.
#[test]
fn the_year_of_a_log_is_that_of_its_objects() {
    let begin = "Version: v4.20.5 (7ff337a4f0)";
    for (made, now, log, since, ago) in [
        (
            "2020-08-20T08:00:00Z",
            "2020-08-20T10:00:00Z",
            line("0818 02:00:01", begin) + &ask("0820 08:05:00"),
            "2020-08-18T02:00:01Z",
            "115 minutes",
        ),
        (
            "2020-12-31T23:50:00Z",
            "2021-01-01T01:00:00Z",
            line("1231 22:00:01", begin) + &ask("1231 23:55:00") + &line("0101 00:05:00", begin),
            "2020-12-31T22:00:01Z",
            "65 minutes",
        ),
        (
            "2020-12-31T22:50:00Z",
            "2020-12-31T23:58:00Z",
            line("0103 22:00:01", begin) + &ask("1231 23:00:00"),
            "2020-01-03T22:00:01Z",
            "58 minutes",
        ),
    ] {
        let report = undated(made, now, &log);
        assert_eq!(report["serverLog"]["since"], since, "{report:#}");
        let said = sentence(&report);
        assert!(
            said.starts_with(&format!("{WAITS} got its config {ago} ago")),
            "{said}"
        );
        assert_eq!(report["serverLog"]["notes"], object!([]), "{report:#}");
    }
}

/// `oc get machine NAME -o yaml` alone: of when it is cannot be read from it.
#[test]
fn a_machine_without_a_clock_beside_it_is_never_made_just_now() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.json");
    for phase in ["Provisioned", "Provisioning"] {
        let mut machine = machine("2020-08-19T08:00:00Z");
        machine["status"]["phase"] = phase.into();
        machine["status"]["lastUpdated"] = "2020-08-19T08:06:00Z".into();
        machine["status"]["conditions"] = object!([{ "type": "InstanceExists", "status": "False",
            "reason": "Odd", "message": "Not yet.", "lastTransitionTime": "2020-08-19T08:06:00Z" }]);
        std::fs::write(&path, machine.to_string()).unwrap();
        let from = path.to_str().unwrap();
        let report = json(&[from]);
        let found = only(&report);
        assert_eq!(
            (&found["name"], &report["young"]),
            (&WAITS.into(), &0.into())
        );
        assert_eq!(found["isCertain"], false, "{report:#}");
        assert!(
            found.get("ageSeconds").is_none_or(Value::is_null),
            "{report:#}"
        );
        assert!(
            unseen(&report).contains("how old it is: the newest time in what was read is 2020-08-19T08:06:00Z, and nothing says when it was read (`oc get nodes -o json` does)"),
            "{report:#}"
        );
        let (text, ..) = why(&[from], &[]);
        assert!(
            !text.contains("just now") && !text.contains(" after 6 minutes"),
            "{text}"
        );
    }
}
