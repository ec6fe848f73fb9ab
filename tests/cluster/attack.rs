//! What any machine on the network can try with the bootstrap identity: each try is refused, or
//! made harmless.

use crate::cluster::node::{Node, Over};
use crate::cluster::target::Cluster;
use crate::cluster::way::{both, loaded, send};
use crate::support::apiserver::{ApiServer, BOOTSTRAP_TOKEN, Options};
use serde_json::{Value, json};
use skewguard::node::identity::Identity;
use skewguard::report::event::{Event, EventSubject, Regarding};
use skewguard::report::objects::{BootImageReport, ReportInput};
use skewguard::transport::Request;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const INSTALLATION: &str = "00112233445566778899aabbccddeeff";
pub(crate) const REPORTS: &str =
    "/apis/skewguard.dev/v1alpha1/namespaces/skewguard/bootimagereports";
pub(crate) const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/skewguard/events";

/// The same text at every call.
fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_772_323_200)
}

/// An ordinary report of this host.
fn report(host: &str) -> Value {
    let verdict = crate::cluster::node::verdict("rhcos-4.12-refused");
    let identity = Identity {
        hostname: Some(host.to_owned()),
        ..Identity::default()
    };
    let observed = now();
    let input = ReportInput {
        progress: None,
        verdict: &verdict,
        identity: &identity,
        remediation: "",
        installation: INSTALLATION,
        observed,
    };
    serde_json::to_value(BootImageReport::new(&input)).unwrap()
}

/// An ordinary Event of this host.
fn event(host: &str) -> Value {
    let identity = Identity {
        hostname: Some(host.to_owned()),
        ..Identity::default()
    };
    let name = report(host)["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    let about = EventSubject::NoVerdict { held: false };
    serde_json::to_value(Event::new(
        about,
        &name,
        Regarding::namespace(),
        &identity,
        now(),
    ))
    .unwrap()
}

fn set(mut object: Value, pointer: &str, value: Value) -> Value {
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[field] = value;
    object
}

/// Sends it as the bootstrap identity of that cluster: status and answer.
pub(crate) fn create(cluster: &Cluster, path: &str, object: &Value) -> (u16, Value) {
    let node = Node::new("worker-7", Over::Curl);
    cluster.prepare(&node);
    let kubeconfig =
        loaded(&std::fs::read_to_string(node.path("etc/kubernetes/kubeconfig")).unwrap());
    let request = Request {
        method: "POST",
        path: path.to_owned(),
        body: object.to_string().into_bytes(),
    };
    let response = send(both()[0], &kubeconfig, &request).unwrap();
    (
        response.status,
        serde_json::from_slice(&response.body).unwrap(),
    )
}

/// Objects as deep and wide as a request may have them.
fn tree() -> Value {
    let leaves: Value = (0..2_000)
        .map(|n| (format!("f:{n}"), json!({})))
        .collect::<serde_json::Map<_, _>>()
        .into();
    json!({ "f:report": leaves })
}

/// Every string and list of a report, one after the other too long, too many, and not printable.
fn beyond_bounds(at: &str, value: &Value, tries: &mut Vec<(String, Value)>) {
    match value {
        Value::String(_) => {
            let bad = [
                "x".repeat(1025),
                "\u{9b}31m".to_owned(),
                "\u{7}".to_owned(),
                "\u{202e}".to_owned(),
                "a\nb".to_owned(),
            ];
            tries.extend(bad.map(|text| (at.to_owned(), json!(text))));
        }
        Value::Array(items) => {
            tries.push((
                at.to_owned(),
                json!(vec![items.first().cloned().unwrap_or(json!("x")); 33]),
            ));
            items
                .iter()
                .enumerate()
                .for_each(|(n, item)| beyond_bounds(&format!("{at}/{n}"), item, tries));
        }
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, value)| beyond_bounds(&format!("{at}/{name}"), value, tries)),
        _ => {}
    }
}

pub(crate) fn the_schema_holds_every_string_and_list(cluster: &Cluster, host: &str) {
    let whole = set(
        report(host),
        "/report/more",
        json!([{ "name": "gpu", "value": "none" }]),
    );
    let (status, answer) = create(cluster, REPORTS, &whole);
    assert_eq!(
        (status, &answer["report"]),
        (201, &whole["report"]),
        "what is within the bounds is kept: {answer}"
    );
    let mut tries = Vec::new();
    beyond_bounds("/report", &whole["report"], &mut tries);
    assert!(tries.len() > 100, "{}", tries.len());
    for (pointer, value) in tries {
        let mut object = whole.clone();
        *object.pointer_mut(&pointer).unwrap() = value;
        let (status, answer) = create(cluster, REPORTS, &object);
        assert_eq!(status, 422, "{pointer}: {answer}");
    }
}

