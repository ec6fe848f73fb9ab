//! Several clusters in the forms of a pipeline, in HTML, and since an earlier audit.

use super::fleet::{cluster, cluster_with, kubeconfig, list, run, with_a_dead_end};
use super::served::Served;
use crate::support::apiserver::ADMIN_TOKEN;
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// A name that is markup, a formula or a command, wherever it is not inert.
const HOSTILE: &str = "=a|<b>&`x`@team $(id)";

/// An old cluster, a good one with a hostile name, and one that cannot be reached.
struct Desk {
    dir: tempfile::TempDir,
    _servers: [Served; 2],
    config: PathBuf,
}

impl Desk {
    fn new() -> Self {
        let (old, good) = (
            cluster("aws.json", "id-old"),
            cluster("openstack.json", "id-good"),
        );
        let dir = tempfile::tempdir().unwrap();
        let contexts = [
            (HOSTILE, "good", &good, ADMIN_TOKEN),
            ("old", "old", &old, ADMIN_TOKEN),
        ];
        let config = kubeconfig(dir.path(), &contexts);
        Self {
            dir,
            _servers: [old, good],
            config,
        }
    }

    fn with_a_dead_end() -> Self {
        let desk = Self::new();
        with_a_dead_end(&desk.config);
        desk
    }

    fn form(&self, form: &str, more: &[&str]) -> (String, Exit) {
        let args = [&["--all-contexts", "-o", form], more].concat();
        let (out, err, exit) = run(&self.config, &args);
        let is_told = |line: &str| line.starts_with("skewguard: gone: ");
        assert!(err.lines().all(is_told), "{err}");
        (out, exit)
    }

