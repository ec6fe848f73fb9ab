//! A rebase that was staged and took no effect.

use super::deployment::{self, same_digest};
use super::image;
use super::joined::Joined;
use super::machine_config::{ENCAPSULATED_PATH, find_target};
use super::{Node, Root};
use crate::verdict::{Target, TargetInput};
use std::ffi::OsString;

/// Folder of the boot menu: a file for each entry (The Boot Loader Specification).
pub(super) const ENTRIES: &str = "/boot/loader/entries";

/// Limit of its entries, and of the bytes of one.
const ENTRIES_MAX: (usize, u64) = (64, 16 << 10);

/// A rebase that took no effect: the Machine Config Daemon renamed its config, as it does moments
/// before its reboot, and the booted deployment is still that of the first run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LostRebase {
    /// It was staged, and not finalized at the shutdown. Seen with a full /boot and with SELinux
    /// modules (okd #1885, fedora-coreos-tracker #1945).
    NotFinalized,
    /// It is in the boot menu, and the old entry was booted: somebody chose it, for example because
    /// the new OS does not come up.
    NotBooted,
}

/// Looks for a rebase that took no effect.
///
/// In doubt there is none, and where the node has joined it is no news.
pub(crate) fn lost_rebase(node: &Node<'_>) -> Option<LostRebase> {
    let (target, _) = find_target(node.root, &mut Vec::new());
    if node.is_on(&target) {
        return None;
    }
    lost_rebase_to(node, &target)
}

/// [`lost_rebase`] of a node that does not run its target.
pub(super) fn lost_rebase_to(node: &Node<'_>, target: &TargetInput) -> Option<LostRebase> {
    let TargetInput::Read(target) = target else {
        return None;
    };
    let is_first = is_renamed(node.root)
        && node.joined() == Joined::No
        && runs_the_first(node).unwrap_or(false);
    is_first.then(|| match is_in_the_boot_menu(node.root, target) {
        Some(true) => LostRebase::NotBooted,
        _ => LostRebase::NotFinalized,
    })
}

/// An entry of the boot menu boots a deployment of this target. `None`: that is not known.
fn is_in_the_boot_menu(root: &Root, target: &Target) -> Option<bool> {
    let image = target.os_image_url.as_deref()?;
    let boots_the_target = |name: &OsString| {
        let path = format!("{ENTRIES}/{}", name.to_str()?);
        let entry = root.read_text(&path, ENTRIES_MAX.1).ok().flatten()?;
        let options = entry
            .lines()
            .filter_map(|line| line.strip_prefix("options"));
        let mut arguments = options.flat_map(str::split_ascii_whitespace);
        let ostree = arguments.find_map(|argument| argument.strip_prefix("ostree="))?;
        let mut booted = deployment::find(root, ostree).ok().flatten()?;
        booted.read_origin(root).ok()?;
        Some(same_digest(&booted.base()?, image))
    };
    let entries = root.list(ENTRIES, ENTRIES_MAX.0).ok()?;
    Some(
        entries
            .iter()
            .any(|name| boots_the_target(name).unwrap_or(false)),
    )
}

/// The config of the first boot is not where it was.
pub(crate) fn is_renamed(root: &Root) -> bool {
    root.exists(ENCAPSULATED_PATH).is_ok_and(|there| !there)
}

/// `None`: that is not known.
fn runs_the_first(node: &Node<'_>) -> Option<bool> {
    let booted = node.booted.as_ref().filter(|booted| booted.has_origin())?;
    if let Some(record) = node.record() {
        // The boot of the record may still be the one that stages the rebase.
        if record.boot_id.is_some() && record.boot_id == node.installation.boot_id {
            return Some(false);
        }
        // With its serial: new kernel arguments alone make another deployment of the same commit.
        if let Some(first) = &record.deployment {
            return Some(*first == booted.name);
        }
    } else if node.installation.is_new {
        // The first boot may still be the one that stages the rebase.
        return None;
    }
    // Without a record: nothing was rebased to, and the deployment is of the boot image's version.
    let pivot = booted.origin_value("custom-url");
    Some(booted.image_reference().is_none() && pivot.is_none() && image::runs_the_boot_image(node)?)
}
