//! An API server over real TLS: the audit finds there what it finds in files, even while the server
//! is in trouble.

use super::{POLICY, audit, fixture};
use crate::support::apiserver::{ADMIN_TOKEN, ApiServer, Fault, Lists, Options, Validity};
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;
use skewguard_cluster::kinds::kind_table::KINDS;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

fn objects(name: &str) -> Vec<Value> {
    let list: Value = serde_json::from_str(&fixture(name)).unwrap();
    list["items"].as_array().unwrap().clone()
}

/// A server with these objects, and an administrator's kubeconfig for it.
pub(crate) struct Served {
    pub(crate) server: ApiServer,
    _dir: tempfile::TempDir,
    pub(crate) kubeconfig: PathBuf,
}

pub(crate) fn serve(lists: Lists, options: Options) -> Served {
    let server = ApiServer::start(Options { lists, ..options });
    let dir = tempfile::tempdir().unwrap();
    let kubeconfig = dir.path().join("config");
    std::fs::write(
        &kubeconfig,
        server.kubeconfig(&format!("token: {ADMIN_TOKEN}")),
    )
    .unwrap();
    Served {
        server,
        _dir: dir,
        kubeconfig,
    }
}

impl Served {
    fn audit(&self, more: &[&str]) -> (String, String, Exit) {
        audit(
            &[
                &[
                    "--policy",
                    POLICY,
                    "--kubeconfig",
                    self.kubeconfig.to_str().unwrap(),
                ],
                more,
            ]
            .concat(),
        )
    }

    fn json(&self) -> (Value, Exit) {
        let (out, err, exit) = self.audit(&["--output", "json"]);
        (
            serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}")),
            exit,
        )
    }
}

fn from_file(name: &str) -> Value {
    let file = format!("tests/data/audit/{name}");
    serde_json::from_str(&audit(&["--policy", POLICY, "--output", "json", "--from", &file]).0)
        .unwrap()
}

#[test]
fn what_is_served_is_what_files_say() {
    for name in [
        "aws.json",
        "metal.json",
        "cluster-api.json",
        "hypershift.json",
    ] {
        let served = serve(Lists::of(objects(name)), Options::default());
        let (mut found, exit) = served.json();
        let mut wanted = from_file(name);
        for audit in [&mut found, &mut wanted] {
            audit["oldest"]["usedBy"].take();
        }
        let origin = found.as_object_mut().unwrap().remove("origin").unwrap();
        wanted.as_object_mut().unwrap().remove("origin");
        assert_eq!(origin["server"], served.server.url(), "{name}");
        assert_eq!(origin["context"], "kubelet");
        assert_eq!((found, exit), (wanted, Exit::Refused), "{name}");
        let seen = served.server.seen();
        assert!(
            seen.iter()
                .all(|seen| seen.method == "GET" && seen.body == ""),
            "{name}: it only reads"
        );
    }
}

/// A NodePool's config is read where the account may, in its namespace alone; else it is said that it was not.
#[test]
fn the_config_of_a_node_pool_is_read() {
    let text = std::fs::read_to_string("tests/data/cases/nodepool-runc/runc.json").unwrap();
    let whole: Value = serde_json::from_str(&text).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let policy = dir.path().join("policy.json");
    let limits = json!([{ "release": "5.0", "minimumRHCOSVersion": "10.2" }]);
    let text = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce", "limits": limits });
    std::fs::write(&policy, text.to_string()).unwrap();
    let policy = policy.to_str().unwrap();
    let [mut pool, config] = [0, 1].map(|n| whole["items"][n].clone());
    pool["status"] = json!({ "version": "4.22.1" });
    let path = format!(
        "/api/v1/namespaces/{}/configmaps/{}",
        config["metadata"]["namespace"].as_str().unwrap(),
        config["metadata"]["name"].as_str().unwrap()
    );
    let unread = "ConfigMaps of spec.config were not read";
    let pinned = json!({ "name": "rhel-10" });
    for (has_config, is_forbidden, pin, verdict, says, reads) in [
        (
            true,
            false,
            Value::Null,
            "Refused",
            "asks for runc, which falls back to rhel-9",
            true,
        ),
        (true, true, Value::Null, "Undetermined", unread, true),
        (false, false, Value::Null, "Undetermined", unread, true),
        (true, false, pinned, "Allowed", "", false),
    ] {
        let mut pool = pool.clone();
        pool["spec"]["osImageStream"] = pin;
        let mut lists = Lists::of([pool].into_iter().chain(has_config.then(|| config.clone())));
        if is_forbidden {
            lists.forbidden.insert("configmaps".to_owned());
        }
        let served = serve(lists, Options::default());
        let config = served.kubeconfig.to_str().unwrap();
        let args = [
            "--policy",
            policy,
            "--kubeconfig",
            config,
            "--target",
            "5.0",
            "-o",
            "json",
        ];
        let (out, err, _) = audit(&args);
        let found: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
        let set = &found["sets"][0];
        assert_eq!(set["verdict"], verdict, "{set}");
        assert!(set["notes"].to_string().contains(says), "{set}");
        let seen = served.server.seen();
        let mut asked = seen
            .iter()
            .filter(|seen| seen.path.contains("/configmaps/"));
        let of_pool = asked.clone().filter(|seen| seen.path == path).count();
        assert_eq!(of_pool > 0, reads);
        assert!(asked.all(|seen| seen.path == path || seen.path.ends_with("/coreos-bootimages")));
    }
}

