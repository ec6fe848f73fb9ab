//! Joined nodes that an update breaks, by what they were born with.

use crate::audit::{POLICY, audit};
use serde_json::{Value, json};

fn node(name: &str, created: &str, version: &str, machine: &Value) -> Value {
    let verdict =
        json!({ "verdict": "Allowed", "bootImage": { "version": version }, "machine": machine });
    json!({ "apiVersion": "v1", "kind": "Node", "metadata": {
        "name": name, "creationTimestamp": created,
        "labels": { "kubernetes.io/arch": "amd64", "node-role.kubernetes.io/worker": "", "skewguard.dev/boot-image": version },
        "annotations": { "skewguard.dev/boot-image-verdict": verdict.to_string() } } })
}

fn cluster(release: &str) -> Value {
    json!({ "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": { "name": "version" },
        "spec": { "clusterID": "11111111-2222-3333-4444-555555555555" },
        "status": { "desired": { "version": release }, "history": [{ "state": "Completed", "version": release }] } })
}

/// The rows for a release, as `ISSUE why NODES`.
fn births(items: &[Value], target: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("objects.json");
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    std::fs::write(&file, list.to_string()).unwrap();
    let from = ["--policy", POLICY, "--from", file.to_str().unwrap()];
    let (out, err, _) = audit(&[&from, target, &["-o", "json"]].concat());
    let found: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
    let rows = found["births"].as_array().cloned().unwrap_or_default();
    rows.iter()
        .map(|row| {
            let why = row["toKnow"].as_str().unwrap_or("has");
            let nodes: Vec<&str> = row["nodes"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_str)
                .collect();
            assert_eq!(row["count"], nodes.len());
            assert!(row["remedy"].is_string() && row["url"].is_string(), "{row}");
            format!(
                "{} {why} {}",
                row["issue"].as_str().unwrap(),
                nodes.join(",")
            )
        })
        .collect()
}

#[test]
fn nodes_are_named_by_what_they_were_born_with() {
    let no = json!({});
    let items = [
        cluster("4.21.9"),
        node(
            "b",
            "2024-03-01T00:00:00Z",
            "415.92.202402201450-0",
            &json!({ "secureBoot": true, "shim": "15.6-1.el9" }),
        ),
        node(
            "a",
            "2024-02-01T00:00:00Z",
            "415.92.202402201450-0",
            &json!({ "secureBoot": true }),
        ),
        node(
            "off",
            "2024-02-01T00:00:00Z",
            "415.92.202402201450-0",
            &json!({ "secureBoot": false }),
        ),
        node(
            "quiet",
            "2023-02-01T00:00:00Z",
            "413.92.202303281804-0",
            &no,
        ),
        node("new", "2025-02-01T00:00:00Z", "9.6.20250523-0", &no),
    ];
    assert_eq!(
        births(&items, &["--target", "4.22.1"]),
        [
            "BornBeforeKernelSigningKey has a,b",
            "BornBeforeKernelSigningKey it is unknown whether Secure Boot is on quiet",
        ]
    );
    assert_eq!(births(&items, &["--target", "4.21.20"]), [""; 0]);
    // Nobody asked about an update.
    assert_eq!(births(&items, &[]), [""; 0]);
}

/// okd-project/okd#2339. A person who writes 4.22.1 means OKD's.
#[test]
fn a_cluster_of_okd_is_held_against_the_issues_of_okd() {
    let items = |release| {
        [
            cluster(release),
            node("old", "2023-05-01T00:00:00Z", "37.20230401.3.0", &json!({})),
            node("new", "2026-05-01T00:00:00Z", "10.0.20251103-0", &json!({})),
        ]
    };
    for target in ["4.22.0-okd-scos.5", "4.22.1"] {
        assert_eq!(
            births(&items("4.21.0-okd-scos.11"), &["--target", target]),
            ["BornFromFCOSGrubConfig has old"],
            "{target}"
        );
    }
    let ocp = births(&items("4.21.9"), &["--target", "4.22.1"]);
    assert!(
        ocp.iter().all(|row| !row.starts_with("BornFromFCOS")),
        "{ocp:?}"
    );
}
