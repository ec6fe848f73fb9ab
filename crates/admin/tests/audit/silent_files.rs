//! Files of a folder that say something of sets, whatever they are called: none is passed over in silence.

use super::audit;
use super::real::{aws, gcp, list, machine_set};
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;

const OLD: &str = "projects/rhcos-cloud/global/images/rhcos-412-86-202301311551-0-gcp-x86-64";
const NEW: &str = "projects/rhcos-cloud/global/images/rhcos-418-94-202501221327-0-gcp-x86-64";

fn set(name: &str, image: &str, version: Option<&str>) -> Value {
    let mut set = machine_set(name, &gcp(image));
    set["metadata"]["resourceVersion"] = json!(version);
    set
}

/// The audit at 4.22 of a folder with these files.
fn folder(files: &[(&str, String)]) -> (Value, Exit) {
    let desk = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(desk.path().join(name), text).unwrap();
    }
    let from = desk.path().to_str().unwrap();
    let (out, err, exit) = audit(&["--target", "4.22", "--from", from, "-o", "json"]);
    (
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}")),
        exit,
    )
}

#[test]
fn a_file_beside_good_ones_is_named() {
    let good = || ("good.json", list([set("good", NEW, Some("1"))]));
    assert_eq!(folder(&[good()]).1, Exit::Done);
    let failure = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "forbidden",
        "details": { "kind": "machinesets", "group": "machine.openshift.io" } });
    let chart = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: h}\nspec:\n  values:\n    objects:\n    \
        - apiVersion: machine.openshift.io/v1beta1\n      kind: MachineSet\n      metadata: {name: bad}\n      spec:\n        template:\n          spec: {}\n";
    let mut odd = set("bad", OLD, None);
    odd["apiVersion"] = json!("machine.openshift.oi/v1beta1");
    for (name, text, wanted) in [
        ("machinesets.json", String::new(), Exit::Failed),
        ("nodepools.yaml", "\n".to_owned(), Exit::Failed),
        ("x.json", failure.to_string(), Exit::Failed),
        ("x.json", list([failure]), Exit::Failed),
        ("x.json", json!({ "apiVersion": "v1", "kind": "List" }).to_string(), Exit::Done),
        ("machinesets.machine.openshift.io.json", json!({ "apiVersion": "v1", "kind": "List" }).to_string(), Exit::Failed),
        ("machinesets.machine.openshift.io.yaml", "apiVersion: v1\nkind: List\n".to_owned(), Exit::Failed),
        ("chart.yaml", chart.to_owned(), Exit::Failed),
        ("odd.json", odd.to_string(), Exit::Unknown),
        ("x.jsonl", format!("{}\n{}\n", set("a", NEW, None), set("bad", OLD, None)), Exit::Refused),
        ("x.ndjson", set("bad", OLD, None).to_string(), Exit::Refused),
        // Nothing of sets.
        ("values.yaml", String::new(), Exit::Done),
        ("event.yaml", "apiVersion: v1\nkind: Event\nmetadata: {name: e}\ninvolvedObject:\n  kind: MachineSet\n  name: c\n".to_owned(), Exit::Done),
    ] {
        let (found, exit) = folder(&[good(), (name, text)]);
        assert_eq!(exit, wanted, "{name}: {}", found["unread"]);
    }
}

/// Kubernetes, "Resource versions": a number that grows. What has none is neither older nor newer.
#[test]
fn of_two_copies_the_newer_counts_or_none() {
    for (old, new, wanted) in [
        (Some("100"), Some("200"), Exit::Refused),
        (Some("100"), None, Exit::Failed),
        (None, Some("200"), Exit::Refused),
        (Some("100"), Some(""), Exit::Failed),
        (Some("100"), Some("abc"), Exit::Failed),
        (Some("100"), Some("100"), Exit::Failed),
    ] {
        let (first, second) = (set("s", NEW, old), set("s", OLD, new));
        for [a, b] in [[&first, &second], [&second, &first]] {
            let (found, exit) =
                folder(&[("a.json", list([a.clone()])), ("b.json", list([b.clone()]))]);
            assert_eq!(exit, wanted, "{old:?} {new:?}: {found}");
        }
    }
    // The same, once with what `oc get` hides.
    let mut whole = set("s", NEW, Some("100"));
    whole["metadata"]["managedFields"] = json!([{ "manager": "machineset-controller" }]);
    let both = [
        ("a.json", list([whole])),
        ("b.json", list([set("s", NEW, Some("100"))])),
    ];
    assert_eq!(folder(&both).1, Exit::Done);
}

#[test]
fn streams_that_contradict_each_other_say_nothing() {
    let desk = tempfile::tempdir().unwrap();
    let file = |name: &str, text: String| {
        let path = desk.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let stream = |release: &str| {
        let image = json!({ "release": release, "image": "ami-1" });
        json!({ "stream": "rhcos-4.18", "metadata": { "last-modified": "2025-01-23T00:00:00Z" }, "architectures": { "x86_64": {
            "artifacts": { "aws": { "release": release, "formats": {} } },
            "images": { "aws": { "regions": { "us-east-2": image } } } } } })
        .to_string()
    };
    let objects = file("o.json", list([machine_set("s", &aws("ami-1"))]));
    let (old, new) = (
        file("old.json", stream("412.86.202301311551-0")),
        file("new.json", stream("418.94.202501221327-0")),
    );
    for (streams, wanted) in [
        ([&old, &old], Exit::Refused),
        ([&new, &new], Exit::Done),
        ([&old, &new], Exit::Unknown),
        ([&new, &old], Exit::Unknown),
    ] {
        let named = [
            "--target",
            "4.22",
            "--from",
            &objects,
            "--streams",
            streams[0],
            streams[1],
        ];
        assert_eq!(audit(&named).2, wanted, "{streams:?}");
    }
}
