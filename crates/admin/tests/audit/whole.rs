//! What was read is counted once, and what was not read is said.

use super::real::{audited, aws, gcp, joined, list, machine_set, real};
use super::served::serve;
use super::{audit, audit_text, fixture};
use crate::support::apiserver::{Lists, Options};
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;

fn unread(audit: &Value) -> Vec<String> {
    let all = audit["unread"].as_array().unwrap();
    all.iter()
        .map(|unread| {
            let hides = if unread["hidesSets"] == true { "!" } else { "" };
            format!(
                "{hides}{}: {}",
                unread["what"].as_str().unwrap(),
                unread["why"].as_str().unwrap()
            )
        })
        .collect()
}

/// The sample archive of openshift/insights-operator: objects of several clusters, Machines without
/// their sets, files without `kind`.
#[test]
fn the_sample_archive_says_what_it_lacks() {
    let names = [
        "machineset-gcp",
        "controlplanemachineset",
        "machine-master",
        "machine-worker",
        "machineconfigpool",
        "node-without-kind",
        "version-without-kind",
        "infrastructure-without-kind",
    ];
    let text: String = names
        .map(|name| fixture(&format!("real/insights/{name}.json")))
        .concat();
    let (out, err, exit) = audit_text(&text, &["--output", "json"]);
    let found: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
    // The control plane's set has no provider spec; its Machine has one, which proves nothing of it.
    assert_eq!(exit, Exit::Failed);
    assert_eq!(
        unread(&found),
        [
            "!MachineSet openshift-machine-api/dev-rhrmo-dev-26-01-2-tk6g8-worker-us-east-2a: it was not read, and 1 Machine is of it"
        ]
    );
    assert_eq!(found["release"], "4.7.16");
    let names: Vec<&str> = found["sets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|set| set["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["cluster", "worker", "ci-ln-fyvthbt-f76d1-nl2fh-worker-b"]
    );
}

/// An object without kind and without a link that tells it: not passed over in silence.
#[test]
fn an_object_without_kind_is_named() {
    let mut node = real("insights/node-without-kind.json");
    node["metadata"].as_object_mut().unwrap().remove("selfLink");
    let (found, exit) = audited([machine_set("worker", &aws("ami-1")), node], &[]);
    assert_eq!(exit, Exit::Failed);
    assert_eq!(
        unread(&found),
        [
            "!object worker-0.imeixner20210707.lab.upshift.rdu2.redhat.com: has no kind: `oc get -o json` prints what is read"
        ]
    );
}

#[test]
fn machines_that_nodes_name_are_missed() {
    let [_, node] = joined("worker", &aws("ami-1"), "9.6.20250523-0");
    let (found, exit) = audited([machine_set("worker", &aws("ami-1")), node], &[]);
    assert_eq!(exit, Exit::Failed);
    assert_eq!(
        unread(&found),
        ["!Machine openshift-machine-api/worker-1: it was not read, though a Node names it"]
    );
}

#[test]
fn objects_that_are_read_twice_count_once() {
    let [machine, node] = joined("worker", &aws("ami-1"), "9.6.20250523-0");
    let once = [machine_set("worker", &aws("ami-1")), machine, node];
    let (twice, _) = audited(once.iter().chain(&once).cloned(), &[]);
    let (once, _) = audited(once, &[]);
    assert_eq!(
        (&twice["sets"], &twice["summary"]),
        (&once["sets"], &once["summary"])
    );
    assert_eq!(twice["warnings"], json!([]), "copies are no news");
}

/// The must-gather that elmiko/camgi.rs tests with has the same uid in every object.
#[test]
fn objects_with_the_uid_of_another_count() {
    let [mut machine, mut node] = joined("worker", &aws("ami-1"), "9.6.20250523-0");
    let mut sets = ["worker", "infra"].map(|name| machine_set(name, &aws("ami-1")));
    for object in sets.iter_mut().chain([&mut machine, &mut node]) {
        object["metadata"]["uid"] = json!("00000000-0000-0000-0000-000000000000");
    }
    let [worker, infra] = sets;
    let (found, exit) = audited([worker, infra, machine, node], &[]);
    assert_eq!((&found["summary"]["sets"], exit), (&json!(2), Exit::Done));
    assert_eq!(found["warnings"], json!([]));
}

