//! The steps of a run that outlive its boot: what it records, forgets and keeps.
//!
//! A run may be killed between any two of its steps, or out of its time because /var is slow. So it
//! first writes record and refusal, as one file, to /etc: that is new with every installation, and
//! nothing before the hold waits for it. The hold follows, and what is said. Last comes /var, in
//! [`Memory::finish`]: what an earlier installation left there is removed, the record and the verdict
//! are written, and only then the file in /etc is removed. As long as that is there, it counts, and
//! whoever comes next finishes: another run, the next boot's, or, by [`finish`], the report. Each
//! step is safe to repeat.

use crate::node::{
    ENCAPSULATED_PATH, FileError, INSTALLATION_PATH, Inputs, KEPT_VERDICT_PATH, Node, RECORD_PATH,
    RUN_VERDICT_PATH, Record, Root, STATE_PATH, UNTOLD_VERDICT_PATH, facts, is_image_based,
    load_verdict, save_verdict, save_verdict_soon,
};
use crate::verdict::{Facts, GateStatus, Outcome, Verdict};

/// The gate's error in a refusal that was recorded by a run that did not come to its end.
const CUT_OFF: &str = "the run that decided this was cut off";

/// What a run leaves for later boots.
pub(crate) struct Memory {
    /// The record of the first run; `None` where it is damaged and stays so.
    record: Option<Record>,
    /// The refusal of an earlier run that was cut off, and is not in /var yet.
    left: Option<Verdict>,
    /// Gaps in the record.
    lost: Vec<String>,
}

impl Memory {
    /// Writes the record of a first run, and every refusal, to /etc. If it cannot be written there,
    /// that is said at the end.
    pub(crate) fn begin(node: &Node<'_>, facts: &Facts, verdict: &Verdict) -> Self {
        let mut memory = Self::of(node, facts);
        let is_first = node.record().is_none();
        if let Some(record) = &memory.record
            && (is_first || verdict.blocks())
        {
            let refusal = verdict.blocks().then_some(verdict);
            // The refusal of an earlier run is the same, or this one takes its place.
            if record.save_in_etc(node.root, refusal).is_ok() && refusal.is_some() {
                memory.left = None;
            }
        }
        memory
    }

    fn of(node: &Node<'_>, facts: &Facts) -> Self {
        let mut lost = Vec::new();
        let found = node.record().cloned();
        let mut record = found.or_else(|| Record::of_first_run(node, facts, &mut lost));
        let mut left = record.as_mut().and_then(Record::take_refusal);
        if let Some(left) = &mut left {
            left.gate = Some(GateStatus {
                held: true,
                units: Vec::new(),
                error: Some(CUT_OFF.to_owned()),
            });
        }
        Self { record, left, lost }
    }

    /// Removes what an earlier installation left in /var, and writes there the record and the
    /// verdict. What cannot be recorded becomes a warning of the verdict.
    pub(crate) fn finish(mut self, root: &Root, verdict: &mut Verdict) -> Finished {
        let mut errors = Vec::new();
        self.keep_record(root, Some(verdict), &mut errors);
        let said = verdict.warnings.len();
        self.lost
            .retain(|warning| !verdict.warnings.contains(warning));
        verdict.warnings.append(&mut self.lost);
        let warnings = verdict.warnings.iter().skip(said).cloned().collect();
        if let Some(left) = self.left.take().filter(|_| !verdict.is_reportable()) {
            // A node that goes on must not wait for the disk.
            errors.extend(save_verdict_soon(root, UNTOLD_VERDICT_PATH, &left).err());
        }
        keep(root, verdict, &mut errors);
        self.close(root, errors.is_empty(), &mut errors);
        Finished { warnings, errors }
    }

    /// The same where this boot has no verdict.
    fn finish_without_verdict(mut self, root: &Root) -> Vec<FileError> {
        let mut errors = Vec::new();
        self.keep_record(root, None, &mut errors);
        if let Some(left) = self.left.take() {
            keep(root, &left, &mut errors);
        }
        self.close(root, errors.is_empty(), &mut errors);
        errors
    }

