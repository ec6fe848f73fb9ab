//! The policies that an author starts from.

use crate::API_VERSION;
use crate::policy::fields::KIND;
use crate::policy::{Affects, KnownIssue, choose, parse};
use crate::template::Object;
use crate::version::Release;
use std::sync::LazyLock;

/// Kind of cluster that a policy is for: the two have other boot images, and other known issues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cluster {
    Ocp,
    Okd,
}

/// The policy that `policy init` writes. Its mode is `Warn`. `docs/policy.md` says where each of
/// its limits comes from.
pub static STARTER: LazyLock<String> =
    LazyLock::new(|| starter(include_str!("init.json"), Cluster::Ocp));

/// The one for a cluster of OKD.
pub static STARTER_OKD: LazyLock<String> =
    LazyLock::new(|| starter(include_str!("init-okd.json"), Cluster::Okd));

/// The one for the nodes of a NodePool of this release, which do not know it: the release's limit, for
/// any. What knows its release is none of them.
pub(crate) fn hosted(release: Release) -> String {
    const INIT: &str = include_str!("init.json");
    let limits = parse(INIT.as_bytes()).map_or_else(|_| Vec::new(), |policy| policy.limits);
    let own = choose(&limits, Some(release), None);
    let own = limits.iter().position(|limit| Some(limit) == own);
    let mut policy = Object::new(INIT, &[]);
    if let (Some(Object::List(limits)), Some(own)) = (policy.part("limits"), own) {
        let mut own = limits.swap_remove(own);
        limits.clear();
        if let Object::Fields(fields) = &mut own
            && fields.shift_remove("release").is_some()
        {
            limits.push(Object::new(
                r#"{"release": "4.8", "deniedVersions": []}"#,
                &[],
            ));
        }
        limits.insert(0, own);
    }
    // Of texts and lists JSON can always be made.
    with_known_issues(&serde_json::to_string_pretty(&policy).unwrap_or_default())
}

/// The name of an audit's policy where none was named.
pub(crate) const STARTER_NAME: &str = "oc skewguard policy init";

/// The one for a cluster of OKD.
pub(crate) const STARTER_NAME_OKD: &str = "oc skewguard policy init --okd";

/// A policy, as indented JSON, with the known issues of an OCP cluster at its end.
pub(crate) fn with_known_issues(policy: &str) -> String {
    starter(policy, Cluster::Ocp)
}

fn starter(limits: &str, cluster: Cluster) -> String {
    let limits = limits.trim_end();
    let limits = limits.strip_suffix("\n}").unwrap_or(limits);
    let issues: Vec<String> = issue_texts()
        .zip(shipped())
        .filter(|(_, issue)| is_for_nodes_of(cluster, issue))
        .map(|(text, _)| to_policy_json(text))
        .collect();
    let issues = issues.join(",\n").replace('\n', "\n  ");
    format!("{limits},\n  \"knownIssues\": [\n  {issues}\n  ]\n}}\n")
}

/// Known issues, as `knownIssues` of a policy: the one list of them.
/// `CONTRIBUTING.md` says how an issue gets in.
pub const KNOWN_ISSUES: &str = include_str!("known-issues.json");

/// The issues of [`KNOWN_ISSUES`] as they stand there, each with its indentation.
fn issue_texts() -> impl Iterator<Item = &'static str> {
    let list = KNOWN_ISSUES.trim().trim_start_matches("[\n");
    let list = list.strip_suffix("\n]").unwrap_or(list);
    list.split_inclusive("\n  }")
        .map(|text| text.trim_start_matches(",\n"))
}

/// An issue as a policy has it: what was seen, by whom and in which ticket stays in the list, since
/// every node carries the policy.
fn to_policy_json(issue: &str) -> String {
    let is_for_people = |line: &str| {
        let names = ["\"ticket\"", "\"evidence\"", "\"until\""];
        names.iter().any(|name| line.trim_start().starts_with(name))
    };
    let lines: Vec<&str> = issue.lines().filter(|line| !is_for_people(line)).collect();
    lines.join("\n").replace(",\n  }", "\n  }")
}

/// The issues that this version ships.
pub(crate) fn shipped() -> &'static [KnownIssue] {
    static SHIPPED: LazyLock<Vec<KnownIssue>> = LazyLock::new(|| read(KNOWN_ISSUES));
    &SHIPPED
}

/// These issues, then the shipped ones that are not among them.
pub(crate) fn with_shipped(own: &[KnownIssue]) -> impl Iterator<Item = &KnownIssue> {
    let is_own = |issue: &&KnownIssue| own.iter().any(|own| own.id == issue.id);
    let others = shipped().iter().filter(move |issue| !is_own(issue));
    own.iter().chain(others)
}

/// The issues of a list, as JSON.
pub(super) fn read(list: &str) -> Vec<KnownIssue> {
    let policy = format!(
        r#"{{"apiVersion":"{API_VERSION}","kind":"{KIND}","mode":"Warn","limits":[],"knownIssues":{list}}}"#
    );
    parse(policy.as_bytes()).map_or_else(|_| Vec::new(), |policy| policy.known_issues)
}

/// Today's entry of that name, as a policy has it.
pub(super) fn entry(id: &str) -> Option<String> {
    let mut all = issue_texts().zip(shipped());
    let (text, _) = all.find(|(_, issue)| issue.id == id)?;
    Some(to_policy_json(text))
}

