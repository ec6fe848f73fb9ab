//! Finds every mistake of a policy at once, each with its place and its remedy (pure).
//!
//! A node reads its policy leniently (`parse`), so that a mistake does not break a scale-up. Here
//! its author is told of every one.

mod bounds;
mod denied;
mod families;
mod issues;
mod limit;
mod machine;
mod own_release;
mod policy;
mod published;
pub mod shape;
pub mod starter;
mod structure;
pub mod today;
mod wording;

use crate::policy::MAX_BYTES;
use crate::policy::json::{Located, line_and_column};
use crate::text;
use crate::yaml;
use serde::Serialize;
use shape::Shape;

pub(crate) use limit::meant_pool;
pub(crate) use own_release::OLD_RELEASES_REFUSED;
use own_release::OWN_RELEASE_REFUSED;

/// The mistake of a policy that lacks known issues: advice from one release of this program, while
/// all others are about the policy alone.
pub(crate) const KNOWN_ISSUE_MISSING: &str = "KnownIssueMissing";

/// At most this many mistakes are named.
const MAX_MISTAKES: usize = 100;

/// Severity of a mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Severity {
    /// The policy, or a part of it, does not do what it says.
    Error,
    /// It does what it says, but that may not be what its author meant.
    Warning,
}

/// A mistake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct LintFinding {
    /// Severity.
    pub severity: Severity,
    /// Sort of mistake: one of the names in `oc skewguard schema lint`, which are stable.
    pub mistake: &'static str,
    /// Place in the policy, such as `limits[1].release`; empty for the whole.
    pub path: String,
    /// Line in the file, from 1.
    pub line: usize,
    /// Column in that line, in characters, from 1.
    pub column: usize,
    /// Description. Printable.
    pub message: String,
    /// Remedy. Printable.
    pub help: String,
}

impl LintFinding {
    /// For a person: two lines, as compilers write them.
    pub(crate) fn shown(&self, file: &str) -> String {
        let Self {
            path,
            line,
            column,
            message,
            help,
            ..
        } = self;
        let severity = if self.severity == Severity::Error {
            "error"
        } else {
            "warning"
        };
        let colon = if path.is_empty() { "" } else { ": " };
        format!("{file}:{line}:{column}: {severity}: {path}{colon}{message}\n  help: {help}\n")
    }
}

/// Mistakes of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LintReport {
    /// In the order of the file.
    pub findings: Vec<LintFinding>,
    /// Number of errors, named or not.
    pub errors: usize,
    /// Number of warnings, named or not.
    pub warnings: usize,
}

impl LintReport {
    fn count(&mut self, severity: Severity) {
        match severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
        }
    }

    /// Leaves a mistake out, where more is known.
    pub(crate) fn forget(&mut self, mistake: &str) {
        let is_it = |finding: &LintFinding| finding.mistake == mistake;
        for finding in self.findings.iter().filter(|finding| is_it(finding)) {
            match finding.severity {
                Severity::Error => self.errors -= 1,
                Severity::Warning => self.warnings -= 1,
            }
        }
        self.findings.retain(|finding| !is_it(finding));
    }

    /// Tells whether nodes would ignore parts of the policy.
    pub(crate) fn is_misread(&self) -> bool {
        self.has_errors_beside(&[OWN_RELEASE_REFUSED, OLD_RELEASES_REFUSED])
    }

    /// Tells whether there are errors beside these mistakes.
    pub(crate) fn has_errors_beside(&self, mistakes: &[&str]) -> bool {
        let is_one = |finding: &&LintFinding| {
            finding.severity == Severity::Error && mistakes.contains(&finding.mistake)
        };
        self.errors > self.findings.iter().filter(is_one).count()
    }

    /// Adds what is wrong with the policy for a cluster.
    pub(crate) fn add(&mut self, findings: impl Iterator<Item = LintFinding>) {
        for finding in findings {
            self.count(finding.severity);
            if self.findings.len() < MAX_MISTAKES {
                self.findings.push(finding);
            }
        }
    }
}

/// Finds every mistake of a policy, JSON or YAML, however broken it is.
pub(crate) fn lint(bytes: &[u8]) -> LintReport {
    if bytes.len() as u64 > MAX_BYTES {
        return too_large("the file");
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let valid = bytes
                .get(..error.valid_up_to())
                .and_then(|valid| std::str::from_utf8(valid).ok())
                .unwrap_or_default();
            let at = line_and_column(valid, valid.len());
            return whole_file(
                "InvalidJSON",
                at,
                "the file is not UTF-8 from here on".to_owned(),
                "save it as UTF-8",
            );
        }
    };
    if yaml::looks_like_yaml(text) {
        return lint_yaml(text);
    }
    lint_json(text)
}

