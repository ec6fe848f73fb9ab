//! What outlives the boot of a run: its record in /etc, and the verdicts in /var.
//!
//! A run may be killed between any two of its steps, or out of its time because /var is slow. So the
//! record, with a refusal, is written before the hold, and nothing waits for a disk. After the hold
//! it is the first file that is synced, once more when the run has looked at certificates, and then
//! /var is written to. What is left to do the report does, by [`finish`], or the next boot.

use crate::node::{
    ENCAPSULATED_PATH, FileError, Inputs, KEPT_VERDICT_PATH, Node, RUN_VERDICT_PATH, Record, Root,
    UNTOLD_VERDICT_PATH, facts, is_image_based, is_unreadable, load_verdict, save_verdict,
};
use crate::verdict::{Facts, Outcome, Stage, Verdict};

/// What a run leaves for later boots.
pub(crate) struct Memory<'a> {
    node: &'a Node<'a>,
    record: Record,
    /// This run makes it, at the first boot of the installation: it also looks at certificates.
    is_first: bool,
    /// The record is still to be written.
    is_due: bool,
    /// What only an earlier refusal says is no new one.
    stands: bool,
    /// What was in the way of the record.
    lost: Vec<String>,
}

impl<'a> Memory<'a> {
    /// Makes the record of a run that found none, with a refusal whose hold is to come. A whole one
    /// in its place stays until a synced one replaces it.
    pub(crate) fn begin(node: &'a Node<'a>, facts: &Facts, verdict: &Verdict) -> Self {
        let mut memory = Self::of(node, facts, node.is_new());
        if memory.is_made() {
            memory.remember(verdict);
            if !node.has_whole_record {
                memory.save(false);
            }
        }
        memory
    }

    fn of(node: &'a Node<'a>, facts: &Facts, is_first: bool) -> Self {
        let record = node.record().cloned();
        let is_made = record.is_none();
        let is_due = record.as_ref().is_none_or(|record| !record.is_in_etc());
        Self {
            node,
            record: record.unwrap_or_else(|| node.new_record(facts, is_first)),
            is_first: is_made && is_first,
            is_due,
            stands: is_unreadable(facts),
            lost: Vec::new(),
        }
    }

    /// This run makes the record.
    fn is_made(&self) -> bool {
        self.node.record().is_none()
    }

    fn remember(&mut self, verdict: &Verdict) {
        if verdict.blocks() && !self.stands {
            self.is_due |= self.record.remember(Some(verdict));
        }
    }

    fn save(&mut self, is_synced: bool) {
        let errors = self.record.save(self.node.root, is_synced);
        self.lost = errors.iter().map(ToString::to_string).collect();
        if !errors.is_empty() {
            let file = self.record.file;
            self.lost
                .push(format!("the record of the first run is in {file} instead"));
        }
        self.is_due = false;
    }

    /// Keeps a refusal, with what the gate did, before anything else on a disk.
    pub(crate) fn keep_refusal(&mut self, verdict: &Verdict) {
        self.remember(verdict);
        if verdict.blocks() && self.is_due {
            self.save(true);
        }
    }

    /// Completes the record, and writes the verdict to /var. What is not recorded becomes a warning
    /// of the verdict.
    pub(crate) fn finish(mut self, verdict: &mut Verdict) -> Finished {
        if self.is_first {
            self.record.look_at_certificates(self.node.root);
        }
        if self.is_first || self.is_due {
            // A node that goes on must not wait for the disk; nothing of its record is there yet.
            self.save(verdict.blocks() || self.node.has_whole_record);
        }
        let mut warnings = std::mem::take(&mut self.lost);
        warnings.retain(|warning| !verdict.warnings.contains(warning));
        verdict.warnings.extend(warnings.iter().cloned());
        let mut errors = Vec::new();
        self.keep(verdict, &mut errors);
        Finished { warnings, errors }
    }

    /// Keeps a verdict for later boots. An earlier refusal is put aside, if the cluster would never
    /// know it otherwise: the report does not tell this one, as with `skewguard=off`.
    fn keep(&self, verdict: &Verdict, errors: &mut Vec<FileError>) {
        let root = self.node.root;
        let id = Some(self.node.id_by(Some(&self.record)));
        let id = id.as_deref();
        let before = || {
            if verdict.is_reportable() {
                return root.remove(UNTOLD_VERDICT_PATH).map(drop);
            }
            match load_verdict(root, KEPT_VERDICT_PATH, id)? {
                Some(kept) if is_refusal(&kept) => root
                    .rename(KEPT_VERDICT_PATH, UNTOLD_VERDICT_PATH)
                    .map(drop),
                Some(_) => Ok(()),
                // A run was cut off before it kept its refusal.
                None => match self.record.refusal() {
                    Some(left) => save_verdict(root, UNTOLD_VERDICT_PATH, &left, id),
                    None => Ok(()),
                },
            }
        };
        errors.extend(before().err());
        errors.extend(save_verdict(root, KEPT_VERDICT_PATH, verdict, id).err());
    }
}

/// The outcome of [`Memory::finish`].
pub(crate) struct Finished {
    /// New warnings of the verdict.
    pub(crate) warnings: Vec<String>,
    /// Files that could not be changed.
    pub(crate) errors: Vec<FileError>,
}

/// Finishes what a run on this boot or an earlier one has not, for the report. Makes the record of a
/// first boot on which no run came so far, and takes the refusal out of that of a node that is
/// rebased or has joined. The caller has the lock.
pub(crate) fn finish(root: &Root) -> Vec<FileError> {
    if !is_image_based(root) {
        return Vec::new();
    }
    let node = Node::read(root);
    let verdict = load_verdict(root, RUN_VERDICT_PATH, None).ok().flatten();
    let is_first_boot = root.exists(ENCAPSULATED_PATH).unwrap_or(false);
    if node.record().is_none() && !is_first_boot && verdict.is_none() {
        return Vec::new();
    }
    let facts = match facts(&node, Inputs::default()) {
        Ok(facts) => facts,
        Err(error) => return vec![error],
    };
    let mut memory = Memory::of(&node, &facts, false);
    if let Some(verdict) = &verdict {
        memory.remember(verdict);
    }
    let left = memory.record.refusal();
    if matches!(facts.deployment.stage, Stage::Rebased | Stage::OnTarget) || node.has_joined() {
        memory.is_due |= memory.record.remember(None);
    }
    if memory.is_due && (node.record().is_some() || is_first_boot) {
        memory.save(true);
    }
    let mut errors = Vec::new();
    let id = node.id_by(Some(&memory.record));
    let kept = load_verdict(root, KEPT_VERDICT_PATH, Some(&id));
    let kept = kept.ok().flatten();
    let is_kept = verdict.is_none() && kept.is_some() || verdict == kept;
    if let Some(verdict) = verdict.or(left).filter(|_| !is_kept) {
        memory.keep(&verdict, &mut errors);
    }
    errors
}

/// The node was refused. What could not be determined and was let through is no news once it
/// is determined.
fn is_refusal(verdict: &Verdict) -> bool {
    let is_open = matches!(verdict.verdict, Outcome::Undetermined | Outcome::Allowed);
    verdict.is_reportable() && (verdict.blocks() || !is_open)
}
