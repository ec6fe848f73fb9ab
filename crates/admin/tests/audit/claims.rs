//! Claims decide nothing: reports, which anybody with the bootstrap identity can make, and a node's own
//! label, where another node of the same image contradicts it.

use super::real::{audited, aws, joined, list, machine_set};
use super::{audit, run};
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;

const POLICY: &str = "tests/data/cases/policy.json";
const OLD: &str = "412.86.202301311551-0";
const OLDER: &str = "410.84.202205191234-0";
const NEW: &str = "9.6.20251015-1";

/// What the command says of a case.
fn case(name: &str, more: &[&str]) -> (String, Exit) {
    let from = format!("tests/data/cases/{name}");
    let (out, err, exit) = audit(&[&["--policy", POLICY, "--from", &from], more].concat());
    assert_eq!(err, "");
    (out, exit)
}

/// The number of images that `render admission` refuses after this audit, and what it says of others.
fn denied(objects: &str) -> (String, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("objects.json"), objects).unwrap();
    let from = path("objects.json");
    let (audit, err, _) = audit(&["--policy", POLICY, "--from", &from, "-o", "json"]);
    assert_eq!(err, "");
    std::fs::write(path("audit.json"), audit).unwrap();
    let audit = path("audit.json");
    let (out, err, exit) = run(&["render", "admission", "--policy", POLICY, "--audit", &audit]);
    assert_eq!(exit, Exit::Done, "{err}");
    let count = out
        .lines()
        .find(|line| line.starts_with("# Refused images"));
    (count.unwrap().to_owned(), err)
}

fn of_case(name: &str) -> String {
    std::fs::read_to_string(format!("tests/data/cases/{name}/objects.json")).unwrap()
}

#[test]
fn a_report_alone_refuses_nothing_and_patches_nothing() {
    let (text, exit) = case("report-makes-a-patch", &["-o", "wide"]);
    assert_eq!(exit, Exit::Unknown);
    // How long the Machine waits depends on the day.
    let text = text.split("\nnot joined").next().unwrap();
    crate::support::expected::assert_file("audit/expected/report-makes-a-patch.txt", text);
    let (script, _) = case("report-makes-a-patch", &["--print-commands", "fix"]);
    assert!(!script.contains("oc patch"), "{script}");
    let (json, _) = case("report-makes-a-patch", &["-o", "json"]);
    let found: Value = serde_json::from_str(&json).unwrap();
    let set = &found["sets"][0];
    for absent in ["bootImage", "patch", "patchFile", "remedy", "wantImage"] {
        assert_eq!(set.get(absent), None, "{absent}: {set}");
    }
    assert_eq!(
        (&set["verdict"], &set["knownBy"], found.get("oldest")),
        (&json!("Undetermined"), &json!("Report"), None)
    );
    assert_eq!(
        denied(&of_case("report-makes-a-patch")).0,
        "# Refused images: 0."
    );
}

/// A node that joined says itself what it was made from.
#[test]
fn a_report_about_a_machine_with_a_node_says_nothing() {
    let made = |status: Value, node: Value| {
        let text = of_case("report-makes-a-patch");
        let list: Value = serde_json::from_str(&text).unwrap();
        let mut items = list["items"].as_array().unwrap().clone();
        let is_machine = |item: &&mut Value| item["kind"] == "Machine";
        let machine = items.iter_mut().find(is_machine).unwrap();
        machine["status"]["nodeRef"] = status;
        items.push(node);
        let (found, exit) = audited(items, &[]);
        (found["sets"][0].clone(), exit)
    };
    let node = |machine: &str| {
        json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n",
            "annotations": { "machine.openshift.io/machine": machine } } })
    };
    let (set, _) = made(Value::Null, node("openshift-machine-api/other"));
    assert_eq!(set["knownBy"], "Report", "{set}");
    for (status, node) in [
        (json!({ "name": "n" }), node("openshift-machine-api/other")),
        (Value::Null, node("openshift-machine-api/c1-w-abcde")),
    ] {
        let (set, exit) = made(status, node);
        assert_eq!(set["knownBy"], "Unknown", "{set}");
        assert_ne!(exit, Exit::Refused);
        assert!(!set.to_string().contains("BootImageReport"), "{set}");
    }
}

