//! The rules of a limit, one by one and together: what is known decides, what is unknown does not.

use crate::inside::core::samples::{image_versions, node};
use crate::policy::parse;
use crate::verdict::{Finding, Reason, RuleResult, Verdict, decide};
use proptest::prelude::*;
use serde_json::{Value, json};

/// What a policy of one such limit says about an image.
fn judge(limit: &Value, image: &str, release: &str) -> Verdict {
    let policy = json!({
        "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce", "limits": [limit],
    });
    decide(&node(
        image,
        release,
        parse(policy.to_string().as_bytes()).unwrap(),
    ))
}

#[track_caller]
fn only(verdict: &Verdict) -> &Finding {
    let [finding] = &verdict.findings[..] else {
        panic!("{:#?}", verdict.findings)
    };
    finding
}

/// `Pass 9.4 want 9.2: sentence`.
fn shown(finding: &Finding) -> String {
    format!(
        "{} {} want {}: {}",
        finding.result,
        finding.have.as_deref().unwrap_or("?"),
        finding.want,
        finding.message
    )
}

#[test]
fn each_rule_answers_for_each_kind_of_image() {
    let denied = json!([{ "version": "417.94.2024*", "reason": "bad firmware" }, { "version": "9.6.20250523-0" }]);
    for (rule, setting, image, want) in [
        (
            "minimumOCPVersion",
            json!("4.13.0"),
            "413.92.202402131523-0",
            "Pass 4.13 want 4.13.0: boot image is OCP 4.13; the minimum is 4.13.0",
        ),
        (
            "minimumOCPVersion",
            json!("4.13.0"),
            "412.86.202209220613-0",
            "Fail 4.12 want 4.13.0: boot image is OCP 4.12; the minimum is 4.13.0",
        ),
        // The image counts as the end of its x.y.
        (
            "minimumOCPVersion",
            json!("4.13.40"),
            "413.92.202402131523-0",
            "Pass 4.13 want 4.13.40: boot image is OCP 4.13; the minimum is 4.13.40",
        ),
        (
            "minimumOCPVersion",
            json!("4.9.0"),
            "410.84.202201251210-0",
            "Pass 4.10 want 4.9.0: boot image is OCP 4.10; the minimum is 4.9.0",
        ),
        (
            "minimumOCPVersion",
            json!("4.9.0"),
            "410.8.20190520.0",
            "Fail 4.1 want 4.9.0: boot image is OCP 4.1; the minimum is 4.9.0",
        ),
        (
            "minimumOCPVersion",
            json!("4.13.0"),
            "9.6.20250523-0",
            "Pass 4.19 to 4.21 want 4.13.0: boot image is RHEL 9.6, of OCP 4.19 to 4.21; the minimum is 4.13.0",
        ),
        (
            "minimumOCPVersion",
            json!("4.20.0"),
            "9.6.20250523-0",
            "NotEvaluated 4.19 to 4.21 want 4.20.0: boot image is RHEL 9.6, of OCP 4.19 to 4.21; the minimum is 4.20.0",
        ),
        (
            "minimumOCPVersion",
            json!("4.13.0"),
            "9.0.20250827-0",
            "NotEvaluated ? want 4.13.0: the version does not say its OKD release",
        ),
        (
            "minimumOCPVersion",
            json!("4.13.0"),
            "39.20231101.3.0",
            "NotEvaluated ? want 4.13.0: the version does not say its OKD release",
        ),
        (
            "minimumRHCOSVersion",
            json!("9.2"),
            "9.2.20250523-0",
            "Pass 9.2 want 9.2: boot image is RHEL 9.2; the minimum is 9.2",
        ),
        (
            "minimumRHCOSVersion",
            json!("9.2"),
            "9.1.20251023-0",
            "Fail 9.1 want 9.2: boot image is RHEL 9.1; the minimum is 9.2",
        ),
        (
            "minimumRHCOSVersion",
            json!("9.2"),
            "10.2.20260423-0",
            "Pass 10.2 want 9.2: boot image is RHEL 10.2; the minimum is 9.2",
        ),
        (
            "minimumRHCOSVersion",
            json!("9.10"),
            "9.8.20260428-0",
            "Fail 9.8 want 9.10: boot image is RHEL 9.8; the minimum is 9.10",
        ),
        (
            "minimumRHCOSVersion",
            json!("9.2"),
            "418.810.202511191518-0",
            "Fail 8.10 want 9.2: boot image is RHEL 8.10; the minimum is 9.2",
        ),
        // The major decides where it differs, and a minor that is unknown decides nothing.
        (
            "minimumRHCOSVersion",
            json!("9.2"),
            "410.8.20190520.0",
            "Fail 8 want 9.2: boot image is RHEL 8; the minimum is 9.2",
        ),
        (
            "minimumRHCOSVersion",
            json!("9.2"),
            "10.0.20250628-0",
            "Pass 10 want 9.2: boot image is CentOS Stream 10; the minimum is 9.2",
        ),
        (
            "minimumRHCOSVersion",
            json!("9.2"),
            "412.9.202211241749-0",
            "NotEvaluated 9 want 9.2: the RHEL minor is unknown; the minimum is 9.2",
        ),
        (
            "minimumRHCOSVersion",
            json!("9.2"),
            "9.0.20250827-0",
            "NotEvaluated 9 want 9.2: the RHEL minor is unknown; the minimum is 9.2",
        ),
        (
            "minimumRHCOSVersion",
            json!("9.2"),
            "39.20231101.3.0",
            "NotEvaluated ? want 9.2: the version does not say its RHEL release",
        ),
        // Whole versions compare RHEL, then the day, across the schemes.
        (
            "minimumRHCOSVersion",
            json!("418.94.202501221327-0"),
            "9.6.20240101-0",
            "Pass 9.6.20240101-0 want 418.94.202501221327-0: boot image is 9.6.20240101-0; the minimum is 418.94.202501221327-0",
        ),
        (
            "minimumRHCOSVersion",
            json!("418.94.202501221327-0"),
            "416.94.202501211327-0",
            "Fail 416.94.202501211327-0 want 418.94.202501221327-0: boot image is 416.94.202501211327-0; the minimum is 418.94.202501221327-0",
        ),
        (
            "minimumRHCOSVersion",
            json!("418.94.202501221327-0"),
            "9.4.20250122-0",
            "Pass 9.4.20250122-0 want 418.94.202501221327-0: boot image is 9.4.20250122-0; the minimum is 418.94.202501221327-0",
        ),
        (
            "maximumRHCOSVersion",
            json!("9.8"),
            "9.8.20260428-0",
            "Pass 9.8 want 9.8: boot image is RHEL 9.8; the maximum is 9.8",
        ),
        (
            "maximumRHCOSVersion",
            json!("9.8"),
            "10.0.20250628-0",
            "Fail 10 want 9.8: boot image is CentOS Stream 10; the maximum is 9.8",
        ),
        (
            "maximumRHCOSVersion",
            json!("9.8"),
            "412.9.202211241749-0",
            "NotEvaluated 9 want 9.8: the RHEL minor is unknown; the maximum is 9.8",
        ),
        (
            "rhelMajors",
            json!([9, 10]),
            "412.9.202211241749-0",
            "Pass 9 want 9 or 10: boot image is CentOS Stream 9",
        ),
        (
            "rhelMajors",
            json!([9, 10]),
            "410.8.20190520.0",
            "Fail 8 want 9 or 10: boot image is RHEL 8; RHEL 9 or 10 is allowed",
        ),
        (
            "rhelMajors",
            json!([9]),
            "39.20231101.3.0",
            "NotEvaluated ? want 9: the version does not say its RHEL release",
        ),
        (
            "maximumReleasesBehind",
            json!(8),
            "413.92.202402131523-0",
            "Pass 4.13 want at most 8 OCP minors behind 4.21: boot image is OCP 4.13, 8 minors behind 4.21; at most 8 allowed",
        ),
        (
            "maximumReleasesBehind",
            json!(8),
            "412.86.202209220613-0",
            "Fail 4.12 want at most 8 OCP minors behind 4.21: boot image is OCP 4.12, 9 minors behind 4.21; at most 8 allowed",
        ),
        (
            "maximumReleasesBehind",
            json!(8),
            "9.6.20250523-0",
            "Pass 4.19 to 4.21 want at most 8 OCP minors behind 4.21: boot image is RHEL 9.6, of OCP 4.19 to 4.21, 0 to 2 minors behind 4.21; at most 8 allowed",
        ),
        (
            "deniedVersions",
            denied.clone(),
            "417.94.202410160352-0",
            "Fail 417.94.202410160352-0 want none of: 417.94.2024*, 9.6.20250523-0: boot image 417.94.202410160352-0 is denied by \"417.94.2024*\": bad firmware",
        ),
        (
            "deniedVersions",
            denied.clone(),
            "9.6.20250523-0",
            "Fail 9.6.20250523-0 want none of: 417.94.2024*, 9.6.20250523-0: boot image 9.6.20250523-0 is denied by \"9.6.20250523-0\"",
        ),
        (
            "deniedVersions",
            denied.clone(),
            "9.6.20250523-1",
            "Pass 9.6.20250523-1 want none of: 417.94.2024*, 9.6.20250523-0: boot image 9.6.20250523-1 is not denied",
        ),
        (
            "deniedVersions",
            denied.clone(),
            "my-image",
            "NotEvaluated my-image want none of: 417.94.2024*, 9.6.20250523-0: the version is not understood; it is not on the list of denied versions",
        ),
        (
            "deniedVersions",
            json!([{ "version": "my-*" }]),
            "my-image",
            "Fail my-image want none of: my-*: boot image my-image is denied by \"my-*\"",
        ),
        (
            "deniedVersions",
            json!([]),
            "9.6.20250523-1",
            "Pass 9.6.20250523-1 want any version that is understood: boot image 9.6.20250523-1 is not denied",
        ),
        // An entry that is not understood may have denied this image.
        (
            "deniedVersions",
            json!([{ "versions": "9.6.20250523-0" }, { "version": "9.4.*" }, 7]),
            "9.6.20250523-0",
            "NotEvaluated 9.6.20250523-0 want none of: 9.4.*, ...: not denied as far as the list is understood; entries that are not: 2",
        ),
        (
            "deniedVersions",
            json!([{ "versions": "9.6.20250523-0" }, { "version": "9.4.*" }]),
            "9.4.20250523-0",
            "Fail 9.4.20250523-0 want none of: 9.4.*, ...: boot image 9.4.20250523-0 is denied by \"9.4.*\"",
        ),
        (
            "rhelMajors",
            json!("9"),
            "9.6.20250523-0",
            "NotEvaluated ? want \"9\": the rule's shape is not known to this version of skewguard",
        ),
    ] {
        let verdict = judge(&json!({ rule: setting }), image, "4.21.3");
        assert_eq!(shown(only(&verdict)), want, "{rule} {image}");
    }
}

