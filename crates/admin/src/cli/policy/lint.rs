//! `oc skewguard policy lint`: every mistake of a policy, with its line and its remedy.

use super::super::audit::forms::junit::{case, failed};
use super::super::inputs::{INIT, no_policy, policy_input, read_start};
use crate::API_VERSION;
use crate::audit::{Objects, RefusedOwn, refused_own};
use crate::lint::{LintFinding, LintReport, Rule, Severity, lint};
use crate::policy::MAX_BYTES;
use crate::trouble::{full_text, tell};
use crate::yaml::{for_nodes, looks_like_yaml};
use clap::{ValueEnum, ValueHint};
use quick_junit::{NonSuccessKind, Report, TestCaseStatus, TestSuite};
use serde::Serialize;
use skewguard_cluster::file;
use skewguard_cluster::file::name as named;
use skewguard_cluster::files::input;
use skewguard_cluster::names::count;
use skewguard_core::command::{Exit, Failure, Io, read_once};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Find every mistake of a policy, with its line and its remedy
///
/// An error is something that does not do what it says: a field in the wrong place, an unknown
/// word, a limit that never matches, a minimum above the maximum. A warning is something that does what it says, but
/// may not be meant. Nodes are more lenient: they leave out what they do not understand of a
/// policy, and warn about it.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "oc skewguard policy lint [OPTIONS] <FILE>...",
    after_help = "\
Exit status: 0 no errors (there may be warnings), 1 errors or a file that cannot be read, 2 wrong usage.

Examples:
  oc skewguard policy lint policy.json
  oc skewguard policy init | oc skewguard policy lint -
  oc skewguard policy lint policy.json \\
    --from must-gather.local.*/
  oc skewguard policy lint --output json */policy.json |
    jq 'select(.warnings > 0)'
  oc skewguard policy lint --output junit policy.json >a.xml"
)]
pub(super) struct Args {
    /// Policies to check, JSON or YAML; - is standard input.
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,
    /// A cluster, whose own boot images the policies should not refuse: files of `oc get -o json`
    /// or YAML, and folders such as a must-gather; - is standard input.
    #[arg(long, short = 'f', value_name = "FILE|DIR", value_hint = ValueHint::AnyPath, num_args = 1..)]
    from: Vec<PathBuf>,
    /// Form of the result.
    #[arg(long, short, value_enum, ignore_case = true, default_value = "text")]
    output: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For a person.
    Text,
    /// One object for each file that can be read; fields are only ever added.
    Json,
    /// JUnit XML: a suite for each file, a test for each mistake.
    Junit,
}

pub(super) fn run(args: &Args, io: &mut Io<'_>) -> Result<Exit, Failure> {
    read_once(args.files.iter().chain(&args.from).map(PathBuf::as_path))?;
    let (cluster, mut exit) = cluster(&args.from, io)?;
    let mut suites = Report::new("skewguard");
    for path in &args.files {
        let name = named(path);
        let read = read_start(path, MAX_BYTES, INIT);
        let read = read.and_then(|bytes| no_policy(&bytes).map_or(Ok(bytes), Err));
        let report = match read {
            Ok(bytes) => {
                let mut report = lint(&bytes);
                if let Some(what) = not_as_nodes_read(path, &bytes) {
                    let found = Rule::NotForNodes.finding("", (1, 1), &[("what", &what)]);
                    report.extend(std::iter::once(found));
                }
                if let Some(objects) = &cluster {
                    let refused = match report.is_misread() {
                        false => refused_own(objects, &policy_input(&name, &for_nodes(bytes))),
                        true => Err("it has errors"),
                    };
                    match refused {
                        Ok(refused) => {
                            // The cluster is of one release, whose images say more.
                            report.forget(Rule::OldReleasesRefused);
                            report.extend(refused.iter().map(refuses_own));
                        }
                        Err(why) => {
                            io.say(format_args!("{name}: not compared with the cluster: {why}"));
                            exit = Exit::Failed;
                        }
                    }
                }
                report
            }
            Err(error) => {
                io.say(format_args!("{name}: {error}"));
                suites.add_test_suite(unread(&name, &error));
                exit = Exit::Failed;
                continue;
            }
        };
        match args.output {
            Form::Text => show(&name, &report, io.out)?,
            Form::Json => writeln!(io.out, "{}", json(&name, &report)?)?,
            Form::Junit => {
                suites.add_test_suite(suite(&name, &report));
            }
        }
        if report.errors > 0 {
            exit = Exit::Failed;
        }
    }
    if args.output == Form::Junit {
        io.out.write_all(suites.to_string()?.as_bytes())?;
    }
    Ok(exit)
}

