//! Images that openshift/installer has published: known without anything of ours in the cluster, and
//! the remedy where the cluster names none. And what counts more than what.

use super::real::{audited, aws, gcp, joined, list, machine_set, nothing_is_kept, real};
use super::{audit_text, case, run};
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;

/// Real AMIs of us-east-2.
const OF_4_1: &str = "ami-0649fd5d42859bdfc";
const OF_4_12: &str = "ami-057fe628c533932e2";
const OF_4_18: &str = "ami-0a611e6a24a551a2b";
const NEWEST_OF_4_18: &str = "ami-0b9fcc2f8bed8771e";
const NEWEST_OF_4_21: &str = "ami-066f6520fec24bf28";
const NEWEST_OF_4_22: &str = "ami-03b58703d4e9ea61a";

fn release(version: &str) -> Value {
    json!({ "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": { "name": "version" },
        "spec": { "channel": "stable-4.18", "clusterID": "1b0c7a3e-0000-4000-8000-000000000001" },
        "status": { "desired": { "version": version }, "history": [{ "state": "Completed", "version": version }] } })
}

/// A MachineSet as the installer writes it, with its architecture.
fn amd64(name: &str, ami: &str) -> Value {
    let mut set = machine_set(name, &aws(ami));
    set["metadata"]["annotations"] =
        json!({ "capacity.cluster-autoscaler.kubernetes.io/labels": "kubernetes.io/arch=amd64" });
    set
}

fn set<'a>(found: &'a Value, name: &str) -> &'a Value {
    let sets = found["sets"].as_array().unwrap();
    sets.iter().find(|set| set["name"] == name).unwrap()
}

fn policy(limit: Value) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("policy.json");
    let policy = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Warn", "limits": [limit] });
    std::fs::write(&path, policy.to_string()).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (dir, path)
}

/// Nothing of ours is in the cluster, and no ConfigMap was read.
#[test]
fn the_first_audit_of_a_stock_cluster_is_right() {
    let items = [
        release("4.18.20"),
        amd64("born-4.1", OF_4_1),
        amd64("born-4.12", OF_4_12),
        amd64("now", OF_4_18),
    ];
    let (found, exit) = audited(items.clone(), &[]);
    assert_eq!(exit, Exit::Refused);
    let source = "published images, openshift/installer until 2026-07-16, x86_64 us-east-2";
    for (name, version, verdict) in [
        ("born-4.1", "410.8.20190520.0", "Refused"),
        ("born-4.12", "412.86.202301311551-0", "Refused"),
        ("now", "418.94.202511191518-0", "Allowed"),
    ] {
        let set = set(&found, name);
        assert_eq!(
            (
                &set["bootImage"]["version"],
                &set["knownBy"],
                &set["knownFrom"],
                &set["verdict"]
            ),
            (
                &json!(version),
                &json!("Published"),
                &json!(source),
                &json!(verdict)
            ),
            "{name}"
        );
    }
    let old = set(&found, "born-4.12");
    let remedy = format!(
        "set spec.template.spec.providerSpec.value.ami.id to {NEWEST_OF_4_18}: 418.94.202602022246-0, the newest published for 4.18"
    );
    assert_eq!(
        (&old["wantImage"], &old["wantVersion"]),
        (&json!(NEWEST_OF_4_18), &json!("418.94.202602022246-0"))
    );
    assert!(old["remedy"].as_str().unwrap().ends_with(&remedy), "{old}");
    let (text, _, _) = audit_text(&list(items), &[]);
    assert!(text.contains("2 of 3 sets would be refused."), "{text}");
}

