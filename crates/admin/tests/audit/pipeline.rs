//! What a pipeline asks: forms for its reports, what is new since, exceptions, and the fixes as a
//! script.

use super::{POLICY, audit, audit_text, fixture, run};
use quick_junit::{NonSuccessKind, Report, TestCaseStatus};
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;
use std::path::{Path, PathBuf};
use std::process::Command;

const AWS: &str = "tests/data/audit/aws.json";

/// What no form may take for its own: a formula, a cell, a link, an element, a mention, an escape.
const HOSTILE: &str = "=cmd|' /C calc'!A0\"'><script>[x](http://y.z)![i](j)</td>@team #1 `c` \u{1b}[31m\u{0}\u{ffff}]]>";

fn form(form: &str, more: &[&str]) -> (String, Exit) {
    let (out, err, exit) =
        audit(&[&["--policy", POLICY, "-o", form], more, &["--from", AWS]].concat());
    assert_eq!(err, "");
    (out, exit)
}

/// The fixture, with hostile text before and behind everything that objects say.
fn hostile() -> String {
    fn poison(value: &mut Value) {
        match value {
            Value::Object(fields) => fields
                .iter_mut()
                .filter(|(name, _)| !["kind", "apiVersion", "replicas"].contains(&name.as_str()))
                .for_each(|(_, value)| poison(value)),
            Value::Array(items) => items.iter_mut().for_each(poison),
            Value::String(text) => *text = format!("{HOSTILE}{text}{HOSTILE}"),
            _ => {}
        }
    }
    let mut whole: Value = serde_json::from_str(&fixture("aws.json")).unwrap();
    poison(&mut whole["items"]);
    whole.to_string()
}

#[test]
fn junit_has_a_test_for_each_set() {
    let (xml, exit) = form("junit", &[]);
    assert_eq!(exit, Exit::Refused);
    let report = Report::deserialize_from_str(&xml).unwrap();
    let suite = &report.test_suites[0];
    assert_eq!((suite.tests, suite.failures, suite.errors), (7, 1, 3));
    let refused = &suite.test_cases[0];
    assert_eq!(
        refused.name.as_str(),
        "openshift-machine-api MachineSet/c1-old"
    );
    let TestCaseStatus::NonSuccess {
        kind, message, ty, ..
    } = &refused.status
    else {
        panic!("{refused:?}");
    };
    assert_eq!(
        (
            *kind,
            ty.as_ref().unwrap().as_str(),
            message.as_ref().unwrap().as_str()
        ),
        (
            NonSuccessKind::Failure,
            "BelowMinimumOCPVersion",
            "boot image is OCP 4.12; the minimum is 4.13.0"
        )
    );
    assert!(
        xml.contains("Not ready to enforce: 1 of 7 sets would be refused"),
        "{xml}"
    );
}

#[test]
fn a_set_that_may_be_missing_is_an_error_in_junit() {
    let (out, err, exit) = audit(&[
        "--policy",
        POLICY,
        "-o",
        "junit",
        "--from",
        AWS,
        "/nowhere.json",
    ]);
    assert_eq!((err.as_str(), exit), ("", Exit::Refused));
    let report = Report::deserialize_from_str(&out).unwrap();
    let suite = &report.test_suites[0];
    assert_eq!((suite.tests, suite.errors), (8, 4));
    assert_eq!(suite.test_cases[0].name.as_str(), "/nowhere.json");
}

#[test]
fn no_name_breaks_out_of_junit() {
    let (xml, err, _) = audit_text(&hostile(), &["-o", "junit"]);
    assert_eq!(err, "");
    let report = Report::deserialize_from_str(&xml).unwrap();
    assert!(report.test_suites[0].tests > 5, "{xml}");
    let bad = |c: char| c.is_control() && c != '\n' || c == '\u{ffff}';
    assert!(!xml.contains(bad) && !xml.contains("<script>"), "{xml}");
}

