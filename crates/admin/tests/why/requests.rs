//! Certificate requests by the names that their nodes have: full ones, those that a Node has already, and
//! none at all.

use super::{Gather, WAITS, only};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use serde_json::{Value, json};

/// The full name that the Machine has as its InternalDNS.
const NODE: &str = "ip-10-0-16-37.ec2.internal";
const BOOTSTRAPPER: &str =
    "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";

/// A request for the certificate of a kubelet as a client.
fn request(name: &str, node: &str, user: &str, at: &str) -> Value {
    request_with(name, node, user, at, None)
}

/// With one more attribute in its subject, by the last number of its OID.
fn request_with(name: &str, node: &str, user: &str, at: &str, more: Option<(u64, &str)>) -> Value {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    let subject = &mut params.distinguished_name;
    subject.push(DnType::OrganizationName, "system:nodes");
    subject.push(DnType::CommonName, format!("system:node:{node}"));
    if let Some((oid, value)) = more {
        subject.push(DnType::CustomDnType(vec![2, 5, 4, oid]), value);
    }
    let key = KeyPair::generate().unwrap();
    let pem = params.serialize_request(&key).unwrap().pem().unwrap();
    let groups = match user == BOOTSTRAPPER {
        true => json!([
            "system:serviceaccounts",
            "system:serviceaccounts:openshift-machine-config-operator",
            "system:authenticated"
        ]),
        false => json!(["system:nodes", "system:authenticated"]),
    };
    json!({ "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": { "name": name, "creationTimestamp": format!("2026-08-20T{at}Z"), "resourceVersion": "900001", "uid": name },
        "spec": { "request": STANDARD.encode(pem), "signerName": "kubernetes.io/kube-apiserver-client-kubelet", "username": user, "groups": groups,
            "usages": ["digital signature", "client auth"] }, "status": {} })
}

/// The gather of a case whose requests are these, beside other objects, and the approver's last line.
fn gather(case: &str, objects: &[Value], approver: &str) -> Gather {
    let gather = Gather::of(case);
    let root = gather.dir.path();
    for old in [
        "cluster-scoped-resources/certificates.k8s.io",
        "namespaces/openshift-cluster-machine-approver",
    ] {
        let _ = std::fs::remove_dir_all(root.join(old));
    }
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
    std::fs::write(root.join("more.json"), list.to_string()).unwrap();
    let log = root.join("namespaces/openshift-cluster-machine-approver/pods/machine-approver-6f8d-x2x9p/machine-approver-controller/machine-approver-controller/logs");
    std::fs::create_dir_all(&log).unwrap();
    let line = format!(
        "2026-08-20T09:00:10.100000000Z E0820 09:00:10.100000       1 csr_check.go:266] {approver}\n"
    );
    std::fs::write(log.join("current.log"), line).unwrap();
    gather
}

fn sentence(report: &Value) -> &str {
    only(report)["sentence"].as_str().unwrap()
}

fn next(report: &Value) -> String {
    only(report)["next"].to_string()
}

/// A Machine has a full name twice, and each has its first part, too.
#[test]
fn a_request_of_a_full_name_is_one_request() {
    let first = request("csr-a", NODE, BOOTSTRAPPER, "08:55:00");
    let second = request("csr-b", NODE, BOOTSTRAPPER, "09:10:00");
    let disabled = "csr-b: CSR rejected as the flow is disabled";
    let report = gather("no-certificate", std::slice::from_ref(&second), disabled).json();
    assert_eq!(
        sentence(&report),
        format!(
            "{WAITS} waits for its certificate: request csr-b is pending for 50 minutes; the approver: CSR rejected as the flow is disabled. That holds for each new machine, while the approver's configuration has nodeClientCert.disabled."
        )
    );
    assert_eq!(only(&report)["cause"], "ApprovalDisabled");
    let help = only(&report)["next"][0].as_str().unwrap();
    assert!(help.contains("machine-approver-config"), "{report:#}");
    let late = format!("csr-b: failed to find machine for node {NODE}, cannot approve");
    let report = gather("no-certificate", std::slice::from_ref(&second), &late).json();
    let has = evidence(&report, "Machines, status.addresses");
    assert!(has.contains(NODE), "{report:#}");
    let line = only(&report)["evidence"].as_array().unwrap().iter();
    let mut line = line.filter(|one| one["source"] == "log of the machine-approver");
    assert!(line.next().unwrap()["time"].is_string(), "{report:#}");
    let report = gather("no-certificate", &[first, second], disabled).json();
    assert!(
        sentence(&report).contains("2 requests are pending for 65 minutes, csr-b the last;"),
        "{report:#}"
    );
    assert!(
        next(&report).contains("`oc adm certificate approve csr-b`"),
        "{report:#}"
    );
}

