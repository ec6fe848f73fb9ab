//! Causes of a first boot that does not finish: what the programs of a first boot print, in the
//! versions of RHEL 8 to 10 (pure).
//!
//! No line of a journal leaves the node, because it may hold a credential: only the table's own
//! words do. `tests/data/stall-lines.tsv` has the real lines, and where each was published.

use super::Phase;
use crate::node::LostRebase;
use crate::node::units::FIRSTBOOT;
use crate::text::UnknownWord;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::iter::Peekable;

/// The causes, in paragraphs: the name and the phases in which it can be one; the cause in one
/// clause; what to do in whole sentences, and after a phase and `: ` what to do there if that is
/// another thing; after a tab each what a line has to contain, in lower case, where `*` stands for
/// anything. A line begins with a space. `Image` beside the phases: another boot image is the remedy.
///
/// After the rebase programs and configuration are the release's: no cause of the boot image counts
/// there. The first paragraph that knows a line counts. A pull names every mirror and then the source,
/// which disconnected nodes never reach: so what says more comes before names and connections. A
/// cause that has two places has its words in the first one.
const TABLE: &str = include_str!("causes.txt");

/// Words of a consequence, and the causes that explain it: one before it in the journal says more.
/// A kubelet without a certificate asks anonymously, more often than for its certificate.
/// afterburn prints the error of a connection below what it was for.
const CONSEQUENCES: [(&str, &[&str]); 4] = [
    ("dependency", &["FileSystemTooNew", "BootNotMounted"]),
    (
        "system:anonymous",
        &[
            "BootstrapRefused",
            "CertificateDenied",
            "CertificateNotIssued",
            "CertificateNotRequested",
            "CertificateNotSigned",
        ],
    ),
    ("(os error", &["MetadataUnavailable"]),
    ("failed to lookup address", &["MetadataUnavailable"]),
];

/// Words of an attempt that has passed the registry, the network or the platform: what it said
/// before is over.
const ADVANCES: [&str; 8] = [
    "getting image source signatures",
    "copying blob",
    "layers needed",
    "ostree chunk layers ",
    "fetching ostree chunk",
    "staging deployment",
    "connection successfully activated",
    "fetch successful",
];

/// Words of whatever failed.
const FAILS: [&str; 3] = ["error", "fatal", "failed"];

/// The daemon's words before its rebase.
const REBASES: &str = "executing rebase";

/// systemd's words when it will start a unit again.
const RESTARTS: &str = "scheduled restart job";

/// Units whose journals belong to the rebase. The daemon pulls and rebases old images, and updates
/// the boot loader, in transient units, and the OS in rpm-ostree's daemon, which needs /boot. As
/// journalctl(1) takes them.
const BESIDE_REBASE: [&str; 4] = [
    "machine-config-daemon-update-rpmostree-via-container",
    "machine-config-daemon-bootupd*",
    "rpm-ostreed",
    "boot.mount",
];

/// Units that do the work of this one: their journals are to be read with its own.
pub(crate) fn beside(unit: &str) -> &'static [&'static str] {
    if unit == FIRSTBOOT {
        &BESIDE_REBASE
    } else {
        &[]
    }
}

/// The cause by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A cause of the table.
    Known(&'static str),
    /// A cause that another release of skewguard knows.
    Other(UnknownWord),
}

/// The cause of the last attempt's failure, by a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) cause: Cause,
    /// The unit of [`beside`] that said it; `None` for the one that the first boot waits for.
    pub(crate) unit: Option<&'static str>,
}

impl Cause {
    /// The rebase was staged, and the next boot is the old deployment.
    pub(super) const NOT_FINALIZED: Self = Self::Known("NotFinalized");

    /// The rebase is in the boot menu, and the old deployment was booted.
    pub(super) const NOT_BOOTED: Self = Self::Known("NotBooted");

    /// The clock is wrong, most often.
    pub(crate) const NOT_YET_VALID: Self = Self::Known("NotYetValid");

    /// The kubelet runs, and a first boot is over once it has its certificate.
    pub(crate) const NO_CERTIFICATE: Self = Self::Known("NoCertificateYet");

    /// Nothing of the last attempt failed.
    pub(crate) const UNDER_WAY: Self = Self::Known("UnderWay");

    /// The table does not know the line.
    pub(crate) const UNKNOWN: Self = Self::Known("Unknown");

    /// No line names what failed.
    pub(crate) fn is_open(self) -> bool {
        [Self::UNKNOWN, Self::UNDER_WAY, Self::NO_CERTIFICATE].contains(&self)
    }

    /// Another boot image is the remedy.
    pub(crate) fn is_of_image(self) -> bool {
        Self::paragraphs().any(|(cause, phases, _)| {
            cause == self && phases.is_some_and(|phases| phases.ends_with(" Image"))
        })
    }

