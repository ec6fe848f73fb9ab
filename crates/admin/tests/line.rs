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
    named_once_for_every_command();
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

/// Each command that takes --policy reads the file of the variable: the one that is not there.
fn named_once_for_every_command() {
    let file = "tests/data/audit/policy.json";
    let said = |variable: &str, args: &[&str]| {
        let done = program()
            .args(args)
            .env("SKEWGUARD_POLICY", variable)
            .env_remove("KUBECONFIG")
            .output()
            .unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        (
            said.lines().last().unwrap_or_default().to_owned(),
            done.status.code(),
        )
    };
    for args in [
        &["audit", "--from", AWS][..],
        &["why", "--from", "tests/data/why/cluster"],
        &["check", "--image", "9.6.20250523-0"],
        &["render", "machineconfig", "--policy-only"],
        &["render", "ignition", "--policy-only"],
        &["render", "alerts"],
        &["render", "admission", "--audit", "nosuch-audit.json"],
        &[
            "render",
            "manifests",
            "--audit",
            "example.com/i@sha256:0000000000000000000000000000000000000000000000000000000000000000",
        ],
    ] {
        let (says, status) = said("nosuch.json", args);
        assert!(
            says.contains("nosuch.json: No such file or directory"),
            "{args:?}: {says}"
        );
        assert_eq!(status, Some(1), "{args:?}");
        let (says, _) = said(file, args);
        assert!(!says.contains("--policy"), "{args:?}: {says}");
        // An empty one is a mistake of a pipeline.
        assert_eq!(said("", args).1, Some(2), "{args:?}");
        let (help, _, _) = run(&[
            &args[..args.len().min(if args[0] == "render" { 2 } else { 1 })],
            &["--help"],
        ]
        .concat());
        assert!(help.contains("[env: SKEWGUARD_POLICY]"), "{help}");
    }
    // What needs no policy goes on as without the variable.
    for args in [
        &["audit", "--print-commands", "labels"][..],
        &["why", "--print-commands"],
        &["render", "manifests"],
        &["render", "dashboard"],
    ] {
        assert_eq!(said(file, args).1, Some(0), "{args:?}");
    }
    assert!(
        run(&["--help"]).0.contains(
            "SKEWGUARD_POLICY, if set, stands for --policy in every command that takes it."
        )
    );
}

/// Names of sets and machines stand before or behind the options; what is neither set nor file is named.
#[test]
fn names_stand_before_or_behind_the_options() {
    let before = run(&["audit", "c1-old", "--from", AWS]);
    assert!(
        before.0.contains("MachineSet/c1-old") || before.0.contains("c1-old"),
        "{}",
        before.0
    );
    assert_eq!(before.2, Exit::Unknown);
    assert_eq!(run(&["audit", "--from", AWS, "c1-old"]), before);
    assert_eq!(run(&["audit", "-f", AWS, "c1-old", "-A"]), before);
    let wanted = (
        String::new(),
        "skewguard: nosuch: there is no such set, and no such file\n".to_owned(),
        Exit::Failed,
    );
    assert_eq!(run(&["audit", "--from", AWS, "nosuch"]), wanted);
    let why = |args: &[&str]| run(&[&["why"], args].concat());
    let machine = "c1-x7k2p-worker-us-east-2a-7qz4k";
    let (cluster, boot) = ("tests/data/why/cluster", "tests/data/why/first-boot");
    let before = why(&[machine, "--from", cluster, boot]);
    assert_eq!(before.2, Exit::Done);
    assert_eq!(why(&["-f", cluster, boot, machine, "-A"]), before);
}

