//! Who keeps each image up to date, by the rules of the Machine Config Operator, and the fix that
//! works.

use super::case;
use super::real::{audited, aws, gcp, machine_set};
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;

/// Keeper and rule of each set, by its name.
fn keepers(audit: &Value) -> Vec<(&str, &str, &str)> {
    let sets = audit["sets"].as_array().unwrap().iter();
    let keeper = |set| -> (&str, &str, &str) {
        let set: &Value = set;
        let text = |value: &'static str| set.pointer(value).and_then(Value::as_str).unwrap();
        (text("/name"), text("/upkeep/by"), text("/upkeep/rule"))
    };
    sets.map(keeper).collect()
}

fn of<'a>(audit: &'a Value, name: &str) -> &'a Value {
    let mut sets = audit["sets"].as_array().unwrap().iter();
    sets.find(|set| set["name"] == name).unwrap()
}

fn remedy<'a>(audit: &'a Value, name: &str) -> &'a str {
    of(audit, name)["remedy"].as_str().unwrap()
}

#[test]
fn gcp_images_of_other_projects_are_nobodys() {
    let (audit, exit) = case("gcp-uploaded-image");
    assert_eq!(exit, Exit::Refused);
    assert_eq!(
        keepers(&audit),
        [
            ("c1-mkt", "Nobody", "GCPProject"),
            ("c1-w-b", "MachineConfigOperator", "Selected"),
            ("c1-infra-b", "Nobody", "GCPProject"),
        ]
    );
    assert_eq!(
        remedy(&audit, "c1-mkt"),
        "set spec.template.spec.providerSpec.value.disks[0].image to the newest image of the same product of Google Cloud's marketplace, because the \
         standard image drops the subscription: `gcloud compute images list --project redhat-marketplace-public --no-standard-images \
         --filter='name~^redhat-coreos-ocp-' --sort-by=~creationTimestamp`"
    );
    assert_eq!(of(&audit, "c1-mkt")["patch"], Value::Null);
    assert_eq!(
        of(&audit, "c1-infra-b")["notes"],
        json!([
            "the Machine Config Operator leaves its image alone, because its image is not one of the project rhcos-cloud; then it takes the release \
             that the cluster was installed as for the oldest boot image"
        ])
    );
}

#[test]
fn azure_security_types_and_plans() {
    let (audit, _) = case("azure-confidential");
    assert_eq!(
        keepers(&audit),
        [
            ("c1-paid", "Nobody", "AzureWithoutMarketplace"),
            ("c1-confidential", "Nobody", "AzureSecurityType"),
        ]
    );
    assert_eq!(
        remedy(&audit, "c1-paid"),
        "set spec.template.spec.providerSpec.value.image.version to the newest one of the same product, because another product drops the plan: `az vm \
         image list --all --publisher redhat --offer rh-ocp-worker --sku rh-ocp-worker --query '[].version'`"
    );
    // The same, known to be old.
    let mut set = fixture_set("azure-confidential", "c1-confidential");
    let image = "/resourceGroups/g/providers/Microsoft.Compute/galleries/g/images/rhcos-412.86.202301311551-0-azure/versions/1.0.0";
    set["spec"]["template"]["spec"]["providerSpec"]["value"]["image"]["resourceID"] = json!(image);
    let config_map = object("azure-confidential", "ConfigMap");
    let (audit, _) = audited([set, config_map], &[]);
    assert_eq!(
        remedy(&audit, "c1-confidential"),
        "upload 9.8.20260428-0, this cluster's own image (ConfigMap coreos-bootimages), as a version of a gallery image whose definition supports \
         ConfidentialVM, and set spec.template.spec.providerSpec.value.image.resourceID to it"
    );
    assert_eq!(
        of(&audit, "c1-confidential")["upkeep"]["rule"],
        "AzureSecurityType"
    );
}

