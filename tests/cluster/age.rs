//! Agents of different age on one node: an update between two boots, or in the middle of one, and
//! its rollback.
//!
//! `tests/age COMMIT` builds the agent of a commit and lets it and this one take each other's nodes
//! over, in both directions.

use crate::cluster::target::bootstrap;
use crate::support::apiserver::{ApiServer, Options};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The nodes, and the exit status of `check` and `enforce` on each.
const NODES: [(&str, i32); 3] = [
    ("rhcos-4.12-refused", 3),
    ("rhcos-4.12-warn", 0),
    ("rhcos-4.18-allowed", 0),
];

const CONFIG: &str = "etc/ignition-machine-config-encapsulated.json";
const STAMP: &str = "run/skewguard/refused";

/// Lays `from` over `to`, symlinks as they are. What comes later is newer: an agent's record is
/// younger than the config that Ignition wrote.
fn lay_over(from: &Path, to: &Path) {
    assert!(
        Command::new("cp")
            .args(["-dR", "--preserve=mode"])
            .arg("--remove-destination")
            .arg(from.join("."))
            .arg(to)
            .status()
            .unwrap()
            .success()
    );
}

struct Node {
    dir: tempfile::TempDir,
}

impl Node {
    /// A sample tree, as a machine of that name.
    fn new(tree: &str) -> Self {
        let node = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        let trees = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees");
        lay_over(&trees.join(tree), node.dir.path());
        node.write("etc/hostname", "worker-3\n");
        node.write("etc/machine-id", "0123456789abcdef0123456789abcdef\n");
        node.write(
            "proc/sys/kernel/random/boot_id",
            "7c1f6b1e-8f0a-4d5e-9d55-0a1b2c3d4e5f\n",
        );
        node
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn json(&self, path: &str) -> Value {
        serde_json::from_slice(
            &fs::read(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}")),
        )
        .unwrap()
    }

    /// Type and content of what a message may be on.
    fn console(&self) -> BTreeMap<&'static str, Option<Vec<u8>>> {
        let what = |path: &str| match fs::read_link(self.path(path)) {
            Ok(target) => Some(target.into_os_string().into_encoded_bytes()),
            Err(_) => fs::read(self.path(path)).ok(),
        };
        let paths = [
            "etc/issue",
            "etc/issue.d/skewguard.issue",
            "etc/issue.d/zz-skewguard.issue",
            "etc/issue.skewguard-saved",
            "etc/motd.d/skewguard",
            "var/lib/skewguard/issue.saved",
            STAMP,
            "run/systemd/system/kubelet.service.d/50-skewguard.conf",
        ];
        paths.into_iter().map(|path| (path, what(path))).collect()
    }

    fn reboot(&self) {
        fs::remove_dir_all(self.path("run")).unwrap();
        self.write(
            "proc/sys/kernel/random/boot_id",
            "0b1f6b1e-8f0a-4d5e-9d55-0a1b2c3d4e5f\n",
        );
    }
}

struct Agent(PathBuf);

impl Agent {
    fn ours() -> Self {
        Self(env!("CARGO_BIN_EXE_skewguard").into())
    }

    fn run(&self, node: &Node, args: &[&str]) -> Output {
        let (command, more) = args.split_first().unwrap();
        let mut program = Command::new(&self.0);
        program
            .arg(command)
            .arg("--root")
            .arg(node.dir.path())
            .args(more)
            .env_remove("JOURNAL_STREAM");
        program
            .output()
            .unwrap_or_else(|error| panic!("{}: {error}", self.0.display()))
    }

    /// Exit status, and what it said to stderr.
    fn code(&self, node: &Node, args: &[&str]) -> (Option<i32>, String) {
        let output = self.run(node, args);
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    }
}

