//! What somebody took of a cluster: all of it, or with something missing.

use super::cluster::Cluster;
use super::moment::{MINUTE, Moment};
use super::server::Log;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    Nothing,
    /// One server's log, where there are several.
    ServerLog,
    ServerLogs,
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

const WAYS: [Missing; 11] = [
    Missing::ServerLog,
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
const KINDS: [(&str, &str, &str); 17] = [
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
            Self::ServerLog if cluster.servers.len() < 2 => Self::ServerLogs,
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
    let is_one_file = cluster.dice.percent(40);
    let mut objects = cluster.objects.clone();
    objects.retain(|object| !missing.hides(object["kind"].as_str().unwrap_or_default()));
    cluster.dice.shuffle(&mut objects);
    if is_one_file {
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
        put(&root.join("objects.json"), &list.to_string());
        objects.clear();
    }
    for (kind, api, folder) in KINDS {
        let of: Vec<&Value> = objects
            .iter()
            .filter(|object| object["kind"] == kind)
            .collect();
        let is_due = ALWAYS.contains(&kind) && !missing.hides(kind);
        if !of.is_empty() || (is_due && !cluster.objects.iter().any(|o| o["kind"] == kind)) {
            let list = json!({ "apiVersion": api, "kind": format!("{kind}List"), "metadata": {}, "items": of });
            put(&root.join(format!("{folder}.yaml")), &list.to_string());
        }
    }
    logs(cluster, missing, birth, root);
}

fn logs(cluster: &mut Cluster, missing: Missing, birth: Moment, root: &Path) {
    let without = cluster.dice.below(cluster.servers.len());
    let prefix = cluster.prefix;
    for (n, (pod, log)) in cluster.servers.clone().iter().enumerate() {
        let is_hit = n == without;
        let mut log = log.clone();
        if missing == Missing::ServerLogs || (missing == Missing::ServerLog && is_hit) {
            continue;
        }
        if missing == Missing::Rotated && is_hit {
            log.from = birth + cluster.dice.range(5, 60) * MINUTE;
        }
        let mut text = log.text(prefix, &mut cluster.dice);
        if missing == Missing::CutOff && is_hit {
            text.truncate(text.len() / 2);
        }
        let folder = format!(
            "namespaces/openshift-machine-config-operator/pods/{pod}/machine-config-server/machine-config-server/logs/current.log"
        );
        put(&root.join(folder), &text);
    }
    if missing != Missing::Approver {
        let text = cluster.approver.clone().text(prefix, &mut cluster.dice);
        put(&root.join("namespaces/openshift-cluster-machine-approver/pods/machine-approver-6f8d-x2x9p/machine-approver-controller/machine-approver-controller/logs/current.log"), &text);
    }
    let others: Vec<(String, Log)> = cluster.others.clone();
    for (path, log) in others {
        put(&root.join(path), &log.text(prefix, &mut cluster.dice));
    }
}

fn put(path: &PathBuf, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
