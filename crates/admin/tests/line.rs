//! The command line as people write it for `oc`, and what they get wrong: one sentence, with the
//! file and the remedy.

use crate::audit::run;
use skewguard_admin::cli::Exit;
use std::process::{Command, Stdio};

const AWS: &str = "tests/data/audit/aws.json";

/// A program of its own, as pipes and variables need one.
fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_kubectl-skewguard"))
}

#[test]
fn options_of_the_cluster_may_stand_before_the_command() {
    let behind = run(&["audit", "--kubeconfig", "/nonexistent", "--context=a"]);
    let before = run(&["--context=a", "--kubeconfig", "/nonexistent", "audit"]);
    assert_eq!(before, behind);
    assert_eq!(
        before,
        (
            String::new(),
            "skewguard: /nonexistent: there is no such file\n".to_owned(),
            Exit::Failed
        )
    );
    let (_, err, exit) = run(&["-n", "x", "inspect", "9.6.20250523-0"]);
    assert!(err.contains("unexpected argument '-n'"), "{err}");
    assert_eq!(exit, Exit::Usage);
    // Alone, and without their values.
    for args in [&["--context"][..], &["-n"], &["-A"]] {
        assert_eq!(run(args).2, Exit::Usage, "{args:?}");
    }
}

#[test]
fn version_is_a_command_too() {
    let (out, err, exit) = run(&["version"]);
    assert_eq!((err.as_str(), exit), ("", Exit::Done));
    assert_eq!(out, run(&["--version"]).0);
    assert!(out.contains(env!("CARGO_PKG_VERSION")), "{out}");
}

#[test]
fn what_nobody_reads_is_no_error_and_leaves_the_exit_status() {
    for (args, status) in [
        (
            vec![
                "audit",
                "--policy",
                "tests/data/audit/policy.json",
                "--from",
                AWS,
            ],
            Some(3),
        ),
        (vec!["policy", "schema"], Some(0)),
    ] {
        let mut child = program();
        let child = child.args(&args).stdout(Stdio::piped());
        let mut child = child.stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let done = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&done.stderr), "", "{args:?}");
        assert_eq!(done.status.code(), status, "{args:?}");
    }
}

#[test]
fn a_policy_can_be_named_once_for_a_pipeline() {
    let audit = |variable: Option<&str>, args: &[&str]| {
        let mut child = program();
        child
            .args(["audit", "--from", AWS, "-o", "json"])
            .args(args);
        if let Some(file) = variable {
            child.env("SKEWGUARD_POLICY", file);
        }
        let done = child.output().unwrap();
        let json: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        json["policy"]["path"].as_str().unwrap().to_owned()
    };
    let file = "tests/data/audit/policy.json";
    assert_eq!(audit(None, &[]), "oc skewguard policy init");
    assert_eq!(audit(Some(file), &[]), file);
    let other = "tests/data/cases/policy.json";
    assert_eq!(audit(Some(file), &["--policy", other]), other);
    assert!(run(&["audit", "--help"]).0.contains("SKEWGUARD_POLICY"));
}

#[test]
fn a_set_can_be_asked_for_by_its_namespace() {
    let named = |args: &[&str]| {
        let (out, _, _) = run(&[&["audit", "-o", "json", "-f", AWS], args].concat());
        let json: serde_json::Value = serde_json::from_str(&out).unwrap();
        json["sets"].as_array().unwrap().len()
    };
    assert_eq!(named(&["-n", "openshift-machine-api"]), named(&["-A"]));
    assert_eq!(named(&["--namespace", "elsewhere"]), 0);
}

