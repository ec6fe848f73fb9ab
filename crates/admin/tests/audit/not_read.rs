//! What was not read: it makes a row unknown or the audit incomplete, and never a row better or more certain.

use super::{audit, run};
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;

/// The audit of a case or of one of its files, by the limits that a policy starts with.
fn absent(name: &str, more: &[&str]) -> (Value, Exit) {
    let from = format!("tests/data/cases/{name}");
    let (out, err, exit) = audit(&[&["--from", &*from, "-o", "json"], more].concat());
    let audit = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{name}: {err}"));
    (audit, exit)
}

/// The verdict and the message of a row.
fn row<'a>(audit: &'a Value, name: &str) -> (&'a str, &'a str) {
    let sets = audit["sets"].as_array().unwrap();
    let set = sets.iter().find(|set| set["name"] == *name).unwrap();
    (
        set["verdict"].as_str().unwrap(),
        set["message"].as_str().unwrap(),
    )
}

fn unread(audit: &Value) -> Vec<(&str, &str)> {
    let all = audit["unread"].as_array().into_iter().flatten();
    all.map(|one| (one["what"].as_str().unwrap(), one["why"].as_str().unwrap()))
        .collect()
}

#[test]
fn a_row_is_unknown_where_what_would_decide_was_not_read() {
    for (name, set, message) in [
        (
            "karpenter-without-infrastructure",
            "default",
            "its release is unknown: Infrastructure cluster, which says whether the cluster is hosted, was not read",
        ),
        (
            "vsphere-without-infrastructure",
            "c1-x7k2p-a",
            "the version is unknown: the Machine Config Operator may put images into the template, under its name: what says so was not read",
        ),
        (
            "user-data-not-read",
            "c1-worker-a",
            "maybe no node comes up from it: the user data (Secret worker-user-data, not read) is most likely of Ignition spec 3.2.0, because the cluster was installed as 4.10.1, and the Ignition of 46.82.202011260640-0 reads specs up to 3.1.0 alone: the node stops in the initramfs, before any agent",
        ),
        (
            "image-of-spec-2-secret-not-read",
            "w",
            "maybe no node comes up from it: the user data (Secret worker-user-data, not read) is most likely of Ignition spec 3, because the cluster was installed as 4.8.11, and the Ignition of 42.80.20191002.0 reads spec 2 alone: the node stops in the initramfs, before any agent",
        ),
        (
            "control-plane-set-without-template",
            "cluster",
            "the version is unknown: the template names no image",
        ),
    ] {
        let (audit, exit) = absent(name, &[]);
        assert_eq!(row(&audit, set), ("Undetermined", message), "{name}");
        assert_eq!(exit, Exit::Unknown, "{name}");
    }
}

/// A cluster that was installed with images of spec 2, and whose user data somebody may have converted.
#[test]
fn user_data_that_was_not_read_may_have_been_converted() {
    let case = "tests/data/cases/image-of-spec-2-secret-not-read/objects.json";
    let objects = std::fs::read_to_string(case).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("objects.json");
    std::fs::write(&file, objects.replace("4.8.11", "4.2.10")).unwrap();
    let (out, _, exit) = audit(&["--from", file.to_str().unwrap(), "-o", "json"]);
    let message = "maybe no node comes up from it: the user data (Secret worker-user-data, not read) may have been converted to spec 3, which the Ignition of 42.80.20191002.0 does not read";
    let found = serde_json::from_str(&out).unwrap();
    assert_eq!(row(&found, "w"), ("Undetermined", message));
    assert_eq!(exit, Exit::Unknown);
}

#[test]
fn what_is_named_and_was_not_read_makes_the_audit_incomplete() {
    let within = |within: &str| {
        format!("it is within {within}: name what is in it, as objects of their own")
    };
    for (name, what, why) in [
        (
            "newest-node-not-read/without-it.json",
            "Node c1-worker-2",
            "it was not read, though a Machine names it".to_owned(),
        ),
        (
            "host-installed-nodes-not-read",
            "Nodes",
            "they were not read, though a host is installed".to_owned(),
        ),
        ("list-in-a-list", "MachineSet", within("List")),
        ("sets-in-a-template", "MachineSet", within("Template t")),
    ] {
        let (audit, exit) = absent(name, &[]);
        let unread = unread(&audit);
        let is_it = |one: &&(&str, &str)| one.0.starts_with(what) && one.1.starts_with(&*why);
        assert!(unread.iter().any(|one| is_it(&one)), "{name}: {unread:?}");
        assert_eq!(exit, Exit::Failed, "{name}");
    }
    let (audit, _) = absent("newest-node-not-read/without-it.json", &[]);
    assert_eq!(row(&audit, "c1-worker").0, "Undetermined");
}

