//! `render admission` on a real API server, since the test server has no such admission. Machines are only asked for (`dryRun`),
//! so that no controller makes one.

use crate::cluster::real::{Real, collection};
use crate::cluster::target::VARIABLE;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use skewguard_admin::cli::Io;
use std::time::{Duration, Instant};

const IMAGE: &str = "ami-skewguard-test";

/// What `render admission` prints for one set that is refused.
fn rendered(mode: &str) -> Vec<Value> {
    let dir = tempfile::tempdir().unwrap();
    let policy = json!({
        "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": mode,
        "limits": [{ "minimumOCPVersion": "4.13.0" }]
    })
    .to_string();
    let digest = Sha256::digest(&policy)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<String>();
    let audit = json!({
        "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageAudit",
        "policy": { "digest": format!("sha256:{digest}"), "mode": "Enforce" },
        "sets": [{ "kind": "MachineSet", "name": "worker-a", "verdict": "Refused", "platform": "aws", "imageField": "spec.template.spec.providerSpec.value.ami.id",
            "image": IMAGE, "bootImage": { "version": "412.86.202303211731-0" }, "message": "boot image is OCP 4.12; the minimum is 4.13.0",
            "remedy": "set ami.id to ami-0new" }]
    });
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.into_os_string()
    };
    let args = ["oc skewguard", "render", "admission", "--policy"].map(Into::into);
    let args = args.into_iter().chain([
        file("policy.json", &policy),
        "--audit".into(),
        file("audit.json", &audit.to_string()),
    ]);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    skewguard_admin::cli::run(
        args,
        &mut Io {
            out: &mut out,
            err: &mut err,
        },
    );
    assert_eq!(String::from_utf8(err).unwrap(), "");
    serde_saphyr::from_multiple(&String::from_utf8(out).unwrap()).unwrap()
}

/// Under names of its own: a cluster's own policy stays as it is.
fn objects(mode: &str) -> Vec<Value> {
    let mut objects = rendered(mode);
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