/// A name in a NodePool is no path, and many are not all asked for.
#[test]
fn the_configs_of_node_pools_are_bounded() {
    let text = std::fs::read_to_string("tests/data/cases/nodepool-runc/runc.json").unwrap();
    let whole: Value = serde_json::from_str(&text).unwrap();
    let mut pool = whole["items"][0].clone();
    let names = (0..500).map(|n| json!({ "name": format!("c-{n}") }));
    let wrong = ["../../secrets/x", "a b", "", "A"].map(|name| json!({ "name": name }));
    pool["spec"]["config"] = json!(wrong.into_iter().chain(names).collect::<Vec<_>>());
    let served = serve(Lists::of([pool]), Options::default());
    served.json();
    let seen = served.server.seen();
    let asked: Vec<_> = seen
        .iter()
        .filter(|seen| seen.path.contains("/configmaps/c-"))
        .collect();
    assert_eq!(asked.len(), 50);
    assert!(seen.iter().all(|seen| !seen.path.contains("secrets/x")));
}

/// The paths that are asked for where there is something of every kind.
pub(crate) fn requests_of_every_kind() -> Vec<String> {
    let names = [
        "aws.json",
        "metal.json",
        "cluster-api.json",
        "hypershift.json",
    ];
    let served = serve(
        Lists::of(names.into_iter().flat_map(objects)),
        Options::default(),
    );
    assert_eq!(served.json().1, Exit::Refused);
    served
        .server
        .seen()
        .into_iter()
        .map(|seen| seen.path)
        .collect()
}

/// Half of the requests fail, each answer takes its time, and a list expires: the result is the
/// same.
#[test]
fn a_server_in_trouble_is_asked_again() {
    let many = || Lists::of(fleet(700, 10));
    let json = |served: &Served| {
        let (mut audit, exit) = served.json();
        audit.as_object_mut().unwrap().remove("origin");
        (audit, exit)
    };
    let wanted = json(&serve(many(), Options::default()));
    assert_eq!(wanted.0["summary"]["sets"], 10);
    let broken = Options {
        half_broken: true,
        delay: Duration::from_millis(20),
        ..Options::default()
    };
    assert_eq!(json(&serve(many(), broken)), wanted);
    let mut expiring = many();
    expiring.expires = [("nodes".to_owned(), true), ("machines".to_owned(), true)].into();
    let served = serve(expiring, Options::default());
    assert_eq!(json(&served), wanted);
    assert_eq!(
        served
            .server
            .seen()
            .iter()
            .filter(|seen| seen.status == 410)
            .count(),
        2
    );
}

#[test]
fn a_list_that_expires_for_good_is_named() {
    let mut lists = Lists::of(fleet(700, 10));
    lists.expires = [("machines".to_owned(), false)].into();
    let (audit, _) = serve(lists, Options::default()).json();
    let unread = json!({ "what": "machines.machine.openshift.io", "why": "the list expired while it was read: try again", "hidesSets": true });
    assert_eq!(audit["unread"], json!([unread]));
}

#[test]
fn what_may_not_be_read_is_named_and_the_rest_is_read() {
    let mut lists = Lists::of(objects("openstack.json"));
    lists.forbidden = [
        "baremetalhosts",
        "machineconfigurations",
        "bootimagereports",
    ]
    .map(str::to_owned)
    .into();
    let (out, err, exit) = serve(lists.clone(), Options::default()).audit(&[]);
    assert_eq!(
        (err.as_str(), exit),
        ("", Exit::Failed),
        "bare metal hosts may hide sets"
    );
    assert!(out.contains("\nallowed  MachineSet/c1-worker  "), "{out}");
    let plain = out.split_whitespace().collect::<Vec<_>>().join(" ");
    for line in [
        "not read: machineconfigurations.operator.openshift.io: 403: machineconfigurations is forbidden",
        "not read: baremetalhosts.metal3.io: 403: baremetalhosts is forbidden: User \"auditor\" cannot list resource \"baremetalhosts\" at the cluster scope; sets may be missing",
        "not read: bootimagereports.skewguard.dev: 403",
    ] {
        assert!(plain.contains(line), "{line}: {out}");
    }
    lists.forbidden.remove("baremetalhosts");
    assert_eq!(
        serve(lists, Options::default()).json().1,
        Exit::Done,
        "the others hide none"
    );
}

