//! Disks that are full, read-only or not ours: none of that turns a Proceed into a Block, or leaves
//! half a file.
//!
//! The mounts need a mount namespace of their own, with root rights inside and none outside.

use crate::enforce::{ALLOWED, REFUSED, WARNED, assert_whole, files, sample};
use crate::support::world;
use std::collections::BTreeMap;

/// What a run under a fault came to.
struct Run {
    code: Option<i32>,
    stderr: String,
    files: BTreeMap<String, Vec<u8>>,
}

/// Runs `enforce` on a copy of a tree, where `fault` (sh, in the tree's root) has been done to it.
/// `as_nobody`: without the rights of root.
fn enforce(name: &str, fault: &str, as_nobody: bool) -> Run {
    let tree = tempfile::tempdir().expect("a temporary directory");
    let after = tempfile::tempdir().expect("a temporary directory");
    let drop = if as_nobody { world::WITHOUT_POWERS } else { "" };
    let script = format!(
        "set -eu\nmount -t tmpfs -o mode=755 tmpfs \"$W\"\ncp -a \"$TREE/.\" \"$W\"\ncd \"$W\"\nmkdir -p run/skewguard run/systemd/system \
         var/lib/skewguard\n{fault}\nset +e\n{drop} \"$PROGRAM\" enforce --root \"$W\"\nstatus=$?\n\
         for f in $(find . -type d -perm 0555); do chmod 755 $f; done 2>/dev/null\ncp -a \"$W/.\" \"$AFTER\"\nexit $status"
    );
    let output = world::output(
        world::shell(&[], &script)
            .env("W", tree.path())
            .env("AFTER", after.path())
            .env("TREE", sample(name))
            .env("PROGRAM", env!("CARGO_BIN_EXE_skewguard")),
    );
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        after.path().join("etc").exists(),
        "the world was not made (user namespaces?): {stderr}"
    );
    assert_whole(after.path(), name);
    Run {
        code: output.status.code(),
        stderr,
        files: files(after.path()),
    }
}

