//! What is known is used: specs of Ignition by their minor versions, nodes that joined, runc, hosts of the
//! Cluster API, short host names.

use super::real::{audited, machine_set};
use super::{audit, run};
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;

/// The known issues of a case's first set, as `ID effect`, and those of its joined nodes.
fn issues(name: &str, more: &[&str]) -> (Vec<String>, Vec<String>) {
    let from = format!("tests/data/cases/{name}");
    let (out, err, _) = audit(&[&["--from", &from, "-o", "json"], more].concat());
    let found: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
    let words = |list: &Value, names: [&str; 2]| {
        let list = list.as_array().cloned().unwrap_or_default();
        let words =
            |item: &Value| names.map(|name| item[name].as_str().unwrap_or_default().to_owned());
        list.iter().map(|item| words(item).join(" ")).collect()
    };
    (
        words(&found["sets"][0]["knownIssues"], ["id", "effect"]),
        words(&found["births"], ["issue", "release"]),
    )
}

/// openshift/os#1795: images of RHEL 8 on aarch64, in 4.19 to 4.22.
#[test]
fn the_boot_loader_of_rhel_8_is_named_on_aarch64() {
    let of = |target: &str| issues("arm-rhel8-boot-loader", &["--target", target]);
    const BORN: &str = "BornWithAArch64BootLoaderOfRHEL8";
    for (target, warns, births) in [
        ("4.18.30", false, vec![]),
        ("4.19.0", true, vec![format!("{BORN} 4.19.0")]),
        ("4.20.9", true, vec![format!("{BORN} 4.20.9")]),
        ("4.21.0", true, vec![]),
    ] {
        let warns: &[&str] = if warns {
            &["AArch64BootLoaderOfRHEL8 Warn"]
        } else {
            &[]
        };
        let (sets, of_nodes) = of(target);
        assert_eq!(
            (sets, of_nodes),
            (warns.iter().map(ToString::to_string).collect(), births),
            "{target}"
        );
    }
}

/// openshift/machine-config-operator#4596: a vSphere set of a 4.9 image.
#[test]
fn the_refused_oneshot_unit_is_named_in_its_z_streams() {
    for (target, warns) in [
        ("4.15.22", false),
        ("4.15.23", true),
        ("4.16.10", true),
        ("4.16.20", false),
        ("4.17.2", true),
        ("4.17.3", false),
    ] {
        let (sets, _) = issues("oneshot-restart", &["--target", target]);
        let want: &[&str] = if warns {
            &["OneshotRestartResolvPrepender Warn"]
        } else {
            &[]
        };
        assert_eq!(sets, want, "{target}");
    }
}

/// The audit of a case by a policy with these limits.
fn case(name: &str, limits: &Value, more: &[&str]) -> (Value, Exit) {
    let text = std::fs::read_to_string(format!("tests/data/cases/{name}")).unwrap();
    of(&serde_json::from_str(&text).unwrap(), limits, more)
}

