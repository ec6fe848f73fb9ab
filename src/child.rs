//! Runs a program, and kills it when its time is up.

use std::io::{Error, ErrorKind, Read};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How often a running program is looked at.
const PAUSE: Duration = Duration::from_millis(5);

/// Runs `command` and returns what it printed on stdout. The output must fit into a pipe (64 KiB): a program that prints more blocks, and
/// is killed at `until`.
///
/// # Errors
/// It cannot be started, it fails, or it still runs at `until` (`TimedOut`) and is killed.
pub(crate) fn run(command: &mut Command, until: Instant) -> Result<String, Error> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    loop {
        match child.try_wait()? {
            Some(status) if status.success() => break,
            Some(status) => return Err(Error::other(status.to_string())),
            None if Instant::now() >= until => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(ErrorKind::TimedOut.into());
            }
            None => std::thread::sleep(PAUSE),
        }
    }
    let mut text = String::new();
    if let Some(out) = child.stdout.take() {
        out.take(64 * 1024).read_to_string(&mut text)?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn a_program_that_hangs_fails_or_is_missing_is_an_error() {
        let soon = || Instant::now() + Duration::from_secs(20);
        assert_eq!(run(Command::new("echo").arg("a b"), soon()).unwrap(), "a b\n");
        let failed = run(&mut Command::new("false"), soon()).unwrap_err();
        assert_eq!(failed.to_string(), std::process::ExitStatus::from_raw(0x100).to_string());
        let missing = run(&mut Command::new("/nonexistent/agetty"), soon()).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        let hung = run(Command::new("sleep").arg("1000"), Instant::now() + Duration::from_millis(50)).unwrap_err();
        assert_eq!(hung.kind(), ErrorKind::TimedOut);
    }
}
