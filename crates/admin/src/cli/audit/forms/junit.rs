//! The audit as JUnit XML: a test for each set, and for joined nodes that an update breaks (pure).

use crate::audit::results::fleet::FleetAudit;
use crate::audit::{BootImageAudit, InstalledFrom, SetAudit};
use crate::cli::audit::conclusion::{Conclusion, Conclusions};
use crate::cli::audit::facts::{FactKind, facts, known_issues};
use crate::cli::audit::later::Later;
use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

/// A suite for each cluster, whose name is in the class of its tests: not every reader shows suites.
/// Something that could not be read is a test of its own. A set that does not count was skipped. One that a
/// later release would refuse fails where that was asked for.
pub(in crate::cli::audit) fn render(
    fleet: &FleetAudit,
    conclusions: &Conclusions,
    fails_later: bool,
) -> Result<String, SerializeError> {
    let mut report = Report::new("skewguard");
    for (cluster, own) in fleet.items.iter().zip(&conclusions.each) {
        let (name, class) = match &*cluster.context {
            _ if fleet.alone().is_some() => ("oc skewguard audit", String::new()),
            context => (context, format!("{context} ")),
        };
        let mut suite = TestSuite::new(name);
        if let Some(error) = &cluster.error {
            let status = failed(NonSuccessKind::Error, "NotAudited", error, error);
            suite.add_test_case(case(&format!("{class}read"), "the cluster", status));
        }
        if let (Some(audit), Some(own)) = (&cluster.audit, own) {
            fill(&mut suite, audit, (own, fails_later), &class);
        }
        report.add_test_suite(suite);
    }
    report.to_string()
}

/// `class` comes before the class of each test.
fn fill(
    suite: &mut TestSuite,
    audit: &BootImageAudit,
    (conclusion, fails_later): (&Conclusion, bool),
    class: &str,
) {
    let later = conclusion.later.as_ref().map(Later::line);
    let next = conclusion.next_shown(None).map(|next| next.line());
    let lines = [
        Some(&*conclusion.sentence),
        later.as_deref(),
        next.as_deref(),
    ];
    let lines: Vec<&str> = lines.into_iter().flatten().collect();
    suite.set_system_out(lines.join("\n"));
    for unread in audit.unread.iter().filter(|unread| unread.hides_sets) {
        let status = failed(NonSuccessKind::Error, "Unread", &unread.why, &unread.why);
        suite.add_test_case(case(&format!("{class}read"), &unread.what, status));
    }
    for set in &audit.sets {
        let class = format!("{class}{}", set.kind);
        let later = set
            .says_later()
            .filter(|_| fails_later && set.would_be_allowed());
        let status = match later {
            Some(later) => {
                let command = conclusion.asked.command(set.refused_from.as_deref());
                let text = format!("{later}\nWhat to change: {command}");
                failed(NonSuccessKind::Failure, "RefusedLater", &later, &text)
            }
            None => status(set),
        };
        let mut case = case(&class, &set.row().title(None), status);
        let said: Vec<String> = known_issues(set)
            .into_iter()
            .chain(set.says_later())
            .collect();
        if set.would_be_allowed() && !said.is_empty() {
            case.set_system_out(said.join("\n"));
        }
        suite.add_test_case(case);
    }
    for nodes in &audit.broken {
        let class = format!("{class}update");
        suite.add_test_case(case(&class, &nodes.title(), updated(nodes)));
    }
}

/// A test of an update. What may break is no failure: of a node without a label it is unknown.
fn updated(nodes: &InstalledFrom) -> TestCaseStatus {
    let says = nodes.says();
    if nodes.to_know.is_none() {
        let message = format!("{}: {}", nodes.issue, nodes.reason);
        return failed(NonSuccessKind::Failure, &nodes.issue, &message, &says);
    }
    let mut status = TestCaseStatus::skipped();
    status.set_message(says);
    status
}

fn status(set: &SetAudit) -> TestCaseStatus {
    if set.would_be_allowed() {
        return TestCaseStatus::success();
    }
    if let Some(exception) = set.exception.as_ref().filter(|_| set.is_excepted()) {
        let mut status = TestCaseStatus::skipped();
        status.set_message(exception.says());
        return status;
    }
    let kind = if set.would_be_refused() {
        NonSuccessKind::Failure
    } else {
        NonSuccessKind::Error
    };
    let is_said = |kind| {
        use FactKind::{Command, Fix, Issue, Later, Patch, ToKnow, Why};
        matches!(kind, Why | Later | Issue | ToKnow | Fix | Command | Patch)
    };
    let says = facts(set)
        .into_iter()
        .filter_map(|(kind, text)| is_said(kind).then_some(text));
    let says: Vec<String> = says.collect();
    failed(kind, set.reason.as_str(), &set.message, &says.join("\n"))
}

pub(in crate::cli) fn failed(
    kind: NonSuccessKind,
    sort: &str,
    message: &str,
    text: &str,
) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status
        .set_type(sort)
        .set_message(message)
        .set_description(text);
    status
}

pub(in crate::cli) fn case(class: &str, name: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(name, status);
    case.set_classname(class);
    case
}
