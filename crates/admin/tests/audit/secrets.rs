//! Secrets in what others wrote: of no form of `audit` and `why` do they come out.

use super::{audit, audit_text, run};
use serde_json::{Value, json};

/// It stands in each secret, and nowhere else.
const MARK: &str = "S3cr3t";

fn set(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "MachineSet",
        "metadata": { "name": name, "namespace": "openshift-machine-api" },
        "spec": { "replicas": 1, "template": { "spec": { "providerSpec": { "value": spec } } } },
    })
}

/// Images of a mirror that asks for a password, of a storage account by its signature, of a host.
fn objects() -> String {
    let url = format!("https://u:{MARK}@mirror.example.com/rhcos-412.86.202301311551-0");
    let metal = set(
        "metal",
        &json!({
            "kind": "BareMetalMachineProviderSpec",
            "image": {
                "url": format!("{url}-openstack.x86_64.qcow2.gz?sig={MARK}"),
                "checksum": format!("{url}.sha256sum"),
            },
        }),
    );
    let blob = "https://acct.blob.core.windows.net/vhd/rhcos-412.86.202301311551-0.vhd";
    let image = json!({ "resourceID": format!("{blob}?sv=2020&sig={MARK}") });
    let azure = set(
        "azure",
        &json!({ "kind": "AzureMachineProviderSpec", "image": image }),
    );
    let vsphere = set(
        "vsphere",
        &json!({ "kind": "VSphereMachineProviderSpec", "template": url }),
    );
    let host = json!({
        "apiVersion": "metal3.io/v1alpha1",
        "kind": "BareMetalHost",
        "metadata": { "name": "w-1", "namespace": "openshift-machine-api" },
        "spec": { "online": true, "userData": { "name": "worker-user-data" },
            "image": { "url": format!("{url}-metal.x86_64.raw.gz?token={MARK}"), "checksum": "x" } },
    });
    json!({ "apiVersion": "v1", "kind": "List", "items": [metal, azure, vsphere, host] })
        .to_string()
}

#[test]
fn images_have_no_user_password_or_query_in_any_form() {
    let objects = objects();
    for form in [
        "text", "wide", "json", "yaml", "csv", "html", "markdown", "junit", "sarif",
    ] {
        let (out, err, _) = audit_text(&objects, &["-o", form]);
        assert!(out.contains("412.86.202301311551-0"), "{form}: {err}{out}");
        assert!(!out.contains(MARK) && !err.contains(MARK), "{form}: {out}");
    }
    let (out, err, _) = audit_text(&objects, &["--print-commands", "fix"]);
    assert!(!out.contains(MARK) && !err.contains(MARK), "{out}");
    let (out, ..) = audit_text(&objects, &["-o", "json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    let rows = found["sets"].as_array().unwrap();
    let of = |field| {
        rows.iter()
            .map(|row| row[field].as_str().unwrap())
            .collect::<Vec<_>>()
    };
    let (mut names, mut images) = (of("name"), of("image"));
    names.sort_unstable();
    images.sort_unstable();
    assert_eq!(
        names,
        [
            "azure",
            "metal",
            "vsphere",
            "worker: rhcos-412.86.202301311551-0-metal.x86_64.raw.gz",
        ]
    );
    let mirror = "https://mirror.example.com/rhcos-412.86.202301311551-0";
    assert_eq!(
        images,
        [
            "https://acct.blob.core.windows.net/vhd/rhcos-412.86.202301311551-0.vhd".to_owned(),
            mirror.to_owned(),
            format!("{mirror}-metal.x86_64.raw.gz"),
            format!("{mirror}-openstack.x86_64.qcow2.gz"),
        ]
    );
}

/// What the machine's condition and the Event of `no-instance` say, said with a secret.
#[test]
fn words_of_others_have_no_secret_and_keep_their_cause() {
    let case = "tests/data/why/no-instance/namespaces/openshift-machine-api";
    let machine = "machine.openshift.io/machines/c1-x7k2p-worker-us-east-2a-7qz4k.yaml";
    for (said, told) in [
        (
            "https://p:S3cr3t@proxy.example.com:3128: EOF",
            "https://proxy.example.com:3128/: EOF",
        ),
        (
            "Authorization: Bearer eyJhbGciOiJSUzI1NiJ9.S3cr3t.c2ln: 401",
            "Authorization: Bearer (hidden): 401",
        ),
        (
            "Authorization: Basic YWS3cr3tc=, EOF",
            "Authorization: Basic (hidden), EOF",
        ),
        ("password=S3cr3t, EOF", "password=(hidden), EOF"),
        ("client_secret=A~S3cr3t~x EOF", "client_secret=(hidden) EOF"),
        ("token: sha256~S3cr3tTOKEN EOF", "token: (hidden) EOF"),
        (
            "--username root --password S3cr3t EOF",
            "--password (hidden) EOF",
        ),
        ("passwd \"S3cr3t x\" EOF", "passwd \"(hidden)\" EOF"),
        (
            "ipmitool -U admin -P S3cr3t power status",
            "-P (hidden) power status",
        ),
        (
            "{\"auths\":{\"quay.io\":{\"auth\":\"S3cr3t\"}}} EOF",
            "{\"auths\":{\"quay.io\":{\"auth\":\"(hidden)\"}}} EOF",
        ),
        (
            "Secret \"aws-cloud-credentials\" not found",
            "Secret \"aws-cloud-credentials\" not found",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        for (n, file) in ["core/events.yaml", machine].iter().enumerate() {
            let text = std::fs::read_to_string(format!("{case}/{file}")).unwrap();
            let cause = "error launching instance: We currently do not have sufficient";
            assert!(text.contains(cause), "{file}");
            let said = format!("error launching instance: {}", said.replace('\'', "''"));
            std::fs::write(
                dir.path().join(format!("{n}.yaml")),
                text.replace(cause, &said),
            )
            .unwrap();
        }
        let from = dir.path().to_str().unwrap();
        for form in ["text", "json", "markdown"] {
            let (out, err, _) = run(&["why", "--from", from, "-o", form]);
            assert!(!out.contains(MARK) && !err.contains(MARK), "{form}: {out}");
            let (out, err, _) = audit(&[
                "--from",
                from,
                "-o",
                if form == "text" { "wide" } else { form },
            ]);
            assert!(!out.contains(MARK) && !err.contains(MARK), "{form}: {out}");
        }
        let (out, ..) = run(&["why", "--from", from, "-o", "json"]);
        let found: Value = serde_json::from_str(&out).unwrap();
        let evidence = found["machines"][0].to_string();
        let told = Value::from(told).to_string();
        let told = told.trim_matches('"');
        assert!(evidence.contains(told), "{told}: {found:#}");
    }
}
