//! The `kubectl-skewguard` command, which `oc skewguard` runs: arguments in, exit status out.
//! Everything else is in the library.

use skewguard_admin::cli::{Io, Terminal, end_panics_in_a_sentence, run_on};
use std::io::{ErrorKind, Result, StdoutLock, Write};
use std::process::ExitCode;

/// Standard output. Where nobody reads it any more, as behind `| head`, the rest is dropped, and the
/// exit status stays what it is.
struct Output(StdoutLock<'static>);

/// The result, if nobody reads it any more.
fn unless_closed<T>(done: Result<T>, lost: T) -> Result<T> {
    match done {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(lost),
        done => done,
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        unless_closed(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        unless_closed(self.0.flush(), ())
    }
}

fn main() -> ExitCode {
    end_panics_in_a_sentence();
    let (mut out, mut err) = (Output(std::io::stdout().lock()), std::io::stderr());
    run_on(
        Terminal::of_stdout(),
        std::env::args_os(),
        &mut Io {
            out: &mut out,
            err: &mut err,
        },
    )
    .into()
}
