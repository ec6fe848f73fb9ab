//! The JSON Schemas hold what is printed: each form validates, has no field that its schema does
//! not know, and fails with a wrong type.

use super::admin;
use crate::support::apiserver::{ADMIN_TOKEN, ApiServer, Lists, Options};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

fn run(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_skewguard"))
        .args(arguments)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// What admins run prints.
/// The same schema, but every object has only the fields that it names.
fn strict(schema: &mut Value) {
    if let Some(fields) = schema.as_object_mut() {
        fields.values_mut().for_each(strict);
        if fields.contains_key("properties") {
            fields.insert("additionalProperties".to_owned(), json!(false));
        }
    } else if let Some(items) = schema.as_array_mut() {
        items.iter_mut().for_each(strict);
    }
}

/// Asserts that each of these validates, and that the schema itself is one.
fn assert_holds(name: &str, printed: &[Value]) {
    let mut schema: Value = serde_json::from_str(&admin(&["schema", name])).unwrap();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    let open = jsonschema::draft202012::new(&schema).unwrap();
    strict(&mut schema);
    let strict = jsonschema::draft202012::new(&schema).unwrap();
    assert!(!printed.is_empty());
    for value in printed {
        let errors: Vec<String> = strict
            .iter_errors(value)
            .map(|error| format!("{} at {}", error, error.instance_path()))
            .collect();
        assert_eq!(errors, [""; 0], "schema {name}: {value:#}");
        let mut later = value.clone();
        later["aFieldOfALaterRelease"] = json!(1);
        assert!(open.is_valid(&later), "{name}: closed");
    }
    assert!(!open.is_valid(&json!({})), "{name}: takes anything");
}

fn trees() -> Vec<PathBuf> {
    let trees = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees"));
    let trees = trees.unwrap().map(|entry| entry.unwrap().path());
    trees.filter(|path| path.is_dir()).collect()
}

#[test]
fn verdicts_of_every_tree_validate() {
    let verdicts: Vec<Value> = trees()
        .iter()
        .map(|tree| run(&["check", "-o", "json", "--root", tree.to_str().unwrap()]))
        .map(|text| serde_json::from_str(&text).unwrap())
        .collect();
    assert_holds("verdict", &verdicts);
}

#[test]
fn status_before_held_and_let_through_validates() {
    let mut printed = vec![];
    for tree in trees() {
        let dir = tempfile::tempdir().unwrap();
        let (from, root) = (tree.join("."), dir.path().to_str().unwrap().to_owned());
        let copied = Command::new("cp").arg("-a").arg(from).arg(&root).status();
        assert!(copied.unwrap().success());
        for command in ["check", "enforce", "allow"] {
            run(&[command, "--root", &root]);
            let text = run(&["status", "-o", "json", "--root", &root]);
            printed.push(serde_json::from_str(&text).unwrap());
        }
    }
    assert_holds("status", &printed);
}

#[test]
fn inspected_versions_validate() {
    let table = std::fs::read_to_string("tests/data/boot-images.tsv").unwrap();
    let versions = table.lines().filter(|line| !line.starts_with('#'));
    let mut arguments = vec!["inspect", "-o", "json", "nonsense"];
    arguments.extend(versions.filter_map(|line| line.split('\t').next()));
    let lines = run(&arguments);
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_holds("inspect", &lines);
}

#[test]
fn lint_reports_validate() {
    let reports: Vec<Value> = crate::generated::docs::files(Path::new("tests/data/lint"), ".json")
        .iter()
        .map(|file| admin(&["policy", "lint", "-o", "json", file.to_str().unwrap()]))
        .map(|line| serde_json::from_str(&line).unwrap())
        .collect();
    assert_holds("lint", &reports);
}

#[test]
fn audits_of_every_platform_validate() {
    let audits: Vec<Value> =
        crate::generated::docs::files(Path::new("crates/admin/tests/audit/expected"), ".json")
            .iter()
            .map(|file| std::fs::read_to_string(file).unwrap())
            .map(|text| serde_json::from_str(&text).unwrap())
            .collect();
    assert_holds("audit", &audits);
}

/// Two clusters of the test API server, one that cannot be reached, and the changes since then.
#[test]
fn audits_of_several_clusters_validate() {
    let read = |name: &str| {
        let path = Path::new("crates/admin/tests/data/audit").join(name);
        let list: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        list["items"].as_array().unwrap().clone()
    };
    let servers = ["aws.json", "openstack.json"].map(|name| {
        ApiServer::start(Options {
            lists: Lists::of(read(name)),
            ..Options::default()
        })
    });
    let mut all = json!({ "apiVersion": "v1", "kind": "Config", "clusters": [], "contexts": [], "users": [] });
    let mut add = |name: &str, cluster: Value| {
        for (list, entry) in [
            ("clusters", json!({ "name": name, "cluster": cluster })),
            (
                "users",
                json!({ "name": name, "user": { "token": ADMIN_TOKEN } }),
            ),
            (
                "contexts",
                json!({ "name": name, "context": { "cluster": name, "user": name } }),
            ),
        ] {
            all[list].as_array_mut().unwrap().push(entry);
        }
    };
    add("gone", json!({ "server": "https://127.0.0.1:1" }));
    for (server, name) in servers.iter().zip(["a", "b"]) {
        let text = server.kubeconfig(&format!("token: {ADMIN_TOKEN}"));
        let one: Value = serde_saphyr::from_str(&text).unwrap();
        add(name, one["clusters"][0]["cluster"].clone());
    }
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("config"), all.to_string()).unwrap();
    let policy = "crates/admin/tests/data/audit/policy.json";
    let config = path("config");
    let run = |more: &[&str]| -> Value {
        let asked = [
            "audit",
            "-o",
            "json",
            "--policy",
            policy,
            "--kubeconfig",
            &config,
        ];
        let text = admin(&[&asked, more].concat());
        serde_json::from_str(&text).unwrap()
    };
    let then = run(&["--context", "b,gone"]);
    std::fs::write(path("then.json"), then.to_string()).unwrap();
    let now = run(&["--all-contexts", "--since", &path("then.json")]);
    assert_eq!(now["summary"]["notAudited"], 1);
    assert!(now["since"]["changes"].as_u64().unwrap() > 0, "{now}");
    assert_holds("audit-list", &[then, now]);
}

/// What is made of types says nothing of Rust, and leaves room for words of later releases.
#[test]
fn schemas_of_types_are_open() {
    for name in ["audit", "audit-list", "why"] {
        let text = admin(&["schema", name]);
        for rust in [
            "[`",
            "::",
            "null",
            "uint",
            "\"enum\"",
            "\"default\"",
            "readOnly",
        ] {
            assert!(!text.contains(rust), "{name}: {rust}");
        }
        let schema: Value = serde_json::from_str(&text).unwrap();
        for (type_, it) in schema["$defs"].as_object().unwrap() {
            let about = it["description"].as_str().unwrap();
            let is_open = about.contains("Later releases may add words.");
            assert_eq!(
                it["examples"].is_array(),
                is_open,
                "{name}: {type_}: {about}"
            );
        }
    }
}

#[test]
fn policy_schema_is_the_one_of_the_policy_command() {
    assert_eq!(admin(&["schema", "policy"]), admin(&["policy", "schema"]));
}