pub(crate) fn what_the_schema_does_not_know_is_dropped(cluster: &Cluster, host: &str) {
    let flood: Value = (0..5_000)
        .map(|n| (format!("k{n}\u{9b}"), json!("x")))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let object = set(
        set(report(host), "/report/verdict/flood", flood.clone()),
        "/report/flood",
        flood,
    );
    let (status, answer) = create(cluster, REPORTS, &object);
    assert_eq!(status, 201, "a newer agent's report is taken: {answer}");
    assert_eq!(
        answer["report"],
        report(host)["report"],
        "without what is new"
    );
}

/// Only where the cluster has admission policies (Kubernetes 1.30).
pub(crate) fn the_policies_hold_what_a_schema_cannot(cluster: &Cluster, host: &str) {
    // An entry for a version that is not the object's own an API server drops before admission
    // (seen on 1.36).
    let managed = |version: &str| json!([{ "apiVersion": version, "fieldsType": "FieldsV1", "fieldsV1": tree(), "manager": "x", "operation": "Update" }]);
    let many = json!(vec!["x".repeat(1024); 16]);
    let long = json!(vec![
        json!({ "rule": "x", "result": "Pass", "message": "x".repeat(1024), "want": "x".repeat(512) });
        16
    ]);
    for object in [
        set(
            report(host),
            "/metadata/managedFields",
            managed("skewguard.dev/v1alpha1"),
        ),
        set(
            report(host),
            "/metadata/finalizers",
            json!(["example.com/stay"]),
        ),
        set(
            report(host),
            "/metadata/annotations",
            json!({ "a": "x".repeat(200_000) }),
        ),
        set(report(host), "/metadata/labels", json!({ "a": "b" })),
        set(report(host), "/metadata/name", json!("kube-root-ca")),
        set(
            set(report(host), "/report/verdict/warnings", many),
            "/report/verdict/findings",
            long,
        ),
    ] {
        let (status, answer) = create(cluster, REPORTS, &object);
        assert_eq!(status, 422, "{answer}");
        assert!(
            answer["message"]
                .as_str()
                .unwrap()
                .contains("ValidatingAdmissionPolicy"),
            "{answer}"
        );
    }
    for object in [
        set(
            event(host),
            "/metadata/managedFields",
            managed("events.k8s.io/v1"),
        ),
        set(
            event(host),
            "/regarding/apiVersion",
            json!("x".repeat(100_000)),
        ),
        set(event(host), "/regarding/name", json!("kube-system")),
        set(event(host), "/note", json!("\u{9b}2J")),
        set(event(host), "/reason", json!("\u{8}\u{8}")),
        set(event(host), "/reportingInstance", json!("\u{202e}")),
    ] {
        let (status, answer) = create(cluster, EVENTS, &object);
        assert_eq!(status, 422, "{answer}");
    }
    let (status, answer) = create(cluster, EVENTS, &event(host));
    assert_eq!(status, 201, "an ordinary one: {answer}");
}

/// Beyond the quota a report is refused, and the node says so; the Event still arrives.
#[test]
fn a_full_quota_is_named_by_the_node() {
    let dir = tempfile::tempdir().unwrap();
    for file in ["crd.yaml", "role.yaml", "quota.yaml"] {
        let manifest = std::fs::read_to_string(Options::default().manifests.join(file)).unwrap();
        std::fs::write(dir.path().join(file), manifest.replace(": 10k\n", ": 2\n")).unwrap();
    }
    let server = ApiServer::start(Options {
        manifests: dir.path().to_owned(),
        ..Options::default()
    });
    let kubeconfig = loaded(&server.kubeconfig(&format!("token: {BOOTSTRAP_TOKEN}")));
    for host in ["a", "b"] {
        let body = report(host).to_string().into_bytes();
        let request = Request {
            method: "POST",
            path: REPORTS.to_owned(),
            body,
        };
        assert_eq!(send(both()[0], &kubeconfig, &request).unwrap().status, 201);
    }
    for over in crate::cluster::node::transports() {
        let node = Node::refused("worker-7", over);
        crate::cluster::target::bootstrap(&server, &node);
        let (said, status) = node.report();
        let quota = "403: the cluster forbids it (bootimagereports.skewguard.dev \"worker-7-";
        let full =
            "exceeded quota: skewguard-reports, requested: count/bootimagereports.skewguard.dev=1";
        assert!(
            status == 1 && said.contains(quota) && said.contains(full),
            "{over:?}: {said}"
        );
        assert!(
            said.contains("skewguard: event delivered: "),
            "{over:?}: {said}"
        );
    }
    assert_eq!(server.objects("bootimagereports").len(), 2);
}
