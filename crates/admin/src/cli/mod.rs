//! The command line: one file per command. Only here the parts of the library are put together.

mod audit;
mod check;
mod cluster;
mod completion;
mod inputs;
mod inspect;
mod man;
mod policy;
mod render;
mod schema;
mod why;

pub use skewguard_core::command::{Exit, Io};

use crate::NAME;
pub use crate::forms::terminal::Terminal;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{FromArgMatches, Parser, Subcommand};
use skewguard_cluster::secrets::without_secrets;
use skewguard_core::command::Failure;
use skewguard_core::text::printable_up_to;
use std::ffi::OsString;
use std::io::Write as _;
use std::sync::LazyLock;

/// Checks policies, audits clusters, and prints what to apply to them, so that no OpenShift node
/// installs from a boot image that is too old for its cluster.
#[derive(Debug, Parser)]
#[command(name = NAME, bin_name = "oc skewguard", version, long_version = LONG_VERSION.as_str(), after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Exit status: 0 proceed or done, 1 could not do it, 2 wrong usage, 3 refused; `audit` has more.

SKEWGUARD_POLICY, if set, stands for --policy in every command that takes it.

On nodes the agent runs, `skewguard`; skewguard(1) is about that.";

/// `--version`; `-V` gives the first line only.
static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{}\nbuild: {}, {}\ncommit: {}",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::ARCH,
        std::env::consts::OS,
        option_env!("SKEWGUARD_COMMIT").unwrap_or("unknown"),
    )
});

// Deferred: clap builds only the arguments of the command that runs. Arguments are most of the
// parser's cost, in time and in stack.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Command {
    /// Decide about a boot image under a policy, and print the verdict
    ///
    /// Says whether the policy allows the image of an aleph file, and why, as at a first boot. On a
    /// node `skewguard check` says it of that node.
    Check(check::Args),
    /// Decode boot image version strings
    ///
    /// What a string does not say is shown as unknown and never guessed. Where one of them is no
    /// version that skewguard recognizes, the exit status is 1.
    Inspect(inspect::Args),
    /// Write, check and describe skew policies
    ///
    /// A policy says which boot images the nodes of a cluster may be installed from. It is a JSON
    /// file that reaches the nodes as /etc/skewguard/policy.json in a MachineConfig. At the desk it
    /// may be YAML: `lint`, `check`, `audit` and `render` read that, and nodes get JSON.
    Policy(policy::Args),
    /// Say which sets of machines of a cluster a policy would refuse, before it enforces
    ///
    /// For each MachineSet, ControlPlaneMachineSet and pool: which boot image its next node gets,
    /// how the version of that is known, what the policy says to it, and what to change. Then the
    /// oldest boot image that is still in use, and how to tell the Machine Config Operator of it. A
    /// version that no object says is unknown and never guessed. Nothing is changed.
    Audit(audit::Args),
    /// Say why a Machine did not become a Node
    ///
    /// For each Machine, BareMetalHost and Agent that is older than ten minutes and has no Node: one
    /// sentence, how far it came, what says so, and what to do. Reads what the cluster has: the
    /// Machine, the machine-config-server's log, certificate requests, Events and reports; nodes
    /// need no skewguard for it. What cannot be seen is said. Nothing is changed.
    Why(why::Args),
    /// Print what to apply to a cluster, or to give to Ignition
    ///
    /// For most clusters one MachineConfig with policy, units and binary is all it takes. The other
    /// commands are for binaries that do not fit, for installs without a cluster, and for what the
    /// cluster needs besides. Nothing is applied or changed here.
    Render(render::Args),
    /// Print the JSON Schema (2020-12) of a policy, or of what a command prints as JSON
    ///
    /// Each leaves room for fields of later releases: what is printed only ever grows.
    Schema(schema::Args),
    /// Print the version of this program
    Version,
    /// Print completions for a shell
    ///
    /// The packages install them for all three shells; this is for a binary that was copied.
    Completion(completion::Args),
    /// Write man pages and completions as files, for packages
    #[command(hide = true)]
    Man(man::Args),
}

/// The argument parser.
pub fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

