//! What makes nodes beside the sets of the Machine API: rows of their own where the image is said,
//! names where it is not understood; and what is left out.

use super::real::{audited, aws, joined, machine_set};
use super::{audit_text, case, items};
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;

/// Kind, name, version and verdict of each row.
fn rows(audit: &Value) -> Vec<[String; 4]> {
    let sets = audit["sets"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    sets.map(|set| {
        [
            text(&set["kind"]),
            text(&set["name"]),
            text(&set["bootImage"]["version"]),
            text(&set["verdict"]),
        ]
    })
    .collect()
}

#[test]
fn karpenters_node_classes_are_rows() {
    let (audit, exit) = case("karpenter");
    assert_eq!(exit, Exit::Refused);
    assert_eq!(
        rows(&audit),
        [
            [
                "EC2NodeClass",
                "default",
                "412.86.202301311551-0",
                "Refused"
            ],
            ["MachineSet", "c1-own", "9.8.20260428-0", "Allowed"],
        ]
    );
    let class = &audit["sets"][0];
    assert_eq!(
        class["knownFrom"],
        "the AMI's name, rhcos-412.86.202301311551-0-x86_64"
    );
    assert_eq!(
        class["notes"],
        json!(["Karpenter makes nodes from it for NodePool on-demand"])
    );
    assert_eq!(audit["provisioned"][0]["name"], "on-demand-x7k2p");

    let without = |kinds: &[&str]| {
        let items = items("karpenter").into_iter();
        let kept = items.filter(|item| !kinds.contains(&item["kind"].as_str().unwrap()));
        let (audit, exit) = audited(kept, &[]);
        (
            rows(&audit)[0].clone(),
            audit["sets"][0]["message"].clone(),
            exit,
        )
    };
    // The class of the release, which names no image; a pool without any class.
    let (row, message, exit) = without(&["EC2NodeClass"]);
    assert_eq!(
        (&row[0], exit),
        (&"OpenshiftEC2NodeClass".to_owned(), Exit::Unknown)
    );
    assert_eq!(
        message,
        "the version is unknown: a release does not say which boot image is in it"
    );
    let (row, message, exit) = without(&["EC2NodeClass", "OpenshiftEC2NodeClass"]);
    assert_eq!((&row[0], exit), (&"NodePool".to_owned(), Exit::Unknown));
    assert_eq!(
        message,
        "the version is unknown: its EC2NodeClass was not read"
    );
    let (row, _, exit) = without(&["NodePool", "OpenshiftEC2NodeClass"]);
    assert_eq!((&row[0], exit), (&"EC2NodeClass".to_owned(), Exit::Refused));
}

/// A class without owner, in a cluster that is not hosted, is nobody's: a class of HyperShift's of the same
/// name says nothing of it.
#[test]
fn a_plain_node_class_is_fixed_in_itself() {
    let (audit, _) = case("karpenter");
    let class = &audit["sets"][0];
    assert_eq!(class["upkeep"]["rule"], "NodeClass");
    let remedy = class["remedy"].as_str().unwrap();
    assert!(!remedy.contains("OpenshiftEC2NodeClass"), "{remedy}");
    assert!(remedy.contains("set spec.amiSelectorTerms to"), "{remedy}");
    let with = |change: fn(&mut Value)| {
        let items = items("karpenter").into_iter().map(|mut item| {
            change(&mut item);
            item
        });
        let (audit, _) = audited(items, &[]);
        audit["sets"][0].clone()
    };
    let owned = with(|item| {
        if item["kind"] == "EC2NodeClass" {
            item["metadata"]["ownerReferences"] = json!([{ "apiVersion": "karpenter.hypershift.openshift.io/v1beta1",
                "kind": "OpenshiftEC2NodeClass", "name": "default", "uid": "u" }]);
        }
    });
    let hosted = with(|item| {
        if item["kind"] == "Infrastructure" {
            item["status"]["controlPlaneTopology"] = json!("External");
        }
    });
    for class in [owned, hosted] {
        assert_eq!(class["upkeep"]["rule"], "NodeClassRelease", "{class}");
        assert!(
            class["remedy"]
                .as_str()
                .unwrap()
                .contains("spec.version of OpenshiftEC2NodeClass default")
        );
    }
}

/// An image of OKD's that no rule of the policy is about is known, and has a fix.
#[test]
fn what_the_policy_does_not_decide_is_known() {
    let args = [
        "--policy",
        "tests/data/cases/policy.json",
        "--from",
        "tests/data/cases/okd-mixed-fleet",
    ];
    let (text, _, exit) = super::audit(&args);
    assert_eq!(exit, Exit::Unknown);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for wanted in [
        "none of 5 sets would be refused, 3 are not decided by the policy. Next: see below what to change",
        "the policy has no rule for images of Fedora CoreOS",
        "the policy has no rule for images of SCOS",
        "What to change: c1-fcos, c1-scos9 (vmware): import 10.0.20260614-0, this cluster's own image",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    assert!(
        !text.contains("not known"),
        "not known: {}",
        &text[text.find("not known").unwrap()..]
    );
}

/// Each row of a control plane has its own name; who uses the oldest image is one set.
#[test]
fn a_control_plane_uses_an_image_once() {
    let args = [
        "--policy",
        "tests/data/cases/policy.json",
        "--from",
        "tests/data/cases/control-plane-failure-domain",
    ];
    let (text, ..) = super::audit(&args);
    assert!(text.contains("  cluster[fd-"), "{text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.ends_with("by ControlPlaneMachineSet openshift-machine-api/cluster."),
        "{text}"
    );
}

/// The name of a marketplace image says the release of OpenShift alone, by which it is ordered.
#[test]
fn an_image_of_a_known_release_is_not_unknown() {
    let (audit, _) = case("gcp-uploaded-image");
    assert_eq!(
        audit["oldest"]["bootImage"]["version"],
        "46.82.202011260640-0"
    );
    assert_eq!(audit["oldest"]["unknown"], 1, "the uploaded one alone");
    let newer = items("gcp-uploaded-image").into_iter();
    let newer = newer.filter(|item| {
        !matches!(
            item["metadata"]["name"].as_str(),
            Some("c1-w-b" | "c1-infra-b")
        )
    });
    let (audit, _) = audited(newer, &[]);
    assert_eq!(
        audit["oldest"]["bootImage"]["version"],
        "redhat-coreos-ocp-412-x86-64-202301181737"
    );
}

/// Each unknown version has a way to know it, which the next step points at.
#[test]
fn the_next_step_is_below() {
    let pool = json!({ "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": { "name": "p" },
        "spec": { "template": { "spec": { "nodeClassRef": { "group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default" } } } } });
    let (text, ..) = audit_text(&super::real::list([pool]), &[]);
    let help = "How to find the unknown versions:\n  p: the script of `oc skewguard audit --print-commands` gathers what was not\n  read (--from)\n";
    assert!(
        text.contains("Next: see below what makes them known") && text.contains(help),
        "{text}"
    );
}

/// What was uploaded is in no stream metadata.
#[test]
fn clues_for_uploaded_images() {
    for (name, set) in [
        ("gcp-uploaded-image", "c1-infra-b"),
        ("azure-confidential", "c1-confidential"),
    ] {
        let (audit, _) = case(name);
        let sets = audit["sets"].as_array().unwrap();
        let found = sets.iter().find(|found| found["name"] == set).unwrap();
        assert_eq!(
            found["toKnow"],
            "its Machines and Nodes were not read: name also what `oc get machines.machine.openshift.io,machines.cluster.x-k8s.io,nodes -A -o json` prints \
             (--from); no public list has what was uploaded: ask who did, or let one node join and audit again"
        );
    }
}

/// A stock NodePool says what it gets.
#[test]
fn a_stock_node_pool_has_the_image_of_its_release() {
    let (audit, _) = case("hypershift-stock-and-pinned");
    assert_eq!(
        audit["sets"][1]["notes"],
        json!(["platform AWS: the image is the one that release 4.16.8 brings"])
    );
}

#[test]
fn karpenter_elsewhere_is_named() {
    let pool = json!({ "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": { "name": "p" },
        "spec": { "template": { "spec": { "nodeClassRef": { "group": "karpenter.azure.com", "kind": "AKSNodeClass", "name": "default" } } } } });
    let class = json!({ "apiVersion": "karpenter.azure.com/v1beta1", "kind": "AKSNodeClass", "metadata": { "name": "default" } });
    let (audit, exit) = audited([pool, class], &[]);
    assert_eq!(exit, Exit::Unknown);
    assert_eq!(rows(&audit), [["NodePool", "p", "-", "Undetermined"]]);
    assert_eq!(
        audit["sets"][0]["notes"],
        json!(["made by Karpenter from AKSNodeClass default"])
    );
    assert_eq!(audit["unread"][0]["what"], "AKSNodeClass default");
}

#[test]
fn a_kind_that_is_not_understood_is_named() {
    let good = joined("s", &aws("ami-1"), "418.94.202501221327-0");
    let of = |api_version: &str, kind: &str| {
        let object = json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": "x", "namespace": "n" } });
        let set = machine_set("s", &aws("ami-1"));
        audited(good.iter().cloned().chain([set, object]), &[])
    };
    for (api_version, kind) in [
        ("cluster.x-k8s.io/v1beta2", "MachineFleet"),
        ("machine.openshift.io/v2", "MachineGroup"),
        ("karpenter.sh/v2", "NodeFleet"),
        ("karpenter.k8s.gcp/v1", "GCENodeClass"),
    ] {
        let (audit, exit) = of(api_version, kind);
        assert_eq!(exit, Exit::Unknown, "{kind}");
        assert_eq!(
            audit["unread"][0]["what"]
                .as_str()
                .unwrap()
                .split(' ')
                .next(),
            Some(kind)
        );
    }
    for (api_version, kind) in [
        ("cluster.x-k8s.io/v1beta2", "MachineHealthCheck"),
        ("metal3.io/v1alpha1", "HostFirmwareSettings"),
        ("hypershift.openshift.io/v1beta1", "HostedCluster"),
        ("apps/v1", "Deployment"),
    ] {
        let (audit, exit) = of(api_version, kind);
        assert_eq!((exit, &audit["unread"]), (Exit::Done, &json!([])), "{kind}");
    }
}

#[test]
fn machine_pools_are_rows() {
    let pool = |kind: &str| {
        json!({ "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachinePool", "metadata": { "name": "mp", "namespace": "capi" },
            "spec": { "replicas": 2, "template": { "spec": { "bootstrap": { "dataSecretName": "worker-user-data" },
                "infrastructureRef": { "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": kind, "name": "i" } } } } })
    };
    let of = |kind: &str, spec: Value| json!({ "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": kind, "metadata": { "name": "i", "namespace": "capi" }, "spec": spec });
    let image = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/images/rhcos-412.86.202301311551-0-azure.x86_64";
    let (audit, exit) = audited(
        [
            pool("AzureMachinePool"),
            of(
                "AzureMachinePool",
                json!({ "template": { "image": { "id": image } } }),
            ),
        ],
        &[],
    );
    assert_eq!(exit, Exit::Refused);
    assert_eq!(
        rows(&audit),
        [["MachinePool", "mp", "412.86.202301311551-0", "Refused"]]
    );
    assert_eq!(
        audit["sets"][0]["imageField"],
        "infrastructureRef spec.template.image.id"
    );
    let ami = json!({ "awsLaunchTemplate": { "ami": { "id": "ami-1" } } });
    let (audit, exit) = audited([pool("AWSMachinePool"), of("AWSMachinePool", ami)], &[]);
    assert_eq!(exit, Exit::Unknown);
    assert_eq!(
        audit["sets"][0]["imageField"],
        "infrastructureRef spec.awsLaunchTemplate.ami.id"
    );
    assert_eq!(audit["sets"][0]["image"], "ami-1");
    let (audit, exit) = audited([pool("AWSMachinePool")], &[]);
    assert_eq!((rows(&audit).len(), exit), (1, Exit::Unknown));
}

#[test]
fn only_a_real_mirror_is_hidden() {
    let (audit, exit) = case("capi-set-of-the-same-name");
    assert_eq!(exit, Exit::Refused);
    let sets: Vec<_> = audit["sets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|set| (&set["namespace"], &set["verdict"]))
        .collect();
    assert_eq!(
        sets,
        [
            (&json!("tenant-a"), &json!("Refused")),
            (&json!("openshift-machine-api"), &json!("Allowed"))
        ]
    );
    // The cluster's own namespace has the mirrors.
    let mirrors = items("capi-set-of-the-same-name")
        .into_iter()
        .map(|mut item| {
            if item["metadata"]["namespace"] == "tenant-a" {
                item["metadata"]["namespace"] = json!("openshift-cluster-api");
            }
            item
        });
    let (audit, exit) = audited(mirrors, &[]);
    assert_eq!((rows(&audit).len(), exit), (1, Exit::Done));
}

#[test]
fn node_pools_may_name_an_image() {
    let text =
        std::fs::read_to_string("tests/data/cases/nodepool-overrides/with-nodes.json").unwrap();
    for text in [
        &text,
        &json!({ "kind": "List", "apiVersion": "v1", "items": items("nodepool-overrides") })
            .to_string(),
    ] {
        let (out, err, exit) = audit_text(text, &["--output", "json"]);
        assert_eq!(exit, Exit::Refused, "{err}");
        let audit: Value = serde_json::from_str(&out).unwrap();
        let refused: Vec<_> = audit["sets"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|set| set["verdict"] == "Refused")
            .map(|set| {
                (
                    set["name"].as_str().unwrap(),
                    set["imageField"].as_str().unwrap(),
                )
            })
            .collect();
        assert_eq!(
            refused,
            [
                ("azmp", "spec.platform.azure.image.azureMarketplace"),
                ("azure", "spec.platform.azure.image.imageID"),
                (
                    "kv-override",
                    "spec.platform.kubevirt.rootVolume.diskImage.containerDiskImage"
                ),
                ("osp", "spec.platform.openstack.imageName"),
                ("pvs", "spec.platform.powervs.image.name"),
            ]
        );
        let stock = audit["sets"]
            .as_array()
            .unwrap()
            .iter()
            .find(|set| set["name"] == "kv")
            .unwrap();
        // All images of its release pass.
        assert_eq!(
            (&stock["verdict"], &stock["knownBy"]),
            (&json!("Allowed"), &json!("Release"))
        );
    }
}

#[test]
fn conditions_of_a_node_pool_are_shown() {
    let mut pool = items("hypershift-stock-and-pinned")
        .into_iter()
        .find(|item| item["metadata"]["name"] == "stock")
        .unwrap();
    pool["status"]["conditions"] = json!([
        { "type": "ReachedIgnitionEndpoint", "status": "False", "reason": "ignitionNotReached", "message": "no \u{1b}[31m instance" },
        { "type": "AllNodesHealthy", "status": "True", "reason": "AsExpected", "message": "All is well" },
        { "type": "Ready", "status": "False" },
    ]);
    let (audit, _) = audited([pool], &[]);
    assert_eq!(
        audit["sets"][0]["notes"],
        json!([
            "platform AWS: the image is the one that release 4.16.8 brings",
            "conditions: ReachedIgnitionEndpoint False (no \\u{1b}[31m instance), AllNodesHealthy True"
        ])
    );
}

#[test]
fn package_mode_and_live_isos_are_left_out() {
    let (audit, exit) = case("package-mode-pool");
    assert_eq!(exit, Exit::Unknown);
    let pool = audit["sets"]
        .as_array()
        .unwrap()
        .iter()
        .find(|set| set["name"] == "worker")
        .unwrap();
    let counts: Vec<_> = pool["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|nodes| nodes["count"].as_u64().unwrap())
        .collect();
    assert_eq!(counts, [2, 1]);
    assert!(
        audit["warnings"]
            .to_string()
            .contains("1 RHEL node made of packages is left out"),
        "{}",
        audit["warnings"]
    );
    let host = |name: &str, format: Option<&str>| {
        json!({ "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": { "name": name, "namespace": "spoke" },
            "spec": { "image": { "url": "https://assisted/images/rhcos-412.86.202301311551-0.iso", "format": format } } })
    };
    let config = json!({ "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "AgentServiceConfig", "metadata": { "name": "agent" },
        "spec": { "osImages": [{ "openshiftVersion": "4.14", "version": "414.92.202310170514-0", "url": "https://x", "cpuArchitecture": "x86_64" }] } });
    let (audit, _) = audited(
        [host("a", Some("live-iso")), host("b", Some("raw")), config],
        &[],
    );
    assert_eq!(rows(&audit).len(), 1);
    assert_eq!(
        audit["warnings"],
        json!([
            "1 BareMetalHost with a live ISO is left out: it installs nodes of other clusters",
            "AgentServiceConfig boots hosts of other clusters from 414.92.202310170514-0 (4.14, x86_64): a policy of theirs judges them, not this one"
        ])
    );
}

#[test]
fn the_oldest_image_is_that_of_the_sets() {
    let (audit, exit) = case("born-at-4.6");
    assert_eq!(exit, Exit::Done);
    assert_eq!(audit["cluster"]["olderInUse"], Value::Null);
    assert_eq!(audit["oldest"]["command"], Value::Null);
    assert!(
        !audit["oldest"]["usedBy"].as_str().unwrap().contains("Node"),
        "{audit}"
    );
    assert_eq!(
        audit["oldestBirth"]["bootImage"]["version"],
        "46.82.202012051820-0"
    );
    assert_eq!(
        audit["oldestBirth"]["usedBy"],
        "Node ip-10-0-0-1, Node ip-10-0-0-2 and 1 more"
    );
    let from = [
        "--policy",
        "tests/data/cases/policy.json",
        "--from",
        "tests/data/cases/born-at-4.6",
    ];
    let (out, _, _) = super::audit(&from);
    assert!(!out.contains("NEWER") && !out.contains("oc patch"), "{out}");
    assert!(
        !out.contains("bootImageSkewEnforcement"),
        "nothing can be compared: {out}"
    );
}

/// Images of two releases may be of one RHEL release and one build day.
#[test]
fn the_oldest_image_is_the_one_of_the_oldest_release() {
    let mut items = Vec::new();
    for (set, version) in [
        ("a", "412.86.202301311551-0"),
        ("b", "411.86.202301311551-0"),
    ] {
        let ami = aws(&format!("ami-{set}"));
        items.push(machine_set(set, &ami));
        items.extend(joined(set, &ami, version));
    }
    let status = json!({ "bootImageSkewEnforcementStatus": { "mode": "Automatic", "automatic": { "ocpVersion": "4.12.0" } } });
    items.push(json!({ "apiVersion": "operator.openshift.io/v1", "kind": "MachineConfiguration", "metadata": { "name": "cluster" }, "status": status }));
    let (audit, _) = audited(items.clone(), &[]);
    let oldest = &audit["oldest"];
    assert_eq!(oldest["bootImage"]["version"], "411.86.202301311551-0");
    assert!(oldest["command"].is_string());
    assert_eq!(
        oldest["wayBack"],
        "oc patch machineconfiguration cluster --type json -p '[{\"op\":\"remove\",\"path\":\"/spec/bootImageSkewEnforcement\"}]'"
    );
    // A set that makes none does not count.
    for item in &mut items {
        if item["metadata"]["name"] == "b" {
            item["spec"]["replicas"] = json!(0);
        }
    }
    items.retain(|item| item["metadata"]["name"] != "node-of-b");
    let (audit, _) = audited(items, &[]);
    assert_eq!(
        audit["oldest"]["bootImage"]["version"],
        "412.86.202301311551-0"
    );
}
