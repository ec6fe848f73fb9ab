//! What `docs/policy.md` says is so: its examples are clean, and its tables are what the code does.

use crate::inside::core::samples::{image_versions, node};
use crate::lint::{lint, starter::STARTER};
use crate::policy::{choose, parse};
use crate::verdict::{Facts, Outcome, PolicyInput, Target, TargetInput, decide};
use crate::version::ImageVersion;

fn docs() -> String {
    std::fs::read_to_string("../../docs/policy.md").unwrap()
}

/// The JSON examples, in order.
pub(crate) fn examples() -> Vec<String> {
    let docs = docs();
    docs.split("```json\n")
        .skip(1)
        .map(|rest| rest.split_once("```").unwrap().0.to_owned())
        .collect()
}

/// The rows of the table behind `<!-- test: NAME -->`, without backquotes.
fn table(name: &str) -> Vec<Vec<String>> {
    let docs = docs();
    let (_, rest) = docs
        .split_once(&format!("<!-- test: {name} -->\n"))
        .unwrap();
    let (table, _) = rest.split_once("\n\n").unwrap();
    let row = |line: &str| {
        line.trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().replace('`', ""))
            .collect()
    };
    table.lines().skip(2).map(row).collect()
}

#[test]
fn the_examples_are_without_mistakes() {
    let examples = examples();
    assert_eq!(examples.len(), 5);
    for example in examples {
        let mut report = lint(example.as_bytes());
        // They show one thing each.
        report.findings.retain(|finding| {
            !["KnownIssueMissing", "NothingWithoutRelease"].contains(&finding.mistake)
        });
        assert!(
            report.findings.is_empty(),
            "{example}{:#?}",
            report.findings
        );
        assert_eq!(
            parse(example.as_bytes()).unwrap().warnings,
            <[String; 0]>::default()
        );
    }
}

#[test]
fn the_smallest_policy_is_that_of_init_without_known_issues() {
    let mut starter = parse(STARTER.as_bytes()).unwrap();
    starter.limits.truncate(2);
    starter.known_issues.clear();
    assert_eq!(parse(examples()[0].as_bytes()).unwrap(), starter);
}

/// Also for releases later than those that the policy names. Before 4.22 every version that is
/// understood is allowed.
#[test]
fn the_policy_of_init_refuses_what_cannot_boot_and_nothing_that_the_peer_allows() {
    let mut starter = parse(STARTER.as_bytes()).unwrap();
    starter.known_issues.clear();
    for image in image_versions() {
        let version = ImageVersion::parse(&image);
        let outcome = |release| decide(&node(&image, release, starter.clone())).verdict;
        let of_rhel_8 = version.rhel.is_some_and(|rhel| rhel.major < 9);
        for release in ["4.22.0", "4.23.1", "5.0.0", "5.4.2", "6.0.0"] {
            assert_eq!(
                outcome(release) == Outcome::Refused,
                of_rhel_8 || version.ocp.is_some_and(|ocp| ocp.minor < 13),
                "{image} {release}"
            );
        }
        let allowed = match version.is_known() {
            true => Outcome::Allowed,
            false => Outcome::Undetermined,
        };
        for release in ["4.8.0", "4.12.9", "4.16.3", "4.21.3"] {
            assert_eq!(outcome(release), allowed, "{image} {release}");
        }
    }
}

/// As the release that the node does not know might allow it.
#[test]
fn a_node_that_does_not_know_its_release_is_not_refused_by_init() {
    let policy = PolicyInput::new("p", String::new(), STARTER.as_bytes());
    for (image, allowed) in [
        ("410.8.20190520.0", Outcome::Allowed),
        ("412.86.202301311551-0", Outcome::Allowed),
        ("9.6.20251015-1", Outcome::Allowed),
        ("x", Outcome::Undetermined),
    ] {
        let facts = Facts {
            policy: policy.clone(),
            target: TargetInput::Read(Target::default()),
            ..node(image, "4.21.3", parse(STARTER.as_bytes()).unwrap())
        };
        assert_eq!(decide(&facts).verdict, allowed, "{image}");
    }
}

#[test]
fn the_verdicts_in_the_table_are_given() {
    let policy = parse(examples()[0].as_bytes()).unwrap();
    let rows = table("verdicts");
    assert_eq!(rows.len(), 7);
    for row in rows {
        let verdict = decide(&node(&row[0], "4.22.3", policy.clone()));
        assert_eq!(
            [verdict.verdict.as_str(), verdict.reason.as_str()],
            [row[1].as_str(), row[2].as_str()],
            "{}",
            row[0]
        );
    }
}

#[test]
fn the_limits_in_the_table_are_chosen() {
    let policy = parse(examples()[3].as_bytes()).unwrap();
    let rows = table("choices");
    assert_eq!(rows.len(), 9);
    for row in rows {
        let release = (row[0] != "unknown").then(|| row[0].parse().unwrap());
        let chosen = choose(&policy.limits, release, Some(&row[1])).unwrap();
        let index = policy
            .limits
            .iter()
            .position(|limit| std::ptr::eq(limit, chosen))
            .unwrap();
        assert_eq!(format!("limits[{index}]"), row[2], "{row:?}");
    }
}
