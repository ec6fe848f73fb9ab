//! The ClusterRole and the Role of `render manifests --auditor`: enough for the audit, and no more.

use super::run;
use super::served::requests_of_every_kind;
use crate::support::apiserver::schema::Schema;
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;
use std::collections::BTreeSet;

/// The ClusterRole, and the Role for the machines' user data.
fn roles() -> [Value; 2] {
    let (yaml, err, exit) = run(&["render", "manifests", "--auditor"]);
    assert_eq!((err.as_str(), exit), ("", Exit::Done));
    let all: Vec<Value> = serde_saphyr::from_multiple(&yaml).unwrap();
    all.try_into().unwrap()
}

/// (group, resource, verb, name) of each thing that a role allows.
fn allowed(role: &Value) -> BTreeSet<(String, String, String, String)> {
    let texts = |value: &Value| {
        value.as_array().map(|all| {
            all.iter()
                .map(|text| text.as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        })
    };
    let mut all = BTreeSet::new();
    for rule in role["rules"].as_array().unwrap() {
        let names = texts(&rule["resourceNames"]).unwrap_or_else(|| vec![String::new()]);
        for group in texts(&rule["apiGroups"]).unwrap() {
            for resource in texts(&rule["resources"]).unwrap() {
                for verb in texts(&rule["verbs"]).unwrap() {
                    all.extend(
                        names.iter().map(|name| {
                            (group.clone(), resource.clone(), verb.clone(), name.clone())
                        }),
                    );
                }
            }
        }
    }
    all
}

#[test]
fn the_role_is_valid_and_reads_only() {
    let [cluster_role, role] = roles();
    for (role, kind) in [(&cluster_role, "ClusterRole"), (&role, "Role")] {
        let name = format!("io.k8s.api.rbac.v1.{kind}");
        let schema = Schema::of_kind("apis_rbac.authorization.k8s.io_v1", &name);
        assert_eq!(schema.errors(role), Vec::<String>::new());
        assert!(
            allowed(role)
                .iter()
                .all(|(_, _, verb, _)| verb == "get" || verb == "list")
        );
    }
    assert_eq!(
        cluster_role["metadata"],
        json!({ "name": "skewguard-auditor" })
    );
    assert_eq!(
        role["metadata"],
        json!({ "name": "skewguard-auditor", "namespace": "openshift-machine-api" })
    );
    // A Secret is read in its namespace alone.
    let is_secret = |(_, resource, ..): &(String, String, String, String)| resource == "secrets";
    assert!(allowed(&role).iter().all(is_secret));
    assert!(!allowed(&cluster_role).iter().any(is_secret));
}

/// What a server is really asked, discovery apart, which everybody may read (system:discovery).
#[test]
fn the_role_has_what_is_asked_for() {
    let allowed: BTreeSet<_> = roles().iter().flat_map(allowed).collect();
    for path in requests_of_every_kind() {
        let path = path
            .split('?')
            .next()
            .unwrap()
            .trim_start_matches('/')
            .to_owned();
        let parts: Vec<&str> = path.split('/').collect();
        let asked = match parts.as_slice() {
            ["api"] | ["apis", _] | ["apis", _, _] => continue,
            ["api", _, "namespaces", _, resource, name] => ("", *resource, "get", *name),
            ["api", _, resource] => ("", *resource, "list", ""),
            ["apis", group, _, resource] => (*group, *resource, "list", ""),
            ["apis", group, _, resource, name] => (*group, *resource, "get", *name),
            _ => panic!("{path}"),
        };
        let (group, resource, verb, name) = asked;
        let key = (
            group.to_owned(),
            resource.to_owned(),
            verb.to_owned(),
            name.to_owned(),
        );
        assert!(allowed.contains(&key), "{path}");
    }
}

/// Stands in for oc: has nodes, machine sets that may not be listed, a ClusterVersion that is not
/// there, and one infrastructure resource.
const OC: &str = r#"#!/bin/sh
case "$*" in
'api-resources --verbs=list -o name')
  printf '%s\n' nodes configmaps machinesets.machine.openshift.io clusterversions.config.openshift.io
  printf '%s.infrastructure.cluster.x-k8s.io\n' awsmachinetemplates awsclusters ;;
