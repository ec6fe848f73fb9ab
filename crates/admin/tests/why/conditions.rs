//! The condition `BootImageAllowed`: who gets it, how the printed patches change a Machine, and what a
//! MachineHealthCheck makes of it.

use super::{DATA, Gather, WAITS, run};
use crate::render::repository;
use crate::support::script::script;
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;
use std::path::PathBuf;
use std::process::Command;

/// `oc patch` that keeps what it was asked for: the resource, and the patch.
const OC: &str = r#"[ "$1 $3 $6 $7" = "patch -n --subresource=status --type=json" ] || exit 9
printf '%s\n%s\n%s\n' "$2" "$5" "$9" >>"${0%/*}/patches""#;

/// A Machine's file in the gather.
fn machine(gather: &Gather) -> PathBuf {
    let folder = "namespaces/openshift-machine-api/machine.openshift.io/machines";
    gather.dir.path().join(folder).join(format!("{WAITS}.yaml"))
}

fn object(gather: &Gather) -> Value {
    serde_saphyr::from_str(&std::fs::read_to_string(machine(gather)).unwrap()).unwrap()
}

fn commands(gather: &Gather) -> String {
    let cluster = format!("{DATA}/cluster");
    let (out, err, exit) = run(&[
        "why",
        "--print-commands",
        "conditions",
        "--from",
        &cluster,
        gather.path(),
    ]);
    assert_eq!((err.as_str(), exit), ("", Exit::Done));
    out
}

/// Runs the script, and applies what it patches: the Machine as it is then.
fn patched(gather: &Gather) -> Option<Value> {
    let dir = tempfile::tempdir().unwrap();
    script(&dir.path().join("oc"), OC);
    std::fs::write(dir.path().join("conditions.sh"), commands(gather)).unwrap();
    let status = Command::new("sh")
        .arg("conditions.sh")
        .current_dir(dir.path())
        .env("PATH", format!("{}:/usr/bin:/bin", dir.path().display()))
        .status()
        .unwrap();
    assert!(status.success());
    let patches = std::fs::read_to_string(dir.path().join("patches")).ok()?;
    let lines: Vec<&str> = patches.lines().collect();
    let [resource, name, patch] = lines.as_slice() else {
        panic!("{patches}");
    };
    assert_eq!((*resource, *name), ("machines.machine.openshift.io", WAITS));
    let mut object = object(gather);
    let patch: json_patch::Patch = serde_json::from_str(patch).unwrap();
    json_patch::patch(&mut object, &patch).unwrap();
    // The next run reads what this one wrote.
    object["metadata"]["resourceVersion"] = "990000".into();
    std::fs::write(machine(gather), object.to_string()).unwrap();
    Some(object)
}

fn condition(object: &Value) -> &Value {
    let all = object["status"]["conditions"].as_array().unwrap();
    let own: Vec<&Value> = all
        .iter()
        .filter(|one| one["type"] == "BootImageAllowed")
        .collect();
    assert_eq!(own.len(), 1, "{object:#}");
    own[0]
}

/// kubernetes-sigs/cluster-api 1.12, `machineChecks`: the condition has this status, for longer than
/// the timeout.
fn is_unhealthy(check: &Value, machine: &Value, seconds: u64) -> bool {
    let checks = &check["spec"]["checks"]["unhealthyMachineConditions"];
    checks.as_array().unwrap().iter().any(|check| {
        let conditions = machine["status"]["conditions"].as_array().unwrap();
        let found = conditions.iter().find(|one| one["type"] == check["type"]);
        found.is_some_and(|one| one["status"] == check["status"])
            && seconds > check["timeoutSeconds"].as_u64().unwrap()
    })
}

/// The MachineHealthCheck of docs/did-not-join.md.
fn health_check() -> Value {
    let page = std::fs::read_to_string(repository().join("docs/did-not-join.md")).unwrap();
    let (_, text) = page
        .split_once("apiVersion: cluster.x-k8s.io/v1beta2\n")
        .unwrap();
    let (text, _) = text.split_once("```").unwrap();
    serde_saphyr::from_str(text).unwrap()
}

