//! Machines that a cloud refuses or ends, in its own words: the cause is told, and what to do does not harm.

use super::{DATA, Gather, WAITS, only};
use serde_json::{Value, json};

/// The Machine with a status, beside other objects.
fn machine(change: impl Fn(&mut Value), more: &[Value]) -> Value {
    let folder = "namespaces/openshift-machine-api/machine.openshift.io/machines";
    let text =
        std::fs::read_to_string(format!("{DATA}/no-instance/{folder}/{WAITS}.yaml")).unwrap();
    let mut machine: Value = serde_saphyr::from_str(&text).unwrap();
    machine["metadata"]["resourceVersion"] = "900000".into();
    change(&mut machine);
    let gather = Gather::of("no-instance");
    let items = [&[machine], more].concat();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    std::fs::write(gather.dir.path().join("more.json"), list.to_string()).unwrap();
    only(&gather.json()).clone()
}

/// What is said ends in this, and what is to be done first is that.
fn check(found: &Value, end: &str, first: &str) {
    let sentence = found["sentence"].as_str().unwrap();
    assert!(sentence.ends_with(end), "{found:#}");
    assert_eq!(found["next"][0], first, "{found:#}");
}

const AZURE: &str = "failed to reconcile machine \"c1\": failed to create vm c1: failure sending request for machine c1: cannot create vm: PUT \
    https://management.azure.com/subscriptions/2aa3b1c4-0000-4000-8000-0123456789ab/resourceGroups/c1-x7k2p-rg/providers/Microsoft.Compute/virtualMachines/c1\n\
    --------------------------------------------------------------------------------\nRESPONSE 409: 409 Conflict\nERROR CODE: OperationNotAllowed\n\
    --------------------------------------------------------------------------------\n{\n  \"error\": {\n    \"code\": \"OperationNotAllowed\",\n    \"message\": \
    \"Operation could not be completed as it results in exceeding approved standardDASv5Family Cores quota. Current Limit: 100.\"\n  }\n}";

#[test]
fn the_cause_of_a_failure_is_told_however_late_it_stands() {
    const THEN: &str = "; then delete the Machine: one that failed is not tried again";
    for (message, end, first) in [
        (
            AZURE,
            "...Operation could not be completed as it results in exceeding approved standardDASv5Family Cores quota. Current Limit: 100.",
            "Raise the quota of that size family, or use a size of another",
        ),
        (
            "error launching instance: You have requested more vCPU capacity than your current vCPU limit of 32 allows",
            "your current vCPU limit of 32 allows.",
            "Raise the vCPU quota",
        ),
        (
            "error launching instance: You are not authorized to perform this operation",
            "to perform this operation.",
            "Give the right (or lift the service control policy that denies it); which one: aws sts decode-authorization-message, of the message in the Machine's own YAML",
        ),
        (
            "compute.VirtualMachinesClient#CreateOrUpdate: Original Error: Code=\"InvalidAvailabilityZone\" Message=\"The zone is not supported\"",
            "Message=\"The zone is not supported\".",
            "The region has no such zone: take zone out of the set, or use another. It is no lack of capacity",
        ),
    ] {
        let failed = |machine: &mut Value| {
            let is_azure = message.contains("ompute");
            let kind = if is_azure {
                "AzureMachineProviderSpec"
            } else {
                "AWSMachineProviderConfig"
            };
            machine["spec"]["providerSpec"]["value"]["kind"] = kind.into();
            machine["status"]["errorReason"] = "InvalidConfiguration".into();
            machine["status"]["errorMessage"] = message.into();
        };
        check(&machine(failed, &[]), end, &format!("{first}{THEN}"));
    }
}

/// A code that is mostly of one cause says what to do, and names none: certain is what was read.
#[test]
fn a_cause_that_is_only_supposed_is_not_named() {
    for (kind, message, cause) in [
        (
            "AzureMachineProviderSpec",
            "MarketplacePurchaseEligibilityFailed: See inner errors for details",
            "MachineFailed",
        ),
        (
            "AzureMachineProviderSpec",
            "MarketplacePurchaseEligibilityFailed: nobody accepted the legal terms",
            "TermsNotAccepted",
        ),
        (
            "GCPMachineProviderSpec",
            "can't find created instance",
            "InstanceGone",
        ),
    ] {
        let failed = |machine: &mut Value| {
            machine["spec"]["providerSpec"]["value"]["kind"] = kind.into();
            machine["status"]["errorMessage"] = message.into();
        };
        let found = machine(failed, &[]);
        assert_eq!(found["cause"], cause, "{found:#}");
        assert_eq!(found["isCertain"], true, "{found:#}");
    }
}

