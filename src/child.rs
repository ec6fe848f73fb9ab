//! Runs a program in a process group of its own, and ends the whole group when the program has
//! ended or its time is up.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use std::io::{Error, ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Pause between two looks at a running program, in milliseconds.
const PAUSE: u8 = 5;

/// The most that a program may print, in bytes.
const MAX_OUTPUT: usize = 64 * 1024;

/// The most that is kept of the end of what a program printed, in bytes.
const MAX_TAIL: usize = 256 * 1024;

/// The most that is kept of one line of it, in bytes.
const MAX_LINE: usize = 8 * 1024;

/// Runs `command` and returns what it printed on stdout until it ended. A child that it leaves
/// behind is ended, too, even if that still has stdout open.
///
/// # Errors
/// It cannot be started, it fails, it prints more than 64 KiB or no UTF-8, or it still runs at
/// `until` (`TimedOut`).
pub(crate) fn run(command: &mut Command, until: Instant) -> Result<String, Error> {
    let mut output = Vec::new();
    read(command, until, |chunk| {
        output.extend_from_slice(chunk);
        if output.len() > MAX_OUTPUT {
            return Err(Error::other("printed more than 64 KiB"));
        }
        Ok(())
    })?;
    String::from_utf8(output)
        .map_err(|_| Error::new(ErrorKind::InvalidData, "printed what is not UTF-8"))
}

/// Runs `command` and returns the end of what it printed on stdout, in any encoding: at most 256
/// KiB, and of each line at most 8 KiB. Otherwise as [`run`].
///
/// # Errors
/// It cannot be started, it fails, or it still runs at `until` (`TimedOut`).
pub(crate) fn run_for_tail(command: &mut Command, until: Instant) -> Result<Vec<u8>, Error> {
    let mut tail = Tail::default();
    read(command, until, |chunk| {
        tail.add(chunk);
        Ok(())
    })?;
    tail.cut(MAX_TAIL);
    Ok(tail.kept)
}

/// The end of a text.
#[derive(Default)]
struct Tail {
    kept: Vec<u8>,
    /// The length of the last line.
    line: usize,
}

impl Tail {
    fn add(&mut self, chunk: &[u8]) {
        for byte in chunk {
            self.line = if *byte == b'\n' { 0 } else { self.line + 1 };
            if self.line <= MAX_LINE {
                self.kept.push(*byte);
            }
        }
        if self.kept.len() > 2 * MAX_TAIL {
            self.cut(MAX_TAIL);
        }
    }

    fn cut(&mut self, max: usize) {
        self.kept.drain(..self.kept.len().saturating_sub(max));
    }
}

/// Runs `command`, and gives `add` what it prints on stdout.
fn read(
    command: &mut Command,
    until: Instant,
    mut add: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut group = Group::spawn(
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null()),
    )?;
    let mut pipe = group.child.stdout.take();
    let mut chunk = [0; 4096];
    loop {
        // Looked at first: what it wrote before its end is then in the pipe.
        let has_ended = group.has_ended()?;
        let pause = if has_ended { 0 } else { PAUSE };
        let readable = match &pipe {
            Some(pipe) => is_readable(pipe, pause)?,
            None => false,
        };
        if readable && let Some(open) = &mut pipe {
            match open.read(&mut chunk)? {
                0 => pipe = None,
                read => add(chunk.get(..read).unwrap_or_default())?,
            }
        } else if has_ended {
            break;
        } else if pipe.is_none() {
            std::thread::sleep(Duration::from_millis(PAUSE.into()));
        }
        if Instant::now() >= until && !has_ended {
            return Err(ErrorKind::TimedOut.into());
        }
    }
    match group.end()? {
        status if status.success() => Ok(()),
        status => Err(Error::other(status.to_string())),
    }
}

