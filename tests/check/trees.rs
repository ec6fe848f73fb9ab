//! Every sample tree gives the verdict that its name promises.

use crate::check::{check_json, tree};

#[test]
fn every_sample_tree_gives_its_verdict() {
    let refused = |reason| ("Refused", "Block", reason, 3);
    let expected = [
        (
            "rhcos-4.1-without-aleph-refused",
            refused("BelowMinimumOCPVersion"),
        ),
        ("rhcos-4.6-refused", refused("BelowMinimumOCPVersion")),
        ("rhcos-4.12-refused", refused("BelowMinimumOCPVersion")),
        (
            "rhcos-4.12-target-4.22-refused",
            refused("BelowMinimumOCPVersion"),
        ),
        (
            "rhcos-4.12-warn",
            ("Refused", "Proceed", "BelowMinimumOCPVersion", 0),
        ),
        (
            "rhcos-4.12-no-policy",
            ("NoPolicy", "Proceed", "NoPolicyDelivered", 0),
        ),
        (
            "rhcos-4.12-override-off",
            ("Disabled", "Proceed", "OverrideOff", 0),
        ),
        ("rhcos-4.13-known-issue-refused", refused("KnownIssue")),
        (
            "rhcos-4.13-known-issue-warned",
            ("Allowed", "Proceed", "WithinLimits", 0),
        ),
        ("rhcos-4.17-denied", refused("DeniedVersion")),
        (
            "rhcos-4.18-allowed",
            ("Allowed", "Proceed", "WithinLimits", 0),
        ),
        (
            "rhcos-9.6-allowed",
            ("Allowed", "Proceed", "WithinLimits", 0),
        ),
        (
            "rhel-10.2-bootc-allowed",
            ("Allowed", "Proceed", "WithinLimits", 0),
        ),
        (
            "rhel-10.2-bootc-newer-than-allowed",
            refused("RHELMajorUnsupported"),
        ),
        (
            "scos-9-minor-unknown",
            ("Undetermined", "Proceed", "NoRuleEvaluated", 0),
        ),
        (
            "fcos-39-undetermined",
            ("Undetermined", "Proceed", "NoRuleEvaluated", 0),
        ),
        (
            "fcos-32-okd-4.7-refused",
            refused("BelowMinimumFCOSVersion"),
        ),
        (
            "fcos-39-okd-4.16-allowed",
            ("Allowed", "Proceed", "WithinLimits", 0),
        ),
        (
            "fcos-40-okd-4.16-refused",
            refused("AboveMaximumFCOSVersion"),
        ),
        (
            "scos-9-okd-4.22-refused",
            refused("BelowMinimumSCOSVersion"),
        ),
        (
            "assisted-already-on-target",
            ("Allowed", "Proceed", "AlreadyOnTarget", 0),
        ),
        (
            "assisted-by-tag-allowed",
            ("Allowed", "Proceed", "WithinLimits", 0),
        ),
        (
            "layered-at-install-refused",
            refused("BelowMinimumRHCOSVersion"),
        ),
        (
            "hypershift-without-release",
            ("Allowed", "Proceed", "WithinLimits", 0),
        ),
        (
            "two-step-update-already-rebased",
            ("Refused", "Proceed", "BelowMinimumOCPVersion", 0),
        ),
        (
            "policy-on-disk-differs-from-served",
            refused("BelowMinimumOCPVersion"),
        ),
    ];
    let mut seen = Vec::new();
    for (name, (verdict, action, reason, exit)) in expected {
        let (code, json) = check_json(&tree(name), &[]);
        assert_eq!(
            (
                json["verdict"].as_str(),
                json["action"].as_str(),
                json["reason"].as_str(),
                code
            ),
            (Some(verdict), Some(action), Some(reason), exit),
            "{name}"
        );
        seen.push(name.to_owned());
    }
    let mut on_disk: Vec<String> = std::fs::read_dir(tree(""))
        .expect("the trees are there")
        .map(|entry| {
            entry
                .expect("readable")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .filter(|name| !name.ends_with(".md"))
        .collect();
    on_disk.sort();
    seen.sort();
    assert_eq!(seen, on_disk, "a tree without an expectation shows nothing");
}

#[test]
fn sources_are_named() {
    for (name, source, path) in [
        (
            "rhcos-4.1-without-aleph-refused",
            "OsRelease",
            "/etc/os-release",
        ),
        (
            "rhcos-4.12-refused",
            "Aleph",
            "/sysroot/.coreos-aleph-version.json",
        ),
        (
            "rhcos-4.18-allowed",
            "Aleph",
            "/sysroot/.coreos-aleph-version.json",
        ),
        (
            "rhel-10.2-bootc-newer-than-allowed",
            "Aleph",
            "/sysroot/.bootc-aleph.json",
        ),
        ("rhel-10.2-bootc-allowed", "OsRelease", "/etc/os-release"),
    ] {
        let (_, json) = check_json(&tree(name), &[]);
        assert_eq!(
            (
                json["bootImage"]["source"].as_str(),
                json["bootImage"]["path"].as_str()
            ),
            (Some(source), Some(path)),
            "{name}"
        );
    }
}

#[test]
fn a_null_version_and_a_changed_policy_are_said() {
    let warnings = |name| check_json(&tree(name), &[]).1["warnings"].clone();
    assert_eq!(
        warnings("rhel-10.2-bootc-allowed"),
        serde_json::json!(["/sysroot/.bootc-aleph.json: names no version"])
    );
    assert_eq!(
        warnings("policy-on-disk-differs-from-served"),
        serde_json::json!([
            "/etc/skewguard/policy.json: differs from the served policy (it has \
            sha256:263cc76b22f1adff885c857a5ddc61450c4ecc25341a3fb6a994f900e90d4c6a); the one in \
            /etc/mcs-machine-config-content.json is used"
        ])
    );
    assert_eq!(warnings("rhcos-4.12-refused"), serde_json::json!([]));
}
