//! The forms of the result: what is shown of which sets, folders, YAML, and one HTML page that no
//! name can break out of.

use super::{POLICY, audit, audit_text, fixture};
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;
use std::path::Path;

const AWS: &str = "tests/data/audit/aws.json";

#[test]
fn only_what_was_asked_for_is_shown() {
    let names = |more: &[&str]| {
        let (out, err, exit) =
            audit(&[&["--policy", POLICY, "-o", "json"], more, &["--from", AWS]].concat());
        assert_eq!(exit, Exit::Refused, "{err}");
        let found: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(found["summary"]["sets"], 7, "the summary is that of all");
        let sets = found["sets"].as_array().unwrap().clone();
        sets.iter()
            .map(|set| set["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&["--only", "refused"]), ["c1-old"]);
    assert_eq!(
        names(&["--only", "unknown"]),
        ["c1-reported", "c1-unknown", "c1-wrong-region"]
    );
    assert_eq!(
        names(&["c1-own", "openshift-machine-api/c1-old"]),
        ["c1-old", "c1-own"]
    );
    assert_eq!(names(&["machineset/c1-arm"]), ["c1-arm"]);
    let (text, _, _) = audit(&["--policy", POLICY, "c1-old", "--from", AWS]);
    assert!(
        text.contains("\n  fix      "),
        "a name gives all of it: {text}"
    );
    let (out, err, exit) = audit(&["--policy", POLICY, "c1\u{1b}", "--from", AWS]);
    assert_eq!((out.as_str(), exit), ("", Exit::Failed));
    assert_eq!(err, "skewguard: c1\\u{1b}: there is no such set\n");
}

#[test]
fn yaml_says_what_json_says() {
    let form = |form: &str| audit(&["--policy", POLICY, "-o", form, "--from", AWS]).0;
    let json: Value = serde_json::from_str(&form("json")).unwrap();
    let mut yaml: Value = serde_saphyr::from_str(&form("yaml")).unwrap();
    yaml["origin"]["time"] = json["origin"]["time"].clone();
    assert_eq!(yaml, json);
}

/// The command turns a mode of the operator's off, and may block updates: no form prints it without a word of that,
/// and none while an image is unknown, which may be older.
#[test]
fn the_operators_command_has_its_warning() {
    const COMMAND: &str = r#"'{"spec":{"bootImageSkewEnforcement""#;
    const UNKNOWN: [&str; 3] = ["c1-reported", "c1-unknown", "c1-wrong-region"];
    let whole: Value = serde_json::from_str(&fixture("aws.json")).unwrap();
    let mut known = whole.clone();
    known["items"].as_array_mut().unwrap().retain(|object| {
        let name = object["metadata"]["name"].as_str().unwrap();
        !UNKNOWN.iter().any(|unknown| name.starts_with(unknown))
    });
    for form in [
        &["-o", "wide"][..],
        &["-o", "html"],
        &["-o", "json"],
        &["--print-commands", "fix"],
    ] {
        let says = |objects: &Value| {
            let (out, ..) = audit_text(&objects.to_string(), form);
            let said = out.split_whitespace().collect::<Vec<_>>().join(" ");
            said.replace("&quot;", "\"").replace("\\\"", "\"")
        };
        assert!(!says(&whole).contains(COMMAND), "{form:?}");
        let said = says(&known);
        let (before, _) = said.split_once(COMMAND).unwrap();
        for word in ["turns mode Automatic off", "blocks updates of the cluster"] {
            assert!(
                before.contains(word) || form[1] == "json",
                "{form:?}: {word}"
            );
        }
    }
}

/// Each way that a folder may come: as it is, from the printed commands, or with files of any name.
#[test]
fn a_folder_is_read_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let list: Value = serde_json::from_str(&fixture("aws.json")).unwrap();
    std::fs::create_dir_all(path("a/b")).unwrap();
    for (n, item) in list["items"].as_array().unwrap().iter().enumerate() {
        let file = path("a/b").join(format!("{n}.json"));
        std::fs::write(file, item.to_string()).unwrap();
    }
    // What is none of it: logs, events that name machines, a link that leads round and round.
    std::fs::write(path("a/pod.log"), "kind: Node\n\x1b").unwrap();
    std::fs::write(
        path("a/events.yaml"),
        "kind: EventList\nitems:\n- kind: Event\n  involvedObject:\n    kind: Node\n  : [\n",
    )
    .unwrap();
    std::os::unix::fs::symlink(dir.path(), path("a/round")).unwrap();
    let run = |from: &Path| {
        let from = from.to_str().unwrap();
        let (out, err, exit) = audit(&["--policy", POLICY, "-o", "json", "--from", from]);
        let mut found: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
        found["oldest"]["usedBy"].take();
        (found, exit)
    };
    assert_eq!(run(dir.path()), run(Path::new(AWS)));
    // A file of machines that cannot be read is never passed over.
    std::fs::write(path("a/x.yaml"), "kind: MachineSet\nmetadata: {").unwrap();
    let (found, _) = run(dir.path());
    let unread = &found["unread"][0];
    assert!(
        unread["what"].as_str().unwrap().ends_with("/a/x.yaml"),
        "{unread}"
    );
    assert_eq!(unread["hidesSets"], true);
    let empty = tempfile::tempdir().unwrap();
    let (_, err, exit) = audit(&["--policy", POLICY, "--from", empty.path().to_str().unwrap()]);
    assert!(
        exit == Exit::Failed && err.contains("there is nothing to audit"),
        "{err}"
    );
}

#[test]
fn several_documents_of_yaml_are_read() {
    let node = |name: &str| {
        format!(
            "apiVersion: v1\nkind: Node\nmetadata:\n  name: {name}\n  labels: {{skewguard.dev/boot-image: 9.6.20250523-0}}\n"
        )
    };
    let text = format!(
        "---\n{}---\n---\n# none\n---\n{}...\n",
        node("a"),
        node("b")
    );
    let (out, err, _) = audit_text(&text, &["-o", "json"]);
    let found: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
    assert_eq!(found["sets"][0]["nodes"][0]["count"], 2, "{out}");
}

/// Machines that were made and have not joined: how many and what says why, and each by its name.
#[test]
fn machines_that_do_not_come_up_are_counted_and_named() {
    let mut whole: Value = serde_json::from_str(&fixture("aws.json")).unwrap();
    for n in 0..25 {
        let stuck = json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": { "name": format!("c1-old-x{n}"), "namespace": "openshift-machine-api", "creationTimestamp": "2026-01-02T03:04:05Z",
                "ownerReferences": [{ "kind": "MachineSet", "name": "c1-old" }] },
            "spec": {}, "status": { "phase": "Provisioned", "lastUpdated": format!("2026-01-02T03:{}:05Z", n + 14) } });
        whole["items"].as_array_mut().unwrap().push(stuck);
    }
    let (out, _, _) = audit_text(&whole.to_string(), &[]);
    // One more waits in the fixture.
    let says = "\n26 Machines wait to become a Node, the oldest for ";
    assert_eq!(out.matches(says).count(), 1, "{out}");
    assert_eq!(
        out.matches(": oc skewguard why --from objects.json\n")
            .count(),
        1,
        "{out}"
    );
    let (out, _, _) = audit_text(&whole.to_string(), &["-o", "wide"]);
    let says = "\nnot joined: Machine openshift-machine-api/c1-old-x7 of MachineSet c1-old is\nProvisioned";
    assert!(out.contains(says), "{out}");
    assert!(out.contains("2026-01-02T03:21:05Z"), "{out}");
}

