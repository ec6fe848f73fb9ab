//! A policy that the Machine Config Server appends when it answers, as docs/dev/machine-config-server.md
//! proposes: it is in the Ignition config, and in no MachineConfig.

use crate::check::{check_json, copy_tree, skewguard, tree};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const POLICY: &str = "/etc/skewguard/policy.json";

/// A file as `appendFileToIgnition` writes it (openshift/machine-config-operator,
/// `pkg/server/server.go`): percent-encoded, without a media type, mode 0644.
fn file(path: &str, text: &str) -> Value {
    let text = percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC);
    json!({ "path": path, "overwrite": true, "mode": 420, "contents": { "source": format!("data:,{text}") } })
}

fn read(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join(path.trim_start_matches('/'))).unwrap()
}

/// The answer of the server for the MachineConfig of a node: `GetConfig` of `cluster_server.go`,
/// with its appenders in their order. Those of the cluster come first, and change the config only;
/// the two copies of the MachineConfig come last, and are made of the MachineConfig.
fn served(machine_config: &Value, appended: &[(&str, &str)]) -> Value {
    let mut config = machine_config["spec"]["config"].clone();
    let files = config["storage"]["files"].as_array_mut().unwrap();
    let mut emptied = machine_config.clone();
    emptied["spec"]["config"] = json!({ "ignition": { "version": "3.5.0" } });
    files.push(file(
        "/etc/machine-config-daemon/node-annotations.json",
        "{}",
    ));
    files.extend(appended.iter().map(|(path, text)| file(path, text)));
    files.push(file("/etc/kubernetes/kubeconfig", "apiVersion: v1\n"));
    files.push(file(
        "/etc/mcs-machine-config-content.json",
        &serde_json::to_string_pretty(machine_config).unwrap(),
    ));
    files.push(file(
        "/etc/ignition-machine-config-encapsulated.json",
        &emptied.to_string(),
    ));
    config
}

/// Writes the files of a config, as Ignition does.
fn ignite(root: &Path, config: &Value) {
    for file in config["storage"]["files"].as_array().unwrap() {
        let source = file["contents"]["source"].as_str().unwrap_or("data:,");
        let Some(text) = source.strip_prefix("data:,") else {
            continue;
        };
        let bytes: Vec<u8> = percent_encoding::percent_decode_str(text).collect();
        let path = root.join(file["path"].as_str().unwrap().trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// A node of 4.12 whose MachineConfig has no policy, with the policy of the tree appended or not;
/// and that policy.
fn node(root: &Path, appends: bool) -> String {
    copy_tree(&tree("rhcos-4.12-refused"), root);
    let policy = read(root, POLICY);
    let mut machine_config: Value =
        serde_json::from_str(&read(root, "/etc/mcs-machine-config-content.json")).unwrap();
    let files = machine_config["spec"]["config"]["storage"]["files"]
        .as_array_mut()
        .unwrap();
    let before = files.len();
    files.retain(|file| file["path"] != POLICY);
    assert_eq!(
        files.len() + 1,
        before,
        "the tree's MachineConfig has a policy"
    );
    for path in [
        POLICY,
        "/etc/mcs-machine-config-content.json",
        "/etc/ignition-machine-config-encapsulated.json",
    ] {
        fs::remove_file(root.join(path.trim_start_matches('/'))).unwrap();
    }
    let appended = [(POLICY, policy.as_str())];
    let appended = if appends { &appended[..] } else { &[] };
    ignite(root, &served(&machine_config, appended));
    policy
}

#[test]
fn a_policy_that_the_server_appends_decides_without_a_machineconfig() {
    let dir = tempfile::tempdir().unwrap();
    node(dir.path(), true);
    assert!(!read(dir.path(), "/etc/mcs-machine-config-content.json").contains("skewguard"));
    let (exit, verdict) = check_json(dir.path(), &[]);
    assert_eq!((exit, &verdict["verdict"]), (3, &json!("Refused")));
    assert_eq!(verdict["policy"]["path"], POLICY);
    assert_eq!(verdict["target"]["pool"], "worker");
    assert_eq!(verdict["warnings"], json!([]));
}

#[test]
fn without_the_appender_there_is_no_policy() {
    let dir = tempfile::tempdir().unwrap();
    node(dir.path(), false);
    let (exit, verdict) = check_json(dir.path(), &[]);
    assert_eq!((exit, &verdict["verdict"]), (0, &json!("NoPolicy")));
}

/// What the server appends and is broken on its way blocks nobody.
#[test]
fn a_broken_appended_policy_lets_the_node_in() {
    let dir = tempfile::tempdir().unwrap();
    let policy = node(dir.path(), true);
    let file = dir.path().join(POLICY.trim_start_matches('/'));
    for broken in ["", "\0\0", "[]", &policy[..policy.len() / 2]] {
        fs::write(&file, broken).unwrap();
        let (exit, verdict) = check_json(dir.path(), &[]);
        assert_eq!(
            (exit, &verdict["verdict"]),
            (0, &json!("Undetermined")),
            "{broken:?}"
        );
    }
    // `enforce` under a root of its own holds nothing either.
    let root = dir.path().to_str().unwrap();
    assert_eq!(
        skewguard(&["enforce", "--root", root]).status.code(),
        Some(0)
    );
}
