//! A policy and the cluster's Machine Config Operator: the policy that is made from it, and where
//! the two differ.

use super::served::serve;
use super::{audit, audit_text, fixture, run};
use crate::support::apiserver::{Lists, Options};
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;
use std::path::{Path, PathBuf};

/// MachineConfiguration `cluster`, as the operator writes it (openshift/api,
/// `operator/v1/types_machineconfiguration.go`, 4.22): what does not matter here included.
fn machine_configuration(skew: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "operator.openshift.io/v1",
        "kind": "MachineConfiguration",
        "metadata": {
            "creationTimestamp": "2026-05-04T10:11:12Z", "generation": 2, "name": "cluster", "resourceVersion": "38411",
            "uid": "2f6a4c1e-4a0e-4bb3-9d0a-7f9b1c1f6d51"
        },
        "spec": { "logLevel": "Normal", "managementState": "Managed", "operatorLogLevel": "Normal" },
        "status": {
            "conditions": [{
                "lastTransitionTime": "2026-05-04T10:31:02Z", "message": "Reconciled 3 of 3 MAPI MachineSets",
                "reason": "BootImageUpdateAvailable", "status": "False", "type": "BootImageUpdateProgressing"
            }],
            "managedBootImagesStatus": { "machineManagers": [{
                "apiGroup": "machine.openshift.io", "resource": "machinesets", "selection": { "mode": "All" } }] },
            "nodeDisruptionPolicyStatus": { "clusterPolicies": { "files": [], "sshkey": { "actions": [{ "type": "None" }] } } },
            "observedGeneration": 2
        }
    });
    if !skew.is_null() {
        object["status"]["bootImageSkewEnforcementStatus"] = skew.clone();
    }
    object
}

fn pool(name: &str, stream: Option<&str>) -> Value {
    let mut pool = json!({ "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
        "metadata": { "name": name, "generation": 3 }, "spec": { "configuration": { "name": format!("rendered-{name}-0") }, "paused": false } });
    if let Some(stream) = stream {
        pool["spec"]["osImageStream"] = json!({ "name": stream });
    }
    pool
}

/// The cluster of a fixture, with another release and another MachineConfiguration.
fn cluster(release: &str, skew: &Value) -> Vec<Value> {
    let list: Value = serde_json::from_str(&fixture("aws.json")).unwrap();
    let mut objects = list["items"].as_array().unwrap().clone();
    objects.retain(|object| {
        object["kind"] != "MachineConfiguration" && object["kind"] != "MachineConfigPool"
    });
    for object in &mut objects {
        if object["kind"] == "ClusterVersion" {
            object["status"]["desired"]["version"] = release.into();
            object["spec"]["clusterID"] = "11111111-2222-3333-4444-555555555555".into();
        }
    }
    objects.push(machine_configuration(skew));
    objects.extend([pool("master", None), pool("worker", None)]);
    objects
}

fn automatic(version: &Value) -> Value {
    json!({ "mode": "Automatic", "automatic": version })
}

struct Desk(tempfile::TempDir);