/// A set of AWS, of which there may be many.
fn set(name: &str, ami: &str) -> Value {
    json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
        "metadata": { "name": name, "namespace": "openshift-machine-api" },
        "spec": { "replicas": 2, "template": { "spec": { "providerSpec": { "value": {
            "kind": "AWSMachineProviderConfig", "ami": { "id": ami }, "placement": { "region": "us-east-1" },
            "userDataSecret": { "name": "worker-user-data" } } } } } } })
}

#[test]
fn of_two_hundred_sets_no_refused_or_unknown_one_is_cut() {
    // Standard AMIs, which a command replaces.
    let (standard, other) = ("ami-0000a100764a57637", "ami-0001b45ada7d2dc51");
    let whole = fixture("aws.json").replace("ami-0old000000000001", standard);
    let whole = whole.replace("ami-0rep000000000001", other);
    let mut whole: Value = serde_json::from_str(&whole).unwrap();
    for n in 0..200 {
        let ami = [standard, "ami-0unk000000000001", "ami-0own000000000001"][n % 3];
        let name = format!("c1-x7k2p-worker-us-east-1a-{n}");
        whole["items"].as_array_mut().unwrap().push(set(&name, ami));
    }
    let (out, err, exit) = audit_text(&whole.to_string(), &[]);
    assert_eq!((err.as_str(), exit), ("", Exit::Refused));
    let first = "Not ready to enforce: 68 of 207 sets would be refused, 69 are not known, 1 is\nnot decided by the policy.\nNext: ";
    assert!(out.starts_with(first), "{out}");
    let rows = out.lines().filter(|line| line.contains("MachineSet/"));
    let begin = |word: &str| rows.clone().filter(|row| row.starts_with(word)).count();
    assert_eq!([begin("REFUSED"), begin("UNKNOWN")], [68, 70], "{out}");
    assert_eq!(begin("allowed"), 10, "{out}");
    assert!(out.contains("\n... and 59 more sets: -o wide\n"), "{out}");
    for row in rows {
        assert!(row.len() <= 80, "{row}");
    }
    let (wide, _, _) = audit_text(&whole.to_string(), &["-o", "wide"]);
    for n in 0..200 {
        assert!(
            wide.contains(&format!("/c1-x7k2p-worker-us-east-1a-{n}\n")),
            "{n}"
        );
    }
}

