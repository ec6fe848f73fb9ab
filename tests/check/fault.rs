//! Whose fault it is where nothing can be decided: under `onUndetermined: Refuse` an image that
//! cannot be judged is held, and what the policy, the agent or the machine lacks is not.

use super::{check_json, copy_tree, tree};
use serde_json::{Value, json};
use std::path::Path;

/// Decides about a tree by these limits, enforced.
fn judged(root: &Path, limits: &Value, issues: &Value) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("policy.json");
    let policy = json!({
        "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce",
        "onUndetermined": "Refuse", "limits": limits, "knownIssues": issues,
    });
    std::fs::write(&path, policy.to_string()).unwrap();
    check_json(root, &["--policy", path.to_str().unwrap()]).1
}

/// A tree whose boot image has this version and which is to run this release.
fn with(name: &str, version: &str, release: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    copy_tree(&tree(name), dir.path());
    let aleph = dir.path().join("sysroot/.coreos-aleph-version.json");
    std::fs::write(aleph, json!({ "version": version }).to_string()).unwrap();
    // The booted deployment is the boot image's.
    let release_file = dir.path().join("usr/lib/os-release");
    let text = std::fs::read_to_string(&release_file).unwrap();
    let kept = text.lines().filter(|line| !line.contains("VERSION="));
    let text: Vec<&str> = kept.collect();
    let own = format!("{}\nOSTREE_VERSION='{version}'\n", text.join("\n"));
    std::fs::write(release_file, own).unwrap();
    let config = dir
        .path()
        .join("etc/ignition-machine-config-encapsulated.json");
    let mut target: Value = serde_json::from_slice(&std::fs::read(&config).unwrap()).unwrap();
    target["metadata"]["annotations"]["machineconfiguration.openshift.io/release-image-version"] =
        json!(release);
    std::fs::write(config, target.to_string()).unwrap();
    dir
}

/// `tests/data/cases/undetermined.md`, row by row.
#[test]
fn what_no_image_can_mend_is_let_in_and_named() {
    let fine = tree("rhcos-4.18-allowed");
    let scos = with(
        "scos-9-minor-unknown",
        "9.0.20250827-0",
        "4.20.0-okd-scos.3",
    );
    let rhcos = with(
        "rhcos-4.18-allowed",
        "416.94.202406251923-0",
        "4.17.0-okd-scos.0",
    );
    let understands =
        "the policy's limit has a rule that this agent does not understand: minimumOCPVersion";
    for (root, limits, wanted) in [
        (
            fine.as_path(),
            json!([{ "minimumFooVersion": "1.0" }]),
            "the policy's limit has a rule that this agent does not know: limits[0].minimumFooVersion",
        ),
        (&fine, json!([{ "minimumOCPVersion": 4.13 }]), understands),
        (&fine, json!([{ "minimumOCPVersion": "four" }]), understands),
        (
            &fine,
            json!([{ "minimumOCPVersion": null }]),
            "the policy's limit has a rule that is null: minimumOCPVersion",
        ),
        (&fine, json!([{}]), "the limit for this node has no rules"),
        (
            &fine,
            json!([{ "deniedVersions": ["x y"] }]),
            "the policy's limit has a rule that this agent does not understand: deniedVersions",
        ),
        (
            &fine,
            json!([{ "when": { "moon": "full" }, "minimumOCPVersion": "4.19.0" }]),
            "limits[0] may be the limit for this node: its when is not understood",
        ),
        (
            scos.path(),
            json!([{ "minimumFCOSVersion": "39" }]),
            "the limit has no rule for SCOS images",
        ),
        // All images of SCOS 9 are 9.0.
        (
            scos.path(),
            json!([{ "minimumOCPVersion": "4.13.0", "minimumRHCOSVersion": "9.2" }]),
            "the limit has no rule for SCOS images",
        ),
        (
            &fine,
            json!([{ "pools": null, "minimumOCPVersion": "4.20.0" }]),
            "limits[0] may be the limit for this node: its pools are not understood",
        ),
        // No other limit is used in place of one whose words a newer agent may know.
        (
            &fine,
            json!([{ "pools": ["!infra"], "deniedVersions": [] }, { "minimumOCPVersion": "4.20.0" }]),
            "limits[0] may be the limit for this node: its pools are not understood",
        ),
        (
            &fine,
            json!([{ "when": { "platforms": ["az*"] }, "deniedVersions": [] }, { "minimumOCPVersion": "4.20.0" }]),
            "limits[0] may be the limit for this node: its when is not understood",
        ),
        (
            rhcos.path(),
            json!([{ "minimumSCOSVersion": "9" }]),
            "416.94.202406251923-0 is RHCOS, and this cluster is OKD: the limit has no rule for RHCOS images",
        ),
        (
            &fine,
            json!([{ "minimumCPU": { "ppc64le": "power9", "s390x": "z14" } }]),
            "the machine's architecture is unknown",
        ),
        (
            &fine,
            json!([{ "minimumShim": "15.8-3" }]),
            "it is unknown whether Secure Boot is on",
        ),
    ] {
        let verdict = judged(root, &limits, &json!([]));
        assert_eq!(
            (&verdict["verdict"], &verdict["action"], &verdict["message"]),
            (&json!("Undetermined"), &json!("Proceed"), &json!(wanted)),
            "{limits}"
        );
    }
}