#[test]
fn a_machine_that_both_refuse_gets_the_condition_and_loses_it() {
    let gather = Gather::of("refused");
    let before = object(&gather);
    let refused = patched(&gather).unwrap();
    let own = condition(&refused);
    assert_eq!(
        (&own["status"], &own["reason"], &own["severity"]),
        (&json!("False"), &json!("BootImageRefused"), &json!("Error"))
    );
    assert_eq!(
        own["message"],
        "boot image is OCP 4.12; the minimum is 4.13.0 (412.86.202301311551-0); BootImageReport skewguard/ip-10-0-16-37-77d2e4b6053f9a1c says that the node was refused"
    );
    // All others are as they were.
    let others = |object: &Value| {
        let mut object = object.clone();
        object["metadata"]["resourceVersion"] = Value::Null;
        if let Some(all) = object["status"]["conditions"].as_array_mut() {
            all.retain(|one| one["type"] != "BootImageAllowed");
        }
        object
    };
    assert_eq!(others(&refused), others(&before));
    let check = health_check();
    assert!(is_unhealthy(&check, &refused, 7_201));
    assert!(!is_unhealthy(&check, &refused, 3_600));
    assert!(!is_unhealthy(&check, &before, 100_000));
    // Nothing changed: the time of the transition stays.
    assert_eq!(patched(&gather), None);
    // The node was let through.
    let mut joined = object(&gather);
    joined["status"]["nodeRef"] = json!({ "kind": "Node", "name": "ip-10-0-16-37.ec2.internal" });
    std::fs::write(machine(&gather), joined.to_string()).unwrap();
    let joined = patched(&gather).unwrap();
    assert_eq!(condition(&joined)["status"], "True");
    assert_eq!(condition(&joined)["reason"], "NodeJoined");
    assert!(!is_unhealthy(&check, &joined, 100_000));
}

#[test]
fn a_report_alone_is_a_claim_and_changes_nothing() {
    // Its image is allowed.
    let gather = Gather::of("refused");
    let mut allowed = object(&gather);
    let text = allowed["spec"]["providerSpec"]["value"]["ami"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    allowed["spec"]["providerSpec"]["value"]["ami"]["id"] = "ami-0unknown000000000".into();
    std::fs::write(machine(&gather), allowed.to_string()).unwrap();
    assert_eq!(patched(&gather), None, "{text}");
    // Nobody reported.
    let gather = Gather::of("refused");
    std::fs::remove_dir_all(gather.dir.path().join("namespaces/skewguard")).unwrap();
    assert_eq!(patched(&gather), None);
    // A refusal that ended without a Node is not known any more.
    let gather = Gather::of("refused");
    patched(&gather).unwrap();
    std::fs::remove_dir_all(gather.dir.path().join("namespaces/skewguard")).unwrap();
    assert_eq!(condition(&patched(&gather).unwrap())["status"], "Unknown");
    // The other cases have no refusal.
    for name in ["first-boot", "no-request", "node-not-ready"] {
        assert_eq!(patched(&Gather::of(name)), None, "{name}");
    }
}

fn rendered() -> Vec<Value> {
    let policy = repository().join("tests/data/audit/policy.json");
    let (yaml, err, exit) = run(&[
        "render",
        "conditions",
        "--policy",
        policy.to_str().unwrap(),
        "--image",
        "registry.example.com/skewguard-cli:0.1.0",
    ]);
    assert_eq!(exit, Exit::Done, "{err}");
    serde_saphyr::from_multiple(&yaml).unwrap()
}

#[test]
fn the_job_may_patch_the_status_of_machines_and_nothing_else() {
    let all = rendered();
    let find = |kind: &str, name: &str| {
        let found = |one: &&Value| one["kind"] == kind && one["metadata"]["name"] == name;
        all.iter().find(found).unwrap()
    };
    assert_eq!(
        find("ClusterRole", "skewguard-conditions")["rules"],
        json!([{ "apiGroups": ["machine.openshift.io", "cluster.x-k8s.io"], "resources": ["machines/status"], "verbs": ["get", "patch"] }])
    );
    for rule in find("ClusterRole", "skewguard-auditor")["rules"]
        .as_array()
        .unwrap()
    {
        for verb in rule["verbs"].as_array().unwrap() {
            assert!(verb == "get" || verb == "list");
        }
    }
    let pod =
        &find("CronJob", "skewguard-conditions")["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    let decide = &pod["initContainers"][0];
    assert_eq!(decide["image"], "registry.example.com/skewguard-cli:0.1.0");
    for container in [decide, &pod["containers"][0]] {
        let context = json!({ "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": { "drop": ["ALL"] } });
        assert_eq!(container["securityContext"], context);
    }
    // Its arguments are those of the program, and its file is new.
    let gather = Gather::of("refused");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("conditions.sh");
    let (cluster, file_name) = (format!("{DATA}/cluster"), file.to_str().unwrap());
    let policy = repository().join("tests/data/audit/policy.json");
    let args: Vec<&str> = decide["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|arg| match arg.as_str().unwrap() {
            "/shared/conditions.sh" => file_name,
            "/etc/skewguard/policy.json" => policy.to_str().unwrap(),
            arg => arg,
        })
        .collect();
    let args = [&args, &["--from", &cluster, gather.path()][..]].concat();
    let (out, err, exit) = run(&args);
    assert_eq!((out.as_str(), err.as_str(), exit), ("", "", Exit::Done));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("oc patch machines.machine.openshift.io -n openshift-machine-api"),
        "{text}"
    );
    let (_, err, exit) = run(&args);
    assert_eq!(exit, Exit::Failed);
    assert!(err.contains("conditions.sh: File exists"), "{err}");
}
