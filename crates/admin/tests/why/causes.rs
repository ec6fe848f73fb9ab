//! Causes that stand in another object than the Machine: a NodePool that is paused, a host that fails before
//! anybody takes it, Events of who ends machines, the infrastructure object, the server's pods.

use super::{DATA, Gather, WAITS, json, only};
use serde_json::{Value, json};

fn metadata(namespace: &str, name: &str, created: &str) -> Value {
    json!({ "name": name, "namespace": namespace, "creationTimestamp": created, "resourceVersion": "900000", "uid": format!("uid-of-{name}") })
}

/// A gather of these objects and a Node, of 10:00.
fn of_objects(objects: &[Value]) -> Value {
    let now = json!({ "apiVersion": "v1", "kind": "Node", "metadata": metadata("", "master-0", "2026-08-01T05:10:00Z"),
        "status": { "conditions": [{ "type": "Ready", "status": "True", "reason": "KubeletReady",
            "lastTransitionTime": "2026-08-01T05:10:00Z", "lastHeartbeatTime": "2026-08-20T10:00:00Z" }] } });
    let dir = tempfile::tempdir().unwrap();
    let items = [objects, &[now]].concat();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    std::fs::write(dir.path().join("objects.json"), list.to_string()).unwrap();
    json(&[dir.path().to_str().unwrap()])
}

/// openshift/hypershift, `reconciliationActiveCondition`: a NodePool that is paused makes no machine.
fn paused_pool(available: usize) -> Value {
    json!({ "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool", "metadata": metadata("clusters", "hc1-workers", "2026-08-20T07:00:00Z"),
        "spec": { "clusterName": "hc1", "replicas": 2, "pausedUntil": "true", "platform": { "type": "AWS" }, "management": { "upgradeType": "Replace" },
            "release": { "image": "quay.io/openshift-release-dev/ocp-release:4.20.5-x86_64" } },
        "status": { "replicas": available, "version": "4.20.5", "conditions": [{ "type": "ReconciliationActive", "status": "False", "reason": "ReconciliationPaused",
            "message": "Reconciliation paused until field removed", "lastTransitionTime": "2026-08-20T07:05:00Z" }] } })
}

#[test]
fn a_paused_node_pool_without_machines_is_told() {
    let found = of_objects(&[paused_pool(0)]);
    let pool = only(&found);
    assert_eq!(
        pool["sentence"],
        "NodePool clusters/hc1-workers wants 2 machines, of which none is available: ReconciliationActive is False: ReconciliationPaused: Reconciliation paused until field removed."
    );
    assert_eq!(
        pool["next"][1],
        r#"Find out who paused it, then take the field away: `oc patch nodepools.hypershift.openshift.io -n clusters hc1-workers --type json -p '[{"op":"remove","path":"/spec/pausedUntil"}]'`"#
    );
    // No Machine was read.
    assert_eq!(pool["isCertain"], false, "{pool:#}");
    // It counts what is available.
    let sentence = only(&of_objects(&[paused_pool(1)]))["sentence"].to_string();
    assert!(
        sentence.contains("wants 2 machines, of which 1 is available: Reconc"),
        "{sentence}"
    );
    // The Machine that it lacks is told by itself, whether it names its NodePool or that names it.
    let mut pool = paused_pool(1);
    let all_ready = json!({ "type": "AllMachinesReady", "status": "False", "reason": "Error", "message": "1 of 2 machines are not ready\nMachine hc1-a: Failed: no room\n" });
    pool["status"]["conditions"] = json!([all_ready]);
    let waits = json!({ "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": metadata("clusters-hc1", "hc1-a", "2026-08-20T07:00:00Z"),
        "spec": { "clusterName": "hc1" }, "status": { "phase": "Provisioning" } });
    assert_eq!(only(&of_objects(&[pool, waits]))["name"], "hc1-a");
    // One that has nodes may have all of them.
    assert_eq!(of_objects(&[paused_pool(2)])["machines"], json!([]));
}

