//! `skewguard check`: decide and print, change nothing.

mod text;

use super::{Exit, Failure, Io, named};
use crate::console::{Context, message};
use crate::node::{self, OF_NODES, Options, Root, facts};
#[cfg(feature = "admin")]
use crate::text::printable;
use crate::verdict::{Facts, TargetInput, decide};
#[cfg(feature = "admin")]
use crate::verdict::{Stage, Target};
use std::path::PathBuf;

#[derive(Debug)]
#[cfg_attr(feature = "admin", derive(clap::Args))]
#[cfg_attr(
    feature = "admin",
    command(after_help = "\
Exit status: 0 proceed, 1 could not do it, 2 wrong usage, 3 refused.

Examples:
  sudo skewguard check                            this node
  skewguard check --root /mnt/node --output json  a node's disk
  skewguard check --policy new.json               under another policy
  skewguard check --policy new.json --aleph FILE  without a node
  ssh core@NODE cat /sysroot/.coreos-aleph-version.json |
    skewguard check --policy new.json --aleph -")
)]
pub(super) struct Args {
    /// Directory that stands for the node's `/`; symlinks are followed inside it only.
    #[cfg_attr(feature = "admin", arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, default_value = "/"))]
    pub(super) root: PathBuf,
    /// Policy to try, instead of the one that the node was served; - is standard input.
    #[cfg_attr(feature = "admin", arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath))]
    pub(super) policy: Option<PathBuf>,
    /// Aleph file to try, instead of the node's; - is standard input. It is judged as at a first
    /// boot, whatever this node runs.
    #[cfg_attr(feature = "admin", arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath))]
    pub(super) aleph: Option<PathBuf>,
    /// Release to ask about, such as the one to upgrade to, instead of the node's target. It is
    /// judged as at a first boot.
    #[cfg(feature = "admin")]
    #[arg(long, value_name = "RELEASE", value_parser = super::parse_release)]
    pub(super) target: Option<String>,
    /// Pool to ask about, instead of the node's own.
    #[cfg(feature = "admin")]
    #[arg(long, value_name = "POOL")]
    pub(super) pool: Option<String>,
    /// Form of the verdict.
    #[cfg_attr(
        feature = "admin",
        arg(long, short, value_enum, default_value = "text")
    )]
    pub(super) output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "admin", derive(clap::ValueEnum))]
pub(super) enum Output {
    /// For a person: verdict first, then why, then what was had and wanted.
    Text,
    /// For a script; fields are only ever added.
    Json,
    /// The message that `enforce` would put on the console.
    Issue,
}

pub(super) fn run(args: &Args, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let root = super::open(&args.root)?;
    super::read_once(
        args.policy
            .as_deref()
            .into_iter()
            .chain(args.aleph.as_deref()),
    )?;
    let options = Options {
        policy: args
            .policy
            .as_deref()
            .map(super::named_policy)
            .transpose()?,
        aleph: args.aleph.as_deref(),
    };
    let facts = facts(&root, options).map_err(|error| format!("--aleph {error}"))?;
    let needs_node = args.policy.is_none() || args.aleph.is_none();
    // The node decides as root, and may decide otherwise.
    let denied = facts.warnings.iter().find(|text| node::is_denied(text));
    if let Some(denied) = denied.filter(|_| needs_node) {
        return Err(denied.clone().into());
    }
    if needs_node && !is_node(&root, &facts) {
        return Err(format!(
            "{}: no OpenShift node: name the folder that has a node's files (--root), or a policy and an aleph (--policy, --aleph)",
            named(&args.root)
        )
        .into());
    }
    #[cfg(feature = "admin")]
    let facts = aim(args, facts);
    let verdict = decide(&facts);
    match args.output {
        Output::Text => io.out.write_all(text::render(&verdict).as_bytes())?,
        Output::Json => writeln!(io.out, "{}", serde_json::to_string_pretty(&verdict)?)?,
        Output::Issue => {
            io.out
                .write_all(message::issue(&verdict, &Context::load(&root, &verdict)).as_bytes())?;
            if !message::is_shown(&verdict) {
                io.say(format_args!(
                    "{} ({}): nothing would be shown on the console",
                    verdict.verdict, verdict.reason
                ));
            }
        }
    }
    Ok(if verdict.blocks() {
        Exit::Refused
    } else {
        Exit::Done
    })
}

/// Whether anything there is of a node: of its first boot, of an image, or of having joined. What
/// cannot be read may be.
fn is_node(root: &Root, facts: &Facts) -> bool {
    let exists = |path: &&str| root.exists(path).unwrap_or(true);
    facts.target != TargetInput::Absent
        || facts.deployment.ostree.is_some()
        || !facts.warnings.is_empty()
        || OF_NODES.iter().any(exists)
}

/// Asks about another target than the node's own.
#[cfg(feature = "admin")]
fn aim(args: &Args, facts: Facts) -> Facts {
    if args.target.is_none() && args.pool.is_none() {
        return facts;
    }
    let own = match &facts.target {
        TargetInput::Read(target) => target.clone(),
        TargetInput::Absent | TargetInput::Unreadable => Target::default(),
    };
    let mut facts = facts;
    facts.target = TargetInput::Read(Target {
        release: args.target.clone().or(own.release),
        pool: args.pool.as_deref().map(printable).or(own.pool),
        ..Target::default()
    });
    facts.deployment.stage = Stage::FirstBoot;
    facts
}
