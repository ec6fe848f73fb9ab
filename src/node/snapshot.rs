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
    /// The record of a first run, perhaps of an earlier installation's.
    pub(crate) kept_record: Option<Record>,
    /// This installation has a record, which may be damaged.
    pub(super) has_record: bool,
    pub(super) booted: Option<Booted>,
    /// Files that could not be read, or are odd.
    pub(super) warnings: Vec<String>,
    /// A file that may show that the node has left its boot image cannot be read.
    pub(super) in_doubt: bool,
}

impl<'a> Node<'a> {
    /// Reads a node. What cannot be read becomes a warning and stays unknown.
    pub(crate) fn read(root: &'a Root) -> Self {
        let mut node = Self {
            root,
            line: Cmdline::default(),
            os_release: OsRelease::default(),
            r#override: None,
            installation: Installation::default(),
            kept_record: None,
            has_record: false,
            booted: None,
            warnings: Vec::new(),
            in_doubt: false,
        };
        let line = cmdline::load(root, &mut node.warnings);
        node.line = node.or_in_doubt(line);
        node.os_release = OsRelease::load(root, &mut node.warnings);
        node.in_doubt |= node.line.ostree_is_lost || node.os_release.is_lost;
        node.r#override = cmdline::override_in_force(root, &node.line, &mut node.warnings);
        node.installation = Installation::read(root, &node.line, &mut node.warnings);
        node.read_record();
        let ostree = node.line.ostree.as_deref();
        let booted = ostree.map(|ostree| deployment::find(root, ostree));
        node.booted = node.or_in_doubt(booted.transpose()).flatten();
        if let Some(booted) = &mut node.booted {
            let origin = booted.read_origin(root);
            node.or_in_doubt(origin);
        }
        node
    }

    fn read_record(&mut self) {
        let record = Record::load(self.root);
        let is_new = self.installation.is_new;
        self.has_record = record.is_err() && !is_new;
        self.kept_record = if is_new {
            // An earlier installation left it, or it was made on this boot. A damaged one is no
            // evidence.
            record.ok().flatten()
        } else {
            self.or_in_doubt(record)
        };
        self.has_record |= self.record().is_some();
    }

    /// The record of this installation's first run.
    pub(super) fn record(&self) -> Option<&Record> {
        let record = self.kept_record.as_ref();
        record.filter(|record| record.is_of(&self.installation))
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
        is_certified(self.root, self.kept_record.as_ref()).unwrap_or(true)
    }

    /// Unwraps what was read. On an error it adds a warning, sets `in_doubt` and returns the
    /// default.
    fn or_in_doubt<T: Default>(&mut self, found: Result<T, FileError>) -> T {
        found.unwrap_or_else(|error| {
            self.in_doubt = true;
            self.warnings.push(error.to_string());
            T::default()
        })
    }
}
