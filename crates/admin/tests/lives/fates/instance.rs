//! Of machines that have no instance, or whose instance does not run.

use super::Fate;
use crate::lives::cluster::{Cluster, MACHINES, Platform};
use crate::lives::moment::{MINUTE, SECOND, stamp};
use crate::lives::truth::Truth;
use serde_json::json;

pub(super) const ALL: &[Fate] = &[
    ("create-failed", create_failed),
    ("create-is-tried-again", create_is_tried_again),
    ("instance-in-error", instance_in_error),
    ("instance-stopped", instance_stopped),
    ("instance-starts", instance_starts),
    ("terminated-with-node", terminated_with_node),
    ("terminated-without-node", terminated_without_node),
    ("migrating-and-paused", migrating),
    ("set-makes-none", set_makes_none),
];

pub(super) const HOSTS: &[Fate] = &[
    ("no-free-host", no_free_host),
    ("host-error", host_error),
    ("host-error-with-password", host_error_with_password),
    ("host-installs", host_installs),
    ("create-failed", create_failed),
];

const NONE: &[&str] = &["NoInstance"];
/// The cloud never brings it up.
fn instance_starts(cluster: &mut Cluster) -> Truth {
    let born = cluster.waiting();
    let mut machine = cluster.machine(&born);
    let state = cluster
        .dice
        .pick(&["pending", "BUILD", "STAGING", "Creating", "starting"]);
    machine["metadata"]["annotations"]["machine.openshift.io/instance-state"] = state.into();
    machine["status"]["providerStatus"]["instanceState"] = state.into();
    cluster.objects.push(machine);
    Truth::new("instance-starts", &born.name, &["NoInstance", "NoRequest"])
        .word(&[state])
        .lie(&["is up and"])
}

/// What is tried again is not to be deleted.
const DELETE: &[&str] = &["delete the Machine", "delete this Machine", "delete it"];

fn create_failed(cluster: &mut Cluster) -> Truth {
    let born = cluster.waiting();
    let mut machine = cluster.machine_without_instance(&born);
    let (reason, message) = cluster.dice.pick(&[
        ("InvalidConfiguration", "error launching instance: The image id '[ami-0dead]' does not exist"),
        ("InsufficientResources", "We currently do not have sufficient m6i.xlarge capacity in the Availability Zone you requested"),
        ("CreateError", "VM creation failed: quota CPUS exceeded in region"),
    ]);
    machine["status"]["phase"] = "Failed".into();
    machine["status"]["errorReason"] = reason.into();
    machine["status"]["errorMessage"] = message.into();
    cluster.objects.push(machine);
    Truth::new("create-failed", &born.name, NONE).word(&[message, reason])
}

/// The provider's error is in its Events, and perhaps in its condition; the controller goes on.
fn create_is_tried_again(cluster: &mut Cluster) -> Truth {
    let born = cluster.waiting();
    let mut machine = cluster.machine_without_instance(&born);
    let url = cluster.secret_url();
    let message = format!(
        "error creating instance: RequestLimitExceeded: Request limit exceeded. (POST {url})"
    );
    let about = (
        "machine.openshift.io/v1beta1",
        "Machine",
        MACHINES,
        born.name.as_str(),
    );
    let at = cluster.now - cluster.dice.range(1, 9) * MINUTE;
    cluster.event(about, at, "FailedCreate", &message, "machine-controller");
    let truth = Truth::new("create-is-tried-again", &born.name, NONE)
        .word(&["RequestLimitExceeded"])
        .lie(DELETE);
    let is_in_status = cluster.dice.percent(50);
    if is_in_status {
        machine["status"]["providerStatus"] = json!({ "conditions": [{ "type": "MachineCreation", "status": "False", "reason": "MachineCreationFailed",
            "message": message, "lastTransitionTime": stamp(at) }] });
    }
    cluster.objects.push(machine);
    match is_in_status {
        true => truth,
        false => truth.by_event("RequestLimitExceeded"),
    }
}

fn with_state(cluster: &mut Cluster, fate: &'static str, state: &str) -> Truth {
    let born = cluster.waiting();
    let mut machine = cluster.machine(&born);
    machine["metadata"]["annotations"]["machine.openshift.io/instance-state"] = state.into();
    if cluster.platform == Platform::Openstack || cluster.dice.percent(50) {
        machine["status"]
            .as_object_mut()
            .unwrap()
            .remove("providerStatus");
    } else {
        machine["status"]["providerStatus"]["instanceState"] = state.into();
    }
    cluster.objects.push(machine);
    Truth::new(fate, &born.name, NONE).word(&[state])
}

