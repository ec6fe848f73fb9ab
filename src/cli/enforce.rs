//! `skewguard enforce`: decide and act; what `skewguard.service` runs.

use super::{Exit, Failure, Io};
use crate::console::{self, Context, live};
use crate::gate::{self, Systemd};
use crate::journal;
use crate::node::{
    ENCAPSULATED_PATH, FileError, KEPT_VERDICT_PATH, Lock, Options, RECORD_PATH, RUN_VERDICT_PATH, Record, Root, STAMP_PATH, facts,
    save_verdict,
};
use crate::verdict::{Facts, Verdict, decide};
use std::path::PathBuf;

/// Largest verdict that is read back, in bytes.
const VERDICT_MAX: u64 = 1 << 20;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status: 0 proceed, 1 could not do it, 2 wrong usage, 3 refused.")]
pub(super) struct Args {
    /// Directory that stands for the node's `/`; with any other than `/`, only files below it are touched.
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
    /// Only take the message off the console, as the service does when the system goes down.
    #[arg(long)]
    restore_console: bool,
}

pub(super) fn run(args: &Args, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let root = super::open(&args.root)?;
    // If this cannot be found out, it counts as a first boot, and the decision deals with it.
    let first_boot = !args.restore_console && root.exists(ENCAPSULATED_PATH).unwrap_or(true);
    // The lock is taken before anything is read that `allow` may change: the override, the stamp.
    let _lock = (first_boot || console::pending_restore(&root)).then(|| super::lock(&root, Lock::BOOT, io));
    if first_boot {
        return decide_and_act(&root, io);
    }
    // The first boot is finished, or the system goes down: the message is removed, unless the node is held.
    if root.exists(STAMP_PATH)? {
        return Ok(still_refused(None, io));
    }
    live::show_change(&root, console::restore(&root))?;
    Ok(Exit::Done)
}

/// Decides, and does everything that follows. A step that fails, for example because the disk is full, does not stop the next.
fn decide_and_act(root: &Root, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let systemd = root.is_live().then(Systemd::system);
    let refused_before = gate::is_refused(root);
    if refused_before && has_its_verdicts(root) && gate::hold(root, systemd.as_ref()).error.is_none() {
        return Ok(still_refused(None, io));
    }
    let facts = facts(root, Options::default())?;
    let mut verdict = decide(&facts);
    if !verdict.blocks() && refused_before {
        return Ok(still_refused(Some(&verdict), io));
    }
    if let Err(error) = keep_record(root, &facts) {
        verdict.warnings.push(error.to_string());
    }
    if verdict.blocks() {
        verdict.gate = Some(gate::hold(root, systemd.as_ref()));
    }
    // The slowest comes last: memory, /etc, /var, journald, a serial line.
    io.note(save_verdict(root, RUN_VERDICT_PATH, &verdict));
    let context = Context::load(root, &verdict);
    super::change_message(root, console::update(root, &verdict, &context), io);
    io.note(save_verdict(root, KEPT_VERDICT_PATH, &verdict));
    journal::record(&verdict, root.is_live(), io.err);
    if root.is_live() && !refused_before {
        live::announce(&verdict, &context);
    }
    Ok(match &verdict.gate {
        None => Exit::Done,
        Some(gate) if gate.held => Exit::Refused,
        Some(_) => Exit::Failed,
    })
}

/// Whether the run that refused this boot was completed: the kept verdict is the last file that it writes. This is checked because every
/// start of a held unit runs `enforce` again, and a path unit can do that several times a second.
fn has_its_verdicts(root: &Root) -> bool {
    let read = |path| root.read(path, VERDICT_MAX).ok().flatten();
    read(RUN_VERDICT_PATH).is_some_and(|verdict| read(KEPT_VERDICT_PATH) == Some(verdict))
}

/// A boot that was refused stays refused: if the hold were lifted now, the kubelet could join on the old OS.
fn still_refused(now: Option<&Verdict>, io: &mut Io<'_>) -> Exit {
    let now = now.map(|verdict| format!(" (now it would be {}: {})", verdict.verdict, verdict.message)).unwrap_or_default();
    io.say(format_args!("this boot was refused and stays refused{now}; to let the node through run: skewguard allow"));
    Exit::Refused
}

/// Keeps what is known on the first run. An existing record is not replaced, even if it is damaged: a record made after the rebase would
/// say that there was no rebase.
fn keep_record(root: &Root, facts: &Facts) -> Result<(), FileError> {
    if root.exists(RECORD_PATH)? {
        return Ok(());
    }
    Record::new(facts.boot_image.as_ref(), facts.deployment.ostree.as_deref()).save(root)
}
