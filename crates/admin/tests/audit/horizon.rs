//! What a later release would refuse: named beside the verdict, in every form, and no alarm today.

use super::audit;
use super::real::{aws, list, machine_set};
use quick_junit::{Report, TestCaseStatus};
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;
use std::path::Path;

/// Real AMIs of us-east-2.
const OF_4_12: &str = "ami-057fe628c533932e2";
const OF_4_18: &str = "ami-0a611e6a24a551a2b";

fn cluster_version(release: &str) -> Value {
    json!({ "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": { "name": "version" },
        "status": { "desired": { "version": release }, "history": [{ "state": "Completed", "version": release }] } })
}

/// The objects of a cluster of this release, with an old set, one of 4.18, and another old one.
fn objects(dir: &Path, release: Option<&str>) -> String {
    let file = dir.join("objects.json");
    let sets = [("old", OF_4_12), ("now", OF_4_18), ("older", OF_4_12)]
        .map(|(name, ami)| machine_set(name, &aws(ami)));
    let all = release.map(cluster_version).into_iter().chain(sets);
    std::fs::write(&file, list(all)).unwrap();
    file.to_str().unwrap().to_owned()
}

/// The audit as JSON; `limits` and `issues` are of a policy, where one is named.
fn found(release: Option<&str>, policy: Option<Value>, more: &[&str]) -> (Value, Exit) {
    let dir = tempfile::tempdir().unwrap();
    let objects = objects(dir.path(), release);
    let file = dir.path().join("policy.json");
    let mut args = vec!["--from", &objects, "-o", "json"];
    if let Some(policy) = policy {
        std::fs::write(&file, policy.to_string()).unwrap();
        args.extend(["--policy", file.to_str().unwrap()]);
    }
    let (out, err, exit) = audit(&[more, &args].concat());
    let found = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
    (found, exit)
}

fn policy(limits: Value, issues: Value) -> Value {
    json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Warn", "limits": limits, "knownIssues": issues })
}

/// Verdict, and the releases that refuse it from and until, of the old set and of the other.
fn said(found: &Value) -> [String; 2] {
    let sets = found["sets"].as_array().unwrap();
    ["old", "now"].map(|name| {
        let set = sets.iter().find(|set| set["name"] == name).unwrap();
        let word = |field: &str| set[field].as_str().unwrap_or("-").to_owned();
        ["verdict", "refusedFrom", "refusedUntil"]
            .map(word)
            .join(" ")
    })
}

#[test]
fn images_of_rhel_8_are_allowed_until_the_release_that_refuses_them() {
    for (release, old, status) in [
        ("4.12.9", "Allowed 4.22 -", Exit::Done),
        ("4.16.3", "Allowed 4.22 -", Exit::Done),
        ("4.21.3", "Allowed 4.22 -", Exit::Done),
        ("4.22.0-rc.2", "Refused - -", Exit::Refused),
        ("4.22.9", "Refused - -", Exit::Refused),
        ("4.23.1", "Refused - -", Exit::Refused),
        ("5.1.0", "Refused - -", Exit::Refused),
    ] {
        let (found, exit) = found(Some(release), None, &[]);
        assert_eq!(said(&found), [old, "Allowed - -"], "{release}");
        assert_eq!(exit, status, "{release}");
        let later = found["summary"].get("refusedLater");
        assert_eq!(later.is_some(), status == Exit::Done, "{release}");
    }
    let (found, _) = found(Some("4.21.3"), None, &[]);
    assert_eq!(found["summary"]["refusedLater"], 2);
    let message = &found["sets"][0]["refusedFromMessage"];
    assert_eq!(message, "boot image is OCP 4.12; the minimum is 4.13.0");
}

#[test]
fn a_pipeline_may_fail_by_what_comes_later() {
    for (release, fail_on, status) in [
        ("4.16.3", "unknown", Exit::Done),
        ("4.16.3", "later", Exit::Refused),
        ("4.16.3", "none", Exit::Done),
        ("4.22.3", "later", Exit::Refused),
    ] {
        let args = ["--fail-on", fail_on];
        assert_eq!(
            found(Some(release), None, &args).1,
            status,
            "{release} {fail_on}"
        );
    }
    let allows = policy(json!([{ "deniedVersions": [] }]), json!([]));
    let (_, exit) = found(Some("4.16.3"), Some(allows), &["--fail-on", "later"]);
    assert_eq!(exit, Exit::Done);
}