/// Without the right to user data its Ignition version is an estimate, and that is said.
#[test]
fn user_data_that_may_not_be_read_is_named_as_an_estimate() {
    let file = "tests/data/cases/user-data-of-spec-2/objects.json";
    let list: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let items = list["items"].as_array().unwrap();
    let lists = || Lists::of(items.clone());
    let (audit, _) = serve(lists(), Options::default()).json();
    assert_eq!(audit["unread"], json!([]));
    let set = |audit: &Value| audit["sets"][0]["effects"].to_string();
    assert!(set(&audit).contains("is of Ignition spec 2"), "{audit}");
    let mut forbidden = lists();
    forbidden.forbidden = ["secrets".to_owned()].into();
    let served = serve(forbidden, Options::default());
    let (audit, _) = served.json();
    assert!(
        set(&audit).contains("is most likely of Ignition spec 2"),
        "{audit}"
    );
    let why = "403: secrets is forbidden: User \"auditor\" cannot list resource \"secrets\" at the cluster scope; the Ignition version of the \
               user data is then an estimate, by the release that the cluster was installed as";
    let unread = ["worker-user-data", "master-user-data"];
    let unread = unread
        .map(|name| json!({ "what": format!("Secret {name}"), "why": why, "hidesSets": false }));
    assert_eq!(audit["unread"], json!(unread));
    let (out, _, exit) = served.audit(&[]);
    assert_eq!(exit, Exit::Refused);
    let said = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains(&format!("not read: Secret worker-user-data: {why}")),
        "{out}"
    );
}

/// One sentence, and the role that is missing.
#[test]
fn an_account_that_may_read_nothing_is_told_so_once() {
    let mut lists = Lists::of(Vec::new());
    let asked = KINDS.iter().filter(|kind| kind.is_asked_for());
    let plurals = asked.map(|kind| kind.plural.to_owned());
    lists.forbidden = plurals.collect();
    let served = serve(lists, Options::default());
    let (out, err, exit) = served.audit(&[]);
    assert_eq!((out.as_str(), exit), ("", Exit::Failed));
    let wanted = "this account may read nothing that the audit reads: 403: clusterversions is forbidden: User \"auditor\" cannot list \
                  resource \"clusterversions\" at the cluster scope; `oc skewguard render manifests --auditor` prints the ClusterRole that it \
                  lacks\n";
    assert!(err.ends_with(wanted) && err.lines().count() == 1, "{err}");
}

/// It is told at once, and the rest is not tried as often.
#[test]
fn a_server_that_only_fails_is_given_up_soon() {
    let served = serve(
        Lists::of(objects("aws.json")),
        Options {
            faults: vec![Fault::Page(500); 1000],
            ..Options::default()
        },
    );
    let began = std::time::Instant::now();
    let (out, err, exit) = served.audit(&[]);
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!((out.as_str(), exit), ("", Exit::Failed));
    assert!(
        err.starts_with(
            "skewguard: 500; the response is not from a Kubernetes API server; trying again\n"
        ),
        "{err}"
    );
    assert_eq!(err.matches("trying again").count(), 1, "{err}");
    assert!(served.server.seen().len() < 40);
}

#[test]
fn a_request_takes_no_longer_than_it_may() {
    let served = serve(
        Lists::of(objects("aws.json")),
        Options {
            faults: vec![Fault::Hang; 1000],
            ..Options::default()
        },
    );
    let began = std::time::Instant::now();
    let (_, err, exit) = served.audit(&["--request-timeout", "200ms"]);
    assert!(began.elapsed() < Duration::from_secs(20));
    assert!(
        exit == Exit::Failed && err.contains("no answer in time"),
        "{err}"
    );
    let (_, err, exit) = served.audit(&["--request-timeout", "0"]);
    assert!(
        exit == Exit::Usage && err.contains("greater than zero"),
        "{err}"
    );
}

#[test]
fn a_server_that_cannot_be_asked_is_an_error() {
    let lists = || Lists::of(objects("aws.json"));
    let served = serve(
        lists(),
        Options {
            validity: Validity::UnknownCa,
            ..Options::default()
        },
    );
    let (out, err, exit) = served.audit(&[]);
    assert_eq!((out.as_str(), exit), ("", Exit::Failed));
    assert!(
        err.contains("is not signed by the CA in the kubeconfig"),
        "{err}"
    );
    let served = serve(lists(), Options::default());
    std::fs::write(
        &served.kubeconfig,
        served.server.kubeconfig("token: not-one-of-ours"),
    )
    .unwrap();
    let (_, err, exit) = served.audit(&[]);
    assert_eq!(
        (err, exit),
        (
            format!(
                "skewguard: {}: 401: the server does not accept the credentials of the kubeconfig\n",
                served.server.url()
            ),
            Exit::Failed
        )
    );
    // An answer that is too large, and one that is no JSON.
    for fault in [Fault::Huge, Fault::Page(200)] {
        let served = serve(
            lists(),
            Options {
                faults: vec![fault],
                ..Options::default()
            },
        );
        let (out, err, exit) = served.audit(&[]);
        assert!(
            exit == Exit::Failed || out.contains("not read: clusterversions.config.openshift.io: "),
            "{out}{err}"
        );
    }
}

