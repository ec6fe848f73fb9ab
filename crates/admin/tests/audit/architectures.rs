//! Architecture and region of the next machine: no image of another one is ever named, let alone patched.

use super::audit_text;
use serde_json::{Value, json};

/// RHCOS 4.12 of us-east-2, and the newest image of 4.22 there.
const OLD: [(&str, &str); 2] = [
    ("x86_64", "ami-03c8407be1de91c11"),
    ("aarch64", "ami-02277def1155a7154"),
];
const NEW: [(&str, &str); 2] = [
    ("x86_64", "ami-03b58703d4e9ea61a"),
    ("aarch64", "ami-067f68ab29b40d089"),
];

/// A control plane of amd64, release 4.22, and these objects.
fn cluster(items: &[Value]) -> String {
    let mut all = vec![
        json!({ "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": { "name": "version" },
            "status": { "desired": { "version": "4.22.3" }, "history": [{ "state": "Completed", "version": "4.22.3" }] } }),
        json!({ "apiVersion": "v1", "kind": "Node",
            "metadata": { "name": "m-0", "labels": { "node-role.kubernetes.io/master": "", "kubernetes.io/arch": "amd64" } },
            "status": { "nodeInfo": { "architecture": "amd64" } } }),
    ];
    all.extend_from_slice(items);
    json!({ "apiVersion": "v1", "kind": "List", "items": all }).to_string()
}

fn set(spec: &Value) -> Value {
    json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
        "metadata": { "name": "w", "namespace": "openshift-machine-api" },
        "spec": { "replicas": 1, "template": { "spec": { "providerSpec": { "value": spec } } } } })
}

/// The set's row, and the script of fixes.
fn judged(items: &[Value]) -> (Value, String) {
    let text = cluster(items);
    let (out, err, _) = audit_text(&text, &["-o", "json"]);
    let found: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
    let is_set = |set: &&Value| set["kind"] != "MachineConfigPool";
    let row = found["sets"].as_array().unwrap().iter().find(is_set);
    let (script, ..) = audit_text(&text, &["--print-commands", "fix"]);
    (row.unwrap().clone(), script)
}

fn aws(instance: &str, ami: &str, region: &Value) -> Value {
    set(
        &json!({ "kind": "AWSMachineProviderConfig", "ami": { "id": ami }, "instanceType": instance,
        "placement": { "region": region } }),
    )
}

fn of(all: [(&'static str, &'static str); 2], architecture: &str) -> &'static str {
    all.iter()
        .find(|(name, _)| *name == architecture)
        .unwrap()
        .1
}

/// AWS's list of instance types: Graviton has a `g` behind its generation, or is `a1`.
#[test]
fn an_instance_type_says_the_architecture_and_else_the_image() {
    for (instance, image, wanted) in [
        ("m6g.xlarge", "aarch64", "aarch64"),
        ("m6g.xlarge", "x86_64", "aarch64"),
        ("c7gn.large", "x86_64", "aarch64"),
        ("im4gn.large", "x86_64", "aarch64"),
        ("t4g.medium", "x86_64", "aarch64"),
        ("a1.large", "x86_64", "aarch64"),
        ("x2gd.large", "x86_64", "aarch64"),
        ("m6i.xlarge", "x86_64", "x86_64"),
        ("g4dn.xlarge", "x86_64", "x86_64"),
        ("g5.xlarge", "x86_64", "x86_64"),
        ("p4d.24xlarge", "x86_64", "x86_64"),
        ("", "aarch64", "aarch64"),
        ("", "x86_64", "x86_64"),
    ] {
        let (row, script) = judged(&[aws(instance, of(OLD, image), &json!("us-east-2"))]);
        assert_eq!(row["architecture"], wanted, "{instance}: {row:#}");
        let patch = format!("\"value\":\"{}\"", of(NEW, wanted));
        assert!(script.contains(&patch), "{instance}: {script}");
        let note = format!("the image is of {image}, and the next machine is one of {wanted}");
        let has_note = row["notes"].to_string().contains(&note);
        assert_eq!(has_note, image != wanted, "{instance}: {row:#}");
    }
}

