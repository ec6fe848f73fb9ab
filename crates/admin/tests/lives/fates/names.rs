//! Of machines whose kubelet asks for its certificate.

use super::Fate;
use crate::lives::cluster::{Born, Cluster};
use crate::lives::moment::{HOUR, MINUTE, Moment, SECOND, stamp};
use crate::lives::truth::Truth;
use serde_json::json;

pub(super) const ALL: &[Fate] = &[
    ("request-waits", request_waits),
    ("approver-gone", approver_gone),
    ("request-of-another-name", another_name),
    ("request-of-a-stranger", of_a_stranger),
    ("request-with-a-dot", with_a_dot),
    ("request-denied", denied),
    ("request-not-signed", not_signed),
    ("too-many-requests", too_many),
    ("request-too-late", too_late),
    ("flow-disabled", flow_disabled),
    ("old-node-of-its-name", old_node),
    ("living-node-of-its-name", living_node),
    ("request-of-localhost", localhost),
    ("certificate-without-node", without_node),
    ("two-requests-for-localhost", two_localhosts),
];

/// Asked, served, rebased: the moment of its request for a certificate.
fn asks_for_certificate(cluster: &mut Cluster) -> (Born, Moment) {
    let born = cluster.waiting();
    cluster.place(&born);
    let at = cluster.first_ask(&born);
    cluster.ask(&born.address, at);
    let after = cluster.dice.range(240, 600) * SECOND;
    (born, at + after)
}

fn truth(fate: &'static str, born: &Born) -> Truth {
    Truth::new(fate, &born.name, &["NoCertificate"])
}

/// Each quarter of an hour the kubelet makes another request.
fn again(cluster: &mut Cluster, node: &str, at: Moment) -> Vec<String> {
    let mut names = vec![cluster.pending(node, at)];
    for n in 1..cluster.dice.range(1, 4) {
        let next = at + n * 15 * MINUTE;
        if next < cluster.now - SECOND {
            names.push(cluster.pending(node, next));
        }
    }
    names
}

fn request_waits(cluster: &mut Cluster) -> Truth {
    let (born, at) = asks_for_certificate(cluster);
    let requests = again(cluster, &born.node, at);
    let why = cluster.no_machine_of(&born.node);
    for request in &requests {
        cluster.unapproved(request, at + 60 * MINUTE, &why);
    }
    cluster.unapproved(&requests[0], at, &why);
    let words: Vec<&str> = requests.iter().map(String::as_str).collect();
    truth("request-waits", &born)
        .word(&[&how_many(requests.len())])
        .word(&[words.as_slice(), &["failed to find machine"]].concat())
}

/// What a sentence says of so many requests that wait.
fn how_many(count: usize) -> String {
    match count {
        1 => "is pending".to_owned(),
        _ => format!("{count} requests are pending"),
    }
}

fn approver_gone(cluster: &mut Cluster) -> Truth {
    let (born, at) = asks_for_certificate(cluster);
    let requests = again(cluster, &born.node, at);
    truth("approver-gone", &born).word(&[&how_many(requests.len())])
}

/// DHCP or reverse DNS gave it another name.
fn another_name(cluster: &mut Cluster) -> Truth {
    let (born, at) = asks_for_certificate(cluster);
    let last = born.address.rsplit('.').next().unwrap().to_owned();
    let name = cluster.dice.pick(&[
        format!("dhcp-16-{last}"),
        format!("host{last}.corp.example.net"),
    ]);
    let requests = again(cluster, &name, at);
    let why = cluster.no_machine_of(&name);
    cluster.unapproved(&requests[0], at, &why);
    requests.iter().fold(
        truth("request-of-another-name", &born)
            .also(&name)
            .word(&[&name]),
        |truth, request| truth.also(request),
    )
}

