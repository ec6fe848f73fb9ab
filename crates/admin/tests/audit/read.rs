//! What is read of objects, where only a guess could stand: labels, names, specs and places of images.

use super::{audit, run};
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;

/// An AMI of us-east-1, and that of us-west-2 of the same version.
const EAST: &str = "ami-0368e7083557a9c5d";
const WEST: &str = "ami-0ec67ca44c1b28d5f";

fn list(items: impl IntoIterator<Item = Value>) -> Value {
    let own = [
        json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": { "name": "version" },
            "spec": { "clusterID": "11111111-2222-3333-4444-555555555555" },
            "status": { "desired": { "version": "4.21.5" }, "history": [{ "state": "Completed", "version": "4.21.5" }] }
        }),
        json!({
            "apiVersion": "operator.openshift.io/v1", "kind": "MachineConfiguration", "metadata": { "name": "cluster" }, "spec": {}, "status": {}
        }),
    ];
    let items: Vec<Value> = own.into_iter().chain(items).collect();
    json!({ "apiVersion": "v1", "kind": "List", "items": items })
}

fn machine_set(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
        "metadata": { "name": name, "namespace": "openshift-machine-api" },
        "spec": { "replicas": 1, "template": { "metadata": { "labels": {} }, "spec": { "providerSpec": { "value": spec } } } }
    })
}

fn aws(ami: &str, region: &str) -> Value {
    json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "AWSMachineProviderConfig", "ami": { "id": ami },
        "instanceType": "m6i.large", "placement": { "region": region }, "userDataSecret": { "name": "worker-user-data" }
    })
}

fn gcp(image: &str) -> Value {
    json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "GCPMachineProviderSpec", "disks": [{ "boot": true, "image": image }],
        "machineType": "n2-standard-4", "projectID": "own", "region": "us-central1", "userDataSecret": { "name": "worker-user-data" }
    })
}

/// A Machine of the set `w` from a spec, and its node.
fn joined(spec: &Value, labels: &Value, annotations: &Value) -> [Value; 2] {
    let (mut labels, mut annotations) = (labels.clone(), annotations.clone());
    labels["kubernetes.io/arch"] = json!("amd64");
    labels["node-role.kubernetes.io/worker"] = json!("");
    annotations["machine.openshift.io/machine"] = json!("openshift-machine-api/m1");
    [
        json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": {
                "name": "m1", "namespace": "openshift-machine-api", "creationTimestamp": "2026-05-01T00:00:00Z",
                "ownerReferences": [{ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "name": "w", "uid": "u" }]
            },
            "spec": { "providerSpec": { "value": spec } },
            "status": { "phase": "Running", "nodeRef": { "kind": "Node", "name": "n1" } }
        }),
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": { "name": "n1", "creationTimestamp": "2026-05-01T00:09:00Z", "labels": labels, "annotations": annotations }
        }),
    ]
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn of(files: &[(&str, String)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        Self(dir)
    }

    fn audit(&self, names: &[&str], more: &[&str]) -> (Value, Exit) {
        let root = self.0.path();
        let paths: Vec<String> = names
            .iter()
            .map(|name| root.join(name).display().to_string())
            .collect();
        let mut args = vec!["audit", "-o", "json"];
        for path in &paths {
            args.extend(["--from", path]);
        }
        let (out, err, exit) = run(&[&args[..], more].concat());
        let out = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
        (out, exit)
    }
}

fn audited(items: impl IntoIterator<Item = Value>, more: &[&str]) -> (Value, Exit) {
    Folder::of(&[("a.json", list(items).to_string())]).audit(&["a.json"], more)
}

/// Verdict, message and exit of the one row.
fn row(items: impl IntoIterator<Item = Value>) -> (String, String, Exit) {
    let (audit, exit) = audited(items, &[]);
    let text = |name: &str| audit["sets"][0][name].as_str().unwrap().to_owned();
    (text("verdict"), text("message"), exit)
}

fn unknown(why: &str) -> (String, String, Exit) {
    let message = format!("the version is unknown: {why}");
    ("Undetermined".to_owned(), message, Exit::Unknown)
}

