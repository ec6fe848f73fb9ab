//! Evidence that lies there: the installed release, a set's own Machines, what a release fixes; and what
//! the operator says of itself.

use super::audit;
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;

/// The audit of a case by the tool's own limits.
fn case(name: &str, more: &[&str]) -> (Value, Exit) {
    let from = format!("tests/data/cases/{name}");
    let (out, err, exit) = audit(&[&["--from", &from, "--output", "json"], more].concat());
    let found = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
    (found, exit)
}

#[test]
fn the_operators_own_word_counts_more_than_its_rules() {
    let (found, _) = case("operator-degraded", &[]);
    let set = &found["sets"][0];
    assert_eq!(set["upkeep"]["by"], "Nobody");
    assert_eq!(set["upkeep"]["rule"], "Degraded");
    let reason = set["upkeep"]["reason"].as_str().unwrap();
    assert!(reason.contains("finder had error: network"), "{reason}");
    assert!(
        !found.to_string().contains("the cluster keeps this image"),
        "{found}"
    );
    let warning = found["warnings"][0].as_str().unwrap();
    assert!(
        warning
            .starts_with("MachineConfiguration cluster, BootImageUpdateDegraded since 2026-08-20"),
        "{warning}"
    );
}

#[test]
fn an_image_of_azure_is_what_the_stream_says_of_it() {
    let (found, _) = case("azure-gen2-of-5.0", &[]);
    let of = |name: &str| {
        let sets = found["sets"].as_array().unwrap();
        sets.iter().find(|set| set["name"] == name).unwrap().clone()
    };
    for name in ["w-new", "w-old-gen2", "w-old-412"] {
        let rule = of(name)["upkeep"]["rule"].clone();
        assert_ne!(rule, "AzureOffer", "{name}");
    }
    assert_eq!(
        of("w-old-412")["wantImage"],
        "azureopenshift:aro4:aro_5-0_x64_gen2:9.8.20260428"
    );
    let gen1 = of("w-gen1");
    assert_eq!(gen1["upkeep"]["rule"], "AzureOffer");
    assert!(
        gen1["upkeep"]["reason"]
            .as_str()
            .unwrap()
            .contains("hypervisor generation"),
        "{gen1}"
    );
}

#[test]
fn an_absent_field_is_what_admission_fills_in() {
    let (found, exit) = case("image-left-out", &[]);
    let set = &found["sets"][0];
    assert_eq!(set["bootImage"]["version"], "414.92.202307070025-0");
    assert_ne!(exit, Exit::Unknown);
    assert_eq!(
        set["patch"],
        Value::Null,
        "what is absent cannot be replaced"
    );
}

#[test]
fn rows_without_a_set_stay_the_same() {
    let of = |file: &str, more: &[&str]| {
        let from = format!("tests/data/cases/rows-without-a-set/{file}");
        audit(&[&["--from", &from, "--output", "json"], more].concat())
    };
    let (before, _, _) = of("bmh2.json", &[]);
    let (after, _, _) = of("bmh3.json", &[]);
    let name = |text: &str| {
        let found: Value = serde_json::from_str(text).unwrap();
        (
            found["sets"][0]["name"].clone(),
            found["sets"][0]["members"].clone(),
        )
    };
    let row = "worker: rhcos-48.84.202106091622-0-openstack.x86_64.qcow2";
    assert_eq!(name(&before), (json!(row), json!(["w-1", "w-2"])));
    assert_eq!(name(&after), (json!(row), json!(["w-1", "w-2", "w-3"])));
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let before = before.replace("TIME", "2026-01-01T00:00:00Z");
    let file = path("before.json", &before);
    let (out, err, exit) = of("bmh3.json", &["--since", &file]);
    let found: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
    assert_eq!(
        (&found["since"]["changes"], &found["since"]["gone"], exit),
        (&json!([]), &json!(0), Exit::Done)
    );
    for set in [
        row,
        "worker",
        "w-3",
        &format!("openshift-machine-api/{row}"),
        "BareMetalHost/w-3",
    ] {
        let file = path(
            "e.yaml",
            &format!("exceptions:\n- set: '{set}'\n  reason: x\n  until: 2999-12-31\n"),
        );
        let (_, err, exit) = of("bmh3.json", &["--exceptions", &file]);
        assert_eq!((err.as_str(), exit), ("", Exit::Done), "{set}");
    }
}

