//! Of an archive that has the Machines of one cluster and the Nodes of another, or of another time.

use super::Fate;
use crate::lives::cluster::Cluster;
use crate::lives::moment::MINUTE;
use crate::lives::truth::Truth;
use serde_json::json;

pub(super) const ALL: &[Fate] = &[
    ("worker-of-another-archive", worker),
    ("master-of-another-archive", master),
];

/// It joined, and its Node is not among those that somebody gathered.
fn elsewhere(cluster: &mut Cluster, fate: &'static str, role: &str) -> Truth {
    let born = cluster.waiting();
    let mut machine = cluster.machine(&born);
    machine["metadata"]["labels"]["machine.openshift.io/cluster-api-machine-role"] = role.into();
    if role == "master" {
        machine["metadata"]["ownerReferences"][0]["kind"] = "ControlPlaneMachineSet".into();
        machine["metadata"]["ownerReferences"][0]["name"] = "cluster".into();
    }
    machine["status"]["phase"] = "Running".into();
    machine["status"]["nodeRef"] =
        json!({ "kind": "Node", "name": format!("other-{}", born.node), "uid": "n" });
    cluster.objects.push(machine);
    // Among them are those of another cluster's own.
    let at = cluster.now - 900 * MINUTE;
    let name = format!("here-{}.c2.example.com", cluster.born);
    let address = format!("10.9.0.{}", cluster.born);
    let node = cluster.node(&name, &address, at, "worker");
    cluster.objects.push(node);
    cluster.healthy.push(name);
    Truth::new(fate, &born.name, &["Unknown"])
        .word(&["two clusters"])
        .lie(&[
            "is gone",
            "delete the Machine",
            "delete it",
            "ControlPlaneMachineSet",
            "restart kubelet",
        ])
}

fn worker(cluster: &mut Cluster) -> Truth {
    elsewhere(cluster, "worker-of-another-archive", "worker")
}

fn master(cluster: &mut Cluster) -> Truth {
    elsewhere(cluster, "master-of-another-archive", "master")
}