/// The approver compares names as they are written.
#[test]
fn a_name_that_differs_by_case_is_quoted_as_it_is_written() {
    let late = format!("csr-a: failed to find machine for node {NODE}, cannot approve");
    let request = request("csr-a", NODE, BOOTSTRAPPER, "08:55:00");
    let gather = gather("no-certificate", &[request], &late);
    let folder = "namespaces/openshift-machine-api/machine.openshift.io/machines";
    let path = gather.dir.path().join(format!("{folder}/{WAITS}.yaml"));
    let text = std::fs::read_to_string(&path).unwrap();
    let written = NODE.to_uppercase() + ".";
    std::fs::write(&path, text.replace(NODE, &written)).unwrap();
    let report = gather.json();
    assert!(
        sentence(&report).ends_with(&format!("The Machine's InternalDNS is {written}: only its case or its trailing dot differs, and the approver compares names as they are written.")),
        "{report:#}"
    );
    let first = &only(&report)["next"][0];
    assert!(
        first
            .as_str()
            .unwrap()
            .starts_with("Compare the node's host name"),
        "{report:#}"
    );
    assert!(
        evidence(
            &report,
            &format!("Machine openshift-machine-api/{WAITS}, status.addresses")
        )
        .contains(&written),
        "{report:#}"
    );
}

/// docs/did-not-join.md, "A certificate request waits": user, organization and common name have to fit, of
/// each that waits under the name.
#[test]
fn a_request_that_is_not_as_a_nodes_is_never_approved() {
    let at = "09:10:00";
    let builder = "system:serviceaccount:default:builder";
    let own = request("csr-a", NODE, BOOTSTRAPPER, "08:55:00");
    // What an API server writes, and this one lacks, was not read.
    let without = |field: &str| {
        let mut cut = request("csr-b", NODE, BOOTSTRAPPER, at);
        cut["spec"].as_object_mut().unwrap().remove(field);
        cut
    };
    let means = |field: &str, value: &str| {
        let mut odd = request("csr-b", NODE, BOOTSTRAPPER, at);
        odd["spec"][field]
            .as_array_mut()
            .unwrap()
            .push(value.into());
        odd
    };
    let subject = |change| request_with("csr-b", NODE, BOOTSTRAPPER, at, Some(change));
    let mut other = request("csr-b", NODE, BOOTSTRAPPER, at);
    other["spec"]["signerName"] = "kubernetes.io/kube-apiserver-client".into();
    for (odd, says) in [
        (without("groups"), "no groups or usages in what was read"),
        (without("usages"), "no groups or usages in what was read"),
        (request("csr-b", NODE, builder, at), "not of a node's user"),
        (means("groups", "system:masters"), "groups that no node's"),
        (means("usages", "code signing"), "usages that no node's"),
        (
            subject((10, "system:masters")),
            "a subject that is no node's",
        ),
        (subject((3, "system:admin")), "a subject that is no node's"),
        (other, "to another signer, which no kubelet asks"),
    ] {
        for all in [vec![odd.clone()], vec![own.clone(), odd.clone()]] {
            let report = gather("no-certificate", &all, "quiet").json();
            let next = next(&report);
            assert!(!next.contains("certificate approve"), "{report:#}");
            assert!(
                next.contains("Approve no request of this name: csr-b ") && next.contains(says),
                "{says}: {report:#}"
            );
        }
    }
}