#[test]
fn a_label_that_another_node_contradicts_refuses_nothing() {
    let (text, exit) = case("label-of-one-node", &["-o", "wide"]);
    assert_eq!(exit, Exit::Unknown);
    crate::support::expected::assert_file("audit/expected/label-of-one-node.txt", &text);
    assert_eq!(
        denied(&of_case("label-of-one-node")).0,
        "# Refused images: 0."
    );
}

/// Neither label is more than the other where nothing refuses today.
#[test]
fn a_contradicted_label_is_no_version_without_a_policy() {
    let from = "tests/data/cases/label-of-one-node";
    let [one, other] = ["410.8.20190520.0", OLD];
    for form in [
        "json", "text", "wide", "html", "markdown", "junit", "csv", "sarif", "yaml",
    ] {
        let (out, err, exit) = audit(&["--from", from, "-o", form]);
        assert_eq!((err.as_str(), exit), ("", Exit::Unknown), "{form}");
        for label in [one, other] {
            assert!(out.contains(label), "{form}: {label}: {out}");
        }
    }
    let (out, ..) = audit(&["--from", from, "-o", "json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    let set = &found["sets"][0];
    assert_eq!(set["verdict"], "Undetermined");
    assert_eq!(
        (set.get("bootImage"), set.get("refusedFrom")),
        (None, None),
        "{set}"
    );
    let says = format!(
        "Node c1-worker-2 says {one}, and Node c1-worker-1, made from the same image, {other}"
    );
    assert!(set["message"].as_str().unwrap().contains(&says), "{set}");
    let (text, ..) = audit(&["--from", from]);
    assert!(!text.contains("allowed"), "{text}");
}

/// An image that was replaced by a newer one, under its name, is the newer one: unless both are refused later. An
/// AMI is never replaced.
#[test]
fn a_replaced_image_is_the_newer_one_where_nothing_refuses_it() {
    let again = "9.6.20250826-1";
    for (named, labels, verdict, version) in [
        (name(), &[OLD, NEW][..], "Allowed", Some(NEW)),
        (ami(), &[OLD, NEW], "Undetermined", None),
        (name(), &[OLDER, OLD], "Undetermined", None),
        (name(), &[NEW, OLD], "Undetermined", None),
        (name(), &[again, NEW, again], "Undetermined", None),
        (name(), &[OLD, OLD], "Allowed", Some(OLD)),
        (ami(), &[OLD, OLD], "Allowed", Some(OLD)),
    ] {
        let items = [vec![version_of("4.21.3")], labelled(&named, labels)].concat();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("objects.json");
        std::fs::write(&path, list(items)).unwrap();
        let (out, err, _) = audit(&["--from", path.to_str().unwrap(), "-o", "json"]);
        let found: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
        let set = &found["sets"][0];
        assert_eq!(
            (
                set["verdict"].as_str(),
                set["bootImage"]["version"].as_str()
            ),
            (Some(verdict), version),
            "{labels:?}: {set}"
        );
        let later = set["refusedFrom"].as_str();
        assert_eq!(later.is_some(), version == Some(OLD), "{labels:?}: {set}");
    }
}

fn version_of(release: &str) -> Value {
    json!({ "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": { "name": "version" },
        "status": { "desired": { "version": release } } })
}

/// An image whose name may be given to another one, and one whose name may not.
fn name() -> Value {
    json!({ "kind": "NutanixMachineProviderConfig", "image": { "type": "name", "name": "golden" } })
}

fn ami() -> Value {
    aws("ami-0123456789abcdef0")
}

/// A set whose image only its nodes know, with these labels, the oldest node first.
fn labelled(provider: &Value, labels: &[&str]) -> Vec<Value> {
    let mut items = vec![machine_set("w", provider)];
    for (n, label) in labels.iter().enumerate() {
        let [mut machine, mut node] = joined("w", provider, label);
        let name = format!("w-{n}");
        machine["metadata"]["name"] = json!(name);
        machine["status"]["nodeRef"]["name"] = json!(name);
        node["metadata"]["name"] = json!(name);
        node["metadata"]["annotations"]["machine.openshift.io/machine"] =
            json!(format!("openshift-machine-api/{name}"));
        node["metadata"]["creationTimestamp"] = json!(format!("2026-01-0{}T00:00:00Z", n + 1));
        items.extend([machine, node]);
    }
    items
}

#[test]
fn labels_refuse_where_all_nodes_of_the_image_agree() {
    for (labels, verdict, says) in [
        (&[OLD][..], "Refused", "boot image is OCP 4.12"),
        (&[OLD, OLD], "Refused", "boot image is OCP 4.12"),
        (
            &[NEW, OLD],
            "Undetermined",
            "Node w-1 says 412.86.202301311551-0, and Node w-0, made from the same image, 9.6.20251015-1",
        ),
        (
            &[OLDER, OLD, OLD],
            "Undetermined",
            "Node w-2 says 412.86.202301311551-0, and Node w-0, made from the same image, 410.84.202205191234-0",
        ),
        (
            &[OLDER, NEW, OLD],
            "Undetermined",
            "Node w-1, made from the same image, 9.6.20251015-1, and 1 more say another",
        ),
        // The image was replaced, which is no denial.
        (&[OLD, NEW], "Allowed", ""),
    ] {
        let (found, _) = audited(labelled(&name(), labels), &[]);
        let set = &found["sets"][0];
        assert_eq!(set["verdict"], verdict, "{labels:?}: {set}");
        assert!(
            set["message"].as_str().unwrap().contains(says),
            "{labels:?}: {set}"
        );
        let images = if verdict == "Refused" { 1 } else { 0 };
        let (count, _) = denied(&list(labelled(&name(), labels)));
        assert_eq!(count, format!("# Refused images: {images}."), "{labels:?}");
        let oldest = found["oldest"]["bootImage"]["version"].as_str();
        let version = set["bootImage"]["version"].as_str();
        assert_eq!(oldest, version, "{labels:?}");
    }
}

/// Of two nodes that were made in one second neither is the newer.
#[test]
fn nodes_of_one_time_contradict_each_other() {
    for provider in [name(), ami()] {
        let mut items = labelled(&provider, &[OLD, NEW]);
        for item in &mut items {
            item["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        let (found, exit) = audited(items, &[]);
        let set = &found["sets"][0];
        assert_eq!(
            (set["verdict"].as_str(), exit),
            (Some("Undetermined"), Exit::Unknown)
        );
    }
}

/// Somebody read the file on the node; the node labels itself.
#[test]
fn an_aleph_file_ends_a_contradiction() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    write("objects.json", &list(labelled(&ami(), &[NEW, OLD])));
    let from = dir.path().to_str().unwrap();
    for (version, verdict) in [(OLD, "Refused"), (NEW, "Allowed")] {
        write("w-1.aleph.json", &json!({ "version": version }).to_string());
        let (out, err, _) = audit(&["--policy", POLICY, "--from", from, "-o", "json"]);
        let found: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
        let set = &found["sets"][0];
        assert_eq!(
            (&set["verdict"], &set["knownBy"]),
            (&json!(verdict), &json!("Aleph"))
        );
    }
}

/// What a Machine that runs was made from is not what its spec names by now: that image is not denied.
#[test]
fn an_image_is_not_denied_for_a_machine_that_was_made_from_another() {
    let master = |n: usize, label: &str| {
        let named = json!({ "kind": "VSphereMachineProviderSpec", "template": "rhcos-418.94.202501221327-0-vmware.x86_64" });
        let [mut machine, mut node] = joined("m", &named, label);
        let name = format!("m-{n}");
        machine["metadata"] = json!({ "name": name, "namespace": "openshift-machine-api" });
        machine["status"]["nodeRef"]["name"] = json!(name);
        node["metadata"]["name"] = json!(name);
        [machine, node]
    };
    for (labels, verdict) in [
        (&[OLD][..], "Refused"),
        (&[OLD, OLD], "Refused"),
        (&[OLD, "418.94.202501221327-0"], "Undetermined"),
    ] {
        let items = || {
            labels
                .iter()
                .enumerate()
                .flat_map(|(n, label)| master(n, label))
        };
        let (found, _) = audited(items(), &[]);
        let set = &found["sets"][0];
        assert_eq!(
            (&set["verdict"], &set["madeFromAnother"]),
            (&json!(verdict), &json!(true)),
            "{set}"
        );
        let (count, warnings) = denied(&list(items()));
        assert_eq!(count, "# Refused images: 0.", "{labels:?}");
        assert_eq!(
            warnings.contains("were made from another image"),
            verdict == "Refused",
            "{warnings}"
        );
    }
}
