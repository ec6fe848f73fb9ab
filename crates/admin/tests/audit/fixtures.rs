//! Every platform: what a person reads and what a script reads, word for word.

use super::{POLICY, audit, audit_text, fixture};
use crate::support::expected::assert_file;
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;

#[test]
fn every_platform_word_for_word() {
    for (name, exit) in [
        ("aws", Exit::Refused),
        ("azure", Exit::Refused),
        ("gcp", Exit::Refused),
        ("vsphere", Exit::Refused),
        ("openstack", Exit::Done),
        ("nutanix", Exit::Refused),
        ("ibm", Exit::Refused),
        ("metal", Exit::Refused),
        ("single-node", Exit::Done),
        ("cluster-api", Exit::Refused),
        ("hypershift", Exit::Refused),
    ] {
        let from = format!("tests/data/audit/{name}.json");
        let (table, err, found) = audit(&["--policy", POLICY, "--from", &from]);
        assert_eq!((err.as_str(), found), ("", exit), "{name}");
        assert_file(&format!("audit/expected/{name}-table.txt"), &table);
        let (text, err, found) = audit(&["--policy", POLICY, "-o", "wide", "--from", &from]);
        assert_eq!((err.as_str(), found), ("", exit), "{name}");
        assert_file(&format!("audit/expected/{name}.txt"), &text);
        let (json, _, found) = audit(&["--policy", POLICY, "--output", "json", "--from", &from]);
        assert_eq!(found, exit, "{name}");
        assert_file(&format!("audit/expected/{name}.json"), &json);
    }
}

/// The sample of README.md: no policy, and the release that the cluster is to have next.
#[test]
fn the_first_page_has_the_limits_that_a_policy_starts_with() {
    let from = ["--from", "tests/data/audit/aws.json", "--target", "4.22"];
    let (table, err, found) = audit(&from);
    assert_eq!((err.as_str(), found), ("", Exit::Refused));
    assert_file("audit/expected/aws-target-4.22.txt", &table);
}

#[test]
fn standard_input_is_read() {
    let stdin = std::fs::File::open("tests/data/audit/aws.json").unwrap();
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_kubectl-skewguard"));
    let output = program
        .args(["audit", "--policy", POLICY, "-o", "wide", "--from", "-"])
        .stdin(stdin)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let text = text.replacen("--from - ", "--from tests/data/audit/aws.json ", 1);
    // What was named is the same on standard input.
    let text = text.replace("why --from -\n", "why --from tests/data/audit/aws.json\n");
    assert_file("audit/expected/aws.txt", &super::without_time(&text));
}

/// The command of docs/audit.md, word for word, on the folders and files of a must-gather.
#[test]
fn a_must_gather_is_read() {
    let docs = std::fs::read_to_string("../../docs/audit.md").unwrap();
    let command = docs
        .split("```")
        .find(|block| block.contains("--from must-gather.local"))
        .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let data = std::path::absolute("tests/data/audit").unwrap();
    let script = format!(
        "cp -r {data}/must-gather.local.1 {data}/policy.json .; oc() {{ shift; {} \"$@\"; }}\n{command}",
        env!("CARGO_BIN_EXE_kubectl-skewguard"),
        data = data.display(),
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert_eq!(
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap().as_str()
        ),
        (Some(3), "")
    );
    assert_file(
        "audit/expected/must-gather.txt",
        &super::without_time(&String::from_utf8(output.stdout).unwrap()),
    );
}

fn json(from: &str, more: &[&str]) -> Value {
    let (out, _, _) = audit(
        &[
            &["--policy", POLICY, "--output", "json", "--from", from],
            more,
        ]
        .concat(),
    );
    serde_json::from_str(&out).unwrap()
}

/// Several files count as one cluster, in any order; also several documents in one, and lists as
/// the API server has them.
#[test]
fn files_are_put_together() {
    let whole: Value = serde_json::from_str(&fixture("aws.json")).unwrap();
    let mut text = String::new();
    for item in whole["items"].as_array().unwrap().iter().rev() {
        text += &match item["kind"].as_str().unwrap() {
            "Node" => json!({ "kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": [without_kind(item)] }).to_string(),
            _ => item.to_string(),
        };
        text.push('\n');
    }
    let (out, _, exit) = audit_text(&text, &["--output", "json"]);
    let mut found: Value = serde_json::from_str(&out).unwrap();
    let mut wanted = json("tests/data/audit/aws.json", &[]);
    // Which users are named first depends on the order of the files.
    for audit in [&mut found, &mut wanted] {
        audit["oldest"]["usedBy"].take();
        audit["oldestBirth"]["usedBy"].take();
    }
    assert_eq!((found, exit), (wanted, Exit::Refused));
}