/// Security types count from 5.0 on, and in 4.22 from a patch that nobody named; the operator's own value
/// says more.
#[test]
fn security_types_reset_the_value_by_release() {
    const RESETS: &str = "it takes the release that the cluster was installed as";
    for (release, value, says, says_not) in [
        ("4.22.3", "4.22.3", "does not cover this set", RESETS),
        ("4.22.11", "4.22.11", "does not cover this set", RESETS),
        (
            "4.22.12",
            "4.22.12",
            "from a later release on it takes the release that the cluster was installed as: which one is not known",
            "; then",
        ),
        ("4.22.40", "4.14.1", RESETS, "not known"),
        ("5.0.1", "5.0.1", RESETS, "not known"),
    ] {
        let of_case = |kind: &str| object("azure-confidential", kind);
        let mut version = of_case("ClusterVersion");
        version["status"] = json!({ "desired": { "version": release },
            "history": [{ "state": "Completed", "version": release }, { "state": "Completed", "version": "4.14.1" }] });
        let mut configuration = of_case("MachineConfiguration");
        configuration["status"]["bootImageSkewEnforcementStatus"]["automatic"]["ocpVersion"] =
            json!(value);
        let items = [
            version,
            configuration,
            of_case("Infrastructure"),
            of_case("ConfigMap"),
            fixture_set("azure-confidential", "c1-confidential"),
        ];
        let (audit, _) = audited(items, &[]);
        let notes = of(&audit, "c1-confidential")["notes"].to_string();
        assert!(
            notes.contains("because its securityType is ConfidentialVM") && notes.contains(says),
            "{release} {value}: {notes}"
        );
        assert!(!notes.contains(says_not), "{release} {value}: {notes}");
    }
}

#[test]
fn vsphere_workspaces_have_to_be_in_a_failure_domain() {
    let (audit, _) = case("vsphere-no-failure-domain");
    assert_eq!(
        keepers(&audit),
        [
            ("c1-outside", "Nobody", "VSphereFailureDomain"),
            ("c1-folder", "MachineConfigOperator", "Selected"),
        ]
    );
    assert_eq!(
        remedy(&audit, "c1-outside"),
        "import 9.8.20260428-0, this cluster's own image (ConfigMap coreos-bootimages), as a template into datacenter dc9 of vCenter \
         vc-old.example.com, and set spec.template.spec.providerSpec.value.template to it. The cluster keeps it up to date once Infrastructure cluster \
         has a failure domain with this workspace"
    );
    // Paths are compared without their doubled slashes, as the installer writes them; groups of VMs are compared, too.
    let objects = |change: &dyn Fn(&mut Value)| {
        let mut set = fixture_set("vsphere-no-failure-domain", "c1-folder");
        change(&mut set["spec"]["template"]["spec"]["providerSpec"]["value"]["workspace"]);
        let others = ["Infrastructure", "MachineConfiguration", "ClusterVersion"];
        let others = others.map(|kind| object("vsphere-no-failure-domain", kind));
        let (audit, _) = audited(others.into_iter().chain([set]), &[]);
        of(&audit, "c1-folder")["upkeep"]["by"].clone()
    };
    for (field, value, keeper) in [
        (
            "resourcePool",
            "/dc1/host/cl//Resources/",
            "MachineConfigOperator",
        ),
        ("resourcePool", "/dc1/host/cl/Resources/sub", "Nobody"),
        ("datastore", "/dc1/datastore/other", "Nobody"),
        ("vmGroup", "group", "Nobody"),
        ("folder", "/dc1/vm/elsewhere", "MachineConfigOperator"),
    ] {
        let found = objects(&|workspace| workspace[field] = json!(value));
        assert_eq!(found, keeper, "{field} {value}");
    }
}

