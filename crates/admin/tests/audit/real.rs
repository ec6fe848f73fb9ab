//! Objects as real clusters have them, from public repositories: tests/data/audit/README.md names
//! each source.

use super::{POLICY, audit, audit_text, fixture};
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;

pub(super) fn real(name: &str) -> Value {
    serde_json::from_str(&fixture(&format!("real/{name}"))).unwrap()
}

/// A MachineSet of the Machine API with this provider spec.
pub(super) fn machine_set(name: &str, provider: &Value) -> Value {
    json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
        "metadata": { "name": name, "namespace": "openshift-machine-api", "uid": format!("uid-of-{name}") },
        "spec": { "replicas": 1, "template": { "spec": { "providerSpec": { "value": provider } } } } })
}

/// The provider spec of a Machine on AWS, in a region of ours (the sample archive has it
/// overwritten), with this image.
pub(super) fn aws(ami: &str) -> Value {
    let machine = real("insights/machine-worker.json");
    let mut provider = machine["spec"]["providerSpec"]["value"].clone();
    provider["placement"] = json!({ "availabilityZone": "us-east-2a", "region": "us-east-2" });
    provider["ami"]["id"] = json!(ami);
    provider
}

/// The provider spec of a MachineSet on GCP with this image.
pub(super) fn gcp(image: &str) -> Value {
    let set = real("insights/machineset-gcp.json");
    let mut provider = set["spec"]["template"]["spec"]["providerSpec"]["value"].clone();
    provider["disks"][0]["image"] = json!(image);
    provider
}

/// A joined node with a label, and the Machine that it belongs to.
pub(super) fn joined(set: &str, provider: &Value, version: &str) -> [Value; 2] {
    let owner = json!([{ "kind": "MachineSet", "name": set }]);
    [
        json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": { "name": format!("{set}-1"), "namespace": "openshift-machine-api", "ownerReferences": owner },
            "spec": { "providerSpec": { "value": provider } }, "status": { "nodeRef": { "name": format!("node-of-{set}") } } }),
        json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": format!("node-of-{set}"),
            "annotations": { "machine.openshift.io/machine": format!("openshift-machine-api/{set}-1") },
            "labels": { "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "skewguard.dev/boot-image": version } } }),
    ]
}

pub(super) fn list(items: impl IntoIterator<Item = Value>) -> String {
    let items: Vec<Value> = items.into_iter().collect();
    json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string()
}

/// A MachineConfiguration whose operator keeps no image: on vSphere it could keep any.
pub(crate) fn nothing_is_kept() -> Value {
    let manager = json!({ "apiGroup": "machine.openshift.io", "resource": "machinesets", "selection": { "mode": "None" } });
    json!({ "apiVersion": "operator.openshift.io/v1", "kind": "MachineConfiguration", "metadata": { "name": "cluster" },
        "status": { "managedBootImagesStatus": { "machineManagers": [manager] } } })
}

pub(super) fn audited(items: impl IntoIterator<Item = Value>, more: &[&str]) -> (Value, Exit) {
    let (out, err, exit) = audit_text(&list(items), &[&["--output", "json"], more].concat());
    (
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}")),
        exit,
    )
}

/// A cluster whose AMI is in no list, such as a copy.
#[test]
fn images_in_no_list_are_unknown_and_not_fine() {
    let stock = || {
        [
            machine_set("worker", &aws("ami-0123456789abcdef0")),
            real("coreos-bootimages-4.22.json"),
        ]
    };
    let (found, exit) = audited(stock(), &[]);
    assert_eq!(
        (&found["summary"]["undetermined"], exit),
        (&json!(1), Exit::Unknown)
    );
    let (text, _, exit) = audit_text(&list(stock()), &[]);
    assert_eq!(exit, Exit::Unknown);
    assert!(!text.contains("nothing stands against Enforce"), "{text}");
}

