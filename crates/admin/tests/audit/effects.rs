//! What a remedy does beside its field: for every way in which one would hurt there is a cluster here,
//! and no bare command for it.

use super::real::{audited, joined, list, machine_set};
use super::{audit, audit_text, items};
use crate::render::admission::denied;
use json_patch::{Patch, merge};
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;
use skewguard_core::platform::Platform;
use std::path::Path;

/// The ConfigMap of a case.
fn config_map(case: &str) -> Value {
    let is_it = |item: &Value| item["kind"] == "ConfigMap";
    items(case).into_iter().find(is_it).unwrap()
}

/// ClusterVersion with this history, the newest first; an update that is under way is `Partial`.
fn version(history: &[(&str, &str)]) -> Value {
    let desired = history.first().map(|(version, _)| *version);
    let entry = |(version, state): &(&str, &str)| json!({ "version": version, "state": state });
    json!({ "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": { "name": "version" },
        "spec": { "clusterID": "1c1f9b7e-0000-4a3e-9f1e-0123456789ab" },
        "status": { "desired": { "version": desired }, "history": history.iter().map(entry).collect::<Vec<_>>() } })
}

/// It names no images of its own.
fn provisioning() -> Value {
    json!({ "apiVersion": "metal3.io/v1alpha1", "kind": "Provisioning", "metadata": { "name": "provisioning-configuration" },
        "spec": { "provisioningNetwork": "Managed" } })
}

fn at(release: &str) -> Vec<Value> {
    let case = if release.starts_with('5') {
        "azure-gen2-of-5.0"
    } else {
        "fix-rolls-the-control-plane"
    };
    vec![
        version(&[(release, "Completed")]),
        config_map(case),
        provisioning(),
    ]
}

/// A provider spec with an image of 4.12.
fn old(platform: &str) -> Value {
    const VERSION: &str = "412.86.202301311551-0";
    let user_data = json!({ "name": "worker-user-data" });
    let mut spec = match platform {
        "aws" => {
            json!({ "kind": "AWSMachineProviderConfig", "ami": { "id": "ami-0c321aac14de997e3" }, "placement": { "region": "us-east-1" } })
        }
        "azure" => {
            json!({ "kind": "AzureMachineProviderSpec", "image": { "publisher": "azureopenshift", "offer": "aro4", "sku": "412-v2",
            "version": "412.86.20230131", "resourceID": "", "type": "MarketplaceNoPlan" } })
        }
        "gcp" => {
            json!({ "kind": "GCPMachineProviderSpec", "disks": [{ "image": "data" }, { "boot": true,
            "image": "projects/rhcos-cloud/global/images/rhcos-412-86-202301311551-0-gcp-x86-64" }] })
        }
        "vmware" => {
            json!({ "kind": "VSphereMachineProviderSpec", "template": format!("rhcos-{VERSION}-vmware.x86_64") })
        }
        "openstack" => {
            json!({ "kind": "OpenstackProviderSpec", "image": format!("rhcos-{VERSION}-openstack.x86_64") })
        }
        "nutanix" => {
            json!({ "kind": "NutanixMachineProviderConfig", "image": { "type": "name", "name": format!("rhcos-{VERSION}-nutanix.x86_64") } })
        }
        "powervs" => {
            json!({ "kind": "PowerVSMachineProviderConfig", "image": { "type": "Name", "name": format!("rhcos-{VERSION}-powervs.ppc64le") } })
        }
        "ibmcloud" => {
            json!({ "kind": "IBMCloudMachineProviderSpec", "image": format!("rhcos-{VERSION}-ibmcloud.x86_64") })
        }
        "metal" => {
            json!({ "kind": "BareMetalMachineProviderSpec", "image": { "url": format!("http://h/rhcos-{VERSION}-openstack.x86_64.qcow2"), "checksum": "x" } })
        }
        "libvirt" => {
            json!({ "kind": "LibvirtMachineProviderConfig", "volume": { "baseVolumeID": format!("rhcos-{VERSION}-qemu.x86_64") } })
        }
        "ovirt" => {
            json!({ "kind": "OvirtMachineProviderSpec", "template_name": format!("rhcos-{VERSION}-openstack.x86_64") })
        }
        other => panic!("{other}"),
    };
    spec["apiVersion"] = json!("machine.openshift.io/v1beta1");
    spec["userDataSecret"] = user_data;
    spec
}

/// KubeVirt has no sets with an image of their own.
fn platforms() -> impl Iterator<Item = &'static str> {
    let names = Platform::ALL.map(Platform::id).into_iter();
    names.filter(|name| *name != "kubevirt")
}

fn control_plane(platform: &str, state: &str, strategy: Option<&str>) -> Value {
    let mut set = json!({ "apiVersion": "machine.openshift.io/v1", "kind": "ControlPlaneMachineSet",
        "metadata": { "name": "cluster", "namespace": "openshift-machine-api",
            "annotations": { "capacity.cluster-autoscaler.kubernetes.io/labels": "kubernetes.io/arch=amd64" } },
        "spec": { "state": state, "replicas": 3, "template": { "machineType": "machines_v1beta1_machine_openshift_io",
            "machines_v1beta1_machine_openshift_io": { "spec": { "providerSpec": { "value": old(platform) } } } } } });
    if let Some(strategy) = strategy {
        set["spec"]["strategy"] = json!({ "type": strategy });
    }
    set
}

