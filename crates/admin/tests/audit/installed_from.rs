//! Joined nodes that an update breaks, by the image that they were installed from.

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

/// The audit of these objects by this policy.
fn found(policy: &Value, items: &[Value], target: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let [objects, rules] = ["objects.json", "policy.json"].map(|name| folder.path().join(name));
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    std::fs::write(&objects, list.to_string()).unwrap();
    std::fs::write(&rules, policy.to_string()).unwrap();
    let [objects, rules] = [&objects, &rules].map(|path| path.to_str().unwrap());
    let from = ["--policy", rules, "--from", objects];
    let (out, err, _) = audit(&[&from, target, &["-o", "json"]].concat());
    serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"))
}

fn policy_file() -> Value {
    serde_json::from_str(&std::fs::read_to_string(POLICY).unwrap()).unwrap()
}

/// The rows for a release, as `ISSUE why NODES`.
fn births(items: &[Value], target: &[&str]) -> Vec<String> {
    births_by(&policy_file(), items, target)
}

fn births_by(policy: &Value, items: &[Value], target: &[&str]) -> Vec<String> {
    let found = found(policy, items, target);
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
        // Its ESP was updated since: what it says decides, not its image.
        node(
            "mended",
            "2024-02-01T00:00:00Z",
            "415.92.202402201450-0",
            &json!({ "secureBoot": true, "shim": "15.8-4.el9_3" }),
        ),
        node(
            "old-shim",
            "2025-03-01T00:00:00Z",
            "9.6.20250523-0",
            &json!({ "secureBoot": true, "shim": "15.6-1.el9" }),
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
            "BornBeforeKernelSigningKey has old-shim",
            "BornBeforeKernelSigningKey it is unknown whether Secure Boot is on quiet",
        ]
    );
    assert_eq!(births(&items, &["--target", "4.21.20"]), [""; 0]);
    // The cluster does not say which update comes next.
    assert_eq!(births(&items, &[]), [""; 0]);
}

/// A Node as the agent patches it: the agent's own tests write the file.
#[test]
fn a_node_is_judged_by_what_the_agent_wrote() {
    let patch = std::fs::read_to_string("tests/data/node-patch.json").unwrap();
    let mut node: Value = serde_json::from_str(&patch).unwrap();
    node["apiVersion"] = json!("v1");
    node["kind"] = json!("Node");
    node["metadata"]["name"] = json!("a");
    node["metadata"]["labels"]["kubernetes.io/arch"] = json!("amd64");
    let policy = |least: u32| {
        json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Warn",
            "limits": [{ "minimumRHCOSVersion": "8.6" }], "knownIssues": [
            { "id": "BootTooSmall", "affects": "Update", "targets": ">=4.22.0", "images": { "belowBootFreeMiB": least },
              "reason": "its /boot has no room for two", "remedy": "reinstall it", "url": "https://example.com/1" }] })
    };
    let items = [cluster("4.21.9"), node];
    let target = ["--target", "4.22.1"];
    let rows = |least| births_by(&policy(least), &items, &target);
    let shim = "BornBeforeKernelSigningKey has a";
    assert_eq!(rows(97), ["BootTooSmall has a", shim]);
    assert_eq!(rows(96), [shim]);
    let mut silent = items.clone();
    silent[1]["metadata"]["annotations"] = json!({});
    assert_eq!(
        births_by(&policy(97), &silent, &target),
        [
            "BootTooSmall what was free in /boot before its first rebase is unknown a",
            "BornBeforeKernelSigningKey it is unknown whether Secure Boot is on a",
        ]
    );
}