fn running(name: &str, node: &str) -> Value {
    json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "metadata": metadata("openshift-machine-api", name, "2026-08-19T07:00:00Z"),
        "spec": { "providerID": format!("aws:///a/{name}") },
        "status": { "phase": "Running", "lastUpdated": "2026-08-19T07:10:00Z", "nodeRef": { "kind": "Node", "name": node } } })
}

/// An archive of two clusters without their ids: no Machine is of a Node in it.
#[test]
fn machines_and_nodes_of_two_clusters_end_no_machine() {
    let found = of_objects(&[running("w-0", "ip-1"), running("m-0", "ip-2")]);
    let machines = found["machines"].as_array().unwrap();
    assert_eq!(machines.len(), 2, "{found:#}");
    for machine in machines {
        assert_eq!(machine["stage"], "Unknown", "{found:#}");
        assert_eq!(machine["cause"], "TwoClusters", "{found:#}");
        assert!(!machine["next"].to_string().contains("elete"), "{found:#}");
    }
}

/// What a provider's documents show is no Machine of a cluster.
#[test]
fn a_manifest_is_no_machine() {
    let manifest = json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "metadata": { "name": "w-0", "namespace": "openshift-machine-api" },
        "spec": { "providerSpec": { "value": { "kind": "AWSMachineProviderConfig", "ami": { "id": "ami-1" } } } } });
    assert_eq!(of_objects(&[manifest])["machines"], json!([]));
}

/// metal3-io/baremetal-operator, `api/v1alpha1`: each try sets `lastUpdated`.
fn host(state: &str, error: Value, made: &str) -> Value {
    json!({ "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": metadata("openshift-machine-api", "worker-3", made),
        "spec": { "online": true, "bmc": { "address": "redfish://10.1.1.5" } },
        "status": { "errorType": error, "errorMessage": "Authentication error (401)", "operationalStatus": "error", "provisioning": { "state": state }, "lastUpdated": "2026-08-20T09:58:00Z" } })
}

#[test]
fn a_host_that_fails_before_anybody_takes_it_is_told() {
    let error = json!("registration error");
    let made = "2026-08-20T05:00:00Z";
    let found = of_objects(&[host("registering", error.clone(), made)]);
    assert_eq!(
        only(&found)["sentence"],
        "worker-3 is not installed: host openshift-machine-api/worker-3 has registration error: Authentication error (401)."
    );
    for (state, error, made, young) in [
        ("registering", error.clone(), "2026-08-20T09:55:00Z", 1),
        ("available", json!(""), made, 0),
        ("deleting", error.clone(), made, 0),
        ("externally provisioned", error.clone(), made, 0),
    ] {
        let found = of_objects(&[host(state, error, made)]);
        assert_eq!(
            (&found["machines"], &found["young"]),
            (&json!([]), &json!(young)),
            "{state}"
        );
    }
}

/// An Event in openshift-machine-api about an object there.
fn event(kind: &str, name: &str, reason: &str, message: &str, at: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Event", "metadata": metadata("openshift-machine-api", &format!("{reason}-{at}"), at),
        "involvedObject": { "kind": kind, "name": name, "namespace": "openshift-machine-api" },
        "reason": reason, "message": message, "type": "Warning", "firstTimestamp": at, "lastTimestamp": at })
}

/// The case of a machine that certainly did not ask, with these objects beside it.
fn not_asked(more: &[Value]) -> Value {
    let gather = Gather::of("no-request");
    // It comes to no connection either.
    gather.change(|_, text| {
        let lines = text.lines().filter(|line| !line.contains("TLS handshake"));
        lines.map(|line| format!("{line}\n")).collect()
    });
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": more });
    std::fs::write(gather.dir.path().join("more.json"), list.to_string()).unwrap();
    only(&gather.json()).clone()
}