    /// Writes the record to /var, unless it is there. An earlier installation's is removed last: as
    /// long as it is there it tells whose the other files are.
    fn keep_record(&mut self, root: &Root, verdict: Option<&Verdict>, errors: &mut Vec<FileError>) {
        let Some(record) = self.record.as_ref().filter(|record| !record.is_kept(root)) else {
            return;
        };
        forget(root, errors);
        let refusal = verdict.filter(|verdict| verdict.blocks());
        let is_synced = refusal.is_some();
        record.save(
            root,
            refusal.or(self.left.as_ref()),
            is_synced,
            &mut self.lost,
        );
    }

    /// Removes the file in /etc, once /var has what is in it.
    fn close(&self, root: &Root, is_kept: bool, errors: &mut Vec<FileError>) {
        let record = self.record.as_ref();
        if is_kept && record.is_none_or(|record| record.is_kept(root)) {
            errors.extend(Record::remove_beside(root).err());
        }
    }
}

/// The outcome of [`Memory::finish`].
pub(crate) struct Finished {
    /// New warnings of the verdict.
    pub(crate) warnings: Vec<String>,
    /// Files that could not be changed.
    pub(crate) errors: Vec<FileError>,
}

/// Finishes what a run on this boot or an earlier one has not, for the report: before that, nothing
/// in /var is to be relied on. Makes the record of a first boot on which no run came so far. The
/// caller has the lock.
pub(crate) fn finish(root: &Root) -> Vec<FileError> {
    if !is_image_based(root) {
        return Vec::new();
    }
    let node = Node::read(root);
    let verdict = load_verdict(root, RUN_VERDICT_PATH).ok().flatten();
    let is_first_boot = root.exists(ENCAPSULATED_PATH).unwrap_or(false);
    let is_left = node.record().is_some_and(|record| !record.is_in_var());
    let mut errors = Vec::new();
    if is_left || is_first_boot && !node.has_record() {
        let memory = match facts(&node, Inputs::default()) {
            Ok(facts) => Memory::of(&node, &facts),
            Err(error) => return vec![error],
        };
        return match verdict {
            Some(mut verdict) => memory.finish(root, &mut verdict).errors,
            None => memory.finish_without_verdict(root),
        };
    }
    if node.has_foreign_record {
        forget(root, &mut errors);
    }
    let kept = load_verdict(root, KEPT_VERDICT_PATH).ok().flatten();
    if let Some(verdict) = verdict.filter(|verdict| kept.as_ref() != Some(verdict)) {
        keep(root, &verdict, &mut errors);
    }
    errors
}

/// Removes what an earlier installation, with the same /var, told the cluster or had to tell it, and
/// recorded. First of all: it makes room.
fn forget(root: &Root, errors: &mut Vec<FileError>) {
    let paths = [
        STATE_PATH,
        INSTALLATION_PATH,
        KEPT_VERDICT_PATH,
        UNTOLD_VERDICT_PATH,
        RECORD_PATH,
    ];
    errors.extend(paths.into_iter().filter_map(|path| root.remove(path).err()));
}

/// Keeps a verdict for later boots. A refusal that was kept before is put aside, if the cluster would
/// never know it otherwise: the report does not tell this one, as with `skewguard=off`.
fn keep(root: &Root, verdict: &Verdict, errors: &mut Vec<FileError>) {
    let before = || {
        if verdict.is_reportable() {
            root.remove(UNTOLD_VERDICT_PATH)
        } else if load_verdict(root, KEPT_VERDICT_PATH)?.is_some_and(|kept| is_refusal(&kept)) {
            root.rename(KEPT_VERDICT_PATH, UNTOLD_VERDICT_PATH)
        } else {
            Ok(false)
        }
    };
    errors.extend(before().err());
    errors.extend(save_verdict(root, KEPT_VERDICT_PATH, verdict).err());
}

/// The node was refused. What could not be determined and was let through is no news once it
/// is determined.
fn is_refusal(verdict: &Verdict) -> bool {
    let is_open = matches!(verdict.verdict, Outcome::Undetermined | Outcome::Allowed);
    verdict.is_reportable() && (verdict.blocks() || !is_open)
}
