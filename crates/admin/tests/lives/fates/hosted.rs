//! Of NodePools' machines, seen from the management cluster.

use super::Fate;
use crate::lives::cluster::{Born, Cluster};
use crate::lives::moment::{HOUR, MINUTE, SECOND, stamp};
use crate::lives::server::Log;
use crate::lives::truth::{Listed, Truth};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

pub(super) const ALL: &[Fate] = &[
    ("pool-without-payload", without_payload),
    ("pool-with-bad-config", bad_config),
    ("pool-with-bad-release", bad_release),
    ("pool-with-bad-stream", bad_stream),
    ("pool-machine-waits-for-payload", machine_waits),
    ("pool-machine-without-instance", without_instance),
    ("pool-machine-joined", joined),
    ("identity-provider-gone", identity_gone),
    ("hosted-key-not-usable", key_not_usable),
];

/// A NodePool with that condition. Its name.
fn pool(cluster: &mut Cluster, condition: (&str, &str, &str), replicas: i64) -> String {
    let name = format!("hc1-{}", cluster.dice.word(5));
    let at = cluster.now - 3 * HOUR;
    let since = stamp(at + 5 * MINUTE);
    let meta = cluster.meta(&name, "clusters", at);
    let (kind, reason, message) = condition;
    let mut conditions = vec![
        json!({ "type": "ReachedIgnitionEndpoint", "status": "False", "reason": "ignitionNotReached", "message": "", "lastTransitionTime": since, "observedGeneration": 1 }),
        json!({ "type": "AllNodesHealthy", "status": "False", "reason": "NodeProvisioning", "message": "", "lastTransitionTime": since, "observedGeneration": 1 }),
        json!({ "type": "AutoscalingEnabled", "status": "False", "reason": "AsExpected", "lastTransitionTime": since, "observedGeneration": 1 }),
    ];
    if !kind.is_empty() {
        conditions.push(json!({ "type": kind, "status": "False", "reason": reason, "message": message, "lastTransitionTime": since, "observedGeneration": 1 }));
    }
    cluster.dice.shuffle(&mut conditions);
    cluster.objects.push(json!({ "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool", "metadata": meta,
        "spec": { "clusterName": "hc1", "replicas": 2, "release": { "image": "quay.io/openshift-release-dev/ocp-release:4.19.9-x86_64" }, "management": { "upgradeType": "Replace", "autoRepair": true },
            "platform": { "type": "AWS", "aws": { "instanceType": "m6i.xlarge", "instanceProfile": "x", "subnet": { "id": "subnet-1" } } } },
        "status": { "version": "4.19.9", "replicas": replicas, "conditions": conditions } }));
    hosted_cluster(cluster);
    name
}

/// One for all pools of the gather, and its ignition server.
fn hosted_cluster(cluster: &mut Cluster) {
    if cluster
        .objects
        .iter()
        .any(|object| object["kind"] == "HostedCluster")
    {
        return;
    }
    let image = "quay.io/openshift-release-dev/ocp-release:4.19.9-x86_64";
    let at = cluster.now - 30 * 24 * HOUR;
    let meta = cluster.meta("hc1", "clusters", at);
    cluster.objects.push(json!({ "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "HostedCluster", "metadata": meta,
        "spec": { "release": { "image": image }, "infraID": "hc1-abcde", "platform": { "type": "AWS", "aws": { "region": "us-east-2" } } },
        "status": { "version": { "history": [{ "state": "Completed", "version": "4.19.9", "image": image }] }, "conditions": [] } }));
    // The user data of its machines has the token that they ask with.
    let token = cluster.secret();
    let meta = cluster.meta("user-data-hc1", "clusters-hc1", at);
    cluster.objects.push(json!({ "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": meta,
        "data": { "value": STANDARD.encode(format!("{{\"ignition\":{{\"version\":\"3.2.0\",\"config\":{{\"merge\":[{{\"source\":\"https://ignition.example.com/ignition\",\"httpHeaders\":[{{\"name\":\"Authorization\",\"value\":\"Bearer {token}\"}}]}}]}}}}}}")) } }));
    let mut log = Log::default();
    log.go(at + HOUR, "Listening on 0.0.0.0:9090".to_owned());
    cluster.others.push(("namespaces/clusters-hc1/pods/ignition-server-7d9-abcde/ignition-server/ignition-server/logs/current.log".to_owned(), log));
}

