//! `enforce` really killed, at every change that it makes to a node's files.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// System calls that change files. strace(1) counts each one for itself, and kills the process as it enters the one chosen.
const CHANGES: [&str; 9] = ["write", "fsync", "fchmod", "mkdirat", "linkat", "symlinkat", "unlinkat", "renameat", "rename"];

fn skewguard(command: &str, root: &str) -> ExitStatus {
    Command::new(env!("CARGO_BIN_EXE_skewguard")).args([command, "--root", root]).output().expect("skewguard starts").status
}

fn killed_at(call: &str, nth: usize, root: &str) -> ExitStatus {
    let inject = format!("inject={call}:signal=KILL:when={nth}");
    let trace = format!("trace={call}");
    let args = ["-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject, env!("CARGO_BIN_EXE_skewguard"), "enforce", "--root", root];
    let output = Command::new("strace").args(args).output();
    output.unwrap_or_else(|e| panic!("strace: {e}; install the Debian package strace")).status
}

#[test]
fn killed_at_any_change_the_console_is_whole_and_comes_back() {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees/rhcos-4.12-refused");
    let mut kills = 0;
    for call in CHANGES {
        kills += (1..).take_while(|nth| killed(&tree, call, *nth)).count();
    }
    assert!(kills > 60, "only {kills} kills: strace did not see the changes");
}

/// Kills one run and checks what it leaves; `false` where the run made fewer such calls and came to its end.
fn killed(tree: &Path, call: &str, nth: usize) -> bool {
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("temporary directory");
    let copied = Command::new("cp").arg("-a").arg(tree.join(".")).arg(dir.path()).status().expect("cp runs");
    assert!(copied.success());
    let root = dir.path().to_str().expect("a plain path");
    let issue = dir.path().join("etc/issue");
    let is_original = || fs::read_link(&issue).is_ok_and(|target| target == Path::new("../usr/lib/issue"));
    let text = || fs::read_to_string(&issue).expect("it is there");

    let status = killed_at(call, nth, root);
    if status.code() == Some(3) {
        return false;
    }
    let at = format!("{call} {nth}");
    assert_eq!(status.signal().or(status.code().map(|code| code - 128)), Some(9), "{at}: {status}");
    if !is_original() {
        assert!(text().starts_with("*** NODE REFUSED") && text().ends_with("\n\n\\S \\S{VERSION_ID}\n"), "{at}: {}", text());
        assert!(dir.path().join("var/lib/skewguard/issue.saved").exists(), "{at}: no way back");
    }
    // The next boot refuses again, once; then the node is let through.
    let _ = fs::remove_file(dir.path().join("run/skewguard/refused"));
    assert_eq!(skewguard("enforce", root).code(), Some(3), "{at}");
    assert_eq!(text().matches("NODE REFUSED").count(), 1, "{at}");
    assert_eq!(skewguard("allow", root).code(), Some(0), "{at}");
    assert!(is_original(), "{at}");
    for left in ["etc/issue.skewguard-saved", "etc/motd.d/skewguard", "var/lib/skewguard/issue.saved"] {
        assert!(fs::symlink_metadata(dir.path().join(left)).is_err(), "{at}: {left} stays");
    }
    let found = Command::new("find").arg(root).args(["-name", ".*.skewguard-*"]).output().expect("find runs");
    assert_eq!(String::from_utf8_lossy(&found.stdout), "", "{at}: a temporary file stays");
    true
}
