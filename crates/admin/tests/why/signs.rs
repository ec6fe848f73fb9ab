//! Signs of a machine that does not ask: handshakes that fail, the instance's state, a Node that only its
//! address makes its own, sets without Machines.

use super::{DATA, Gather, WAITS, only, why};
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;

/// A gather of a machine that asks for nothing, and its handshakes' error.
fn handshake(error: &str) -> Value {
    let gather = Gather::of("no-request");
    gather.change(|_, text| text.replace("remote error: tls: bad certificate", error));
    gather.json()
}

fn sentence(report: &Value) -> &str {
    only(report)["sentence"].as_str().unwrap()
}

fn next(report: &Value) -> String {
    only(report)["next"].to_string()
}

/// Go's `crypto/tls` and `net/http`: what a server logs of a client that comes to no request.
#[test]
fn a_handshake_that_fails_is_told_with_its_error() {
    for (error, told, help) in [
        (
            "tls: client offered only unsupported versions: [302 301]",
            "tls: client offered only unsupported versions: [302 301].",
            "tlsSecurityProfile",
        ),
        (
            "tls: no cipher suite supported by both client and server",
            "tls: no cipher suite supported by both client and server.",
            "tlsSecurityProfile",
        ),
        (
            "client sent an HTTP request to an HTTPS server",
            "client sent an HTTP request to an HTTPS server.",
            "https://",
        ),
        (
            "read tcp 10.0.0.4:22623->10.0.16.37:45000: read: connection reset by peer",
            "connection reset by peer.",
            "MTU",
        ),
        ("EOF", "EOF.", "MTU"),
    ] {
        let report = handshake(error);
        let wanted = format!(
            "it reached the machine-config-server 111 minutes ago, and the TLS handshake failed: {told}"
        );
        assert!(sentence(&report).ends_with(&wanted), "{report:#}");
        assert!(next(&report).contains(help), "{report:#}");
        let machine = only(&report);
        assert_eq!(
            (&machine["stage"], &machine["isCertain"]),
            (&json!("NoRequest"), &json!(true))
        );
    }
}

/// Clients but Go's say more than `bad certificate`.
#[test]
fn an_alert_that_says_more_is_told_with_it() {
    for (alert, told, never) in [
        (
            "unknown certificate authority",
            "rejects its certificate: its authority.",
            "clock",
        ),
        (
            "expired certificate",
            "rejects its certificate: its dates by the machine's clock.",
            "Compare the CA",
        ),
    ] {
        let report = handshake(&format!("remote error: tls: {alert}"));
        assert!(sentence(&report).ends_with(told), "{report:#}");
        assert!(!next(&report).contains(never), "{report:#}");
        assert_eq!(only(&report)["isCertain"], false);
    }
}

/// Words of AWS, Azure, GCP, IBM Cloud, Nutanix and OpenStack.
#[test]
fn an_instance_is_up_where_its_state_says_so() {
    let of = |state: &str| {
        let gather = Gather::of("no-request");
        gather.change(|_, text| text.replace("10.0.16.37", "10.0.99.9"));
        let machine =
            format!("namespaces/openshift-machine-api/machine.openshift.io/machines/{WAITS}.yaml");
        let path = gather.dir.path().join(machine);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace(": running", &format!(": {state}"))).unwrap();
        gather.json()
    };
    for state in [
        "OFF",
        "PAUSED",
        "SUSPENDING",
        "Deleting",
        "SHELVED_OFFLOADED",
        "TERMINATED",
    ] {
        let report = of(state);
        assert_eq!(only(&report)["stage"], "NoInstance", "{report:#}");
        assert_eq!(
            sentence(&report),
            format!("{WAITS}'s instance is not up: its state is {state}.")
        );
    }
    for state in ["pending", "Updating", "REPAIRING", "BUILD"] {
        let report = of(state);
        assert_eq!(only(&report)["isCertain"], false, "{report:#}");
        assert_eq!(
            sentence(&report),
            format!(
                "{WAITS} has not asked for its config in 2 hours: its instance's state is {state}."
            )
        );
    }
    for state in ["Running", "ACTIVE", "poweredOn", "ON"] {
        assert!(
            sentence(&of(state)).contains("is up and has not asked"),
            "{state}"
        );
    }
}

