//! The command line: what lexopt takes apart, as a command with its arguments.

use super::{Command, Exit, TextOrJson, parse_release};
use super::{allow, check, enforce, inspect, report, status, version};
use lexopt::{Arg, Parser};
use std::ffi::{OsStr, OsString};

const HELP: &str = "\
Refuses, at the first boot of an OpenShift node, a boot image that is too old
for its cluster, and says why

Usage: skewguard COMMAND

Commands:
  check    Decide about this node, or about a node's root tree, and print the
           verdict
  enforce  Decide about this node, and hold it back if it is refused;
           skewguard.service runs this
  allow    Let this refused node through, for this boot
  report   Tell the cluster about this node's boot image;
           skewguard-report.service runs this
  status   Say whether this node is held back, since when and why, and who was
           told
  inspect  Decode boot image version strings
  help     Print the help of a command

Options:
  -h, --help     Print help, also of a command
  -V, --version  Print the version; --version also says which build this is

Exit status: 0 proceed or done, 1 could not do it, 2 wrong usage, 3 refused or
held.

On a refused node: read /etc/issue, then run `sudo skewguard check` for all
details. To let it through for this boot: run the command that /etc/issue names,
or boot with skewguard=off on the kernel command line.

Cluster commands, such as the audit, are in `oc skewguard`.
";

/// The end of the reading: a text to print, such as help, or a mistake.
type End = (String, Exit);

/// A command: its name, its help, and what reads its arguments.
type Row = (
    &'static str,
    &'static str,
    fn(&mut Line) -> Result<Command, End>,
);

const COMMANDS: [Row; 6] = [
    ("check", check::HELP, check),
    ("enforce", enforce::HELP, enforce),
    ("allow", allow::HELP, allow),
    ("report", report::HELP, report),
    ("status", status::HELP, status),
    ("inspect", inspect::HELP, inspect),
];

/// Reads a command line, the program's name first.
///
/// # Errors
/// There is a text to print instead: help and version, or what is wrong.
pub(super) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command, End> {
    let mut line = Line {
        parser: Parser::from_iter(args),
        command: "",
        help: HELP,
        given: vec![],
    };
    match line.next()? {
        None => Err((HELP.to_owned(), Exit::Usage)),
        Some(Word::Option(name)) if name == "-V" => Err((version::short(), Exit::Done)),
        Some(Word::Option(name)) if name == "--version" => Err((version::long(), Exit::Done)),
        Some(Word::Argument(name)) if name == "help" => {
            let help = match line.next()? {
                Some(Word::Argument(name)) => line.row(&name)?.1,
                _ => HELP,
            };
            Err((help.to_owned(), Exit::Done))
        }
        Some(Word::Argument(name)) => {
            let &(command, help, read) = line.row(&name)?;
            (line.command, line.help) = (command, help);
            read(&mut line)
        }
        Some(word) => Err(line.unknown(&word)),
    }
}

fn check(line: &mut Line) -> Result<Command, End> {
    let mut args = check::CheckArgs {
        root: "/".into(),
        policy: None,
        aleph: None,
        target: None,
        pool: None,
        output: check::Form::Text,
    };
    while let Some(word) = line.next()? {
        match word.option() {
            "--root" => args.root = line.value()?.into(),
            "--policy" => args.policy = Some(line.value()?.into()),
            "--aleph" => args.aleph = Some(line.value()?.into()),
            "--target" => args.target = Some(line.release()?),
            "--pool" => args.pool = Some(line.value()?.to_string_lossy().into_owned()),
            "--output" => {
                args.output = line.one_of(&[
                    ("text", check::Form::Text),
                    ("json", check::Form::Json),
                    ("issue", check::Form::Issue),
                ])?;
            }
            _ => return Err(line.unknown(&word)),
        }
    }
    Ok(Command::Check(args))
}

fn enforce(line: &mut Line) -> Result<Command, End> {
    let mut args = enforce::EnforceArgs {
        root: "/".into(),
        restore_console: false,
    };
    while let Some(word) = line.next()? {
        match word.option() {
            "--root" => args.root = line.value()?.into(),
            "--restore-console" => args.restore_console = true,
            _ => return Err(line.unknown(&word)),
        }
    }
    Ok(Command::Enforce(args))
}

fn allow(line: &mut Line) -> Result<Command, End> {
    let mut root = "/".into();
    while let Some(word) = line.next()? {
        match word.option() {
            "--root" => root = line.value()?.into(),
            _ => return Err(line.unknown(&word)),
        }
    }
    Ok(Command::Allow(root))
}

fn report(line: &mut Line) -> Result<Command, End> {
    let mut args = report::ReportArgs {
        root: "/".into(),
        kubeconfig: None,
        insecure_skip_tls_verify: false,
        once: false,
    };
    while let Some(word) = line.next()? {
        match word.option() {
            "--root" => args.root = line.value()?.into(),
            "--kubeconfig" => args.kubeconfig = Some(line.value()?.into()),
            "--insecure-skip-tls-verify" => args.insecure_skip_tls_verify = true,
            "--once" => args.once = true,
            _ => return Err(line.unknown(&word)),
        }
    }
    Ok(Command::Report(args))
}