fn without_kind(item: &Value) -> Value {
    let mut item = item.clone();
    item.as_object_mut()
        .unwrap()
        .retain(|field, _| field != "kind" && field != "apiVersion");
    item
}

/// `--target` asks about another release, by the limits for that one.
#[test]
fn the_target_chooses_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let policy = dir.path().join("policy.json");
    let limits = json!([{ "minimumOCPVersion": "4.12.0" }, { "release": "4.22", "minimumRHCOSVersion": "9.6" }]);
    let text = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce", "limits": limits });
    std::fs::write(&policy, text.to_string()).unwrap();
    let refused = |target: &[&str]| {
        let args = [
            "--policy",
            policy.to_str().unwrap(),
            "--output",
            "json",
            "--from",
            "tests/data/audit/aws.json",
        ];
        let (out, _, _) = audit(&[&args, target].concat());
        let audit: Value = serde_json::from_str(&out).unwrap();
        (
            audit["release"].as_str().unwrap().to_owned(),
            audit["summary"]["wouldBeRefused"].as_u64().unwrap(),
        )
    };
    assert_eq!(refused(&[]), ("4.21.3".to_owned(), 0));
    assert_eq!(refused(&["--target", "4.22"]), ("4.22.0".to_owned(), 2));
    // A node pool has a release of its own, but `--target` wins.
    let args = [
        "--policy",
        policy.to_str().unwrap(),
        "--target",
        "4.22",
        "--output",
        "json",
        "--from",
        "tests/data/audit/hypershift.json",
    ];
    let audited: Value = serde_json::from_str(&audit(&args).0).unwrap();
    let of_guest = audited["sets"]
        .as_array()
        .unwrap()
        .iter()
        .find(|set| set["name"] == "guest-template")
        .unwrap();
    // Its image is then that of 4.22.
    let says = of_guest["message"].as_str().unwrap();
    assert!(says.contains("images published for 4.22 pass"), "{says}");
    let (_, err, exit) = audit(&["--policy", POLICY, "--target", "next", "--from", "x"]);
    assert!(
        exit == Exit::Usage && err.contains("not an OCP release"),
        "{err}"
    );
}

/// A set on GCP whose image has another version from each source.
#[derive(Clone)]
struct Told {
    image: &'static str,
    /// How the report names the machine.
    identity: Value,
    /// Where the report and the ConfigMap are.
    namespaces: [&'static str; 2],
}

const NAMED: &str = "projects/rhcos-cloud/global/images/rhcos-416-94-202406251923-0-gcp-x86-64";

impl Told {
    fn by(&self, kinds: &[&str]) -> (String, Option<String>) {
        let spec = json!({ "kind": "GCPMachineProviderSpec", "disks": [{ "boot": true, "image": self.image }] });
        let owners = json!([{ "kind": "MachineSet", "name": "s" }]);
        let machine = |name: &str, status: Value| {
            json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
                "metadata": { "name": name, "namespace": "m", "ownerReferences": owners }, "status": status,
                "spec": { "providerSpec": { "value": spec }, "providerID": format!("x:///{name}-UUID") } })
        };
        let [of_report, of_map] = self.namespaces;
        let stream = json!({ "architectures": { "x86_64": { "images": { "gcp":
            { "release": "9.4.20250101-0", "project": "rhcos-cloud", "name": "rhcos-416-94-202406251923-0-gcp-x86-64" } } } } });
        let items: Vec<Value> = [
            json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "metadata": { "name": "s", "namespace": "m" },
                "spec": { "template": { "spec": { "providerSpec": { "value": spec } } } } }),
            machine("joined", json!({ "nodeRef": { "name": "n" } })),
            machine("refused", json!({ "addresses": [{ "type": "InternalIP", "address": "192.0.2.9" }] })),
            json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n", "labels": { "skewguard.dev/boot-image": "418.94.202501221327-0" } } }),
            json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageReport", "metadata": { "name": "r", "namespace": of_report },
                "report": { "verdict": { "bootImage": { "version": "417.94.202411070820-0" } }, "node": self.identity } }),
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "coreos-bootimages", "namespace": of_map },
                "data": { "stream": stream.to_string() } }),
        ]
        .into_iter()
        .filter(|item| item["kind"].as_str().unwrap().starts_with("Machine") || kinds.contains(&item["kind"].as_str().unwrap()))
        .collect();
        let text = json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string();
        let audit: Value =
            serde_json::from_str(&audit_text(&text, &["--output", "json"]).0).unwrap();
        let set = &audit["sets"][0];
        (
            set["knownBy"].as_str().unwrap().to_owned(),
            set["bootImage"]["version"].as_str().map(str::to_owned),
        )
    }
}

