//! Machines of other kinds: of a NodePool, whose config HyperShift's ignition server serves, of the
//! Cluster API, and Agents of the Assisted Installer. Whole objects, of the types of
//! openshift/hypershift, kubernetes-sigs/cluster-api and openshift/assisted-service.

use super::{Gather, json, only};
use serde_json::{Value, json};
use std::path::Path;

const NAMESPACE: &str = "clusters-guest";

fn metadata(namespace: &str, name: &str, created: &str) -> Value {
    json!({ "name": name, "namespace": namespace, "creationTimestamp": created, "generation": 1,
        "resourceVersion": "183000", "uid": format!("uid-of-{name}") })
}

fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({ "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-08-20T08:10:00Z", "observedGeneration": 1 })
}

/// `api/hypershift/v1beta1`, `NodePool`.
fn node_pool(reached: &str) -> Value {
    let release = "quay.io/openshift-release-dev/ocp-release:4.20.6-x86_64";
    json!({ "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool",
        "metadata": metadata("clusters", "guest", "2026-05-02T11:20:41Z"),
        "spec": { "arch": "amd64", "clusterName": "guest", "management": { "autoRepair": true, "replace": { "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 }, "strategy": "RollingUpdate" }, "upgradeType": "Replace" },
            "nodeDrainTimeout": "0s", "platform": { "aws": { "instanceProfile": "guest-worker", "instanceType": "m5.large", "rootVolume": { "size": 120, "type": "gp3" }, "subnet": { "id": "subnet-0a1" } }, "type": "AWS" },
            "release": { "image": release }, "replicas": 2 },
        "status": { "conditions": [
            condition("ValidReleaseImage", "True", "AsExpected", &format!("Using release image: {release}")),
            condition("ReachedIgnitionEndpoint", reached, if reached == "True" { "AsExpected" } else { "ignitionNotReached" }, ""),
            condition("AllMachinesReady", "True", "AsExpected", "All is well"),
            condition("AllNodesHealthy", "False", "NodeProvisioning", "Machine guest-x7k2p-w4fxq: NodeProvisioning: Waiting for a node"),
        ], "replicas": 2, "version": "4.20.6" } })
}

/// `api/core/v1beta1`, `Machine`, as HyperShift's cluster-api makes it.
fn machine(name: &str, created: &str, node: bool) -> Value {
    let mut metadata = metadata(NAMESPACE, name, created);
    metadata["annotations"] = json!({ "hypershift.openshift.io/nodePool": "clusters/guest" });
    metadata["labels"] = json!({ "cluster.x-k8s.io/cluster-name": "guest", "cluster.x-k8s.io/set-name": "guest-x7k2p" });
    metadata["ownerReferences"] = json!([{ "apiVersion": "cluster.x-k8s.io/v1beta1", "blockOwnerDeletion": true, "controller": true, "kind": "MachineSet", "name": "guest-x7k2p", "uid": "9" }]);
    let mut machine = json!({ "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": metadata,
        "spec": { "bootstrap": { "dataSecretName": "user-data-guest-1f0c4a2e" }, "clusterName": "guest", "nodeDeletionTimeout": "10s",
            "infrastructureRef": { "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AWSMachine", "name": name, "namespace": NAMESPACE },
            "providerID": format!("aws:///us-east-2a/i-{name}") },
        "status": { "addresses": [{ "address": "10.0.131.7", "type": "InternalIP" }], "bootstrapReady": true, "infrastructureReady": true, "lastUpdated": created, "observedGeneration": 2,
            "phase": if node { "Running" } else { "Provisioned" },
            "conditions": [
                { "type": "Ready", "status": "True", "lastTransitionTime": created },
                { "type": "BootstrapReady", "status": "True", "lastTransitionTime": created },
                { "type": "InfrastructureReady", "status": "True", "lastTransitionTime": created },
                { "type": "NodeHealthy", "status": "False", "severity": "Info", "reason": "NodeProvisioning", "message": "Waiting for a node with matching ProviderID to exist", "lastTransitionTime": created },
            ] } });
    if node {
        machine["status"]["nodeRef"] = json!({ "apiVersion": "v1", "kind": "Node", "name": "ip-10-0-131-6.ec2.internal", "uid": "8" });
    }
    machine
}

const WAITS: &str = "guest-x7k2p-w4fxq";

/// A NodePool with a Node and a machine that waits.
pub(super) fn management_cluster(reached: &str) -> Vec<Value> {
    vec![
        node_pool(reached),
        machine("guest-x7k2p-c8h2v", "2026-05-02T11:25:00Z", true),
        machine(WAITS, "2026-08-20T08:00:00Z", false),
    ]
}

/// The management cluster, with a pod's log, and machines beside the one that waits.
fn hosted(reached: &str, log: Option<&str>, more: &[Value]) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let mut items = management_cluster(reached);
    items.extend_from_slice(more);
    // The gather's own time.
    items.push(json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineHealthCheck", "spec": { "selector": {} },
        "metadata": metadata("openshift-machine-api", "now", "2026-08-20T10:00:00Z") }));
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    std::fs::write(dir.path().join("objects.json"), list.to_string()).unwrap();
    if let Some(log) = log {
        let pods = dir.path().join("namespaces/clusters-guest/core/pods/logs");
        std::fs::create_dir_all(&pods).unwrap();
        let name = "ignition-server-6d9f7-x2x9p-ignition-server.log";
        std::fs::write(pods.join(name), log).unwrap();
    }
    json(&[dir.path().to_str().unwrap()])
}

