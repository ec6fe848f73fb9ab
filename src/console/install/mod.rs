//! Puts the message on the login prompt and into `/etc/motd.d`, and restores both.
//!
//! On a node that is held the message is at the top of `/etc/issue`, and its headline once more at
//! the prompt, [`PROMPT`]: on a real node keys, interfaces and Ignition's lines stand between them,
//! and the top of 25 lines scrolls away. On a node that goes on the message is at the prompt alone:
//! the kubelet may start on this boot, and if a MachineConfig owns `/etc/issue`, the Machine Config
//! Daemon would find it changed and degrade the pool.
//!
//! The original `/etc/issue`, file or symlink, keeps its inode through a hard link, [`ASIDE`]. So
//! one rename restores its bytes, mode, owner and label. Our part of the file is recognised by the
//! digest in [`STATE`], or by its first and last line, so that restoring a file that was edited
//! meanwhile removes our part only.
//!
//! Showing writes motd, state, hard link, the new file and the prompt, in this order. Restoring
//! takes the prompt away, renames (or rewrites) the file, then removes hard link, state and motd.
//! After a kill at any point `/etc/issue` is whole, and either can be started again. A state that
//! cannot be written, because /var is full, never keeps the message away; where the hard link cannot
//! be made the whole message is at the prompt instead.

use super::context::Context;
use super::message;
use crate::json;
use crate::node::{FileError, Problem, Root, is_refused, sha256_hex};
use crate::verdict::{Fate, Verdict};
use serde::{Deserialize, Serialize};

/// Text that agetty(8) prints above the login prompt.
const ISSUE: &str = "/etc/issue";

/// Text that agetty prints last, next to the prompt. It lasts as long as the boot. It is in no folder of
/// ours: agetty's SELinux domain reads a service's files in /run on RHEL and on Debian, but searches
/// a service's folders on RHEL alone.
pub(crate) const PROMPT: &str = "/run/skewguard-prompt.issue";

/// A link to [`PROMPT`]. agetty reads `/run/issue.d` only where there is no `/etc/issue`
/// (util-linux, `eval_issue_file`), RHEL 8's has none, and 2.41.5 reads it beside `/etc/issue.d`, so
/// that what is in both is shown twice. A link that leads nowhere, as on a later boot, is passed
/// over.
const PROMPT_LINK: &str = "/etc/issue.d/zz-skewguard.issue";

/// The message of a node that goes on, by older releases.
const BESIDE: &str = "/etc/issue.d/skewguard.issue";

/// The original [`ISSUE`].
const ASIDE: &str = "/etc/issue.skewguard-saved";

/// The record of the original. It may be missing: /var may have been mounted after it was
/// written.
pub(crate) const STATE: &str = "/var/lib/skewguard/issue.saved";

/// The message for logins over ssh.
pub(crate) const MOTD: &str = "/etc/motd.d/skewguard";

/// The note about a first boot that does not finish. It lasts as long as the boot.
pub(crate) const FIRST_BOOT_ISSUE: &str = "/run/issue.d/skewguard-first-boot.issue";

/// A link to [`FIRST_BOOT_ISSUE`], as [`PROMPT_LINK`].
const FIRST_BOOT_LINK: &str = "/etc/issue.d/skewguard-first-boot.issue";

/// The same for logins (pam_motd(8)). SELinux lets login and sshd read it where the OS makes that
/// folder, with a type of its own (RHEL 9 and 10); where the agent has to make it, they pass it
/// over. In /etc it would stay once the agent is gone, on a healthy node.
pub(crate) const FIRST_BOOT_MOTD: &str = "/run/motd.d/skewguard-first-boot";

/// Largest `/etc/issue` that is repeated below the message, in bytes. A larger one is restored as
/// well.
const BELOW_MAX: u64 = 64 * 1024;

/// Room for the message and for what an admin may have added, in bytes.
const AROUND_MAX: u64 = 64 * 1024;

/// Longest message, in bytes.
const MESSAGE_MAX: usize = 8 * 1024;

/// Largest [`STATE`] that is read, in bytes; older releases kept their messages in it.
const STATE_MAX: u64 = 64 * 1024;

/// A message of this or an earlier boot is still shown. A file that cannot be examined
/// counts as absent.
pub(crate) fn pending_restore(root: &Root) -> bool {
    [MOTD, PROMPT_LINK, BESIDE, STATE, ASIDE]
        .into_iter()
        .any(|path| is_there(root, path))
}

