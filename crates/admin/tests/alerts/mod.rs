//! `render alerts` and `dashboard`: a real Prometheus takes the rules. `core::alert_expression` says
//! for which images they fire.

mod job;
mod pages;
mod prometheus;

use crate::render::{Desk, POLICY, repository};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

#[test]
fn more_denied_versions_than_prometheus_should_look_for_are_an_error_that_says_what_to_do() {
    let many = |count: u32| -> Vec<Value> {
        (0..count)
            .map(|n| json!({ "version": format!("{:08x}-{:08x}", n.wrapping_mul(0x9e37_79b9), n.wrapping_mul(0x85eb_ca6b)) }))
            .collect()
    };

    let desk = Desk::new();
    let text = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce",
        "limits": [{ "deniedVersions": many(5000) }] });
    desk.file("policy.json", text.to_string());
    let (status, out, err) = desk.render(&["alerts", "--policy", "policy.json"]);
    assert_eq!((status, out.as_str()), (1, ""));
    assert!(
        err.trim_end()
            .ends_with("with * at its end, or by a minimum"),
        "{err}"
    );
}

/// What the program prints for a policy, and everything beside it.
fn rendered(policy: &str, args: &[&str]) -> (Value, String, String) {
    let desk = Desk::new();
    desk.file("policy.json", policy);
    let (status, out, err) = desk.render(&[&["alerts", "--policy", "policy.json"], args].concat());
    assert_eq!(status, 0, "{err}");
    (serde_saphyr::from_str(&out).unwrap(), out, err)
}

fn rules(object: &Value) -> &[Value] {
    object["spec"]["groups"][0]["rules"].as_array().unwrap()
}

/// openshift/api, monitoring/v1/types.go; openshift/enhancements, alerting consistency; the
/// runbooks of docs/alerts.md.
#[test]
fn the_object_is_one_that_openshift_takes() {
    let (born, ..) = rendered(OF_OKD, &["--target", "4.22.1-okd"]);
    let (mut object, out, err) = rendered(POLICY, &["--target", "4.22"]);
    assert_eq!(
        err,
        "skewguard: warning: BootImageTooOldForUpdate leaves out BornBeforeKernelSigningKey: the metric does not say more than a node's boot \
         image, `oc skewguard audit --target` does.\n"
    );
    let is_born = |rule: &&Value| rule["alert"] == "BootImageTooOldForUpdate";
    let born = rules(&born).iter().find(is_born).unwrap().clone();
    let all = object["spec"]["groups"][0]["rules"].as_array_mut().unwrap();
    all.insert(2, born);
    assert!(
        out.starts_with("# Policy: mode Enforce, 1 limit, sha256:"),
        "{out}"
    );
    assert_eq!(object["apiVersion"], "monitoring.openshift.io/v1");
    assert_eq!(
        object["metadata"],
        json!({ "name": "skewguard", "namespace": "openshift-monitoring" })
    );
    let names: Vec<&str> = rules(&object)
        .iter()
        .map(|rule| rule["alert"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "BootImageRefused",
            "OldBootImageInUse",
            "BootImageTooOldForUpdate",
            "BootImageReportsDropped",
            "BootImageAuditFailed",
            "BootImagePolicyDiffersFromOperator"
        ]
    );
    let duration = regex::Regex::new("^([0-9]+)(s|m)$").unwrap();
    let runbooks = std::fs::read_to_string(repository().join("docs/alerts.md")).unwrap();
    for rule in rules(&object) {
        let alert = rule["alert"].as_str().unwrap();
        assert!(duration.is_match(rule["for"].as_str().unwrap()), "{alert}");
        assert_eq!(rule["labels"]["severity"], "warning");
        assert_eq!(rule["labels"]["namespace"], "skewguard");
        let url = rule["annotations"]["runbook_url"].as_str().unwrap();
        assert!(
            url.ends_with(&format!(
                concat!("/v", env!("CARGO_PKG_VERSION"), "/docs/alerts.md#{}"),
                alert.to_lowercase()
            )),
            "{url}"
        );
        let section = runbooks
            .split("\n### ")
            .find(|section| section.starts_with(alert))
            .expect("a runbook");
        for heading in [
            "#### Meaning",
            "#### Impact",
            "#### Diagnosis",
            "#### Mitigation",
        ] {
            assert!(section.contains(heading), "{alert}: {heading}");
        }
        for text in ["summary", "description"] {
            assert!(
                !rule["annotations"][text].as_str().unwrap().contains('\n'),
                "{alert}"
            );
        }
    }
    let waits: Vec<bool> = rules(&object)
        .iter()
        .map(|rule| rule["labels"]["openShiftUpdatePrecheck"] == "true")
        .collect();
    // A report is a claim of whoever has the bootstrap credentials.
    assert_eq!(waits, [false, true, true, false, false, false]);
}

