//! `--since`: rows of one set are told apart, and compared each with its own; an audit of another cluster is
//! no baseline.

use super::audit;
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;
use std::collections::BTreeSet;

const DOMAINS: &str = "tests/data/cases/since-two-domains";
const POLICY: [&str; 2] = ["--policy", "tests/data/cases/policy.json"];

fn from(file: &str, more: &[&str]) -> (String, String, Exit) {
    audit(
        &[
            &POLICY,
            &["--from", &format!("{DOMAINS}/{file}.json")][..],
            more,
        ]
        .concat(),
    )
}

/// The file with an audit of these objects.
fn baseline(dir: &tempfile::TempDir, objects: &str) -> String {
    let args = [&POLICY[..], &["--from", objects, "-o", "json"]].concat();
    let (json, err, _) = audit(&args);
    let json = json.replace("\"TIME\"", "\"2026-11-26T20:45:15Z\"");
    let path = dir.path().join("baseline.json");
    std::fs::write(&path, json).unwrap_or_else(|_| panic!("{err}"));
    path.to_str().unwrap().to_owned()
}

/// The changes since an audit of one file, in another: row, verdict then, verdict now.
fn changes(before: &str, after: &str) -> (Vec<(String, Value, String)>, Exit) {
    let dir = tempfile::tempdir().unwrap();
    let old = baseline(&dir, &format!("{DOMAINS}/{before}.json"));
    since(&old, after)
}

