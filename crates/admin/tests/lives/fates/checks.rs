//! Of machines that a MachineHealthCheck deletes, one after the other.

use super::Fate;
use crate::lives::cluster::{Born, Cluster, MACHINES};
use crate::lives::moment::{HOUR, MINUTE, Moment, SECOND};
use crate::lives::truth::{Listed, Truth};
use serde_json::{Value, json};

pub(super) const ALL: &[Fate] = &[
    ("deleted-without-node", deleted_without_node),
    ("deleted-with-node", deleted_with_node),
    ("forged-remediations", forged),
    ("forged-remediations-of-joined", forged_of_joined),
    ("autoscaler-gives-up-young", given_up),
];

/// What a command would do by Events alone, which any joined node may write.
const COMMANDS: &[&str] = &["oc patch", "\"nodeStartupTimeout\":"];

/// A set of its own, with a check of its own.
fn check(cluster: &mut Cluster, born: &Born, spec: Value) -> String {
    let name = format!("check-{}", born.set);
    let at = cluster.now - 30 * 24 * HOUR;
    let meta = cluster.meta(&name, MACHINES, at);
    let selector = if cluster.dice.percent(50) {
        json!({ "matchLabels": { "machine.openshift.io/cluster-api-machineset": born.set } })
    } else {
        json!({ "matchExpressions": [{ "key": "machine.openshift.io/cluster-api-machineset", "operator": "In", "values": [born.set] }] })
    };
    let mut object = json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineHealthCheck", "metadata": meta, "spec": spec });
    object["spec"]["selector"] = selector;
    cluster.objects.push(object);
    name
}

fn deletions(cluster: &mut Cluster, born: &Born, check: &str, every: Moment, node: &str) {
    for n in 1..=cluster.dice.range(3, 5) {
        let name = format!("{}-{}", born.set, cluster.dice.word(5));
        let at = born.at - n * every;
        let message = format!(
            "Machine {MACHINES}/{check}/{name}/{node} has been remediated by requesting to delete Machine object"
        );
        let about = (
            "machine.openshift.io/v1beta1",
            "Machine",
            MACHINES,
            name.as_str(),
        );
        cluster.event(
            about,
            at,
            "MachineDeleted",
            &message,
            "machinehealthcheck-controller",
        );
    }
}

fn of_a_set(cluster: &mut Cluster, ago: Moment) -> Born {
    let mut born = cluster.birth(ago);
    born.set = format!("c1-x7k2p-storage-{}", cluster.dice.word(3));
    born.name = format!("{}-{}", born.set, cluster.dice.word(5));
    let at = cluster.now - 30 * 24 * HOUR;
    let meta = cluster.meta(&born.set, MACHINES, at);
    let labels = json!({ "machine.openshift.io/cluster-api-machineset": born.set, "machine.openshift.io/cluster-api-machine-role": "worker" });
    cluster.objects.push(json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "metadata": meta,
        "spec": { "replicas": 1, "selector": { "matchLabels": labels }, "template": { "metadata": { "labels": labels }, "spec": { "providerSpec": { "value": {} } } } },
        "status": { "replicas": 1, "observedGeneration": 3 } }));
    born
}

fn deleted_without_node(cluster: &mut Cluster) -> Truth {
    let ago = cluster.dice.range(12, 18) * MINUTE;
    let born = of_a_set(cluster, ago);
    let name = check(
        cluster,
        &born,
        json!({ "nodeStartupTimeout": "20m", "unhealthyConditions": [{ "type": "Ready", "status": "Unknown", "timeout": "300s" }], "maxUnhealthy": "100%" }),
    );
    deletions(cluster, &born, &name, 21 * MINUTE, "");
    cluster.place(&born);
    let at = cluster.first_ask(&born);
    cluster.ask(&born.address, at);
    // Events alone say that others came before it.
    Truth::new("deleted-without-node", &born.name, &["FirstBoot"])
        .perhaps("BeingRemade")
        .word(&["MachineHealthCheck"])
        .word(&["no Node", "before"])
        .lie(COMMANDS)
}