#[test]
fn what_is_left_out_is_said() {
    let policy = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce",
        "limits": [{ "release": "4.20", "minimumOCPVersion": "4.13" }, { "release": "4.20", "pools": ["infra"], "minimumOCPVersion": "4.13" }] });
    let (object, out, err) = rendered(&policy.to_string(), &[]);
    assert_eq!(rules(&object).len(), 4);
    for text in [&out, &err] {
        assert!(
            text.contains("OldBootImageInUse is not among the alerts"),
            "{text}"
        );
        assert!(
            text.contains("leaves out limits for certain pools"),
            "{text}"
        );
    }
    let (object, ..) = rendered(&policy.to_string(), &["--target", "4.21"]);
    assert_eq!(rules(&object).len(), 5);
}

/// Text of a policy stays in its place, or does not appear at all.
#[test]
fn nothing_in_a_policy_leaves_its_string() {
    let evil = "\"} or vector(1) # {{ $labels }} \\\n---\nkind: Secret";
    let policy = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce",
        "limits": [{ "minimumOCPVersion": "4.13", "minimumRHCOSVersion": "9.2", "deniedVersions": [{ "version": evil, "reason": evil }, { "version": "9.6.2025*", "reason": evil }] }],
        "help": { "text": evil, "url": evil } });
    let (hostile, ..) = rendered(&policy.to_string(), &[]);
    let policy = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce",
        "limits": [{ "minimumOCPVersion": "4.13", "minimumRHCOSVersion": "9.2", "deniedVersions": [{ "version": "9.6.2025*" }] }] });
    let (plain, ..) = rendered(&policy.to_string(), &[]);
    assert_eq!(hostile, plain);
}

/// The rules as Prometheus reads them.
fn rule_file(dir: &Path, rules: &Value) {
    std::fs::write(
        dir.join("rules.yaml"),
        json!({ "groups": [{ "name": "skewguard", "rules": rules }] }).to_string(),
    )
    .unwrap();
}

fn run(program: &str, dir: &Path, args: &[&str]) {
    let output = Command::new(program).args(args).current_dir(dir).output();
    let output = output.unwrap_or_else(|error| {
        panic!("{program}: {error}: install the Debian package prometheus")
    });
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{program} {args:?}: {}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
}

