//! CPUs that cannot start RHEL 10 or CentOS Stream CoreOS 10 (okd-project/okd #2275), and pools of RHEL 10.

use super::audit;
use super::real::{aws, joined, list, machine_set};
use serde_json::{Value, json};

const AMI: &str = "ami-0123456789abcdef0";

fn of_type(instance: &str) -> Value {
    let mut provider = aws(AMI);
    provider["instanceType"] = json!(instance);
    provider
}

/// The pool worker, of this stream.
fn pool(stream: Option<&str>) -> Value {
    let spec = match stream {
        Some(stream) => json!({ "osImageStream": { "name": stream } }),
        None => json!({}),
    };
    json!({ "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool", "metadata": { "name": "worker" }, "spec": spec })
}

fn version(release: &str) -> Value {
    json!({ "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": { "name": "version" },
        "status": { "desired": { "version": release }, "history": [{ "state": "Completed", "version": release }] } })
}

/// A set of one node: its instance type, the image and the OS of its node.
fn set(instance: &str, image: &str, os: &str) -> Vec<Value> {
    let provider = of_type(instance);
    let [machine, mut node] = joined("worker", &provider, image);
    node["metadata"]["labels"]["node-role.kubernetes.io/worker"] = json!("");
    node["status"] = json!({ "nodeInfo": { "osImage": os } });
    vec![machine_set("worker", &provider), machine, node]
}

fn found(items: Vec<Value>, target: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let objects = folder.path().join("objects.json");
    std::fs::write(&objects, list(items)).unwrap();
    let from = ["--from", objects.to_str().unwrap(), "--target", target];
    let (out, err, _) = audit(&[&from, &["-o", "json"][..]].concat());
    serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"))
}

/// The verdict on the set, and its message.
fn verdict(items: Vec<Value>, target: &str) -> (String, String) {
    let found = found(items, target);
    let text = |field: &str| found["sets"][0][field].as_str().unwrap().to_owned();
    (text("verdict"), text("message"))
}

const RHEL_9: &str = "Red Hat Enterprise Linux CoreOS 9.6.20251023-0 (Plow)";
const SCOS_9: &str = "CentOS Stream CoreOS 9.0.20250510-0";
const SCOS_10: &str = "CentOS Stream CoreOS 10.0.20251103-0";

/// A cluster that was installed as 4.x stays on rhel-9: the stream decides, and no release.
#[test]
fn instances_without_avx2_do_not_come_up_as_rhel_10() {
    const IMAGE: &str = "9.6.20251015-1";
    for (instance, stream, target, verdict_of_set) in [
        ("m3.xlarge", Some("rhel-10"), "5.0.3", "Undetermined"),
        ("i2.xlarge", Some("rhel-10"), "4.22.1", "Undetermined"),
        ("m3.xlarge", Some("rhel-9"), "5.0.3", "Allowed"),
        ("m3.xlarge", None, "5.0.3", "Allowed"),
        ("m5.xlarge", Some("rhel-10"), "5.0.3", "Allowed"),
    ] {
        let items = [
            set(instance, IMAGE, RHEL_9),
            vec![pool(stream), version("4.22.1")],
        ]
        .concat();
        let (verdict, message) = verdict(items, target);
        assert_eq!(
            verdict, verdict_of_set,
            "{instance} {stream:?} {target}: {message}"
        );
        let says = "no node comes up from it: rhel-10, its pool's stream, needs a CPU of x86-64-v3 (AVX2), and its instance type has x86-64-v2";
        assert_eq!(
            message == says,
            verdict_of_set == "Undetermined",
            "{message}"
        );
    }
}

/// OKD has nothing but CentOS Stream CoreOS 10 from 4.20 on. Where no instance type says it, a node of
/// the set that runs it does.
#[test]
fn okds_policy_has_the_level_from_4_20_on() {
    const IMAGE: &str = "9.0.20250510-0";
    for (instance, os, target, verdict_of_set) in [
        ("m3.xlarge", SCOS_9, "4.20.0-okd-scos.7", "Refused"),
        ("c3.2xlarge", SCOS_9, "4.22.0-okd-scos.1", "Refused"),
        ("m3.xlarge", SCOS_9, "4.19.0-okd-scos.19", "Allowed"),
        ("m5.xlarge", SCOS_9, "4.20.0-okd-scos.7", "Undetermined"),
        ("m5.xlarge", "", "4.20.0-okd-scos.7", "Undetermined"),
        ("m5.xlarge", SCOS_10, "4.20.0-okd-scos.7", "Allowed"),
        ("m5.xlarge", SCOS_9, "4.19.0-okd-scos.19", "Allowed"),
    ] {
        let items = [
            set(instance, IMAGE, os),
            vec![version("4.19.0-okd-scos.19")],
        ]
        .concat();
        let (verdict, message) = verdict(items, target);
        assert_eq!(
            verdict, verdict_of_set,
            "{instance} {os} {target}: {message}"
        );
        if verdict == "Refused" {
            assert_eq!(message, "CPU is x86-64-v2; the minimum is x86-64-v3");
        }
    }
}

