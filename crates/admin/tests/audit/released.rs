//! The release at which a set is judged, and up to which a remedy holds.

use super::audit;
use super::real::list;
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;

fn case(name: &str) -> Vec<Value> {
    let path = format!("tests/data/cases/{name}/objects.json");
    let text = std::fs::read_to_string(path).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    all["items"].as_array().unwrap().clone()
}

fn of(items: &[Value], more: &[&str]) -> (String, Exit) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("objects.json");
    std::fs::write(&path, list(items.to_vec())).unwrap();
    let (out, err, exit) = audit(&[&["--from", path.to_str().unwrap()], more].concat());
    // A paused pool may be asked about a release that the cluster has left.
    let said = err.replace(
        "skewguard: warning: --target 4.21.0: the cluster is at 4.22.3 already\n",
        "",
    );
    assert_eq!(said, "");
    (out.replace(path.to_str().unwrap(), "objects.json"), exit)
}

fn json_of(items: &[Value], more: &[&str]) -> Value {
    let (out, _) = of(items, &[more, &["-o", "json"]].concat());
    serde_json::from_str(&out).unwrap()
}

fn set<'a>(found: &'a Value, name: &str) -> &'a Value {
    let sets = found["sets"].as_array().unwrap();
    sets.iter().find(|set| set["name"] == name).unwrap()
}

/// The paused pool's case, changed.
fn pool(change: impl Fn(&mut Value), with_configs: bool) -> Vec<Value> {
    let mut items = case("paused-pool");
    items.retain(|item| with_configs || item["kind"] != "MachineConfig");
    let pool = items
        .iter_mut()
        .find(|item| item["kind"] == "MachineConfigPool");
    change(pool.unwrap());
    items
}

/// A new node gets what its pool serves: the old config until its first node is updated, and while it is paused.
#[test]
fn a_set_is_judged_at_the_release_that_its_pool_serves() {
    let set_to = |field: &'static str, value: Value| {
        move |pool: &mut Value| *pool.pointer_mut(field).unwrap() = value.clone()
    };
    let settled = |pool: &mut Value| {
        pool["spec"]["paused"] = json!(false);
        pool["status"]["configuration"] = pool["spec"]["configuration"].clone();
    };
    let rolling = set_to("/spec/paused", json!(false));
    let updated = set_to("/status/updatedMachineCount", json!(1));
    let empty = set_to("/status/machineCount", json!(0));
    let without = |pool: &mut Value| *pool = json!({ "kind": "Pod", "metadata": { "name": "x" } });
    let as_it_is = |_: &mut Value| {};
    type Change<'a> = &'a dyn Fn(&mut Value);
    let table: [(Change<'_>, bool, [Option<&str>; 3]); 10] = [
        (
            &as_it_is,
            true,
            [Some("4.20.30"), Some("Pool"), Some("Allowed")],
        ),
        (
            &rolling,
            true,
            [Some("4.20.30"), Some("Pool"), Some("Allowed")],
        ),
        (
            &updated,
            true,
            [Some("4.22.3"), Some("Cluster"), Some("Refused")],
        ),
        (
            &empty,
            true,
            [Some("4.22.3"), Some("Cluster"), Some("Refused")],
        ),
        (
            &settled,
            true,
            [Some("4.22.3"), Some("Cluster"), Some("Refused")],
        ),
        (
            &settled,
            false,
            [Some("4.22.3"), Some("Cluster"), Some("Refused")],
        ),
        (&as_it_is, false, [None, Some("Pool"), Some("Undetermined")]),
        (&rolling, false, [None, Some("Pool"), Some("Undetermined")]),
        (&updated, false, [None, Some("Pool"), Some("Undetermined")]),
        (
            &without,
            true,
            [Some("4.22.3"), Some("PoolUnread"), Some("Refused")],
        ),
    ];
    for (n, (change, with_configs, wanted)) in table.into_iter().enumerate() {
        let found = json_of(&pool(change, with_configs), &[]);
        let old = set(&found, "c1-old");
        let said = ["release", "releaseBy", "verdict"].map(|field| old[field].as_str());
        assert_eq!(said, wanted, "{n}: {old:#}");
    }
    let asked = json_of(&case("paused-pool"), &["--target", "4.21"]);
    let old = set(&asked, "c1-old");
    assert_eq!(
        (&old["release"], &old["releaseBy"]),
        (&json!("4.21.0"), &json!("Target"))
    );
}

#[test]
fn the_release_of_a_paused_pool_is_said() {
    let (text, exit) = of(&case("paused-pool"), &[]);
    assert_eq!(exit, Exit::Unknown);
    assert!(
        text.contains("\nFrom 4.22 on 1 of 7 sets would be refused: "),
        "{text}"
    );
    let rows = "
allowed  MachineSet/c1-old               412.86.202301311551-0  2/3    4.22
allowed  MachineSet/c1-arm               9.6.20251015-1         0/0
allowed  MachineSet/c1-own               9.6.20251015-1         0/1
         at 4.20.30, which pool worker serves
allowed  ControlPlaneMachineSet/cluster  418.94.202501221327-0  3/3
";
    assert!(text.contains(rows), "{text}");
    let (wide, _) = of(&case("paused-pool"), &["c1-old", "cluster"]);
    for line in [
        "  release  at 4.20.30, which pool worker serves\n",
        "  release  4.22.3, the cluster's: what its pool serves was not read\n",
    ] {
        assert!(wide.contains(line), "{wide}");
    }
    let found = json_of(&pool(|_| (), false), &[]);
    let old = set(&found, "c1-old");
    assert_eq!(
        old["message"],
        "its pool serves rendered-worker-old, which was not read: its release is unknown"
    );
    assert_eq!(
        old["toKnow"],
        "read the MachineConfig that its pool serves to new nodes: what `oc get machineconfigs -o json` prints (--from)"
    );
}

