//! What `docs/policy.md` says is so: its examples are clean, and its tables are what the code does.

use crate::node;
use skewguard::policy::{STARTER, choose, lint, parse};
use skewguard::verdict::decide;

fn docs() -> String {
    std::fs::read_to_string("docs/policy.md").unwrap()
}

/// The JSON examples, in order.
pub(crate) fn examples() -> Vec<String> {
    let docs = docs();
    docs.split("```json\n").skip(1).map(|rest| rest.split_once("```").unwrap().0.to_owned()).collect()
}

/// The rows of the table behind `<!-- test: NAME -->`, without backquotes.
fn table(name: &str) -> Vec<Vec<String>> {
    let docs = docs();
    let (_, rest) = docs.split_once(&format!("<!-- test: {name} -->\n")).unwrap();
    let (table, _) = rest.split_once("\n\n").unwrap();
    let row = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect();
    table.lines().skip(2).map(row).collect()
}

#[test]
fn the_examples_are_without_mistakes() {
    let examples = examples();
    assert_eq!(examples.len(), 4);
    for example in examples {
        let report = lint(example.as_bytes());
        assert!(report.findings.is_empty(), "{example}{:#?}", report.findings);
        assert_eq!(parse(example.as_bytes()).unwrap().warnings, <[String; 0]>::default());
    }
}

#[test]
fn the_smallest_policy_is_that_of_init_without_its_defaults() {
    assert_eq!(parse(examples()[0].as_bytes()), parse(STARTER.as_bytes()));
}

#[test]
fn the_verdicts_in_the_table_are_given() {
    let policy = parse(examples()[0].as_bytes()).unwrap();
    let rows = table("verdicts");
    assert_eq!(rows.len(), 7);
    for row in rows {
        let verdict = decide(&node(&row[0], "4.21.3", policy.clone()));
        assert_eq!([verdict.verdict.as_str(), verdict.reason.as_str()], [row[1].as_str(), row[2].as_str()], "{}", row[0]);
    }
}

#[test]
fn the_limits_in_the_table_are_chosen() {
    let policy = parse(examples()[1].as_bytes()).unwrap();
    let rows = table("choices");
    assert_eq!(rows.len(), 9);
    for row in rows {
        let release = (row[0] != "unknown").then(|| row[0].parse().unwrap());
        let chosen = choose(&policy.limits, release, Some(&row[1])).unwrap();
        let index = policy.limits.iter().position(|limit| std::ptr::eq(limit, chosen)).unwrap();
        assert_eq!(format!("limits[{index}]"), row[2], "{row:?}");
    }
}
