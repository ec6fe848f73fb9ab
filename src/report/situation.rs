//! What there is to report on this boot, from the files that `skewguard.service` left.

use crate::node::kubeconfig::KUBELET_KUBECONFIG;
use crate::node::{
    ENCAPSULATED_BAK_PATH, ENCAPSULATED_PATH, FileError, KEPT_VERDICT_PATH, Options, RUN_VERDICT_PATH, Root, STAMP_PATH, facts,
};
use crate::verdict::{Action, Verdict, decide};
use std::time::{Duration, SystemTime};

/// Largest verdict read, in bytes.
const VERDICT_MAX: u64 = 256 * 1024;

/// A verdict, and since when it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// The verdict.
    pub verdict: Verdict,
    /// When it was written, by the node's clock.
    pub(crate) at: SystemTime,
}

/// What there is to report.
#[derive(Debug)]
pub enum Situation {
    /// A verdict: this boot's, or an earlier one's on a boot that needed none.
    Verdict(Box<Observed>),
    /// `skewguard.service` should have left one on this boot and did not, or one that cannot be read.
    NoVerdict(Option<FileError>),
    /// The service never ran on this node: it was installed after the node had joined. Or what it left cannot be read.
    NeverRan(Option<FileError>),
}

/// Reads the situation.
pub fn read(root: &Root) -> Situation {
    match load(root, RUN_VERDICT_PATH) {
        Ok(Some(observed)) => return Situation::Verdict(Box::new(observed)),
        Ok(None) if was_first_boot(root) => return Situation::NoVerdict(None),
        Ok(None) => {}
        Err(error) => return Situation::NoVerdict(Some(error)),
    }
    match load(root, KEPT_VERDICT_PATH) {
        Ok(Some(observed)) => Situation::Verdict(Box::new(observed)),
        Ok(None) => Situation::NeverRan(None),
        Err(error) => Situation::NeverRan(Some(error)),
    }
}

/// What `check` would say now: for the inventory of a node that no verdict was left on.
pub fn decide_now(root: &Root) -> Option<Verdict> {
    facts(root, Options::default()).ok().map(|facts| decide(&facts))
}

/// Whether the node is held back at this moment. In doubt it is: else one failed look at the stamp would take the message off the console of a node
/// that is held, and tell the cluster that it goes on.
pub(super) fn is_held(root: &Root) -> bool {
    root.exists(STAMP_PATH).unwrap_or(true)
}

/// This boot's verdict, where there is one that can be read.
pub(super) fn this_boots(root: &Root) -> Option<Observed> {
    load(root, RUN_VERDICT_PATH).ok().flatten()
}

/// The verdict as it is to be told: of a node that was held and is not any more, that it goes on. (`skewguard allow` takes the stamp away
/// first; the verdict that says so is written by the next run of `skewguard.service`.)
pub(super) fn as_it_is_now(root: &Root, verdict: &Verdict) -> Verdict {
    let mut verdict = verdict.clone();
    if let Some(gate) = verdict.gate.as_mut().filter(|gate| gate.held && !is_held(root)) {
        gate.held = false;
        verdict.action = Action::Proceed;
    }
    verdict
}

fn load(root: &Root, path: &str) -> Result<Option<Observed>, FileError> {
    let Some(bytes) = root.read(path, VERDICT_MAX)? else { return Ok(None) };
    let verdict: Verdict =
        serde_json::from_slice(&bytes).map_err(|error| FileError::content(path, format_args!("is no verdict: {error}")))?;
    if !crate::policy::is_our_group(&verdict.api_version) {
        return Err(FileError::content(path, "is not of the API group skewguard.dev"));
    }
    let at = root.changed(path)?.unwrap_or_else(SystemTime::now);
    Ok(Some(Observed { verdict, at }))
}

/// Whether this boot is, or began as, a first boot, so that `skewguard.service` had to run: the encapsulated config is there, or was put
/// aside since the kernel started. (Where it was removed instead, nothing is left to see it by.)
///
/// An OS update copies /etc, and what was put aside with it, moments before the reboot; a clock that is behind after that reboot makes it look
/// like a change since. So a node with an earlier verdict, or with a kubelet that joined before that copy was made, is past its first boot.
fn was_first_boot(root: &Root) -> bool {
    if root.exists(ENCAPSULATED_PATH).unwrap_or(false) {
        return true;
    }
    let (Ok(Some(changed)), Some(booted)) = (root.changed(ENCAPSULATED_BAK_PATH), boot_time(root)) else { return false };
    let had_verdict = root.exists(KEPT_VERDICT_PATH).unwrap_or(false);
    let had_joined = matches!(root.changed(KUBELET_KUBECONFIG), Ok(Some(joined)) if joined <= changed);
    changed >= booted && !had_verdict && !had_joined
}

/// When the kernel started, by today's clock and to the second (proc_uptime(5)).
fn boot_time(root: &Root) -> Option<SystemTime> {
    let uptime = root.read_text("/proc/uptime", 256).ok().flatten()?;
    let seconds = uptime.split(['.', ' ']).next()?.parse().ok()?;
    SystemTime::now().checked_sub(Duration::from_secs(seconds))
}

/// This boot's id (proc_sys_kernel(5)), `unknown` where it cannot be read.
pub(super) fn boot_id(root: &Root) -> String {
    let id = root.read_text("/proc/sys/kernel/random/boot_id", 256).ok().flatten().unwrap_or_default();
    let id = id.trim();
    if id.is_empty() { "unknown".to_owned() } else { super::names::clean(id, 64) }
}