/// They had Nodes: another start-up timeout changes nothing.
fn deleted_with_node(cluster: &mut Cluster) -> Truth {
    let ago = cluster.dice.range(14, 30) * MINUTE;
    let born = of_a_set(cluster, ago);
    let name = check(
        cluster,
        &born,
        json!({ "unhealthyConditions": [{ "type": "Ready", "status": "False", "timeout": "300s" }, { "type": "Ready", "status": "Unknown", "timeout": "300s" }], "maxUnhealthy": "40%" }),
    );
    deletions(
        cluster,
        &born,
        &name,
        40 * MINUTE,
        "ip-10-0-16-37.us-east-2.compute.internal",
    );
    cluster.place(&born);
    let at = cluster.first_ask(&born);
    cluster.ask(&born.address, at);
    // Events alone say that others came before it.
    Truth::new("deleted-with-node", &born.name, &["FirstBoot"])
        .perhaps("BeingRemade")
        .word(&["MachineHealthCheck"])
        .word(&["unhealthy", "had Node", "had a Node", "their Node"])
        .lie(COMMANDS)
        .lie(&["because they had no Node"])
}

/// Events as a health check's, which looks after another set or is not there at all.
fn forge(cluster: &mut Cluster, born: &Born) {
    let name = if cluster.dice.percent(50) {
        let other = Born {
            set: "c1-x7k2p-infra".to_owned(),
            ..born.clone()
        };
        check(cluster, &other, json!({ "nodeStartupTimeout": "10m" }))
    } else {
        "check-workers".to_owned()
    };
    let node = cluster
        .dice
        .pick(&["", "ip-10-0-16-37.us-east-2.compute.internal"]);
    deletions(cluster, born, &name, 21 * MINUTE, node);
}

fn forged(cluster: &mut Cluster) -> Truth {
    let ago = cluster.dice.range(25, 120) * MINUTE;
    let born = of_a_set(cluster, ago);
    forge(cluster, &born);
    cluster.place(&born);
    let at = cluster.first_ask(&born);
    cluster.ask(&born.address, at);
    Truth::new("forged-remediations", &born.name, &["FirstBoot"])
        .perhaps("BeingRemade")
        .word(&["got its config"])
        .by_event("comes after")
        .lie(COMMANDS)
}

fn forged_of_joined(cluster: &mut Cluster) -> Truth {
    let ago = cluster.dice.range(40, 120) * MINUTE;
    let born = of_a_set(cluster, ago);
    forge(cluster, &born);
    let at = cluster.first_ask(&born);
    cluster.ask(&born.address, at);
    cluster.joined(&born, at + 6 * MINUTE);
    cluster.healthy.retain(|name| *name != born.name);
    Truth::new("forged-remediations-of-joined", &born.name, &["Joined"])
        .lie(COMMANDS)
        .listed(Listed::No)
}

/// The cluster-autoscaler waits a quarter of an hour for each, and the present one is young.
fn given_up(cluster: &mut Cluster) -> Truth {
    let ago = cluster.dice.range(3, 9) * MINUTE;
    let born = of_a_set(cluster, ago);
    let times = cluster.dice.range(2, 6);
    for n in 0..times {
        let at = born.at - n * 16 * MINUTE - 5 * SECOND;
        let about = ("v1", "ConfigMap", MACHINES, "cluster-autoscaler-status");
        let seconds = cluster.dice.range(0, 20);
        for (reason, message) in [
            (
                "ScaleUpTimedOut",
                format!(
                    "Nodes added to group MachineSet/{MACHINES}/{} failed to register within 15m{seconds}.178310039s",
                    born.set
                ),
            ),
            (
                "DeleteUnregistered",
                format!(
                    "Removed unregistered node {}-{n}",
                    cluster.provider_id(&born)
                ),
            ),
        ] {
            cluster.event(about, at, reason, &message, "cluster-autoscaler");
        }
    }
    cluster.place(&born);
    let at = born.at + 100 * SECOND;
    cluster.ask(&born.address, at);
    Truth::new("autoscaler-gives-up-young", &born.name, &["BeingRemade"])
        .word(&["cluster-autoscaler gave up"])
        .word(&[&format!("{times} times")])
        .word(&["15 minutes"])
        .by_event("gave up")
}
