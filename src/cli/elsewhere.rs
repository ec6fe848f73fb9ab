//! What stands in for the commands of a node on systems other than Linux.

use super::{Exit, Failure, Io};
use std::ffi::OsString;

#[derive(Debug)]
#[cfg_attr(feature = "admin", derive(clap::Args))]
pub(super) struct Args {
    #[cfg_attr(
        feature = "admin",
        arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)
    )]
    rest: Vec<OsString>,
}

pub(super) fn run(_: &Args, _: &mut Io<'_>) -> Result<Exit, Failure> {
    Err("this command is for nodes, and nodes run Linux".into())
}
