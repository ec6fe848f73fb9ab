//! `tests/commits`, on a repository of its own.

use std::path::Path;
use std::process::{Command, Output};

fn git(folder: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
    let output = Command::new("git")
        .current_dir(folder)
        .args(identity)
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

fn commit(folder: &Path, subject: &str, more: &[&str]) {
    let mut words = vec!["commit", "-q", "--allow-empty", "-m", subject];
    words.extend(more);
    git(folder, &words);
}

fn checked(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commits"))
        .current_dir(folder)
        .args(arguments)
        .output()
        .unwrap()
}

/// What the script says of each commit, without its name.
fn said(output: &Output) -> Vec<String> {
    String::from_utf8_lossy(&output.stderr)
        .lines()
        .map(|line| line.split_once(' ').unwrap().1.to_owned())
        .collect()
}

#[test]
fn merges_long_subjects_and_unsigned_commits_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    git(folder, &["init", "-q", "-b", "main"]);
    // What is there before does not count.
    commit(folder, &"x".repeat(99), &[]);
    git(folder, &["checkout", "-q", "-b", "work"]);
    let sixty = format!("tests: {}", "ä".repeat(53));
    commit(folder, &sixty, &["-s"]);
    let good = checked(folder, &["main"]);
    assert!(good.status.success() && good.stderr.is_empty(), "{good:?}");

    commit(folder, &format!("{sixty}b"), &["-s"]);
    commit(folder, "unsigned", &[]);
    git(folder, &["checkout", "-q", "main"]);
    commit(folder, "meanwhile", &["-s"]);
    git(folder, &["checkout", "-q", "work"]);
    git(folder, &["merge", "-q", "-s", "ours", "--signoff", "main"]);
    let bad = checked(folder, &["main", "work"]);
    assert_eq!(bad.status.code(), Some(1));
    assert_eq!(
        said(&bad),
        [
            "Merge branch 'main' into work: a merge; rebase instead".to_owned(),
            "unsigned: no Signed-off-by (git commit -s)".to_owned(),
            format!("{sixty}: a subject of 61 characters, of 60 at most"),
        ]
    );

    let none = checked(folder, &["no-such-branch"]);
    assert_eq!(none.status.code(), Some(2));
    assert_eq!(said(&none), ["no commit: no-such-branch"]);
}