#[test]
fn windows_has_no_boot_image_of_ours() {
    let mut set = machine_set("windows", &aws("ami-windows"));
    set["spec"]["template"]["metadata"]["labels"] =
        json!({ "machine.openshift.io/os-id": "Windows" });
    let [mut machine, mut node] = joined("windows", &aws("ami-windows"), "x");
    machine["metadata"]["labels"] = json!({ "machine.openshift.io/os-id": "Windows" });
    node["metadata"]["labels"] = json!({ "kubernetes.io/os": "windows" });
    let gcp = gcp("projects/rhcos-cloud/global/images/rhcos-9-8-20260428-0-gcp-x86-64");
    let (found, exit) = audited([machine_set("worker", &gcp), set, machine, node], &[]);
    assert_eq!((&found["summary"]["sets"], exit), (&json!(1), Exit::Done));
    assert_eq!(found["warnings"].as_array().unwrap().len(), 2, "{found}");
}

/// The newest node is what the next one is like, and it says nothing: an older one does not speak
/// for it.
#[test]
fn an_older_node_does_not_speak_for_the_newest() {
    let node = |name: &str, created: &str, version: Option<&str>| {
        let label = version.map(|version| json!({ "skewguard.dev/boot-image": version }));
        json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "creationTimestamp": created, "labels": label,
            "annotations": { "machineconfiguration.openshift.io/currentConfig": "rendered-worker-39c9df4a2c026c3149a02abe6f88cfc8" } } })
    };
    let old = node("a", "2024-01-01T00:00:00Z", Some("9.6.20250523-0"));
    let (found, exit) = audited([old.clone(), node("b", "2025-01-01T00:00:00Z", None)], &[]);
    assert_eq!(
        (&found["sets"][0]["knownBy"], exit),
        (&json!("Unknown"), Exit::Unknown)
    );
    let newer = node("b", "2025-01-01T00:00:00Z", Some("412.86.202301311551-0"));
    let (found, _) = audited([old, newer], &[]);
    assert_eq!(
        found["sets"][0]["bootImage"]["version"],
        "412.86.202301311551-0"
    );
}

/// Nodes of a hosted cluster name Machines that are in another cluster.
#[test]
fn a_hosted_cluster_has_nodes_alone() {
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n",
        "annotations": { "cluster.x-k8s.io/machine": "pool-x7k2p", "cluster.x-k8s.io/cluster-namespace": "clusters-guest" },
        "labels": { "hypershift.openshift.io/nodePool": "pool", "skewguard.dev/boot-image": "412.86.202301311551-0" } } });
    let (found, exit) = audited([node], &[]);
    assert_eq!(
        (&found["sets"][0]["kind"], exit),
        (&json!("NodePool"), Exit::Refused)
    );
}

#[test]
fn a_list_without_end_is_an_error() {
    for token in ["again", "next"] {
        let mut lists = Lists::of([machine_set("worker", &aws("ami-1"))]);
        lists.endless = [("machinesets".to_owned(), token.to_owned())].into();
        let served = serve(lists, Options::default());
        let kubeconfig = served.kubeconfig.to_str().unwrap();
        let policy = super::POLICY;
        let (out, err, exit) = audit(&["--policy", policy, "--kubeconfig", kubeconfig]);
        assert!(
            exit == Exit::Failed && format!("{out}{err}").contains("has no end"),
            "{out}{err}"
        );
        let asked = served.server.seen();
        assert!(asked.len() < 60, "{token}: {}", asked.len());
    }
}

#[test]
fn openstack_says_the_image_of_the_root_volume() {
    let spec = json!({ "apiVersion": "machine.openshift.io/v1alpha1", "kind": "OpenstackProviderSpec", "cloudName": "openstack", "image": "",
        "rootVolume": { "diskSize": 100, "sourceType": "image", "sourceUUID": "rhcos-412.86.202301311551-0", "volumeType": "performance" },
        "userDataSecret": { "name": "worker-user-data" } });
    let (found, _) = audited([machine_set("worker", &spec)], &[]);
    let set = &found["sets"][0];
    assert_eq!(
        set["imageField"],
        "spec.template.spec.providerSpec.value.rootVolume.sourceUUID"
    );
    assert_eq!(set["bootImage"]["ocpVersion"], "4.12");
}

