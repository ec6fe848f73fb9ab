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
    assert_eq!(names(&["--only", "refused"]), ["c1-old", "c1-reported"]);
    assert_eq!(
        names(&["--only", "unknown"]),
        ["c1-unknown", "c1-wrong-region"]
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

/// Machines that were made and have not joined, with their set.
#[test]
fn machines_that_do_not_come_up_are_named() {
    let mut whole: Value = serde_json::from_str(&fixture("aws.json")).unwrap();
    let stuck = json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": { "name": "c1-old-x", "namespace": "openshift-machine-api", "creationTimestamp": "2026-01-02T03:04:05Z",
            "ownerReferences": [{ "kind": "MachineSet", "name": "c1-old" }] },
        "spec": {}, "status": { "phase": "Provisioned", "lastUpdated": "2026-01-02T03:14:05Z" } });
    whole["items"].as_array_mut().unwrap().push(stuck);
    let (out, _, _) = audit_text(&whole.to_string(), &[]);
    let says = "not joined: Machine openshift-machine-api/c1-old-x of MachineSet c1-old is Provisioned since";
    assert!(
        out.contains(says) && out.contains("2026-01-02T03:14:05Z"),
        "{out}"
    );
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
    assert!(page.contains("<svg ") && page.contains("412.86.202301311551-0"));
    assert_eq!(
        page.matches("<td class=\"verdict refused\">refused</td>")
            .count(),
        2
    );
}