/// The newest of the release that is asked about, of the set's stream; none where the release is not
/// known.
#[test]
fn the_remedy_is_the_newest_of_the_release() {
    for (version, image) in [
        ("4.18.20", Some(NEWEST_OF_4_18)),
        ("4.19.1", Some(NEWEST_OF_4_21)),
        ("4.21.9", Some(NEWEST_OF_4_21)),
        ("4.22.1", Some(NEWEST_OF_4_22)),
        // It has two streams, and nothing says which.
        ("5.0.1", None),
        ("5.9.0", None),
        ("4.18.0-okd-scos.3", None),
    ] {
        let (found, _) = audited([release(version), amd64("s", OF_4_12)], &[]);
        let want = found["sets"][0].get("wantImage").and_then(Value::as_str);
        assert_eq!(want, image, "{version}: {found}");
    }
    let items = || [release("4.18.20"), amd64("s", OF_4_12)];
    // It passes now, and up to the release that is asked about.
    let (found, _) = audited(items(), &["--target", "4.22"]);
    assert_eq!(found["sets"][0]["wantImage"], NEWEST_OF_4_18);
    // What has to be uploaded first.
    let provider = json!({ "kind": "VSphereMachineProviderSpec", "template": "rhcos-412.86.202301311551-0-vmware.x86_64" });
    let (found, _) = audited([release("4.18.20"), machine_set("s", &provider)], &[]);
    let remedy = found["sets"][0]["remedy"].as_str().unwrap();
    assert!(
        remedy.contains("upload 418.94.202602022246-0, the newest published for 4.18 ("),
        "{remedy}"
    );
    let old = gcp("projects/rhcos-cloud/global/images/rhcos-412-86-202301311551-0-gcp-x86-64");
    let mut set = machine_set("s", &old);
    set["metadata"]["annotations"] =
        json!({ "capacity.cluster-autoscaler.kubernetes.io/labels": "kubernetes.io/arch=amd64" });
    let (found, _) = audited([release("4.18.20"), set], &[]);
    assert_eq!(
        found["sets"][0]["wantImage"],
        "projects/rhcos-cloud/global/images/rhcos-418-94-202602022246-0-gcp-x86-64"
    );
}

/// The cluster's own image comes first, and where the policy refuses that, the policy is wrong.
#[test]
fn a_policy_that_refuses_the_clusters_own_image_is_the_mistake() {
    let own = "ami-0f87100a0927b4e1e";
    let items = || {
        [
            release("4.22.1"),
            amd64("own", own),
            amd64("old", OF_4_12),
            real("coreos-bootimages-4.22.json"),
        ]
    };
    let (found, _) = audited(items(), &[]);
    assert_eq!(set(&found, "old")["wantImage"], own);
    let (_dir, policy) = policy(json!({ "minimumRHCOSVersion": "9.9" }));
    let (found, exit) = with_policy(items(), &policy, &[]);
    assert_eq!(exit, Exit::Refused);
    let begin = "correct the policy: it refuses 9.8.20260428-0, this cluster's own image (ConfigMap coreos-bootimages), too: ";
    for name in ["own", "old"] {
        let remedy = set(&found, name)["remedy"].as_str().unwrap();
        assert!(remedy.starts_with(begin), "{remedy}");
        assert_eq!(set(&found, name).get("wantImage"), None);
    }
    // Without the ConfigMap it is the newest that there is.
    let (found, _) = with_policy([release("4.22.1"), amd64("old", OF_4_12)], &policy, &[]);
    let remedy = set(&found, "old")["remedy"].as_str().unwrap();
    let begin =
        "correct the policy: it refuses 9.8.20260715-1, the newest image published for 4.22, too: ";
    assert!(remedy.starts_with(begin), "{remedy}");
}