/// A data disk has an image of its own, and the remedy names the disk to boot from.
#[test]
fn gcp_boots_from_one_disk() {
    let mut spec = gcp("projects/rhcos-cloud/global/images/rhcos-412-86-202301311551-0-gcp-x86-64");
    let boot = spec["disks"][0].clone();
    spec["disks"] = json!([{ "autoDelete": true, "boot": false, "image": "projects/ours/global/images/data", "sizeGb": 10, "type": "pd-ssd" }, boot]);
    let (found, _) = audited([machine_set("worker", &spec)], &[]);
    let set = &found["sets"][0];
    assert_eq!(
        set["imageField"],
        "spec.template.spec.providerSpec.value.disks[1].image"
    );
    assert_eq!(set["bootImage"]["ocpVersion"], "4.12");
}

/// Bare metal: the Provisioning object says whether the release brings the image.
#[test]
fn install_coreos_takes_the_image_of_the_release() {
    let spec = json!({ "apiVersion": "baremetal.cluster.k8s.io/v1alpha1", "kind": "BareMetalMachineProviderSpec",
        "customDeploy": { "method": "install_coreos" }, "hostSelector": {}, "image": { "checksum": "", "url": "" },
        "metadata": { "creationTimestamp": null }, "userData": { "name": "worker-user-data-managed" } });
    let provisioning = |more: Value| {
        let mut spec = json!({ "preProvisioningOSDownloadURLs": {}, "provisioningIP": "172.22.0.3", "provisioningInterface": "enp1s0",
            "provisioningNetwork": "Managed", "provisioningNetworkCIDR": "172.22.0.0/24", "watchAllNamespaces": false });
        spec.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({ "apiVersion": "metal3.io/v1alpha1", "kind": "Provisioning", "metadata": { "name": "provisioning-configuration" }, "spec": spec })
    };
    let set = |more: Option<Value>| {
        let items = [
            machine_set("worker", &spec),
            real("coreos-bootimages-4.22.json"),
        ];
        audited(items.into_iter().chain(more.map(provisioning)), &[]).0["sets"][0].clone()
    };
    let own = set(Some(json!({})));
    assert_eq!(
        (
            &own["knownBy"],
            &own["bootImage"]["version"],
            &own["verdict"]
        ),
        (
            &json!("ConfigMap"),
            &json!("9.8.20260428-0"),
            &json!("Allowed")
        )
    );
    for other in [
        None,
        Some(
            json!({ "provisioningOSDownloadURL": "https://mirror.example.com/rhcos-48.84.202106091622-0-openstack.x86_64.qcow2.gz?sha256=6ab5" }),
        ),
        Some(
            json!({ "preProvisioningOSDownloadURLs": { "isoURL": "https://mirror.example.com/rhcos-live.iso" } }),
        ),
    ] {
        let set = set(other);
        assert_eq!(set["knownBy"], "Unknown", "{set}");
    }
}

