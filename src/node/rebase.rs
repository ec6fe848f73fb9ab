//! Whether a rebase that was staged took effect.

use super::deployment::{self, same_digest};
use super::image;
use super::installation::Installation;
use super::machine_config::{ENCAPSULATED_BAK_PATH, ENCAPSULATED_PATH, load_target};
use super::{Record, Root, cmdline, has_certificate};

/// Whether the rebase of the first boot was staged and not finalized at the shutdown: the Machine
/// Config Daemon renamed its config, as it does moments before its reboot, and the booted deployment
/// is still that of the first run. Seen with a full /boot and with SELinux modules (okd #1885,
/// fedora-coreos-tracker #1945).
///
/// In doubt it is not so, and where the node has joined it is no news.
pub(crate) fn is_not_finalized(root: &Root) -> bool {
    let is_renamed = root.exists(ENCAPSULATED_PATH).is_ok_and(|there| !there);
    is_renamed && !has_certificate(root) && is_still_the_first(root).unwrap_or(false)
}

/// `None`: that is not known.
fn is_still_the_first(root: &Root) -> Option<bool> {
    let mut warnings = Vec::new();
    let target = load_target(root, ENCAPSULATED_BAK_PATH).ok()??;
    let line = cmdline::load(root, &mut warnings).ok()?;
    let mut booted = deployment::find(root, line.ostree.as_deref()?).ok()??;
    booted.read_origin(root).ok()?;
    let reference = booted.image_reference();
    let is_target =
        |reference: &String| same_digest(reference, target.os_image_url.as_deref().unwrap_or(""));
    if reference.as_ref().is_some_and(is_target) {
        return Some(false);
    }
    let installation = Installation::read(root, &line, &mut warnings);
    let record = Record::load(root).ok()?;
    if let Some(record) = record.filter(|record| record.is_of(&installation)) {
        // The boot of the record may still be the one that stages the rebase.
        if record.boot_id.is_some() && record.boot_id == installation.boot_id {
            return Some(false);
        }
        // With its serial: new kernel arguments alone make another deployment of the same commit.
        if let Some(first) = record.deployment {
            return Some(first == booted.name);
        }
    }
    // Without a record: nothing was rebased to, and the deployment is of the boot image's version.
    let pivot = booted.origin_value("custom-url");
    Some(reference.is_none() && pivot.is_none() && image::runs_the_boot_image(root)?)
}
