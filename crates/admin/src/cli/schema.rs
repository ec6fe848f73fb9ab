//! `oc skewguard schema`: the JSON Schemas of what skewguard reads and prints.

use super::{Exit, Failure, Io};
use crate::lint::starter::SCHEMA;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oc skewguard schema verdict >verdict.schema.json
  oc skewguard schema policy >policy.schema.json")]
pub(super) struct Args {
    #[arg(value_enum, value_name = "NAME")]
    name: Name,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Name {
    /// A policy; the same as `policy schema`.
    Policy,
    /// `check`; /run/skewguard/verdict.json and /var/lib/skewguard/verdict.json.
    Verdict,
    /// `status`.
    Status,
    /// One line of `inspect`.
    Inspect,
    /// One line of `policy lint`.
    Lint,
    /// `audit`.
    Audit,
}

pub(super) fn run(args: &Args, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let schema = match args.name {
        Name::Policy => SCHEMA,
        Name::Verdict => include_str!("schema/verdict.json"),
        Name::Status => include_str!("schema/status.json"),
        Name::Inspect => include_str!("schema/inspect.json"),
        Name::Lint => include_str!("schema/lint.json"),
        Name::Audit => include_str!("schema/audit.json"),
    };
    io.out.write_all(schema.as_bytes())?;
    Ok(Exit::Done)
}