#[test]
fn minors_are_counted_into_the_major_after_and_not_further_nor_below_nought() {
    let limit = json!({ "maximumReleasesBehind": 5 });
    let of_target = |release| shown(only(&judge(&limit, "418.94.202501221327-0", release)));
    let passes = "Pass 4.18 want at most 5 OCP minors behind 5.0: boot image is OCP 4.18, 5 minors behind 5.0; at most 5 allowed";
    assert_eq!(of_target("5.0.1"), passes);
    assert_eq!(of_target("4.23.1"), passes.replace("5.0", "4.23"));
    let fails = "Fail 4.18 want at most 5 OCP minors behind 5.1: boot image is OCP 4.18, 6 minors behind 5.1; at most 5 allowed";
    assert_eq!(of_target("5.1.7"), fails);
    let want = "NotEvaluated 4.18 want at most 5 OCP minors behind 6.0: OCP minors cannot be counted from 4.18 to 6.0";
    assert_eq!(of_target("6.0.1"), want);
    let limit = json!({ "maximumReleasesBehind": 0 });
    // An image newer than its target is not behind.
    assert_eq!(
        only(&judge(&limit, "418.94.202501221327-0", "4.16.1")).result,
        RuleResult::Pass
    );
    let want = "NotEvaluated 4.18 want at most 0 OCP minors behind the target: the target release is unknown";
    assert_eq!(
        shown(only(&judge(&limit, "418.94.202501221327-0", "next"))),
        want
    );
}