/// What a joined node runs on proves that, and no more.
#[test]
fn a_node_of_rhel_10_proves_no_higher_level() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let items = [
        set("m5.xlarge", "9.0.20250510-0", SCOS_10),
        vec![version("4.22.0-okd-scos.5")],
    ]
    .concat();
    std::fs::write(path("objects.json"), list(items)).unwrap();
    for (level, verdict) in [("x86-64-v3", "Allowed"), ("x86-64-v4", "Undetermined")] {
        let policy = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce",
            "limits": [{ "deniedVersions": [], "minimumCPU": { "x86_64": level } }], "knownIssues": [] });
        std::fs::write(path("policy.json"), policy.to_string()).unwrap();
        let (out, _, _) = audit(&[
            "--policy",
            &path("policy.json"),
            "--from",
            &path("objects.json"),
            "-o",
            "json",
        ]);
        let found: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(found["sets"][0]["verdict"], verdict, "{level}");
    }
}

#[test]
fn joined_nodes_whose_cpu_the_update_needs_are_named() {
    let births = |items: Vec<Value>, target: &str| -> Vec<String> {
        let found = found(items, target);
        let rows = found["births"].as_array().cloned().unwrap_or_default();
        let is_it = |row: &&Value| row["issue"] == "CPUWithoutX8664V3";
        let words = |row: &Value| row["toKnow"].as_str().unwrap_or("has").to_owned();
        rows.iter().filter(is_it).map(words).collect()
    };
    const OKD: &str = "4.19.0-okd-scos.19";
    const UNKNOWN: &str = "the level of the CPU is unknown";
    for (instance, os, release, stream, target, want) in [
        (
            "m3.xlarge",
            SCOS_9,
            OKD,
            None,
            "4.20.0-okd-scos.7",
            vec!["has"],
        ),
        (
            "m5.xlarge",
            SCOS_9,
            OKD,
            None,
            "4.20.0-okd-scos.7",
            vec![UNKNOWN],
        ),
        ("m5.xlarge", SCOS_10, OKD, None, "4.20.0-okd-scos.7", vec![]),
        ("m3.xlarge", SCOS_9, OKD, None, "4.19.0-okd-scos.20", vec![]),
        (
            "m3.xlarge",
            SCOS_9,
            "4.20.0-okd-scos.7",
            None,
            "4.21.0-okd-scos.1",
            vec![],
        ),
        (
            "m3.xlarge",
            RHEL_9,
            "4.22.1",
            Some("rhel-10"),
            "5.0.3",
            vec!["has"],
        ),
        (
            "m5.xlarge",
            RHEL_9,
            "4.22.1",
            Some("rhel-10"),
            "5.0.3",
            vec![UNKNOWN],
        ),
        ("m3.xlarge", RHEL_9, "4.22.1", None, "5.0.3", vec![]),
    ] {
        let items = [
            set(instance, "9.0.20250510-0", os),
            vec![pool(stream), version(release)],
        ]
        .concat();
        assert_eq!(
            births(items, target),
            want,
            "{instance} {os} {release} {stream:?} {target}"
        );
    }
}

/// The field's case: vSphere, where the EVC mode decides.
#[test]
fn a_cluster_of_vsphere_may_have_cpus_without_avx2() {
    const FROM: &str = "tests/data/cases/okd-scos-10-needs-x86-64-v3";
    let births = |target: &str| -> Value {
        let (out, err, _) = audit(&["--from", FROM, "--target", target, "-o", "json"]);
        let found: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
        found["births"][0].clone()
    };
    let row = births("4.20.0-okd-scos.7");
    assert_eq!(
        (&row["issue"], &row["count"], &row["toKnow"]),
        (
            &json!("CPUWithoutX8664V3"),
            &json!(4),
            &json!("the level of the CPU is unknown")
        )
    );
    assert_eq!(births("4.19.0-okd-scos.20"), Value::Null);
}

/// openshift-docs #109617; `when` of a known issue has no stream.
#[test]
fn a_pool_of_rhel_10_wants_an_image_of_rhel_9() {
    for (image, stream, warns) in [
        ("412.86.202301311551-0", Some("rhel-10"), true),
        ("413.92.202303281804-0", Some("rhel-10"), false),
        ("412.86.202301311551-0", Some("rhel-9"), false),
        ("412.86.202301311551-0", None, false),
    ] {
        let items = [
            set("m5.xlarge", image, RHEL_9),
            vec![pool(stream), version("4.21.3")],
        ]
        .concat();
        let found = found(items, "4.21.3");
        let issues = found["sets"][0]["knownIssues"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let is_it =
            |issue: &&Value| issue["id"] == "RHEL10NeedsRHEL9Image" && issue["effect"] == "Warn";
        assert_eq!(
            issues.iter().filter(is_it).count(),
            usize::from(warns),
            "{image} {stream:?}"
        );
    }
}