fn ask(time: &str) -> String {
    format!("2026/08/20 {time} User Agent: Ignition/2.20.0. Requested: /ignition\n")
}

const BEGIN: &str = "2026/08/19 22:00:00 Listening on 0.0.0.0:9090\n";

#[test]
fn the_ignition_servers_log_tells_who_was_served() {
    let found = hosted("True", Some(BEGIN), &[]);
    assert_eq!(only(&found)["stage"], "NoRequest", "{found:#}");
    // Its Node would be in the hosted cluster.
    assert_eq!(only(&found)["isCertain"], false);
    assert_eq!(
        only(&found)["sentence"],
        "guest-x7k2p-w4fxq is up, and no machine of NodePool clusters/guest's cluster has asked for a config in 2 hours: user data, network or route."
    );
    let refused = format!(
        "{BEGIN}{}2026/08/20 08:05:00 Token not found\n",
        ask("08:05:00")
    );
    let found = hosted("True", Some(&refused), &[]);
    assert_eq!(only(&found)["stage"], "RequestRefused", "{found:#}");
    assert_eq!(
        only(&found)["sentence"],
        "guest-x7k2p-w4fxq's cluster did not serve a config to any machine since guest-x7k2p-w4fxq was made, at 1 request, the last 115 minutes ago (511): the ignition server does not know the token of their user data, which is of an older config of the NodePool, or its config is not made yet."
    );
    let served = format!("{refused}{}", ask("08:06:00"));
    let found = hosted("True", Some(&served), &[]);
    assert_eq!(only(&found)["stage"], "FirstBoot", "{found:#}");
    assert_eq!(only(&found)["isCertain"], false);
    assert!(
        only(&found)["sentence"].as_str().unwrap().starts_with("guest-x7k2p-w4fxq got its config 114 minutes ago, as the only machine that was made since then"),
        "{found:#}"
    );
    // A second machine since then: the log has no addresses.
    let other = machine("guest-x7k2p-zzzzz", "2026-08-20T08:01:00Z", true);
    let found = hosted("True", Some(&served), &[other]);
    assert_eq!(only(&found)["stage"], "Unknown", "{found:#}");
    assert_eq!(
        only(&found)["sentence"],
        "Whether guest-x7k2p-w4fxq got its config cannot be told apart: the ignition server's log has no addresses, and served 1 of 2 requests since it was made."
    );
}

#[test]
fn without_that_log_the_node_pools_conditions_say_it() {
    let found = hosted("False", None, &[]);
    assert_eq!(only(&found)["stage"], "NoRequest", "{found:#}");
    assert_eq!(
        only(&found)["sentence"],
        "No machine of NodePool clusters/guest has reached the ignition server, guest-x7k2p-w4fxq among them: ignitionNotReached."
    );
    let found = hosted("True", None, &[]);
    assert_eq!(only(&found)["stage"], "Unknown", "{found:#}");
    assert_eq!(
        only(&found)["sentence"],
        "Why guest-x7k2p-w4fxq is no Node cannot be told from here; its NodePool clusters/guest says AllNodesHealthy is False: NodeProvisioning: Machine guest-x7k2p-w4fxq: NodeProvisioning: Waiting for a node."
    );
    assert!(
        only(&found)["unseen"]
            .to_string()
            .contains("get pods/log in clusters-guest"),
        "{found:#}"
    );
}

