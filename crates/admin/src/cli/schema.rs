//! `oc skewguard schema`: the JSON Schemas of what skewguard reads and prints.

use super::{Exit, Failure, Io};
use crate::lint::shape::SCHEMA;
use serde_json::{Map, Value};

const AUDIT: &str = include_str!("schema/audit.json");

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
    let schema = match args.name {
        Name::Policy => SCHEMA,
        Name::Verdict => include_str!("schema/verdict.json"),
        Name::Status => include_str!("schema/status.json"),
        Name::Inspect => include_str!("schema/inspect.json"),
        Name::Lint => include_str!("schema/lint.json"),
        Name::Audit => AUDIT,
        Name::AuditList => &audit_list()?,
        Name::Why => include_str!("schema/why.json"),
    };
    io.out.write_all(schema.as_bytes())?;
    Ok(Exit::Done)
}

/// The list's own schema, with that of an audit among its definitions: `#/$defs/audit`, beside the
/// definitions that it refers to.
fn audit_list() -> Result<String, Failure> {
    let mut list: Map<String, Value> =
        serde_json::from_str(include_str!("schema/audit-list.json"))?;
    let mut audit: Map<String, Value> = serde_json::from_str(AUDIT)?;
    audit.remove("$schema");
    let mut definitions = audit.remove("$defs").unwrap_or_default();
    if let Some(definitions) = definitions.as_object_mut() {
        definitions.insert("audit".to_owned(), Value::Object(audit));
    }
    list.insert("$defs".to_owned(), definitions);
    Ok(serde_json::to_string_pretty(&list)? + "\n")
}