#[test]
fn csv_has_a_row_for_each_set_and_no_formula() {
    let (text, exit) = form("csv", &[]);
    assert_eq!(exit, Exit::Refused);
    let rows: Vec<csv::StringRecord> = csv::Reader::from_reader(text.as_bytes())
        .records()
        .map(Result::unwrap)
        .collect();
    assert_eq!(rows.len(), 7);
    assert_eq!(
        rows[0].iter().take(4).collect::<Vec<_>>(),
        ["refused", "MachineSet", "openshift-machine-api", "c1-old"]
    );
    let (text, err, _) = audit_text(&hostile(), &["-o", "csv"]);
    assert!(
        err.starts_with("skewguard: not read: Machine ") && err.lines().count() == 1,
        "{err}"
    );
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let columns = reader.headers().unwrap().len();
    let mut neutral = 0;
    for row in reader.records() {
        let row = row.unwrap();
        assert_eq!(row.len(), columns);
        for cell in &row {
            assert!(
                !cell.starts_with(['=', '+', '-', '@', '\t', '\r']),
                "{cell}"
            );
            neutral += usize::from(cell.starts_with("'=cmd"));
        }
    }
    assert!(neutral > 5, "{text}");
}

#[test]
fn markdown_says_the_conclusion_and_what_is_not_allowed() {
    let (text, exit) = form("markdown", &[]);
    assert_eq!(exit, Exit::Refused);
    let begin = "## Boot images\n\n**Not ready to enforce: 1 of 7 sets would be refused, 2 are not known, 1 is not decided by the policy.**\n\nNext: `oc skewguard audit --policy tests/data/audit/policy.json --from tests/data/audit/aws.json --print-commands fix`\n";
    assert!(text.starts_with(begin), "{text}");
    let row = "| refused | `openshift-machine-api MachineSet/c1-old` | `412.86.202301311551-0` | 2 of 3 | boot image is OCP 4.12; the minimum is 4.13.0 |\n";
    assert!(text.contains(row), "{text}");
    assert!(text.contains("\n3 sets are allowed.\n"), "{text}");
}

#[test]
fn no_name_becomes_markdown() {
    let (text, err, _) = audit_text(&hostile(), &["-o", "markdown"]);
    assert_eq!(err, "");
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        // A `|` that ends a cell has no backslash before it.
        let cells = line.replace("\\|", "").matches('|').count();
        assert_eq!(cells, 6, "{line}");
    }
    // What is outside of code, which nothing in it can end.
    for line in text.lines() {
        let plain = without_code(line).replace("\\[", "").replace("\\]", "");
        for bad in ["<script", "](http", "@team", "![i]", " #1", "http://"] {
            assert!(!plain.contains(bad), "{bad}: {plain}\n{line}");
        }
    }
}

/// A line of Markdown without its code spans: runs of backticks of one length.
fn without_code(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        let (before, behind) = rest.split_at(at);
        out += before;
        let fence = behind.len() - behind.trim_start_matches('`').len();
        let is_escaped = before.ends_with('\\');
        let inner = &behind[fence..];
        let close = (!is_escaped).then(|| close_of(inner, fence)).flatten();
        rest = close.map_or(inner, |end| &inner[end..]);
    }
    out + rest
}

fn close_of(text: &str, fence: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let begin = at + found;
        let run = text[begin..].len() - text[begin..].trim_start_matches('`').len();
        at = begin + run;
        if run == fence {
            return Some(at);
        }
    }
    None
}

struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// An audit with these arguments, as of a day.
    fn baseline(&self, more: &[&str]) -> String {
        let json = form("json", more).0;
        let day = "\"2026-01-02T03:04:05Z\"";
        self.write("old.json", &json.replace("\"TIME\"", day))
    }

    fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name).to_str().unwrap().to_owned()
    }
}