/// The first set of these objects; and its script has a command where the set has a patch alone.
fn first(items: &[Value]) -> Value {
    let set = first_of_any_verdict(items);
    assert_eq!(set["verdict"], "Refused", "{set}");
    set
}

fn first_of_any_verdict(items: &[Value]) -> Value {
    let (found, _) = audited(items.iter().cloned(), &[]);
    let set = found["sets"][0].clone();
    let script = script(items);
    let bare = script
        .lines()
        .any(|line| line.trim_start().starts_with("oc patch"));
    let is_known = set["verdict"] == "Refused" || set["bootImage"].is_object();
    assert_eq!(
        bare,
        is_known && set["patch"].is_string(),
        "{script}\n{set}"
    );
    if let Some(patch) = set["patch"].as_str() {
        let by_hand = format!(
            "\n# It may be allowed as it is: {}. The command:\n#     {patch}\n",
            set["message"].as_str().unwrap()
        );
        assert_eq!(script.contains(&by_hand), !is_known, "{script}");
    }
    if set["patch"].is_string() {
        assert_eq!(set["effect"], "nextMachineOnly", "{set}");
    }
    set
}

fn script(items: &[Value]) -> String {
    let (script, err, exit) =
        audit_text(&list(items.iter().cloned()), &["--print-commands", "fix"]);
    assert_eq!((err.as_str(), exit), ("", Exit::Done));
    script
}

/// None has the command.
#[test]
fn what_hurts_is_said_in_every_form() {
    let mut owned = machine_set("s", &old("aws"));
    owned["metadata"]["annotations"] = json!({ "argocd.argoproj.io/tracking-id": "a" });
    let replaced = node_pool(json!({ "upgradeType": "Replace" }));
    const ROLLS: &str = "CAREFUL, this replaces machines that run";
    for (set, effect, words) in [
        (
            control_plane("aws", "Active", None),
            "replacesRunning",
            ROLLS,
        ),
        (replaced, "replacesRunning", ROLLS),
        (
            host("w-0", None),
            "reinstalls",
            "CAREFUL, this takes machines down that run",
        ),
        (owned, "isReverted", "A change by hand does not last"),
    ] {
        let command = format!("oc patch {}s", set["kind"].as_str().unwrap().to_lowercase());
        let items = list([at("4.19.9"), vec![set]].concat());
        for form in [
            "text", "wide", "json", "yaml", "html", "markdown", "junit", "csv",
        ] {
            let (text, _, _) = audit_text(&items, &["--output", form]);
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let said = match form {
                "json" | "yaml" => effect,
                _ => words,
            };
            assert!(
                text.contains(said) && !text.contains(&command),
                "{form}: {text}"
            );
        }
    }
}

/// One that hurts has a row in [`what_hurts_is_said_in_every_form`].
fn effect(set: &Value) -> &str {
    match set["effect"].as_str() {
        Some(effect @ ("replacesRunning" | "reinstalls" | "isReverted")) => effect,
        Some(effect @ ("nextMachineOnly" | "needsFirst")) => effect,
        _ => panic!("{set}"),
    }
}

#[test]
fn a_control_plane_is_rolled_by_state_strategy_platform_and_release() {
    const ROLLS: &str = "replacesRunning";
    const NEXT: &str = "nextMachineOnly";
    const LOST: &str = "isReverted";
    for (platform, release, state, strategy, wanted) in [
        ("aws", "4.12.9", "Active", None, ROLLS),
        ("aws", "4.19.9", "Active", Some("RollingUpdate"), ROLLS),
        ("aws", "4.20.30", "Active", Some("RollingUpdate"), ROLLS),
        ("aws", "4.20.30", "Active", Some("Recreate"), ROLLS),
        ("aws", "4.21.0", "Active", Some("RollingUpdate"), NEXT),
        ("aws", "5.0.1", "Active", None, NEXT),
        ("azure", "4.20.1", "Active", None, ROLLS),
        ("azure", "5.0.1", "Active", None, NEXT),
        ("gcp", "4.20.1", "Active", None, ROLLS),
        ("gcp", "4.22.1", "Active", None, NEXT),
        ("aws", "4.19.9", "Active", Some("OnDelete"), NEXT),
        ("aws", "4.19.9", "Inactive", None, LOST),
        ("gcp", "4.19.9", "Inactive", Some("OnDelete"), LOST),
        ("aws", "4.21.9", "Inactive", None, NEXT),
        ("nutanix", "5.0.1", "Active", None, ROLLS),
        ("openstack", "4.22.9", "Active", None, ROLLS),
        ("vmware", "4.22.9", "Active", None, ROLLS),
        ("nutanix", "4.22.9", "Inactive", None, LOST),
    ] {
        let set = control_plane(platform, state, strategy);
        let found = first(&[at(release), vec![set]].concat());
        assert_eq!(
            effect(&found),
            wanted,
            "{platform} {release} {state} {strategy:?}: {found}"
        );
        if strategy == Some("OnDelete") && wanted == NEXT {
            assert!(
                found["effects"][0]["reason"]
                    .as_str()
                    .unwrap()
                    .contains("OnDelete"),
                "{found}"
            );
        }
        // An image that has to be uploaded is no command either.
        let is_named = matches!(platform, "aws" | "azure" | "gcp");
        assert_eq!(
            found["patch"].is_string(),
            is_named && wanted == NEXT,
            "{found}"
        );
    }
}

