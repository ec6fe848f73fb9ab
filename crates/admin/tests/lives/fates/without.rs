//! Of machines without a Machine: what a person or the assisted installer installs.

use super::Fate;
use crate::lives::cluster::{Born, Cluster};
use crate::lives::moment::{MINUTE, Moment, SECOND, stamp};
use crate::lives::truth::{Listed, Truth};
use serde_json::{Value, json};

pub(super) const LONERS: &[Fate] = &[
    ("nobodys-request", nobodys_request),
    ("nobodys-requests", nobodys_requests),
    ("nobody-waits", nobody_waits),
    ("nobodys-serving-request", serving),
    ("nobodys-node-is-gone", gone),
    ("nobodys-node-asks-again", asks_again),
];

pub(super) const AGENTS: &[Fate] = &[
    ("agent-boots-its-iso", boots_its_iso),
    ("agent-not-approved", not_approved),
    ("agent-insufficient", insufficient),
    ("agent-failed", failed),
    ("installer-refused", installer_refused),
    ("agent-served", agent_served),
    ("agent-joined", agent_joined),
    ("nobodys-request", nobodys_request),
];

fn asks(cluster: &mut Cluster, count: i64) -> Truth {
    let born = cluster.waiting();
    let at = cluster.first_ask(&born);
    cluster.ask(&born.address, at);
    let mut truth = Truth::new("nobodys-request", &born.node, &["NoCertificate"])
        .word(&[&born.node])
        .word(&["pending", "waits", "approve"]);
    for n in 0..count {
        let at = at + (5 + n * 15) * MINUTE;
        if at > cluster.now - SECOND {
            break;
        }
        let request = cluster.pending(&born.node, at);
        let why = cluster.no_machine_of(&born.node);
        cluster.unapproved(&request, at, &why);
        truth.words[0].push(request.clone());
        truth = truth.also(&request);
    }
    truth
}

fn nobodys_request(cluster: &mut Cluster) -> Truth {
    asks(cluster, 1)
}

/// Every quarter of an hour another.
fn nobodys_requests(cluster: &mut Cluster) -> Truth {
    let mut truth = asks(cluster, 5);
    truth.fate = "nobodys-requests";
    truth
}

fn joined(cluster: &mut Cluster, born: &Born) {
    let at = cluster.first_ask(born);
    cluster.ask(&born.address, at);
    let node_at = at + 6 * MINUTE;
    cluster.approved(&born.node, node_at, true);
    let node = cluster.node(&born.node, &born.address, node_at, "worker");
    cluster.objects.push(node);
}

fn nobody_waits(cluster: &mut Cluster) -> Truth {
    let born = cluster.waiting();
    joined(cluster, &born);
    Truth::new("nobody-waits", &born.node, &["Joined"]).listed(Listed::No)
}

fn serving(cluster: &mut Cluster) -> Truth {
    let born = cluster.waiting();
    joined(cluster, &born);
    let request = cluster.request(&born.node, born.at + 15 * MINUTE, false);
    let name = request["metadata"]["name"].as_str().unwrap().to_owned();
    cluster.objects.push(request);
    Truth::new(
        "nobodys-serving-request",
        &born.node,
        &["Joined", "NodeNotReady", "NoCertificate"],
    )
    .also(&name)
    .listed(Listed::May)
}

/// The cluster was off for long: its kubelet's certificate ran out.
fn asks_again(cluster: &mut Cluster) -> Truth {
    let born = cluster.birth(20 * 24 * 60 * MINUTE);
    let mut node = cluster.node(&born.node, &born.address, born.at, "worker");
    let silent = stamp(born.at + 60 * MINUTE);
    node["status"]["conditions"] = json!([{ "type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status.", "lastTransitionTime": silent, "lastHeartbeatTime": silent }]);
    cluster.objects.push(node);
    let at = cluster.now - 40 * MINUTE;
    let mut truth = Truth::new("nobodys-node-asks-again", &born.node, &["NoCertificate"])
        .word(&["2 requests are pending"])
        .word(&["lost or outlived"]);
    for n in 0..2 {
        let request = cluster.pending(&born.node, at + n * 15 * MINUTE);
        truth = truth.also(&request);
    }
    truth
}

/// Somebody deleted its Node, or its kubelet never made it: the gather is the same.
fn gone(cluster: &mut Cluster) -> Truth {
    let born = cluster.waiting();
    let at = cluster.first_ask(&born);
    cluster.ask(&born.address, at);
    let request = cluster.objects.len();
    cluster.signed(&born.node, at + 6 * MINUTE, true);
    let name = cluster.objects[request]["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    Truth::new(
        "nobodys-node-is-gone",
        &born.node,
        &["NodeNotReady", "Joined"],
    )
    .also(&name)
    .word(&["there is no Node"])
    .claimed()
}

fn agent(cluster: &mut Cluster, state: &str, stage: &str, info: &str, at: Moment) -> (Born, Value) {
    let born = cluster.birth(cluster.now - at);
    let id = format!("a1b2c3d4-0000-4000-8000-{:012}", cluster.born);
    let meta = cluster.meta(&id, "hw-env", at);
    let agent = json!({ "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "Agent", "metadata": meta,
        "spec": { "approved": true, "hostname": born.node, "role": "worker", "clusterDeploymentName": { "name": "spoke1", "namespace": "spoke1" } },
        "status": { "bootstrap": false, "role": "worker", "debugInfo": { "state": state, "stateInfo": info, "eventsURL": "https://x" },
            "progress": { "currentStage": stage, "stageStartTime": stamp(at + 4 * MINUTE), "stageUpdateTime": stamp(at + 4 * MINUTE) },
            "inventory": { "hostname": born.node, "interfaces": [{ "name": "ens3", "macAddress": format!("52:54:00:00:01:{:02x}", cluster.born), "ipV4Addresses": [format!("{}/24", born.address)] }] },
            "conditions": [{ "type": "Installed", "status": "False", "reason": "InstallationInProgress", "message": format!("Installation is in progress: {info}"), "lastTransitionTime": stamp(at + 5 * MINUTE) }] } });
    (born, agent)
}

