//! `render alerts --risks`: Prometheus' own test program answers as the audit of a node with that label, where images with
//! its beginning are known.

use crate::data::PUBLISHED;
use crate::inside::core::alert_expression::is_listed;
use crate::inside::core::run;
use crate::lint::starter::{KNOWN_ISSUES, shipped};
use crate::text::label_value;
use crate::verdict::{InstalledNode, Machine, Target, update_issues};
use crate::version::ImageVersion;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const RISKS: [&str; 4] = [
    "BornBefore42PodmanMissingAuthFlag",
    "BornBefore43ComposeFSvsGrubProbe",
    "BornWithAArch64BootLoaderOfRHEL8",
    "BornFromFCOSGrubConfig",
];

fn risks() -> Vec<Value> {
    let (exit, out, err) = run(&["render", "alerts", "--risks"]);
    assert_eq!((exit, err.as_str()), (0, LEFT_OUT));
    serde_saphyr::from_str(&out).unwrap()
}

const LEFT_OUT: &str = "skewguard: BornBeforeKernelSigningKey is left out: the label does not say all that it asks for; \
    `oc skewguard audit --target` does\n";

fn expression(risk: &Value) -> &Value {
    &risk["matchingRules"][0]["promql"]["promql"]
}

/// Every version that was published, and those of OKD and others that are known.
fn versions() -> Vec<String> {
    let table = std::fs::read_to_string("tests/data/boot-images.tsv").unwrap();
    let known = table
        .lines()
        .skip(1)
        .filter_map(|line| line.split('\t').next());
    let published = PUBLISHED.images.iter().map(|image| image.version);
    let all: BTreeSet<_> = known.chain(published).collect();
    all.into_iter()
        .filter(|version| label_value(version) == *version)
        .map(str::to_owned)
        .collect()
}

/// 1, 0 or no answer, by the judge of joined nodes, for a target in the issue's window.
fn answer(issue: &str, version: &str) -> Option<u8> {
    let list: Vec<Value> = serde_json::from_str(KNOWN_ISSUES).unwrap();
    let written = list.iter().find(|written| written["id"] == issue).unwrap();
    let first = written["targets"]
        .as_str()
        .unwrap()
        .split(' ')
        .next()
        .unwrap();
    let okd = if written["when"]["okd"] == true {
        "-okd-scos.1"
    } else {
        ""
    };
    let version = ImageVersion::parse(version);
    let found = update_issues(
        shipped(),
        InstalledNode {
            version: Some(&version),
            target: &Target {
                release: Some(first.trim_start_matches(">=").to_owned() + okd),
                ..Target::default()
            },
            platform: None,
            machine: &Machine {
                architecture: Some("aarch64".to_owned()),
                ..Machine::default()
            },
        },
    );
    if found.has.iter().any(|has| has.id == issue) {
        return Some(1);
    }
    let is_unknown = found.unknown.iter().any(|(unknown, _)| unknown.id == issue);
    (!is_unknown).then_some(0)
}

/// Runs promtool on series and on what each expression gives at which minute.
pub(super) fn prove(folder: &Path, series: &[Value], samples: &[Value]) {
    let tests = json!({ "evaluation_interval": "1m", "tests": [{ "interval": "1m", "input_series": series, "promql_expr_test": samples }] });
    std::fs::write(folder.join("tests.yaml"), tests.to_string()).unwrap();
    let output = Command::new("promtool")
        .args(["test", "rules", "tests.yaml"])
        .current_dir(folder)
        .output();
    let output = output.expect("promtool, of the Debian package prometheus");
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success(), "{}", text.concat());
}

/// A Node from minute `from` on, for `minutes` minutes.
fn node(labels: &str, from: usize, minutes: usize) -> Value {
    let before = if from > 0 {
        format!("_x{from} ")
    } else {
        String::new()
    };
    let series = format!("kube_node_labels{{node=\"n{from}\",{labels}}}");
    json!({ "series": series, "values": format!("{before}{} stale", vec!["1"; minutes].join(" ")) })
}

fn sample(risk: &Value, minute: usize, answer: Option<u8>) -> Value {
    let samples: Vec<Value> = answer
        .into_iter()
        .map(|value| json!({ "labels": "{}", "value": value }))
        .collect();
    json!({ "expr": expression(risk), "eval_time": format!("{minute}m"), "exp_samples": samples })
}

#[test]
fn the_answer_for_every_published_version_is_the_audits() {
    let folder = tempfile::tempdir().unwrap();
    let (risks, versions) = (risks(), versions());
    let names: Vec<_> = risks
        .iter()
        .map(|risk| risk["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, RISKS);
    assert!(versions.len() > 400, "{}", versions.len());
    let (mut series, mut samples) = (Vec::new(), Vec::new());
    for (minute, version) in versions.iter().enumerate() {
        let labels = format!(
            "label_kubernetes_io_arch=\"arm64\",label_skewguard_dev_boot_image=\"{version}\""
        );
        series.push(node(&labels, minute, 1));
        for (risk, name) in risks.iter().zip(&names) {
            let answer = answer(name, version).filter(|_| is_listed(version));
            samples.push(sample(risk, minute, answer));
        }
    }
    prove(folder.path(), &series, &samples);
}

/// One node with the issue is enough; that none has it takes the labels of all that could.
#[test]
fn one_node_is_enough_and_all_have_to_be_known() {
    const OLD: &str = "label_skewguard_dev_boot_image=\"412.86.202301311551-0\"";
    const NEW: &str = "label_skewguard_dev_boot_image=\"418.94.202501221327-0\"";
    const UNKNOWN: &str = "label_skewguard_dev_boot_image=\"unknown\"";
    const ARM: &str = "label_kubernetes_io_arch=\"arm64\"";
    const AMD: &str = "label_kubernetes_io_arch=\"amd64\"";
    let folder = tempfile::tempdir().unwrap();
    let risks = risks();
    let (mut series, mut samples) = (Vec::new(), Vec::new());
    for (at, (nodes, answer)) in [
        (vec![(OLD, ARM), (NEW, ARM), (UNKNOWN, ARM)], Some(1)),
        (vec![(NEW, ARM), (UNKNOWN, ARM)], None),
        (vec![(NEW, ARM), ("", ARM)], None),
        (vec![("", ARM)], None),
        // Nodes of another architecture have it not, whatever they were installed from.
        (vec![(NEW, ARM), (OLD, AMD), ("", AMD)], Some(0)),
        (vec![(NEW, ARM), (OLD, "")], None),
        (
            vec![(NEW, ARM), ("label_kubernetes_io_os=\"windows\"", AMD)],
            Some(0),
        ),
        (vec![], None),
    ]
    .into_iter()
    .enumerate()
    {
        for (number, (label, architecture)) in nodes.iter().enumerate() {
            let labels: Vec<_> = [*label, *architecture]
                .into_iter()
                .filter(|one| !one.is_empty())
                .collect();
            let mut one = node(&labels.join(","), at, 1);
            let name = one["series"]
                .as_str()
                .unwrap()
                .replace("node=\"n", &format!("node=\"{number}-"));
            one["series"] = name.into();
            series.push(one);
        }
        samples.push(sample(&risks[2], at, answer));
    }
    prove(folder.path(), &series, &samples);
}