#[test]
fn a_set_labelled_for_windows_is_left_out_unless_its_image_is_of_coreos() {
    let labelled = |ami| {
        let mut set = machine_set("w", &aws(ami, "us-east-1"));
        set["spec"]["template"]["metadata"]["labels"]["machine.openshift.io/os-id"] =
            json!("Windows");
        set
    };
    assert_eq!(
        row([labelled(EAST)]),
        unknown(
            "it is labelled for Windows (machine.openshift.io/os-id, a NodePool's imageType), and its image is one of CoreOS"
        )
    );
    let other = machine_set("l", &aws(EAST, "us-east-1"));
    let (audit, exit) = audited([labelled("ami-00000000000000001"), other], &[]);
    assert_eq!(
        (audit["sets"].as_array().unwrap().len(), exit),
        (1, Exit::Done)
    );
    assert_eq!(
        audit["warnings"][0],
        "1 set of Windows machines is left out: it has no boot image of the cluster's"
    );
}

#[test]
fn names_say_a_version_where_red_hat_or_the_owner_gave_them() {
    let name = "rhcos-9-6-20251015-1-gcp-x86-64";
    let foreign =
        "its name is given by another project or publisher, and no node made from it has a label";
    let nobody = "no image of this name is published, and no node made from it is labelled";
    for (image, expected) in [
        (format!("projects/evil/global/images/{name}"), Some(foreign)),
        (
            format!("https://www.googleapis.com/compute/v1/projects/evil/global/images/{name}"),
            Some(foreign),
        ),
        (
            format!("projects/rhcos-cloud/global/images/family/{name}"),
            Some(
                "a family chooses the image, and does not say which it is now; no node made from it has a label",
            ),
        ),
        (
            format!("projects/rhcos-cloud/global/images/{name}-custom"),
            Some(nobody),
        ),
        (
            "projects/rhcos-cloud/global/images/rhcos-9-6-20251014-7-gcp-x86-64".to_owned(),
            Some(nobody),
        ),
        (
            "projects/rhcos-cloud/global/images/rhcos-9-8-20990101-0-gcp-x86-64-custom".to_owned(),
            Some(nobody),
        ),
        // The list of what is published has a last day.
        (
            "projects/rhcos-cloud/global/images/rhcos-9-8-20990101-0-gcp-x86-64".to_owned(),
            None,
        ),
        (format!("projects/rhcos-cloud/global/images/{name}"), None),
        (format!("projects/own/global/images/{name}"), None),
    ] {
        let found = row([machine_set("w", &gcp(&image))]);
        match expected {
            Some(why) => assert_eq!(found, unknown(why), "{image}"),
            None => assert_eq!(
                (found.0.as_str(), found.2),
                ("Allowed", Exit::Done),
                "{image}"
            ),
        }
    }
    let urn = |publisher: &str| {
        let mut spec = json!({ "kind": "AzureMachineProviderSpec", "location": "eastus", "vmSize": "Standard_D4s_v3" });
        spec["image"] = json!({ "publisher": publisher, "offer": "aro4", "sku": "aro_417", "version": "417.94.20240701" });
        machine_set("w", &spec)
    };
    assert_eq!(row([urn("evilcorp")]), unknown(foreign));
    assert_eq!(row([urn("azureopenshift")]).0, "Allowed");
    // A node that was made from it knows better than its name.
    let spec = gcp(&format!("projects/evil/global/images/{name}"));
    let node = joined(
        &spec,
        &json!({ "skewguard.dev/boot-image": "412.86.202301311551-0" }),
        &json!({}),
    );
    let (audit, _) = audited([machine_set("w", &spec)].into_iter().chain(node), &[]);
    let version = &audit["sets"][0]["bootImage"]["version"];
    assert_eq!(*version, "412.86.202301311551-0");
}

#[test]
fn a_node_whose_label_and_annotation_differ_says_no_version() {
    let spec = aws("ami-00000000000000001", "us-east-1");
    let (old, new) = ("412.86.202301311551-0", "9.6.20251015-1");
    let verdict = |version: &str| {
        let verdict = json!({ "verdict": "Allowed", "bootImage": { "version": version } });
        json!({ "skewguard.dev/boot-image-verdict": verdict.to_string() })
    };
    let found = |label: &str, annotation: &str| {
        let node = joined(
            &spec,
            &json!({ "skewguard.dev/boot-image": label }),
            &verdict(annotation),
        );
        row([machine_set("w", &spec)].into_iter().chain(node))
    };
    for (label, annotation) in [(old, new), (new, old), ("unknown", new)] {
        assert_eq!(
            found(label, annotation),
            unknown(&format!(
                "Node n1 says {label} by its label, and {annotation} by its annotation"
            ))
        );
    }
    assert_eq!(found(new, new).0, "Allowed");
    // A label has to be cut.
    let long = format!("{new}{}", "1".repeat(80));
    assert!(!found(&long[..63], &long).1.contains("annotation"));
}

