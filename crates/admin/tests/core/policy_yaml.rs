//! Policies that are written as YAML: what is judged, rendered and said of them is what the same
//! JSON gets, with the lines of the YAML.

use crate::inside::core::samples::{any_json, places, with as with_value};
use crate::lint::lint;
use proptest::prelude::*;
use serde_json::Value;
use std::path::PathBuf;

/// Every policy of the tests' data that is JSON.
fn policies() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["tests/data/lint", "tests/data/audit", "tests/trees"] {
        let mut open = vec![PathBuf::from(folder)];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else if path.ends_with("policy.json") || path.starts_with("tests/data/lint") {
                    found.push(path);
                }
            }
        }
    }
    found.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    found.sort();
    found
}

/// The same as YAML, by another hand; `None` for what YAML cannot say or is no JSON.
fn as_yaml(json: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(json).ok()?;
    Some(serde_saphyr::to_string(&value).unwrap())
}

#[test]
fn the_same_mistakes_are_found_as_in_json() {
    let (mut compared, mut with_mistakes) = (0, 0);
    for path in policies() {
        let json = std::fs::read(&path).unwrap();
        let Some(yaml) = as_yaml(&json) else { continue };
        // serde_json's tree has neither the numbers as they were written nor fields given twice.
        let tree: Value = serde_json::from_slice(&json).unwrap();
        let name = path.display();
        let (wanted, found) = (lint(tree.to_string().as_bytes()), lint(yaml.as_bytes()));
        let all = |report: &crate::lint::LintReport| {
            let mut all: Vec<_> = report
                .findings
                .iter()
                .map(|f| (f.mistake, f.path.clone(), f.message.clone(), f.help.clone()))
                .collect();
            all.sort();
            all
        };
        assert_eq!(all(&found), all(&wanted), "{name}\n{yaml}");
        let lines: Vec<&str> = yaml.lines().collect();
        for finding in &found.findings {
            // The last name of the path stands on its line, or in the lines before its value.
            let last = finding.path.rsplit('.').next().unwrap();
            let last = last.split('[').next().unwrap();
            let mut before = lines[..finding.line].iter();
            assert!(
                before.any(|line| line.contains(last)),
                "{name}: {finding:?}\n{yaml}"
            );
        }
        compared += 1;
        with_mistakes += usize::from(!found.findings.is_empty());
    }
    assert!(
        compared > 10 && with_mistakes > 5,
        "{compared}, {with_mistakes}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever stands in a field's place.
    #[test]
    fn any_value_gets_the_mistakes_that_it_gets_in_json(place in proptest::sample::select(places()), value in any_json()) {
        let tree = with_value(place, value);
        let yaml = serde_saphyr::to_string(&tree).unwrap();
        let all = |bytes: &[u8]| {
            let mut all: Vec<_> = lint(bytes).findings.into_iter().map(|f| (f.mistake, f.path)).collect();
            all.sort();
            all
        };
        prop_assert_eq!(all(yaml.as_bytes()), all(tree.to_string().as_bytes()), "{}", yaml);
    }

    /// Text of any kind is answered, within the text.
    #[test]
    fn any_text_is_answered(text in "[-a-c:?&*!{}\\[\\],#|>'\"%@` \t\n0-9.é]{0,200}") {
        for finding in lint(text.as_bytes()).findings {
            prop_assert!(finding.line <= text.split('\n').count() + 1 && finding.column <= 202, "{:?}", finding);
        }
    }
}

const YAML: &str = include_str!("policy.yaml");

/// What `policy lint` says of a text, without its name.
fn said(text: &str) -> String {
    let report = lint(text.as_bytes());
    let shown = report.findings.iter().map(|f| {
        format!(
            "{}:{} {}: {} | {}\n",
            f.line, f.column, f.path, f.message, f.help
        )
    });
    shown.collect()
}

/// The policy with one line in place of another.
fn with(line: &str, other: &str) -> String {
    assert!(YAML.contains(line));
    YAML.replace(line, other)
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let deep = format!("limits: {}{}", "[".repeat(40), "]".repeat(40));
    let wide = format!("limits: [{}]", "1,".repeat(70_000));
    let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n";
    let texts = [
        with("    minimumRHCOSVersion", "\tminimumRHCOSVersion"),
        bomb.to_owned(),
        with("mode: Enforce", "mode: Enforce\nmode: Warn"),
        with("4.13.0     ", "4.13 "),
        with("\"9.2\"", "9.20"),
        with("mode: Enforce", "mode: no"),
        with("mode: Enforce", "mode: yes"),
        with("mode: Enforce", "mode: null"),
        with("mode: Enforce", "mode: !!str null"),
        with("mode: Enforce", "mode: !enum Warn"),
        with("4.13.0     ", "2026-11-24 "),
        format!("{YAML}---\n{YAML}"),
        "# nothing\n".to_owned(),
        "---\n".to_owned(),
        String::new(),
        "limits: [\n".to_owned(),
        "? [a]\n: b\n".to_owned(),
        "just words\n".to_owned(),
        "- a list\n".to_owned(),
        deep,
        wide,
        with("kind: Boot", "knd: Boot"),
        with("version: 9.6.20250826-1", "version: '*'"),
        with("version: 9.6.20250826-1", "version: * "),
    ];
    let found: String = texts
        .iter()
        .map(|text| {
            let title: String = text
                .lines()
                .find(|line| !YAML.contains(line))
                .unwrap_or("(the same twice, or nothing)")
                .chars()
                .take(40)
                .collect();
            format!("== {title}\n{}", said(text))
        })
        .collect();
    crate::support::expected::assert_file("core/expected/policy-yaml.txt", &found);
}