/// Nobody can correct a policy that nobody named.
#[test]
fn limits_that_nobody_named_are_no_policy_to_correct() {
    let old = || {
        let mut set = machine_set("old", &super::real::aws("ami-1"));
        set["spec"]["template"]["spec"]["providerSpec"]["value"]["ami"]["id"] = json!(OF_4_12);
        set
    };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("objects.json");
    // A cluster that has no image but an old one.
    let aws = json!({ "regions": { "us-east-2": { "release": "412.86.202301311551-0", "image": OF_4_12 } } });
    let stream = json!({ "architectures": { "x86_64": { "images": { "aws": aws } } } });
    let images = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "stream": stream.to_string() },
        "metadata": { "name": "coreos-bootimages", "namespace": "openshift-machine-config-operator" } });
    std::fs::write(&file, list([release("4.22.1"), images, old()])).unwrap();
    let args = ["audit", "--from", file.to_str().unwrap(), "--output"];
    let wanted = "name a policy with other limits (--policy): those of `oc skewguard policy init` refuse 412.86.";
    for form in ["text", "wide", "json", "html", "markdown", "junit"] {
        let (out, err, exit) = run(&[&args[..], &[form]].concat());
        assert_eq!((err.as_str(), exit), ("", Exit::Refused), "{form}");
        let said = out.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = said.replace('\\', "").replace("<code>", "`");
        let said = said.replace("</code>", "`");
        assert!(said.contains(wanted), "{form}: {said}");
        assert!(!said.contains("correct the policy"), "{form}: {said}");
    }
}

fn with_policy(
    items: impl IntoIterator<Item = Value>,
    policy: &str,
    more: &[&str],
) -> (Value, Exit) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("objects.json");
    std::fs::write(&file, list(items)).unwrap();
    let from = file.to_str().unwrap();
    let args = [
        "audit", "--policy", policy, "--output", "json", "--from", from,
    ];
    let (out, err, exit) = run(&[&args, more].concat());
    (
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}")),
        exit,
    )
}

#[test]
fn an_ami_in_no_list_is_said_to_be_in_none() {
    let unknown = "ami-0123456789abcdef0";
    let why = |items: Vec<Value>| {
        let (found, exit) = audited(items, &[]);
        assert_eq!(exit, Exit::Unknown);
        let set = &found["sets"][0];
        assert_eq!(
            (&set["knownBy"], set.get("bootImage"), &set["message"]),
            (
                &json!("Unknown"),
                None,
                &json!(
                    "the version is unknown: the AMI is not listed for its region, and no node made from it is labelled"
                )
            )
        );
        let clue = set["toKnow"].as_str().unwrap();
        assert!(clue.contains("oc skewguard inspect NAME"), "{clue}");
        set["notes"]
            .as_array()
            .unwrap()
            .last()
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned()
    };
    let not_published =
        "ami-0123456789abcdef0 is not among the 9309 AMIs of openshift/installer until 2026-07-16";
    assert_eq!(
        why(vec![amd64("s", unknown)]),
        format!("{not_published}; the ConfigMap coreos-bootimages was not read")
    );
    let map = real("coreos-bootimages-4.22.json");
    assert_eq!(
        why(vec![amd64("s", unknown), map]),
        format!("{not_published}; it is not in the ConfigMap coreos-bootimages")
    );
    // It begins like a published one, or ends like one.
    for ami in [
        "ami-0649fd5d42859bdf",
        "xami-0649fd5d42859bdfc",
        "ami-0649fd5d42859bdfc0",
    ] {
        let (found, _) = audited([amd64("s", ami)], &[]);
        assert_eq!(found["sets"][0]["knownBy"], "Unknown", "{ami}");
    }
}

/// AMIs are of one region and one architecture.
#[test]
fn an_image_of_another_place_is_noted() {
    let mut elsewhere = amd64("s", OF_4_18);
    elsewhere["spec"]["template"]["spec"]["providerSpec"]["value"]["placement"]["region"] =
        json!("eu-west-1");
    let mut arm = amd64("arm", OF_4_18);
    arm["metadata"]["annotations"] =
        json!({ "capacity.cluster-autoscaler.kubernetes.io/labels": "kubernetes.io/arch=arm64" });
    let (found, _) = audited([elsewhere, arm], &[]);
    assert_eq!(
        set(&found, "s")["message"],
        "no machine is made from it: the AMI is of us-east-2, and the next machine is made in eu-west-1, where it is not there"
    );
    assert_eq!(
        set(&found, "arm")["notes"][0],
        "the image is of x86_64, and the next machine is one of aarch64"
    );
}