/// It is named as what it is, also where another rule decides.
#[test]
fn a_null_is_called_null() {
    let fine = tree("rhcos-4.18-allowed");
    for (limit, warning) in [
        (
            json!({ "when": { "platforms": null }, "minimumOCPVersion": "4.13.0" }),
            "limits[0].when.platforms is null; nodes that the limit may be for are not judged",
        ),
        (
            json!({ "minimumOCPVersion": null, "minimumRHCOSVersion": "9.2" }),
            "limits[0].minimumOCPVersion is null; the rule is not evaluated",
        ),
    ] {
        let verdict = judged(&fine, &json!([limit]), &json!([]));
        assert_eq!(verdict["warnings"][0], json!(warning), "{verdict}");
        assert_eq!(verdict["action"], json!("Proceed"), "{verdict}");
    }
}

#[test]
fn an_image_that_cannot_be_judged_is_held() {
    for (version, limit, reason) in [
        (
            "moon",
            json!({ "minimumRHCOSVersion": "9.2" }),
            "BootImageUndecodable",
        ),
        (
            "9.6.20251023-0",
            json!({ "maximumReleasesBehind": 2 }),
            "NoRuleEvaluated",
        ),
    ] {
        let root = with("rhcos-4.18-allowed", version, "4.22.3");
        let verdict = judged(root.path(), &json!([limit]), &json!([]));
        assert_eq!(
            (&verdict["action"], &verdict["reason"]),
            (&json!("Block"), &json!(reason)),
            "{version}"
        );
    }
}

/// From 4.19 on an image names no release: its RHEL minor bounds it. A rule is decided where all of
/// those releases agree.
#[test]
fn an_image_that_names_no_release_is_judged_by_its_rhel() {
    let of = |version, release| with("rhcos-4.18-allowed", version, release);
    let old = of("9.6.20250523-0", "4.22.3");
    let new = of("9.8.20260428-0", "5.2.0");
    let uncounted = of("9.6.20250523-0", "6.0.0");
    let own = of("9.6.20250523-0", "4.21.3");
    let newest = of("10.2.20260428-0", "5.1.0");
    for (root, limit, [verdict, action], message) in [
        (
            &old,
            json!({ "minimumOCPVersion": "4.13.0" }),
            ["Allowed", "Proceed"],
            "boot image is RHEL 9.6, of OCP 4.19 to 4.21; the minimum is 4.13.0",
        ),
        (
            &old,
            json!({ "minimumOCPVersion": "4.20.0" }),
            ["Undetermined", "Block"],
            "boot image is RHEL 9.6, of OCP 4.19 to 4.21; the minimum is 4.20.0",
        ),
        (
            &old,
            json!({ "minimumOCPVersion": "4.22.0" }),
            ["Refused", "Block"],
            "boot image is RHEL 9.6, of OCP 4.19 to 4.21; the minimum is 4.22.0",
        ),
        (
            &old,
            json!({ "maximumReleasesBehind": 3 }),
            ["Allowed", "Proceed"],
            "boot image is RHEL 9.6, of OCP 4.19 to 4.21, 1 to 3 minors behind 4.22; at most 3 allowed",
        ),
        (
            &old,
            json!({ "maximumReleasesBehind": 1 }),
            ["Undetermined", "Block"],
            "boot image is RHEL 9.6, of OCP 4.19 to 4.21, 1 to 3 minors behind 4.22; at most 1 allowed",
        ),
        (
            &old,
            json!({ "maximumReleasesBehind": 0 }),
            ["Refused", "Block"],
            "boot image is RHEL 9.6, of OCP 4.19 to 4.21, 1 to 3 minors behind 4.22; at most 0 allowed",
        ),
        (
            &old,
            json!({ "rhelMajors": [10] }),
            ["Refused", "Block"],
            "boot image is RHEL 9; RHEL 10 is allowed",
        ),
        // 9.8 has no last release yet, so it may be of any later one.
        (
            &new,
            json!({ "maximumReleasesBehind": 3 }),
            ["Allowed", "Proceed"],
            "boot image is RHEL 9.8, of OCP 4.22 or later, 0 to 3 minors behind 5.2; at most 3 allowed",
        ),
        (
            &new,
            json!({ "maximumReleasesBehind": 2 }),
            ["Undetermined", "Proceed"],
            "boot image is RHEL 9.8, of OCP 4.22 or later, 0 to 3 minors behind 5.2; at most 2 allowed",
        ),
        // No image helps: none of that release passes.
        (
            &own,
            json!({ "maximumReleasesBehind": 0 }),
            ["Undetermined", "Proceed"],
            "boot image is RHEL 9.6, of OCP 4.19 to 4.21, 0 to 2 minors behind 4.21; at most 0 allowed",
        ),
        (
            &own,
            json!({ "minimumOCPVersion": "4.20.0" }),
            ["Undetermined", "Proceed"],
            "boot image is RHEL 9.6, of OCP 4.19 to 4.21; the minimum is 4.20.0",
        ),
        (
            &newest,
            json!({ "maximumReleasesBehind": 1 }),
            ["Undetermined", "Proceed"],
            "boot image is RHEL 10.2, of OCP 4.22 or later, 0 to 2 minors behind 5.1; at most 1 allowed",
        ),
        // Nor where the target cannot be counted.
        (
            &uncounted,
            json!({ "maximumReleasesBehind": 1 }),
            ["Undetermined", "Proceed"],
            "OCP minors cannot be counted from 4.19 to 4.21 to 6.0",
        ),
    ] {
        let found = judged(root.path(), &json!([limit]), &json!([]));
        assert_eq!(
            (&found["verdict"], &found["action"]),
            (&json!(verdict), &json!(action)),
            "{limit}: {found}"
        );
        assert_eq!(found["findings"][0]["message"], message, "{limit}");
    }
}

