//! The exact text that people read and the JSON that scripts read.
//!
//! After a wanted change: `SKEWGUARD_BLESS=1 cargo test --test it check::` writes the files anew;
//! read the diff.

use crate::check::{copy_tree, skewguard, tree};
use crate::support::expected::assert_file;
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn check_prints_what_the_expectation_shows() {
    for name in [
        "rhcos-4.12-refused",
        "rhcos-4.12-target-4.22-refused",
        "rhcos-4.13-known-issue-refused",
        "rhcos-4.13-known-issue-warned",
        "rhcos-4.17-denied",
        "rhcos-9.6-allowed",
        "rhcos-4.12-override-off",
        "rhcos-4.12-warn",
        "scos-9-minor-unknown",
        "fcos-39-undetermined",
        "two-step-update-already-rebased",
        "assisted-by-tag-allowed",
        "layered-at-install-refused",
        "rhcos-4.12-no-policy",
    ] {
        let root = tree(name);
        let root = root.to_str().expect("plain path");
        for (form, ending) in [("text", "txt"), ("json", "json")] {
            let output = skewguard(&["check", "--root", root, "--output", form]);
            assert!(
                output.stderr.is_empty(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            assert_file(
                &format!("check/expected/{name}.{ending}"),
                &String::from_utf8_lossy(&output.stdout),
            );
        }
    }
}

#[test]
fn inspect_prints_one_line_per_version() {
    let output = skewguard(&[
        "inspect",
        "418.94.202511191518-0",
        "9.0.20250827-0",
        "39.20231101.3.0",
        "42s390x.81.20200131.0",
        "what\x1b[2J?",
    ]);
    assert!(output.status.success());
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "418.94.202511191518-0: scheme Legacy, RHEL 9.4, OCP 4.18, built 2025-11-19, build 0\n\
         9.0.20250827-0: scheme RHELVersioned, CentOS Stream 9, OKD unknown, built 2025-08-27, build 0\n\
         39.20231101.3.0: scheme FCOS, Fedora 39, OKD unknown, built 2023-11-01, build 0\n\
         42s390x.81.20200131.0: scheme Legacy, RHEL 8.1, OCP 4.2, built 2020-01-31, build 0\n\
         what\\u{1b}[2J?: no known scheme\n"
    );
    // An argument need not be text to get an answer.
    let bytes = Command::new(env!("CARGO_BIN_EXE_skewguard"))
        .arg("inspect")
        .arg(OsStr::from_bytes(b"4\xff"))
        .output()
        .expect("runs");
    assert_eq!(
        (
            bytes.status.code(),
            String::from_utf8_lossy(&bytes.stdout).as_ref()
        ),
        (Some(0), "4\\u{fffd}: no known scheme\n")
    );
    let output = skewguard(&[
        "inspect",
        "--output",
        "json",
        "411.86.202308081056-0",
        "4.18-of-somebody",
    ]);
    assert!(output.status.success());
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "{\"version\":\"411.86.202308081056-0\",\"scheme\":\"Legacy\",\"rhelVersion\":\"8.6\",\"ocpVersion\":\"4.11\",\
         \"buildDate\":\"2023-08-08\",\"buildNumber\":0}\n\
         {\"version\":\"4.18-of-somebody\",\"scheme\":\"Unknown\"}\n"
    );
}