/// An agent on the nodes that another one left, at every moment at which that can happen.
fn takes_over(
    agent: &Agent,
    tree: &str,
    code: i32,
    server: &ApiServer,
    left: &(impl Fn() -> Node + Sync),
    what: &str,
) {
    let before = Node::new(tree).console();
    let words = |node: &Node, path: &str| {
        ["verdict", "reason", "action"].map(|word| node.json(path)[word].clone())
    };

    // In the same boot in which the other agent decided.
    let node = left();
    let (status, said) = agent.code(&node, &["check"]);
    assert_eq!(status, Some(code), "{what}: check: {said}");
    let (decided, is_stamped) = (
        words(&node, "run/skewguard/verdict.json"),
        node.path(STAMP).exists(),
    );
    let (status, said) = agent.code(&node, &["enforce"]);
    assert_eq!(
        status,
        Some(code),
        "{what}: enforce in the same boot: {said}"
    );
    assert_eq!(
        (
            words(&node, "run/skewguard/verdict.json"),
            node.path(STAMP).exists()
        ),
        (decided.clone(), is_stamped),
        "{what}"
    );
    assert_eq!(
        agent.code(&node, &["allow"]),
        (Some(0), String::new()),
        "{what}: allow"
    );
    if code == 3 {
        assert_eq!(node.console(), before, "{what}: after allow");
    }

    // After a reboot, still in the first boot; then let through.
    let node = left();
    node.reboot();
    let (status, said) = agent.code(&node, &["enforce"]);
    assert_eq!(
        (status, node.path(STAMP).exists()),
        (Some(code), code == 3),
        "{what}: enforce after a reboot: {said}"
    );
    assert_eq!(
        words(&node, "run/skewguard/verdict.json"),
        decided,
        "{what}: after a reboot"
    );
    agent.code(&node, &["allow"]);
    if code == 3 {
        assert_eq!(node.console(), before, "{what}: after a reboot and allow");
    }

    // After the reboot into the new OS.
    let node = left();
    node.reboot();
    fs::rename(node.path(CONFIG), node.path(&format!("{CONFIG}.bak"))).unwrap();
    assert_eq!(
        agent.code(&node, &["enforce"]),
        (Some(0), String::new()),
        "{what}: once the first boot is over"
    );
    assert_eq!(
        node.console(),
        before,
        "{what}: once the first boot is over"
    );

    // What was delivered is known. A held node sends an Event every two hours.
    let node = left();
    if code == 3 {
        assert_eq!(
            node.json("var/lib/skewguard/report-state.json")["reports"]
                .as_array()
                .unwrap()
                .len(),
            1,
            "{what}"
        );
    }
    bootstrap_at(server, &node);
    let (status, said) = agent.code(&node, &["report", "--once"]);
    assert!(
        status == Some(0) && !said.contains("report delivered"),
        "{what}: nothing is told twice: {said}"
    );
}

fn bootstrap_at(server: &ApiServer, node: &Node) {
    let own = crate::cluster::node::Node::new("worker-3", crate::cluster::node::Over::Tls);
    bootstrap(server, &own);
    node.write(
        "etc/kubernetes/kubeconfig",
        &fs::read_to_string(own.path("etc/kubernetes/kubeconfig")).unwrap(),
    );
}

/// An agent on the nodes that another one left, all at once: each waits for a random part of a few
/// seconds before it reports.
fn takes_over_each(all: Vec<(String, Agent, &str, i32, PathBuf)>) {
    let server = ApiServer::start(Options::default());
    std::thread::scope(|scope| {
        for (what, agent, tree, code, left) in &all {
            let (server, what) = (&server, format!("{what}, {tree}"));
            scope.spawn(move || {
                let left = || {
                    let node = Node::new(tree);
                    lay_over(left, node.dir.path());
                    node
                };
                takes_over(agent, tree, *code, server, &left, &what);
            });
        }
    });
    let reports = server
        .seen()
        .into_iter()
        .filter(|seen| seen.path.ends_with("/bootimagereports"));
    assert_eq!(
        reports.map(|seen| seen.body).collect::<Vec<_>>(),
        [Value::Null; 0]
    );
}

/// Changes a JSON file.
fn edit(path: &Path, change: impl Fn(&mut Value)) {
    let mut value = serde_json::from_slice(
        &fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())),
    )
    .unwrap();
    change(&mut value);
    fs::write(path, serde_json::to_vec_pretty(&value).unwrap()).unwrap();
}

/// The same files as a later release may write them: another version of the group, more fields,
/// words that this agent does not know.
#[test]
fn what_a_later_agent_left_is_taken_over() {
    let later = tempfile::tempdir().unwrap();
    leave_each(&Agent::ours(), later.path());
    for (tree, _) in NODES {
        let node = later.path().join(tree).join("node");
        for path in [
            "run/skewguard/verdict.json",
            "var/lib/skewguard/verdict.json",
        ] {
            edit(&node.join(path), |verdict| {
                verdict["apiVersion"] = json!("skewguard.dev/v1");
                verdict["judged"] = json!("StagedDeployment");
                verdict["bootImage"]["scheme"] = json!("Calendar");
                verdict["bootImage"]["firmware"] = json!({ "vendor": "x" });
                verdict["findings"][0]["result"] = json!("Deferred");
                verdict["since"] = json!(["2030-01-01"]);
            });
        }
        edit(&node.join("etc/skewguard/boot-image.json"), |record| {
            record["apiVersion"] = json!("skewguard.dev/v1");
            record["firmware"] = json!([1, 2]);
        });
        let state = node.join("var/lib/skewguard/report-state.json");
        if state.exists() {
            edit(&state, |state| {
                state["apiVersion"] = json!("skewguard.dev/v1");
                state["machine"] = json!({ "name": "m-1" });
                state["reports"][0]["at"] = json!(1);
                state["event"]["count"] = json!(2);
            });
        }
        let saved = node.join("var/lib/skewguard/issue.saved");
        if saved.exists() {
            edit(&saved, |saved| {
                saved["label"] = json!("system_u:object_r:etc_t:s0")
            });
        }
    }
    let all = NODES.map(|(tree, code)| {
        (
            "later".to_owned(),
            Agent::ours(),
            tree,
            code,
            later.path().join(tree).join("node"),
        )
    });
    takes_over_each(all.into());
}