/// DHCP or reverse DNS gives a host name with the root's dot: no Node can have it, and nobody forged it.
#[test]
fn a_name_with_a_dot_is_shown_and_corrected_where_it_comes_from() {
    let written = format!("{NODE}.");
    let waits = request("csr-a", &written, BOOTSTRAPPER, "08:55:00");
    let refusal = format!("csr-a: failed to find machine for node {written}, cannot approve");
    let report = gather("no-certificate", std::slice::from_ref(&waits), &refusal).json();
    let says =
        format!("The Machine's InternalDNS is {NODE}: only its case or its trailing dot differs");
    assert!(sentence(&report).contains(&says), "{report:#}");
    let next = next(&report);
    assert!(
        next.contains("DHCP or reverse DNS, where it ends with a dot"),
        "{report:#}"
    );
    for never in ["certificate approve", "bootstrap credentials"] {
        assert!(!next.contains(never), "{report:#}");
    }
    let seen = evidence(&report, "CertificateSigningRequest csr-a");
    assert!(
        seen.contains(&format!("of node {written}, pending")),
        "{report:#}"
    );
    assert_eq!(evidence(&report, "Machines, status.addresses"), "");
    // Beside one that is odd otherwise nothing is ordinary.
    let odd = request(
        "csr-b",
        &written,
        "system:serviceaccount:default:builder",
        "09:10:00",
    );
    let report = gather("no-certificate", &[waits, odd], &refusal).json();
    let says = "csr-a has a name that ends with a dot; csr-b is not of a node's user";
    assert!(self::next(&report).contains(says), "{report:#}");
}

/// More than two hours after the Machine was made, when that was started says nothing of the request.
#[test]
fn a_late_request_is_compared_with_the_last_boot() {
    let late = request("csr-a", NODE, BOOTSTRAPPER, "11:30:00");
    let report = gather("no-certificate", &[late], "quiet").json();
    assert!(
        sentence(&report).contains("it came more than two hours after the Machine was made"),
        "{report:#}"
    );
    let next = next(&report);
    assert!(
        next.contains("shows a boot a few minutes before the request"),
        "{report:#}"
    );
    assert!(next.contains("Or delete the Machine"), "{report:#}");
    assert!(
        !next.contains("minutes after the machine's start"),
        "{report:#}"
    );
}

/// The approver takes no name but the Machine's InternalDNS.
#[test]
fn a_request_of_another_name_than_its_machines_says_both() {
    let report = super::json(&[
        &format!("{}/cluster", super::DATA),
        &format!("{}/no-certificate", super::DATA),
    ]);
    let says = format!("The Machine's InternalDNS is {NODE}: the approver takes no other name");
    assert!(sentence(&report).contains(&says), "{report:#}");
    assert!(
        next(&report).starts_with("[\"Compare the node's host name"),
        "{report:#}"
    );
}

/// A Node of this name since the first of August; a silent one since an hour.
fn node(name: &str, address: &str, is_silent: bool) -> Value {
    let ready = if is_silent {
        json!({ "type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status.",
            "lastTransitionTime": "2026-08-20T08:01:00Z", "lastHeartbeatTime": "2026-08-20T08:00:00Z" })
    } else {
        json!({ "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status",
            "lastTransitionTime": "2026-08-01T05:20:00Z", "lastHeartbeatTime": "2026-08-20T10:00:00Z" })
    };
    json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "creationTimestamp": "2026-08-01T05:10:00Z", "resourceVersion": "900002", "uid": name },
        "spec": {}, "status": { "addresses": [{ "type": "InternalIP", "address": address }, { "type": "Hostname", "address": name }], "conditions": [ready] } })
}

fn evidence(report: &Value, source: &str) -> String {
    let all = only(report)["evidence"].as_array().unwrap();
    let found = all.iter().find(|one| one["source"] == source);
    found.map_or(String::new(), |one| one["text"].to_string())
}

/// cluster-machine-approver, `pkg/controller/csr_check.go`: it approves no name that a Node has. Whoever
/// does gives a healthy Node to another machine.
#[test]
fn a_request_by_the_name_of_a_living_node_is_never_approved() {
    let waits = request("csr-a", NODE, BOOTSTRAPPER, "08:55:00");
    let other = node(NODE, "10.0.16.99", false);
    let refusal = format!("csr-a: node {NODE} already exists, cannot approve");
    let report = gather("no-certificate", &[waits.clone(), other.clone()], &refusal).json();
    assert_eq!(
        sentence(&report),
        format!(
            "{WAITS} waits for its certificate: request csr-a is pending for 65 minutes; the approver: node {NODE} already exists, cannot approve. Node {NODE} is Ready, with another address (10.0.16.99): two machines have one host name."
        )
    );
    assert!(!next(&report).contains("certificate approve"), "{report:#}");
    assert!(next(&report).contains("another host name"), "{report:#}");
    let there = evidence(&report, &format!("Node {NODE}, condition Ready"));
    assert!(there.contains("True: KubeletReady"), "{report:#}");
    // Without the approver's word, and with an address that may be its own.
    let same = node(NODE, "10.0.16.37", false);
    for other in [other, same] {
        let report = gather("no-certificate", &[waits.clone(), other], "quiet").json();
        assert!(
            sentence(&report).contains(&format!("rules: node {NODE} already exists. Node")),
            "{report:#}"
        );
        assert!(!next(&report).contains("certificate approve"), "{report:#}");
        assert_eq!(only(&report)["isCertain"], false);
    }
    // The Node was not read; or it is gone since, which the approver sees by itself.
    let report = gather("no-certificate", &[waits], &refusal).json();
    assert!(next(&report).contains("is gone since"), "{report:#}");
    assert!(!next(&report).contains("certificate approve"), "{report:#}");
}

