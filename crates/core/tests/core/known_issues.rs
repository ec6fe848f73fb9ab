//! Known issues: when a node has one, and that none is wider than it was meant.

use crate::inside::core::samples::{RELEASES, base, node, with};
use crate::policy::{MAX_ISSUES, Policy, ReleaseRange, parse};
use crate::verdict::{
    Action, Facts, Fate, Finding, ISSUES_NAMED, Machine, Outcome, Reason, RuleResult, Stage,
    TargetInput, Verdict, decide,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A node on AWS with Secure Boot, under a policy with this issue.
fn facts(issue: &Value, image: &str, release: &str) -> Facts {
    let policy = json!({
        "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce",
        "limits": [{ "minimumRHCOSVersion": "8.0" }], "knownIssues": [issue],
    });
    Facts {
        platform: Some("aws".to_owned()),
        machine: Machine {
            architecture: Some("x86_64".to_owned()),
            secure_boot: Some(true),
            fips: Some(false),
            ..Machine::default()
        },
        ..node(
            image,
            release,
            parse(policy.to_string().as_bytes()).unwrap(),
        )
    }
}

fn issue(images: Value, targets: &str, when: Value) -> Value {
    json!({ "id": "Hangs", "targets": targets, "images": images, "when": when, "reason": "it hangs", "url": "https://example.com/1" })
}

/// A policy with these issues.
fn policy(issues: Value) -> Policy {
    parse(with("/knownIssues", issues).to_string().as_bytes()).unwrap()
}

fn of_issues(verdict: &Verdict) -> Vec<&Finding> {
    let findings = verdict.findings.iter();
    findings
        .filter(|finding| finding.rule == Reason::KnownIssue)
        .collect()
}

/// `Fail want OCP 4.15.0 or newer: sentence`.
fn shown(verdict: &Verdict) -> String {
    let [finding] = of_issues(verdict)[..] else {
        panic!("{:#?}", verdict.findings)
    };
    format!(
        "{} want {}: {}",
        finding.result, finding.want, finding.message
    )
}

#[test]
fn an_issue_refuses_the_nodes_that_have_it() {
    let below = || json!({ "belowOCPVersion": "4.15.0" });
    let none = "Pass want no known issue: boot image has none of the policy's 1 known issues";
    let version = "Fail want another version: boot image has known issue Hangs: it hangs";
    for (images, targets, when, image, release, want) in [
        (
            below(),
            ">=4.22.0",
            json!({}),
            "414.92.202310210434-0",
            "4.22.0",
            "Fail want OCP 4.15.0 or newer: boot image has known issue Hangs: it hangs",
        ),
        (
            below(),
            ">=4.22.0",
            json!({}),
            "415.92.202402201450-0",
            "4.22.0",
            none,
        ),
        // RHEL-versioned strings came with OCP 4.19.
        (
            below(),
            ">=4.22.0",
            json!({}),
            "9.6.20250523-0",
            "4.22.0",
            none,
        ),
        (
            json!({ "belowOCPVersion": "4.20.0" }),
            ">=4.22.0",
            json!({}),
            "9.6.20250523-0",
            "4.22.0",
            "NotEvaluated want no known issue: Hangs: the boot image's version says too little",
        ),
        (
            below(),
            ">=4.22.0",
            json!({}),
            "414.92.202310210434-0",
            "4.21.9",
            none,
        ),
        (
            below(),
            ">=4.16.0 <4.16.3",
            json!({}),
            "414.92.202310210434-0",
            "4.16.2",
            "Fail want OCP 4.15.0 or newer: boot image has known issue Hangs: it hangs",
        ),
        (
            below(),
            ">=4.16.0 <4.16.3",
            json!({}),
            "414.92.202310210434-0",
            "4.16.3",
            none,
        ),
        (
            below(),
            ">4.16.2 <=4.16.3",
            json!({}),
            "414.92.202310210434-0",
            "4.16.2",
            none,
        ),
        // 5.0 comes after 4.23.
        (
            json!({ "rhelMajors": [8] }),
            ">=4.23.0",
            json!({}),
            "412.86.202303211731-0",
            "5.0.1",
            "Fail want not RHEL 8: boot image has known issue Hangs: it hangs",
        ),
        (
            json!({ "belowRHCOSVersion": "9.4" }),
            ">=4.22.0",
            json!({}),
            "415.92.202402201450-0",
            "4.22.0",
            "Fail want RHCOS 9.4 or newer: boot image has known issue Hangs: it hangs",
        ),
        (
            json!({ "versions": [{ "version": "9.6.20250826-1" }] }),
            ">=4.22.0",
            json!({}),
            "9.6.20250826-1",
            "4.22.0",
            version,
        ),
        (
            json!({ "versions": [{ "version": "9.6.2025*" }] }),
            ">=4.22.0",
            json!({}),
            "9.6.20250826-1",
            "4.22.0",
            version,
        ),
        (
            json!({ "versions": [{ "version": "9.6.20250826-1" }] }),
            ">=4.22.0",
            json!({}),
            "9.6.20250826-2",
            "4.22.0",
            none,
        ),
        // One that applies is enough, also behind one that says too little.
        (
            json!({ "belowOCPVersion": "4.20.0", "rhelMajors": [9] }),
            ">=4.22.0",
            json!({}),
            "9.6.20250826-1",
            "4.22.0",
            "Fail want not RHEL 9: boot image has known issue Hangs: it hangs",
        ),
        (
            below(),
            ">=4.22.0",
            json!({ "platforms": ["aws", "gcp"], "architectures": ["x86_64"], "secureBoot": true }),
            "414.92.202310210434-0",
            "4.22.0",
            "Fail want OCP 4.15.0 or newer: boot image has known issue Hangs: it hangs",
        ),
        (
            below(),
            ">=4.22.0",
            json!({ "platforms": ["gcp"] }),
            "414.92.202310210434-0",
            "4.22.0",
            none,
        ),
        (
            below(),
            ">=4.22.0",
            json!({ "architectures": ["s390x"] }),
            "414.92.202310210434-0",
            "4.22.0",
            none,
        ),
        (
            below(),
            ">=4.22.0",
            json!({ "secureBoot": false }),
            "414.92.202310210434-0",
            "4.22.0",
            none,
        ),
        (
            below(),
            ">=4.22.0",
            json!({ "fips": true }),
            "414.92.202310210434-0",
            "4.22.0",
            none,
        ),
        (
            below(),
            ">=4.22.0",
            json!({ "fips": false }),
            "414.92.202310210434-0",
            "4.22.0",
            "Fail want OCP 4.15.0 or newer: boot image has known issue Hangs: it hangs",
        ),
    ] {
        let issue = issue(images, targets, when);
        let verdict = decide(&facts(&issue, image, release));
        assert_eq!(shown(&verdict), want, "{issue} {image} {release}");
        let refused = want.starts_with("Fail");
        assert_eq!(verdict.verdict == Outcome::Refused, refused, "{issue}");
        if refused {
            assert_eq!(verdict.reason, Reason::KnownIssue);
            let finding = verdict.failures().next().unwrap();
            assert_eq!(finding.issue.as_deref(), Some("Hangs"));
            assert_eq!(finding.url.as_deref(), Some("https://example.com/1"));
        }
    }
}

/// What makes an issue narrower, and is not known, must not be taken as if it held.
#[test]
fn what_is_not_known_makes_an_issue_one_that_is_not_evaluated() {
    let (image, release) = ("414.92.202310210434-0", "4.22.0");
    let good = issue(
        json!({ "belowOCPVersion": "4.15.0" }),
        ">=4.22.0",
        json!({}),
    );
    for (pointer, value) in [
        ("/when/clouds", json!(["aws"])),
        ("/when/secureBoot", json!("yes")),
        ("/when/fips", json!("true")),
        ("/when/platforms", json!("aws")),
        ("/images/belowKernel", json!("5.14")),
        ("/images/belowOCPVersion", json!(4.15)),
        (
            "/images/versions",
            json!([{ "version": "4*", "arch": "arm" }]),
        ),
        ("/targets", json!("4.22")),
        ("/targets", json!("")),
        ("/targets", json!(">=4.22")),
        ("/targets", json!([">=4.22.0"])),
        ("/images", json!({})),
        ("/images", json!(null)),
        ("/images", json!([])),
        ("/when", json!("aws")),
        ("/whne", json!({ "secureBoot": false })),
        ("/id", json!(7)),
    ] {
        let mut issue = good.clone();
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        let parent = if parent.is_empty() {
            &mut issue
        } else {
            issue.pointer_mut(parent).unwrap()
        };
        parent[field] = value;
        let verdict = decide(&facts(&issue, image, release));
        assert_eq!(verdict.verdict, Outcome::Allowed, "{issue}");
        assert_eq!(
            of_issues(&verdict)[0].result,
            RuleResult::NotEvaluated,
            "{issue}"
        );
        let warned = |warning: &String| warning.ends_with("; the known issue is not evaluated");
        assert!(
            verdict.warnings.iter().any(warned),
            "{issue} {:?}",
            verdict.warnings
        );
    }
    for (change, why) in [
        (
            (|facts| facts.platform = None) as fn(&mut Facts),
            "the platform is unknown",
        ),
        (
            |facts| facts.machine.architecture = None,
            "the architecture is unknown",
        ),
        (
            |facts| facts.machine.secure_boot = None,
            "it is unknown whether Secure Boot is on",
        ),
        (
            |facts| facts.machine.fips = None,
            "it is unknown whether the node is in FIPS mode",
        ),
        (|facts| facts.boot_image = None, "the boot image is unknown"),
        (
            |facts| facts.target = TargetInput::Absent,
            "the target release is unknown",
        ),
    ] {
        let when = json!({ "platforms": ["aws"], "architectures": ["x86_64"], "secureBoot": true, "fips": false });
        let issue = issue(json!({ "belowOCPVersion": "4.15.0" }), ">=4.22.0", when);
        let mut facts = facts(&issue, image, release);
        assert_eq!(decide(&facts).reason, Reason::KnownIssue);
        change(&mut facts);
        let verdict = decide(&facts);
        assert_eq!(
            shown(&verdict),
            format!("NotEvaluated want no known issue: Hangs: {why}")
        );
        assert_ne!(verdict.verdict, Outcome::Refused);
    }
    // Then no limit is chosen either.
    let mut facts = facts(&good, image, release);
    facts.target = TargetInput::Unreadable;
    let verdict = decide(&facts);
    assert!(of_issues(&verdict).is_empty() && verdict.reason == Reason::TargetUnknown);
}

/// What the node says of its shim and its /boot decides, whatever the image.
#[test]
fn what_the_machine_was_born_with_decides_before_the_image() {
    let old = json!({ "belowOCPVersion": "4.15.0", "belowBootFreeMiB": 150 });
    let both = json!({ "belowShim": "15.8-3", "belowBootFreeMiB": 150 });
    let boot = json!({ "belowBootFreeMiB": 150 });
    let none = "Pass want no known issue: boot image has none of the policy's 1 known issues";
    let old_image = "Fail want OCP 4.15.0 or newer: boot image has known issue Hangs: it hangs";
    let space = "Fail want 150 MiB free in /boot: boot image has known issue Hangs: it hangs";
    let unknown = "NotEvaluated want no known issue: Hangs: what was free in /boot before its first rebase is unknown";
    for (images, image, free, shim, want) in [
        (&boot, "9.6.20250523-0", Some(149), None, space),
        (&boot, "9.6.20250523-0", Some(150), None, none),
        (&boot, "9.6.20250523-0", None, None, unknown),
        (&old, "414.92.202402201450-0", Some(150), None, none),
        (&old, "414.92.202402201450-0", None, None, old_image),
        (&old, "9.6.20250523-0", None, None, none),
        (&old, "9.6.20250523-0", Some(0), None, space),
        (&both, "9.6.20250523-0", Some(150), Some("15.8-4"), none),
        (&both, "9.6.20250523-0", None, Some("15.8-4"), unknown),
    ] {
        let mut facts = facts(
            &issue(images.clone(), ">=4.22.0", json!({})),
            image,
            "4.22.0",
        );
        facts.machine.boot_free_mib = free;
        facts.machine.shim = shim.map(str::to_owned);
        assert_eq!(
            shown(&decide(&facts)),
            want,
            "{images} {image} {free:?} {shim:?}"
        );
    }
}

/// At its own bounds, which every reader of a verdict can read.
#[test]
fn a_verdict_names_so_many_issues_and_counts_the_others() {
    let long = |at: usize| {
        let mut issue = issue(
            json!({ "belowOCPVersion": "4.15.0" }),
            ">=4.22.0",
            json!({}),
        );
        issue["id"] = json!(format!("Issue{at:03}{}", "x".repeat(52)));
        issue["reason"] = json!("\"".repeat(4000));
        issue["url"] = json!(format!("https://example.com/{}", "a".repeat(2000)));
        issue
    };
    let issues: Vec<Value> = (0..200).map(long).collect();
    let policy = json!({
        "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce",
        "limits": [{ "minimumRHCOSVersion": "8.0" }], "knownIssues": issues,
    });
    let facts = node(
        "412.86.202308081056-0",
        "4.22.0",
        parse(policy.to_string().as_bytes()).unwrap(),
    );
    let verdict = decide(&facts);
    assert_eq!(verdict.reason, Reason::KnownIssue);
    let found = of_issues(&verdict);
    assert_eq!(found.len(), 33);
    assert!(found[0].issue.as_deref().unwrap().starts_with("Issue000"));
    let others = &found[32].message;
    assert!(
        others.starts_with("boot image has 168 more known issues: Issue032"),
        "{others}"
    );
    // What `status` and the report read of one.
    assert!(serde_json::to_vec_pretty(&verdict).unwrap().len() < 256 << 10);
}

fn decided(issues: &[Value]) -> Verdict {
    let policy = json!({
        "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce",
        "limits": [{ "minimumRHCOSVersion": "8.0" }], "knownIssues": issues,
    });
    let policy = parse(policy.to_string().as_bytes()).unwrap();
    decide(&node("412.86.202308081056-0", "4.22.0", policy))
}

#[test]
fn the_last_release_of_a_range_is_in_it() {
    for (targets, has) in [
        ("<=4.22.0", true),
        ("<=4.21.9", false),
        (">=4.20.0 <=4.22.1", true),
        (">4.22.0 <=4.22.1", false),
    ] {
        let verdict = decided(&[issue(
            json!({ "belowOCPVersion": "4.15.0" }),
            targets,
            json!({}),
        )]);
        let found = verdict.reason == Reason::KnownIssue;
        assert_eq!(found, has, "{targets}");
    }
}

#[test]
fn as_many_issues_as_are_named_leave_no_others() {
    let one = |at: usize| {
        let mut issue = issue(
            json!({ "belowOCPVersion": "4.15.0" }),
            ">=4.22.0",
            json!({}),
        );
        issue["id"] = json!(format!("Issue{at:03}"));
        issue
    };
    let verdict = decided(&(0..32).map(one).collect::<Vec<_>>());
    let found = of_issues(&verdict);
    assert_eq!(found.len(), 32);
    for finding in found {
        assert!(!finding.message.contains("more"), "{}", finding.message);
        assert_eq!(finding.why.as_deref(), Some("it hangs"));
    }
}

#[test]
fn issues_that_cannot_be_looked_for_are_told_by_their_cause() {
    let named = |id: &str, when: Value| {
        let mut issue = issue(json!({ "belowOCPVersion": "4.15.0" }), ">=4.22.0", when);
        issue["id"] = json!(id);
        issue
    };
    let verdict = decided(&[
        named("OnAws", json!({ "platforms": ["aws"] })),
        named("Later", json!({ "moonPhase": "full" })),
        named("OnGcp", json!({ "platforms": ["gcp"] })),
    ]);
    let found = of_issues(&verdict);
    let texts: Vec<&str> = found.iter().map(|finding| &*finding.message).collect();
    assert_eq!(found.len(), 2, "{texts:?}");
    assert!(
        texts[0].contains("OnAws") && texts[0].contains("OnGcp") && !texts[0].contains("Later"),
        "{texts:?}"
    );
    assert!(
        texts[1].contains("Later") && !texts[1].contains("On"),
        "{texts:?}"
    );
}

/// That a node has none of them says nothing of its boot image.
#[test]
fn having_no_issue_allows_nothing() {
    let issue = issue(json!({ "rhelMajors": [8] }), ">=4.22.0", json!({}));
    let mut facts = facts(&issue, "39.20231101.3.0", "4.21.0");
    let verdict = decide(&facts);
    assert_eq!(
        (verdict.verdict, verdict.reason),
        (Outcome::Undetermined, Reason::NoRuleEvaluated)
    );
    facts.boot_image = None;
    assert_eq!(decide(&facts).reason, Reason::BootImageUnknown);
}

#[test]
fn an_empty_range_has_no_release() {
    for (range, is_empty) in [
        (">=4.16.0", false),
        ("<4.16.3", false),
        ("<=0.0.0", false),
        ("<0.0.0", true),
        (">=4.16.0 <4.16.3", false),
        (">=4.16.3 <4.16.3", true),
        (">4.16.2 <4.16.3", true),
        (">4.16.2 <=4.16.3", false),
        (">=4.17.0 <4.16.0", true),
        (">=4.16.0 <4.16.3 || >=4.17.0", false),
        (">=4.17.0 || >=4.16.3 <4.16.0", true),
    ] {
        let read = ReleaseRange::parse(range).unwrap();
        assert_eq!(read.has_empty_window(), is_empty, "{range}");
    }
}

/// As ranges of npm and cargo: the windows are joined, and one that is not understood is no window.
#[test]
fn several_windows_are_one_range() {
    const RANGE: &str = ">=4.15.23 <4.15.38 || >=4.16.0 <4.16.20||>=5.0.0";
    let range = ReleaseRange::parse(RANGE).unwrap();
    for (release, is_in) in [
        ("4.15.22", false),
        ("4.15.23", true),
        ("4.15.37", true),
        ("4.15.38", false),
        ("4.16.0", true),
        ("4.16.20", false),
        ("4.23.9", false),
        ("5.1.0", true),
    ] {
        assert_eq!(range.contains(release.parse().unwrap()), is_in, "{release}");
    }
    for text in [
        "||",
        ">=4.15.0 ||",
        "|| >=4.15.0",
        ">=4.15.0 | <4.16.0",
        ">=4.15.0 || 4.16",
    ] {
        assert_eq!(ReleaseRange::parse(text), None, "{text}");
    }
    let images = json!({ "belowOCPVersion": "4.15.0" });
    for (release, has) in [("4.16.19", true), ("4.16.20", false)] {
        let issue = issue(images.clone(), RANGE, json!({}));
        let verdict = decide(&facts(&issue, "414.92.202310210434-0", release));
        assert_eq!(verdict.reason == Reason::KnownIssue, has, "{release}");
    }
}

/// Patches compare within one x.y only.
#[test]
fn a_range_holds_the_releases_between_its_ends() {
    for (a, low) in RELEASES.iter().enumerate() {
        for (b, high) in RELEASES.iter().enumerate() {
            let range = ReleaseRange::parse(&format!(">={low}.5 <{high}.3")).unwrap();
            assert_eq!(range.has_empty_window(), a >= b, "{range:?}");
            for (t, target) in RELEASES.iter().enumerate() {
                for patch in [0, 4, 9] {
                    let release = format!("{target}.{patch}");
                    assert_eq!(
                        range.contains(release.parse().unwrap()),
                        (t, patch) >= (a, 5) && (t, patch) < (b, 3),
                        "{release} in {range:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn what_is_wrong_with_an_issue_is_said_with_its_place() {
    for (issue, warning) in [
        (
            json!({ "id": 7, "reason": "r", "images": { "rhelMajors": [8] } }),
            "knownIssues[0].id is not understood (7); the known issue is not evaluated",
        ),
        (
            json!({ "id": "X", "images": { "rhelMajors": [8] } }),
            "knownIssues[0]: the required field reason is missing; the known issue is not evaluated",
        ),
        (
            json!({ "id": "X", "reason": "r" }),
            "knownIssues[0]: the required field images is missing; the known issue is not evaluated",
        ),
        (
            json!({ "id": "X", "reason": "r", "images": [ "a" , 8 ] }),
            "knownIssues[0].images is not understood ([\"a\",8]); the known issue is not evaluated",
        ),
    ] {
        assert_eq!(policy(json!([issue])).warnings, [warning], "{issue}");
    }
    // A value that spans lines is shown in one.
    let text = base()
        .to_string()
        .replace("\"knownIssues\":[]", "\"knownIssues\":{\n \"a\":\n 4.20 }");
    assert_eq!(
        parse(text.as_bytes()).unwrap().warnings,
        ["knownIssues is not understood ({\"a\":4.2}); no known issue is evaluated"]
    );
}

#[test]
fn as_many_issues_as_are_read_are_no_warning() {
    let issue = json!({ "id": "X", "reason": "r", "images": { "rhelMajors": [8] } });
    let most = policy(json!(vec![issue.clone(); MAX_ISSUES]));
    assert_eq!(
        (most.known_issues.len(), most.warnings),
        (MAX_ISSUES, vec![])
    );
    let more = policy(json!(vec![issue; MAX_ISSUES + 1]));
    assert_eq!(more.known_issues.len(), MAX_ISSUES);
    assert_eq!(
        more.warnings,
        ["there are 201 known issues; only the first 200 are evaluated"]
    );
}

proptest! {
    /// Whatever stands there, a policy of one issue reads, and says of the issue whether it is
    /// understood.
    #[test]
    fn no_value_of_an_issue_panics_or_invalidates_the_policy(
        pointer in proptest::sample::select(vec!["/id", "/targets", "/images", "/images/rhelMajors", "/images/versions", "/when", "/when/secureBoot", "/reason", "/url", "/new"]),
        value in crate::inside::core::samples::any_json(),
    ) {
        let mut issue = issue(json!({ "belowOCPVersion": "4.15.0" }), ">=4.22.0", json!({ "secureBoot": true }));
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        let parent = if parent.is_empty() { &mut issue } else { issue.pointer_mut(parent).unwrap() };
        parent[field] = value;
        let verdict = decide(&facts(&issue, "414.92.202310210434-0", "4.22.0"));
        let findings = of_issues(&verdict);
        prop_assert_eq!(findings.len(), 1);
        let not_evaluated = findings[0].result == RuleResult::NotEvaluated;
        prop_assert!(!not_evaluated || !verdict.warnings.is_empty());
    }
}

/// It goes on, and everything that speaks of it says so.
#[test]
fn an_issue_that_warns_lets_the_node_in() {
    let mut warns = issue(
        json!({ "belowOCPVersion": "4.15.0" }),
        ">=4.22.0",
        json!({}),
    );
    warns["effect"] = json!("Warn");
    let verdict = decide(&facts(&warns, "414.92.202310210434-0", "4.22.0"));
    assert_eq!(
        shown(&verdict),
        "Warn want OCP 4.15.0 or newer: boot image has known issue Hangs: it hangs"
    );
    assert_eq!(
        (verdict.verdict, verdict.action, verdict.fate()),
        (Outcome::Allowed, Action::Proceed, Fate::Warned)
    );
    assert_eq!(
        verdict.sentence(),
        "the boot image is within the policy's limits; warning: boot image has known issue Hangs: it hangs"
    );
    assert_eq!(
        verdict.impact(),
        "The node goes on to join; its boot image has known issue Hangs: it hangs."
    );
    assert_eq!(
        verdict.needed(),
        "OCP 4.15.0 or newer; this one has Hangs: it hangs"
    );
    // Where nothing of it can be judged, too.
    let undetermined = decide(&facts(
        &{
            warns["images"] = json!({ "versions": [{ "version": "4.18.*" }] });
            warns.clone()
        },
        "4.18.2026012111",
        "4.22.0",
    ));
    assert_eq!(
        (undetermined.verdict, undetermined.fate()),
        (Outcome::Undetermined, Fate::Warned)
    );
    // A node that has it no more, or was never asked.
    for stage in [Stage::Rebased, Stage::FirstBootFinished] {
        let mut past = facts(&warns, "4.18.2026012111", "4.22.0");
        past.deployment.stage = stage;
        assert_eq!(decide(&past).fate(), Fate::PastFirstBoot);
    }
    let mut on_target = facts(&warns, "4.18.2026012111", "4.22.0");
    on_target.deployment.stage = Stage::OnTarget;
    let on_target = decide(&on_target);
    assert_eq!(
        (on_target.fate(), on_target.warned().count()),
        (Fate::Free, 0)
    );
}

#[test]
fn a_warning_stands_beside_a_refusal_and_never_makes_one() {
    let of = |id: &str, effect: &str| {
        let mut issue = issue(json!({ "rhelMajors": [9] }), ">=4.22.0", json!({}));
        (issue["id"], issue["effect"]) = (json!(id), json!(effect));
        issue
    };
    let judged = |issues: Value| {
        let node = node("414.92.202310210434-0", "4.22.0", policy(issues));
        decide(&node)
    };
    let both = judged(json!([of("A", "Warn"), of("B", "Refuse")]));
    let results: Vec<String> = of_issues(&both)
        .iter()
        .map(|finding| format!("{} {}", finding.issue.as_deref().unwrap(), finding.result))
        .collect();
    assert_eq!(results, ["B Fail", "A Warn"]);
    assert_eq!((both.verdict, both.fate()), (Outcome::Refused, Fate::Held));
    assert_eq!(both.sentence(), "boot image has known issue B: it hangs");
    assert_eq!(both.charges().count(), 1);
    // However many there are.
    let many: Vec<Value> = (0..40).map(|n| of(&format!("W{n}"), "Warn")).collect();
    let many = judged(json!(many));
    assert_eq!(
        (many.verdict, many.warned().count(), many.failures().count()),
        (Outcome::Allowed, ISSUES_NAMED + 1, 0)
    );
    // With a word of a later release nobody knows what it does.
    let later = judged(json!([of("A", "Delay")]));
    assert_eq!(later.verdict, Outcome::Allowed);
    assert_eq!(of_issues(&later)[0].result, RuleResult::NotEvaluated);
    assert_eq!(
        later.warnings,
        ["knownIssues[0].effect is not understood (\"Delay\"); the known issue is not evaluated"]
    );
}

/// On IBM Z it would be secure IPL, where there is no shim.
#[test]
fn secure_boot_without_architectures_is_of_uefi() {
    let judged = |when: Value, architecture: &str| {
        let issue = issue(json!({ "belowOCPVersion": "4.16.0" }), ">=4.22.0", when);
        let mut facts = facts(&issue, "415.92.202402201450-0", "4.22.1");
        facts.machine.architecture = Some(architecture.to_owned());
        of_issues(&decide(&facts))[0].result
    };
    for (architecture, wanted) in [
        ("x86_64", RuleResult::Fail),
        ("aarch64", RuleResult::Fail),
        ("s390x", RuleResult::Pass),
        ("ppc64le", RuleResult::Pass),
    ] {
        assert_eq!(judged(json!({ "secureBoot": true }), architecture), wanted);
        let named = json!({ "secureBoot": true, "architectures": [architecture] });
        assert_eq!(judged(named, architecture), RuleResult::Fail);
    }
}