/// Yesterday's audit and today's.
#[test]
fn only_what_is_new_or_worse_counts_since_then() {
    let desk = Desk::new();
    let old = desk.baseline(&[]);
    let (text, exit) = form("text", &["--since", &old]);
    assert_eq!(exit, Exit::Done);
    assert!(text.starts_with("Nothing is new or worse since "), "{text}");
    assert!(!text.contains("c1-old "), "{text}");
    // Then c1-old was allowed, c1-unknown was not there, and one more was.
    let mut then: Value = serde_json::from_str(&std::fs::read_to_string(&old).unwrap()).unwrap();
    let sets = then["sets"].as_array_mut().unwrap();
    sets[0]["action"] = json!("Proceed");
    sets[0]["verdict"] = json!("Allowed");
    assert_eq!(sets[2]["name"], "c1-unknown");
    sets[2]["name"] = json!("gone");
    let old = desk.write("old.json", &then.to_string());
    let (text, exit) = form("text", &["--since", &old]);
    assert_eq!(exit, Exit::Refused);
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        plain.starts_with("2 sets are new or worse since "),
        "{text}"
    );
    assert!(
        plain.contains(": 1 would be refused, 1 not known; 1 gone. Next: "),
        "{text}"
    );
    let rows: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("MachineSet/"))
        .collect();
    assert_eq!(rows.len(), 2, "{text}");
    let (out, _) = form("json", &["--since", &old]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(found["sets"].as_array().unwrap().len(), 7);
    assert_eq!(
        found["since"]["changes"],
        json!([
            { "kind": "MachineSet", "namespace": "openshift-machine-api", "name": "c1-old", "was": "allowed", "is": "refused" },
            { "kind": "MachineSet", "namespace": "openshift-machine-api", "name": "c1-unknown", "is": "unknown" },
        ])
    );
    // What was refused and is unknown now is no worse; what was unknown then and is, too.
    then["sets"][0]["action"] = json!("Block");
    then["sets"][2]["name"] = json!("c1-unknown");
    then["policy"]["digest"] = json!("sha256:0");
    let old = desk.write("old.json", &then.to_string());
    let (text, exit) = form("text", &["--since", &old]);
    assert_eq!(exit, Exit::Done);
    assert!(text.contains("; the policy is another one.\n"), "{text}");
}