/// The Node of an earlier installation is in the way, and is the only thing to delete.
#[test]
fn a_request_by_the_name_of_an_old_node_waits_for_its_deletion() {
    let waits = request("csr-a", NODE, BOOTSTRAPPER, "08:55:00");
    let refusal = format!("csr-a: node {NODE} already exists, cannot approve");
    let mut old = node(NODE, "10.0.16.37", true);
    old["spec"]["providerID"] = "aws:///us-east-2a/i-0old".into();
    let report = gather("no-certificate", &[waits, old], &refusal).json();
    assert!(
        sentence(&report).ends_with(&format!("Node {NODE} has not been Ready for 119 minutes, and is older than the Machine: it is an earlier machine's.")),
        "{report:#}"
    );
    assert!(
        next(&report).contains(&format!("`oc delete node {NODE}`")),
        "{report:#}"
    );
    assert!(
        next(&report).contains("The approver then approves the next request by itself"),
        "{report:#}"
    );
    assert!(!next(&report).contains("certificate approve"), "{report:#}");
    let there = evidence(&report, &format!("Node {NODE}"));
    assert!(there.contains("i-0old"), "{report:#}");
}

#[test]
fn a_request_of_localhost_is_never_approved() {
    for name in ["localhost", "localhost.localdomain"] {
        let waits = request("csr-l", name, BOOTSTRAPPER, "08:55:00");
        let report = gather("no-certificate", &[waits], "quiet").json();
        assert!(
            sentence(&report).contains(&format!("request csr-l of {name}")),
            "{report:#}"
        );
        assert!(
            sentence(&report).ends_with("Neither DHCP nor reverse DNS gave it a host name."),
            "{report:#}"
        );
        assert!(next(&report).contains("never approve csr-l"), "{report:#}");
        assert!(!next(&report).contains("certificate approve"), "{report:#}");
    }
}

/// A cluster that was off for long: the kubelets' certificates are over, and each asks anew.
#[test]
fn a_silent_node_that_asks_again_is_told_with_its_request() {
    let again = |user: &str| {
        let waits = request("csr-n", NODE, user, "09:00:00");
        let refusal = format!("csr-n: node {NODE} already exists, cannot approve");
        let gather = gather("node-not-ready", &[waits], &refusal);
        let file = format!("cluster-scoped-resources/core/nodes/{NODE}.yaml");
        let path = gather.dir.path().join(file);
        let mut object: Value =
            serde_saphyr::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        object["status"]["conditions"] = node(NODE, "", true)["status"]["conditions"].clone();
        std::fs::write(&path, object.to_string()).unwrap();
        gather.json()
    };
    let report = again(BOOTSTRAPPER);
    assert!(
        sentence(&report).ends_with(&format!("Kubelet stopped posting node status. As it seems its kubelet lost or outlived its certificate, and asks for a new one: request csr-n is pending for 60 minutes; the approver: node {NODE} already exists, cannot approve.")),
        "{report:#}"
    );
    assert_eq!(only(&report)["stage"], "NodeNotReady");
    assert_eq!(only(&report)["isCertain"], false);
    assert_eq!(only(&report)["next"][0], approve("csr-n"));
    assert!(
        !evidence(&report, "CertificateSigningRequest csr-n").is_empty(),
        "{report:#}"
    );
    let report = again(&format!("system:node:{NODE}"));
    assert!(
        sentence(&report).contains("asks to renew its certificate: request csr-n is pending"),
        "{report:#}"
    );
    assert!(
        next(&report).contains("kube-controller-manager"),
        "{report:#}"
    );
}

