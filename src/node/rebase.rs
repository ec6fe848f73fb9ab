//! A rebase that was staged and took no effect.

use super::image;
use super::machine_config::{ENCAPSULATED_PATH, find_target};
use super::{Node, Root};
use crate::verdict::TargetInput;

/// Looks for a rebase that was staged and not finalized at the shutdown: the Machine
/// Config Daemon renamed its config, as it does moments before its reboot, and the booted deployment
/// is still that of the first run. Seen with a full /boot and with SELinux modules (okd #1885,
/// fedora-coreos-tracker #1945).
///
/// In doubt it is not so, and where the node has joined it is no news.
pub(crate) fn is_not_finalized(node: &Node<'_>) -> bool {
    let (target, _) = find_target(node.root, &mut Vec::new());
    !node.is_on(&target) && is_still_the_first(node, &target)
}

/// [`is_not_finalized`] of a node that does not run its target.
pub(super) fn is_still_the_first(node: &Node<'_>, target: &TargetInput) -> bool {
    is_renamed(node.root)
        && !node.has_certificate()
        && matches!(target, TargetInput::Read(_))
        && runs_the_first(node).unwrap_or(false)
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
    } else if node.has_record() || node.installation.is_new {
        // It is damaged, or the first boot may still be the one that stages the rebase.
        return None;
    }
    // Without a record: nothing was rebased to, and the deployment is of the boot image's version.
    let pivot = booted.origin_value("custom-url");
    Some(booted.image_reference().is_none() && pivot.is_none() && image::runs_the_boot_image(node)?)
}
