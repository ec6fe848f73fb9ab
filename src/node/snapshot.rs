//! A node, read once.

use super::cmdline::{self, Cmdline};
use super::deployment::{self, Booted, same_digest};
use super::image::OsRelease;
use super::installation::Installation;
use super::record::is_certified;
use super::{FileError, Record, Root};
use crate::verdict::{Override, TargetInput};

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
    /// An earlier installation left one, and so whatever else is in our folder under /var.
    pub(crate) has_foreign_record: bool,
    /// This installation's record is damaged.
    is_damaged: bool,
    pub(super) booted: Option<Booted>,
    pub(super) doubts: Doubts,
}

/// Files that could not be read.
#[derive(Clone, Default)]
pub(super) struct Doubts {
    /// In words; also files that are odd.
    pub(super) warnings: Vec<String>,
    /// One of them may show that the node has left its boot image.
    pub(super) is_open: bool,
}

impl Doubts {
    /// Unwraps what was read. An error becomes a warning, leaves open what the file may show, and
    /// gives the default.
    pub(super) fn or_default<T: Default>(&mut self, found: Result<T, FileError>) -> T {
        found.unwrap_or_else(|error| {
            self.is_open = true;
            self.warnings.push(error.to_string());
            T::default()
        })
    }
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
        let record = Record::load(root);
        let is_damaged = record.is_err() && !installation.is_new;
        let found = if installation.is_new {
            // An earlier installation left it, or it was made on this boot. A damaged one is no
            // evidence.
            record.ok().flatten()
        } else {
            doubts.or_default(record)
        };
        let ostree = line.ostree.as_deref();
        let booted = ostree.map(|ostree| deployment::find(root, ostree));
        let mut booted = doubts.or_default(booted.transpose()).flatten();
        let origin = booted.as_mut().map(|booted| booted.read_origin(root));
        doubts.or_default(origin.transpose());
        let has_found = found.is_some();
        let record = found.filter(|record| record.is_of(root, &installation, booted.as_ref()));
        Self {
            root,
            line,
            os_release,
            r#override,
            installation,
            has_foreign_record: has_found && record.is_none(),
            record,
            is_damaged,
            booted,
            doubts,
        }
    }

    /// This installation has a record, which may be damaged.
    pub(crate) fn has_record(&self) -> bool {
        self.is_damaged || self.record.is_some()
    }

    /// The record of this installation's first run.
    pub(crate) fn record(&self) -> Option<&Record> {
        self.record.as_ref()
    }

    /// This is the first boot of the installation.
    pub(crate) fn is_new(&self) -> bool {
        self.installation.is_new
    }

    /// machine-id(5), as [`super::identity::Identity`] has it.
    pub(crate) fn machine_id(&self) -> &str {
        let id = self.installation.machine_id.as_deref();
        id.filter(|id| id.len() == 32).unwrap_or_default()
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

    /// Looks for a certificate of the kubelet that is not of an earlier installation, which kept
    /// /var. If that cannot be found out, it has one.
    pub(crate) fn has_certificate(&self) -> bool {
        is_certified(self.root, self.record()).unwrap_or(true)
    }
}
