//! A policy that the Machine Config Server appends when it answers, as docs/dev/machine-config-server.md
//! has it: it is in the Ignition config, and in no MachineConfig. The answers are those of
//! tests/data/served.

use crate::check::{check_json, copy_tree, skewguard, tree};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const POLICY: &str = "/etc/skewguard/policy.json";

fn read(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join(path.trim_start_matches('/'))).unwrap()
}

/// Writes the files of an answer that are text, as Ignition does.
fn ignite(root: &Path, case: &str, which: &str) {
    let config = read(
        Path::new(env!("CARGO_MANIFEST_DIR")),
        &format!("tests/data/served/{case}.{which}.json"),
    );
    let config: Value = serde_json::from_str(&config).unwrap();
    for file in config["storage"]["files"].as_array().unwrap() {
        let source = file["contents"]["source"].as_str().unwrap();
        let Some(text) = source.strip_prefix("data:,") else {
            continue;
        };
        let bytes: Vec<u8> = percent_encoding::percent_decode_str(text).collect();
        let path = root.join(file["path"].as_str().unwrap().trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// A node with the boot image of 4.12, and what it is served.
fn node(root: &Path, case: &str, which: &str) {
    copy_tree(&tree("rhcos-4.12-refused"), root);
    fs::remove_dir_all(root.join("etc/skewguard")).unwrap();
    ignite(root, case, which);
}

#[test]
fn a_policy_that_the_server_appends_decides_without_a_machineconfig() {
    for (case, release) in [
        ("wiring-a", json!("4.13.0")),
        ("wiring-b", json!("4.22.0")),
        ("hypershift", Value::Null),
    ] {
        let dir = tempfile::tempdir().unwrap();
        node(dir.path(), case, "after");
        assert!(!read(dir.path(), "/etc/mcs-machine-config-content.json").contains("skewguard"));
        let (exit, verdict) = check_json(dir.path(), &[]);
        assert_eq!(
            (exit, &verdict["verdict"]),
            (3, &json!("Refused")),
            "{case}"
        );
        assert_eq!(verdict["policy"]["path"], POLICY);
        assert_eq!(verdict["target"]["pool"], "worker");
        assert_eq!(verdict["target"]["release"], release);
        assert_eq!(verdict["warnings"], json!([]));
    }
}

#[test]
fn without_the_appender_there_is_no_policy() {
    let dir = tempfile::tempdir().unwrap();
    node(dir.path(), "wiring-b", "before");
    let (exit, verdict) = check_json(dir.path(), &[]);
    assert_eq!((exit, &verdict["verdict"]), (0, &json!("NoPolicy")));
}

/// What the server appends and is broken on its way blocks nobody.
#[test]
fn a_broken_appended_policy_lets_the_node_in() {
    let dir = tempfile::tempdir().unwrap();
    node(dir.path(), "wiring-b", "after");
    let policy = read(dir.path(), POLICY);
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
