//! `skewguard enforce`: decide and act; what `skewguard.service` runs.

use super::{Exit, Failure, Io};
use crate::console::message::is_shown;
use crate::console::{self, Context, live};
use crate::gate::{self, Memory, Systemd};
use crate::journal;
use crate::node::{
    self, ENCAPSULATED_PATH, Inputs, KEPT_VERDICT_PATH, Lock, Node, RUN_VERDICT_PATH, Root, facts,
    is_refused, load_verdict, save_verdict,
};
use crate::report::situation;
use crate::verdict::{Fate, Verdict};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::getppid;
use std::path::PathBuf;

pub(super) const HELP: &str = "\
Decide about this node, and hold it back if it is refused; skewguard.service
runs this

On a refusal the OS update and the kubelet are held back for this boot, the
reason is put on the console and in the journal, and the verdict is left in
/run/skewguard/verdict.json and /var/lib/skewguard/verdict.json. Otherwise
nothing is held and the boot goes on. Once the first boot is finished it only
removes its message from the console.

Usage: skewguard enforce [OPTIONS]

Options:
  --root DIR         Directory that stands for the node's `/`, which is the
                     default; with any other, only files below it are touched
  --restore-console  Only clean up, as the service does when it is stopped: take
                     the message off the console, and the drop-ins of a decision
                     that did not come to its end
  -h, --help         Print this help

Exit status: 0 proceed, 1 could not do it, 2 wrong usage, 3 refused.
";

#[derive(Debug)]
pub(super) struct EnforceArgs {
    /// Directory that stands for the node's `/`; with any other than `/`, only files below it are
    /// touched.
    pub(super) root: PathBuf,
    /// Only clean up, as the service does when it is stopped: take the message off the console, and
    /// the drop-ins of a decision that did not come to its end.
    pub(super) restore_console: bool,
}

pub(super) fn run(args: &EnforceArgs, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let root = super::open(&args.root)?;
    if args.restore_console {
        return clean_up(&root, io);
    }
    // If this cannot be found out, it is taken for a first boot, and the decision deals with it.
    let first_boot = root.exists(ENCAPSULATED_PATH).unwrap_or(true) && node::is_image_based(&root);
    // The lock is taken before anything is read that `allow` may change: the override, the stamp.
    let _lock = (first_boot || console::pending_restore(&root))
        .then(|| super::effects::lock(&root, Lock::BOOT, io));
    if first_boot {
        if root.is_live() {
            exit_with_parent()?;
        }
        return decide_and_act(&root, io);
    }
    // The first boot is finished: the message is removed, unless the node is held.
    if is_refused(&root)? {
        return Ok(still_refused(None, io));
    }
    live::show_change(&root, console::restore(&root))?;
    Ok(Exit::Done)
}

/// Dies when the process that started it does. In the service that is timeout(1): without it the
/// boot goes on, and a decision that comes later would find the rebase half done.
///
/// # Errors
/// It is too late: that process has ended.
fn exit_with_parent() -> Result<(), Failure> {
    let parent = getppid();
    set_pdeathsig(Signal::SIGKILL)?;
    if getppid() == parent {
        Ok(())
    } else {
        Err("the parent process has exited".into())
    }
}

/// Cleans up after a service that was stopped, or has failed: on a boot that is not refused nothing
/// of a decision is left.
fn clean_up(root: &Root, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let _lock = super::effects::lock(root, Lock::BOOT, io);
    if is_refused(root)? {
        return Ok(Exit::Done);
    }
    let systemd = root.is_live().then(Systemd::system);
    match gate::clear(root, systemd.as_ref()) {
        Ok(true) => go_on(systemd.as_ref(), io),
        Ok(false) => {}
        Err(error) => io.say(error),
    }
    live::show_change(root, console::restore(root))?;
    Ok(Exit::Done)
}

/// Goes on with the boot. What is held took its queued jobs along when the decision was stopped.
fn go_on(systemd: Option<&Systemd>, io: &mut Io<'_>) {
    let what = "the decision was interrupted: nothing is held, and this boot is not refused";
    match systemd.map(gate::go_on) {
        None | Some(Ok(())) => io.say(what),
        Some(Err(error)) => {
            let line =
                format!("{what}; it does not go on ({error}). Run: systemctl start default.target");
            io.say(&line);
            live::announce_line(&line);
        }
    }
}

