//! Of machines whose Node is there, or was.

use super::Fate;
use crate::lives::cluster::{Born, Cluster};
use crate::lives::moment::{MINUTE, Moment, SECOND, stamp};
use crate::lives::truth::{Listed, Truth};
use serde_json::{Value, json};

pub(super) const ALL: &[Fate] = &[
    ("node-not-ready", not_ready),
    ("node-silent", silent),
    ("node-lost-its-certificate", lost_certificate),
    ("node-of-another-name", another_name),
    ("node-deleted", deleted),
    ("serving-certificate-waits", serving),
    ("healthy", healthy),
    ("young", young),
];

fn joining(cluster: &mut Cluster) -> (Born, Moment) {
    let born = cluster.waiting();
    let at = cluster.first_ask(&born);
    cluster.ask(&born.address, at);
    let after = cluster.dice.range(240, 600) * SECOND;
    (born, at + after)
}

/// The Machine and its Node, as they are when all is well.
fn both(cluster: &mut Cluster, born: &Born, at: Moment, name: &str) -> (Value, Value) {
    let mut node = cluster.node(name, &born.address, at, "worker");
    node["spec"]["providerID"] = cluster.provider_id(born).into();
    let mut machine = cluster.machine(born);
    machine["status"]["phase"] = "Running".into();
    machine["status"]["nodeRef"] =
        json!({ "kind": "Node", "name": name, "uid": node["metadata"]["uid"] });
    (machine, node)
}

fn with_ready(node: &mut Value, status: &str, reason: &str, message: &str, at: Moment) {
    node["status"]["conditions"] = json!([{ "type": "Ready", "status": status, "reason": reason, "message": message,
        "lastTransitionTime": stamp(at), "lastHeartbeatTime": stamp(at) }]);
}

fn not_ready(cluster: &mut Cluster) -> Truth {
    let (born, at) = joining(cluster);
    let (machine, mut node) = both(cluster, &born, at, &born.node.clone());
    with_ready(
        &mut node,
        "False",
        "KubeletNotReady",
        "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: no CNI configuration file in /etc/kubernetes/cni/net.d/",
        at,
    );
    // The kubelet tells of itself as before.
    let beat = stamp(cluster.now - MINUTE);
    node["status"]["conditions"][0]["lastHeartbeatTime"] = beat.into();
    cluster.objects.extend([machine, node]);
    Truth::new("node-not-ready", &born.name, &["NodeNotReady"])
        .also(&born.node)
        .word(&["CNI", "KubeletNotReady"])
}

fn silent(cluster: &mut Cluster) -> Truth {
    let (born, at) = joining(cluster);
    let (machine, mut node) = both(cluster, &born, at, &born.node.clone());
    with_ready(
        &mut node,
        "Unknown",
        "NodeStatusUnknown",
        "Kubelet stopped posting node status.",
        at + 3 * MINUTE,
    );
    cluster.objects.extend([machine, node]);
    Truth::new("node-silent", &born.name, &["NodeNotReady"])
        .also(&born.node)
        .word(&["stopped posting", "NodeStatusUnknown", "unknown"])
}

/// It was off while its certificate ran out.
fn lost_certificate(cluster: &mut Cluster) -> Truth {
    let ago = cluster.dice.range(90, 300) * MINUTE;
    let born = cluster.birth(ago);
    let at = born.at + 12 * MINUTE;
    let (machine, mut node) = both(cluster, &born, at, &born.node.clone());
    with_ready(
        &mut node,
        "Unknown",
        "NodeStatusUnknown",
        "Kubelet stopped posting node status.",
        at + 3 * MINUTE,
    );
    cluster.objects.extend([machine, node]);
    let asks = at + 30 * MINUTE;
    let request = cluster.pending(&born.node, asks);
    let why = format!("node {} already exists, cannot approve", born.node);
    cluster.unapproved(&request, asks, &why);
    Truth::new("node-lost-its-certificate", &born.name, &["NodeNotReady"])
        .also(&born.node)
        .word(&["stopped posting"])
        .word(&[&request])
}

/// It joined under a name that the Machine does not have.
fn another_name(cluster: &mut Cluster) -> Truth {
    let (born, at) = joining(cluster);
    let name = format!("dhcp-16-{}", cluster.born);
    let mut node = cluster.node(&name, &born.address, at, "worker");
    if cluster.dice.percent(50) {
        node["spec"]["providerID"] = cluster.provider_id(&born).into();
    }
    let machine = cluster.machine(&born);
    cluster.objects.extend([machine, node]);
    Truth::new(
        "node-of-another-name",
        &born.name,
        &["Joined", "NodeNotReady"],
    )
    .also(&name)
    .word(&[&name])
    .listed(Listed::May)
}

/// Somebody deleted the Node; `nodeRef` stays.
fn deleted(cluster: &mut Cluster) -> Truth {
    let (born, at) = joining(cluster);
    let (machine, _) = both(cluster, &born, at, &born.node.clone());
    cluster.objects.push(machine);
    Truth::new("node-deleted", &born.name, &["NodeNotReady", "Unknown"]).word(&[&born.node])
}

/// `oc logs` fails there. The Node itself is Ready.
fn serving(cluster: &mut Cluster) -> Truth {
    let (born, at) = joining(cluster);
    let (machine, node) = both(cluster, &born, at, &born.node.clone());
    cluster.approved(&born.node, at - 20 * SECOND, true);
    let request = cluster.request(&born.node, at, false);
    let name = request["metadata"]["name"].as_str().unwrap().to_owned();
    cluster.unapproved(
        &name,
        at,
        &format!("Serving Cert: No target machine for node \"{}\"", born.node),
    );
    cluster.objects.extend([machine, node, request]);
    Truth::new(
        "serving-certificate-waits",
        &born.name,
        &["Joined", "NodeNotReady", "NoCertificate"],
    )
    .also(&born.node)
    .listed(Listed::May)
}

fn healthy(cluster: &mut Cluster) -> Truth {
    let born = cluster.waiting();
    cluster.join(&born);
    cluster.healthy.retain(|name| *name != born.name);
    Truth::new("healthy", &born.name, &["Joined"]).listed(Listed::No)
}

/// Made some minutes ago: it may still come.
fn young(cluster: &mut Cluster) -> Truth {
    let ago = cluster.dice.range(60, 560) * SECOND;
    let born = cluster.birth(ago);
    cluster.place(&born);
    Truth::new("young", &born.name, &["NoRequest", "FirstBoot", "Unknown"]).listed(Listed::No)
}
