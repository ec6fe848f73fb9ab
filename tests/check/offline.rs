//! `--policy` and `--aleph` without a node.

use crate::check::{check_json, copy_tree, skewguard, tree};
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
        let aleph = write(
            dir.path(),
            "aleph.json",
            &format!("{{\"version\":\"{version}\"}}"),
        );
        let (code, json) = check_json(empty.path(), &["--policy", &policy, "--aleph", &aleph]);
        assert_eq!(
            (code, json["verdict"].as_str()),
            (exit, Some(verdict)),
            "{version}"
        );
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
        (
            "/nonexistent/aleph.json",
            "skewguard: --aleph /nonexistent/aleph.json: No such file or directory (os error 2)\n"
                .to_owned(),
        ),
        (
            &null,
            format!("skewguard: --aleph {null}: names no version\n"),
        ),
        (
            &text,
            format!(
                "skewguard: --aleph {text}: is not an aleph: invalid type: floating point `4.18`, expected an object at line 1 column 4\n"
            ),
        ),
        (
            "/",
            "skewguard: --aleph /: is a directory, not a regular file\n".to_owned(),
        ),
    ] {
        let output = skewguard(&["check", "--policy", &policy, "--aleph", aleph]);
        assert_eq!(
            (
                output.status.code(),
                String::from_utf8_lossy(&output.stderr).as_ref()
            ),
            (Some(1), want.as_str())
        );
    }
}

/// It works on any node, also on one that has joined or was rebased: the question is about another
/// node.
#[test]
fn an_aleph_that_is_tried_is_that_of_a_first_boot() {
    let dir = tempfile::tempdir().expect("tempdir");
    let aleph = write(
        dir.path(),
        "aleph.json",
        r#"{"version":"411.86.202308081056-0"}"#,
    );
    for name in [
        "assisted-already-on-target",
        "two-step-update-already-rebased",
        "rhcos-4.18-allowed",
    ] {
        let node = tempfile::tempdir().expect("tempdir");
        copy_tree(&tree(name), node.path());
        if name == "rhcos-4.18-allowed" {
            let config = node
                .path()
                .join("etc/ignition-machine-config-encapsulated.json");
            std::fs::rename(&config, config.with_extension("json.bak")).expect("renamed");
        }
        let (code, json) = check_json(node.path(), &["--aleph", &aleph]);
        assert_eq!(
            (code, json["reason"].as_str()),
            (3, Some("BelowMinimumOCPVersion")),
            "{name}"
        );
    }
}

/// Runs a shell command in which `"$0"` is the program.
fn shell(command: &str, folder: &Path) -> (Option<i32>, String) {
    let output = Command::new("bash")
        .args(["-c", command, env!("CARGO_BIN_EXE_skewguard")])
        .current_dir(folder)
        .output()
        .expect("bash starts");
    let all = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8(all).expect("plain text"),
    )
}

#[test]
fn policy_and_aleph_are_read_from_stdin_and_pipes() {
    let dir = tempfile::tempdir().expect("tempdir");
    write(dir.path(), "policy.json", POLICY);
    write(
        dir.path(),
        "aleph.json",
        r#"{"version":"411.86.202308081056-0"}"#,
    );
    for (command, named) in [
        (
            "cat aleph.json | \"$0\" check --policy policy.json --aleph -",
            "<stdin>",
        ),
        (
            "cat aleph.json | \"$0\" check --policy policy.json --aleph /dev/stdin",
            "/dev/stdin",
        ),
        (
            "\"$0\" check --policy policy.json --aleph /dev/stdin <aleph.json",
            "/dev/stdin",
        ),
        (
            "\"$0\" check --aleph aleph.json --policy <(cat policy.json)",
            "/dev/fd/",
        ),
        (
            "mkfifo fifo; cat policy.json >fifo & \"$0\" check --aleph aleph.json --policy fifo",
            "fifo",
        ),
    ] {
        let (status, said) = shell(command, dir.path());
        assert_eq!(status, Some(3), "{command}: {said}");
        assert!(
            said.starts_with("Refused: boot image is OCP 4.11; the minimum is 4.13.0\n"),
            "{said}"
        );
        assert!(said.contains(&format!(" {named}")), "{command}: {said}");
    }
}