#[test]
fn the_first_that_says_a_version_wins() {
    let told = Told {
        image: NAMED,
        identity: json!({ "hostname": "refused" }),
        namespaces: ["skewguard", "openshift-machine-config-operator"],
    };
    let all = ["Node", "BootImageReport", "ConfigMap"].as_slice();
    let claims = &["Node", "BootImageReport"];
    let copy = "projects/ours/global/images/rhcos-416-94-202406251923-0-gcp-x86-64";
    let golden = "projects/ours/global/images/golden";
    for (image, kinds, by, version) in [
        (NAMED, all, "ConfigMap", "9.4.20250101-0"),
        (NAMED, claims, "Published", "416.94.202406251923-0"),
        (copy, all, "Node", "418.94.202501221327-0"),
        (golden, all, "Node", "418.94.202501221327-0"),
        (golden, &["BootImageReport", "ConfigMap"], "Report", ""),
    ] {
        // A report is a claim, and no version.
        let version = (!version.is_empty()).then(|| version.to_owned());
        let known = (by.to_owned(), version);
        assert_eq!(
            Told {
                image,
                ..told.clone()
            }
            .by(kinds),
            known
        );
    }
    let custom = Told {
        image: golden,
        ..told
    };
    assert_eq!(custom.by(&["ConfigMap"]), ("Unknown".to_owned(), None));
    for identity in [
        json!({ "hostname": "Refused" }),
        json!({ "addresses": ["2001:db8::9", "192.0.2.9"] }),
        json!({ "productUUID": "REFUSED-uuid" }),
    ] {
        assert_eq!(
            Told {
                identity,
                ..custom.clone()
            }
            .by(&["BootImageReport"])
            .0,
            "Report"
        );
    }
    assert_eq!(
        Told {
            identity: json!({ "hostname": "other" }),
            ..custom
        }
        .by(&["BootImageReport"])
        .0,
        "Unknown"
    );
}

/// A user who may write to a namespace of their own cannot speak for the cluster.
#[test]
fn reports_and_images_of_other_namespaces_do_not_count() {
    let told = Told {
        image: NAMED,
        identity: json!({ "hostname": "refused" }),
        namespaces: ["mallory", "mallory"],
    };
    assert_eq!(told.by(&["BootImageReport", "ConfigMap"]).0, "Published");
}

/// A node reads its own aleph: what is unknown here is not refused there as unknown, also under
/// `onUndetermined: Refuse`.
#[test]
fn an_unknown_image_stays_unknown_under_refuse() {
    let dir = tempfile::tempdir().unwrap();
    let policy = dir.path().join("policy.json");
    let mut text: Value = serde_json::from_str(&fixture("policy.json")).unwrap();
    text["onUndetermined"] = json!("Refuse");
    std::fs::write(&policy, text.to_string()).unwrap();
    let (out, _, _) = audit(&[
        "--policy",
        policy.to_str().unwrap(),
        "--output",
        "json",
        "--from",
        "tests/data/audit/aws.json",
    ]);
    let audit: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        audit["summary"],
        json!({ "sets": 7, "wouldBeRefused": 1, "wouldBeAllowed": 3, "undetermined": 3, "wholeSets": { "sets": 7, "wouldBeRefused": 1, "wouldBeAllowed": 3, "undetermined": 3 } })
    );
}