/// Its words and fields are not all known: what it says of a verdict is neither good nor bad then.
#[test]
fn an_audit_of_a_later_release_is_read() {
    let desk = Desk::new();
    let old = desk.baseline(&[]);
    let mut then: Value = serde_json::from_str(&std::fs::read_to_string(&old).unwrap()).unwrap();
    for set in then["sets"].as_array_mut().unwrap() {
        set["knownBy"] = json!("Oracle");
        set["reason"] = json!("BelowMinimumLuck");
        set["upkeep"] = json!({ "by": "Robot", "rule": "RobotsAlone", "reason": 17 });
        set["effect"] = json!("flies");
        set["effects"] = json!([{ "effect": "flies" }]);
        set["bootImage"] = json!({ "version": "1", "scheme": "Roman" });
        set["luck"] = json!([17]);
    }
    then["births"] = json!(17);
    then["sets"][0]["verdict"] = json!("Postponed");
    then["sets"][0]["action"] = json!("Wait");
    then["sets"][6]["kind"] = json!("MachineFleet");
    let old = desk.write("old.json", &then.to_string());
    let (out, exit) = form("json", &["--since", &old]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(exit, Exit::Refused);
    assert_eq!(
        found["since"]["changes"],
        json!([{ "kind": "MachineSet", "namespace": "openshift-machine-api", "name": "c1-old", "was": "unknown", "is": "refused" }])
    );
    assert_eq!(found["since"]["gone"], 1);
}

#[test]
fn what_could_not_be_read_is_no_good_news_since_then() {
    let desk = Desk::new();
    let old = desk.baseline(&[]);
    let (text, _, exit) = audit(&[
        "--policy",
        POLICY,
        "--since",
        &old,
        "--from",
        AWS,
        "/nowhere.json",
    ]);
    assert_eq!(exit, Exit::Failed);
    assert!(
        text.starts_with("Not known whether anything is new or worse since "),
        "{text}"
    );
}

#[test]
fn a_baseline_that_cannot_be_read_is_named_with_the_place() {
    let desk = Desk::new();
    let whole = form("json", &[]).0;
    let some = form("json", &["--only", "refused"]).0;
    let list = json!({ "kind": "List", "summary": { "sets": 0 }, "sets": [] }).to_string();
    for (text, says) in [
        ("", ": is empty; `oc skewguard audit -o json`"),
        (&whole[..whole.len() / 2], ": EOF while parsing"),
        ("\u{7f}ELF\0\0", ":1:1: expected value"),
        ("[]", ":1:"),
        (
            r#"{"kind": "BootImageAudit", "summary": {"sets": 1}, "sets": 3}"#,
            ":1:60: invalid type: integer",
        ),
        (&list, ": this is a List, not a BootImageAudit"),
        (&some, ": has 1 of 7 sets: make it without --only"),
    ] {
        let old = desk.write("old.json", text);
        let (out, err, exit) = audit(&["--since", &old, "--from", AWS]);
        assert_eq!((out.as_str(), exit), ("", Exit::Failed), "{text:.40}");
        assert!(
            err.starts_with(&format!("skewguard: --since {old}")),
            "{err}"
        );
        assert!(
            err.contains(says) && err.lines().count() == 1,
            "{says}: {err}"
        );
    }
}

#[test]
fn sets_with_an_exception_do_not_count_until_it_runs_out() {
    let desk = Desk::new();
    let exceptions = |until: [&str; 4]| {
        let names = [
            "c1-old",
            "machineset/c1-reported",
            "openshift-machine-api/c1-unknown",
            "c1-wrong-region",
        ];
        let entry = |(name, until): (&str, &str)| {
            format!("- set: {name}\n  reason: 'OPS-1: replaced'\n  until: {until}\n")
        };
        let entries: String = names.into_iter().zip(until).map(entry).collect();
        desk.write("exceptions.yaml", &format!("exceptions:\n{entries}"))
    };
    let later = "2999-12-31";
    let file = exceptions([later; 4]);
    let (text, exit) = form("text", &["--exceptions", &file]);
    assert_eq!(exit, Exit::Done, "{text}");
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let first = "Ready to enforce but for what is excepted: none of 7 sets would be refused, 4 are excepted. Next: ";
    assert!(plain.starts_with(first), "{text}");
    let next = "Next: change the images of what is excepted, or leave its pools out of the policy: nodes and admission know no exceptions cluster";
    assert!(plain.contains(next), "{text}");
    assert_eq!(
        plain
            .matches("excepted until 2999-12-31: OPS-1: replaced")
            .count(),
        4,
        "{text}"
    );
    let found: Value = serde_json::from_str(&form("json", &["--exceptions", &file]).0).unwrap();
    assert_eq!(
        found["summary"],
        json!({ "sets": 7, "wouldBeRefused": 1, "wouldBeAllowed": 3, "undetermined": 3, "excepted": 4, "wholeSets": { "sets": 7, "wouldBeRefused": 1, "wouldBeAllowed": 3, "undetermined": 3 } })
    );
    let (xml, _) = form("junit", &["--exceptions", &file]);
    let report = Report::deserialize_from_str(&xml).unwrap();
    let suite = &report.test_suites[0];
    assert_eq!((suite.failures, suite.errors, suite.disabled), (0, 0, None));
    let is_skipped =
        |case: &&quick_junit::TestCase| matches!(case.status, TestCaseStatus::Skipped { .. });
    assert_eq!(suite.test_cases.iter().filter(is_skipped).count(), 4);
    // One ran out: it counts again, and that is said.
    let file = exceptions(["2026-01-31", later, later, later]);
    let (text, exit) = form("text", &["--exceptions", &file]);
    assert_eq!(exit, Exit::Refused);
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for says in [
        "Not ready to enforce: 1 of 7 sets would be refused, 3 are excepted.",
        "its exception expired on 2026-01-31: OPS-1: replaced",
        "warning: exception for c1-old: expired on 2026-01-31",
    ] {
        assert!(plain.contains(says), "{says}: {text}");
    }
    // Of two entries one ran out, and the other holds: nothing is said.
    let twice = [("2026-01-31", "OPS-0"), (later, "OPS-1")]
        .map(|(until, why)| format!("- set: c1-old\n  reason: {why}\n  until: {until}\n"));
    let both = desk.write("twice.yaml", &format!("exceptions:\n{}", twice.concat()));
    let found: Value = serde_json::from_str(&form("json", &["--exceptions", &both]).0).unwrap();
    let warnings = found["warnings"].to_string();
    assert!(!warnings.contains("exception for"), "{warnings}");
    assert_eq!(found["summary"]["excepted"], 1);
    let file = exceptions([later, later, "2026-01-31", later]);
    assert_eq!(form("text", &["--exceptions", &file]).1, Exit::Unknown);
    // What it was worse than then, it was excepted.
    let file = exceptions([later; 4]);
    let old = desk.baseline(&["--exceptions", &file]);
    assert_eq!(
        form("text", &["--exceptions", &file, "--since", &old]).1,
        Exit::Done
    );
    assert_eq!(form("text", &["--since", &old]).1, Exit::Refused);
    let nobody = desk.write(
        "exceptions.yaml",
        "exceptions: [{set: no-such, reason: x, until: 2999-01-01}]\n",
    );
    let (text, exit) = form("text", &["--exceptions", &nobody]);
    assert_eq!(exit, Exit::Refused);
    assert!(
        text.contains("warning: exception for no-such: there is no such set\n"),
        "{text}"
    );
}

#[test]
fn exceptions_that_cannot_be_read_are_named_with_the_place() {
    let desk = Desk::new();
    for (text, place, says) in [
        ("", ":1:1:", "is empty"),
        (
            "exceptions:\n- set: a\n  reason: b\n",
            ":3:",
            "missing field `until`",
        ),
        (
            "exceptions:\n- set: a\n  reason: b\n  until: 2026-13-01\n",
            ":4:",
            "2026-13-01 is not a day",
        ),
        ("exceptions:\n- set: [\n", ":", "is not YAML"),
        ("{\"exceptions\": [", ":1:", "EOF"),
    ] {
        let file = desk.write("exceptions.yaml", text);
        let (out, err, exit) = audit(&["--exceptions", &file, "--from", AWS]);
        assert_eq!((out.as_str(), exit), ("", Exit::Failed), "{text}");
        assert!(
            err.starts_with(&format!("skewguard: --exceptions {file}{place}")),
            "{err}"
        );
        assert!(
            err.contains(says) && !err.contains('\u{1b}'),
            "{says}: {err}"
        );
    }
    let (_, err, exit) = audit(&["--exceptions", "/nowhere.yaml", "--from", AWS]);
    assert!(
        exit == Exit::Failed && err.contains("--exceptions /nowhere.yaml: "),
        "{err}"
    );
}

/// Runs the script with an `oc` that notes its arguments, and fails where they contain `refused`.
fn fix(desk: &Desk, script: &str, refused: &str) -> (Option<i32>, Vec<String>) {
    desk.write("fix.sh", script);
    let calls = desk.path("calls");
    let _ = std::fs::remove_file(&calls);
    let oc = format!(
        "oc() {{ printf '%s\\n' \"$*\" >>'{}'; case \"$*\" in *{refused}*) return 1 ;; esac; }}; . ./fix.sh",
        calls.display()
    );
    let status = Command::new("sh")
        .args(["-c", &oc])
        .current_dir(desk.0.path())
        .status()
        .unwrap();
    let calls = std::fs::read_to_string(calls).unwrap_or_default();
    (status.code(), calls.lines().map(str::to_owned).collect())
}

/// The fixture of Google Cloud, with one more set of the old image.
fn mendable() -> String {
    let mut whole: Value = serde_json::from_str(&fixture("gcp.json")).unwrap();
    let items = whole["items"].as_array_mut().unwrap();
    let is_old =
        |item: &&Value| item["kind"] == "MachineSet" && item["metadata"]["name"] == "c1-old";
    let mut more = items.iter().find(is_old).unwrap().clone();
    more["metadata"]["name"] = json!("c1-older");
    items.push(more);
    whole.to_string()
}

#[test]
fn the_fixes_are_tried_on_the_server_before_one_is_made() {
    let desk = Desk::new();
    let (text, _, _) = audit_text(&mendable(), &[]);
    let next = "\nNext: oc skewguard audit --policy tests/data/audit/policy.json --from objects.json --print-commands fix\n";
    assert!(text.contains(next), "{text}");
    let (script, err, exit) = audit_text(&mendable(), &["--print-commands", "fix"]);
    assert_eq!((err.as_str(), exit), ("", Exit::Done));
    assert!(script.starts_with("#!/bin/sh\n# "), "{script}");
    assert!(script.contains("\n# Not ready to enforce: "), "{script}");
    let patch = |set: &str, more: &str| {
        format!(
            "patch machinesets.machine.openshift.io {set} -n openshift-machine-api --type json -p \
             [{{\"op\":\"replace\",\"path\":\"/spec/template/spec/providerSpec/value/disks/0/image\",\
             \"value\":\"projects/rhcos-cloud/global/images/rhcos-9-6-20251015-1-gcp-x86-64\"}}]{more}"
        )
    };
    let dry = " --dry-run=server";
    let tried = [patch("c1-old", dry), patch("c1-older", dry)];
    let made = [patch("c1-old", ""), patch("c1-older", "")];
    assert_eq!(
        fix(&desk, &script, "nothing-is"),
        (Some(0), [tried.clone(), made].concat())
    );
    assert_eq!(
        fix(&desk, &script, "c1-older*dry-run"),
        (Some(1), tried.to_vec())
    );
    // An exception is left as it is.
    let file = desk.write(
        "exceptions.yaml",
        "exceptions: [{set: c1-old, reason: x, until: 2999-01-01}]\n",
    );
    let (script, _, _) = audit_text(
        &mendable(),
        &["--print-commands", "fix", "--exceptions", &file],
    );
    assert!(!script.contains(" c1-old "), "{script}");
}

/// What the Machine Config Operator should be told is for later, and by hand.
#[test]
fn what_comes_later_is_a_comment() {
    let (script, _, _) = audit(&["--policy", POLICY, "--print-commands", "fix", "--from", AWS]);
    assert!(
        script.contains("\n# oc patch machineconfiguration cluster "),
        "{script}"
    );
    let (_, later) = script.split_once("\n# By hand:\n").unwrap();
    let is_idle = |line: &str| line.is_empty() || line.starts_with('#');
    assert!(later.lines().all(is_idle), "{script}");
}

#[test]
fn what_no_command_mends_is_named() {
    let (script, _, exit) = audit(&[
        "--policy",
        POLICY,
        "--print-commands",
        "fix",
        "--from",
        "tests/data/audit/vsphere.json",
    ]);
    assert_eq!(exit, Exit::Done);
    assert!(
        script.contains("\n# There is nothing that one command mends.\n\n# By hand:\n# "),
        "{script}"
    );
    assert!(
        script
            .lines()
            .all(|line| line.is_empty() || line.starts_with('#')),
        "{script}"
    );
}

/// Names and images that would run something.
#[test]
fn no_name_becomes_a_command() {
    let desk = Desk::new();
    let mark = desk.path("ran");
    for hostile in [
        format!("$(touch {m})", m = mark.display()),
        format!("`touch {m}`", m = mark.display()),
        format!("'; touch {m}; '", m = mark.display()),
        format!("x\ntouch {m}\n", m = mark.display()),
        format!("\"; touch {m}; \"", m = mark.display()),
        "-o".to_owned(),
    ] {
        let whole = mendable();
        for known in [
            "c1-old",
            "projects/rhcos-cloud/global/images/rhcos-9-6-20251015-1-gcp-x86-64",
            "rhcos-9-6-20251015-1-gcp-x86-64",
            "openshift-machine-api",
        ] {
            let name = Value::from(hostile.as_str()).to_string();
            let text = whole.replace(&format!("\"{known}\""), &name);
            // As part of a name, too, and inside of JSON that is a text.
            let text = text.replace(
                &format!("\\\"{known}\\\""),
                Value::from(name.as_str()).to_string().trim_matches('"'),
            );
            let (script, err, exit) = audit_text(&text, &["--print-commands", "fix"]);
            assert!(exit == Exit::Done || !err.is_empty(), "{err}");
            fix(&desk, &script, "nothing-is");
            assert!(!mark.exists(), "{known} {hostile}: {script}");
        }
    }
}

#[test]
fn scripts_that_read_no_cluster_take_no_other_arguments() {
    for more in [
        ["--from", AWS],
        ["--since", "x"],
        ["--exceptions", "x"],
        ["--target", "4.22"],
    ] {
        let (out, err, exit) = audit(&[&["--print-commands", "labels"], more.as_slice()].concat());
        assert_eq!((out.as_str(), exit), ("", Exit::Usage), "{more:?}");
        assert!(err.contains("name --print-commands alone"), "{err}");
    }
}

/// `check` says in its exit status what it says in words.
#[test]
fn check_refuses_under_a_policy_that_warns_where_asked() {
    let desk = Desk::new();
    let aleph = desk.write("aleph.json", r#"{"version": "412.86.202301311551-0"}"#);
    let check =
        |more: &[&str]| run(&[&["check", "--policy", POLICY, "--aleph", &aleph], more].concat());
    let (out, _, exit) = check(&[]);
    assert!(out.starts_with("Would be refused: "), "{out}");
    assert_eq!(exit, Exit::Done);
    let (out, _, exit) = check(&["--mode", "enforce"]);
    assert!(out.starts_with("Refused: "), "{out}");
    assert!(
        out.contains("  - judged as if the policy's mode were Enforce; it is Warn\n"),
        "{out}"
    );
    assert_eq!(exit, Exit::Refused);
    let good = desk.write("aleph.json", r#"{"version": "418.94.202501221327-0"}"#);
    let (_, _, exit) = run(&[
        "check", "--policy", POLICY, "--aleph", &good, "--mode", "enforce",
    ]);
    assert_eq!(exit, Exit::Done);
}

/// A limit with conditions, at the desk.
#[test]
fn check_asks_about_a_platform_and_an_architecture() {
    let desk = Desk::new();
    let policy = desk.write(
        "when.json",
        r#"{"apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce", "knownIssues": [], "limits": [
            {"deniedVersions": []},
            {"when": {"platforms": ["vmware"], "architectures": ["x86_64"]}, "minimumOCPVersion": "4.13.0"}]}"#,
    );
    let check = |more: &[&str]| {
        let image = ["--image", "412.86.202301311551-0", "--target", "4.18"];
        let (out, err, exit) = run(&[&["check", "--policy", &policy], &image[..], more].concat());
        (
            format!("{}{err}", out.lines().next().unwrap_or_default()),
            exit,
        )
    };
    let (says, _) = check(&[]);
    assert!(says.starts_with("Undetermined: "), "{says}");
    let refused = "Refused: boot image is OCP 4.12; the minimum is 4.13.0".to_owned();
    assert_eq!(
        check(&["--platform", "vmware", "--architecture", "x86_64"]),
        (refused, Exit::Refused)
    );
    assert_eq!(check(&["--platform", "aws"]).1, Exit::Done);
    let (says, exit) = check(&["--platform", "bee"]);
    assert_eq!(exit, Exit::Usage);
    assert!(says.contains("it is one of aws, azure, gcp"), "{says}");
}

#[test]
fn lint_speaks_junit() {
    let desk = Desk::new();
    let bad = desk.write("bad.json", r#"{"apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Sometimes", "limits": []}"#);
    let (out, err, exit) = run(&["policy", "lint", "-o", "junit", POLICY, &bad, "/nowhere"]);
    assert_eq!(exit, Exit::Failed);
    assert!(err.contains("/nowhere: "), "{err}");
    let report = Report::deserialize_from_str(&out).unwrap();
    let counts: Vec<_> = report
        .test_suites
        .iter()
        .map(|suite| (suite.name.as_str(), suite.failures > 0, suite.errors))
        .collect();
    assert_eq!(
        counts,
        [
            (POLICY, false, 0),
            (bad.as_str(), true, 0),
            ("/nowhere", false, 1)
        ]
    );
    assert!(Path::new(POLICY).exists());
}

/// The YAML blocks of docs/ci.md, by the tool that reads them.
fn jobs() -> Vec<Value> {
    let page = std::fs::read_to_string("../../docs/ci.md").unwrap();
    let blocks = page.split("```yaml\n").skip(1);
    blocks
        .map(|block| serde_saphyr::from_str(block.split("```").next().unwrap()).unwrap())
        .collect()
}

/// Runs a job's script as its runner does, in a repository that has a policy, on a cluster.
fn job(script: &str) -> (Option<i32>, Desk, String) {
    let list: Value = serde_json::from_str(&fixture("aws.json")).unwrap();
    let served = super::served::serve(
        crate::support::apiserver::Lists::of(list["items"].as_array().unwrap().clone()),
        crate::support::apiserver::Options::default(),
    );
    let desk = Desk::new();
    desk.write("policy.json", &fixture("policy.json"));
    desk.write(
        "exceptions.yaml",
        "exceptions:\n- {set: c1-reported, reason: OPS-1, until: 2999-12-31}\n",
    );
    let program = Path::new(env!("CARGO_BIN_EXE_kubectl-skewguard"));
    let path = format!(
        "{}:{}",
        program.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let git = "git() { [ \"$*\" = 'show origin/main:policy.json' ] && sed 's/4.13.0/4.12.0/; s/9.2/8.4/' policy.json; }\n";
    let output = Command::new("bash")
        .args(["-e", "-c", &format!("{git}{script}")])
        .current_dir(desk.0.path())
        .env("PATH", path)
        .env("KUBECONFIG", &served.kubeconfig)
        .env("GITHUB_BASE_REF", "main")
        .env("GITHUB_STEP_SUMMARY", desk.path("summary.md"))
        .output()
        .unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    (output.status.code(), desk, said)
}

#[test]
fn the_jobs_of_the_documents_run() {
    let jobs = jobs();
    let find = |pointer: &str| jobs.iter().find_map(|job| job.pointer(pointer)).unwrap();
    let github = find("/jobs/boot-images/steps/1/run").as_str().unwrap();
    let (code, desk, said) = job(github);
    let summary = std::fs::read_to_string(desk.path("summary.md")).unwrap();
    assert_eq!(code, Some(3), "{said}");
    assert!(
        summary.contains("1 set is new or worse since ")
            && summary.contains("policy is another one"),
        "{summary}"
    );
    assert!(
        summary.contains("`openshift-machine-api MachineSet/c1-old`")
            && !summary.contains("/c1-reported`"),
        "{summary}"
    );
    let gitlab = find("/boot-images/script").as_array().unwrap();
    let gitlab: Vec<&str> = gitlab.iter().map(|line| line.as_str().unwrap()).collect();
    let (code, desk, said) = job(&gitlab.join("\n"));
    assert_eq!(code, Some(3), "{said}");
    for (file, failures) in [("lint.xml", 0), ("audit.xml", 1)] {
        let xml = std::fs::read_to_string(desk.path(file)).unwrap();
        let report = Report::deserialize_from_str(&xml).unwrap();
        assert_eq!(report.test_suites[0].failures, failures, "{file}: {xml}");
    }
    let step = find("/spec/steps/0");
    let words = [&step["command"], &step["args"]].map(|list| list.as_array().unwrap().clone());
    let words: Vec<String> = words
        .concat()
        .iter()
        .map(|word| word.as_str().unwrap().to_owned())
        .collect();
    let (code, _, said) = job(&words.join(" "));
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("excepted until 2999-12-31: OPS-1"), "{said}");
}
