//! `oc skewguard schema`: the JSON Schemas of what skewguard reads and prints.

use crate::audit::results::BootImageAudit;
use crate::audit::results::fleet::FleetAudit;
use crate::lint::shape::SCHEMA;
use crate::schema::{VERDICT, of};
use crate::why::WhyReport;
use schemars::JsonSchema;
use skewguard_core::command::{Exit, Failure, Io};

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
    /// `audit` of one cluster.
    Audit,
    /// `audit` of several clusters.
    AuditList,
    /// `why`.
    Why,
}

pub(super) fn run(args: &Args, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let text = match args.name {
        Name::Policy => SCHEMA,
        Name::Verdict => VERDICT,
        Name::Status => include_str!("schema/status.json"),
        Name::Inspect => include_str!("schema/inspect.json"),
        Name::Lint => include_str!("schema/lint.json"),
        Name::Audit => &made::<BootImageAudit>()?,
        Name::AuditList => &made::<FleetAudit>()?,
        Name::Why => &made::<WhyReport>()?,
    };
    io.out.write_all(text.as_bytes())?;
    Ok(Exit::Done)
}

fn made<T: JsonSchema>() -> Result<String, Failure> {
    Ok(serde_json::to_string_pretty(&of::<T>())? + "\n")
}
