//! Two streams of boot images, as OpenShift 5.0 has them, and what the cluster keeps up to date
//! itself.

use super::audit_text;
use super::real::{audited, aws, joined, list, machine_set, real};
use serde_json::{Value, json};

const LABEL: &str = "machineconfiguration.openshift.io/osstream";

fn image_stream(default: &str) -> Value {
    let stream = |name: &str| {
        json!({ "name": name, "osImage": format!("quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:{}", "0".repeat(64)),
        "osExtensionsImage": format!("quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:{}", "1".repeat(64)) })
    };
    json!({ "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "OSImageStream", "metadata": { "name": "cluster" },
        "spec": { "defaultStream": default },
        "status": { "availableStreams": [stream("rhel-9"), stream("rhel-10")], "defaultStream": default } })
}

fn pool(name: &str, stream: Option<&str>) -> Value {
    let mut pool = real("insights/machineconfigpool.json");
    pool["metadata"] = json!({ "name": name });
    if let Some(stream) = stream {
        pool["spec"]["osImageStream"] = json!({ "name": stream });
    }
    pool
}

fn release(version: &str) -> Value {
    let mut object = real("insights/version-without-kind.json");
    object["apiVersion"] = json!("config.openshift.io/v1");
    object["kind"] = json!("ClusterVersion");
    object["status"]["desired"]["version"] = json!(version);
    object
}

/// The label of the set counts first, then its pool, then the workers' pool, then the cluster.
#[test]
fn the_remedy_is_of_the_sets_stream() {
    let [rhel9, rhel10] = ["ami-0f87100a0927b4e1e", "ami-00bceb1d4863de8d5"];
    for (label, pools, default, secret, stream, image) in [
        (None, vec![], "rhel-9", "worker", "rhel-9", rhel9),
        (None, vec![], "rhel-10", "worker", "rhel-10", rhel10),
        (
            Some("rhel-10"),
            vec![],
            "rhel-9",
            "worker",
            "rhel-10",
            rhel10,
        ),
        (
            Some("rhel-9"),
            vec![pool("worker", Some("rhel-10"))],
            "rhel-10",
            "worker",
            "rhel-9",
            rhel9,
        ),
        (
            None,
            vec![pool("worker", Some("rhel-10"))],
            "rhel-9",
            "worker",
            "rhel-10",
            rhel10,
        ),
        (
            None,
            vec![pool("worker", Some("rhel-10")), pool("infra", None)],
            "rhel-9",
            "infra",
            "rhel-10",
            rhel10,
        ),
        (
            None,
            vec![pool("worker", Some("rhel-10"))],
            "rhel-9",
            "master",
            "rhel-9",
            rhel9,
        ),
    ] {
        let mut provider = aws("ami-0000a100764a57637");
        provider["userDataSecret"]["name"] = json!(format!("{secret}-user-data"));
        let mut set = machine_set("s", &provider);
        if let Some(label) = label {
            set["metadata"]["labels"] = json!({ LABEL: label });
        }
        let items = [
            set,
            image_stream(default),
            real("coreos-bootimages-5.0.json"),
        ]
        .into_iter()
        .chain(joined("s", &provider, "412.86.202301311551-0"))
        .chain(pools);
        let (found, _) = audited(items, &[]);
        let set = &found["sets"][0];
        assert_eq!(
            (&set["stream"], &set["wantImage"]),
            (&json!(stream), &json!(image)),
            "{label:?} {default} {secret}"
        );
    }
}

/// An AMI of either stream is known by the ConfigMap.
#[test]
fn an_image_of_either_stream_is_known() {
    for (ami, version, from) in [
        (
            "ami-0f87100a0927b4e1e",
            "9.8.20260428-0",
            "ConfigMap coreos-bootimages, rhel-9, x86_64 us-east-2",
        ),
        (
            "ami-00bceb1d4863de8d5",
            "10.2.20260715-0",
            "ConfigMap coreos-bootimages, rhel-10, x86_64 us-east-2",
        ),
        (
            "ami-0e651950cf2f78a61",
            "10.2.20260715-0",
            "ConfigMap coreos-bootimages, rhel-10, aarch64 us-east-2",
        ),
    ] {
        let (found, _) = audited(
            [
                machine_set("s", &aws(ami)),
                real("coreos-bootimages-5.0.json"),
            ],
            &[],
        );
        let set = &found["sets"][0];
        assert_eq!(
            (&set["bootImage"]["version"], &set["knownFrom"]),
            (&json!(version), &json!(from))
        );
    }
}

/// OKD's streams have names of their own, which are taken as they are.
#[test]
fn a_stream_of_okd_is_known_by_its_name() {
    let mut images = real("coreos-bootimages-5.0.json");
    let streams = images["data"]["streams"].as_str().unwrap();
    images["data"]["streams"] = json!(streams.replace("\"rhel-10\"", "\"centos-10\""));
    let set = machine_set("s", &aws("ami-00bceb1d4863de8d5"));
    let (found, _) = audited([set, image_stream("centos-10"), images], &[]);
    let set = &found["sets"][0];
    assert_eq!(
        (&set["stream"], &set["knownFrom"]),
        (
            &json!("centos-10"),
            &json!("ConfigMap coreos-bootimages, centos-10, x86_64 us-east-2")
        ),
        "{set:#}"
    );
}

