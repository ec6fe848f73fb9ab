//! An API server over real TLS, with the logs of pods: `why` says there what it says of a gather, and
//! what it may not read.

use super::{DATA, STAGES, WAITS, json, only, run};
use crate::audit::served::{Served, serve};
use crate::support::apiserver::schema::Schema;
use crate::support::apiserver::{Lists, Options};
use serde_json::Value;
use skewguard_admin::cli::Exit;
use std::path::Path;

/// The objects and logs of a gather's folder.
fn read(folder: &Path, objects: &mut Vec<Value>, lists: &mut Lists) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, objects, lists);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        if path.extension().is_some_and(|end| end == "log") {
            let parts: Vec<&str> = path.iter().map(|part| part.to_str().unwrap()).collect();
            let at = parts.iter().position(|part| *part == "namespaces").unwrap();
            let pod = (parts[at + 1].to_owned(), parts[at + 3].to_owned());
            lists.logs.insert(pod, text);
            continue;
        }
        let object: Value = serde_saphyr::from_str(&text).unwrap();
        match object["items"].as_array() {
            Some(items) => objects.extend(items.iter().cloned()),
            None => objects.push(object),
        }
    }
}

fn served(case: &str, change: impl Fn(&mut Lists)) -> Served {
    let mut logs = Lists::default();
    let mut objects = Vec::new();
    for name in ["cluster", case] {
        read(
            Path::new(&format!("{DATA}/{name}")),
            &mut objects,
            &mut logs,
        );
    }
    // The newest of each name, as a server has one.
    objects.reverse();
    let mut seen = std::collections::BTreeSet::new();
    objects.retain(|object| {
        let metadata = &object["metadata"];
        seen.insert(format!(
            "{} {} {}",
            object["kind"], metadata["namespace"], metadata["name"]
        ))
    });
    let mut lists = Lists::of(objects);
    lists.logs = logs.logs;
    if lists
        .logs
        .keys()
        .any(|(namespace, _)| namespace.contains("approver"))
    {
        let pod = serde_json::json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "machine-approver-6f8d-x2x9p", "namespace": "openshift-cluster-machine-approver" } });
        lists.extend([pod]);
    }
    change(&mut lists);
    serve(lists, Options::default())
}

fn why(served: &Served, more: &[&str]) -> (String, String, Exit) {
    let kubeconfig = served.kubeconfig.to_str().unwrap();
    run(&[&["why", "--kubeconfig", kubeconfig], more].concat())
}

fn report(served: &Served, names: &[&str]) -> Value {
    let (out, err, exit) = why(served, &[names, &["-o", "json"]].concat());
    assert_eq!(exit, Exit::Done, "{err}");
    serde_json::from_str(&out).unwrap()
}

/// The time is another: what a gather says happened two hours ago is months ago now.
#[test]
fn what_is_served_is_at_the_stage_that_the_gather_says() {
    for (name, stage, _) in STAGES {
        let served = served(name, |_| {});
        // Of all Nodes only the metadata is read, and whole those that are not Ready, however old.
        let found = report(&served, &[]);
        let machine = only(&found);
        let wanted = json(&[&format!("{DATA}/cluster"), &format!("{DATA}/{name}")]);
        assert_eq!(found["unread"], serde_json::json!([]), "{name}");
        assert_eq!(machine["name"], only(&wanted)["name"], "{name}");
        // A log of months is more than the day that is read.
        assert_eq!(machine["stage"], stage, "{name}: {found:#}");
        assert_eq!(found["serverLog"]["servers"], 3, "{name}");
        let seen = served.server.seen();
        assert!(
            seen.iter()
                .all(|seen| seen.method == "GET" && seen.body == "")
        );
        let logs: Vec<&str> = seen
            .iter()
            .map(|seen| seen.path.as_str())
            .filter(|path| path.contains("/log?"))
            .collect();
        assert!(
            logs.iter().all(|path| path
                .ends_with("timestamps=true&sinceSeconds=86400&tailLines=8000&limitBytes=2097152")),
            "{logs:?}"
        );
        assert!(logs.len() >= 3);
    }
}

#[test]
fn what_may_not_be_read_is_said() {
    let served = served("no-request", |lists| {
        for plural in ["pods/log", "certificatesigningrequests", "secrets"] {
            lists.forbidden.insert(plural.to_owned());
        }
    });
    let found = report(&served, &[]);
    let machine = only(&found);
    assert_eq!(machine["stage"], "Unknown");
    assert_eq!(machine["isCertain"], false);
    let what: Vec<&str> = found["unread"]
        .as_array()
        .unwrap()
        .iter()
        .map(|unread| unread["what"].as_str().unwrap())
        .collect();
    assert_eq!(
        what,
        [
            "certificatesigningrequests.certificates.k8s.io",
            "secrets openshift-machine-api/worker-user-data, the user data",
            "pods/log",
        ]
    );
    let (text, ..) = why(&served, &[]);
    assert!(
        text.contains("not read: pods/log: 403: pods/log is forbidden"),
        "{text}"
    );
}