#[test]
fn a_nodes_secure_boot_is_that_of_its_machines_spec() {
    let of = |value: &str, target: &str| {
        let from = "tests/data/cases/secure-boot-in-the-spec/gcp.yaml";
        let text = std::fs::read_to_string(from).unwrap();
        let last = text.rfind("secureBoot: Enabled").unwrap();
        let (set, machine) = text.split_at(last);
        let text = format!("{set}{}", machine.replacen("secureBoot: Enabled", value, 1));
        let folder = Folder::of(&[("a.yaml", text)]);
        let (audit, _) = folder.audit(&["a.yaml"], &["--target", target]);
        let births = audit["births"].as_array().cloned().unwrap_or_default();
        let toll = |birth: &Value| (birth["issue"].clone(), birth["toKnow"].clone());
        births.iter().map(toll).collect::<Vec<_>>()
    };
    let issue = json!("BornBeforeKernelSigningKey");
    assert_eq!(
        of("secureBoot: Enabled", "4.22.1"),
        [(issue.clone(), Value::Null)]
    );
    assert_eq!(of("secureBoot: Disabled", "4.22.1"), []);
    let unknown = json!("it is unknown whether Secure Boot is on");
    assert_eq!(
        of("integrityMonitoring: Enabled", "4.22.1"),
        [(issue, unknown)]
    );
}

#[test]
fn secure_boot_is_read_of_each_platforms_spec() {
    let policy = json!({
        "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce",
        "limits": [{ "minimumOCPVersion": "4.13.0", "minimumRHCOSVersion": "9.2" }],
        "knownIssues": [{
            "id": "X", "targets": ">=4.0.0", "reason": "it stops", "effect": "Refuse", "images": { "versions": [{ "version": "9.6.*" }, { "version": "417.94.*" }] },
            "when": { "secureBoot": true, "architectures": ["x86_64"] }
        }]
    });
    let azure = |kind: &str, says: &str| {
        json!({
            "kind": "AzureMachineProviderSpec", "location": "eastus", "vmSize": "Standard_D4s_v3",
            "image": { "publisher": "azureopenshift", "offer": "aro4", "sku": "aro_417", "version": "417.94.20240701" },
            "securityProfile": { "settings": { "securityType": "TrustedLaunch", kind: { "uefiSettings": { "secureBoot": says } } } }
        })
    };
    let nutanix = |boot: &str| json!({ "kind": "NutanixMachineProviderConfig", "image": { "type": "name", "name": "rhcos-9.6.20251015-1-nutanix.x86_64.qcow2" }, "bootType": boot });
    let mut shielded = gcp("projects/rhcos-cloud/global/images/rhcos-9-6-20251015-1-gcp-x86-64");
    shielded["shieldedInstanceConfig"] = json!({ "secureBoot": "Enabled" });
    for (spec, verdict) in [
        (azure("trustedLaunch", "Enabled"), "Refused"),
        (azure("confidentialVM", "Enabled"), "Refused"),
        (azure("trustedLaunch", "Disabled"), "Allowed"),
        (nutanix("SecureBoot"), "Refused"),
        (nutanix("UEFI"), "Allowed"),
        // Legacy, as the API says of what is left out.
        (nutanix(""), "Allowed"),
        (shielded, "Refused"),
    ] {
        let mut set = machine_set("w", &spec);
        set["metadata"]["annotations"] = json!({ "capacity.cluster-autoscaler.kubernetes.io/labels": "kubernetes.io/arch=amd64" });
        let folder = Folder::of(&[
            ("a.json", list([set]).to_string()),
            ("policy.json", policy.to_string()),
        ]);
        let policy = folder.0.path().join("policy.json");
        let (audit, _) = folder.audit(&["a.json"], &["--policy", policy.to_str().unwrap()]);
        assert_eq!(
            audit["sets"][0]["verdict"], verdict,
            "{spec} {}",
            audit["sets"][0]["message"]
        );
    }
}