    /// The name in objects and logs.
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Known(name) => name,
            Self::Other(word) => word.as_str(),
        }
    }

    /// Paragraphs of the table: the cause, its phases and its words. A second place of a cause has
    /// no phases of its own.
    fn paragraphs() -> impl Iterator<Item = (Self, Option<&'static str>, &'static str)> {
        TABLE.split("\n\n").filter_map(|paragraph| {
            let (head, words) = paragraph.split_once('\n')?;
            let (name, phases) = match head.split_once(": ") {
                Some((name, phases)) => (name, Some(phases)),
                None => (head, None),
            };
            Some((Self::Known(name), phases, words))
        })
    }

    /// The cause's own lines, of its first paragraph.
    fn words(self) -> impl Iterator<Item = &'static str> {
        let known = match self {
            Self::Known(_) => self,
            Self::Other(_) => Self::UNKNOWN,
        };
        let words = Self::paragraphs().find(|(cause, ..)| *cause == known);
        words.map_or("", |(.., words)| words).lines()
    }

    /// The cause, in one clause.
    pub(crate) fn sentence(self) -> &'static str {
        self.words().next().unwrap_or_default()
    }

    /// The remedy in this phase, in whole sentences.
    pub(crate) fn remedy(self, phase: Phase) -> &'static str {
        let mut words = self.words().skip(1);
        let remedy = words.next().unwrap_or_default();
        let own = words.next().and_then(|line| line.split_once(": "));
        own.filter(|(of, _)| *of == phase.as_str())
            .map_or(remedy, |(_, own)| own)
    }

    /// Reads a line in lower case, of the unit that this phase waits for.
    fn of_line(line: &str, phase: Phase) -> Option<Self> {
        let line = &format!(" {line}");
        let knows = |words: &str| {
            let mut patterns = words.lines().filter_map(|line| line.strip_prefix('\t'));
            patterns.any(|pattern| contains(line, pattern))
        };
        // Before the pull any unit may be the one.
        let counts = |phases: Option<&str>| {
            let mut phases = phases.unwrap_or_default().split(' ');
            phase == Phase::Other || phases.any(|one| one.is_empty() || one == phase.as_str())
        };
        Self::paragraphs()
            .find(|(_, phases, words)| counts(*phases) && knows(words))
            .map(|(cause, ..)| cause)
    }
}

impl From<LostRebase> for Cause {
    fn from(lost: LostRebase) -> Self {
        match lost {
            LostRebase::NotFinalized => Self::NOT_FINALIZED,
            LostRebase::NotBooted => Self::NOT_BOOTED,
        }
    }
}

impl Finding {
    /// Nothing was read.
    pub(crate) const NOTHING: Self = Self {
        cause: Cause::UNKNOWN,
        unit: None,
    };

    /// Reads a journal: what made the last attempt fail. While one goes on, that of the attempt
    /// before it is over, unless the two before it failed alike: so does a loop.
    pub(crate) fn read(journal: &[u8], phase: Phase) -> Self {
        let mut lines = newest_first(journal).peekable();
        if lines.peek().is_none() {
            return Self::NOTHING;
        }
        let is_of_attempt = |(_, line): &(_, String)| !begins(line) && !sleeps(line);
        let (failure, goes_on) = Self::of_attempt(&mut lines, phase);
        let failure = if goes_on {
            while lines.next_if(is_of_attempt).is_some() {}
            let before = Self::of_attempt(&mut lines, phase).0;
            failure.filter(|failure| before.is_some_and(|before| before.cause == failure.cause))
        } else {
            failure
        };
        failure.unwrap_or(Self {
            cause: Cause::UNDER_WAY,
            unit: None,
        })
    }

    /// Reads one attempt from its end: the newest line that the table knows, if one failed; and
    /// that another one has begun since. A command before one that failed for a reason that the
    /// table does not know does not count.
    fn of_attempt(
        lines: &mut Peekable<impl Iterator<Item = Line>>,
        phase: Phase,
    ) -> (Option<Self>, bool) {
        let (mut found, mut has_failed, mut has_slept) = (Self::NOTHING, false, false);
        let (mut explained_by, mut is_quiet, mut goes_on) = (None, true, false);
        while let Some((unit, line)) = lines.next_if(|(_, line)| {
            // What a program says last. After it comes another one.
            let is_last_word = line.starts_with("error: ") && !passes_on(line);
            !(has_one(line, &ADVANCES) && !has_one(line, &FAILS)
                || has_failed && (sleeps(line) || is_last_word || begins(line))
                || has_slept && sleeps(line))
        }) {
            let line = line.as_str();
            is_quiet &= !sleeps(line) && !has_one(line, &FAILS);
            goes_on |= is_quiet && begins(line) && !line.contains(RESTARTS);
            has_slept |= sleeps(line);
            if let Some(cause) = Cause::of_line(line, phase) {
                if explained_by.is_some_and(|by: &[&str]| !by.contains(&cause.as_str())) {
                    continue;
                }
                found = Self { cause, unit };
                let mut consequences = CONSEQUENCES.into_iter();
                let consequence = consequences.find(|(words, _)| line.contains(words));
                explained_by = consequence.map(|(_, by)| by);
                if consequence.is_none() {
                    return (Some(found), goes_on);
                }
                // What failed before it says more.
                has_failed = true;
                continue;
            }
            let fails = (line.contains("error") || line.contains("fatal")) && !passes_on(line);
            if fails && !has_failed {
                found.unit = unit;
            }
            has_failed |= fails;
        }
        let is_failure = !is_quiet || found.cause != Cause::UNKNOWN;
        (is_failure.then_some(found), goes_on)
    }
}