/// What the Manual mode's fields take (openshift/api, `ClusterBootImageManual`).
#[test]
fn the_command_fits_the_version() {
    for (version, wanted) in [
        (
            "412.86.202301311551-0",
            Some(
                r#"{"mode":"RHCOSVersion","rhcosVersion":"412.86.202301311551-0","ocpVersion":null}"#,
            ),
        ),
        (
            "9.6.20250523-0",
            Some(r#"{"mode":"RHCOSVersion","rhcosVersion":"9.6.20250523-0","ocpVersion":null}"#),
        ),
        (
            "42.80.20191002.0",
            Some(r#"{"mode":"OCPVersion","ocpVersion":"4.2.0","rhcosVersion":null}"#),
        ),
        (
            "410.8.20190520.0",
            Some(r#"{"mode":"OCPVersion","ocpVersion":"4.1.0","rhcosVersion":null}"#),
        ),
        // Fedora CoreOS has no place in the order of RHEL.
        ("39.20231101.3.0", None),
    ] {
        let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n", "labels": { "skewguard.dev/boot-image": version } } });
        // The cluster takes something newer for the oldest.
        let status = json!({ "mode": "Manual", "manual": { "mode": "RHCOSVersion", "rhcosVersion": "10.2.20260715-0" } });
        let cluster = json!({ "apiVersion": "operator.openshift.io/v1", "kind": "MachineConfiguration", "metadata": { "name": "cluster" },
            "status": { "bootImageSkewEnforcementStatus": status } });
        let text = format!("{node}\n{cluster}");
        let (out, _, _) = audit_text(&text, &["--output", "json"]);
        let audit: Value = serde_json::from_str(&out).unwrap();
        let patch = wanted.map(|manual| {
            format!(
                r#"{{"spec":{{"bootImageSkewEnforcement":{{"mode":"Manual","manual":{manual}}}}}}}"#
            )
        });
        let command = patch.map(|patch| {
            format!("oc patch machineconfiguration cluster --type merge -p '{patch}'")
        });
        assert_eq!(
            audit["oldest"]["command"].as_str(),
            command.as_deref(),
            "{version}"
        );
    }
}

/// The cluster's own value, compared with the oldest boot image in use.
#[test]
fn the_cluster_and_the_audit_agree_or_not() {
    let manual = |mode: &str, field: &str, version: &str| json!({ "mode": "Manual", "manual": { "mode": mode, field: version } });
    let rhcos = |version| manual("RHCOSVersion", "rhcosVersion", version);
    for (status, older, said) in [
        (
            rhcos("412.86.202301311551-0"),
            Some(false),
            "says 412.86.202301311551-0: no set makes nodes from an older boot image",
        ),
        (
            rhcos("411.86.202208112011-0"),
            Some(false),
            "says 411.86.202208112011-0: no set makes nodes from an older boot image",
        ),
        (
            rhcos("9.6.20250523-0"),
            Some(true),
            "says 9.6.20250523-0: THAT IS NEWER than the oldest boot image that sets make nodes from",
        ),
        (
            manual("OCPVersion", "ocpVersion", "4.12.9"),
            Some(false),
            "says OCP 4.12.9: no set makes nodes from an older",
        ),
        (
            json!({ "mode": "Automatic", "automatic": { "ocpVersion": "4.22.0" } }),
            Some(true),
            "mode Automatic) says OCP 4.22.0: THAT IS NEWER",
        ),
        (json!({ "mode": "None" }), None, ""),
    ] {
        let items = json!([
            { "apiVersion": "operator.openshift.io/v1", "kind": "MachineConfiguration", "metadata": { "name": "cluster" },
              "status": { "bootImageSkewEnforcementStatus": status } },
            { "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n", "labels": { "skewguard.dev/boot-image": "412.86.202301311551-0" } } },
        ]);
        let text = json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string();
        let audit: Value =
            serde_json::from_str(&audit_text(&text, &["--output", "json"]).0).unwrap();
        assert_eq!(audit["cluster"]["olderInUse"].as_bool(), older, "{said}");
        let plain = audit_text(&text, &[])
            .0
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        let (_, behind) = plain
            .split_once("Oldest boot image that sets make nodes from")
            .unwrap();
        assert!(behind.contains(said), "{said}: {plain}");
        // Where nothing can be compared there is no sentence.
        let is_said = plain.contains("bootImageSkewEnforcement");
        assert_eq!(is_said, older.is_some(), "{plain}");
    }
}

/// What stands against a set may be nothing that the policy knows: its patch is in the script as in every other form.
#[test]
fn the_script_mends_a_set_that_is_not_refused() {
    let from = ["--from", "tests/data/audit/aws.json"];
    let (script, ..) = super::audit(&[&from[..], &["--print-commands", "fix"]].concat());
    let patches = "
patches() {
    # openshift-machine-api MachineSet/c1-wrong-region: no machine is made from it: the AMI is of us-west-2, and the next machine is made in us-east-1, where it is not there
    # from ami-0own000000000002 to 9.6.20251015-1
    oc patch machinesets.machine.openshift.io c1-wrong-region -n openshift-machine-api --type json -p \
'[{\"op\":\"replace\",\"path\":\"/spec/template/spec/providerSpec/value/ami/id\",\"value\":\"ami-0own000000000001\"}]' \"$@\"
}
";
    assert!(script.contains(patches), "{script}");
    assert!(!script.contains("# By hand:"), "{script}");
}
