//! `oc skewguard policy init`: a policy to start from.

use super::super::named;
use super::{Exit, Failure, Io};
use crate::lint::starter::{REFERENCE, STARTER};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Write a policy to start from
///
/// It warns and refuses nothing. It has the known issues that `policy known-issues` prints. Its
/// limits are minimums of OCP 4.13 and RHEL 9.2: one for every release, one for OCP 4.22, from
/// which on the Machine Config Operator enforces them itself, and one for OCP 4.23 and 5.0, which
/// no longer have a daemon for boot images of RHEL 8.
#[derive(Debug, clap::Args)]
#[command(after_help = concat!("\
Examples:
  oc skewguard policy init > policy.json
  oc skewguard policy init --file policy.json

Where each limit comes from, and how to find the next:
  ", crate::docs!("policy.md"))
)]
pub(super) struct Args {
    /// File to write instead of standard output; the description of the fields is written beside
    /// it, with the ending .md.
    #[arg(long, short, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: Option<PathBuf>,
    /// Replace files that exist.
    #[arg(long, requires = "file")]
    force: bool,
}

const NOTE: &str = "\
This policy warns and refuses nothing. Check it with `oc skewguard policy lint`
after editing; `oc skewguard policy init --file FILE` also describes its fields.
";

pub(super) fn run(args: &Args, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let Some(policy) = args.file.as_ref().filter(|file| **file != Path::new("-")) else {
        io.out.write_all(STARTER.as_bytes())?;
        // Where nobody reads it, it is lost.
        let _ = io.err.write_all(NOTE.as_bytes());
        return Ok(Exit::Done);
    };
    let description = policy.with_extension("md");
    if description == *policy {
        return Err(format!(
            "{}: FILE is the policy, its description gets the ending .md; name it .json",
            named(policy)
        )
        .into());
    }
    // Both are checked before either is written.
    if !args.force {
        for path in [policy, &description] {
            if path.symlink_metadata().is_ok() {
                return Err(exists(path));
            }
        }
    }
    write(policy, &STARTER, args.force)?;
    write(&description, REFERENCE, args.force)?;
    writeln!(
        io.out,
        "wrote {} and {}",
        named(policy),
        named(&description)
    )?;
    Ok(Exit::Done)
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
        _ => format!("{}: {error}", named(path)).into(),
    })
}

fn exists(path: &Path) -> Failure {
    format!("{}: exists already; --force replaces it", named(path)).into()
}
