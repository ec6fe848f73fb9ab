//! Reports from the field, each of which was once told wrongly: what is true of each is written here,
//! apart from the program. Names and addresses are replaced.
//!
//! Sources: metal3-io/baremetal-operator 721 (host-error-while-provisioning), openshift/assisted-installer
//! 798 (refused-to-the-installer), openshift/machine-config-operator 2380, 2562, 4729 and 6124 (names,
//! Events of the server), ocp-power-automation/ocp4-upi-powervm 269 and okd 1021 (right-ca-clock-behind),
//! redhat-cop/agnosticd-v2 147 (no-machines-csrs-pending), openshift/hypershift 1850
//! (nodepool-payload-not-made), OCPBUGS-83866 (url-with-a-password), OCPBUGS-56604
//! (migrating-and-paused), openshift/machine-api-operator 669 (node-ref-nodes-not-read),
//! openshift-kni/baremetal-deploy 102 (node-by-the-name-of-its-request), openshift/installer 1874
//! (node-of-another-name), kubernetes-sigs/cluster-api-provider-openstack 3375 (server-in-error),
//! stolostron/rhacm-docs 4628 (no-agent-fits).

use super::why;
use crate::support::expected::assert_file;
use serde_json::Value;
use skewguard_admin::cli::Exit;

const CASES: &str = "tests/data/cases-why";

/// What is true of a case.
struct Truth {
    case: &'static str,
    /// Of the first machine; none where nothing waits.
    stage: &'static str,
    is_certain: bool,
    machines: usize,
    /// Parts of the text.
    says: &'static [&'static str],
    /// Words that nothing that is printed may have.
    never: &'static [&'static str],
}