/// `report` reads a verdict of at most 256 KiB.
#[test]
fn what_a_policy_says_at_length_is_cut_in_the_verdict() {
    let majors: Vec<u16> = (100..18_100).collect();
    let evil = "\u{1b}".repeat(600);
    let denied: Vec<Value> = (0..100)
        .map(|n| json!({ "version": format!("{evil}{n}"), "reason": evil }))
        .collect();
    let beginning = json!({ "version": "9.6.*", "reason": evil });
    for denied in [json!(denied), json!([beginning])] {
        let verdict = judge(
            &json!({ "rhelMajors": majors, "deniedVersions": denied }),
            "9.6.20250523-0",
            "4.21.3",
        );
        assert_eq!(verdict.verdict.as_str(), "Refused");
        let [first, second] = &verdict.findings[..] else {
            panic!("{verdict:?}")
        };
        assert!(
            [first, second]
                .iter()
                .all(|finding| finding.want.len() <= 1024 && finding.message.len() <= 1024),
            "{verdict:?}"
        );
        assert!(
            second.want.starts_with("100 or 101 or ") && second.want.ends_with("..."),
            "{second:?}"
        );
        assert!(
            serde_json::to_vec(&verdict).unwrap().len() < 8192,
            "{verdict:?}"
        );
    }
}