#[test]
fn a_node_pools_stream_is_of_its_spec_then_of_its_release() {
    let text =
        std::fs::read_to_string("tests/data/cases/nodepool-status-is-stale/zero.yaml").unwrap();
    let stream = |text: String| {
        let (audit, _) = Folder::of(&[("a.yaml", text)]).audit(&["a.yaml"], &[]);
        audit["sets"][0]["stream"].clone()
    };
    assert_eq!(stream(text.clone()), "rhel-10");
    let pinned = text.replacen(
        "    replicas: 0",
        "    replicas: 0\n    osImageStream: {name: rhel-9}",
        1,
    );
    assert_eq!(stream(pinned), "rhel-9");
    let before = text
        .replace("5.0.2", "4.22.4")
        .replace("{name: rhel-9}", "{name: rhel-10}");
    assert_eq!(stream(before), "rhel-9");
}

#[test]
fn an_image_in_a_field_that_is_not_read_is_no_missing_one() {
    let of = |kind: &str, spec: Value| {
        let set = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineSet", "metadata": { "name": "w", "namespace": "openshift-cluster-api" },
            "spec": { "replicas": 1, "clusterName": "c", "template": { "spec": {
                "clusterName": "c", "bootstrap": { "dataSecretName": "worker-user-data" },
                "infrastructureRef": { "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": kind, "name": "t" }
            } } }
        });
        let template = json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": kind, "metadata": { "name": "t", "namespace": "openshift-cluster-api" },
            "spec": { "template": { "spec": spec } }
        });
        row([set, template])
    };
    let not_understood = |field: &str| {
        unknown(&format!(
            "its image is named in a field that is not understood: {field}"
        ))
    };
    for (kind, spec, field) in [
        (
            "AzureMachineTemplate",
            json!({ "image": { "computeGallery": { "gallery": "g" } } }),
            "image.computeGallery.gallery",
        ),
        (
            "AWSMachineTemplate",
            json!({ "ami": {}, "imageLookupBaseOS": "rhcos" }),
            "imageLookupBaseOS",
        ),
        (
            "GCPMachineTemplate",
            json!({ "imageFamily": "projects/p/global/images/family/f" }),
            "imageFamily",
        ),
        (
            "OpenStackMachineTemplate",
            json!({ "image": { "filter": { "tags": ["a"] } } }),
            "image.filter.tags",
        ),
    ] {
        assert_eq!(of(kind, spec), not_understood(field), "{kind}");
    }
    let none = json!({ "ami": {}, "instanceType": "m6i.large", "imageLookupOrg": "" });
    assert_eq!(
        of("AWSMachineTemplate", none),
        unknown("the template does not name its image")
    );
}

#[test]
fn images_of_azure_red_hat_openshift_are_of_rhel_9_since_4_13() {
    let of = |version: &str| {
        let spec = json!({
            "kind": "AzureMachineProviderSpec", "location": "eastus", "vmSize": "Standard_D4s_v3",
            "image": { "publisher": "azureopenshift", "offer": "aro4", "sku": "419-v2", "version": version }
        });
        let (audit, _) = audited([machine_set("w", &spec)], &["--target", "5.0.0"]);
        let set = &audit["sets"][0];
        (
            set["verdict"].clone(),
            set["bootImage"]["rhelVersion"].clone(),
        )
    };
    // The first is published, the second is not.
    for version in ["419.6.20250523", "419.6.20250811"] {
        assert_eq!(of(version), (json!("Allowed"), json!("9.6")), "{version}");
    }
    assert_eq!(of("412.86.20230503").0, "Refused");
}

#[test]
fn an_ami_of_another_region_is_said_with_this_regions_own() {
    let (audit, exit) = audited([machine_set("w", &aws(EAST, "us-west-2"))], &[]);
    let set = &audit["sets"][0];
    assert_eq!(
        (&set["verdict"], &set["message"], exit),
        (
            &json!("Undetermined"),
            &json!(
                "no machine is made from it: the AMI is of us-east-1, and the next machine is made in us-west-2, where it is not there"
            ),
            Exit::Unknown
        )
    );
    let wanted = set["wantImage"].as_str().unwrap();
    assert!(wanted.starts_with("ami-") && wanted != EAST, "{set}");
    assert!(set["remedy"].as_str().unwrap().contains(wanted), "{set}");
    let (audit, exit) = audited([machine_set("w", &aws(WEST, "us-west-2"))], &[]);
    assert_eq!(
        (&audit["sets"][0]["verdict"], exit),
        (&json!("Allowed"), Exit::Done)
    );
}

