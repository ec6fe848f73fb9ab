//! What a policy's author starts from.

use serde::Deserialize;
use std::sync::LazyLock;

/// The policy that `policy init` writes. Its mode is `Warn`. `docs/policy.md` says where each of
/// its limits comes from.
pub static STARTER: LazyLock<String> =
    LazyLock::new(|| with_known_issues(include_str!("init.json")));

/// A policy, as indented JSON, with [`KNOWN_ISSUES`] at its end.
pub(crate) fn with_known_issues(policy: &str) -> String {
    let policy = policy.trim_end();
    let policy = policy.strip_suffix("\n}").unwrap_or(policy);
    let issues = KNOWN_ISSUES.trim_end().replace('\n', "\n  ");
    format!("{policy},\n  \"knownIssues\": {issues}\n}}\n")
}

/// What is known to fail, as `knownIssues` of a policy: the one list of it. `docs/policy.md` says
/// how an issue gets in.
pub const KNOWN_ISSUES: &str = include_str!("known-issues.json");

/// The names of [`KNOWN_ISSUES`].
pub(super) fn known_issue_ids() -> Vec<String> {
    #[derive(Deserialize)]
    struct Issue {
        id: String,
    }
    let issues: Vec<Issue> = serde_json::from_str(KNOWN_ISSUES).unwrap_or_default();
    issues.into_iter().map(|issue| issue.id).collect()
}

/// The JSON Schema (2020-12) of a policy. It allows fields and words of other releases; `lint` is
/// stricter.
pub const SCHEMA: &str = include_str!("schema.json");

/// The description of the fields that `policy init` writes beside the policy. It says of each field
/// what the schema says.
pub const REFERENCE: &str = include_str!("reference.md");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::fields;
    use std::collections::BTreeSet;

    #[test]
    fn the_reference_describes_every_field_as_the_schema_does() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let mut described = String::new();
        for (title, names, pointer) in [
            ("The policy", fields::POLICY, ""),
            ("An entry of `limits`", fields::LIMIT, "/$defs/limit"),
            (
                "An entry of `deniedVersions`",
                fields::DENIED,
                "/$defs/deniedVersion",
            ),
            (
                "An entry of `knownIssues`",
                fields::KNOWN_ISSUE,
                "/$defs/knownIssue",
            ),
            ("`images` of a known issue", fields::IMAGES, "/$defs/images"),
            ("`when` of a known issue", fields::WHEN, "/$defs/when"),
            ("`help`", fields::HELP, "/$defs/help"),
        ] {
            let object = schema.pointer(pointer).unwrap();
            described += &format!("\n## {title}\n\n");
            for name in names {
                let required = object["required"]
                    .as_array()
                    .is_some_and(|required| required.contains(&(*name).into()));
                let required = if required { " (required)" } else { "" };
                let description = object["properties"][name]["description"].as_str().unwrap();
                assert!(
                    description.len() > 10 || *name == "reason",
                    "{name}: {description}"
                );
                described += &format!("- `{name}`{required}: {description}\n");
            }
        }
        assert!(
            REFERENCE.ends_with(&described),
            "reference.md has to end with:\n{described}"
        );
    }

    #[test]
    fn the_schema_has_the_fields_that_are_read() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        for (pointer, names) in [
            ("", fields::POLICY),
            ("/$defs/limit", fields::LIMIT),
            ("/$defs/help", fields::HELP),
            ("/$defs/deniedVersion", fields::DENIED),
            ("/$defs/knownIssue", fields::KNOWN_ISSUE),
            ("/$defs/images", fields::IMAGES),
            ("/$defs/when", fields::WHEN),
        ] {
            let properties = schema
                .pointer(&format!("{pointer}/properties"))
                .unwrap()
                .as_object()
                .unwrap();
            let properties: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
            assert_eq!(
                properties,
                names.iter().copied().collect(),
                "schema {pointer}"
            );
        }
    }
    /// Evidence for an issue is somewhere that everybody can look.
    #[test]
    fn every_known_issue_names_its_source() {
        let issues: Vec<serde_json::Value> = serde_json::from_str(KNOWN_ISSUES).unwrap();
        for issue in &issues {
            for field in ["id", "targets", "reason", "ticket", "description"] {
                let text = issue[field].as_str().unwrap_or_default();
                assert!(!text.is_empty(), "{field} is missing: {issue}");
            }
            let url = issue["url"].as_str().unwrap();
            let public = ["https://issues.redhat.com/browse/", "https://github.com/"];
            assert!(public.iter().any(|site| url.starts_with(site)), "{url}");
            // It has room on a console.
            assert!(url.len() + "see ".len() <= 71, "{url}");
        }
        assert_eq!(known_issue_ids().len(), issues.len());
    }

    #[test]
    fn the_policy_of_init_has_the_known_issues() {
        let [policy, issues] = [STARTER.as_str(), KNOWN_ISSUES]
            .map(|json| serde_json::from_str::<serde_json::Value>(json).unwrap());
        assert_eq!(policy["knownIssues"], issues);
        assert_eq!(super::super::lint(STARTER.as_bytes()).findings, []);
    }
}
