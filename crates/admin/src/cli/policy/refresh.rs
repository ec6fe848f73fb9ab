//! `oc skewguard policy refresh`: today's known issues for a policy that has them of another day.

use super::super::inputs::read_policy;
use super::write;
use crate::forms::shell;
use crate::lint::today::{Difference, Refreshed, refresh};
use crate::yaml::{for_nodes, looks_like_yaml};
use clap::ValueHint;
use skewguard_cluster::file::name as named;
use skewguard_core::command::{Exit, Failure, Io};
use std::path::PathBuf;

/// Take today's known issues into a policy
///
/// A policy keeps the known issues of the day that it was written. Those that this version ships
/// with another window, images, conditions or effect are replaced by today's, those that the policy
/// lacks are added, and those that are withdrawn are removed. Issues of the author's own, an empty
/// list, the limits and the rest of the text stay as they are; a policy in YAML is written as JSON,
/// without its comments. Without --file nothing is changed: standard output has the policy. What
/// changes is named on standard error.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oc skewguard policy refresh policy.json | diff policy.json -
  oc skewguard policy refresh policy.json --file policy.json")]
pub(super) struct Args {
    /// The policy, JSON or YAML; - is standard input.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    policy: PathBuf,
    /// File to write instead of standard output; it may be the policy itself.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: Option<PathBuf>,
    /// Replace another file that exists, and YAML.
    #[arg(long, requires = "file")]
    force: bool,
}

pub(super) fn run(args: &Args, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let name = named(&args.policy);
    let failed = |error: String| format!("{name}: {error}");
    let (bytes, _) = read_policy(&args.policy).map_err(failed)?;
    let is_yaml = std::str::from_utf8(&bytes).is_ok_and(looks_like_yaml);
    let text = String::from_utf8(for_nodes(bytes)).map_err(|error| failed(error.to_string()))?;
    let refreshed = refresh(&text).map_err(failed)?;
    let file = args.file.as_ref().filter(|file| *file.as_os_str() != *"-");
    match file {
        Some(file) if *file == args.policy && is_yaml && !args.force => {
            let lost = "is YAML, and would become JSON without its comments";
            let file = file.with_extension("json");
            let file = shell::word(&file.to_string_lossy());
            let remedy = format!("`--file {file}` keeps it, --force replaces it");
            return Err(failed(format!("{lost}: {remedy}")).into());
        }
        Some(file) => write(file, &refreshed.policy, args.force || *file == args.policy)?,
        None => io.out.write_all(refreshed.policy.as_bytes())?,
    }
    say(&refreshed, file.is_some(), io);
    if refreshed.changes.is_empty() && refreshed.added.is_empty() {
        io.say(format_args!("{name}: its known issues are today's"));
    } else if file.is_none() {
        io.say(format_args!("{name} stays as it is; --file writes a file"));
    }
    if is_yaml {
        io.say(format_args!(
            "{name} is YAML: written is JSON, without comments"
        ));
    }
    Ok(Exit::Done)
}

/// Names what was changed, or would be.
fn say(refreshed: &Refreshed, is_done: bool, io: &mut Io<'_>) {
    let verbs = match is_done {
        true => ["replaced", "removed", "added"],
        false => ["would replace", "would remove", "would add"],
    };
    let [replaced, removed, added] = verbs;
    for (id, difference) in &refreshed.changes {
        let done = match difference {
            Difference::Fields(_) => replaced,
            Difference::Withdrawn(_) => removed,
        };
        io.say(format_args!("{done} {id}: it {}", difference.says()));
    }
    for id in &refreshed.added {
        io.say(format_args!("{added} {id}"));
    }
}