/// Whoever has the bootstrap credentials can ask in a Node's name: it is to be made sure of first.
fn approve(id: &str) -> String {
    format!(
        "If it is that Node's own (the machine's console has that host name, and there or in its journal the kubelet starts minutes before the first of these requests; whoever has the bootstrap credentials can ask; one for serving follows): `oc adm certificate approve {id}`"
    )
}

/// Nodes without a Machine: the logs tell whether one was installed anew.
#[test]
fn a_node_without_a_machine_that_asks_again_waits() {
    let told = |address: &str, is_silent: bool| {
        let waits = request("csr-w", "w1.example.com", BOOTSTRAPPER, "09:00:00");
        let there = node("w1.example.com", address, is_silent);
        let gather = gather("no-certificate", &[waits, there], "quiet");
        let machines = "namespaces/openshift-machine-api/machine.openshift.io";
        std::fs::remove_dir_all(gather.dir.path().join(machines)).unwrap();
        gather.json()
    };
    let report = told("10.0.16.50", true);
    assert_eq!(
        sentence(&report),
        "w1.example.com waits for its certificate: request csr-w is pending for 60 minutes; by the approver's rules: node w1.example.com already exists. Node w1.example.com has not been Ready for 119 minutes: its kubelet lost or outlived its certificate, as it seems, or the machine was installed anew, or another one asks in its name."
    );
    assert_eq!(only(&report)["next"][0], approve("csr-w"));
    let report = told("10.0.16.37", true);
    assert!(
        sentence(&report).ends_with(
            "its machine asked for its config at 2026-08-20T08:42:31Z: it was installed anew."
        ),
        "{report:#}"
    );
    assert!(
        next(&report).contains("`oc delete node w1.example.com`"),
        "{report:#}"
    );
    let report = told("10.0.16.50", false);
    assert!(
        sentence(&report).ends_with(
            "Node w1.example.com is Ready: two machines have one host name, as it seems."
        ),
        "{report:#}"
    );
    assert!(!next(&report).contains("certificate approve"), "{report:#}");
}

/// Two machines wait, and one asks under a name of nobody's: which of them is not known. One that was made later is none of
/// them.
#[test]
fn a_request_that_may_be_a_machines_says_so() {
    let waits = request("csr-o", "dhcp-9", BOOTSTRAPPER, "09:00:00");
    let gather = gather("no-certificate", &[waits], "quiet");
    let file =
        format!("namespaces/openshift-machine-api/machine.openshift.io/machines/{WAITS}.yaml");
    let path = gather.dir.path().join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let other = text
        .replace(WAITS, "c1-x7k2p-worker-us-east-2a-rrrrr")
        .replace("10.0.16.37", "10.0.16.38")
        .replace("ip-10-0-16-37", "ip-10-0-16-38")
        .replace("i-0bff87b2026a36e76", "i-0other");
    std::fs::write(path.with_file_name("other.yaml"), &other).unwrap();
    let later = other
        .replace("rrrrr", "sssss")
        .replace("10.0.16.38", "10.0.16.39");
    let later = later
        .replace("ip-10-0-16-38", "ip-10-0-16-39")
        .replace("i-0other", "i-0later");
    let later = later.replace("2026-08-20T08:40:00Z", "2026-08-20T09:20:00Z");
    std::fs::write(path.with_file_name("later.yaml"), later).unwrap();
    gather.change(|_, text| {
        let other = text.replace("10.0.16.37", "10.0.16.38");
        let other = other.lines().filter(|line| line.contains("10.0.16.38"));
        let other: String = other.map(|line| format!("{line}\n")).collect();
        text + &other
    });
    let report = gather.json();
    let machines = report["machines"].as_array().unwrap();
    assert_eq!(machines.len(), 4, "{report:#}");
    for machine in &machines[..2] {
        assert_eq!(machine["kind"], "Machine");
        let unseen = machine["unseen"].to_string();
        assert!(
            unseen.contains("whose request csr-o of dhcp-9 is, which no Machine, host or Node has as its name: it may be its own"),
            "{report:#}"
        );
    }
    assert_eq!(
        machines[3]["sentence"],
        "dhcp-9 waits for its certificate: request csr-o is pending for 60 minutes. It may be of one of the 2 machines that wait and have no request under their name."
    );
}

