//! FIPS mode, by the MachineConfigs of a set's pool: what they do not say is unknown, and no issue.

use super::real::{aws, joined, list, machine_set};
use super::{audit, run};
use crate::support::expected::assert_file;
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;

const ISSUE: &str = "IgnitionFailsInFIPSMode";
/// 9.6.20251023-0 and 9.6.20260112-0 in us-east-2.
const AFFECTED: &str = "ami-0bc8dda494f111572";
const FIXED: &str = "ami-0fd7c367ed8a90d52";

const HASH: &str = "0123456789abcdef0123456789abcdef";

fn version() -> Value {
    json!({ "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": { "name": "version" },
        "status": { "desired": { "version": "4.20.3" }, "history": [{ "state": "Completed", "version": "4.20.3" }] } })
}

/// A MachineConfig as the API has it, with a node's files.
fn config(name: &str, role: Option<&str>, fips: Value) -> Value {
    let labels = role.map(|role| json!({ "machineconfiguration.openshift.io/role": role }));
    let files = json!({ "ignition": { "version": "3.5.0" }, "storage": { "files": [{ "path": "/x", "contents": { "source": "data:,SECRET" } }] } });
    json!({ "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
        "metadata": { "name": name, "labels": labels }, "spec": { "fips": fips, "config": files, "kernelArguments": [] } })
}

fn rendered(pool: &str, fips: bool) -> Value {
    config(&format!("rendered-{pool}-{HASH}"), None, json!(fips))
}

fn pool(name: &str, config: &str) -> Value {
    json!({ "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool", "metadata": { "name": name },
        "spec": { "configuration": { "name": config } }, "status": { "configuration": { "name": config } } })
}

fn of_workers(ami: &str) -> Value {
    let mut provider = aws(ami);
    provider["userDataSecret"] = json!({ "name": "worker-user-data" });
    machine_set("c1-worker-us-east-2a", &provider)
}