#[test]
fn an_image_of_arm_is_not_replaced_by_one_of_x86() {
    let gcp = |machine: &str, image: &str| {
        let image = format!("projects/own/global/images/{image}");
        set(
            &json!({ "kind": "GCPMachineProviderSpec", "machineType": machine, "projectID": "own",
            "disks": [{ "boot": true, "image": image }] }),
        )
    };
    for (machine, image, new) in [
        (
            "t2a-standard-4",
            "rhcos-412-86-202301311551-0-gcp-aarch64",
            "aarch64",
        ),
        (
            "t2a-standard-4",
            "rhcos-412-86-202301311551-0-gcp-x86-64",
            "aarch64",
        ),
        ("c4a-standard-4", "golden-412-86-202301311551-0", "aarch64"),
        ("", "rhcos-412-86-202301311551-0-gcp-aarch64", "aarch64"),
        (
            "n2-standard-4",
            "rhcos-412-86-202301311551-0-gcp-x86-64",
            "x86-64",
        ),
    ] {
        let (_, script) = judged(&[gcp(machine, image)]);
        let patch = format!("images/rhcos-9-8-20260715-1-gcp-{new}\"");
        assert!(script.contains(&patch), "{machine} {image}: {script}");
    }
    for (size, sku, is_arm) in [
        ("Standard_D4ps_v5", "412-arm", true),
        ("Standard_D4ps_v5", "412-v2", true),
        ("Standard_E8pds_v6", "412-v2", true),
        ("", "412-arm", true),
        ("Standard_D4s_v5", "412-v2", false),
        ("Standard_NC4as_T4_v3", "412-v2", false),
        ("", "412-v2", false),
    ] {
        let image = json!({ "publisher": "azureopenshift", "offer": "aro4", "sku": sku,
            "version": "412.86.20230503", "resourceID": "" });
        let spec = json!({ "kind": "AzureMachineProviderSpec", "vmSize": size, "image": image,
            "location": "eastus" });
        let (row, script) = judged(&[set(&spec)]);
        let wanted = if is_arm { "aarch64" } else { "x86_64" };
        assert_eq!(row["architecture"], wanted, "{size} {sku}: {row:#}");
        let has_other = script.contains("\"sku\":\"aro_422-v2\"");
        assert_eq!(has_other, !is_arm, "{size} {sku}: {script}");
    }
}

/// Azure Stack Hub has images that were uploaded, and none of the marketplace.
#[test]
fn azure_stack_hub_gets_no_image_of_the_marketplace() {
    let infrastructure = json!({ "apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": { "name": "cluster" },
        "status": { "platformStatus": { "type": "Azure", "azure": { "cloudName": "AzureStackCloud" } } } });
    let image = "/resourceGroups/g/providers/Microsoft.Compute/images/c1-412.86.202301311551-0";
    let spec = json!({ "kind": "AzureMachineProviderSpec", "image": { "resourceID": image }, "location": "ppe3" });
    let (row, script) = judged(&[infrastructure, set(&spec)]);
    assert_eq!(
        row["remedy"],
        "upload the VHD for Azure Stack Hub (`azurestack` in `openshift-install coreos print-stream-json`), make an image of it there, and set spec.template.spec.providerSpec.value.image.resourceID to it"
    );
    assert!(!script.contains("oc patch"), "{script}");
}

/// Sets of the Cluster API do not say their region.
#[test]
fn an_ami_is_named_for_a_known_region_alone() {
    let deployment = json!({ "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineDeployment",
        "metadata": { "name": "md", "namespace": "openshift-cluster-api" },
        "spec": { "replicas": 2, "template": { "spec": { "infrastructureRef": {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AWSMachineTemplate", "name": "t1" } } } } });
    let template = json!({ "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AWSMachineTemplate",
        "metadata": { "name": "t1", "namespace": "openshift-cluster-api" },
        "spec": { "template": { "spec": { "ami": { "id": of(OLD, "x86_64") }, "instanceType": "m6i.xlarge" } } } });
    let infrastructure = json!({ "apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": { "name": "cluster" },
        "status": { "platformStatus": { "type": "AWS", "aws": { "region": "us-east-2" } } } });
    let (row, _) = judged(&[deployment.clone(), template.clone(), infrastructure]);
    let remedy = row["remedy"].as_str().unwrap();
    assert!(
        remedy.contains(&format!("set to {}", of(NEW, "x86_64"))),
        "{remedy}"
    );
    let (row, _) = judged(&[deployment, template]);
    let remedy = row["remedy"].as_str().unwrap();
    assert!(!remedy.contains("ami-"), "{remedy}");
    assert!(
        remedy.contains("spec.template.spec.ami.id set to the image of 9.8.20260715-1, the newest published for 4.22, in its machines' region, which nothing that was read says; then"),
        "{remedy}"
    );
}
