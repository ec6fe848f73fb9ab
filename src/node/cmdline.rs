//! The kernel command line.

use super::{FileError, OVERRIDE_PATH, Root};
use crate::text;
use crate::verdict::{Override, OverrideSource, OverrideWord};
use std::borrow::Cow;

/// Where the kernel shows it.
const PATH: &str = "/proc/cmdline";

/// The kernel takes 4 KiB at most on some architectures, 64 KiB on none.
const MAX: u64 = 64 << 10;

/// The arguments that matter here, as written.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Cmdline {
    /// `ostree=`: the booted deployment.
    pub(super) ostree: Option<String>,
    /// `ignition.platform.id=`, printable.
    pub(super) platform: Option<String>,
    /// `skewguard=`: the override.
    pub(super) skewguard: Option<String>,
    /// Some of its bytes are not UTF-8.
    pub(super) damaged: bool,
}

impl Cmdline {
    /// Whether `ostree=` is, or may be, among what is damaged.
    pub(super) fn ostree_is_lost(&self) -> bool {
        self.damaged && self.ostree.as_deref().is_none_or(|ostree| ostree.contains(char::REPLACEMENT_CHARACTER))
    }
}

/// Reads a command line; of an argument given twice the last counts, as in systemd.
pub(super) fn parse(line: &str) -> Cmdline {
    let last = |key: &str| line.split_ascii_whitespace().filter_map(|word| word.strip_prefix(key)?.strip_prefix('=')).next_back();
    Cmdline {
        ostree: last("ostree").filter(|path| !path.is_empty()).map(str::to_owned),
        platform: last("ignition.platform.id").filter(|id| !id.is_empty()).map(text::word),
        skewguard: last("skewguard").map(str::to_owned),
        damaged: false,
    }
}

/// A byte that is not UTF-8 spoils the argument that it is in and not the others: the override among them may be an admin's last resort.
pub(super) fn load(root: &Root, warnings: &mut Vec<String>) -> Result<Cmdline, FileError> {
    let bytes = root.read(PATH, MAX)?.unwrap_or_default();
    let line = String::from_utf8_lossy(&bytes);
    let damaged = matches!(line, Cow::Owned(_));
    if damaged {
        warnings.push(format!("{PATH}: is not UTF-8 text; the arguments that are, count"));
    }
    Ok(Cmdline { damaged, ..parse(&line) })
}

/// The override in force: the file's, else the kernel argument's. A word that is none of ours is ignored with a warning.
pub(super) fn override_in_force(root: &Root, argument: Option<&str>, warnings: &mut Vec<String>) -> Option<Override> {
    let file = root.read_text(OVERRIDE_PATH, 64).unwrap_or_else(|error| {
        warnings.push(format!("{error}; the override is ignored"));
        None
    });
    let given = [
        (file.as_deref().map(str::trim), OverrideSource::File, OVERRIDE_PATH),
        (argument, OverrideSource::KernelArgument, "kernel argument skewguard="),
    ];
    given.into_iter().find_map(|(word, source, name)| {
        let word = word?;
        let value = OverrideWord::parse(word);
        if value.is_none() {
            warnings.push(format!("{name}: \"{}\" is ignored; write off, warn or enforce", text::printable(word, 40)));
        }
        Some(Override { value: value?, source })
    })
}