/// The policy's mode is not the cluster's: it is judged as if it enforced, also where it is `None`.
#[test]
fn mode_none_is_judged_as_if_it_enforced() {
    let dir = tempfile::tempdir().unwrap();
    let policy = dir.path().join("policy.json");
    let mut text: Value = serde_json::from_str(&fixture("policy.json")).unwrap();
    text["mode"] = json!("None");
    std::fs::write(&policy, text.to_string()).unwrap();
    let of = |policy: &str| {
        let from = "tests/data/audit/aws.json";
        let (out, _, exit) = audit(&["--policy", policy, "--output", "json", "--from", from]);
        let audit: Value = serde_json::from_str(&out).unwrap();
        (audit, exit)
    };
    let (none, exit) = of(policy.to_str().unwrap());
    let (warn, same) = of(POLICY);
    assert_eq!((&none["sets"], exit), (&warn["sets"], same));
    assert_eq!(none["policy"]["mode"], "None");
    assert_eq!(warn["policy"]["mode"], "Warn");
}

/// Stream metadata has an image twice, as one of the cloud and as the file it was made from, and
/// has other architectures and streams beside.
#[test]
fn the_remedy_names_the_one_image_that_fits() {
    // A standard one.
    let old = aws("ami-0000a100764a57637");
    let on_aws = |map: &str| {
        let [machine, node] = joined("worker", &old, "412.86.202301311551-0");
        let (found, _) = audited([machine_set("worker", &old), machine, node, real(map)], &[]);
        found["sets"][0].clone()
    };
    let set = on_aws("coreos-bootimages-4.22.json");
    let field = "spec.template.spec.providerSpec.value.ami.id";
    assert_eq!(
        (&set["wantImage"], &set["wantVersion"]),
        (&json!("ami-0f87100a0927b4e1e"), &json!("9.8.20260428-0"))
    );
    let remedy =
        format!("set {field} to ami-0f87100a0927b4e1e: 9.8.20260428-0, this cluster's own");
    assert!(set["remedy"].as_str().unwrap().ends_with(&remedy), "{set}");
    let old = gcp("projects/rhcos-cloud/global/images/rhcos-412-86-202301311551-0-gcp-x86-64");
    let (found, _) = audited(
        [
            machine_set("worker", &old),
            real("coreos-bootimages-4.22.json"),
        ],
        &[],
    );
    assert_eq!(
        found["sets"][0]["wantImage"],
        "projects/rhcos-cloud/global/images/rhcos-9-8-20260428-0-gcp-x86-64"
    );
}

/// `oc patch machineconfiguration` is for clusters that have the field, scale, and take a newer
/// image for the oldest one.
#[test]
fn the_manual_command_only_where_it_is_right() {
    let [machine, node] = joined("worker", &aws("ami-1"), "412.86.202301311551-0");
    let command = |status: Value, topology: &str| {
        let (found, _) = audited(
            [
                machine_set("worker", &aws("ami-1")),
                machine.clone(),
                node.clone(),
                json!({ "apiVersion": "operator.openshift.io/v1", "kind": "MachineConfiguration", "metadata": { "name": "cluster" },
                    "spec": { "logLevel": "Normal", "managementState": "Managed", "operatorLogLevel": "Normal" }, "status": status }),
                json!({ "apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": { "name": "cluster" },
                    "status": { "controlPlaneTopology": topology, "infrastructureTopology": "HighlyAvailable" } }),
            ],
            &[],
        );
        found["oldest"]["command"].is_string()
    };
    let automatic = |ocp: &str| json!({ "bootImageSkewEnforcementStatus": { "mode": "Automatic", "automatic": { "ocpVersion": ocp } } });
    assert!(command(automatic("4.22.1"), "HighlyAvailable"));
    // 4.18 has the object without the field; the MCO does not know the installed version; Automatic
    // is right.
    assert!(!command(
        json!({ "nodeDisruptionPolicyStatus": { "clusterPolicies": {} } }),
        "HighlyAvailable"
    ));
    assert!(!command(automatic("0.0.0"), "HighlyAvailable"));
    assert!(!command(automatic("4.12.0"), "HighlyAvailable"));
    assert!(!command(automatic("4.22.1"), "SingleReplica"));
}

