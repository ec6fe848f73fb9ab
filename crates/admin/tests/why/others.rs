//! Other ways to the same stages: hosts, sets that make no Machine, Nodes that are not linked,
//! certificates that nobody approves.

use super::{DATA, Gather, WAITS, only};
use serde_json::{Value, json};

/// The case, and objects beside it.
fn with(case: &str, objects: &[Value]) -> Value {
    let gather = Gather::of(case);
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
    std::fs::write(gather.dir.path().join("more.json"), list.to_string()).unwrap();
    gather.json()
}

fn metadata(namespace: &str, name: &str) -> Value {
    json!({ "name": name, "namespace": namespace, "creationTimestamp": "2026-08-20T08:30:00Z",
        "resourceVersion": "900000", "uid": format!("uid-of-{name}"), "generation": 2 })
}

fn sentence(report: &Value) -> &str {
    only(report)["sentence"].as_str().unwrap()
}

/// metal3-io/baremetal-operator, `apis/metal3.io/v1alpha1`.
fn host(state: &str, error: Option<(&str, &str)>) -> Value {
    let mut host = json!({ "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": metadata("openshift-machine-api", "rack1-u7"),
        "spec": { "bmc": { "address": "redfish-virtualmedia://192.0.2.7/redfish/v1/Systems/1", "credentialsName": "rack1-u7-bmc" },
            "bootMACAddress": "52:54:00:00:00:07", "customDeploy": { "method": "install_coreos" }, "online": true,
            "userData": { "name": "worker-user-data-managed", "namespace": "openshift-machine-api" } },
        "status": { "errorCount": 0, "errorMessage": "", "goodCredentials": {}, "hardware": { "hostname": "rack1-u7", "nics": [{ "ip": "10.0.16.77", "mac": "52:54:00:00:00:07", "name": "eno1" }] },
            "operationHistory": { "provision": { "end": null, "start": "2026-08-20T08:35:00Z" } }, "operationalStatus": "OK", "poweredOn": true,
            "provisioning": { "ID": "5", "state": state } } });
    if let Some((kind, message)) = error {
        host["status"]["errorType"] = kind.into();
        host["status"]["errorMessage"] = message.into();
    }
    host
}

#[test]
fn a_host_says_itself_why_it_is_not_installed() {
    let error = (
        "provisioning error",
        "Image provisioning failed: Deploy step deploy.install_coreos failed: disk not found",
    );
    let gather = Gather::of("nothing-known");
    std::fs::remove_dir_all(gather.dir.path().join("namespaces")).unwrap();
    let report = |host: Value| {
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": [host] });
        std::fs::write(gather.dir.path().join("more.json"), list.to_string()).unwrap();
        gather.json()
    };
    let found = report(host("provisioning", Some(error)));
    assert_eq!(only(&found)["stage"], "NoInstance");
    assert_eq!(
        sentence(&found),
        "rack1-u7 is not installed: host openshift-machine-api/rack1-u7 has provisioning error: Image provisioning failed: Deploy step deploy.install_coreos failed: disk not found."
    );
    let found = report(host("provisioning", None));
    assert_eq!(
        sentence(&found),
        "rack1-u7 is not installed yet: host openshift-machine-api/rack1-u7 is provisioning for 85 minutes."
    );
    // One of its two fields was taken away.
    let mut half = host("provisioning", Some(error));
    half["status"]["errorType"].take();
    assert_eq!(
        sentence(&report(half)),
        "rack1-u7 is not installed: host openshift-machine-api/rack1-u7 has an error: Image provisioning failed: Deploy step deploy.install_coreos failed: disk not found."
    );
    let half = host("provisioning", Some(("provisioning error", "")));
    assert_eq!(
        sentence(&report(half)),
        "rack1-u7 is not installed: host openshift-machine-api/rack1-u7 has provisioning error: it does not say which."
    );
    let found = report(host("provisioned", None));
    assert_eq!(only(&found)["kind"], "BareMetalHost");
    assert_eq!(
        only(&found)["stage"],
        "Unknown",
        "its logs were not read: {found:#}"
    );
}