/// Shows the message of the verdict; if it has none, restores what was there before. Returns
/// whether there was anything to do.
///
/// # Errors
/// A file cannot be written, because `/etc` is read-only or full or needs root. `/etc/issue` then
/// is whole, as it was.
pub fn update(root: &Root, verdict: &Verdict, context: &Context) -> Result<bool, FileError> {
    if !message::is_shown(verdict) {
        return restore(root);
    }
    let (is_held, headline) = (verdict.fate() == Fate::Held, message::at_prompt(verdict));
    // A screen has no room for the note about the first boot and a second message.
    let is_brief = !is_held && is_there(root, FIRST_BOOT_ISSUE);
    let texts = Texts {
        issue: match is_brief {
            true => headline.clone(),
            false => message::issue(verdict, context),
        },
        headline: is_held.then_some(headline),
        // In /etc it may outlive the agent.
        motd: match verdict.fate() {
            Fate::Unchecked => String::new(),
            _ => message::motd(verdict, context),
        },
    };
    show(root, &texts)?;
    Ok(true)
}

/// The texts to show.
struct Texts {
    /// The line that is repeated at the prompt; `None` for a node that goes on, whose whole message is there.
    headline: Option<String>,
    issue: String,
    motd: String,
}

/// Renews a message that is shown, for example because the cluster was told; does nothing if none
/// is shown. If the node was let through meanwhile, restores what was there before.
pub(crate) fn refresh(
    root: &Root,
    verdict: &Verdict,
    context: &Context,
) -> Result<bool, FileError> {
    if verdict.gate.as_ref().is_some_and(|gate| gate.held) && !is_refused(root)? {
        return restore(root);
    }
    if !pending_restore(root) {
        return Ok(false);
    }
    // If this fails, the next message says less.
    let _ = context.save(root, verdict);
    update(root, verdict, context)
}

/// Restores what was there before any message. Returns whether one was shown.
///
/// # Errors
/// As [`update`]. The next call does what is left.
pub(crate) fn restore(root: &Root) -> Result<bool, FileError> {
    // Removes what killed runs left. Perhaps nothing is written there again, and a login shows
    // every file in /etc/motd.d.
    for dir in [
        "/etc",
        "/etc/issue.d",
        "/etc/motd.d",
        "/etc/skewguard",
        "/var/lib/skewguard",
    ] {
        root.sweep(dir);
    }
    if !pending_restore(root) {
        return Ok(false);
    }
    for path in [PROMPT_LINK, PROMPT, BESIDE] {
        root.remove(path)?;
    }
    restore_issue(root)?;
    // Last, because `skewguard.service` starts on later boots as long as this exists.
    root.remove(MOTD)?;
    Ok(true)
}

/// Shows the note about a first boot that does not finish. It lasts as long as this boot.
pub(crate) fn show_first_boot(root: &Root, note: &str) -> Result<bool, FileError> {
    root.write(FIRST_BOOT_MOTD, note.as_bytes(), 0o644)?;
    root.write(FIRST_BOOT_ISSUE, note.as_bytes(), 0o644)?;
    root.link(FIRST_BOOT_LINK, FIRST_BOOT_ISSUE)?;
    Ok(true)
}

/// Takes the note away. Returns whether there was one.
pub(crate) fn hide_first_boot(root: &Root) -> Result<bool, FileError> {
    root.remove(FIRST_BOOT_LINK)?;
    root.remove(FIRST_BOOT_MOTD)?;
    root.remove(FIRST_BOOT_ISSUE)
}

/// The content of [`STATE`].
#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    /// SHA-256 of the text below the message, in hex.
    #[serde(default)]
    below: String,
    /// Its length in bytes. This and what follows is absent from files of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    below_length: Option<usize>,
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<Ours>,
}

/// A message that was written, whatever its words are.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Ours {
    length: usize,
    /// SHA-256, in hex.
    digest: String,
}

impl Ours {
    fn of(message: &[u8]) -> Self {
        Self {
            length: message.len(),
            digest: sha256_hex(message),
        }
    }

    /// `text` begins with it.
    fn is_at(&self, text: &[u8]) -> bool {
        self.length <= MESSAGE_MAX
            && text.starts_with(b"*** ")
            && text
                .get(..self.length)
                .is_some_and(|text| sha256_hex(text) == self.digest)
    }
}

