//! What somebody took of a cluster: all of it, or with something missing.

use super::cluster::Cluster;
use super::moment::{MINUTE, Moment, stamp};
use serde_json::{Value, json};
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    Nothing,
    /// One server's log, where there are several.
    ServerLog,
    /// Nor is the server's Pod there: only the control plane's Nodes say that there is another.
    ServerAndPod,
    ServerLogs,
    /// The file of one server's log is empty.
    EmptyLog,
    /// A server began anew after the machines were born.
    Restarted,
    /// A server's log begins after the machines were born.
    Rotated,
    /// A server's log ends before the machines asked, in the middle of a line.
    CutOff,
    Requests,
    Nodes,
    Machines,
    Approver,
    Secrets,
    Sets,
    Events,
}

const WAYS: [Missing; 14] = [
    Missing::EmptyLog,
    Missing::ServerLog,
    Missing::ServerAndPod,
    Missing::Restarted,
    Missing::ServerLogs,
    Missing::Rotated,
    Missing::CutOff,
    Missing::Requests,
    Missing::Nodes,
    Missing::Machines,
    Missing::Approver,
    Missing::Secrets,
    Missing::Sets,
    Missing::Events,
];

/// The folder or file of each kind in a must-gather, by its group.
const KINDS: [(&str, &str, &str); 18] = [
    (
        "NodeClaim",
        "karpenter.sh/v1",
        "cluster-scoped-resources/karpenter.sh/nodeclaims",
    ),
    ("Node", "v1", "cluster-scoped-resources/core/nodes"),
    (
        "ClusterVersion",
        "config.openshift.io/v1",
        "cluster-scoped-resources/config.openshift.io/clusterversions",
    ),
    (
        "Infrastructure",
        "config.openshift.io/v1",
        "cluster-scoped-resources/config.openshift.io/infrastructures",
    ),
    (
        "MachineConfigPool",
        "machineconfiguration.openshift.io/v1",
        "cluster-scoped-resources/machineconfiguration.openshift.io/machineconfigpools",
    ),
    (
        "CertificateSigningRequest",
        "certificates.k8s.io/v1",
        "cluster-scoped-resources/certificates.k8s.io/certificatesigningrequests",
    ),
    (
        "Machine",
        "machine.openshift.io/v1beta1",
        "namespaces/openshift-machine-api/machine.openshift.io/machines",
    ),
    (
        "MachineSet",
        "machine.openshift.io/v1beta1",
        "namespaces/openshift-machine-api/machine.openshift.io/machinesets",
    ),
    (
        "MachineHealthCheck",
        "machine.openshift.io/v1beta1",
        "namespaces/openshift-machine-api/machine.openshift.io/machinehealthchecks",
    ),
    (
        "BareMetalHost",
        "metal3.io/v1alpha1",
        "namespaces/openshift-machine-api/metal3.io/baremetalhosts",
    ),
    (
        "Event",
        "v1",
        "namespaces/openshift-machine-api/core/events",
    ),
    (
        "Secret",
        "v1",
        "namespaces/openshift-machine-api/core/secrets",
    ),
    (
        "ConfigMap",
        "v1",
        "namespaces/openshift-machine-config-operator/core/configmaps",
    ),
    (
        "Pod",
        "v1",
        "namespaces/openshift-machine-config-operator/core/pods",
    ),
    (
        "BootImageReport",
        "skewguard.dev/v1alpha1",
        "namespaces/skewguard/skewguard.dev/bootimagereports",
    ),
    (
        "Agent",
        "agent-install.openshift.io/v1beta1",
        "namespaces/hw-env/agent-install.openshift.io/agents",
    ),
    (
        "NodePool",
        "hypershift.openshift.io/v1beta1",
        "namespaces/clusters/hypershift.openshift.io/nodepools",
    ),
    (
        "HostedCluster",
        "hypershift.openshift.io/v1beta1",
        "namespaces/clusters/hypershift.openshift.io/hostedclusters",
    ),
];

/// Kinds that a whole gather has, if only an empty list.
const ALWAYS: [&str; 3] = ["Node", "CertificateSigningRequest", "Machine"];

impl Missing {
    pub(super) fn any(cluster: &mut Cluster) -> Self {
        if cluster.dice.percent(55) {
            return Self::Nothing;
        }
        match cluster.dice.pick(&WAYS) {
            Self::ServerLog | Self::ServerAndPod if cluster.servers.len() < 2 => Self::ServerLogs,
            Self::CutOff if !cluster.is_due("cut-off") => Self::Nothing,
            way => way,
        }
    }

