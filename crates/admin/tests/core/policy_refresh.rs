//! `policy refresh`: today's known issues in a policy that was written another day.

use crate::inside::core::run;
use crate::lint::lint;
use crate::lint::starter::{STARTER, STARTER_OKD};
use serde_json::{Value, json};

const STALE: &str = "tests/data/cases/issue-of-another-window/stale.json";

/// What it writes for this policy, and what it says.
fn refresh(policy: &str) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.json");
    std::fs::write(&path, policy).unwrap();
    let path = path.to_str().unwrap();
    let (exit, out, err) = run(&["policy", "refresh", path]);
    assert_eq!(exit, 0, "{err}");
    (out, err.replace(path, "FILE"))
}

fn issues(policy: &str) -> Vec<Value> {
    let policy: Value = serde_json::from_str(policy).unwrap();
    policy["knownIssues"].as_array().unwrap().clone()
}

/// Those of a list by their mistakes: what differs from today's.
fn differences(policy: &str) -> usize {
    let findings = lint(policy.as_bytes()).findings;
    let names = ["KnownIssueDiffers", "KnownIssueWithdrawn"];
    let differs = findings
        .iter()
        .filter(|finding| names.contains(&finding.mistake));
    differs.count()
}

#[test]
fn todays_entries_take_the_place_of_those_that_differ() {
    let stale = std::fs::read_to_string(STALE).unwrap();
    assert!(differences(&stale) > 0);
    let (out, err) = refresh(&stale);
    assert_eq!(
        err,
        "\
skewguard: replaced OldBootImagesComposeFSvsGrubProbe: it differs in effect from the one that this version of skewguard ships
skewguard: replaced RPMOSTreeBefore2023.5: it differs in effect from the one that this version of skewguard ships
skewguard: removed ShimOlderThanKernelSigningKey: it is withdrawn: 4.22 updates the ESP before the rebase, and new nodes of such images joined (openshift/machine-config-operator#5868)
skewguard: replaced NoDaemonForRHEL8: it differs in targets from the one that this version of skewguard ships
skewguard: replaced VSphereOrderingCycle: it differs in effect from the one that this version of skewguard ships
skewguard: FILE: the policy lacks known issues that this version of skewguard ships: IgnitionFailsInFIPSMode; add them from `oc skewguard policy known-issues`; \"knownIssues\": [] opts out
"
    );
    // Its limit is the author's.
    let mistakes = lint(out.as_bytes()).findings.into_iter();
    let mistakes: Vec<_> = mistakes.map(|finding| finding.mistake).collect();
    // An issue that it had not is not added: its author may have left it out.
    assert_eq!(mistakes, ["OldReleasesRefused", "KnownIssueMissing"]);
    // The same as `policy init` has, and nothing else is touched.
    let mut of_init: Vec<Value> = issues(&STARTER);
    of_init.retain(|issue| issue["id"] != "IgnitionFailsInFIPSMode");
    assert_eq!(issues(&out), of_init);
    let [mut before, mut after]: [Value; 2] =
        [&stale, &out].map(|text| serde_json::from_str(text).unwrap());
    for policy in [&mut before, &mut after] {
        policy["knownIssues"] = json!([]);
    }
    assert_eq!(before, after);
    let (again, err) = refresh(&out);
    assert_eq!(
        (again, err.as_str()),
        (
            out,
            "skewguard: FILE: its known issues are today's\nskewguard: FILE: the policy lacks known issues that this version of skewguard ships: IgnitionFailsInFIPSMode; add them from `oc skewguard policy known-issues`; \"knownIssues\": [] opts out\n"
        )
    );
}

#[test]
fn what_is_the_authors_own_stays() {
    let own = r#"{ "id": "Own", "images": { "rhelMajors": [8] },   "reason": "it hangs" }"#;
    let shim = r#"{ "id": "ShimOlderThanKernelSigningKey", "targets": ">=4.22.0", "images": { "belowOCPVersion": "4.16.0" }, "reason": "r" }"#;
    let policy = |list: &str| {
        format!(
            "{{\"apiVersion\": \"skewguard.dev/v1alpha1\", \"kind\": \"BootImageSkewPolicy\",\n\
             \"mode\":   \"Enforce\", \"x-own\": 4.20, \"limits\": [],\n \"knownIssues\": [{list}]}}\n"
        )
    };
    for (before, after) in [
        (own.to_owned(), own.to_owned()),
        (shim.to_owned(), String::new()),
        (format!("{shim}, {own}"), own.to_owned()),
        (format!("{own},\n  {shim}"), own.to_owned()),
        (format!("{own}, {shim} , {own}"), format!("{own} , {own}")),
        (format!("{shim},{shim}"), String::new()),
        (String::new(), String::new()),
    ] {
        assert_eq!(refresh(&policy(&before)).0, policy(&after), "{before}");
    }
    for starter in [&*STARTER, &*STARTER_OKD] {
        assert_eq!(refresh(starter).0, *starter);
    }
}

#[test]
fn it_writes_the_policy_itself_and_no_other_file_that_exists() {
    let folder = tempfile::tempdir().unwrap();
    let [policy, other] = ["policy.json", "other.json"].map(|name| folder.path().join(name));
    std::fs::copy(STALE, &policy).unwrap();
    std::fs::write(&other, "mine").unwrap();
    let [policy, other] = [&policy, &other].map(|path| path.to_str().unwrap());
    let (exit, out, err) = run(&["policy", "refresh", policy, "--file", other]);
    assert_eq!((exit, out.as_str()), (1, ""));
    assert!(err.contains("exists already; --force replaces it"), "{err}");
    let (exit, out, _) = run(&["policy", "refresh", policy, "--file", policy]);
    assert_eq!((exit, out.as_str()), (0, ""));
    let written = std::fs::read_to_string(policy).unwrap();
    assert_eq!(written, refresh(&std::fs::read_to_string(STALE).unwrap()).0);
    let (exit, _, err) = run(&["policy", "refresh", other]);
    assert!(exit == 1 && err.contains("other.json"), "{err}");
}