/// A job that fails has to say by which set.
#[test]
fn what_is_new_of_later_is_shown_where_it_fails() {
    let dir = tempfile::tempdir().unwrap();
    let [then, before] = ["then.json", "before.json"].map(|name| dir.path().join(name));
    let write = |sets: &[(&str, &str)]| {
        let sets = sets.iter().map(|(name, ami)| machine_set(name, &aws(ami)));
        let all = std::iter::once(cluster_version("4.21.3")).chain(sets);
        std::fs::write(&then, list(all)).unwrap();
    };
    let from = ["--from", then.to_str().unwrap()];
    write(&[("old", OF_4_12), ("now", OF_4_18)]);
    std::fs::write(&before, audit(&[&from[..], &["-o", "json"]].concat()).0).unwrap();
    write(&[("old", OF_4_12), ("now", OF_4_12)]);
    let since = ["--since", before.to_str().unwrap(), "--fail-on"];
    let said = |fail_on: &str, form: &str| {
        let (out, err, exit) = audit(&[&from[..], &since, &[fail_on, "-o", form]].concat());
        assert_eq!(err, "", "{form}");
        (out, exit)
    };
    for form in ["text", "wide", "markdown", "html", "csv", "sarif", "junit"] {
        let (out, exit) = said("later", form);
        assert_eq!(exit, Exit::Refused, "{form}");
        assert!(
            out.contains("/now") || out.contains(",now,"),
            "{form}: {out}"
        );
    }
    let (text, _) = said("later", "text");
    assert!(
        text.starts_with("Only what later releases would refuse is new since "),
        "{text}"
    );
    let (sarif, _) = said("later", "sarif");
    let remedy = "\nwhat to change then: oc skewguard audit --from ";
    let sarif: Value = serde_json::from_str(&sarif).unwrap();
    let message = sarif["runs"][0]["results"][0]["message"]["text"]
        .as_str()
        .unwrap();
    assert!(
        message.contains(remedy) && message.ends_with(" --target 4.22"),
        "{message}"
    );
    assert!(
        text.contains("From 4.22 on 1 more of 2 sets would be refused"),
        "{text}"
    );
    let (junit, _) = said("later", "junit");
    assert!(
        junit.contains("tests=\"1\" skipped=\"0\" failures=\"1\""),
        "{junit}"
    );
    assert_eq!(said("refused", "text").1, Exit::Done);
}

/// A limit or a known issue that ends does not say "on"; one that ends with a patch is none.
#[test]
fn a_window_is_no_horizon() {
    let issue = |targets: &str| json!([{ "id": "X", "targets": targets, "images": { "rhelMajors": [8] }, "reason": "r" }]);
    let any = || json!([{ "deniedVersions": [] }]);
    let and = |limits: Value| {
        let mut all = any();
        all.as_array_mut()
            .unwrap()
            .extend(limits.as_array().unwrap().clone());
        all
    };
    let strict = |release: &str| json!({ "release": release, "rhelMajors": [9] });
    for (limits, issues, old) in [
        (any(), issue(">=4.22.0 <4.22.3"), "Allowed - -"),
        (any(), issue(">=4.22.0 <4.24.0"), "Allowed 4.22 4.24"),
        (any(), issue(">=4.22.5"), "Allowed 4.22.5 -"),
        (any(), issue(">4.22.5"), "Allowed 4.22.6 -"),
        (any(), issue(">=4.10.0 <4.16.0"), "Allowed - -"),
        (and(json!([strict("4.22.3")])), json!([]), "Allowed - -"),
        (
            and(json!([strict("4.22"), { "release": "4.23", "deniedVersions": [] }])),
            json!([]),
            "Allowed 4.22 4.23",
        ),
        (and(json!([strict("5.0")])), json!([]), "Allowed 5.0 -"),
        (
            and(json!([strict("4.10"), { "release": "4.12", "deniedVersions": [] }])),
            json!([]),
            "Allowed - -",
        ),
        // A warning refuses nothing.
        (
            any(),
            json!([{ "id": "X", "targets": ">=4.22.0", "images": { "rhelMajors": [8] }, "effect": "Warn", "reason": "r" }]),
            "Allowed - -",
        ),
    ] {
        let all = policy(limits, issues);
        let (found, exit) = found(Some("4.16.3"), Some(all.clone()), &[]);
        assert_eq!(
            (said(&found), exit),
            ([old.to_owned(), "Allowed - -".to_owned()], Exit::Done),
            "{all}"
        );
    }
}