/// Words have no case: in options, and in a policy, where nodes read them so, too.
#[test]
fn words_may_be_written_in_any_case() {
    for (args, exit) in [
        (
            &["audit", "--from", AWS, "--fail-on", "Refused", "-o", "Wide"][..],
            Exit::Done,
        ),
        (
            &["audit", "--from", AWS, "--only", "UNKNOWN"],
            Exit::Unknown,
        ),
        (&["inspect", "9.6.20250523-0", "-o", "Json"], Exit::Done),
    ] {
        assert_eq!(run(args).2, exit, "{args:?}");
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("policy.json");
    let policy = |mode: &str, undetermined: &str, effect: &str| {
        let text = format!(
            r#"{{"apiVersion":"skewguard.dev/v1alpha1","kind":"BootImageSkewPolicy","mode":"{mode}","onUndetermined":"{undetermined}","limits":[{{"deniedVersions":[]}}],
               "knownIssues":[{{"id":"Own","images":{{"belowOCPVersion":"4.13.0"}},"effect":"{effect}","affects":"firstboot","when":{{"osFamilies":["RHCOS"]}},"reason":"is old"}}]}}"#
        );
        std::fs::write(&file, text).unwrap();
        let path = file.to_str().unwrap();
        let lint = run(&["policy", "lint", path]);
        let check = run(&[
            "check",
            "--policy",
            path,
            "--image",
            "412.86.202301311551-0",
            "-o",
            "json",
        ]);
        (lint, check)
    };
    let of = |words: [&str; 3]| {
        let ((lint, _, linted), (verdict, _, exit)) = policy(words[0], words[1], words[2]);
        assert!(!lint.contains("error:"), "{lint}");
        assert_eq!(linted, Exit::Done);
        let mut verdict: serde_json::Value = serde_json::from_str(&verdict).unwrap();
        verdict["policy"]["digest"].take();
        (verdict, exit)
    };
    let refused = of(["Enforce", "Refuse", "Refuse"]);
    assert_eq!(refused.1, Exit::Refused);
    assert_eq!(of(["enforce", "refuse", "refuse"]), refused);
    assert_eq!(of(["ENFORCE", "REFUSE", "REFUSE"]), refused);
    let warned = of(["Enforce", "Proceed", "Warn"]);
    assert_eq!(warned.1, Exit::Done);
    assert_eq!(of(["enforce", "proceed", "warn"]), warned);
}

/// An image of OKD is judged by OKD's policy, also where only the release is.
#[test]
fn an_image_of_okd_is_judged_by_okds_policy() {
    for (image, target, by) in [
        (
            "412.86.202301311551-0",
            "4.22.1",
            "oc skewguard policy init",
        ),
        ("9.6.20250523-0", "4.22.1", "oc skewguard policy init"),
        (
            "34.20210626.3.1",
            "4.12.0",
            "oc skewguard policy init --okd",
        ),
        ("9.0.20250510-0", "4.22.1", "oc skewguard policy init --okd"),
        (
            "412.86.202301311551-0",
            "4.12.0-0.okd-2023-04-01-051724",
            "oc skewguard policy init --okd",
        ),
    ] {
        let args = ["check", "--image", image, "--target", target, "-o", "json"];
        let (out, err, exit) = run(&args);
        assert_eq!((err.as_str(), exit), ("", Exit::Done), "{image}");
        let verdict: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(verdict["policy"]["path"], by, "{image}");
    }
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
    let (_, err, _) = run(&["audit", "--from", AWS, "-n", "elsewhere"]);
    assert_eq!(err, "skewguard: no set is in namespace elsewhere\n");
}

#[test]
fn a_namespace_that_nothing_is_in_is_no_silent_all_clear() {
    let gather = "tests/data/why/refused";
    let said = |namespace| run(&["why", "--from", gather, "-n", namespace]).1;
    assert_eq!(said("openshift-machine-api"), "");
    assert_eq!(
        said("openshift-machine-ap"),
        "skewguard: nothing that should become a node is in namespace openshift-machine-ap\n"
    );
}

