//! `skewguard check`: decide and print, change nothing.

use super::{Exit, Failure, Io};
use std::path::PathBuf;

/// Decide about this node, or about a node's root tree, and print the verdict. Changes nothing.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Directory that stands for the node's `/`; symlinks are followed inside it only.
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
}

pub(super) fn run(args: &Args, io: &mut Io<'_>) -> Result<Exit, Failure> {
    writeln!(io.out, "{}", args.root.display())?;
    Ok(Exit::Done)
}
