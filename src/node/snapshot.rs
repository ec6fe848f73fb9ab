//! A node, read once.

use super::cmdline::{self, Cmdline};
use super::deployment::{self, Booted, same_digest};
use super::image::OsRelease;
use super::installation::Installation;
use super::joined::{self, Joined};
use super::{FileError, Record, Root, sha256_hex};
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
    /// /etc has a whole one of an earlier boot, and the installation begins anew.
    pub(crate) has_whole_record: bool,
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

    /// Looks if the node has joined in this installation.
    pub(crate) fn joined(&self) -> Joined {
        joined::find(self)
    }

    /// The node has joined in this installation, for all that is known.
    pub(crate) fn has_joined(&self) -> bool {
        self.joined() == Joined::Yes
    }
}
