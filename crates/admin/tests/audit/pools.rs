//! The pool by which the next node of a set is judged: the node's own, whatever the set is called.

use super::real::{gcp, list, machine_set};
use super::{audit, fixture, run};
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;

/// The audit of these objects at 4.22 with these limits.
fn audited(objects: &str, limits: &Value) -> (Value, Exit) {
    let desk = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = desk.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let policy = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Warn", "limits": limits });
    let (policy, objects) = (
        file("policy.json", &policy.to_string()),
        file("objects.json", objects),
    );
    let named = [
        "--target", "4.22", "--output", "json", "--policy", &policy, "--from", &objects,
    ];
    let (out, err, exit) = audit(&named);
    (
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}")),
        exit,
    )
}

const OLD: &str = "projects/rhcos-cloud/global/images/rhcos-412-86-202301311551-0-gcp-x86-64";

/// User data in a Secret of this name, which asks for this pool.
fn secret(name: &str, pool: &str) -> Value {
    use base64::Engine;
    let source = format!("https://api-int.example.com:22623/config/{pool}");
    let stub = json!({ "ignition": { "version": "3.2.0", "config": { "merge": [{ "source": source }] } } });
    let data = base64::prelude::BASE64_STANDARD.encode(stub.to_string());
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "namespace": "openshift-machine-api" },
        "data": { "userData": data } })
}

/// docs/policy.md, "Custom pools": nodes boot as `worker`, but for those whose user data asks for the pool.
#[test]
fn a_secrets_name_is_no_pool_of_its_nodes() {
    let limits =
        json!([{ "deniedVersions": [] }, { "pools": ["worker"], "minimumOCPVersion": "4.13.0" }]);
    let verdict = |name: &str, asks: Option<&str>| {
        let mut provider = gcp(OLD);
        provider["userDataSecret"] = json!({ "name": name });
        let asks = asks.map(|pool| secret(name, pool));
        let items = [machine_set("s", &provider)].into_iter().chain(asks);
        let (found, exit) = audited(&list(items), &limits);
        let row = &found["sets"][0];
        (
            row["verdict"].as_str().unwrap().to_owned(),
            row["pool"].clone(),
            exit,
        )
    };
    for (name, asks, wanted, pool, exit) in [
        ("worker-user-data", None, "Refused", "worker", Exit::Refused),
        (
            "infra-user-data",
            None,
            "Undetermined",
            "infra",
            Exit::Unknown,
        ),
        (
            "infra-user-data",
            Some("infra"),
            "Allowed",
            "infra",
            Exit::Done,
        ),
        (
            "infra-user-data",
            Some("worker"),
            "Refused",
            "worker",
            Exit::Refused,
        ),
        ("other", Some("worker"), "Refused", "worker", Exit::Refused),
        ("other", None, "Undetermined", "", Exit::Unknown),
    ] {
        let found = verdict(name, asks);
        let pool = Some(pool).filter(|pool| !pool.is_empty());
        assert_eq!(found, (wanted.to_owned(), json!(pool), exit), "{name}");
    }
}

/// A Machine without a set says no more of its pool than a set does.
#[test]
fn a_machine_of_a_custom_pool_may_boot_as_worker() {
    let limits =
        json!([{ "deniedVersions": [] }, { "pools": ["worker"], "minimumOCPVersion": "4.13.0" }]);
    let mut provider = gcp(OLD);
    provider["userDataSecret"] = json!({ "name": "infra-user-data" });
    let machine = json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": { "name": "m", "namespace": "openshift-machine-api" },
        "spec": { "providerSpec": { "value": provider } } });
    let (found, exit) = audited(&list([machine]), &limits);
    let row = &found["sets"][0];
    assert_eq!(
        (&row["kind"], &row["verdict"], exit),
        (&json!("Machine"), &json!("Undetermined"), Exit::Unknown),
        "{row}"
    );
}

/// Limits of which one lets it in refuse no set whose pool is unknown.
#[test]
fn a_set_of_an_unknown_pool_is_unknown_in_every_way() {
    let limits =
        json!([{ "minimumOCPVersion": "4.13.0" }, { "pools": ["old"], "deniedVersions": [] }]);
    let mut provider = gcp(OLD);
    provider["userDataSecret"] = json!({ "name": "other" });
    let (found, exit) = audited(&list([machine_set("s", &provider)]), &limits);
    let row = &found["sets"][0];
    let told = ["verdict", "action", "reason"].map(|key| row[key].as_str().unwrap());
    assert_eq!(
        told,
        ["Undetermined", "Proceed", "NoRuleEvaluated"],
        "{row}"
    );
    assert_eq!(exit, Exit::Unknown);
}

/// What only the node knows has a way to learn it.
#[test]
fn a_condition_that_only_nodes_know_is_named() {
    let limits = json!([{ "deniedVersions": [] },
        { "release": "4.22", "when": { "architectures": ["x86_64"], "secureBoot": true }, "minimumRHCOSVersion": "9.2" }]);
    let (found, exit) = audited(&list([machine_set("s", &gcp(OLD))]), &limits);
    let row = &found["sets"][0];
    assert_eq!(
        (&row["reason"], exit),
        (&json!("LimitUndecided"), Exit::Unknown),
        "{row}"
    );
    assert_eq!(
        row["toKnow"],
        "only its nodes know what the limit asks for: in mode Warn each says its verdict in its journal and its report"
    );
}