/// A node that says otherwise was not made from the image that its Machine names now.
#[test]
fn nodes_do_not_overrule_what_was_published() {
    let items = [amd64("s", OF_4_18)].into_iter().chain(joined(
        "s",
        &aws(OF_4_18),
        "412.86.202301311551-0",
    ));
    let (found, exit) = audited(items, &[]);
    let set = &found["sets"][0];
    assert_eq!(
        (&set["knownBy"], &set["bootImage"]["version"], exit),
        (
            &json!("Published"),
            &json!("418.94.202511191518-0"),
            Exit::Done
        )
    );
    assert_eq!(
        set["notes"][0],
        "Node node-of-s, whose Machine names it, says 412.86.202301311551-0: it was made from another image"
    );
    // A name that says the release alone is made precise by a node of that release, and by no other.
    let provider = json!({ "kind": "VSphereMachineProviderSpec", "template": "rhcos-4.16.36-x86_64-vmware.x86_64.ova" });
    for (label, by) in [
        ("416.94.202410211619-0", "Node"),
        ("412.86.202301311551-0", "Unknown"),
    ] {
        let items = [machine_set("s", &provider), nothing_is_kept()]
            .into_iter()
            .chain(joined("s", &provider, label));
        let (found, _) = audited(items, &[]);
        assert_eq!(found["sets"][0]["knownBy"], by, "{found}");
    }
}

/// A report is a claim of whoever has the bootstrap identity.
#[test]
fn a_report_overrules_nothing_and_has_to_be_of_this_machine() {
    let by = |ami: &str, made: &str, reported: &str| {
        let machine = json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": { "name": "s-new", "namespace": "openshift-machine-api", "creationTimestamp": made,
                "ownerReferences": [{ "kind": "MachineSet", "name": "s" }] },
            "spec": { "providerSpec": { "value": aws(ami) } },
            "status": { "phase": "Provisioned", "addresses": [{ "type": "InternalIP", "address": "10.0.1.9" }] } });
        let report = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageReport",
            "metadata": { "name": "r", "namespace": "skewguard", "creationTimestamp": reported },
            "report": { "verdict": { "bootImage": { "version": "411.86.202308081056-0" } }, "node": { "addresses": ["10.0.1.9"], "hostname": "ip-10-0-1-9" } } });
        let (found, _) = audited([amd64("s", ami), machine, report], &[]);
        found["sets"][0]["knownBy"].as_str().unwrap().to_owned()
    };
    let (before, after) = ("2026-02-01T00:00:00Z", "2026-08-20T10:00:00Z");
    assert_eq!(by(OF_4_18, before, after), "Published");
    assert_eq!(by("ami-0123456789abcdef0", before, after), "Report");
    assert_eq!(by("ami-0123456789abcdef0", before, before), "Report");
    assert_eq!(by("ami-0123456789abcdef0", after, before), "Unknown");
}

/// Nor does it make an unknown image allowed.
#[test]
fn a_report_alone_allows_nothing() {
    let machine = json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": { "name": "s-new", "namespace": "openshift-machine-api", "ownerReferences": [{ "kind": "MachineSet", "name": "s" }] },
        "spec": { "providerSpec": { "value": aws("ami-0123456789abcdef0") } },
        "status": { "phase": "Provisioned", "addresses": [{ "type": "InternalIP", "address": "10.0.1.9" }] } });
    let report = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageReport", "metadata": { "name": "r", "namespace": "skewguard" },
        "report": { "verdict": { "bootImage": { "version": "9.6.20251015-1" } }, "node": { "addresses": ["10.0.1.9"], "hostname": "ip-10-0-1-9" } } });
    let (found, exit) = audited([amd64("s", "ami-0123456789abcdef0"), machine, report], &[]);
    let set = &found["sets"][0];
    assert_eq!(
        (&set["verdict"], exit),
        (&json!("Undetermined"), Exit::Unknown)
    );
    assert_eq!(
        set["message"],
        "the version is unknown: BootImageReport r alone says 9.6.20251015-1, and a report is a claim"
    );
}

