//! What the alert on old boot images looks for is what `check` refuses.

use super::run;
use super::update_risks::prove;
use crate::data::PUBLISHED;
use crate::policy::{self, Policy};
use crate::render::alerts::Refused;
use crate::text::label_value;
use crate::verdict::{
    BootImage, Facts, ImageSource, Outcome, PolicyInput, Target, TargetInput, decide,
};
use crate::version::ImageVersion;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

/// A limit with these rules, as JSON.
fn policy(limit: &Value) -> Policy {
    let policy = whole(&json!([limit]), &json!([]));
    policy::parse(policy.to_string().as_bytes()).unwrap()
}

/// What `check` says to a node whose label is this.
fn refused(policy: &Policy, release: Option<&str>, label: &str) -> bool {
    let target = Target {
        release: release.map(str::to_owned),
        ..Target::default()
    };
    let input = PolicyInput::Valid {
        path: String::new(),
        digest: String::new(),
        policy: policy.clone(),
    };
    let facts = Facts {
        boot_image: Some(BootImage {
            version: ImageVersion::parse(label),
            source: ImageSource::Aleph,
            path: String::new(),
        }),
        ..Facts::new(input, TargetInput::Read(target))
    };
    label != "unknown" && decide(&facts).verdict == Outcome::Refused
}

/// The expression's selectors, each as what has to match and what must not be.
struct Selectors(Vec<(Vec<regex::Regex>, Vec<String>)>);

impl Selectors {
    fn new(expression: Option<&str>) -> Self {
        // A backslash of a regular expression is two in a string of PromQL.
        let expression = expression.unwrap_or_default().replace("\\\\", "\\");
        let selectors = expression
            .split("kube_node_labels{")
            .skip(1)
            .map(|selector| {
                // Regular expressions have no quotes and the braces of their numbers are inside of
                // some.
                let mut words = selector.split('"');
                let (mut match_all, mut not) = (Vec::new(), Vec::new());
                loop {
                    let before = words.next().unwrap();
                    if before.trim_start().starts_with('}') {
                        break (match_all, not);
                    }
                    let value = words.next().unwrap();
                    match before.trim_start_matches(',') {
                        "label_skewguard_dev_boot_image=~" => {
                            match_all.push(regex::Regex::new(&format!("^(?:{value})$")).unwrap());
                        }
                        "label_skewguard_dev_boot_image!=" => not.push(value.to_owned()),
                        other => panic!("{other}"),
                    }
                }
            });
        Self(selectors.collect())
    }

    fn fires(&self, label: &str) -> bool {
        self.0.iter().any(|(patterns, not)| {
            patterns.iter().all(|pattern| pattern.is_match(label))
                && !not.iter().any(|n| n == label)
        })
    }
}

static VERSIONS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let table = "tests/data/boot-images.tsv";
    let table = std::fs::read_to_string(table).unwrap();
    let real = table
        .lines()
        .skip(1)
        .map(|line| line.split('\t').next().unwrap());
    let odd = [
        "unknown",
        "none",
        "9.6.2026030314",
        "4.18.2026012111",
        "43.81.20200311",
        "9.0.20250827-0",
        "10.0.20250628-0",
        "8.10.20240101-0",
        "39.20231101.3.0",
        "410.84.202201251210-0",
        "410.8.20190520.0",
        "400.7.20190306.0",
        "405.84.20200101.0",
        "49.900.202001010000-0",
        "9.84.20250101-0",
        "9.6.20250230-0",
        "9.6.20240229-0",
        "9.6.20230229-0",
        "9.6.20001301-0",
        "9.6.21000101-0",
        "9.6.20250523-00",
        "9.6.20250523-4294967295",
        "9.6.20250523-4294967296",
        "9.06.20250523-0",
        "412.86.202302302400-0",
        "412.86.202302282360-0",
        "412s390x.86.202302281200-0",
        "412arm.86.202302281200-0",
        "x",
        "my_build",
    ];
    real.chain(odd)
        .map(str::to_owned)
        .filter(|version| label_value(version) == *version)
        .collect()
});

static DAY: LazyLock<regex::Regex> =
    LazyLock::new(|| regex::Regex::new("^(.*?[.])20[0-9]{6}([0-9]{4})?([-.].*)?$").unwrap());

/// What stands before the day of a version, and whether a time follows.
fn beginning(version: &str) -> Option<(String, bool)> {
    let parts = DAY.captures(version)?;
    Some((parts[1].to_owned(), parts.get(2).is_some()))
}