/// kubernetes/autoscaler, `clusterstate.go` and `static_autoscaler.go`.
#[test]
fn the_autoscaler_that_gives_machines_up_is_told_by_its_events() {
    let of = |set: &str| {
        let events = |reason: &str, message: &str, at: &str| {
            event(
                "ConfigMap",
                "cluster-autoscaler-status",
                reason,
                message,
                at,
            )
        };
        let group = format!(
            "Nodes added to group MachineSet/openshift-machine-api/{set} failed to register within 15m0s"
        );
        not_asked(&[
            events(
                "DeleteUnregistered",
                "Removed unregistered node i-0abc",
                "2026-08-20T09:10:00Z",
            ),
            events(
                "DeleteUnregistered",
                "Removed unregistered node i-0def",
                "2026-08-20T09:30:00Z",
            ),
            events("ScaleUpTimedOut", &group, "2026-08-20T09:31:00Z"),
        ])
    };
    let found = of("c1-x7k2p-worker-us-east-2a");
    let begin = format!(
        "{WAITS} comes after Machines of c1-x7k2p-worker-us-east-2a that, as Events say, the cluster-autoscaler gave up, because they had no Node within 15 minutes. Removals of unregistered machines, of this set or others: 2. {WAITS} is up and has not asked for its config in "
    );
    let sentence = found["sentence"].as_str().unwrap();
    assert!(sentence.starts_with(&begin), "{found:#}");
    assert_eq!(
        (&found["stage"], &found["isCertain"]),
        (&json!("BeingRemade"), &json!(false))
    );
    assert_eq!(
        found["next"][0],
        "To keep machines until the cause is gone, raise spec.maxNodeProvisionTime of the ClusterAutoscaler"
    );
    // Another set's are no word of this one, nor those of one whose name begins as its own.
    for other in ["c1-x7k2p-worker-us-east-2b", "c1-x7k2p-worker-us-east-2a-b"] {
        let found = of(other);
        assert_eq!(
            (&found["stage"], &found["isCertain"]),
            (&json!("NoRequest"), &json!(true)),
            "{found:#}"
        );
    }
}

/// machine-api-operator, `machinehealthcheck_controller.go`: `externalRemediationAnnotation`.
#[test]
fn a_health_check_that_switches_its_host_off_is_told_by_its_events() {
    let check = json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineHealthCheck",
        "metadata": { "name": "w", "namespace": "openshift-machine-api", "uid": "w", "resourceVersion": "900000",
            "annotations": { "machine.openshift.io/remediation-strategy": "external-baremetal" } },
        "spec": { "selector": { "matchLabels": { "machine.openshift.io/cluster-api-machine-role": "worker" } }, "nodeStartupTimeout": "10m" } });
    let asks = |at: &str| {
        let message = format!(
            "Requesting external remediation of node associated with machine openshift-machine-api/w/{WAITS}/"
        );
        event("Machine", WAITS, "ExternalAnnotationAdded", &message, at)
    };
    let found = not_asked(&[
        check.clone(),
        asks("2026-08-20T09:00:00Z"),
        asks("2026-08-20T09:30:00Z"),
    ]);
    let sentence = found["sentence"].as_str().unwrap();
    let end = " As Events say, a MachineHealthCheck asked for its remediation 2 times, the last 30 minutes ago: that switches its host off and on, in the middle of a first boot, too.";
    assert!(sentence.ends_with(end), "{found:#}");
    assert_eq!(
        (&found["stage"], &found["isCertain"]),
        (&json!("NoRequest"), &json!(false)),
        "{found:#}"
    );
    assert_eq!(
        found["next"][0],
        "If the log of its controller says so, too, stop the loop until the cause is gone: nodeStartupTimeout of MachineHealthCheck openshift-machine-api/w as 0 keeps machines without a Node"
    );
    // An Event of an earlier machine of this name, or none.
    for events in [
        vec![check.clone()],
        vec![check, asks("2026-08-19T09:00:00Z")],
    ] {
        assert_eq!(not_asked(&events)["isCertain"], true);
    }
}

