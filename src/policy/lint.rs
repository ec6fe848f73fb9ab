//! LintFinding every mistake of a policy at once, each with its place and its remedy (pure).
//!
//! The reading of a node (`parse`) is lenient, because it must not break a scale-up; this is where a policy's author is told.

mod denied;
mod limit;
mod whole;
mod wording;

use super::json::{Located, Object, line_and_column};
use crate::text;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// At most this many mistakes are named.
const MAX_MISTAKES: usize = 100;

/// How bad a mistake is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Severity {
    /// The policy, or that part of it, does not do what it says.
    Error,
    /// It does what it says, but that may not be what is meant.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

/// What sort of mistake it is. The names are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Mistake {
    /// The file, or the list of limits, is longer than a node reads.
    TooLarge,
    /// The text is not JSON.
    #[serde(rename = "InvalidJSON")]
    InvalidJson,
    /// Another API group or kind.
    NotAPolicy,
    /// Another version of our API group: a node reads what it understands, and never blocks.
    OtherVersion,
    /// A required field is missing.
    MissingField,
    /// A value of another JSON type.
    WrongType,
    /// A field is given twice.
    DuplicateField,
    /// A field that is not read.
    UnknownField,
    /// A field that is null, which counts as absent.
    NullField,
    /// A word that is none of those known.
    UnknownValue,
    /// A version or release that cannot be read, or not in this field.
    VersionNotUnderstood,
    /// A version or release that is read, but names nothing that exists, or not in this field.
    ImplausibleVersion,
    /// The policy has no limits.
    NoLimits,
    /// No limit holds for every release and pool.
    NoLimitForTheRest,
    /// A limit sets no rule.
    NoRules,
    /// A limit, or an entry of a list, that can never match.
    NeverMatches,
    /// A denied version that matches every version.
    MatchesEverything,
    /// No image can be both.
    MinimumAboveMaximum,
    /// The minimum is newer than the target release that the limit is for.
    MinimumAboveRelease,
    /// The rules of a limit contradict each other.
    NothingCanPass,
    /// Something that makes no difference.
    NoEffect,
    /// Images that name no OCP release cannot be judged by the limit.
    #[serde(rename = "OnlyOCPRules")]
    OnlyOcpRules,
    /// One RHEL major for pools that may differ.
    #[serde(rename = "OneRHELMajor")]
    OneRhelMajor,
    /// A pool whose nodes usually boot with another one's config.
    CustomPool,
    /// `x.y.0`, which is that one release and not all of x.y.
    ExactRelease,
    /// Text that a console cannot show as it is.
    NotPlainText,
    /// Not an http or https URL.
    #[serde(rename = "NotAURL")]
    NotAUrl,
}

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LintFinding {
    /// How bad it is.
    pub severity: Severity,
    /// What sort it is.
    pub mistake: Mistake,
    /// Where in the policy, such as `limits[1].release`; empty for the whole.
    pub path: String,
    /// Line in the file, from 1.
    pub line: usize,
    /// Column in that line, in characters, from 1.
    pub column: usize,
    /// What is wrong. Printable.
    pub message: String,
    /// What to do about it. Printable.
    pub help: String,
}

/// What is wrong with a policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LintReport {
    /// In the order of the file.
    pub findings: Vec<LintFinding>,
    /// How many errors there are, named or not.
    pub errors: usize,
    /// How many warnings there are, named or not.
    pub warnings: usize,
}

/// Looks for every mistake of a policy.
pub fn lint(bytes: &[u8]) -> LintReport {
    if bytes.len() as u64 > super::MAX_BYTES {
        let message = format!("the file is larger than the {} bytes that a node reads of a policy", super::MAX_BYTES);
        return whole_file(Mistake::TooLarge, (1, 1), message, "remove what is no policy, or shorten the lists".to_owned());
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let valid = bytes.get(..error.valid_up_to()).and_then(|valid| std::str::from_utf8(valid).ok()).unwrap_or_default();
            let at = line_and_column(valid, valid.len());
            return whole_file(Mistake::InvalidJson, at, "the file is not UTF-8 from here on".to_owned(), "save it as UTF-8".to_owned());
        }
    };
    match Located::whole(bytes) {
        Ok(whole) => {
            let mut lint = Lint::default();
            whole::policy(&mut lint, &whole);
            lint.done(text)
        }
        Err(error) => {
            // A sentence without its " at line L column C", which the finding has as numbers.
            let why = error.to_string();
            let why = why.split_once(" at line ").map_or(why.as_str(), |(why, _)| why);
            let at = (error.line().max(1), error.column().max(1));
            whole_file(Mistake::InvalidJson, at, format!("the file is not JSON: {}", text::word(why)), json_help(text, at))
        }
    }
}

