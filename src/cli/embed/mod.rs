//! The command line of the build for nodes. clap, which reads it in the full build, is a tenth of a
//! packed program.
//!
//! What it takes is a table. Its help is what clap prints, in files that a test writes, and another
//! test compares both parsers.

#[cfg(test)]
mod tests;

use super::{Command, Exit, TextOrJson};
use super::{allow, check, enforce, inspect, report, status, version};
use clap_lex::{ArgCursor, OsStrExt, ParsedArg, RawArgs};
use std::ffi::{OsStr, OsString};
use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

/// What ends the reading: a result, such as help, or a mistake.
type Stop = (String, Exit);

/// What a command takes, besides `-h` and `--help`.
struct Syntax {
    /// Empty for the program itself: its first argument ends it.
    name: &'static str,
    options: &'static [Opt],
    /// What its arguments are called; empty if it takes none.
    arguments: &'static str,
    /// The texts of `-h` and `--help`.
    help: [&'static str; 2],
}

struct Opt {
    long: &'static str,
    short: Option<char>,
    /// What its value is called; empty if it takes none.
    value: &'static str,
    /// The words that it takes as a value; empty if it takes any.
    words: &'static [&'static str],
}

const fn flag(long: &'static str, short: Option<char>) -> Opt {
    option(long, short, "", &[])
}

const fn path(long: &'static str, value: &'static str) -> Opt {
    option(long, None, value, &[])
}

const fn output(words: &'static [&'static str]) -> Opt {
    option("output", Some('o'), "OUTPUT", words)
}

const fn option(
    long: &'static str,
    short: Option<char>,
    value: &'static str,
    words: &'static [&'static str],
) -> Opt {
    Opt {
        long,
        short,
        value,
        words,
    }
}

macro_rules! syntax {
    ($name:literal, $file:literal, $arguments:literal, [$($option:expr),*]) => {
        Syntax {
            name: $name,
            options: &[$($option),*],
            arguments: $arguments,
            help: [
                include_str!(concat!($file, ".txt")),
                include_str!(concat!($file, "-long.txt")),
            ],
        }
    };
}

const HELP: Opt = flag("help", Some('h'));
const VERSION: Opt = flag("version", Some('V'));
const ROOT: Opt = path("root", "DIR");

static PROGRAM: Syntax = syntax!("", "skewguard", "COMMAND", [VERSION]);
static COMMANDS: [Syntax; 6] = [
    syntax!(
        "check",
        "check",
        "",
        [
            ROOT,
            path("policy", "FILE"),
            path("aleph", "FILE"),
            output(&["text", "json", "issue"])
        ]
    ),
    syntax!(
        "enforce",
        "enforce",
        "",
        [ROOT, flag("restore-console", None)]
    ),
    syntax!("allow", "allow", "", [ROOT]),
    syntax!(
        "report",
        "report",
        "",
        [
            ROOT,
            path("kubeconfig", "FILE"),
            flag("insecure-skip-tls-verify", None),
            flag("once", None)
        ]
    ),
    syntax!("status", "status", "", [ROOT, output(&["text", "json"])]),
    syntax!("inspect", "inspect", "VERSION", [output(&["text", "json"])]),
];

/// Reads a command line, the program's name first.
///
/// # Errors
/// There is a text to print instead: help and version, or what is wrong.
pub(super) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command, Stop> {
    let args = RawArgs::new(args);
    let mut cursor = args.cursor();
    args.next_os(&mut cursor);
    let Some(name) = PROGRAM.read(&args, &mut cursor)?.arguments.pop() else {
        return Err((PROGRAM.help[0].into(), Exit::Usage));
    };
    if name == "help" {
        let syntax = args.next_os(&mut cursor).map_or(Ok(&PROGRAM), named)?;
        return Err((syntax.help[1].into(), Exit::Done));
    }
    let syntax = named(&name)?;
    syntax.command(syntax.read(&args, &mut cursor)?)
}

