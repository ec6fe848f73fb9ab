//! Policies from standard input and in YAML, by the whole program.

use crate::render::{Desk, data, file};
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

fn run(args: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_kubectl-skewguard"))
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
    let aleph = "tests/trees/rhcos-4.12-refused/sysroot/.coreos-aleph-version.json";
    let (exit, out, err) = run(&["check", "--aleph", aleph, "--policy", yaml, "-o", "json"]);
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
        "--aleph",
        aleph,
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
    let mut program = Command::new(env!("CARGO_BIN_EXE_kubectl-skewguard"));
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
    let (status, out) = lint_stdin(starter.replacen("\"Warn\"", "\"Wran\"", 1).as_bytes());
    assert_eq!(status, Some(1));
    assert_eq!(
        out,
        "<stdin>:4:11: error: mode: \"Wran\" is unknown; it acts as \"Warn\"\n  help: did you mean \"Warn\"?\n<stdin>: 1 error, 0 warnings\n"
    );
    let (status, out) = lint_stdin(&vec![b' '; 4 << 20]);
    assert_eq!(status, Some(1));
    assert!(out.starts_with("<stdin>:1:1: error: the file is larger than the 262144 bytes that a node reads of a policy\n"), "{out}");
}

/// Runs a shell command in which `"$0"` is the program.
fn shell(command: &str, folder: &Path) -> (Option<i32>, String) {
    let output = Command::new("bash")
        .args(["-c", command, env!("CARGO_BIN_EXE_kubectl-skewguard")])
        .current_dir(folder)
        .output()
        .unwrap();
    let all = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(all).unwrap())
}

#[test]
fn a_stream_is_read_once_and_no_further_than_its_limit() {
    let desk = Desk::new();
    for (command, want) in [
        (
            "\"$0\" check --aleph a --policy - </dev/zero",
            "skewguard: --policy <stdin>: is larger than 262,144 bytes\n",
        ),
        (
            "\"$0\" check --policy policy.json --aleph /dev/zero",
            "skewguard: --aleph /dev/zero: is larger than 1,048,576 bytes\n",
        ),
        (
            "\"$0\" check --policy policy.json --aleph - <&-",
            "skewguard: --aleph <stdin>: is empty; a node has it as /sysroot/.coreos-aleph-version.json\n",
        ),
        (
            "\"$0\" check --policy - --aleph - <policy.json",
            "skewguard: standard input can be read once: name a file for the others\n",
        ),
        (
            "\"$0\" policy lint - /dev/stdin <policy.json",
            "skewguard: standard input can be read once: name a file for the others\n",
        ),
        (
            "\"$0\" audit --policy - --from - <policy.json",
            "skewguard: standard input can be read once: name a file for the others\n",
        ),
        (
            "\"$0\" render admission --policy - --audit - <policy.json",
            "skewguard: standard input can be read once: name a file for the others\n",
        ),
        (
            "\"$0\" render machineconfig --policy - --rendered - <policy.json",
            "skewguard: standard input can be read once: name a file for the others\n",
        ),
    ] {
        assert_eq!(
            shell(command, &desk.folder()),
            (Some(1), want.to_owned()),
            "{command}"
        );
    }
}