/// `status` as openshift/cluster-version-operator writes it.
#[test]
fn without_a_target_the_next_update_is_looked_at() {
    let completed = |version| json!({ "state": "Completed", "version": version });
    let partial = |version| json!({ "state": "Partial", "version": version });
    let offer = |versions: &[&str]| -> Value {
        versions
            .iter()
            .map(|version| json!({ "version": version, "image": "x" }))
            .collect()
    };
    let conditional =
        |version| json!([{ "release": { "version": version, "image": "x" }, "risks": [] }]);
    for (status, update) in [
        // Null where nothing was retrieved.
        (
            json!({ "availableUpdates": null, "history": [completed("4.21.9")] }),
            None,
        ),
        (
            json!({ "availableUpdates": [], "history": [completed("4.21.9")] }),
            None,
        ),
        (
            json!({ "availableUpdates": offer(&["4.21.20", "4.22.1", "4.22.0"]) }),
            Some("4.22.1"),
        ),
        (
            json!({ "availableUpdates": offer(&["4.9.59", "4.10.3"]) }),
            Some("4.10.3"),
        ),
        (
            json!({ "availableUpdates": offer(&["4.22.9", "5.0.0", "4.23.5"]) }),
            Some("5.0.0"),
        ),
        (
            json!({ "availableUpdates": offer(&["4.22.0-rc.2", "4.22.0-rc.1", "latest"]) }),
            Some("4.22.0-rc.2"),
        ),
        (
            json!({ "availableUpdates": offer(&["4.21.20"]), "conditionalUpdates": conditional("4.22.3") }),
            Some("4.22.3"),
        ),
        // It is under way.
        (
            json!({ "availableUpdates": offer(&["4.22.5"]), "history": [partial("4.22.1"), completed("4.21.9")] }),
            Some("4.22.1"),
        ),
        // The installation is not done.
        (
            json!({ "availableUpdates": null, "history": [partial("4.22.1")] }),
            None,
        ),
        (
            json!({ "availableUpdates": "soon", "conditionalUpdates": [1, { "release": [] }] }),
            None,
        ),
    ] {
        let mut version = cluster("4.21.9");
        for (field, value) in status.as_object().unwrap() {
            version["status"][field] = value.clone();
        }
        let old = json!({ "secureBoot": true, "shim": "15.6-1.el9" });
        let items = [
            version,
            node("a", "2024-02-01T00:00:00Z", "415.92.202402201450-0", &old),
        ];
        let found = found(&policy_file(), &items, &[]);
        assert_eq!(found["update"].as_str(), update, "{status}");
        assert_eq!(
            found["release"], "4.21.9",
            "the sets are judged by the cluster's own"
        );
        let hits =
            update.is_some_and(|update| update.starts_with("4.22") || update.starts_with('5'));
        let rows = found["births"].as_array().map_or(0, Vec::len);
        assert_eq!(rows, usize::from(hits), "{status}");
        if hits {
            assert_eq!(found["births"][0]["release"].as_str(), update);
        }
    }
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

const JOINED: &str = "tests/data/cases/okd-born-old-joined/objects.json";

fn joined(target: &[&str], form: &str) -> String {
    let (out, err, _) = audit(&[&["--from", JOINED, "-o", form], target].concat());
    assert_eq!(err, "");
    out
}

/// By label, by the image that the Machine names, and by the first node of the set.
#[test]
fn a_birth_is_known_by_the_node_its_machine_or_the_first_node_of_its_set() {
    let found: Value = serde_json::from_str(&joined(&["--target", "4.22.0"], "json")).unwrap();
    let rows: Vec<String> = found["births"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            format!(
                "{} {} {} {}",
                row["pool"].as_str().unwrap(),
                row["bootImage"]["version"].as_str().unwrap_or("?"),
                row["toKnow"].as_str().unwrap_or("has"),
                row["nodes"]
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            r#"worker 37.20230401.3.0 has ["c1-worker-01"]"#,
            r#"worker 39.20231101.3.0 has ["c1-worker-03"]"#,
            r#"worker 37.20230401.3.0 the image is that of the first node of its set, and its own is unknown ["c1-worker-02"]"#,
            r#"worker ? the boot image's OS family is unknown ["c1-hand-made"]"#,
        ]
    );
    assert!(
        found["births"]
            .as_array()
            .unwrap()
            .iter()
            .all(|row| row["issue"] == "BornFromFCOSGrubConfig" && row["inPolicy"] == false),
        "{found}"
    );
}

#[test]
fn every_form_has_the_nodes_that_the_update_breaks() {
    let target = ["--target", "4.22.0-okd-scos.5"];
    const ISSUE: &str = "BornFromFCOSGrubConfig";
    for form in [
        "text", "wide", "json", "yaml", "html", "markdown", "junit", "csv",
    ] {
        let out = joined(&target, form);
        for word in [ISSUE, "c1-worker-01", "37.20230401.3.0"] {
            assert!(out.contains(word), "{form}: {word}: {out}");
        }
        // Without an update nothing is said.
        assert!(!joined(&[], form).contains("c1-worker-02"), "{form}");
    }
    let text = joined(&target, "text");
    assert!(
        text.contains("the update to 4.22.0-okd-scos.5 breaks joined nodes"),
        "{text}"
    );
    let page = joined(&target, "html");
    for part in [
        "<h2>Joined nodes that the update breaks</h2>",
        ">breaks</td>",
        ">may break</td>",
        " at the update to 4.22.0-okd-scos.5: its grub.cfg",
        "before the update copy EFI/fedora/*.cfg",
        "https://github.com/okd-project/okd/issues/2339",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let junit = joined(&target, "junit");
    let head = format!(
        r#"<testcase name="pool worker, installed from 37.20230401.3.0: {ISSUE}" classname="update">"#
    );
    let case = junit
        .split(&head)
        .nth(1)
        .unwrap_or_else(|| panic!("{junit}"));
    assert!(
        case.trim_start()
            .starts_with(&format!(r#"<failure message="{ISSUE}: its grub.cfg"#)),
        "{junit}"
    );
    // What is unknown is named, and no failure.
    assert_eq!(junit.matches("<skipped").count(), 2, "{junit}");
    let sheet = joined(&target, "csv");
    let mut reader = csv::Reader::from_reader(sheet.as_bytes());
    let rows: Vec<Vec<String>> = reader
        .records()
        .map(|row| row.unwrap().iter().map(str::to_owned).collect())
        .filter(|row: &Vec<String>| row[1] == "Node")
        .collect();
    let verdicts: Vec<&str> = rows.iter().map(|row| &*row[0]).collect();
    assert_eq!(verdicts, ["breaks", "breaks", "may break", "may break"]);
    assert_eq!(
        [&*rows[0][3], &*rows[0][4], &*rows[0][14], &*rows[0][16]],
        ["c1-worker-01", "worker", "1", ISSUE]
    );
}