/// The command of that name.
fn named(name: &OsStr) -> Result<&'static Syntax, Stop> {
    let found = COMMANDS.iter().find(|syntax| name == syntax.name);
    found.ok_or_else(|| PROGRAM.wrong(&format!("unrecognized subcommand '{}'", name.display())))
}

/// What a command line has.
#[derive(Default)]
struct Given {
    /// Each option by its long name, a flag with an empty value.
    options: Vec<(&'static str, OsString)>,
    arguments: Vec<OsString>,
}

impl Given {
    fn take(&mut self, long: &str) -> Option<OsString> {
        let at = self.options.iter().position(|(name, _)| *name == long)?;
        Some(self.options.swap_remove(at).1)
    }

    fn has(&mut self, flag: &str) -> bool {
        self.take(flag).is_some()
    }

    fn path(&mut self, long: &str) -> Option<PathBuf> {
        self.take(long).map(PathBuf::from)
    }

    fn root(&mut self) -> PathBuf {
        self.path("root").unwrap_or_else(|| "/".into())
    }

    fn text_or_json(&mut self) -> TextOrJson {
        match self.take("output") {
            Some(word) if word == "json" => TextOrJson::Json,
            _ => TextOrJson::Text,
        }
    }
}

impl Syntax {
    /// Reads options and arguments to the end, or up to the first argument of the program.
    fn read(&self, args: &RawArgs, cursor: &mut ArgCursor) -> Result<Given, Stop> {
        let mut given = Given::default();
        let mut escaped = false;
        while let Some(arg) = args.next(cursor) {
            if !escaped && arg.is_escape() {
                escaped = true;
            } else if !escaped && let Some((name, value)) = arg.to_long() {
                let name = name.map_or_else(OsStr::to_string_lossy, Into::into);
                let option = self.find(&format!("--{name}"), |option| option.long == name)?;
                let value = self.value(option, value, args, cursor)?;
                self.add(option, value, true, &mut given)?;
            } else if !escaped && let Some(mut shorts) = arg.to_short() {
                while let Some(name) = shorts.next_flag() {
                    let name = name.unwrap_or(char::REPLACEMENT_CHARACTER);
                    let option =
                        self.find(&format!("-{name}"), |option| option.short == Some(name))?;
                    let mut value = None;
                    if !option.value.is_empty() {
                        value = shorts.next_value_os();
                        value = value.map(|value| value.strip_prefix("=").unwrap_or(value));
                    }
                    let value = self.value(option, value, args, cursor)?;
                    self.add(option, value, false, &mut given)?;
                }
            } else if self.arguments.is_empty() {
                return Err(self.unexpected(&arg.display().to_string()));
            } else {
                given.arguments.push(arg.to_value_os().to_owned());
                if self.name.is_empty() {
                    break;
                }
            }
        }
        Ok(given)
    }

    /// The option that was written so.
    fn find(&self, written: &str, is: impl Fn(&Opt) -> bool) -> Result<&Opt, Stop> {
        let mut options = self.options.iter().chain([&HELP]);
        options
            .find(|option| is(option))
            .ok_or_else(|| self.unexpected(written))
    }

