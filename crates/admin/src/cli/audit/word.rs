//! The verdict on a set in a word, and numbers in words (pure).

use crate::audit::SetAudit;
use anstyle::{AnsiColor, Style};
use serde::Serialize;

/// The verdict on a set, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Word {
    Refused,
    /// Its version is unknown, or no rule could be applied to it: `message` says which.
    Unknown,
    Allowed,
}

impl Word {
    pub(super) fn of(set: &SetAudit) -> Self {
        if set.would_be_refused() {
            Self::Refused
        } else if set.would_be_allowed() {
            Self::Allowed
        } else {
            Self::Unknown
        }
    }

    /// In a text, where what needs attention is in capitals.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Refused => "REFUSED",
            Self::Unknown => "UNKNOWN",
            Self::Allowed => "allowed",
        }
    }

    /// In a sentence, and as the class of HTML elements.
    pub(super) fn lower(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Unknown => "unknown",
            Self::Allowed => "allowed",
        }
    }

    pub(super) fn style(self) -> Style {
        match self {
            Self::Refused => AnsiColor::Red.on_default().bold(),
            Self::Unknown => AnsiColor::Yellow.on_default(),
            Self::Allowed => AnsiColor::Green.on_default(),
        }
    }
}

/// The form of a verb for so many.
pub(super) fn form<'a>(number: usize, one: &'a str, more: &'a str) -> &'a str {
    if number == 1 { one } else { more }
}
