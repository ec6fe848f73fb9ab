//! The kernel command line.

use super::{FileError, OVERRIDE_PATH, Root};
use crate::text;
use crate::verdict::{Override, OverrideSource, OverrideWord};
use std::borrow::Cow;

pub(super) const PATH: &str = "/proc/cmdline";

/// Longest command line that is read, in bytes; kernels usually take 2 to 4 KiB.
pub(super) const MAX: u64 = 64 << 10;

/// The arguments that matter here, as written.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Cmdline {
    /// `ostree=`: the booted deployment.
    pub(super) ostree: Option<String>,
    /// `ignition.platform.id=`, printable.
    pub(super) platform: Option<String>,
    /// `skewguard=`: the override.
    pub(super) skewguard: Option<String>,
    /// `ignition.firstboot`: the very first boot of an installation, and none later.
    pub(super) first_boot: bool,
    /// `fips=`, which the kernel reads as a number: FIPS mode. Absent where there is no line.
    pub(super) fips: Option<bool>,
    /// Part of the line is not UTF-8, and `ostree=` is or may be in that part.
    pub(super) ostree_is_lost: bool,
}

/// Parses a command line. If an argument is given twice, the last one counts, as in systemd.
pub(super) fn parse(line: &str) -> Cmdline {
    let last = |key: &str| {
        line.split_ascii_whitespace()
            .filter_map(|word| word.strip_prefix(key)?.strip_prefix('='))
            .next_back()
    };
    Cmdline {
        ostree: last("ostree")
            .filter(|path| !path.is_empty())
            .map(str::to_owned),
        platform: last("ignition.platform.id")
            .filter(|id| !id.is_empty())
            .map(text::printable),
        // systemd and the kernel take quotes away.
        skewguard: line
            .split_ascii_whitespace()
            .filter_map(|word| unquoted(word).strip_prefix("skewguard="))
            .next_back()
            .map(|value| unquoted(value).to_owned()),
        first_boot: has(line, "ignition.firstboot"),
        fips: (!line.is_empty()).then(|| last("fips") == Some("1")),
        ostree_is_lost: false,
    }
}

/// The text in quotes, or without.
fn unquoted(text: &str) -> &str {
    let within = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    ['"', '\''].into_iter().find_map(within).unwrap_or(text)
}

/// Looks if a switch is on, with or without a value, as Ignition reads it.
fn has(line: &str, key: &str) -> bool {
    let value = |word: &str| {
        let rest = word.strip_prefix(key)?;
        match rest.strip_prefix('=') {
            Some(value) => Some(!matches!(value, "" | "0" | "no" | "off")),
            None => rest.is_empty().then_some(true),
        }
    };
    line.split_ascii_whitespace()
        .filter_map(value)
        .next_back()
        .unwrap_or(false)
}

/// Reads the command line. A byte that is not UTF-8 spoils only its own argument, because the
/// override may be an admin's last resort.
pub(super) fn load(root: &Root, warnings: &mut Vec<String>) -> Result<Cmdline, FileError> {
    let bytes = root.read(PATH, MAX)?.unwrap_or_default();
    let line = String::from_utf8_lossy(&bytes);
    let damaged = matches!(line, Cow::Owned(_));
    if damaged {
        warnings.push(format!(
            "{PATH}: is not all UTF-8 text; arguments that are not UTF-8 cannot be read"
        ));
    }
    let line = parse(&line);
    Ok(Cmdline {
        ostree_is_lost: damaged && line.ostree.as_deref().is_none_or(is_damaged),
        fips: line.fips.filter(|on| *on || !damaged),
        ..line
    })
}

/// Looks for a byte that was not UTF-8.
fn is_damaged(argument: &str) -> bool {
    argument.contains(char::REPLACEMENT_CHARACTER)
}

/// The override in force: the file's, else the kernel argument's. An unknown word is ignored with a
/// warning. An override that cannot be read counts as [`OverrideWord::Unreadable`].
pub(super) fn override_in_force(
    root: &Root,
    line: &Cmdline,
    warnings: &mut Vec<String>,
) -> Option<Override> {
    let word = |word: &str, name: &str, warnings: &mut Vec<String>| {
        let known = OverrideWord::parse(word);
        if known.is_none() {
            warnings.push(format!(
                "{name}: \"{}\" is ignored; write off, warn or enforce",
                text::printable_up_to(word, 40)
            ));
        }
        known
    };
    let file = match root.read_text(OVERRIDE_PATH, 64) {
        Ok(file) => file.and_then(|file| word(file.trim(), OVERRIDE_PATH, warnings)),
        Err(error) => {
            warnings.push(format!("{error}; it may say off or warn"));
            Some(OverrideWord::Unreadable)
        }
    };
    let argument = match line.skewguard.as_deref() {
        Some(argument) if is_damaged(argument) => Some(OverrideWord::Unreadable),
        argument => {
            argument.and_then(|argument| word(argument, "kernel argument skewguard=", warnings))
        }
    };
    let (value, source) = match (file, argument) {
        // An argument that lets the node through wins over a file that cannot be read.
        (None, Some(value))
        | (
            Some(OverrideWord::Unreadable),
            Some(value @ (OverrideWord::Off | OverrideWord::Warn)),
        ) => (value, OverrideSource::KernelArgument),
        (Some(value), _) => (value, OverrideSource::File),
        (None, None) => return None,
    };
    Some(Override { value, source })
}