impl Desk {
    fn new(objects: &[Value]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
        std::fs::write(dir.path().join("objects.json"), list.to_string()).unwrap();
        Self(dir)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn init(&self) -> (String, String, Exit) {
        run(&[
            "policy",
            "init",
            "--from",
            self.file("objects.json").to_str().unwrap(),
        ])
    }

    /// What the audit says of this policy.
    fn audit(&self, policy: &Value, more: &[&str]) -> (Value, String) {
        std::fs::write(self.file("policy.json"), policy.to_string()).unwrap();
        let [policy, from] = [self.file("policy.json"), self.file("objects.json")];
        let args = [
            "--policy",
            policy.to_str().unwrap(),
            "--from",
            from.to_str().unwrap(),
        ];
        let (json, err, _) = audit(&[&args[..], more, &["-o", "json"]].concat());
        let (text, ..) = audit(&[&args[..], more, &["-o", "wide"]].concat());
        let json = serde_json::from_str(&json).unwrap_or_else(|_| panic!("{err}"));
        (json, text.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

/// A page that people mail or paste tells no less than the terminal.
#[test]
fn every_page_says_how_the_policy_differs() {
    let desk = Desk::new(&cluster(
        "4.22.5",
        &automatic(&json!({ "ocpVersion": "4.22.0" })),
    ));
    let limits = json!([{ "minimumOCPVersion": "4.11.0", "minimumRHCOSVersion": "9.2" }]);
    for form in ["text", "wide", "html", "markdown"] {
        std::fs::write(
            desk.file("policy.json"),
            policy("Warn", limits.clone()).to_string(),
        )
        .unwrap();
        let [policy, from] = ["policy.json", "objects.json"].map(|name| desk.file(name));
        let [policy, from] = [&policy, &from].map(|path| path.to_str().unwrap());
        let (page, ..) = audit(&["--policy", policy, "--from", from, "-o", form]);
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        let says =
            "the policy differs from the Machine Config Operator: minimumOCPVersion for 4.22";
        assert_eq!(page.matches(says).count(), 1, "{form}: {page}");
    }
}

fn policy(mode: &str, limits: Value) -> Value {
    json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": mode, "limits": limits })
}

#[test]
fn a_policy_is_made_from_a_clusters_release_pools_and_streams() {
    let mut objects = cluster("4.22.5", &automatic(&json!({ "ocpVersion": "4.22.0" })));
    objects.push(pool("gpu", Some("rhel-10")));
    objects.push(
        json!({ "apiVersion": "machineconfiguration.openshift.io/v1alpha1", "kind": "OSImageStream",
        "metadata": { "name": "cluster" }, "status": { "defaultStream": "rhel-9" } }),
    );
    let (out, err, exit) = Desk::new(&objects).init();
    assert_eq!(exit, Exit::Done, "{err}");
    let written: Value = serde_json::from_str(&out).unwrap();
    let source =
        "As the Machine Config Operator of 4.22 has them in pkg/controller/common/constants.go.";
    assert_eq!(
        written["limits"],
        json!([
            { "minimumOCPVersion": "4.13.0", "minimumRHCOSVersion": "9.2",
              "description": "The same for nodes that do not know their release." },
            { "release": "4.22", "minimumOCPVersion": "4.13.0", "minimumRHCOSVersion": "9.2", "description": source },
            { "release": "4.8", "deniedVersions": [], "description": "Operators before 4.22 have no limits." },
        ])
    );
    assert_eq!(written["mode"], "Warn");
    assert_eq!(
        written["description"],
        "Made from cluster 11111111-2222-3333-4444-555555555555, release 4.22.5, pools gpu (rhel-10), master (rhel-9), worker (rhel-9)."
    );
    let (starter, ..) = run(&["policy", "init"]);
    let starter: Value = serde_json::from_str(&starter).unwrap();
    assert_eq!(written["knownIssues"], starter["knownIssues"]);
    assert!(
        err.starts_with("This policy warns and refuses nothing."),
        "{err}"
    );
    // What is written has no mistakes, and the cluster's operator is followed.
    let desk = Desk::new(&objects);
    std::fs::write(desk.file("policy.json"), &out).unwrap();
    let [policy, from] = ["policy.json", "objects.json"].map(|name| desk.file(name));
    let [policy, from] = [&policy, &from].map(|path| path.to_str().unwrap());
    let (lint, _, exit) = run(&["policy", "lint", policy, "--from", from]);
    assert!(
        exit == Exit::Done && lint.ends_with("no mistakes found\n"),
        "{lint}"
    );
    // Neither has it without the cluster, and once it is enforced.
    for mode in ["Warn", "Enforce"] {
        let mut enforced = written.clone();
        enforced["mode"] = json!(mode);
        std::fs::write(policy, enforced.to_string()).unwrap();
        let (lint, _, exit) = run(&["policy", "lint", policy]);
        assert!(
            exit == Exit::Done && lint.ends_with("no mistakes found\n"),
            "{mode}: {lint}"
        );
    }
    let (json, text) = desk.audit(&written, &[]);
    assert_eq!(json.get("policyDiffersFromOperator"), None);
    assert!(
        !text.contains("differs from the Machine Config Operator"),
        "{text}"
    );
}

/// Single-node clusters, bare metal with machine-os-images, and whoever set it.
/// The limits of the operator are about RHCOS: a cluster of OKD gets those of its own families.
#[test]
fn a_cluster_of_okd_gets_a_policy_of_okd() {
    let (okd, ..) = run(&["policy", "init", "--okd"]);
    for release in ["4.22.0-okd-scos.5", "4.15.0-0.okd-2024-03-10-010116"] {
        let (out, err, exit) = Desk::new(&cluster(release, &Value::Null)).init();
        assert_eq!((exit, out.as_str()), (Exit::Done, okd.as_str()), "{err}");
    }
    let (out, err, _) = Desk::new(&cluster("4.22.0-okd-scos.5", &json!({ "mode": "None" }))).init();
    let written: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(written["mode"], "None");
    assert!(err.starts_with("This policy does nothing"), "{err}");
}

/// A policy that refuses the cluster's own image: the remedy is the policy.
#[test]
fn lint_says_that_the_clusters_own_image_is_refused() {
    let desk = Desk(tempfile::tempdir().unwrap());
    let set = super::real::machine_set("worker", &super::real::aws("ami-0f87100a0927b4e1e"));
    let release = json!({ "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": { "name": "version" },
        "status": { "desired": { "version": "4.22.3" } } });
    let own = super::real::real("coreos-bootimages-4.22.json");
    let write = |name: &str, objects: &[&Value]| {
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
        std::fs::write(desk.file(name), list.to_string()).unwrap();
    };
    write("objects.json", &[&set, &release, &own]);
    let lint = |limit: Value, from: &str, more: &[&str]| {
        let mut policy = policy("Warn", json!([limit]));
        policy["knownIssues"] = json!([]);
        std::fs::write(desk.file("policy.json"), policy.to_string()).unwrap();
        let [file, from] = [desk.file("policy.json"), desk.file(from)];
        let args = [
            "policy",
            "lint",
            file.to_str().unwrap(),
            "--from",
            from.to_str().unwrap(),
        ];
        run(&[&args[..], more].concat())
    };
    let too_new = json!({ "minimumRHCOSVersion": "9.8.20260601-0" });
    let (out, err, exit) = lint(too_new.clone(), "objects.json", &[]);
    assert_eq!((exit, err.as_str()), (Exit::Done, ""));
    for wanted in [
        "the policy refuses 9.8.20260428-0, the cluster's own image for pool worker: boot image is 9.8.20260428-0; the minimum is 9.8.20260601-0",
        "help: correct the policy",
        "0 errors, 1 warning",
    ] {
        assert!(out.contains(wanted), "{wanted}: {out}");
    }
    let (out, ..) = lint(too_new.clone(), "objects.json", &["-o", "json"]);
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["findings"][0]["mistake"], "OwnImageRefused");
    let (out, ..) = lint(json!({ "minimumRHCOSVersion": "9.6" }), "objects.json", &[]);
    assert!(out.contains("no mistakes found"), "{out}");
    // What was not read is no all clear.
    std::fs::write(desk.file("broken.json"), "{").unwrap();
    let broken = desk.file("broken.json");
    let (out, err, exit) = lint(
        json!({ "minimumRHCOSVersion": "9.6" }),
        "objects.json",
        &[broken.to_str().unwrap()],
    );
    assert_eq!(exit, Exit::Failed, "{out}");
    assert!(
        err.contains("not read: ") && err.contains("broken.json"),
        "{err}"
    );
    // The policy's own mistakes are shown, with what was not compared.
    write("bare.json", &[&set, &release]);
    let pool = json!({ "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool",
        "metadata": { "name": "np", "namespace": "clusters" },
        "spec": { "clusterName": "hosted", "platform": { "type": "AWS" }, "release": { "image": "x" } } });
    write("hosting.json", &[&own, &release, &pool]);
    for (from, why) in [
        ("bare.json", "the ConfigMap coreos-bootimages"),
        (
            "hosting.json",
            "the nodes of its node pools are those of other clusters",
        ),
    ] {
        let (out, err, exit) = lint(too_new.clone(), from, &[]);
        assert_eq!(exit, Exit::Failed, "{from}: {err}");
        assert!(out.ends_with("policy.json: 0 errors, 1 warning\n"), "{out}");
        assert!(
            out.contains("limits[0]: the limit applies to 4.8 to 4.21"),
            "{out}"
        );
        let words = format!("policy.json: not compared with the cluster: {why}");
        assert!(err.contains(&words), "{from}: {err}");
    }
    let typo = json!({ "minimumRHCOSVersion": "9.2", "releas": "4.22" });
    let (out, err, exit) = lint(typo, "objects.json", &[]);
    assert!(
        exit == Exit::Failed && out.contains("did you mean release?"),
        "{out}"
    );
    assert!(
        err.ends_with("policy.json: not compared with the cluster: it has errors\n"),
        "{err}"
    );
    let (_, err, exit) = lint(too_new, "missing.json", &[]);
    assert_eq!(exit, Exit::Failed);
    assert!(
        err.contains("not read: ") && err.contains("missing.json"),
        "{err}"
    );
}

/// A single node, or one that was made by hand, boots from the same images.
#[test]
fn lint_compares_with_the_images_of_a_cluster_without_sets() {
    let desk = Desk(tempfile::tempdir().unwrap());
    let release = json!({ "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": { "name": "version" },
        "status": { "desired": { "version": "5.0.1" } } });
    let own = super::real::real("coreos-bootimages-5.0.json");
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": [&release, &own] });
    std::fs::write(desk.file("objects.json"), list.to_string()).unwrap();
    let lint = |mode: &str, limits: Value| {
        let mut policy = policy(mode, limits);
        policy["knownIssues"] = json!([]);
        std::fs::write(desk.file("policy.json"), policy.to_string()).unwrap();
        let [file, from] = [desk.file("policy.json"), desk.file("objects.json")];
        let (file, from) = (file.to_str().unwrap(), from.to_str().unwrap());
        let (out, err, exit) = run(&["policy", "lint", file, "--from", from, "-o", "json"]);
        assert_eq!((exit, err.as_str()), (Exit::Done, ""), "{out}");
        let json: Value = serde_json::from_str(&out).unwrap();
        let findings = json["findings"].as_array().unwrap().clone();
        let of_own = |finding: &&Value| finding["mistake"] == "OwnImageRefused";
        let messages = findings
            .iter()
            .filter(of_own)
            .map(|own| own["message"].to_string());
        messages.collect::<Vec<_>>()
    };
    let any = json!({ "minimumRHCOSVersion": "9.2" });
    let master = json!({ "pools": ["master"], "minimumRHCOSVersion": "10.9" });
    let refused = lint("Enforce", json!([any, master]));
    assert!(!refused.is_empty());
    for message in &refused {
        assert!(message.contains("for pool master"), "{message}");
    }
    // The opt-out refuses nothing, and a pool may have either of the two RHEL majors.
    assert_eq!(lint("None", json!([any, master])), [""; 0]);
    assert_eq!(lint("Enforce", json!([{ "rhelMajors": [9] }])), [""; 0]);
    assert_eq!(lint("Enforce", json!([any])), [""; 0]);
}

#[test]
fn a_cluster_that_opted_out_gets_the_mode_none_and_a_note() {
    let desk = Desk::new(&cluster("5.0.1", &json!({ "mode": "None" })));
    let (out, err, exit) = desk.init();
    assert_eq!(exit, Exit::Done, "{err}");
    let written: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&written["mode"], &written["limits"][1]["release"]),
        (&json!("None"), &json!("5.0"))
    );
    let note = "Mode None, because the cluster opted out (bootImageSkewEnforcement, mode None).";
    assert!(
        written["description"].as_str().unwrap().ends_with(note),
        "{out}"
    );
    assert!(
        err.starts_with("This policy does nothing: the cluster opted out"),
        "{err}"
    );
    let file = desk.file("new.json");
    let from = desk.file("objects.json");
    let (said, _, exit) = run(&[
        "policy",
        "init",
        "--from",
        from.to_str().unwrap(),
        "--file",
        file.to_str().unwrap(),
    ]);
    assert!(
        exit == Exit::Done && said.contains("This policy does nothing"),
        "{said}"
    );
    assert_eq!(std::fs::read_to_string(file).unwrap(), out);
}

#[test]
fn what_is_not_known_is_an_error_and_no_guess() {
    let automatic = automatic(&json!({ "ocpVersion": "4.20.0" }));
    let fails = |objects: &[Value], words: &str| {
        let (out, err, exit) = Desk::new(objects).init();
        assert_eq!((out.as_str(), exit), ("", Exit::Failed), "{words}");
        assert!(err.contains(words), "{err}");
    };
    for (release, words) in [
        (
            "5.1.0-ec.2",
            "of 5.1 are not known to this release of oc skewguard, which knows 4.22, 4.23, 5.0; take a newer one",
        ),
        ("4.24.0", "of 4.24 are not known"),
        (
            "4.20.7",
            "the Machine Config Operator of 4.20 has no limits for boot images; it has them from 4.22 on. `oc skewguard policy init` alone writes",
        ),
        ("latest", "the release of the cluster, latest, is not x.y.z"),
        (
            "\u{1b}[2J",
            "the release of the cluster, \\u{1b}[2J, is not x.y.z",
        ),
    ] {
        fails(&cluster(release, &automatic), words);
    }
    let without = |kind: &str| {
        let mut objects = cluster("4.22.5", &automatic);
        objects.retain(|object| object["kind"] != kind);
        objects
    };
    fails(
        &without("ClusterVersion"),
        "ClusterVersion `version` was not read",
    );
    fails(
        &without("MachineConfiguration"),
        "it is not known whether the cluster opted out",
    );
    for text in ["", "{", "kind: [", "\0\0\0\0", "[]"] {
        let desk = Desk::new(&[]);
        std::fs::write(desk.file("objects.json"), text).unwrap();
        let (out, err, exit) = desk.init();
        assert_eq!((out.as_str(), exit), ("", Exit::Failed), "{text:?}");
        assert!(
            err.contains("not read: ") && err.contains("objects.json: "),
            "{text:?}: {err}"
        );
    }
    // The operator has not looked yet: a policy, and a word about it.
    let (out, err, exit) = Desk::new(&cluster("4.22.5", &Value::Null)).init();
    assert!(
        exit == Exit::Done && out.contains("\"mode\": \"Warn\""),
        "{err}"
    );
    assert!(
        err.contains(
            "warning: MachineConfiguration `cluster` has no status of boot image skew enforcement"
        ),
        "{err}"
    );
}

#[test]
fn a_served_cluster_gives_what_its_files_give() {
    let objects = cluster("4.22.5", &automatic(&json!({ "ocpVersion": "4.22.0" })));
    let served = serve(Lists::of(objects.clone()), Options::default());
    let kubeconfig = served.kubeconfig.to_str().unwrap();
    let (out, err, exit) = run(&[
        "policy",
        "init",
        "--from-cluster",
        "--kubeconfig",
        kubeconfig,
    ]);
    assert_eq!(
        (exit, &out),
        (Exit::Done, &Desk::new(&objects).init().0),
        "{err}"
    );
    // Machines and nodes are not read for it.
    let read: Vec<String> = served
        .server
        .seen()
        .into_iter()
        .map(|seen| seen.path)
        .collect();
    assert!(
        read.iter()
            .any(|path| path.contains("machineconfigurations")),
        "{read:?}"
    );
    assert!(
        !read
            .iter()
            .any(|path| path.contains("nodes") || path.contains("machinesets")),
        "{read:?}"
    );
    let (_, err, exit) = run(&["policy", "init", "--from-cluster", "--from", "x"]);
    assert!(
        exit == Exit::Usage && err.contains("cannot be used with"),
        "{err}"
    );
}

fn whats(json: &Value) -> Vec<String> {
    let all = json["policyDiffersFromOperator"].as_array();
    let text = |field: &Value| field.as_str().unwrap_or_default().to_owned();
    all.into_iter()
        .flatten()
        .map(|one| {
            [
                text(&one["what"]),
                text(&one["field"]),
                text(&one["operator"]),
                text(&one["policy"]),
            ]
            .join(" ")
        })
        .collect()
}

#[test]
fn the_audit_says_where_policy_and_operator_differ() {
    let same = json!([{ "minimumOCPVersion": "4.13.0", "minimumRHCOSVersion": "9.2" }]);
    let table = [
        // The cluster opted out.
        (
            json!({ "mode": "None" }),
            "Enforce",
            same.clone(),
            vec!["OptedOut  None Enforce"],
        ),
        (json!({ "mode": "None" }), "Warn", same.clone(), vec![]),
        (json!({ "mode": "None" }), "None", same.clone(), vec![]),
        // The limits are others.
        (
            automatic(&json!({ "ocpVersion": "4.22.0" })),
            "Enforce",
            same.clone(),
            vec![],
        ),
        (
            automatic(&json!({ "ocpVersion": "4.22.0" })),
            "Enforce",
            json!([{ "minimumOCPVersion": "4.12.0", "minimumRHCOSVersion": "9.4" }]),
            vec![
                "Limit minimumOCPVersion 4.13.0 4.12.0",
                "Limit minimumRHCOSVersion 9.2 9.4",
            ],
        ),
        (
            automatic(&json!({ "ocpVersion": "4.22.0" })),
            "Enforce",
            json!([{ "minimumRHCOSVersion": "9.2.20230101-0" }]),
            vec![
                "Limit minimumOCPVersion 4.13.0 none",
                "Limit minimumRHCOSVersion 9.2 9.2.20230101-0",
            ],
        ),
        (
            automatic(&json!({ "ocpVersion": "4.22.0" })),
            "Warn",
            json!([{ "release": "4.23", "minimumOCPVersion": "4.13.0", "minimumRHCOSVersion": "9.2" }]),
            vec![
                "Limit minimumOCPVersion 4.13.0 none",
                "Limit minimumRHCOSVersion 9.2 none",
            ],
        ),
        // The cluster's own value is judged otherwise.
        (
            json!({ "mode": "Manual", "manual": { "mode": "RHCOSVersion", "rhcosVersion": "9.2.20230929-0" } }),
            "Enforce",
            json!([{ "minimumOCPVersion": "4.13.0", "minimumRHCOSVersion": "9.4" }]),
            vec![
                "Limit minimumRHCOSVersion 9.2 9.4",
                "Value  accepts refuses",
            ],
        ),
        (
            json!({ "mode": "Manual", "manual": { "mode": "OCPVersion", "ocpVersion": "4.12.3" } }),
            "Enforce",
            json!([{ "minimumOCPVersion": "4.12.0", "minimumRHCOSVersion": "9.2" }]),
            vec![
                "Limit minimumOCPVersion 4.13.0 4.12.0",
                "Value  refuses accepts",
            ],
        ),
        // 0.0.0 stands for a version that the operator does not know.
        (
            automatic(&json!({ "ocpVersion": "0.0.0" })),
            "Enforce",
            same.clone(),
            vec![],
        ),
        (
            json!({ "mode": "Manual", "manual": { "mode": "RHCOSVersion", "rhcosVersion": "\u{1b}x" } }),
            "Enforce",
            same.clone(),
            vec![],
        ),
    ];
    for (skew, mode, limits, wanted) in table {
        let desk = Desk::new(&cluster("4.22.5", &skew));
        let (json, text) = desk.audit(&policy(mode, limits.clone()), &[]);
        assert_eq!(whats(&json), wanted, "{skew} {mode} {limits}");
        for one in json["policyDiffersFromOperator"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let message = one["message"].as_str().unwrap();
            assert!(
                text.contains(&format!(
                    "the policy differs from the Machine Config Operator: {message}"
                )),
                "{message}: {text}"
            );
        }
    }
}

/// Pools may have limits of their own; then it is said which.
#[test]
fn a_limit_of_one_pool_is_named_with_it() {
    let desk = Desk::new(&cluster(
        "4.22.5",
        &automatic(&json!({ "ocpVersion": "4.22.0" })),
    ));
    let limits = json!([
        { "minimumOCPVersion": "4.13.0", "minimumRHCOSVersion": "9.2" },
        { "pools": ["worker"], "minimumOCPVersion": "4.11.0", "minimumRHCOSVersion": "9.2" }]);
    let (json, text) = desk.audit(&policy("Warn", limits), &[]);
    assert_eq!(whats(&json), ["Limit minimumOCPVersion 4.13.0 4.11.0"]);
    assert!(
        text.contains(
            "minimumOCPVersion for 4.22 is 4.13.0 in the Machine Config Operator and 4.11.0 in the policy for pool worker: the policy accepts older boot \
             images than the operator"
        ),
        "{text}"
    );
}

/// Nothing is said to be the same that was not compared.
#[test]
fn an_operator_that_is_not_known_is_a_warning() {
    let same = policy(
        "Enforce",
        json!([{ "minimumOCPVersion": "4.13.0", "minimumRHCOSVersion": "9.2" }]),
    );
    let desk = Desk::new(&cluster(
        "4.22.5",
        &automatic(&json!({ "ocpVersion": "4.22.0" })),
    ));
    let (json, text) = desk.audit(&same, &["--target", "5.1"]);
    assert_eq!(whats(&json), Vec::<String>::new());
    let warning = "the limits of the Machine Config Operator of 5.1 are not known to this release of oc skewguard, so the policy was not compared with them";
    assert!(
        json["warnings"]
            .as_array()
            .unwrap()
            .contains(&json!(warning)),
        "{}",
        json["warnings"]
    );
    assert!(text.contains(warning), "{text}");
}

/// The must-gather of the tests is of 4.21, whose operator has no limits.
#[test]
fn a_must_gather_of_an_older_release_says_so() {
    let folder = Path::new("tests/data/audit/must-gather.local.1");
    let (out, err, exit) = run(&["policy", "init", "--from", folder.to_str().unwrap()]);
    assert_eq!((out.as_str(), exit), ("", Exit::Failed));
    assert!(err.contains("has no limits for boot images"), "{err}");
}

/// A mixed fleet whose sets make nodes from SCOS alone, and what the cluster says of itself.
fn scos(status: &Value) -> Value {
    let mut items = super::items("okd-mixed-fleet");
    items.retain(|item| item["metadata"]["name"] != "c1-fcos" && item["kind"] != "Node");
    for item in &mut items {
        if item["kind"] == "MachineConfiguration" {
            item["status"]["bootImageSkewEnforcementStatus"] = status.clone();
        }
    }
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    let (out, err, _) = super::audit_text(&list.to_string(), &["-o", "json"]);
    serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"))
}

/// openshift/machine-config-operator, pkg/operator/status_test.go: 9.0.20251023-0 is below 9.2.
#[test]
fn the_operator_takes_scos_9_for_rhel_9_0() {
    let notes = |status: Value| -> Vec<String> {
        let found = scos(&status);
        let warnings = found["warnings"].as_array().unwrap().iter();
        warnings
            .filter_map(Value::as_str)
            .filter(|text| text.contains("takes SCOS 9.0 for RHEL 9.0"))
            .map(|text| text.split(" as the oldest").next().unwrap().to_owned())
            .collect()
    };
    let manual = |version: &str| json!({ "mode": "Manual", "manual": { "mode": "RHCOSVersion", "rhcosVersion": version } });
    assert_eq!(
        notes(manual("9.0.20250827-0")),
        ["the cluster names 9.0.20250827-0"]
    );
    let automatic = json!({ "mode": "Automatic", "automatic": { "ocpVersion": "4.22.0" } });
    assert_eq!(notes(automatic), ["do not name 9.0.20250411-0"]);
    assert_eq!(notes(json!({ "mode": "None" })), [""; 0]);
    // No command that would block the cluster's updates.
    let found = scos(&manual("10.0.20260614-0"));
    assert_eq!(found["oldest"]["bootImage"]["version"], "9.0.20250411-0");
    assert_eq!(found["oldest"]["command"], Value::Null, "{found}");
}

/// The audit of a case: its text on one line.
fn of_case(name: &str, more: &[&str]) -> (String, Exit) {
    let from = format!("tests/data/operator/{name}");
    let (out, err, exit) = audit(&[&["--from", &from], more].concat());
    assert_eq!(err, "");
    (out.split_whitespace().collect::<Vec<_>>().join(" "), exit)
}

/// After openshift-docs #108103, #109084 and openshift/machine-config-operator #5428. The value says 4.12, all images are of 4.18: the quoted advice to update them would help nothing.
#[test]
fn a_value_that_alone_blocks_updates_is_said_with_its_command() {
    let says = "The cluster (bootImageSkewEnforcement, mode Manual) says OCP 4.12.0: THAT ALONE BLOCKS UPDATES, no set but empty ones, \
         which do not count, has an image below the operator's minimum. No set needs another image for that. To correct the value, which ends the block: \
         oc patch machineconfiguration cluster --type merge -p \
         '{\"spec\":{\"bootImageSkewEnforcement\":{\"mode\":\"Manual\",\"manual\":{\"mode\":\"RHCOSVersion\",\"rhcosVersion\":\"418.94.202511191518-0\",\"ocpVersion\":null}}}}' \
         The way back: oc patch machineconfiguration cluster --type merge -p \
         '{\"spec\":{\"bootImageSkewEnforcement\":{\"mode\":\"Manual\",\"manual\":{\"mode\":\"OCPVersion\",\"ocpVersion\":\"4.12.0\",\"rhcosVersion\":null}}}}'";
    const CASE: &str = "manual-value-is-stale";
    for more in [&[][..], &["-o", "wide"]] {
        let (text, exit) = of_case(CASE, more);
        assert!(text.contains(says), "{text}");
        assert_eq!(exit, Exit::Done);
    }
    let (page, _) = of_case(CASE, &["-o", "html"]);
    assert!(page.contains("THAT ALONE BLOCKS UPDATES") && page.contains("<p>No set needs another"));
    let (script, _) = of_case(CASE, &["--print-commands", "fix"]);
    let corrects = "To correct the value, which ends the block: # oc patch machineconfiguration";
    assert!(script.contains(corrects), "{script}");
    let (json, _) = of_case(CASE, &["-o", "json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["cluster"]["blocksAlone"], true);
    // Where a set may be missing nobody says so.
    let from = format!("tests/data/operator/{CASE}/ms.json");
    let (sets_alone, _, _) = audit(&["--from", &from, "-o", "json"]);
    assert!(!sets_alone.contains("blocksAlone"));
}

/// A ConfigMap of OpenShift 4.19.18 names an image of OKD (COS-3765).
#[test]
fn no_image_of_okd_is_advised_or_allowed_in_a_cluster_of_openshift() {
    for more in [
        &[][..],
        &["--target", "4.22"],
        &["--policy", "tests/data/operator/scos-in-ocp/p.json"],
    ] {
        let (text, exit) = of_case("scos-in-ocp/c.yaml", more);
        assert!(
            text.contains("UNKNOWN MachineSet/w-a 9.0.20250827-0"),
            "{text}"
        );
        assert!(
            text.contains("images of SCOS are OKD's, and the cluster is of OpenShift"),
            "{text}"
        );
        assert!(
            !text.contains("9.0.20250827-0, this cluster's own"),
            "{text}"
        );
        assert!(!text.contains("ami-0123456789abcdef0"), "{text}");
        assert_ne!(exit, Exit::Done);
    }
    let (script, _) = of_case(
        "scos-in-ocp/c.yaml",
        &[
            "--target",
            "4.22",
            "--any-release",
            "--print-commands",
            "fix",
        ],
    );
    assert!(!script.contains("ami-0123456789abcdef0"), "{script}");
    // Without its release the cluster may be either.
    let file = "tests/data/operator/scos-in-ocp/c.yaml";
    let whole = std::fs::read_to_string(file).unwrap();
    let without = whole.replacen("kind: ClusterVersion", "kind: ClusterVersionElsewhere", 1);
    let (text, _, exit) = audit_text(&without, &[]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let says =
        "images of SCOS are OKD's, and whether the cluster is OKD is unknown without its release";
    assert!(text.contains(says), "{text}");
    assert_ne!(exit, Exit::Done);
}