/// Templates of the Cluster API cannot be changed, and a deployment has its sets and their
/// Machines.
#[test]
fn a_deployment_wants_a_copy_of_its_template() {
    let reference = json!({ "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AWSMachineTemplate", "name": "old", "namespace": "capi" });
    let template = json!({ "spec": { "bootstrap": { "dataSecretName": "worker-user-data" }, "clusterName": "c1", "infrastructureRef": reference } });
    let of = |kind: &str, name: &str, owner: Value| {
        json!({ "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": kind, "metadata": { "name": name, "namespace": "capi", "ownerReferences": owner },
            "spec": { "clusterName": "c1", "replicas": 1, "template": template } })
    };
    let ami = json!({ "ami": { "id": "ami-0000a100764a57637" }, "instanceType": "m6i.xlarge" });
    let items = [
        of("MachineDeployment", "workers", json!([])),
        of(
            "MachineSet",
            "workers-5d9c8",
            json!([{ "kind": "MachineDeployment", "name": "workers" }]),
        ),
        json!({ "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AWSMachineTemplate", "metadata": { "name": "old", "namespace": "capi" },
            "spec": { "template": { "spec": ami } } }),
        json!({ "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AWSMachine", "metadata": { "name": "workers-5d9c8-1", "namespace": "capi" },
            "spec": ami }),
        json!({ "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": { "name": "workers-5d9c8-1", "namespace": "capi",
            "ownerReferences": [{ "kind": "MachineSet", "name": "workers-5d9c8" }] },
            "spec": { "infrastructureRef": { "kind": "AWSMachine", "name": "workers-5d9c8-1" } }, "status": { "nodeRef": { "name": "n" } } }),
        json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n", "annotations": { "cluster.x-k8s.io/machine": "workers-5d9c8-1" },
            "labels": { "kubernetes.io/arch": "amd64", "topology.kubernetes.io/region": "us-east-2", "skewguard.dev/boot-image": "412.86.202301311551-0" } } }),
        real("coreos-bootimages-4.22.json"),
    ];
    let (found, exit) = audited(items, &[]);
    assert_eq!(
        (found["sets"].as_array().unwrap().len(), exit),
        (1, Exit::Refused)
    );
    let set = &found["sets"][0];
    assert_eq!(
        (&set["kind"], &set["nodes"][0]["count"]),
        (&json!("MachineDeployment"), &json!(1))
    );
    assert_eq!(set["wantImage"], "ami-0f87100a0927b4e1e");
    assert_eq!(
        set["remedy"],
        "make a copy of AWSMachineTemplate old, which cannot be changed, with spec.template.spec.ami.id set to ami-0f87100a0927b4e1e: \
         9.8.20260428-0, this cluster's own; then name the copy in spec.template.spec.infrastructureRef of the MachineDeployment"
    );
}

/// Two gathers of different days: the text says so, too.
#[test]
fn the_text_has_what_was_left_out() {
    let set = |version: &str| {
        let mut set = machine_set("worker", &aws("ami-1"));
        set["metadata"]["resourceVersion"] = json!(version);
        set
    };
    let (text, _, _) = audit_text(&list([set("1"), set("2")]), &[]);
    assert!(
        text.contains("warning: 1 object was read more than once"),
        "{text}"
    );
}

/// Hosts that are added without a Machine (OpenShift documentation, "Scaling a user-provisioned
/// cluster with the Bare Metal Operator").
#[test]
fn a_host_without_machine_takes_the_image_of_the_release() {
    let host = |name: &str, more: Value| {
        let mut spec = json!({ "bmc": { "address": "redfish-virtualmedia://192.0.2.1/redfish/v1/Systems/1", "credentialsName": "bmc",
            "disableCertificateVerification": true }, "bootMACAddress": "52:54:00:00:00:01", "online": true,
            "customDeploy": { "method": "install_coreos" },
            "userData": { "name": "worker-user-data-managed", "namespace": "openshift-machine-api" } });
        spec.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({ "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": { "name": name, "namespace": "openshift-machine-api",
            "labels": { "coreos.openshift.io/stream": "rhel-9" } }, "spec": spec })
    };
    let provisioning = json!({ "apiVersion": "metal3.io/v1alpha1", "kind": "Provisioning", "metadata": { "name": "provisioning-configuration" },
        "spec": { "provisioningNetwork": "Disabled", "watchAllNamespaces": false } });
    let machine = json!({ "consumerRef": { "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "name": "m" } });
    let items = [
        host("a", json!({})),
        host("b", json!({})),
        host("of-a-machine", machine),
        host(
            "installed-elsewhere",
            json!({ "externallyProvisioned": true }),
        ),
        provisioning,
        real("coreos-bootimages-5.0.json"),
    ];
    let (found, exit) = audited(items, &[]);
    assert_eq!(
        (found["sets"].as_array().unwrap().len(), exit),
        (1, Exit::Done)
    );
    let set = &found["sets"][0];
    assert_eq!(
        (
            &set["name"],
            &set["pool"],
            &set["stream"],
            &set["bootImage"]["version"]
        ),
        (
            &json!("worker rhel-9: install_coreos"),
            &json!("worker"),
            &json!("rhel-9"),
            &json!("9.8.20260428-0")
        )
    );
}