#[test]
fn amis_that_are_not_the_operators() {
    let (found, _) = case("aws-marketplace");
    assert_eq!(keepers(&found), [("c1-mkt", "Nobody", "AMIList")]);
    let mkt = of(&found, "c1-mkt");
    assert_eq!(
        (&mkt["patch"], &mkt["wantImage"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(
        remedy(&found, "c1-mkt"),
        "ask whose AMI it is: `aws ec2 describe-images --region eu-central-1 --image-ids ami-0b9620e51a0f7930b --query 'Images[].[OwnerId,Name]'`. If it \
         is of AWS Marketplace (679593333241), use the newest image of the same product (the product ID is the end of the image name): the standard AMI drops the \
         subscription. If not, set spec.template.spec.providerSpec.value.ami.id to ami-0db5da1b3b5ad90dc: 9.8.20260428-0, this cluster's own"
    );
    // From 5.0 on the owner decides, and no object says it.
    let mut version = object("aws-marketplace", "ClusterVersion");
    version["status"]["desired"]["version"] = json!("5.0.1");
    let others = ["MachineConfiguration", "ConfigMap"].map(|kind| object("aws-marketplace", kind));
    let set = |image: Value, region: &str| {
        let mut set = fixture_set("aws-marketplace", "c1-mkt");
        let provider = &mut set["spec"]["template"]["spec"]["providerSpec"]["value"];
        provider["ami"] = image;
        provider["placement"] = json!({ "region": region });
        set
    };
    let keeper = |version: &Value, set: Value| {
        let (audit, _) = audited(others.iter().cloned().chain([version.clone(), set]), &[]);
        let upkeep = &of(&audit, "c1-mkt")["upkeep"];
        format!(
            "{} {}",
            upkeep["by"].as_str().unwrap(),
            upkeep["rule"].as_str().unwrap()
        )
    };
    let before = object("aws-marketplace", "ClusterVersion");
    let filter = json!({ "filters": [{ "name": "name", "values": ["rhcos-*"] }] });
    for (version, image, region, wanted) in [
        (
            &version,
            json!({ "id": "ami-0b9620e51a0f7930b" }),
            "eu-central-1",
            "Unknown AMIOwner",
        ),
        // On the list, its version known to nobody.
        (
            &version,
            json!({ "id": "ami-0000a100764a57637" }),
            "eu-central-1",
            "MachineConfigOperator Selected",
        ),
        (
            &before,
            json!({ "id": "ami-0000a100764a57637" }),
            "eu-central-1",
            "MachineConfigOperator Selected",
        ),
        // The cluster's own.
        (
            &before,
            json!({ "id": "ami-0db5da1b3b5ad90dc" }),
            "eu-central-1",
            "MachineConfigOperator Selected",
        ),
        (
            &before,
            filter.clone(),
            "eu-central-1",
            "Nobody AMIWithoutID",
        ),
        (&version, filter, "eu-central-1", "Nobody AMIWithoutID"),
        (
            &before,
            json!({ "arn": "arn:aws:ec2:eu-central-1::image/ami-1" }),
            "eu-central-1",
            "Nobody AMIWithoutID",
        ),
        (
            &before,
            json!({ "id": "ami-0000a100764a57637" }),
            "us-iso-east-1",
            "Nobody AMIRegion",
        ),
    ] {
        let set = set(image.clone(), region);
        assert_eq!(
            keeper(version, set),
            wanted,
            "{image} {region} {}",
            version["status"]["desired"]["version"]
        );
    }
}

#[test]
fn a_chosen_ami_is_replaced_by_an_id() {
    let mut provider = aws("x");
    provider["ami"] = json!({ "filters": [{ "name": "name", "values": ["rhcos-412*"] }] });
    let own = json!({ "architectures": { "x86_64": { "images": { "aws": { "regions": {
        "us-east-2": { "release": "9.6.20251015-1", "image": "ami-1" } } } } } } });
    let config_map = json!({ "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "coreos-bootimages", "namespace": "openshift-machine-config-operator" }, "data": { "stream": own.to_string() } });
    let (audit, exit) = audited([machine_set("s", &provider), config_map], &[]);
    assert_eq!(exit, Exit::Unknown);
    assert_eq!(
        of(&audit, "s")["message"],
        "the version is unknown: a filter chooses the AMI (ami.filters), and does not say which it is now"
    );
    let path = "spec.template.spec.providerSpec.value.ami";
    assert_eq!(
        remedy(&audit, "s"),
        format!(
            "set {path} to nothing but id ami-1: 9.6.20251015-1, this cluster's own; without id nobody keeps it up to date"
        )
    );
    let (_, patch) = of(&audit, "s")["patch"]
        .as_str()
        .unwrap()
        .split_once(" -p ")
        .unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(patch.trim_matches('\'')).unwrap(),
        json!([{ "op": "replace", "path": format!("/{}", path.replace('.', "/")), "value": { "id": "ami-1" } }])
    );
}

#[test]
fn bare_metal_is_installed_from_the_release() {
    let set = real_metal(
        "https://mirror.example.com/rhcos-412.86.202301311551-0-openstack.x86_64.qcow2.gz",
    );
    let version = json!({ "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": { "name": "version" },
        "status": { "desired": { "version": "4.16.3" } } });
    let provisioning = |spec: Value| json!({ "apiVersion": "metal3.io/v1alpha1", "kind": "Provisioning", "metadata": { "name": "provisioning-configuration" }, "spec": spec });
    let (audit, exit) = audited([set.clone(), version.clone(), provisioning(json!({}))], &[]);
    assert_eq!(exit, Exit::Refused);
    // What the Provisioning names comes before the release's own: the set alone is no remedy.
    for (more, then, first) in [
        (
            Some(
                json!({ "provisioningOSDownloadURL": "https://x/rhcos.qcow2.gz?sha256=0", "preProvisioningOSDownloadURLs": { "isoURL": "https://x/live.iso" } }),
            ),
            "once no other set or host is installed from its images clear spec.provisioningOSDownloadURL and spec.preProvisioningOSDownloadURLs of \
             Provisioning provisioning-configuration: hosts are then installed from ",
            "the Provisioning object names images of its own, which hosts would be installed from",
        ),
        (
            None,
            "was not read), unless Provisioning provisioning-configuration, which was not read, names another",
            "the Provisioning object was not read, and may name images of its own",
        ),
    ] {
        let more = more.map(provisioning);
        let (audit, _) = audited([set.clone(), version.clone()].into_iter().chain(more), &[]);
        let set = of(&audit, "metal");
        assert_eq!(
            (&set["patch"], &set["effect"]),
            (&Value::Null, &json!("needsFirst"))
        );
        assert_eq!(set["effects"][0]["reason"], first);
        assert!(remedy(&audit, "metal").contains(then), "{set}");
    }
    let set = of(&audit, "metal");
    assert_eq!(
        (&set["upkeep"]["by"], &set["upkeep"]["rule"]),
        (&json!("Nobody"), &json!("BareMetalImage"))
    );
    let path = "spec.template.spec.providerSpec.value";
    assert_eq!(
        set["remedy"],
        format!(
            "set {path}.customDeploy.method to install_coreos, {path}.image.url and {path}.image.checksum to \"\": hosts are then \
             installed from the release's own image (its version is not known: the ConfigMap coreos-bootimages was not read)"
        )
    );
    let command = set["patch"].as_str().unwrap();
    let (begin, patch) = command.split_once(" -p ").unwrap();
    assert_eq!(
        begin,
        "oc patch machinesets.machine.openshift.io metal -n openshift-machine-api --type merge"
    );
    let patch: Value = serde_json::from_str(patch.trim_matches('\'')).unwrap();
    let value = &patch["spec"]["template"]["spec"]["providerSpec"]["value"];
    assert_eq!(
        value,
        &json!({ "customDeploy": { "method": "install_coreos" }, "image": { "url": "", "checksum": "" } })
    );
    // The patched set is the release's own.
    let mut patched = real_metal("");
    patched["spec"]["template"]["spec"]["providerSpec"]["value"]["customDeploy"] =
        value["customDeploy"].clone();
    for (spec, keeper) in [
        (json!({}), "Release"),
        (json!({ "provisioningOSDownloadURL": "" }), "Release"),
        (
            json!({ "provisioningOSDownloadURL": "https://x/rhcos.qcow2.gz?sha256=0" }),
            "Nobody",
        ),
    ] {
        let (audit, _) = audited([patched.clone(), provisioning(spec.clone())], &[]);
        assert_eq!(of(&audit, "metal")["upkeep"]["by"], keeper, "{spec}");
    }
}

fn real_metal(url: &str) -> Value {
    machine_set(
        "metal",
        &json!({ "apiVersion": "baremetal.cluster.k8s.io/v1alpha1", "kind": "BareMetalMachineProviderSpec",
            "hostSelector": {}, "image": { "checksum": format!("{url}.md5sum"), "url": url }, "metadata": { "creationTimestamp": null },
            "userData": { "name": "worker-user-data-managed" } }),
    )
}

#[test]
fn payloads_of_several_architectures_need_the_annotation() {
    let keeper = |release: &str, architecture: &str, labels: Option<&str>| {
        let mut set = machine_set(
            "s",
            &gcp("projects/rhcos-cloud/global/images/rhcos-9-6-20250523-0-gcp-x86-64"),
        );
        if let Some(labels) = labels {
            set["metadata"]["annotations"] =
                json!({ "capacity.cluster-autoscaler.kubernetes.io/labels": labels });
        }
        let version = json!({ "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": { "name": "version" },
            "status": { "desired": { "version": release, "architecture": architecture } } });
        let configuration = object("gcp-uploaded-image", "MachineConfiguration");
        let (audit, _) = audited([set, version, configuration], &[]);
        let upkeep = of(&audit, "s")["upkeep"].clone();
        format!(
            "{} {}",
            upkeep["by"].as_str().unwrap(),
            upkeep["rule"].as_str().unwrap()
        )
    };
    let (kept, alone) = ("MachineConfigOperator Selected", "Nobody Architecture");
    let fails = "Nobody CapacityLabels";
    for (release, architecture, labels, wanted) in [
        ("4.21.3", "Multi", None, alone),
        (
            "4.21.3",
            "Multi",
            Some("kubernetes.io/arch=amd64,x=y"),
            kept,
        ),
        ("4.21.3", "Multi", Some("x=y"), alone),
        ("4.21.3", "", None, kept),
        // It takes the control plane's.
        ("4.19.3", "Multi", None, kept),
        // MCO-1834: #5368, #5366, #5227.
        ("4.17.42", "", Some("kubernetes.io/arch=amd64,x=y"), fails),
        ("4.17.43", "", Some("kubernetes.io/arch=amd64,x=y"), kept),
        ("4.18.26", "", Some("kubernetes.io/arch=amd64,x=y"), fails),
        ("4.18.27", "", Some("kubernetes.io/arch=amd64,x=y"), kept),
        ("4.19.0", "", Some("kubernetes.io/arch=amd64,x=y"), fails),
        ("4.19.8", "", Some("x=y,kubernetes.io/arch=amd64"), fails),
        ("4.19.8", "", Some("kubernetes.io/arch=amd64"), kept),
        ("4.19.9", "", Some("kubernetes.io/arch=amd64,x=y"), kept),
        ("4.20.0", "", Some("kubernetes.io/arch=amd64,x=y"), kept),
        ("5.0.3", "Multi", None, alone),
    ] {
        assert_eq!(
            keeper(release, architecture, labels),
            wanted,
            "{release} {architecture} {labels:?}"
        );
    }
}

#[test]
fn platforms_and_releases_that_cannot() {
    let configuration = json!({ "apiVersion": "operator.openshift.io/v1", "kind": "MachineConfiguration", "metadata": { "name": "cluster" }, "spec": {} });
    let image = "projects/rhcos-cloud/global/images/rhcos-9-6-20250523-0-gcp-x86-64";
    for (release, provider, wanted) in [
        ("4.16.3", gcp(image), "ReleaseTooOld"),
        ("4.17.3", gcp(image), "NotSelected"),
        ("4.17.3", aws("ami-0000a100764a57637"), "ReleaseTooOld"),
        (
            "4.22.3",
            json!({ "kind": "NutanixMachineProviderConfig", "image": { "type": "name", "name": "i" } }),
            "Platform",
        ),
        (
            "4.22.3",
            json!({ "kind": "OpenstackProviderSpec", "image": "i" }),
            "Platform",
        ),
        (
            "4.22.3",
            json!({ "kind": "PowerVSMachineProviderConfig", "image": { "type": "Name", "name": "i" } }),
            "Platform",
        ),
        (
            "4.22.3",
            json!({ "kind": "IBMCloudMachineProviderSpec", "image": "i" }),
            "Platform",
        ),
    ] {
        let version = json!({ "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": { "name": "version" },
            "status": { "desired": { "version": release } } });
        let (audit, _) = audited(
            [machine_set("s", &provider), version, configuration.clone()],
            &[],
        );
        let upkeep = &of(&audit, "s")["upkeep"];
        assert_eq!(
            (&upkeep["by"], &upkeep["rule"]),
            (&json!("Nobody"), &json!(wanted)),
            "{release} {provider}"
        );
    }
}

#[test]
fn a_pinned_node_pool_is_unpinned() {
    // A report alone says what its AMI is.
    let (audit, exit) = case("hypershift-stock-and-pinned");
    assert_eq!(exit, Exit::Unknown);
    assert_eq!(of(&audit, "pinned").get("remedy"), None);
    // One that was published for 4.12.
    let text = Value::Array(super::items("hypershift-stock-and-pinned")).to_string();
    let text = text.replace("ami-0old000000000009", "ami-057fe628c533932e2");
    let items: Vec<Value> = serde_json::from_str(&text).unwrap();
    let (audit, exit) = audited(items, &[]);
    assert_eq!(exit, Exit::Refused);
    assert_eq!(
        keepers(&audit),
        [
            ("pinned", "Nobody", "NodePoolImage"),
            ("stock", "Release", "NodePoolRelease")
        ]
    );
    let pinned = of(&audit, "pinned");
    assert_eq!(
        pinned["remedy"],
        "unset spec.platform.aws.ami: the NodePool then takes the image of its release 4.16.8"
    );
    // That replaces its nodes.
    assert_eq!(
        (&pinned["patch"], &pinned["effect"]),
        (&Value::Null, &json!("replacesRunning"))
    );
}

#[test]
fn an_image_is_the_same_within_its_vcenter() {
    let (audit, exit) = case("two-vcenters");
    assert_eq!(exit, Exit::Unknown);
    assert_eq!(
        of(&audit, "site-a")["bootImage"]["version"],
        "418.94.202501221327-0"
    );
    assert_eq!(of(&audit, "site-b")["knownBy"], "Unknown");
    // A set that does not say its vCenter, where two have a template of that name.
    let mut set = fixture_set("two-vcenters", "site-b");
    set["metadata"]["name"] = json!("anywhere");
    set["spec"]["template"]["spec"]["providerSpec"]["value"]["workspace"] = json!({});
    let mut items = super::items("two-vcenters");
    items.push(set.clone());
    let (audit, _) = audited(items.clone(), &[]);
    assert_eq!(of(&audit, "anywhere")["knownBy"], "Node");
    for (kind, name) in [("Machine", "b-1"), ("Node", "b-1")] {
        let mut other = items
            .iter()
            .find(|item| item["kind"] == kind)
            .unwrap()
            .clone();
        other["metadata"]["name"] = json!(name);
        other["metadata"]["uid"] = json!(format!("{kind} {name}"));
        other["status"]["nodeRef"] = json!({ "name": name });
        other["spec"]["providerSpec"]["value"]["workspace"] = fixture_set("two-vcenters", "site-b")
            ["spec"]["template"]["spec"]["providerSpec"]["value"]["workspace"]
            .clone();
        items.push(other);
    }
    let (audit, _) = audited(items, &[]);
    assert_eq!(of(&audit, "anywhere")["knownBy"], "Unknown");
}

/// Two names that differ beyond what is kept of a text are two.
#[test]
fn a_cut_name_is_nobodys() {
    let long = |end: &str| format!("https://mirror.example.com/{}{end}.qcow2", "x".repeat(600));
    let metal =
        |url: &str| real_metal(url)["spec"]["template"]["spec"]["providerSpec"]["value"].clone();
    let [machine, node] = super::real::joined("metal", &metal(&long("a")), "418.94.202501221327-0");
    let (audit, _) = audited(
        [
            machine_set("other", &metal(&long("b"))),
            machine_set("metal", &metal(&long("a"))),
            machine,
            node,
        ],
        &[],
    );
    assert_eq!(of(&audit, "other")["knownBy"], "Unknown");
}

#[test]
fn failure_domains_without_a_template() {
    let (audit, _) = case("control-plane-failure-domain");
    let sets = audit["sets"].as_array().unwrap().iter();
    let images: Vec<_> = sets
        .map(|set| {
            (
                set["image"].as_str().unwrap(),
                set["bootImage"]["version"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        images,
        [
            ("prod-7xk2p-rhcos-r1-fd-1", "412.86.202301311551-0"),
            ("prod-7xk2p-rhcos-r1-fd-2", "412.86.202301311551-0"),
            (
                "/DC/vm/prod-7xk2p/prod-7xk2p-rhcos-r1-fd-3",
                "418.94.202501221327-0"
            ),
        ]
    );
    // Of a failure domain that the Infrastructure lacks nothing is known.
    let items = super::items("control-plane-failure-domain")
        .into_iter()
        .map(|mut item| {
            if item["kind"] == "ControlPlaneMachineSet" {
                item["spec"]["template"]["machines_v1beta1_machine_openshift_io"]["failureDomains"]
                    ["vsphere"] = json!([{ "name": "fd-9" }]);
            }
            item
        });
    let (audit, _) = audited(items, &[]);
    assert_eq!(
        audit["sets"][0]["message"],
        "the version is unknown: the Infrastructure does not name the template of its failure domain"
    );
}

fn object(case: &str, kind: &str) -> Value {
    let items = super::items(case);
    items.into_iter().find(|item| item["kind"] == kind).unwrap()
}

fn fixture_set(case: &str, name: &str) -> Value {
    let is = |item: &Value| item["kind"] == "MachineSet" && item["metadata"]["name"] == name;
    super::items(case).into_iter().find(is).unwrap()
}

/// What an object says does not become part of a command that a person pastes.
#[test]
fn no_text_of_an_object_is_a_command() {
    let hostile = "x$(reboot)-412.86.202301311551-0";
    let azure = json!({ "kind": "AzureMachineProviderSpec", "image": { "publisher": "redhat", "offer": "rh-ocp-worker; reboot", "sku": "s",
        "version": "412.86.20230503", "resourceID": "" } });
    let gcp = gcp(&format!(
        "projects/redhat-marketplace-public/global/images/{hostile}"
    ));
    let mut of_aws = aws(hostile);
    of_aws["placement"]["region"] = json!("$(reboot)");
    for (name, provider) in [("azure", azure), ("gcp", gcp), ("aws", of_aws)] {
        let (audit, _) = audited([machine_set(name, &provider)], &[]);
        let set = of(&audit, name);
        assert_eq!(set["verdict"], "Refused", "{set}");
        let remedy = set["remedy"].as_str().unwrap();
        assert!(!remedy.contains("reboot"), "{remedy}");
    }
}