/// HyperShift's approver runs beside the Machines, in the management cluster.
#[test]
fn a_hosted_clusters_approver_is_elsewhere() {
    let waits = request("csr-h", "w1.example.com", BOOTSTRAPPER, "09:00:00");
    let dir = tempfile::tempdir().unwrap();
    let infrastructure = json!({ "apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": { "name": "cluster" },
        "status": { "controlPlaneTopology": "External", "infrastructureName": "h1" } });
    let there = node("w0.example.com", "10.0.16.50", false);
    let list =
        json!({ "apiVersion": "v1", "kind": "List", "items": [waits, infrastructure, there] });
    std::fs::write(dir.path().join("all.json"), list.to_string()).unwrap();
    let report = super::json(&[dir.path().to_str().unwrap()]);
    assert_eq!(
        sentence(&report),
        "w1.example.com waits for its certificate: request csr-h is pending for 60 minutes."
    );
    let unseen = only(&report)["unseen"].to_string();
    assert!(unseen.contains("management cluster"), "{report:#}");
    assert!(
        !unseen.contains("openshift-cluster-machine-approver"),
        "{report:#}"
    );
}

/// Each machine of a group has a request of its own.
#[test]
fn machines_that_are_alike_are_told_with_all_their_requests() {
    let waits = [1, 2, 3].map(|n| {
        let node = format!("w{n}.example.com");
        request(&format!("csr-k{n}"), &node, BOOTSTRAPPER, "09:00:00")
    });
    let gather = gather("no-certificate", &waits, "quiet");
    let machines = "namespaces/openshift-machine-api/machine.openshift.io";
    std::fs::remove_dir_all(gather.dir.path().join(machines)).unwrap();
    let cluster = format!("{}/cluster", super::DATA);
    for form in ["text", "markdown"] {
        let (text, err, _) = super::why(&[&cluster, gather.path()], &["-o", form]);
        let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let wanted = "- The same holds for the others' requests: csr-k2 of w2.example.com, csr-k3 of w3.example.com";
        assert!(plain.contains(wanted), "{text}{err}");
    }
}

/// Each is approved by its own request, and odd ones differ by what is odd.
#[test]
fn a_request_that_is_not_to_be_approved_is_never_alike_one_that_may() {
    let mut waits = [1, 2, 3, 4, 5].map(|n| {
        let node = format!("w{n}.example.com");
        request(&format!("csr-k{n}"), &node, BOOTSTRAPPER, "09:00:00")
    });
    for n in [1, 2] {
        waits[n]["spec"]["usages"] = json!(["any", "cert sign"]);
    }
    waits[3]["spec"]["groups"] = json!(["system:masters"]);
    let gather = gather("no-certificate", &waits, "quiet");
    let machines = "namespaces/openshift-machine-api/machine.openshift.io";
    std::fs::remove_dir_all(gather.dir.path().join(machines)).unwrap();
    let cluster = format!("{}/cluster", super::DATA);
    let (text, ..) = super::why(&[&cluster, gather.path()], &[]);
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "oc adm certificate approve csr-k1 - The same holds for the others' requests: csr-k5 of w5.example.com [x]",
        "Approve no request of this name: csr-k2 has usages",
        "The same holds for the others' requests: csr-k3 of w3.example.com [x]",
        "Approve no request of this name: csr-k4 has groups",
    ] {
        assert!(plain.contains(part), "{part}: {text}");
    }
    assert_eq!(
        text.matches("oc adm certificate approve").count(),
        1,
        "{text}"
    );
}

/// Its log was read, and says nothing of this request: that is no gap.
#[test]
fn an_approver_that_does_not_name_the_request_is_said_by_its_hours() {
    let own = request("csr-a", NODE, BOOTSTRAPPER, "08:55:00");
    let other = "csr-zzzzz: CSR rejected as the flow is disabled";
    let report = gather("no-certificate", &[own], other).json();
    let unseen = only(&report)["unseen"].as_array().unwrap();
    let wanted = "why the approver did not: its log from 2026-08-20T09:00:10Z to 2026-08-20T09:00:10Z does not say it of csr-a";
    assert!(unseen.contains(&json!(wanted)), "{report:#}");
    assert_eq!(only(&report)["isCertain"], false);
}
