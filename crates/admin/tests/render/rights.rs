//! docs/dev/rights.md: the table of who may do what in the cluster is made from the rendered objects.

use super::matrix::{documents, outputs};
use super::{Desk, repository};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const HEAD: &str = "| who | where | may | of the API group | Role or ClusterRole | of `render` |\n|---|---|---|---|---|---|\n";

fn texts(list: &Value) -> Vec<&str> {
    let all = list.as_array().into_iter().flatten();
    all.map(|one| one.as_str().unwrap()).collect()
}

/// What a role may do in each API group: the resources by their verbs.
fn rights(role: &Value) -> BTreeMap<String, String> {
    let mut by_group: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for rule in role["rules"].as_array().unwrap() {
        let names = texts(&rule["resourceNames"]);
        let names = match names.as_slice() {
            [] => String::new(),
            names => format!(" ({})", names.join(", ")),
        };
        for group in texts(&rule["apiGroups"]) {
            for resource in texts(&rule["resources"]) {
                let by_verbs = by_group.entry(group.to_owned()).or_default();
                let all = by_verbs
                    .entry(texts(&rule["verbs"]).join(", "))
                    .or_default();
                all.push(format!("`{resource}`{names}"));
            }
        }
    }
    let in_words = |by_verbs: BTreeMap<String, Vec<String>>| {
        let parts = by_verbs
            .into_iter()
            .map(|(verbs, all)| format!("{verbs} {}", all.join(", ")));
        parts.collect::<Vec<_>>().join("; ")
    };
    let by_group = by_group.into_iter();
    by_group
        .map(|(group, by_verbs)| (group, in_words(by_verbs)))
        .collect()
}

/// Who has a role.
fn subjects(role: &Value, objects: &[&Value]) -> String {
    let (kind, metadata) = (&role["kind"], &role["metadata"]);
    let bound = objects.iter().filter(|object| {
        object["roleRef"]["kind"] == *kind
            && object["roleRef"]["name"] == metadata["name"]
            && object["metadata"]["namespace"] == metadata["namespace"]
    });
    let subjects = bound.flat_map(|binding| binding["subjects"].as_array().unwrap());
    let names: BTreeSet<String> = subjects
        .map(|subject| match subject["kind"].as_str().unwrap() {
            "ServiceAccount" => format!("job `{}`", subject["name"].as_str().unwrap()),
            "User" => {
                let name = subject["name"].as_str().unwrap();
                format!(
                    "each new node, and whoever has its bootstrap credentials (`{}`)",
                    name.rsplit(':').next().unwrap()
                )
            }
            other => panic!("{other}"),
        })
        .collect();
    if !names.is_empty() {
        return Vec::from_iter(names).join(", ");
    }
    if role["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-cluster-reader"] == "true"
    {
        return "whoever has `cluster-reader`".to_owned();
    }
    "whom you bind it to".to_owned()
}

/// What of `render manifests` is printed with which options, the smallest first.
fn variants() -> Vec<(&'static str, Vec<Value>)> {
    let desk = Desk::new();
    let audit = "manifests --audit IMAGE@sha256:0000000000000000000000000000000000000000000000000000000000000000 --policy policy.json";
    [
        ("manifests --auditor", "manifests --auditor"),
        ("manifests --auditor --why", "manifests --auditor --why"),
        ("manifests", "manifests"),
        ("manifests --prune", "manifests --prune"),
        ("manifests --audit", audit),
    ]
    .map(|(name, command)| {
        let args: Vec<&str> = command.split(' ').collect();
        let (status, out, err) = desk.render(&args);
        assert_eq!((status, err.as_str()), (0, ""));
        (name, documents(&out))
    })
    .into()
}

fn table() -> String {
    let variants = variants();
    let objects: Vec<&Value> = variants.iter().flat_map(|(_, all)| all).collect();
    let mut rows = String::new();
    let mut known: BTreeMap<BTreeMap<String, String>, String> = BTreeMap::new();
    let mut printed: Vec<&Value> = Vec::new();
    for (command, all) in &variants {
        for role in all {
            let kind = role["kind"].as_str().unwrap();
            if (kind != "Role" && kind != "ClusterRole") || printed.contains(&role) {
                continue;
            }
            printed.push(role);
            let name = role["metadata"]["name"].as_str().unwrap();
            let place = role["metadata"]["namespace"].as_str();
            let place = place.map_or("everywhere".to_owned(), |place| format!("`{place}`"));
            let rights = rights(role);
            let who = subjects(role, &objects);
            let mut row = |may: &str, group: &str| {
                rows += &format!(
                    "| {who} | {place} | {may} | {group} | {kind} `{name}` | `{command}` |\n"
                );
            };
            match known.get(&rights) {
                Some(other) if rights.len() > 3 => row(&format!("the same as `{other}`"), ""),
                _ => rights.iter().for_each(|(group, may)| match group.as_str() {
                    "" => row(may, ""),
                    group => row(may, &format!("`{group}`")),
                }),
            }
            known.entry(rights).or_insert_with(|| name.to_owned());
        }
    }
    format!("{HEAD}{rows}")
}

#[test]
fn the_table_of_rights_is_that_of_the_rendered_objects() {
    let path = repository().join("docs/dev/rights.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let expected = table();
    let (before, rest) = page.split_once(HEAD).expect("the table of rights");
    let rows = rest.lines().take_while(|line| line.starts_with('|'));
    let rows: String = rows.map(|line| format!("{line}\n")).collect();
    if std::env::var_os("SKEWGUARD_BLESS").is_some() {
        let page = format!("{before}{expected}{}", &rest[rows.len()..]);
        std::fs::write(&path, page).unwrap();
        return;
    }
    assert_eq!(format!("{HEAD}{rows}"), expected);
}

/// Nobody writes what decides elsewhere: Machines and their status, certificate requests, Secrets,
/// roles, pods that run.
#[test]
fn no_output_gives_a_right_that_decides_elsewhere() {
    for output in outputs(1) {
        for role in &output.objects {
            for rule in role["rules"].as_array().into_iter().flatten() {
                let reads = |verb: &&str| ["get", "list", "watch"].contains(verb);
                let verbs = texts(&rule["verbs"]);
                assert!(!verbs.contains(&"*"), "{rule}");
                let groups = texts(&rule["apiGroups"]);
                let resources = texts(&rule["resources"]);
                assert!(
                    !groups.contains(&"*") && !resources.contains(&"*"),
                    "{rule}"
                );
                if verbs.iter().all(reads) {
                    // A Secret by its name, in one namespace.
                    if resources.contains(&"secrets") {
                        assert!(
                            rule["resourceNames"].is_array() && role["kind"] == "Role",
                            "{role}"
                        );
                    }
                    continue;
                }
                let named = rule["resourceNames"] == serde_json::json!(["skewguard-audit"]);
                let may_write = (groups == ["skewguard.dev"] && resources == ["bootimagereports"])
                    || (groups == ["events.k8s.io"] && verbs == ["create"])
                    || (resources == ["configmaps"] && named);
                assert!(
                    may_write && role["metadata"]["namespace"] == "skewguard",
                    "{role}"
                );
            }
        }
    }
}
