//! The audit as JUnit XML: a test for each set, and for joined nodes that an update breaks (pure).

use super::conclusion::Conclusion;
use super::page::title;
use crate::audit::{BirthAudit, BootImageAudit, SetAudit};
use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

/// What could not be read is a test of its own. A set that does not count was skipped.
pub(crate) fn render(
    audit: &BootImageAudit,
    conclusion: &Conclusion,
) -> Result<String, SerializeError> {
    let mut suite = TestSuite::new("oc skewguard audit");
    suite.set_system_out(format!("{}\n{}", conclusion.sentence, conclusion.next));
    for unread in audit.unread.iter().filter(|unread| unread.hides_sets) {
        let status = failed(NonSuccessKind::Error, "Unread", &unread.why, &unread.why);
        suite.add_test_case(case("read", &unread.what, status));
    }
    for set in &audit.sets {
        suite.add_test_case(case(set.kind, &title(set, None), status(set)));
    }
    for birth in &audit.births {
        suite.add_test_case(case("update", &birth.title(), updated(birth)));
    }
    let mut report = Report::new("skewguard");
    report.add_test_suite(suite);
    report.to_string()
}

/// What may break is no failure: nodes without a label are of unknown birth.
fn updated(birth: &BirthAudit) -> TestCaseStatus {
    let says = birth.says();
    if birth.to_know.is_none() {
        let message = format!("{}: {}", birth.issue, birth.reason);
        return failed(NonSuccessKind::Failure, &birth.issue, &message, &says);
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
    let says = [
        Some(&set.message),
        set.to_know.as_ref(),
        set.remedy.as_ref(),
        set.patch.as_ref(),
    ];
    let says: Vec<&str> = says.into_iter().flatten().map(String::as_str).collect();
    failed(kind, set.reason.as_str(), &set.message, &says.join("\n"))
}

pub(in super::super) fn failed(
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

pub(in super::super) fn case(class: &str, name: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(name, status);
    case.set_classname(class);
    case
}