#[test]
fn what_was_not_read_is_no_zero() {
    let from = "tests/data/cases/set-alone";
    let (out, _, _) = audit(&["--from", from]);
    assert!(out.contains("  -/1\n"), "{out}");
    let (found, _) = case("set-alone", &[]);
    let set = &found["sets"][0];
    assert_eq!(set["nodesUnread"], true);
    assert!(
        set["toKnow"]
            .as_str()
            .unwrap()
            .contains("oc get machines.machine.openshift.io"),
        "{set}"
    );
    assert!(!found.to_string().contains("no joined node"), "{found}");
    let (csv, _, _) = audit(&["--from", from, "--output", "csv"]);
    assert!(
        csv.lines().nth(1).unwrap().contains(",Unknown,,1,")
            || csv.contains(",InstalledRelease,,1,"),
        "{csv}"
    );
}

#[test]
fn a_release_may_fix_its_rhel() {
    let (found, exit) = case("release-fixes-rhel", &[]);
    let set = &found["sets"][0];
    assert_eq!(
        (&set["verdict"], exit),
        (&json!("Allowed"), Exit::Done),
        "{set}"
    );
    assert_eq!(set["bootImage"]["rhelVersion"], "9.4");
    assert!(
        set["knownFrom"]
            .as_str()
            .unwrap()
            .ends_with("all images published for 4.18 are RHEL 9.4"),
        "{set}"
    );
}

#[test]
fn a_stock_node_pool_is_decided_by_all_images_of_its_release() {
    let (found, exit) = case("stock-nodepool", &[]);
    let set = &found["sets"][0];
    assert_eq!(
        (&set["verdict"], &set["knownBy"], exit),
        (&json!("Allowed"), &json!("Release"), Exit::Done),
        "{set}"
    );
    let text =
        std::fs::read_to_string("tests/data/cases/stock-nodepool/nodepool-stock-416.yaml").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let of = |text: &str, more: &[&str]| {
        let file = dir.path().join("np.yaml");
        std::fs::write(&file, text).unwrap();
        let args = ["--from", file.to_str().unwrap(), "--output", "json"];
        let (out, err, exit) = audit(&[more, &args].concat());
        (
            serde_json::from_str::<Value>(&out).unwrap_or_else(|_| panic!("{err}")),
            exit,
        )
    };
    // An image of RHEL 8 too, whose next release brings another one.
    let of_4_12 = text.replace("4.16.3", "4.12.3");
    let (found, exit) = of(&of_4_12, &[]);
    assert_eq!(
        (&found["sets"][0]["verdict"], exit),
        (&json!("Allowed"), Exit::Done),
        "{found}"
    );
    assert_eq!(found["sets"][0]["refusedFrom"], Value::Null);
    let (found, exit) = of(&of_4_12, &["--policy", super::POLICY]);
    assert_eq!(
        (&found["sets"][0]["verdict"], exit),
        (&json!("Refused"), Exit::Refused),
        "{found}"
    );
    // Agents have booted from an ISO of their own.
    let (found, exit) = of(&text.replace("type: AWS", "type: Agent"), &[]);
    assert_eq!(
        (&found["sets"][0]["verdict"], exit),
        (&json!("Undetermined"), Exit::Unknown),
        "{found}"
    );
}

