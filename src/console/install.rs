//! The message on `/etc/issue` and in `/etc/motd.d`, and everything back as it was.
//!
//! What was on `/etc/issue` keeps its inode: a hard link beside it ([`ASIDE`]) holds it, be it file or symlink, so that bytes, mode, owner and
//! label come back with one rename, whatever they were. [`STATE`] is written before anything is touched and removed after everything is
//! restored; it says which texts are ours, so that an edit made meanwhile loses our part and nothing else.
//!
//! Order of showing: state, hard link, new file (renamed into place). Order of taking away: rename (or rewrite), hard link, motd, state.
//! After a kill between any two of these `/etc/issue` is whole, and either direction can be taken again from the start.

use super::message::{self, Context};
use crate::node::{FileError, Problem, Root};
use crate::verdict::Verdict;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::ffi::OsString;

/// What agetty(8) prints above the login prompt.
pub const ISSUE: &str = "/etc/issue";

/// What was on [`ISSUE`] before.
pub const ASIDE: &str = "/etc/issue.skewguard-saved";

/// Exists while the message does, and as long as something is to be restored: the condition of `skewguard.service` for later boots.
pub const STATE: &str = "/var/lib/skewguard/issue.saved";

/// Our file for logins over ssh.
pub const MOTD: &str = "/etc/motd.d/skewguard";

/// A longer `/etc/issue` is not repeated below the message, in bytes. It comes back all the same.
const BELOW_MAX: u64 = 64 * 1024;

/// Largest [`STATE`] that is read, in bytes: two messages of 80x24, escaped.
const STATE_MAX: u64 = 64 * 1024;

/// What came of [`update`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The message stands.
    Shown,
    /// The message is gone and everything is as it was.
    Restored,
    /// There was nothing to show and nothing to restore.
    Nothing,
}

/// The file operations that showing and restoring need; [`Root`] has them.
pub(super) trait Files {
    fn read(&self, path: &str, max: u64) -> Result<Option<Vec<u8>>, FileError>;
    fn read_link(&self, path: &str) -> Result<Option<OsString>, FileError>;
    fn list(&self, path: &str) -> Result<Vec<OsString>, FileError>;
    fn write(&self, path: &str, bytes: &[u8], mode: u32) -> Result<(), FileError>;
    fn hard_link(&self, from: &str, to: &str) -> Result<(), FileError>;
    fn rename(&self, from: &str, to: &str) -> Result<bool, FileError>;
    fn remove(&self, path: &str) -> Result<bool, FileError>;
}

impl Files for Root {
    fn read(&self, path: &str, max: u64) -> Result<Option<Vec<u8>>, FileError> {
        Root::read(self, path, max)
    }
    fn read_link(&self, path: &str) -> Result<Option<OsString>, FileError> {
        Root::read_link(self, path)
    }
    fn list(&self, path: &str) -> Result<Vec<OsString>, FileError> {
        Root::list(self, path, 10_000)
    }
    fn write(&self, path: &str, bytes: &[u8], mode: u32) -> Result<(), FileError> {
        Root::write(self, path, bytes, mode)
    }
    fn hard_link(&self, from: &str, to: &str) -> Result<(), FileError> {
        Root::hard_link(self, from, to)
    }
    fn rename(&self, from: &str, to: &str) -> Result<bool, FileError> {
        Root::rename(self, from, to)
    }
    fn remove(&self, path: &str) -> Result<bool, FileError> {
        Root::remove(self, path)
    }
}

/// Whether a message still stands, from this boot or an earlier one. A file that cannot be looked at counts as none.
pub fn pending_restore(root: &Root) -> bool {
    root.exists(STATE).unwrap_or(false)
}

/// Shows the message where the verdict has one, and else restores what was there before.
///
/// # Errors
/// The kernel says no (read-only `/etc`, no space, no permission). Then `/etc/issue` is what it was, whole.
pub fn update(root: &Root, verdict: &Verdict, context: &Context) -> Result<Change, FileError> {
    if message::is_shown(verdict) {
        show(root, &message::issue(verdict, context), &message::motd(verdict, context))?;
        return Ok(Change::Shown);
    }
    Ok(if restore(root)? { Change::Restored } else { Change::Nothing })
}

/// Says anew what a message that stands says, as when the cluster was told; does nothing where none stands.
///
/// # Errors
/// As [`update`].
pub fn refresh(root: &Root, verdict: &Verdict, context: &Context) -> Result<Change, FileError> {
    if pending_restore(root) { update(root, verdict, context) } else { Ok(Change::Nothing) }
}

/// Restores what was there before any message; whether one stood.
///
/// # Errors
/// As [`update`]; what is left to do is done by the next call.
pub fn restore(root: &Root) -> Result<bool, FileError> {
    take_away(root)
}

/// [`STATE`].
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct State {
    /// Texts of ours that may stand on `/etc/issue`: the newest last. More than one only between two steps.
    messages: Vec<String>,
    /// SHA-256 of what was put below the message.
    below: String,
}