#[test]
fn a_stream_is_read_no_further_than_its_limit() {
    let dir = tempfile::tempdir().expect("tempdir");
    write(dir.path(), "policy.json", POLICY);
    for (command, want) in [
        (
            "\"$0\" check --policy - </dev/zero",
            "skewguard: --policy <stdin>: is larger than 262144 bytes\n",
        ),
        (
            "\"$0\" check --policy /dev/zero",
            "skewguard: --policy /dev/zero: is larger than 262144 bytes\n",
        ),
        (
            "\"$0\" check --policy policy.json --aleph /dev/zero",
            "skewguard: --aleph /dev/zero: is larger than 1048576 bytes\n",
        ),
        (
            "\"$0\" check --policy policy.json --aleph - <&-",
            "skewguard: --aleph <stdin>: is empty\n",
        ),
        (
            "\"$0\" check --policy - --aleph - <policy.json",
            "skewguard: standard input can be read once: name a file for the others\n",
        ),
    ] {
        assert_eq!(
            shell(command, dir.path()),
            (Some(1), want.to_owned()),
            "{command}"
        );
    }
}

#[test]
fn a_node_goes_on_with_a_policy_that_is_none() {
    let node = tempfile::tempdir().expect("tempdir");
    copy_tree(&tree("rhcos-4.12-no-policy"), node.path());
    std::fs::create_dir_all(node.path().join("etc/skewguard")).expect("folder");
    std::fs::write(
        node.path().join("etc/skewguard/policy.json"),
        r#"{"apiVersion":"example.com/v1","kind":"Other"}"#,
    )
    .expect("written");
    let (code, json) = check_json(node.path(), &[]);
    assert_eq!(
        (code, json["verdict"].as_str(), json["reason"].as_str()),
        (0, Some("Undetermined"), Some("PolicyInvalid"))
    );
}

#[test]
fn without_a_node_there_is_nothing_to_check() {
    let dir = tempfile::tempdir().expect("tempdir");
    write(dir.path(), "policy.json", POLICY);
    write(
        dir.path(),
        "aleph.json",
        r#"{"version":"413.92.202402131523-0"}"#,
    );
    let want = "skewguard: .: not an OpenShift node; pass --root DIR, or --policy and --aleph\n";
    for more in ["", "--policy policy.json", "--aleph aleph.json"] {
        let found = shell(&format!("\"$0\" check --root . {more}"), dir.path());
        assert_eq!(found, (Some(1), want.to_owned()), "{more}");
    }
    let (code, all) = shell(
        "\"$0\" check --root . --policy policy.json --aleph aleph.json",
        dir.path(),
    );
    assert!(code == Some(0) && all.starts_with("Allowed: "), "{all}");
}

/// A known issue that asks for Secure Boot and names no architectures is of UEFI: an IBM Z has secure
/// IPL and no shim.
#[test]
fn an_ibm_z_is_not_refused_for_its_shim() {
    let case = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/cases/shim-on-z/node"
    );
    let node = tempfile::tempdir().expect("tempdir");
    super::copy_tree(case.as_ref(), node.path());
    for secure_ipl in ["0\n", "1\n"] {
        let file = node.path().join("sys/firmware/ipl/secure");
        std::fs::write(file, secure_ipl).expect("written");
        let (code, json) = check_json(node.path(), &[]);
        assert_eq!(
            (code, json["verdict"].as_str(), json["action"].as_str()),
            (0, Some("Allowed"), Some("Proceed"))
        );
        assert_eq!(json["machine"]["secureBoot"], secure_ipl == "1\n");
        let mut findings = json["findings"].as_array().expect("a list").iter();
        let issue = findings.find(|finding| finding["rule"] == "KnownIssue");
        assert_eq!(issue.expect("one")["result"], "Pass");
    }
}

