//! Fedora CoreOS and CentOS Stream CoreOS: the order within each, and the rules for each.

use crate::inside::core::samples::{base, image_versions, node};
use crate::policy::{fields::version_bound, parse};
use crate::verdict::{Target, Verdict, decide};
use crate::version::{ImageVersion, OsFamily, compare_fcos, compare_scos};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::cmp::Ordering::{self, Equal, Greater, Less};

fn family(text: &str) -> Option<OsFamily> {
    ImageVersion::parse(text).os_family()
}

#[test]
fn the_family_is_what_the_version_says() {
    for (family_, texts) in [
        (
            Some(OsFamily::Rhcos),
            &[
                "410.8.20190520.0",
                "400.7.20190306.0",
                "42s390x.81.20200131.0",
                "411.86.202308081056-0",
                "418.94.202511191518-0",
                "9.6.20250523-0",
                "10.2.20260423-0",
            ][..],
        ),
        (
            Some(OsFamily::Scos),
            &[
                "412.9.202211241749-0",
                "413.9.202302280609-0",
                "9.0.20250510-0",
                "10.0.20260614-0",
            ],
        ),
        (
            Some(OsFamily::Fcos),
            &[
                "32.20201104.3.0",
                "37.20230126.20.0",
                "39.20231101.3.dev0",
                "35.20220310.dev.0",
            ],
        ),
        (
            None,
            &["latest", "", "39", "35.20220310.x.0", "35.20220310.dev.dev"],
        ),
    ] {
        for text in texts {
            assert_eq!(family(text), family_, "{text}");
        }
    }
    let on_rhel = |text| ImageVersion::parse(text).on_rhel().os_family();
    assert_eq!(on_rhel("9.0.20251023-0"), Some(OsFamily::Rhcos));
    assert_eq!(on_rhel("39.20231101.3.0"), Some(OsFamily::Fcos));
}

#[test]
fn versions_are_ordered_within_their_family() {
    for (a, want, b) in [
        // Fedora release first, whatever the day: `next` moves to a release before `stable` does.
        ("38.20230430.3.1", Less, "39.20230301.1.0"),
        ("39.20231101.3.0", Less, "39.20231119.3.0"),
        // Streams of one day: next, testing, stable.
        ("39.20231101.1.0", Less, "39.20231101.2.0"),
        ("39.20231101.2.1", Less, "39.20231101.3.0"),
        ("39.20231101.3.0", Less, "39.20231101.3.1"),
        ("39.20231101.3.9", Less, "39.20231101.3.10"),
        ("39.20231101.3.0", Equal, "39.20231101.3.0"),
        ("9.20250510.3.0", Less, "x"),
    ] {
        let [left, right] = [a, b].map(ImageVersion::parse);
        let want = (b != "x").then_some(want);
        assert_eq!(compare_fcos(&left, &right), want, "{a} {b}");
        assert_eq!(compare_fcos(&right, &left), want.map(Ordering::reverse));
    }
    for (a, want, b) in [
        ("413.9.202302280609-0", Less, "9.0.20250510-0"),
        ("9.0.20250510-0", Less, "10.0.20250101-0"),
        ("418.9.202501221327-0", Greater, "416.9.202410282248-0"),
        // As with RHCOS, builds of one day are equal.
        ("9.0.20250510-1", Equal, "9.0.20250510-0"),
        ("418.9.202505102359-0", Equal, "9.0.20250510-0"),
    ] {
        let [left, right] = [a, b].map(ImageVersion::parse);
        assert_eq!(compare_scos(&left, &right), Some(want), "{a} {b}");
    }
    // A developer's build has a day, and no place within it.
    let build = ImageVersion::parse("39.20231101.3.dev0");
    for (other, want) in [
        ("39.20231101.3.0", None),
        ("39.20231101.2.0", Some(Greater)),
        ("39.20231102.3.0", Some(Less)),
        ("39.20231101.dev.0", None),
    ] {
        assert_eq!(
            compare_fcos(&build, &ImageVersion::parse(other)),
            want,
            "{other}"
        );
    }
}

/// What a policy of one such limit says about an image: verdict and reason.
fn judge(limit: &Value, image: &str) -> Verdict {
    let policy = json!({
        "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce", "limits": [limit],
    });
    decide(&node(
        image,
        "4.16.0-okd-scos.1",
        parse(policy.to_string().as_bytes()).unwrap(),
    ))
}

