//! Policies from standard input and in YAML, by the whole program.

use crate::render::{Desk, data, file};
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Stdio};

fn run(args: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_skewguard"))
        .args(args)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

const YAML: &str = include_str!("core/policy.yaml");

/// Commands that a person runs judge YAML as JSON; what goes to nodes and into the cluster is JSON,
/// so its digest is the same everywhere.
#[test]
fn the_desk_reads_it_and_nodes_get_json() {
    let desk = Desk::new();
    let path = desk.file("policy.yaml", YAML);
    let yaml = path.to_str().unwrap();
    let tree = "tests/trees/rhcos-4.12-refused";
    let (exit, out, err) = run(&["check", "--root", tree, "--policy", yaml, "-o", "json"]);
    assert_eq!((exit, err.as_str()), (3, ""), "{out}");
    let verdict: Value = serde_json::from_str(&out).unwrap();

    let (status, out, err) = desk.render(&[
        "machineconfig",
        "--role",
        "worker",
        "--policy-only",
        "--policy",
        "policy.yaml",
    ]);
    assert_eq!((status, err.as_str()), (0, ""));
    let digest = verdict["policy"]["digest"].as_str().unwrap();
    assert!(out.contains(digest), "{digest}: {out}");
    let config: Value = serde_saphyr::from_str(&out).unwrap();
    let delivered = file(&config["spec"]["config"], "/etc/skewguard/policy.json");
    let delivered = data(&delivered["contents"]["source"]);
    let json = "\
{
  \"apiVersion\": \"skewguard.dev/v1alpha1\",
  \"kind\": \"BootImageSkewPolicy\",
  \"mode\": \"Enforce\",
  \"limits\": [
    {
      \"minimumOCPVersion\": \"4.13.0\",
      \"minimumRHCOSVersion\": \"9.2\",
      \"description\": \"what the Machine Config Operator wants\",
      \"deniedVersions\": [
        {
          \"version\": \"9.6.20250826-1\",
          \"reason\": \"hangs: \\\"see\\\" the bug\"
        }
      ]
    }
  ],
  \"knownIssues\": []
}
";
    assert_eq!(String::from_utf8(delivered).unwrap(), json);

    // What comes of the JSON is the same.
    desk.file("policy.json", json);
    let json = path.with_extension("json");
    let (exit, out, _) = run(&[
        "check",
        "--root",
        tree,
        "--policy",
        json.to_str().unwrap(),
        "-o",
        "json",
    ]);
    let mut same: Value = serde_json::from_str(&out).unwrap();
    same["policy"]["path"] = verdict["policy"]["path"].clone();
    assert_eq!((exit, same), (3, verdict));
    let (_, out, _) = desk.render(&["alerts", "--policy", "policy.yaml"]);
    let (_, from_json, _) = desk.render(&["alerts", "--policy", "policy.json"]);
    assert_eq!(out, from_json);
    let audit = |policy: &str| {
        let (_, out, _) = run(&[
            "audit",
            "--policy",
            policy,
            "--from",
            "tests/data/audit/aws.json",
            "-o",
            "json",
        ]);
        serde_json::from_str::<Value>(&out).unwrap()["policy"]["digest"].clone()
    };
    assert_eq!(audit(yaml), audit(json.to_str().unwrap()));
}

/// The program with this on its standard input.
fn lint_stdin(input: &[u8]) -> (Option<i32>, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_skewguard"));
    let mut child = program
        .args(["policy", "lint", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The program stops reading after as many bytes as a node reads, so writing may fail.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

#[test]
fn lint_reads_standard_input() {
    let (_, starter, _) = run(&["policy", "init"]);
    assert_eq!(
        lint_stdin(starter.as_bytes()),
        (Some(0), "<stdin>: no mistakes found\n".to_owned())
    );
    let (status, out) = lint_stdin(starter.replace("\"Warn\"", "\"Wran\"").as_bytes());
    assert_eq!(status, Some(1));
    assert_eq!(
        out,
        "<stdin>:4:11: error: mode: \"Wran\" is unknown; it acts as \"Warn\"\n  help: did you mean \"Warn\"?\n<stdin>: 1 error, 0 warnings\n"
    );
    let (status, out) = lint_stdin(&vec![b' '; 4 << 20]);
    assert_eq!(status, Some(1));
    assert!(out.starts_with("<stdin>:1:1: error: the file is larger than the 262144 bytes that a node reads of a policy\n"), "{out}");
}