#[test]
fn an_agent_without_a_state_says_nothing_for_certain() {
    let gather = Gather::of("nothing-known");
    std::fs::remove_dir_all(gather.dir.path().join("namespaces")).unwrap();
    let agent = json!({ "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "Agent", "metadata": metadata("hw-env", "a1b2c3d4"),
        "spec": { "approved": true, "hostname": "worker-7", "clusterDeploymentName": { "name": "spoke1", "namespace": "spoke1" } } });
    std::fs::write(gather.dir.path().join("more.json"), agent.to_string()).unwrap();
    let found = gather.json();
    let told = only(&found);
    assert_eq!(
        (&told["isCertain"], told["unseen"][0].as_str()),
        (
            &json!(false),
            Some("the state of its Agent: it has none, or it was not read")
        ),
        "{told:#}"
    );
}

/// Only a signer says so, which takes approved requests alone.
#[test]
fn a_signer_that_failed_has_denied_nothing() {
    let folder = "cluster-scoped-resources/certificates.k8s.io/certificatesigningrequests";
    let gather = Gather::of("no-certificate");
    let failed = "status:\n  conditions:\n  - message: usages did not match\n    reason: SignerValidationFailure\n    status: 'True'\n    type: Failed\n";
    for name in ["csr-72cnz", "csr-9xk4d"] {
        let file = gather.dir.path().join(format!("{folder}/{name}.yaml"));
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(file, text.replace("status: {}\n", failed)).unwrap();
    }
    let found = gather.json();
    assert_eq!(only(&found)["cause"], "CertificateNotSigned", "{found:#}");
}

