//! Causes that stand in another object than the Machine: a NodePool that is paused, a host that fails before
//! anybody takes it, Events of who ends machines, the infrastructure object, the server's pods.

use super::{json, only};
use serde_json::{Value, json};

fn metadata(namespace: &str, name: &str, created: &str) -> Value {
    json!({ "name": name, "namespace": namespace, "creationTimestamp": created, "resourceVersion": "900000", "uid": format!("uid-of-{name}") })
}

/// A gather of these objects alone, of 10:00.
fn of_objects(objects: &[Value]) -> Value {
    let now = json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineHealthCheck", "spec": { "selector": { "matchLabels": { "a": "b" } } },
        "metadata": metadata("openshift-machine-api", "now", "2026-08-20T10:00:00Z") });
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
        "NodePool clusters/hc1-workers wants 2 machines and has none: ReconciliationActive is False: ReconciliationPaused: Reconciliation paused until field removed."
    );
    assert_eq!(
        pool["next"][1],
        r#"Find out who paused it, then take the field away: `oc patch nodepools.hypershift.openshift.io -n clusters hc1-workers --type json -p '[{"op":"remove","path":"/spec/pausedUntil"}]'`"#
    );
    // No Machine was read.
    assert_eq!(pool["isCertain"], false, "{pool:#}");
    // One that has nodes may have all of them.
    assert_eq!(of_objects(&[paused_pool(2)])["machines"], json!([]));
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