/// Without a policy it is judged by what `policy init` writes.
#[test]
fn no_policy_has_to_be_named() {
    let dir = tempfile::tempdir().unwrap();
    let policy = dir.path().join("policy.json");
    std::fs::write(&policy, super::run(&["policy", "init"]).0).unwrap();
    let json = |args: &[&str]| -> Value {
        let (out, err, exit) = audit(&[&["-o", "json", "--from", AWS], args].concat());
        assert_eq!((err.as_str(), exit), ("", Exit::Unknown));
        serde_json::from_str(&out).unwrap()
    };
    let (mut alone, named) = (json(&[]), json(&["--policy", policy.to_str().unwrap()]));
    assert_eq!(alone["policy"]["path"], "oc skewguard policy init");
    alone["policy"]["path"] = named["policy"]["path"].clone();
    assert_eq!(alone, named);
    let (text, _, _) = audit(&["--from", AWS]);
    let line = "\npolicy     none named: the limits and known issues of\n           `oc skewguard policy init`, judged as if it enforced\n";
    assert!(text.contains(line), "{text}");
    assert!(
        text.contains("\nNext: see below what makes them known\n"),
        "{text}"
    );
}

/// A cluster of OKD is judged by OKD's policy, and a release that a person names is OKD's.
#[test]
fn a_cluster_of_okd_has_the_policy_of_okd() {
    const FLEET: &str = "tests/data/cases/okd-mixed-fleet";
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.json");
    std::fs::write(&policy, super::run(&["policy", "init", "--okd"]).0).unwrap();
    let json = |args: &[&str]| -> Value {
        let (out, err, _) = audit(&[&["-o", "json", "--from", FLEET], args].concat());
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"))
    };
    let named = ["--policy", policy.to_str().unwrap()];
    let (mut alone, with_policy) = (json(&[]), json(&named));
    assert_eq!(alone["policy"]["path"], "oc skewguard policy init --okd");
    alone["policy"]["path"] = with_policy["policy"]["path"].clone();
    assert_eq!(alone, with_policy);
    let sets = |found: &Value| -> Vec<String> {
        let sets = found["sets"].as_array().unwrap().iter();
        sets.map(|set| format!("{} {} {}", set["name"], set["verdict"], set["reason"]))
            .collect()
    };
    assert_eq!(
        sets(&alone),
        [
            // No node of theirs runs CentOS Stream CoreOS 10, and the EVC mode decides.
            r#""c1-fcos" "Undetermined" "NoRuleEvaluated""#,
            r#""c1-scos" "Undetermined" "NoRuleEvaluated""#,
            r#""c1-scos9" "Undetermined" "NoRuleEvaluated""#,
            r#""master" "Allowed" "WithinLimits""#,
            r#""worker" "Allowed" "WithinLimits""#,
        ]
    );
    // With the suffix that releases have, and without.
    let short = json(&["--target", "4.22.0"]);
    assert_eq!(
        sets(&short),
        sets(&json(&["--target", "4.22.0-okd-scos.5"]))
    );
    assert_eq!(
        short["sets"][0]["knownIssues"],
        alone["sets"][0]["knownIssues"]
    );
    let (text, _, _) = audit(&["--from", FLEET]);
    assert!(
        text.contains(" `oc skewguard policy init --okd`, judged"),
        "{text}"
    );
    assert!(!text.contains("redhat"), "{text}");
}