'get nodes -A -o json') echo '{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","labels":{"skewguard.dev/boot-image":"9.6.20250523-0"}}}' ;;
'get awsmachinetemplates.infrastructure.cluster.x-k8s.io -A -o json') echo '{"apiVersion":"v1","kind":"List","items":[]}' ;;
'get clusterversions.config.openshift.io version -o json') echo 'Error from server (NotFound): clusterversions "version" not found' >&2; exit 1 ;;
'get '*) echo "Error from server (Forbidden): $2 is forbidden: \"evil\" \\ cannot list" >&2; exit 1 ;;
*) echo "unexpected: $*" >&2; exit 9 ;;
esac
"#;

/// The commands gather what the audit would ask a server for. A kind that is not there leaves no
/// file, also none of an earlier run; what may not be read leaves one that the audit takes for what
/// it is.
#[test]
fn the_printed_commands_word_for_word() {
    let (script, err, exit) = run(&["audit", "--print-commands"]);
    assert_eq!((err.as_str(), exit), ("", Exit::Done));
    crate::support::expected::assert_file("audit/expected/commands.sh", &script);
    let dir = tempfile::tempdir().unwrap();
    let objects = dir.path().join("objects");
    std::fs::create_dir(&objects).unwrap();
    for earlier in [
        "machines.machine.openshift.io.json",
        "clusterversions.config.openshift.io.json",
        "gcpmachinetemplates.infrastructure.cluster.x-k8s.io.json",
    ] {
        std::fs::write(objects.join(earlier), "{}").unwrap();
    }
    std::fs::write(objects.join("notes.txt"), "mine").unwrap();
    crate::support::script::script(&dir.path().join("oc"), OC);
    std::fs::write(dir.path().join("gather.sh"), &script).unwrap();
    let path = format!(
        "{}:{}",
        dir.path().display(),
        std::env::var("PATH").unwrap()
    );
    let gathered = std::process::Command::new("sh")
        .args(["-c", "sh gather.sh 2>err; echo $?; ls objects; tail -1 err"])
        .current_dir(dir.path())
        .env("PATH", path)
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(gathered.stdout).unwrap(),
        "1\nawsmachinetemplates.infrastructure.cluster.x-k8s.io.json\nconfigmaps.json\nmachinesets.machine.openshift.io.json\nnodes.json\nnotes.txt\n\
         user-data.json\nnot read: configmaps machinesets.machine.openshift.io secrets, as audit and why will say\n"
    );
    let (out, err, exit) = run(&[
        "audit",
        "--policy",
        super::POLICY,
        "-o",
        "json",
        "--from",
        objects.to_str().unwrap(),
    ]);
    let audit: serde_json::Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
    assert_ne!(exit, Exit::Done, "{out}");
    let unread = audit["unread"].as_array().unwrap();
    assert!(
        unread.iter().any(|unread| unread["what"]
            == "machinesets.machine.openshift.io"
            && unread["hidesSets"] == true
            && unread["why"]
                .as_str()
                .unwrap()
                .starts_with("Error from server (Forbidden): machinesets.machine.openshift.io is forbidden: 'evil' ' cannot list")),
        "{out}"
    );
    let of_secrets = unread.iter().filter(|unread| unread["what"] == "secrets");
    let of_secrets: Vec<&str> = of_secrets
        .map(|unread| unread["why"].as_str().unwrap())
        .collect();
    assert!(
        matches!(of_secrets[..], [why] if why.ends_with("is forbidden: 'evil' ' cannot list; the Ignition version of the user data is then an estimate, \
            by the release that the cluster was installed as")),
        "{of_secrets:?}"
    );
}