/// An image up to 4.5 is itself the sign of user data of spec 2.
#[test]
fn an_image_of_spec_2_alone_makes_no_bare_patch() {
    let more = ["--target", "4.22"];
    let (audit, exit) = absent("set-of-4.1-alone", &more);
    let set = &audit["sets"][0];
    assert_eq!(
        (set["patch"].clone(), set["effect"].clone(), exit),
        (Value::Null, json!("needsFirst"), Exit::Refused)
    );
    let (script, _, _) = run(&[
        "audit",
        "--from",
        "tests/data/cases/set-of-4.1-alone",
        "--target",
        "4.22",
        "--print-commands",
        "fix",
        "--any-release",
    ]);
    assert!(
        !script.lines().any(|line| line.starts_with("oc patch")),
        "{script}"
    );
}

/// Half an image of a marketplace is not none.
#[test]
fn half_an_image_is_an_image() {
    let image = json!({ "type": "AzureMarketplace", "azureMarketplace": { "publisher": "azureopenshift", "offer": "aro4" } });
    let platform = json!({ "type": "Azure", "azure": { "image": image } });
    let pool = json!({ "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool", "metadata": { "name": "p", "namespace": "clusters" },
        "spec": { "replicas": 1, "platform": platform, "release": { "image": "quay.io/openshift-release-dev/ocp-release:4.20.1-x86_64" } },
        "status": { "version": "4.20.1" } });
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pool.json");
    std::fs::write(&file, pool.to_string()).unwrap();
    let (out, _, exit) = audit(&["--from", file.to_str().unwrap(), "-o", "json"]);
    let audit: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (audit["sets"][0]["verdict"].as_str(), exit),
        (Some("Undetermined"), Exit::Unknown)
    );
}

/// A linked folder is not followed, and named, as a linked file is.
#[cfg(unix)]
#[test]
fn a_linked_folder_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let [gather, other] = ["gather", "other"].map(|name| dir.path().join(name));
    std::fs::create_dir(&gather).unwrap();
    std::fs::create_dir(&other).unwrap();
    std::fs::copy(
        "tests/data/cases/list-in-a-list/objects.json",
        gather.join("objects.json"),
    )
    .unwrap();
    std::os::unix::fs::symlink(&other, gather.join("namespaces")).unwrap();
    // Also in an archive, and in an archive within the folder.
    let within = dir.path().join("within");
    std::fs::create_dir(&within).unwrap();
    let mut archive = tar::Builder::new(std::fs::File::create(within.join("g.tar")).unwrap());
    archive.follow_symlinks(false);
    archive.append_dir_all("gather", &gather).unwrap();
    archive.finish().unwrap();
    for from in [gather, within.join("g.tar"), within] {
        let (out, _, exit) = audit(&["--from", from.to_str().unwrap(), "-o", "json"]);
        let audit: Value = serde_json::from_str(&out).unwrap();
        let unread = unread(&audit);
        let [(what, why)] = unread[..] else {
            panic!("{from:?}: {unread:?}")
        };
        assert!(what.contains("gather/namespaces"), "{what}");
        let says = "is a link, which is not followed: name what it leads to";
        assert_eq!((why, exit), (says, Exit::Failed));
    }
}

/// The audit of these objects.
fn of(objects: &[Value]) -> (Value, Exit) {
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("objects.json");
    std::fs::write(&file, list.to_string()).unwrap();
    let (out, err, exit) = audit(&["--from", file.to_str().unwrap(), "-o", "json"]);
    let found = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
    (found, exit)
}

fn machine_set(name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
        "metadata": { "name": name, "namespace": "openshift-machine-api" },
        "spec": { "replicas": 1, "template": { "spec": { "providerSpec": { "value": spec } } } } })
}