fn configuration(managers: Value) -> Value {
    json!({ "apiVersion": "operator.openshift.io/v1", "kind": "MachineConfiguration", "metadata": { "name": "cluster" },
        "spec": { "logLevel": "Normal", "managementState": "Managed", "operatorLogLevel": "Normal" },
        "status": { "bootImageSkewEnforcementStatus": { "mode": "Automatic", "automatic": { "ocpVersion": "5.0.0" } },
            "managedBootImagesStatus": { "machineManagers": managers } } })
}

fn manager(mode: &str) -> Value {
    let mut selection = json!({ "mode": mode });
    if mode == "Partial" {
        selection["partial"] =
            json!({ "machineResourceSelector": { "matchLabels": { "test": "boot" } } });
    }
    json!([{ "apiGroup": "machine.openshift.io", "resource": "machinesets", "selection": selection }])
}

/// What the Machine Config Operator leaves alone is not covered by its value, and where it can keep
/// images up to date, that comes first.
#[test]
fn what_the_cluster_keeps_up_to_date() {
    // On the operator's list.
    let old = aws("ami-0000a100764a57637");
    let set = |metadata: Value, managers: Value| {
        let mut set = machine_set("s", &old);
        set["metadata"]
            .as_object_mut()
            .unwrap()
            .extend(metadata.as_object().unwrap().clone());
        let items = [
            set,
            configuration(managers),
            release("5.0.0"),
            real("coreos-bootimages-5.0.json"),
        ];
        audited(
            items
                .into_iter()
                .chain(joined("s", &old, "412.86.202301311551-0")),
            &[],
        )
        .0["sets"][0]
            .clone()
    };
    let let_it = "let the cluster keep the image up to date (managedBootImages of MachineConfiguration cluster), or set ";
    let has_not = "the cluster keeps this image up to date, and has not: see the conditions of MachineConfiguration cluster; or set ";
    let kept = json!(["the cluster keeps this image up to date (managedBootImages)"]);
    let alone = |why: &str| {
        json!([format!(
            "the Machine Config Operator leaves its image alone, because {why}: its value for the oldest boot image does not cover this set"
        )])
    };
    for (metadata, managers, managed, begins, notes) in [
        (json!({}), manager("All"), true, has_not, kept.clone()),
        (json!({}), manager("None"), false, let_it, json!([])),
        (json!({}), json!([]), false, let_it, json!([])),
        (json!({}), manager("Partial"), false, let_it, json!([])),
        (
            json!({ "labels": { "test": "boot" } }),
            manager("Partial"),
            true,
            has_not,
            kept.clone(),
        ),
        (
            json!({ "labels": { LABEL: "rhel-9" } }),
            manager("All"),
            true,
            has_not,
            kept.clone(),
        ),
        (
            json!({ "labels": { LABEL: "rhel-10" } }),
            manager("All"),
            false,
            "set ",
            alone("its stream is rhel-10"),
        ),
        (
            json!({ "ownerReferences": [{ "kind": "MachinePool", "name": "p" }] }),
            manager("All"),
            false,
            "set ",
            json!([
                "the Machine Config Operator leaves its image alone, because it belongs to another object; then it takes the release that the \
                    cluster was installed as for the oldest boot image"
            ]),
        ),
    ] {
        let set = set(metadata.clone(), managers);
        assert_eq!(
            (&set["managed"], &set["notes"]),
            (&json!(managed), &notes),
            "{metadata}"
        );
        assert!(
            set["remedy"].as_str().unwrap().starts_with(begins),
            "{metadata}: {set}"
        );
    }
}

/// NodePools that are pinned to no stream go to RHEL 10 with 5.0.
#[test]
fn a_node_pool_without_a_pin_changes_its_stream() {
    let pool = |pin: Value| {
        let pool = json!({ "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool", "metadata": { "name": "p", "namespace": "clusters" },
            "spec": { "arch": "amd64", "clusterName": "guest", "osImageStream": pin, "platform": { "type": "AWS", "aws": { "instanceType": "m5.large" } },
                "release": { "image": "quay.io/openshift-release-dev/ocp-release:4.22.1-x86_64" }, "replicas": 2 },
            "status": { "osImageStream": { "name": "rhel-9" }, "version": "4.22.1" } });
        let text = list([pool]);
        move |target: &[&str]| {
            let (out, _, _) = audit_text(&text, &[&["--output", "json"], target].concat());
            let audit: Value = serde_json::from_str(&out).unwrap();
            (
                audit["sets"][0]["stream"].clone(),
                audit["sets"][0]["notes"].to_string(),
            )
        }
    };
    let unpinned = pool(json!(null));
    assert_eq!(unpinned(&[]).0, "rhel-9");
    let (stream, notes) = unpinned(&["--target", "5.0"]);
    assert!(
        stream == "rhel-10" && notes.contains("from OpenShift 5.0 on its nodes are of rhel-10"),
        "{notes}"
    );
    let pinned = pool(json!({ "name": "rhel-9" }));
    assert_eq!(pinned(&["--target", "5.0"]).0, "rhel-9");
}
