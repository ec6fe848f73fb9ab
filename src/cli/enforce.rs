//! `skewguard enforce`: decide and act; what `skewguard.service` runs.

use super::{Exit, Failure, Io};
use crate::console::{self, Change, Context, live};
use crate::gate::{self, Systemd};
use crate::journal;
use crate::node::{ENCAPSULATED_PATH, KEPT_VERDICT_PATH, Lock, Options, RECORD_PATH, RUN_VERDICT_PATH, Record, Root, facts, save_verdict};
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
    let root = Root::open(&args.root).map_err(|error| format!("--root {}: {error}", args.root.display()))?;
    // A config that is there but cannot be looked at is for the decision to judge.
    let first_boot = !args.restore_console && root.exists(ENCAPSULATED_PATH).unwrap_or(true);
    // Before anything is read that `allow` may be about to change: the override, the stamp.
    let _lock = (first_boot || console::pending_restore(&root)).then(|| super::lock(&root, Lock::BOOT, io));
    let node = Node { live: root.is_live(), refused_before: gate::is_refused(&root), root };
    if first_boot { node.first_boot(io) } else { node.restore_console(io) }
}

struct Node {
    root: Root,
    /// It is the running system.
    live: bool,
    /// An earlier run refused this boot.
    refused_before: bool,
}

impl Node {
    /// Nothing that fails here stops what comes after it: the least that a full or read-only disk may cost is the boot.
    fn first_boot(&self, io: &mut Io<'_>) -> Result<Exit, Failure> {
        let systemd = self.live.then(Systemd::system);
        if self.is_done() && gate::hold(&self.root, systemd.as_ref()).error.is_none() {
            return Ok(self.still_refused(io, None));
        }
        let facts = facts(&self.root, Options::default())?;
        let mut verdict = decide(&facts);
        if !verdict.blocks() && self.refused_before {
            return Ok(self.still_refused(io, Some(&verdict)));
        }
        if let Err(error) = keep_record(&self.root, &facts) {
            verdict.warnings.push(error.to_string());
        }
        if verdict.blocks() {
            verdict.gate = Some(gate::hold(&self.root, systemd.as_ref()));
        }
        // In the order of how long each may take: memory, /etc, /var, journald, a serial line.
        self.save(RUN_VERDICT_PATH, &verdict, io);
        let context = Context::load(&self.root, &verdict);
        self.update_issue(&verdict, &context, io);
        self.save(KEPT_VERDICT_PATH, &verdict, io);
        journal::record(&verdict, self.live, io.err);
        if self.live && !self.refused_before {
            live::announce(&verdict, &context);
        }
        Ok(match &verdict.gate {
            None => Exit::Done,
            Some(gate) if gate.held => Exit::Refused,
            Some(_) => Exit::Failed,
        })
    }

    /// An earlier run refused this boot and came to its end: every start of what is held asks again, and a path unit does so several times a
    /// second. The kept verdict is the last of the files that a refusal writes.
    fn is_done(&self) -> bool {
        let read = |path| self.root.read(path, VERDICT_MAX).ok().flatten();
        self.refused_before && read(RUN_VERDICT_PATH).is_some_and(|verdict| read(KEPT_VERDICT_PATH) == Some(verdict))
    }

    /// The first boot is over, or ends: a message that stands is taken away, whatever became of the node.
    fn restore_console(&self, io: &mut Io<'_>) -> Result<Exit, Failure> {
        if self.refused_before {
            return Ok(self.still_refused(io, None));
        }
        if console::restore(&self.root)? && self.live {
            live::reload_prompts()?;
        }
        Ok(Exit::Done)
    }

    /// What was refused stays refused for this boot: started by hand now, the kubelet would join on the old OS.
    fn still_refused(&self, io: &mut Io<'_>, now: Option<&Verdict>) -> Exit {
        let now = now.map(|verdict| format!(" (now it would be {}: {})", verdict.verdict, verdict.message)).unwrap_or_default();
        let _ = writeln!(io.err, "skewguard: this boot was refused and stays refused{now}; to let the node through run: skewguard allow");
        Exit::Refused
    }

    fn save(&self, path: &str, verdict: &Verdict, io: &mut Io<'_>) {
        if let Err(error) = save_verdict(&self.root, path, verdict) {
            let _ = writeln!(io.err, "skewguard: {error}");
        }
    }

    fn update_issue(&self, verdict: &Verdict, context: &Context, io: &mut Io<'_>) {
        let done = console::update(&self.root, verdict, context).map_err(|error| error.to_string()).and_then(|change| match change {
            Change::Shown | Change::Restored if self.live => live::reload_prompts().map_err(|error| error.to_string()),
            Change::Shown | Change::Restored | Change::Nothing => Ok(()),
        });
        if let Err(error) = done {
            let _ = writeln!(io.err, "skewguard: the message on the console: {error}");
        }
    }
}

/// Keeps what is known on the first run. A record that is there stays as it is, even a damaged one: made anew after the rebase, it would say
/// that there was none.
fn keep_record(root: &Root, facts: &Facts) -> Result<(), crate::node::FileError> {
    if root.exists(RECORD_PATH)? {
        return Ok(());
    }
    let image = facts.boot_image.as_ref();
    Record::new(image.map(|image| &image.version), image.map(|image| image.path.as_str()), facts.deployment.ostree.as_deref()).save(root)
}