/// What people most often do to JSON.
fn json_help(text: &str, (line, column): (usize, usize)) -> String {
    let rest = text.lines().nth(line - 1).and_then(|line| line.get(column - 1..)).unwrap_or_default();
    let help = if text.trim().is_empty() {
        "`skewguard policy init` writes a policy to start from"
    } else if text.starts_with('\u{feff}') {
        "save the file without byte order mark"
    } else if rest.starts_with(['/', '#']) {
        "JSON has no comments: remove them"
    } else if rest.starts_with(['}', ']']) {
        "remove the comma before it"
    } else if text.trim_start().starts_with(|c: char| c.is_ascii_alphabetic() || c == '-' || c == '#') {
        "a policy is JSON, not YAML"
    } else {
        "correct it; nothing else is checked before that"
    };
    help.to_owned()
}

fn whole_file(mistake: Mistake, (line, column): (usize, usize), message: String, help: String) -> LintReport {
    let finding = LintFinding { severity: Severity::Error, mistake, path: String::new(), line, column, message, help };
    LintReport { findings: vec![finding], errors: 1, warnings: 0 }
}

/// What was found so far.
#[derive(Default)]
struct Lint {
    /// Each with its offset; line and column are looked up for those that are kept.
    found: Vec<(usize, LintFinding)>,
    errors: usize,
    warnings: usize,
    /// `onUndetermined` is `Refuse`.
    refuses_undetermined: bool,
}

impl Lint {
    fn error(&mut self, at: &Located<'_>, mistake: Mistake, message: impl Into<String>, help: impl Into<String>) {
        self.errors += 1;
        self.add(Severity::Error, at, mistake, message.into(), help.into());
    }

    fn warning(&mut self, at: &Located<'_>, mistake: Mistake, message: impl Into<String>, help: impl Into<String>) {
        self.warnings += 1;
        self.add(Severity::Warning, at, mistake, message.into(), help.into());
    }

    fn wrong_type(&mut self, at: &Located<'_>, want: &str, help: impl Into<String>) {
        self.error(at, Mistake::WrongType, format!("must be {want}, not {}", at.shown()), help);
    }

    /// Checks the names of an object's fields: every one known, none twice. Returns what the misspelt ones were meant to be, which are not to be
    /// called missing as well.
    fn fields(&mut self, object: &Object<'_>) -> Vec<&'static str> {
        let mut seen = BTreeSet::new();
        let unknown: Vec<_> = object.unknown().filter(|member| seen.insert(member.name.clone())).collect();
        let meant = unknown.iter().filter_map(|member| wording::unknown_field(self, member, object.names)).collect();
        for member in object.twice() {
            self.error(&member.key, Mistake::DuplicateField, "is given twice", "keep the one that is meant; a node uses neither");
        }
        for member in object.nulls() {
            self.warning(&member.key, Mistake::NullField, "is null, which counts as absent", "leave it out");
        }
        meant
    }

    fn add(&mut self, severity: Severity, at: &Located<'_>, mistake: Mistake, message: String, help: String) {
        // Far more than are named, so that those of the last checks are still sorted in among the first.
        if self.found.len() < 10 * MAX_MISTAKES {
            self.found.push((at.offset(), LintFinding { severity, mistake, path: at.path.clone(), line: 0, column: 0, message, help }));
        }
    }

    fn done(mut self, text: &str) -> LintReport {
        self.found.sort_by_key(|(offset, finding)| (*offset, finding.severity));
        self.found.truncate(MAX_MISTAKES);
        let findings = self.found.into_iter().map(|(offset, mut finding)| {
            (finding.line, finding.column) = line_and_column(text, offset);
            finding
        });
        LintReport { findings: findings.collect(), errors: self.errors, warnings: self.warnings }
    }
}
