//! The console of the running system: its login prompts, `/dev/console` and the kernel log. Nothing here may hold up a boot.

use super::message::{self, Context};
use crate::verdict::{Outcome, Verdict};
use nix::fcntl::OFlag;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Where util-linux installs it on RHEL 8 to 10.
const AGETTY: &str = "/usr/sbin/agetty";

/// How long `agetty --reload` may take; it touches one file.
const RELOAD_MAX: Duration = Duration::from_secs(2);

/// Makes waiting login prompts print `/etc/issue` anew (agetty(8), `--reload`, since util-linux 2.26).
///
/// # Errors
/// It cannot be run, fails, or takes longer than two seconds; then it is ended.
pub fn reload_prompts() -> Result<(), Error> {
    run_bounded(Command::new(AGETTY).arg("--reload"), RELOAD_MAX)
}

fn run_bounded(command: &mut Command, most: Duration) -> Result<(), Error> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let until = Instant::now() + most;
    loop {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(Error::other(format!("{AGETTY} --reload: {status}"))),
            None if Instant::now() >= until => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(ErrorKind::TimedOut.into());
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// Writes the short form to `/dev/console` and one line to the kernel log, which reaches every `console=`. Nothing where there is nothing to
/// say; what cannot be written is let go.
pub fn announce(verdict: &Verdict, context: &Context) {
    if !message::is_shown(verdict) {
        return;
    }
    if let Ok(mut kmsg) = open_device("/dev/kmsg") {
        let _ = write_kernel_log(&mut kmsg, verdict);
    }
    if let Ok(mut console) = open_device("/dev/console") {
        let _ = write_console(&mut console, verdict, context);
    }
}

/// The short form with the line ends of a terminal that may be in raw mode.
///
/// # Errors
/// The writer's.
pub fn write_console(console: &mut dyn Write, verdict: &Verdict, context: &Context) -> Result<(), Error> {
    let text = message::short(verdict, context);
    console.write_all(format!("\r\n{}", text.replace('\n', "\r\n")).as_bytes())
}

/// One record, in one write as kmsg wants it: `<priority>text`. 3 is an error, 4 a warning (syslog(2)).
///
/// # Errors
/// The writer's.
pub fn write_kernel_log(kmsg: &mut dyn Write, verdict: &Verdict) -> Result<(), Error> {
    let priority = if verdict.blocks() && verdict.verdict == Outcome::Refused { 3 } else { 4 };
    kmsg.write_all(format!("<{priority}>{}\n", message::kernel_log(verdict)).as_bytes())
}

/// Opens a character device for writing: without waiting for it, and without making it the controlling terminal.
fn open_device(path: &str) -> Result<File, Error> {
    let flags = (OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC).bits();
    let file = OpenOptions::new().write(true).custom_flags(flags).open(path)?;
    if file.metadata()?.file_type().is_char_device() { Ok(file) } else { Err(ErrorKind::InvalidInput.into()) }
}