fn machine(cluster: &mut Cluster, pool: &str, is_up: bool) -> (Born, Value) {
    let ago = cluster.dice.range(40, 120) * MINUTE;
    let mut born = cluster.birth(ago);
    born.name = format!("{pool}-{}-{}", cluster.dice.word(5), cluster.dice.word(5));
    let up = stamp(born.at + 2 * MINUTE);
    let mut meta = cluster.meta(&born.name, "clusters-hc1", born.at);
    meta["annotations"] = json!({ "hypershift.openshift.io/nodePool": format!("clusters/{pool}") });
    meta["labels"] = json!({ "cluster.x-k8s.io/cluster-name": "hc1-abcde" });
    meta["ownerReferences"] = json!([{ "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineSet", "name": format!("{pool}-abc"), "uid": "x", "controller": true }]);
    let mut machine = json!({ "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": meta,
        "spec": { "clusterName": "hc1-abcde", "bootstrap": { "dataSecretName": format!("user-data-{pool}-1") }, "infrastructureRef": { "kind": "AWSMachine", "name": born.name, "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2" } },
        "status": { "phase": "Provisioning", "lastUpdated": stamp(born.at + 10 * SECOND), "conditions": [{ "type": "InfrastructureReady", "status": "False", "severity": "Error", "reason": "InstanceProvisionFailed", "message": "failed to create AWSMachine instance: VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit", "lastTransitionTime": stamp(born.at + 20 * SECOND) }] } });
    if is_up {
        machine["spec"]["providerID"] = format!("aws:///us-east-2a/i-0{:x}", born.at).into();
        machine["status"] = json!({ "phase": "Provisioned", "lastUpdated": up, "addresses": [{ "type": "InternalIP", "address": born.address }],
            "conditions": [{ "type": "InfrastructureReady", "status": "True", "lastTransitionTime": up }] });
    }
    (born, machine)
}

fn says_why(cluster: &mut Cluster, fate: &'static str, condition: (&str, &str, &str)) -> Truth {
    let name = pool(cluster, condition, 0);
    let words = condition.2.split(':').next_back().unwrap().trim();
    Truth::new(fate, &name, &["NoInstance", "NoRequest", "RequestRefused"]).word(&[words])
}

const PAYLOAD: (&str, &str, &str) = (
    "ValidGeneratedPayload",
    "InvalidConfig",
    "Failed to generate payload: error getting ignition payload: machine-config-server configmap is out of date, waiting for update 9a8b7c != 1a2b3c",
);

fn without_payload(cluster: &mut Cluster) -> Truth {
    says_why(cluster, "pool-without-payload", PAYLOAD)
}

fn bad_config(cluster: &mut Cluster) -> Truth {
    let condition = (
        "ValidMachineConfig",
        "ValidationFailed",
        "Failed to generate config: configmap \"mc-1\" does not have a key \"config\"",
    );
    says_why(cluster, "pool-with-bad-config", condition)
}

fn bad_release(cluster: &mut Cluster) -> Truth {
    let url = cluster.secret_url();
    let message = format!("Failed to get release image from {url} : unauthorized to read manifest");
    let condition = ("ValidReleaseImage", "ValidationFailed", message.as_str());
    says_why(cluster, "pool-with-bad-release", condition)
}

fn bad_stream(cluster: &mut Cluster) -> Truth {
    let condition = (
        "ValidOSImageStream",
        "InvalidOSImageStream",
        "OS image stream rhel-9 is not available in release 5.1.0",
    );
    says_why(cluster, "pool-with-bad-stream", condition)
}

fn machine_waits(cluster: &mut Cluster) -> Truth {
    let name = pool(cluster, PAYLOAD, 1);
    let (born, machine) = machine(cluster, &name, true);
    cluster.objects.push(machine);
    let log = &mut cluster.others[0].1;
    let mut at = born.at + 4 * MINUTE;
    for _ in 0..4 {
        log.go(
            at,
            "User Agent: Ignition/2.20.0. Requested: /ignition".to_owned(),
        );
        log.go(at, "Token not found in cache".to_owned());
        at += 10 * SECOND;
    }
    Truth::new(
        "pool-machine-waits-for-payload",
        &born.name,
        &["RequestRefused", "NoRequest"],
    )
    .also(&name)
    .word(&["configmap is out of date"])
}

fn without_instance(cluster: &mut Cluster) -> Truth {
    let name = pool(
        cluster,
        (
            "AllMachinesReady",
            "InstanceProvisionFailed",
            "1 of 2 machines are not ready: VcpuLimitExceeded",
        ),
        1,
    );
    let (born, machine) = machine(cluster, &name, false);
    cluster.objects.push(machine);
    Truth::new("pool-machine-without-instance", &born.name, &["NoInstance"])
        .also(&name)
        .word(&["VcpuLimitExceeded"])
}

