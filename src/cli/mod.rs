//! The command line: one file per command. Only here the parts of the library are put together.

mod allow;
mod check;
mod effects;
mod enforce;
mod inspect;
mod line;
pub(crate) mod report;
mod status;
mod version;

pub use skewguard_core::command::{Exit, Io};

use crate::node::Root;
use crate::node::policy::input;
use crate::node::user_file::name as named;
use crate::node::user_file::read as read_named;
use crate::policy::MAX_BYTES;
use crate::verdict::PolicyInput;
use line::parse;
use skewguard_core::command::{Failure, parse_release, read_once};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The command that a command line names.
#[derive(Debug)]
enum Command {
    Check(check::CheckArgs),
    Enforce(enforce::EnforceArgs),
    Allow(PathBuf),
    Report(report::ReportArgs),
    Status(status::StatusArgs),
    Inspect(inspect::InspectArgs),
}

/// The form of results that people and scripts both read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextOrJson {
    /// For a person.
    Text,
    /// For a script; fields are only ever added.
    Json,
}

/// Runs one command line, the program's name first.
pub fn run(args: impl IntoIterator<Item = OsString>, io: &mut Io<'_>) -> Exit {
    let command = match parse(args) {
        Ok(command) => command,
        Err((text, exit)) => return io.end(&text, exit),
    };
    let done = match &command {
        Command::Check(args) => check::run(args, io),
        Command::Enforce(args) => enforce::run(args, io),
        Command::Allow(root) => allow::run(root, io),
        Command::Report(args) => report::run(args, io),
        Command::Status(args) => status::run(args, io),
        Command::Inspect(args) => inspect::run(args, io),
    };
    io.done(done)
}

/// Opens the directory of `--root`.
fn open(root: &Path) -> Result<Root, String> {
    Root::open(root).map_err(|error| format!("--root {}: {error}", named(root)))
}

/// A policy that a person named. There is no lint on nodes: it is judged by what is understood of
/// it, and what is not is a warning.
///
/// # Errors
/// It cannot be read, or is no policy. The text names the file.
fn named_policy(path: &Path) -> Result<PolicyInput, Failure> {
    let bytes = read_named(path, MAX_BYTES).map_err(|error| format!("--policy {error}"))?;
    let file = named(path);
    match input(&file, &bytes) {
        PolicyInput::Invalid { error, .. } => Err(format!("--policy {file}: {error}").into()),
        policy => Ok(policy),
    }
}