impl State {
    fn load(root: &Root) -> Option<Self> {
        let bytes = root.read(STATE, STATE_MAX).ok().flatten()?;
        json::read(&bytes).ok()
    }

    fn new(message: &[u8], below: &[u8]) -> Self {
        Self {
            below: sha256_hex(below),
            below_length: Some(below.len()),
            message: Some(Ours::of(message)),
        }
    }

    fn save(&self, root: &Root) -> Result<(), FileError> {
        let json = serde_json::to_vec(self).map_err(|error| FileError::content(STATE, error))?;
        root.write(STATE, &json, 0o644)
    }

    /// The text above the text that was below the message, if that still ends `now`.
    fn above<'a>(&self, now: &'a [u8]) -> Option<&'a [u8]> {
        let length = self.below_length.filter(|length| *length > 0)?;
        let (above, below) = now.split_at_checked(now.len().checked_sub(length)?)?;
        (sha256_hex(below) == self.below).then_some(above)
    }
}

fn show(root: &Root, texts: &Texts) -> Result<(), FileError> {
    // A node that goes on waits for no disk.
    let write = match texts.headline {
        Some(_) => Root::write,
        None => Root::write_soon,
    };
    // Each is written even if another cannot be.
    let told = match texts.motd.as_str() {
        "" => root.remove(MOTD).map(drop),
        text => write(root, MOTD, text.as_bytes(), 0o644),
    };
    let on_issue = match &texts.headline {
        Some(_) => show_on_issue(root, &texts.issue),
        None => restore_issue(root).map(|()| Shown::default()),
    };
    let (text, doubt) = match (&texts.headline, on_issue) {
        (Some(headline), Ok(Shown { doubt })) => (headline, doubt),
        (_, Ok(Shown { doubt })) => (&texts.issue, doubt),
        // All of it, where it does not scroll away.
        (_, Err(error)) => (&texts.issue, Some(error)),
    };
    let at_prompt = show_at_prompt(root, text);
    doubt.map_or(Ok(()), Err).and(at_prompt).and(told)
}

fn show_at_prompt(root: &Root, text: &str) -> Result<(), FileError> {
    if root.read_link(PROMPT_LINK)?.is_none() {
        root.remove(PROMPT_LINK)?;
    }
    // In memory, and gone with the boot.
    let shown = root
        .write_soon(PROMPT, text.as_bytes(), 0o644)
        .and_then(|()| root.link(PROMPT_LINK, PROMPT));
    if shown.is_err() {
        // In the place of the link: nobody owns that either.
        root.write_soon(PROMPT_LINK, text.as_bytes(), 0o644)?;
    }
    root.remove(BESIDE)?;
    shown
}

/// The outcome of a message on `/etc/issue`.
#[derive(Default)]
struct Shown {
    /// The original could not be kept for restoring.
    doubt: Option<FileError>,
}

fn show_on_issue(root: &Root, message: &str) -> Result<Shown, FileError> {
    let state = State::load(root);
    let ours = state.as_ref().and_then(|state| state.message.as_ref());
    if let Some(now) = read_issue(root)?
        && let Some((at, rest)) = strip(&now, ours)
    {
        let (above, below) = rest.split_at(at);
        let new = [above, message.as_bytes(), below].concat();
        // First, so that after a kill in between the message is known by its first and last line; and
        // also where the file is right already: a run that could not read the state has written it.
        let message = Some(Ours::of(message.as_bytes()));
        let kept = match state.filter(|state| state.message != message) {
            Some(state) => State { message, ..state }.save(root),
            None => Ok(()),
        };
        if new != now {
            root.write(ISSUE, &new, 0o644)?;
        }
        return Ok(Shown { doubt: kept.err() });
    }
    let linked = root.read_link(ISSUE)?.is_some();
    let below = match root.read(ISSUE, BELOW_MAX) {
        Ok(now) => now,
        Err(FileError {
            problem: Problem::NotAFile("directory"),
            ..
        }) if !linked => {
            return Err(FileError::content(
                ISSUE,
                "is a directory; it is left alone",
            ));
        }
        // A bad symlink, or a file that is too long or unreadable. It is kept, but not repeated
        // below the message.
        Err(_) => Some(Vec::new()),
    };
    let present = linked || below.is_some();
    let below = below.unwrap_or_default();
    let kept = State::new(message.as_bytes(), &below).save(root);
    root.remove(ASIDE)?;
    if present {
        root.hard_link(ISSUE, ASIDE)?;
    }
    root.write(ISSUE, &[message.as_bytes(), &below].concat(), 0o644)?;
    Ok(Shown { doubt: kept.err() })
}