/// Its Node is in the hosted cluster, which nobody gathered.
fn joined(cluster: &mut Cluster) -> Truth {
    let name = pool(cluster, ("", "", ""), 1);
    let pool_object = cluster
        .objects
        .iter_mut()
        .rev()
        .find(|o| o["kind"] == "NodePool" && o["metadata"]["name"] == name);
    if let Some(object) = pool_object {
        object["status"]["conditions"] = json!([{ "type": "AllNodesHealthy", "status": "True", "reason": "AsExpected", "message": "All is well" }, { "type": "AllMachinesReady", "status": "True", "reason": "AsExpected", "message": "All is well" }, { "type": "ReachedIgnitionEndpoint", "status": "True", "reason": "AsExpected", "message": "" }]);
        object["spec"]["replicas"] = 1.into();
    }
    let (born, mut machine) = machine(cluster, &name, true);
    machine["status"]["phase"] = "Running".into();
    machine["status"]["nodeRef"] =
        json!({ "apiVersion": "v1", "kind": "Node", "name": born.node, "uid": "n" });
    machine["status"]["conditions"].as_array_mut().unwrap().push(json!({ "type": "NodeHealthy", "status": "True", "lastTransitionTime": stamp(born.at + 9 * MINUTE) }));
    cluster.objects.push(machine);
    Truth::new("pool-machine-joined", &born.name, &["Joined"])
        .also(&name)
        .listed(Listed::No)
}

/// A hosted cluster of its own, whose condition says no, and a Machine of it.
fn of_bad_cluster(cluster: &mut Cluster, condition: Value, is_up: bool) -> (String, Born, Value) {
    let pool = pool(cluster, ("", "", ""), 0);
    let name = format!("hc2-{}", cluster.dice.word(5));
    let (born, mut machine) = machine(cluster, &pool, is_up);
    machine["metadata"]["namespace"] = format!("clusters-{name}").into();
    machine["spec"]["clusterName"] = format!("{name}-abcde").into();
    let mut objects = cluster.objects.iter_mut();
    let own = objects.find(|one| one["kind"] == "NodePool" && one["metadata"]["name"] == pool);
    if let Some(own) = own {
        own["spec"]["clusterName"] = name.as_str().into();
    }
    let at = cluster.now - 30 * 24 * HOUR;
    let meta = cluster.meta(&name, "clusters", at);
    cluster.objects.push(json!({ "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "HostedCluster", "metadata": meta,
        "spec": { "infraID": format!("{name}-abcde"), "platform": { "type": "AWS", "aws": { "region": "us-east-2" } } },
        "status": { "conditions": [{ "type": "Available", "status": "True", "reason": "AsExpected", "message": "The hosted control plane is available" }, condition] } }));
    (pool, born, machine)
}

/// The cloud cannot be asked in the name of the cluster, of none of its Machines.
fn identity_gone(cluster: &mut Cluster) -> Truth {
    let (status, reason, message) = cluster.dice.pick(&[
        ("False", "InvalidIdentityProvider", "WebIdentityErr"),
        ("Unknown", "AWSError", "UnrecognizedClientException"),
    ]);
    let condition = json!({ "type": "ValidAWSIdentityProvider", "status": status, "reason": reason, "message": message,
        "lastTransitionTime": stamp(cluster.now - 2 * HOUR) });
    let (pool, born, mut machine) = of_bad_cluster(cluster, condition, false);
    machine["status"]["conditions"] = json!([{ "type": "InfrastructureReady", "status": "False", "reason": "NotReady", "message": "0 of 1 completed",
        "lastTransitionTime": stamp(born.at + 20 * SECOND) }]);
    cluster.objects.push(machine);
    Truth::new("identity-provider-gone", &born.name, &["Unknown"])
        .also(&pool)
        .word(&["could not be asked"])
        .word(&["ValidAWSIdentityProvider"])
        .lie(&["has no instance", "delete the Machine", "delete it"])
}

/// The control plane cannot decrypt its data: a possible cause, and none of the Machine.
fn key_not_usable(cluster: &mut Cluster) -> Truth {
    let message = "failed to encrypt data using KMS (key: arn:aws:kms:us-east-2:1:key/2), code: AccessDeniedException";
    let condition = json!({ "type": "ValidAWSKMSConfig", "status": "False", "reason": "AWSError", "message": message,
        "lastTransitionTime": stamp(cluster.now - 2 * HOUR) });
    let (pool, born, machine) = of_bad_cluster(cluster, condition, true);
    cluster.objects.push(machine);
    Truth::new(
        "hosted-key-not-usable",
        &born.name,
        &["Unknown", "NoRequest"],
    )
    .also(&pool)
    .advised(&["ValidAWSKMSConfig"])
    .lie(&["delete the Machine", "delete it"])
}