/// The mirror's OVAs say the OCP release alone. Their aleph says more: what a policy asks beside
/// the release stays open.
#[test]
fn a_name_that_says_a_release_alone_is_not_enough() {
    let template = |name: &str| {
        machine_set(
            "worker",
            &json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "VSphereMachineProviderSpec", "template": name }),
        )
    };
    let of = |name: &str, limit: Value| {
        let dir = tempfile::tempdir().unwrap();
        let [policy, objects] = ["policy.json", "objects.json"].map(|name| dir.path().join(name));
        let text = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Warn", "limits": [limit] });
        std::fs::write(&policy, text.to_string()).unwrap();
        std::fs::write(&objects, list([template(name), nothing_is_kept()])).unwrap();
        let [policy, objects] = [&policy, &objects].map(|path| path.to_str().unwrap());
        audit(&["--policy", policy, "--from", objects, "--output", "json"])
    };
    let ocp = json!({ "minimumOCPVersion": "4.13.0" });
    let both = json!({ "minimumOCPVersion": "4.13.0", "minimumRHCOSVersion": "9.2" });
    let name = "rhcos-4.16.36-x86_64-vmware.x86_64.ova";
    assert_eq!(of(name, ocp.clone()).2, Exit::Done);
    // All images of 4.16 are RHEL 9.4; those of 4.13 are of two.
    assert_eq!(of(name, both.clone()).2, Exit::Done);
    let name = "rhcos-4.13.36-x86_64-vmware.x86_64.ova";
    let (out, _, exit) = of(name, both.clone());
    assert_eq!(exit, Exit::Unknown);
    assert!(
        out.contains("the image's name says no more than OCP 4.13, and the policy asks for more"),
        "{out}"
    );
    assert_eq!(
        of("rhcos-4.12.30-x86_64-vmware.x86_64.ova", both).2,
        Exit::Refused
    );
}

/// `inspect` decodes what the audit does.
#[test]
fn inspect_decodes_the_name_of_an_image() {
    let (out, _, _) = super::run(&[
        "inspect",
        "rhcos-4.16.36-x86_64-vmware.x86_64.ova",
        "azureopenshift:aro4:420-v2:9.6.20251015",
        "ami-1",
    ]);
    assert_eq!(
        out,
        "rhcos-4.16.36-x86_64-vmware.x86_64.ova: 4.16.36: scheme ImageName, RHEL unknown, OCP 4.16, built unknown, build unknown\n\
         azureopenshift:aro4:420-v2:9.6.20251015: 9.6.20251015: scheme RHELVersioned, RHEL 9.6, OCP unknown, built 2025-10-15, build unknown, Ignition of unknown release, at least specs 3.0 to 3.4, azure x86_64 no-purchase-plan/hyperVGen2 (published images, openshift/installer until 2026-07-16)\n\
         ami-1: not among the 9309 AMIs of openshift/installer until 2026-07-16\n"
    );
}

/// Conditions that no object of the cluster says are left to the node: the set is not allowed here.
#[test]
fn what_only_the_node_knows_stays_open() {
    let dir = tempfile::tempdir().unwrap();
    let provider = aws("ami-0123456789abcdef0");
    let items = [machine_set("worker", &provider)].into_iter().chain(joined(
        "worker",
        &provider,
        "413.92.202402131523-0",
    ));
    let objects = dir.path().join("objects.json");
    std::fs::write(&objects, list(items)).unwrap();
    let of = |when: Value, limit: Value| {
        let policy = dir.path().join("policy.json");
        let issue = json!({ "id": "X", "images": { "belowOCPVersion": "4.16.0" }, "when": when, "reason": "it fails" });
        let text = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Warn",
            "limits": [limit], "knownIssues": [issue] });
        std::fs::write(&policy, text.to_string()).unwrap();
        let [policy, objects] = [&policy, &objects].map(|path| path.to_str().unwrap());
        audit(&["--policy", policy, "--from", objects, "--output", "json"]).2
    };
    let limit = json!({ "minimumOCPVersion": "4.13.0", "minimumRHCOSVersion": "9.2" });
    for (when, exit) in [
        (
            json!({ "platforms": ["aws"], "architectures": ["x86_64"] }),
            Exit::Refused,
        ),
        (json!({ "platforms": ["gcp"] }), Exit::Done),
        (json!({ "architectures": ["aarch64"] }), Exit::Done),
        (json!({ "secureBoot": true }), Exit::Unknown),
    ] {
        assert_eq!(of(when.clone(), limit.clone()), exit, "{when}");
    }
    let with_cpu = json!({ "minimumRHCOSVersion": "9.2", "minimumCPU": { "x86_64": "x86-64-v3" } });
    assert_eq!(of(json!({ "platforms": ["gcp"] }), with_cpu), Exit::Unknown);
}