/// Runs one command line, the program's name first, without a terminal.
pub fn run(args: impl IntoIterator<Item = OsString>, io: &mut Io<'_>) -> Exit {
    run_on(Terminal::default(), args, io)
}

/// Runs one command line, the program's name first.
pub fn run_on(
    terminal: Terminal,
    args: impl IntoIterator<Item = OsString>,
    io: &mut Io<'_>,
) -> Exit {
    let args: Vec<OsString> = args.into_iter().collect();
    let command = || command().term_width(terminal.width());
    let parse = |command: clap::Command| {
        let matches = command.try_get_matches_from(&args);
        matches.and_then(|matches| Cli::from_arg_matches(&matches))
    };
    let parsed = parse(command()).or_else(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            parse(with_whole_examples(command()))
        }
        _ => Err(error),
    });
    let command = match parsed {
        Ok(cli) => cli.command,
        Err(error) => {
            let error = with_whole_command(error);
            let exit = if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Done
            };
            return io.end(&error.render().to_string().replace(UNBROKEN, " "), exit);
        }
    };
    let done = match &command {
        Command::Check(args) => check::run(args, io),
        Command::Inspect(args) => inspect::run(args, io),
        Command::Policy(args) => policy::run(args, io),
        Command::Audit(args) => audit::run(args, terminal, io),
        Command::Why(args) => why::run(args, terminal, io),
        Command::Render(args) => render::run(args, io),
        Command::Schema(args) => schema::run(args, io),
        Command::Version => version(io),
        Command::Completion(args) => completion::run(args, &self::command(), io),
        Command::Man(args) => man::run(args, &self::command()),
    };
    io.done(done)
}

/// Makes a panic, of a library too, end the program in one sentence, with the status of an error. Without
/// it each would have its own words and a status that no page names.
pub fn end_panics_in_a_sentence() {
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let said = payload.downcast_ref::<&str>().copied();
        let said = said.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let said = without_secrets(said.unwrap_or("without words"));
        let at = panic.location().map(ToString::to_string);
        let _ = writeln!(
            std::io::stderr(),
            "skewguard: this is a fault of {NAME} {}: {} (at {}). Nothing was changed in the cluster. Please report it, with this line",
            env!("CARGO_PKG_VERSION"),
            printable_up_to(&said, 300),
            at.as_deref().unwrap_or("an unknown place"),
        );
        std::process::exit(Exit::Failed as i32);
    }));
}

/// A command that is asked for without the one that it is of: `policy lint`, where `lint` was written.
fn with_whole_command(mut error: clap::Error) -> clap::Error {
    let mut all = command();
    all.build();
    let whole = error.get(ContextKind::InvalidSubcommand).and_then(|asked| {
        let asked = asked.to_string();
        let mut all = all.get_subcommands();
        let of = all.find(|of| of.find_subcommand(&asked).is_some())?;
        Some(format!("{} {asked}", of.get_name()))
    });
    if let Some(whole) = whole {
        let whole = ContextValue::Strings(vec![whole]);
        error.insert(ContextKind::SuggestedSubcommand, whole);
    }
    error
}

/// A space at which no line is broken.
const UNBROKEN: char = '\u{a0}';

/// The parser with help whose examples, the lines that are indented, stay as they are: they are copied.
fn with_whole_examples(mut command: clap::Command) -> clap::Command {
    fn whole(command: clap::Command) -> clap::Command {
        let line = |line: &str| match line.starts_with("  ") {
            true => line.replace(' ', &UNBROKEN.to_string()),
            false => line.to_owned(),
        };
        let command = match command.get_after_help().map(ToString::to_string) {
            Some(help) => {
                let lines: Vec<String> = help.lines().map(line).collect();
                command.after_help(lines.join("\n"))
            }
            None => command,
        };
        command.mut_subcommands(whole)
    }
    command.build();
    whole(command)
}

fn version(io: &mut Io<'_>) -> Result<Exit, Failure> {
    writeln!(io.out, "{NAME} {}", LONG_VERSION.as_str())?;
    Ok(Exit::Done)
}
