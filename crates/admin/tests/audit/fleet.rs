//! `audit --context A,B` and `--all-contexts`: several clusters, each on an API server of its own over
//! real TLS; one that cannot be reached, one without rights, and contexts of the same cluster.

use super::served::{Served, fleet, serve};
use super::{POLICY, audit, fixture};
use crate::support::apiserver::{ADMIN_TOKEN, Lists, Options};
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A server with the objects of a file, which says of itself that it is this cluster.
pub(super) fn cluster(name: &str, id: &str) -> Served {
    cluster_with(name, id, None)
}

/// The same with one object more.
pub(super) fn cluster_with(name: &str, id: &str, more: Option<Value>) -> Served {
    let list: Value = serde_json::from_str(&fixture(name)).unwrap();
    let mut items = list["items"].as_array().unwrap().clone();
    items.retain(|item| item["kind"] != "ClusterVersion");
    items.push(json!({ "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": { "name": "version" },
        "spec": { "clusterID": id }, "status": { "desired": { "version": "4.21.3" } } }));
    items.extend(more);
    serve(Lists::of(items), Options::default())
}

/// A kubeconfig: contexts, each with the server that it is of and a token.
pub(super) fn kubeconfig(dir: &Path, contexts: &[(&str, &str, &Served, &str)]) -> PathBuf {
    let mut all = json!({ "apiVersion": "v1", "kind": "Config", "clusters": [], "contexts": [], "users": [] });
    for (context, cluster, served, token) in contexts {
        let text = std::fs::read_to_string(&served.kubeconfig).unwrap();
        let one: Value = serde_saphyr::from_str(&text).unwrap();
        let mut add = |list: &str, entry: Value| {
            let list = all[list].as_array_mut().unwrap();
            if !list.contains(&entry) {
                list.push(entry);
            }
        };
        add(
            "clusters",
            json!({ "name": cluster, "cluster": one["clusters"][0]["cluster"] }),
        );
        let user = format!("{cluster}-{token}");
        add("users", json!({ "name": user, "user": { "token": token } }));
        add(
            "contexts",
            json!({ "name": context, "context": { "cluster": cluster, "user": user, "namespace": context } }),
        );
    }
    let path = dir.join("config");
    std::fs::write(&path, all.to_string()).unwrap();
    path
}

/// Nothing listens there.
pub(super) fn with_a_dead_end(path: &Path) {
    let mut all: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let add = |list: &str, entry: Value, all: &mut Value| {
        all[list].as_array_mut().unwrap().push(entry);
    };
    add(
        "clusters",
        json!({ "name": "gone", "cluster": { "server": "https://127.0.0.1:1" } }),
        &mut all,
    );
    add(
        "users",
        json!({ "name": "gone", "user": { "token": "t" } }),
        &mut all,
    );
    add(
        "contexts",
        json!({ "name": "gone", "context": { "cluster": "gone", "user": "gone" } }),
        &mut all,
    );
    std::fs::write(path, all.to_string()).unwrap();
}

pub(super) fn run(kubeconfig: &Path, more: &[&str]) -> (String, String, Exit) {
    let args = [
        "--policy",
        POLICY,
        "--kubeconfig",
        kubeconfig.to_str().unwrap(),
    ];
    audit(&[&args, more].concat())
}

pub(super) fn list(kubeconfig: &Path, more: &[&str]) -> (Value, Exit) {
    let (out, err, exit) = run(kubeconfig, &[&["-o", "json"], more].concat());
    (
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}")),
        exit,
    )
}

fn rows(list: &Value) -> Vec<(String, String)> {
    let items = list["items"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    items
        .map(|item| (text(&item["context"]), text(&item["error"])))
        .collect()
}

#[test]
fn clusters_are_rows_whether_or_not_they_can_be_read() {
    let (old, good) = (
        cluster("aws.json", "id-old"),
        cluster("openstack.json", "id-good"),
    );
    let dir = tempfile::tempdir().unwrap();
    let config = kubeconfig(
        dir.path(),
        &[
            ("good", "good", &good, ADMIN_TOKEN),
            ("old", "old", &old, ADMIN_TOKEN),
            ("stranger", "old", &old, "not-one-of-ours"),
        ],
    );
    with_a_dead_end(&config);
    let (found, exit) = list(&config, &["--all-contexts"]);
    assert_eq!(exit, Exit::Failed);
    assert_eq!(found["kind"], "BootImageAuditList");
    let rows = rows(&found);
    let names: Vec<&str> = rows.iter().map(|(context, _)| context.as_str()).collect();
    assert_eq!(names, ["gone", "stranger", "old", "good"]);
    assert!(
        rows[0]
            .1
            .starts_with("https://127.0.0.1:1: connection refused"),
        "{rows:?}"
    );
    assert!(
        rows[1]
            .1
            .contains("401: the server does not accept the credentials"),
        "{rows:?}"
    );
    let of_old = &found["items"][2];
    assert_eq!(of_old["summary"], of_old["audit"]["summary"]);
    assert_eq!(of_old["audit"]["origin"]["context"], "old");
    let sums = |field: &str| -> u64 {
        let items = found["items"].as_array().unwrap().iter();
        items
            .filter_map(|item| item["summary"][field].as_u64())
            .sum()
    };
    for field in ["sets", "wouldBeRefused", "wouldBeAllowed", "undetermined"] {
        assert_eq!(found["summary"][field], sums(field), "{field}");
    }
    assert_eq!(
        (
            &found["summary"]["clusters"],
            &found["summary"]["notAudited"],
            &found["summary"]["withRefused"]
        ),
        (&json!(4), &json!(2), &json!(1))
    );
    // Each as it is alone.
    let (alone, alone_exit) = list(&config, &["--context", "good"]);
    assert_eq!(
        (&alone["sets"], alone_exit),
        (&found["items"][3]["audit"]["sets"], Exit::Done)
    );
    let (text, err, exit) = run(&config, &["--all-contexts"]);
    assert_eq!(exit, Exit::Failed);
    assert!(err.contains("skewguard: gone: connection refused"), "{err}");
    assert!(text.starts_with("Not ready to enforce: "), "{text}");
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "2 clusters were not audited",
        "CONTEXT RELEASE SETS REFUSED UNKNOWN ALLOWED OLDEST IMAGE",
        "gone - - - - - - not audited: https://127.0.0.1:1: connection refused",
        "old 4.21.3",
    ] {
        assert!(plain.contains(part), "{part}: {text}");
    }
    let (page, _, _) = run(&config, &["--all-contexts", "-o", "html"]);
    assert!(
        page.starts_with("<!DOCTYPE html>") && page.contains(">good</h2>"),
        "{page}"
    );
    let (wide, _, _) = run(&config, &["--all-contexts", "-o", "wide"]);
    assert!(
        wide.contains("== old") && wide.contains("== good"),
        "{wide}"
    );
}