#[test]
fn policy_and_aleph_are_read_from_stdin_and_pipes() {
    let desk = Desk::new();
    desk.file("aleph.json", r#"{"version":"411.86.202308081056-0"}"#);
    for (command, named) in [
        (
            "cat aleph.json | \"$0\" check --policy policy.json --aleph -",
            "<stdin>",
        ),
        (
            "\"$0\" check --policy policy.json --aleph /dev/stdin <aleph.json",
            "/dev/stdin",
        ),
        (
            "\"$0\" check --aleph aleph.json --policy <(cat policy.json)",
            "/dev/fd/",
        ),
    ] {
        let (status, said) = shell(command, &desk.folder());
        assert_eq!(status, Some(3), "{command}: {said}");
        assert!(
            said.starts_with("Refused: boot image is OCP 4.11; the minimum is 4.13.0\n"),
            "{said}"
        );
        assert!(said.contains(&format!(" {named}")), "{command}: {said}");
    }
}

/// What a node makes the best of is a mistake of the person who names it.
#[test]
fn a_policy_that_a_person_names_has_to_be_understood() {
    const POLICY: &str = r#"{"apiVersion":"skewguard.dev/v1alpha1","kind":"BootImageSkewPolicy","mode":"Enforce",
    "limits":[{"minimumOCPVersion":"4.13.0","minimumRHCOSVersion":"9.2"}]}"#;
    let desk = Desk::new();
    desk.file("aleph.json", r#"{"version":"411.86.202308081056-0"}"#);
    let run = |policy: &str| {
        desk.file("policy.json", policy);
        shell(
            "\"$0\" check --policy policy.json --aleph aleph.json",
            &desk.folder(),
        )
    };
    let head = "skewguard: --policy policy.json: nodes would ignore parts of it\npolicy.json:";
    for (policy, want) in [
        (
            &*POLICY.replace("minimumOCPVersion", "minimumOCPVersin"),
            "2:16: error: limits[0].minimumOCPVersin: ",
        ),
        (
            &*POLICY.replace("Enforce", "enforced"),
            "1:76: error: mode: \"enforced\" is unknown",
        ),
        (
            r#"{"apiVersion":"skewguard.dev/v1alpha1","kind":"BootImageSkewPolicy","mode":"Warn","limits":[{}]}"#,
            "1:93: error: limits[0]: the limit sets no rule: its nodes stay undetermined\n  help: ",
        ),
    ] {
        let (code, all) = run(policy);
        assert!(
            code == Some(1) && all.starts_with(&format!("{head}{want}")),
            "{code:?} {want}: {all}"
        );
    }
}

#[test]
fn what_was_written_on_the_command_line_is_quoted_without_its_escapes() {
    let escape = "\u{1b}[31mX";
    for arguments in [
        &["check", "-o", escape][..],
        &["check", "--policy", escape, "--aleph", "a"],
        &[
            "check",
            "--policy",
            "tests/data/audit/policy.json",
            "--aleph",
            escape,
        ],
        &[escape],
        &["policy", "init", "--file", "/nonexistent/\u{1b}[31mX"],
    ] {
        let (_, _, text) = run(arguments);
        assert!(
            text.contains("\\u{1b}[31mX") && !text.contains('\u{1b}'),
            "{arguments:?}: {text}"
        );
    }
}

#[test]
fn versions_and_names_of_images_are_decoded() {
    let found = run(&[
        "inspect",
        "9.6.20250523-0",
        "rhcos-414.92.202310210434-0-aws",
    ]);
    assert_eq!(
        found,
        (
            0,
            "9.6.20250523-0: scheme RHELVersioned, RHEL 9.6, OCP unknown, built 2025-05-23, build 0, Ignition of unknown release, at least specs 3.0 to 3.4\n\
             rhcos-414.92.202310210434-0-aws: 414.92.202310210434-0: scheme Legacy, RHEL 9.2, OCP 4.14, built 2023-10-21, build 0, Ignition 2.16.2, specs 3.0 to 3.4\n"
                .to_owned(),
            String::new()
        )
    );
}

/// Every limit can be tried at a desk.
#[test]
fn a_target_and_a_pool_choose_the_limit() {
    let desk = Desk::new();
    let limits = r#"[{"release":"4.22","pools":["infra"],"minimumRHCOSVersion":"9.6"},
        {"release":"4.22","minimumRHCOSVersion":"9.4"},{"minimumRHCOSVersion":"8.6"}]"#;
    let policy = format!(
        r#"{{"apiVersion":"skewguard.dev/v1alpha1","kind":"BootImageSkewPolicy","mode":"Enforce","limits":{limits}}}"#
    );
    let policy = desk.file("policy.json", policy);
    let aleph = desk.file("aleph.json", r#"{"version":"418.94.202410081222-0"}"#);
    for (more, code, limit) in [
        (
            &["--target", "4.22.1", "--pool", "worker"][..],
            0,
            Some("4.22"),
        ),
        (&["--target", "4.22", "--pool", "infra"], 3, Some("4.22")),
        (&["--target", "4.21.3"], 0, None),
        (&["--pool", "infra"], 0, None),
        (&[], 0, None),
    ] {
        let (policy, aleph) = (policy.to_str().unwrap(), aleph.to_str().unwrap());
        let args = ["check", "--policy", policy, "--aleph", aleph, "-o", "json"];
        let (found, out, err) = run(&[&args, more].concat());
        let json: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
        assert_eq!(
            (found, json["policy"]["limitRelease"].as_str()),
            (code, limit),
            "{more:?}"
        );
    }
}

/// Nodes decode versions alone. With something behind it a version is none, for both programs.
#[test]
fn both_programs_decode_the_same_versions() {
    for (version, wanted) in [
        (
            "9.6.20251015",
            "scheme RHELVersioned, RHEL 9.6, OCP unknown, built 2025-10-15, build unknown",
        ),
        (
            "33.20210217.3.0",
            "scheme FCOS, Fedora 33, OKD unknown, built 2021-02-17, build 0",
        ),
        (
            "10.0.20250628-0",
            "scheme RHELVersioned, CentOS Stream 10, OKD unknown, built 2025-06-28, build 0",
        ),
        (
            "4.19.9.6.202506252250-0",
            "scheme LayeredBuild, RHEL 9.6, OCP 4.19, built 2025-06-25, build 0",
        ),
        ("418.94.202511191518-0-dirty", "no known scheme"),
        ("9.6.20250523-0.extra", "no known scheme"),
        ("9.6.20250523-0 (Plow)", "no known scheme"),
    ] {
        let decoded = skewguard_core::verdict::text::image(
            &skewguard_core::version::ImageVersion::parse(version),
        );
        assert_eq!(decoded, format!("{version}: {wanted}"));
        let (_, out, _) = run(&["inspect", version]);
        assert!(out.starts_with(&decoded), "{out}");
    }
}

#[test]
fn decoded_names_of_images_as_json() {
    let found = run(&[
        "inspect",
        "-o",
        "json",
        "4.18.2026012111",
        "4.18-of-somebody",
    ]);
    assert_eq!(
        found,
        (
            1,
            "{\"version\":\"4.18.2026012111\",\"scheme\":\"ImageName\",\"ocpVersion\":\"4.18\",\"buildDate\":\"2026-01-21\"}\n\
             {\"version\":\"4.18-of-somebody\",\"scheme\":\"Unknown\"}\n"
                .to_owned(),
            "skewguard: 1 of these is no version that skewguard recognizes; an aleph file's `version` is one, such as 418.94.202511191518-0\n"
                .to_owned()
        )
    );
}

/// "Allowed" by the first limit alone is half an answer.
#[test]
fn limits_that_were_not_compared_are_named() {
    for (target, says) in [
        (
            &[][..],
            &["Not compared with the limits for 4.22, 4.23: --target names one"][..],
        ),
        (&["--target", "4.21"], &[]),
    ] {
        let image = ["check", "--image", "411.86.202308081056-0", "-o", "json"];
        let (_, out, _) = run(&[&image[..], target].concat());
        let verdict: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(verdict["warnings"], serde_json::json!(says), "{target:?}");
        let (_, out, _) = run(&[&image[..3], target].concat());
        let first = says.first().copied();
        let first = first.unwrap_or("Allowed: the boot image is within the policy's limits");
        assert_eq!(out.lines().next(), Some(first), "{target:?}");
    }
}

#[test]
fn limits_of_pools_are_not_compared_without_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("policy.json");
    let limits =
        r#"[{"minimumOCPVersion":"4.10.0"},{"pools":["master"],"minimumOCPVersion":"4.13.0"}]"#;
    let policy = format!(
        r#"{{"apiVersion":"skewguard.dev/v1alpha1","kind":"BootImageSkewPolicy","mode":"Warn","limits":{limits},"knownIssues":[]}}"#
    );
    std::fs::write(&path, policy).unwrap();
    let check = [
        "check",
        "--image",
        "411.86.202308081056-0",
        "--target",
        "4.21",
        "--policy",
    ];
    let check = [&check[..], &[path.to_str().unwrap()]].concat();
    let first = |more: &[&str]| {
        let (_, out, _) = run(&[&check[..], more].concat());
        out.lines().next().unwrap().to_owned()
    };
    assert_eq!(
        first(&[]),
        "Not compared with the limits for pool master: --pool names one"
    );
    assert_eq!(
        first(&["--pool", "master"]),
        "Would be refused: boot image is OCP 4.11; the minimum is 4.13.0"
    );
}

/// An image of OKD has limits on OKD alone.
#[test]
fn an_image_of_the_other_product_is_named() {
    for (target, says) in [
        ("4.19.0-okd-scos.3", &[][..]),
        (
            "4.19",
            &[
                "9.0.20250827-0 is an image of OKD, and judged as there; on a cluster of OpenShift 4.19.0 no limit is for it",
            ],
        ),
    ] {
        let image = ["check", "--image", "9.0.20250827-0", "--target", target];
        let (_, out, _) = run(&[&image[..], &["-o", "json"]].concat());
        let verdict: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(verdict["warnings"], serde_json::json!(says), "{target}");
    }
}
