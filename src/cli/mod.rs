//! The command line: one file per command. Only here the parts of the library are put together.

#[cfg(target_os = "linux")]
mod allow;
#[cfg(feature = "admin")]
mod audit;
#[cfg(target_os = "linux")]
mod change;
mod check;
#[cfg(feature = "admin")]
mod completion;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(any(test, not(feature = "admin")))]
mod embed;
#[cfg(target_os = "linux")]
mod enforce;
mod inspect;
mod lines;
#[cfg(feature = "admin")]
mod policy;
#[cfg(feature = "admin")]
mod render;
#[cfg(target_os = "linux")]
mod report;
#[cfg(feature = "admin")]
mod schema;
#[cfg(target_os = "linux")]
mod status;
mod version;

use crate::node::Root;
use crate::node::named::name as named;
#[cfg(not(feature = "admin"))]
use crate::node::named::read as read_named;
use crate::node::policy::input;
use crate::policy::MAX_BYTES;
use crate::text::bounded;
use crate::verdict::PolicyInput;
#[cfg(feature = "admin")]
use crate::{
    admin::lint::{Severity, lint},
    admin::render::size::figure,
    admin::yaml::for_nodes,
    node::named::read_start,
    version::Release,
};
#[cfg(feature = "admin")]
use clap::{Parser, Subcommand, ValueEnum};
#[cfg(not(target_os = "linux"))]
use elsewhere::{self as allow, self as enforce, self as report, self as status};
#[cfg(not(feature = "admin"))]
use embed::parse;
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

/// The outcome of a command. The numbers are its exit status, and stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Proceed, or done.
    Done = 0,
    /// It could not be done.
    Failed = 1,
    /// Wrong usage.
    Usage = 2,
    /// Refused: the action is `Block`. For `audit`: something would be refused.
    Refused = 3,
    /// For `audit`: nothing would be refused, and something is unknown.
    Unknown = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        (exit as u8).into()
    }
}

/// Why a command could not do its work. It displays as a complete message, with the remedy.
pub(crate) type Failure = Box<dyn std::error::Error>;

/// Longest line of a mistake in the arguments, in bytes.
const LINE_MAX: usize = 1000;

/// Where a command writes. Passed in, so that whole commands are tested without a process.
pub struct Io<'a> {
    pub out: &'a mut dyn Write,
    pub err: &'a mut dyn Write,
}

impl Io<'_> {
    /// Writes one line to stderr. If that is closed, the line is lost.
    fn say(&mut self, what: impl Display) {
        let _ = writeln!(self.err, "skewguard: {what}");
    }

    /// Writes the error, if there is one.
    fn note<E: Display>(&mut self, done: Result<(), E>) {
        if let Err(error) = done {
            self.say(error);
        }
    }
}

/// Refuses, at the first boot of an OpenShift node, a boot image that is too old for its cluster,
/// and says why.
#[cfg(feature = "admin")]
#[derive(Debug, Parser)]
#[command(name = "skewguard", bin_name = "skewguard", version, long_version = version::LONG.as_str(), max_term_width = 100, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[cfg(feature = "admin")]
const AFTER_HELP: &str = "\
Exit status: 0 proceed or done, 1 could not do it, 2 wrong usage, 3 refused or held; `audit` has more.

On a refused node: read /etc/issue, then run `sudo skewguard check` for all details. To let it through for this boot: run \
the command that /etc/issue names, or boot with skewguard=off on the kernel command line.";