/// A line in lower case, and the unit of [`BESIDE_REBASE`] that printed it.
type Line = (Option<&'static str>, String);

/// The lines of a journal that can say why, the newest first. What the boot loader's update says
/// before a rebase is over: the daemon goes on without it (4.22).
fn newest_first(journal: &[u8]) -> impl Iterator<Item = Line> {
    let mut rebases = false;
    journal
        .rsplit(|byte| *byte == b'\n')
        .filter_map(move |line| {
            let line = String::from_utf8_lossy(line).to_ascii_lowercase();
            let (unit, line) = split_prefix(line.trim());
            if is_aside(line) || is_warning(line) || rebases && is_of_boot_loader(unit, line) {
                return None;
            }
            rebases = !sleeps(line) && (rebases || line.contains(REBASES));
            (!line.is_empty()).then(|| (unit, line.to_owned()))
        })
}

/// A line of `journalctl -o with-unit`: the unit of [`BESIDE_REBASE`] that printed it, and what it
/// printed. Other lines, such as the second one of an entry, as they are.
fn split_prefix(line: &str) -> (Option<&'static str>, &str) {
    let split = line.split_once("]: ").and_then(|(prefix, text)| {
        let (unit, _) = prefix.rsplit_once(' ')?.1.split_once('[')?;
        let kinds = [".service", ".scope", ".mount"];
        let is_unit = unit == "systemd" || kinds.iter().any(|kind| unit.ends_with(kind));
        is_unit.then_some((unit, text))
    });
    let Some((unit, text)) = split else {
        return (None, line);
    };
    let mut beside = BESIDE_REBASE.into_iter();
    let beside = beside.find(|name| unit.starts_with(name.trim_end_matches('*')));
    (beside, text)
}

/// The line has nothing to do with the first boot: the kubelet's probes, images and sockets of its
/// pods, a file system that is mounted as it is, and the start of rpm-ostree's daemon, which every command causes.
fn is_aside(line: &str) -> bool {
    let starts = ["starting ", "started ", "stopping ", "stopped "];
    let asides = [
        " prober.go:",
        "pullimage from image service failed",
        "}. err: connection error: ",
        "mounted read-only",
    ];
    has_one(line, &asides)
        || line.contains("rpm-ostree system management daemon")
            && starts.iter().any(|words| line.starts_with(words))
}

/// The program goes on: klog's `W`, logrus' `level=warning`. What it tries again says with which
/// error.
fn is_warning(line: &str) -> bool {
    let klog = line.strip_prefix('w').and_then(|line| line.get(..4));
    let klog = klog.is_some_and(|day| day.bytes().all(|byte| byte.is_ascii_digit()));
    klog && !line.contains("] error: ")
        || line.contains("level=warning") && !line.contains("error: ")
}

/// What updates the boot loader says it, or the daemon says it of that.
fn is_of_boot_loader(unit: Option<&str>, line: &str) -> bool {
    unit.is_some_and(|unit| unit.contains("bootupd")) || line.contains("bootup")
}

/// The line only passes on that a program failed: `… : exit status 125`, or systemd-run's words; from
/// 4.22 on with `: timed out waiting for the condition`, once it was tried seven times.
fn passes_on(line: &str) -> bool {
    let line = line
        .strip_suffix(": timed out waiting for the condition")
        .unwrap_or(line);
    let end = line.trim_end_matches(|c: char| c.is_ascii_digit());
    end.len() < line.len() && end.ends_with("exit status ") || line.contains("running systemd-run ")
}

/// The line has one of these.
fn has_one(line: &str, all: &[&str]) -> bool {
    all.iter().any(|words| line.contains(words))
}

/// The daemon waits for its next attempt.
fn sleeps(line: &str) -> bool {
    line.contains("sleeping 1 minute for retry")
}

/// A unit or a command starts, or will.
fn begins(line: &str) -> bool {
    ["starting ", "started ", "trying to pull ", "attempt "]
        .iter()
        .any(|words| line.starts_with(words))
        || has_one(line, &[RESTARTS, REBASES, "] running", ": attempt #"])
}

/// The line has the parts of the pattern, one after the other.
fn contains(line: &str, pattern: &str) -> bool {
    let mut rest = Some(line);
    for part in pattern.split('*') {
        rest = rest
            .and_then(|rest| rest.split_once(part))
            .map(|(_, after)| after);
    }
    rest.is_some()
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Cause {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let mut known = Self::paragraphs().map(|(cause, ..)| cause);
        let known = known.find(|cause| cause.as_str() == name);
        Ok(known.unwrap_or(Self::Other(UnknownWord::new(&name))))
    }
}