fn since(old: &str, after: &str) -> (Vec<(String, Value, String)>, Exit) {
    let (json, err, exit) = from(after, &["--since", old, "-o", "json"]);
    let found: Value = serde_json::from_str(&json).unwrap_or_else(|_| panic!("{err}"));
    let changes = found["since"]["changes"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let change = |change: &Value| {
        (
            text(change.get("rowName").unwrap_or(&change["name"])),
            change["was"].clone(),
            text(&change["is"]),
        )
    };
    (changes.iter().map(change).collect(), exit)
}

/// Rows of one set are counted by themselves, and once with their set, as the conclusion counts.
#[test]
fn the_summary_counts_rows_and_sets() {
    let from = "tests/data/cases/since-two-domains/after.json";
    let (out, ..) = audit(&["--from", from, "-o", "json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        found["summary"],
        json!({ "sets": 5, "wouldBeRefused": 0, "wouldBeAllowed": 4, "undetermined": 1, "refusedLater": 3,
            "wholeSets": { "sets": 4, "wouldBeRefused": 0, "wouldBeAllowed": 3, "undetermined": 1, "refusedLater": 2 } })
    );
    let (text, ..) = audit(&["--from", from]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for says in [
        "none of 4 sets would be refused, 1 is not known",
        "2 of 4 sets would be refused",
    ] {
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn a_failure_domain_that_becomes_refused_is_news() {
    let refused = |row: &str| (row.to_owned(), json!("allowed"), "refused".to_owned());
    for (before, after) in [("before", "after"), ("before-active", "after-active")] {
        let (changes, exit) = changes(before, after);
        assert_eq!(exit, Exit::Refused);
        assert_eq!(changes.len(), 1, "{changes:?}");
        assert_eq!(changes[0].2, "refused");
    }
    assert_eq!(changes("before", "after").0, [refused("cluster[fd-1]")]);
    let dir = tempfile::tempdir().unwrap();
    let old = baseline(&dir, &format!("{DOMAINS}/before.json"));
    let (text, _, exit) = from("after", &["--since", &old]);
    assert_eq!(exit, Exit::Refused);
    assert!(
        text.starts_with("1 set is new or worse since 2026-11-26T20:45:15Z: 1 would be refused."),
        "{text}"
    );
    assert!(
        text.contains("REFUSED  ControlPlaneMachineSet/cluster[fd-1]"),
        "{text}"
    );
    assert!(!text.contains("cluster[fd-2]"), "{text}");
}

/// Both domains name the refused template now: one row, whose other domain was refused before.
#[test]
fn domains_that_come_together_keep_their_verdicts() {
    let dir = tempfile::tempdir().unwrap();
    let old = baseline(&dir, &format!("{DOMAINS}/before-active.json"));
    let (json, _, exit) = from("after-active", &["--since", &old, "-o", "json"]);
    let found: Value = serde_json::from_str(&json).unwrap();
    let since = &found["since"];
    assert_eq!((&since["gone"], exit), (&json!(0), Exit::Refused));
    assert_eq!(
        since["changes"],
        json!([{ "kind": "ControlPlaneMachineSet", "namespace": "openshift-machine-api", "name": "cluster", "was": "allowed", "is": "refused" }])
    );
    // The way back: nothing is new.
    let old = baseline(&dir, &format!("{DOMAINS}/after-active.json"));
    let (text, _, exit) = from("before-active", &["--since", &old]);
    assert_eq!(exit, Exit::Done, "{text}");
    assert!(text.starts_with("Nothing is new or worse since "), "{text}");
}

#[test]
fn without_news_what_is_left_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let old = baseline(&dir, &format!("{DOMAINS}/before.json"));
    let (text, err, exit) = from("before", &["--since", &old]);
    assert_eq!((err.as_str(), exit), ("", Exit::Done));
    assert!(!text.contains("VERDICT"), "no set, no table: {text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let first = "Nothing is new or worse since 2026-11-26T20:45:15Z; 2 of 4 sets are refused, 1 not known, as before.";
    assert!(text.starts_with(first), "{text}");
}

#[test]
fn an_audit_of_another_cluster_is_no_baseline() {
    let dir = tempfile::tempdir().unwrap();
    let of = |name: &str| format!("tests/data/cases/since-another-cluster/{name}.json");
    let old = baseline(&dir, &of("a"));
    let args = |name: &str| {
        let args = ["--from", &of(name), "--since", &old];
        audit(&[&POLICY[..], &args].concat())
    };
    let (out, err, exit) = args("d");
    assert_eq!((out.as_str(), exit), ("", Exit::Failed));
    assert_eq!(
        err,
        "skewguard: --since: it is an audit of another cluster, clusterID 11111111-1111-4111-8111-111111111111; \
         this one is 44444444-4444-4444-8444-444444444444\n"
    );
    assert_ne!(args("a").2, Exit::Failed);
}

/// The first column of each row, by the form's own reader.
#[test]
fn each_row_has_a_name_of_its_own_in_every_form() {
    let of = |form: &str| from("before", &["-o", form]).0;
    let json: Value = serde_json::from_str(&of("json")).unwrap();
    let sets = json["sets"].as_array().unwrap();
    let name = |set: &Value| {
        let own = set["rowName"].as_str().or(set["name"].as_str());
        format!("{}/{}", set["kind"].as_str().unwrap(), own.unwrap())
    };
    let names: BTreeSet<String> = sets.iter().map(name).collect();
    assert_eq!(names.len(), sets.len());
    for row in [
        "ControlPlaneMachineSet/cluster[fd-1]",
        "ControlPlaneMachineSet/cluster[fd-2]",
    ] {
        assert!(names.contains(row), "{names:?}");
    }
    let csv = of("csv");
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let column = reader
        .headers()
        .unwrap()
        .iter()
        .position(|name| name == "rowName")
        .unwrap();
    let rows: BTreeSet<String> = reader
        .records()
        .map(|row| row.unwrap()[column].to_owned())
        .collect();
    assert_eq!(rows.len(), sets.len(), "{csv}");
    let junit = quick_junit::Report::deserialize_from_str(&of("junit")).unwrap();
    let cases: BTreeSet<&str> = (junit.test_suites[0].test_cases.iter())
        .map(|case| case.name.as_str())
        .collect();
    assert_eq!(cases.len(), sets.len());
    let sarif: Value = serde_json::from_str(&of("sarif")).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let prints: BTreeSet<&str> = (results.iter())
        .map(|result| {
            result["partialFingerprints"]["skewguardSet/v1"]
                .as_str()
                .unwrap()
        })
        .collect();
    assert_eq!(prints.len(), results.len());
    for form in ["text", "wide", "html", "markdown"] {
        let text = of(form);
        assert!(text.contains("cluster[fd-2]"), "{form}: {text}");
    }
    // A row is chosen by its name, and a set by its own.
    for (name, rows) in [("cluster[fd-2]", 1), ("cluster", 2)] {
        let before = format!("{DOMAINS}/before.json");
        let (json, _, _) = audit(&[&POLICY[..], &[name, "-o", "json", "--from", &before]].concat());
        assert_eq!(json.matches("\"rowName\"").count(), rows, "{name}");
    }
}

#[test]
fn a_conclusion_counts_sets_and_a_row_says_that_it_is_inactive() {
    let (text, _, _) = from("after", &[]);
    assert!(
        text.starts_with("Not ready to enforce: 2 of 4 sets would be refused, 1 is not known.\n"),
        "{text}"
    );
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let says = "ControlPlaneMachineSet/cluster[fd-2] 412.86.202301311551-0 0/3, Inactive";
    assert!(plain.contains(says), "{text}");
    let (text, _, _) = from("after-active", &[]);
    assert!(!text.contains("Inactive"), "{text}");
}

/// Neither audit says of which cluster it is.
#[test]
fn a_baseline_without_a_common_set_is_warned_of() {
    let set = |name: &str| {
        let provider = super::real::aws("ami-0bc8dda494f111572");
        super::real::list([super::real::machine_set(name, &provider)])
    };
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    for name in ["one", "other"] {
        std::fs::write(path(name), set(name)).unwrap();
    }
    let (base, ..) = audit(&["--from", &path("one"), "-o", "json"]);
    std::fs::write(path("base"), base).unwrap();
    let says = "skewguard: warning: --since: none of its sets is here: it may be an audit of another cluster\n";
    for (name, wanted) in [("one", ""), ("other", says)] {
        let (_, err, _) = audit(&["--from", &path(name), "--since", &path("base")]);
        assert_eq!(err, wanted, "{name}");
    }
}

/// A file of exceptions for other clusters alone does nothing here.
#[test]
fn exceptions_for_other_clusters_alone_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("exceptions.yaml");
    let entry = |cluster: &str| format!("- set: x\n  reason: y\n  until: 2999-01-01\n{cluster}");
    let said = |entries: &[&str]| {
        let entries: String = entries.iter().map(|cluster| entry(cluster)).collect();
        std::fs::write(&path, format!("exceptions:\n{entries}")).unwrap();
        let from = "tests/data/cases/since-two-domains/after.json";
        audit(&["--from", from, "--exceptions", path.to_str().unwrap()]).1
    };
    let (other, own) = ("  cluster: prod-eu\n", "  cluster: c1-x7k2p\n");
    let says = "skewguard: warning: --exceptions: there is no cluster prod-eu among these\n";
    assert_eq!(said(&[other]), says);
    for entries in [&[own][..], &[""], &[other, own], &[other, ""]] {
        assert_eq!(said(entries), "", "{entries:?}");
    }
}
