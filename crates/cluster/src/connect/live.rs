//! Reads of a cluster what `why` needs beside the audit's lists: requests for certificates, Events, health
//! checks, user data, and the logs of two pods.

use crate::add::add_user_data;
use crate::cluster::{Cluster, first_plain};
use crate::connect::fetch::{FetchProgress, fetch_for_nodes, fetch_more, fetch_text, page};
use crate::connect::server::{NODE_TABLE, Server};
use crate::kinds::fields::{list_at, str_at, text_at};
use crate::kinds::groups::{APPROVER_NAMESPACE, MCO_NAMESPACE, SECRET};
use crate::kinds::kind::{Kind, Request};
use crate::kinds::kind_table::row;
use crate::kinds::node::Node;
use crate::lenient;
use crate::moment::Moment;
use crate::names::first_of;
use crate::text::is_dns_name;
use crate::trouble::Trouble;
use crate::unread::Unread;
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::BTreeSet;

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

/// The containers whose logs are read; the last is HyperShift's.
const SERVER: &str = "machine-config-server";
const APPROVER: &str = "machine-approver-controller";
const IGNITION: &str = "ignition-server";

type Watch<'a> = &'a mut dyn FnMut(FetchProgress<'_>);

/// Reads it, and returns what could not be read; `names` are those of Nodes and Machines that are asked
/// about.
pub async fn fetch(
    server: &Server,
    cluster: &mut Cluster,
    (now, names): (Moment, &[String]),
    watch: Watch<'_>,
) -> Vec<Unread> {
    let mut unread = fetch_for_nodes(server, cluster, watch).await;
    for namespace in hosted_namespaces(cluster) {
        unread.extend(fetch_more(server, cluster, &ignition_pods(&namespace), watch).await);
    }
    let broken = not_ready(server, watch).await.unwrap_or_else(|why| {
        unread.push(Unread::new("nodes that are not Ready", why));
        BTreeSet::new()
    });
    for (namespace, name) in user_data_names(cluster) {
        let what = format!("secrets {namespace}/{name}, the user data");
        let path = one(SECRET, Some(&namespace), &name);
        match object(server, &path, watch).await {
            Ok(Some(secret)) => drop(add_user_data(cluster, &secret)),
            Ok(None) => {}
            Err(why) => {
                unread.push(Unread::new(what, why));
                // What one Secret forbids all do.
                break;
            }
        }
    }
    let nodes = nodes_to_read(cluster, names, &broken, now.minus(LOG_SECONDS));
    for (n, name) in nodes.iter().enumerate() {
        match object(server, &one("Node", None, name), watch).await {
            Ok(Some(node)) => {
                cluster.complete_node(lenient::known(&node));
            }
            Ok(None) => {}
            Err(why) => {
                let names = first_of([&**name].into_iter(), 1, nodes.len() - n);
                unread.push(Unread::new(format!("nodes {names}"), why));
                // The next would keep waiting, too.
                break;
            }
        }
    }
    unread.extend(logs(server, cluster, now, watch).await);
    unread
}

/// An object; `None` where it is not there.
async fn object(server: &Server, path: &str, watch: Watch<'_>) -> Result<Option<Value>, Trouble> {
    let body = fetch_text(server, path, watch).await?;
    Ok(body.and_then(|body| serde_json::from_slice(&body).ok()))
}

/// The path of a kind of the core, or one object of it.
fn one(kind: &str, namespace: Option<&str>, name: &str) -> String {
    format!("{}/{name}", list(kind, namespace))
}

fn list(kind: &str, namespace: Option<&str>) -> String {
    let path = |row: &Kind| row.path("v1", namespace);
    row("", kind).map(path).unwrap_or_default()
}

/// The namespaces of hosted control planes whose machines have no Node.
fn hosted_namespaces(cluster: &Cluster) -> Vec<String> {
    let machines = cluster.all_machines();
    let waiting = machines.filter(|machine| machine.node_pool.is_some() && machine.node.is_none());
    let names: BTreeSet<&String> = waiting.map(|machine| &machine.metadata.namespace).collect();
    let names = names.into_iter().filter(|name| is_dns_name(name, 63));
    names.take(MOST_HOSTED).cloned().collect()
}

/// Namespace and name of the Secrets that have the user data of Machines without a Node.
fn user_data_names(cluster: &Cluster) -> BTreeSet<(String, String)> {
    let waiting = cluster
        .all_machines()
        .filter(|machine| machine.node.is_none());
    let names = waiting.filter_map(|machine| {
        let secret = machine.source.secret()?.to_owned();
        Some((machine.metadata.namespace.clone(), secret))
    });
    first_plain(names, MOST_SECRETS)
}

/// The Nodes of these names, or of Machines of these names, then those that are broken, and those
/// that were made since then: the newest first.
fn nodes_to_read(
    cluster: &Cluster,
    names: &[String],
    broken: &BTreeSet<String>,
    since: Moment,
) -> Vec<String> {
    let own = |name: &String| name.rsplit('/').next().unwrap_or_default().to_owned();
    let names: BTreeSet<String> = names.iter().map(own).collect();
    let of_machines = cluster
        .all_machines()
        .filter(|machine| names.contains(&machine.metadata.name));
    let of_machines: BTreeSet<&str> = of_machines
        .filter_map(|machine| machine.node.as_deref())
        .collect();
    let is_named = |node: &Node| {
        let name = &node.metadata.name;
        names.contains(name) || of_machines.contains(&**name)
    };
    let is_broken = |node: &Node| broken.contains(&node.metadata.name);
    let mut all: Vec<&Node> = cluster
        .all_nodes()
        .filter(|node| is_named(node) || is_broken(node) || node.metadata.created >= Some(since))
        .filter(|node| is_dns_name(&node.metadata.name, 253))
        .collect();
    all.sort_by_key(|node| {
        let created = Reverse(node.metadata.created);
        (
            !is_named(node),
            !is_broken(node),
            created,
            &node.metadata.name,
        )
    });
    let names = all.into_iter().take(MOST_NODES);
    names.map(|node| node.metadata.name.clone()).collect()
}

/// The pods of the ignition server of a hosted control plane.
fn ignition_pods(namespace: &str) -> Request {
    Request {
        name: format!("pods in {namespace}"),
        path: list("Pod", Some(namespace)) + "?labelSelector=app%3Dignition-server",
        api_version: "v1".to_owned(),
        kind: "Pod",
        namespace: Some(namespace.to_owned()),
        is_list: true,
    }
}

/// The pods whose logs say something here, at most so many of each: namespace, name and container.
fn pods(cluster: &Cluster) -> Vec<(String, String, &'static str)> {
    let servers = (cluster.servers.keys()).map(|pod| (MCO_NAMESPACE, pod, SERVER));
    let approvers = (cluster.approvers.iter()).map(|pod| (APPROVER_NAMESPACE, pod, APPROVER));
    let ignition = cluster.ignition_pods.iter();
    let ignition = ignition.map(|(namespace, pod)| (&**namespace, pod, IGNITION));
    let all = servers.take(MOST_PODS).chain(approvers.take(MOST_PODS));
    all.chain(ignition.take(MOST_PODS))
        .map(|(namespace, pod, container)| (namespace.to_owned(), pod.clone(), container))
        .collect()
}

/// Reads the pods' logs.
async fn logs(
    server: &Server,
    cluster: &mut Cluster,
    now: Moment,
    watch: Watch<'_>,
) -> Vec<Unread> {
    let mut forbidden = BTreeSet::new();
    for (namespace, pod, container) in pods(cluster) {
        // What is in memory can be read to its end.
        let _ = match fetch_text(server, &log_path(&namespace, &pod, container), watch).await {
            Ok(Some(log)) if container == SERVER => add_server(cluster, &pod, now, &log),
            Ok(Some(log)) if container == IGNITION => {
                cluster.add_ignition_log((&namespace, &pod), &mut &*log)
            }
            Ok(Some(log)) => cluster.add_approver_log(&mut &*log, now),
            Ok(None) => Ok(()),
            Err(why) => {
                forbidden.insert(why);
                Ok(())
            }
        };
    }
    let all = forbidden.into_iter();
    all.map(|why| Unread::new("pods/log", why)).collect()
}

fn add_server(cluster: &mut Cluster, name: &str, now: Moment, log: &[u8]) -> std::io::Result<()> {
    cluster.logs.add(name, &mut &*log, now)?;
    cluster.logs.read_now(name, None);
    let began = cluster.servers.get(name).copied().flatten();
    let lines = log.iter().filter(|byte| **byte == b'\n').count();
    if log.len() >= LOG_BYTES {
        let what = "its log is longer than the 2 MiB that were read".to_owned();
        cluster.logs.cut(name, what);
    } else if lines < LOG_LINES {
        // All of the day, or of the container: a server that nobody asks writes nothing.
        let day = now.minus(LOG_SECONDS);
        let begin = began.map_or(day, |began| began.max(day));
        cluster.logs.covers(name, begin);
    }
    Ok(())
}

/// The Nodes that are not Ready, by the table that `oc get nodes` shows: their metadata alone does
/// not say it, and a whole one has hundreds of kilobytes.
async fn not_ready(server: &Server, watch: Watch<'_>) -> Result<BTreeSet<String>, Trouble> {
    let mut names = BTreeSet::new();
    let mut next = String::new();
    for _ in 0..MOST_PAGES {
        let path = page(NODE_TABLE, 500, &next);
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
    let pod = one("Pod", Some(namespace), pod);
    format!(
        "{pod}/log?container={container}&timestamps=true\
         &sinceSeconds={LOG_SECONDS}&tailLines={LOG_LINES}&limitBytes={LOG_BYTES}"
    )
}
