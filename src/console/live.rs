//! The consoles of the running system: login prompts, `/dev/console` and the kernel log. Nothing
//! here may delay a boot.

use super::context::Context;
use super::message;
use crate::child;
use crate::node::{FileError, Root};
use crate::verdict::Verdict;
use crate::verdict::words::Level;
use nix::fcntl::OFlag;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// agetty(8), in RHEL 8 to 10.
const AGETTY: &str = "/usr/sbin/agetty";

/// Longest run of `agetty --reload`. All it does is touch a file.
const RELOAD_MAX: Duration = Duration::from_secs(2);

/// The file that waiting agettys watch.
const RELOAD_FILE: &str = "/run/agetty.reload";

/// Passes on the outcome of changing the message. If it was changed on the running system, the
/// login prompts are printed again.
pub(crate) fn show_change(
    root: &Root,
    changed: Result<bool, FileError>,
) -> Result<(), Box<dyn std::error::Error>> {
    // Also where it was changed in part.
    let reloaded = if !matches!(changed, Ok(false)) && root.is_live() {
        reload_prompts()
    } else {
        Ok(())
    };
    changed?;
    Ok(reloaded?)
}

/// Makes waiting login prompts print `/etc/issue` again (agetty(8), `--reload`, since util-linux
/// 2.26). If the file that they watch does not exist, none is waiting, and we must not make it: it
/// would get an SELinux type that they may not watch.
///
/// # Errors
/// agetty cannot be run, fails, or takes longer than two seconds and is killed.
pub(crate) fn reload_prompts() -> Result<(), Error> {
    if !Path::new(RELOAD_FILE).exists() {
        return Ok(());
    }
    let done = child::run(
        Command::new(AGETTY).arg("--reload"),
        Instant::now() + RELOAD_MAX,
    );
    done.map(drop)
        .map_err(|error| Error::new(error.kind(), format!("{AGETTY} --reload: {error}")))
}

/// Writes the short form of the message to `/dev/console`, and one line to the kernel log, which
/// appears on every `console=`. Does nothing if the verdict has no message. Errors are ignored.
pub(crate) fn announce(verdict: &Verdict, context: &Context) {
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

/// Writes one line to `/dev/console` and to the kernel log. Errors are ignored.
pub(crate) fn announce_line(line: &str) {
    for (device, before, end) in [("/dev/kmsg", "<3>", "\n"), ("/dev/console", "\r\n", "\r\n")] {
        if let Ok(mut device) = open_device(device) {
            let _ = device.write_all(format!("{before}skewguard: {line}{end}").as_bytes());
        }
    }
}

/// Writes the short form with CR LF, because the terminal may be in raw mode.
fn write_console(
    console: &mut dyn Write,
    verdict: &Verdict,
    context: &Context,
) -> Result<(), Error> {
    let text = message::short(verdict, context);
    console.write_all(format!("\r\n{}", text.replace('\n', "\r\n")).as_bytes())
}

/// Writes one record, `<priority>text`, in a single write as kmsg requires. 3 is an error, 4 a
/// warning (syslog(2)).
fn write_kernel_log(kmsg: &mut dyn Write, verdict: &Verdict) -> Result<(), Error> {
    let priority = match verdict.fate_words().level {
        Level::Error => 3,
        Level::Warning | Level::Info => 4,
    };
    kmsg.write_all(format!("<{priority}>{}\n", message::kernel_log(verdict)).as_bytes())
}

/// Opens a character device for writing, without waiting for it and without making it the
/// controlling terminal.
fn open_device(path: &str) -> Result<File, Error> {
    let flags = (OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC).bits();
    let file = OpenOptions::new()
        .write(true)
        .custom_flags(flags)
        .open(path)?;
    if file.metadata()?.file_type().is_char_device() {
        Ok(file)
    } else {
        Err(ErrorKind::InvalidInput.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::{Facts, Machine, PolicyInput, TargetInput, decide};

    /// Counts writes: a record of the kernel log is one of them.
    #[derive(Default)]
    struct Writes(Vec<String>);

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> Result<usize, Error> {
            self.0.push(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> Result<(), Error> {
            Ok(())
        }
    }

    fn refused() -> Verdict {
        let policy = br#"{ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce",
            "onUndetermined": "Refuse", "limits": [ { "minimumOCPVersion": "4.13.0" } ] }"#;
        decide(&Facts {
            boot_image: None,
            replaced_by: None,
            target: TargetInput::Read(crate::verdict::Target::default()),
            deployment: crate::verdict::Deployment::default(),
            policy: PolicyInput::Valid {
                path: crate::policy::POLICY_PATH.to_owned(),
                digest: String::new(),
                policy: crate::policy::parse(policy).unwrap(),
            },
            r#override: None,
            platform: None,
            machine: Machine::default(),
            warnings: Vec::new(),
        })
    }

    #[test]
    fn the_kernel_log_gets_one_record_and_the_console_its_own_line_ends() {
        let mut kmsg = Writes::default();
        write_kernel_log(&mut kmsg, &refused()).unwrap();
        assert_eq!(
            kmsg.0,
            [
                "<3>skewguard: node refused: no source on this node names the boot image (BootImageUnknown)\n"
            ]
        );
        let mut warned = refused();
        (warned.verdict, warned.action) = (
            crate::verdict::Outcome::Refused,
            crate::verdict::Action::Proceed,
        );
        let mut kmsg = Writes::default();
        write_kernel_log(&mut kmsg, &warned).unwrap();
        assert!(
            kmsg.0[0].starts_with("<4>skewguard: node let through with a warning"),
            "{:?}",
            kmsg.0
        );

        let mut console = Writes::default();
        write_console(&mut console, &refused(), &Context::default()).unwrap();
        let text = console.0.concat();
        assert!(
            text.starts_with("\r\nskewguard: NODE REFUSED") && text.ends_with("\r\n"),
            "{text:?}"
        );
        assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    }

    #[test]
    fn only_devices_are_written_to_and_nothing_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        std::fs::write(path("file"), "kept").unwrap();
        nix::unistd::mkfifo(
            dir.path().join("fifo").as_path(),
            nix::sys::stat::Mode::S_IRWXU,
        )
        .unwrap();
        for name in ["file", "fifo", "missing"] {
            assert!(open_device(&path(name)).is_err(), "{name}");
        }
        assert_eq!(std::fs::read_to_string(path("file")).unwrap(), "kept");
        open_device("/dev/null").unwrap().write_all(b"x").unwrap();
    }
}