/// What is written, and the last line of what is said.
const MISTAKES: [(&[&str], Exit, &str); 12] = [
    (
        &["audit", "--from", "nosuch.json"],
        Exit::Failed,
        "skewguard: nosuch.json: No such file or directory",
    ),
    (
        &["policy", "lint", "nosuch.json"],
        Exit::Failed,
        "skewguard: nosuch.json: No such file or directory",
    ),
    (
        &["policy", "lint", "-f", "tests/data/audit/aws.json"],
        Exit::Failed,
        "skewguard: tests/data/audit/aws.json: this is a List of ClusterVersion, not a policy",
    ),
    (
        &["audit", "--policy", AWS, "--from", AWS],
        Exit::Failed,
        "skewguard: --policy tests/data/audit/aws.json: this is a List of ClusterVersion, not a policy; `oc skewguard policy init` writes one",
    ),
    (
        &["check", "--policy", AWS, "--image", "9.6.20250523-0"],
        Exit::Failed,
        "skewguard: --policy tests/data/audit/aws.json: this is a List of ClusterVersion, not a policy; `oc skewguard policy init` writes one",
    ),
    (
        &[
            "check",
            "--policy",
            "nosuch.json",
            "--image",
            "9.6.20250523-0",
        ],
        Exit::Failed,
        "skewguard: --policy nosuch.json: No such file or directory",
    ),
    (
        &["check", "--image", "latest"],
        Exit::Failed,
        "skewguard: --image latest: no version that skewguard recognizes; an aleph file's `version` is one, such as 418.94.202511191518-0",
    ),
    (
        &["check", "--image", "9.6.20250523-0", "--target", "9.99"],
        Exit::Done,
        "skewguard: warning: --target 9.99.0: this version of skewguard knows no release after 5.0; the policy's nearest lower limit is used",
    ),
    (
        &["inspect", "foo"],
        Exit::Failed,
        "skewguard: 1 of these is no version that skewguard recognizes; an aleph file's `version` is one, such as 418.94.202511191518-0",
    ),
    (
        &["render", "machineconfig", "--policy", "nosuch.json"],
        Exit::Failed,
        "skewguard: nosuch.json: No such file or directory",
    ),
    (
        &["audit", "--kubeconfig", "nosuch"],
        Exit::Failed,
        "skewguard: nosuch: there is no such file",
    ),
    (
        &["why", "--from", "nosuch"],
        Exit::Failed,
        "skewguard: nosuch: No such file or directory",
    ),
];

#[test]
fn a_mistake_is_one_sentence_with_the_file_and_the_remedy() {
    for (args, exit, says) in MISTAKES {
        let (_, err, ended) = run(args);
        assert_eq!(ended, exit, "{args:?}: {err}");
        assert!(err.lines().any(|line| line == says), "{args:?}: {err}");
        assert!(!err.contains("os error"), "{args:?}: {err}");
    }
}

#[test]
fn check_takes_a_version_and_no_policy() {
    let (out, err, exit) = run(&[
        "check",
        "--image",
        "412.86.202301311551-0",
        "--target",
        "4.23",
    ]);
    assert_eq!((err.as_str(), exit), ("", Exit::Done), "{out}");
    assert!(out.contains("412.86.202301311551-0"), "{out}");
    for mode in ["enforce", "Enforce", "ENFORCE"] {
        let args = [
            "check",
            "--image",
            "412.86.202301311551-0",
            "--target",
            "4.23",
            "--mode",
            mode,
        ];
        assert_eq!(run(&args).2, Exit::Refused, "{mode}");
    }
}

/// The policies that `policy init --help` shows have no mistake, and the lint names the limit that
/// workers alone lack.
#[test]
fn limits_for_workers_alone_are_shown_and_what_they_lack_is_named() {
    let (help, _, _) = run(&["policy", "init", "--help"]);
    let shown: Vec<String> = help
        .split("\"limits\": [")
        .skip(1)
        .map(|rest| {
            rest.split("] }\n")
                .next()
                .unwrap()
                .split("} ]")
                .next()
                .unwrap()
                .to_owned()
                + "}"
        })
        .collect();
    assert_eq!(shown.len(), 2, "{help}");
    let dir = tempfile::tempdir().unwrap();
    let lint = |limits: &str| {
        let file = dir.path().join("policy.json");
        let policy = format!(
            "{{ \"apiVersion\": \"skewguard.dev/v1alpha1\", \"kind\": \"BootImageSkewPolicy\", \"mode\": \"Warn\", \"knownIssues\": [], \"limits\": [{limits}] }}"
        );
        std::fs::write(&file, policy).unwrap();
        run(&["policy", "lint", file.to_str().unwrap()])
    };
    for limits in shown {
        let (out, err, exit) = lint(&limits);
        assert_eq!(exit, Exit::Done, "{limits}: {out}{err}");
        assert!(!out.contains(" limit without "), "{out}");
    }
    let (out, _, _) = lint(r#"{ "pools": ["worker"], "minimumOCPVersion": "4.13.0" }"#);
    let help = r#"  help: add a limit without release and pools; one that lets every image of that pool through is { "pools": ["master"], "deniedVersions": [] }"#;
    assert!(out.lines().any(|line| line == help), "{out}");
}
