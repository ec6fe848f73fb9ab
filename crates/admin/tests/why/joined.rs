//! Machines at the end of the way, or that leave it: Nodes that lack something, a certificate that nobody signs,
//! deletion, another copy that counts; and the Machines of a set.

use super::{Gather, WAITS, of_case, only};
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;
use std::path::PathBuf;

const NODE: &str = "cluster-scoped-resources/core/nodes/ip-10-0-16-37.ec2.internal.yaml";
const REQUEST: &str =
    "cluster-scoped-resources/certificates.k8s.io/certificatesigningrequests/csr-5b7pd.yaml";

fn machine() -> String {
    format!("namespaces/openshift-machine-api/machine.openshift.io/machines/{WAITS}.yaml")
}

/// A case in which a file's texts are others.
fn changed(case: &str, file: &str, changes: &[(&str, &str)]) -> Gather {
    let gather = Gather::of(case);
    let path: PathBuf = gather.dir.path().join(file);
    let mut text = std::fs::read_to_string(&path).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    std::fs::write(path, text).unwrap();
    gather
}

fn sentence(report: &Value) -> &str {
    only(report)["sentence"].as_str().unwrap()
}

fn next(report: &Value) -> Vec<&str> {
    let next = only(report)["next"].as_array().unwrap();
    next.iter().filter_map(Value::as_str).collect()
}

#[test]
fn a_node_that_is_not_ready_is_told_with_what_it_lacks() {
    let lack = "    message: kubelet has no disk pressure\n    reason: KubeletHasNoDiskPressure\n    status: 'False'";
    let full = "    message: kubelet has disk pressure\n    reason: KubeletHasDiskPressure\n    status: 'True'";
    let report = changed("node-not-ready", NODE, &[(lack, full)]).json();
    assert_eq!(
        next(&report),
        [
            "A possible cause: it has DiskPressure since 2026-08-20T08:50:00Z",
            "Look at the Node: `oc describe node ip-10-0-16-37.ec2.internal`",
        ]
    );
}

/// A file may name anything; what is put into a command stays one word of it.
#[test]
fn a_name_in_a_command_is_one_word() {
    let name = ("ip-10-0-16-37.ec2.internal", "w1;reboot");
    let gather = changed("node-not-ready", NODE, &[name]);
    let file = gather.dir.path().join(machine());
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace(name.0, name.1)).unwrap();
    let report = gather.json();
    let next = next(&report);
    assert_eq!(next, ["Look at the Node: `oc describe node 'w1;reboot'`"]);
}