fn of(list: &Value, limits: &Value, more: &[&str]) -> (Value, Exit) {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &Value| {
        let path = dir.path().join(name);
        std::fs::write(&path, text.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let policy = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce", "limits": limits });
    let (policy, from) = (path("policy.json", &policy), path("objects.json", list));
    let args = ["--policy", &policy, "--from", &from, "-o", "json"];
    let (out, err, exit) = audit(&[&args, more].concat());
    (
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}")),
        exit,
    )
}

fn list(items: &[Value]) -> Value {
    json!({ "apiVersion": "v1", "kind": "List", "items": items })
}

const UNREADABLE: &str = "no node comes up from it: the user data (Secret worker-user-data) is of Ignition spec 3.2.0, and the Ignition of \
    46.82.202011260640-0 reads specs up to 3.1.0 alone: the node stops in the initramfs, before any agent";

#[test]
fn user_data_is_read_by_minor_versions() {
    let limits = json!([{ "minimumOCPVersion": "4.6.0" }]);
    let (found, exit) = case("user-data-minor/objects.json", &limits, &[]);
    let set = &found["sets"][0];
    assert_eq!(
        (&set["verdict"], exit),
        (&json!("Undetermined"), Exit::Unknown)
    );
    assert_eq!(set["message"], UNREADABLE);
    // An image of 4.8 reads it, and 3.1 is read by one of 4.6.
    let text = std::fs::read_to_string("tests/data/cases/user-data-minor/objects.json").unwrap();
    let is_done = |text: &str| {
        let (found, exit) = of(&serde_json::from_str(text).unwrap(), &limits, &[]);
        (found["sets"][0]["verdict"].clone(), exit)
    };
    let allowed = (json!("Allowed"), Exit::Done);
    assert_eq!(
        is_done(&text.replace("46.82.202011260640-0", "48.84.202109241901-0")),
        allowed
    );
    let of_3_1 = "eyJpZ25pdGlvbiI6eyJ2ZXJzaW9uIjoiMy4xLjAifX0=";
    let (begin, rest) = text.split_once("\"userData\":\"").unwrap();
    let (_, end) = rest.split_once('"').unwrap();
    assert_eq!(
        is_done(&format!("{begin}\"userData\":\"{of_3_1}\"{end}")),
        allowed
    );
}

#[test]
fn nodes_that_joined_disprove_what_user_data_looks_like() {
    let text = std::fs::read_to_string("tests/data/cases/user-data-minor/objects.json").unwrap();
    let list: Value = serde_json::from_str(&text).unwrap();
    let items = list["items"].as_array().unwrap();
    let set = items
        .iter()
        .find(|item| item["kind"] == "MachineSet")
        .unwrap();
    let joined = |secret: &str, label: Option<&str>| {
        let mut provider = set["spec"]["template"]["spec"]["providerSpec"]["value"].clone();
        provider["userDataSecret"]["name"] = json!(secret);
        let [mut machine, mut node] = super::real::joined("c1-worker-a", &provider, "");
        machine["metadata"]["namespace"] = json!("openshift-machine-api");
        node["metadata"]["labels"] = json!({ "kubernetes.io/arch": "amd64" });
        if let Some(label) = label {
            node["metadata"]["labels"]["skewguard.dev/boot-image"] = json!(label);
        }
        let all = [items.clone(), vec![machine, node]].concat();
        let limits = json!([{ "minimumOCPVersion": "4.6.0" }]);
        let (found, _) = of(&self::list(&all), &limits, &[]);
        found["sets"][0]["verdict"].clone()
    };
    assert_eq!(joined("worker-user-data", None), "Allowed");
    assert_eq!(
        joined("worker-user-data", Some("46.82.202011260640-0")),
        "Allowed"
    );
    // Another Secret, or what was in the template before.
    assert_eq!(joined("other-user-data", None), "Undetermined");
    assert_eq!(
        joined("worker-user-data", Some("48.84.202109241901-0")),
        "Undetermined"
    );
}

#[test]
fn a_node_pool_of_runc_falls_back_to_rhel_9() {
    let limits = json!([{ "release": "5.0", "minimumRHCOSVersion": "10.2" }]);
    let text = std::fs::read_to_string("tests/data/cases/nodepool-runc/runc.json").unwrap();
    let whole: Value = serde_json::from_str(&text).unwrap();
    let [pool, config] = [0, 1].map(|n| whole["items"][n].clone());
    let of_pool = |change: &dyn Fn(&mut Value), configs: &[Value]| {
        let mut pool = pool.clone();
        change(&mut pool);
        let (found, exit) = of(
            &list(&[&[pool], configs].concat()),
            &limits,
            &["--target", "5.0"],
        );
        let set = found["sets"][0].clone();
        (
            set["verdict"].as_str().unwrap().to_owned(),
            exit,
            set["notes"].to_string(),
        )
    };
    let before = |pool: &mut Value| pool["status"] = json!({ "version": "4.22.1" });
    let crun = {
        let mut config = config.clone();
        config["data"]["config"] = json!(
            config["data"]["config"]
                .as_str()
                .unwrap()
                .replace(": runc\n", ": crun\n")
        );
        config["data"]["config"] = json!(
            config["data"]["config"]
                .as_str()
                .unwrap()
                .replace("defaultRuntime: runc", "defaultRuntime: crun")
        );
        config
    };
    let pinned = |pool: &mut Value| {
        before(pool);
        pool["spec"]["osImageStream"] = json!({ "name": "rhel-10" });
    };
    // Its own status.
    let (verdict, exit, _) = of_pool(&|_| (), std::slice::from_ref(&config));
    assert_eq!((verdict.as_str(), exit), ("Refused", Exit::Refused));
    let (verdict, exit, notes) = of_pool(&before, std::slice::from_ref(&config));
    assert_eq!(
        (verdict.as_str(), exit),
        ("Refused", Exit::Refused),
        "{notes}"
    );
    assert!(
        notes.contains("its config asks for runc, which falls back to rhel-9; to stay on rhel-9 pin it before 5.0: rhel-10 cannot be taken back later"),
        "{notes}"
    );
    let (verdict, exit, notes) = of_pool(&before, &[]);
    assert_eq!(
        (verdict.as_str(), exit),
        ("Undetermined", Exit::Unknown),
        "{notes}"
    );
    assert!(
        notes.contains("ConfigMaps of spec.config were not read"),
        "{notes}"
    );
    let (verdict, _, notes) = of_pool(&before, &[crun]);
    assert_eq!(verdict, "Allowed", "{notes}");
    let (verdict, ..) = of_pool(&pinned, &[config]);
    assert_eq!(verdict, "Allowed");
}

#[test]
fn a_host_of_the_cluster_api_is_its_machines() {
    let limits = json!([{ "minimumOCPVersion": "4.13.0" }]);
    let (found, _) = case("host-of-cluster-api/hosts.json", &limits, &[]);
    let sets = found["sets"].as_array().unwrap();
    let kinds: Vec<&str> = sets
        .iter()
        .map(|set| set["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["MachineSet"]);
}

#[test]
fn a_report_of_a_short_host_name_is_found() {
    let limits = json!([{ "minimumOCPVersion": "4.13.0" }]);
    let (found, exit) = case("short-host-name/o.json", &limits, &[]);
    let sets = found["sets"].as_array().unwrap();
    let set = sets.iter().find(|set| set["name"] == "w").unwrap();
    assert_eq!(
        (&set["knownBy"], exit),
        (&json!("Report"), Exit::Unknown),
        "{set}"
    );
}

#[test]
fn a_set_of_azure_without_an_image_has_no_publisher() {
    let set = machine_set(
        "w",
        &json!({ "kind": "AzureMachineProviderSpec", "location": "eastus" }),
    );
    let configuration = json!({ "apiVersion": "operator.openshift.io/v1", "kind": "MachineConfiguration", "metadata": { "name": "cluster" },
        "status": { "managedBootImagesStatus": { "machineManagers": [
            { "resource": "machinesets", "apiGroup": "machine.openshift.io", "selection": { "mode": "All" } }] } } });
    let version = json!({ "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": { "name": "version" },
        "status": { "desired": { "version": "4.22.3" }, "history": [{ "state": "Completed", "version": "4.22.3" }] } });
    let (found, _) = audited([set, configuration, version], &[]);
    let reason = &found["sets"][0]["upkeep"]["reason"];
    assert_eq!(reason, "it names no image, and so no publisher and offer");
    let (text, ..) = run(&["inspect", "46.82.202011260640-0"]);
    assert!(text.contains("specs 3.0 to 3.1"), "{text}");
}
