//! The policy as served: every encoding that a config may carry it in, against the file on disk.

use crate::check::{check_json, copy_tree, tree};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};
use sha2::{Digest, Sha256, Sha512};
use std::fs;
use std::io::Write;
use std::path::Path;

const SERVED: &str = "/etc/mcs-machine-config-content.json";

fn policy(mode: &str) -> Vec<u8> {
    json!({"apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": mode,
        "limits": [{"minimumOCPVersion": "4.13.0"}]})
    .to_string()
    .into_bytes()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("in memory");
    encoder.finish().expect("in memory")
}

fn percent(bytes: &[u8]) -> String {
    percent_encoding::percent_encode(bytes, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// An old image whose config serves `contents` for the policy, in Ignition `spec`; `disk` is the
/// policy file on disk.
fn node(dir: &Path, spec: &str, contents: Value, disk: Option<&[u8]>) {
    copy_tree(&tree("rhcos-4.12-refused"), dir);
    let config = json!({"metadata": {"name": "rendered-worker-x"}, "spec": {"config": {"ignition": {"version": spec},
    "storage": {"files": [
        {"path": "/etc/other", "contents": {"source": "https://example.com/x", "compression": "xz"}},
        {"filesystem": "root", "path": "/etc/skewguard/policy.json", "mode": 420, "contents": contents},
        {"path": "/etc/empty", "contents": {"source": null}},
    ]}}}});
    fs::write(
        dir.join("etc/mcs-machine-config-content.json"),
        config.to_string(),
    )
    .expect("written");
    let path = dir.join("etc/skewguard/policy.json");
    match disk {
        Some(bytes) => fs::write(path, bytes).expect("written"),
        None => fs::remove_file(path).expect("removed"),
    }
}

fn judged(spec: &str, contents: Value, disk: Option<&[u8]>) -> Value {
    let dir = tempfile::tempdir().expect("tempdir");
    node(dir.path(), spec, contents, disk);
    check_json(dir.path(), &[]).1
}

#[test]
fn every_encoding_of_every_spec_yields_the_served_bytes() {
    let bytes = policy("Enforce");
    let sha512 = format!("sha512-{}", hex(&Sha512::digest(&bytes)));
    let sha256 = format!("sha256-{}", hex(&Sha256::digest(&bytes)));
    let encodings = [
        json!({"source": format!("data:,{}", percent(&bytes))}),
        json!({"source": format!("data:,{}", percent(&bytes)), "verification": {}}),
        json!({"source": format!("data:application/json;charset=utf-8;base64,{}", STANDARD.encode(&bytes)), "compression": ""}),
        json!({"source": format!("data:;base64,{}", STANDARD.encode(&bytes)), "verification": {"hash": sha512}}),
        json!({"source": format!("DATA:;BASE64,{}", STANDARD.encode(&bytes).replace('=', "%3D")), "verification": {"hash": sha256}}),
        json!({"source": format!("data:;base64,{}", STANDARD.encode(gzip(&bytes))), "compression": "gzip", "verification": {"hash": sha512}}),
        json!({"source": format!("data:,{}", percent(&gzip(&bytes))), "compression": "gzip"}),
    ];
    for spec in [
        "2.2.0",
        "3.0.0",
        "3.1.0",
        "3.2.0",
        "3.3.0",
        "3.4.0",
        "3.5.0",
        "3.6.0",
        "3.7.0-experimental",
    ] {
        for contents in &encodings {
            let verdict = judged(spec, contents.clone(), Some(&bytes));
            assert_eq!(verdict["verdict"], "Refused", "{spec} {contents}");
            assert_eq!(verdict["warnings"], json!([]), "{spec} {contents}");
            assert_eq!(verdict["policy"]["path"], "/etc/skewguard/policy.json");
            assert_eq!(
                verdict["policy"]["digest"],
                format!("sha256:{}", hex(&Sha256::digest(&bytes)))
            );
        }
    }
}

#[test]
fn the_served_policy_wins_over_the_one_on_disk() {
    let (enforce, none) = (policy("Enforce"), policy("None"));
    let served = json!({"source": format!("data:,{}", percent(&enforce))});
    let verdict = judged("3.2.0", served.clone(), Some(&none));
    assert_eq!(
        (&verdict["verdict"], &verdict["policy"]["path"]),
        (&json!("Refused"), &json!(SERVED))
    );
    assert_eq!(
        verdict["warnings"],
        json!([format!(
            "/etc/skewguard/policy.json: differs from the served policy (it has sha256:{}); the one in {SERVED} is used",
            hex(&Sha256::digest(&none))
        )])
    );
    let verdict = judged("3.2.0", served, None);
    assert_eq!(
        (&verdict["verdict"], &verdict["policy"]["path"]),
        (&json!("Refused"), &json!(SERVED))
    );
    assert_eq!(
        verdict["warnings"],
        json!([format!(
            "/etc/skewguard/policy.json: is missing; the one in {SERVED} is used"
        )])
    );
}

#[test]
fn a_served_policy_that_cannot_be_read_gives_way_to_nothing() {
    let bytes = policy("Enforce");
    let base64 = STANDARD.encode(&bytes);
    let bomb = STANDARD.encode(gzip(&vec![b' '; 64 << 20]));
    for (contents, want) in [
        (
            json!({"source": "https://example.com/policy.json"}),
            "carries the policy as another URL than a data URL",
        ),
        (
            json!({"source": "data:nocomma"}),
            "carries the policy in a data URL that does not decode: there is no comma",
        ),
        (
            json!({"source": "data:;base64,%%%"}),
            "carries the policy in a data URL that does not decode: it is not base64",
        ),
        (
            json!({"source": format!("data:;base64,{base64}"), "compression": "gzip"}),
            "does not decode: it is not gzip",
        ),
        (
            json!({"source": format!("data:;base64,{base64}"), "compression": "xz"}),
            "carries the policy in an unknown compression",
        ),
        (
            json!({"source": format!("data:;base64,{base64}"), "verification": {"hash": format!("sha512-{}", "0".repeat(128))}}),
            "carries a policy that does not match its verification hash",
        ),
        (
            json!({"source": format!("data:;base64,{base64}"), "verification": {"hash": "md5-00"}}),
            "carries the policy with a verification hash of unknown form",
        ),
        (
            json!({"source": format!("data:;base64,{bomb}"), "compression": "gzip"}),
            "carries a policy of more than 262144 bytes",
        ),
        (
            json!({"source": 7}),
            "is not a MachineConfig: a field has the wrong type, or is missing, at line 1 column",
        ),
    ] {
        for disk in [Some(&bytes[..]), None] {
            let verdict = judged("3.2.0", contents.clone(), disk);
            assert_eq!(state(&verdict), UNREADABLE, "{contents}");
            let warning = verdict["warnings"][0].as_str().expect("one warning");
            assert!(
                warning.starts_with(SERVED) && warning.contains(want),
                "{contents}: {warning}"
            );
            assert_eq!(verdict["message"], warning);
        }
    }
    // What is served holds secrets: no word of it is quoted.
    for secret in [
        json!("SECRETTOKEN123"),
        json!({"source": ["SECRETTOKEN123"]}),
    ] {
        let verdict = judged("3.2.0", secret, Some(&bytes));
        assert_eq!(state(&verdict), UNREADABLE);
        assert!(!verdict.to_string().contains("SECRET"), "{verdict}");
    }
    let dir = tempfile::tempdir().expect("tempdir");
    copy_tree(&tree("rhcos-4.12-refused"), dir.path());
    for text in [
        "\"token: SECRETTOKEN123\"",
        "{\"metadata\": \"SECRETTOKEN123\"}",
        "token: SECRETTOKEN123",
    ] {
        for file in [
            "ignition-machine-config-encapsulated.json",
            "mcs-machine-config-content.json",
        ] {
            fs::write(dir.path().join("etc").join(file), text).expect("written");
        }
        let verdict = check_json(dir.path(), &[]).1.to_string();
        assert!(
            verdict.contains("is not a MachineConfig") && !verdict.contains("SECRET"),
            "{verdict}"
        );
    }
    // One byte less of what served None, where the disk says Enforce.
    let dir = tempfile::tempdir().expect("tempdir");
    node(
        dir.path(),
        "3.2.0",
        json!({"source": format!("data:,{}", percent(&policy("None")))}),
        Some(&bytes),
    );
    let path = dir.path().join("etc/mcs-machine-config-content.json");
    let whole = fs::read(&path).expect("read");
    for cut in [1, whole.len() / 2, whole.len()] {
        fs::write(&path, &whole[..whole.len() - cut]).expect("written");
        assert_eq!(
            state(&check_json(dir.path(), &[]).1),
            UNREADABLE,
            "{cut} bytes less"
        );
    }
}

const UNREADABLE: [&str; 4] = ["Undetermined", "PolicyInvalid", "Proceed", SERVED];

fn state(verdict: &Value) -> [&str; 4] {
    [
        &verdict["verdict"],
        &verdict["reason"],
        &verdict["action"],
        &verdict["policy"]["path"],
    ]
    .map(|value| value.as_str().unwrap_or(""))
}

#[test]
fn an_empty_served_policy_is_invalid_and_never_blocks() {
    let verdict = judged("3.2.0", json!({"source": ""}), Some(&policy("Enforce")));
    assert_eq!(
        (&verdict["verdict"], &verdict["reason"], &verdict["action"]),
        (
            &json!("Undetermined"),
            &json!("PolicyInvalid"),
            &json!("Proceed")
        )
    );
}