fn status(line: &mut Line) -> Result<Command, End> {
    let mut args = status::StatusArgs {
        root: "/".into(),
        output: TextOrJson::Text,
    };
    while let Some(word) = line.next()? {
        match word.option() {
            "--root" => args.root = line.value()?.into(),
            "--output" => args.output = line.text_or_json()?,
            _ => return Err(line.unknown(&word)),
        }
    }
    Ok(Command::Status(args))
}

fn inspect(line: &mut Line) -> Result<Command, End> {
    let mut args = inspect::InspectArgs {
        versions: vec![],
        output: TextOrJson::Text,
    };
    while let Some(word) = line.next()? {
        match word {
            Word::Argument(version) => args.versions.push(version),
            Word::Option(name) if name == "--output" => args.output = line.text_or_json()?,
            Word::Option(_) => return Err(line.unknown(&word)),
        }
    }
    if args.versions.is_empty() {
        return Err(line.mistake("there is no VERSION to decode"));
    }
    Ok(Command::Inspect(args))
}

/// A part of a command line.
enum Word {
    /// By its long name, with its dashes.
    Option(String),
    Argument(OsString),
}

impl Word {
    /// The option's name; empty if it is no option.
    fn option(&self) -> &str {
        match self {
            Self::Option(name) => name,
            Self::Argument(_) => "",
        }
    }
}

/// The rest of a command line.
struct Line {
    parser: Parser,
    /// The command that is read; empty before its name.
    command: &'static str,
    help: &'static str,
    /// The options so far.
    given: Vec<String>,
}

impl Line {
    /// The next part.
    ///
    /// # Errors
    /// Help is asked for; an option is there twice, or the one before it has a value and takes none.
    fn next(&mut self) -> Result<Option<Word>, End> {
        let word = match self.parser.next() {
            Ok(None) => return Ok(None),
            Ok(Some(Arg::Value(value))) => return Ok(Some(Word::Argument(value))),
            Ok(Some(Arg::Short('h') | Arg::Long("help"))) => {
                return Err((self.help.to_owned(), Exit::Done));
            }
            // The one short name that several commands have.
            Ok(Some(Arg::Short('o'))) => Ok("--output".to_owned()),
            Ok(Some(Arg::Short(name))) => Ok(format!("-{name}")),
            Ok(Some(Arg::Long(name))) => Ok(format!("--{name}")),
            Err(error) => Err(error),
        };
        let name = word.map_err(|error| self.wrong(error))?;
        if self.given.contains(&name) {
            return Err(self.mistake(&format!("{name} is there twice")));
        }
        self.given.push(name.clone());
        Ok(Some(Word::Option(name)))
    }

    /// The value of the option before.
    fn value(&mut self) -> Result<OsString, End> {
        let value = self.parser.value().map_err(|error| self.wrong(error))?;
        if value.is_empty() {
            return Err(self.mistake(&format!("{} needs a value", self.before())));
        }
        Ok(value)
    }

    fn before(&self) -> &str {
        self.given.last().map_or("", String::as_str)
    }

    /// A release of the cluster.
    fn release(&mut self) -> Result<String, End> {
        let value = self.value()?;
        let value = value.to_string_lossy();
        parse_release(&value)
            .map_err(|error| self.mistake(&format!("{} {value}: {error}", self.before())))
    }

    /// A value that is one of these words.
    fn one_of<T: Copy>(&mut self, words: &[(&str, T)]) -> Result<T, End> {
        let value = self.value()?;
        let found = words.iter().find(|(word, _)| value == *word);
        found.map(|(_, meaning)| *meaning).ok_or_else(|| {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.mistake(&format!(
                "{} {}: it can be {}",
                self.before(),
                value.display(),
                words.join(", ")
            ))
        })
    }

    fn text_or_json(&mut self) -> Result<TextOrJson, End> {
        self.one_of(&[("text", TextOrJson::Text), ("json", TextOrJson::Json)])
    }

    /// The command of that name.
    fn row(&self, name: &OsStr) -> Result<&'static Row, End> {
        let found = COMMANDS.iter().find(|(command, _, _)| name == *command);
        found.ok_or_else(|| self.mistake(&format!("there is no command {}", name.display())))
    }

    fn unknown(&self, word: &Word) -> End {
        self.mistake(&match word {
            Word::Option(name) => format!("there is no option {name}"),
            Word::Argument(value) => format!("{}: no argument is expected", value.display()),
        })
    }

    fn wrong(&self, error: lexopt::Error) -> End {
        self.mistake(&match error {
            lexopt::Error::MissingValue { .. } => format!("{} needs a value", self.before()),
            lexopt::Error::UnexpectedValue { option, .. } => format!("{option} takes no value"),
            error => error.to_string(),
        })
    }

    /// A mistake, and where to read how it is meant.
    fn mistake(&self, what: &str) -> End {
        let (gap, command) = (if self.command.is_empty() { "" } else { " " }, self.command);
        let text = format!("skewguard{gap}{command}: {what}; see skewguard{gap}{command} --help\n");
        (text, Exit::Usage)
    }
}