/// Prometheus' own tests of rules: metrics over time, and which alerts fire when.
#[test]
fn promtool_sees_them_fire_and_end() {
    let (object, ..) = rendered(POLICY, &["--target", "4.22"]);
    let dir = tempfile::tempdir().unwrap();
    rule_file(dir.path(), &object["spec"]["groups"][0]["rules"]);
    run("promtool", dir.path(), &["check", "rules", "rules.yaml"]);
    let node = |node: &str, version: &str, instance: &str| {
        json!({
        "series": format!("kube_node_labels{{instance=\"{instance}\",node=\"{node}\",label_skewguard_dev_boot_image=\"{version}\"}}"), "values": "1x400" })
    };
    let quota = |kind: &str, values: &str| {
        json!({ "values": values, "series": format!(
        "kube_resourcequota{{namespace=\"skewguard\",resourcequota=\"skewguard-reports\",resource=\"count/bootimagereports.skewguard.dev\",type=\"{kind}\"}}") })
    };
    let series = json!([
        node("a", "412.86.202303211731-0", "1"), node("a", "412.86.202303211731-0", "2"), node("b", "412.86.202303211731-0", "1"),
        node("c", "418.94.202511191518-0", "1"), node("d", "unknown", "1"), node("e", "9.0.20250827-0", "1"),
        { "series": "kube_node_labels{node=\"f\"}", "values": "1x400" },
        // One API server does not know, one is behind; before 4.22 and after.
        { "series": "apiserver_storage_objects{resource=\"bootimagereports.skewguard.dev\",instance=\"1\"}", "values": "-1x400" },
        { "series": "apiserver_storage_objects{resource=\"bootimagereports.skewguard.dev\",instance=\"2\"}", "values": "3x60 5x400" },
        { "series": "apiserver_resource_objects{group=\"skewguard.dev\",resource=\"bootimagereports\",instance=\"1\"}", "values": "_x300 5x100" },
        { "series": "apiserver_resource_objects{group=\"other\",resource=\"bootimagereports\",instance=\"1\"}", "values": "1+1x400" },
        quota("hard", "10x400"), quota("used", "9x30 10x30 9x340"),
        { "series": "kube_job_failed{namespace=\"skewguard\",job_name=\"skewguard-audit-29\",condition=\"true\"}", "values": "0x20 1x20 _x360" },
        { "series": "kube_job_failed{namespace=\"skewguard\",job_name=\"skewguard-audit-29\",condition=\"false\"}", "values": "1x400" },
        { "series": "kube_job_failed{namespace=\"skewguard\",job_name=\"skewguard-prune-30\",condition=\"true\"}", "values": "0x60 1x20 _x320" },
        // The cluster opts out for a while, and later runs a release whose limits are not known.
        { "series": "mcc_boot_image_skew_enforcement_none{pod=\"machine-config-controller-0\"}", "values": "0x30 1x60 0x310" },
        { "series": "cluster_version{type=\"current\",version=\"4.9.59\"}", "values": "1700000000x10 _x390" },
        { "series": "cluster_version{type=\"current\",version=\"4.22.3\"}", "values": "_x10 1700000000x189 _x201" },
        { "series": "cluster_version{type=\"completed\",version=\"9.9.9\"}", "values": "1700000000x400" },
        { "series": "cluster_version{type=\"current\",version=\"5.1.0\"}", "values": "_x200 1700000000x200" },
        { "series": "kube_job_failed{namespace=\"other\",job_name=\"skewguard-audit-1\",condition=\"true\"}", "values": "1x400" },
    ]);
    let expected = |alert: &str, labels: Value, description: &str| {
        let rule = rules(&object)
            .iter()
            .find(|rule| rule["alert"] == alert)
            .unwrap();
        let mut all = rule["labels"].clone();
        all.as_object_mut()
            .unwrap()
            .extend(labels.as_object().unwrap().clone());
        json!({ "exp_labels": all, "exp_annotations": {
            "summary": rule["annotations"]["summary"], "runbook_url": rule["annotations"]["runbook_url"], "description": description } })
    };
    let old = expected(
        "OldBootImageInUse",
        json!({ "label_skewguard_dev_boot_image": "412.86.202303211731-0" }),
        "The newest nodes of 2 machine sets were made from boot image 412.86.202303211731-0, which the skew policy's limit for 4.22.0 refuses (a \
         node without a Machine counts as a set). They go on to run; a new node from the same image would not join. `oc skewguard audit` says which machine sets still name it: give them a newer image before the update.",
    );
    let refused = expected(
        "BootImageRefused",
        json!({}),
        "2 reports of nodes came within the last two hours: the skew policy refuses their boot image; or it could not be judged; or their first \
         boot does not finish. `oc get bootimagereports -n skewguard -o wide` has the nodes, what was done, and why.",
    );
    let dropped = expected(
        "BootImageReportsDropped",
        json!({ "resourcequota": "skewguard-reports" }),
        "There are 10 BootImageReports in the \
         namespace skewguard, as many as the ResourceQuota skewguard-reports allows. Later ones are refused until some are deleted; their nodes \
         try again. Their Events still come.",
    );
    let failed = |job: &str| {
        let text = format!(
            "Job {job} failed. skewguard-audit: a machine set would make nodes that the skew policy refuses, or it is not known, or the cluster \
             could not be read; the ConfigMap skewguard-audit and the Job's log in the namespace skewguard say which. skewguard-prune: old \
             reports stay, until the quota is used up; the Job's log says why."
        );
        expected("BootImageAuditFailed", json!({ "job_name": job }), &text)
    };
    let (audit, prune) = (failed("skewguard-audit-29"), failed("skewguard-prune-30"));
    let differs = expected(
        "BootImagePolicyDiffersFromOperator",
        json!({}),
        rules(&object)[4]["annotations"]["description"]
            .as_str()
            .unwrap(),
    );
    let at = |time: &str, alert: &str, fires: &[&Value]| json!({ "eval_time": time, "alertname": alert, "exp_alerts": fires });
    let tests = json!({ "rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [{ "interval": "1m", "input_series": series, "alert_rule_test": [
        at("10m", "OldBootImageInUse", &[]), at("16m", "OldBootImageInUse", &[&old]),
        at("55m", "BootImageRefused", &[]), at("65m", "BootImageRefused", &[&refused]), at("170m", "BootImageRefused", &[&refused]),
        at("190m", "BootImageRefused", &[]), at("310m", "BootImageRefused", &[]),
        at("29m", "BootImageReportsDropped", &[]), at("40m", "BootImageReportsDropped", &[&dropped]), at("70m", "BootImageReportsDropped", &[]),
        at("10m", "BootImageAuditFailed", &[]), at("30m", "BootImageAuditFailed", &[&audit]), at("50m", "BootImageAuditFailed", &[]),
        at("70m", "BootImageAuditFailed", &[&prune]),
        at("30m", "BootImagePolicyDiffersFromOperator", &[]), at("50m", "BootImagePolicyDiffersFromOperator", &[&differs]),
        at("95m", "BootImagePolicyDiffersFromOperator", &[]), at("190m", "BootImagePolicyDiffersFromOperator", &[]),
        at("220m", "BootImagePolicyDiffersFromOperator", &[&differs]),
    ] }] });
    std::fs::write(dir.path().join("tests.yaml"), tests.to_string()).unwrap();
    run("promtool", dir.path(), &["test", "rules", "tests.yaml"]);
}