#[rustfmt::skip]
const TRUTHS: [Truth; 66] = [
    Truth { case: "agent-boots-its-iso-again", stage: "NoInstance", is_certain: true, machines: 1, says: &["booted the installation image", "boot order"], never: &["has not asked"] },
    Truth { case: "autoscaler-gives-up-young", stage: "BeingRemade", is_certain: false, machines: 1, says: &["gave up", "of this set or others: 6", "DeleteUnregistered before: 2 more"], never: &["`oc edit"] },
    Truth { case: "capi-without-data-secret", stage: "NoInstance", is_certain: false, machines: 1, says: &["WaitingForBootstrapData", "dataSecretName names no Secret"], never: &[] },
    Truth { case: "capi-without-provider-id", stage: "Unknown", is_certain: false, machines: 1, says: &["dhcp-37.example.com"], never: &["has no instance", "machine-api-controllers"] },
    Truth { case: "capi-v1beta2-failure", stage: "NoInstance", is_certain: true, machines: 1, says: &["InsufficientInstanceCapacity", "instance type"], never: &["NotReady"] },
    Truth { case: "check-deletes-what-had-joined", stage: "BeingRemade", is_certain: false, machines: 1, says: &["had Nodes", "unhealthyCondition (Ready False for 300s, Ready Unknown for 300s), a Machine that failed", "how long a reboot"], never: &["oc patch machinehealthchecks", "because they had no Node", "changes nothing"] },
    Truth { case: "cloud-credentials-gone", stage: "Unknown", is_certain: true, machines: 1, says: &["could not be asked", "No OpenIDConnect provider", "[?] instance", "Leave Machines and sets"], never: &["provider spec", "elete the Machine", "has no instance"] },
    Truth { case: "command-in-a-report", stage: "NoCertificate", is_certain: false, machines: 1, says: &["by its own report", "[?] config served"], never: &["add-cluster-role-to-group", "evil.example.com", "[x] first boot"] },
    Truth { case: "csr-of-another-name", stage: "NoCertificate", is_certain: false, machines: 1, says: &["csr-h1", "dhcp-16-37", "failed to find machine with InternalDNS"], never: &["first boot hangs"] },
    Truth { case: "empty-lists", stage: "", is_certain: false, machines: 0, says: &["not read: Machines", "not read: certificate requests"], never: &[] },
    Truth { case: "event-against-the-log", stage: "RequestRefused", is_certain: false, machines: 1, says: &["there is no MachineConfigPool gpu"], never: &["curl", "evil.example.com", "was refused"] },
    Truth { case: "event-of-the-server-in-its-namespace", stage: "FirstBoot", is_certain: false, machines: 1, says: &["as it told the machine-config-server", "rpm-ostree rebase: exit status 1"], never: &["hangs"] },
    Truth { case: "failed-and-has-a-node", stage: "NoInstance", is_certain: true, machines: 1, says: &["Can't find created instance", "terminated"], never: &["has joined"] },
    Truth { case: "failure-a-minute-later", stage: "RequestRefused", is_certain: false, machines: 1, says: &["(500)", "in the time allotted", "has stopped asking"], never: &["got its config", "asks again by itself"] },
    Truth { case: "gcp-terminated-is-stopped", stage: "NoInstance", is_certain: true, machines: 1, says: &["TERMINATED", "start it", "- Or delete the Machine, which never joined"], never: &["never started again", "Then delete"] },
    Truth { case: "host-error-while-provisioning", stage: "NoInstance", is_certain: false, machines: 1, says: &["provisioning error", "Unable to find a valid partition table"], never: &["delete the Machine"] },
    Truth { case: "host-never-inspected", stage: "NodeNotReady", is_certain: true, machines: 2, says: &["the Machine has no addresses", "never inspected", "inspect.metal3.io/hardwaredetails='{", "The same holds for the others' hosts: openshift-machine-api/worker-1 of c1-x7k2p-worker-a-bad1"], never: &["cloud controller", "oc describe"] },
    Truth { case: "identity-provider-of-a-hosted-cluster-gone", stage: "Unknown", is_certain: true, machines: 1, says: &["could not be asked", "OIDC provider"], never: &["provider spec", "elete the Machine", "has no instance"] },
    Truth { case: "image-too-old-for-its-platform", stage: "NoRequest", is_certain: true, machines: 1, says: &["A possible cause is the boot image", "probably 4.6"], never: &[] },
    Truth { case: "machine-without-addresses", stage: "NoCertificate", is_certain: false, machines: 1, says: &["has no addresses in its status, though its instance is there", "csr-00-1"], never: &[] },
    Truth { case: "no-address-from-dhcp", stage: "NoRequest", is_certain: false, machines: 1, says: &["DHCP"], never: &["user data, network"] },
    Truth { case: "nodes-of-nobody", stage: "Unknown", is_certain: false, machines: 2, says: &["cannot be told apart", "dpu-node-a, dpu-node-b"], never: &[] },
    Truth { case: "two-causes-told-as-one", stage: "NoInstance", is_certain: true, machines: 2, says: &["HTTP 401", "HTTP 404"], never: &["are alike"] },
    Truth { case: "two-requests-for-localhost", stage: "NoCertificate", is_certain: false, machines: 1, says: &["csr-l1, csr-l2", "cannot be told apart"], never: &["oc adm certificate approve"] },
    Truth { case: "upi-node-not-initialized", stage: "NodeNotReady", is_certain: true, machines: 1, says: &["compute-1 has joined", "cloud controller manager"], never: &[] },
    Truth { case: "instance-in-error", stage: "NoInstance", is_certain: true, machines: 2, says: &["ERROR", "SHUTOFF", "- Then delete the Machine, which never joined: its set", "- Or delete the Machine"], never: &["has not asked"] },
    Truth { case: "marketplace-terms", stage: "NoInstance", is_certain: true, machines: 1, says: &["Legal terms have not been accepted", "Accept the terms"], never: &["provider spec"] },
    Truth { case: "migrating-and-paused", stage: "NoInstance", is_certain: true, machines: 1, says: &["is paused", "cluster.x-k8s.io/paused annotation"], never: &["nothing that was read says why"] },
    Truth { case: "no-free-host", stage: "NoInstance", is_certain: true, machines: 1, says: &["No available BareMetalHost found", "BMC unreachable"], never: &["delete the Machine", "instance type"] },
    Truth { case: "no-machines-csrs-pending", stage: "NoCertificate", is_certain: true, machines: 12, says: &["worker-cluster-lsrl5-0", "failed to find machine"], never: &["No machine waits"] },
    Truth { case: "node-deleted-after-it-joined", stage: "NodeNotReady", is_certain: false, machines: 1, says: &["had joined, and its Node", "is gone"], never: &["got its certificate"] },
    Truth { case: "node-not-initialized", stage: "NodeNotReady", is_certain: true, machines: 1, says: &["node.cloudprovider.kubernetes.io/uninitialized", "cloud controller manager"], never: &["nodelink"] },
    Truth { case: "node-ref-nodes-not-read", stage: "", is_certain: false, machines: 0, says: &["Whether others wait is unknown", "not read: Nodes", "not read: certificate requests"], never: &["No machine waits"] },
    Truth { case: "nodepool-payload-not-made", stage: "RequestRefused", is_certain: false, machines: 1, says: &["ValidGeneratedPayload is False", "machine-config-server configmap is out of date"], never: &["network or route"] },
    Truth { case: "pipe-of-another", stage: "FirstBoot", is_certain: false, machines: 1, says: &["got its config"], never: &["broken pipe", "MTU"] },
    Truth { case: "powered-off-after-it-joined", stage: "NoInstance", is_certain: true, machines: 1, says: &["poweredOff", "has not been Ready for 4 hours"], never: &["oc adm certificate approve"] },
    Truth { case: "refused-to-the-installer", stage: "RequestRefused", is_certain: false, machines: 1, says: &["the installer on it", "(500)", "failed to convert config from spec v3.2 to v2.2"], never: &["network or load balancer"] },
    Truth { case: "right-ca-clock-behind", stage: "NoRequest", is_certain: false, machines: 1, says: &["rejects its certificate", "the machine's clock"], never: &["Give the user data Secret"] },
    Truth { case: "set-refused-by-a-webhook", stage: "NoInstance", is_certain: false, machines: 1, says: &["2 Machines of MachineSet c1-x7k2p-worker-a are not made", "publicIP is not allowed"], never: &[] },
    Truth { case: "spot-limit", stage: "NoInstance", is_certain: true, machines: 1, says: &["Max spot instance count exceeded", "Raise the spot quota"], never: &["provider spec"] },
    Truth { case: "stopped-instance-and-a-request", stage: "NoInstance", is_certain: false, machines: 1, says: &["its state is stopped", "Leave request csr-evil alone"], never: &["oc adm certificate approve"] },
    Truth { case: "two-clocks", stage: "NoInstance", is_certain: true, machines: 2, says: &["InvalidConfiguration: subnet not found", "how old it is: the newest time"], never: &["No machine waits", "just now"] },
    Truth { case: "two-servers-out-of-order", stage: "RequestRefused", is_certain: false, machines: 1, says: &["etcdserver: request timed out"], never: &["got its config"] },
    Truth { case: "url-with-a-password", stage: "NoInstance", is_certain: true, machines: 1, says: &["http://10.9.9.20/rhcos-412.qcow2", "404 Not Found"], never: &["S3cret", "deploy:", "token=", "abcdef0123456789"] },
    Truth { case: "approver-ignores-all", stage: "NoCertificate", is_certain: false, machines: 1, says: &["Ignoring all CSRs", "Approve no request of this name", "too many of the last hour wait", "whether as many still wait"], never: &["oc adm certificate approve"] },
    Truth { case: "cluster-is-paused", stage: "NoInstance", is_certain: true, machines: 1, says: &["spec.paused of Cluster openshift-cluster-api/gcp21-pz9cl"], never: &["That is its state"] },
    Truth { case: "control-plane-set-is-short", stage: "NoInstance", is_certain: false, machines: 1, says: &["1 Machine of ControlPlaneMachineSet cluster is not made"], never: &["elete"] },
    Truth { case: "host-at-its-retry-limit", stage: "NoInstance", is_certain: true, machines: 3, says: &["its operator has stopped"], never: &[] },
    Truth { case: "host-is-off", stage: "NoInstance", is_certain: true, machines: 1, says: &["is powered off", "has not been Ready for 4 hours", "spec.online", "[x] certificate [x] Node bm19-z3x4c-worker-a-ok1x, not Ready"], never: &["elete"] },
    Truth { case: "link-local-without-logs", stage: "Unknown", is_certain: false, machines: 3, says: &["169.254.", "DHCP"], never: &["nothing else of it was seen"] },
    Truth { case: "machine-is-cut", stage: "Unknown", is_certain: true, machines: 1, says: &["pvs19-x2c4v-worker-a-pp1"], never: &["has no addresses", "master"] },
    Truth { case: "machine-of-a-silent-node-not-read", stage: "NoCertificate", is_certain: false, machines: 1, says: &["was not read", "approve nothing"], never: &["oc adm certificate approve", "oc delete node"] },
    Truth { case: "no-agent-fits", stage: "NoInstance", is_certain: false, machines: 1, says: &["NoSuitableAgents", "at least 100 GB"], never: &["That is its state"] },
    Truth { case: "node-by-the-name-of-its-request", stage: "NodeNotReady", is_certain: false, machines: 1, says: &["worker-0.lab.example is there", "has no addresses", "no hardware details"], never: &["there is no Node of it", "elete"] },
    Truth { case: "node-file-is-empty", stage: "NodeNotReady", is_certain: false, machines: 1, says: &["Look whether it is there"], never: &[] },
    Truth { case: "node-of-another-name", stage: "Unknown", is_certain: false, machines: 1, says: &["cannot be told apart", "dhcp77.corp.example"], never: &["user data, network"] },
    Truth { case: "registered-claim", stage: "NoInstance", is_certain: true, machines: 2, says: &["Raise the spot quota", "Correct the AMI of the node class"], never: &["machine-api"] },
    Truth { case: "request-with-other-groups", stage: "NoCertificate", is_certain: false, machines: 1, says: &["Approve no request of this name"], never: &["oc adm certificate approve"] },
    Truth { case: "request-in-a-masters-name", stage: "NoCertificate", is_certain: false, machines: 2, says: &["leave csr-m4 alone", "approve csr-m3"], never: &["approve csr-m4", "csr-m4 of"] },
    Truth { case: "request-of-another-domain", stage: "Unknown", is_certain: false, machines: 2, says: &["worker-0.site-b.example"], never: &[] },
    Truth { case: "requests-without-addresses", stage: "NoCertificate", is_certain: true, machines: 4, says: &["The Machine has no addresses, by which the approver finds it", "writes no status.addresses"], never: &[] },
    Truth { case: "server-in-error", stage: "NoInstance", is_certain: true, machines: 1, says: &["has no instance that runs", "openstack server show"], never: &["That is its state"] },
    Truth { case: "signer-refuses-one-of-two", stage: "NoCertificate", is_certain: true, machines: 3, says: &["csr-app, made 110 minutes ago, is approved and not signed", "SignerValidationFailure", "this one is never signed", "oc get csr csr-fai -o yaml"], never: &["alike"] },
    Truth { case: "turned-over-log", stage: "FirstBoot", is_certain: false, machines: 1, says: &["got its config"], never: &["user data, network"] },
    Truth { case: "uninitialized-single-node", stage: "NodeNotReady", is_certain: true, machines: 1, says: &["keeps the taint", "platform External"], never: &["openshift-cloud-controller-manager"] },
    Truth { case: "vcenter-refuses-the-login", stage: "Unknown", is_certain: true, machines: 1, says: &["Put the right user and password"], never: &["cannot be reached"] },
];

