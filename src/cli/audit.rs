//! `skewguard audit`: what a policy would refuse in a whole cluster. Reads, prints, changes nothing.

use super::{Exit, Failure, Io, TextOrJson, named, read_file};
use crate::audit::fetch::{self, MAX_ANSWER, fetch};
use crate::audit::kubeconfig;
use crate::audit::{Objects, Unread, audit, text};
use crate::node::Root;
use crate::policy::{self, MAX_BYTES};
use crate::text::{hex, printable};
use crate::transport::{CURL, Choice, Limits, Transport};
use crate::verdict::PolicyInput;
use crate::version::Release;
use sha2::{Digest, Sha256};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The most that is read of one file.
const MAX_FILE: u64 = 512 << 20;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status: 0 of what is known nothing would be refused, 1 it could not look at everything that makes nodes, 2 wrong usage, \
3 something would be refused.

Reads with get and list only; `skewguard render manifests --auditor` has the least ClusterRole for it. Kubeconfigs are found as oc finds them: \
KUBECONFIG, then ~/.kube/config.

Examples:
  skewguard audit --policy policy.json
  skewguard audit --policy policy.json --target 4.22
  skewguard audit --policy policy.json --output json |
    jq -r '.sets[] | select(.action == \"Block\") | .name'

For a cluster that cannot be reached from here:
  skewguard audit --print-commands >gather.sh
  skewguard audit --policy policy.json --from objects/*.json

For a must-gather: docs/audit.md.")]
pub(super) struct Args {
    /// The policy to try; it is judged as if its mode were Enforce.
    #[arg(long, value_name = "FILE", required_unless_present = "print_commands")]
    policy: Option<PathBuf>,
    /// Release to ask about, such as the one to upgrade to. Default: the cluster's own.
    #[arg(long, value_name = "RELEASE", value_parser = parse_release)]
    target: Option<String>,
    /// What `oc get -o json` printed, or YAML files of a must-gather; - is standard input.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["kubeconfig", "context"])]
    from: Vec<PathBuf>,
    /// The kubeconfig to use, instead of those that oc finds.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context to use, instead of the current one.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Print the commands that gather what --from reads, and do nothing else.
    #[arg(long, conflicts_with_all = ["policy", "from", "kubeconfig", "context", "target"])]
    print_commands: bool,
    /// Text for a person, or one JSON object; its fields are only ever added.
    #[arg(long, value_enum, default_value = "text")]
    output: TextOrJson,
}

/// `4.22` counts as `4.22.0`.
fn parse_release(text: &str) -> Result<String, String> {
    let whole = if text.matches('.').count() == 1 { format!("{text}.0") } else { text.to_owned() };
    whole.parse::<Release>().map(|_| whole).map_err(|error| error.to_string())
}

pub(super) fn run(args: &Args, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let Some(policy) = &args.policy else {
        io.out.write_all(fetch::commands().as_bytes())?;
        return Ok(Exit::Done);
    };
    let policy = policy_file(policy)?;
    let mut objects = Objects::default();
    let mut unread = Vec::new();
    for path in &args.from {
        if let Err(why) = read(path, &mut objects) {
            unread.push(Unread { what: named(path), why, hides_sets: true });
        }
    }
    if args.from.is_empty() {
        unread = from_server(args, &mut objects, io)?;
    }
    let result = audit(&objects, &policy, args.target.as_deref(), unread);
    if result.sets.is_empty() {
        for unread in &result.unread {
            io.say(format_args!("{}: {}", unread.what, unread.why));
        }
        return Err("there is nothing to audit: no set of machines, no machine and no node was read".into());
    }
    match args.output {
        TextOrJson::Text => io.out.write_all(text::render(&result, wants_colour()).as_bytes())?,
        TextOrJson::Json => writeln!(io.out, "{}", serde_json::to_string_pretty(&result)?)?,
    }
    Ok(match result.summary.would_be_refused {
        0 if result.unread.iter().any(|unread| unread.hides_sets) => Exit::Failed,
        0 => Exit::Done,
        _ => Exit::Refused,
    })
}

fn from_server(args: &Args, objects: &mut Objects, io: &mut Io<'_>) -> Result<Vec<Unread>, Failure> {
    let [env, home] = ["KUBECONFIG", "HOME"].map(std::env::var_os);
    let kubeconfig = kubeconfig::load(args.kubeconfig.as_deref(), env, home, args.context.as_deref())?;
    let choice = Choice::for_host(&Root::open(Path::new("/"))?)?;
    let limits = Limits { body: MAX_ANSWER, ..Limits::default() };
    let server = Transport::new(choice, &kubeconfig, limits, CURL.into())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (began, is_watched) = (Instant::now(), std::io::stderr().is_terminal());
    let mut shown = false;
    let mut watch = |resource: &str, count: usize| {
        if is_watched && began.elapsed() > Duration::from_secs(1) {
            shown = true;
            let _ = write!(io.err, "\r\x1b[Kreading {resource}: {count}");
        }
    };
    let unread = runtime.block_on(fetch(&server, objects, &mut watch));
    if shown {
        write!(io.err, "\r\x1b[K")?;
    }
    Ok(unread?)
}

fn policy_file(path: &Path) -> Result<PolicyInput, Failure> {
    let file = named(path);
    let bytes = read_file(path, MAX_BYTES).map_err(|error| format!("--policy {file}: {error}"))?;
    let policy = policy::parse(&bytes).map_err(|error| format!("--policy {file}: {error}; `skewguard policy lint` says where"))?;
    Ok(PolicyInput::Valid { path: file, digest: format!("sha256:{}", hex(&Sha256::digest(&bytes))), policy })
}

fn read(path: &Path, objects: &mut Objects) -> Result<(), String> {
    let bytes = read_file(path, MAX_FILE)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| "is not UTF-8")?;
    if text.trim().is_empty() {
        return Err("is empty".to_owned());
    }
    objects.add_file(text).map_err(|error| printable(&error))
}

/// Colour is used only on a terminal, and not if `NO_COLOR` is set (<https://no-color.org>).
fn wants_colour() -> bool {
    let asked_not = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stdout().is_terminal() && !asked_not
}