/// The machine hangs in its first boot; somebody else's kubelet asks in the meantime.
fn of_a_stranger(cluster: &mut Cluster) -> Truth {
    let (born, at) = asks_for_certificate(cluster);
    let name = format!("lab-{}", cluster.dice.word(4));
    let request = cluster.pending(&name, at);
    cluster.strangers.extend([name.clone(), request.clone()]);
    let why = cluster.no_machine_of(&name);
    cluster.unapproved(&request, at, &why);
    Truth::new("request-of-a-stranger", &born.name, &["FirstBoot"]).untold()
}

fn with_a_dot(cluster: &mut Cluster) -> Truth {
    let (born, at) = asks_for_certificate(cluster);
    let name = if cluster.dice.percent(50) {
        format!("{}.", born.node)
    } else {
        born.node.split('.').next().unwrap().to_owned()
    };
    let requests = again(cluster, &name, at);
    let why = cluster.no_machine_of(&name);
    cluster.unapproved(&requests[0], at, &why);
    let truth = truth("request-with-a-dot", &born)
        .word(&["pending", "waits", "request"])
        .lie(&["bootstrap credentials"]);
    if name.ends_with('.') {
        return truth.advised(&["ends with a dot"]);
    }
    truth
}

fn denied(cluster: &mut Cluster) -> Truth {
    let (born, at) = asks_for_certificate(cluster);
    let mut request = cluster.request(&born.node, at, true);
    request["status"] = json!({ "conditions": [{ "type": "Denied", "status": "True", "reason": "KubectlDeny", "message": "This CSR was denied by kubectl certificate deny.", "lastUpdateTime": stamp(at + MINUTE) }] });
    cluster.objects.push(request);
    truth("request-denied", &born).word(&["denied"])
}

fn not_signed(cluster: &mut Cluster) -> Truth {
    let (born, at) = asks_for_certificate(cluster);
    let mut request = cluster.request(&born.node, at, true);
    request["status"] = json!({ "conditions": [{ "type": "Approved", "status": "True", "reason": "NodeCSRApprove", "message": "This CSR was approved by the Node CSR Approver", "lastUpdateTime": stamp(at + SECOND) }] });
    cluster.objects.push(request);
    truth("request-not-signed", &born).word(&["not signed", "not issued", "no certificate"])
}

fn too_many(cluster: &mut Cluster) -> Truth {
    let (born, at) = asks_for_certificate(cluster);
    let request = cluster.pending(&born.node, at);
    let words = "Pending CSRs: 211; Max pending allowed: 106. Difference between pending CSRs and machines > 100. Ignoring all CSRs as too many recent pending CSRs seen";
    let text = if cluster.release.minor >= 8 {
        format!("{request}: {words}")
    } else {
        words.to_owned()
    };
    cluster.approver.error(at + 300, "controller.go:183", text);
    truth("too-many-requests", &born).word(&["too many", "Max pending", "Pending CSRs"])
}

fn too_late(cluster: &mut Cluster) -> Truth {
    let born = cluster.birth(4 * HOUR + 40 * MINUTE);
    cluster.place(&born);
    let at = born.at + 3 * HOUR;
    cluster.ask(&born.address, at);
    let at = at + 8 * MINUTE;
    let request = cluster.pending(&born.node, at);
    let go = |at| stamp(at).replace('T', " ").replace('Z', " +0000 UTC");
    let cannot = if cluster.release.minor >= 8 {
        ", cannot approve"
    } else {
        ""
    };
    let about = if cluster.release.minor >= 8 {
        "CSR".to_owned()
    } else {
        format!("CSR {request}")
    };
    let why = format!(
        "{about} creation time {} not in range ({}, {}){cannot}",
        go(at),
        go(born.at - 10 * SECOND),
        go(born.at + 2 * HOUR)
    );
    cluster.unapproved(&request, at, &why);
    truth("request-too-late", &born)
        .word(&["not in range", "creation time", "hours", "too late"])
        .advised(&["minutes before the request"])
        .lie(&["minutes after the machine's start"])
}