/// It refuses where estimates are taken, and never allows.
#[test]
fn the_installed_release_is_an_estimate() {
    let of = |installed: &str, template: &str, more: &[&str]| {
        let set = json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
            "metadata": { "name": "w", "namespace": "openshift-machine-api", "labels": { "machine.openshift.io/cluster-api-cluster": "c1-7xk2p" } },
            "spec": { "replicas": 1, "template": { "spec": { "providerSpec": { "value": { "kind": "VSphereMachineProviderSpec", "template": template } } } } } });
        let version = json!({ "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": { "name": "version" },
            "status": { "desired": { "version": "4.18.3" }, "history": [{ "state": "Completed", "version": "4.18.3" }, { "state": "Completed", "version": installed }] } });
        let (found, exit) = super::real::audited([set, version], more);
        (found["sets"][0].clone(), exit)
    };
    let (set, exit) = of("4.12.9", "c1-7xk2p-rhcos", &[]);
    assert_eq!(
        (&set["verdict"], &set["knownBy"], exit),
        (
            &json!("Undetermined"),
            &json!("InstalledRelease"),
            Exit::Unknown
        ),
        "{set}"
    );
    assert_eq!(
        set["estimate"],
        json!({ "ocpVersion": "4.12", "source": "InstalledRelease", "from": "installed with 4.12.9: probably 4.12" })
    );
    assert_eq!(set["bootImage"], Value::Null);
    let (set, exit) = of("4.12.9", "c1-7xk2p-rhcos", &["--estimates"]);
    assert_eq!(
        (&set["verdict"], exit),
        (&json!("Refused"), Exit::Refused),
        "{set}"
    );
    assert!(
        set["message"]
            .as_str()
            .unwrap()
            .ends_with("installed with 4.12.9: probably 4.12"),
        "{set}"
    );
    let (set, exit) = of("4.16.9", "c1-7xk2p-rhcos", &["--estimates"]);
    assert_eq!(
        (&set["verdict"], exit),
        (&json!("Undetermined"), Exit::Unknown),
        "{set}"
    );
    let (set, _) = of("4.12.9", "golden", &["--estimates"]);
    assert_eq!(
        (&set["knownBy"], &set["estimate"]),
        (&json!("Unknown"), &Value::Null),
        "{set}"
    );
}

#[test]
fn managers_of_the_cluster_api_are_no_managers_of_the_machine_api() {
    let (found, _) = case("capi-manager", &[]);
    assert_eq!(
        found["managedBootImages"],
        json!({ "machinesets": "None", "controlplanemachinesets": "None", "machinesets.cluster.x-k8s.io": "All",
            "machinedeployments.cluster.x-k8s.io": "All" })
    );
    assert!(
        !found.to_string().contains("the cluster keeps this image"),
        "{found}"
    );
}

#[test]
fn a_document_without_kind_hides_no_other() {
    let (found, exit) = case("document-without-kind", &[]);
    let sets = found["sets"].as_array().unwrap();
    assert_eq!(sets.len(), 1, "{found}");
    assert_eq!(
        sets[0]["name"],
        "user01-ops-training-75gjz-worker-eu-north-1a"
    );
    assert_eq!(found["unread"][0]["what"], "object x");
    assert_ne!(exit, Exit::Done);
}

#[test]
fn a_pipeline_fails_on_what_it_is_told() {
    for (name, fail_on, wanted) in [
        ("set-of-argocd", "unknown", Exit::Refused),
        ("set-of-argocd", "refused", Exit::Refused),
        ("set-of-argocd", "none", Exit::Done),
        ("set-alone", "unknown", Exit::Unknown),
        ("set-alone", "refused", Exit::Done),
        ("set-alone", "later", Exit::Unknown),
        ("set-alone", "none", Exit::Done),
    ] {
        assert_eq!(
            case(name, &["--target", "4.22", "--fail-on", fail_on]).1,
            wanted,
            "{name} {fail_on}"
        );
    }
    // What was not read is no success.
    assert_ne!(
        case("document-without-kind", &["--fail-on", "none"]).1,
        Exit::Done
    );
}