/// An image is offered now if it passes from now to the release that was asked about, and none before its own release.
#[test]
fn a_remedy_holds_now_and_on_the_way() {
    let items = case("remedy-not-before");
    let found = json_of(&items, &["--target", "4.22"]);
    let row = &found["sets"][0];
    let remedy = row["remedy"].as_str().unwrap();
    assert!(
        remedy.starts_with("after the update to 4.13, set "),
        "{remedy}"
    );
    assert!(
        remedy.contains(": 413.92.") && remedy.ends_with("the newest published for 4.13"),
        "{remedy}"
    );
    assert_eq!(
        [&row["remedyNotBefore"], &row["effect"], &row["patch"]],
        [&json!("4.13"), &json!("needsFirst"), &Value::Null]
    );
    let (fix, _) = of(
        &items,
        &[
            "--target",
            "4.22",
            "--print-commands",
            "fix",
            "--any-release",
        ],
    );
    assert!(!fix.contains("\noc patch"), "{fix}");
    // Of a cluster that has that release, an image of its own.
    let mut newer = items;
    newer[0]["status"]["desired"]["version"] = json!("4.14.30");
    newer[1]["kind"] = json!("Pod");
    let found = json_of(&newer, &["--target", "4.22"]);
    let row = &found["sets"][0];
    assert!(
        row["remedy"]
            .as_str()
            .unwrap()
            .ends_with("the newest published for 4.14"),
        "{row}"
    );
    assert_eq!(row["effect"], "nextMachineOnly");
}

/// What 5.0 wants and 4.22 refuses is no remedy before 5.0.
#[test]
fn what_another_limit_of_the_policy_refuses_is_not_offered_before() {
    let mut items = case("remedy-not-before");
    items[0]["status"]["desired"]["version"] = json!("4.21.3");
    items[1]["kind"] = json!("Pod");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("policy.json");
    let limits = json!([{ "deniedVersions": [] }, { "release": "4.22", "rhelMajors": [9] }, { "release": "5.0", "rhelMajors": [10] }]);
    let policy = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Warn", "limits": limits });
    std::fs::write(&file, policy.to_string()).unwrap();
    // Nothing is of stream rhel-10 unless somebody says so.
    items[2]["spec"]["template"]["metadata"]["labels"]["machineconfiguration.openshift.io/osstream"] =
        json!("rhel-10");
    let found = json_of(
        &items,
        &["--target", "5.0", "--policy", file.to_str().unwrap()],
    );
    let remedy = found["sets"][0]["remedy"].as_str().unwrap();
    assert!(!remedy.starts_with("set "), "{remedy}");
}

/// On the release that has the value nothing else says it, and it blocks the next update.
#[test]
fn the_operators_value_of_a_cluster_that_was_installed_long_ago_is_told() {
    let items = case("installed-long-ago");
    let says = "on 4.22 the Machine Config Operator takes 4.10.3, the release installed, for its oldest boot image";
    for target in [None, Some("5.0")] {
        let more: Vec<&str> = target
            .into_iter()
            .flat_map(|target| ["--target", target])
            .collect();
        let found = json_of(&items, &more);
        let warnings = found["warnings"].to_string();
        assert!(
            warnings.contains(says) && warnings.contains("not possible before 4.22"),
            "{warnings}"
        );
        assert_eq!(set(&found, "c1-worker")["verdict"], "Allowed");
    }
    let with = |change: &dyn Fn(&mut Vec<Value>)| {
        let mut items = items.clone();
        change(&mut items);
        json_of(&items, &[])["warnings"].to_string().contains(says)
    };
    let configuration = |managers: Value, skew: Value| {
        json!({ "apiVersion": "operator.openshift.io/v1", "kind": "MachineConfiguration", "metadata": { "name": "cluster" },
            "spec": { "managedBootImages": { "machineManagers": managers } }, "status": { "bootImageSkewEnforcementStatus": skew } })
    };
    let provider = "/spec/template/spec/providerSpec/value";
    let aws = |items: &mut Vec<Value>| {
        *items[2].pointer_mut(provider).unwrap() = super::real::aws("ami-0a611e6a24a551a2b")
    };
    let none = json!([{ "resource": "machinesets", "apiGroup": "machine.openshift.io", "selection": { "mode": "None" } }]);
    assert!(with(&|_| ()));
    // Its own updates of images say it, unless they are turned off.
    assert!(!with(&aws));
    assert!(with(&|items| {
        aws(items);
        items.push(configuration(none.clone(), Value::Null));
    }));
    // It says it itself.
    assert!(!with(&|items| items.push(configuration(
        json!([]),
        json!({ "mode": "Manual", "manual": { "ocpVersion": "4.18.0" } })
    ))));
    assert!(!with(
        &|items| items[0]["status"]["history"][1]["version"] = json!("4.13.0")
    ));
    assert!(!with(&|items| {
        for field in ["/status/desired/version", "/status/history/0/version"] {
            *items[0].pointer_mut(field).unwrap() = json!("5.0.1");
        }
    }));
}