/// `api/core/v1beta2`, `Machine`: an instance that the provider could not make.
#[test]
fn a_machine_of_the_cluster_api_says_why_it_has_no_instance() {
    let gather = Gather::of("nothing-known");
    std::fs::remove_dir_all(gather.dir.path().join("namespaces")).unwrap();
    let mut metadata = metadata(
        "openshift-cluster-api",
        "workers-8tq2x",
        "2026-08-20T08:00:00Z",
    );
    metadata["labels"] = json!({ "cluster.x-k8s.io/cluster-name": "c1-x7k2p", "cluster.x-k8s.io/set-name": "workers" });
    let because = "* AWSMachine: RunInstances: InsufficientInstanceCapacity: we currently do not have sufficient m5.metal capacity";
    let machine = json!({ "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": metadata,
        "spec": { "bootstrap": { "dataSecretName": "worker-user-data" }, "clusterName": "c1-x7k2p", "deletion": {},
            "infrastructureRef": { "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AWSMachine", "name": "workers-8tq2x" } },
        "status": { "phase": "Provisioning", "lastUpdated": "2026-08-20T08:00:05Z", "initialization": { "bootstrapDataSecretCreated": true }, "conditions": [
            condition("Available", "False", "NotReady", "* InfrastructureReady: see below"),
            condition("BootstrapConfigReady", "True", "Ready", ""),
            condition("InfrastructureReady", "False", "NotReady", because),
        ] } });
    std::fs::write(gather.dir.path().join("machine.json"), machine.to_string()).unwrap();
    let found = gather.json();
    assert_eq!(only(&found)["stage"], "NoInstance", "{found:#}");
    assert_eq!(
        only(&found)["sentence"],
        format!("workers-8tq2x has no instance after 2 hours: NotReady: {because}.")
    );
    assert_eq!(
        only(&found)["next"][0],
        "Use a set in another zone, which the message may offer, or another instance type, or wait"
    );
}

/// assisted-service, `api/v1beta1`, `Agent`.
fn agent(state: &str, info: &str, stage: &str) -> Value {
    let mut metadata = metadata(
        "assisted",
        "4c4c4544-0042-3510-8052-b9c04f4d3332",
        "2026-08-20T07:30:00Z",
    );
    metadata["labels"] = json!({ "infraenvs.agent-install.openshift.io": "c1" });
    json!({ "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "Agent", "metadata": metadata,
        "spec": { "approved": true, "clusterDeploymentName": { "name": "c1", "namespace": "assisted" }, "hostname": "rack1-u9", "installation_disk_id": "/dev/disk/by-id/wwn-0x5", "role": "worker" },
        "status": { "bootstrap": false, "conditions": [
                condition("SpecSynced", "True", "SyncOK", "The Spec has been successfully applied"),
                condition("Installed", "False", "InstallationInProgress", &format!("The installation is in progress: {info}")),
                condition("Bound", "True", "Bound", "The agent is bound to a cluster deployment"),
            ],
            "debugInfo": { "eventsURL": "https://assisted-service/api/assisted-install/v2/events", "state": state, "stateInfo": info },
            "inventory": { "hostname": "rack1-u9", "interfaces": [{ "flags": ["up", "broadcast"], "hasCarrier": true, "ipV4Addresses": ["10.0.16.99/24"], "ipV6Addresses": [], "macAddress": "52:54:00:00:00:09", "name": "eno1" }],
                "systemVendor": { "manufacturer": "Dell Inc.", "productName": "PowerEdge R640", "serialNumber": "1" } },
            "progress": { "currentStage": stage, "progressStages": ["Starting installation", "Installing", "Writing image to disk", "Rebooting", "Waiting for ignition", "Configuring", "Joined", "Done"], "stageStartTime": "2026-08-20T08:00:00Z" },
            "role": "worker" } })
}