fn html(text: &str) -> String {
    let (out, err, _) = audit_text(text, &["-o", "html"]);
    assert_eq!(err, "");
    out
}

/// Every text of every object tries to become an element, an attribute or the end of one.
#[test]
fn no_name_becomes_part_of_the_page() {
    let hostile = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&lt;";
    fn poison(value: &mut Value, hostile: &str) {
        match value {
            Value::Object(fields) => fields
                .iter_mut()
                .filter(|(name, _)| *name != "kind" && *name != "apiVersion")
                .for_each(|(_, value)| poison(value, hostile)),
            Value::Array(items) => items.iter_mut().for_each(|value| poison(value, hostile)),
            Value::String(text) => text.push_str(hostile),
            _ => {}
        }
    }
    for name in ["aws.json", "vsphere.json", "metal.json", "hypershift.json"] {
        let mut whole: Value = serde_json::from_str(&fixture(name)).unwrap();
        let plain = html(&whole.to_string());
        poison(&mut whole["items"], hostile);
        let page = html(&whole.to_string());
        assert!(page.contains("&lt;script&gt;alert(1)"), "{name}: {page}");
        let tags = |page: &str| {
            let mut tags: Vec<String> = page
                .split('<')
                .skip(1)
                .map(|tag| tag.split(['>', ' ']).next().unwrap().to_owned())
                .collect();
            tags.sort();
            tags.dedup();
            tags
        };
        assert!(
            !tags(&page)
                .iter()
                .any(|tag| ["script", "img"].contains(&tag.as_str())),
            "{page}"
        );
        assert!(!tags(&plain).contains(&"script".to_owned()));
        for bad in ["onerror=alert(1)>", "\"'>", "&lt;&lt;<"] {
            assert!(!page.contains(bad), "{name}: {bad}: {page}");
        }
    }
}

/// One file: nothing is loaded from anywhere, and nothing runs.
#[test]
fn the_page_needs_nothing_else() {
    let page = html(&fixture("aws.json"));
    for bad in [
        "http://", "https://", "src=", "href=", "url(", "@import", "<script", " on",
    ] {
        let outside_text = page
            .split('>')
            .filter_map(|part| part.split_once('<').map(|(_, tag)| tag))
            .any(|tag| tag.contains(bad));
        assert!(!outside_text, "{bad}");
    }
    let style = page.split("</style>").next().unwrap();
    assert!(!style.contains("url(") && !style.contains("@import"));
    assert!(page.contains("default-src 'none'"));
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("@media print"));
    assert!(page.contains("<ul class=\"chart\">") && page.contains("412.86.202301311551-0"));
    assert_eq!(
        page.matches("<td class=\"verdict refused\">refused</td>")
            .count(),
        1
    );
}