/// Our own admission policy refuses the Machine, and there is none to ask about.
#[test]
fn a_set_that_is_refused_its_machines_is_told() {
    let name = "c1-x7k2p-worker-us-east-2a";
    let message = "machines.machine.openshift.io \"x\" is forbidden: ValidatingAdmissionPolicy 'skewguard-boot-images' with binding 'skewguard-boot-images' denied request: boot image is OCP 4.12";
    let mut set: Value = serde_saphyr::from_str(
        &std::fs::read_to_string(format!("{DATA}/cluster/namespaces/openshift-machine-api/machine.openshift.io/machinesets/{name}.yaml")).unwrap(),
    )
    .unwrap();
    set["spec"]["replicas"] = 5.into();
    set["metadata"]["resourceVersion"] = "900000".into();
    let event = json!({ "apiVersion": "v1", "kind": "Event", "metadata": metadata("openshift-machine-api", "e1"),
        "involvedObject": { "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "name": name, "namespace": "openshift-machine-api" },
        "reason": "FailedCreate", "message": message, "type": "Warning", "count": 14,
        "firstTimestamp": "2026-08-20T08:00:00Z", "lastTimestamp": "2026-08-20T09:58:00Z" });
    let found = with("no-instance", &[set.clone(), event.clone()]);
    let machines = found["machines"].as_array().unwrap();
    assert_eq!(machines.len(), 2, "{found:#}");
    assert_eq!(
        (&machines[1]["kind"], &machines[1]["stage"]),
        (&json!("MachineSet"), &json!("NoInstance"))
    );
    assert_eq!(
        machines[1]["sentence"],
        format!(
            "2 Machines of MachineSet {name} are not made, the last try was 2 minutes ago: an Event says: {message}."
        )
    );
    // Any joined node may write that Event; the set's own status it cannot.
    assert_eq!(machines[1]["isCertain"], false, "{found:#}");
    set["status"]["conditions"] = json!([{ "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message,
        "lastTransitionTime": "2026-08-20T09:58:00Z" }]);
    let found = with("no-instance", &[set, event]);
    let set = &found["machines"][1];
    assert_eq!(
        (&set["sentence"], &set["isCertain"], &set["proof"]["by"]),
        (
            &json!(format!(
                "2 Machines of MachineSet {name} are not made: skewguard's admission policy refuses it: FailedCreate: {message}."
            )),
            &json!(true),
            &json!(format!(
                "MachineSet openshift-machine-api/{name}, condition ReplicaFailure"
            ))
        )
    );
}

/// A cause that is certain by itself is not, as a part of what Events say of other Machines.
#[test]
fn a_loop_by_events_is_never_certain() {
    let set = "c1-x7k2p-worker-us-east-2a";
    let deleted = |name: &str, at: &str| {
        let full_name = format!("{set}-{name}");
        json!({ "apiVersion": "v1", "kind": "Event", "metadata": metadata("openshift-machine-api", name), "type": "Normal",
            "involvedObject": { "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "name": full_name, "namespace": "openshift-machine-api" },
            "reason": "MachineDeleted", "firstTimestamp": at, "lastTimestamp": at,
            "message": format!("Machine openshift-machine-api/workers/{full_name}/ has been remediated by requesting to delete Machine object") })
    };
    let before = [
        deleted("aaaaa", "2026-08-20T09:00:00Z"),
        deleted("bbbbb", "2026-08-20T09:30:00Z"),
    ];
    for (events, stage, is_certain) in [
        (&[][..], "NoInstance", true),
        (&before, "BeingRemade", false),
    ] {
        let found = with("no-instance", events);
        let machine = only(&found);
        assert_eq!(
            (
                &machine["stage"],
                &machine["isCertain"],
                machine["proof"].is_null()
            ),
            (&json!(stage), &json!(is_certain), !is_certain),
            "{machine:#}"
        );
    }
}

/// `api/core/v1beta2`: seconds, below `checks`.
#[test]
fn a_health_check_of_the_cluster_api_names_its_own_field() {
    let gather = Gather::of("being-remade");
    let objects = gather
        .dir
        .path()
        .join("namespaces/openshift-machine-api/machine.openshift.io");
    std::fs::remove_dir_all(objects.join("machinehealthchecks")).unwrap();
    let path = objects.join(format!("machines/{WAITS}.yaml"));
    let mut machine: Value =
        serde_saphyr::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    machine["apiVersion"] = "cluster.x-k8s.io/v1beta2".into();
    std::fs::write(&path, machine.to_string()).unwrap();
    let check = json!({ "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineHealthCheck", "metadata": metadata("openshift-machine-api", "workers"),
        "spec": { "clusterName": "c1-x7k2p", "selector": { "matchLabels": {} }, "checks": { "nodeStartupTimeoutSeconds": 900 } } });
    std::fs::write(gather.dir.path().join("check.json"), check.to_string()).unwrap();
    let found = gather.json();
    assert_eq!(only(&found)["stage"], "BeingRemade", "{found:#}");
    assert!(
        sentence(&found).contains("because they had no Node after 15 minutes or had failed."),
        "{found:#}"
    );
    assert_eq!(
        only(&found)["next"][0],
        "If the log of its controller says so, too, stop the loop until the cause is gone: nodeStartupTimeout of MachineHealthCheck openshift-machine-api/workers as 0 keeps machines without a Node"
    );
}

/// Without the approver's log its rules say it: none of a Machine's addresses is the node's name.
#[test]
fn why_a_request_waits_is_told_by_the_approvers_rules() {
    let gather = Gather::of("no-certificate");
    let pods = gather
        .dir
        .path()
        .join("namespaces/openshift-cluster-machine-approver");
    std::fs::remove_dir_all(pods).unwrap();
    let found = gather.json();
    assert_eq!(
        sentence(&found),
        format!(
            "{WAITS} waits for its certificate: 2 requests are pending for 67 minutes, csr-9xk4d the last; by the approver's rules: no Machine has ip-10-0-16-37 as InternalDNS in status.addresses, by which the approver finds it. The Machine's InternalDNS is ip-10-0-16-37.ec2.internal: the approver takes no other name."
        )
    );
    let operator = json!({ "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": { "name": "machine-approver", "uid": "9", "resourceVersion": "1" },
        "spec": {}, "status": { "conditions": [{ "type": "Available", "status": "False", "reason": "Crash", "message": "the deployment has no pods", "lastTransitionTime": "2026-08-20T08:00:00Z" }] } });
    std::fs::write(
        gather.dir.path().join("operator.json"),
        operator.to_string(),
    )
    .unwrap();
    let found = gather.json();
    assert!(
        sentence(&found)
            .contains("; the machine-approver does not work: Crash: the deployment has no pods."),
        "{found:#}"
    );
}

/// A certificate with these days, in base64 as an object has it.
fn certificate(from: (i32, u8, u8), until: (i32, u8, u8)) -> String {
    use base64::Engine;
    let mut params = rcgen::CertificateParams::new(vec!["c1".to_owned()]).unwrap();
    params.not_before = rcgen::date_time_ymd(from.0, from.1, from.2);
    params.not_after = rcgen::date_time_ymd(until.0, until.1, until.2);
    let key = rcgen::KeyPair::generate().unwrap();
    let pem = params.self_signed(&key).unwrap().pem();
    base64::prelude::BASE64_STANDARD.encode(pem)
}

#[test]
fn an_approved_request_is_told_by_its_certificate() {
    let gather = Gather::of("no-certificate");
    let csrs = gather
        .dir
        .path()
        .join("cluster-scoped-resources/certificates.k8s.io/certificatesigningrequests");
    std::fs::remove_file(csrs.join("csr-72cnz.yaml")).unwrap();
    let path = csrs.join("csr-9xk4d.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let with = |status: Value| {
        let mut object: Value = serde_saphyr::from_str(&text).unwrap();
        object["status"] = status;
        std::fs::write(&path, object.to_string()).unwrap();
        gather.json()
    };
    let approved = json!([{ "type": "Approved", "status": "True", "reason": "NodeCSRApprove", "message": "This CSR was approved", "lastTransitionTime": "2026-08-20T09:08:00Z", "lastUpdateTime": "2026-08-20T09:08:00Z" }]);
    let found = with(json!({ "conditions": approved }));
    assert_eq!(only(&found)["stage"], "NoCertificate");
    assert_eq!(
        sentence(&found),
        format!(
            "{WAITS} waits for its certificate: request csr-9xk4d, made 52 minutes ago, is approved and not signed."
        )
    );
    let found = with(
        json!({ "conditions": approved, "certificate": certificate((2026, 8, 20), (2026, 9, 19)) }),
    );
    assert_eq!(only(&found)["stage"], "NodeNotReady");
    assert!(
        found
            .to_string()
            .contains("approved, valid from 2026-08-20T00:00:00Z until 2026-09-19T00:00:00Z"),
        "{found:#}"
    );
    let found = with(
        json!({ "conditions": approved, "certificate": certificate((2026, 8, 19), (2026, 8, 20)) }),
    );
    assert_eq!(
        sentence(&found),
        format!(
            "{WAITS} got its certificate 52 minutes ago, and there is no Node of it; by now the certificate has expired."
        )
    );
}

/// The Node is there, and the Machine has another provider ID.
#[test]
fn a_node_that_is_not_linked_is_told_with_both_ids() {
    let gather = Gather::of("node-not-ready");
    let node = gather
        .dir
        .path()
        .join("cluster-scoped-resources/core/nodes/ip-10-0-16-37.ec2.internal.yaml");
    let mut object: Value =
        serde_saphyr::from_str(&std::fs::read_to_string(&node).unwrap()).unwrap();
    object["spec"]["providerID"] = "aws:///us-east-2a/i-0other".into();
    object["metadata"]["annotations"]
        .as_object_mut()
        .unwrap()
        .remove("machine.openshift.io/machine");
    object["status"]["conditions"][3]["status"] = "True".into();
    std::fs::write(&node, serde_saphyr::to_string(&object).unwrap()).unwrap();
    let machine = gather.dir.path().join(format!(
        "namespaces/openshift-machine-api/machine.openshift.io/machines/{WAITS}.yaml"
    ));
    let mut object: Value =
        serde_saphyr::from_str(&std::fs::read_to_string(&machine).unwrap()).unwrap();
    object["status"].as_object_mut().unwrap().remove("nodeRef");
    std::fs::write(&machine, serde_saphyr::to_string(&object).unwrap()).unwrap();
    let found = gather.json();
    assert_eq!(only(&found)["stage"], "NodeNotReady");
    assert_eq!(
        sentence(&found),
        format!(
            "{WAITS} has joined, and the Machine is not linked to it: its Node ip-10-0-16-37.ec2.internal is there, and status.nodeRef is empty; the Machine's spec.providerID is aws:///us-east-2a/i-0bff87b2026a36e76, the Node's aws:///us-east-2a/i-0other."
        )
    );
}

/// Served again and again: Ignition gets it and does not finish.
#[test]
fn a_config_that_is_served_again_and_again_is_a_loop() {
    let gather = Gather::of("request-refused");
    gather.change(|_, text| {
        let lines = text.lines().filter(|line| !line.contains("couldn't get"));
        lines.map(|line| format!("{line}\n")).collect()
    });
    let found = gather.json();
    assert_eq!(only(&found)["stage"], "FirstBoot");
    assert!(sentence(&found).contains(" got its config in 3 boots, the last 4 minutes ago, and neither a certificate request nor a Node of it was seen: its first boot seems to begin again and again;"), "{found:#}");
}

/// A client that is too old for the pool's config, and which images have it.
#[test]
fn a_config_that_cannot_be_converted_names_the_images() {
    let gather = Gather::of("request-refused");
    gather.change(|_, text| {
        text.replace("Ignition/2.18.0", "Ignition/2.6.0").replace(
            "couldn't get config for req",
            "couldn't convert config for req",
        )
    });
    let found = gather.json();
    assert_eq!(only(&found)["stage"], "RequestRefused");
    assert!(sentence(&found).contains("cannot be written for its Ignition 2.6.0, which reads specs up to 3.1 (boot images of OCP 4.6 have it): "), "{found:#}");
}

/// Most Nodes are silent since yesterday: now is when the others spoke last.
#[test]
fn silent_nodes_do_not_hold_the_time_back() {
    let node = |name: &str, status: &str, at: &str| {
        json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "uid": name, "creationTimestamp": "2026-08-01T00:00:00Z" },
            "status": { "conditions": [{ "type": "Ready", "status": status, "lastHeartbeatTime": at, "lastTransitionTime": "2026-08-01T00:00:00Z" }] } })
    };
    let yesterday = "2026-08-19T07:00:00Z";
    let mut metadata = metadata("openshift-machine-api", "w1");
    metadata["creationTimestamp"] = "2026-08-20T09:00:00Z".into();
    let items = [
        node("m1", "True", "2026-08-20T12:00:00Z"),
        node("w8", "Unknown", yesterday),
        node("w9", "Unknown", yesterday),
        json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "metadata": metadata, "spec": { "providerID": "aws:///x/i-1" },
            "status": { "phase": "Provisioned", "addresses": [{ "type": "InternalIP", "address": "192.0.2.11" }] } }),
    ];
    let dir = tempfile::tempdir().unwrap();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    std::fs::write(dir.path().join("all.json"), list.to_string()).unwrap();
    let report = super::json(&[dir.path().to_str().unwrap()]);
    assert_eq!(only(&report)["ageSeconds"], 3 * 3600, "{report:#}");
}