/// Whatever fires under Warn, no text says that a node does not join: all are let in.
#[test]
fn under_warn_no_text_says_that_a_node_does_not_join() {
    let warn = POLICY.replace("Enforce", "Warn");
    let texts = |policy: &str, alert: &str| -> [String; 2] {
        let (object, ..) = rendered(policy, &[]);
        let mut all = rules(&object).iter();
        let rule = all.find(|rule| rule["alert"] == alert).unwrap();
        ["summary", "description"]
            .map(|text| rule["annotations"][text].as_str().unwrap().to_owned())
    };
    assert_eq!(
        texts(&warn, "BootImageRefused"),
        [
            "New nodes report that their boot image would be refused, or that their first boot does not finish.",
            "{{ $value }} reports of nodes came within the last two hours: the skew policy would refuse their boot image, and lets them in (mode \
             Warn); or it could not be judged; or their first boot does not finish. `oc get bootimagereports -n skewguard -o wide` has the nodes, \
             what was done, and why."
        ]
    );
    assert_eq!(
        texts(&warn, "OldBootImageInUse")[1],
        "The newest nodes of {{ $value }} machine sets were made from boot image {{ $labels.label_skewguard_dev_boot_image }}, which the skew \
         policy refuses (a node without a Machine counts as a set). They go on to run; a new node from the same image would be let in with a \
         warning (mode Warn). `oc skewguard audit` says which machine sets still name it: give them a newer image."
    );
    let none = POLICY.replace("Enforce", "None");
    assert!(texts(&none, "BootImageRefused")[1].contains(
        "the skew policy would refuse their boot image, but for its mode None; or it could not be judged"
    ));
    let (_, out, err) = rendered(&none, &["--target", "4.22"]);
    assert!(!out.contains("mode Warn"), "{out}");
    assert!(
        err.starts_with("skewguard: warning: OldBootImageInUse is not among the alerts: the policy's mode is None.\n"),
        "{err}"
    );
    let (object, out, _) = rendered(&warn, &["--target", "4.22"]);
    assert_eq!(rules(&object).len(), 5);
    for words in ["not join", "held", "no Node"] {
        assert!(!out.contains(words), "{words}: {out}");
    }
}