/// `api/core/v1beta1`, `Machine`, whose own condition says no more than this, and more objects beside it.
fn pool_machine(reason: &str, message: &str, infrastructure: &str, more: &[Value]) -> Value {
    let mut metadata = metadata("clusters-hc1", "hc1-w-0xyz", "2026-08-20T08:00:00Z");
    metadata["annotations"] = json!({ "hypershift.openshift.io/nodePool": "clusters/hc1-w" });
    let machine = json!({ "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": metadata,
        "spec": { "clusterName": "hc1", "infrastructureRef": { "kind": infrastructure, "name": "hc1-w-0xyz" } },
        "status": { "phase": "Provisioning", "conditions": [not("InfrastructureReady", reason, message)] } });
    only(&of_objects(&[&[machine], more].concat())).clone()
}

/// A condition that says no.
fn not(kind: &str, reason: &str, message: &str) -> Value {
    json!({ "type": kind, "status": "False", "severity": "Error", "reason": reason, "message": message, "lastTransitionTime": "2026-08-20T08:00:05Z" })
}

fn infrastructure(api: &str, kind: &str, conditions: Value) -> Value {
    json!({ "apiVersion": api, "kind": kind, "metadata": metadata("clusters-hc1", "hc1-w-0xyz", "2026-08-20T08:00:00Z"),
        "spec": {}, "status": { "ready": false, "conditions": conditions } })
}

const BEGIN: &str = "hc1-w-0xyz has no instance after 2 hours: ";

/// kubernetes-sigs/cluster-api-provider-aws and openshift/cluster-api-provider-agent: conditions of theirs.
#[test]
fn the_infrastructure_object_says_what_its_machine_does_not() {
    let quota = "failed to run instance: VcpuLimitExceeded: more vCPU capacity than your current vCPU limit of 32";
    let aws = infrastructure(
        "infrastructure.cluster.x-k8s.io/v1beta2",
        "AWSMachine",
        json!([
            not("Ready", "InstanceProvisionFailed", "1 of 2 completed"),
            not("SecurityGroupsReady", "WaitingForClusterInfrastructure", ""),
            not("InstanceReady", "InstanceProvisionFailed", quota)
        ]),
    );
    let found = pool_machine(
        "InstanceProvisionFailed",
        "0 of 1 completed",
        "AWSMachine",
        &[aws],
    );
    assert_eq!(
        found["sentence"],
        format!("{BEGIN}InstanceProvisionFailed: {quota}.")
    );
    assert_eq!(
        found["next"][0],
        "Raise the account quota of vCPUs for that instance family, or ask for less"
    );
    let seen = found["evidence"].to_string();
    assert!(
        seen.contains("AWSMachine clusters-hc1/hc1-w-0xyz, condition InstanceReady"),
        "{found:#}"
    );
    let agent = infrastructure(
        "capi-provider.agent-install.openshift.io/v1beta1",
        "AgentMachine",
        json!([not(
            "AgentReserved",
            "NoSuitableAgents",
            "No agents match the requirements: labels map[zone:a]"
        )]),
    );
    let found = pool_machine(
        "NoSuitableAgents",
        "",
        "AgentMachine",
        std::slice::from_ref(&agent),
    );
    assert_eq!(
        found["sentence"],
        format!("{BEGIN}NoSuitableAgents: No agents match the requirements: labels map[zone:a].")
    );
    let first = found["next"][0].as_str().unwrap();
    assert!(
        first.starts_with("Add an Agent that can be taken"),
        "{found:#}"
    );
    // Another Machine's object is no word of this one.
    let mut other = agent;
    other["metadata"]["namespace"] = "clusters-hc2".into();
    let found = pool_machine("WaitingForInfrastructure", "", "AgentMachine", &[other]);
    assert_eq!(
        found["sentence"],
        format!("{BEGIN}WaitingForInfrastructure. That is its state, not the cause of it.")
    );
    assert_eq!(found["isCertain"], false);
    assert_eq!(
        found["next"][0],
        "Read the logs of the Cluster API's controllers: `oc get pods -n clusters-hc1`"
    );
}

