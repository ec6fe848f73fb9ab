//! What the admission policies of dist/manifests say to each identity that can write here: a leaked
//! bootstrap token, a joined node, an admin.

use crate::inside::report::sample;
use crate::report::event::{Event, EventSubject, Regarding};
use crate::report::objects::{BootImageReport, ReportInput};
use crate::support::apiserver::admission::{Admission, Request};
use crate::support::apiserver::{ADMIN_USER, BOOTSTRAP_USER};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::LazyLock;
use std::time::UNIX_EPOCH;

static ADMISSION: LazyLock<Admission> = LazyLock::new(|| {
    Admission::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/manifests/admission"))
});

const NODE: &str = "system:node:worker-0";
const NONE: [&str; 0] = [];

/// What all policies together say to a request.
fn denied(user: &str, namespace: &str, object: &Value, old: Option<&Value>) -> Vec<String> {
    let (group, resource) = match object["apiVersion"].as_str() {
        Some("v1") => ("", "events"),
        Some("events.k8s.io/v1") => ("events.k8s.io", "events"),
        _ => ("skewguard.dev", "bootimagereports"),
    };
    let operation = if old.is_some() { "UPDATE" } else { "CREATE" };
    let request = Request {
        operation,
        user,
        namespace,
        object,
        old,
    };
    ADMISSION.denials(group, resource, request)
}

fn report() -> Value {
    let verdict = sample::refused();
    serde_json::to_value(BootImageReport::new(&ReportInput {
        progress: None,
        verdict: &verdict,
        identity: &sample::identity(),
        remediation: "Set a newer AMI.",
        installation: "00112233445566778899aabbccddeeff",
        observed: UNIX_EPOCH,
    }))
    .unwrap()
}

/// An Event of the agent on this node, in both APIs.
fn events(node: &str) -> [Value; 2] {
    let mut identity = sample::identity();
    identity.hostname = Some(node.to_owned());
    let verdict = sample::refused();
    let event = Event::new(
        EventSubject::Verdict(&verdict),
        "worker-0-0123456789abcdef",
        Regarding::namespace(),
        &identity,
        UNIX_EPOCH,
    );
    let event = serde_json::to_value(event).unwrap();
    let mut core = event.clone();
    core["apiVersion"] = "v1".into();
    let fields = core.as_object_mut().unwrap();
    for (new, old) in [
        ("regarding", "involvedObject"),
        ("note", "message"),
        ("reportingController", "reportingComponent"),
    ] {
        let value = fields.remove(new).unwrap();
        fields.insert(old.to_owned(), value);
    }
    [event, core]
}

/// What a kubelet says of a pod: in the namespace of the jobs, too.
fn of_kubelet(namespace: &str) -> [Value; 2] {
    let about = json!({ "apiVersion": "v1", "kind": "Pod", "name": "skewguard-audit-1", "namespace": namespace, "uid": "u" });
    let metadata = json!({ "name": "skewguard-audit-1.17a", "namespace": namespace });
    [
        json!({ "apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": about, "reason": "Pulled", "message": "x",
            "source": { "component": "kubelet", "host": "worker-0" }, "reportingComponent": "kubelet", "reportingInstance": "worker-0", "count": 2 }),
        json!({ "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": metadata, "regarding": about, "reason": "Pulled", "note": "x",
            "reportingController": "kubelet", "reportingInstance": "worker-0", "series": { "count": 2 } }),
    ]
}

#[test]
fn an_admin_writes_what_he_wants() {
    let [event, core] = events("worker-0");
    for object in [report(), event, core] {
        for namespace in ["skewguard", "default"] {
            assert_eq!(denied(ADMIN_USER, namespace, &object, None), NONE);
            assert_eq!(denied(ADMIN_USER, namespace, &object, Some(&object)), NONE);
        }
    }
}

#[test]
fn a_leaked_bootstrap_token_makes_what_nodes_make_and_there_alone() {
    let report = report();
    assert_eq!(denied(BOOTSTRAP_USER, "skewguard", &report, None), NONE);
    assert_eq!(
        denied(BOOTSTRAP_USER, "skewguard", &report, Some(&report)),
        ["a node's report is made once and never changed"]
    );
    for event in events("any-host") {
        assert_eq!(denied(BOOTSTRAP_USER, "skewguard", &event, None), NONE);
        assert_eq!(
            denied(BOOTSTRAP_USER, "skewguard", &event, Some(&event)),
            ["a node's Event is made once and never changed"]
        );
        assert_eq!(
            denied(BOOTSTRAP_USER, "default", &event, None),
            ["an Event of skewguard.dev/agent is in the namespace skewguard"]
        );
    }
    for event in of_kubelet("skewguard") {
        let said = denied(BOOTSTRAP_USER, "skewguard", &event, None);
        assert!(said.len() > 2, "{said:?}");
    }
}

#[test]
fn a_joined_node_speaks_for_itself_alone() {
    for event in events("worker-0") {
        assert_eq!(denied(NODE, "skewguard", &event, None), NONE);
        assert_eq!(
            denied(NODE, "skewguard", &event, Some(&event)),
            ["a node's Event is made once and never changed"]
        );
        let mut long = event.clone();
        let note = if event["apiVersion"] == "v1" {
            "message"
        } else {
            "note"
        };
        long[note] = "x".repeat(1025).into();
        assert_eq!(denied(NODE, "skewguard", &long, None).len(), 1);
    }
    for event in events("worker-1") {
        assert_eq!(
            denied(NODE, "skewguard", &event, None),
            ["a joined node's Event has its own name as reportingInstance"]
        );
    }
    for namespace in ["default", "openshift-machine-api"] {
        for event in events("worker-0") {
            assert_eq!(
                denied(NODE, namespace, &event, None),
                ["an Event of skewguard.dev/agent is in the namespace skewguard"]
            );
        }
    }
}

/// Neither takes an Event of the agent over, nor makes one of its own the agent's.
#[test]
fn a_joined_node_changes_no_event_of_the_agent() {
    let never = "a node's Event is made once and never changed".to_owned();
    for (of_agent, of_kubelet) in events("worker-0")
        .into_iter()
        .rev()
        .zip(of_kubelet("skewguard"))
    {
        assert_eq!(of_agent["apiVersion"], of_kubelet["apiVersion"]);
        let said = denied(NODE, "skewguard", &of_kubelet, Some(&of_agent));
        assert!(said.contains(&never), "{said:?}");
        let said = denied(NODE, "skewguard", &of_agent, Some(&of_kubelet));
        assert_eq!(said, [never.as_str()]);
    }
}

#[test]
fn a_kubelets_own_events_pass_everywhere() {
    for namespace in ["skewguard", "default", "openshift-machine-api"] {
        for event in of_kubelet(namespace) {
            assert_eq!(denied(NODE, namespace, &event, None), NONE, "{event}");
            assert_eq!(denied(NODE, namespace, &event, Some(&event)), NONE);
        }
        // Fields that no kubelet leaves out are no reason to lose an Event.
        for version in ["v1", "events.k8s.io/v1"] {
            let bare =
                json!({ "apiVersion": version, "kind": "Event", "metadata": { "name": "a" } });
            assert_eq!(denied(NODE, namespace, &bare, None), NONE);
        }
    }
}
