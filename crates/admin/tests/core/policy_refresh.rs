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
skewguard: would replace OldBootImagesPodmanMissingAuthFlag: it differs in effect from the one that this version of skewguard ships
skewguard: would replace OldBootImagesComposeFSvsGrubProbe: it differs in effect from the one that this version of skewguard ships
skewguard: would replace RPMOSTreeBefore2023.5: it differs in effect from the one that this version of skewguard ships
skewguard: would remove ShimOlderThanKernelSigningKey: it is withdrawn: 4.22 updates the ESP before the rebase, and new nodes of such images joined (openshift/machine-config-operator#5868)
skewguard: would replace NoDaemonForRHEL8: it differs in targets from the one that this version of skewguard ships
skewguard: would replace VSphereOrderingCycle: it differs in effect from the one that this version of skewguard ships
skewguard: would add OneshotRestartResolvPrepender
skewguard: would add AArch64BootLoaderOfRHEL8
skewguard: would add IgnitionFailsInFIPSMode
skewguard: FILE stays as it is; --file writes a file
"
    );
    // Its limit is the author's.
    let mistakes = lint(out.as_bytes()).findings.into_iter();
    let mistakes: Vec<_> = mistakes.map(|finding| finding.mistake).collect();
    assert_eq!(mistakes, ["OldReleasesRefused"]);
    // The same as `policy init` has, and nothing else is touched.
    assert_eq!(sorted(&out), sorted(&STARTER));
    let [mut before, mut after]: [Value; 2] =
        [&stale, &out].map(|text| serde_json::from_str(text).unwrap());
    for policy in [&mut before, &mut after] {
        policy["knownIssues"] = json!([]);
    }
    assert_eq!(before, after);
    let (again, err) = refresh(&out);
    let today = "skewguard: FILE: its known issues are today's\n";
    assert_eq!((again, err.as_str()), (out, today));
}

/// Its issues, by their names.
fn sorted(policy: &str) -> Vec<Value> {
    let mut issues = issues(policy);
    issues.sort_by_key(|issue| issue["id"].to_string());
    issues
}

/// An empty list opts out; no list does not.
#[test]
fn what_a_policy_lacks_is_added() {
    let policy = |list: &str| {
        format!(
            "{{\n  \"apiVersion\": \"skewguard.dev/v1alpha1\", \"kind\": \"BootImageSkewPolicy\",\n  \
             \"mode\": \"Warn\", \"limits\": [{{ \"deniedVersions\": [] }}]{list}\n}}\n"
        )
    };
    for (list, whole) in [
        ("", &*STARTER),
        (
            ",\n  \"knownIssues\": [{ \"id\": \"AWSOldBootImagesLackAfterburn\" }]",
            &*STARTER,
        ),
        (
            ",\n  \"knownIssues\": [{ \"id\": \"FCOSNewerThanSCOS\" }]",
            &*STARTER_OKD,
        ),
    ] {
        let (out, err) = refresh(&policy(list));
        let mut has = sorted(&out);
        // One without a reason is not understood, and stays.
        has.retain(|issue| issue["reason"].is_string());
        let mut all = sorted(whole);
        all.retain(|issue| !list.contains(issue["id"].as_str().unwrap()));
        assert_eq!(has, all, "{list}");
        assert_eq!(
            err.matches("skewguard: would add ").count(),
            all.len(),
            "{err}"
        );
    }
    let (out, _) = refresh(&policy(""));
    assert!(
        out.contains("}],\n  \"knownIssues\": [\n    {\n      \"id\": \"AWSOld"),
        "{out}"
    );
    assert!(out.ends_with("\n    }\n  ]\n}\n"), "{out}");
    let opted_out = policy(", \"knownIssues\": []");
    let today = "skewguard: FILE: its known issues are today's\n";
    assert_eq!(refresh(&opted_out), (opted_out.clone(), today.to_owned()));
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
        let out = refresh(&policy(&before)).0;
        let [head, tail] = policy("|")
            .split('|')
            .map(str::to_owned)
            .collect::<Vec<_>>()
            .try_into()
            .unwrap();
        assert!(
            out.starts_with(&(head + &after)) && out.ends_with(&tail),
            "{before}: {out}"
        );
        let is_own = |issue: &&Value| issue["id"] == "Own";
        let own = issues(&out).iter().filter(is_own).count();
        assert_eq!(own, after.matches("Own").count());
        assert_eq!(issues(&out).is_empty(), before.is_empty());
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
    let (exit, out, err) = run(&["policy", "refresh", policy, "--file", policy]);
    assert_eq!((exit, out.as_str()), (0, ""));
    let says = "skewguard: removed ShimOlderThanKernelSigningKey: it is withdrawn: ";
    assert!(err.contains(says) && !err.contains("would"), "{err}");
    let written = std::fs::read_to_string(policy).unwrap();
    assert_eq!(written, refresh(&std::fs::read_to_string(STALE).unwrap()).0);
    let (exit, _, err) = run(&["policy", "refresh", other]);
    assert!(exit == 1 && err.contains("other.json"), "{err}");
}

/// Its comments would be lost, and nothing brings them back.
#[test]
fn a_policy_in_yaml_is_replaced_where_asked() {
    const YAML: &str = "# ours\napiVersion: skewguard.dev/v1alpha1\nkind: BootImageSkewPolicy\nmode: Warn\nlimits: [{deniedVersions: []}]\nknownIssues: []\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.yaml");
    std::fs::write(&path, YAML).unwrap();
    let path = path.to_str().unwrap();
    let json = path.replace("yaml", "json");
    let refresh = |more: &[&str]| {
        let (exit, out, err) = run(&[&["policy", "refresh", path], more].concat());
        (exit, out, err.replace(path, "FILE").replace(&json, "JSON"))
    };
    let refused = "skewguard: FILE: is YAML, and would become JSON without its comments: `--file JSON` keeps it, --force replaces it\n";
    assert_eq!(
        refresh(&["--file", path]),
        (1, String::new(), refused.to_owned())
    );
    assert_eq!(std::fs::read_to_string(path).unwrap(), YAML);
    let says = "skewguard: FILE: its known issues are today's\nskewguard: FILE is YAML: written is JSON, without comments\n";
    for more in [&[][..], &["--file", &json], &["--file", path, "--force"]] {
        let (exit, out, err) = refresh(more);
        assert_eq!((exit, err.as_str()), (0, says));
        let written = more
            .get(1)
            .map(|file| std::fs::read_to_string(file).unwrap());
        assert!(written.unwrap_or(out).starts_with("{\n  \"apiVersion\": "));
    }
}
