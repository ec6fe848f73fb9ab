//! What is read, and how it is asked for: names before and behind --from, namespaces, lists without items,
//! logs of any name, many machines of one cause.

use super::{DATA, Gather, WAITS, json, only, why};
use crate::audit::run;
use serde_json::{Value, json as object};
use skewguard_admin::cli::Exit;

fn sentence(report: &Value) -> &str {
    only(report)["sentence"].as_str().unwrap()
}

#[test]
fn names_stand_before_or_behind_from() {
    let from = format!("{DATA}/cluster");
    let case = format!("{DATA}/no-instance");
    let (before, ..) = run(&["why", WAITS, "--from", &from, &case]);
    let (behind, err, exit) = run(&["why", "--from", &from, &case, WAITS]);
    assert_eq!((err.as_str(), exit), ("", Exit::Done));
    assert_eq!(before, behind);
    let (out, err, exit) = run(&["why", "--from", &case, "nosuch"]);
    assert_eq!(
        (out.as_str(), err.as_str(), exit),
        (
            "",
            "skewguard: nosuch: there is no Machine, BareMetalHost, Agent or Node of that name\n",
            Exit::Failed
        )
    );
}

/// An empty log is none.
#[test]
fn servers_are_counted_alike_everywhere() {
    let gather = Gather::of("no-request");
    gather.change(|n, text| match n {
        0 => String::new(),
        _ => text.replace("10.0.16.37", "10.0.99.9"),
    });
    std::fs::remove_file(&gather.logs()[1]).unwrap();
    let (text, ..) = super::why(&[&format!("{DATA}/cluster"), gather.path()], &[]);
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "nothing was read of the logs of 2 of 3 machine-config-servers, which may have",
        "in the log of 1 server",
        "Logs of 1 machine-config-server since",
        ": its log has no line that is understood",
    ] {
        assert!(plain.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_namespace_is_looked_at_alone() {
    let (out, ..) = super::of_case("no-instance", &["-n", "openshift-machine-api"]);
    assert!(out.starts_with(WAITS), "{out}");
    let (out, _, exit) = super::of_case("no-instance", &["-n", "elsewhere"]);
    assert_eq!(exit, Exit::Done);
    let none = "No machine of namespace elsewhere waits to become a Node.\n";
    assert!(out.starts_with(none), "{out}");
    let (_, err, exit) = super::of_case("no-instance", &["-n", "elsewhere", WAITS]);
    assert_eq!(exit, Exit::Failed);
    assert!(err.contains("of that name in namespace elsewhere"), "{err}");
}

/// `oc get -o json` prints `List` for every kind.
#[test]
fn an_empty_list_says_that_there_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let empty = object!({ "apiVersion": "v1", "kind": "List", "items": [], "metadata": { "resourceVersion": "" } });
    let path = |name: &str| dir.path().join(name);
    std::fs::write(path("any.json"), empty.to_string()).unwrap();
    let (out, err, exit) = why(&[path("any.json").to_str().unwrap()], &[]);
    assert_eq!((err.as_str(), exit), ("", Exit::Done));
    let plain = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(plain.contains("Whether others wait is unknown"), "{out}");
    for name in ["machines.json", "nodes.json", "csr.json"] {
        std::fs::write(path(name), empty.to_string()).unwrap();
    }
    let (out, ..) = why(&[dir.path().to_str().unwrap()], &[]);
    assert_eq!(out, "No machine waits to become a Node.\n");
    // Every must-gather has copies of the Insights Operator, which nothing is read of.
    std::fs::create_dir(path("insights-data")).unwrap();
    std::fs::write(path("insights-data/insights-2026.tar.gz"), [0x1f, 0x8b]).unwrap();
    let (out, ..) = why(&[dir.path().to_str().unwrap()], &[]);
    assert_eq!(out, "No machine waits to become a Node.\n");
    // The Cluster API's Machines are others.
    std::fs::remove_file(path("machines.json")).unwrap();
    let list = |kind: &str| object!({ "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": kind, "items": [], "metadata": {} });
    for (name, text) in [
        ("machines.cluster.x-k8s.io.json", empty.to_string()),
        ("others.json", list("MachineList").to_string()),
    ] {
        std::fs::write(path(name), text).unwrap();
        let report = json(&[dir.path().to_str().unwrap()]);
        assert_eq!(
            report["unread"],
            object!([{ "what": "Machines", "hidesSets": false,
                "why": "none was read (list machines; `oc get machines.machine.openshift.io -A -o json`)" }]),
            "{name}"
        );
    }
}

#[test]
fn logs_are_known_by_their_lines() {
    let gather = Gather::of("request-refused");
    let wanted = gather.json();
    for (n, log) in gather.logs().iter().enumerate() {
        std::fs::rename(
            log,
            gather.dir.path().join(format!("control-plane-{n}.txt")),
        )
        .unwrap();
    }
    let found = gather.json();
    assert_eq!(sentence(&found), sentence(&wanted));
    assert_eq!(found["serverLog"]["servers"], 3);
    // Named by a person, of any name, and one that nobody knows.
    let odd = gather.dir.path().join("saved");
    std::fs::rename(gather.dir.path().join("control-plane-0.txt"), &odd).unwrap();
    let other = gather.dir.path().join("kubelet.log");
    std::fs::write(
        &other,
        "Aug 20 09:00:00 worker-7 kubenswrapper[2200]: E0820 x\n",
    )
    .unwrap();
    let report = json(&[
        &format!("{DATA}/cluster"),
        gather.path(),
        odd.to_str().unwrap(),
    ]);
    assert_eq!(report["serverLog"]["servers"], 3, "{report:#}");
    let unread = report["unread"].to_string();
    assert!(
        unread.contains("kubelet.log")
            && unread.contains(
                "a log of a machine-config-server, a machine-approver or an ignition-server"
            ),
        "{unread}"
    );
}

/// A thousand machines of one cause are one sentence; JSON has each.
#[test]
fn machines_of_one_cause_are_told_once() {
    let gather = Gather::of("no-instance");
    let path = gather.dir.path().join(format!(
        "namespaces/openshift-machine-api/machine.openshift.io/machines/{WAITS}.yaml"
    ));
    let one: Value = serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let machine = |n: usize| {
        let mut machine = one.clone();
        machine["metadata"]["name"] = format!("c1-x7k2p-worker-us-east-2a-{n:05}").into();
        machine["metadata"]["uid"] = format!("uid-{n}").into();
        machine
    };
    let items: Vec<Value> = (0..999).map(machine).collect();
    let list = object!({ "apiVersion": "v1", "kind": "List", "items": items });
    std::fs::write(gather.dir.path().join("more.json"), list.to_string()).unwrap();
    let report = gather.json();
    assert_eq!(report["machines"].as_array().unwrap().len(), 1_000);
    let (text, ..) = why(&[&format!("{DATA}/cluster"), gather.path()], &[]);
    assert!(text.lines().count() < 60, "{text}");
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        plain.starts_with("Of 1000: 1000 without a running instance. 1000 Machines of MachineSet c1-x7k2p-worker-us-east-2a are alike: c1-x7k2p-worker-us-east-2a-"),
        "{text}"
    );
    assert!(
        plain.contains(" and 997 more. c1-x7k2p-worker-us-east-2a-"),
        "{text}"
    );
    let (markdown, ..) = why(
        &[&format!("{DATA}/cluster"), gather.path()],
        &["-o", "markdown"],
    );
    assert!(markdown.lines().count() < 60, "{markdown}");
}

/// A gather that ended early: a Node's file without a byte may be any Node's. Of one reason there is one line.
#[test]
fn files_that_say_nothing_are_named_once_for_each_reason() {
    let gather = Gather::of("no-instance");
    let nodes = gather
        .dir
        .path()
        .join("cluster-scoped-resources/core/nodes");
    std::fs::create_dir_all(&nodes).unwrap();
    let names = ["w1", "w2", "w3", "w4", "w5"];
    for name in names {
        std::fs::write(nodes.join(format!("{name}.yaml")), "").unwrap();
    }
    let (out, ..) = why(&[gather.path()], &[]);
    let plain = out.split_whitespace().collect::<Vec<_>>().join(" ");
    let file = |name: &str| format!("{}/{name}.yaml", nodes.to_str().unwrap());
    let line = format!(
        "not read: {}, {}, {} and 2 more: is empty",
        file("w1"),
        file("w2"),
        file("w3")
    );
    assert!(plain.contains(&line), "{out}");
    assert_eq!(out.matches("not read: ").count(), 1, "{out}");
    let report = json(&[gather.path()]);
    assert_eq!(report["unread"].as_array().unwrap().len(), names.len());
}