/// While an update is under way the operators of the release before run; and where the release is not
/// known, the worst counts.
#[test]
fn the_release_that_runs_decides() {
    let map = || config_map("fix-rolls-the-control-plane");
    let set = || control_plane("aws", "Active", None);
    let updating = version(&[("4.21.0", "Partial"), ("4.20.5", "Completed")]);
    assert_eq!(effect(&first(&[updating, map(), set()])), "replacesRunning");
    let found = first(&[map(), set()]);
    assert_eq!(effect(&found), "replacesRunning");
    let reason = found["effects"][0]["reason"].as_str().unwrap();
    assert!(
        reason.contains("the cluster's release is not known"),
        "{reason}"
    );
}

/// By the failure domains of the Infrastructure, in every release.
#[test]
fn a_template_of_a_failure_domain_rolls_the_control_plane() {
    let mut set = control_plane("vmware", "Active", None);
    let template = "machines_v1beta1_machine_openshift_io";
    set["spec"]["template"][template]["failureDomains"] =
        json!({ "platform": "VSphere", "vsphere": [{ "name": "fd1" }] });
    let infrastructure = json!({ "apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": { "name": "cluster" },
        "spec": { "platformSpec": { "vsphere": { "vcenters": [{ "server": "vc" }], "failureDomains": [{ "name": "fd1", "server": "vc",
            "topology": { "datacenter": "dc", "template": "/dc/vm/rhcos-412.86.202301311551-0-vmware.x86_64" } }] } } },
        "status": { "infrastructureName": "c1" } });
    for (state, wanted) in [
        ("Active", "replacesRunning"),
        ("Inactive", "nextMachineOnly"),
    ] {
        set["spec"]["state"] = json!(state);
        // Of an Inactive set nothing is made: it is refused all the same.
        let found = first(&[at("4.22.3"), vec![set.clone(), infrastructure.clone()]].concat());
        let others = found["effects"].as_array().unwrap();
        let has = others.iter().any(|effect| effect["effect"] == wanted);
        assert!(has, "{state}: {found}");
    }
}

#[test]
fn a_machine_that_runs_keeps_its_image_and_its_row() {
    let machine = |spec: Value| {
        json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": { "name": "m-0", "namespace": "openshift-machine-api", "labels": { "machine.openshift.io/cluster-api-machine-role": "master" } },
            "spec": { "providerSpec": { "value": spec } }, "status": { "nodeRef": { "name": "m-0" } } })
    };
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "m-0", "labels": { "kubernetes.io/arch": "amd64",
        "node-role.kubernetes.io/master": "", "skewguard.dev/boot-image": "412.86.202402272018-0" },
        "annotations": { "machine.openshift.io/machine": "openshift-machine-api/m-0" } } });
    let found = first(&[at("4.19.9"), vec![machine(old("aws")), node.clone()]].concat());
    let remedy = found["remedy"].as_str().unwrap();
    assert!(
        remedy.contains("in a Machine that runs spec.providerSpec.value.ami.id changes nothing"),
        "{remedy}"
    );
    assert_eq!(found["patch"], Value::Null);
    // Its spec was given the cluster's own image: the row is as it was.
    let mut new = old("aws");
    new["ami"]["id"] = found["wantImage"].clone();
    let after = first(&[at("4.19.9"), vec![machine(new), node]].concat());
    assert_eq!(
        after["bootImage"]["version"], "412.86.202402272018-0",
        "{after}"
    );
}

fn host(name: &str, state: Option<&str>) -> Value {
    let mut host = json!({ "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": { "name": name, "namespace": "openshift-machine-api" },
        "spec": { "image": { "url": "http://h/rhcos-412.86.202301311551-0-openstack.x86_64.qcow2" }, "userData": { "name": "worker-user-data" } } });
    if let Some(state) = state {
        host["status"] = json!({ "provisioning": { "state": state } });
    }
    host
}

#[test]
fn an_installed_host_is_left_alone() {
    for (state, wanted) in [
        (Some("provisioned"), "reinstalls"),
        (Some("provisioning"), "reinstalls"),
        (Some("externally provisioned"), "reinstalls"),
        (None, "reinstalls"),
        (Some("registering"), "nextMachineOnly"),
        (Some("inspecting"), "nextMachineOnly"),
        (Some("preparing"), "nextMachineOnly"),
        (Some("ready"), "nextMachineOnly"),
        (Some("available"), "nextMachineOnly"),
        (Some("deprovisioning"), "nextMachineOnly"),
    ] {
        let found = first(&[at("4.19.9"), vec![host("w-0", state)]].concat());
        assert_eq!(effect(&found), wanted, "{state:?}");
        let begins = found["remedy"]
            .as_str()
            .unwrap()
            .starts_with("change nothing on w-0");
        assert_eq!(begins, wanted == "reinstalls", "{found}");
    }
    // Of several the installed ones are named apart.
    let hosts = vec![
        host("w-0", Some("available")),
        host("w-1", Some("provisioned")),
    ];
    let found = first(&[at("4.19.9"), hosts].concat());
    let remedy = found["remedy"].as_str().unwrap();
    assert!(
        remedy.starts_with("change nothing on w-1; of w-0 set spec.customDeploy.method"),
        "{remedy}"
    );
    // No ConfigMap: the release's own image is not known.
    let found = first(&[
        version(&[("4.16.30", "Completed")]),
        provisioning(),
        host("w-0", Some("provisioned")),
    ]);
    let remedy = found["remedy"].as_str().unwrap();
    assert!(
        remedy
            .ends_with("(its version is not known: the ConfigMap coreos-bootimages was not read)"),
        "{remedy}"
    );
}