/// openshift/hypershift, `setAllMachinesReadyCondition`: a line for each Machine.
#[test]
fn a_node_pool_says_what_its_machine_does_not() {
    let pool = |lines: &str| {
        json!({ "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool", "metadata": metadata("clusters", "hc1-w", "2026-08-20T07:00:00Z"),
            "spec": { "clusterName": "hc1", "replicas": 2, "platform": { "type": "AWS" } },
            "status": { "replicas": 0, "conditions": [not("AllMachinesReady", "InstanceProvisionFailed", lines)] } })
    };
    let denied = "InstanceProvisionFailed: failed to run instance: UnauthorizedOperation: You are not authorized to perform this operation";
    let lines = format!(
        "2 of 2 machines are not ready\nMachine hc1-w-0abc: Deleting: it goes\nMachine hc1-w-0xyz: {denied}\nMachine hc1-w-0zzz: Deleting: it goes\n"
    );
    let of = |lines: &str| {
        let more = [pool(lines)];
        pool_machine(
            "InstanceProvisionFailed",
            "1 of 2 completed",
            "AWSMachine",
            &more,
        )
    };
    let found = of(&lines);
    assert_eq!(found["sentence"], format!("{BEGIN}{denied}."));
    assert_eq!(
        found["next"][0],
        "Give the right (or lift the service control policy that denies it); which one: aws sts decode-authorization-message, of the message in the Machine's own YAML"
    );
    let found = of("1 of 1 machines are not ready\nMachine hc1-w-0xyz: InstanceProvisionFailed\n");
    assert_eq!(
        found["sentence"],
        format!(
            "{BEGIN}InstanceProvisionFailed: 1 of 2 completed. That is its state, not the cause of it."
        )
    );
}

fn server(name: &str, ready: bool) -> Value {
    let state = match ready {
        true => json!({ "running": { "startedAt": "2026-08-18T02:00:00Z" } }),
        false => {
            json!({ "waiting": { "reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container" } })
        }
    };
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata("openshift-machine-config-operator", &format!("machine-config-server-{name}"), "2026-08-18T02:00:00Z"),
        "status": { "containerStatuses": [{ "name": "machine-config-server", "ready": ready, "state": state }] } })
}

#[test]
fn servers_that_are_not_ready_are_told() {
    let path = format!(
        "{DATA}/no-request/namespaces/openshift-machine-api/machine.openshift.io/machines/{WAITS}.yaml"
    );
    let machine: Value = serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let of = |servers: [bool; 2]| {
        let [one, two] = servers;
        let found = of_objects(&[machine.clone(), server("a", one), server("b", two)]);
        only(&found).clone()
    };
    let found = of([false, false]);
    assert_eq!(
        found["sentence"],
        format!(
            "Why {WAITS} is no Node cannot be told from what was read; it gets no config now: none of 2 pods of the machine-config-server is ready (CrashLoopBackOff)."
        )
    );
    assert_eq!(
        found["next"][0],
        "Read why its pods fail: `oc logs -n openshift-machine-config-operator -l k8s-app=machine-config-server --previous`"
    );
    let found = of([true, false]);
    assert!(
        found["evidence"]
            .to_string()
            .contains("not ready: CrashLoopBackOff"),
        "{found:#}"
    );
    let found_ready = of([true, true]);
    assert_ne!(found["evidence"], found_ready["evidence"]);
    assert_eq!(found["sentence"], found_ready["sentence"]);
    // They explain why it does not ask, and prove nothing.
    let found = not_asked(&["4k7tq", "b9x2m", "zq8rd"].map(|name| server(name, false)));
    assert_eq!(found["isCertain"], false, "{found:#}");
    let end = ": none of 3 pods of the machine-config-server is ready (CrashLoopBackOff).";
    assert!(
        found["sentence"].as_str().unwrap().ends_with(end),
        "{found:#}"
    );
}
