//! What `why` reads of a cluster beside the audit's lists: requests for certificates, Events, health
//! checks, user data, and the logs of two pods.

use crate::audit::cluster::listener::held;
use crate::audit::input::fetch::{FetchProgress, More, fetch_more, fetch_text};
use crate::audit::input::server::Server;
use crate::audit::{Objects, Unread};
use crate::why::Facts;
use crate::why::moment::Moment;
use std::collections::BTreeSet;
use std::sync::Mutex;

/// Bytes of a pod's log.
const LOG_BYTES: usize = 2 << 20;

/// Its last lines: some 250 bytes each.
const LOG_LINES: usize = 8_000;

/// Its last seconds.
const LOG_SECONDS: u64 = 86_400;

/// At most so many pods, Secrets and Nodes are asked for one by one.
const MOST_PODS: usize = 16;
const MOST_SECRETS: usize = 20;
const MOST_NODES: usize = 100;

const CONFIG_NAMESPACE: &str = "openshift-machine-config-operator";
const APPROVER_NAMESPACE: &str = "openshift-cluster-machine-approver";

type Watch<'a> = &'a mut dyn FnMut(FetchProgress<'_>);

/// Reads it, and returns what could not be read.
pub(in crate::cli) async fn fetch(
    server: &Server,
    objects: &mut Objects,
    facts: &Mutex<Facts>,
    (now, names): (Moment, &[String]),
    watch: Watch<'_>,
) -> Vec<Unread> {
    let mut unread = Vec::new();
    let done = |read: Result<Vec<Unread>, String>, unread: &mut Vec<Unread>| match read {
        Ok(more) => unread.extend(more),
        Err(why) => unread.push(not_read("the rest of the cluster", why)),
    };
    let read = fetch_more(server, objects, &lists(), watch).await;
    done(read, &mut unread);
    let single: Vec<More> = {
        let facts = held(facts);
        let secrets = facts.user_data_names(MOST_SECRETS).into_iter();
        let secrets = secrets.map(|(namespace, name)| secret(&namespace, &name));
        let nodes = facts.nodes_to_read(names, now.minus(LOG_SECONDS), MOST_NODES);
        secrets.chain(nodes.iter().map(|name| node(name))).collect()
    };
    for more in &single {
        // Each by itself: what was read of a Node before is its metadata alone.
        match fetch_text(server, &more.path, watch).await {
            Ok(Some(body)) => {
                if let Ok(object) = serde_json::from_slice(&body) {
                    held(facts).add("", more.kind, &object);
                }
            }
            Ok(None) => {}
            Err(why) => {
                unread.push(not_read(&more.name, why));
                // What one Secret forbids all do.
                if more.kind == "Secret" {
                    break;
                }
            }
        }
    }
    unread.extend(logs(server, facts, now, watch).await);
    unread
}

fn not_read(what: &str, why: String) -> Unread {
    Unread {
        what: what.to_owned(),
        why,
        hides_sets: false,
        makes_nodes: false,
    }
}

/// The lists and objects.
fn lists() -> Vec<More> {
    let list = |name: &str, path: &str, api_version, kind| More {
        name: name.to_owned(),
        path: path.to_owned(),
        api_version,
        kind,
        is_list: true,
    };
    let one = |name: &str, path: &str, api_version, kind| More {
        is_list: false,
        ..list(name, path, api_version, kind)
    };
    let mut all = vec![
        list(
            "certificatesigningrequests.certificates.k8s.io",
            "/apis/certificates.k8s.io/v1/certificatesigningrequests",
            "certificates.k8s.io/v1",
            "CertificateSigningRequest",
        ),
        list(
            "machinehealthchecks.machine.openshift.io",
            "/apis/machine.openshift.io/v1beta1/machinehealthchecks",
            "machine.openshift.io/v1beta1",
            "MachineHealthCheck",
        ),
        list(
            "machineconfignodes.machineconfiguration.openshift.io",
            "/apis/machineconfiguration.openshift.io/v1/machineconfignodes",
            "machineconfiguration.openshift.io/v1",
            "MachineConfigNode",
        ),
        list(
            "agents.agent-install.openshift.io",
            "/apis/agent-install.openshift.io/v1beta1/agents",
            "agent-install.openshift.io/v1beta1",
            "Agent",
        ),
        one(
            "clusteroperators.config.openshift.io machine-approver",
            "/apis/config.openshift.io/v1/clusteroperators/machine-approver",
            "config.openshift.io/v1",
            "ClusterOperator",
        ),
        one(
            "configmaps machine-config-server-ca",
            "/api/v1/namespaces/openshift-machine-config-operator/configmaps/machine-config-server-ca",
            "v1",
            "ConfigMap",
        ),
        one(
            "configmaps root-ca",
            "/api/v1/namespaces/kube-system/configmaps/root-ca",
            "v1",
            "ConfigMap",
        ),
    ];
    all.extend(namespaced());
    all
}

/// The lists of a namespace.
fn namespaced() -> Vec<More> {
    let list = |what: &str, namespace: &str, kind| More {
        name: format!("{what} in {namespace}"),
        path: format!("/api/v1/namespaces/{namespace}/{what}"),
        api_version: "v1",
        kind,
        is_list: true,
    };
    vec![
        list("events", "openshift-machine-api", "Event"),
        list("events", "default", "Event"),
        list("pods", CONFIG_NAMESPACE, "Pod"),
        list("pods", APPROVER_NAMESPACE, "Pod"),
    ]
}

fn secret(namespace: &str, name: &str) -> More {
    More {
        name: format!("secrets {namespace}/{name}, the user data"),
        path: format!("/api/v1/namespaces/{namespace}/secrets/{name}"),
        api_version: "v1",
        kind: "Secret",
        is_list: false,
    }
}

fn node(name: &str) -> More {
    More {
        name: format!("nodes {name}"),
        path: format!("/api/v1/nodes/{name}"),
        api_version: "v1",
        kind: "Node",
        is_list: false,
    }
}

/// Reads the logs of the machine-config-server and the machine-approver.
async fn logs(server: &Server, facts: &Mutex<Facts>, now: Moment, watch: Watch<'_>) -> Vec<Unread> {
    let mut unread = Vec::new();
    let servers: Vec<(String, Option<Moment>)> = {
        let facts = held(facts);
        let servers = facts.servers.iter().take(MOST_PODS);
        servers
            .map(|(name, began)| (name.clone(), *began))
            .collect()
    };
    let mut forbidden = BTreeSet::new();
    for (name, began) in servers {
        let path = log_path(CONFIG_NAMESPACE, &name, "machine-config-server");
        match fetch_text(server, &path, watch).await {
            Ok(Some(log)) => add_server(facts, &name, began, now, &log),
            Ok(None) => {}
            Err(why) => {
                forbidden.insert(why);
            }
        }
    }
    let approvers: Vec<String> = {
        let facts = held(facts);
        facts.approvers.iter().take(MOST_PODS).cloned().collect()
    };
    for name in approvers {
        let path = log_path(APPROVER_NAMESPACE, &name, "machine-approver-controller");
        match fetch_text(server, &path, watch).await {
            Ok(Some(log)) => {
                let _ = held(facts).add_approver_log(&mut log.as_slice());
            }
            Ok(None) => {}
            Err(why) => {
                forbidden.insert(why);
            }
        }
    }
    let all = forbidden.into_iter();
    unread.extend(all.map(|why| not_read("pods/log", why)));
    unread
}

fn add_server(facts: &Mutex<Facts>, name: &str, began: Option<Moment>, now: Moment, log: &[u8]) {
    let mut facts = held(facts);
    let _ = facts.logs.add(name, &mut &*log, now);
    let lines = log.iter().filter(|byte| **byte == b'\n').count();
    if log.len() >= LOG_BYTES {
        let what = "its log is longer than the 2 MiB that were read".to_owned();
        facts.logs.cut(name, what);
    } else if lines < LOG_LINES {
        // All of the day, or of the container: a server that nobody asks writes nothing.
        let day = now.minus(LOG_SECONDS);
        facts
            .logs
            .covers(name, began.map_or(day, |began| began.max(day)));
    }
}

fn log_path(namespace: &str, pod: &str, container: &str) -> String {
    format!(
        "/api/v1/namespaces/{namespace}/pods/{pod}/log?container={container}&timestamps=true\
         &sinceSeconds={LOG_SECONDS}&tailLines={LOG_LINES}&limitBytes={LOG_BYTES}"
    )
}