/// All windows are told, and a set may be fine between two of them.
#[test]
fn every_window_is_told() {
    let strict = |release: &str| json!({ "release": release, "rhelMajors": [9] });
    let open = |release: &str| json!({ "release": release, "deniedVersions": [] });
    let limits = json!([{ "deniedVersions": [] }, strict("4.18"), open("4.20"), strict("5.0")]);
    let (found, _) = found(Some("4.16.3"), Some(policy(limits, json!([]))), &[]);
    assert_eq!(said(&found)[0], "Allowed 4.18 4.20");
    let set = &found["sets"][0];
    let windows = set["refusedWindows"].as_array().unwrap();
    let windows: Vec<_> = windows
        .iter()
        .map(|one| (&one["from"], &one["until"]))
        .collect();
    assert_eq!(
        windows,
        [
            (&json!("4.18"), &json!("4.20")),
            (&json!("5.0"), &Value::Null)
        ]
    );
}

/// The cluster may run that release already.
#[test]
fn an_unknown_release_is_no_all_clear() {
    let (found, exit) = found(None, None, &[]);
    assert_eq!(said(&found), ["Undetermined 4.22 -", "Allowed - -"]);
    assert_eq!(exit, Exit::Unknown);
    let set = &found["sets"][0];
    assert_eq!(set["reason"], "TargetUnknown");
    assert_eq!(set["message"], "the cluster's release is unknown");
    assert_eq!(
        set["toKnow"],
        "name the cluster's release (--target), or its ClusterVersion: what `oc get clusterversion -o json` prints (--from)"
    );
    let (found, exit) = self::found(None, None, &["--target", "4.21"]);
    assert_eq!(
        (said(&found)[0].as_str(), exit),
        ("Allowed 4.22 -", Exit::Done)
    );
}

const LINE: &str = "From 4.22 on 2 of 3 sets would be refused: oc skewguard audit --from objects.json --target 4.22";
const SAID: &str = "allowed, until 4.22: boot image is OCP 4.12; the minimum is 4.13.0";

/// The form, with a name instead of the path.
fn form(form: &str, more: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let objects = objects(dir.path(), Some("4.16.3"));
    let args = ["--from", &objects, "-o", form];
    let (out, err, exit) = audit(&[more, &args].concat());
    assert_eq!((err.as_str(), exit), ("", Exit::Done), "{form}");
    out.replace(&format!("{}/", dir.path().display()), "")
}

#[test]
fn every_form_says_until_when() {
    let text = form("text", &[]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "Ready to enforce: none of 3 sets would be refused.",
            LINE,
            "Next: oc skewguard policy init --file policy.json",
        ],
        "{text}"
    );
    let rows = "\
VERDICT  SET               BOOT IMAGE             NODES  UNTIL
allowed  MachineSet/old    412.86.202301311551-0  -/1    4.22
allowed  MachineSet/older  412.86.202301311551-0  -/1    4.22
allowed  MachineSet/now    418.94.202511191518-0  -/1
";
    assert!(text.contains(rows), "{text}");
    let wide = form("wide", &[]);
    assert_eq!(
        wide.matches(&format!("\n  later    {SAID}\n")).count(),
        2,
        "{wide}"
    );
    let markdown = form("markdown", &[]);
    let (begin, command) = LINE.split_once(": ").unwrap();
    assert!(
        markdown.contains(&format!("\n{begin}: `{command}`\n")),
        "{markdown}"
    );
    assert_eq!(
        markdown.matches(&format!("; {SAID} |\n")).count(),
        2,
        "{markdown}"
    );
    let html = form("html", &[]);
    assert!(
        html.contains(&format!("<p>{begin}: <code>{command}</code></p>")),
        "{html}"
    );
    assert_eq!(html.matches(&format!("<p>{SAID}</p>")).count(), 2);
    let csv = form("csv", &[]);
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    assert_eq!(
        reader.headers().unwrap().iter().nth_back(1),
        Some("refusedFrom")
    );
    let last = reader
        .records()
        .map(|row| row.unwrap().iter().nth_back(1).unwrap().to_owned());
    assert_eq!(last.collect::<Vec<_>>(), ["4.22", "4.22", ""]);
}