/// What is written, and a line of what is said.
const MISTAKES: [(&[&str], Exit, &str); 19] = [
    (
        &["audit", "--from", "nosuch.json"],
        Exit::Failed,
        "skewguard: nosuch.json: No such file or directory",
    ),
    (
        &["policy", "lint", "nosuch.json"],
        Exit::Failed,
        "skewguard: nosuch.json: No such file or directory; `oc skewguard policy init` writes one",
    ),
    (
        &["policy", "lint", "tests/data/audit/aws.json"],
        Exit::Failed,
        "skewguard: tests/data/audit/aws.json: this is a List of ClusterVersion, not a policy; `oc skewguard policy init` writes one",
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
        "skewguard: --policy nosuch.json: No such file or directory; `oc skewguard policy init` writes one",
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
        &[
            "audit",
            "--from",
            AWS,
            "--target",
            "4.99",
            "--fail-on",
            "none",
        ],
        Exit::Done,
        "skewguard: warning: --target 4.99.0: this version of skewguard knows no release 4.x after 4.23; the policy's nearest lower limit is used",
    ),
    (
        &[
            "audit",
            "--from",
            AWS,
            "--target",
            "4.12",
            "--fail-on",
            "none",
        ],
        Exit::Done,
        "skewguard: warning: --target 4.12.0: the cluster is at 4.21.3 already",
    ),
    (
        &["check", "--image", "9.6.20250523-0", "--pool", "Workers"],
        Exit::Done,
        "skewguard: warning: --pool Workers: is it worker?",
    ),
    (
        &["check", "--image", "9.6.20250523-0", "--pool", "Infra"],
        Exit::Done,
        "skewguard: warning: --pool Infra: is it infra?",
    ),
    (
        &["inspect", "foo"],
        Exit::Failed,
        "skewguard: foo: no version that skewguard recognizes; an aleph file's `version` is one, such as 418.94.202511191518-0",
    ),
    (
        &["render", "machineconfig", "--policy", "nosuch.json"],
        Exit::Failed,
        "skewguard: nosuch.json: No such file or directory; `oc skewguard policy init` writes one",
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
    (
        &["lint", "policy.json"],
        Exit::Usage,
        "  tip: a similar subcommand exists: 'policy lint'",
    ),
    (
        &["policy", "alerts"],
        Exit::Usage,
        "  tip: a similar subcommand exists: 'render alerts'",
    ),
    (
        &["lnt"],
        Exit::Usage,
        "error: unrecognized subcommand 'lnt'",
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

/// A name that `inspect` reads, and an id that it knows.
#[test]
fn check_takes_the_name_of_an_image() {
    for (name, version) in [
        (
            "rhcos-412.86.202301311551-0-vmware.x86_64",
            "412.86.202301311551-0",
        ),
        ("ami-0fe05b1aa8dacfa90", "412.86.202212081411-0"),
    ] {
        let (out, err, exit) = run(&["check", "--image", name, "--target", "4.22", "-o", "json"]);
        assert_eq!((err.as_str(), exit), ("", Exit::Done), "{name}");
        let verdict: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(verdict["bootImage"]["version"], version);
        assert_eq!(verdict["verdict"], "Refused");
    }
    let name = "RHEL-9.4-RHCOS-9.6_HVM_GA-20260210-x86_64-0-59ead7de-2540-4653-a8b0-fa7926d5c845";
    let (out, ..) = run(&["check", "--image", name, "--target", "4.22"]);
    assert!(out.starts_with("Allowed: "), "{out}");
    assert!(out.contains(&format!("{name} no known issue\n")), "{out}");
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
        // A custom pool has its own warning.
        let found = out.lines().filter(|line| !line.starts_with("  help: "));
        let found: Vec<&str> = found.filter(|line| !line.contains("custom pool")).collect();
        let clean = match limits.contains("old") {
            true => "0 errors, 1 warning",
            false => "no mistakes found",
        };
        assert!(found.len() == 1 && found[0].ends_with(clean), "{out}");
    }
    let (out, _, _) = lint(r#"{ "pools": ["worker"], "minimumOCPVersion": "4.13.0" }"#);
    let help = r#"  help: add a limit without release and pools; one that lets every image of that pool through is { "pools": ["master"], "deniedVersions": [] }"#;
    assert!(out.lines().any(|line| line == help), "{out}");
    // The audit says it word for word too, and JSON has the limit itself.
    let file = dir.path().join("policy.json");
    let audit = |form: &str| {
        run(&[
            "audit",
            "--policy",
            file.to_str().unwrap(),
            "--from",
            AWS,
            "-o",
            form,
        ])
    };
    let (text, _, _) = audit("wide");
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let add = r#"add to the policy's limits { "pools": ["master"], "deniedVersions": [] }, which lets every image of that pool through"#;
    assert!(plain.contains(add), "{text}");
    let (json, _, _) = audit("json");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let sets = json["sets"].as_array().unwrap().iter();
    let lacks: Vec<_> = sets.filter(|set| set["missingLimit"].is_object()).collect();
    assert_eq!(lacks.len(), 1);
    assert_eq!(lacks[0]["name"], "cluster");
    assert_eq!(lacks[0]["remedy"], add);
    // With that limit nothing is open any more.
    let limit = lacks[0]["missingLimit"].to_string();
    lint(&format!(
        r#"{{ "pools": ["worker"], "minimumOCPVersion": "4.13.0" }}, {limit}"#
    ));
    let (json, _, _) = audit("json");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let sets = json["sets"].as_array().unwrap().iter();
    let control_plane = sets.clone().find(|set| set["name"] == "cluster").unwrap();
    assert_eq!(control_plane["verdict"], "Allowed");
    assert_eq!(
        sets.filter(|set| set["missingLimit"].is_object()).count(),
        0
    );
}