/// (group, resource, verb, name) that the roles allow, and the namespace of each; empty for all.
fn allowed() -> Vec<(String, String, String, String, String)> {
    let (yaml, err, exit) = run(&["render", "manifests", "--auditor", "--why"]);
    assert_eq!((err.as_str(), exit), ("", Exit::Done));
    // What comes with skewguard itself: the Events in its namespace.
    let reader = include_str!("../../../../dist/manifests/base/reader.yaml");
    let (_, reader) = reader.split_once("---\n").unwrap();
    let yaml = format!("{yaml}---\n{reader}");
    let texts = |value: &Value| -> Vec<String> {
        let all = value.as_array().cloned().unwrap_or_default();
        all.iter()
            .map(|text| text.as_str().unwrap().to_owned())
            .collect()
    };
    let mut all = Vec::new();
    for document in yaml.split("---\n") {
        let role: Value = serde_saphyr::from_str(document).unwrap();
        let kind = role["kind"].as_str().unwrap();
        let schema = Schema::of_kind(
            "apis_rbac.authorization.k8s.io_v1",
            &format!("io.k8s.api.rbac.v1.{kind}"),
        );
        assert_eq!(schema.errors(&role), Vec::<String>::new());
        let namespace = role["metadata"]["namespace"].as_str().unwrap_or_default();
        assert_eq!(namespace.is_empty(), kind == "ClusterRole");
        for rule in role["rules"].as_array().unwrap() {
            let names = match texts(&rule["resourceNames"]) {
                names if names.is_empty() => vec![String::new()],
                names => names,
            };
            for group in texts(&rule["apiGroups"]) {
                for resource in texts(&rule["resources"]) {
                    for verb in texts(&rule["verbs"]) {
                        assert!(verb == "get" || verb == "list", "{verb}");
                        all.extend(names.iter().map(|name| {
                            (
                                group.clone(),
                                resource.clone(),
                                verb.clone(),
                                name.clone(),
                                namespace.to_owned(),
                            )
                        }));
                    }
                }
            }
        }
    }
    all
}

/// What a server is really asked, discovery apart, and the Secrets of the standard pools.
#[test]
fn the_roles_have_what_is_asked_for() {
    let allowed = allowed();
    for name in ["no-request", "node-not-ready", "no-certificate"] {
        let served = served(name, |_| {});
        why(&served, &[WAITS]);
        for seen in served.server.seen() {
            let path = seen
                .path
                .split('?')
                .next()
                .unwrap()
                .trim_start_matches('/')
                .to_owned();
            let parts: Vec<&str> = path.split('/').collect();
            let (group, namespace, resource, verb, name) = match parts.as_slice() {
                ["api"] | ["apis", _] | ["apis", _, _] => continue,
                ["api", _, "namespaces", namespace, "pods", _, "log"] => {
                    ("", *namespace, "pods/log", "get", "")
                }
                ["api", _, "namespaces", namespace, resource, name] => {
                    ("", *namespace, *resource, "get", *name)
                }
                ["api", _, "namespaces", namespace, resource] => {
                    ("", *namespace, *resource, "list", "")
                }
                ["api", _, resource] => ("", "", *resource, "list", ""),
                ["api", _, resource, name] => ("", "", *resource, "get", *name),
                ["apis", group, _, resource] => (*group, "", *resource, "list", ""),
                ["apis", group, _, resource, name] => (*group, "", *resource, "get", *name),
                _ => panic!("{path}"),
            };
            let is_allowed = allowed.iter().any(|rule| {
                (rule.0.as_str(), rule.1.as_str(), rule.2.as_str()) == (group, resource, verb)
                    && (rule.3.is_empty() || rule.3 == name)
                    && (rule.4.is_empty() || rule.4 == namespace)
            });
            assert!(is_allowed, "{path}");
        }
    }
}

/// A hosted control plane's pods and logs, in its own namespace.
#[test]
fn the_ignition_servers_log_is_read_in_its_namespace() {
    let objects = super::hosted::management_cluster("True");
    let pod = serde_json::json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "ignition-server-6d9f7-x2x9p", "namespace": "clusters-guest", "labels": { "app": "ignition-server" } } });
    let mut lists = Lists::of(objects);
    lists.extend([pod]);
    let name = (
        "clusters-guest".to_owned(),
        "ignition-server-6d9f7-x2x9p".to_owned(),
    );
    let log = "2026-08-20T08:05:00.1Z 2026/08/20 08:05:00 User Agent: Ignition/2.20.0. Requested: /ignition\n2026-08-20T08:05:00.2Z 2026/08/20 08:05:00 Token not found\n";
    lists.logs.insert(name, log.to_owned());
    let served = serve(lists.clone(), Options::default());
    let found = report(&served, &[]);
    assert_eq!(only(&found)["stage"], "RequestRefused", "{found:#}");
    let asked = served.server.seen();
    assert!(asked.iter().any(|seen| seen.path.starts_with(
        "/api/v1/namespaces/clusters-guest/pods?labelSelector=app%3Dignition-server"
    )));
    lists.forbidden.insert("pods/log".to_owned());
    let found = report(&serve(lists, Options::default()), &[]);
    assert_eq!(only(&found)["stage"], "Unknown", "{found:#}");
    assert_eq!(found["unread"][0]["what"], "pods/log");
}