#[test]
fn each_rule_judges_its_own_family_alone() {
    for (rule, setting, image, want) in [
        (
            "minimumFCOSVersion",
            "33.20210201.3.0",
            "32.20201104.3.0",
            "Fail 32.20201104.3.0: boot image is 32.20201104.3.0; the minimum is 33.20210201.3.0",
        ),
        (
            "minimumFCOSVersion",
            "39.20231101.3.0",
            "39.20231101.2.0",
            "Fail 39.20231101.2.0: boot image is 39.20231101.2.0; the minimum is 39.20231101.3.0",
        ),
        (
            "minimumFCOSVersion",
            "39",
            "39.20231001.1.0",
            "Pass 39: boot image is Fedora 39; the minimum is 39",
        ),
        (
            "maximumFCOSVersion",
            "39",
            "40.20240920.3.0",
            "Fail 40: boot image is Fedora 40; the maximum is 39",
        ),
        (
            "maximumFCOSVersion",
            "39.20231101.3.0",
            "39.20231101.3.0",
            "Pass 39.20231101.3.0: boot image is 39.20231101.3.0; the maximum is 39.20231101.3.0",
        ),
        (
            "minimumFCOSVersion",
            "39.20231101.3.0",
            "39.20231101.3.dev0",
            "NotEvaluated 39.20231101.3.dev0: a developer's build of that day cannot be compared; the minimum is 39.20231101.3.0",
        ),
        (
            "minimumFCOSVersion",
            "39.20231101.3.0",
            "9.0.20250510-0",
            "NotEvaluated 9.0.20250510-0: 9.0.20250510-0 is SCOS, and the rule is for Fedora CoreOS",
        ),
        (
            "minimumSCOSVersion",
            "9.0.20250510-0",
            "413.9.202302280609-0",
            "Fail 413.9.202302280609-0: boot image is 413.9.202302280609-0; the minimum is 9.0.20250510-0",
        ),
        (
            "minimumSCOSVersion",
            "9.0",
            "413.9.202302280609-0",
            "Pass 9: boot image is CentOS Stream 9; the minimum is 9",
        ),
        (
            "maximumSCOSVersion",
            "9",
            "10.0.20250628-0",
            "Fail 10: boot image is CentOS Stream 10; the maximum is 9",
        ),
        (
            "maximumSCOSVersion",
            "9",
            "9.6.20250523-0",
            "NotEvaluated 9.6.20250523-0: 9.6.20250523-0 is RHCOS, and the rule is for SCOS",
        ),
        (
            "maximumSCOSVersion",
            "9",
            "nobody's",
            "NotEvaluated nobody's: the version is not understood; the rule is for SCOS",
        ),
    ] {
        let verdict = judge(&json!({ rule: setting }), image);
        let [finding] = &verdict.findings[..] else {
            panic!("{verdict:#?}")
        };
        let shown = format!(
            "{} {}: {}",
            finding.result,
            finding.have.as_deref().unwrap_or("?"),
            finding.message
        );
        assert_eq!(shown, want, "{rule} {setting} {image}");
        assert_eq!(verdict.blocks(), want.starts_with("Fail"));
    }
}

#[test]
fn what_is_no_bound_of_the_family_is_not_evaluated() {
    for (field, values) in [
        (
            "minimumFCOSVersion",
            &[
                "9.2",
                "9.0.20250510-0",
                "418.94.202511191518-0",
                "39.20231101",
                "39.20231101.3.dev0",
                "39.20231101.dev.0",
                "27",
                "200",
                "039",
                "",
                "latest",
            ][..],
        ),
        (
            "minimumSCOSVersion",
            &[
                "9.2",
                "9.00",
                "8",
                "40",
                "9.6.20250523-0",
                "418.94.202511191518-0",
                "39.20231101.3.0",
                "4.16",
                "",
                "\u{1b}[2J",
            ],
        ),
    ] {
        for value in values {
            for image in ["39.20231101.3.0", "9.0.20250510-0", "418.94.202511191518-0"] {
                let verdict = judge(&json!({ field: value }), image);
                assert_eq!(
                    verdict.reason.as_str(),
                    "NoRuleEvaluated",
                    "{field} {value}"
                );
                assert_eq!(verdict.warnings.len(), 1, "{field} {value}");
            }
        }
    }
}

#[test]
fn the_reasons_rank_right_after_those_of_rhcos() {
    let limit = json!({
        "minimumFCOSVersion": "41", "maximumFCOSVersion": "38", "minimumSCOSVersion": "10", "maximumSCOSVersion": "9",
        "deniedVersions": [],
    });
    let rules = |image| -> Vec<String> {
        let verdict = judge(&limit, image);
        verdict
            .failures()
            .map(|finding| finding.rule.to_string())
            .collect()
    };
    assert_eq!(
        rules("39.20231101.3.0"),
        ["BelowMinimumFCOSVersion", "AboveMaximumFCOSVersion"]
    );
    assert_eq!(rules("9.0.20250510-0"), ["BelowMinimumSCOSVersion"]);
    let names = judge(&limit, "39.20231101.3.0");
    let names: Vec<&str> = names
        .findings
        .iter()
        .map(|finding| finding.rule.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "DeniedVersion",
            "BelowMinimumFCOSVersion",
            "AboveMaximumFCOSVersion",
            "BelowMinimumSCOSVersion",
            "AboveMaximumSCOSVersion"
        ]
    );
}

