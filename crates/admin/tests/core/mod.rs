//! The commands that need no node, and what they say of the core's policies and verdicts.

mod alert_expression;
mod known_issues;
mod policy_command;
mod policy_docs;
mod policy_lint;
mod policy_refresh;
mod policy_schema;
mod policy_yaml;
#[allow(dead_code)] // The core's tests use all of it.
#[path = "../../../core/tests/core/samples.rs"]
mod samples;
mod update_risks;

use crate::cli::{self, Io};
use std::process::ExitCode;

/// Runs one command in this process: exit status, standard output, standard error.
fn run(args: &[&str]) -> (u8, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = std::iter::once("skewguard")
        .chain(args.iter().copied())
        .map(Into::into);
    let exit = cli::run(
        args,
        &mut Io {
            out: &mut out,
            err: &mut err,
        },
    );
    let status = (0..=255)
        .find(|n| ExitCode::from(*n) == ExitCode::from(exit))
        .unwrap();
    (
        status,
        String::from_utf8(out).unwrap(),
        String::from_utf8(err).unwrap(),
    )
}
