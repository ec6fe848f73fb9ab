//! `oc skewguard why`, as a whole: on gathers of a cluster, one for each stage at which a machine can
//! stop, on what is broken, and (`live`) on an API server.

mod cases;
mod causes;
mod clouds;
mod gather;
mod hosted;
mod input;
mod joined;
mod live;
mod many;
mod others;
mod reading;
mod requests;
mod signs;
mod times;
mod told;

use crate::audit::run;
use crate::support::expected::assert_file;
use serde_json::Value;
use skewguard_admin::cli::Exit;
use std::path::{Path, PathBuf};

const DATA: &str = "tests/data/why";
/// The machine that is no Node.
const WAITS: &str = "c1-x7k2p-worker-us-east-2a-7qz4k";

/// The cases, each with its stage, and whether it is certain: what a node says of itself never is, nor
/// what nothing says.
const STAGES: [(&str, &str, bool); 8] = [
    ("no-instance", "NoInstance", true),
    ("no-request", "NoRequest", false),
    ("request-refused", "RequestRefused", true),
    ("first-boot", "FirstBoot", false),
    ("refused", "Refused", false),
    ("no-certificate", "NoCertificate", true),
    ("node-not-ready", "NodeNotReady", true),
    ("being-remade", "BeingRemade", false),
];

fn why(from: &[&str], more: &[&str]) -> (String, String, Exit) {
    run(&[&["why"], more, &["--from"], from].concat())
}

/// The gather of the cluster, and of the case beside it.
fn of_case(name: &str, more: &[&str]) -> (String, String, Exit) {
    why(
        &[&format!("{DATA}/cluster"), &format!("{DATA}/{name}")],
        more,
    )
}

fn json(from: &[&str]) -> Value {
    let (out, err, exit) = why(from, &["-o", "json"]);
    assert_eq!((err.as_str(), exit), ("", Exit::Done));
    serde_json::from_str(&out).unwrap()
}

/// The one machine that is explained.
fn only(report: &Value) -> &Value {
    let machines = report["machines"].as_array().unwrap();
    assert_eq!(machines.len(), 1, "{report:#}");
    &machines[0]
}

#[test]
fn each_stage_has_its_sentence() {
    for (name, stage, is_certain) in STAGES {
        let (text, err, exit) = of_case(name, &[]);
        assert_eq!((err.as_str(), exit), ("", Exit::Done), "{name}");
        assert_file(&format!("why/expected/{name}.txt"), &text);
        let report = json(&[&format!("{DATA}/cluster"), &format!("{DATA}/{name}")]);
        assert_eq!(only(&report)["stage"], stage, "{name}");
        assert_eq!(only(&report)["isCertain"], is_certain, "{name}");
        assert_eq!(only(&report)["proof"].is_object(), is_certain, "{name}");
        assert_eq!(only(&report)["unseen"].is_array(), !is_certain, "{name}");
    }
}

#[test]
fn where_nothing_can_be_known_it_says_by_what_it_could() {
    let from = format!("{DATA}/nothing-known");
    let (text, err, exit) = why(&[&from], &[]);
    assert_eq!((err.as_str(), exit), ("", Exit::Done));
    assert_file("why/expected/nothing-known.txt", &text);
    let report = json(&[&from]);
    let machine = only(&report);
    assert_eq!(machine["stage"], "Unknown");
    assert_eq!(machine["isCertain"], false);
    assert_eq!(machine["unseen"].as_array().unwrap().len(), 2);
}