/// Waits up to `pause` milliseconds for something to read, or the end.
fn is_readable(pipe: &impl AsFd, pause: u8) -> Result<bool, Error> {
    let mut fds = [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)];
    match poll(&mut fds, PollTimeout::from(pause)) {
        Ok(ready) => Ok(ready > 0),
        Err(nix::errno::Errno::EINTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// A running program and whatever it started. Dropping it ends all of them.
pub(crate) struct Group {
    pub(crate) child: Child,
}

impl Group {
    pub(crate) fn spawn(command: &mut Command) -> Result<Self, Error> {
        let child = command.process_group(0).spawn()?;
        Ok(Self { child })
    }

    fn id(&self) -> Pid {
        // Linux has no process id above 2^22.
        Pid::from_raw(i32::try_from(self.child.id()).unwrap_or(i32::MAX))
    }

    /// Asks if the program has ended. It is not reaped yet, so that no other group can have its
    /// number.
    pub(crate) fn has_ended(&self) -> Result<bool, Error> {
        let how = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        match waitid(Id::Pid(self.id()), how) {
            Ok(WaitStatus::StillAlive) | Err(nix::errno::Errno::EINTR) => Ok(false),
            Ok(_) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends what is left of the group, and says how the program itself ended.
    pub(crate) fn end(mut self) -> Result<ExitStatus, Error> {
        self.kill();
        self.child.wait()
    }

    /// Does nothing to a program that has ended and not been reaped.
    fn kill(&self) {
        let _ = killpg(self.id(), Signal::SIGKILL);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Reaped already: `wait` keeps the status, and the number may be another's.
        if self.has_ended().is_ok() {
            self.kill();
        }
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn a_program_that_hangs_fails_or_is_missing_is_an_error() {
        let soon = || Instant::now() + Duration::from_secs(20);
        assert_eq!(
            run(Command::new("echo").arg("a b"), soon()).unwrap(),
            "a b\n"
        );
        let failed = run(&mut Command::new("false"), soon()).unwrap_err();
        assert_eq!(
            failed.to_string(),
            std::process::ExitStatus::from_raw(0x100).to_string()
        );
        let missing = run(&mut Command::new("/nonexistent/agetty"), soon()).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        let hung = run(
            Command::new("sleep").arg("1000"),
            Instant::now() + Duration::from_millis(50),
        )
        .unwrap_err();
        assert_eq!(hung.kind(), ErrorKind::TimedOut);
    }

    /// A shell that leaves a child with its stdout open: its own output counts, and the child is
    /// gone.
    #[test]
    fn what_a_program_leaves_behind_is_ended() {
        let dir = tempfile::tempdir().unwrap();
        let began = Instant::now();
        let mut command = Command::new("sh");
        command
            .current_dir(dir.path())
            .args(["-c", "echo whole; sleep 1000 & echo $! >left; printf end"]);
        assert_eq!(
            run(&mut command, began + Duration::from_secs(60)).unwrap(),
            "whole\nend"
        );
        assert!(began.elapsed() < Duration::from_secs(30));
        assert_gone(&dir.path().join("left"));
    }

    /// The same where the program itself does not end: all of them are ended at the deadline.
    #[test]
    fn at_the_deadline_the_whole_group_is_ended() {
        let dir = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command
            .current_dir(dir.path())
            .args(["-c", "sleep 1000 & echo $! >left; wait"]);
        let hung = run(&mut command, Instant::now() + Duration::from_millis(500)).unwrap_err();
        assert_eq!(hung.kind(), ErrorKind::TimedOut);
        assert_gone(&dir.path().join("left"));
    }

    #[test]
    fn more_than_fits_into_a_pipe_is_read_up_to_the_bound() {
        let soon = || Instant::now() + Duration::from_secs(20);
        let print = |bytes: usize| {
            run(
                Command::new("head").args(["-c", &bytes.to_string(), "/dev/zero"]),
                soon(),
            )
        };
        assert_eq!(print(64 * 1024).unwrap().len(), 64 * 1024);
        assert_eq!(
            print(1 << 20).unwrap_err().to_string(),
            "printed more than 64 KiB"
        );
        let binary = run(Command::new("printf").arg("\\377"), soon()).unwrap_err();
        assert_eq!(binary.to_string(), "printed what is not UTF-8");
    }

    #[test]
    fn the_tail_is_cut_by_lines_and_keeps_any_byte() {
        let soon = Instant::now() + Duration::from_secs(20);
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "yes | head -c 1000000; printf '\\377'; head -c 100000 /dev/zero; printf '\\nend'",
        ]);
        let tail = run_for_tail(&mut command, soon).unwrap();
        assert_eq!(tail.len(), MAX_TAIL);
        let mut lines = tail.rsplit(|byte| *byte == b'\n');
        assert_eq!(lines.next(), Some(&b"end"[..]));
        let long = lines.next().unwrap();
        assert_eq!((long.len(), long[0]), (MAX_LINE, 0xff));
        assert_eq!(lines.next(), Some(&b"y"[..]));
    }

    fn assert_gone(file: &std::path::Path) {
        let id = std::fs::read_to_string(file).unwrap();
        let stat = format!("/proc/{}/stat", id.trim());
        let is_there = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
        for _ in 0..400 {
            if !is_there() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("{stat} is still there");
    }
}