/// An image is its whole reference, also where not all of it is shown.
#[test]
fn images_that_differ_in_what_is_hidden_are_two() {
    let spec = |n: u8| json!({ "kind": "OpenstackProviderSpec", "image": format!("http://images.example.com/own?build={n}") });
    let machine = json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": { "name": "a-1", "namespace": "openshift-machine-api",
            "ownerReferences": [{ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "name": "a", "uid": "x" }] },
        "spec": { "providerSpec": { "value": spec(1) } }, "status": { "nodeRef": { "kind": "Node", "name": "a-1" } } });
    let node = json!({ "apiVersion": "v1", "kind": "Node",
        "metadata": { "name": "a-1", "labels": { "skewguard.dev/boot-image": "418.94.202501221327-0" } } });
    let (found, exit) = of(&[
        machine_set("a", &spec(1)),
        machine_set("b", &spec(2)),
        machine,
        node,
    ]);
    let verdict = |name: &str| row(&found, name).0;
    assert_eq!(
        (verdict("a"), verdict("b"), exit),
        ("Allowed", "Undetermined", Exit::Unknown)
    );
}

/// Of two disks to boot from nobody can tell which one does.
#[test]
fn two_boot_disks_name_no_image() {
    let disk = |image: &str| json!({ "boot": true, "image": image });
    let new = "projects/rhcos-cloud/global/images/rhcos-9-6-20250523-0-gcp-x86-64";
    let disks = json!([disk(new), disk("projects/own/global/images/old")]);
    let spec = json!({ "kind": "GCPMachineProviderSpec", "disks": disks });
    let (found, exit) = of(&[machine_set("a", &spec)]);
    let said = "the version is unknown: the field of its image is no text, names it by half, or there are two";
    assert_eq!(
        (row(&found, "a"), exit),
        (("Undetermined", said), Exit::Unknown)
    );
}

/// A pool of Windows machines has no boot image of its release, as a set of them.
#[test]
fn a_windows_node_pool_is_left_out() {
    let pools = "tests/data/cases/nodepool-windows";
    let others = "tests/data/cases/hypershift-stock-and-pinned";
    let (out, err, exit) = audit(&["--from", pools, "--from", others, "-o", "json"]);
    let found: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{exit:?} {err}"));
    let sets = found["sets"].as_array().unwrap();
    assert!(sets.iter().all(|set| set["name"] != "win"), "{found}");
    let left = "1 set of Windows machines is left out: it has no boot image of the cluster's";
    let warnings = found["warnings"].as_array().unwrap();
    assert!(warnings.contains(&json!(left)), "{found}");
}

/// One whose image is of CoreOS contradicts itself.
#[test]
fn a_windows_node_pool_with_an_image_of_coreos_is_unknown() {
    let pool = |ami: &str| {
        let aws = json!({ "instanceType": "m5.large", "imageType": "Windows", "ami": ami });
        json!({ "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool", "metadata": { "name": "p", "namespace": "clusters" },
            "spec": { "replicas": 1, "platform": { "type": "AWS", "aws": aws }, "release": { "image": "quay.io/openshift-release-dev/ocp-release:4.22.4-x86_64" } },
            "status": { "version": "4.22.4" } })
    };
    let (audit, exit) = of(&[pool("ami-0e3df83cd6630da18")]);
    let why = "the version is unknown: it is labelled for Windows (machine.openshift.io/os-id, a NodePool's imageType), and its image is one of CoreOS";
    assert_eq!(row(&audit, "p"), ("Undetermined", why));
    assert_eq!(exit, Exit::Unknown);
    let (audit, _) = of(&[pool("ami-0e3df83cd6630da18"), {
        let mut other = pool("ami-00000000000000001");
        other["metadata"]["name"] = json!("q");
        other
    }]);
    assert_eq!(audit["sets"].as_array().unwrap().len(), 1);
}

/// A change of an input: kind and name of the object, and a path in it with its new value; without a value what is
/// there is taken away, and without a path the object.
type Edit<'a> = (&'a str, &'a str, &'a str, Option<Value>);