#[test]
fn a_name_is_that_of_a_machine_its_node_or_both_with_a_namespace() {
    for name in [
        WAITS,
        &format!("openshift-machine-api/{WAITS}"),
        &format!("machine/{WAITS}"),
        "ip-10-0-16-37.ec2.internal",
    ] {
        let (text, err, exit) = of_case("node-not-ready", &[name]);
        assert_eq!((err.as_str(), exit), ("", Exit::Done), "{name}");
        assert!(
            text.starts_with(&format!("{WAITS} has joined, and its Node")),
            "{text}"
        );
    }
    let (_, err, exit) = of_case("node-not-ready", &["worker-99"]);
    assert_eq!(
        (err.as_str(), exit),
        (
            "skewguard: worker-99: there is no Machine, BareMetalHost, Agent or Node of that name\n",
            Exit::Failed
        )
    );
    let (text, ..) = of_case("node-not-ready", &["ip-10-0-16-20.ec2.internal"]);
    let joined = "has joined: its Node ip-10-0-16-20.ec2.internal\nis there and Ready.\n";
    assert!(text.contains(joined), "{text}");
}

/// What a health check deleted is in its Events for an hour.
#[test]
fn a_machine_that_is_gone_is_told_by_its_last_event() {
    let name = "c1-x7k2p-worker-us-east-2a-x9v4p";
    let (_, err, exit) = of_case("being-remade", &[name]);
    assert_eq!(exit, Exit::Failed);
    assert!(
        err.starts_with(&format!(
            "skewguard: {name}: there is no such Machine any more; the last Event about it is MachineDeleted, 2026-08-20T09:43:20Z: Machine openshift-machine-api/workers/{name}/ has been remediated"
        )),
        "{err}"
    );
}

#[test]
fn json_and_markdown_say_the_same() {
    let (out, ..) = of_case("refused", &["-o", "json"]);
    assert_file("why/expected/refused.json", &out);
    let (out, ..) = of_case("refused", &["-o", "markdown"]);
    assert_file("why/expected/refused.md", &out);
}

/// Each report validates, and has no field that its schema does not know.
#[test]
fn reports_validate_against_their_schema() {
    fn strict(schema: &mut Value) {
        if let Some(fields) = schema.as_object_mut() {
            fields.values_mut().for_each(strict);
            if fields.contains_key("properties") {
                fields.insert("additionalProperties".to_owned(), false.into());
            }
        } else if let Some(items) = schema.as_array_mut() {
            items.iter_mut().for_each(strict);
        }
    }
    let (out, ..) = run(&["schema", "why"]);
    let mut schema: Value = serde_json::from_str(&out).unwrap();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    strict(&mut schema);
    let schema = jsonschema::draft202012::new(&schema).unwrap();
    for (name, ..) in STAGES.into_iter().chain([("nothing-known", "", false)]) {
        let report = json(&[&format!("{DATA}/{name}")]);
        let errors: Vec<String> = schema
            .iter_errors(&report)
            .map(|error| format!("{error} at {}", error.instance_path()))
            .collect();
        assert_eq!(errors, [""; 0], "{name}");
    }
}

/// A copy of a case, to be changed.
struct Gather {
    dir: tempfile::TempDir,
}

impl Gather {
    fn of(name: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        copy(Path::new(&format!("{DATA}/{name}")), dir.path());
        Self { dir }
    }

    fn path(&self) -> &str {
        self.dir.path().to_str().unwrap()
    }

    fn logs(&self) -> Vec<PathBuf> {
        let pods = self
            .dir
            .path()
            .join("namespaces/openshift-machine-config-operator/pods");
        let mut all: Vec<PathBuf> = std::fs::read_dir(pods)
            .unwrap()
            .map(|pod| {
                let container = "machine-config-server/machine-config-server/logs/current.log";
                pod.unwrap().path().join(container)
            })
            .collect();
        all.sort();
        all
    }

    /// Changes each log.
    fn change(&self, change: impl Fn(usize, String) -> String) {
        for (n, path) in self.logs().iter().enumerate() {
            let text = std::fs::read_to_string(path).unwrap();
            std::fs::write(path, change(n, text)).unwrap();
        }
    }

    fn json(&self) -> Value {
        json(&[&format!("{DATA}/cluster"), self.path()])
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir_all(&to).unwrap();
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}