/// What to do stands above what is good, the operator's value at the end.
#[test]
fn what_to_do_comes_first() {
    let in_order = |text: &str, parts: &[&str]| {
        let places: Vec<Option<usize>> = parts.iter().map(|part| text.find(part)).collect();
        assert!(
            places.iter().all(Option::is_some) && places.is_sorted(),
            "{places:?}: {text}"
        );
    };
    let (text, ..) = audit(&["--policy", POLICY, "--from", AWS]);
    let parts = [
        "\nUNKNOWN  ",
        "\nWhat to change:\n",
        "\nHow to find ",
        "\nallowed  ",
    ];
    in_order(&text, &parts);
    let mut whole: Value = serde_json::from_str(&fixture("gcp.json")).unwrap();
    let items = whole["items"].as_array_mut().unwrap();
    let is_old =
        |item: &&Value| item["kind"] == "MachineSet" && item["metadata"]["name"] == "c1-old";
    let mut twin = items.iter().find(is_old).unwrap().clone();
    twin["metadata"]["name"] = json!("c1-twin");
    items.push(twin);
    let page = html(&whole.to_string());
    let parts = [
        "<div class=\"conclusion",
        "<div class=\"tiles\"",
        "<ul class=\"chart\"",
        ">What to do<",
        "<pre><code>oc patch ",
        ">Sets<",
        ">The oldest boot image<",
        "<footer>",
    ];
    in_order(&page, &parts);
    // The same remedy is one item, and its commands are code.
    let items = page.split("<ul class=\"todo\">").nth(1).unwrap();
    let items = items.split("</ul>").next().unwrap();
    assert_eq!(
        items.matches("<b>c1-old, c1-twin</b>").count(),
        1,
        "{items}"
    );
    for text in [items, &page] {
        assert_eq!(text.matches("<pre><code>oc patch machineset").count(), 2);
    }
}

/// The figures of a page are those of its conclusion.
#[test]
fn one_page_gives_one_count() {
    let mut seen = 0;
    for entry in std::fs::read_dir("tests/data/audit").unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if !text.contains("\"items\"") {
            continue;
        }
        let page = html(&text);
        let conclusion = page.split("</b>").next().unwrap();
        for what in ["not known", "not decided by the policy", "excepted"] {
            let says = |number: usize| {
                let are = if number == 1 { "is" } else { "are" };
                conclusion.contains(&format!(" {number} {are} {what}"))
            };
            let shows = |number: usize| {
                let sets = if number == 1 { "set" } else { "sets" };
                page.contains(&format!("<b>{number}</b>{sets} {what}<"))
            };
            let (said, shown): (Vec<_>, Vec<_>) = (
                (1..20).filter(|number| says(*number)).collect(),
                (1..20).filter(|number| shows(*number)).collect(),
            );
            assert_eq!(said, shown, "{}: {what}", path.display());
            seen += said.len();
        }
    }
    assert!(seen > 5, "{seen}");
}

/// The chart counts every joined node once, by the image that it is known to be installed from.
#[test]
fn the_chart_counts_each_node_once() {
    let mut whole: Value = serde_json::from_str(&fixture("aws.json")).unwrap();
    let items = whole["items"].as_array_mut().unwrap();
    for n in 0..3 {
        // Of no set, with no label.
        items.push(
            json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": format!("n{n}") } }),
        );
    }
    let nodes = items.iter().filter(|item| item["kind"] == "Node").count();
    let page = html(&whole.to_string());
    let chart = page.split("<ul class=\"chart\">").nth(1).unwrap();
    let chart = chart.split("</ul>").next().unwrap();
    let counted = chart.split("<span class=\"soft\">").skip(1).map(|part| {
        let number = part.split(' ').next().unwrap();
        number.parse::<usize>().unwrap()
    });
    assert_eq!(counted.sum::<usize>(), nodes, "{chart}");
}