/// The nightly prune deletes old reports while new ones have come: the alert goes on, with their
/// number, and the deletion alone is none. A gap in the metric loses no report.
#[test]
fn the_nightly_prune_ends_no_alert() {
    let (object, ..) = rendered(POLICY, &[]);
    let dir = tempfile::tempdir().unwrap();
    let rule = &rules(&object)[0];
    assert_eq!(rule["alert"], "BootImageRefused");
    let reports = |values: &str| {
        json!([{ "values": values,
        "series": "apiserver_resource_objects{group=\"skewguard.dev\",resource=\"bootimagereports\",instance=\"1\"}" }])
    };
    let case = |values: &str, samples: &[(&str, Option<u32>)]| {
        let expected = samples.iter().map(|(time, value)| {
            let samples: Vec<Value> = value
                .iter()
                .map(|value| json!({ "labels": "{}", "value": value }))
                .collect();
            json!({ "expr": rule["expr"], "eval_time": time, "exp_samples": samples })
        });
        json!({ "interval": "1m", "input_series": reports(values), "promql_expr_test": expected.collect::<Vec<_>>() })
    };
    let tests = json!({ "rule_files": [], "evaluation_interval": "1m", "tests": [
        // Two nodes at 61 minutes; at 91 a hundred old ones go, at 101 a third node comes.
        case("100x60 102x29 2x9 3x200", &[("59m", None), ("65m", Some(2)), ("95m", Some(2)), ("105m", Some(3)), ("190m", Some(1)), ("230m", None)]),
        case("100x60 2x300", &[("65m", None), ("100m", None)]),
        // The last is deleted, too, and another one comes.
        case("1x60 0x29 1x300", &[("70m", None), ("95m", Some(1))]),
        // Prometheus was away.
        case("1x60 _x30 4x300", &[("95m", Some(3))]),
    ] });
    std::fs::write(dir.path().join("tests.yaml"), tests.to_string()).unwrap();
    run("promtool", dir.path(), &["test", "rules", "tests.yaml"]);
}

const OF_OKD: &str = r#"{ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Warn",
    "limits": [{ "minimumFCOSVersion": "35" }], "knownIssues": [
    { "id": "A", "affects": "Update", "targets": ">=4.22.0", "when": { "osFamilies": ["fcos"], "okd": true }, "reason": "x" },
    { "id": "B", "affects": "Update", "targets": ">=4.22.0", "images": { "belowOCPVersion": "4.3.0" }, "reason": "x" },
    { "id": "C", "affects": "Update", "targets": ">=4.23.0", "images": { "belowOCPVersion": "4.20.0" }, "reason": "x" },
    { "id": "D", "affects": "FirstBoot", "targets": ">=4.22.0", "images": { "belowOCPVersion": "4.19.0" }, "reason": "x" },
    { "id": "E", "affects": "Update", "targets": ">=4.22.0", "images": { "belowOCPVersion": "4.20.0" }, "when": { "secureBoot": true }, "reason": "x" },
    { "id": "F", "affects": "Update", "targets": ">=4.22.0", "images": { "belowShim": "15.8-3" }, "reason": "x" } ] }"#;

