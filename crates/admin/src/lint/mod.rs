//! Finds every mistake of a policy at once, each with its place and its remedy (pure).
//!
//! A node reads its policy leniently (`parse`), so that a mistake does not break a scale-up. Here
//! its author is told of every one.

mod bounds;
mod denied;
mod families;
mod issues;
mod limit;
mod loosened;
mod machine;
mod mistake;
pub(crate) mod own_release;
mod policy;
mod published;
pub mod shape;
pub mod starter;
mod structure;
pub mod today;
mod wording;

use crate::policy::fields::POLICY;
use crate::policy::json::{Located, line_and_column};
use crate::policy::{MAX_BYTES, Mode, parse};
use crate::template::Holes;
use crate::text;
use crate::yaml;
use serde::{Deserialize, Serialize};
use shape::Shape;
use std::fmt::Display;
use wording::consequence;

pub(crate) use limit::meant_pool;
pub(crate) use mistake::Rule;

/// At most this many mistakes are named.
const MAX_MISTAKES: usize = 100;

/// Severity of a mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
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
    /// Tells whether it is a mistake of one of these rules.
    pub(crate) fn is_of(&self, rules: &[Rule]) -> bool {
        rules.iter().any(|rule| rule.mistake() == self.mistake)
    }

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
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(crate) struct LintReport {
    /// Number of errors, named or not.
    pub errors: usize,
    /// Number of warnings, named or not.
    pub warnings: usize,
    /// In the order of the file.
    pub findings: Vec<LintFinding>,
}

impl LintReport {
    fn count(&mut self, severity: Severity) -> &mut usize {
        match severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        }
    }

    /// Adds what is wrong with the policy for a cluster.
    pub(crate) fn extend(&mut self, findings: impl Iterator<Item = LintFinding>) {
        for finding in findings {
            *self.count(finding.severity) += 1;
            self.findings.push(finding);
        }
        self.findings.truncate(MAX_MISTAKES);
    }

    /// Leaves mistakes of a rule out, where more is known.
    pub(crate) fn forget(&mut self, rule: Rule) {
        let is_it = |finding: &mut LintFinding| finding.is_of(&[rule]);
        let found: Vec<_> = self.findings.extract_if(.., is_it).collect();
        for LintFinding { severity, .. } in found {
            *self.count(severity) -= 1;
        }
    }

    /// Tells whether nodes would ignore parts of the policy.
    pub(crate) fn is_misread(&self) -> bool {
        self.has_errors_beside(&[
            Rule::OwnReleaseRefused,
            Rule::OldReleasesRefused,
            Rule::DecidesNothing,
        ])
    }

    /// Tells whether there are errors beside those of these rules.
    pub(crate) fn has_errors_beside(&self, rules: &[Rule]) -> bool {
        let is_one =
            |finding: &&LintFinding| finding.severity == Severity::Error && finding.is_of(rules);
        self.errors > self.findings.iter().filter(is_one).count()
    }
}

/// Finds every mistake of a policy, JSON or YAML, however broken it is.
pub(crate) fn lint(bytes: &[u8]) -> LintReport {
    if bytes.len() as u64 > MAX_BYTES {
        return too_large("the file");
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if yaml::looks_like_yaml(text) => lint_yaml(text),
        Ok(text) => lint_json(text),
        Err(error) => {
            let valid = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
            whole_file(
                Rule::NotUTF8,
                line_and_column(valid, error.valid_up_to()),
                &[],
            )
        }
    }
}

/// The mistakes of the JSON that nodes get of it, by their places in the YAML.
fn lint_yaml(text: &str) -> LintReport {
    let source = match yaml::convert(text) {
        Ok(source) => source,
        Err(yaml::Broken { place, what }) => {
            return broken(Rule::NotYAML, place, &what, yaml_help(&what));
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

/// The remedy for a mistake of YAML, by a word of what is said of it.
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
pub(crate) const INVALID: [Rule; 2] = [Rule::NotJSON, Rule::NotYAML];

const CORRECT: &str = "correct it; nothing else is checked before that";
const START: &str = "`oc skewguard policy init` writes a policy to start from";

fn too_large(what: &str) -> LintReport {
    whole_file(
        Rule::TooLargeFile,
        (1, 1),
        &[("what", &what), ("most", &MAX_BYTES)],
    )
}

fn lint_json(text: &str) -> LintReport {
    let whole = match Located::whole(text.as_bytes()) {
        Ok(whole) => whole,
        Err(error) => {
            // Without " at line L column C", because the finding has both as numbers.
            let why = error.to_string();
            let why = why.split(" at line ").next().unwrap_or_default();
            let at = (error.line().max(1), error.column().max(1));
            return broken(
                Rule::NotJSON,
                at,
                &text::printable(why),
                json_help(text, at),
            );
        }
    };
    let mut lint = Lint::default();
    structure::check(&mut lint, &whole, Shape::policy());
    policy::policy(&mut lint, &whole);
    by_images(&mut lint, &whole, text);
    let mut report = lint.report;
    report
        .findings
        .sort_by_key(|finding| (finding.line, finding.column, finding.severity));
    report.findings.truncate(MAX_MISTAKES);
    report
}

/// Asks what the limits decide about published images.
fn by_images(lint: &mut Lint, whole: &Located<'_>, json: &str) {
    let Ok(policy) = parse(json.as_bytes()) else {
        return;
    };
    let limits = whole.object(POLICY).ok();
    let limits = limits.and_then(|policy| policy.get("limits"));
    let Some((limits, items)) = limits.as_ref().and_then(|at| Some((at, at.items()?))) else {
        return;
    };
    let items: Vec<Located<'_>> = items.collect();
    lint.enforces = policy.mode == Mode::Enforce;
    own_release::check(lint, &policy, limits, &items);
    loosened::check(lint, &policy, &items);
}

/// The remedy for the mistakes that people make most often in JSON.
fn json_help(text: &str, (line, column): (usize, usize)) -> &'static str {
    let line = text.lines().nth(line - 1);
    let rest = line
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

fn broken(rule: Rule, at: (usize, usize), why: &str, help: &str) -> LintReport {
    whole_file(rule, at, &[("why", &why), ("help", &help)])
}

fn whole_file(rule: Rule, at: (usize, usize), holes: &Holes<'_>) -> LintReport {
    LintReport {
        findings: vec![rule.finding("", at, holes)],
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
    /// `mode` is `Enforce`.
    enforces: bool,
}

impl Lint {
    /// Says of a part of the policy what the rule has for it.
    fn say(&mut self, at: &Located<'_>, rule: Rule, holes: &Holes<'_>) {
        let severity = rule.severity(self.enforces);
        *self.report.count(severity) += 1;
        // Keeps more than are shown, because checks do not run in the order of the file and the
        // first in the file are shown.
        if self.report.findings.len() < 10 * MAX_MISTAKES {
            let (shown, then) = (at.shown(), consequence(&at.path));
            let own: [(&str, &dyn Display); 2] = [("at", &shown), ("then", &then)];
            let finding = rule.finding(&at.path, at.line_and_column(), &[&own, holes].concat());
            self.report.findings.push(LintFinding {
                severity,
                ..finding
            });
        }
    }
}