/// Machines, nodes and sets of a large cluster; every node has the size of a real one.
pub(crate) fn fleet(nodes: usize, sets: usize) -> Vec<Value> {
    let spec = |set: usize| json!({ "kind": "AWSMachineProviderConfig", "ami": { "id": format!("ami-{set:017}") }, "userDataSecret": { "name": "worker-user-data" } });
    let managed: Vec<Value> = (0..5).map(|n| json!({ "manager": format!("m{n}"), "operation": "Update", "fieldsV1": { "f:metadata": { "f:labels": { "x".repeat(100): {} } } } })).collect();
    let mut all = Vec::new();
    for set in 0..sets {
        all.push(json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
            "metadata": { "name": format!("s{set}"), "namespace": "openshift-machine-api", "managedFields": managed },
            "spec": { "replicas": nodes / sets, "template": { "spec": { "providerSpec": { "value": spec(set) } } } } }));
    }
    for node in 0..nodes {
        let set = node % sets;
        let owner = json!([{ "kind": "MachineSet", "name": format!("s{set}") }]);
        all.push(json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": { "name": format!("m{node}"), "namespace": "openshift-machine-api", "ownerReferences": owner, "managedFields": managed },
            "spec": { "providerSpec": { "value": spec(set) } },
            "status": { "nodeRef": { "name": format!("n{node}") }, "addresses": [{ "type": "InternalIP", "address": format!("10.0.{}.{}", node / 250, node % 250) }] } }));
        let version = if set.is_multiple_of(3) {
            "412.86.202301311551-0"
        } else {
            "418.94.202501221327-0"
        };
        all.push(json!({ "apiVersion": "v1", "kind": "Node",
            "metadata": { "name": format!("n{node}"), "labels": { "skewguard.dev/boot-image": version }, "annotations": { "x": "y".repeat(4096) }, "managedFields": managed },
            "status": { "images": (0..10).map(|n| json!({ "names": ["x".repeat(150)], "sizeBytes": n })).collect::<Vec<_>>() } }));
    }
    all
}

/// The kernel gives the program no more than 64 MiB of memory of its own (setrlimit(2),
/// `RLIMIT_DATA`). `SKEWGUARD_BENCH_NODES` is another number of nodes, 25 of each set, whose time and
/// memory are shown (docs/dev/benchmarks.md).
#[test]
fn five_thousand_nodes_fit_into_64_mib() {
    if let Ok(nodes) = std::env::var("SKEWGUARD_BENCH_NODES") {
        let nodes: usize = nodes.parse().unwrap();
        let served = serve(Lists::of(fleet(nodes, nodes / 25)), Options::default());
        for command in [&["audit", "--policy", POLICY][..], &["why"]] {
            let output = Command::new("/usr/bin/time")
                .arg("-v")
                .arg(env!("CARGO_BIN_EXE_kubectl-skewguard"))
                .args(command)
                .args(["--output", "json", "--kubeconfig"])
                .arg(&served.kubeconfig)
                .current_dir(env!("CARGO_MANIFEST_DIR"))
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            eprintln!("{nodes}, {command:?}: {said}");
        }
        return;
    }
    let served = serve(Lists::of(fleet(5000, 200)), Options::default());
    let run = |kib: u32| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -d {kib} && exec \"$0\" audit --policy {POLICY} --output json --kubeconfig \"$1\"")]);
        command
            .arg(env!("CARGO_BIN_EXE_kubectl-skewguard"))
            .arg(&served.kubeconfig)
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
            .output()
            .unwrap()
    };
    let output = run(64 * 1024);
    let audit: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(
        audit["summary"],
        json!({ "sets": 200, "wouldBeRefused": 67, "wouldBeAllowed": 133, "undetermined": 0, "wholeSets": { "sets": 200, "wouldBeRefused": 67, "wouldBeAllowed": 133, "undetermined": 0 } })
    );
    assert_eq!(
        audit["sets"][0]["nodes"],
        json!([{ "version": "412.86.202301311551-0", "count": 25 }])
    );
    // The limit works: with too little memory the program ends.
    assert!(!run(1024).status.success());
}
