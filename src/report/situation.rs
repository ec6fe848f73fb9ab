//! The verdict to report on this boot, from the files that `skewguard.service` left.

use super::ledger::Ledger;
use super::node_failure::CA_PATH;
use super::objects::TEXT_MAX;
use super::stall::HungBoot;
use crate::node::{
    BOOT_ID_PATH, ENCAPSULATED_BAK_PATH, ENCAPSULATED_PATH, FileError, Inputs, Joined,
    KEPT_VERDICT_PATH, KUBELET_KUBECONFIG, LOCK_PATH, Node, RUN_VERDICT_PATH, Root,
    UNTOLD_VERDICT_PATH, boot_time, facts, is_image_based, is_refused, is_renamed, load_verdict,
    lost_rebase,
};
use crate::text::bounded;
use crate::verdict::Verdict;
use std::time::SystemTime;

/// Longest short text in a verdict, in bytes: a version, a name, an image reference.
const WORD_MAX: usize = 512;

/// A verdict, and when it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DatedVerdict {
    /// The verdict.
    pub verdict: Verdict,
    /// The time at which it was written, by the node's clock.
    pub(crate) at: SystemTime,
}

/// The verdict to report.
#[derive(Debug)]
pub(crate) enum LastRun {
    /// A verdict: this boot's, or an earlier one where this boot needed none.
    Verdict(Box<DatedVerdict>),
    /// `skewguard.service` should have left a verdict on this boot, but there is none, or one that
    /// cannot be read.
    NoVerdict(Option<FileError>),
    /// The service never ran on this node, because it was installed after the node had joined. Or
    /// the kept verdict cannot be read.
    NeverRan(Option<FileError>),
}

/// The node at one look: this changes while the report runs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moment {
    /// The node is held back.
    pub(super) held: bool,
    /// A node with the kubelet's own identity has joined for good. While the encapsulated config is
    /// there, the rebase is still to come, and the identity may be older than this installation.
    pub(super) is_past_first_boot: bool,
    /// The cluster's Machine Config Server takes reports of failures.
    pub(super) failures_are_taken: bool,
}

impl Moment {
    /// Looks at the node. If it cannot be found out whether it is held, it is, unlike for the gate:
    /// otherwise one failed look would remove the message from the console of a held node, and tell
    /// the cluster that it goes on.
    pub(super) fn read(root: &Root) -> Self {
        Self {
            held: is_refused(root).unwrap_or(true),
            is_past_first_boot: is_renamed(root),
            failures_are_taken: root.exists(CA_PATH).unwrap_or(false),
        }
    }
}

/// Finds out what there is to report.
pub(crate) fn read(node: &Node<'_>) -> LastRun {
    let (root, id) = (node.root, node.installation_id());
    let kept = || load(root, KEPT_VERDICT_PATH, Some(&id));
    match load(root, RUN_VERDICT_PATH, None) {
        Ok(Some(observed)) => return LastRun::Verdict(Box::new(observed)),
        Ok(None) if !is_image_based(root) => return LastRun::NeverRan(None),
        Ok(None) if was_first_boot(node, kept().is_ok_and(|kept| kept.is_none())) => {
            return LastRun::NoVerdict(None);
        }
        Ok(None) => {}
        // The same was kept in /var, unless the run ended in between.
        Err(error) => {
            return match kept() {
                Ok(Some(kept)) if is_since_the_lock(root, &kept) => {
                    LastRun::Verdict(Box::new(kept))
                }
                _ => LastRun::NoVerdict(Some(error)),
            };
        }
    }
    match kept() {
        Ok(Some(observed)) => LastRun::Verdict(Box::new(observed)),
        Ok(None) => LastRun::NeverRan(None),
        Err(error) => LastRun::NeverRan(Some(error)),
    }
}

/// The error of this boot's verdict in /run, if it cannot be read.
pub(crate) fn unreadable(root: &Root) -> Option<FileError> {
    load(root, RUN_VERDICT_PATH, None).err()
}

