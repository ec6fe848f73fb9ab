//! `render admission` on a real API server, since the test server has no such admission. Machines are only asked for (`dryRun`),
//! so that no controller makes one.

use crate::cluster::real::{Real, collection};
use crate::cluster::target::VARIABLE;
use crate::support::machines::{Asked, clusters, machines};
use serde_json::{Value, json};
use skewguard_admin::cli::Io;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::{Duration, Instant};

/// How long an API server may take to see kinds and policies that are new.
const DELAY: Duration = Duration::from_secs(60);

/// What `audit -o json` and `render admission` print for these objects: the audit, and the two
/// documents.
fn through_the_door(objects: &Value) -> (Value, Vec<Value>) {
    let dir = tempfile::tempdir().unwrap();
    let policy = json!({
        "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce",
        "limits": [{ "minimumOCPVersion": "4.19.0" }]
    });
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.into_os_string()
    };
    let policy = file("policy.json", &policy.to_string());
    let objects = file("objects.json", &objects.to_string());
    let words = |words: &[&str]| words.iter().map(Into::into).collect::<Vec<OsString>>();
    let audit = run([
        words(&["audit", "-o", "json", "--policy"]),
        vec![policy.clone(), "--from".into(), objects],
    ]
    .concat());
    let audit_file = file("audit.json", &audit);
    let documents = run([
        words(&["render", "admission", "--policy"]),
        vec![policy, "--audit".into(), audit_file],
    ]
    .concat());
    (
        serde_json::from_str(&audit).unwrap(),
        serde_saphyr::from_multiple(&documents).unwrap(),
    )
}

fn run(args: Vec<OsString>) -> String {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = std::iter::once("oc skewguard".into()).chain(args);
    skewguard_admin::cli::run(
        args,
        &mut Io {
            out: &mut out,
            err: &mut err,
        },
    );
    assert!(!out.is_empty(), "{}", String::from_utf8_lossy(&err));
    String::from_utf8(out).unwrap()
}

/// Under names of its own: a cluster's own policy stays as it is.
fn renamed(mut documents: Vec<Value>, cluster: &str) -> Vec<Value> {
    let name = json!(format!("skewguard-test-{cluster}"));
    for object in &mut documents {
        object["metadata"]["name"] = name.clone();
    }
    documents[1]["spec"]["policyName"] = name;
    documents
}

/// The kind of a machine as its provider has it, for a cluster that lacks it.
fn definition(machine: &Value) -> Value {
    let (group, version) = machine["apiVersion"]
        .as_str()
        .unwrap()
        .split_once('/')
        .unwrap();
    let kind = machine["kind"].as_str().unwrap();
    let plural = format!("{}s", kind.to_lowercase());
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": { "kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase() },
            "versions": [{ "name": version, "served": true, "storage": true, "schema": { "openAPIV3Schema":
                { "type": "object", "x-kubernetes-preserve-unknown-fields": true } } }]
        }
    })
}

/// What the API server says to a machine: the status and the message.
fn answer(real: &Real, machine: &Value) -> (u16, String) {
    let mut machine = machine.clone();
    machine["metadata"]["namespace"] = json!("skewguard");
    let path = format!("{}?dryRun=All", collection(&machine));
    let (status, answer) = real.send("POST", &path, &machine);
    (
        status,
        answer["message"].as_str().unwrap_or_default().to_owned(),
    )
}

/// Asks until the policy is seen: it denies a machine with a status of its own.
fn denial(real: &Real, asked: &Asked) -> String {
    let began = Instant::now();
    loop {
        let (status, said) = answer(real, &asked.machine);
        if status == 422 && said.contains("is refused by the skew policy") {
            return said;
        }
        assert!(began.elapsed() < DELAY, "{}: {status}: {said}", asked.about);
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// What the policy says of all images.
fn lists(documents: &[Value]) -> String {
    let variables = documents[0]["spec"]["variables"].as_array().unwrap();
    let lists = variables
        .iter()
        .filter(|variable| variable["name"].as_str().unwrap().starts_with("list"));
    lists
        .map(|list| list["expression"].as_str().unwrap())
        .collect()
}

#[test]
#[ignore = "needs a real API server of Kubernetes 1.30 or later: SKEWGUARD_TEST_KUBECONFIG"]
fn a_real_api_server_denies_machines_of_refused_images_alone() {
    let real = Real::new(&std::env::var(VARIABLE).unwrap());
    assert!(real.has_admission_policies());
    let (mut decided, mut all_lists) = (Vec::new(), String::new());
    for (name, objects) in clusters() {
        let (audit, documents) = through_the_door(&objects);
        let of_cluster = machines(&objects, &audit);
        all_lists += &lists(&documents);
        let definitions = of_cluster.iter().map(|asked| definition(&asked.machine));
        for object in definitions.chain(renamed(documents, name)) {
            real.make(&collection(&object), &object);
        }
        decided.extend(of_cluster);
    }
    let mut platforms = BTreeSet::new();
    for asked in decided.iter().filter(|asked| asked.is_denied) {
        let said = denial(&real, asked);
        let (_, message) = said.split_once(" denied request: ").unwrap();
        assert!(all_lists.contains(&json!(message).to_string()), "{said}");
        platforms.insert(&asked.platform);
    }
    assert_eq!(platforms.len(), 9, "{platforms:?}");
    for asked in &decided {
        let mut exempt = asked.machine.clone();
        exempt["metadata"]["annotations"] = json!({ "skewguard.dev/allow-boot-image": "" });
        taken(&real, &asked.about, &exempt);
        taken(&real, &asked.about, &asked.with_another_image);
        if !asked.is_denied {
            taken(&real, &asked.about, &asked.machine);
        }
    }
}

/// A real cluster may have other objections.
fn taken(real: &Real, about: &str, machine: &Value) {
    let (status, said) = answer(real, machine);
    assert!(
        status != 404 && !said.contains("skew policy"),
        "{about}: {status}: {said}"
    );
}