/// The mistakes of the JSON that nodes get of it, by their places in the YAML.
fn lint_yaml(text: &str) -> LintReport {
    let source = match yaml::convert(text) {
        Ok(source) => source,
        Err(yaml::Broken { place, what }) => {
            let message = format!("the file {what}");
            return whole_file("InvalidYAML", place, message, yaml_help(&what));
        }
    };
    if source.json.len() as u64 > MAX_BYTES {
        return too_large("the policy, as JSON,");
    }
    let mut report = lint_json(&source.json);
    for finding in &mut report.findings {
        (finding.line, finding.column) = source.place((finding.line, finding.column));
    }
    report
}

fn yaml_help(what: &str) -> &'static str {
    const HELPS: [(&str, &str); 8] = [
        ("tabs", "indent with spaces"),
        ("found a tab", "write spaces instead of tabs"),
        ("has no policy", START),
        (
            "has a second YAML document",
            "keep each policy in a file of its own",
        ),
        ("has a YAML alias", "write the value out in its place"),
        (
            "scanning an anchor or alias",
            "put text that begins with * or & in quotes",
        ),
        ("has a YAML tag", "leave it out; quotes make a text"),
        ("has the same key twice", "keep one of them"),
    ];
    let help = HELPS.iter().find(|(word, _)| what.contains(word));
    help.map_or(CORRECT, |(_, help)| help)
}

/// Mistakes of a file that is neither JSON nor YAML.
pub(crate) const INVALID: [&str; 2] = ["InvalidJSON", "InvalidYAML"];

const CORRECT: &str = "correct it; nothing else is checked before that";
const START: &str = "`oc skewguard policy init` writes a policy to start from";

fn too_large(what: &str) -> LintReport {
    let message =
        format!("{what} is larger than the {MAX_BYTES} bytes that a node reads of a policy");
    whole_file(
        "TooLarge",
        (1, 1),
        message,
        "remove what is not the policy, or shorten the lists",
    )
}

fn lint_json(text: &str) -> LintReport {
    match Located::whole(text.as_bytes()) {
        Ok(whole) => {
            let mut lint = Lint::default();
            structure::check(&mut lint, &whole, Shape::policy());
            policy::policy(&mut lint, &whole);
            own_release::check(&mut lint, &whole, text);
            let mut report = lint.report;
            report
                .findings
                .sort_by_key(|finding| (finding.line, finding.column, finding.severity));
            report.findings.truncate(MAX_MISTAKES);
            report
        }
        Err(error) => {
            // Without " at line L column C", because the finding has both as numbers.
            let why = error.to_string();
            let why = why
                .split_once(" at line ")
                .map_or(why.as_str(), |(why, _)| why);
            let at = (error.line().max(1), error.column().max(1));
            whole_file(
                "InvalidJSON",
                at,
                format!("the file is not JSON: {}", text::printable(why)),
                json_help(text, at),
            )
        }
    }
}

/// The remedy for the mistakes that people make most often in JSON.
fn json_help(text: &str, (line, column): (usize, usize)) -> &'static str {
    let rest = text
        .lines()
        .nth(line - 1)
        .and_then(|line| line.get(column - 1..))
        .unwrap_or_default();
    if text.trim().is_empty() {
        START
    } else if text.starts_with('\u{feff}') {
        "save the file without byte order mark"
    } else if rest.starts_with(['/', '#']) {
        "JSON has no comments: remove them"
    } else if rest.starts_with(['}', ']']) {
        "remove the comma before it"
    } else {
        CORRECT
    }
}

fn whole_file(
    mistake: &'static str,
    (line, column): (usize, usize),
    message: String,
    help: &str,
) -> LintReport {
    let help = help.to_owned();
    let finding = LintFinding {
        severity: Severity::Error,
        mistake,
        path: String::new(),
        line,
        column,
        message,
        help,
    };
    LintReport {
        findings: vec![finding],
        errors: 1,
        warnings: 0,
    }
}

/// The findings so far, and what later checks have to know.
#[derive(Default)]
struct Lint {
    report: LintReport,
    /// `onUndetermined` is `Refuse`.
    refuses_undetermined: bool,
}

impl Lint {
    fn error(
        &mut self,
        at: &Located<'_>,
        mistake: &'static str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.add(Severity::Error, at, mistake, message.into(), help.into());
    }

    fn warning(
        &mut self,
        at: &Located<'_>,
        mistake: &'static str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.add(Severity::Warning, at, mistake, message.into(), help.into());
    }

    fn add(
        &mut self,
        severity: Severity,
        at: &Located<'_>,
        mistake: &'static str,
        message: String,
        help: String,
    ) {
        self.report.count(severity);
        // Keeps more than are shown, because checks do not run in the order of the file and the
        // first in the file are shown.
        if self.report.findings.len() < 10 * MAX_MISTAKES {
            let (line, column) = at.line_and_column();
            self.report.findings.push(LintFinding {
                severity,
                mistake,
                path: at.path.clone(),
                line,
                column,
                message,
                help,
            });
        }
    }
}