#[test]
fn all_rules_are_applied_and_the_first_in_rank_gives_the_reason() {
    let limit = json!({
        "maximumReleasesBehind": 8, "maximumRHCOSVersion": "8.4", "minimumRHCOSVersion": "9.2", "minimumOCPVersion": "4.13.0", "rhelMajors": [9],
        "deniedVersions": [{ "version": "411.86.*", "reason": "too old" }],
    });
    let verdict = judge(&limit, "411.86.202308081056-0", "4.21.3");
    let rank = [
        Reason::DeniedVersion,
        Reason::RhelMajorUnsupported,
        Reason::BelowMinimumOcpVersion,
        Reason::BelowMinimumRhcosVersion,
        Reason::AboveMaximumRhcosVersion,
        Reason::TooManyReleasesBehind,
    ];
    assert_eq!(
        verdict
            .findings
            .iter()
            .map(|finding| finding.rule)
            .collect::<Vec<_>>(),
        rank
    );
    assert_eq!(verdict.failures().count(), 6);
    // Take one rule away after the other: the reason is the first that is left.
    let fields = [
        "deniedVersions",
        "rhelMajors",
        "minimumOCPVersion",
        "minimumRHCOSVersion",
        "maximumRHCOSVersion",
        "maximumReleasesBehind",
    ];
    let mut limit = limit;
    for (field, reason) in fields.iter().zip(rank) {
        let verdict = judge(&limit, "411.86.202308081056-0", "4.21.3");
        assert_eq!(
            (verdict.reason, &verdict.message),
            (reason, &verdict.findings[0].message)
        );
        limit.as_object_mut().unwrap().remove(*field);
    }
}

/// The limits of the Machine Config Operator at 4.21 and 4.22.
fn peer() -> Value {
    json!({ "minimumOCPVersion": "4.13.0", "minimumRHCOSVersion": "9.2" })
}

#[test]
fn the_peers_own_cases_come_out_as_it_states_them() {
    for (image, outcome) in [
        ("417.94.202410160352-0", "Allowed"),
        ("416.94.202409040013-0", "Allowed"),
        ("413.92.202402131523-0", "Allowed"),
        ("412.86.202209220613-0", "Refused"),
        ("410.84.202205191023-0", "Refused"),
        ("9.4.20251023-0", "Allowed"),
        ("9.6.20251023-0", "Allowed"),
        ("416.94.202510081640-0", "Allowed"),
        ("9.1.20251023-0", "Refused"),
        ("411.86.202308081056-0", "Refused"),
    ] {
        assert_eq!(
            judge(&peer(), image, "4.21.3").verdict.as_str(),
            outcome,
            "{image}"
        );
    }
    // It calls this one RHCOS, where os-release says RHEL.
    let mut facts = node(
        "9.0.20251023-0",
        "4.21.3",
        parse(policy_of(&peer()).as_bytes()).unwrap(),
    );
    facts.boot_image.as_mut().unwrap().version =
        facts.boot_image.as_ref().unwrap().version.clone().on_rhel();
    assert_eq!(decide(&facts).reason, Reason::BelowMinimumRhcosVersion);
}