/// The result of the one known issue of a policy, for an image and a target.
fn issue(issue: &Value, image: &str, release: &str) -> String {
    let policy = json!({
        "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce", "limits": [{}], "knownIssues": [issue],
    });
    let policy = parse(policy.to_string().as_bytes()).unwrap();
    let verdict = decide(&node(image, release, policy));
    let [finding] = &verdict.findings[..] else {
        return format!("{} findings", verdict.findings.len());
    };
    format!("{}: {}", finding.result, finding.message)
}

#[test]
fn a_known_issue_is_of_families_and_of_okd() {
    let fcos = json!({ "id": "X", "reason": "r", "when": { "osFamilies": ["fcos"], "okd": true } });
    let has = "Fail: boot image has known issue X: r";
    let none = "Pass: boot image has none of the policy's 1 known issues";
    for (image, release, want) in [
        ("39.20231101.3.0", "4.16.0-okd-scos.1", has),
        ("39.20231101.3.0", "4.15.0-0.okd-2024-03-10-010116", has),
        (
            "39.20231101.3.0",
            "4.16.0-0.okd-scos-2024-08-21-155613",
            has,
        ),
        ("39.20231101.3.0", "5.0.0-okd-scos.ec.10", has),
        ("39.20231101.3.0", "4.16.3", none),
        ("39.20231101.3.0", "4.16.0-rc.3", none),
        (
            "39.20231101.3.0",
            "4.16.0-0.nightly-2024-05-20-043516",
            none,
        ),
        ("9.0.20250510-0", "4.16.0-okd-scos.1", none),
        ("418.94.202511191518-0", "4.16.0-okd-scos.1", none),
        (
            "39.20231101.3.0",
            "4.16.0-0.ci-2024-05-20-043516",
            "NotEvaluated: X: it is unknown whether the target is OKD",
        ),
        (
            "mine",
            "4.16.0-okd-scos.1",
            "NotEvaluated: X: the boot image's OS family is unknown",
        ),
    ] {
        assert_eq!(issue(&fcos, image, release), want, "{image} {release}");
    }
}

#[test]
fn a_known_issue_is_never_wider_than_it_was_meant() {
    let not_understood = "NotEvaluated: X: not understood by this version of skewguard";
    for part in [
        json!({ "when": { "okd": true } }),
        json!({ "when": { "osFamilies": ["fcos", "flatcar"] } }),
        json!({ "when": { "osFamilies": "fcos" } }),
        json!({ "when": { "osFamilies": ["fcos"], "okd": "yes" } }),
        json!({ "when": { "osFamilies": ["fcos"] }, "images": {} }),
        json!({ "images": { "belowFCOSVersion": "9.2" } }),
        json!({ "images": { "versions": [{ "version": "39*" }] }, "affects": "Reboot" }),
        json!({ "images": { "versions": [{ "version": "39*" }] }, "affects": 1 }),
    ] {
        let mut known = json!({ "id": "X", "reason": "r" });
        let parts = part.as_object().unwrap().clone();
        known.as_object_mut().unwrap().extend(parts);
        let said = issue(&known, "39.20231101.3.0", "4.16.0-okd-scos.1");
        assert_eq!(said, not_understood, "{known}");
    }
    // On a first boot nothing is said of what breaks updates.
    let update = json!({ "id": "X", "reason": "r", "affects": "Update", "images": { "versions": [{ "version": "39*" }] } });
    assert_eq!(issue(&update, "39.20231101.3.0", "4.16.3"), "0 findings");
    let said = |bound: Value, image| {
        let known = json!({ "id": "X", "reason": "r", "images": bound });
        let said = issue(&known, image, "4.16.3");
        said.split(':').next().unwrap_or_default().to_owned()
    };
    for (bound, image, want) in [
        (
            json!({ "belowFCOSVersion": "39" }),
            "38.20231002.3.1",
            "Fail",
        ),
        (
            json!({ "belowFCOSVersion": "39" }),
            "39.20231101.3.0",
            "Pass",
        ),
        (
            json!({ "belowFCOSVersion": "39" }),
            "9.0.20250510-0",
            "Pass",
        ),
        (
            json!({ "aboveFCOSVersion": "39" }),
            "40.20240920.3.0",
            "Fail",
        ),
        (
            json!({ "aboveFCOSVersion": "39" }),
            "39.20231101.3.0",
            "Pass",
        ),
        (
            json!({ "belowSCOSVersion": "9.0.20250510-0" }),
            "413.9.202302280609-0",
            "Fail",
        ),
        (
            json!({ "belowSCOSVersion": "9.0.20250510-0" }),
            "39.20231101.3.0",
            "Pass",
        ),
        (
            json!({ "belowSCOSVersion": "9.0.20250510-0" }),
            "mine",
            "NotEvaluated",
        ),
    ] {
        assert_eq!(said(bound.clone(), image), want, "{bound} {image}");
    }
}