/// Tells whether a first boot in such a cluster may have it. What affects updates is of no use to a node:
/// the audit looks for it in [`KNOWN_ISSUES`].
fn is_for_nodes_of(cluster: Cluster, issue: &KnownIssue) -> bool {
    let is_okd = (issue.scope.as_ref()).is_ok_and(|scope| scope.when.okd == Some(true));
    issue.affects != Affects::Update && is_okd == (cluster == Cluster::Okd)
}

/// The names of [`KNOWN_ISSUES`] that a policy for such clusters should have.
pub(super) fn known_issue_ids(cluster: Cluster) -> Vec<String> {
    let own = (shipped().iter()).filter(|issue| is_for_nodes_of(cluster, issue));
    own.map(|issue| issue.id.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Evidence for an issue is somewhere that everybody can look, with a window and who saw it.
    #[test]
    fn every_known_issue_has_window_source_and_evidence() {
        let issues: Vec<serde_json::Value> = serde_json::from_str(KNOWN_ISSUES).unwrap();
        for issue in &issues {
            for field in ["id", "targets", "reason", "ticket", "evidence", "until"] {
                let text = issue[field].as_str().unwrap_or_default();
                assert!(!text.is_empty(), "{field} is missing: {issue}");
            }
            let evidence = issue["evidence"].as_str().unwrap();
            let seen = [" saw ", "Graph data blocks ", "code names ", "removed "];
            assert!(
                seen.iter().any(|words| evidence.contains(words)),
                "who saw it? {evidence}"
            );
            // The end of the window, or why there is none.
            let until = issue["until"].as_str().unwrap();
            let windows = issue["targets"].as_str().unwrap().split("||");
            let ends: Vec<&str> = windows
                .filter_map(|window| Some(window.split_once('<')?.1.trim()))
                .collect();
            assert!(
                match ends.first() {
                    Some(end) =>
                        until.starts_with(end) && ends.iter().all(|end| until.contains(end)),
                    None => until.starts_with("No release") || until.starts_with("Never: "),
                },
                "when does it end? {until}"
            );
            // What refuses has an end that is known, and is not inferred.
            let refuses = issue["affects"] != "Update" && issue["effect"] != "Warn";
            let is_known = !until.starts_with("No release") && !evidence.contains("inferred");
            assert!(!refuses || is_known, "{evidence} {until}");
            let when = &issue["when"];
            assert!(when["secureBoot"].is_null() || when["architectures"].is_array());
            let url = issue["url"].as_str().unwrap();
            let public = ["https://issues.redhat.com/browse/", "https://github.com/"];
            assert!(public.iter().any(|site| url.starts_with(site)), "{url}");
            // It has room on a console.
            assert!(url.len() + "see ".len() <= 71, "{url}");
            let affects_updates = issue["affects"] == "Update";
            assert_eq!(issue["remedy"].is_string(), affects_updates, "{issue}");
        }
        let of_both = [Cluster::Ocp, Cluster::Okd].map(|cluster| known_issue_ids(cluster).len());
        let of_nodes = issues.iter().filter(|issue| issue["affects"] != "Update");
        assert_eq!(of_both.iter().sum::<usize>(), of_nodes.count());
    }

    /// Its nodes get no limit that has a release.
    #[test]
    fn the_policy_of_a_nodepool_enforces_without_a_release() {
        for (release, refuses) in [("4.18.3", false), ("4.22.0", true), ("5.0.2", true)] {
            let text = hosted(release.parse().unwrap());
            assert_eq!(super::super::lint(text.as_bytes()).findings, []);
            let enforced = text.replacen("\"Warn\"", "\"Enforce\"", 1);
            let findings = super::super::lint(enforced.as_bytes()).findings;
            assert_eq!(findings.is_empty(), refuses, "{findings:?}");
            let policy = parse(enforced.as_bytes()).unwrap();
            let mut decider = crate::decider::Decider::new(policy, None, None);
            let old = crate::version::ImageVersion::parse("411.86.202308081056-0");
            assert_eq!(decider.refuses(old), refuses, "{release}");
        }
    }

    #[test]
    fn the_policies_of_init_have_the_known_issues_of_their_clusters() {
        let mut issues: Vec<serde_json::Value> = serde_json::from_str(KNOWN_ISSUES).unwrap();
        for issue in &mut issues {
            for field in ["evidence", "ticket", "until"] {
                assert!(issue.as_object_mut().unwrap().remove(field).is_some());
            }
        }
        let of = |cluster| -> Vec<&serde_json::Value> {
            let ids = known_issue_ids(cluster);
            issues
                .iter()
                .filter(|issue| ids.iter().any(|id| issue["id"] == **id))
                .collect()
        };
        for (text, cluster) in [(&STARTER, Cluster::Ocp), (&STARTER_OKD, Cluster::Okd)] {
            let policy: serde_json::Value = serde_json::from_str(text).unwrap();
            let has: Vec<_> = policy["knownIssues"].as_array().unwrap().iter().collect();
            assert_eq!(has, of(cluster));
            assert_eq!(super::super::lint(text.as_bytes()).findings, []);
        }
    }
}
