//! dist/manifests/audit: the hourly audit may do what it does and no more, and keeps what it found.

use crate::render::repository;
use crate::support::script::script;
use serde_json::{Value, json};
use std::process::Command;

fn documents() -> Vec<Value> {
    let manifest = repository().join("dist/manifests/audit/audit.yaml");
    serde_saphyr::from_multiple(&std::fs::read_to_string(manifest).unwrap()).unwrap()
}

fn find<'a>(documents: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let found =
        |document: &&Value| document["kind"] == kind && document["metadata"]["name"] == name;
    documents.iter().find(found).unwrap()
}

#[test]
fn its_pod_is_let_in_and_has_no_more_rights_than_it_uses() {
    let all = documents();
    let pod = &find(&all, "CronJob", "skewguard-audit")["spec"]["jobTemplate"]["spec"]["template"]
        ["spec"];
    assert_eq!(
        pod["securityContext"],
        json!({ "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" } })
    );
    for container in pod["containers"].as_array().unwrap() {
        let context = json!({ "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": { "drop": ["ALL"] } });
        assert_eq!(container["securityContext"], context);
        assert!(container["resources"]["limits"]["memory"].is_string());
    }
    let rules = json!([
        { "apiGroups": [""], "resources": ["pods", "pods/log"], "verbs": ["get"] },
        { "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["skewguard-audit"], "verbs": ["get", "patch"] }
    ]);
    assert_eq!(find(&all, "Role", "skewguard-audit")["rules"], rules);
    assert_eq!(
        find(&all, "ClusterRoleBinding", "skewguard-audit-cluster")["roleRef"]["name"],
        "skewguard-audit"
    );
    // It would be overwritten by the next `oc apply`.
    assert_eq!(
        find(&all, "ConfigMap", "skewguard-audit")["data"],
        Value::Null
    );
    let kubeconfig = find(&all, "ConfigMap", "skewguard-audit-kubeconfig")["data"]["kubeconfig"]
        .as_str()
        .unwrap();
    let kubeconfig: Value = serde_saphyr::from_str(kubeconfig).unwrap();
    assert_eq!(
        kubeconfig["users"][0]["user"],
        json!({ "tokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token" })
    );
}

/// Runs the script that keeps the audit, with a stand-in for `oc`: `oc create` writes its arguments
/// and what the file held.
fn keep(log: &str) -> (Option<String>, bool) {
    let all = documents();
    let containers = &find(&all, "CronJob", "skewguard-audit")["spec"]["jobTemplate"]["spec"]["template"]
        ["spec"]["containers"];
    let container = &containers[1];
    let words = |field: &str| -> Vec<String> {
        container[field]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| word.as_str().unwrap().to_owned())
            .collect()
    };
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("log"), log).unwrap();
    script(
        &dir.path().join("oc"),
        r#"here=${0%/*}
case $1 in
    get) [ -e "$here/asked" ] && printf 3 || >"$here/asked" ;;
    logs) cat "$here/log" ;;
    create) for word; do case $word in --from-file=audit.json=*) cat "${word#--from-file=audit.json=}" ;; esac; done ;;
    patch) cat >"$here/kept" ;;
esac"#,
    );
    script(&dir.path().join("sleep"), "");
    let command = words("command");
    let status = Command::new(&command[0])
        .args(&command[1..])
        .args(words("args"))
        .env("PATH", format!("{}:/usr/bin:/bin", dir.path().display()))
        .env("HOSTNAME", "skewguard-audit-1")
        .env("TMPDIR", "/proc")
        .status()
        .unwrap();
    (
        std::fs::read_to_string(dir.path().join("kept")).ok(),
        status.success(),
    )
}

#[test]
fn the_last_audit_is_kept_whole_or_not_at_all() {
    let audit = "{\n  \"sets\": [\n    {\n    }\n  ]\n}";
    assert_eq!(
        keep(&format!("skewguard: a warning\n{audit}\nreading\n")),
        (Some(audit.to_owned()), true)
    );
    assert_eq!(keep("skewguard: nothing was read\n"), (None, true));
    let large = format!("{{\n\"a\": \"{}\"\n}}", "x".repeat(900_000));
    let (kept, succeeded) = keep(&large);
    assert_eq!(
        kept.as_deref(),
        Some("the audit has 900011 characters: see the log of skewguard-audit-1")
    );
    assert!(succeeded);
}
