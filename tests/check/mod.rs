//! `skewguard check` as a whole program, on sample node trees and on broken ones.

mod appended;
mod bad_input;
mod boot_image;
mod fault;
mod offline;
mod output;
mod root;
mod served;
mod trees;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The sample trees.
fn tree(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/trees")
        .join(name)
}

fn skewguard(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_skewguard"))
        .args(args)
        .output()
        .expect("skewguard starts")
}

/// Checks a tree and gives back the exit status and the verdict as JSON.
fn check_json(root: &Path, more: &[&str]) -> (i32, serde_json::Value) {
    let mut args = vec![
        "check",
        "--root",
        root.to_str().expect("tests use plain paths"),
        "--output",
        "json",
    ];
    args.extend(more);
    let output = skewguard(&args);
    let json = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| {
        panic!(
            "{}: {e}\n{}",
            root.display(),
            String::from_utf8_lossy(&output.stderr)
        )
    });
    (output.status.code().expect("it ends by itself"), json)
}

/// Copies a tree, symlinks as symlinks.
fn copy_tree(from: &Path, to: &Path) {
    let status = Command::new("cp")
        .arg("-a")
        .arg(from.join("."))
        .arg(to)
        .status()
        .expect("cp starts");
    assert!(status.success());
}
