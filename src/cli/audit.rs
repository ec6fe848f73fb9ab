//! `skewguard audit`: what a policy would refuse in a whole cluster. Reads, prints, changes nothing.

use super::{Exit, Failure, Io, TextOrJson};
use crate::audit::{Objects, Question, Unread, audit, text};
use crate::policy::{self, MAX_BYTES};
use crate::text::{hex, word};
use crate::verdict::PolicyInput;
use crate::version::Release;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

/// The most that is read of one file.
const MAX_FILE: u64 = 512 << 20;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status: 0 of what is known nothing would be refused, 1 it could not look at everything that makes nodes, 2 wrong usage, \
3 something would be refused.

Examples:
  skewguard audit --policy policy.json --from *.json
  skewguard audit --policy policy.json --target 4.22.0 --from *.json
  skewguard audit --policy policy.json --output json --from *.json |
    jq -r '.sets[] | select(.action == \"Block\") | .name'")]
pub(super) struct Args {
    /// The policy to try; it is judged as if its mode were Enforce.
    #[arg(long, value_name = "FILE")]
    policy: PathBuf,
    /// Release to ask about, such as the one to upgrade to. Default: the cluster's own.
    #[arg(long, value_name = "RELEASE", value_parser = parse_release)]
    target: Option<String>,
    /// What `oc get -o json` printed, or must-gather's like it; - is standard input.
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    from: Vec<PathBuf>,
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
    let policy = policy_file(&args.policy)?;
    let mut objects = Objects::default();
    let mut unread = Vec::new();
    for path in &args.from {
        if let Err(why) = read(path, &mut objects) {
            unread.push(Unread { what: named(path), why, hides_sets: true });
        }
    }
    let result = audit(&objects, Question { policy: &policy, release: args.target.as_deref(), unread });
    if result.sets.is_empty() {
        for unread in &result.unread {
            writeln!(io.err, "skewguard: {}: {}", unread.what, unread.why)?;
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

fn named(path: &Path) -> String {
    word(&path.to_string_lossy())
}

fn policy_file(path: &Path) -> Result<PolicyInput, Failure> {
    let file = named(path);
    let bytes = read_file(path, MAX_BYTES).map_err(|error| format!("--policy {file}: {error}"))?;
    let policy = policy::parse(&bytes).map_err(|error| format!("--policy {file}: {error}; `skewguard policy lint {file}` says where"))?;
    Ok(PolicyInput::Valid { path: file, digest: format!("sha256:{}", hex(&Sha256::digest(&bytes))), policy })
}

fn read(path: &Path, objects: &mut Objects) -> Result<(), String> {
    let bytes = read_file(path, MAX_FILE)?;
    if bytes.trim_ascii().is_empty() {
        return Err("is empty".to_owned());
    }
    objects.add_file(&bytes).map_err(|error| word(&error.to_string()))
}

fn read_file(path: &Path, max: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(max + 1).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(max + 1).read_to_end(&mut bytes))
    };
    read.map_err(|error| error.to_string())?;
    if bytes.len() as u64 > max { Err(format!("is longer than {max} bytes")) } else { Ok(bytes) }
}

/// On a terminal only, and not where <https://no-color.org> asks for none.
fn wants_colour() -> bool {
    let asked_not = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stdout().is_terminal() && !asked_not
}
