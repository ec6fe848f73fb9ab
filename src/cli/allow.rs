//! `skewguard allow`: let a refused node through.

use super::{Exit, Failure, Io};
use crate::console;
use crate::gate::{self, GateError, Released, Systemd};
use crate::node::{LOCK_PATH, Lock};
use crate::report::situation;
use crate::verdict::Fate;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::geteuid;
use std::path::Path;

pub(super) const HELP: &str = "\
Let this refused node through, for this boot

The refusal is lifted, its message is removed from the console, and the boot
goes on where it was held: first the OS update, which reboots the node if it
changes anything, then the kubelet. In rescue and emergency nothing is started.
If the node reboots and still has its first boot to do, it is refused again; if
its update was lost, it goes on. What was found stays on record.

Usage: skewguard allow [OPTIONS]

Options:
  --root DIR  Directory that stands for the node's `/`, which is the default;
              with any other, only files below it are touched
  -h, --help  Print this help

Exit status: 0 done, or nothing to do; 1 could not do it; 2 wrong usage.
";

/// Lets the node under `root` through.
pub(super) fn run(root: &Path, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let root = super::open(root)?;
    let systemd = root.is_live().then(Systemd::system);
    if systemd.is_some() && !geteuid().is_root() {
        return Err("only root can let a node through; run it with sudo".into());
    }
    block_signals();
    // Without the lock file `enforce` has not run, so there is nobody to wait for and nothing to
    // let through.
    let _lock = root
        .exists(LOCK_PATH)
        .unwrap_or(true)
        .then(|| super::effects::lock(&root, Lock::PERSON, io));
    match gate::release(&root, systemd.as_ref()).map_err(explain_release)? {
        Released::NothingToDo => {
            let verdict = situation::this_boots(&root).map(|observed| observed.verdict);
            let not_held = verdict.is_some_and(|verdict| verdict.fate() == Fate::NotHeld);
            let is = match not_held {
                true => "is refused, but could not be held back and goes on",
                false => "is not refused",
            };
            writeln!(io.out, "This node {is}: there is nothing to let through.")?;
            return Ok(Exit::Done);
        }
        Released::Done { doubt: Some(doubt) } => io.say(format_args!("in doubt: {doubt}")),
        Released::Done { doubt: None } => {}
    }
    super::effects::message(&root, console::restore(&root), io);
    if let Some(systemd) = &systemd {
        gate::resume(systemd).map_err(explain_resume)?;
    }
    writeln!(
        io.out,
        "This node goes on, for this boot: first the OS update, which reboots the node if it changes anything, then the kubelet.\n\
         Follow it: journalctl -f -u machine-config-daemon-pull -u machine-config-daemon-firstboot"
    )?;
    Ok(Exit::Done)
}

/// Goes on to the end where the terminal goes away, as ssh does when the network is set up, or
/// where somebody presses Ctrl-C: half a release is safe, but starts nothing. The signals stay
/// blocked for the programs that are run, too.
fn block_signals() {
    let signals = [
        Signal::SIGHUP,
        Signal::SIGINT,
        Signal::SIGTERM,
        Signal::SIGPIPE,
    ];
    // Blocking these cannot fail.
    let _ = signals.into_iter().collect::<SigSet>().thread_block();
}

/// Explains why the hold could not be lifted. Whatever was done by then, a kubelet still fails, or
/// waits for the OS update.
fn explain_release(error: GateError) -> String {
    format!(
        "{error}\nNothing was started, and the kubelet cannot start before the OS update. To complete this, run the same command again."
    )
}

/// Explains why the boot does not go on, with the command that helps.
fn explain_resume(error: GateError) -> String {
    let (but, run) = match &error {
        // Not multi-user.target: in the newer wiring it wants the kubelet, but not the rebase,
        // which only default.target wants.
        GateError::OtherTarget(_) => (
            "this boot does not lead to where the node joins",
            "systemctl start machine-config-daemon-firstboot.service",
        ),
        GateError::NotStarted(_) => ("the boot does not go on", "systemctl start default.target"),
        _ => (
            "systemd was not told to go on",
            "systemctl start default.target",
        ),
    };
    format!("{error}\nThe refusal is lifted, but {but}. Run: {run}")
}