#[test]
fn a_release_without_install_coreos_has_no_command_for_it() {
    let set = machine_set("s", &old("metal"));
    let found = first(&[at("4.9.3"), vec![set.clone()]].concat());
    assert_eq!(found["patch"], Value::Null);
    assert!(
        found["remedy"]
            .as_str()
            .unwrap()
            .contains("from OpenShift 4.10 on"),
        "{found}"
    );
    let found = first(&[at("4.10.3"), vec![set]].concat());
    assert!(found["patch"].is_string(), "{found}");
}

fn node_pool(management: Value) -> Value {
    json!({ "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool", "metadata": { "name": "np", "namespace": "clusters" },
        "spec": { "arch": "amd64", "replicas": 2, "management": management,
            "platform": { "type": "AWS", "aws": { "ami": "ami-0c321aac14de997e3" } }, "release": { "image": "r" } },
        "status": { "version": "4.16.8" } })
}

#[test]
fn a_node_pool_is_replaced_by_its_management() {
    for (management, wanted) in [
        (json!({ "upgradeType": "Replace" }), "replacesRunning"),
        (json!({}), "replacesRunning"),
        (
            json!({ "upgradeType": "Replace", "replace": { "strategy": "RollingUpdate" } }),
            "replacesRunning",
        ),
        (
            json!({ "upgradeType": "Replace", "replace": { "strategy": "OnDelete" } }),
            "nextMachineOnly",
        ),
        (json!({ "upgradeType": "InPlace" }), "nextMachineOnly"),
    ] {
        let found = first(&[node_pool(management.clone())]);
        assert_eq!(effect(&found), wanted, "{management}");
    }
}

#[test]
fn other_controllers_replace_what_runs() {
    let template = json!({ "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AWSMachineTemplate",
        "metadata": { "name": "t", "namespace": "n" }, "spec": { "template": { "spec": { "ami": { "id": "ami-0c321aac14de997e3" } } } } });
    let deployment = |strategy: Value| {
        json!({ "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineDeployment", "metadata": { "name": "d", "namespace": "n" },
            "spec": { "replicas": 1, "strategy": strategy, "template": { "spec": { "infrastructureRef": { "kind": "AWSMachineTemplate", "name": "t" } } } } })
    };
    for (strategy, wanted) in [
        (json!({ "type": "RollingUpdate" }), "replacesRunning"),
        (Value::Null, "replacesRunning"),
        (json!({ "type": "OnDelete" }), "nextMachineOnly"),
    ] {
        let found = first(&[at("4.19.9"), vec![template.clone(), deployment(strategy)]].concat());
        assert_eq!(effect(&found), wanted, "{found}");
    }
    let class = json!({ "apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": { "name": "c" },
        "spec": { "amiSelectorTerms": [{ "id": "ami-0c321aac14de997e3" }] } });
    assert_eq!(
        effect(&first(&[at("4.19.9"), vec![class]].concat())),
        "replacesRunning"
    );
}

fn secret(spec: &str) -> Value {
    use base64::Engine;
    let stub = json!({ "ignition": { "version": spec, "config": { "append": [{ "source": "https://hidden.example.com" }] } } });
    let data = base64::prelude::BASE64_STANDARD.encode(stub.to_string());
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "worker-user-data", "namespace": "openshift-machine-api" },
        "data": { "userData": data } })
}

#[test]
fn user_data_that_an_image_does_not_read_comes_first() {
    let map = || config_map("fix-rolls-the-control-plane");
    let born = |release| version(&[("4.19.9", "Completed"), (release, "Completed")]);
    for platform in ["aws", "gcp", "metal"] {
        let set = || machine_set("s", &old(platform));
        for (history, more, wanted) in [
            (born("4.5.1"), Some(secret("2.2.0")), "needsFirst"),
            (born("4.18.1"), Some(secret("2.2.0")), "needsFirst"),
            (born("4.5.1"), Some(secret("3.1.0")), "nextMachineOnly"),
            (born("4.5.1"), None, "needsFirst"),
            (born("4.6.1"), None, "nextMachineOnly"),
        ] {
            let all = [history, map(), provisioning(), set()];
            let items: Vec<Value> = all.into_iter().chain(more).collect();
            let found = first(&items);
            assert_eq!(effect(&found), wanted, "{platform}: {found}");
            let (text, _, _) = audit_text(&list(items), &["--output", "json"]);
            assert!(
                !text.contains("hidden") && !text.contains("aGlkZGVu"),
                "{text}"
            );
        }
    }
    // The operator's own is of spec 3.
    let mut managed = machine_set("s", &old("aws"));
    managed["spec"]["template"]["spec"]["providerSpec"]["value"]["userDataSecret"]["name"] =
        json!("worker-user-data-managed");
    assert_eq!(
        effect(&first(&[born("4.5.1"), map(), managed])),
        "nextMachineOnly"
    );
}