/// `policy init` leaves the issues of updates out of the policy.
#[test]
fn a_shipped_issue_of_an_update_alerts_though_no_policy_names_it() {
    let (object, out, err) = rendered(POLICY, &["--target", "4.19"]);
    let is_it = |rule: &&Value| rule["alert"] == "BootImageTooOldForUpdate";
    assert!(rules(&object).iter().any(|rule| is_it(&rule)), "{out}");
    assert_eq!(err, "");
    let (object, ..) = rendered(POLICY, &["--target", "4.18"]);
    assert!(!rules(&object).iter().any(|rule| is_it(&rule)));
}

/// All joined nodes count, and only until the cluster is of that release.
#[test]
fn images_that_the_update_breaks_are_a_risk_of_it() {
    let alert = |target: &[&str]| {
        let (object, _, err) = rendered(OF_OKD, target);
        let mut all = rules(&object).iter();
        let rule = all.find(|rule| rule["alert"] == "BootImageTooOldForUpdate");
        (rule.cloned(), err)
    };
    let (rule, err) = alert(&["--target", "4.22.1-okd"]);
    let rule = rule.unwrap();
    assert!(
        err.contains("BootImageTooOldForUpdate leaves out E, F: the metric"),
        "{err}"
    );
    assert_eq!(rule["labels"]["openShiftUpdatePrecheck"], "true");
    let dir = tempfile::tempdir().unwrap();
    rule_file(dir.path(), &json!([rule]));
    run("promtool", dir.path(), &["check", "rules", "rules.yaml"]);
    let label = |instance: &str, node: &str, version: &str| {
        json!({ "values": "1x60", "series": format!(
            "kube_node_labels{{instance=\"{instance}\",node=\"{node}\",label_skewguard_dev_boot_image=\"{version}\"}}") })
    };
    let series = json!([
        label("1", "m0", "37.20230401.3.0"),
        label("2", "m0", "37.20230401.3.0"),
        label("1", "w0", "37.20230401.3.0"),
        label("1", "w1", "42.81.20191203.0"),
        label("1", "w2", "10.0.20260614-0"),
        label("1", "w3", "418.94.202501221327-0"),
        label("1", "w4", "unknown"),
        { "series": "kube_node_labels{node=\"w5\"}", "values": "1x60" },
        { "series": "cluster_version{type=\"current\",version=\"4.21.0-okd-scos.11\"}", "values": "1700000000x30 _x30" },
        { "series": "cluster_version{type=\"current\",version=\"4.22.1-okd-scos.0\"}", "values": "_x30 1700000000x30" },
    ]);
    let born = |version: &str, value: u32| json!({ "labels": format!("{{label_skewguard_dev_boot_image=\"{version}\"}}"), "value": value });
    let fired = |image: &str, nodes: u32| {
        let mut labels = rule["labels"].clone();
        labels["label_skewguard_dev_boot_image"] = image.into();
        let said = format!(
            "{nodes} joined nodes were installed from boot image {image}, whose update to 4.22.1-okd is known to fail. `oc skewguard audit --target 4.22.1-okd` names the nodes, the issue and what helps before the update."
        );
        json!({ "exp_labels": labels, "exp_annotations": { "description": said, "runbook_url": rule["annotations"]["runbook_url"],
            "summary": "Joined nodes were installed from a boot image whose update to 4.22.1-okd is known to fail." } })
    };
    let fires = |time: &str, alerts: &[Value]| json!({ "eval_time": time, "alertname": "BootImageTooOldForUpdate", "exp_alerts": alerts });
    let at = |time: &str, samples: Value| json!({ "expr": rule["expr"], "eval_time": time, "exp_samples": samples });
    let tests = json!({ "rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [{ "interval": "1m", "input_series": series,
        "promql_expr_test": [
            at("20m", json!([born("37.20230401.3.0", 2), born("42.81.20191203.0", 1)])),
            at("50m", json!([])),
        ],
        "alert_rule_test": [
            fires("14m", &[]), fires("20m", &[fired("37.20230401.3.0", 2), fired("42.81.20191203.0", 1)]), fires("50m", &[]),
        ] }] });
    std::fs::write(dir.path().join("tests.yaml"), tests.to_string()).unwrap();
    run("promtool", dir.path(), &["test", "rules", "tests.yaml"]);
    // The issue of OKD is none of OpenShift's; without a release nothing is said of updates.
    let (ocp, _) = alert(&["--target", "4.22.1"]);
    let expr = ocp.unwrap()["expr"].as_str().unwrap().to_owned();
    assert!(!expr.contains("[1-9][0-9][.]20"), "{expr}");
    assert_eq!(alert(&["--target", "4.21.0-okd"]).0, None);
    assert_eq!(alert(&[]).0, None);
}

