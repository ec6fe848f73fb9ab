//! What is known is used: a set without an image has no publisher.

use super::real::{audited, machine_set};
use serde_json::json;

#[test]
fn a_set_of_azure_without_an_image_has_no_publisher() {
    let set = machine_set(
        "w",
        &json!({ "kind": "AzureMachineProviderSpec", "location": "eastus" }),
    );
    let configuration = json!({ "apiVersion": "operator.openshift.io/v1", "kind": "MachineConfiguration", "metadata": { "name": "cluster" },
        "status": { "managedBootImagesStatus": { "machineManagers": [
            { "resource": "machinesets", "apiGroup": "machine.openshift.io", "selection": { "mode": "All" } }] } } });
    let version = json!({ "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": { "name": "version" },
        "status": { "desired": { "version": "4.22.3" }, "history": [{ "state": "Completed", "version": "4.22.3" }] } });
    let (found, _) = audited([set, configuration, version], &[]);
    let reason = &found["sets"][0]["upkeep"]["reason"];
    assert_eq!(reason, "it names no image, and so no publisher and offer");
}