/// Before any agent: what a policy allows stops in the initramfs all the same.
#[test]
fn an_allowed_image_that_reads_other_user_data_is_not_allowed() {
    let mut new = old("gcp");
    new["disks"][1]["image"] =
        json!("projects/rhcos-cloud/global/images/rhcos-9-6-20251015-1-gcp-x86-64");
    let items = |more: Value| [at("4.21.9"), vec![machine_set("s", &new), more]].concat();
    let (found, exit) = audited(items(secret("2.2.0")), &[]);
    let set = &found["sets"][0];
    assert_eq!(
        (&set["verdict"], exit),
        (&json!("Undetermined"), Exit::Unknown),
        "{set}"
    );
    assert!(
        set["remedy"]
            .as_str()
            .unwrap()
            .starts_with("convert Secret worker-user-data to Ignition spec 3"),
        "{set}"
    );
    let (found, exit) = audited(items(secret("3.2.0")), &[]);
    assert_eq!(
        (&found["sets"][0]["verdict"], exit),
        (&json!("Allowed"), Exit::Done),
        "{found}"
    );
    // An image of 4.5 reads no spec 3.
    let set = machine_set("s", &{
        let mut oldest = old("gcp");
        oldest["disks"][1]["image"] =
            json!("projects/rhcos-cloud/global/images/rhcos-45-82-202008010929-0-gcp-x86-64");
        oldest
    });
    let found = first(&[at("4.21.9"), vec![set, secret("3.2.0")]].concat());
    let notes = found["notes"].to_string();
    assert!(notes.contains("reads spec 2 alone"), "{found}");
    assert_eq!(effect(&found), "nextMachineOnly");
}

#[test]
fn a_set_that_a_tool_keeps_is_changed_in_its_repository() {
    let metadata: [(&str, Value, &str); 8] = [
        (
            "annotations",
            json!({ "argocd.argoproj.io/tracking-id": "a:b/C:d/e" }),
            "Argo CD",
        ),
        (
            "labels",
            json!({ "argocd.argoproj.io/instance": "a" }),
            "Argo CD",
        ),
        (
            "labels",
            json!({ "kustomize.toolkit.fluxcd.io/name": "a" }),
            "Flux",
        ),
        (
            "labels",
            json!({ "hive.openshift.io/managed": "true" }),
            "Hive",
        ),
        (
            "labels",
            json!({ "app.kubernetes.io/managed-by": "Helm" }),
            "Helm",
        ),
        (
            "annotations",
            json!({ "apps.open-cluster-management.io/hosting-subscription": "a" }),
            "ACM",
        ),
        (
            "ownerReferences",
            json!([{ "kind": "Thing", "name": "t" }]),
            "Thing t",
        ),
        (
            "managedFields",
            json!([{ "manager": "argocd-controller", "operation": "Apply", "fieldsV1": { "f:spec": { "f:template": {} } } }]),
            "Argo CD",
        ),
    ];
    for (field, value, owner) in metadata {
        for platform in ["aws", "gcp", "azure"] {
            let mut set = machine_set("s", &old(platform));
            set["metadata"]["annotations"] = json!({ "capacity.cluster-autoscaler.kubernetes.io/labels": "kubernetes.io/arch=amd64" });
            let own = set["metadata"].as_object_mut().unwrap();
            match (own.get_mut(field), &value) {
                (Some(Value::Object(own)), Value::Object(more)) => own.extend(more.clone()),
                _ => drop(own.insert(field.to_owned(), value.clone())),
            }
            let found = first(&[at("5.0.2"), vec![set.clone()]].concat());
            assert_eq!(effect(&found), "isReverted", "{found}");
            assert_eq!(found["effects"][0]["by"], owner);
            assert_eq!(found["couldBeKept"], Value::Null);
            assert!(
                !found["remedy"]
                    .as_str()
                    .unwrap()
                    .contains("let the cluster keep"),
                "{found}"
            );
            // The file makes the same of the object as the command would.
            let file: Value =
                serde_saphyr::from_str(found["patchFile"]["text"].as_str().unwrap()).unwrap();
            match file.as_array() {
                Some(_) => {
                    let patch: Patch = serde_json::from_value(file).unwrap();
                    json_patch::patch(&mut set, &patch).unwrap();
                }
                None => merge(&mut set, &file),
            }
            let spec = &set["spec"]["template"]["spec"]["providerSpec"]["value"];
            let image = match platform {
                "aws" => spec["ami"]["id"].as_str().unwrap().to_owned(),
                "gcp" => spec["disks"][1]["image"].as_str().unwrap().to_owned(),
                _ => ["publisher", "offer", "sku", "version"]
                    .map(|part| spec["image"][part].as_str().unwrap())
                    .join(":"),
            };
            assert_eq!(found["wantImage"], image.as_str());
            assert_eq!(set["metadata"]["name"], "s");
        }
    }
}

/// A provider spec for each row of the platforms' fixes (docs/audit.md, "What helps"), beside the images that
/// are replaced by the cluster's own.
fn special(row: &str) -> Value {
    let of = |platform: &str, change: &dyn Fn(&mut Value)| {
        let mut spec = old(platform);
        change(&mut spec);
        spec
    };
    match row {
        // The joined node says what the filter chose.
        "chosen AMI" => {
            of(
                "aws",
                &|spec| {
                    spec["ami"] =
                        json!({ "filters": [{ "name": "name", "values": ["rhcos-412*"] }] })
                },
            )
        }
        "AMI of nobody's list" => of("aws", &|spec| {
            spec["ami"] = json!({ "id": "ami-0123456789abcdef0" })
        }),
        "GCP marketplace" => of("gcp", &|spec| {
            spec["disks"][1]["image"] = json!(
                "projects/redhat-marketplace-public/global/images/redhat-coreos-ocp-412-x86-64-202301311551"
            );
        }),
        "GCP upload" => of("gcp", &|spec| {
            spec["disks"][1]["image"] =
                json!("projects/mine/global/images/rhcos-412-86-202301311551-0-gcp-x86-64")
        }),
        "Azure security type" => of("azure", &|spec| {
            spec["image"] = json!({ "publisher": "", "offer": "", "sku": "", "version": "",
                "resourceID": "/resourceGroups/g/providers/Microsoft.Compute/galleries/g/images/rhcos-412.86.202301311551-0-azure/versions/1.0.0" });
            spec["securityProfile"] = json!({ "settings": { "securityType": "ConfidentialVM" } });
        }),
        "Azure plan" => of("azure", &|spec| {
            spec["image"] = json!({ "publisher": "redhat", "offer": "rh-ocp-worker", "sku": "rh-ocp-worker", "version": "412.86.2023030600",
                "resourceID": "", "type": "MarketplaceWithPlan" });
        }),
        platform => old(platform),
    }
}

