//! The table of fates: a row for each, by verdict.

use crate::verdict::{Fate, Outcome};

/// Severity, as OpenShift's update insights grade an impact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Info,
    Warning,
    Error,
}

impl Level {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "Info",
            Self::Warning => "Warning",
            Self::Error => "Error",
        }
    }
}

/// The words on a console about a node. Templates of `why`, `error`, `boot`, `held`, and for the headline
/// of `part` and `headline`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsoleWords {
    pub headline: &'static str,
    /// Consequences for the node. A line without its `error` is left out.
    pub lines: [&'static str; 2],
    /// The same for the kernel log.
    pub log: &'static str,
}

/// The words for what became of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FateWords {
    pub level: Level,
    /// The impact in a report: a template of `breaks`, `warned` and `unchecked`.
    pub(super) impact: &'static str,
    /// Words of an Event.
    pub event: &'static str,
    /// Action, by `check`: a template of `why`.
    pub(super) action: &'static str,
    /// `None` where the console says nothing.
    pub console: Option<ConsoleWords>,
}

/// Openings of console headlines, up to the part of the node.
pub const OPENINGS: [&str; 3] = [
    "NODE REFUSED: ITS ",
    "NODE NOT HELD BACK, BUT ITS ",
    "WARNING: THE ",
];

const HELD: ConsoleWords = ConsoleWords {
    headline: "NODE REFUSED: ITS {part} {headline}",
    lines: [
        "It will not join{boot}: {held} held back.",
        "In doubt: {error}",
    ],
    log: "node refused",
};

const NOT_HELD: ConsoleWords = ConsoleWords {
    headline: "NODE NOT HELD BACK, BUT ITS {part} {headline}",
    lines: [
        "It could not be held: {error}",
        "It may join on its old OS. To prevent it, power off or delete its Machine.",
    ],
    log: "node should be refused but could not be held back",
};

const LET_THROUGH: ConsoleWords = ConsoleWords {
    headline: "WARNING: THE {part} OF THIS NODE {headline}",
    lines: ["It is let through, because {why}.", MAY_BE],
    log: "node let through with a warning",
};

const WARNED: ConsoleWords = ConsoleWords {
    headline: "WARNING: THE {part} OF THIS NODE MAY FAIL WITH THIS RELEASE",
    lines: ["It is let in, because its known issue only warns.", MAY_BE],
    log: "node let in with a warning",
};

const UNCHECKED: ConsoleWords = ConsoleWords {
    headline: "WARNING: THE {part} OF THIS NODE COULD NOT BE CHECKED",
    lines: ["It is let in.", "{error}"],
    log: "node let in unchecked",
};

const MAY_BE: &str =
    "If it joins, keep it; the fix is for new ones. If not, this may be the cause.";

const HOLD: &str = "hold back the OS rebase and the kubelet";
const GO_ON: &str = "the boot goes on";

impl Fate {
    /// The words for this fate of a node with that verdict.
    pub fn words(self, verdict: Outcome) -> FateWords {
        let words = |level, impact, event, action, console| FateWords {
            level,
            impact,
            event,
            action,
            console,
        };
        match (self, verdict) {
            (Self::NotHeld, _) => words(
                Level::Error,
                "The node was refused but could not be held back: it may join on the old OS.",
                "was refused but could not be held back",
                HOLD,
                Some(NOT_HELD),
            ),
            (Self::Held, outcome) => words(
                Level::Error,
                match outcome {
                    Outcome::Refused => "The node does not join the cluster: {breaks}.",
                    _ => "The node does not join the cluster: {unchecked}.",
                },
                "is refused and does not join the cluster",
                HOLD,
                Some(HELD),
            ),
            (Self::LetThrough, _) => words(
                Level::Warning,
                "The node goes on to join although {breaks}.",
                "breaks the boot image policy; it goes on to join",
                "{why}",
                Some(LET_THROUGH),
            ),
            (Self::Warned, _) => words(
                Level::Warning,
                "The node goes on to join; {warned}.",
                "has a known issue that may keep it from joining; it goes on",
                GO_ON,
                Some(WARNED),
            ),
            (Self::Unchecked, _) => words(
                Level::Warning,
                "The node goes on to join; {unchecked}.",
                "could not be checked; it goes on to join",
                GO_ON,
                Some(UNCHECKED),
            ),
            (Self::Free, _) => words(
                Level::Info,
                "The node goes on to join.",
                "goes on to join",
                GO_ON,
                None,
            ),
            (Self::PastFirstBoot, Outcome::Refused) => words(
                Level::Warning,
                "The node's first boot is over although {breaks}.",
                "breaks the boot image policy; its first boot is over",
                "{why}",
                None,
            ),
            (Self::PastFirstBoot, Outcome::Undetermined) => words(
                Level::Warning,
                "The node's first boot is over; {unchecked}.",
                "could not be checked; its first boot is over",
                GO_ON,
                None,
            ),
            (Self::PastFirstBoot, _) => words(
                Level::Info,
                "The node's first boot is over.",
                "is past its first boot",
                GO_ON,
                None,
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headlines_begin_with_an_opening() {
        for (words, opening) in [HELD, NOT_HELD, LET_THROUGH].iter().zip(OPENINGS) {
            assert!(words.headline.starts_with(&format!("{opening}{{part}} ")));
        }
        for words in [WARNED, UNCHECKED] {
            assert!(words.headline.starts_with("WARNING: THE {part} "));
        }
    }
}
