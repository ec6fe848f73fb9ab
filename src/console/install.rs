//! The message on the login prompt and in `/etc/motd.d`, and everything back as it was.
//!
//! A node that is held has it on top of `/etc/issue`. A node that goes on has it in a file of our own, [`BESIDE`]: its kubelet may start in this
//! boot, and a MachineConfig that owns `/etc/issue` would then find it changed and degrade the pool.
//!
//! What was on `/etc/issue` keeps its inode: a hard link beside it ([`ASIDE`]) holds it, be it file or symlink, so that bytes, mode, owner and
//! label come back with one rename, whatever they were. Which part of the file is ours its text says ([`message::find`]), so that an edit made
//! meanwhile loses our part and nothing else.
//!
//! Order of showing: motd, state, hard link, new file (renamed into place). Order of taking away: rename (or rewrite), hard link, state, motd.
//! After a kill between any two of these `/etc/issue` is whole, and either direction can be taken again from the start.

use super::known::Context;
use super::message::{self, Case};
use crate::node::{FileError, Problem, Root, STAMP_PATH};
use crate::text::hex;
use crate::verdict::Verdict;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What agetty(8) prints above the login prompt.
const ISSUE: &str = "/etc/issue";

/// What agetty prints below [`ISSUE`], where there is one (util-linux 2.32 to 2.41).
pub const BESIDE: &str = "/etc/issue.d/skewguard.issue";

/// What was on [`ISSUE`] before.
const ASIDE: &str = "/etc/issue.skewguard-saved";

/// What is known of [`ASIDE`]. /var may be mounted after it was written; then it is done without.
pub const STATE: &str = "/var/lib/skewguard/issue.saved";

/// Our file for logins over ssh.
pub const MOTD: &str = "/etc/motd.d/skewguard";

/// A longer `/etc/issue` is not repeated below the message, in bytes. It comes back all the same.
const BELOW_MAX: u64 = 64 * 1024;

/// Longest message with what an admin may have put around it, in bytes.
const AROUND_MAX: u64 = 64 * 1024;

/// Largest [`STATE`] that is read, in bytes; older agents kept their messages in it.
const STATE_MAX: u64 = 64 * 1024;

/// Whether a message still stands, from this boot or an earlier one. A file that cannot be looked at counts as none.
pub fn pending_restore(root: &Root) -> bool {
    [MOTD, BESIDE, STATE, ASIDE].into_iter().any(|path| is_there(root, path))
}

/// Shows the message where the verdict has one, and else restores what was there before; whether anything was to be done.
///
/// # Errors
/// The kernel says no (read-only `/etc`, no space, no permission). Then `/etc/issue` is what it was, whole.
pub fn update(root: &Root, verdict: &Verdict, context: &Context) -> Result<bool, FileError> {
    let Some(case) = message::case(verdict) else { return restore(root) };
    show(root, case == Case::Refused, &message::issue(verdict, context), &message::motd(verdict, context))?;
    Ok(true)
}

/// Says anew what a message that stands says, as when the cluster was told; does nothing where none stands. Of a node that was let through
/// meanwhile nothing stays.
pub fn refresh(root: &Root, verdict: &Verdict, context: &Context) -> Result<bool, FileError> {
    if verdict.gate.as_ref().is_some_and(|gate| gate.held) && !root.exists(STAMP_PATH)? {
        return restore(root);
    }
    if !pending_restore(root) {
        return Ok(false);
    }
    // If it cannot be kept, the next message says less.
    let _ = context.save(root, verdict);
    update(root, verdict, context)
}

/// Restores what was there before any message; whether one stood.
///
/// # Errors
/// As [`update`]; what is left to do is done by the next call.
pub fn restore(root: &Root) -> Result<bool, FileError> {
    // Temporary files of killed runs: nobody may write there again, and a login shows whatever is in /etc/motd.d.
    for dir in ["/etc", "/etc/issue.d", "/etc/motd.d", "/var/lib/skewguard"] {
        root.sweep(dir);
    }
    if !pending_restore(root) {
        return Ok(false);
    }
    root.remove(BESIDE)?;
    restore_issue(root)?;
    // Last, because its presence is what starts `skewguard.service` on later boots.
    root.remove(MOTD)?;
    Ok(true)
}

/// [`STATE`].
#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    /// SHA-256 of what was put below the message.
    #[serde(default)]
    below: String,
}

fn show(root: &Root, held: bool, issue: &str, motd: &str) -> Result<(), FileError> {
    // Whoever comes by ssh is told even where the console cannot be written.
    let told = root.write(MOTD, motd.as_bytes(), 0o644);
    let shown = if held { show_on_issue(root, issue) } else { restore_issue(root).and_then(|()| show_beside(root, issue)) };
    shown.and(told)
}

fn show_beside(root: &Root, message: &str) -> Result<(), FileError> {
    // Where there is no /etc/issue nothing beside it is printed, and no MachineConfig owns it.
    if root.exists(ISSUE).unwrap_or(true) { root.write(BESIDE, message.as_bytes(), 0o644) } else { show_on_issue(root, message) }
}