/// What the kernel was told decides, and the last time that it was told.
#[test]
fn a_node_in_fips_mode_has_the_issues_of_fips_mode() {
    let issue = "boot image has known issue Hangs: it hangs";
    let none = "boot image has none of the policy's 1 known issues";
    let unknown = "Hangs: it is unknown whether the node is in FIPS mode";
    let policy = POLICY.replace(
        "}]}",
        r#"}],"knownIssues":[{"id":"Hangs","images":{"rhelMajors":[9]},"when":{"fips":true},"reason":"it hangs"}]}"#,
    );
    let node = tempfile::tempdir().expect("tempdir");
    copy_tree(&tree("rhcos-9.6-allowed"), node.path());
    let policy = write(node.path(), "policy.json", &policy);
    let cmdline = node.path().join("proc/cmdline");
    let before = std::fs::read(&cmdline).expect("read");
    for (argument, fips, result, message) in [
        (&b" fips=1"[..], Some(true), "Fail", issue),
        (b" fips=1 fips=0", Some(false), "Pass", none),
        (b" fips=0 fips=1", Some(true), "Fail", issue),
        (b" fips=1 x=\xff", Some(true), "Fail", issue),
        (b"", Some(false), "Pass", none),
        (b" fips", Some(false), "Pass", none),
        (b" fips=", Some(false), "Pass", none),
        (b" xfips=1 fips=10", Some(false), "Pass", none),
        // Any byte of it may be wrong.
        (b" fips=\xff", None, "NotEvaluated", unknown),
    ] {
        let shown = String::from_utf8_lossy(argument);
        let line = [before.trim_ascii_end(), argument, b"\n"].concat();
        std::fs::write(&cmdline, line).expect("written");
        let (code, json) = check_json(node.path(), &["--policy", &policy]);
        assert_eq!(json["machine"]["fips"].as_bool(), fips, "{shown}");
        let mut findings = json["findings"].as_array().expect("a list").iter();
        let finding = findings.find(|finding| finding["rule"] == "KnownIssue");
        let finding = finding.expect("one");
        assert_eq!(
            (finding["result"].as_str(), finding["message"].as_str()),
            (Some(result), Some(message)),
            "{shown}"
        );
        assert_eq!(code, if result == "Fail" { 3 } else { 0 }, "{shown}");
    }
    std::fs::remove_file(&cmdline).expect("removed");
    let (_, json) = check_json(node.path(), &["--policy", &policy]);
    assert!(json["machine"].get("fips").is_none());
    // The aleph of another node says nothing of its mode, nor does this node's command line.
    let empty = tempfile::tempdir().expect("tempdir");
    let aleph = write(
        empty.path(),
        "aleph.json",
        r#"{"version":"9.6.20251113-0"}"#,
    );
    std::fs::write(&cmdline, "fips=1\n").expect("written");
    let (_, json) = check_json(node.path(), &["--policy", &policy, "--aleph", &aleph]);
    assert!(json["findings"].to_string().contains(unknown));
}

/// The shipped issue warns, and lets the node go on.
#[test]
fn the_shipped_issue_of_fips_mode_warns() {
    let node = tempfile::tempdir().expect("tempdir");
    copy_tree(&tree("rhcos-9.6-allowed"), node.path());
    let starter = write(
        node.path(),
        "policy.json",
        &skewguard_admin::lint::starter::STARTER,
    );
    let cmdline = node.path().join("proc/cmdline");
    let before = std::fs::read_to_string(&cmdline).expect("read");
    let aleph = node.path().join("sysroot/.aleph-version.json");
    let release = node.path().join("usr/lib/os-release");
    let os = std::fs::read_to_string(&release).expect("read");
    let judged = |argument: &str, version: &str| {
        std::fs::write(&cmdline, format!("{} {argument}\n", before.trim_end())).expect("written");
        std::fs::remove_file(&aleph).expect("removed");
        std::fs::write(&aleph, format!("{{\"build\":\"{version}\"}}")).expect("written");
        std::fs::write(&release, os.replace("9.6.20251023-0", version)).expect("written");
        let (code, json) = check_json(node.path(), &["--policy", &starter]);
        assert_eq!(json["bootImage"]["version"].as_str(), Some(version));
        assert_eq!((code, json["action"].as_str()), (0, Some("Proceed")));
        let findings = json["findings"].as_array().expect("a list").clone();
        let mut warned = findings
            .iter()
            .filter(|finding| finding["result"] == "Warn");
        warned.next().map(|finding| finding["issue"].clone())
    };
    let issue = Some("IgnitionFailsInFIPSMode".into());
    assert_eq!(judged("fips=1", "9.6.20251113-0"), issue);
    assert_eq!(judged("fips=1", "9.6.20251023-0"), issue);
    assert_eq!(judged("fips=1", "9.6.20250523-0"), issue);
    for fixed in [
        "9.6.20251212-1",
        "9.6.20260112-0",
        "418.94.202511191518-0",
        "10.2.20260715-0",
        "412.86.202209302317-0",
    ] {
        assert_eq!(judged("fips=1", fixed), None, "{fixed}");
    }
    assert_eq!(judged("fips=0", "9.6.20251113-0"), None);
    assert_eq!(judged("", "9.6.20251113-0"), None);
}