fn show(files: &impl Files, issue: &str, motd: &str) -> Result<(), FileError> {
    let shown = show_issue(files, issue);
    // Whoever comes by ssh is to be told even where the console cannot be written; but never what nobody would take away again.
    if shown.is_err() && read_state(files)?.is_none() {
        return shown;
    }
    let told = files.write(MOTD, motd.as_bytes(), 0o644);
    shown.and(told)
}

fn show_issue(files: &impl Files, message: &str) -> Result<(), FileError> {
    let state = read_state(files)?;
    let now = read_issue(files);
    if let (Some(state), Ok(Some(now))) = (&state, &now)
        && let Some((above, old, below)) = split(now, &state.messages)
    {
        if old == message {
            return Ok(());
        }
        // Both texts are ours until the new one is in place.
        write_state(files, &State { messages: vec![old.to_owned(), message.to_owned()], below: state.below.clone() })?;
        return files.write(ISSUE, &[above, message.as_bytes(), below].concat(), 0o644);
    }
    if let (Some(State { messages, .. }), Ok(_)) = (&state, &now)
        && messages.is_empty()
    {
        files.rename(ASIDE, ISSUE)?;
    }
    let linked = files.read_link(ISSUE)?.is_some();
    let below = match files.read(ISSUE, BELOW_MAX) {
        Ok(now) => now,
        // A symlink to nowhere good, a file too long or unreadable: it is kept, not repeated.
        Err(FileError { problem: Problem::NotAFile("directory"), .. }) if !linked => {
            return Err(FileError::content(ISSUE, "is a directory; it is left alone"));
        }
        Err(_) => Some(Vec::new()),
    };
    let present = linked || below.is_some();
    let below = below.unwrap_or_default();
    write_state(files, &State { messages: vec![message.to_owned()], below: digest(&below) })?;
    files.remove(ASIDE)?;
    if present {
        files.hard_link(ISSUE, ASIDE)?;
    }
    files.write(ISSUE, &[message.as_bytes(), &below].concat(), 0o644)
}

fn take_away(files: &impl Files) -> Result<bool, FileError> {
    let Some(state) = read_state(files)? else { return Ok(false) };
    match &read_issue(files)? {
        Some(now) if let Some((above, _, below)) = split(now, &state.messages) => {
            let untouched = above.is_empty() && digest(below) == state.below;
            if !(untouched && files.rename(ASIDE, ISSUE)?) {
                let rest = [above, below].concat();
                // Nothing was there before, or nothing but our part is left of what was.
                if rest.is_empty() { files.remove(ISSUE).map(drop)? } else { files.write(ISSUE, &rest, 0o644)? }
            }
        }
        // The state cannot be read, so only what was kept aside is known for sure.
        _ if state.messages.is_empty() => {
            files.rename(ASIDE, ISSUE)?;
        }
        // Not ours, so it stays: we were killed before it was, or somebody wrote a new one.
        _ => {}
    }
    files.remove(ASIDE)?;
    files.remove(MOTD)?;
    sweep(files, "/etc", ".issue.skewguard-");
    sweep(files, "/etc/motd.d", ".skewguard.skewguard-");
    files.remove(STATE)?;
    Ok(true)
}

/// Removes the temporary files of writes that were killed. Nobody reads them, so one that stays is no failure.
fn sweep(files: &impl Files, dir: &str, prefix: &str) {
    for name in files.list(dir).unwrap_or_default() {
        if let Some(name) = name.to_str().filter(|name| name.starts_with(prefix)) {
            let _ = files.remove(&format!("{dir}/{name}"));
        }
    }
}

/// What stands on `/etc/issue`, if it can be ours: a file of our own making is no symlink and not long.
fn read_issue(files: &impl Files) -> Result<Option<Vec<u8>>, FileError> {
    if files.read_link(ISSUE)?.is_some() {
        return Ok(None);
    }
    match files.read(ISSUE, BELOW_MAX + STATE_MAX) {
        Err(FileError { problem: Problem::NotAFile(_) | Problem::TooLarge { .. }, .. }) => Ok(None),
        other => other,
    }
}

fn read_state(files: &impl Files) -> Result<Option<State>, FileError> {
    let Some(bytes) = files.read(STATE, STATE_MAX)? else { return Ok(None) };
    let mut state: State = serde_json::from_slice(&bytes).unwrap_or_default();
    state.messages.retain(|message| !message.is_empty());
    Ok(Some(state))
}

fn write_state(files: &impl Files, state: &State) -> Result<(), FileError> {
    let bytes = serde_json::to_vec(state).map_err(|error| FileError::content(STATE, error))?;
    files.write(STATE, &bytes, 0o644)
}

/// `text` around the first of `ours` that is in it.
fn split<'a, 'b>(text: &'a [u8], ours: &'b [String]) -> Option<(&'a [u8], &'b str, &'a [u8])> {
    ours.iter().rev().find_map(|message| {
        let at = text.windows(message.len()).position(|window| window == message.as_bytes())?;
        Some((text.get(..at)?, message.as_str(), text.get(at + message.len()..)?))
    })
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