/// Of an instance that could not be looked for nothing is known, whatever kept the cloud from answering.
#[test]
fn a_cloud_that_could_not_be_asked_is_no_refusal() {
    for (kind, message, stage) in [
        (
            "GCPMachineProviderSpec",
            "error getting running instances in zone a: googleapi: Error 403: forbidden",
            "Unknown",
        ),
        (
            "OpenstackProviderSpec",
            "OpenStackError: Quota exceeded for cores",
            "NoInstance",
        ),
    ] {
        let refused = |machine: &mut Value| {
            machine["spec"]["providerSpec"]["value"]["kind"] = kind.into();
            let failed = json!({ "type": "MachineCreation", "status": "False", "reason": "MachineCreationFailed", "message": message });
            machine["status"] =
                json!({ "phase": "Provisioning", "providerStatus": { "conditions": [failed] } });
        };
        let found = machine(refused, &[]);
        assert_eq!(found["stage"], stage, "{found:#}");
    }
}

/// The condition's words, of whatever type, whether `False` or `Unknown`; and what a Machine keeps.
#[test]
fn the_condition_of_a_machine_says_why() {
    let waits = |machine: &mut Value, conditions: Value, own: Value| {
        machine["status"] = json!({ "phase": "Provisioning", "providerStatus": { "conditions": conditions }, "conditions": own });
    };
    let condition = |kind: &str, status: &str, reason: &str, message: &str| json!([{ "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2026-08-20T09:13:00Z" }]);
    let bare = condition(
        "InstanceExists",
        "False",
        "InstanceNotCreated",
        "Instance has not been created",
    );
    let of_provider = condition(
        "VMCreated",
        "False",
        "VMCreationFailed",
        "no subnet IDs were found",
    );
    let found = machine(
        |machine| waits(machine, of_provider.clone(), bare.clone()),
        &[],
    );
    check(
        &found,
        "VMCreationFailed: no subnet IDs were found.",
        "Subnet filters match nothing in that zone: correct filters or tags",
    );
    assert_eq!(
        found["next"][1],
        "After a change of the set delete the Machine, which keeps what it was made with; else leave it: its controller tries again by itself"
    );
    let unknown = condition(
        "InstanceExists",
        "Unknown",
        "ErrorCheckingProvider",
        "Secret \"aws-cloud-credentials\" not found",
    );
    check(
        &machine(|machine| waits(machine, json!([]), unknown.clone()), &[]),
        "ErrorCheckingProvider: Secret \"aws-cloud-credentials\" not found.",
        "Repair the credentials of the Machine's controller, or its way to the cloud, by what the message names",
    );
    // Its instance is there, and nobody can look at it now.
    let silent = |machine: &mut Value| {
        waits(machine, json!([]), unknown.clone());
        machine["spec"]["providerID"] = "aws:///us-east-2a/i-0bff87b2026a36e76".into();
        machine["status"]["phase"] = "Provisioned".into();
    };
    let found = machine(silent, &[]);
    check(
        &found,
        "By now the cloud cannot be asked for it: ErrorCheckingProvider: Secret \"aws-cloud-credentials\" not found.",
        found["next"][0].as_str().unwrap(),
    );
    let next = found["next"].to_string();
    assert!(next.contains("Repair the credentials"), "{next}");
    // A reason alone is a state: the Event says more, and any joined node may write one.
    let reason = condition("Ready", "False", "WaitingForInfrastructure", "");
    let found = machine(|machine| waits(machine, json!([]), reason.clone()), &[]);
    check(
        &found,
        "Our system will be working on provisioning additional capacity.",
        "Use a set in another zone, which the message may offer, or another instance type, or wait",
    );
    assert_eq!(found["isCertain"], false);
}

/// One query of the cloud that failed is enough for the error: to delete the Machine would end a node that works.
#[test]
fn a_failed_machine_with_a_ready_node_is_kept() {
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "ip-10-0-16-99", "uid": "n", "resourceVersion": "900001",
            "creationTimestamp": "2026-08-20T09:20:00Z", "annotations": { "machine.openshift.io/machine": format!("openshift-machine-api/{WAITS}") } },
        "status": { "conditions": [{ "type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": "2026-08-20T09:21:00Z" }] } });
    let failed = |machine: &mut Value| {
        machine["status"]["errorReason"] = Value::Null;
        machine["status"]["errorMessage"] = "Can't find created instance.".into();
        machine["status"]["nodeRef"] = json!({ "kind": "Node", "name": "ip-10-0-16-99" });
    };
    check(
        &machine(failed, std::slice::from_ref(&node)),
        "Can't find created instance. Its Node ip-10-0-16-99 is still there, and Ready.",
        "Look in the cloud whether its instance runs, as its Node says. If it does, keep the Machine: deleting it ends the instance",
    );
    // Its metadata alone was read.
    let mut bare = node;
    bare.as_object_mut().unwrap().remove("status");
    check(
        &machine(failed, &[bare]),
        "Can't find created instance. Its Node ip-10-0-16-99 is still there.",
        "Look whether its Node is Ready: `oc get node ip-10-0-16-99`. If it is, keep the Machine: deleting it ends the instance; if not, delete it: one that failed is not tried again",
    );
    let of_control_plane = |machine: &mut Value| {
        machine["metadata"]["ownerReferences"][0]["kind"] = "ControlPlaneMachineSet".into();
    };
    assert_eq!(
        machine(of_control_plane, &[])["next"][1],
        "Its set is a ControlPlaneMachineSet: one that is Active and has RollingUpdate replaces every control plane node after a change"
    );
}