fn instance_in_error(cluster: &mut Cluster) -> Truth {
    let state = match cluster.platform {
        Platform::Openstack => "ERROR",
        Platform::Vsphere => "suspended",
        Platform::Gcp => "SUSPENDED",
        _ => "shutting-down",
    };
    with_state(cluster, "instance-in-error", state)
}

fn instance_stopped(cluster: &mut Cluster) -> Truth {
    let state = match cluster.platform {
        Platform::Openstack => "SHUTOFF",
        Platform::Vsphere => "poweredOff",
        Platform::Gcp => "TERMINATED",
        _ => "stopped",
    };
    with_state(cluster, "instance-stopped", state)
}

/// Its instance was deleted in the cloud, whatever its Node does.
fn terminated(cluster: &mut Cluster, has_node: bool, fate: &'static str) -> Truth {
    let born = cluster.waiting();
    let at = cluster.first_ask(&born);
    cluster.ask(&born.address, at);
    let mut machine = cluster.machine(&born);
    let gone = cluster.now - 5 * MINUTE;
    let mut lie: &[&str] = &[];
    machine["status"]["phase"] = "Failed".into();
    machine["status"]["errorMessage"] = "Can't find created instance.".into();
    machine["status"]["conditions"] = json!([{ "type": "InstanceExists", "status": "False", "reason": "InstanceMissing", "message": "Instance not found on provider", "lastTransitionTime": stamp(gone) }]);
    machine["metadata"]["annotations"]["machine.openshift.io/instance-state"] = "terminated".into();
    if has_node {
        let joined = at + 300 * SECOND;
        let mut node = cluster.node(&born.node, &born.address, joined, "worker");
        machine["status"]["nodeRef"] =
            json!({ "kind": "Node", "name": born.node, "uid": node["metadata"]["uid"] });
        let ready = if cluster.dice.percent(50) {
            "Unknown"
        } else {
            "True"
        };
        node["status"]["conditions"][0]["status"] = ready.into();
        // One query of the cloud that failed is enough for that error.
        if ready == "True" {
            lie = &["then delete the Machine"];
        }
        cluster.objects.push(node);
    }
    cluster.objects.push(machine);
    Truth::new(fate, &born.name, NONE)
        .also(&born.node)
        .lie(lie)
        .word(&[
            "Can't find created instance",
            "terminated",
            "not found",
            "gone",
        ])
}

fn terminated_with_node(cluster: &mut Cluster) -> Truth {
    terminated(cluster, true, "terminated-with-node")
}

fn terminated_without_node(cluster: &mut Cluster) -> Truth {
    terminated(cluster, false, "terminated-without-node")
}

/// Both copies say Paused; one machine.
fn migrating(cluster: &mut Cluster) -> Truth {
    let born = cluster.waiting();
    let at = stamp(born.at + 10 * SECOND);
    let mut machine = cluster.machine_without_instance(&born);
    machine["spec"]["authoritativeAPI"] = "ClusterAPI".into();
    machine["status"] = json!({ "authoritativeAPI": "ClusterAPI", "lastUpdated": at, "conditions": [
        { "type": "Paused", "status": "True", "reason": "AuthoritativeAPINotMachineAPI", "message": "The AuthoritativeAPI is set to ClusterAPI", "lastTransitionTime": at },
        { "type": "Synchronized", "status": "True", "reason": "ResourceSynchronized", "message": "Successfully synchronized MAPI Machine to CAPI", "lastTransitionTime": at }] });
    let mut meta = cluster.meta(&born.name, "openshift-cluster-api", born.at + 10 * SECOND);
    meta["annotations"] = json!({ "cluster.x-k8s.io/paused": "" });
    meta["labels"] = json!({ "cluster.x-k8s.io/cluster-name": "c1-x7k2p" });
    meta["ownerReferences"] = json!([{ "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineSet", "name": born.set, "uid": "v", "controller": true }]);
    let copy = json!({ "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": meta,
        "spec": { "clusterName": "c1-x7k2p", "bootstrap": { "dataSecretName": "worker-user-data" }, "infrastructureRef": { "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AWSMachine", "name": born.name } },
        "status": { "phase": "Pending", "conditions": [], "v1beta2": { "conditions": [{ "type": "Paused", "status": "True", "reason": "Paused", "message": "Machine has the cluster.x-k8s.io/paused annotation", "lastTransitionTime": at }] } } });
    cluster.objects.extend([machine, copy]);
    Truth::new("migrating-and-paused", &born.name, NONE).word(&["paused"])
}

