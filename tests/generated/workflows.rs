//! Workflows: who has which rights, and what is pinned. zizmor looks for the rest, in the workflow
//! `scan`.

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Every workflow by its name, with its text.
fn workflows() -> BTreeMap<String, (Value, String)> {
    let folder = std::fs::read_dir(".github/workflows").unwrap();
    folder
        .map(|entry| {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            let workflow: Value = serde_saphyr::from_str(&text).unwrap();
            let name = workflow["name"].as_str().unwrap().to_owned();
            (name, (workflow, text))
        })
        .collect()
}

fn jobs(workflow: &Value) -> impl Iterator<Item = (&String, &Value)> {
    workflow["jobs"].as_object().unwrap().iter()
}

fn steps(job: &Value) -> &[Value] {
    job["steps"].as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn three_jobs_alone_may_write() {
    let mut rights = Vec::new();
    for (name, (workflow, _)) in &workflows() {
        assert_eq!(
            workflow["permissions"],
            json!({ "contents": "read" }),
            "{name}"
        );
        for (job, about) in jobs(workflow) {
            let write = about["permissions"].as_object().into_iter().flatten();
            let write: Vec<_> = write
                .filter(|(_, right)| *right == "write")
                .map(|(name, _)| name.as_str())
                .collect();
            if !write.is_empty() {
                rights.push(format!("{name}/{job}: {}", write.join(", ")));
            }
        }
    }
    assert_eq!(
        rights,
        [
            "release/sign: attestations, contents, id-token, packages",
            "scan/codeql: security-events",
            "scan/scorecard: id-token, security-events",
        ]
    );
}

/// What signs runs nothing of this repository, and not before the tests.
#[test]
fn the_job_that_signs_has_no_checkout() {
    let (release, _) = &workflows()["release"];
    let sign = &release["jobs"]["sign"];
    assert_eq!(sign["needs"], json!(["tests", "assemble"]));
    assert_eq!(
        release["jobs"]["tests"]["uses"],
        "./.github/workflows/ci.yml"
    );
    for step in steps(sign) {
        let uses = step["uses"].as_str().unwrap_or_default();
        assert!(!uses.starts_with("actions/checkout"), "{step}");
        let run = step["run"].as_str().unwrap_or_default();
        for ours in ["dist/", "tests/", "cargo", "git clone", "curl"] {
            assert!(!run.contains(ours), "{ours}: {run}");
        }
    }
    // The key of the packages is in no other job.
    for (name, (_, text)) in &workflows() {
        let times = text.matches("${{ secrets.").count();
        assert_eq!(times, usize::from(name == "release"), "{name}");
    }
}

#[test]
fn actions_and_images_are_pinned_and_checkouts_keep_no_token() {
    let pinned = |text: &str, digits: usize| {
        text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let mut seen = 0;
    for (name, (workflow, text)) in &workflows() {
        for (job, about) in jobs(workflow) {
            let image = &about["container"];
            if let Some(image) = image["image"].as_str().or(image.as_str()) {
                let (_, digest) = image.split_once("@sha256:").unwrap();
                assert!(pinned(digest, 64), "{name}/{job}: {image}");
            }
            for step in steps(about) {
                let Some(uses) = step["uses"].as_str() else {
                    continue;
                };
                seen += 1;
                let (_, commit) = uses.split_once('@').unwrap();
                assert!(pinned(commit, 40), "{name}/{job}: {uses}");
                assert!(text.contains(&format!("{uses} # v")), "{uses}: no version");
                if uses.starts_with("actions/checkout@") {
                    assert_eq!(step["with"]["persist-credentials"], false, "{name}/{job}");
                }
            }
        }
    }
    assert!(seen > 20, "{seen}");
}