#[test]
fn a_node_by_its_address_alone_is_not_certain() {
    let gather = Gather::of("node-not-ready");
    let path = gather.dir.path();
    let node = "cluster-scoped-resources/core/nodes/ip-10-0-16-37.ec2.internal.yaml";
    let text = std::fs::read_to_string(path.join(node)).unwrap();
    let text = text.replace("ip-10-0-16-37.ec2.internal", "localhost.localdomain");
    let text = text.replace(
        "providerID: aws:///us-east-2a/i-0bff87b2026a36e76",
        "unschedulable: false",
    );
    std::fs::write(
        path.join(node),
        text.replace("machine.openshift.io/machine:", "example.com/machine:"),
    )
    .unwrap();
    let machine = path.join(format!(
        "namespaces/openshift-machine-api/machine.openshift.io/machines/{WAITS}.yaml"
    ));
    let text = std::fs::read_to_string(&machine).unwrap();
    std::fs::write(
        &machine,
        text.replace("  nodeRef:\n    kind: Node\n", "  nothing:\n"),
    )
    .unwrap();
    let report = gather.json();
    let found = only(&report);
    assert_eq!(found["stage"], "NodeNotReady", "{report:#}");
    assert!(
        sentence(&report).contains("its Node localhost.localdomain has not been Ready"),
        "{report:#}"
    );
    assert_eq!(found["isCertain"], false);
    assert_eq!(
        found["unseen"][0],
        "whether Node localhost.localdomain is this machine: its name and its address are not both the machine's"
    );
}

#[test]
fn oc_s_own_words_name_a_kind() {
    for name in [
        "machines",
        "Machine",
        "machines.machine.openshift.io",
        "machine.machine.openshift.io",
    ] {
        let name = format!("{name}/{WAITS}");
        let (text, err, exit) = why(
            &[&format!("{DATA}/cluster"), &format!("{DATA}/no-instance")],
            &[&name],
        );
        assert_eq!((err.as_str(), exit), ("", Exit::Done), "{name}");
        assert!(text.starts_with(WAITS), "{text}");
    }
}

/// Its Events are gone after some hours.
#[test]
fn a_set_that_makes_no_machine_and_says_nothing_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let set = |replicas: Value| {
        json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
            "metadata": { "name": "c1-gpu", "namespace": "openshift-machine-api", "creationTimestamp": "2026-08-01T00:00:00Z" },
            "spec": { "replicas": 3, "template": { "spec": { "providerSpec": { "value": {} } } } }, "status": { "replicas": replicas } })
    };
    let report = |set: Value| {
        let list = |kind: &str, items: &[Value]| json!({ "apiVersion": "v1", "kind": format!("{kind}List"), "items": items });
        let machines = json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineList", "items": [], "metadata": {} });
        std::fs::write(dir.path().join("machines.json"), machines.to_string()).unwrap();
        std::fs::write(dir.path().join("sets.json"), list("", &[set]).to_string()).unwrap();
        super::json(&[dir.path().to_str().unwrap()])
    };
    let found = report(set(0.into()));
    assert_eq!(
        sentence(&found),
        "3 Machines of MachineSet c1-gpu are not made, and nothing that was read says why."
    );
    assert_eq!(only(&found)["isCertain"], false);
    assert!(
        only(&found)["unseen"]
            .to_string()
            .contains("machineset-controller's log")
    );
    for other in [3.into(), Value::Null] {
        assert_eq!(report(set(other))["machines"], json!([]));
    }
}