#[test]
fn an_agent_is_followed_from_its_disk_to_its_config() {
    let gather = Gather::of("no-request");
    let machines = gather.dir.path().join("namespaces/openshift-machine-api");
    std::fs::remove_dir_all(machines).unwrap();
    let found = |agent: Value| {
        std::fs::write(gather.dir.path().join("agent.json"), agent.to_string()).unwrap();
        gather.json()
    };
    let report = found(agent(
        "error",
        "Failed - failed to write image to disk",
        "Writing image to disk",
    ));
    assert_eq!(only(&report)["kind"], "Agent");
    assert_eq!(only(&report)["stage"], "NoInstance");
    assert_eq!(
        only(&report)["sentence"],
        "rack1-u9 is not installed: its Agent is error, Writing image to disk: Failed - failed to write image to disk."
    );
    // On day 2 nobody looks any more until the cluster that it joins has its Node.
    let info = "Host has rebooted. Please approve pending CSRs";
    let report = found(agent("added-to-existing-cluster", info, "Rebooting"));
    assert_eq!(
        only(&report)["sentence"],
        format!(
            "Why rack1-u9 is no Node cannot be told from here: its Agent is added-to-existing-cluster: {info}."
        )
    );
    let report = found(agent("added-to-existing-cluster", info, "Done"));
    assert_eq!(report["machines"], json!([]));
    let report = found(agent("installing-in-progress", "Rebooting", "Rebooting"));
    assert_eq!(only(&report)["stage"], "NoRequest", "{report:#}");
    assert_eq!(only(&report)["pool"], Value::Null);
    gather.change(|n, text| match n {
        0 => format!("{text}2026-08-20T08:20:00.000000000Z I0820 08:20:00.000000       1 api.go:119] Pool \"worker\" requested by address:\"10.0.16.99:40312\" User-Agent:\"Ignition/2.18.0\" Accept-Header: \"application/vnd.coreos.ignition+json;version=3.4.0, */*;q=0.1\"\n"),
        _ => text,
    });
    let report = found(agent("installing-in-progress", "Rebooting", "Rebooting"));
    assert_eq!(only(&report)["stage"], "FirstBoot", "{report:#}");
    assert!(
        only(&report)["sentence"]
            .as_str()
            .unwrap()
            .starts_with("rack1-u9 got its config 100 minutes ago; neither a certificate request nor a Node of it was seen since"),
        "{report:#}"
    );
}

/// A gather of the hosting cluster with a NodePool of this condition, its machines and a log of theirs.
fn with_condition(kind: &str, machines: bool, log: Option<&str>) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let mut pool = node_pool("True");
    let conditions = pool["status"]["conditions"].as_array_mut().unwrap();
    conditions.retain(|condition| condition["status"] == "True");
    conditions.push(condition(kind, "False", "Failed", "it is not right"));
    let mut items = vec![pool];
    if machines {
        items.push(machine(WAITS, "2026-08-20T08:00:00Z", false));
    }
    items.push(json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineHealthCheck", "spec": { "selector": {} },
        "metadata": metadata("openshift-machine-api", "now", "2026-08-20T10:00:00Z") }));
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    std::fs::write(dir.path().join("objects.json"), list.to_string()).unwrap();
    let none = json!({ "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineList", "items": [], "metadata": {} });
    std::fs::write(dir.path().join("machines.json"), none.to_string()).unwrap();
    if let Some(log) = log {
        std::fs::write(dir.path().join("ignition-server-6d9f7-x2x9p.log"), log).unwrap();
    }
    json(&[dir.path().to_str().unwrap()])
}

/// The ignition server's own errors are no requests.
#[test]
fn a_payload_that_is_not_made_is_told_beside_a_log_without_requests() {
    let log = format!(
        "{BEGIN}{{\"level\":\"error\",\"ts\":\"2026-08-20T08:05:00Z\",\"msg\":\"mcs returned unexpected response code\",\"code\":500}}\n"
    );
    let found = with_condition("ValidGeneratedPayload", true, Some(&log));
    assert_eq!(only(&found)["stage"], "RequestRefused", "{found:#}");
    assert_eq!(
        only(&found)["sentence"],
        "guest-x7k2p-w4fxq does not get its config, as it seems: its NodePool clusters/guest says ValidGeneratedPayload is False: Failed: it is not right."
    );
    // The machine-config-server is the hosting cluster's.
    let unseen = only(&found)["unseen"].to_string();
    assert!(!unseen.contains("machine-config-server"), "{unseen}");
}

/// A failure by the releases of HostedCluster and NodePool, whatever the hosting cluster's is.
#[test]
fn a_failure_of_two_releases_is_looked_up_by_both() {
    let case = "tests/data/cases-why/nodepool-payload-not-made";
    for (hosted, pool, wanted) in [
        ("4.16.7", "4.14.30", true),
        ("4.15.30", "4.14.33", true),
        ("4.16.7", "4.14.34", false),
        ("4.16.7", "4.16.7", false),
        ("4.16.11", "4.14.30", false),
    ] {
        let dir = tempfile::tempdir().unwrap();
        super::copy(Path::new(case), dir.path());
        for (file, release) in [("hc.json", hosted), ("np.json", pool)] {
            let path = dir.path().join(file);
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::write(path, text.replace("4.19.9", release)).unwrap();
        }
        let found = json(&[dir.path().to_str().unwrap()]);
        let next = found["machines"][0]["next"].to_string();
        let is_told = next.contains("HyperShiftNodePoolSkewBinaryDownload");
        assert_eq!(is_told, wanted, "{hosted} {pool}: {next}");
    }
}