    fn hides(self, kind: &str) -> bool {
        match self {
            Self::Requests => kind == "CertificateSigningRequest",
            Self::Nodes => kind == "Node",
            Self::Machines => kind == "Machine",
            Self::Secrets => kind == "Secret",
            Self::Sets => kind == "MachineSet",
            Self::Events => kind == "Event",
            _ => false,
        }
    }

    /// Nobody may say then that no machine waits.
    pub(super) fn hides_machines(self) -> bool {
        matches!(self, Self::Requests | Self::Nodes | Self::Machines)
    }
}

/// Writes the gather. A cluster's own machines were born after `birth`.
pub(super) fn write(cluster: &mut Cluster, missing: Missing, birth: Moment, root: &Path) {
    let hit = cluster.dice.below(cluster.servers.len());
    let is_one_file = cluster.dice.percent(40);
    let mut objects = cluster.objects.clone();
    objects.retain(|object| !missing.hides(object["kind"].as_str().unwrap_or_default()));
    match missing {
        Missing::ServerAndPod => {
            let pod = &cluster.servers[hit].0;
            objects.retain(|object| object["metadata"]["name"] != pod.as_str());
        }
        Missing::Restarted => {
            let (pod, log) = &mut cluster.servers[hit];
            let start = birth + cluster.dice.range(5, 60) * MINUTE;
            log.from = start;
            log.start(start, &cluster.release);
            let pod = objects
                .iter_mut()
                .find(|object| object["metadata"]["name"] == pod.as_str());
            let status = &mut pod.unwrap()["status"]["containerStatuses"][0];
            status["restartCount"] = 1.into();
            status["state"]["running"]["startedAt"] = stamp(start).into();
        }
        _ => {}
    }
    cluster.dice.shuffle(&mut objects);
    if is_one_file {
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
        put(&root.join("objects.json"), &list.to_string());
        objects.clear();
    }
    folders(cluster, missing, &objects, root);
    logs(cluster, missing, (hit, birth), root);
}

fn folders(cluster: &Cluster, missing: Missing, objects: &[Value], root: &Path) {
    for (kind, api, folder) in KINDS {
        let of: Vec<&Value> = objects
            .iter()
            .filter(|object| object["kind"] == kind)
            .collect();
        let is_none = !cluster.objects.iter().any(|object| object["kind"] == kind);
        if !of.is_empty() || (is_none && ALWAYS.contains(&kind) && !missing.hides(kind)) {
            let list = json!({ "apiVersion": api, "kind": format!("{kind}List"), "metadata": {}, "items": of });
            put(&root.join(format!("{folder}.yaml")), &list.to_string());
        }
    }
}

fn logs(cluster: &mut Cluster, missing: Missing, (hit, birth): (usize, Moment), root: &Path) {
    let prefix = cluster.prefix;
    for (n, (pod, log)) in cluster.servers.clone().iter_mut().enumerate() {
        let is_hit = n == hit;
        let is_away = matches!(missing, Missing::ServerLog | Missing::ServerAndPod) && is_hit;
        if missing == Missing::ServerLogs || is_away {
            continue;
        }
        if missing == Missing::Rotated && is_hit {
            log.from = birth + cluster.dice.range(5, 60) * MINUTE;
        }
        let mut text = log.text(prefix, &mut cluster.dice);
        if missing == Missing::CutOff && is_hit {
            text.truncate(text.len() / 2);
            text = text.trim_end().to_owned();
        }
        if missing == Missing::EmptyLog && is_hit {
            text.clear();
        }
        let folder = format!(
            "namespaces/openshift-machine-config-operator/pods/{pod}/machine-config-server/machine-config-server/logs/current.log"
        );
        put(&root.join(folder), &text);
    }
    if missing != Missing::Approver {
        let text = cluster.approver.text(prefix, &mut cluster.dice);
        put(&root.join("namespaces/openshift-cluster-machine-approver/pods/machine-approver-6f8d-x2x9p/machine-approver-controller/machine-approver-controller/logs/current.log"), &text);
    }
    for (path, log) in &cluster.others {
        put(&root.join(path), &log.text(prefix, &mut cluster.dice));
    }
}

fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
