//! What the alert on old boot images looks for is what `check` refuses.

use crate::policy::{self, Policy};
use crate::render::alerts::Refused;
use crate::text::label_value;
use crate::verdict::{
    BootImage, Facts, ImageSource, Outcome, PolicyInput, Target, TargetInput, decide,
};
use crate::version::{ImageVersion, Release};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// A limit with these rules, as JSON.
fn policy(limit: &Value) -> Policy {
    let policy = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce", "limits": [limit] });
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
        let expression = expression.unwrap_or_default();
        assert!(!expression.contains('\\'), "{expression}");
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

fn same(policy: &Policy, release: Option<&str>, labels: &[String]) -> Result<(), TestCaseError> {
    let parsed: Option<Release> = release.map(|release| release.parse().unwrap());
    let expression = Refused::new(policy, parsed).unwrap().expression;
    let selectors = Selectors::new(expression.as_deref());
    for label in labels {
        let (have, want) = (selectors.fires(label), refused(policy, release, label));
        prop_assert_eq!(have, want, "{}: {:?}", label, expression);
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
    )
        .prop_map(|(ocp, minimum, maximum, behind, majors, denied, scos)| {
            let fields = [
                ("minimumOCPVersion", ocp),
                ("minimumRHCOSVersion", minimum),
                ("maximumRHCOSVersion", maximum),
                ("maximumReleasesBehind", behind),
                ("minimumSCOSVersion", scos),
                ("rhelMajors", majors),
                ("deniedVersions", denied),
            ];
            fields
                .into_iter()
                .filter_map(|(name, value)| Some((name.to_owned(), value?)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        })
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

    /// For every version that a label can hold the expression says what `check` says.
    #[test]
    fn it_fires_exactly_where_check_refuses(
        limit in limit(),
        release in prop::option::of((4..6_u8, 0..25_u8).prop_map(|(x, y)| format!("{x}.{y}.3"))),
        generated in prop::collection::vec(version(), 200),
    ) {
        let mut labels = VERSIONS.clone();
        labels.extend(generated.into_iter().filter(|version| label_value(version) == *version));
        same(&policy(&limit), release.as_deref(), &labels)?;
    }
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
            let expression = Refused::new(&policy, release.parse().ok())
                .unwrap()
                .expression;
            let fires = Selectors::new(expression.as_deref()).fires(&on_9[0]);
            assert_eq!(fires, refused, "{release}");
        }
    }
    let none = Refused::new(&whole("None"), Some("4.22.0".parse().unwrap())).unwrap();
    assert_eq!(none.expression, None);
    assert_eq!(none.left_out.len(), 1, "{:?}", none.left_out);
}

#[test]
fn known_issues_count_where_they_are_about_images_alone() {
    let text = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce",
        "limits": [{ "minimumOCPVersion": "4.4" }],
        "knownIssues": [
            { "id": "A", "targets": ">=4.22.0", "images": { "belowOCPVersion": "4.10.0", "versions": [{ "version": "418.94.2025*" }] }, "reason": "r" },
            { "id": "B", "images": { "belowRHCOSVersion": "9.6.20250523-0" }, "when": { "platforms": ["aws"] }, "reason": "r" },
            { "id": "C", "targets": "<4.20.0", "images": { "belowRHCOSVersion": "9.6.20250701-0" }, "reason": "r" },
            { "id": "D", "images": { "versions": [{ "version": "9.6.20251023-0" }] }, "reason": "r" }
        ] });
    let policy = policy::parse(text.to_string().as_bytes()).unwrap();
    for release in [None, Some("4.19.3"), Some("4.21.0"), Some("4.22.1")] {
        same(&policy, release, &VERSIONS).unwrap();
    }
    let refused = Refused::new(&policy, Some("4.22.1".parse().unwrap())).unwrap();
    assert_eq!(
        refused.left_out,
        [
            "1 known issue with conditions (B): the metric does not say more than a node's boot image"
        ]
    );
    assert!(Selectors::new(refused.expression.as_deref()).fires("9.6.20251023-0"));
}

#[test]
fn a_policy_with_a_thousand_limits_has_an_expression_of_one() {
    let limits: Vec<Value> = (0..1000)
        .map(|n| json!({ "release": format!("4.{}.{n}", n % 90), "minimumOCPVersion": "4.12", "minimumRHCOSVersion": "9.2" }))
        .collect();
    let text = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce", "limits": limits });
    let policy = policy::parse(text.to_string().as_bytes()).unwrap();
    let expression = Refused::new(&policy, Some("4.9.99".parse().unwrap()))
        .unwrap()
        .expression
        .unwrap();
    assert!(expression.len() < 3000, "{}", expression.len());
}

#[test]
fn a_thousand_denied_versions_are_matched_by_one_expression() {
    let many = |count: u32| -> Vec<Value> {
        (0..count)
            .map(|n| json!({ "version": format!("{:08x}-{:08x}", n.wrapping_mul(0x9e37_79b9), n.wrapping_mul(0x85eb_ca6b)) }))
            .collect()
    };
    let some = policy(&json!({ "deniedVersions": many(1000) }));
    let expression = Refused::new(&some, None).unwrap().expression.unwrap();
    assert!(Selectors::new(Some(&expression)).fires("9e3779b9-85ebca6b"));
}