#[test]
fn a_node_that_is_not_ready_is_told_with_its_pods() {
    let gather = Gather::of("node-not-ready");
    let pods = r#"{"apiVersion": "v1", "kind": "PodList", "items": [
        {"metadata": {"name": "ovnkube-node-7xk2p", "namespace": "openshift-ovn-kubernetes"}, "spec": {"nodeName": "ip-10-0-16-37.ec2.internal"},
         "status": {"containerStatuses": [{"name": "ovnkube-controller", "ready": false, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}},
        {"metadata": {"name": "multus-9zz2p", "namespace": "openshift-multus"}, "spec": {"nodeName": "ip-10-0-16-37.ec2.internal"},
         "status": {"containerStatuses": [{"name": "multus", "ready": false, "state": {"waiting": {"reason": "ContainerCreating"}}}]}},
        {"metadata": {"name": "ovnkube-node-4h4h4", "namespace": "openshift-ovn-kubernetes"}, "spec": {"nodeName": "ip-10-0-16-20.ec2.internal"},
         "status": {"containerStatuses": [{"name": "ovnkube-controller", "ready": false, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}}]}"#;
    let folder = "namespaces/openshift-ovn-kubernetes/core";
    let folder = gather.dir.path().join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("pods.yaml"), pods).unwrap();
    let report = gather.json();
    assert_eq!(
        next(&report),
        [
            "A possible cause: its Pod ovnkube-node-7xk2p does not come up (CrashLoopBackOff): `oc logs -n openshift-ovn-kubernetes ovnkube-node-7xk2p --all-containers --previous`",
            "Look at the Node: `oc describe node ip-10-0-16-37.ec2.internal`",
        ]
    );
}

/// Without it `oc logs` and `oc exec` fail, and the Node is Ready.
#[test]
fn a_serving_request_that_waits_is_no_all_clear() {
    let ready = [(
        "    reason: KubeletNotReady\n    status: 'False'",
        "    reason: KubeletReady\n    status: 'True'",
    )];
    let gather = changed("node-not-ready", NODE, &ready);
    let own = std::fs::read_to_string(format!("{}/cluster/{REQUEST}", super::DATA)).unwrap();
    let (head, _) = own.split_once("status:").unwrap();
    let head = head
        .replace("ip-10-0-16-20", "ip-10-0-16-37")
        .replace("csr-5b7pd", "csr-7zk2p")
        .replace("07:41:07", "08:51:00");
    std::fs::write(gather.dir.path().join("csr.yaml"), head).unwrap();
    assert_eq!(
        sentence(&gather.json()),
        format!(
            "{WAITS} has joined: its Node ip-10-0-16-37.ec2.internal is there and Ready; 1 request for its serving certificate is pending, without which logs and exec fail."
        )
    );
}

/// A set makes another in place of what never joined; nothing that was read does so for the control plane.
#[test]
fn a_machine_of_a_set_that_stopped_before_it_joined_is_made_again() {
    let stopped = (": running", ": stopped");
    let failed = (": running", ": error");
    let again = "delete the Machine, which never joined: its set makes another";
    let role = "cluster-api-machine-role: worker";
    let of = |changes: &[(&str, &str)]| changed("no-request", &machine(), changes).json();
    for (changes, wanted) in [
        (&[stopped][..], Some(format!("Or {again}"))),
        (&[failed], Some(format!("Then {again}"))),
        (&[stopped, (role, "cluster-api-machine-role: master")], None),
        (
            &[
                stopped,
                (
                    "kind: MachineSet\n    name: c1",
                    "kind: MachineSet\n    name: gone",
                ),
            ],
            None,
        ),
        (
            &[
                stopped,
                (
                    "status:\n",
                    "status:\n  nodeRef:\n    name: ip-10-0-16-37.ec2.internal\n",
                ),
            ],
            None,
        ),
    ] {
        let report = of(changes);
        assert_eq!(only(&report)["stage"], "NoInstance", "{report:#}");
        let next = next(&report);
        let last = next.iter().find(|next| next.ends_with(again));
        assert_eq!(last.copied(), wanted.as_deref(), "{report:#}");
    }
}

/// A health check deletes what has failed at once.
#[test]
fn no_timeout_keeps_a_machine_that_has_failed() {
    for (phase, is_told) in [("Provisioned", true), ("Failed", false)] {
        let phase = format!("phase: {phase}");
        let gather = changed("no-request", &machine(), &[("phase: Provisioned", &phase)]);
        let check = json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineHealthCheck",
            "metadata": { "name": "all", "namespace": "openshift-machine-api" }, "spec": { "selector": {}, "nodeStartupTimeout": "48h" } });
        std::fs::write(gather.dir.path().join("check.json"), check.to_string()).unwrap();
        let report = gather.json();
        let next = next(&report).join("\n");
        assert_eq!(next.contains("nodeStartupTimeout"), is_told, "{report:#}");
    }
}

/// What is off tells nothing.
#[test]
fn a_state_that_the_kubelet_disproves_is_told_as_old() {
    let off = [(": running", ": stopped")];
    let report = changed("node-not-ready", &machine(), &off).json();
    let wanted = " Its Machine calls the instance stopped, which is out of date, as it seems: its kubelet tells of itself.";
    assert!(sentence(&report).ends_with(wanted), "{report:#}");
    assert_eq!(only(&report)["stage"], "NodeNotReady");
}