/// A rule that the agent does not understand might allow what the others say nothing of.
#[test]
fn a_rule_that_is_not_understood_lets_in_what_the_others_cannot_judge() {
    let root = with("rhcos-4.18-allowed", "9.6.20250523-0", "4.22.3");
    for (limit, message) in [
        (
            json!({ "minimumOCPVersion": "4.20.0", "minimumFooVersion": "1.0" }),
            "the policy's limit has a rule that this agent does not know: limits[0].minimumFooVersion",
        ),
        (
            json!({ "minimumOCPVersion": "4.20.0", "minimumRHCOSVersion": 9 }),
            "the policy's limit has a rule that this agent does not understand: minimumRHCOSVersion",
        ),
        (
            json!({ "minimumOCPVersion": "4.20.0", "deniedVersions": ["x y"] }),
            "the policy's limit has a rule that this agent does not understand: deniedVersions",
        ),
        // A rule of another family is no word about this one.
        (
            json!({ "minimumFCOSVersion": "39", "maximumReleasesBehind": 1, "release": "6.0" }),
            "OCP minors cannot be counted from 4.19 to 4.21 to 6.0",
        ),
    ] {
        let later = limit["release"].is_string();
        let uncounted = with("rhcos-4.18-allowed", "9.6.20250523-0", "6.0.0");
        let root = if later { &uncounted } else { &root };
        let found = judged(root.path(), &json!([limit]), &json!([]));
        assert_eq!(
            (&found["action"], &found["message"]),
            (&json!("Proceed"), &json!(message)),
            "{limit}"
        );
    }
}

/// An agent is as old as its image: words of a policy that it does not know, in each place, never
/// hold a node.
#[test]
fn words_of_a_newer_release_never_hold_a_node() {
    let schema = std::fs::read("crates/admin/src/lint/schema.json").unwrap();
    let schema: Value = serde_json::from_slice(&schema).unwrap();
    let root = tree("rhcos-4.18-allowed");
    let strange = [
        json!(null),
        json!({}),
        json!([[]]),
        json!(7.5),
        json!("?"),
        json!({ "a": { "b": [1] } }),
    ];
    let names = |part: &str| -> Vec<String> {
        let fields = schema["$defs"][part]["properties"].as_object().unwrap();
        let fields = fields.keys().cloned();
        fields.chain(["minimumFooVersion".to_owned()]).collect()
    };
    let issue = json!({ "id": "A", "reason": "a", "url": "https://example.com", "images": { "belowOCPVersion": "4.19.0" } });
    for value in &strange {
        for field in names("limit") {
            let mut limit = json!({ "minimumOCPVersion": "four" });
            limit[&field] = value.clone();
            let verdict = judged(&root, &json!([limit]), &json!([]));
            assert_eq!(verdict["action"], "Proceed", "limit {field}: {value}");
        }
        for part in ["when", "images"] {
            for field in names(part) {
                let inner = json!({ field.as_str(): value });
                let limit = json!({ "when": inner, "minimumOCPVersion": "4.19.0" });
                let mut other = issue.clone();
                other[part] = inner.clone();
                let limits = if part == "when" {
                    json!([limit])
                } else {
                    json!([{ "deniedVersions": [] }])
                };
                let verdict = judged(&root, &limits, &json!([other]));
                assert_eq!(verdict["action"], "Proceed", "{part} {field}: {value}");
            }
        }
        // What nodes do not decide by may say anything.
        let told = [
            "description",
            "ticket",
            "evidence",
            "until",
            "remedy",
            "reason",
            "url",
            "id",
        ];
        for field in names("knownIssue") {
            let mut other = issue.clone();
            other[&field] = value.clone();
            let verdict = judged(&root, &json!([{ "deniedVersions": [] }]), &json!([other]));
            // No condition is one that holds.
            let is_told = told.contains(&field.as_str()) || field == "when" && *value == json!({});
            assert!(
                is_told || verdict["action"] == "Proceed",
                "issue {field}: {value}"
            );
        }
    }
}