// Deferred: clap builds only the arguments of the command that runs. Arguments are most of the
// parser's cost, in time and in stack.
#[derive(Debug)]
#[cfg_attr(feature = "admin", derive(Subcommand), command(defer = true))]
enum Command {
    /// Decide about this node, or about a node's root tree, and print the verdict
    ///
    /// Reads which boot image the node was installed from and which skew policy its cluster served,
    /// and says whether the policy allows the image, and why. Changes nothing, on the node or in
    /// the cluster.
    Check(check::Args),
    /// Decide about this node, and hold it back if it is refused; skewguard.service runs this
    ///
    /// On a refusal the OS update and the kubelet are held back for this boot, the reason is put on
    /// the console and in the journal, and the verdict is left in /run/skewguard/verdict.json and
    /// /var/lib/skewguard/verdict.json. Otherwise nothing is held and the boot goes on. Once the
    /// first boot is finished it only removes its message from the console.
    Enforce(enforce::Args),
    /// Let this refused node through, for this boot
    ///
    /// The refusal is lifted, its message is removed from the console, and the boot goes on where
    /// it was held: first the OS update, which reboots the node, then the kubelet. If the node
    /// reboots without having been updated, it is refused again. What was found stays on record.
    Allow(allow::Args),
    /// Tell the cluster about this node's boot image; skewguard-report.service runs this
    ///
    /// If a node was refused or warned about, or could not be checked, it creates a BootImageReport
    /// and an Event before it joins, with the bootstrap credentials in its config. A node that has
    /// joined labels its own Node. What was delivered is recorded in /var/lib/skewguard and not
    /// repeated; the rest is tried again, as long as it takes, and on later boots.
    Report(report::Args),
    /// Say whether this node is held back, since when and why, and who was told
    ///
    /// Reads what the services left on this boot, or on the first boot where that is over. Decides
    /// nothing and changes nothing.
    Status(status::Args),
    /// Decode boot image version strings
    ///
    /// What a string does not say is shown as unknown and never guessed. A string of no known
    /// scheme is an answer, not an error.
    Inspect(inspect::Args),
    /// Write, check and describe skew policies
    ///
    /// A policy says which boot images the nodes of a cluster may be installed from. It is a JSON
    /// file that reaches the nodes as /etc/skewguard/policy.json in a MachineConfig. At the desk it
    /// may be YAML: `lint`, `check`, `audit` and `render` read that, and nodes get JSON.
    #[cfg(feature = "admin")]
    Policy(policy::Args),
    /// Say which sets of machines of a cluster a policy would refuse, before it enforces
    ///
    /// For each MachineSet, ControlPlaneMachineSet and pool: which boot image its next node gets,
    /// how the version of that is known, what the policy says to it, and what to change. Then the
    /// oldest boot image that is still in use, and how to tell the Machine Config Operator of it. A
    /// version that no object says is unknown and never guessed. Nothing is changed.
    #[cfg(feature = "admin")]
    Audit(audit::Args),
    /// Print what to apply to a cluster, or to give to Ignition
    ///
    /// For most clusters one MachineConfig with policy, units and binary is all it takes. The other
    /// commands are for binaries that do not fit, for installs without a cluster, and for what the
    /// cluster needs besides. Nothing is applied or changed here.
    #[cfg(feature = "admin")]
    Render(render::Args),
    /// Print the JSON Schema (2020-12) of a policy, or of what a command prints as JSON
    ///
    /// Each leaves room for fields of later releases: what is printed only ever grows.
    #[cfg(feature = "admin")]
    Schema(schema::Args),
    /// Print completions for a shell
    ///
    /// The packages install them for all three shells; this is for a binary that was copied.
    #[cfg(feature = "admin")]
    Completion(completion::Args),
}

/// The form of results that people and scripts both read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "admin", derive(ValueEnum))]
pub(crate) enum TextOrJson {
    /// For a person.
    Text,
    /// For a script; fields are only ever added.
    Json,
}

/// The argument parser of the full build, for man pages and completions.
#[cfg(feature = "admin")]
pub fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

/// What a command line says, else a text to print and the exit status.
#[cfg(feature = "admin")]
fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command, (String, Exit)> {
    let cli = Cli::try_parse_from(args).map_err(|error| {
        let exit = if error.use_stderr() {
            Exit::Usage
        } else {
            Exit::Done
        };
        (error.render().to_string(), exit)
    })?;
    Ok(cli.command)
}

/// Runs one command line, the program's name first.
pub fn run(args: impl IntoIterator<Item = OsString>, io: &mut Io<'_>) -> Exit {
    let command = match parse(args) {
        Ok(command) => command,
        Err((text, exit)) => {
            // Help and version are results, not errors. A mistake quotes what was written.
            if exit != Exit::Done {
                let lines: Vec<String> = text
                    .split('\n')
                    .map(|line| bounded(line, LINE_MAX))
                    .collect();
                let _ = write!(io.err, "{}", lines.join("\n"));
                return exit;
            }
            return match write!(io.out, "{text}").and_then(|()| io.out.flush()) {
                Err(error) => failed(&error, io),
                Ok(()) => exit,
            };
        }
    };
    let done = match &command {
        Command::Check(args) => check::run(args, io),
        Command::Enforce(args) => enforce::run(args, io),
        Command::Allow(args) => allow::run(args, io),
        Command::Report(args) => report::run(args, io),
        Command::Status(args) => status::run(args, io),
        Command::Inspect(args) => inspect::run(args, io),
        #[cfg(feature = "admin")]
        Command::Policy(args) => policy::run(args, io),
        #[cfg(feature = "admin")]
        Command::Audit(args) => audit::run(args, io),
        #[cfg(feature = "admin")]
        Command::Render(args) => render::run(args, io),
        #[cfg(feature = "admin")]
        Command::Schema(args) => schema::run(args, io),
        #[cfg(feature = "admin")]
        Command::Completion(args) => completion::run(args, io),
    };
    let done = done.and_then(|exit| {
        io.out.flush()?;
        Ok(exit)
    });
    done.unwrap_or_else(|failure| failed(failure.as_ref(), io))
}

