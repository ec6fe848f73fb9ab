//! `skewguard check`: decide and print, change nothing.

use super::{Exit, Failure, Io, named};
use crate::console::{Context, message};
use crate::json;
use crate::node::{self, Inputs, NODE_PATHS, Node, Root, facts};
use crate::text::printable;
use crate::verdict::{Facts, Stage, Target, TargetInput, decide, text};
use std::path::PathBuf;

pub(super) const HELP: &str = "\
Decide about this node, or about a node's root tree, and print the verdict

Reads which boot image the node was installed from and which skew policy its
cluster served, and says whether the policy allows the image, and why. Changes
nothing, on the node or in the cluster.

Usage: skewguard check [OPTIONS]

Options:
  --root DIR        Directory that stands for the node's `/`, which is the
                    default; symlinks are followed inside it only
  --policy FILE     Policy to try, instead of the one that the node was served;
                    - is standard input
  --aleph FILE      Aleph file to try, instead of the node's; - is standard
                    input. It is judged as at a first boot, whatever this node
                    runs
  --target RELEASE  Release to ask about, such as the one to upgrade to, instead
                    of the node's target. It is judged as at a first boot
  --pool POOL       Pool to ask about, instead of the node's own
  -o, --output text|json|issue
                    text, the default, is for a person: verdict first, then why,
                    then what was had and wanted. json is for a script; fields
                    are only ever added. issue is the message that `enforce`
                    would put on the console
  -h, --help        Print this help

Exit status: 0 proceed, 1 could not do it, 2 wrong usage, 3 refused.

Examples:
  sudo skewguard check                            this node
  skewguard check --root /mnt/node --output json  a node's disk
  skewguard check --policy new.json               under another policy
  skewguard check --policy new.json --aleph FILE  without a node
  ssh core@NODE cat /sysroot/.coreos-aleph-version.json |
    skewguard check --policy new.json --aleph -
";

#[derive(Debug)]
pub(super) struct CheckArgs {
    /// Directory that stands for the node's `/`; symlinks are followed inside it only.
    pub(super) root: PathBuf,
    /// Policy to try, instead of the one that the node was served; - is standard input.
    pub(super) policy: Option<PathBuf>,
    /// Aleph file to try, instead of the node's; - is standard input. It is judged as at a first
    /// boot, whatever this node runs.
    pub(super) aleph: Option<PathBuf>,
    /// Release to ask about, such as the one to upgrade to, instead of the node's target. It is
    /// judged as at a first boot.
    pub(super) target: Option<String>,
    /// Pool to ask about, instead of the node's own.
    pub(super) pool: Option<String>,
    /// Form of the verdict.
    pub(super) output: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// For a person: verdict first, then why, then what was had and wanted.
    Text,
    /// For a script; fields are only ever added.
    Json,
    /// The message that `enforce` would put on the console.
    Issue,
}

pub(super) fn run(args: &CheckArgs, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let root = super::open(&args.root)?;
    super::read_once(
        args.policy
            .as_deref()
            .into_iter()
            .chain(args.aleph.as_deref()),
    )?;
    let inputs = Inputs {
        policy: args
            .policy
            .as_deref()
            .map(super::named_policy)
            .transpose()?,
        aleph: args.aleph.as_deref(),
    };
    let read = Node::read(&root);
    let facts = facts(&read, inputs).map_err(|error| format!("--aleph {error}"))?;
    let needs_node = args.policy.is_none() || args.aleph.is_none();
    // The node decides as root, and may decide otherwise.
    let denied = facts.warnings.iter().find(|text| node::is_denied(text));
    if let Some(denied) = denied.filter(|_| needs_node) {
        return Err(denied.clone().into());
    }
    if needs_node && !is_node(&root, &facts) {
        return Err(format!(
            "{}: not an OpenShift node; pass --root DIR, or --policy and --aleph",
            named(&args.root)
        )
        .into());
    }
    let facts = aim(args, facts);
    let verdict = match args.policy.is_none() && args.aleph.is_none() {
        true => read.decide(&facts),
        false => decide(&facts),
    };
    match args.output {
        Form::Text => io.out.write_all(text::render(&verdict).as_bytes())?,
        Form::Json => io
            .out
            .write_all(&[json::pretty(&verdict)?, vec![b'\n']].concat())?,
        Form::Issue => {
            let context = Context::load(&root, &verdict);
            let address = context.address.or_else(|| Some("ADDRESS".to_owned()));
            let shown = message::issue(&verdict, &Context { address, ..context });
            io.out.write_all(shown.as_bytes())?;
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

/// Looks for anything of a node: of its first boot, of an image, or of having joined. What
/// cannot be read may be.
fn is_node(root: &Root, facts: &Facts) -> bool {
    let exists = |path: &&str| root.exists(path).unwrap_or(true);
    facts.target != TargetInput::Absent
        || facts.deployment.ostree.is_some()
        || !facts.warnings.is_empty()
        || NODE_PATHS.iter().any(exists)
}

/// Asks about another target than the node's own.
fn aim(args: &CheckArgs, facts: Facts) -> Facts {
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