/// Compares a verdict's time with that of the lock, which `enforce` takes first and a boot empties.
fn is_since_the_lock(root: &Root, kept: &DatedVerdict) -> bool {
    matches!(root.changed(LOCK_PATH), Ok(Some(locked)) if locked <= kept.at)
}

/// An earlier boot's verdict that is still to be told, if it can be read.
pub(super) fn untold(node: &Node<'_>) -> Option<DatedVerdict> {
    let id = node.installation_id();
    load(node.root, UNTOLD_VERDICT_PATH, Some(&id))
        .ok()
        .flatten()
}

/// Decides as `check` would now, for the label of a Node that has no verdict.
pub fn decide_now(root: &Root) -> Option<Verdict> {
    // A system that is made of packages has no boot image to name.
    if !is_image_based(root) {
        return None;
    }
    let node = Node::read(root);
    let facts = facts(&node, Inputs::default()).ok()?;
    // Like a verdict that was read from a file.
    Some(bound(node.decide(&facts)))
}

/// A first boot that hangs: what the report told of it last, or a rebase that took no effect.
pub(crate) fn hangs(node: &Node<'_>, ledger: Option<&Ledger>) -> Option<HungBoot> {
    if node.joined() != Joined::No {
        return None;
    }
    let told = ledger.and_then(|ledger| ledger.first_boot.as_ref());
    HungBoot::new(told, lost_rebase(node))
}

/// This boot's verdict, if it can be read.
pub(crate) fn this_boots(root: &Root) -> Option<DatedVerdict> {
    load(root, RUN_VERDICT_PATH, None).ok().flatten()
}

fn load(
    root: &Root,
    path: &str,
    installation: Option<&str>,
) -> Result<Option<DatedVerdict>, FileError> {
    let Some(verdict) = load_verdict(root, path, installation)?.map(bound) else {
        return Ok(None);
    };
    if !crate::policy::is_our_group(&verdict.api_version) {
        return Err(FileError::content(
            path,
            "is not of the API group skewguard.dev",
        ));
    }
    let at = root.changed(path)?.unwrap_or_else(SystemTime::now);
    Ok(Some(DatedVerdict { verdict, at }))
}

/// Bounds a verdict. Somebody else may have written it, so every text in it is made printable, too.
pub(crate) fn bound(mut verdict: Verdict) -> Verdict {
    verdict.bound(WORD_MAX, TEXT_MAX);
    verdict
}

/// This boot is or began as a first boot, so that `skewguard.service` had to run: the
/// encapsulated config exists, or was renamed since the kernel started. (If it was removed instead,
/// nothing shows that this was a first boot.)
///
/// An OS update copies /etc, with the renamed config, moments before its reboot. If the clock is
/// behind after the reboot, or was so when the kernel started, the copy seems to be newer than the
/// boot. So a node with an earlier verdict, or that has joined, counts as past its first boot.
fn was_first_boot(node: &Node<'_>, has_no_verdict: bool) -> bool {
    let root = node.root;
    if root.exists(ENCAPSULATED_PATH).unwrap_or(false) {
        return true;
    }
    let (Ok(Some(changed)), Some(booted)) = (root.changed(ENCAPSULATED_BAK_PATH), boot_time(root))
    else {
        return false;
    };
    let had_joined =
        matches!(root.changed(KUBELET_KUBECONFIG), Ok(Some(joined)) if joined <= changed);
    changed >= booted && has_no_verdict && !had_joined && node.joined() == Joined::No
}

/// This boot's id (proc_sys_kernel(5)); `unknown` where it cannot be read.
pub(super) fn boot_id(root: &Root) -> String {
    let id = root
        .read_text(BOOT_ID_PATH, 256)
        .ok()
        .flatten()
        .unwrap_or_default();
    let id = id.trim();
    if id.is_empty() {
        "unknown".to_owned()
    } else {
        bounded(id, 64)
    }
}