fn show_on_issue(root: &Root, message: &str) -> Result<(), FileError> {
    if let Some(now) = read_issue(root)?
        && let Some((at, rest)) = strip(&now)
    {
        let (above, below) = rest.split_at(at);
        let new = [above, message.as_bytes(), below].concat();
        if new != now {
            root.write(ISSUE, &new, 0o644)?;
        }
        return root.remove(BESIDE).map(drop);
    }
    let linked = root.read_link(ISSUE)?.is_some();
    let below = match root.read(ISSUE, BELOW_MAX) {
        Ok(now) => now,
        // A symlink to nowhere good, a file too long or unreadable: it is kept, not repeated.
        Err(FileError { problem: Problem::NotAFile("directory"), .. }) if !linked => {
            return Err(FileError::content(ISSUE, "is a directory; it is left alone"));
        }
        Err(_) => Some(Vec::new()),
    };
    let present = linked || below.is_some();
    let below = below.unwrap_or_default();
    let state = serde_json::to_vec(&State { below: digest(&below) }).map_err(|error| FileError::content(STATE, error))?;
    root.write(STATE, &state, 0o644)?;
    root.remove(ASIDE)?;
    if present {
        root.hard_link(ISSUE, ASIDE)?;
    }
    root.write(ISSUE, &[message.as_bytes(), &below].concat(), 0o644)?;
    root.remove(BESIDE).map(drop)
}

fn restore_issue(root: &Root) -> Result<(), FileError> {
    let state: Option<State> = root.read(STATE, STATE_MAX).ok().flatten().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    if let Some((at, rest)) = read_issue(root)?.as_deref().and_then(strip) {
        let original = root.read(ASIDE, BELOW_MAX + AROUND_MAX).ok().flatten();
        // An agent once took its own text for the original.
        let ours = original.as_deref().and_then(strip).map(|(_, original)| original);
        let untouched = at == 0
            && ours.is_none()
            && match &state {
                Some(state) if state.below == digest(&rest) => true,
                None if rest.is_empty() => true,
                _ => original.as_ref() == Some(&rest),
            };
        if !(untouched && root.rename(ASIDE, ISSUE)?) {
            let rest = if rest.is_empty() { ours.unwrap_or_default() } else { rest };
            // Nothing was there before, or nothing but our part is left of what was.
            if rest.is_empty() { root.remove(ISSUE).map(drop)? } else { root.write(ISSUE, &rest, 0o644)? }
        }
    }
    // A file without our text stays: we were killed before it was changed, or somebody wrote a new one.
    root.remove(ASIDE)?;
    root.remove(STATE).map(drop)
}

/// What stands on `/etc/issue`, if it can be ours: a file of our own making is no symlink and not long.
///
/// # Errors
/// It cannot be read. It may be our message then, with the original in [`ASIDE`] and nowhere else.
fn read_issue(root: &Root) -> Result<Option<Vec<u8>>, FileError> {
    if root.read_link(ISSUE)?.is_some() {
        return Ok(None);
    }
    match root.read(ISSUE, BELOW_MAX + AROUND_MAX) {
        Err(FileError { problem: Problem::NotAFile(_) | Problem::TooLarge { .. }, .. }) => Ok(None),
        Err(_) if !is_there(root, ASIDE) && !is_there(root, STATE) => Ok(None),
        other => other,
    }
}

/// Whether there is such a name, be it of a symlink to nothing.
fn is_there(root: &Root, path: &str) -> bool {
    root.exists(path).unwrap_or(false) || root.read_link(path).is_ok_and(|link| link.is_some())
}

/// Where the first message of ours begins in `text`, and the text without any.
fn strip(text: &[u8]) -> Option<(usize, Vec<u8>)> {
    let mut rest = Vec::with_capacity(text.len());
    let mut first = None;
    let mut left = text;
    while let Some(line) = lines(left).next() {
        let length = message_length(left);
        if length.is_some() {
            first.get_or_insert(rest.len());
        } else {
            rest.extend_from_slice(line);
        }
        left = left.split_at(length.unwrap_or(line.len())).1;
    }
    first.map(|at| (at, rest))
}

/// The length of the message of ours that `text` begins with: from its headline through the empty line after what the cluster knows.
fn message_length(text: &[u8]) -> Option<usize> {
    if !message::HEADLINES.iter().any(|headline| text.strip_prefix(b"*** ").is_some_and(|text| text.starts_with(headline.as_bytes()))) {
        return None;
    }
    let mut length = 0;
    let mut ends = false;
    for line in lines(text).take(message::LINES_MAX) {
        length += line.len();
        ends |= line.starts_with(b"Cluster ");
        if ends && line == b"\n" {
            return Some(length);
        }
    }
    None
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    #[cfg(test)]
    let lines = lines.inspect(|_| tests::count_line());
    lines
}

fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests;