#[test]
fn the_action_says_why_a_refusal_does_not_block() {
    let action = |version: &str, mode: &str, more: &str, change: fn(&Path)| {
        let dir = tempfile::tempdir().expect("tempdir");
        copy_tree(&tree("rhcos-4.12-refused"), dir.path());
        let policy = dir.path().join("etc/skewguard/policy.json");
        let text = std::fs::read_to_string(&policy).expect("read");
        let text = text
            .replace("\"Enforce\"", &format!("\"{mode}\""))
            .replace("skewguard.dev/v1alpha1", version);
        assert!(text.contains(mode) && text.contains(version), "{text}");
        std::fs::write(policy, text).expect("written");
        std::fs::remove_file(dir.path().join("etc/mcs-machine-config-content.json"))
            .expect("removed");
        std::fs::write(dir.path().join("proc/cmdline"), more).expect("written");
        change(dir.path());
        let output = skewguard(&["check", "--root", dir.path().to_str().expect("plain path")]);
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        text.lines().nth(1).expect("a second line").to_owned()
    };
    let ours = "skewguard.dev/v1alpha1";
    let nothing: fn(&Path) = |_| {};
    let damaged: fn(&Path) = |root| {
        std::fs::create_dir_all(root.join("etc/skewguard/boot-image.json")).expect("made");
    };
    let may_have_joined: fn(&Path) = |root| {
        let pki = root.join("var/lib/kubelet/pki");
        std::fs::create_dir_all(&pki).expect("made");
        std::fs::write(pki.join("kubelet-client-current.pem"), "").expect("written");
    };
    for (version, mode, more, change, want) in [
        (
            ours,
            "Enforce",
            "",
            nothing,
            "Block: hold back the OS rebase and the kubelet",
        ),
        (
            ours,
            "Warn",
            "skewguard=enforce",
            nothing,
            "Block: hold back the OS rebase and the kubelet",
        ),
        (ours, "Warn", "", nothing, "Proceed: the policy only warns"),
        (
            ours,
            "Audit",
            "",
            nothing,
            "Proceed: mode Audit is unknown here and acts as Warn",
        ),
        (
            ours,
            "Enforce",
            "skewguard=warn",
            nothing,
            "Proceed: the kernel argument skewguard=warn says so",
        ),
        (
            ours,
            "Enforce",
            "",
            may_have_joined,
            "Proceed: the node may have joined already",
        ),
        (
            ours,
            "Enforce",
            "",
            damaged,
            "Proceed: a file that may let it through cannot be read",
        ),
        (
            "skewguard.dev/v9",
            "Enforce",
            "",
            nothing,
            "Proceed: the policy is of another version, and never blocks",
        ),
        (
            "skewguard.dev/v9",
            "Warn",
            "skewguard=enforce",
            nothing,
            "Proceed: the policy is of another version, and never blocks",
        ),
    ] {
        assert_eq!(
            action(version, mode, more, change),
            format!("  action      {want}"),
            "{version} {mode} {more}"
        );
    }
}

/// What cannot be meant is never guessed: one line says what is wrong, and where the help is.
#[test]
fn wrong_usage_is_2_and_a_missing_root_is_1_with_its_name() {
    for (words, said) in [
        (
            &["chek"][..],
            ": there is no command chek; see skewguard --help",
        ),
        (
            &["--root", "/"],
            ": there is no option --root; see skewguard --help",
        ),
        (
            &["check", "--outptu", "json"],
            " check: there is no option --outptu; see skewguard check --help",
        ),
        (
            &["check", "-x"],
            " check: there is no option -x; see skewguard check --help",
        ),
        (
            &["check", "/mnt"],
            " check: /mnt: no argument is expected; see skewguard check --help",
        ),
        (
            &["check", "--root"],
            " check: --root needs a value; see skewguard check --help",
        ),
        (
            &["check", "--root="],
            " check: --root needs a value; see skewguard check --help",
        ),
        (
            &["check", "-ojson", "--output", "text"],
            " check: --output is there twice; see skewguard check --help",
        ),
        (
            &["status", "-o", "issue"],
            " status: --output issue: it can be text, json; see skewguard status --help",
        ),
        (
            &["check", "--target", "4.x"],
            " check: --target 4.x: not an OCP release: write x.y or x.y.z, such as 4.21 or 4.21.3; see skewguard check --help",
        ),
        (
            &["report", "--once=yes"],
            " report: --once takes no value; see skewguard report --help",
        ),
        (
            &["inspect", "--output", "json"],
            " inspect: there is no VERSION to decode; see skewguard inspect --help",
        ),
        (
            &["help", "\u{1b}[2J"],
            ": there is no command \\u{1b}[2J; see skewguard --help",
        ),
    ] {
        let output = skewguard(words);
        assert_eq!(
            (
                output.status.code(),
                String::from_utf8_lossy(&output.stderr).as_ref(),
                output.stdout.as_slice(),
            ),
            (Some(2), &*format!("skewguard{said}\n"), &b""[..]),
            "{words:?}"
        );
    }
    let nothing = skewguard(&[]);
    assert_eq!(nothing.status.code(), Some(2));
    assert_eq!(nothing.stderr, skewguard(&["--help"]).stdout);
    let missing = skewguard(&["check", "--root", "/nonexistent/tree"]);
    assert_eq!(missing.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&missing.stderr),
        "skewguard: --root /nonexistent/tree: No such file or directory (os error 2)\n"
    );
}