#[test]
fn what_says_no_kind_or_group_is_named_beside_good_files() {
    let good = list([machine_set("w", &aws(EAST, "us-east-1"))]).to_string();
    for (field, why) in [
        ("kind", "has no kind: `oc get -o json` prints what is read"),
        (
            "apiVersion",
            "has no apiVersion: `oc get -o json` prints what is read",
        ),
    ] {
        let mut set = machine_set("x", &aws(EAST, "us-east-1"));
        set.as_object_mut().unwrap().remove(field);
        let folder = Folder::of(&[
            ("good.json", good.clone()),
            ("set.json", set.to_string()),
            ("package.json", r#"{"name":"x"}"#.to_owned()),
        ]);
        let (audit, exit) = folder.audit(&["."], &[]);
        assert_eq!(
            (&audit["unread"][0]["why"], exit),
            (&json!(why), Exit::Failed),
            "{audit}"
        );
        assert_eq!(audit["unread"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn a_policy_among_objects_is_passed_over() {
    let policy = "apiVersion: skewguard.dev/v1alpha1\nkind: BootImageSkewPolicy\nmode: Audit\n";
    let objects = list([machine_set("w", &aws(EAST, "us-east-1"))]);
    let folder = Folder::of(&[
        ("all.yaml", format!("{policy}---\n{objects}\n")),
        ("policy.yaml", policy.to_owned()),
    ]);
    let (audit, exit) = folder.audit(&["all.yaml"], &[]);
    assert_eq!(
        (&audit["sets"][0]["verdict"], exit),
        (&json!("Allowed"), Exit::Done)
    );
    let path = folder.0.path().join("policy.yaml");
    let (_, err, exit) = audit_of(path.to_str().unwrap());
    assert_eq!(exit, Exit::Failed);
    assert!(
        err.contains("this is a BootImageSkewPolicy, not objects of a cluster; --policy reads it"),
        "{err}"
    );
}

fn audit_of(path: &str) -> (String, String, Exit) {
    audit(&["--from", path])
}

#[test]
fn a_set_within_a_text_is_named() {
    let good = list([machine_set("w", &aws(EAST, "us-east-1"))]).to_string();
    let raw = "apiVersion: policy.open-cluster-management.io/v1\nkind: ConfigurationPolicy\nmetadata: {name: p}\nspec:\n  object-templates-raw: |\n    - complianceType: musthave\n      objectDefinition:\n        apiVersion: machine.openshift.io/v1beta1\n        kind: MachineSet\n        metadata: {name: x}\n";
    let folder = Folder::of(&[("good.json", good), ("raw.yaml", raw.to_owned())]);
    let (audit, exit) = folder.audit(&["good.json", "raw.yaml"], &[]);
    assert_eq!(exit, Exit::Failed);
    assert_eq!(
        audit["unread"][0]["why"],
        "it is within ConfigurationPolicy p: name what is in it, as objects of their own"
    );
}

#[test]
fn the_order_of_files_changes_nothing() {
    let of = |names: &[&str]| {
        let files: Vec<(&str, String)> = ["a", "b", "c"]
            .iter()
            .map(|name| {
                (
                    *name,
                    list([machine_set(name, &aws(EAST, "us-east-1"))]).to_string(),
                )
            })
            .collect();
        let mut twice = machine_set("d", &aws(EAST, "us-east-1"));
        let one = list([twice.clone()]).to_string();
        twice["spec"]["template"]["spec"]["providerSpec"]["value"]["ami"]["id"] =
            json!("ami-00000000000000002");
        let other = list([twice]).to_string();
        let folder = Folder::of(&[&files[..], &[("d", one), ("e", other)]].concat());
        let (audit, exit) = folder.audit(names, &[]);
        (
            audit["oldest"]["usedBy"].clone(),
            audit["sets"].clone(),
            exit,
        )
    };
    let forth = of(&["a", "b", "c", "d", "e"]);
    assert_eq!(forth, of(&["e", "d", "c", "b", "a"]));
    assert_eq!(forth.2, Exit::Failed);
    assert_eq!(forth.1[0]["name"], "d");
    assert_eq!(forth.1[0]["verdict"], "Undetermined");
    assert_eq!(
        forth.0,
        "MachineSet openshift-machine-api/a, MachineSet openshift-machine-api/b and 1 more"
    );
}

#[test]
fn links_to_what_is_not_there_are_named() {
    let good = list([machine_set("w", &aws(EAST, "us-east-1"))]).to_string();
    let folder = Folder::of(&[("good.json", good)]);
    let root = folder.0.path();
    std::os::unix::fs::symlink("../nowhere", root.join("sub")).unwrap();
    let (audit, exit) = folder.audit(&["."], &[]);
    let why = "is a link, which is not followed: name what it leads to";
    assert_eq!(
        (&audit["unread"][0]["why"], exit),
        (&json!(why), Exit::Failed)
    );
    // In an archive, too, unless the archive has what it leads to.
    for (to, exit) in [("../elsewhere", Exit::Failed), ("../g/other", Exit::Done)] {
        let mut tar = tar::Builder::new(Vec::new());
        let mut add = |path: &str, bytes: &[u8]| {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, path, bytes).unwrap();
        };
        add(
            "g/other/good.json",
            &std::fs::read(root.join("good.json")).unwrap(),
        );
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        tar.append_link(&mut header, "g/sub", to).unwrap();
        std::fs::write(root.join("g.tar"), tar.into_inner().unwrap()).unwrap();
        let (_, found) = folder.audit(&["g.tar"], &[]);
        assert_eq!(found, exit, "{to}");
    }
}

#[test]
fn a_checksum_tells_two_images_of_one_url_apart() {
    let spec = |checksum: &str| {
        json!({
            "apiVersion": "baremetal.cluster.k8s.io/v1alpha1", "kind": "BareMetalMachineProviderSpec",
            "image": { "url": "http://mirror.example.com/rhcos.qcow2", "checksum": checksum }, "userData": { "name": "worker-user-data" }
        })
    };
    let found = |other: &str| {
        let node = joined(
            &spec("1111"),
            &json!({ "skewguard.dev/boot-image": "9.6.20251015-1" }),
            &json!({}),
        );
        let sets = [
            machine_set("w", &spec("1111")),
            machine_set("x", &spec(other)),
        ];
        let (audit, _) = audited(sets.into_iter().chain(node), &[]);
        let sets = audit["sets"].as_array().unwrap().clone();
        let set = sets.into_iter().find(|set| set["name"] == "x").unwrap();
        set["verdict"].clone()
    };
    assert_eq!(found("1111"), "Allowed");
    assert_eq!(found("2222"), "Undetermined");
    assert_eq!(
        found("http://mirror.example.com/rhcos.qcow2.md5sum"),
        "Allowed"
    );
}

#[test]
fn half_an_image_of_a_node_pool_is_not_that_of_its_release() {
    let of = |platform: Value| {
        let pool = json!({
            "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool", "metadata": { "name": "blue", "namespace": "clusters" },
            "spec": { "clusterName": "one", "release": { "image": "quay.io/openshift-release-dev/ocp-release:4.22.2-x86_64" }, "replicas": 1, "platform": platform },
            "status": { "version": "4.22.2" }
        });
        row([pool])
    };
    for (field, platform) in [
        (
            "azure.image",
            json!({ "type": "Azure", "azure": { "image": { "type": "ImageID" } } }),
        ),
        (
            "azure.image",
            json!({ "type": "Azure", "azure": { "image": { "type": "SharedGallery", "gallery": "g" } } }),
        ),
        (
            "powervs.image",
            json!({ "type": "PowerVS", "powervs": { "image": { "regex": "rhcos.*" } } }),
        ),
    ] {
        assert_eq!(
            of(platform),
            unknown(&format!(
                "its image is named in a field that is not understood: spec.platform.{field}"
            ))
        );
    }
    let generation = json!({ "type": "Azure", "azure": { "image": { "type": "AzureMarketplace", "azureMarketplace": { "imageGeneration": "Gen2" } } } });
    assert_eq!(of(generation).0, "Allowed");
}