#[test]
fn without_a_cluster_that_failed_the_sets_decide() {
    let (old, good) = (
        cluster("aws.json", "id-old"),
        cluster("openstack.json", "id-good"),
    );
    let dir = tempfile::tempdir().unwrap();
    let config = kubeconfig(
        dir.path(),
        &[
            ("good", "good", &good, ADMIN_TOKEN),
            ("old", "old", &old, ADMIN_TOKEN),
        ],
    );
    assert_eq!(list(&config, &["--context", "good,old"]).1, Exit::Refused);
    let (_, err, exit) = run(&config, &["--context", "good,olt"]);
    assert_eq!(exit, Exit::Failed);
    assert!(
        err.contains(": context olt: there is no such context; there are good, old"),
        "{err}"
    );
    let (_, _, exit) = run(&config, &["--all-contexts", "--from", "x"]);
    assert_eq!(exit, Exit::Usage);
}

/// `oc project` makes a context for each namespace, and `oc login` one for each user.
#[test]
fn contexts_of_one_cluster_are_one_row() {
    let served = cluster("openstack.json", "id-1");
    let dir = tempfile::tempdir().unwrap();
    let config = kubeconfig(
        dir.path(),
        &[
            ("default/api", "api", &served, ADMIN_TOKEN),
            ("other/api", "api", &served, ADMIN_TOKEN),
            ("int", "api-int", &served, ADMIN_TOKEN),
        ],
    );
    let (found, exit) = list(&config, &["--all-contexts"]);
    assert_eq!(exit, Exit::Done);
    assert_eq!(found["summary"]["clusters"], 1);
    assert_eq!(
        found["items"][0]["otherContexts"],
        json!(["other/api", "int"])
    );
    // What differs in its namespace alone is read once.
    let asked = served
        .server
        .seen()
        .iter()
        .filter(|seen| seen.path.contains("/machinesets"))
        .count();
    assert!(asked <= 4, "{asked}");
    // The same one twice is one.
    let (alone, _) = list(&config, &["--context", "int,int"]);
    assert_eq!(rows(&alone), [("int".to_owned(), String::new())]);
}

/// 40 clusters of 200 sets; the whole of a fleet is five times as many, and has 512 MiB.
/// `SKEWGUARD_BENCH_CLUSTERS` is another number, whose memory and connections are shown
/// (docs/dev/benchmarks.md).
#[test]
fn forty_clusters_fit_into_a_fifth_of_the_memory() {
    let bench = std::env::var("SKEWGUARD_BENCH_CLUSTERS").ok();
    let clusters: usize = bench.as_ref().map_or(40, |number| number.parse().unwrap());
    let served = serve(Lists::of(fleet(200, 200)), Options::default());
    let names: Vec<String> = (0..clusters).map(|n| format!("c{n}")).collect();
    let contexts: Vec<(&str, &str, &Served, &str)> = names
        .iter()
        .map(|name| (name.as_str(), name.as_str(), &served, ADMIN_TOKEN))
        .collect();
    let dir = tempfile::tempdir().unwrap();
    let config = kubeconfig(dir.path(), &contexts);
    let script = format!(
        "ulimit -d {} && exec $1 \"$0\" audit --policy {POLICY} --all-contexts -o $3 --kubeconfig \"$2\"",
        clusters * 512 * 1024 / 200
    );
    let run = |form: &str| {
        Command::new("sh")
            .args(["-c", &script])
            .arg(env!("CARGO_BIN_EXE_kubectl-skewguard"))
            .arg(bench.as_ref().map_or("", |_| "/usr/bin/time -v"))
            .arg(&config)
            .arg(form)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap()
    };
    if bench.is_some() {
        let html = run("html");
        eprintln!("html: {}", String::from_utf8_lossy(&html.stderr));
        assert_eq!(html.status.code(), Some(3));
    }
    let output = run("json");
    let err = String::from_utf8_lossy(&output.stderr);
    eprintln!("json: {err}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{err}"));
    assert_eq!(found["summary"]["clusters"], clusters);
    assert_eq!(found["summary"]["sets"], 200 * clusters);
}
