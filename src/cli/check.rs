//! `skewguard check`: decide and print, change nothing.

mod text;

use super::{Exit, Failure, Io};
use crate::console::{Context, message};
use crate::node::{Options, facts};
use crate::verdict::decide;
use clap::ValueEnum;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status: 0 proceed, 1 could not do it, 2 wrong usage, 3 refused.

Examples:
  skewguard check                                 this node
  skewguard check --root /mnt/node --output json  a node's disk
  skewguard check --policy new.json               under another policy
  skewguard check --policy new.json --aleph FILE  without a node")]
pub(super) struct Args {
    /// Directory that stands for the node's `/`; symlinks are followed inside it only.
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
    /// Policy to try, instead of the one that the node was served.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Aleph file to try, instead of the node's; for a node at its first boot, whatever this one runs.
    #[arg(long, value_name = "FILE")]
    aleph: Option<PathBuf>,
    /// Form of the verdict.
    #[arg(long, value_enum, default_value = "text")]
    output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For a person: verdict first, then why, then what was had and wanted.
    Text,
    /// For a script; fields are only ever added.
    Json,
    /// The message that `enforce` would put on the console.
    Issue,
}

pub(super) fn run(args: &Args, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let root = super::open(&args.root)?;
    let options = Options { policy: args.policy.as_deref(), aleph: args.aleph.as_deref() };
    let verdict = decide(&facts(&root, options)?);
    match args.output {
        Output::Text => io.out.write_all(text::render(&verdict).as_bytes())?,
        Output::Json => writeln!(io.out, "{}", serde_json::to_string_pretty(&verdict)?)?,
        Output::Issue => {
            io.out.write_all(message::issue(&verdict, &Context::load(&root, &verdict)).as_bytes())?;
            if !message::is_shown(&verdict) {
                io.say(format_args!("{} ({}): nothing would be shown on the console", verdict.verdict, verdict.reason));
            }
        }
    }
    Ok(if verdict.blocks() { Exit::Refused } else { Exit::Done })
}