/// HyperShift goes on with a version that it does not support, and not where the others are False.
#[test]
fn a_condition_that_stops_nothing_is_no_cause() {
    let found = with_condition("SupportedVersionSkew", false, None);
    assert_eq!(only(&found)["isCertain"], false, "{found:#}");
    assert_eq!(
        only(&found)["sentence"],
        "NodePool clusters/guest wants 2 machines and has none, and no condition of it says why; SupportedVersionSkew is False, which alone stops nothing: Failed: it is not right."
    );
    for kind in [
        "IgnitionEndpointAvailable",
        "UpdateManagementEnabled",
        "ValidArchPlatform",
    ] {
        let found = with_condition(kind, false, None);
        assert_eq!(only(&found)["isCertain"], true, "{found:#}");
        let wanted = format!(
            "NodePool clusters/guest wants 2 machines and has none: {kind} is False: Failed: it is not right."
        );
        assert_eq!(only(&found)["sentence"], wanted);
    }
}

/// `api/hypershift/v1beta1`, `HostedCluster`, whose cloud refuses the identity of its controllers.
fn hosted_cluster(conditions: &[Value]) -> Value {
    json!({ "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "HostedCluster", "metadata": metadata("clusters", "guest", "2026-05-02T11:20:41Z"),
        "spec": { "platform": { "type": "AWS" } }, "status": { "conditions": conditions } })
}

fn of(objects: &[Value]) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
    std::fs::write(dir.path().join("objects.json"), list.to_string()).unwrap();
    json(&[dir.path().to_str().unwrap()])
}

/// Of a Machine that says a state alone nothing is known where its cloud cannot be asked, and nothing is to
/// be deleted.
#[test]
fn a_hosted_cluster_that_cannot_ask_its_cloud_is_one_cause() {
    let bad = condition(
        "ValidAWSIdentityProvider",
        "False",
        "InvalidIdentityProvider",
        "WebIdentityErr",
    );
    let cluster = hosted_cluster(&[bad]);
    let says = "HostedCluster clusters/guest says ValidAWSIdentityProvider is False: InvalidIdentityProvider: WebIdentityErr.";
    let mut waits = machine(WAITS, "2026-08-20T08:00:00Z", false);
    waits["spec"].as_object_mut().unwrap().remove("providerID");
    waits["status"] = json!({ "phase": "Provisioning", "conditions": [
        { "type": "InfrastructureReady", "status": "False", "reason": "NotReady", "message": "0 of 1 completed", "lastTransitionTime": "2026-08-20T08:01:00Z" }] });
    let report = of(&[cluster.clone(), waits]);
    let found = only(&report);
    assert_eq!(
        found["sentence"],
        format!(
            "Whether {WAITS} has an instance is unknown, because the cloud could not be asked, as it seems: {says}"
        )
    );
    assert_eq!(found["cause"], "CredentialsInvalid");
    assert_eq!(found["isCertain"], false);
    let next = found["next"].to_string();
    assert!(
        next.contains("Leave Machines, sets and NodePools as they are"),
        "{next}"
    );
    assert!(!next.contains("delete"), "{next}");
    // Alone it is told by itself.
    let report = of(&[cluster]);
    let found = only(&report);
    assert_eq!(found["kind"], "HostedCluster");
    assert_eq!(
        found["sentence"],
        format!(
            "Machines of HostedCluster clusters/guest are neither made nor ended, because the cloud could not be asked, as it seems: {says}"
        )
    );
}

/// What is wrong with its control plane is a possible cause of each of its machines.
#[test]
fn a_hosted_cluster_whose_key_is_refused_is_a_possible_cause() {
    let bad = condition(
        "ValidAWSKMSConfig",
        "False",
        "AWSError",
        "code: AccessDenied",
    );
    let idle = condition(
        "ValidAzureKMSConfig",
        "Unknown",
        "StatusUnknown",
        "Azure KMS is not configured",
    );
    let waits = machine(WAITS, "2026-08-20T08:00:00Z", false);
    let report = of(&[hosted_cluster(&[bad, idle]), waits]);
    let next = only(&report)["next"].as_array().unwrap();
    let wanted = "A possible cause: HostedCluster clusters/guest says ValidAWSKMSConfig is False: AWSError: code: AccessDenied.";
    assert!(next.contains(&json!(wanted)), "{report:#}");
    assert!(
        !report.to_string().contains("ValidAzureKMSConfig"),
        "{report:#}"
    );
}