#[test]
fn a_machine_that_is_deleted_waits_for_no_node() {
    let deleted = [(
        "  generateName:",
        "  deletionTimestamp: '2026-08-20T09:00:00Z'\n  generateName:",
    )];
    let gather = changed("no-request", &machine(), &deleted);
    let cluster = format!("{}/cluster", super::DATA);
    let (text, err, exit) = super::why(&[&cluster, gather.path()], &[WAITS]);
    assert_eq!((err.as_str(), exit), ("", Exit::Done));
    let said = format!(
        "{WAITS} is being deleted, and waits for no Node.\n  - Look what its deletion waits for:\n      oc describe machines.machine.openshift.io -n openshift-machine-api {WAITS}\n"
    );
    assert!(text.starts_with(&said), "{text}");
    assert!(!text.contains("load balancer"), "{text}");
}

/// A Node that is not Ready goes with its Machine, once what keeps that is over.
#[test]
fn what_keeps_a_machine_that_is_deleted_is_told() {
    let deleted = [
        (
            "  generateName:",
            "  deletionTimestamp: '2026-08-20T09:00:00Z'\n  generateName:",
        ),
        (
            "    status: 'True'\n    type: Drainable",
            "    message: cannot evict pod db/pg-0\n    reason: DrainError\n    status: 'False'\n    type: Drainable",
        ),
    ];
    let gather = changed("node-not-ready", &machine(), &deleted);
    let cluster = format!("{}/cluster", super::DATA);
    let (text, err, exit) = super::why(&[&cluster, gather.path()], &[WAITS, "-o", "json"]);
    assert_eq!((err.as_str(), exit), ("", Exit::Done));
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        sentence(&report),
        format!(
            "{WAITS} is being deleted, and its Node ip-10-0-16-37.ec2.internal goes with it: DrainError: cannot evict pod db/pg-0."
        )
    );
    assert!(next(&report)[0].starts_with("Look what its deletion waits for"));
    assert!(!text.contains("Look at the Node"), "{text}");
}

/// openshift/cluster-capi-operator: what cannot be converted stays with one of the two.
#[test]
fn a_copy_that_cannot_be_converted_is_told() {
    let other = [
        ("  phase: Failed", "  phase: Provisioning"),
        (
            "  authoritativeAPI: MachineAPI",
            "  authoritativeAPI: ClusterAPI",
        ),
        (
            "  conditions:\n  - lastTransitionTime",
            "  conditions:\n  - lastTransitionTime: '2026-08-20T08:41:00Z'\n    message: 'failed to convert: loadBalancers are not supported'\n    reason: FailedToConvertMAPIMachineToCAPI\n    status: 'False'\n    type: Synchronized\n  - lastTransitionTime",
        ),
    ];
    let report = changed("no-instance", &machine(), &other).json();
    assert_eq!(only(&report)["steps"][0]["mark"], "Unknown");
    assert!(
        sentence(&report).ends_with(
            "and was not read. The two are not the same: FailedToConvertMAPIMachineToCAPI: failed to convert: loadBalancers are not supported."
        ),
        "{report:#}"
    );
}

#[test]
fn the_name_of_a_set_is_that_of_its_machines() {
    let set = WAITS.rsplit_once('-').unwrap().0;
    for name in [
        set,
        &format!("machineset/{set}"),
        &format!("openshift-machine-api/{set}"),
    ] {
        let (text, err, exit) = of_case("no-request", &[name]);
        assert_eq!((err.as_str(), exit), ("", Exit::Done), "{name}");
        assert!(text.contains(&format!("{WAITS} is up")), "{text}");
        assert!(
            text.contains("has joined: its Node ip-10-0-16-20"),
            "{text}"
        );
    }
    let (_, err, exit) = of_case("no-request", &["machineset/other"]);
    assert_eq!(
        (err.as_str(), exit),
        (
            "skewguard: machineset/other: there is no Machine, BareMetalHost, Agent or Node of that name\n",
            Exit::Failed
        )
    );
}
