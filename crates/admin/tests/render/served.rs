//! A policy that the Machine Config Server appends to its answers, as docs/dev/machine-config-server.md
//! has it: the whole answer, before and after, in tests/data/served.

use super::ignition::assert_fields_of_spec;
use super::{Desk, file, program, repository, unit_names};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::Command;

const CASES: [&str; 3] = ["wiring-a", "wiring-b", "hypershift"];

/// What the boot tier's stand-in for the server answers, with a stand-in for the agent: the same
/// units, and a program of 600 bytes.
fn made() -> Vec<(String, String)> {
    let desk = Desk::new();
    desk.file("embed", program(600));
    let (exit, out, err) =
        desk.line("machineconfig --role worker --policy policy.json --binary embed");
    assert_eq!(exit, 0, "{err}");
    let object: Value = serde_saphyr::from_str(&out).unwrap();
    let agent = desk.file("agent.json", object["spec"]["config"].to_string());
    let folder = desk.folder().join("served");
    std::fs::create_dir(&folder).unwrap();
    let output = Command::new(repository().join("tests/boot/served"))
        .args([&agent, &folder])
        .output()
        .expect("python3 starts");
    assert!(output.status.success(), "{output:?}");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// `SKEWGUARD_BLESS=1` writes them again.
#[test]
fn fixtures_are_what_is_served() {
    let folder = repository().join("tests/data/served");
    let made = made();
    assert_eq!(made.len(), 3 * CASES.len());
    for (name, text) in made {
        if std::env::var_os("SKEWGUARD_BLESS").is_some() {
            std::fs::write(folder.join(&name), &text).unwrap();
        }
        let kept = std::fs::read_to_string(folder.join(&name)).unwrap_or_default();
        assert!(kept == text, "tests/data/served/{name} differs");
    }
}

fn fixture(case: &str, which: &str) -> Value {
    let path = repository().join(format!("tests/data/served/{case}.{which}.json"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The answer for a client that asks for this spec, as the server converts it: after all is
/// appended.
fn converted(mut config: Value, spec: &str) -> Value {
    config["ignition"]["version"] = json!(spec);
    if spec == "2.2.0" {
        for file in config["storage"]["files"].as_array_mut().unwrap() {
            file["filesystem"] = json!("root");
        }
    }
    config
}

/// The answer gets a policy, an agent and four units, and everything else stays, in its order. No
/// path and no unit stands twice, and no spec that the server answers lacks a field.
#[test]
fn the_answer_has_six_entries_more_and_nothing_else_is_new() {
    for case in CASES {
        let (before, after) = (fixture(case, "before"), fixture(case, "after"));
        let mut files = after["storage"]["files"].as_array().unwrap().clone();
        let mut units = after["systemd"]["units"].as_array().unwrap().clone();
        let paths: BTreeSet<_> = files.iter().map(|file| file["path"].to_string()).collect();
        let names: BTreeSet<_> = units.iter().map(|unit| unit["name"].to_string()).collect();
        assert_eq!((paths.len(), names.len()), (files.len(), units.len()));
        files.retain(|file| !file["path"].as_str().unwrap().contains("/skewguard/"));
        units.retain(|unit| !unit["name"].as_str().unwrap().starts_with("skewguard"));
        assert_eq!(before["storage"]["files"], Value::from(files));
        assert_eq!(before["systemd"]["units"], Value::from(units));
        let all = after["storage"]["files"].as_array().unwrap().len();
        let kept = before["storage"]["files"].as_array().unwrap().len();
        assert_eq!(all - kept, 2);
        assert_eq!(unit_names(&after).len() - unit_names(&before).len(), 4);
        // No copy of the MachineConfig has them, so neither daemon nor controller sees them.
        for copy in [
            "/etc/mcs-machine-config-content.json",
            "/etc/ignition-machine-config-encapsulated.json",
        ] {
            assert_eq!(file(&before, copy), file(&after, copy));
            assert!(!file(&after, copy).to_string().contains("skewguard"));
        }
        let policy = fixture(case, "policy").to_string();
        assert!(skewguard_core::policy::parse(policy.as_bytes()).is_ok());
        for spec in ["2.2.0", "3.1.0", "3.2.0", "3.3.0", "3.4.0", "3.5.0"] {
            assert_fields_of_spec(&converted(after.clone(), spec), spec);
        }
    }
}