/// Of a later release's policy, what is known still counts. What is not known is a warning, and
/// never holds a node.
#[test]
fn a_policy_of_a_later_release_is_obeyed_as_far_as_it_is_known() {
    type Change = fn(&mut Value);
    let changes: [(Change, i32, Value, &[&str]); 3] = [
        (
            |policy| {
                policy["rollout"] = json!({ "percent": 10 });
                policy["limits"][0]["minimumFirmware"] = json!("1.2");
            },
            3,
            Value::Null,
            &["rollout", "minimumFirmware"],
        ),
        (
            |policy| policy["mode"] = json!("Quarantine"),
            0,
            json!("Mode"),
            &["Quarantine"],
        ),
        (
            |policy| policy["apiVersion"] = json!("skewguard.dev/v1"),
            0,
            json!("PolicyVersion"),
            &["skewguard.dev/v1"],
        ),
    ];
    for (change, code, let_through, words) in changes {
        let node = Node::new("rhcos-4.12-refused");
        fs::remove_file(node.path("etc/mcs-machine-config-content.json")).unwrap();
        edit(&node.path("etc/skewguard/policy.json"), change);
        let (status, said) = Agent::ours().code(&node, &["enforce"]);
        assert_eq!(
            (status, node.path(STAMP).exists()),
            (Some(code), code == 3),
            "{words:?}: {said}"
        );
        let verdict = node.json("run/skewguard/verdict.json");
        assert_eq!(
            (&verdict["verdict"], &verdict["letThrough"]),
            (&json!("Refused"), &let_through),
            "{words:?}"
        );
        for word in words {
            assert!(
                verdict["warnings"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|warning| warning.as_str().unwrap().contains(word)),
                "{verdict}"
            );
        }
    }
}

/// Run by `tests/age`, which names an earlier agent in `SKEWGUARD_TEST_EARLIER`.
#[test]
#[ignore = "needs an agent of an earlier commit: tests/age COMMIT"]
fn an_earlier_agent_and_this_one_take_each_others_nodes_over() {
    let earlier = std::env::var_os("SKEWGUARD_TEST_EARLIER")
        .expect("SKEWGUARD_TEST_EARLIER names an earlier agent");
    let dir = tempfile::tempdir().unwrap();
    let earlier = || Agent(earlier.clone().into());
    let older = dir.path().join("older");
    let newer = dir.path().join("newer");
    leave_each(&earlier(), &older);
    leave_each(&Agent::ours(), &newer);
    let both = [
        ("the earlier after this one", false),
        ("this one after the earlier", true),
    ]
    .into_iter()
    .flat_map(|(what, ours)| {
        let left = if ours { &older } else { &newer };
        NODES.map(|(tree, code)| {
            let agent = if ours { Agent::ours() } else { earlier() };
            (
                what.to_owned(),
                agent,
                tree,
                code,
                left.join(tree).join("node"),
            )
        })
    });
    takes_over_each(both.collect());
}

/// What an agent leaves on each node.
fn leave_each(agent: &Agent, to: &Path) {
    std::thread::scope(|scope| {
        for (tree, code) in NODES {
            scope.spawn(move || leave(agent, tree, code, &to.join(tree)));
        }
    });
}

fn leave(agent: &Agent, tree: &str, code: i32, to: &Path) {
    let server = ApiServer::start(Options::default());
    let node = Node::new(tree);
    let (status, said) = agent.code(&node, &["enforce"]);
    assert_eq!(status, Some(code), "{tree}: {said}");
    bootstrap_at(&server, &node);
    let (status, said) = agent.code(&node, &["report", "--once"]);
    assert_eq!(status, Some(0), "{tree}: {said}");
    fs::create_dir_all(to).unwrap();
    // Only what is not in the sample tree.
    let (tree, made) = (Node::new(tree), to.join("node"));
    fs::remove_file(node.path("etc/kubernetes/kubeconfig")).unwrap();
    let changed = "cd \"$1\" && find . ! -type d | while read -r f; do \
        if [ -h \"$f\" ] || [ -h \"$2/$f\" ]; then [ \"$(readlink \"$f\")\" = \"$(readlink \"$2/$f\")\" ]; else cmp -s \"$f\" \"$2/$f\"; fi || \
        { mkdir -p \"$3/${f%/*}\" && cp -a \"$f\" \"$3/$f\"; }; done";
    let done = Command::new("sh")
        .args(["-euc", changed, "sh"])
        .args([node.dir.path(), tree.dir.path(), &made])
        .status()
        .unwrap();
    assert!(done.success());
}
