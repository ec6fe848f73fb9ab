//! The script of `--print-commands`: what it gathers gives the answer of the cluster.

use super::{DATA, only, run};
use crate::support::script::script;
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;
use std::path::Path;
use std::process::Command;

/// Answers as `oc` does, from files beside it.
const OC: &str = r#"here=${0%/*}/answers
case $1 in
    api-resources) cat "$here/kinds" ;;
    get)
        shift
        name=$(printf '%s ' "$@" | sed 's/ -o json $//; s/ $//; s/[^A-Za-z0-9.=-]/_/g')
        [ -e "$here/$name" ] || { echo "Error from server (NotFound): $*" >&2; exit 1; }
        cat "$here/$name" ;;
    logs) cat "$here/$(basename "$4").log" ;;
    *) echo "unexpected: $*" >&2; exit 9 ;;
esac"#;

/// Each object of a folder, and its logs by their pod.
fn read(folder: &Path, objects: &mut Vec<Value>, logs: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, objects, logs);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        if path.extension().is_some_and(|end| end == "log") {
            let pod = path.iter().rev().nth(4).unwrap().to_str().unwrap();
            logs.push((pod.to_owned(), text));
        } else {
            let object: Value = serde_saphyr::from_str(&text).unwrap();
            match object["items"].as_array() {
                Some(items) => objects.extend(items.iter().cloned()),
                None => objects.push(object),
            }
        }
    }
}

#[test]
fn the_printed_commands_gather_logs_events_and_requests() {
    let (gather, err, exit) = run(&["why", "--print-commands"]);
    assert_eq!((err.as_str(), exit), ("", Exit::Done));
    let (of_audit, ..) = run(&["audit", "--print-commands"]);
    let (same, end) = of_audit.split_at(of_audit.rfind("if [ -n \"$failed\" ]").unwrap());
    assert!(gather.starts_with(same) && gather.ends_with(end));
    for (case, stage) in [
        ("no-certificate", "NoCertificate"),
        ("being-remade", "BeingRemade"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let answers = dir.path().join("answers");
        std::fs::create_dir(&answers).unwrap();
        let (mut objects, mut logs) = (Vec::new(), Vec::new());
        for name in ["cluster", case] {
            read(
                Path::new(&format!("{DATA}/{name}")),
                &mut objects,
                &mut logs,
            );
        }
        let list = |kind: &str| {
            let of: Vec<&Value> = objects
                .iter()
                .filter(|object| object["kind"] == kind)
                .collect();
            json!({ "apiVersion": "v1", "kind": "List", "items": of }).to_string()
        };
        let kinds = [
            ("Machine", "machines.machine.openshift.io_-A"),
            ("MachineSet", "machinesets.machine.openshift.io_-A"),
            (
                "MachineHealthCheck",
                "machinehealthchecks.machine.openshift.io_-A",
            ),
            (
                "CertificateSigningRequest",
                "certificatesigningrequests.certificates.k8s.io_-A",
            ),
            ("Node", "nodes_-A"),
            ("Event", "events_-n_openshift-machine-api"),
            (
                "Pod",
                "pods_-n_openshift-machine-config-operator_-l_k8s-app=machine-config-server",
            ),
        ];
        for (kind, name) in kinds {
            std::fs::write(answers.join(name), list(kind)).unwrap();
        }
        let names: Vec<&str> = kinds
            .iter()
            .map(|(_, name)| name.split('_').next().unwrap())
            .collect();
        std::fs::write(answers.join("kinds"), names.join("\n") + "\n").unwrap();
        let mut pods = [String::new(), String::new()];
        for (pod, log) in &logs {
            let which = usize::from(pod.starts_with("machine-approver"));
            pods[which] += &format!("pod/{pod}\n");
            std::fs::write(answers.join(format!("{pod}.log")), log).unwrap();
        }
        for (names, selector) in pods.iter().zip([
            "pods_-n_openshift-machine-config-operator_-l_k8s-app=machine-config-server_-o_name",
            "pods_-n_openshift-cluster-machine-approver_-l_app=machine-approver_-o_name",
        ]) {
            std::fs::write(answers.join(selector), names).unwrap();
        }
        script(&dir.path().join("oc"), OC);
        let path = format!(
            "{}:{}",
            dir.path().display(),
            std::env::var("PATH").unwrap()
        );
        std::fs::write(dir.path().join("gather.sh"), &gather).unwrap();
        let gathered = Command::new("sh")
            .arg("gather.sh")
            .current_dir(dir.path())
            .env("PATH", path)
            .output()
            .unwrap();
        let err = String::from_utf8(gathered.stderr).unwrap();
        assert!(gathered.status.success(), "{err}");
        let from = dir.path().join("objects");
        let report = super::json(&[from.to_str().unwrap()]);
        assert_eq!(only(&report)["stage"], stage, "{report:#}");
        assert_eq!(report["serverLog"]["servers"], 3);
        assert_eq!(report["unread"], json!([]), "{report:#}");
    }
}

#[test]
fn the_printed_commands_are_the_same_for_every_cluster() {
    let (out, _, exit) = run(&["why", "--print-commands", "worker-7"]);
    assert_eq!((out.as_str(), exit), ("", Exit::Usage));
}
