//! The ClusterRole of `render manifests --auditor`: enough for the audit, and no more.

use super::apiserver::schema::Schema;
use super::run;
use super::served::requests_of_every_kind;
use serde_json::{Value, json};
use skewguard::audit::fetch::{INFRASTRUCTURE, RESOURCES};
use skewguard::cli::Exit;
use std::collections::BTreeSet;

fn role() -> Value {
    let (yaml, err, exit) = run(&["render", "manifests", "--auditor"]);
    assert_eq!((err.as_str(), exit), ("", Exit::Done));
    serde_saphyr::from_str(&yaml).unwrap()
}

/// (group, resource, verb, name) of each thing that a role allows.
fn allowed(role: &Value) -> BTreeSet<(String, String, String, String)> {
    let texts = |value: &Value| value.as_array().map(|all| all.iter().map(|text| text.as_str().unwrap().to_owned()).collect::<Vec<_>>());
    let mut all = BTreeSet::new();
    for rule in role["rules"].as_array().unwrap() {
        let names = texts(&rule["resourceNames"]).unwrap_or_else(|| vec![String::new()]);
        for group in texts(&rule["apiGroups"]).unwrap() {
            for resource in texts(&rule["resources"]).unwrap() {
                for verb in texts(&rule["verbs"]).unwrap() {
                    all.extend(names.iter().map(|name| (group.clone(), resource.clone(), verb.clone(), name.clone())));
                }
            }
        }
    }
    all
}

#[test]
fn the_role_is_valid_and_reads_only() {
    let role = role();
    let schema = Schema::of_kind("apis_rbac.authorization.k8s.io_v1", "io.k8s.api.rbac.v1.ClusterRole");
    assert_eq!(schema.errors(&role), Vec::<String>::new());
    assert_eq!(role["metadata"], json!({ "name": "skewguard-auditor" }));
    assert!(allowed(&role).iter().all(|(_, _, verb, _)| verb == "get" || verb == "list"));
}

/// Each resource of the audit is in it, with the verb that is used, and nothing but those and the infrastructure's machines.
#[test]
fn the_role_has_what_is_asked_for() {
    let allowed = allowed(&role());
    let wanted: BTreeSet<_> = RESOURCES
        .iter()
        .map(|resource| {
            let (verb, name) = resource.one.map_or(("list", ""), |(_, name)| ("get", name));
            (resource.group.to_owned(), resource.plural.to_owned(), verb.to_owned(), name.to_owned())
        })
        .collect();
    let (infrastructure, others): (BTreeSet<_>, BTreeSet<_>) = allowed.into_iter().partition(|(group, ..)| group == INFRASTRUCTURE);
    assert_eq!(others, wanted);
    for (_, resource, _, _) in &infrastructure {
        assert!(resource.ends_with("machines") || resource.ends_with("machinetemplates"), "{resource}");
    }
    // What a server is really asked, discovery apart, which everybody may read (system:discovery).
    for path in requests_of_every_kind() {
        let path = path.split('?').next().unwrap().trim_start_matches('/').to_owned();
        let parts: Vec<&str> = path.split('/').collect();
        let asked = match parts.as_slice() {
            ["apis", _] | ["apis", _, _] => continue,
            ["api", _, "namespaces", _, resource, name] => ("", *resource, "get", *name),
            ["api", _, resource] => ("", *resource, "list", ""),
            ["apis", group, _, resource] => (*group, *resource, "list", ""),
            ["apis", group, _, resource, name] => (*group, *resource, "get", *name),
            _ => panic!("{path}"),
        };
        let (group, resource, verb, name) = asked;
        let key = (group.to_owned(), resource.to_owned(), verb.to_owned(), name.to_owned());
        assert!(wanted.contains(&key) || infrastructure.contains(&key), "{path}");
    }
}

/// The commands gather what the audit would ask a server for, and leave no file for what is not there.
#[test]
fn the_printed_commands_word_for_word() {
    let (script, err, exit) = run(&["audit", "--print-commands"]);
    assert_eq!((err.as_str(), exit), ("", Exit::Done));
    super::fixtures::expect("commands.sh", &script);
    let dir = tempfile::tempdir().unwrap();
    // Stands in for oc: has nodes and one infrastructure resource, and fails for the rest.
    let oc = "#!/bin/sh\ncase \"$*\" in\n'get nodes -A -o json') echo '{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n\",\"labels\":{\"skewguard.dev/boot-image\":\"9.6.20250523-0\"}}}' ;;\n'api-resources '*) printf 'awsmachinetemplates.infrastructure.cluster.x-k8s.io\\nawsclusters.infrastructure.cluster.x-k8s.io\\n' ;;\n'get awsmachinetemplates.infrastructure.cluster.x-k8s.io -A -o json') echo '{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[]}' ;;\n*) echo \"error: the server doesn't have it\" >&2; exit 1 ;;\nesac\n";
    std::fs::write(dir.path().join("oc"), oc).unwrap();
    std::fs::write(dir.path().join("gather.sh"), &script).unwrap();
    let path = format!("{}:{}", dir.path().display(), std::env::var("PATH").unwrap());
    let script = "chmod +x oc && sh gather.sh 2>/dev/null; ls objects";
    let listed = std::process::Command::new("sh").args(["-c", script]).current_dir(dir.path()).env("PATH", path).output().unwrap();
    assert_eq!(String::from_utf8(listed.stdout).unwrap(), "awsmachinetemplates.infrastructure.cluster.x-k8s.io.json\nnodes.json\n");
}