/// A change for a repository is in Markdown, too, as a file that no name ends.
#[test]
fn markdown_has_the_file_for_the_repository() {
    let from = "tests/data/cases/set-of-argocd";
    let (out, ..) = audit(&[
        "--policy",
        "tests/data/cases/policy.json",
        "--from",
        from,
        "-o",
        "markdown",
    ]);
    let file = out
        .split("\n\n  ```yaml\n")
        .nth(1)
        .unwrap_or_else(|| panic!("{out}"));
    let file = file.split("\n  ```\n").next().unwrap();
    let (json, ..) = audit(&[
        "--policy",
        "tests/data/cases/policy.json",
        "--from",
        from,
        "-o",
        "json",
    ]);
    let found: Value = serde_json::from_str(&json).unwrap();
    let patch = &found["sets"][0]["patchFile"];
    let lines = file
        .lines()
        .map(|line| line.strip_prefix("  ").unwrap_or(line));
    let lines: Vec<&str> = lines.collect();
    assert_eq!(
        lines,
        patch["text"].as_str().unwrap().lines().collect::<Vec<_>>()
    );
    assert!(
        out.contains(&format!("\n\n  `{}`:\n", patch["name"].as_str().unwrap())),
        "{out}"
    );
}

#[test]
fn wide_says_what_could_be_kept() {
    let (out, ..) = audit(&["--policy", POLICY, "-o", "wide", "--from", AWS]);
    let said = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains(
            "upkeep the cluster could keep its image up to date, and does not (`managedBootImages`)"
        ),
        "{out}"
    );
    assert!(
        said.contains("To have the cluster keep the images up to date"),
        "{out}"
    );
}

#[test]
fn rows_of_csv_have_release_and_infrastructure() {
    let from = "tests/data/cases/set-of-argocd";
    for from in [from, AWS] {
        let (json, ..) = audit(&["--policy", POLICY, "--from", from, "-o", "json"]);
        let found: Value = serde_json::from_str(&json).unwrap();
        let (out, ..) = audit(&["--policy", POLICY, "--from", from, "-o", "csv"]);
        let mut reader = csv::Reader::from_reader(out.as_bytes());
        let head: Vec<String> = reader
            .headers()
            .unwrap()
            .iter()
            .map(str::to_owned)
            .collect();
        let last = [
            "release",
            "infrastructureName",
            "rowName",
            "refusedFrom",
            "knownIssues",
        ];
        assert_eq!(head[head.len() - 5..], last);
        for row in reader.records() {
            let row = row.unwrap();
            let text = |name: &str| found["origin"][name].as_str().unwrap_or_default();
            let cells: Vec<&str> = row.iter().skip(head.len() - 5).take(2).collect();
            assert_eq!(cells, [text("release"), text("infrastructureName")]);
        }
    }
}

/// GitHub takes 65,536 characters for a comment: what is left out is counted, refused sets come first.
#[test]
fn markdown_fits_a_comment() {
    let whole: Value = serde_json::from_str(&fixture("aws.json")).unwrap();
    let mut items = whole["items"].as_array().unwrap().clone();
    let is_old =
        |object: &&Value| object["kind"] == "MachineSet" && object["metadata"]["name"] == "c1-old";
    let old = items.iter().find(is_old).unwrap().clone();
    for n in 0..400 {
        let mut set = old.clone();
        set["metadata"]["name"] = format!("c1-more-{n}").into();
        if n >= 40 {
            let ami = format!("ami-{n:017x}");
            set["spec"]["template"]["spec"]["providerSpec"]["value"]["ami"]["id"] = ami.into();
        }
        items.push(set);
    }
    let text = json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string();
    let (out, ..) = audit_text(&text, &["-o", "markdown", "--target", "4.22"]);
    assert!(out.len() <= 65_536, "{}", out.len());
    let left_out = out.lines().find(|line| line.starts_with("And ")).unwrap();
    assert!(
        left_out.ends_with(" unknown more: `-o csv` has all.") && !left_out.contains("refused"),
        "{left_out}"
    );
    let rows: Vec<&str> = out.lines().filter(|line| line.starts_with("| ")).collect();
    let refused = rows
        .iter()
        .filter(|row| row.starts_with("| refused"))
        .count();
    assert_eq!(refused, 41);
}
