//! `oc skewguard policy`: write, check and describe policies.

mod init;
mod lint;
mod refresh;

use crate::lint::shape::SCHEMA;
use crate::lint::starter::KNOWN_ISSUES;
use skewguard_cluster::file::{cause, name as named};
use skewguard_core::command::{Exit, Failure, Io};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A policy from nothing, and policy.md, which describes its fields:
  oc skewguard policy init --file policy.json
After every edit, and today's known issues for one of another day:
  oc skewguard policy lint policy.json
  oc skewguard policy refresh policy.json --file policy.json")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Init(init::Args),
    Lint(lint::Args),
    Refresh(refresh::Args),
    /// Print what is known to fail, as `knownIssues` of a policy (JSON)
    ///
    /// Boot images that are known to fail with a release, each with its source. `policy init`
    /// writes them into a policy, `policy lint` names those that a policy lacks or has otherwise, and
    /// `policy refresh` takes them in.
    #[command(after_help = "Example: oc skewguard policy known-issues | jq -r '.[].id'")]
    KnownIssues,
    /// Print the JSON Schema (2020-12) of a policy
    ///
    /// For editors and for pipelines that check objects by their schema. It leaves room for fields
    /// of newer releases, so a mistyped field passes it; `policy lint` finds those.
    #[command(after_help = "Example: oc skewguard policy schema > policy.schema.json")]
    Schema,
}

pub(super) fn run(args: &Args, io: &mut Io<'_>) -> Result<Exit, Failure> {
    match &args.command {
        Command::Init(args) => init::run(args, io),
        Command::Lint(args) => lint::run(args, io),
        Command::Refresh(args) => refresh::run(args, io),
        Command::KnownIssues => {
            io.out.write_all(KNOWN_ISSUES.as_bytes())?;
            Ok(Exit::Done)
        }
        Command::Schema => {
            io.out.write_all(SCHEMA.as_bytes())?;
            Ok(Exit::Done)
        }
    }
}

fn write(path: &Path, text: &str, force: bool) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    let options = options
        .write(true)
        .truncate(force)
        .create(force)
        .create_new(!force);
    let done = options
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    done.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => exists(path),
        _ => format!("{}: {}", named(path), cause(&error)).into(),
    })
}

fn exists(path: &Path) -> Failure {
    let name = named(path);
    if path.is_dir() {
        return format!("{name}: is a directory; name a file in it").into();
    }
    format!("{name}: exists already; --force replaces it").into()
}