/// Tells whether the program knows images with the beginning of this version.
pub(super) fn is_listed(version: &str) -> bool {
    static LISTED: LazyLock<BTreeSet<(String, bool)>> = LazyLock::new(|| {
        let published = PUBLISHED.images.iter().map(|image| image.version);
        published
            .filter(|version| ImageVersion::parse(version).is_known())
            .chain(UNPUBLISHED)
            .filter_map(beginning)
            .collect()
    });
    beginning(version).is_some_and(|beginning| LISTED.contains(&beginning))
}

/// Tells whether the version is to alert: it is refused. What nobody published alerts by a maximum only
/// where all versions of its beginning are too new, else it may be newer than the list.
fn alerts(policy: &Policy, target: Option<&str>, label: &str) -> bool {
    let is_published = PUBLISHED.images.iter().any(|image| image.version == label);
    let mut without_maximum = policy.clone();
    for limit in &mut without_maximum.limits {
        limit
            .rules
            .retain(|(field, _)| *field != "maximumRHCOSVersion");
    }
    let old = DAY.replace(label, "${1}20000101${2}${3}");
    let is_old = || refused(&without_maximum, target, label) || refused(policy, target, &old);
    refused(policy, target, label) && (is_published || is_old())
}

/// Of the versions that have a listed beginning it says what `check` says, and of others nothing
/// but what `check` says, too. No build has a day that is none: such a label may be anything.
fn same(policy: &Policy, target: Option<&str>, labels: &[String]) -> Result<(), TestCaseError> {
    let expression = Refused::new(policy, target).unwrap().nodes;
    let selectors = Selectors::new(expression.as_deref());
    for label in labels {
        let (have, want) = (selectors.fires(label), alerts(policy, target, label));
        let version = ImageVersion::parse(label);
        let is_exact = match (version.is_known(), version.fedora) {
            // Streams of one day differ.
            (true, fedora) => is_listed(label) && fedora.is_none(),
            (false, _) => beginning(label).is_none(),
        };
        let says_too_much = version.is_known() && have;
        let is_same = have == want || !(is_exact || says_too_much);
        prop_assert!(is_same, "{}: {:?}", label, expression);
    }
    Ok(())
}

fn bound() -> impl Strategy<Value = String> {
    prop_oneof![
        (8..11_u8, 0..12_u8).prop_map(|(major, minor)| format!("{major}.{minor}")),
        prop::sample::select(VERSIONS.clone()),
        (8..11_u8, 0..9_u8, 2019..2027_u16, 1..13_u8, 1..32_u8)
            .prop_map(|(major, minor, y, m, d)| format!("{major}.{minor}.{y}{m:02}{d:02}-0")),
    ]
}

fn limit() -> impl Strategy<Value = Value> {
    let maybe = prop::option::of::<BoxedStrategy<Value>>;
    let text = |strategy: BoxedStrategy<String>| strategy.prop_map(Value::from).boxed();
    let denied = prop_oneof![
        prop::sample::select(VERSIONS.clone()),
        "4[0-9]{1,2}[.]8[*]",
        "[0-9.]{0,4}[*]",
        "u[*]|unknown|my[_ ]build|a\"b[*]|[{}\\\\\"'\n]{3}",
    ];
    (
        maybe(text(
            (4..6_u8, 0..26_u8)
                .prop_map(|(x, y)| format!("{x}.{y}.0"))
                .boxed(),
        )),
        maybe(text(bound().boxed())),
        maybe(text(bound().boxed())),
        maybe((0..12_u8).prop_map(Value::from).boxed()),
        maybe(
            prop::collection::vec(7..12_u8, 1..3)
                .prop_map(Value::from)
                .boxed(),
        ),
        maybe(
            prop::collection::vec(denied, 0..5)
                .prop_map(|all| {
                    all.into_iter()
                        .map(|version| json!({ "version": version }))
                        .collect()
                })
                .boxed(),
        ),
        maybe(text(
            "9|10|(9|10)[.]0[.]202[456]0[1-9]1[0-9]-0|41[2-9][.]9[.]202[234]0[1-9]1[0-9]0000-0"
                .boxed(),
        )),
        maybe(text(
            "3[3-9]|3[3-9][.]202[0-3]0[1-9]1[0-9][.][123][.]0".boxed(),
        )),
    )
        .prop_map(
            |(ocp, minimum, maximum, behind, majors, denied, scos, fcos)| {
                let fields = [
                    ("minimumOCPVersion", ocp),
                    ("minimumRHCOSVersion", minimum),
                    ("maximumRHCOSVersion", maximum),
                    ("maximumReleasesBehind", behind),
                    ("minimumSCOSVersion", scos),
                    ("minimumFCOSVersion", fcos),
                    ("rhelMajors", majors),
                    ("deniedVersions", denied),
                ];
                fields
                    .into_iter()
                    .filter_map(|(name, value)| Some((name.to_owned(), value?)))
                    .collect::<serde_json::Map<_, _>>()
                    .into()
            },
        )
}

