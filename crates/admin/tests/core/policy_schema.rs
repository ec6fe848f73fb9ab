//! The JSON Schema: every good sample validates, what is wrong does not, and it locks no other
//! release out.

use crate::inside::core::policy_docs::examples;
use crate::inside::core::samples::{base, with};
use crate::lint::shape::SCHEMA;
use crate::lint::starter::STARTER;
use crate::policy::parse;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn schema() -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

/// The policies of all sample nodes.
fn of_sample_nodes(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("etc/skewguard/policy.json") {
            found.push(path);
        } else if path.is_dir() && !path.is_symlink() {
            of_sample_nodes(&path, found);
        }
    }
}

#[test]
fn every_sample_validates() {
    let mut samples = examples();
    samples.push(STARTER.clone());
    samples.push(std::fs::read_to_string("tests/data/lint/clean.json").unwrap());
    let schema = schema();
    for sample in samples {
        let errors: Vec<String> = schema
            .iter_errors(&serde_json::from_str(&sample).unwrap())
            .map(|error| error.to_string())
            .collect();
        assert_eq!(errors, [""; 0], "{sample}");
    }
}

#[test]
fn what_the_reading_refuses_does_not_validate_either() {
    let schema = schema();
    for field in ["apiVersion", "kind", "mode", "limits"] {
        let mut policy = base();
        policy.as_object_mut().unwrap().remove(field);
        assert!(
            !schema.is_valid(&policy) && parse(policy.to_string().as_bytes()).is_err(),
            "{field}"
        );
    }
    for (place, value) in [
        ("/apiVersion", json!("machineconfiguration.openshift.io/v1")),
        ("/kind", json!("MachineConfig")),
        ("/limits", json!({})),
        ("/apiVersion", json!(1)),
    ] {
        let policy = with(place, value);
        assert!(
            !schema.is_valid(&policy) && parse(policy.to_string().as_bytes()).is_err(),
            "{policy}"
        );
    }
    assert!(!schema.is_valid(&json!([])));
}

#[test]
fn what_the_reading_leaves_out_does_not_validate() {
    let schema = schema();
    for (place, value) in [
        ("/mode", json!(true)),
        ("/onUndetermined", json!(false)),
        ("/help", json!("Ask.")),
        ("/help", json!({ "text": 1 })),
        ("/limits", json!(["4.21"])),
        ("/limits/0/release", json!(4.21)),
        ("/limits/0/release", json!("4")),
        ("/limits/0/release", json!("4.x")),
        ("/limits/0/release", json!("4.021")),
        ("/limits/0/release", json!("v4.21.3")),
        ("/limits/0/pools", json!("worker")),
        ("/limits/0/minimumOCPVersion", json!("4")),
        ("/limits/0/minimumRHCOSVersion", json!("9")),
        ("/limits/0/minimumRHCOSVersion", json!(9.2)),
        ("/limits/0/maximumRHCOSVersion", json!("latest")),
        ("/limits/0/minimumFCOSVersion", json!("9.2")),
        ("/limits/0/minimumFCOSVersion", json!(39)),
        ("/limits/0/maximumFCOSVersion", json!("39.20231101")),
        ("/limits/0/minimumSCOSVersion", json!("9.2")),
        ("/limits/0/maximumSCOSVersion", json!("39.20231101.3.0")),
        ("/limits/0/maximumReleasesBehind", json!(-1)),
        ("/limits/0/maximumReleasesBehind", json!(65536)),
        ("/limits/0/rhelMajors", json!([])),
        ("/limits/0/rhelMajors", json!(["9"])),
        ("/limits/0/deniedVersions", json!(["417.94.2024*"])),
        ("/limits/0/deniedVersions", json!([{ "reason": "x" }])),
    ] {
        let policy = with(place, value);
        assert!(!schema.is_valid(&policy), "{policy}");
        assert!(
            !parse(policy.to_string().as_bytes())
                .unwrap()
                .warnings
                .is_empty(),
            "{policy}"
        );
    }
}

#[test]
fn other_releases_are_not_locked_out() {
    let schema = schema();
    for (place, value) in [
        ("/apiVersion", json!("skewguard.dev/v2")),
        ("/mode", json!("Audit")),
        ("/onUndetermined", json!("Hold")),
        ("/metadata", json!({})),
        ("/limits/0/platforms", json!(["aws"])),
        ("/help/phone", json!("+1 555")),
    ] {
        let mut policy = base();
        policy["help"] = json!({});
        let (parent, field) = place.rsplit_once('/').unwrap();
        let parent = if parent.is_empty() {
            &mut policy
        } else {
            policy.pointer_mut(parent).unwrap()
        };
        parent[field] = value;
        assert!(schema.is_valid(&policy), "{policy}");
    }
}

#[test]
fn the_policies_of_the_sample_nodes_validate() {
    let mut found = Vec::new();
    of_sample_nodes(Path::new("tests/trees"), &mut found);
    assert!(!found.is_empty());
    let schema = schema();
    for path in found {
        let text = std::fs::read_to_string(&path).unwrap();
        let errors: Vec<String> = schema
            .iter_errors(&serde_json::from_str(&text).unwrap())
            .map(|error| error.to_string())
            .collect();
        assert_eq!(errors, [""; 0], "{}", path.display());
    }
}