/// The cluster of `--from`, and whether all of it could be read.
fn cluster(from: &[PathBuf], io: &mut Io<'_>) -> Result<(Option<Objects>, Exit), Failure> {
    let mut exit = Exit::Done;
    if from.is_empty() {
        return Ok((None, exit));
    }
    let mut objects = Objects::default();
    for mut unread in input::read(from, &mut objects).map_err(full_text)? {
        tell(&mut unread);
        io.say(unread);
        exit = Exit::Failed;
    }
    Ok((Some(objects), exit))
}

/// The form of a file that its name calls JSON, and no node reads as it stands.
fn not_as_nodes_read(path: &Path, bytes: &[u8]) -> Option<&'static str> {
    path.extension().filter(|end| *end == "json")?;
    if std::str::from_utf8(bytes).is_ok_and(looks_like_yaml) {
        return Some("YAML");
    }
    match *file::read_start(path, 3).ok()? {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16"),
        [0xef, 0xbb, 0xbf, ..] => Some("UTF-8 with a byte order mark"),
        _ => None,
    }
}

/// No other image helps then: the policy has to change.
fn refuses_own(own: &RefusedOwn) -> LintFinding {
    let RefusedOwn { version, pool, why } = own;
    let pool = pool.as_ref();
    let pool = pool.map_or_else(String::new, |pool| format!(" for pool {pool}"));
    Rule::OwnImageRefused.finding(
        "",
        (1, 1),
        &[("version", version), ("pool", &pool), ("why", why)],
    )
}

/// Errors are failures. Warnings are tests that passed, with what they say.
fn suite(file: &str, report: &LintReport) -> TestSuite {
    let mut suite = TestSuite::new(file);
    if report.findings.is_empty() {
        suite.add_test_case(case("policy lint", file, TestCaseStatus::success()));
    }
    for finding in &report.findings {
        let shown = finding.shown(file);
        let status = match finding.severity {
            Severity::Error => failed(
                NonSuccessKind::Failure,
                finding.mistake,
                &finding.message,
                &shown,
            ),
            Severity::Warning => TestCaseStatus::success(),
        };
        let name = format!("{}:{} {}", finding.line, finding.column, finding.mistake);
        let mut case = case("policy lint", &name, status);
        case.set_system_out(shown);
        suite.add_test_case(case);
    }
    suite
}

fn unread(file: &str, why: &str) -> TestSuite {
    let mut suite = TestSuite::new(file);
    let status = failed(NonSuccessKind::Error, "Unread", why, why);
    suite.add_test_case(case("policy lint", file, status));
    suite
}

fn show(name: &str, report: &LintReport, out: &mut dyn Write) -> io::Result<()> {
    for finding in &report.findings {
        write!(out, "{}", finding.shown(name))?;
    }
    let all = report.errors + report.warnings;
    if all > report.findings.len() {
        writeln!(out, "{name}: the first {} are shown", report.findings.len())?;
    }
    match all {
        0 => writeln!(out, "{name}: no mistakes found"),
        _ => writeln!(
            out,
            "{name}: {}, {}",
            count(report.errors, "error"),
            count(report.warnings, "warning")
        ),
    }
}

fn json(file: &str, report: &LintReport) -> serde_json::Result<String> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct PolicyLint<'a> {
        api_version: &'a str,
        kind: &'a str,
        file: &'a str,
        #[serde(flatten)]
        report: &'a LintReport,
    }
    serde_json::to_string(&PolicyLint {
        api_version: API_VERSION,
        kind: "PolicyLint",
        file,
        report,
    })
}