/// Admission denies its Machines: there is none to ask about.
fn set_makes_none(cluster: &mut Cluster) -> Truth {
    let name = format!("c1-x7k2p-infra-{}", cluster.dice.word(3));
    let at = cluster.now - 20 * 24 * 60 * MINUTE;
    let meta = cluster.meta(&name, MACHINES, at);
    let labels = json!({ "machine.openshift.io/cluster-api-machineset": name });
    cluster.objects.push(json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "metadata": meta,
        "spec": { "replicas": 2, "selector": { "matchLabels": labels }, "template": { "metadata": { "labels": labels }, "spec": { "providerSpec": { "value": { "kind": "AWSMachineProviderConfig" } } } } },
        "status": { "replicas": 0, "observedGeneration": 3 } }));
    let message = "machines.machine.openshift.io \"x\" is forbidden: exceeded quota: machines, requested: count=1, used: count=40, limited: count=40";
    let about = (
        "machine.openshift.io/v1beta1",
        "MachineSet",
        MACHINES,
        name.as_str(),
    );
    let at = cluster.now - cluster.dice.range(1, 20) * MINUTE;
    cluster.event(about, at, "FailedCreate", message, "machineset-controller");
    Truth::new("set-makes-none", &name, NONE)
        .word(&["exceeded quota"])
        .by_event("exceeded quota")
}

fn no_free_host(cluster: &mut Cluster) -> Truth {
    let born = cluster.waiting();
    let mut machine = cluster.machine_without_instance(&born);
    machine["status"]["errorReason"] = "InsufficientResources".into();
    machine["status"]["errorMessage"] = "No available BareMetalHost found".into();
    cluster.objects.push(machine);
    Truth::new("no-free-host", &born.name, NONE)
        .word(&["No available BareMetalHost", "no free host", "no host"])
        .lie(DELETE)
}

fn erring(cluster: &mut Cluster, message: &str) -> String {
    let born = cluster.waiting();
    let mut machine = cluster.machine_without_instance(&born);
    machine["metadata"]["annotations"] =
        json!({ "metal3.io/BareMetalHost": format!("{MACHINES}/{}", born.node) });
    cluster.objects.push(machine);
    let state = cluster.dice.pick(&["provisioning", "preparing"]);
    cluster.host(&born, state, Some(("provisioning error", message)));
    born.name
}

fn host_error(cluster: &mut Cluster) -> Truth {
    let message = "Image provisioning failed: Agent returned error for deploy step: Unable to find a valid partition table on the disk after writing the image";
    let name = erring(cluster, message);
    Truth::new("host-error", &name, NONE)
        .word(&["valid partition table"])
        .lie(DELETE)
}

fn host_error_with_password(cluster: &mut Cluster) -> Truth {
    let (user, token) = (cluster.secret(), cluster.secret());
    let url = format!("http://deploy:{user}@10.9.9.20/rhcos-412.qcow2");
    let message = format!(
        "Image provisioning failed (url: {url}?token={token}, checksum: abc123): Agent returned error for deploy step: Error downloading image: Download of image id {url} failed: 404 Not Found"
    );
    let name = erring(cluster, &message);
    Truth::new("host-error-with-password", &name, NONE).word(&["404 Not Found"])
}

fn host_installs(cluster: &mut Cluster) -> Truth {
    let born = cluster.waiting();
    let mut machine = cluster.machine_without_instance(&born);
    machine["metadata"]["annotations"] =
        json!({ "metal3.io/BareMetalHost": format!("{MACHINES}/{}", born.node) });
    cluster.objects.push(machine);
    cluster.host(&born, "provisioning", None);
    Truth::new("host-installs", &born.name, NONE)
        .word(&["provisioning"])
        .lie(DELETE)
}