/// Sets count, not births: of a set only its newest node tells what the next one is made from, and of
/// a control plane nobody knows.
#[test]
fn the_newest_node_of_each_set_counts() {
    let dir = tempfile::tempdir().unwrap();
    let (object, ..) = rendered(POLICY, &["--target", "4.22.0"]);
    rule_file(dir.path(), &object["spec"]["groups"][0]["rules"]);
    let label = |node: &str, version: &str| json!({ "series": format!("kube_node_labels{{node=\"{node}\",label_skewguard_dev_boot_image=\"{version}\"}}"), "values": "1x30" });
    let machine = |name: &str, node: &str, created: u32| {
        json!({ "series": format!("mapi_machine_created_timestamp_seconds{{name=\"{name}\",node=\"{node}\",phase=\"Running\"}}"),
            "values": format!("{created}x30") })
    };
    let (old, new) = ("412.86.202303211731-0", "418.94.202501221327-0");
    let healed = [
        machine("c1-worker-a-aaaaa", "w1", 100),
        label("w1", old),
        machine("c1-worker-a-bbbbb", "w2", 200),
        label("w2", new),
        machine("c1-master-0", "m0", 100),
        label("m0", old),
        json!({ "series": "kube_node_role{node=\"m0\",role=\"master\"}", "values": "1x30" }),
    ];
    // A set whose newest node is old, and a node without a Machine.
    let open = [
        machine("c1-worker-b-aaaaa", "w3", 100),
        label("w3", new),
        machine("c1-worker-b-bbbbb", "w4", 200),
        label("w4", old),
        label("w5", old),
    ];
    // Scaled from 0 to 3: all in one second. One of them is a Machine of two names for a while.
    let one_second = [
        machine("c1-worker-c-aaaaa", "w6", 300),
        machine("c1-worker-c-bbbbb", "w7", 300),
        machine("c1-worker-c-ccccc", "w8", 300),
        machine("c1-worker-d-ddddd", "w8", 300),
        label("w6", old),
        label("w7", old),
        label("w8", new),
    ];
    let count = |series: &[Value], samples: Value| {
        let mut all = rules(&object).iter();
        let rule = all
            .find(|rule| rule["alert"] == "OldBootImageInUse")
            .unwrap();
        json!({ "interval": "1m", "input_series": series,
            "promql_expr_test": [{ "expr": rule["expr"], "eval_time": "20m", "exp_samples": samples }] })
    };
    let sets = |value: u32| json!([{ "labels": format!("{{label_skewguard_dev_boot_image=\"{old}\"}}"), "value": value }]);
    let all: Vec<Value> = healed.iter().chain(&open).cloned().collect();
    let tests = json!({ "rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [
        count(&healed, json!([])), count(&all, sets(2)), count(&one_second, sets(1))
    ] });
    std::fs::write(dir.path().join("tests.yaml"), tests.to_string()).unwrap();
    run("promtool", dir.path(), &["test", "rules", "tests.yaml"]);
}
