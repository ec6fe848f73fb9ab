//! A node, read once.

use super::cmdline::{self, Cmdline};
use super::deployment::{self, Booted, same_digest};
use super::error::Doubts;
use super::image::OsRelease;
use super::installation::Installation;
use super::record::Record;
use super::{Root, sha256_hex};
use crate::verdict::{Facts, Override, TargetInput, Verdict, decide};

/// A node as a command knows it: read once, and handed down. Taken under the lock where there is
/// one, because `allow` writes the override. The stamp, the certificate and the first boot's config
/// come and go while a command runs, and are looked at when they are needed.
pub(crate) struct Node<'a> {
    pub(crate) root: &'a Root,
    pub(super) line: Cmdline,
    pub(super) os_release: OsRelease,
    pub(super) r#override: Option<Override>,
    pub(super) installation: Installation,
    /// The record of this installation's first run.
    record: Option<Record>,
    /// /etc has a whole one of an earlier boot, and the installation begins anew.
    pub(crate) has_whole_record: bool,
    pub(super) booted: Option<Booted>,
    pub(super) doubts: Doubts,
}

impl<'a> Node<'a> {
    /// Reads a node. What cannot be read becomes a warning and stays unknown.
    pub(crate) fn read(root: &'a Root) -> Self {
        let mut doubts = Doubts::default();
        let line = cmdline::load(root, &mut doubts.warnings);
        let line = doubts.or_default(line);
        let os_release = OsRelease::load(root, &mut doubts.warnings);
        doubts.is_open |= line.ostree_is_lost || os_release.is_lost;
        let r#override = cmdline::override_in_force(root, &line, &mut doubts.warnings);
        let installation = Installation::read(root, &line, &mut doubts.warnings);
        let (record, has_whole_record) = Record::find(
            root,
            installation.boot_id.as_deref(),
            installation.is_new,
            &mut doubts,
        );
        let ostree = line.ostree.as_deref();
        let booted = ostree.map(|ostree| deployment::find(root, ostree));
        let mut booted = doubts.or_default(booted.transpose()).flatten();
        let origin = booted.as_mut().map(|booted| booted.read_origin(root));
        doubts.or_default(origin.transpose());
        Self {
            root,
            line,
            os_release,
            r#override,
            installation,
            has_whole_record,
            record,
            booted,
            doubts,
        }
    }

    /// The record of this installation's first run.
    pub(crate) fn record(&self) -> Option<&Record> {
        self.record.as_ref()
    }

    /// The record of a run that found none.
    pub(crate) fn new_record(&self, facts: &Facts, is_first: bool) -> Record {
        let booted = (self.booted.as_ref(), &self.os_release);
        Record::new(booted, self.installation.boot_id.clone(), facts, is_first)
    }

    /// This is the first boot of the installation.
    pub(crate) fn is_new(&self) -> bool {
        self.installation.is_new
    }

    /// Id of the installation: the boot of its record, or what one node always has if /etc takes
    /// none.
    pub(crate) fn installation_id(&self) -> String {
        self.id_by(self.record())
    }

    /// The same, by the record that this run has made.
    pub(crate) fn id_by(&self, record: Option<&Record>) -> String {
        let by_machine = || {
            let id = self.installation.machine_id.as_deref().unwrap_or_default();
            sha256_hex(format!("skewguard.dev/installation\n{id}").as_bytes())
        };
        record
            .and_then(Record::id)
            .map_or_else(by_machine, str::to_owned)
    }

    /// The booted deployment was made from this target.
    pub(super) fn is_on(&self, target: &TargetInput) -> bool {
        let TargetInput::Read(target) = target else {
            return false;
        };
        let reference = self.booted.as_ref().and_then(Booted::image_reference);
        let pair = target.os_image_url.as_deref().zip(reference);
        pair.is_some_and(|(target, reference)| same_digest(&reference, target))
    }

    /// Decides about the node. The refusal of an earlier boot may stand.
    pub(crate) fn decide(&self, facts: &Facts) -> Verdict {
        let now = decide(facts);
        let standing = self
            .record()
            .and_then(|record| record.standing(&now, facts));
        standing.unwrap_or(now)
    }
}