    fn write(&self, text: &str) -> String {
        let path = self.dir.path().join("then.json");
        // Audits of tests have no time of their own.
        std::fs::write(&path, text.replace("TIME", "2026-01-02T03:04:05Z")).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

/// An exception is of a cluster: control planes have the same name in all of them.
#[test]
fn an_exception_is_of_the_cluster_that_it_names() {
    let desk = Desk::new();
    let exceptions = |cluster: &str| {
        let names = ["c1-old", "c1-reported", "c1-unknown", "c1-wrong-region"];
        let entry = |name: &str| json!({ "cluster": cluster, "set": name, "reason": "OPS-1", "until": "2999-12-31" });
        let list: Vec<_> = names.into_iter().map(entry).collect();
        desk.write(&json!({ "exceptions": list }).to_string())
    };
    let all = |form: &str, file: &str| {
        run(
            &desk.config,
            &["--all-contexts", "-o", form, "--exceptions", file],
        )
    };
    for name in ["old", "id-old"] {
        let (text, err, exit) = all("text", &exceptions(name));
        assert_eq!((err.as_str(), exit), ("", Exit::Done), "{text}");
        let first = "Ready to enforce but for what is excepted: none of 8 sets in 2 clusters would be\nrefused, 4 are excepted.\n";
        assert!(text.starts_with(first), "{text}");
        assert!(text.contains("\n  4 sets excepted\n"), "{text}");
    }
    let (page, ..) = all("html", &exceptions("old"));
    assert!(page.contains("<b>4</b>sets excepted"), "{page}");
    let (found, ..) = all("json", &exceptions("old"));
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["summary"]["excepted"], 4);
    // One file is for the fleet and for each of its clusters.
    let one = |context: &str, file: &str| {
        run(&desk.config, &["--context", context, "--exceptions", file]).2
    };
    assert_eq!(one("old", &exceptions("old")), Exit::Done);
    assert_eq!(one("old", &exceptions("id-good")), Exit::Refused);
    let (_, err, exit) = all("text", &exceptions("elsewhere"));
    assert_eq!(exit, Exit::Refused);
    assert!(
        err.contains("--exceptions: there is no cluster elsewhere among these"),
        "{err}"
    );
    let nameless =
        desk.write(r#"{"exceptions":[{"set":"c1-old","reason":"x","until":"2999-12-31"}]}"#);
    let (out, err, exit) = all("text", &nameless);
    assert_eq!((out.as_str(), exit), ("", Exit::Failed));
    assert!(
        err.contains("--exceptions: exception for c1-old: with several clusters"),
        "{err}"
    );
}

/// One cluster after another, each by its context; a refusal ends the script before the next.
#[test]
fn the_fixes_of_a_fleet_name_the_cluster_of_each() {
    let [first, second] = ["id-a", "id-b"].map(|id| cluster("gcp.json", id));
    let dir = tempfile::tempdir().unwrap();
    let contexts = [
        (HOSTILE, "a", &first, ADMIN_TOKEN),
        ("b", "b", &second, ADMIN_TOKEN),
    ];
    let config = kubeconfig(dir.path(), &contexts);
    with_a_dead_end(&config);
    let (script, _, exit) = run(&config, &["--all-contexts", "--print-commands", "fix"]);
    // One is missing.
    assert_eq!(exit, Exit::Failed, "{script}");
    assert!(script.contains("\n# == gone\n# not audited: "), "{script}");
    let calls = |refused: &str| {
        let oc = format!(
            "#!/bin/sh\nprintf '%s\\n' \"$*\" >>calls\ncase \"$*\" in *{refused}*) exit 1 ;; esac\n"
        );
        for (name, text) in [("oc", &oc), ("fix.sh", &script)] {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let _ = std::fs::remove_file(dir.path().join("calls"));
        let path = format!("{}:/usr/bin:/bin", dir.path().display());
        let mut sh = std::process::Command::new("sh");
        let sh = sh.arg("fix.sh").current_dir(dir.path()).env("PATH", path);
        let status = sh.status().unwrap();
        let calls = std::fs::read_to_string(dir.path().join("calls")).unwrap();
        let of = |line: &str| {
            let line = line.strip_prefix(&format!("--kubeconfig {} --context ", config.display()));
            let line = line.unwrap();
            let dry = if line.ends_with(" --dry-run=server") {
                " tried"
            } else {
                ""
            };
            format!("{}{dry}", line.split(" patch ").next().unwrap())
        };
        (status.success(), calls.lines().map(of).collect::<Vec<_>>())
    };
    let tried = format!("{HOSTILE} tried");
    assert_eq!(
        calls("nothing-is"),
        (
            true,
            vec![
                tried.clone(),
                HOSTILE.to_owned(),
                "b tried".to_owned(),
                "b".to_owned()
            ]
        )
    );
    assert_eq!(calls("dry-run"), (false, vec![tried]));
    // One cluster alone, whatever context is the current one when the script runs.
    let (script, ..) = run(&config, &["--context", "b", "--print-commands", "fix"]);
    let oc = format!(
        "\n    command oc --kubeconfig {} --context b \"$@\"\n",
        config.display()
    );
    assert!(script.contains(&oc), "{script}");
}

#[test]
fn rows_of_csv_have_the_name_of_their_cluster() {
    let (text, exit) = Desk::with_a_dead_end().form("csv", &[]);
    assert_eq!(exit, Exit::Failed);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers().unwrap().clone();
    let columns: Vec<&str> = head.iter().take(5).collect();
    assert_eq!(columns, ["cluster", "verdict", "kind", "namespace", "name"]);
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let with = |cluster: &str| rows.iter().filter(|row| &row[0] == cluster).count();
    let good = format!("'{HOSTILE}");
    assert_eq!((with("gone"), with("old"), with(&good)), (1, 7, 1));
    assert_eq!(rows.len(), 9);
    let gone: Vec<&str> = rows[0].iter().filter(|cell| !cell.is_empty()).collect();
    assert_eq!(gone[..2], ["gone", "unknown"]);
    assert!(gone[2].starts_with("not audited: https://127.0.0.1:1: "));
}

#[test]
fn tests_of_junit_have_the_name_of_their_cluster() {
    let (text, exit) = Desk::with_a_dead_end().form("junit", &[]);
    assert_eq!(exit, Exit::Failed);
    let report = quick_junit::Report::deserialize_from_str(&text).unwrap();
    let suites: Vec<(&str, usize, usize, usize)> = report
        .test_suites
        .iter()
        .map(|suite| {
            (
                suite.name.as_str(),
                suite.tests,
                suite.failures,
                suite.errors,
            )
        })
        .collect();
    assert_eq!(
        suites,
        [("gone", 1, 0, 1), ("old", 7, 1, 3), (HOSTILE, 1, 0, 0)]
    );
    for suite in &report.test_suites {
        for case in &suite.test_cases {
            let class = case.classname.as_ref().unwrap();
            assert!(class.starts_with(suite.name.as_str()), "{class:?}");
        }
    }
    assert!(
        text.contains("not accept") || text.contains("connection refused"),
        "{text}"
    );
}

#[test]
fn markdown_has_a_row_for_each_cluster_and_no_markup_of_a_name() {
    let (text, exit) = Desk::with_a_dead_end().form("markdown", &[]);
    assert_eq!(exit, Exit::Failed);
    assert!(
        text.starts_with("## Boot images\n\n**Not ready to enforce: "),
        "{text}"
    );
    let name = "`` =a\\|<b>&`x`@team $(id) ``";
    for part in [
        "| verdict | context | release | sets | refused | unknown | allowed | oldest image |\n|---|---|---|---|---|---|---|---|\n",
        "\n| unknown | `gone` | - | - | - | - | - | - |\n",
        "\n| refused | `old` | 4.21.3 | 7 | 1 | 3 | 3 | ",
        &format!("\n| allowed | {name} | 4.21.3 | 1 | 0 | 0 | 1 | "),
        "\n| verdict | cluster | set | boot image | nodes | why |\n|---|---|---|---|---|---|\n| refused | `old` | `",
        "\n- `old`: `",
        "\n- `gone`: not audited: `https:",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn the_page_has_a_part_for_each_cluster() {
    let (page, _) = Desk::with_a_dead_end().form("html", &[]);
    for part in [
        "<h1>Boot images of 3 clusters</h1>",
        "<a href=\"#cluster-2\">old</a>",
        "<h2 id=\"cluster-2\">old</h2>",
        "<h2 id=\"cluster-3\">=a|&lt;b&gt;&amp;`x`@team $(id)</h2>",
        "<b>gone</b><p class=\"soft\">not audited: https://127.0.0.1:1: ",
        "Next: set &quot;mode&quot;: &quot;Enforce&quot; in tests/data/audit/policy.json, then <code>oc ",
        "<h3>Sets</h3>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(
        page.matches("<section").count(),
        2,
        "a part for each that was audited"
    );
    assert!(!page.contains("<script") && !page.contains("<b>&`x`"));
}

/// Of a cluster alone, its conclusion counts all sets, whichever are shown.
#[test]
fn a_part_concludes_over_all_of_its_sets() {
    for form in ["wide", "html"] {
        let (text, _) = Desk::new().form(form, &["--only", "unknown"]);
        let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            plain.contains("Not ready to enforce: 1 of 7 sets would be refused"),
            "{text}"
        );
    }
}

#[test]
fn only_what_is_new_or_worse_in_a_cluster_counts_since_then() {
    let desk = Desk::new();
    let (mut then, exit) = list(&desk.config, &["--all-contexts"]);
    assert_eq!(exit, Exit::Refused);
    let old = desk.write(&then.to_string());
    let (text, exit) = desk.form("text", &["--since", &old]);
    assert_eq!(exit, Exit::Done);
    assert!(text.starts_with("Nothing is new or worse since "), "{text}");
    let (text, exit) = desk.form("csv", &["--since", &old]);
    assert_eq!((text.lines().count(), exit), (1, Exit::Done), "{text}");
    // A set was allowed then, in a cluster with another context; and a cluster is there no more.
    assert_eq!(then["items"][0]["context"], "old");
    then["items"][0]["context"] = json!("another");
    then["items"][0]["audit"]["sets"][0]["action"] = json!("Proceed");
    then["items"][0]["audit"]["sets"][0]["verdict"] = json!("Allowed");
    let mut gone = then["items"][1].clone();
    gone["context"] = json!("gone\u{1b}[31m");
    gone["audit"]["origin"]["clusterID"] = json!("id-gone");
    then["items"].as_array_mut().unwrap().push(gone);
    let old = desk.write(&then.to_string());
    let (text, exit) = desk.form("csv", &["--since", &old]);
    assert_eq!((text.lines().count(), exit), (2, Exit::Refused), "{text}");
    assert!(text.contains("\nold,refused,MachineSet,"), "{text}");
    let (text, _) = desk.form("text", &["--since", &old]);
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        plain.contains("1 set in 2 clusters is new or worse since "),
        "{text}"
    );
    assert!(
        plain.contains(": 1 would be refused; not audited again: gone"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'), "{text}");
    let (found, _) = list(&desk.config, &["--all-contexts", "--since", &old]);
    assert_eq!(found["since"]["changes"], 1);
    assert_eq!(
        found["items"][0]["audit"]["since"]["changes"][0]["was"],
        "allowed"
    );
    assert_eq!(
        found["items"][0]["audit"]["sets"].as_array().unwrap().len(),
        7
    );
}

/// A cluster that was not audited then is new as a whole; one that is not audited now is no good
/// news.
#[test]
fn a_cluster_that_was_not_audited_then_is_new() {
    let desk = Desk::new();
    let (mut then, _) = list(&desk.config, &["--all-contexts"]);
    let failed = json!({ "context": "old", "error": "no answer" });
    then["items"][0] = failed;
    let old = desk.write(&then.to_string());
    let (found, exit) = list(&desk.config, &["--all-contexts", "--since", &old]);
    assert_eq!(
        (&found["since"]["changes"], exit),
        (&json!(4), Exit::Refused)
    );
    with_a_dead_end(&desk.config);
    let (now, _) = list(&desk.config, &["--all-contexts"]);
    let old = desk.write(&now.to_string());
    let (text, exit) = desk.form("text", &["--since", &old]);
    assert_eq!(exit, Exit::Failed);
    assert!(
        text.starts_with("Not known whether anything is new or worse since "),
        "{text}"
    );
}

#[test]
fn a_baseline_of_another_kind_is_named_with_the_place() {
    let desk = Desk::new();
    let (whole, _) = list(&desk.config, &["--all-contexts"]);
    let (alone, _) = list(&desk.config, &["--context", "old"]);
    let (some, _) = list(&desk.config, &["--all-contexts", "--only", "refused"]);
    let whole = whole.to_string();
    let other = json!({ "kind": "List", "items": [] }).to_string();
    for (text, says) in [
        ("", ": is empty; `oc skewguard audit -o json`"),
        (&whole[..whole.len() / 2], ": EOF while parsing"),
        ("\u{7f}ELF\0\0", ":1:1: expected value"),
        ("[]", ":1:"),
        (
            &alone.to_string(),
            ": this is a BootImageAudit, not a BootImageAuditList",
        ),
        (&other, ": this is a List, not a BootImageAuditList"),
        (
            r#"{"kind": "BootImageAuditList", "items": [{"context": 3}]}"#,
            ":1:54: invalid type: integer",
        ),
        (
            &some.to_string(),
            ": old: has 1 of 7 sets: make it without --only",
        ),
    ] {
        let old = desk.write(text);
        let (out, err, exit) = run(&desk.config, &["--all-contexts", "--since", &old]);
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
    let old = desk.write(&whole);
    let (_, err, exit) = run(&desk.config, &["--context", "old", "--since", &old]);
    assert_eq!(exit, Exit::Failed);
    assert!(
        err.contains(": this is a BootImageAuditList, not a BootImageAudit"),
        "{err}"
    );
}

/// Karpenter's node class of another cloud.
#[test]
fn a_set_that_is_not_understood_in_a_cluster_is_no_good_news() {
    let pool = json!({ "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": { "name": "p" },
        "spec": { "template": { "spec": { "nodeClassRef": { "group": "karpenter.azure.com", "kind": "AKSNodeClass", "name": "default" } } } } });
    let (good, strange) = (
        cluster("openstack.json", "id-good"),
        cluster_with("openstack.json", "id-strange", Some(pool)),
    );
    let dir = tempfile::tempdir().unwrap();
    let contexts = [
        ("good", "good", &good, ADMIN_TOKEN),
        ("strange", "strange", &strange, ADMIN_TOKEN),
    ];
    let config = kubeconfig(dir.path(), &contexts);
    let (text, _, exit) = run(&config, &["--all-contexts"]);
    assert_eq!(exit, Exit::Unknown, "{text}");
    assert!(
        text.starts_with("Not known to be ready to enforce: none of 3 sets "),
        "{text}"
    );
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["/config --context strange ", "strange 4.21.3 2 0 1 1 "] {
        assert!(plain.contains(part), "{part}: {text}");
    }
}
