//! Parts of every command of both programs: where it writes, how it fails, its exit status.

use crate::text::bounded;
use crate::version::Release;
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

/// Reason why a command failed. It displays as a complete message, with the remedy.
pub type Failure = Box<dyn std::error::Error>;

/// Longest line of a mistake in the arguments, in bytes.
const LINE_MAX: usize = 1000;

/// Outputs of a command. Passed in, so that whole commands are tested without a process.
pub struct Io<'a> {
    pub out: &'a mut dyn Write,
    pub err: &'a mut dyn Write,
}

impl Io<'_> {
    /// Writes one line to stderr. If that is closed, the line is lost.
    pub fn say(&mut self, what: impl Display) {
        let _ = writeln!(self.err, "skewguard: {what}");
    }

    /// Writes the error, if there is one.
    pub fn note<E: Display>(&mut self, done: Result<(), E>) {
        if let Err(error) = done {
            self.say(error);
        }
    }

    /// Ends a command line that is not run: help and version are results. A mistake is an error,
    /// and quotes what was written.
    pub fn end(&mut self, text: &str, exit: Exit) -> Exit {
        if exit != Exit::Done {
            let lines: Vec<String> = text
                .split('\n')
                .map(|line| bounded(line, LINE_MAX))
                .collect();
            let _ = write!(self.err, "{}", lines.join("\n"));
            return exit;
        }
        match write!(self.out, "{text}").and_then(|()| self.out.flush()) {
            Err(error) => self.failed(&error),
            Ok(()) => exit,
        }
    }

    /// Ends a command that was run.
    pub fn done(&mut self, done: Result<Exit, Failure>) -> Exit {
        let done = done.and_then(|exit| {
            self.out.flush()?;
            Ok(exit)
        });
        done.unwrap_or_else(|failure| self.failed(failure.as_ref()))
    }

    /// A command that could not do its work, or not print it. What fails with a bare I/O error is
    /// the output: all other errors name a file or a server.
    fn failed(&mut self, failure: &(dyn std::error::Error + 'static)) -> Exit {
        match failure.downcast_ref::<std::io::Error>() {
            // As in `skewguard check | head -1`: nobody reads it any more, which is not worth an
            // error.
            Some(error) if error.kind() == ErrorKind::BrokenPipe => {}
            Some(error) => {
                let text = error.to_string();
                let what = text.split(" (os error ").next().unwrap_or_default();
                self.say(format_args!("standard output: {what}"));
            }
            None => self.say(failure),
        }
        Exit::Failed
    }
}

/// Refuses that standard input is named twice: the second would find nothing in it.
///
/// # Errors
/// It is named twice.
pub fn read_once<'a>(files: impl IntoIterator<Item = &'a Path>) -> Result<(), String> {
    let is_stdin = |file: &&Path| [Path::new("-"), Path::new("/dev/stdin")].contains(file);
    match files.into_iter().filter(is_stdin).count() {
        0 | 1 => Ok(()),
        _ => Err("standard input can be read once: name a file for the others".to_owned()),
    }
}

/// A release on the command line; `4.22` is `4.22.0`.
///
/// # Errors
/// It is no release.
pub fn parse_release(text: &str) -> Result<String, String> {
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