#[test]
fn junit_and_sarif_say_it_and_fail_nothing() {
    let report = Report::deserialize_from_str(&form("junit", &[])).unwrap();
    let suite = &report.test_suites[0];
    assert_eq!((suite.tests, suite.failures, suite.errors), (3, 0, 0));
    let said: Vec<Option<&str>> = suite
        .test_cases
        .iter()
        .map(|case| {
            assert!(matches!(case.status, TestCaseStatus::Success { .. }));
            case.system_out.as_ref().map(|out| out.as_str())
        })
        .collect();
    assert_eq!(said, [Some(SAID), Some(SAID), None]);
    let out = suite.system_out.as_ref().unwrap().as_str();
    assert_eq!(out.lines().nth(1), Some(LINE));

    // Status and tests say the same.
    let dir = tempfile::tempdir().unwrap();
    let from = objects(dir.path(), Some("4.16.3"));
    let (out, _, exit) = audit(&["--from", &from, "-o", "junit", "--fail-on", "later"]);
    let report = Report::deserialize_from_str(&out).unwrap();
    let suite = &report.test_suites[0];
    assert_eq!((suite.failures, suite.errors, exit), (2, 0, Exit::Refused));
    // The failure says what prints the remedy.
    let command = format!("oc skewguard audit --from {from} --target 4.22");
    let wanted = format!("{SAID}\nWhat to change: {command}");
    for case in suite.test_cases.iter().take(2) {
        let TestCaseStatus::NonSuccess { description, .. } = &case.status else {
            panic!("{case:?}");
        };
        assert_eq!(description.as_ref().unwrap().as_str(), wanted);
    }
    let (out, ..) = audit(&["--from", &from, "--target", "4.22"]);
    assert!(out.contains("\nWhat to change:\n"), "{out}");

    let log: Value = serde_json::from_str(&form("sarif", &[])).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    for (result, name) in results.iter().zip(["old", "older"]) {
        let title = format!("openshift-machine-api MachineSet/{name}");
        assert_eq!(result["ruleId"], "RefusedLater");
        assert_eq!(result["level"], "note");
        let text = result["message"]["text"].as_str().unwrap();
        assert!(
            text.starts_with(&format!("{title}: version: 412.86")),
            "{text}"
        );
        assert!(text.contains(&format!("\n{SAID}")), "{text}");
    }
}

/// The command asks about the release and leaves out the one that was asked about; an exception is
/// as good later as now.
#[test]
fn the_second_line_is_about_what_counts() {
    let asked = form("text", &["--target", "4.18.3"]);
    assert_eq!(asked.lines().nth(1), Some(LINE), "{asked}");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("exceptions.yaml");
    let except = |set: &str| format!("- set: {set}\n  reason: r\n  until: 2099-12-31\n");
    std::fs::write(&file, format!("exceptions:\n{}", except("old"))).unwrap();
    let file_name = file.to_str().unwrap();
    let one = form("text", &["--exceptions", file_name]);
    assert!(
        one.lines()
            .nth(1)
            .unwrap()
            .starts_with("From 4.22 on 1 of 3 sets would be refused: "),
        "{one}"
    );
    std::fs::write(
        &file,
        format!("exceptions:\n{}{}", except("old"), except("older")),
    )
    .unwrap();
    let none = form("text", &["--exceptions", file_name, "--fail-on", "later"]);
    assert!(!none.contains("From 4.22 on"), "{none}");
}