fn restore_issue(root: &Root) -> Result<(), FileError> {
    let state = State::load(root);
    let message = state.as_ref().and_then(|state| state.message.as_ref());
    let now = read_issue(root)?;
    let original = root.read(ASIDE, BELOW_MAX + AROUND_MAX).ok().flatten();
    if let Some((at, rest)) = now.as_deref().and_then(|now| strip(now, message)) {
        // An earlier release could take its own text for the original.
        let ours = original
            .as_deref()
            .and_then(|original| strip(original, message))
            .map(|(_, original)| original);
        let untouched = at == 0
            && ours.is_none()
            && match &state {
                Some(state) if state.below == sha256_hex(&rest) => true,
                None if rest.is_empty() => true,
                _ => original.as_ref() == Some(&rest),
            };
        if !(untouched && root.rename(ASIDE, ISSUE)?) {
            let rest = if rest.is_empty() {
                ours.unwrap_or_default()
            } else {
                rest
            };
            // There was no original, or nothing but our part is left in the file.
            if rest.is_empty() {
                root.remove(ISSUE).map(drop)?
            } else {
                root.write_like(ISSUE, &rest, ASIDE)?
            }
        }
    } else if is_another_headline(now.as_deref(), original.as_deref(), state.as_ref()) {
        root.rename(ASIDE, ISSUE)?;
    }
    // Another file without our text stays: we were killed before changing it, or somebody has
    // written a new one.
    root.remove(ASIDE)?;
    root.remove(STATE).map(drop)
}

/// `now` is a message with a headline that this release does not know, above the whole
/// original: another release wrote it, or somebody edited it. Where the original is a symlink, its
/// target may have changed, and the state still knows what it was.
fn is_another_headline(now: Option<&[u8]>, original: Option<&[u8]>, state: Option<&State>) -> bool {
    let Some(now) = now else {
        return false;
    };
    let by_original = original
        .filter(|original| !original.is_empty())
        .and_then(|original| now.strip_suffix(original));
    let above = by_original.or_else(|| state?.above(now));
    above.is_some_and(|above| above.starts_with(b"*** "))
}

/// Reads `/etc/issue`; `None` if it cannot be ours, because it is a symlink or too long.
///
/// # Errors
/// It cannot be read, and it may be ours. The original then only exists as [`ASIDE`], which must
/// not be removed.
fn read_issue(root: &Root) -> Result<Option<Vec<u8>>, FileError> {
    if root.read_link(ISSUE)?.is_some() {
        return Ok(None);
    }
    match root.read(ISSUE, BELOW_MAX + AROUND_MAX) {
        Err(FileError {
            problem: Problem::NotAFile(_) | Problem::TooLarge { .. },
            ..
        }) => Ok(None),
        Err(_) if !is_there(root, ASIDE) && !is_there(root, STATE) => Ok(None),
        other => other,
    }
}

/// The path exists, even as a dangling symlink.
fn is_there(root: &Root, path: &str) -> bool {
    root.exists(path).unwrap_or(false) || root.read_link(path).is_ok_and(|link| link.is_some())
}

/// The offset of our first message in `text`, and the text without all of them; `None` if it has
/// none. `ours` is the one that was written last.
fn strip(text: &[u8], ours: Option<&Ours>) -> Option<(usize, Vec<u8>)> {
    let mut rest = Vec::with_capacity(text.len());
    let mut first = None;
    let mut left = text;
    while let Some(line) = lines(left).next() {
        let length = match ours {
            Some(ours) if ours.is_at(left) => Some(ours.length),
            _ => message_length(left),
        };
        if length.is_some() {
            first.get_or_insert(rest.len());
        } else {
            rest.extend_from_slice(line);
        }
        left = left.split_at(length.unwrap_or(line.len())).1;
    }
    first.map(|at| (at, rest))
}

/// The length of our message at the beginning of `text`: from its headline to the empty line after
/// the paragraph `Cluster`.
fn message_length(text: &[u8]) -> Option<usize> {
    if !message::is_first_line(text) {
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

#[cfg(test)]
mod tests;