#[test]
fn the_console_message_is_printed_as_enforce_would_write_it() {
    for name in [
        "rhcos-4.12-refused",
        "rhcos-4.13-known-issue-refused",
        "layered-at-install-refused",
    ] {
        let root = tree(name);
        let verdict = skewguard(&[
            "check",
            "--root",
            root.to_str().expect("plain path"),
            "--output",
            "issue",
        ]);
        assert_eq!(
            (verdict.status.code(), verdict.stderr.is_empty()),
            (Some(3), true)
        );
        assert_file(
            &format!("check/expected/{name}.issue"),
            &String::from_utf8_lossy(&verdict.stdout),
        );
    }

    let root = tree("rhcos-4.13-known-issue-warned");
    let root = root.to_str().expect("plain path");
    let warned = skewguard(&["check", "--root", root, "--output", "issue"]);
    assert_eq!(warned.status.code(), Some(0));
    assert_file(
        "check/expected/rhcos-4.13-known-issue-warned.issue",
        &String::from_utf8_lossy(&warned.stdout),
    );

    let root = tree("rhcos-9.6-allowed");
    let allowed = skewguard(&[
        "check",
        "--root",
        root.to_str().expect("plain path"),
        "--output",
        "issue",
    ]);
    assert_eq!(
        (allowed.status.code(), allowed.stdout.is_empty()),
        (Some(0), true)
    );
    assert_eq!(
        String::from_utf8_lossy(&allowed.stderr),
        "skewguard: Allowed (WithinLimits): nothing would be shown on the console\n"
    );
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["check", "--help"],
        &["inspect", "9.6.20250523-0"],
    ] {
        let full = std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .expect("/dev/full");
        let output = Command::new(env!("CARGO_BIN_EXE_skewguard"))
            .args(arguments)
            .stdout(full)
            .output()
            .expect("runs");
        assert_eq!(
            (
                output.status.code(),
                String::from_utf8_lossy(&output.stderr).as_ref()
            ),
            (
                Some(1),
                "skewguard: standard output: No space left on device\n"
            ),
            "{arguments:?}"
        );
    }
}

#[test]
fn what_was_written_on_the_command_line_is_quoted_without_its_escapes() {
    let escape = "\u{1b}[31mX";
    for arguments in [
        &["check", "-o", escape][..],
        &["check", "--root", escape],
        &["check", "--policy", escape],
        &[
            "check",
            "--policy",
            "tests/data/audit/policy.json",
            "--aleph",
            escape,
        ],
        &[escape],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_skewguard"))
            .args(arguments)
            .output()
            .expect("runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(
            text.contains("\\u{1b}[31mX") && !text.contains('\u{1b}'),
            "{arguments:?}: {text}"
        );
    }
}

#[test]
fn inspect_reads_the_lines_of_standard_input() {
    let run = |words: &[&str], input: &[u8]| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_skewguard"))
            .arg("inspect")
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It may have ended without reading.
        let _ = child.stdin.take().unwrap().write_all(input);
        let output = child.wait_with_output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    assert_eq!(
        run(&["x", "-"], b"9.0.20250827-0 \r\n\xff\n"),
        (
            Some(0),
            "x: no known scheme\n\
             9.0.20250827-0: scheme RHELVersioned, CentOS Stream 9, OKD unknown, built 2025-08-27, build 0\n\
             \\u{fffd}: no known scheme\n"
                .to_owned(),
            String::new()
        )
    );
    let refused = |words: &[&str], input: &[u8], said: &str| {
        assert_eq!(
            run(words, input),
            (Some(1), String::new(), format!("skewguard: {said}\n"))
        );
    };
    refused(&["-"], b"", "<stdin>: is empty");
    refused(
        &["-"],
        &vec![b'\n'; (1 << 20) + 1],
        "<stdin>: is larger than 1048576 bytes",
    );
    refused(
        &["-", "-"],
        b"x",
        "standard input can be read once: name a file for the others",
    );
}

#[test]
fn hostile_versions_are_shown_without_their_escapes() {
    let output = skewguard(&["inspect", "a\u{1b}[2J\nb\\S", "9.6.20250523-0", ""]);
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(0), &b""[..])
    );
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "a\\u{1b}[2J\\nb\\\\S: no known scheme\n9.6.20250523-0: scheme RHELVersioned, RHEL 9.6, OCP unknown, built 2025-05-23, build 0\n: no known scheme\n"
    );
}