fn policy_of(limit: &Value) -> String {
    json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce", "limits": [limit] }).to_string()
}

#[test]
fn the_cases_that_the_peer_gets_wrong_come_out_right() {
    for (image, outcome, reason) in [
        // The Machine Config Operator reads it as RHEL 410.8 and allows it.
        ("410.8.20190520-0", "Refused", "BelowMinimumOCPVersion"),
        // It allows this one without parsing it.
        ("412.9.202211241749-0", "Refused", "BelowMinimumOCPVersion"),
        // It blocks this one, although CentOS Stream names no minor.
        ("9.0.20250827-0", "Undetermined", "NoRuleEvaluated"),
        // It does not look at the RHCOS version if an OCP release is given.
        (
            "413.86.202302162338-0",
            "Refused",
            "BelowMinimumRHCOSVersion",
        ),
    ] {
        let verdict = judge(&peer(), image, "4.21.3");
        assert_eq!(
            (verdict.verdict.as_str(), verdict.reason.as_str()),
            (outcome, reason),
            "{image}"
        );
    }
}

/// The verdict on each published version, worked out from the columns of the list instead of the
/// string.
#[test]
fn every_published_version_is_decided_right() {
    let list = std::fs::read_to_string("tests/data/boot-images.tsv").unwrap();
    for line in list.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let numbers = |text: &str| -> Vec<u16> {
            text.split('.')
                .filter_map(|number| number.parse().ok())
                .collect()
        };
        let ocp = match numbers(cells[2])[..] {
            [major, minor] => Some((major, minor) >= (4, 13)),
            _ => None,
        };
        let rhel = match numbers(cells[3])[..] {
            [major, minor] => Some((major, minor) >= (9, 2)),
            [9] | [] => None,
            [major] => Some(major > 9),
            _ => panic!("{line}"),
        };
        let want = match (ocp, rhel) {
            (Some(false), _) | (_, Some(false)) => "Refused",
            (None, None) => "Undetermined",
            _ => "Allowed",
        };
        assert_eq!(
            judge(&peer(), cells[0], "4.21.3").verdict.as_str(),
            want,
            "{}",
            cells[0]
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// A minimum never allows the older of two images and refuses the newer.
    #[test]
    fn a_newer_image_never_does_worse_against_a_minimum(
        a in proptest::sample::select(image_versions()),
        b in proptest::sample::select(image_versions()),
        bound in prop_oneof![
            proptest::sample::select(image_versions()),
            (8u16..11, 0u16..11).prop_map(|(major, minor)| format!("{major}.{minor}")),
        ],
    ) {
        use crate::version::{ImageVersion, compare_images};
        let result = |image: &str| judge(&json!({ "minimumRHCOSVersion": bound }), image, "4.21.3").findings[0].result;
        let newer = compare_images(&ImageVersion::parse(&a), &ImageVersion::parse(&b)) == Some(std::cmp::Ordering::Greater);
        prop_assert!(!(newer && result(&a) == RuleResult::Fail && result(&b) == RuleResult::Pass), "{} {} {}", a, b, bound);
    }
}

/// Newer where all allowed majors are above the image's, older where all are below.
#[test]
fn a_major_that_is_not_allowed_says_in_which_direction_one_is() {
    use crate::verdict::Wanted;
    for (majors, image, wanted) in [
        (&[9, 10][..], "412.86.202308081056-0", Some(Wanted::Newer)),
        (&[8], "9.6.20250523-0", Some(Wanted::Older)),
        (&[7, 8], "9.6.20250523-0", Some(Wanted::Older)),
        (&[8, 10], "9.6.20250523-0", Some(Wanted::Another)),
        (&[9], "9.6.20250523-0", None),
    ] {
        let verdict = judge(&json!({ "rhelMajors": majors }), image, "4.22.0");
        assert_eq!(only(&verdict).wanted, wanted, "{majors:?} {image}");
    }
}
