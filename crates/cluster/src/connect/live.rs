//! Reads of a cluster what `why` needs beside the audit's lists: requests for certificates, Events, health
//! checks, user data, and the logs of two pods.

use crate::connect::fetch::{FetchProgress, More, fetch_more, fetch_text};
use crate::connect::server::{NODE_TABLE, Server};
use crate::kinds::fields::{list_at, str_at, text_at};
use crate::kinds::listener::held;
use crate::kinds::objects::Objects;
use crate::moment::Moment;
use crate::unread::Unread;
use crate::why::facts::Facts;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Mutex;

/// The part of the script that gathers what `why` reads beside the audit.
pub const GATHER: &str = include_str!("why-gather.sh");

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
const MOST_HOSTED: usize = 5;

/// Pages of the table of Nodes.
const MOST_PAGES: usize = 100;

const CONFIG_NAMESPACE: &str = "openshift-machine-config-operator";
const APPROVER_NAMESPACE: &str = "openshift-cluster-machine-approver";

/// The container of HyperShift's ignition server.
const IGNITION: &str = "ignition-server";

type Watch<'a> = &'a mut dyn FnMut(FetchProgress<'_>);

/// Reads it, and returns what could not be read.
pub async fn fetch(
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
    // Where skewguard is not installed nothing is missed.
    let is_installed = held(facts).has_reports();
    unread.retain(|unread| is_installed || unread.what != "events in skewguard");
    let hosted = held(facts).hosted_namespaces(MOST_HOSTED);
    let pods: Vec<More> = hosted.iter().map(|name| ignition_pods(name)).collect();
    let read = fetch_more(server, objects, &pods, watch).await;
    done(read, &mut unread);
    let broken = not_ready(server, watch).await.unwrap_or_else(|why| {
        unread.push(not_read("nodes that are not Ready", why));
        BTreeSet::new()
    });
    let single: Vec<More> = {
        let facts = held(facts);
        let secrets = facts.user_data_names(MOST_SECRETS).into_iter();
        let secrets = secrets.map(|(namespace, name)| secret(&namespace, &name));
        let nodes = facts.nodes_to_read(names, &broken, now.minus(LOG_SECONDS), MOST_NODES);
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
        list("events", "skewguard", "Event"),
        list("pods", CONFIG_NAMESPACE, "Pod"),
        list("pods", APPROVER_NAMESPACE, "Pod"),
    ]
}

/// The pods of the ignition server of a hosted control plane.
fn ignition_pods(namespace: &str) -> More {
    More {
        name: format!("pods in {namespace}"),
        path: format!("/api/v1/namespaces/{namespace}/pods?labelSelector=app%3Dignition-server"),
        api_version: "v1",
        kind: "Pod",
        is_list: true,
    }
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

/// A pod whose log says something here.
struct LogOf {
    namespace: String,
    pod: String,
    container: &'static str,
    /// Since when it runs, of a machine-config-server.
    began: Option<Moment>,
}

impl LogOf {
    fn new(namespace: &str, pod: &str, container: &'static str, began: Option<Moment>) -> Self {
        Self {
            namespace: namespace.to_owned(),
            pod: pod.to_owned(),
            container,
            began,
        }
    }

    /// The pods that were found, at most so many of each.
    fn all(facts: &Facts) -> Vec<Self> {
        let servers = facts.servers.iter().map(|(name, began)| {
            Self::new(CONFIG_NAMESPACE, name, "machine-config-server", *began)
        });
        let approvers = facts.approvers.iter().map(|name| {
            Self::new(
                APPROVER_NAMESPACE,
                name,
                "machine-approver-controller",
                None,
            )
        });
        let ignition = facts
            .ignition_pods
            .iter()
            .map(|(namespace, name)| Self::new(namespace, name, IGNITION, None));
        let approvers = approvers.take(MOST_PODS);
        let servers = servers.take(MOST_PODS).chain(approvers);
        servers.chain(ignition.take(MOST_PODS)).collect()
    }

    fn add(&self, facts: &mut Facts, now: Moment, log: &[u8]) {
        // What is in memory can be read to its end.
        let _ = match self.container {
            IGNITION => facts.add_ignition_log((&self.namespace, &self.pod), &mut &*log),
            "machine-config-server" => {
                add_server(facts, &self.pod, self.began, now, log);
                Ok(())
            }
            _ => facts.add_approver_log(&mut &*log),
        };
    }
}

/// Reads the pods' logs.
async fn logs(server: &Server, facts: &Mutex<Facts>, now: Moment, watch: Watch<'_>) -> Vec<Unread> {
    let mut forbidden = BTreeSet::new();
    let all = LogOf::all(&held(facts));
    for of in all {
        let path = log_path(&of.namespace, &of.pod, of.container);
        match fetch_text(server, &path, watch).await {
            Ok(Some(log)) => of.add(&mut held(facts), now, &log),
            Ok(None) => {}
            Err(why) => {
                forbidden.insert(why);
            }
        }
    }
    let all = forbidden.into_iter();
    all.map(|why| not_read("pods/log", why)).collect()
}

fn add_server(facts: &mut Facts, name: &str, began: Option<Moment>, now: Moment, log: &[u8]) {
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

/// The Nodes that are not Ready, by the table that `oc get nodes` shows: their metadata alone does
/// not say it, and a whole one has hundreds of kilobytes.
async fn not_ready(server: &Server, watch: Watch<'_>) -> Result<BTreeSet<String>, String> {
    let mut names = BTreeSet::new();
    let mut next = String::new();
    for _ in 0..MOST_PAGES {
        let token = utf8_percent_encode(&next, NON_ALPHANUMERIC);
        let path = match next.as_str() {
            "" => format!("{NODE_TABLE}&limit=500"),
            _ => format!("{NODE_TABLE}&limit=500&continue={token}"),
        };
        let Some(body) = fetch_text(server, &path, watch).await? else {
            return Ok(names);
        };
        let table: Value = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
        let column = |name: &str| {
            let mut columns = list_at(&table, "/columnDefinitions").iter();
            columns.position(|column| str_at(column, "/name") == Some(name))
        };
        let (Some(name), Some(status)) = (column("Name"), column("Status")) else {
            return Ok(names);
        };
        for row in list_at(&table, "/rows") {
            let cell = |at: usize| str_at(row, &format!("/cells/{at}"));
            // `NotReady,SchedulingDisabled`, `Unknown`.
            if let (Some(name), Some(status)) = (cell(name), cell(status))
                && !status.split(',').any(|word| word == "Ready")
            {
                names.insert(name.to_owned());
            }
        }
        next = text_at(&table, "/metadata/continue").unwrap_or_default();
        if next.is_empty() {
            break;
        }
    }
    Ok(names)
}

fn log_path(namespace: &str, pod: &str, container: &str) -> String {
    format!(
        "/api/v1/namespaces/{namespace}/pods/{pod}/log?container={container}&timestamps=true\
         &sinceSeconds={LOG_SECONDS}&tailLines={LOG_LINES}&limitBytes={LOG_BYTES}"
    )
}