/// The objects of a case, changed.
fn changed(file: &str, edits: &[Edit<'_>]) -> Vec<Value> {
    let text = std::fs::read_to_string(format!("tests/data/cases/{file}")).unwrap();
    let list: Value = serde_json::from_str(&text).unwrap();
    let mut objects = list["items"].as_array().unwrap().clone();
    for (kind, name, path, value) in edits {
        let is_it = |object: &Value| object["kind"] == *kind && object["metadata"]["name"] == *name;
        let place = objects.iter().position(is_it);
        let place = place.unwrap_or_else(|| panic!("{file}: {kind} {name}"));
        match (path.rsplit_once('/'), value) {
            (None, _) => drop(objects.remove(place)),
            (Some((way, last)), value) => {
                let last = last.replace("~1", "/");
                let at = objects[place].pointer_mut(way).unwrap();
                match (at, value) {
                    (Value::Object(map), Some(value)) => {
                        map.insert(last, value.clone());
                    }
                    (Value::Object(map), None) => drop(map.remove(&last)),
                    (at, value) => at[last.parse::<usize>().unwrap()] = value.clone().unwrap(),
                }
            }
        }
    }
    objects
}

const WHOLE: &str = "newest-node-not-read/whole.json";
const CONTROL_PLANE: &str = "control-plane-set-without-template/objects.json";
const TEMPLATE: &str = "vsphere-template-swapped/objects.json";

/// What is missing, the row that it is about, and what is said: unknown, never better and never refused.
#[test]
fn what_is_taken_away_makes_a_row_unknown_and_says_so() {
    const LABEL: &str = "/metadata/labels/skewguard.dev~1boot-image";
    const IMAGE: &str = "/spec/providerSpec/value/image";
    let older = (
        "Node",
        "c1-worker-2",
        "/metadata/creationTimestamp",
        Some(json!("2024-01-01T00:00:00Z")),
    );
    let named = (
        "Node",
        "c1-worker-2",
        "/metadata/annotations/machine.openshift.io~1machine",
        Some(json!("openshift-machine-api/c1-worker-2")),
    );
    for (file, edits, set, exit, says) in [
        (
            WHOLE,
            &[("Node", "c1-worker-2", LABEL, None)][..],
            "c1-worker",
            Exit::Unknown,
            "Node c1-worker-2, the newest made from the same image, has no label",
        ),
        (
            WHOLE,
            &[older.clone(), ("Node", "c1-worker-1", LABEL, None)],
            "c1-worker",
            Exit::Unknown,
            "Node c1-worker-1, the newest made from the same image, has no label",
        ),
        (
            WHOLE,
            &[named, ("Machine", "c1-worker-2", "", None)],
            "c1-worker",
            Exit::Failed,
            "Node c1-worker-2, whose image is unknown, says 412.86.202301311551-0",
        ),
        (
            WHOLE,
            &[("Machine", "c1-worker-2", IMAGE, None)],
            "c1-worker",
            Exit::Unknown,
            "Node c1-worker-2, whose image is unknown, says 412.86.202301311551-0",
        ),
        (
            TEMPLATE,
            &[(
                "MachineConfiguration",
                "cluster",
                "/status/managedBootImagesStatus",
                None,
            )],
            "c1-x7k2p-a",
            Exit::Unknown,
            "the Machine Config Operator may put images into the template",
        ),
    ] {
        let (found, got) = of(&changed(file, edits));
        let (verdict, message) = row(&found, set);
        assert_eq!(
            (verdict, got),
            ("Undetermined", exit),
            "{edits:?}: {message}"
        );
        assert!(message.contains(says), "{edits:?}: {message}");
    }
}

/// A Machine says the image of a control plane's set only where the set's operator has replaced all others.
#[test]
fn a_machine_says_the_image_of_a_control_plane_that_is_rolled_out() {
    let set = |path, value: Value| ("ControlPlaneMachineSet", "cluster", path, Some(value));
    let of_release = |release: &str| {
        (
            "ClusterVersion",
            "version",
            "/status/history/0/version",
            Some(json!(release)),
        )
    };
    let rolled_out = [
        set("/spec/strategy/type", json!("RollingUpdate")),
        set("/status/updatedReplicas", json!(3)),
        of_release("4.20.3"),
    ];
    let verdict = |more: &[Edit<'_>]| {
        let (found, _) = of(&changed(CONTROL_PLANE, &[&rolled_out[..], more].concat()));
        row(&found, "cluster").0.to_owned()
    };
    assert_eq!(verdict(&[]), "Allowed");
    for more in [
        set("/spec/strategy/type", json!("OnDelete")),
        set("/spec/state", json!("Inactive")),
        set("/status/updatedReplicas", json!(2)),
        set("/metadata/uid", json!("u2")),
        // From 4.21 on it does not compare images.
        of_release("4.21.3"),
    ] {
        assert_eq!(
            verdict(std::slice::from_ref(&more)),
            "Undetermined",
            "{more:?}"
        );
    }
}

/// A checksum says that two references are one image, or that one is two.
#[test]
fn hosts_of_one_shown_url_are_told_apart() {
    let host = |name: &str, url: &str, checksum: &str| {
        json!({ "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": { "name": name, "namespace": "metal" },
            "spec": { "image": { "url": url, "checksum": checksum }, "userData": { "name": "worker-user-data" } } })
    };
    let (one, other) = ("1".repeat(64), "2".repeat(64));
    let (first, second) = (
        "https://m.example.com/os.raw?sig=a",
        "https://m.example.com/os.raw?sig=b",
    );
    let by_url = "https://m.example.com/sums";
    for (urls, sums, rows) in [
        ([first, second], [by_url, by_url], 2),
        ([first, second], [&*one, &*one], 1),
        ([first, first], [&*one, &*other], 2),
        ([first, first], [by_url, by_url], 1),
    ] {
        let (found, _) = of(&[host("h1", urls[0], sums[0]), host("h2", urls[1], sums[1])]);
        let sets = found["sets"].as_array().unwrap();
        let names: std::collections::BTreeSet<_> =
            sets.iter().map(|set| set["name"].to_string()).collect();
        assert_eq!((sets.len(), names.len()), (rows, rows), "{urls:?} {sums:?}");
    }
}

/// CSV has rows of sets alone: what was not read is said beside it.
#[test]
fn csv_says_beside_it_what_was_not_read() {
    let from = "tests/data/cases/list-in-a-list";
    let (_, err, exit) = audit(&["--from", from, "-o", "csv"]);
    assert_eq!(exit, Exit::Failed);
    assert!(err.starts_with("skewguard: not read: MachineSet "), "{err}");
}

/// A pool that was not read may serve another release: who reads the text alone is told, too.
#[test]
fn a_pool_that_was_not_read_is_said_in_every_text() {
    let from = "tests/data/cases/paused-pool";
    for form in ["text", "wide", "html", "markdown"] {
        let (out, ..) = audit(&["--from", from, "-o", form]);
        let says = "4.22.3 (pool master may serve another: it was not read)";
        assert!(out.contains(says), "{form}: {out}");
        // Who asks about another release gets the answer for that.
        let (out, ..) = audit(&["--from", from, "-o", form, "--target", "4.22.3"]);
        assert!(!out.contains("may serve another"), "{form}: {out}");
    }
}

/// A set without kind is named, in JSON and in YAML: it may be the one that is refused.
#[test]
fn a_set_without_kind_is_named_in_yaml_too() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    let good = std::fs::read_to_string("tests/data/cases/set-alone/vsphere-46.yaml").unwrap();
    write("good.yaml", &good);
    let bare = good.lines().filter(|line| !line.starts_with("kind:"));
    write(
        "bare.yaml",
        &format!("---\n{}\n", bare.collect::<Vec<_>>().join("\n")),
    );
    // What is no object of a cluster is passed over.
    write("values.yaml", "metadata:\n  name: chart\nreplicas: 3\n");
    let (out, _, exit) = audit(&["--from", dir.path().to_str().unwrap(), "-o", "json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    let all = unread(&found);
    assert!(
        all.iter()
            .all(|(what, why)| !what.contains("values.yaml") && why.contains("has no kind")),
        "{all:?}"
    );
    assert!((1..3).contains(&all.len()), "{all:?}");
    assert_eq!(exit, Exit::Failed);
}

/// Half of what a spec says of its image is no image that was left out, and no name: a Machine's does not count for it.
#[test]
fn half_of_a_specs_image_is_not_left_out() {
    let image = "projects/rhcos-cloud/global/images/rhcos-9-6-20251015-1-gcp-x86-64";
    let gcp = |disks: Value| json!({ "kind": "GCPMachineProviderSpec", "disks": disks });
    let azure = |image: Value| json!({ "kind": "AzureMachineProviderSpec", "image": image });
    let urn = |publisher: &str| json!({ "publisher": publisher, "offer": "aro4", "sku": "aro_417", "version": "417.94.20240701" });
    for (spec, other) in [
        (
            gcp(json!([{ "image": image }])),
            gcp(json!([{ "boot": true, "image": image }])),
        ),
        (
            gcp(json!([{ "boot": "true", "image": image }])),
            gcp(json!([{ "boot": true, "image": image }])),
        ),
        (azure(json!("x")), azure(urn("azureopenshift"))),
        (
            azure(json!({ "type": "MarketplaceNoPlan" })),
            azure(urn("azureopenshift")),
        ),
        (azure(urn("")), azure(urn("azureopenshift"))),
        (
            azure(json!({ "version": "417.94.20240701" })),
            azure(urn("azureopenshift")),
        ),
    ] {
        let mut machine = super::real::joined("w", &other, "417.94.202407010929-0");
        machine[0]["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        let objects = [vec![machine_set("w", &spec)], machine.to_vec()].concat();
        let (audit, exit) = of(&objects);
        assert_eq!(
            (row(&audit, "w").0, exit),
            ("Undetermined", Exit::Unknown),
            "{spec}: {audit}"
        );
    }
    // The same of NodePools.
    for platform in [
        json!({ "type": "KubeVirt", "kubevirt": { "rootVolume": { "diskImage": {} } } }),
        json!({ "type": "AWS", "aws": { "ami": 7 } }),
        json!({ "type": "Azure", "azure": { "image": { "type": "AzureMarketplace", "azureMarketplace": urn("evilcorp") } } }),
    ] {
        let pool = json!({ "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool", "metadata": { "name": "p", "namespace": "clusters" },
            "spec": { "replicas": 1, "platform": platform, "release": { "image": "quay.io/openshift-release-dev/ocp-release:4.22.4-x86_64" } },
            "status": { "version": "4.22.4" } });
        let (audit, exit) = of(&[pool]);
        assert_eq!(
            (row(&audit, "p").0, exit),
            ("Undetermined", Exit::Unknown),
            "{platform}"
        );
    }
}

/// The Cluster API's set of the same name is in charge, and decides.
#[test]
fn a_set_whose_master_was_not_read_is_unknown() {
    for (place, said) in [("status", true), ("spec", true), ("none", false)] {
        let mut set = machine_set("w", &super::real::aws("ami-0a611e6a24a551a2b"));
        set[place]["authoritativeAPI"] = json!("ClusterAPI");
        let (audit, _) = of(&[set]);
        let says = row(&audit, "w")
            .1
            .contains("which is in charge of it, was not read");
        assert_eq!(says, said, "{place}: {audit}");
    }
}

/// What Karpenter's class names by an id counts, whatever its status lists.
#[test]
fn an_ami_that_a_class_names_counts_beside_its_status() {
    let class = json!({ "apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": { "name": "default" },
        "spec": { "amiSelectorTerms": [{ "id": "ami-0e3df83cd6630da18" }, { "id": "ami-0a611e6a24a551a2b" }] },
        "status": { "amis": [{ "id": "ami-0a611e6a24a551a2b" }] } });
    let infrastructure = |topology: &str| {
        json!({ "apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": { "name": "cluster" },
            "status": { "controlPlaneTopology": topology, "platformStatus": { "type": "AWS" } } })
    };
    let (audit, _) = of(&[class.clone(), infrastructure("HighlyAvailable")]);
    assert_eq!(audit["sets"].as_array().unwrap().len(), 2, "{audit}");
    // On a hosted cluster another object says the release.
    let (audit, exit) = of(&[class, infrastructure("External")]);
    let why = "its release is unknown: the OpenshiftEC2NodeClass of its name, which says it, was not read";
    assert_eq!(
        (audit["sets"][0]["message"].as_str(), exit),
        (Some(why), Exit::Unknown)
    );
}

/// Of nodes without Machines the newest decides: one that does not say when it was made may be it.
#[test]
fn a_node_without_a_time_leaves_its_pool_unknown() {
    let node = |name: &str, version: &str, created: Option<&str>| {
        json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "creationTimestamp": created,
            "labels": { "node-role.kubernetes.io/worker": "", "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
                "skewguard.dev/boot-image": version } } })
    };
    let (old, new) = ("412.86.202301311551-0", "418.94.202501221327-0");
    let time = Some("2026-01-01T00:00:00Z");
    let verdict = |created: Option<&str>, newer: &str| {
        let older = node("w0", old, time);
        let (found, _) =
            super::real::audited([older, node("w1", newer, created)], &["--target", "4.22"]);
        found["sets"][0]["verdict"].clone()
    };
    assert_eq!(verdict(Some("2026-02-01T00:00:00Z"), new), "Allowed");
    assert_eq!(verdict(None, new), "Undetermined");
    assert_eq!(verdict(None, old), "Refused");
}