/// Versions of every scheme, some of them broken.
fn version() -> impl Strategy<Value = String> {
    let stamp = prop_oneof![
        "20[0-2][0-9][01][0-9][0-3][0-9]",
        "20[12][0-9][01][0-9][0-3][0-9][0-2][0-9][0-6][0-9]"
    ];
    let first = "4[0-9]{1,2}|4[0-9](s390x|ppc64le|x86)";
    prop_oneof![
        (first, "[7-9]([0-9]|10)?", stamp, "[-.]([0-9]|1[0-9])")
            .prop_map(|(first, second, stamp, build)| format!("{first}.{second}.{stamp}{build}")),
        "(7|8|9|10|11|39|40)[.](0|[1-9]|1[0-9])[.]20(19|2[0-6])(0[1-9]|1[0-2])[0-3][0-9]-[0-9]{1,2}",
        "(9|10)[.][0-9][.]202[56](0[1-9]|1[0-2])[0-3][0-9]",
        "[345][.]([0-9]|1[0-9]|2[0-5])[.](8|9|10)[.][0-9][.]202[56](0[1-9]|1[0-2])[0-3][0-9][0-2][0-9][0-6][0-9]-[0-9]",
        "3[0-9][.]20[12][0-9]0[1-9][0-2][0-9][.][1-3][.][0-9]",
        "[0-9]{1,3}[.][0-9]{1,3}[.][0-9]{7,9}[-.][0-9]",
        "[a-z0-9][-._a-z0-9]{0,20}[a-z0-9]",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn it_fires_where_check_refuses(
        limit in limit(),
        release in prop::option::of((4..6_u8, 0..25_u8).prop_map(|(x, y)| format!("{x}.{y}.3"))),
        generated in prop::collection::vec(version(), 200),
    ) {
        let mut labels = VERSIONS.clone();
        labels.extend(generated.into_iter().filter(|version| label_value(version) == *version));
        same(&policy(&limit), release.as_deref(), &labels)?;
    }
}

/// Versions that are in no list: builds of releases, which assisted installations write, and newer ones.
const UNPUBLISHED: [&str; 13] = [
    "400.7.20190306.0",
    "410.81.20200520.0",
    "42.81.20200213.0",
    "412.86.202301010000-0",
    "412.9.202211241749-0",
    "413.92.202712312359-7",
    "418.94.202501221327-0",
    "4.19.9.6.202506252250-0",
    "4.22.9.8.202606252250-0",
    "9.6.20250610-0",
    "9.6.20270101-0",
    "40.20240416.3.1",
    "41.20250117.3.0",
];

/// Versions of releases that nothing was published of: whatever a policy says, they never alert.
const NEWER: [&str; 6] = [
    "9.10.20270101-0",
    "10.4.20270101-0",
    "11.0.20290101-0",
    "4.24.9.10.202701010000-0",
    "5.1.10.4.202701010000-0",
    "419.94.202701010000-0",
];

fn known_issues() -> Value {
    json!([
        { "id": "A", "targets": ">=4.22.0", "images": { "belowOCPVersion": "4.10.0", "versions": [{ "version": "418.94.2025*" }] }, "reason": "r" },
        { "id": "B", "images": { "belowRHCOSVersion": "9.6.20250523-0" }, "targets": "<4.21.0", "when": { "platforms": ["aws"] }, "reason": "r" },
        { "id": "C", "targets": "<4.20.0", "images": { "belowRHCOSVersion": "9.6.20250701-0" }, "reason": "r" },
        { "id": "D", "images": { "versions": [{ "version": "9.6.20251023-0" }] }, "reason": "r" },
        { "id": "E", "images": { "belowOCPVersion": "4.16.0", "belowShim": "15.8-3" }, "reason": "r" },
        { "id": "F", "images": { "belowFCOSVersion": "36" }, "when": { "okd": true }, "reason": "r" }
    ])
}

/// A policy with these limits and issues.
fn whole(limits: &Value, issues: &Value) -> Value {
    json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce", "limits": limits, "knownIssues": issues })
}

/// Policies, each with a release to ask about.
fn policies() -> Vec<(Value, &'static str)> {
    let init = |args: &[&str]| -> Value {
        let (exit, out, _) = run(&[&["policy", "init"], args].concat());
        assert_eq!(exit, 0);
        serde_json::from_str(&out).unwrap()
    };
    let mut all = vec![
        (init(&[]), "4.22.0"),
        (init(&[]), "4.18.0"),
        (init(&["--hosted", "4.22"]), "4.22.0"),
        (init(&["--okd"]), "4.19.0-okd-scos.1"),
    ];
    for target in ["4.19.3", "4.22.1", "4.22.1-okd-scos.0"] {
        let mut issues = known_issues();
        // What shim a node has tells no label.
        issues
            .as_array_mut()
            .unwrap()
            .retain(|issue| issue["id"] != "E");
        all.push((
            whole(&json!([{ "minimumOCPVersion": "4.4" }]), &issues),
            target,
        ));
    }
    let limits = [
        (
            r#""minimumOCPVersion": "4.13.0", "minimumRHCOSVersion": "9.2""#,
            "4.22.0",
        ),
        (r#""minimumOCPVersion": "4.17""#, "4.20.1"),
        (r#""minimumRHCOSVersion": "9.6.20250701-0""#, "4.20.1"),
        (
            r#""minimumRHCOSVersion": "9.2", "maximumRHCOSVersion": "9.6.20260101-0""#,
            "4.20.1",
        ),
        (r#""rhelMajors": [9]"#, "5.0.0"),
        (r#""maximumReleasesBehind": 3"#, "4.21.0"),
        (
            r#""deniedVersions": [{ "version": "9.6.20250523-0" }, { "version": "413.92.2023*" }, { "version": "unknown" }, { "version": "a b" }]"#,
            "4.21.0",
        ),
        (
            r#""minimumFCOSVersion": "38.20231002.3.1", "minimumSCOSVersion": "10""#,
            "4.19.0-okd-scos.1",
        ),
        (NEARLY_EVERYTHING, "4.22.0"),
    ];
    all.extend(limits.map(|(limit, target)| {
        let limit: Value = serde_json::from_str(&format!("{{{limit}}}")).unwrap();
        (whole(&json!([limit]), &json!([])), target)
    }));
    all
}

const NEARLY_EVERYTHING: &str = r#""minimumRHCOSVersion": "10.2.20260701-0""#;

/// The rule's expression, as the program prints it.
fn printed(folder: &Path, policy: &Value, target: &str) -> Option<Value> {
    let file = folder.join("policy.json");
    std::fs::write(&file, policy.to_string()).unwrap();
    let file = file.to_str().unwrap();
    let (exit, out, err) = run(&["render", "alerts", "--policy", file, "--target", target]);
    assert_eq!(exit, 0, "{err}");
    let object: Value = serde_saphyr::from_str(&out).unwrap();
    let mut rules = object["spec"]["groups"][0]["rules"].as_array()?.iter();
    let rule = rules.find(|rule| rule["alert"] == "OldBootImageInUse")?;
    Some(rule["expr"].clone())
}

/// Prometheus' own test program says it of a node of each version, for each policy.
#[test]
fn promtool_sees_an_alert_where_check_refuses_a_version() {
    let folder = tempfile::tempdir().unwrap();
    let published = PUBLISHED.images.iter().map(|image| image.version);
    let known = VERSIONS.iter().map(String::as_str).chain(published);
    let known =
        known.filter(|version| ImageVersion::parse(version).is_known() && is_listed(version));
    let mut labels: BTreeSet<&str> = known.chain(UNPUBLISHED).collect();
    assert!(labels.len() > 400, "{}", labels.len());
    labels.extend(NEWER);
    labels.extend(["unknown", "9.6.2026030314"]);
    let node = |name: &str, label: &str| json!({ "values": "1x3", "series": format!("kube_node_labels{{node=\"{name}\"{label}}}") });
    let image = |label: &str| format!("label_skewguard_dev_boot_image=\"{label}\"");
    let nodes = labels
        .iter()
        .map(|label| node(label, &format!(",{}", image(label))));
    let nodes: Vec<Value> = nodes.chain([node("without", "")]).collect();
    let mut samples = Vec::new();
    for (policy, target) in policies() {
        let parsed = policy::parse(policy.to_string().as_bytes()).unwrap();
        let mut fires = labels.clone();
        fires.retain(|label| !NEWER.contains(label) && alerts(&parsed, Some(target), label));
        let Some(expr) = printed(folder.path(), &policy, target) else {
            assert_eq!(fires, BTreeSet::new(), "{policy}");
            continue;
        };
        let fires = fires
            .iter()
            .map(|label| json!({ "labels": format!("{{{}}}", image(label)), "value": 1 }));
        samples.push(
            json!({ "expr": expr, "eval_time": "1m", "exp_samples": fires.collect::<Vec<_>>() }),
        );
    }
    assert!(samples.len() > 10, "{}", samples.len());
    prove(folder.path(), &nodes, &samples);
}

#[test]
fn limits_are_chosen_by_release_and_other_modes_never_fire() {
    let whole = |mode: &str| {
        let text = json!({
            "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": mode,
            "limits": [{ "minimumOCPVersion": "4.8" }, { "release": "4.20", "minimumOCPVersion": "4.14" },
                { "pools": ["worker"], "rhelMajors": [10] }, { "release": "4.22", "deniedVersions": [{ "version": "*" }] }]
        });
        policy::parse(text.to_string().as_bytes()).unwrap()
    };
    for release in [
        None,
        Some("4.19.0"),
        Some("4.20.1"),
        Some("4.22.0"),
        Some("5.1.0"),
    ] {
        for mode in ["Enforce", "Warn", "None", "Other"] {
            same(&whole(mode), release, &VERSIONS).unwrap();
        }
    }
    // Two releases of one code base.
    let limits = [
        json!({ "release": "4.23", "rhelMajors": [9] }),
        json!({ "release": "5.0", "rhelMajors": [10] }),
    ];
    for limits in [[&limits[0], &limits[1]], [&limits[1], &limits[0]]] {
        let mut text = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce" });
        text["limits"] = json!(limits);
        let policy = policy::parse(text.to_string().as_bytes()).unwrap();
        let on_9 = ["9.6.20250523-0".to_owned()];
        for (release, refused) in [("4.23.4", false), ("5.0.0", true), ("5.1.0", true)] {
            same(&policy, Some(release), &on_9).unwrap();
            let expression = Refused::new(&policy, Some(release)).unwrap().nodes;
            let fires = Selectors::new(expression.as_deref()).fires(&on_9[0]);
            assert_eq!(fires, refused, "{release}");
        }
    }
    let none = Refused::new(&whole("None"), Some("4.22.0")).unwrap();
    assert_eq!(none.nodes, None);
    assert_eq!(none.left_out.len(), 1, "{:?}", none.left_out);
}

#[test]
fn an_issue_with_conditions_is_left_out_where_it_concerns_the_release() {
    let text = whole(&json!([]), &known_issues()).to_string();
    let policy = policy::parse(text.as_bytes()).unwrap();
    let left_out = |target| Refused::new(&policy, target).unwrap().left_out;
    for (target, conditional) in [
        (Some("4.22.0"), "1 known issue with conditions (E)"),
        (
            Some("4.20.0-okd-scos.1"),
            "2 known issues with conditions (B, E)",
        ),
        (None, "3 known issues with conditions (B, E, F)"),
    ] {
        let said = format!("{conditional}: the metric does not say more than a node's boot image");
        assert_eq!(left_out(target), [said]);
    }
}

/// The number of limits does not count: one of them is chosen.
#[test]
fn expressions_are_short() {
    let limits = (0..1000)
        .map(|n| json!({ "release": format!("4.{}.{n}", n % 90), "minimumOCPVersion": "4.12", "minimumRHCOSVersion": "9.2" }));
    let many = whole(&limits.collect(), &json!([]));
    for (policy, target) in policies().into_iter().chain([(many, "4.9.99")]) {
        let parsed = policy::parse(policy.to_string().as_bytes()).unwrap();
        let nodes = Refused::new(&parsed, Some(target)).unwrap().nodes;
        let size = nodes.map_or(0, |nodes| nodes.len());
        assert!(size < 4000, "{target} {policy}: {size}");
    }
}