/// The cluster's own AMI, an old report, and a new Machine with the address of that time.
#[test]
fn an_old_report_does_not_refuse_the_clusters_own_image() {
    let (found, exit) = case("report-of-another-machine");
    let set = set(&found, "c1-own");
    assert_eq!(
        (
            &set["knownBy"],
            &set["bootImage"]["version"],
            &set["verdict"],
            exit
        ),
        (
            &json!("ConfigMap"),
            &json!("9.6.20251015-1"),
            &json!("Allowed"),
            Exit::Done
        )
    );
}

/// Fedora CoreOS is known, and what helps is the cluster's own SCOS.
#[test]
fn a_mixed_fleet_of_okd_is_known() {
    let (found, _) = case("okd-mixed-fleet");
    for (name, version, is_behind) in [
        ("c1-fcos", "37.20230401.3.0", true),
        ("c1-scos9", "9.0.20250411-0", true),
        ("c1-scos", "10.0.20260614-0", false),
    ] {
        let set = set(&found, name);
        assert_eq!(
            (&set["knownBy"], &set["bootImage"]["version"]),
            (&json!("ImageName"), &json!(version))
        );
        let remedy = set["remedy"].as_str().unwrap_or_default();
        assert_eq!(
            remedy.contains("10.0.20260614-0, this cluster's own image"),
            is_behind,
            "{name}: {remedy}"
        );
    }
    let oldest = &found["oldest"];
    assert_eq!(
        (&oldest["bootImage"]["version"], &oldest["unknown"]),
        (&json!("37.20230401.3.0"), &json!(0))
    );
}

#[test]
fn inspect_knows_the_images_too() {
    let arguments = [
        OF_4_12,
        "arn:aws:ec2:us-east-2::image/ami-057fe628c533932e2",
        "ami-0123456789abcdef0",
        "RHEL-9.4-RHCOS-9.6_HVM_GA-20260210-x86_64-0-59ead7de-2540-4653-a8b0-fa7926d5c845",
    ];
    let source = "published images, openshift/installer until 2026-07-16";
    let says = "412.86.202301311551-0: scheme Legacy, RHEL 8.6, OCP 4.12, built 2023-01-31, build 0, Ignition 2.14.0, specs 3.0 to 3.3, aws x86_64 us-east-2";
    let (text, err, exit) = run(&[&["inspect"][..], &arguments].concat());
    let want = format!(
        "{OF_4_12}: {says} ({source})\n{}: {says} ({source})\n\
         ami-0123456789abcdef0: not among the 9309 AMIs of openshift/installer until 2026-07-16\n\
         {}: scheme RHELVersioned, RHEL 9.6, OCP unknown, built 2026-02-10, build unknown, Ignition of unknown release, at least specs 3.0 to 3.4\n",
        arguments[1], arguments[3]
    );
    assert_eq!(
        (text.as_str(), err.as_str(), exit),
        (
            want.as_str(),
            "skewguard: 1 of these is no version that skewguard recognizes; an AMI's name may say it: aws ec2 describe-images --image-ids AMI \
             --query 'Images[].Name'\n",
            Exit::Failed
        )
    );
    let (json, _, _) = run(&["inspect", "-o", "json", OF_4_12, "ami-0123456789abcdef0"]);
    let lines: Vec<Value> = json
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        lines,
        [
            json!({ "version": "412.86.202301311551-0", "scheme": "Legacy", "os": "RHEL 8.6", "rhelVersion": "8.6", "ocpVersion": "4.12",
                "buildDate": "2023-01-31", "buildNumber": 0, "ignition": { "release": "2.14.0", "newestSpec": "3.3.0" }, "image": OF_4_12, "platform": "aws", "architecture": "x86_64", "region": "us-east-2" }),
            json!({ "version": "ami-0123456789abcdef0", "scheme": "Unknown" }),
        ]
    );
}