/// Two releases of one code base, with one limit each.
#[test]
fn a_limit_of_5_0_is_not_that_of_4_23() {
    let [alone, both] = ["pol-50.json", "pol-51.json"].map(|name| {
        format!(
            "{}/tests/data/cases/releases-4.23-and-5.0/{name}",
            env!("CARGO_MANIFEST_DIR")
        )
    });
    let [rhel_9, rhel_10] = ["rhcos-9.6-allowed", "rhel-10.2-bootc-allowed"].map(tree);
    for (node, policy, target, verdict, limit) in [
        (&rhel_9, &alone, "4.23.4", "Allowed", None),
        (&rhel_9, &alone, "5.0.0", "Refused", Some("5.0")),
        (&rhel_9, &alone, "5.1.0", "Refused", Some("5.0")),
        (&rhel_9, &both, "4.23.4", "Allowed", Some("4.23")),
        (&rhel_9, &both, "5.0.2", "Refused", Some("5.0")),
        (&rhel_9, &both, "5.1.0", "Refused", Some("5.0")),
        (&rhel_10, &both, "4.23.4", "Refused", Some("4.23")),
        (&rhel_10, &both, "5.0.2", "Allowed", Some("5.0")),
        (&rhel_10, &both, "5.1.0", "Allowed", Some("5.0")),
    ] {
        let (_, json) = check_json(node, &["--policy", policy, "--target", target]);
        assert_eq!(
            (
                json["verdict"].as_str(),
                json["policy"]["limitRelease"].as_str()
            ),
            (Some(verdict), limit),
            "{} {policy} {target}",
            node.display()
        );
    }
}

/// Every limit can be tried at a desk, and on any node for another target than its own.
#[test]
fn a_target_and_a_pool_choose_the_limit() {
    let dir = tempfile::tempdir().expect("tempdir");
    let limits = r#"[{"release":"4.22","pools":["infra"],"minimumRHCOSVersion":"9.6"},
        {"release":"4.22","minimumRHCOSVersion":"9.4"},{"minimumRHCOSVersion":"8.6"}]"#;
    let policy = format!(
        r#"{{"apiVersion":"skewguard.dev/v1alpha1","kind":"BootImageSkewPolicy","mode":"Enforce","limits":{limits}}}"#
    );
    let policy = write(dir.path(), "policy.json", &policy);
    let aleph = write(
        dir.path(),
        "aleph.json",
        r#"{"version":"418.94.202410081222-0"}"#,
    );
    let on_target = tree("assisted-already-on-target");
    for (more, code, limit) in [
        (
            &["--target", "4.22.1", "--pool", "worker"][..],
            0,
            Some("4.22"),
        ),
        (&["--target", "4.22", "--pool", "infra"], 3, Some("4.22")),
        (&["--target", "4.21.3"], 0, None),
        (&["--pool", "infra"], 0, None),
    ] {
        let args = [&["--policy", &policy, "--aleph", &aleph], more].concat();
        let (found, json) = check_json(dir.path(), &args);
        assert_eq!(
            (found, json["policy"]["limitRelease"].as_str()),
            (code, limit),
            "{more:?}"
        );
    }
    let (_, json) = check_json(&on_target, &["--policy", &policy]);
    assert_eq!(json["reason"], "AlreadyOnTarget");
    let (_, json) = check_json(&on_target, &["--policy", &policy, "--target", "4.22.1"]);
    assert_eq!(
        (
            json["target"]["release"].as_str(),
            json["policy"]["limitRelease"].as_str()
        ),
        (Some("4.22.1"), Some("4.22"))
    );
    assert_ne!(json["reason"], "AlreadyOnTarget");
}

/// What the rule says of the target is said once.
#[test]
fn without_a_target_a_distance_to_it_is_unknown_and_said_once() {
    let dir = tempfile::tempdir().expect("tempdir");
    let aleph = write(dir.path(), "aleph.json", "{\"version\":\"9.6.20251023-0\"}");
    let behind = POLICY.replace(
        "\"minimumOCPVersion\":\"4.13.0\",\"minimumRHCOSVersion\":\"9.2\"",
        "\"maximumReleasesBehind\":2",
    );
    let behind = write(dir.path(), "behind.json", &behind);
    let message = |target: &[&str]| {
        let arguments = [&["--policy", &behind, "--aleph", &aleph], target].concat();
        check_json(dir.path(), &arguments).1["message"]
            .as_str()
            .map(str::to_owned)
    };
    assert_eq!(
        message(&[]).as_deref(),
        Some("the target release is unknown")
    );
    assert_eq!(
        message(&["--target", "4.22.3"]).as_deref(),
        Some(
            "boot image version 9.6.20251023-0 cannot be judged: boot image is RHEL 9.6, of OCP 4.19 to 4.21, 1 to 3 minors behind 4.22; at most 2 allowed"
        )
    );
}