fn waits(
    cluster: &mut Cluster,
    fate: &'static str,
    state: &str,
    stage: &str,
    info: &str,
) -> (Truth, Value) {
    let at = cluster.now - cluster.dice.range(70, 300) * MINUTE;
    let (born, agent) = agent(cluster, state, stage, info, at);
    let id = agent["metadata"]["name"].as_str().unwrap().to_owned();
    let truth = Truth::new(fate, &born.node, &["NoInstance", "NoRequest"]).also(&id);
    (truth, agent)
}

fn boots_its_iso(cluster: &mut Cluster) -> Truth {
    let info = "Expected the host to boot from disk, but it booted the installation image - please reboot and fix boot order to boot from disk QEMU_HARDDISK drive-scsi0-0-0-0 (sda)";
    let (truth, agent) = waits(
        cluster,
        "agent-boots-its-iso",
        "installing-pending-user-action",
        "Rebooting",
        info,
    );
    cluster.objects.push(agent);
    truth.word(&["boot order", "boot from disk"])
}

fn not_approved(cluster: &mut Cluster) -> Truth {
    let info = "Host is ready to be installed";
    let (truth, mut agent) = waits(cluster, "agent-not-approved", "known", "", info);
    agent["spec"]["approved"] = false.into();
    agent["status"]["conditions"] = json!([{ "type": "RequirementsMet", "status": "False", "reason": "AgentIsNotApproved", "message": "The agent is not approved", "lastTransitionTime": stamp(cluster.now - 60 * MINUTE) }]);
    cluster.objects.push(agent);
    truth.word(&["approved", "approve"])
}

fn insufficient(cluster: &mut Cluster) -> Truth {
    let info = "Host cannot be installed due to following failing validation(s): Require a disk of at least 100 GB, found only 60 GB";
    let (truth, agent) = waits(cluster, "agent-insufficient", "insufficient", "", info);
    cluster.objects.push(agent);
    truth.word(&["100 GB", "failing validation"])
}

fn failed(cluster: &mut Cluster) -> Truth {
    let url = cluster.secret_url();
    let info = format!(
        "Host failed to install because its installation stage Writing image to disk took longer than expected 30m0s: GET {url}"
    );
    let (truth, agent) = waits(
        cluster,
        "agent-failed",
        "error",
        "Writing image to disk",
        &info,
    );
    cluster.objects.push(agent);
    truth.word(&["longer than expected", "Writing image to disk"])
}

/// The assisted installer asks by itself, before there is an Ignition.
fn installer_refused(cluster: &mut Cluster) -> Truth {
    let at = cluster.now - cluster.dice.range(70, 300) * MINUTE;
    let (born, agent) = agent(
        cluster,
        "installing-in-progress",
        "Waiting for ignition",
        "Waiting for ignition",
        at,
    );
    let id = agent["metadata"]["name"].as_str().unwrap().to_owned();
    cluster.objects.push(agent);
    let mut at = at + 5 * MINUTE;
    for _ in 0..cluster.dice.range(3, 9) {
        let ask = cluster.ask_as(&born.address, at, "worker", "Go-http-client/1.1");
        cluster.unconverted(&ask, "failed to convert config from spec v3.2 to v2.2: unable to convert Ignition spec v3 config to v2: SizeMiB and StartMiB in Storage.Disks.Partitions is not supported on 2.2");
        at += 10 * SECOND;
    }
    Truth::new("installer-refused", &born.node, &["RequestRefused"])
        .also(&id)
        .word(&["convert", "installer", "Go-http-client"])
}

fn rebooted(cluster: &mut Cluster) -> (Born, Moment, String) {
    let at = cluster.now - cluster.dice.range(70, 300) * MINUTE;
    let (born, agent) = agent(
        cluster,
        "installing-in-progress",
        "Rebooting",
        "Rebooting",
        at,
    );
    let id = agent["metadata"]["name"].as_str().unwrap().to_owned();
    cluster.objects.push(agent);
    let asked = at + 9 * MINUTE;
    let poll = cluster.ask_as(
        &born.address,
        at + 4 * MINUTE,
        "worker",
        "Go-http-client/1.1",
    );
    cluster.ask(&born.address, asked.max(poll.at));
    (born, asked, id)
}

fn agent_served(cluster: &mut Cluster) -> Truth {
    let (born, _, id) = rebooted(cluster);
    Truth::new("agent-served", &born.node, &["FirstBoot"]).also(&id)
}

fn agent_joined(cluster: &mut Cluster) -> Truth {
    let (born, asked, id) = rebooted(cluster);
    let agent = cluster.objects.last_mut().unwrap();
    agent["status"]["debugInfo"] = json!({ "state": "added-to-existing-cluster", "stateInfo": "Done", "eventsURL": "https://x" });
    agent["status"]["progress"]["currentStage"] = "Done".into();
    agent["status"]["conditions"] = json!([{ "type": "Installed", "status": "True", "reason": "InstallationCompleted", "message": "The installation has completed: Done", "lastTransitionTime": stamp(asked + 9 * MINUTE) }]);
    let node = cluster.node(&born.node, &born.address, asked + 6 * MINUTE, "worker");
    cluster.objects.push(node);
    Truth::new("agent-joined", &born.node, &["Joined"])
        .also(&id)
        .listed(Listed::No)
}
