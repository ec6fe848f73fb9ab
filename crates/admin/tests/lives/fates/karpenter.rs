//! Of Karpenter's NodeClaims (kubernetes-sigs/karpenter, `pkg/apis/v1` and `pkg/controllers/nodeclaim/lifecycle`): one
//! has no address, and its Node takes the name that the cloud gives.

use super::Fate;
use crate::lives::cluster::{Born, Cluster};
use crate::lives::moment::{MINUTE, SECOND, stamp};
use crate::lives::truth::{Listed, Truth};
use serde_json::{Value, json};

pub(super) const ALL: &[Fate] = &[
    ("claim-not-launched", not_launched),
    ("claim-silent", silent),
    ("claim-asks-for-certificate", asks),
    ("claim-joined", joined),
];

fn claim(cluster: &mut Cluster, is_launched: bool, registered: (&str, &str)) -> (Born, Value) {
    let mut born = cluster.waiting();
    born.name = format!("default-{}", cluster.dice.word(5));
    born.node = format!(
        "ip-{}.us-east-2.compute.internal",
        born.address.replace('.', "-")
    );
    let mut meta = cluster.meta(&born.name, "", born.at);
    meta["labels"] = json!({ "karpenter.sh/nodepool": "default" });
    meta["ownerReferences"] = json!([{ "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "name": "default", "uid": "u", "blockOwnerDeletion": true }]);
    let at = stamp(born.at + 3 * SECOND);
    let of = |kind: &str, status: &str, reason: &str, message: &str| json!({ "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": at });
    let launched = if is_launched {
        of("Launched", "True", "Launched", "")
    } else {
        of(
            "Launched",
            "Unknown",
            "LaunchFailed",
            "creating instance, insufficient capacity, with fleet error(s), InsufficientInstanceCapacity: no m6i.xlarge in us-east-2a",
        )
    };
    let (status, message) = registered;
    let mut object = json!({ "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": meta,
        "spec": { "nodeClassRef": { "group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default" }, "requirements": [] },
        "status": { "conditions": [launched, of("Registered", status, "NodeNotFound", message), of("Ready", status, "NotReady", "")] } });
    if is_launched {
        object["status"]["providerID"] = provider_id(&born).into();
        object["status"]["imageID"] = "ami-0123456789abcdef0".into();
    }
    (born, object)
}

fn provider_id(born: &Born) -> String {
    format!("aws:///us-east-2a/i-{}", born.name)
}

const NOT_FOUND: (&str, &str) = ("Unknown", "Node not registered with cluster");

fn not_launched(cluster: &mut Cluster) -> Truth {
    let (born, object) = claim(cluster, false, NOT_FOUND);
    cluster.objects.push(object);
    Truth::new("claim-not-launched", &born.name, &["NoInstance"]).word(&["insufficient capacity"])
}

/// Nothing tells whose its request is.
fn silent(cluster: &mut Cluster) -> Truth {
    let (born, object) = claim(cluster, true, NOT_FOUND);
    let at = cluster.first_ask(&born);
    cluster.ask(&born.address, at);
    cluster.objects.push(object);
    Truth::new("claim-silent", &born.name, &["FirstBoot"]).untold()
}

fn asks(cluster: &mut Cluster) -> Truth {
    let (born, object) = claim(cluster, true, NOT_FOUND);
    let at = cluster.first_ask(&born);
    cluster.ask(&born.address, at);
    cluster.objects.push(object);
    let at = at + 5 * MINUTE;
    let request = cluster.pending(&born.node, at);
    cluster.strangers.push(born.node.clone());
    let why = cluster.no_machine_of(&born.node);
    cluster.unapproved(&request, at, &why);
    // Which of several NodeClaims made it is not known.
    Truth::new("claim-asks-for-certificate", &born.name, &["NoCertificate"]).untold()
}

fn joined(cluster: &mut Cluster) -> Truth {
    let (born, mut object) = claim(cluster, true, ("True", ""));
    let at = cluster.first_ask(&born);
    cluster.ask(&born.address, at);
    object["status"]["nodeName"] = born.node.clone().into();
    let mut node = cluster.node(&born.node, &born.address, at + 5 * MINUTE, "worker");
    node["spec"]["providerID"] = provider_id(&born).into();
    cluster.approved(&born.node, at + 4 * MINUTE, true);
    cluster.objects.extend([node, object]);
    cluster.healthy.extend([born.node.clone()]);
    Truth::new("claim-joined", &born.name, &["Joined"]).listed(Listed::No)
}