/// Where its set was read, its state decides.
#[test]
fn a_control_plane_machine_is_replaced_by_its_set_if_that_is_active() {
    for (state, wanted) in [
        (
            "Active",
            "; then have it replaced by its ControlPlaneMachineSet, which is Active: one that failed",
        ),
        (
            "Inactive",
            "; then replace it by hand, since its ControlPlaneMachineSet is Inactive and makes none: one that failed",
        ),
    ] {
        let set = json!({ "apiVersion": "machine.openshift.io/v1", "kind": "ControlPlaneMachineSet",
            "metadata": { "name": "cluster", "namespace": "openshift-machine-api", "uid": "c", "resourceVersion": "900000" },
            "spec": { "state": state, "replicas": 3, "template": {} }, "status": { "replicas": 3 } });
        let of_control_plane = |machine: &mut Value| {
            machine["metadata"]["labels"]["machine.openshift.io/cluster-api-machine-role"] =
                "master".into();
            machine["metadata"]["ownerReferences"] = json!([]);
        };
        let found = machine(of_control_plane, &[set]);
        assert!(
            found["next"][0].as_str().unwrap().contains(wanted),
            "{found:#}"
        );
    }
}

/// A host whose power its operator cannot manage stays `provisioned`.
#[test]
fn an_installed_hosts_error_is_told_where_its_machine_waits() {
    let gather = Gather::of("../cases-why/host-error-while-provisioning");
    let path = gather.dir.path().join("bmh721c.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let installed = text.replace("{state: provisioning,", "{state: provisioned,");
    std::fs::write(&path, installed).unwrap();
    let report = super::json(&[gather.path()]);
    let found = only(&report);
    let wanted = "; its host openshift-machine-api/node-1 is provisioned and has provisioning error: Image provisioning failed";
    assert!(
        found["sentence"].as_str().unwrap().contains(wanted),
        "{found:#}"
    );
    assert_eq!(found["isCertain"], false);
    let all = found.to_string();
    assert!(
        all.contains("`oc describe baremetalhosts.metal3.io -n openshift-machine-api node-1`"),
        "{all}"
    );
    assert!(!all.contains("cloud's console"), "{all}");
}

#[test]
fn an_ended_instance_and_a_windows_machine_are_told() {
    let runs = |machine: &mut Value, state: &str| {
        machine["status"] = json!({ "phase": "Provisioned", "providerStatus": { "instanceId": "i-0", "instanceState": state },
            "addresses": [{ "type": "InternalIP", "address": "10.0.16.99" }] });
        machine["metadata"]["annotations"] =
            json!({ "machine.openshift.io/instance-state": state });
    };
    check(
        &machine(|machine| runs(machine, "terminated"), &[]),
        "its state is terminated.",
        "Its instance was ended, and is never started again: delete the Machine",
    );
    let windows = |machine: &mut Value| {
        runs(machine, "running");
        machine["metadata"]["labels"]["machine.openshift.io/os-id"] = "Windows".into();
    };
    let found = machine(windows, &[]);
    check(
        &found,
        " is a Windows Machine: the Windows Machine Config Operator makes it a Node, and it asks for no config.",
        "Read the log of that operator: `oc logs -n openshift-windows-machine-config-operator deployment/windows-machine-config-operator`",
    );
    assert_eq!(found["isCertain"], false);
}

#[test]
fn an_annotation_that_keeps_a_hosts_operator_from_it_is_named() {
    for word in ["paused", "detached"] {
        let annotation = format!("baremetalhost.metal3.io/{word}");
        let host = json!({ "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": { "name": "rack1-u7", "namespace": "openshift-machine-api",
                "creationTimestamp": "2026-08-20T08:30:00Z", "uid": "h", "resourceVersion": "900000", "annotations": { &*annotation: "" } },
            "spec": { "online": true, "image": { "url": "http://mirror/rhcos.qcow2" }, "consumerRef": { "kind": "Machine", "name": WAITS, "namespace": "openshift-machine-api" } },
            "status": { "provisioning": { "state": "available" }, "lastUpdated": "2026-08-20T09:30:00Z" } });
        let waits = |machine: &mut Value| machine["status"] = json!({ "phase": "Provisioning" });
        let found = machine(waits, &[host]);
        let sentence = found["sentence"].as_str().unwrap();
        assert!(
            sentence.ends_with(&format!(
                ", and its annotation {annotation} keeps its operator from it."
            )),
            "{found:#}"
        );
        assert_eq!(
            found["next"][0],
            format!(
                "Find out who set the annotation, then take it away: `oc annotate baremetalhosts.metal3.io -n openshift-machine-api rack1-u7 {annotation}-`"
            )
        );
    }
}
