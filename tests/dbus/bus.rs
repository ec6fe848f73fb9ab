//! A private dbus-daemon, real, with rules of its own.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A running dbus-daemon; it ends with the test.
pub(crate) struct Bus {
    daemon: Child,
    pub(crate) address: String,
    _dir: TempDir,
}

impl Bus {
    /// A bus on which everything is allowed.
    pub(crate) fn start() -> Self {
        Self::with_rules("")
    }

    /// The process of the daemon.
    pub(crate) fn id(&self) -> u32 {
        self.daemon.id()
    }

    /// It takes no more connections and answers nobody, as a daemon that hangs.
    pub(crate) fn hang(&self) {
        nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(self.id().cast_signed()),
            nix::sys::signal::Signal::SIGSTOP,
        )
        .expect("stopped");
    }

    /// A bus with further rules of dbus-daemon(1) in its default policy.
    pub(crate) fn with_rules(rules: &str) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let config = dir.path().join("bus.conf");
        let text = format!(
            r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:dir={}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/><allow own="*"/><allow send_type="method_call"/><allow send_type="signal"/>
    <allow send_requested_reply="true" send_type="method_return"/><allow send_requested_reply="true" send_type="error"/>
    <allow receive_type="method_call"/><allow receive_type="method_return"/>
    <allow receive_type="error"/><allow receive_type="signal"/>
    {rules}
  </policy>
</busconfig>
"#,
            dir.path().display()
        );
        std::fs::write(&config, text).expect("written");
        let (daemon, address) = spawn(&config);
        Self {
            daemon,
            address,
            _dir: dir,
        }
    }
}

fn spawn(config: &Path) -> (Child, String) {
    let mut daemon = Command::new("dbus-daemon")
        .arg(format!("--config-file={}", config.display()))
        .args(["--nofork", "--nopidfile", "--nosyslog", "--print-address=1"])
        .stdout(Stdio::piped())
        .stderr(File::create(config.with_extension("log")).expect("a log"))
        .spawn()
        .unwrap_or_else(|error| {
            panic!(
                "dbus-daemon: {error}; this tier needs it (Debian package: dbus-daemon, or dbus)"
            )
        });
    let mut address = String::new();
    let out = daemon.stdout.take().expect("its output");
    BufReader::new(out)
        .read_line(&mut address)
        .expect("its address");
    let log = || std::fs::read_to_string(config.with_extension("log")).unwrap_or_default();
    assert!(
        address.starts_with("unix:"),
        "dbus-daemon did not start: {}",
        log()
    );
    (daemon, address.trim().to_owned())
}

impl Drop for Bus {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}
