//! vSphere: the operator swaps a template under its name, so that neither the name nor an older node says
//! what is in it.

use super::real::{audited, list};
use super::{audit, items, run};
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;

const CASE: &str = "vsphere-template-swapped";
const POLICY: [&str; 2] = ["--policy", "tests/data/cases/policy.json"];

/// The case's objects, changed.
fn changed(change: impl Fn(&mut Value)) -> Vec<Value> {
    let mut all = items(CASE);
    all.iter_mut().for_each(change);
    all
}

fn set(found: &Value, name: &str) -> Value {
    let sets = found["sets"].as_array().unwrap();
    sets.iter().find(|set| set["name"] == name).unwrap().clone()
}

#[test]
fn a_template_that_the_operator_keeps_is_unknown() {
    let from = format!("tests/data/cases/{CASE}");
    let wide = [&POLICY[..], &["--from", &from, "-o", "wide"]].concat();
    let (text, err, exit) = audit(&wide);
    assert_eq!((err.as_str(), exit), ("", Exit::Unknown));
    crate::support::expected::assert_file("audit/expected/vsphere-template-swapped.txt", &text);
    for never in ["oc patch", "Manual", "REFUSED"] {
        assert!(!text.contains(never), "{never}: {text}");
    }
    let (script, ..) =
        audit(&[&POLICY[..], &["--from", &from, "--print-commands", "fix"]].concat());
    assert!(!script.contains("oc patch"), "{script}");
}

#[test]
fn it_denies_no_machine() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("o.json"), list(items(CASE))).unwrap();
    let (json, ..) = audit(&[&POLICY[..], &["--from", &path("o.json"), "-o", "json"]].concat());
    std::fs::write(path("a.json"), json).unwrap();
    let args = ["render", "admission", "--audit", &path("a.json")];
    let (out, err, exit) = run(&[&args[..], &POLICY].concat());
    assert_eq!(exit, Exit::Done, "{err}");
    assert!(out.contains("# Refused images: 0."), "{out}");
}

/// A Machine of after the operator's last update was made from what is in the template now.
#[test]
fn a_machine_that_was_made_since_knows_the_template() {
    let made = |time: &str, change: &dyn Fn(&mut Value)| {
        let items = changed(|item| {
            if item["kind"] == "Machine" {
                item["metadata"]["creationTimestamp"] = json!(time);
            }
            change(item);
        });
        let (found, _) = audited(items, &[]);
        let set = set(&found, "c1-x7k2p-a");
        (
            set["knownBy"].clone(),
            set["verdict"].clone(),
            set["upkeep"]["rule"].clone(),
        )
    };
    let says = |by: &str, verdict: &str, rule: &str| (json!(by), json!(verdict), json!(rule));
    let unknown = says("Unknown", "Undetermined", "Selected");
    let same = |_: &mut Value| {};
    assert_eq!(made("2026-10-01T02:29:59Z", &same), unknown);
    // Then the operator and the node contradict each other.
    assert_eq!(
        made("2026-10-01T02:30:01Z", &same),
        says("Node", "Refused", "Behind")
    );
    let new = |item: &mut Value| {
        if item["kind"] == "Node" {
            item["metadata"]["labels"]["skewguard.dev/boot-image"] = json!("9.6.20251015-1");
        }
    };
    assert_eq!(
        made("2026-10-01T02:30:01Z", &new),
        says("Node", "Allowed", "Selected")
    );
    // While the operator works, and before it did for this release, nothing is known.
    let progressing = |item: &mut Value| {
        if item["kind"] == "MachineConfiguration" {
            item["status"]["conditions"][0]["status"] = json!("True");
        }
    };
    let before = |item: &mut Value| {
        if item["kind"] == "MachineConfiguration" {
            item["status"]["conditions"][0]["lastTransitionTime"] = json!("2026-09-30T00:00:00Z");
        }
    };
    for change in [&progressing as &dyn Fn(&mut Value), &before] {
        assert_eq!(made("2026-10-01T02:30:01Z", change), unknown);
    }
}

/// What the operator does not select stays what it was.
#[test]
fn a_template_that_nobody_keeps_is_known_by_its_nodes_and_its_name() {
    let items = changed(|item| {
        if item["kind"] == "MachineConfiguration" {
            let managers = &mut item["status"]["managedBootImagesStatus"]["machineManagers"];
            managers[0]["selection"]["mode"] = json!("None");
        }
    });
    let (found, exit) = audited(items, &[]);
    assert_eq!(exit, Exit::Refused);
    for (name, by) in [("c1-x7k2p-a", "Node"), ("c1-x7k2p-b", "ImageName")] {
        let set = set(&found, name);
        assert_eq!(
            (&set["verdict"], &set["knownBy"]),
            (&json!("Refused"), &json!(by))
        );
    }
}

/// Machines that name the same template are made from the same.
#[test]
fn a_control_plane_of_the_same_template_is_unknown_too() {
    let mut items = changed(|item| {
        if item["kind"] == "Infrastructure" {
            let domains = &mut item["spec"]["platformSpec"]["vsphere"]["failureDomains"];
            domains[0]["topology"]["template"] = json!("/dc1/vm/c1-x7k2p-rhcos-fd-1");
        }
    });
    items.push(json!({ "apiVersion": "machine.openshift.io/v1", "kind": "ControlPlaneMachineSet",
        "metadata": { "name": "cluster", "namespace": "openshift-machine-api", "uid": "cpms" },
        "spec": { "state": "Active", "replicas": 3, "template": { "machineType": "machines_v1beta1_machine_openshift_io",
            "machines_v1beta1_machine_openshift_io": { "failureDomains": { "platform": "VSphere", "vsphere": [{ "name": "fd-1" }] },
            "spec": { "providerSpec": { "value": { "kind": "VSphereMachineProviderSpec", "template": "", "userDataSecret": { "name": "master-user-data" } } } } } } } }));
    let (found, _) = audited(items, &[]);
    let set = set(&found, "cluster");
    assert_eq!(
        (&set["verdict"], &set["knownBy"]),
        (&json!("Undetermined"), &json!("Unknown")),
        "{set}"
    );
    assert!(
        set["message"].as_str().unwrap().contains("under its name"),
        "{set}"
    );
}