#[test]
fn a_webhook_that_does_not_answer_is_no_mistake_of_the_set() {
    let gather = Gather::of("../cases-why/set-refused-by-a-webhook");
    let path = gather.dir.path().join("events.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let says = "Internal error occurred: failed calling webhook \\\"validation.machine.machine.openshift.io\\\": failed to call webhook: \
        Post \\\"https://machine-api-operator-machine-webhook.openshift-machine-api.svc/validate-machine-openshift-io-v1beta1-machine\\\": \
        dial tcp 10.129.0.33:8442: connect: connection refused";
    let (begin, end) = text.split_once("admission webhook").unwrap();
    let (_, end) = end.split_once("disconnected installation").unwrap();
    std::fs::write(&path, format!("{begin}{says}{end}")).unwrap();
    let report = super::json(&[gather.path()]);
    assert!(
        sentence(&report).ends_with("connect: connection refused."),
        "{report:#}"
    );
    assert_eq!(only(&report)["cause"], "WebhookUnreachable");
    assert!(
        next(&report).contains("`oc get pods -n openshift-machine-api`"),
        "{report:#}"
    );
}

const SECRET: &str = "GET https://eve:S3cretPW@img.example.com/x?token=QTOKEN failed";

/// A daemon's own reason, a line that nobody knows and what a node told are others' words, too.
#[test]
fn no_text_of_others_has_a_urls_secrets() {
    let gather = Gather::of("node-not-ready");
    let path = gather
        .dir
        .path()
        .join("cluster-scoped-resources/core/nodes/ip-10-0-16-37.ec2.internal.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let text = text.replace(
        "openshift.io/reason: ''",
        &format!("openshift.io/reason: '{SECRET}'"),
    );
    let text = text.replace("openshift.io/state: Done", "openshift.io/state: Degraded");
    std::fs::write(&path, text).unwrap();
    let told = format!(
        "2026-08-20T09:58:00Z I0820 09:58:00.000000       1 x.go:1] Received failure report: pool=worker node=ip-10-0-16-37 stage={SECRET}\n2026-08-20T09:58:00Z I0820 09:58:00.000000       1 x.go:1] new: {SECRET}\n"
    );
    gather.change(|n, text| if n == 0 { text + &told } else { text });
    let first = Gather::of("first-boot");
    first.change(|n, text| if n == 0 { text + &told } else { text });
    std::fs::remove_dir_all(first.dir.path().join("namespaces/skewguard")).unwrap();
    for (gather, said) in [(&gather, "Degraded"), (&first, "as it told")] {
        for form in ["text", "json", "markdown"] {
            let cluster = format!("{DATA}/cluster");
            let (out, err, exit) = why(&[&cluster, gather.path()], &["-o", form]);
            assert_eq!(exit, Exit::Done, "{err}");
            // A link is code in Markdown.
            let plain = out.replace('`', "");
            let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(
                plain.contains("//img.example.com/x failed"),
                "{form}: {out}"
            );
            assert!(plain.contains(said), "{form}: {out}");
            for secret in ["S3cretPW", "QTOKEN", "eve"] {
                assert!(
                    !out.contains(secret) && !err.contains(secret),
                    "{form}: {out}"
                );
            }
        }
    }
}

/// Karpenter's NodeClaims are no Machines: of those nothing was read.
#[test]
fn node_claims_are_no_all_clear() {
    let dir = tempfile::tempdir().unwrap();
    let name = "ip-10-0-16-20.ec2.internal";
    let metadata =
        |name: &str| json!({ "name": name, "creationTimestamp": "2026-08-20T08:00:00Z" });
    let id = "aws:///us-east-2a/i-0a1";
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": metadata(name), "spec": { "providerID": id },
        "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
    let claim = json!({ "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": metadata("default-x7k2p"),
        "status": { "nodeName": name, "providerID": id, "conditions": [{ "type": "Registered", "status": "True" }] } });
    let none = json!({ "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequestList", "items": [], "metadata": {} });
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": [node, claim] });
    std::fs::write(dir.path().join("objects.json"), list.to_string()).unwrap();
    std::fs::write(dir.path().join("requests.json"), none.to_string()).unwrap();
    let (out, err, exit) = why(&[dir.path().to_str().unwrap()], &[]);
    assert_eq!((err.as_str(), exit), ("", Exit::Done));
    assert!(
        out.starts_with("In what was read no machine waits to become a Node."),
        "{out}"
    );
    assert!(out.contains("not read: Machines: none was read"), "{out}");
}