/// For each fix of each platform there are clusters in which the change alone would hurt: a control plane that is
/// rolled, a set that another tool writes, user data that the new image does not read. None has a bare command.
#[test]
fn every_fix_has_clusters_in_which_it_has_no_bare_command() {
    let rows = [
        "chosen AMI",
        "AMI of nobody's list",
        "GCP marketplace",
        "GCP upload",
        "Azure security type",
        "Azure plan",
    ];
    let mut bare = Vec::new();
    for row in rows.into_iter().chain(platforms()) {
        let joined = || joined("s", &special(row), "412.86.202301311551-0");
        let set = |annotations: Value| {
            let mut set = machine_set("s", &special(row));
            set["metadata"]["annotations"] = json!({ "capacity.cluster-autoscaler.kubernetes.io/labels": "kubernetes.io/arch=amd64" });
            set["metadata"]["annotations"]
                .as_object_mut()
                .unwrap()
                .extend(annotations.as_object().unwrap().clone());
            set
        };
        let with = |more: Vec<Value>| {
            first_of_any_verdict(&[at("4.19.9"), joined().to_vec(), more].concat())
        };
        let owned = with(vec![set(json!({ "argocd.argoproj.io/tracking-id": "a" }))]);
        assert_eq!(
            (&owned["patch"], effect(&owned)),
            (&Value::Null, "isReverted"),
            "{row}: {owned}"
        );
        let unreadable = with(vec![set(json!({})), secret("2.2.0")]);
        assert_eq!(
            (&unreadable["patch"], effect(&unreadable)),
            (&Value::Null, "needsFirst"),
            "{row}: {unreadable}"
        );
        let mut rolled = control_plane("aws", "Active", None);
        rolled["spec"]["template"]["machines_v1beta1_machine_openshift_io"]["spec"]["providerSpec"]
            ["value"] = special(row);
        let (found, _) = audited([at("4.19.9"), vec![rolled]].concat(), &[]);
        let rolled = &found["sets"][0];
        assert_eq!(rolled["patch"], Value::Null, "{row}: {rolled}");
        if rolled["verdict"] == "Refused" {
            assert_eq!(effect(rolled), "replacesRunning", "{row}: {rolled}");
        }
        if with(vec![set(json!({}))])["patch"].is_string() {
            bare.push(row);
        }
    }
    // Where nothing of this is so, these have one.
    assert_eq!(bare, ["chosen AMI", "GCP upload", "aws", "gcp", "metal"]);
    // An image of the NodePool's own is unset.
    let pool = |management: Value| first(&[node_pool(management)])["patch"].is_string();
    assert!(
        pool(json!({ "upgradeType": "InPlace" })) && !pool(json!({ "upgradeType": "Replace" }))
    );
}