/// Each release with what it refuses; beside what is refused already.
#[test]
fn several_releases_are_named_in_order() {
    let line = |limits: Value| {
        let dir = tempfile::tempdir().unwrap();
        let objects = objects(dir.path(), Some("4.16.3"));
        let file = dir.path().join("policy.json");
        std::fs::write(&file, policy(limits, json!([])).to_string()).unwrap();
        let (out, _, _) = audit(&["--policy", file.to_str().unwrap(), "--from", &objects]);
        let line = out.lines().nth(1).unwrap().to_owned();
        line.split_once(": oc").unwrap().0.to_owned()
    };
    let deny = |beginning: &str| json!([{ "version": beginning }]);
    let any = json!({ "deniedVersions": [] });
    assert_eq!(
        line(
            json!([any, { "release": "4.22", "deniedVersions": deny("418.*") }, { "release": "5.0", "minimumRHCOSVersion": "9.6" }])
        ),
        "From 4.22 on 1 of 3 sets would be refused, from 5.0 on 3"
    );
    assert_eq!(
        line(
            json!([{ "deniedVersions": deny("412.*") }, { "release": "4.20", "minimumRHCOSVersion": "9.6" }])
        ),
        "From 4.20 on 1 more of 3 sets would be refused"
    );
    assert_eq!(
        line(
            json!([any, { "release": "4.20", "minimumRHCOSVersion": "9.2" }, { "release": "4.21", "deniedVersions": [] }])
        ),
        "In 4.20 2 of 3 sets would be refused"
    );
}

/// What an earlier audit said already is no news, and fails nothing.
#[test]
fn only_a_new_horizon_counts_beside_an_earlier_audit() {
    let dir = tempfile::tempdir().unwrap();
    let objects = objects(dir.path(), Some("4.16.3"));
    let before = dir.path().join("before.json");
    let run = |limits: Value, more: &[&str]| {
        let file = dir.path().join("policy.json");
        std::fs::write(&file, policy(limits, json!([])).to_string()).unwrap();
        let args = ["--policy", file.to_str().unwrap(), "--from", &objects];
        let (out, err, exit) = audit(&[more, &args].concat());
        assert_eq!(err, "");
        (out, exit)
    };
    let strict = || json!([{ "deniedVersions": [] }, { "release": "4.22", "rhelMajors": [9] }]);
    let since = ["--fail-on", "later", "--since", before.to_str().unwrap()];
    std::fs::write(
        &before,
        run(json!([{ "deniedVersions": [] }]), &["-o", "json"]).0,
    )
    .unwrap();
    let (out, exit) = run(strict(), &since);
    assert!(
        out.contains("\nFrom 4.22 on 2 of 3 sets would be refused: "),
        "{out}"
    );
    assert_eq!(exit, Exit::Refused);
    std::fs::write(&before, run(strict(), &["-o", "json"]).0).unwrap();
    let (out, exit) = run(strict(), &since);
    assert!(!out.contains("From 4.22 on"), "{out}");
    assert_eq!(exit, Exit::Done);
}

/// A set of several rows counts once.
#[test]
fn sets_count_and_not_their_rows() {
    let (out, _, _) = audit(&["--from", "tests/data/audit/vsphere.json"]);
    let line = out
        .lines()
        .find(|line| line.starts_with("From 4.22 on"))
        .unwrap();
    assert!(
        line.starts_with("From 4.22 on 2 of 4 sets would be refused: "),
        "{line}"
    );
}

/// The limits of a cluster that is newer than what is known are those of an older release.
#[test]
fn a_cluster_newer_than_what_is_known_is_warned_of() {
    let warnings = |release: &str| {
        let set = super::real::machine_set("w", &super::real::aws("ami-0bc8dda494f111572"));
        let version = json!({ "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
            "metadata": { "name": "version" }, "status": { "desired": { "version": release } } });
        let (found, _) = super::real::audited([set, version], &[]);
        found["warnings"].to_string()
    };
    let says = "5.1.0: this version of skewguard knows no release after 5.0; the policy's nearest lower limit is used";
    assert!(warnings("5.1.0").contains(says), "{}", warnings("5.1.0"));
    assert!(!warnings("5.0.3").contains("knows no release"));
    assert!(!warnings("4.23.1").contains("knows no release"));
}