/// The known issues of a set with this image, and what the audit ends with.
fn issues(ami: &str, more: &[Value]) -> (Vec<Value>, Exit) {
    let items = [&[version(), of_workers(ami)], more].concat();
    let (out, exit) = of(items, &["-o", "json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert!(!out.contains("SECRET"), "{out}");
    let issues = found["sets"][0]["knownIssues"].as_array().cloned();
    let ids = issues.unwrap_or_default();
    (
        ids.into_iter().map(|issue| issue["id"].clone()).collect(),
        exit,
    )
}

fn of(items: Vec<Value>, more: &[&str]) -> (String, Exit) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("objects.json");
    std::fs::write(&path, list(items)).unwrap();
    let (out, err, exit) = audit(&[&["--from", path.to_str().unwrap()], more].concat());
    assert_eq!(err, "");
    (out.replace(path.to_str().unwrap(), "objects.json"), exit)
}

#[test]
fn fips_mode_is_that_of_the_pools_machine_configs() {
    let worker = Some("worker");
    let current = format!("rendered-worker-{HASH}");
    let other = "rendered-worker-ffffffffffffffffffffffffffffffff";
    for (configs, has) in [
        (vec![rendered("worker", true)], true),
        (vec![config("99-worker-fips", worker, json!(true))], true),
        (
            vec![
                config("50-mine", worker, json!(true)),
                config("00-worker", worker, json!(false)),
            ],
            true,
        ),
        // The pool's own says it, not one that it had, or will have.
        (
            vec![
                pool("worker", &current),
                rendered("worker", true),
                config(other, None, json!(false)),
            ],
            true,
        ),
        (
            vec![
                pool("worker", other),
                rendered("worker", true),
                config(other, None, json!(false)),
            ],
            false,
        ),
        (vec![pool("worker", other), rendered("worker", true)], true),
        (
            vec![
                rendered("worker", false),
                config("99-worker-fips", worker, json!(true)),
            ],
            false,
        ),
        // Two that differ, and no pool that says which.
        (
            vec![rendered("worker", true), config(other, None, json!(false))],
            false,
        ),
        // What is of another pool, says nothing, or is no answer.
        (vec![], false),
        (vec![rendered("worker", false)], false),
        (
            vec![
                rendered("master", true),
                config("99-master-fips", Some("master"), json!(true)),
            ],
            false,
        ),
        (vec![rendered("worker-gpu", true)], false),
        (vec![config("99-worker-fips", None, json!(true))], false),
        (vec![config("99-worker-fips", worker, json!("true"))], false),
        (vec![config("99-worker-fips", worker, Value::Null)], false),
        (vec![config("00-worker", worker, json!(false))], false),
    ] {
        let (found, exit) = issues(AFFECTED, &configs);
        let wanted: &[&str] = if has { &[ISSUE] } else { &[] };
        assert_eq!(found, wanted, "{configs:#?}");
        // It warns.
        assert_eq!(exit, Exit::Done);
        assert!(issues(FIXED, &configs).0.is_empty());
    }
}

/// A pool of one's own has the workers' MachineConfigs; the control plane has not.
#[test]
fn a_pool_of_ones_own_has_the_workers_mode() {
    let worker = || config("99-worker-fips", Some("worker"), json!(true));
    let of_pool = |secret: &str, configs: &[Value]| {
        let mut set = of_workers(AFFECTED);
        let provider = "/spec/template/spec/providerSpec/value/userDataSecret/name";
        *set.pointer_mut(provider).unwrap() = json!(secret);
        let (out, _) = of([&[version(), set], configs].concat(), &["-o", "json"]);
        let found: Value = serde_json::from_str(&out).unwrap();
        (
            found["sets"][0]["pool"].clone(),
            found["sets"][0].get("knownIssues").is_some(),
        )
    };
    assert_eq!(
        of_pool("infra-user-data", &[worker()]),
        (json!("infra"), true)
    );
    assert_eq!(
        of_pool("infra-user-data", &[worker(), rendered("infra", false)]),
        (json!("infra"), false)
    );
    assert_eq!(
        of_pool("master-user-data", &[worker()]),
        (json!("master"), false)
    );
}

/// A NodePool's nodes are of another cluster than the MachineConfigs beside it, whatever its name is.
#[test]
fn a_node_pool_has_not_the_mode_of_the_cluster_that_hosts_it() {
    let node_pool = json!({ "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool",
        "metadata": { "name": "worker", "namespace": "clusters" },
        "spec": { "clusterName": "c", "replicas": 1, "release": { "image": "quay.io/x:4.20.3" }, "arch": "amd64",
            "platform": { "type": "AWS", "aws": { "ami": AFFECTED } } }, "status": { "version": "4.20.3" } });
    let items = vec![version(), node_pool, rendered("worker", true)];
    let (out, _) = of(items, &["-o", "json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(found["sets"][0]["bootImage"]["version"], "9.6.20251023-0");
    assert_eq!(found["sets"][0].get("knownIssues"), None);
}

#[test]
fn every_form_says_the_issue_of_fips_mode() {
    let items = || vec![version(), of_workers(AFFECTED), rendered("worker", true)];
    let (text, exit) = of(items(), &["-o", "wide"]);
    assert_eq!(exit, Exit::Done);
    assert_file("audit/expected/fips.txt", &text);
    for form in ["text", "html", "markdown", "junit", "csv", "sarif", "yaml"] {
        let (out, _) = of(items(), &["-o", form]);
        assert!(out.contains(ISSUE), "{form}: {out}");
    }
}

/// A limit for nodes in FIPS mode is chosen where the mode is known, and nothing is where it is not.
#[test]
fn a_limit_is_narrowed_by_fips_mode() {
    let dir = tempfile::tempdir().unwrap();
    let policy = dir.path().join("policy.json");
    let text = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce",
        "knownIssues": [], "limits": [{ "deniedVersions": [{ "version": "417.94.20241009*" }] }, { "release": "4.20", "deniedVersions": [] }, { "release": "4.20", "when": { "fips": true }, "minimumRHCOSVersion": "9.6.20251212-1" }] });
    std::fs::write(&policy, text.to_string()).unwrap();
    let policy = policy.to_str().unwrap();
    let (out, err, exit) = run(&["policy", "lint", policy]);
    assert_eq!((exit, err.as_str()), (Exit::Done, ""), "{out}");
    assert!(out.ends_with("no mistakes found\n"), "{out}");
    for (configs, verdict) in [
        (vec![rendered("worker", true)], "Refused"),
        (vec![rendered("worker", false)], "Allowed"),
        (vec![], "Undetermined"),
    ] {
        let items = [vec![version(), of_workers(AFFECTED)], configs].concat();
        let (out, _) = of(items, &["-o", "json", "--policy", policy]);
        let found: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(found["sets"][0]["verdict"], verdict, "{out}");
    }
}

/// What breaks an update is told of joined nodes by their pool's MachineConfigs, before their own word.
#[test]
fn joined_nodes_have_the_mode_of_their_pool() {
    let dir = tempfile::tempdir().unwrap();
    let policy = dir.path().join("policy.json");
    let text = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce",
        "limits": [{ "deniedVersions": [] }],
        "knownIssues": [{ "id": "Mine", "targets": ">=4.21.0", "affects": "Update", "images": { "rhelMajors": [9] }, "when": { "fips": true }, "reason": "x" }] });
    std::fs::write(&policy, text.to_string()).unwrap();
    let policy = policy.to_str().unwrap();
    let provider = aws(FIXED);
    for (configs, own, count) in [
        (vec![rendered("worker", true)], None, "has"),
        (vec![rendered("worker", true)], Some(false), "has"),
        (vec![rendered("worker", false)], Some(true), "none"),
        (vec![], Some(true), "has"),
        (vec![], Some(false), "none"),
        (vec![], None, "unknown"),
    ] {
        let [machine, mut node] = joined("c1-worker-us-east-2a", &provider, "9.6.20260112-0");
        node["metadata"]["labels"]["node-role.kubernetes.io/worker"] = json!("");
        let verdict = json!({ "machine": { "fips": own } }).to_string();
        node["metadata"]["annotations"]["skewguard.dev/boot-image-verdict"] = json!(verdict);
        let items = [vec![version(), of_workers(FIXED), machine, node], configs].concat();
        let (out, _) = of(
            items,
            &["-o", "json", "--policy", policy, "--target", "4.21.1"],
        );
        let found: Value = serde_json::from_str(&out).unwrap();
        let births = found["births"].as_array().cloned().unwrap_or_default();
        let row = births.iter().find(|row| row["issue"] == "Mine");
        let said = match row {
            None => "none",
            Some(row) if row.get("toKnow").is_some() => "unknown",
            Some(_) => "has",
        };
        assert_eq!(said, count, "{out}");
    }
}
