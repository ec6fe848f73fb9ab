//! `policy lint`: its findings word for word, and that it finds everything that a node would warn
//! about or reject.

use crate::inside::core::run;
use crate::inside::core::samples::{
    RELEASES, a_limit, any_json, base, chosen, image_versions, node, places, with,
};
use crate::lint::{Severity, lint};
use crate::policy::{Limit, parse};
use crate::verdict::{RuleResult, Verdict, decide};
use crate::version::{OcpMinor, Release};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

const EXAMPLES: &str = "tests/data/lint";

fn examples() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(EXAMPLES)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".json"))
        .collect();
    names.sort();
    names
}

#[test]
fn each_example_is_answered_word_for_word() {
    for name in examples() {
        let path = format!("{EXAMPLES}/{name}");
        let want = std::fs::read_to_string(Path::new(&path).with_extension("txt")).unwrap();
        let (exit, out, err) = run(&["policy", "lint", &path]);
        assert_eq!(out.replace(&format!("{EXAMPLES}/"), ""), want, "{name}");
        assert_eq!(err, "");
        assert_eq!(exit, u8::from(want.contains(": error: ")), "{name}");
    }
}

/// The names of the mistakes in `oc skewguard schema lint`.
fn documented() -> BTreeSet<String> {
    let (_, out, _) = run(&["schema", "lint"]);
    let schema: Value = serde_json::from_str(&out).unwrap();
    let mistake = schema
        .pointer("/properties/findings/items/properties/mistake")
        .unwrap();
    let names = mistake["examples"].as_array().unwrap().iter();
    names
        .map(|name| name.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn every_mistake_has_an_example_and_is_documented() {
    // The last one needs a cluster: `audit::operator` has its example.
    let mut seen: BTreeSet<String> = ["TooLarge", "InvalidJSON", "InvalidYAML", "OwnImageRefused"]
        .map(str::to_owned)
        .into();
    for name in examples() {
        let report = lint(&std::fs::read(format!("{EXAMPLES}/{name}")).unwrap());
        for finding in report.findings {
            seen.insert(finding.mistake.to_owned());
        }
    }
    assert_eq!(seen, documented());
}

#[test]
fn scripts_read_one_object_per_file() {
    let (exit, out, err) = run(&[
        "policy",
        "lint",
        "--output",
        "json",
        "tests/data/lint/clean.json",
        "tests/data/lint/values.json",
    ]);
    assert_eq!((exit, err.as_str()), (1, ""));
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(
        lines[0],
        r#"{"apiVersion":"skewguard.dev/v1alpha1","kind":"PolicyLint","file":"tests/data/lint/clean.json","errors":0,"warnings":0,"findings":[]}"#
    );
    let second: Value = serde_json::from_str(lines[1]).unwrap();
    assert_eq!(
        (&second["errors"], &second["warnings"]),
        (&json!(4), &json!(3))
    );
    let third = &second["findings"][2];
    assert_eq!(
        third.to_string(),
        r#"{"column":11,"help":"did you mean \"Enforce\"?","line":4,"message":"\"enforced\" is unknown; it acts as \"Warn\"","mistake":"UnknownValue","path":"mode","severity":"Error"}"#
    );
    assert_eq!(lines.len(), 2);
}

#[test]
fn what_is_not_json_is_shown_where_it_stops_being_so() {
    for (bytes, want) in [
        (
            &b""[..],
            "1:1 the file is not JSON: EOF while parsing a value | `oc skewguard policy init` writes a policy to start from",
        ),
        (
            b" \n\n",
            "3:1 the file is not JSON: EOF while parsing a value | `oc skewguard policy init` writes a policy to start from",
        ),
        (
            b"\xef\xbb\xbf{}",
            "1:1 the file is not JSON: expected value | save the file without byte order mark",
        ),
        (
            b"{\n  \"mode\": \"Warn\", // for now\n}",
            "2:19 the file is not JSON: key must be a string | JSON has no comments: remove them",
        ),
        (
            b"{\n  \"limits\": [ {}, ]\n}",
            "2:19 the file is not JSON: expected value | remove the comma before it",
        ),
        (
            b"{\n  \"mode\": \"Warn\",\n}",
            "3:1 the file is not JSON: key must be a string | remove the comma before it",
        ),
        (
            b"{ \"mode\": \"Warn\" ",
            "1:17 the file is not JSON: EOF while parsing an object | correct it; nothing else is checked before that",
        ),
        (
            b"{}{}",
            "1:3 the file is not JSON: trailing characters | correct it; nothing else is checked before that",
        ),
        (
            b"{\n \"mode\": \"W\xe4rn\"}",
            "2:12 the file is not UTF-8 from here on | save it as UTF-8",
        ),
        (
            b"\x00\x01\x02",
            "1:1 the file is not JSON: expected value | correct it; nothing else is checked before that",
        ),
    ] {
        let report = lint(bytes);
        let [finding] = &report.findings[..] else {
            panic!("{report:?}")
        };
        assert_eq!(
            (finding.severity, finding.mistake, report.errors),
            (Severity::Error, "InvalidJSON", 1)
        );
        let got = format!(
            "{}:{} {} | {}",
            finding.line, finding.column, finding.message, finding.help
        );
        assert_eq!(got, want, "{}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn a_file_that_cannot_be_read_does_not_hide_the_others() {
    let (exit, out, err) = run(&[
        "policy",
        "lint",
        "tests/data/lint/missing.json",
        "tests/data/lint",
        "tests/data/lint/clean.json",
    ]);
    assert_eq!(exit, 1);
    assert_eq!(out, "tests/data/lint/clean.json: no mistakes found\n");
    assert_eq!(
        err,
        "skewguard: tests/data/lint/missing.json: No such file or directory; `oc skewguard policy init` writes one\nskewguard: tests/data/lint: is a directory, not a regular file\n"
    );
}

#[test]
fn a_file_larger_than_a_node_reads_is_an_error() {
    let mut policy = base();
    policy["help"] = json!({ "text": "x".repeat(256 << 10) });
    let report = lint(policy.to_string().as_bytes());
    assert_eq!((report.errors, report.findings[0].mistake), (1, "TooLarge"));
}

#[test]
fn many_mistakes_are_counted_and_the_first_of_them_named() {
    let mut policy = base();
    policy["limits"] = vec![json!({ "release": "4.21" }); 5000].into();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("policy.json");
    std::fs::write(&file, policy.to_string()).unwrap();
    let (exit, out, _) = run(&["policy", "lint", file.to_str().unwrap()]);
    assert_eq!(exit, 1);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 202);
    assert!(
        lines[200].ends_with("policy.json: the first 100 are shown"),
        "{}",
        lines[200]
    );
    // One error for their number, one for each because it sets no rule, and one for each but the
    // first because it is never used. One warning because no limit is without release.
    assert!(
        lines[0].contains(
            "error: limits: there are 5000 limits: nodes reject a policy with more than 1000"
        ),
        "{}",
        lines[0]
    );
    assert!(
        lines[201].ends_with("policy.json: 10000 errors, 1 warning"),
        "{}",
        lines[201]
    );
}

#[test]
fn hostile_text_never_gets_through_raw() {
    let evil = "\u{1b}[2J\n\\S\u{202e}9.4.0-\u{9b}";
    let mut policy = base();
    policy[evil] = json!(1);
    policy["mode"] = json!(evil);
    policy["apiVersion"] = json!(format!("skewguard.dev/{evil}"));
    policy["help"] = json!({ "text": evil, "url": evil });
    policy["limits"] = json!([
        { "release": format!("9.4.0-{evil}"), "pools": [evil], "minimumOCPVersion": format!("9.4.0-{evil}"), "minimumRHCOSVersion": evil,
          "maximumRHCOSVersion": evil, evil: 1, "maximumReleasesBehind": evil, "rhelMajors": [evil],
          "deniedVersions": [{ "version": evil, "reason": evil }, { "version": format!("{evil}*") }, { evil: evil }, evil] },
        { "release": "4.21", "pools": [evil], "minimumRHCOSVersion": "9.2" },
        { "release": "4.21", "pools": [evil, "worker"], "minimumRHCOSVersion": "9.2" },
    ]);
    let report = lint(policy.to_string().as_bytes());
    assert!(report.findings.len() > 18, "{:#?}", report.findings);
    for finding in &report.findings {
        for text in [&finding.path, &finding.message, &finding.help] {
            assert!(
                text.bytes().all(|b| (b' '..=b'~').contains(&b)),
                "{finding:?}"
            );
        }
    }
    let (_, _, err) = run(&["policy", "lint", "no\u{1b}[2Jsuch\nfile"]);
    assert_eq!(
        err,
        "skewguard: no\\u{1b}[2Jsuch\\nfile: No such file or directory; `oc skewguard policy init` writes one\n"
    );
}

#[test]
fn depth_does_no_harm() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(lint(deep.as_bytes()).findings[0].mistake, "WrongType");
    for place in places() {
        let text = with(place, json!("@")).to_string().replace("\"@\"", &deep);
        assert!(!lint(text.as_bytes()).findings.is_empty(), "{place}");
    }
}

/// Every beginning of every version there ever was can be denied.
#[test]
fn no_beginning_of_a_real_version_is_called_impossible() {
    for version in image_versions() {
        for end in 1..=version.len() {
            let mut policy = base();
            policy["limits"][0] =
                json!({ "deniedVersions": [{ "version": format!("{}*", &version[..end]) }] });
            let report = lint(policy.to_string().as_bytes());
            // What denies all of a release does what it says.
            assert!(!report.is_misread(), "{report:#?}");
        }
    }
}

#[test]
fn a_minimum_is_held_against_the_releases_before_it() {
    for (a, release) in RELEASES.iter().enumerate() {
        for (b, minimum) in RELEASES.iter().enumerate() {
            let limit = json!({ "release": release, "minimumOCPVersion": minimum, "minimumRHCOSVersion": "9.2" });
            let report = lint(with("/limits", json!([limit])).to_string().as_bytes());
            let mut mistakes = report.findings.iter().map(|finding| finding.mistake);
            let is_above = mistakes.any(|mistake| mistake == "MinimumAboveRelease");
            assert_eq!(is_above, a < b, "{release} {minimum}: {report:?}");
        }
    }
}

fn as_json(limits: &[Limit]) -> Value {
    use crate::policy::LimitRelease::{Exact, Minor};
    let limits = limits.iter().map(|limit| {
        let mut json = json!({ "rhelMajors": [9, 10] });
        match limit.release {
            Some(Exact(release)) => json["release"] = json!(release.to_string()),
            Some(Minor(minor)) => json["release"] = json!(minor.to_string()),
            None => {}
        }
        if let Some(pools) = &limit.pools {
            json["pools"] = json!(pools);
        }
        json
    });
    with("/limits", limits.collect())
}

/// All targets that can tell two generated limits apart: those that the limits name, and one patch
/// release, minor, major and pool more.
fn all_targets() -> impl Iterator<Item = (Option<Release>, Option<&'static str>)> {
    let minor = (4u16..8).flat_map(|major| {
        [0, 1, 2, 8, 9, 10, 11, 20, 21, 22, 23, 24, 25].map(|minor| OcpMinor { major, minor })
    });
    let release =
        minor.flat_map(|minor| (0u32..4).map(move |patch| Some(Release { minor, patch })));
    release.chain([None]).flat_map(|release| {
        [
            None,
            Some("worker"),
            Some("master"),
            Some("infra"),
            Some("other"),
        ]
        .map(|pool| (release, pool))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(lint(&bytes).errors > 0);
    }

    /// Lint has a finding for everything that a node warns about, and an error for everything that
    /// it rejects.
    #[test]
    fn nothing_that_a_node_stumbles_over_is_passed(place in proptest::sample::select(places()), value in any_json()) {
        let text = with(place, value).to_string();
        let report = lint(text.as_bytes());
        prop_assert_eq!(report.findings.len(), report.errors + report.warnings);
        match parse(text.as_bytes()) {
            Ok(policy) => prop_assert!(policy.warnings.is_empty() || !report.findings.is_empty(), "{:?}", policy.warnings),
            Err(error) => prop_assert!(report.errors > 0, "{}", error),
        }
        for finding in &report.findings {
            prop_assert!(finding.line == 1 && finding.column <= text.chars().count());
            prop_assert!(!finding.message.is_empty() && !finding.help.is_empty());
        }
    }

    /// Compared with what is chosen for every target that the generated limits can tell apart.
    #[test]
    fn a_limit_that_is_never_chosen_is_found_and_no_other(limits in proptest::collection::vec(a_limit(), 1..8)) {
        let report = lint(as_json(&limits).to_string().as_bytes());
        let called: BTreeSet<usize> = report.findings.iter()
            .filter(|finding| finding.mistake == "NeverMatches" && finding.severity == Severity::Error)
            .filter_map(|finding| finding.path.strip_prefix("limits[")?.split_once(']')?.0.parse().ok())
            .collect();
        let used: BTreeSet<usize> = all_targets().filter_map(|(release, pool)| chosen(&limits, release, pool)).collect();
        let never: BTreeSet<usize> = (0..limits.len()).filter(|n| !used.contains(n)).collect();
        prop_assert_eq!(called, never);
    }
}

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

fn policy_of(limit: &Value) -> String {
    json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce", "limits": [limit] }).to_string()
}

proptest! {
    /// No image meets a minimum that the lint says is above the maximum.
    #[test]
    fn what_lint_calls_impossible_is(
        image in proptest::sample::select(image_versions()),
        minimum in prop_oneof![proptest::sample::select(image_versions()), (8u16..11, 0u16..11).prop_map(|(a, b)| format!("{a}.{b}"))],
        maximum in prop_oneof![proptest::sample::select(image_versions()), (8u16..11, 0u16..11).prop_map(|(a, b)| format!("{a}.{b}"))],
    ) {
        let limit = json!({ "minimumRHCOSVersion": minimum, "maximumRHCOSVersion": maximum });
        let report = lint(policy_of(&limit).as_bytes());
        let impossible = report.findings.iter().any(|finding| finding.mistake == "MinimumAboveMaximum");
        let meets_both = judge(&limit, &image, "4.21.3").findings.iter().all(|finding| finding.result == RuleResult::Pass);
        prop_assert!(!(impossible && meets_both), "{} {} {}", image, minimum, maximum);
    }
}
