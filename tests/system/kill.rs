//! `enforce` really killed, at every change that it makes to a node's files.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use tempfile::TempDir;

/// System calls that change files. strace(1) counts each one for itself, and kills the process as it enters the one chosen.
const CHANGES: [&str; 9] = ["write", "fsync", "fchmod", "mkdirat", "linkat", "symlinkat", "unlinkat", "renameat", "rename"];
const STAMP: &str = "run/skewguard/refused";

type Files = BTreeMap<PathBuf, Vec<u8>>;

fn skewguard(command: &str, root: &Path) -> ExitStatus {
    Command::new(env!("CARGO_BIN_EXE_skewguard")).args([command, "--root"]).arg(root).output().expect("skewguard starts").status
}

fn killed_at(call: &str, nth: usize, root: &Path) -> ExitStatus {
    let inject = format!("inject={call}:signal=KILL:when={nth}");
    let trace = format!("trace={call}");
    let args = ["-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject, env!("CARGO_BIN_EXE_skewguard"), "enforce", "--root"];
    let output = Command::new("strace").args(args).arg(root).output();
    output.unwrap_or_else(|e| panic!("strace: {e}; install the Debian package strace")).status
}

/// A copy of a node that is refused.
fn node() -> TempDir {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees/rhcos-4.12-refused");
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("temporary directory");
    let copied = Command::new("cp").arg("-a").arg(tree.join(".")).arg(dir.path()).status().expect("cp runs");
    assert!(copied.success());
    dir
}

/// Content, or target of the symlink, of everything below `dir` that is no directory.
fn files(dir: &Path) -> Files {
    let mut found = Files::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(here) = todo.pop() {
        for entry in fs::read_dir(&here).expect("a directory").map(|entry| entry.expect("an entry")) {
            let (path, kind) = (entry.path(), entry.file_type().expect("a type"));
            let name = path.strip_prefix(dir).expect("below").to_owned();
            if kind.is_dir() {
                todo.push(path);
            } else if kind.is_symlink() {
                found.insert(name, fs::read_link(&path).expect("a target").into_os_string().into_encoded_bytes());
            } else if !kind.is_fifo() {
                found.insert(name, fs::read(&path).expect("read"));
            }
        }
    }
    found
}

fn is_temporary(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.') && name.to_string_lossy().contains(".skewguard-"))
}

#[test]
fn killed_at_any_change_every_file_is_whole_and_the_next_run_makes_it_good() {
    let node = node();
    let before = files(node.path());
    assert_eq!(skewguard("enforce", node.path()).code(), Some(3));
    let refused = files(node.path());
    let mut kills = 0;
    for call in CHANGES {
        kills += (1..).take_while(|nth| killed(&before, &refused, call, *nth)).count();
    }
    assert!(kills > 60, "only {kills} kills: strace did not see the changes");
}

/// Kills one run and checks what it leaves; `false` where the run made fewer such calls and came to its end.
fn killed(before: &Files, refused: &Files, call: &str, nth: usize) -> bool {
    let dir = node();
    let status = killed_at(call, nth, dir.path());
    if status.code() == Some(3) {
        return false;
    }
    let at = format!("{call} {nth}");
    assert_eq!(status.signal().or(status.code().map(|code| code - 128)), Some(9), "{at}: {status}");

    // Each is the old one or the new one; beside them there may be temporary files, until the next run.
    let left = files(dir.path());
    for (path, content) in left.iter().filter(|(path, _)| !is_temporary(path)) {
        let is_whole = [before, refused].into_iter().any(|whole| whole.get(path) == Some(content));
        assert!(is_whole, "{at}: {}: {}", path.display(), String::from_utf8_lossy(content));
    }
    let issue = Path::new("etc/issue");
    assert!(left.contains_key(issue), "{at}: no /etc/issue");
    assert!(left[issue] == before[issue] || left.contains_key(Path::new("var/lib/skewguard/issue.saved")), "{at}: no way back");
    // The stamp means that everything is held.
    if left.contains_key(Path::new(STAMP)) {
        for path in refused.keys().filter(|path| path.starts_with("run/systemd")) {
            assert!(left.contains_key(path), "{at}: stamped without {}", path.display());
        }
    }

    // The next boot refuses again, once; then the node is let through.
    let _ = fs::remove_file(dir.path().join(STAMP));
    assert_eq!(skewguard("enforce", dir.path()).code(), Some(3), "{at}");
    let again = files(dir.path());
    let differs: Vec<_> = refused.keys().chain(again.keys()).filter(|path| refused.get(*path) != again.get(*path)).collect();
    assert!(differs.is_empty(), "{at}: after the next run: {differs:?}");
    assert_eq!(skewguard("allow", dir.path()).code(), Some(0), "{at}");
    let allowed = files(dir.path());
    assert_eq!(allowed[issue], before[issue], "{at}");
    for gone in ["etc/issue.skewguard-saved", "etc/motd.d/skewguard", "var/lib/skewguard/issue.saved", STAMP] {
        assert!(!allowed.contains_key(Path::new(gone)), "{at}: {gone} stays");
    }
    assert!(!allowed.keys().any(|path| is_temporary(path)), "{at}: a temporary file stays");
    true
}