#[test]
fn each_report_from_the_field_is_told_rightly() {
    for truth in &TRUTHS {
        let from = format!("{CASES}/{}", truth.case);
        let (text, err, exit) = why(&[&from], &[]);
        assert_eq!((err.as_str(), exit), ("", Exit::Done), "{}", truth.case);
        let (out, ..) = why(&[&from], &["-o", "json"]);
        let (markdown, ..) = why(&[&from], &["-o", "markdown"]);
        let report: Value = serde_json::from_str(&out).unwrap();
        let machines = report["machines"].as_array().unwrap();
        assert_eq!(machines.len(), truth.machines, "{}: {text}", truth.case);
        let first = machines.first().unwrap_or(&Value::Null);
        assert_eq!(
            first["stage"].as_str().unwrap_or_default(),
            truth.stage,
            "{}: {text}",
            truth.case
        );
        assert_eq!(
            first["isCertain"] == true,
            truth.is_certain,
            "{}: {text}",
            truth.case
        );
        let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in truth.says {
            assert!(plain.contains(part), "{}: {part}: {text}", truth.case);
        }
        // What a node says is quoted as evidence, and is no advice.
        for machine in machines {
            let said = format!("{} {}", machine["sentence"], machine["next"]);
            for word in truth.never {
                assert!(!said.contains(word), "{}: {word}: {said}", truth.case);
            }
            if machine["isCertain"] == false {
                assert!(!machine["unseen"].as_array().unwrap().is_empty(), "{said}");
            }
        }
        let is_secret = |word: &&&str| ["S3cret", "token=", "abcdef0123456789"].contains(*word);
        for word in truth.never.iter().filter(is_secret) {
            assert!(
                ![&text, &out, &markdown]
                    .iter()
                    .any(|all| all.contains(word)),
                "{word}"
            );
        }
        assert_file(&format!("why/expected/cases/{}.txt", truth.case), &text);
    }
}