/// Faults of a directory: what is done to it, and the words of the kernel.
fn faults(dir: &str) -> [(String, bool, &'static str); 3] {
    [
        (
            format!("mount --bind {dir} {dir}; mount -o remount,bind,ro {dir}"),
            false,
            "Read-only file system",
        ),
        (
            // No inode and no page is left.
            format!(
                "mkdir .keep; cp -a {dir}/. .keep/; mount -t tmpfs -o size=64k,mode=755 tmpfs {dir}; cp -a .keep/. {dir}/; rm -r .keep; \
                     head -c 100000 /dev/zero >{dir}/fill 2>/dev/null || true"
            ),
            false,
            "No space left on device",
        ),
        (
            format!("find {dir} -type d -exec chmod 555 {{}} +"),
            true,
            "Permission denied",
        ),
    ]
}

fn verdict(run: &Run, path: &str) -> serde_json::Value {
    run.files
        .get(path)
        .map(|bytes| serde_json::from_slice(bytes).expect("JSON"))
        .unwrap_or_default()
}

fn held(run: &Run) -> usize {
    run.files
        .keys()
        .filter(|path| path.ends_with("50-skewguard.conf"))
        .count()
}

#[test]
fn a_proceed_stays_a_proceed_whatever_cannot_be_written() {
    for name in [ALLOWED, WARNED] {
        for dir in ["run", "etc", "var/lib/skewguard", "var", "."] {
            for (fault, as_nobody, words) in faults(dir) {
                if dir == "." && words != "Permission denied" {
                    continue;
                }
                let run = enforce(name, &fault, as_nobody);
                let what = format!("{name}, {dir}: {words}: {}", run.stderr);
                assert_eq!(run.code, Some(0), "{what}");
                assert!(!run.files.contains_key("run/skewguard/refused"), "{what}");
                assert_eq!(held(&run), 0, "{what}");
                if dir != "etc" || name == WARNED {
                    assert!(run.stderr.contains(words), "it is said: {what}");
                }
            }
        }
    }
}

/// What is kept for restoring is optional, the message is not.
#[test]
fn the_message_of_a_refused_node_is_shown_whatever_cannot_be_kept() {
    let headline = "*** NODE REFUSED: ITS BOOT IMAGE IS TOO OLD FOR THIS CLUSTER ***\n";
    for dir in ["var/lib/skewguard", "var", "etc"] {
        for (fault, as_nobody, words) in faults(dir) {
            let run = enforce(REFUSED, &fault, as_nobody);
            let what = format!("{dir}: {words}: {}", run.stderr);
            assert_eq!(run.code, Some(3), "{what}");
            let text = |path: &str| {
                let bytes = run.files.get(path).cloned().unwrap_or_default();
                String::from_utf8(bytes).expect("text")
            };
            let (issue, prompt) = (text("etc/issue"), text("run/skewguard-prompt.issue"));
            if dir == "etc" {
                // All of it is where there is room; agetty reads it there without /etc/issue only.
                assert!(
                    prompt.starts_with(headline) && prompt.lines().count() > 10,
                    "{what}: {prompt}"
                );
            } else {
                assert!(issue.starts_with(headline), "{what}: {issue}");
                assert_eq!(prompt, headline, "{what}");
            }
        }
    }
}

/// Without what was kept, the message is known by its first and last line.
#[test]
fn what_was_shown_while_var_was_full_is_taken_away_again() {
    for (fault, as_nobody, words) in faults("var") {
        if as_nobody {
            continue;
        }
        let fault = format!(
            "cat etc/issue >before; {fault}; \"$PROGRAM\" enforce --root \"$W\" || true; grep -q REFUSED etc/issue; \"$PROGRAM\" allow --root \"$W\"; cat etc/issue | cmp - before; test ! -e run/skewguard-prompt.issue; echo taken away >&2"
        );
        let run = enforce(REFUSED, &fault, false);
        assert!(run.stderr.contains("taken away"), "{words}: {}", run.stderr);
    }
}

#[test]
fn a_refused_node_that_cannot_be_held_goes_on_and_says_why() {
    for (fault, as_nobody, words) in faults("run") {
        let run = enforce(REFUSED, &fault, as_nobody);
        let what = format!("{words}: {}", run.stderr);
        assert_eq!(run.code, Some(1), "{what}");
        assert!(!run.files.contains_key("run/skewguard/refused"), "{what}");
        assert_eq!(held(&run), 0, "{what}");
        let gate = verdict(&run, "var/lib/skewguard/verdict.json")["gate"].clone();
        assert_eq!(gate["held"], false, "{what}");
        assert!(
            gate["error"]
                .as_str()
                .is_some_and(|error| error.contains(words)),
            "{gate}"
        );
        let issue =
            String::from_utf8_lossy(&run.files["etc/issue.d/zz-skewguard.issue"]).into_owned();
        assert!(
            issue.contains("NODE NOT HELD BACK, BUT ITS BOOT IMAGE IS TOO OLD"),
            "the console says it: {issue}"
        );
    }
}

#[test]
fn a_refused_node_is_held_although_nothing_else_can_be_written() {
    for dir in ["etc", "var/lib/skewguard", "var"] {
        for (fault, as_nobody, words) in faults(dir) {
            let run = enforce(REFUSED, &fault, as_nobody);
            let what = format!("{dir}: {words}: {}", run.stderr);
            assert_eq!(run.code, Some(3), "{what}");
            assert!(run.files.contains_key("run/skewguard/refused"), "{what}");
            assert_eq!(
                verdict(&run, "run/skewguard/verdict.json")["gate"]["held"],
                true,
                "{what}"
            );
            assert!(run.stderr.contains(words), "it is said: {what}");
        }
    }
}
