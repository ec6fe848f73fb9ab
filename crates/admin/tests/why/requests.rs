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
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    let subject = &mut params.distinguished_name;
    subject.push(DnType::OrganizationName, "system:nodes");
    subject.push(DnType::CommonName, format!("system:node:{node}"));
    let key = KeyPair::generate().unwrap();
    let pem = params.serialize_request(&key).unwrap().pem().unwrap();
    json!({ "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": { "name": name, "creationTimestamp": format!("2026-08-20T{at}Z"), "resourceVersion": "900001", "uid": name },
        "spec": { "request": STANDARD.encode(pem), "signerName": "kubernetes.io/kube-apiserver-client-kubelet", "username": user,
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
    let report = gather("no-certificate", &[second.clone()], disabled).json();
    assert_eq!(
        sentence(&report),
        format!(
            "{WAITS} waits for its certificate: request csr-b is pending for 50 minutes; the approver: CSR rejected as the flow is disabled."
        )
    );
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
