//! `--policy` and `--aleph` without a node.

use crate::{check_json, copy_tree, skewguard, tree};
use std::path::Path;
use std::process::Command;

const POLICY: &str = r#"{"apiVersion":"skewguard.dev/v1alpha1","kind":"BootImageSkewPolicy","mode":"Enforce",
    "limits":[{"minimumOCPVersion":"4.13.0","minimumRHCOSVersion":"9.2"}]}"#;

fn write(dir: &Path, name: &str, text: &str) -> String {
    let path = dir.join(name);
    std::fs::write(&path, text).expect("written");
    path.to_str().expect("plain path").to_owned()
}

#[test]
fn an_aleph_is_judged_by_a_policy_without_a_node() {
    let dir = tempfile::tempdir().expect("tempdir");
    let policy = write(dir.path(), "policy.json", POLICY);
    let empty = tempfile::tempdir().expect("tempdir");
    for (version, exit, verdict) in [
        ("411.86.202308081056-0", 3, "Refused"),
        ("413.92.202402131523-0", 0, "Allowed"),
        ("9.6.20251023-0", 0, "Allowed"),
        ("9.1.20251023-0", 3, "Refused"),
        ("9.0.20250827-0", 0, "Undetermined"),
        ("410.8.20190520-0", 3, "Refused"),
        ("412.9.202211241749-0", 3, "Refused"),
    ] {
        let aleph = write(dir.path(), "aleph.json", &format!("{{\"version\":\"{version}\"}}"));
        let (code, json) = check_json(empty.path(), &["--policy", &policy, "--aleph", &aleph]);
        assert_eq!((code, json["verdict"].as_str()), (exit, Some(verdict)), "{version}");
        assert_eq!(json["bootImage"]["path"].as_str(), Some(aleph.as_str()));
        assert_eq!(json["policy"]["path"].as_str(), Some(policy.as_str()));
    }
}

#[test]
fn a_named_file_that_cannot_be_used_is_an_error_and_names_it() {
    let dir = tempfile::tempdir().expect("tempdir");
    let policy = write(dir.path(), "policy.json", POLICY);
    let null = write(dir.path(), "null.json", "{\"version\":null}");
    let text = write(dir.path(), "text.json", "4.18");
    for (aleph, want) in [
        ("/nonexistent/aleph.json", "skewguard: /nonexistent/aleph.json: No such file or directory (os error 2)\n".to_owned()),
        (&null, format!("skewguard: {null}: names no version\n")),
        (&text, format!("skewguard: {text}: is no aleph: invalid type: floating point `4.18`, expected an object at line 1 column 4\n")),
        ("/", "skewguard: /: is a directory, not a regular file\n".to_owned()),
    ] {
        let output = skewguard(&["check", "--policy", &policy, "--aleph", aleph]);
        assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(1), want.as_str()));
    }
}

/// It works on any node, also on one that has joined or was rebased: the question is about another node.
#[test]
fn an_aleph_that_is_tried_is_that_of_a_first_boot() {
    let dir = tempfile::tempdir().expect("tempdir");
    let aleph = write(dir.path(), "aleph.json", r#"{"version":"411.86.202308081056-0"}"#);
    for name in ["assisted-already-on-target", "two-step-update-already-rebased", "rhcos-4.18-allowed"] {
        let node = tempfile::tempdir().expect("tempdir");
        copy_tree(&tree(name), node.path());
        if name == "rhcos-4.18-allowed" {
            let config = node.path().join("etc/ignition-machine-config-encapsulated.json");
            std::fs::rename(&config, config.with_extension("json.bak")).expect("renamed");
        }
        let (code, json) = check_json(node.path(), &["--aleph", &aleph]);
        assert_eq!((code, json["reason"].as_str()), (3, Some("BelowMinimumOCPVersion")), "{name}");
    }
}

#[test]
fn a_pipe_is_called_one() {
    let skewguard = env!("CARGO_BIN_EXE_skewguard");
    let output = Command::new("sh").args(["-c", "true | \"$0\" check --root / --policy /dev/fd/0", skewguard]).output().expect("sh starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), error.as_ref()), (Some(1), "skewguard: /dev/fd/0: is a FIFO, not a regular file\n"));
}

#[test]
fn an_invalid_policy_never_blocks_and_says_what_is_wrong() {
    let dir = tempfile::tempdir().expect("tempdir");
    let aleph = write(dir.path(), "aleph.json", r#"{"version":"411.86.202308081056-0"}"#);
    let policy = write(dir.path(), "policy.json", r#"{"apiVersion":"example.com/v1","kind":"Other"}"#);
    let (code, json) = check_json(dir.path(), &["--policy", &policy, "--aleph", &aleph]);
    assert_eq!((code, json["verdict"].as_str(), json["reason"].as_str()), (0, Some("Undetermined"), Some("PolicyInvalid")));
    let want = format!(
        "{policy}: is no valid policy: apiVersion is \"example.com/v1\"; this is a policy only if it is \"skewguard.dev/v1alpha1\""
    );
    assert_eq!(json["message"].as_str(), Some(want.as_str()));
}
