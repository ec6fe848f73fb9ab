//! `render admission` on a real API server, since the test server has no such admission. Machines are only asked for (`dryRun`),
//! so that no controller makes one.

use crate::cluster::real::{Real, collection};
use crate::cluster::target::VARIABLE;
use crate::render::admission::{rendered, set};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const IMAGE: &str = "ami-skewguard-test";

/// Under names of its own: a cluster's own policy stays as it is.
fn objects(mode: &str) -> Vec<Value> {
    let (mut objects, err) = rendered(mode, &[set("Refused", "ami.id", IMAGE)]);
    assert_eq!(err, "");
    for object in &mut objects {
        object["metadata"]["name"] = json!("skewguard-test-machines");
    }
    objects[2]["spec"]["policyName"] = json!("skewguard-test-machines");
    objects[2]["spec"]["paramRef"]["name"] = json!("skewguard-test-machines");
    objects
}

/// Machines as OpenShift has them, for a cluster that is none.
fn definition() -> Value {
    let any = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "machines.machine.openshift.io", "annotations": { "api-approved.kubernetes.io": "https://github.com/openshift/api" } },
        "spec": {
            "group": "machine.openshift.io", "scope": "Namespaced",
            "names": { "kind": "Machine", "listKind": "MachineList", "plural": "machines", "singular": "machine" },
            "versions": [{ "name": "v1beta1", "served": true, "storage": true, "schema": { "openAPIV3Schema":
                { "type": "object", "properties": { "spec": { "type": "object", "properties": { "providerSpec":
                    { "type": "object", "properties": { "value": any } } } } } } } }]
        }
    })
}

/// What the API server says to a Machine.
fn asked(real: &Real, image: &str, annotations: &Value) -> String {
    let machine = json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": { "name": "skewguard-test", "namespace": "skewguard", "annotations": annotations },
        "spec": { "providerSpec": { "value": { "ami": { "id": image } } } }
    });
    let (status, answer) = real.send(
        "POST",
        &format!("{}?dryRun=All", collection(&machine)),
        &machine,
    );
    format!(
        "{status}: {}",
        answer["message"].as_str().unwrap_or_default()
    )
}

#[test]
#[ignore = "needs a real API server of Kubernetes 1.30 or later: SKEWGUARD_TEST_KUBECONFIG"]
fn a_real_api_server_denies_machines_of_refused_images_alone() {
    let real = Real::new(&std::env::var(VARIABLE).unwrap());
    assert!(real.has_admission_policies());
    for object in std::iter::once(definition()).chain(objects("Enforce")) {
        real.make(&collection(&object), &object);
    }
    let none = json!({});
    let ours = "boot image ami-skewguard-test (412.86.202303211731-0) is refused by the skew policy: boot image is OCP 4.12; the minimum is \
                4.13.0. set ami.id to ami-0new; annotation skewguard.dev/allow-boot-image lets one Machine through";
    // An API server takes a while to see policies and kinds that are new.
    let began = Instant::now();
    while !asked(&real, IMAGE, &none).contains(ours) {
        let last = asked(&real, IMAGE, &none);
        assert!(began.elapsed() < Duration::from_secs(60), "{last}");
        std::thread::sleep(Duration::from_secs(1));
    }
    for (image, annotations) in [
        (IMAGE, json!({ "skewguard.dev/allow-boot-image": "" })),
        ("ami-0new", none),
    ] {
        // A real cluster may have other objections.
        let said = asked(&real, image, &annotations);
        assert!(
            !said.contains("skew policy") && !said.starts_with("404"),
            "{said}"
        );
    }
}