/// Real versions, and ones that are built from parts.
fn a_version() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(image_versions()),
        (30u16..46, 2020u16..2027, 1u8..13, 1u8..29, 1u8..4, 0u8..3).prop_map(
            |(fedora, y, m, d, stream, build)| format!("{fedora}.{y}{m:02}{d:02}.{stream}.{build}")
        ),
        (9u16..11, 2024u16..2027, 1u8..13, 1u8..29)
            .prop_map(|(major, y, m, d)| format!("{major}.0.{y}{m:02}{d:02}-0")),
        (12u16..19, 2022u16..2026, 1u8..13, 1u8..29)
            .prop_map(|(minor, y, m, d)| format!("4{minor}.9.{y}{m:02}{d:02}0000-0")),
    ]
}

proptest! {
    /// Two images of one family are always ordered, and both ways alike; two of different families
    /// never are.
    #[test]
    fn the_order_is_total_within_a_family_and_empty_between_two(a in a_version(), b in a_version(), c in a_version()) {
        let [a, b, c] = [a, b, c].map(|text| ImageVersion::parse(&text));
        for (compare, family) in [
            (compare_fcos as fn(&ImageVersion, &ImageVersion) -> Option<Ordering>, OsFamily::Fcos),
            (compare_scos, OsFamily::Scos),
        ] {
            let both = [&a, &b].iter().all(|version| version.os_family() == Some(family));
            let order = compare(&a, &b);
            prop_assert_eq!(order.is_some(), both, "{} {}", a, b);
            prop_assert_eq!(order, compare(&b, &a).map(Ordering::reverse));
            if order == Some(Less) && compare(&b, &c) == Some(Less) {
                prop_assert_eq!(compare(&a, &c), Some(Less), "{} {} {}", a, b, c);
            }
        }
    }

    /// A version is its own minimum and its own maximum, and no other reading of the text is one.
    #[test]
    fn a_version_is_its_own_bound(text in a_version()) {
        let image = ImageVersion::parse(&text);
        for (fields, family) in [
            (["minimumFCOSVersion", "maximumFCOSVersion"], OsFamily::Fcos),
            (["minimumSCOSVersion", "maximumSCOSVersion"], OsFamily::Scos),
        ] {
            let is_own = image.os_family() == Some(family);
            prop_assert_eq!(version_bound(family, &text).is_some(), is_own, "{}", text);
            if is_own {
                let limit = json!({ fields[0]: text, fields[1]: text });
                let verdict = judge(&limit, &text);
                prop_assert_eq!(verdict.verdict.as_str(), "Allowed");
            }
        }
    }
}

#[test]
fn the_repository_of_the_image_tells_okd_where_the_release_does_not() {
    let is_okd = |image: &str| {
        let target = Target {
            os_image_url: Some(image.to_owned()),
            ..Target::default()
        };
        target.is_okd()
    };
    assert_eq!(is_okd("quay.io/okd/scos-content@sha256:00"), Some(true));
    assert_eq!(
        is_okd("quay.io/openshift/okd-content@sha256:00"),
        Some(true)
    );
    assert_eq!(
        is_okd("quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:00"),
        Some(false)
    );
    assert_eq!(is_okd("registry.example.com/okd@sha256:00"), None);
}

#[test]
fn a_product_has_the_names_of_its_image_and_its_cluster() {
    for (image, release, names) in [
        ("414.92.202310210434-0", "4.16.3", ["OCP", "RHCOS"]),
        ("what-is-it", "4.16.3", ["OCP", "RHCOS"]),
        (
            "39.20231101.3.0",
            "4.15.0-0.okd-2024-03-10-010116",
            ["OKD", "FCOS"],
        ),
        ("9.0.20250510-0", "4.20.0-okd-scos.3", ["OKD", "SCOS"]),
        // OKD went from one to the other.
        ("39.20231101.3.0", "4.20.0-okd-scos.3", ["OKD", "CoreOS"]),
    ] {
        let policy = parse(base().to_string().as_bytes()).unwrap();
        let product = decide(&node(image, release, policy)).product();
        assert_eq!(
            [product.release(), product.image()],
            names,
            "{image} {release}"
        );
    }
}
