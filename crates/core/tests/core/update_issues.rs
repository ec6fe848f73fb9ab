//! What breaks the update of a joined node, by what it was installed with.

use crate::inside::core::samples::with;
use crate::policy::{Policy, parse};
use crate::verdict::{InstalledNode, Machine, Target, update_issues};
use crate::version::ImageVersion;
use serde_json::{Value, json};

fn policy(issues: Value) -> Policy {
    parse(with("/knownIssues", issues).to_string().as_bytes()).unwrap()
}

/// Whether a node that was born with this image and shim has the issue; `None` where that is
/// unknown.
fn has(issue: &Value, image: &str, shim: Option<&str>) -> Option<bool> {
    let version = ImageVersion::parse(image);
    let machine = Machine {
        shim: shim.map(str::to_owned),
        ..Machine::default()
    };
    let target = Target {
        release: Some("4.22.0".to_owned()),
        ..Target::default()
    };
    let issues = policy(json!([issue])).known_issues;
    let found = update_issues(
        &issues,
        InstalledNode {
            version: Some(&version),
            target: &target,
            platform: Some("aws"),
            machine: &machine,
        },
    );
    match (found.has.len(), found.unknown.len()) {
        (1, 0) => Some(true),
        (0, 0) => Some(false),
        (0, 1) => None,
        other => panic!("{other:?}"),
    }
}

const OLD: &str = "414.92.202310210434-0";

#[test]
fn only_an_issue_that_affects_updates_is_looked_for() {
    let mut issue = json!({ "id": "X", "reason": "r", "images": { "belowOCPVersion": "4.15.0" } });
    for (affects, found) in [("Update", true), ("FirstBoot", false)] {
        issue["affects"] = json!(affects);
        assert_eq!(has(&issue, OLD, None), Some(found), "{affects}");
        assert_eq!(
            has(&issue, "416.94.202407030122-0", None),
            Some(false),
            "{affects}"
        );
    }
    // The word of a first boot is understood, and so is its absence.
    let first_boot = policy(json!([issue]));
    assert_eq!(first_boot.warnings, [""; 0]);
}

#[test]
fn a_shim_decides_where_the_node_names_its_own() {
    let shim = json!({ "id": "X", "reason": "r", "affects": "Update", "images": { "belowShim": "15.8-1" } });
    assert_eq!(has(&shim, OLD, Some("15.6-1")), Some(true));
    assert_eq!(has(&shim, OLD, Some("15.8-1")), Some(false));
    assert_eq!(has(&shim, OLD, Some("16.1-1")), Some(false));
    // Without its own, an issue of the shim alone stays open; versions beside it decide.
    assert_eq!(has(&shim, OLD, None), None);
    let mut beside = shim.clone();
    beside["images"]["versions"] = json!([{ "version": "414.*" }]);
    assert_eq!(has(&beside, OLD, None), Some(true));
    assert_eq!(has(&beside, "415.92.202402201450-0", None), Some(false));
    assert_eq!(has(&beside, OLD, Some("15.8-1")), Some(false));
    // An issue without a shim does not look at one.
    let mut other = shim;
    other["images"] = json!({ "belowOCPVersion": "4.15.0" });
    assert_eq!(has(&other, OLD, Some("16.1-1")), Some(true));
}

#[test]
fn an_issue_of_families_alone_is_of_all_their_images_and_only_of_theirs() {
    let mut issue = json!({ "id": "X", "reason": "r", "affects": "Update", "when": { "osFamilies": ["rhcos"] } });
    assert_eq!(has(&issue, OLD, None), Some(true));
    assert_eq!(has(&issue, "39.20231101.3.0", None), Some(false));
    issue["images"] = json!({ "belowOCPVersion": "4.13.0" });
    assert_eq!(has(&issue, OLD, None), Some(false));
}

/// What is beside the versions is not a condition of theirs.
#[test]
fn an_issue_without_versions_is_decided_by_the_rest() {
    let issue =
        json!({ "id": "X", "reason": "r", "affects": "Update", "images": { "rhelMajors": [8] } });
    assert_eq!(has(&issue, "411.86.202308081056-0", None), Some(true));
    assert_eq!(has(&issue, OLD, None), Some(false));
    assert_eq!(has(&issue, "what-is-it", None), None);
    let versions = json!({ "id": "X", "reason": "r", "affects": "Update", "images": { "versions": [{ "version": "x*" }] } });
    assert_eq!(has(&versions, "what-is-it", None), None);
    assert_eq!(has(&versions, OLD, None), Some(false));
}