/// docs/policy.md, "Targets": nodes of HyperShift have the pool `master`, and use the limits without release.
#[test]
fn a_node_pool_is_judged_as_its_nodes_are() {
    let mut objects: Value = serde_json::from_str(&fixture("hypershift.json")).unwrap();
    let mut items = objects["items"].as_array_mut().unwrap().iter_mut();
    let pool = items
        .find(|item| item["metadata"]["name"] == "guest-ami")
        .unwrap();
    pool["spec"]["platform"]["aws"]["ami"] = json!("ami-0fe05b1aa8dacfa90");
    let objects = objects.to_string();
    let verdict = |limits: Value| {
        let (found, _) = audited(&objects, &limits);
        let sets = found["sets"].as_array().unwrap();
        let row = sets.iter().find(|set| set["name"] == "guest-ami").unwrap();
        assert_eq!(
            row["bootImage"]["version"], "412.86.202212081411-0",
            "{row}"
        );
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        // The command is the remedy's, where the policy is to change.
        let is_let_in = text("message").ends_with("let them in");
        let hosted = "; give the policy limits without release, as `oc skewguard policy init --hosted` writes them";
        assert_eq!(text("remedy").ends_with(hosted), is_let_in, "{row}");
        (text("verdict"), text("message"))
    };
    let old = "boot image is OCP 4.12; the minimum is 4.13.0";
    let least = json!({ "minimumOCPVersion": "4.13.0" });
    let of_release = json!({ "release": "4.22", "minimumOCPVersion": "4.13.0" });
    let lets_in = json!({ "release": "4.8", "deniedVersions": [] });
    let masters = json!({ "pools": ["master"], "deniedVersions": [] });
    let (hosted, own) = (
        format!("{old}, by the limits without release, which its nodes use"),
        format!(
            "{old}; its nodes do not know their release, and the limits without one let them in"
        ),
    );
    for (limits, wanted, message) in [
        (json!([least, lets_in]), "Refused", hosted),
        (json!([least]), "Refused", old.to_owned()),
        (
            json!([{ "deniedVersions": [] }, of_release]),
            "Refused",
            own,
        ),
        (
            json!([least, masters]),
            "Allowed",
            "the boot image is within the policy's limits".to_owned(),
        ),
    ] {
        assert_eq!(
            verdict(limits.clone()),
            (wanted.to_owned(), message),
            "{limits}"
        );
    }
}

/// One image of several that its nodes would be refused for leaves a NodePool of its release's image open.
#[test]
fn a_node_pool_is_open_where_its_nodes_may_be_refused() {
    let lets_in = json!({ "release": "4.8", "deniedVersions": [] });
    let verdict = |denied: &str| {
        let limits = json!([{ "deniedVersions": [{ "version": denied, "reason": "r" }] }, lets_in]);
        let (found, _) = audited(&fixture("hypershift.json"), &limits);
        let sets = found["sets"].as_array().unwrap();
        let row = sets.iter().find(|set| set["name"] == "guest-virt").unwrap();
        let text = |key: &str| row[key].as_str().unwrap().to_owned();
        (text("verdict"), text("message"))
    };
    let says = |count: u8| {
        format!(
            "{count} of 8 images published for its release fail by the limits without release, which its nodes use"
        )
    };
    assert_eq!(
        verdict("9.8.20260715-1"),
        ("Undetermined".to_owned(), says(2))
    );
    assert_eq!(verdict("9.*").0, "Refused");
    assert_eq!(verdict("8.*").0, "Allowed");
}

/// The nodes of NodePools use the limits without release: a policy whose own let every image in is not to be enforced there.
#[test]
fn the_next_step_of_node_pools_is_a_policy_that_can_refuse_them() {
    let desk = tempfile::tempdir().unwrap();
    let init = |name: &str, more: &[&str]| {
        let path = desk.path().join(name);
        let path = path.to_str().unwrap().to_owned();
        let (_, err, exit) = run(&[&["policy", "init", "--file", &path], more].concat());
        assert_eq!((err.as_str(), exit), ("", Exit::Done));
        path
    };
    let next = |target: &str, more: &[&str]| {
        let from = [
            "--from",
            "tests/data/audit/hypershift.json",
            "--target",
            target,
        ];
        let (out, _, exit) = audit(&[&from[..], more].concat());
        assert_eq!(exit, Exit::Done, "{out}");
        let (_, next) = out.split_once("\nNext: ").unwrap();
        let (next, _) = next.split_once("\n\n").unwrap();
        let next = next.replace(desk.path().to_str().unwrap(), "DESK");
        next.replace('\n', " ")
    };
    for (target, hosted) in [("4.22", "4.22"), ("5.0.3", "5.0")] {
        assert_eq!(
            next(target, &[]),
            format!("oc skewguard policy init --hosted {hosted} --file policy.json")
        );
    }
    assert_eq!(
        next("4.22", &["--policy", &init("init.json", &[])]),
        "for a NodePool of 4.22 or later start from `oc skewguard policy init --hosted RELEASE`: \
         the limits without release refuse nothing, and nodes that do not know their release, such as HyperShift's, have no others"
    );
    assert_eq!(
        next(
            "4.22",
            &["--policy", &init("hosted.json", &["--hosted", "4.22"])]
        ),
        "set \"mode\": \"Enforce\" in DESK/hosted.json, then \
         `oc skewguard render machineconfig --policy DESK/hosted.json` for the NodePools' spec.config (docs/install.md#hypershift)"
    );
}
