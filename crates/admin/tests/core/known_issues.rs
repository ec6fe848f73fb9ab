//! The known issues that ship.

use crate::inside::core::samples::node;
use crate::lint::starter::STARTER;
use crate::policy::parse;
use crate::verdict::{Facts, Finding, Machine, Reason, RuleResult, Verdict, decide};

fn of_issues(verdict: &Verdict) -> Vec<&Finding> {
    let findings = verdict.findings.iter();
    findings
        .filter(|finding| finding.rule == Reason::KnownIssue)
        .collect()
}

/// The shipped list against boot images that are known to fail, and those that are known to work.
#[test]
fn the_shipped_issues_are_found_where_they_were_seen() {
    let starter = parse(STARTER.as_bytes()).unwrap();
    assert_eq!(starter.warnings, [""; 0]);
    let found = |image: &str, release: &str, platform: &str, secure_boot: bool| -> Vec<String> {
        let facts = Facts {
            platform: Some(platform.to_owned()),
            machine: Machine {
                secure_boot: Some(secure_boot),
                ..Machine::default()
            },
            ..node(image, release, starter.clone())
        };
        let verdict = decide(&facts);
        assert!(
            of_issues(&verdict)
                .iter()
                .all(|finding| finding.result != RuleResult::NotEvaluated),
            "{image} {release}"
        );
        verdict
            .findings
            .into_iter()
            .filter_map(|finding| finding.issue)
            .collect()
    };
    for (image, release, platform, secure_boot, issues) in [
        (
            "410.8.20190520.0",
            "4.11.32",
            "aws",
            false,
            &["AWSOldBootImagesLackAfterburn"][..],
        ),
        ("410.8.20190520.0", "4.11.33", "aws", false, &[]),
        ("410.8.20190520.0", "4.11.32", "gcp", false, &[]),
        ("42.80.20191002.0", "4.11.32", "aws", false, &[]),
        (
            "410.8.20190520.0",
            "4.12.8",
            "gcp",
            false,
            &["OldBootImagesPodmanMissingAuthFlag"],
        ),
        (
            "42.81.20191203.0",
            "4.16.2",
            "gcp",
            false,
            &["OldBootImagesMissingOSReleaseRHELVersion"],
        ),
        (
            "42.81.20191203.0",
            "4.19.4",
            "gcp",
            false,
            &["OldBootImagesComposeFSvsGrubProbe"],
        ),
        ("43.81.202001142154.0", "4.19.4", "gcp", false, &[]),
        (
            "413.92.202402131523-0",
            "4.22.1",
            "aws",
            true,
            &["RPMOSTreeBefore2023.5", "ShimOlderThanKernelSigningKey"],
        ),
        ("413.92.202402131523-0", "4.21.9", "aws", true, &[]),
        (
            "415.92.202402201450-0",
            "4.22.1",
            "aws",
            true,
            &["ShimOlderThanKernelSigningKey"],
        ),
        ("415.92.202402201450-0", "4.22.1", "aws", false, &[]),
        ("416.94.202406172220-0", "4.22.1", "aws", true, &[]),
        ("9.6.20250523-0", "4.22.1", "aws", true, &[]),
        ("10.2.20260423-0", "5.0.0", "aws", true, &[]),
        (
            "412.86.202303211731-0",
            "5.0.0",
            "aws",
            false,
            &["RPMOSTreeBefore2023.5", "NoDaemonForRHEL8"],
        ),
    ] {
        assert_eq!(
            found(image, release, platform, secure_boot),
            issues,
            "{image} {release} {platform}"
        );
    }
}