    /// The value of an option, which is attached to it or its next argument; none of a flag.
    fn value<'a>(
        &self,
        option: &Opt,
        attached: Option<&'a OsStr>,
        args: &'a RawArgs,
        cursor: &mut ArgCursor,
    ) -> Result<&'a OsStr, Stop> {
        if option.value.is_empty() {
            return match attached {
                None => Ok(OsStr::new("")),
                Some(value) => Err(self.wrong(&format!(
                    "unexpected value '{}' for '{option}' found; no more were expected",
                    value.display()
                ))),
            };
        }
        let is_option =
            |next: &ParsedArg<'_>| next.is_escape() || next.is_long() || next.is_short();
        attached
            .or_else(|| match args.peek(cursor) {
                Some(next) if !is_option(&next) => args.next_os(cursor),
                _ => None,
            })
            .ok_or_else(|| option.wrong(OsStr::new("")))
    }

    /// Takes an option down, or does at once what it asks for.
    fn add(&self, option: &Opt, value: &OsStr, long: bool, given: &mut Given) -> Result<(), Stop> {
        let [short_help, long_help] = self.help;
        let text = match (option.long, long) {
            ("help", false) => short_help.to_owned(),
            ("help", true) => long_help.to_owned(),
            ("version", false) => concat!("skewguard ", env!("CARGO_PKG_VERSION"), "\n").to_owned(),
            ("version", true) => format!("skewguard {}\n", *version::LONG),
            _ => return self.keep(option, value, given),
        };
        Err((text, Exit::Done))
    }

    fn keep(&self, option: &Opt, value: &OsStr, given: &mut Given) -> Result<(), Stop> {
        if given.options.iter().any(|(name, _)| *name == option.long) {
            return Err(self.wrong(&format!(
                "the argument '{option}' cannot be used multiple times"
            )));
        }
        let fits = match option.words {
            [] => !value.is_empty() || option.value.is_empty(),
            words => words.iter().any(|word| value == *word),
        };
        if !fits {
            return Err(option.wrong(value));
        }
        given.options.push((option.long, value.to_owned()));
        Ok(())
    }

    /// What was read, as the arguments of the command.
    fn command(&self, mut given: Given) -> Result<Command, Stop> {
        if !self.arguments.is_empty() && given.arguments.is_empty() {
            return Err(self.wrong(&format!(
                "the following required arguments were not provided:\n  <{}>...",
                self.arguments
            )));
        }
        Ok(match self.name {
            "check" => Command::Check(check::Args {
                root: given.root(),
                policy: given.path("policy"),
                aleph: given.path("aleph"),
                #[cfg(feature = "admin")]
                target: None,
                #[cfg(feature = "admin")]
                pool: None,
                output: match given.take("output") {
                    Some(word) if word == "json" => check::Output::Json,
                    Some(word) if word == "issue" => check::Output::Issue,
                    _ => check::Output::Text,
                },
            }),
            "enforce" => Command::Enforce(enforce::Args {
                root: given.root(),
                restore_console: given.has("restore-console"),
            }),
            "allow" => Command::Allow(allow::Args { root: given.root() }),
            "report" => Command::Report(report::Args {
                root: given.root(),
                kubeconfig: given.path("kubeconfig"),
                insecure_skip_tls_verify: given.has("insecure-skip-tls-verify"),
                once: given.has("once"),
            }),
            "status" => Command::Status(status::Args {
                root: given.root(),
                output: given.text_or_json(),
            }),
            _ => Command::Inspect(inspect::Args {
                output: given.text_or_json(),
                versions: given.arguments,
            }),
        })
    }

    fn unexpected(&self, what: &str) -> Stop {
        self.wrong(&format!("unexpected argument '{what}' found"))
    }

    /// A mistake, with the usage.
    fn wrong(&self, what: &str) -> Stop {
        let [help, _] = self.help;
        let usage = help.lines().find(|line| line.starts_with("Usage: "));
        mistake(&format!("{what}\n\n{}", usage.unwrap_or_default()))
    }
}

impl Opt {
    /// A value that it does not take; empty for none.
    fn wrong(&self, value: &OsStr) -> Stop {
        let mut what = if value.is_empty() {
            format!("a value is required for '{self}' but none was supplied")
        } else {
            format!("invalid value '{}' for '{self}'", value.display())
        };
        if !self.words.is_empty() {
            what += &format!("\n  [possible values: {}]", self.words.join(", "));
        }
        mistake(&what)
    }
}

impl Display for Opt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.value {
            "" => write!(f, "--{}", self.long),
            value => write!(f, "--{} <{value}>", self.long),
        }
    }
}

fn mistake(what: &str) -> Stop {
    let text = format!("error: {what}\n\nFor more information, try '--help'.\n");
    (text, Exit::Usage)
}