fn flow_disabled(cluster: &mut Cluster) -> Truth {
    let (born, at) = asks_for_certificate(cluster);
    let request = cluster.pending(&born.node, at);
    let why = if cluster.release.minor >= 8 {
        "CSR rejected as the flow is disabled".to_owned()
    } else {
        format!("CSR {request} for node client cert rejected as the flow is disabled")
    };
    cluster.unapproved(&request, at, &why);
    truth("flow-disabled", &born)
        .word(&["flow is disabled"])
        .word(&["nodeClientCert.disabled"])
        .advised(&["machine-approver-config"])
}

/// A host is installed anew; the Node of its first life is still there, under another machine's address.
fn old_node(cluster: &mut Cluster) -> Truth {
    let (born, at) = asks_for_certificate(cluster);
    let old = born.at - 72 * HOUR;
    let mut node = cluster.node(&born.node, "10.0.99.9", old, "worker");
    node["status"]["conditions"] = json!([{ "type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status.", "lastTransitionTime": stamp(old + HOUR), "lastHeartbeatTime": stamp(old + HOUR) }]);
    cluster.objects.push(node);
    let request = cluster.pending(&born.node, at);
    let why = format!("node {} already exists, cannot approve", born.node);
    cluster.unapproved(&request, at, &why);
    Truth::new(
        "old-node-of-its-name",
        &born.name,
        &["NoCertificate", "NodeNotReady"],
    )
    .also(&born.node)
    .word(&["already exists"])
    .word(&["not been Ready"])
    .lie(&["certificate approve"])
}

/// Another machine has its host name, and is well.
fn living_node(cluster: &mut Cluster) -> Truth {
    let (born, at) = asks_for_certificate(cluster);
    let node = cluster.node(&born.node, "10.0.98.7", born.at - 72 * HOUR, "worker");
    cluster.objects.push(node);
    let request = cluster.pending(&born.node, at);
    let why = format!("node {} already exists, cannot approve", born.node);
    cluster.unapproved(&request, at, &why);
    truth("living-node-of-its-name", &born)
        .also(&born.node)
        .word(&["one host name"])
        .lie(&["certificate approve", "delete node"])
}

/// Neither DHCP nor reverse DNS gave it a name.
fn localhost(cluster: &mut Cluster) -> Truth {
    let (born, at) = asks_for_certificate(cluster);
    let name = cluster.dice.pick(&["localhost", "localhost.localdomain"]);
    let requests = again(cluster, name, at);
    let why = cluster.no_machine_of(name);
    cluster.unapproved(&requests[0], at, &why);
    requests.iter().fold(
        truth("request-of-localhost", &born)
            .also(name)
            .word(&[name])
            .lie(&["certificate approve"]),
        |truth, request| truth.also(request),
    )
}

/// It made its Node and somebody deleted it, or it never made one: the gather is the same.
fn without_node(cluster: &mut Cluster) -> Truth {
    let (born, at) = asks_for_certificate(cluster);
    cluster.signed(&born.node, at, true);
    Truth::new("certificate-without-node", &born.name, &["NodeNotReady"])
        .word(&["certificate"])
        .lie(&["did not make", "never made"])
}

/// Two machines without a name: nobody can tell which request is whose.
fn two_localhosts(cluster: &mut Cluster) -> Truth {
    let fate = "two-requests-for-localhost";
    let name = "localhost.localdomain";
    let mut all = Truth::new(fate, name, &["NoCertificate"])
        .word(&[name])
        .lie(&["certificate approve"]);
    for _ in 0..2 {
        let (born, at) = asks_for_certificate(cluster);
        let request = cluster.pending(name, at);
        let why = cluster.no_machine_of(name);
        cluster.unapproved(&request, at, &why);
        all = all.also(&born.name).also(&request);
        // Where more machines wait than requests, it may have none.
        let own = Truth::new(fate, &born.name, &["NoCertificate"])
            .perhaps("FirstBoot")
            .word(&[name, "other name", "another name", "got its config"])
            .lie(&["certificate approve"]);
        cluster.truths.push(own);
    }
    all
}
