//! What there is to report on this boot, from the files that `skewguard.service` left.

use super::names::clean;
use super::objects::TEXT_MAX;
use crate::node::kubeconfig::KUBELET_KUBECONFIG;
use crate::node::{
    ENCAPSULATED_BAK_PATH, ENCAPSULATED_PATH, FileError, KEPT_VERDICT_PATH, Options, RUN_VERDICT_PATH, Root, STAMP_PATH, facts,
};
use crate::verdict::{Action, Verdict, decide};
use serde_json::Value;
use std::time::{Duration, SystemTime};

/// Largest verdict that is read, in bytes.
const VERDICT_MAX: u64 = 256 * 1024;

/// Longest short text in a verdict, in bytes: a version, a name, an image reference.
const WORD_MAX: usize = 512;

/// A verdict, and when it was made.
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
    /// A verdict: this boot's, or an earlier one where this boot needed none.
    Verdict(Box<Observed>),
    /// `skewguard.service` should have left a verdict on this boot, but there is none, or one that cannot be read.
    NoVerdict(Option<FileError>),
    /// The service never ran on this node, because it was installed after the node had joined. Or the kept verdict cannot be read.
    NeverRan(Option<FileError>),
}

/// Finds out what there is to report.
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

/// What `check` would say now, for the label of a Node that has no verdict.
pub fn decide_now(root: &Root) -> Option<Verdict> {
    let decided = decide(&facts(root, Options::default()).ok()?);
    // Bounded like a verdict that was read from a file.
    verdict(&serde_json::to_vec(&decided).ok()?).ok()
}

/// Whether the node is held back now. If the stamp cannot be examined, the node counts as held: otherwise one failed look would remove the
/// message from the console of a held node, and tell the cluster that it goes on.
pub(super) fn is_held(root: &Root) -> bool {
    root.exists(STAMP_PATH).unwrap_or(true)
}

/// This boot's verdict, if it can be read.
pub(super) fn this_boots(root: &Root) -> Option<Observed> {
    load(root, RUN_VERDICT_PATH).ok().flatten()
}

/// The verdict as it is to be told: if the node was held and is not any more, its action is `Proceed`. (`skewguard allow` only removes the
/// stamp; the next run of `skewguard.service` writes the verdict that says so.)
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
    let verdict = verdict(&bytes).map_err(|error| FileError::content(path, format_args!("is no verdict: {error}")))?;
    if !crate::policy::is_our_group(&verdict.api_version) {
        return Err(FileError::content(path, "is not of the API group skewguard.dev"));
    }
    let at = root.changed(path)?.unwrap_or_else(SystemTime::now);
    Ok(Some(Observed { verdict, at }))
}

/// Reads a verdict. Somebody else may have written it, so every text in it is made printable and bounded.
///
/// # Errors
/// It is not a verdict.
pub fn verdict(json: &[u8]) -> Result<Verdict, serde_json::Error> {
    let mut json: Value = serde_json::from_slice(json)?;
    bound(&mut json, WORD_MAX);
    // Not `from_value`: that would add a second deserialiser of every type to the binary.
    serde_json::from_slice(&serde_json::to_vec(&json)?)
}

fn bound(value: &mut Value, max: usize) {
    match value {
        Value::String(text) => *text = clean(text, max),
        Value::Array(items) => items.iter_mut().for_each(|item| bound(item, max)),
        Value::Object(fields) => {
            for (name, value) in fields {
                let is_sentence = matches!(name.as_str(), "message" | "warnings" | "error");
                bound(value, if is_sentence { TEXT_MAX } else { WORD_MAX });
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether this boot is or began as a first boot, so that `skewguard.service` had to run: the encapsulated config exists, or was renamed
/// since the kernel started. (If it was removed instead, nothing shows that this was a first boot.)
///
/// An OS update copies /etc, with the renamed config, moments before its reboot. If the clock is behind after the reboot, the copy seems to
/// be newer than the boot. So a node with an earlier verdict, or with a kubelet that joined before the copy was made, counts as past its
/// first boot.
fn was_first_boot(root: &Root) -> bool {
    if root.exists(ENCAPSULATED_PATH).unwrap_or(false) {
        return true;
    }
    let (Ok(Some(changed)), Some(booted)) = (root.changed(ENCAPSULATED_BAK_PATH), boot_time(root)) else { return false };
    let had_verdict = root.exists(KEPT_VERDICT_PATH).unwrap_or(false);
    let had_joined = matches!(root.changed(KUBELET_KUBECONFIG), Ok(Some(joined)) if joined <= changed);
    changed >= booted && !had_verdict && !had_joined
}

/// When the kernel started, by the current clock, to the second (proc_uptime(5)).
fn boot_time(root: &Root) -> Option<SystemTime> {
    let uptime = root.read_text("/proc/uptime", 256).ok().flatten()?;
    let seconds = uptime.split(['.', ' ']).next()?.parse().ok()?;
    SystemTime::now().checked_sub(Duration::from_secs(seconds))
}

/// This boot's id (proc_sys_kernel(5)); `unknown` where it cannot be read.
pub(super) fn boot_id(root: &Root) -> String {
    let id = root.read_text("/proc/sys/kernel/random/boot_id", 256).ok().flatten().unwrap_or_default();
    let id = id.trim();
    if id.is_empty() { "unknown".to_owned() } else { super::names::clean(id, 64) }
}