/// A command that could not do its work, or not print it. What fails with a bare I/O error is the
/// output: all other errors name a file or a server.
fn failed(failure: &(dyn std::error::Error + 'static), io: &mut Io<'_>) -> Exit {
    match failure.downcast_ref::<std::io::Error>() {
        // As in `skewguard check | head -1`: nobody reads it any more, which is not worth an error.
        Some(error) if error.kind() == ErrorKind::BrokenPipe => {}
        Some(error) => io.say(format_args!("standard output: {error}")),
        None => io.say(failure),
    }
    Exit::Failed
}

/// Refuses that standard input is named twice: the second would find nothing in it.
fn read_once<'a>(files: impl IntoIterator<Item = &'a Path>) -> Result<(), String> {
    let is_stdin = |file: &&Path| [Path::new("-"), Path::new("/dev/stdin")].contains(file);
    match files.into_iter().filter(is_stdin).count() {
        0 | 1 => Ok(()),
        _ => Err("standard input can be read once: name a file for the others".to_owned()),
    }
}

/// Opens the directory of `--root`.
fn open(root: &Path) -> Result<Root, String> {
    Root::open(root).map_err(|error| format!("--root {}: {error}", named(root)))
}

/// What requests run in.
#[cfg(any(feature = "admin", target_os = "linux"))]
fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no request can be made: {error}"))
}

/// A release on the command line; `4.22` counts as `4.22.0`.
#[cfg(feature = "admin")]
fn parse_release(text: &str) -> Result<String, String> {
    let whole = if text.matches('.').count() == 1 {
        format!("{text}.0")
    } else {
        text.to_owned()
    };
    whole
        .parse::<Release>()
        .map(|_| whole)
        .map_err(|error| error.to_string())
}

/// A policy that a person named. A node makes the best of a policy's mistakes; here each of them is
/// an error.
///
/// # Errors
/// It cannot be read, or lint finds an error in it. The text names the file.
#[cfg(feature = "admin")]
fn named_policy(path: &Path) -> Result<PolicyInput, Failure> {
    let file = named(path);
    let bytes = read_file(path, MAX_BYTES).map_err(|error| format!("--policy {file}: {error}"))?;
    let report = lint(&bytes);
    if report.errors > 0 {
        let errors: String = report
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .map(|finding| format!("\n{}", finding.shown(&file).trim_end()))
            .collect();
        return Err(
            format!("--policy {file}: nodes would not be judged by all of it{errors}").into(),
        );
    }
    Ok(input(&file, &for_nodes(bytes)))
}

/// A policy that a person named. This build has no lint, and judges by what is understood of it.
///
/// # Errors
/// It cannot be read, or is no policy. The text names the file.
#[cfg(not(feature = "admin"))]
fn named_policy(path: &Path) -> Result<PolicyInput, Failure> {
    let bytes = read_named(path, MAX_BYTES).map_err(|error| format!("--policy {error}"))?;
    let file = named(path);
    match input(&file, &bytes) {
        PolicyInput::Invalid { error, .. } => Err(format!("--policy {file}: {error}").into()),
        policy => Ok(policy),
    }
}

/// [`read_start`] of a whole file.
///
/// # Errors
/// It cannot be read, or is larger than `max` bytes. The text does not name it.
#[cfg(feature = "admin")]
fn read_file(path: &Path, max: u64) -> Result<Vec<u8>, String> {
    let bytes = read_start(path, max).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > max {
        Err(format!("is larger than {} bytes", figure(max)))
    } else {
        Ok(bytes)
    }
}
