//! `skewguard audit`, as a whole: on what `oc get -o json` prints of clusters of every platform, on what is broken, and (`served`) on an API server.
//!
//! `SKEWGUARD_BLESS=1 cargo test --test audit` writes the expected texts again.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg(feature = "author")]

#[path = "../support/apiserver/mod.rs"]
mod apiserver;
mod auditor;
mod bad_input;
mod fixtures;
mod kubeconfigs;
#[path = "../support/script.rs"]
mod script;
mod served;
mod terminal;
mod unknown;

use skewguard::cli::{Exit, Io};
use std::path::Path;

const POLICY: &str = "tests/data/audit/policy.json";

/// What the command prints to stdout and stderr, and its outcome.
fn audit(args: &[&str]) -> (String, String, Exit) {
    run(&[&["audit"], args].concat())
}

fn run(args: &[&str]) -> (String, String, Exit) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = ["skewguard"].iter().chain(args).map(std::ffi::OsString::from);
    let exit = skewguard::cli::run(args, &mut Io { out: &mut out, err: &mut err });
    (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap(), exit)
}

/// The same on a file with this text.
fn audit_text(text: &str, more: &[&str]) -> (String, String, Exit) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("objects.json");
    std::fs::write(&file, text).unwrap();
    let (out, err, exit) = audit(&[&["--policy", POLICY, "--from", file.to_str().unwrap()], more].concat());
    let short = |text: String| text.replace(&format!("{}/", dir.path().display()), "");
    (short(out), short(err), exit)
}

fn fixture(name: &str) -> String {
    std::fs::read_to_string(Path::new("tests/data/audit").join(name)).unwrap()
}