/// Finishes what a killed run has left half done, for the report: first what later boots rely on,
/// by the gate; then a node that is held without a verdict or a message gets it, and one that is not
/// held loses what holds it, and a message that is not of this boot. Returns whether that is done: a
/// run that still works has the lock.
pub(super) fn mend(root: &Root, io: &mut Io<'_>) -> bool {
    let Ok(_lock) = Lock::take(root, Lock::BOOT) else {
        return false;
    };
    // Under the lock: a run that worked until now may have refused this boot.
    let Ok(refused) = is_refused(root) else {
        return true;
    };
    let verdict = situation::this_boots(root).map(|observed| observed.verdict);
    if refused && verdict.is_none() {
        let done = decide_and_act(root, io);
        io.note(done.map(drop));
        return true;
    }
    for error in gate::finish(root) {
        io.say(error);
    }
    let is_shown = |verdict: &Verdict| is_shown(verdict) && verdict.fate() != Fate::Held;
    let changed = match verdict {
        Some(verdict) if refused && !console::pending_restore(root) => {
            console::update(root, &verdict, &Context::load(root, &verdict))
        }
        Some(verdict) if is_shown(&verdict) && root.exists(ENCAPSULATED_PATH).unwrap_or(true) => {
            Ok(false)
        }
        _ if refused => Ok(false),
        _ => console::restore(root),
    };
    super::effects::message(root, changed, io);
    if let Some(line) = super::effects::cleared(root) {
        io.say(line);
    }
    true
}

/// Decides, and does everything that follows. A step that fails, for example because the disk is
/// full, does not stop the next.
fn decide_and_act(root: &Root, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let systemd = root.is_live().then(Systemd::system);
    // What cannot be found out is not refused, as for `test -e`.
    let refused_before = is_refused(root).unwrap_or(false);
    let node = Node::read(root);
    if refused_before
        && has_its_verdicts(&node)
        && gate::hold(root, systemd.as_ref()).error.is_none()
    {
        return Ok(still_refused(None, io));
    }
    let facts = facts(&node, Inputs::default())?;
    let mut verdict = node.decide(&facts);
    if !verdict.blocks() && refused_before {
        return Ok(still_refused(Some(&verdict), io));
    }
    let mut memory = Memory::begin(&node, &facts, &verdict);
    // Before anything that reads or writes /var, which may be slow.
    if verdict.blocks() {
        verdict.gate = Some(gate::hold(root, systemd.as_ref()));
    }
    // What needs no disk comes first: a run that is killed has said by then what it did.
    io.note(save_verdict(root, RUN_VERDICT_PATH, &verdict, None));
    journal::record(&verdict, root.is_live(), io.err);
    let context = Context::load(root, &verdict);
    if root.is_live() && !refused_before {
        live::announce(&verdict, &context);
    }
    memory.keep_refusal(&verdict);
    super::effects::message(root, console::update(root, &verdict, &context), io);
    let finished = memory.finish(&mut verdict);
    for warning in &finished.warnings {
        io.say(format_args!("warning: {warning}"));
    }
    if !finished.warnings.is_empty() {
        io.note(save_verdict(root, RUN_VERDICT_PATH, &verdict, None));
    }
    finished.errors.iter().for_each(|error| io.say(error));
    Ok(match verdict.fate() {
        Fate::Held => Exit::Refused,
        Fate::NotHeld => Exit::Failed,
        Fate::LetThrough | Fate::Warned | Fate::Unchecked | Fate::Free | Fate::PastFirstBoot => {
            Exit::Done
        }
    })
}

/// The run that refused this boot was completed: the kept verdict is the last file that it writes.
/// Another run has nothing to add.
fn has_its_verdicts(node: &Node<'_>) -> bool {
    let id = node.installation_id();
    let read = |path, id| load_verdict(node.root, path, id).ok().flatten();
    let kept = read(KEPT_VERDICT_PATH, Some(&*id));
    read(RUN_VERDICT_PATH, None).is_some_and(|verdict| kept == Some(verdict))
}

/// A boot that was refused stays refused: if the hold were lifted now, the kubelet could join on
/// the old OS.
fn still_refused(now: Option<&Verdict>, io: &mut Io<'_>) -> Exit {
    let now = now
        .map(|verdict| {
            format!(
                " (now it would be {}: {})",
                verdict.verdict, verdict.message
            )
        })
        .unwrap_or_default();
    io.say(format_args!(
        "this boot was refused and stays refused{now}; to let the node through run: skewguard allow"
    ));
    Exit::Refused
}