/// A merge replaces lists as a whole: what is in one has an operation.
#[test]
fn a_patch_file_is_exact() {
    let text = |platform: &str| {
        let mut set = machine_set("s", &old(platform));
        set["metadata"]["annotations"] = json!({ "argocd.argoproj.io/tracking-id": "a" });
        let found = first(&[at("4.22.2"), vec![set]].concat());
        found["patchFile"].clone()
    };
    assert_eq!(
        text("aws"),
        json!({ "name": "machineset-s.yaml", "text": "\
# kustomization.yaml:
# patches:
# - path: machineset-s.yaml
apiVersion: machine.openshift.io/v1beta1
kind: MachineSet
metadata:
  name: s
  namespace: openshift-machine-api
spec:
  template:
    spec:
      providerSpec:
        value:
          ami:
            id: ami-0fbc8be8796dc1df5
" })
    );
    assert_eq!(
        text("gcp")["text"],
        "\
# kustomization.yaml:
# patches:
# - path: machineset-s.yaml
#   target: {group: machine.openshift.io, version: v1beta1, kind: MachineSet, name: s, namespace: openshift-machine-api}
- op: replace
  path: /spec/template/spec/providerSpec/value/disks/1/image
  value: projects/rhcos-cloud/global/images/rhcos-9-8-20260428-0-gcp-x86-64
"
    );
}

/// A patch for a later release sets what the cluster has: an image that comes after an update has none.
#[test]
fn a_fix_has_the_images_that_the_cluster_may_have() {
    let text = list([at("4.21.3"), vec![machine_set("s", &old("aws"))]].concat());
    let fix = |more: &[&str]| audit_text(&text, &[&["--print-commands", "fix"], more].concat());
    let (out, err, exit) = fix(&["--target", "4.20"]);
    assert_eq!((out.as_str(), exit), ("", Exit::Failed));
    let says = "skewguard: --print-commands fix --target 4.20.0: the cluster is at 4.21.3, and its sets would get the images of 4.20.0. \
                Leave --target out, or say --any-release\n";
    assert!(err.ends_with(says), "{err}");
    // Without the ConfigMap the newest published one of the cluster's release.
    let bare = list([
        version(&[("4.21.3", "Completed")]),
        machine_set("s", &old("aws")),
    ]);
    let own = (&text, " to 9.8.20260428-0\n");
    for ((text, image), more) in [
        (own, &["--target", "4.20", "--any-release"][..]),
        (own, &["--target", "4.22"]),
        (own, &["--target", "5.0"]),
        ((&bare, " to 9.6."), &["--target", "4.22"]),
    ] {
        let (out, _, exit) = audit_text(text, &[&["--print-commands", "fix"], more].concat());
        assert_eq!(exit, Exit::Done);
        let head = out.contains("# the cluster's own release: 4.21.3\n");
        assert!(head && out.contains(image), "{out}");
    }
    for target in ["4.21", "4.21.3", "4.21.30"] {
        let (out, _, exit) = fix(&["--target", target]);
        assert_eq!(exit, Exit::Done, "{target}");
        assert!(out.contains("oc patch machinesets"), "{out}");
    }
    let unknown = list([machine_set("s", &old("aws"))]);
    let (_, err, exit) = audit_text(&unknown, &["--print-commands", "fix", "--target", "4.22"]);
    assert_eq!(exit, Exit::Failed);
    assert!(err.contains("of an unknown release"), "{err}");
}

/// The object that a command patches, with the patch applied.
fn patched(items: &[Value], command: &str) -> (usize, Value) {
    let (head, patch) = command.split_once(" -p '").unwrap();
    let patch: Value = serde_json::from_str(patch.trim_end_matches('\'')).unwrap();
    let words: Vec<&str> = head.split(' ').collect();
    let [_, _, resource, name, _, namespace, _, kind] = words[..] else {
        panic!("{command}");
    };
    let is_it = |item: &Value| {
        let own = item["kind"].as_str().unwrap_or_default().to_lowercase() + "s";
        resource.split('.').next() == Some(&own)
            && item["metadata"]["name"] == name
            && item["metadata"]["namespace"] == namespace
    };
    let at = items
        .iter()
        .position(is_it)
        .unwrap_or_else(|| panic!("{command}"));
    let mut object = items[at].clone();
    match kind {
        "json" => {
            let patch: Patch = serde_json::from_value(patch).unwrap();
            json_patch::patch(&mut object, &patch)
                .unwrap_or_else(|error| panic!("{command}: {error}"));
        }
        "merge" => merge(&mut object, &patch),
        other => panic!("{other}"),
    }
    (at, object)
}

/// All objects of a fixture.
fn objects(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut all = Vec::new();
    let documents = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    for document in documents.map_while(Result::ok) {
        match document["items"].as_array() {
            Some(items) => all.extend(items.iter().cloned()),
            None => all.push(document),
        }
    }
    all
}

/// Every patch of every fixture fits its object, and mends it: the set is refused no more, and the
/// admission policy that is made of the audit takes its Machines, and none before.
#[test]
fn every_patch_fits_its_object_and_mends_it() {
    let (mut patches, mut admitted) = (0, 0);
    let data = Path::new("tests/data");
    let files = std::fs::read_dir(data.join("audit")).unwrap();
    let cases = std::fs::read_dir(data.join("cases")).unwrap();
    let cases = cases.map(|case| case.unwrap().path().join("objects.json"));
    let files = files.map(|file| file.unwrap().path()).chain(cases);
    let mut clusters: Vec<Vec<Value>> = files
        .filter(|path| path.extension().is_some_and(|ext| ext == "json") && path.is_file())
        .map(|path| objects(&path))
        .collect();
    for platform in platforms() {
        for release in ["4.19.9", "4.22.9", "5.0.1"] {
            let mut set = machine_set("s", &old(platform));
            set["metadata"]["annotations"] = json!({ "capacity.cluster-autoscaler.kubernetes.io/labels": "kubernetes.io/arch=amd64" });
            clusters.push([at(release), vec![set]].concat());
            let strategy = Some("OnDelete");
            clusters.push(
                [
                    at(release),
                    vec![control_plane(platform, "Active", strategy)],
                ]
                .concat(),
            );
        }
    }
    clusters.push(vec![node_pool(json!({ "upgradeType": "InPlace" }))]);
    for items in clusters {
        let text = list(items.iter().cloned());
        let (out, _, _) = audit_text(&text, &["--output", "json"]);
        let Ok(found) = serde_json::from_str::<Value>(&out) else {
            continue;
        };
        for set in found["sets"].as_array().unwrap() {
            let Some(command) = set["patch"].as_str() else {
                continue;
            };
            patches += 1;
            let (at, object) = patched(&items, command);
            let mut after = items.clone();
            after[at] = object.clone();
            let (after, _) = audited(after, &[]);
            let sets = after["sets"].as_array().unwrap();
            let mended = sets
                .iter()
                .find(|after| after["name"] == set["name"] && after["kind"] == set["kind"]);
            assert_ne!(
                mended.unwrap()["verdict"],
                "Refused",
                "{command}\n{}",
                mended.unwrap()
            );
            let Some(policies) = admission(&found) else {
                continue;
            };
            let machine = |object: &Value| {
                let template =
                    "/spec/template/machines_v1beta1_machine_openshift_io/spec/providerSpec";
                let spec = object.pointer(template);
                let spec = spec.or_else(|| object.pointer("/spec/template/spec/providerSpec"))?;
                Some(
                    json!({ "kind": "Machine", "metadata": { "name": "m" }, "spec": { "providerSpec": spec } }),
                )
            };
            if let (Some(before), Some(after)) = (machine(&items[at]), machine(&object)) {
                assert_eq!(denied(&policies, &after), None, "{command}");
                admitted += usize::from(denied(&policies, &before).is_some());
            }
        }
    }
    // Not by accident: so many are there.
    assert!(patches >= 20 && admitted >= 15, "{patches} {admitted}");
}

/// The admission policy of an audit; `None` where it denies the cluster's own image.
fn admission(found: &Value) -> Option<Vec<Value>> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("audit.json");
    std::fs::write(&file, found.to_string()).unwrap();
    let (out, err, exit) = super::run(&[
        "render",
        "admission",
        "--policy",
        super::POLICY,
        "--audit",
        file.to_str().unwrap(),
    ]);
    if exit != Exit::Done {
        assert!(err.contains("--deny-own"), "{err}");
        return None;
    }
    Some(serde_saphyr::from_multiple(&out).unwrap())
}

/// An admission policy that denies the cluster's own image keeps it from scaling up.
#[test]
fn the_clusters_own_image_is_not_denied_unasked() {
    let map = config_map("fix-rolls-the-control-plane");
    let own = {
        let (found, _) = audited(
            [at("4.19.9"), vec![machine_set("s", &old("aws"))]].concat(),
            &[],
        );
        found["sets"][0]["wantImage"].clone()
    };
    let mut spec = old("aws");
    spec["ami"]["id"] = own.clone();
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let policy = path(
        "policy.json",
        r#"{"apiVersion":"skewguard.dev/v1alpha1","kind":"BootImageSkewPolicy","mode":"Enforce","limits":[{"minimumRHCOSVersion":"10.0"}]}"#,
    );
    let objects = path(
        "objects.json",
        &list([
            version(&[("4.19.9", "Completed")]),
            map,
            machine_set("s", &spec),
        ]),
    );
    let (json, _, _) = audit(&["--policy", &policy, "--from", &objects, "--output", "json"]);
    let found = path("audit.json", &json);
    let render = |more: &[&str]| {
        super::run(
            &[
                &[
                    "render",
                    "admission",
                    "--policy",
                    &policy,
                    "--audit",
                    &found,
                ],
                more,
            ]
            .concat(),
        )
    };
    let (out, err, exit) = render(&[]);
    assert_eq!((out.as_str(), exit), ("", Exit::Failed));
    assert!(
        err.contains("the image of the cluster's own release") && err.contains("--deny-own"),
        "{err}"
    );
    let (out, _, exit) = render(&["--deny-own"]);
    assert_eq!(exit, Exit::Done);
    assert!(out.contains(own.as_str().unwrap()), "{out}");
}

/// What nobody keeps although the cluster could has the one command for it.
#[test]
fn a_set_that_could_be_kept_has_the_command_for_it() {
    let configuration = json!({ "apiVersion": "operator.openshift.io/v1", "kind": "MachineConfiguration", "metadata": { "name": "cluster" },
        "spec": {}, "status": {} });
    let kept = |release: &str, platform: &str| {
        let items = [
            at(release),
            vec![machine_set("s", &old(platform)), configuration.clone()],
        ]
        .concat();
        let (found, _) = audited(items.iter().cloned(), &[]);
        if let Some(command) = found["keepCommands"]["MachineSet"].as_str() {
            let (wide, _, _) = audit_text(&list(items.iter().cloned()), &["--output", "wide"]);
            let (html, _, _) = audit_text(&list(items.iter().cloned()), &["--output", "html"]);
            assert!(wide.contains(&format!("\n  {command}\n")), "{wide}");
            assert!(html.replace("&quot;", "\"").contains(command), "{html}");
            assert!(script(&items).contains(&format!("\n# {command}\n")));
        }
        (
            found["sets"][0]["couldBeKept"].clone(),
            found["keepCommands"].clone(),
        )
    };
    assert_eq!(
        kept("4.21.3", "aws"),
        (
            json!(true),
            json!({ "MachineSet": "oc patch machineconfiguration cluster --type merge -p '{\"spec\":{\"managedBootImages\":{\"machineManagers\":[\
             {\"apiGroup\":\"machine.openshift.io\",\"resource\":\"machinesets\",\"selection\":{\"mode\":\"All\"}}]}}}'" })
        )
    );
    // Not where it cannot: too old a release, another platform.
    for (release, platform) in [
        ("4.16.3", "aws"),
        ("4.20.3", "azure"),
        ("4.22.1", "nutanix"),
    ] {
        assert_eq!(
            kept(release, platform),
            (Value::Null, Value::Null),
            "{release} {platform}"
        );
    }
}

#[test]
fn a_joined_node_does_not_change_what_a_remedy_does() {
    let [machine, node] = joined("s", &old("aws"), "412.86.202402272018-0");
    let found = first(
        &[
            at("4.19.9"),
            vec![machine_set("s", &old("aws")), machine, node],
        ]
        .concat(),
    );
    assert_eq!(effect(&found), "nextMachineOnly");
    assert_eq!(
        found["effects"][0]["reason"],
        "machines that are there stay as they are"
    );
}
