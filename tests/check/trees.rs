//! Every sample tree gives the verdict that `tests/trees/README.md` promises.

use crate::check::{check_json, tree};

#[test]
fn every_sample_tree_gives_its_verdict() {
    let page = std::fs::read_to_string(tree("README.md")).expect("the page is there");
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let mut seen = Vec::new();
    for row in rows {
        let cells: Vec<&str> = row.split(" | ").collect();
        let [name, verdict, action, reason, exit] = cells[..] else {
            panic!("{row}")
        };
        let name = name.trim_matches(['|', ' ', '`']);
        let (code, json) = check_json(&tree(name), &[]);
        let found = ["verdict", "action", "reason"].map(|field| json[field].as_str());
        assert_eq!(found, [verdict, action, reason].map(Some), "{name}");
        assert_eq!(format!("{code} |"), exit, "{name}");
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
