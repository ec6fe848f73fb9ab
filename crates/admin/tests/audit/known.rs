//! From unknown to known: labels, aleph files, stream metadata of other releases, and what the audit
//! says of which helps.

use super::real::{audited, aws, gcp, joined, list, machine_set, real};
use super::{POLICY, audit, audit_text, fixture, run};
use crate::support::script::script;
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;
use std::path::Path;
use std::process::Command;

/// What `openshift-install coreos print-stream-json` prints of a release, with this AMI.
fn stream(release: &str, ami: &str) -> String {
    json!({ "stream": "rhcos-4.18", "metadata": { "last-modified": "2025-01-23T00:00:00Z" }, "architectures": { "x86_64": {
        "artifacts": { "aws": { "release": release, "formats": {} } },
        "images": { "aws": { "regions": { "us-east-2": { "release": release, "image": ami } } } } } } })
    .to_string()
}

#[test]
fn images_of_other_releases_are_known_by_their_streams() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    // Two releases in one file, one in another.
    let both =
        stream("418.94.202501221327-0", "ami-1") + "\n" + &stream("412.86.202301311551-0", "ami-2");
    let (both, other) = (
        path("both.json", &both),
        path("b.json", &stream("9.6.20251015-1", "ami-3")),
    );
    let sets = || {
        ["ami-1", "ami-2", "ami-3", "ami-4"].map(|ami| machine_set(&format!("of-{ami}"), &aws(ami)))
    };
    let (found, exit) = audited(sets(), &["--streams", &both, &other]);
    assert_eq!(exit, Exit::Refused);
    let known: Vec<_> = found["sets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|set| {
            (
                set["name"].as_str().unwrap(),
                set["bootImage"]["version"].as_str(),
                set["knownBy"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        known,
        [
            ("of-ami-2", Some("412.86.202301311551-0"), "StreamMetadata"),
            ("of-ami-4", None, "Unknown"),
            ("of-ami-1", Some("418.94.202501221327-0"), "StreamMetadata"),
            ("of-ami-3", Some("9.6.20251015-1"), "StreamMetadata"),
        ]
    );
    assert_eq!(
        found["sets"][0]["knownFrom"],
        format!("stream metadata in {both}, x86_64 us-east-2")
    );
    for (text, want) in [
        ("", "is empty"),
        (
            "[",
            "is not JSON: EOF while parsing a list at line 1 column 1",
        ),
        (r#"{"kind":"List"}"#, "is not stream metadata"),
    ] {
        let bad = path("bad.json", text);
        let (out, err, exit) = audit(&[
            "--policy",
            POLICY,
            "--streams",
            &bad,
            "--from",
            "tests/data/audit/aws.json",
        ]);
        let want = format!(
            "skewguard: --streams {bad}: {want}; `openshift-install coreos print-stream-json` prints what is read\n"
        );
        assert_eq!((out.as_str(), err, exit), ("", want, Exit::Failed));
    }
}

/// A stand-in for oc with two nodes, one of which runs no debug pod. What it is asked to run on a node
/// it runs, on a folder in place of the node's root.
const OC: &str = r#"
case "$*" in
'get nodes -l kubernetes.io/os=linux -o name') printf 'node/%s\n' a b ;;
'get nodes -l kubernetes.io/os=linux,!skewguard.dev/boot-image -o name')
  for node in a b; do [ -e "labelled-$node" ] || echo "node/$node"; done ;;
'debug --quiet node/b -- chroot /host sh -c '*) echo 'error: unable to create the debug pod' >&2; exit 1 ;;
'debug --quiet node/a -- chroot /host sh -c '*)
  shift 8
  printf '%s\n' "$1" | sed "s|/sysroot|$PWD/sysroot|g; s|/usr/|$PWD/usr/|g" >on-node.sh
  PATH=$PWD/bin:$PATH sh on-node.sh ;;
*) echo "unexpected: $*" >&2; exit 9 ;;
esac
"#;

fn cluster() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("bin")).unwrap();
    script(&dir.path().join("bin/oc"), OC);
    script(
        &dir.path().join("bin/systemctl"),
        "echo \"$*\" >>calls\ncase $1 in is-active) exit 3 ;; start) [ \"$2\" != skewguard-report.service ] || : >labelled-a ;; esac",
    );
    dir
}

fn sh(dir: &Path, which: &str, more: &[&str]) -> (Option<i32>, String) {
    let (text, err, exit) = run(&["audit", "--print-commands", which]);
    assert_eq!((err.as_str(), exit), ("", Exit::Done));
    std::fs::write(dir.join("script.sh"), text).unwrap();
    let path = format!("{}/bin:{}", dir.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    let command = command
        .arg("script.sh")
        .args(more)
        .current_dir(dir)
        .env("PATH", path);
    let output = command.output().unwrap();
    (
        output.status.code(),
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap(),
    )
}

#[test]
fn nodes_label_themselves_without_a_reboot() {
    let dir = cluster();
    let failed = "b\nerror: unable to create the debug pod\nb: failed\nwithout a label: node/b\n";
    assert_eq!(
        sh(dir.path(), "labels", &[]),
        (Some(1), format!("a\n{failed}"))
    );
    let calls = || std::fs::read_to_string(dir.path().join("calls")).unwrap();
    let report = "start skewguard-report.service\nis-active -q skewguard-report.service\n";
    assert_eq!(
        calls(),
        format!("daemon-reload\nstart skewguard-unpack-later.service\n{report}")
    );
    // Again: what is left. Where the program is there, nothing is unpacked.
    assert_eq!(sh(dir.path(), "labels", &[]), (Some(1), failed.to_owned()));
    std::fs::create_dir_all(dir.path().join("usr/local/bin")).unwrap();
    script(&dir.path().join("usr/local/bin/skewguard"), "");
    std::fs::remove_file(dir.path().join("calls")).unwrap();
    // Of nodes that were named, and not of the other one.
    for name in ["a", "node/a"] {
        assert_eq!(
            sh(dir.path(), "labels", &[name]),
            (Some(0), "a\n".to_owned())
        );
    }
    assert_eq!(calls(), format!("daemon-reload\n{report}").repeat(2));
}

#[test]
fn aleph_files_make_images_known() {
    let dir = cluster();
    let missing = "a\nthere is no aleph file\nb\nerror: unable to create the debug pod\nwithout an aleph file: a b\n";
    assert_eq!(sh(dir.path(), "alephs", &[]), (Some(1), missing.to_owned()));
    std::fs::create_dir(dir.path().join("sysroot")).unwrap();
    let aleph =
        std::fs::read("tests/trees/rhcos-4.12-refused/sysroot/.coreos-aleph-version.json").unwrap();
    std::fs::write(dir.path().join("sysroot/.coreos-aleph-version.json"), aleph).unwrap();
    let left = "b\nerror: unable to create the debug pod\nwithout an aleph file: b\n";
    assert_eq!(
        sh(dir.path(), "alephs", &[]),
        (Some(1), format!("a\n{left}"))
    );
    assert_eq!(
        sh(dir.path(), "alephs", &[]),
        (Some(1), left.to_owned()),
        "what is there is kept"
    );

    // The objects beside them: a node without a label, and one that was not read.
    let provider = aws("ami-0a");
    let [mut machine, mut node] = joined("worker", &provider, "");
    machine["status"]["nodeRef"]["name"] = json!("a");
    node["metadata"]["name"] = json!("a");
    node["metadata"]["labels"] = json!({ "kubernetes.io/arch": "amd64" });
    let items = [machine_set("worker", &provider), machine, node];
    let (found, exit) = audited(items.clone(), &[]);
    assert_eq!(exit, Exit::Unknown);
    let clue = found["sets"][0]["toKnow"].as_str().unwrap();
    assert!(clue.contains("--print-commands alephs"), "{clue}");
    let objects = dir.path().join("objects");
    std::fs::write(objects.join("all.json"), list(items)).unwrap();
    std::fs::write(
        objects.join("gone.aleph.json"),
        r#"{"version":"9.6.20251015-1"}"#,
    )
    .unwrap();
    let (out, err, exit) = audit(&[
        "--policy",
        POLICY,
        "-o",
        "json",
        "--from",
        objects.to_str().unwrap(),
    ]);
    let found: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
    let set = &found["sets"][0];
    assert_eq!(
        (
            exit,
            &set["knownBy"],
            &set["knownFrom"],
            &set["bootImage"]["ocpVersion"]
        ),
        (
            Exit::Refused,
            &json!("Aleph"),
            &json!("the aleph of Node a"),
            &json!("4.12")
        )
    );
    assert_eq!(set.get("toKnow"), None);
    let warning = "1 aleph file is left out: no Node of its name was read";
    assert_eq!(found["warnings"], json!([warning]));
    std::fs::write(objects.join("a.aleph.json"), "{}").unwrap();
    let (out, _, _) = audit(&[
        "--policy",
        POLICY,
        "-o",
        "json",
        "--from",
        objects.to_str().unwrap(),
    ]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(found["unread"][0]["why"], "names no version");
}

/// Where one node has a label skewguard is there, and the others can have it, too.
#[test]
fn each_unknown_set_says_what_makes_it_known() {
    let [machine, mut node] = joined("worker", &aws("ami-0a"), "");
    node["metadata"]["labels"] = json!({ "kubernetes.io/arch": "amd64" });
    let items = [
        machine_set("worker", &aws("ami-0a")),
        machine_set("new", &aws("ami-0b")),
        machine,
        node,
    ];
    let labelled = joined("other", &aws("ami-0c"), "9.6.20251015-1");
    let (found, _) = audited(items.into_iter().chain(labelled), &[]);
    let clue = |name: &str| {
        let sets = found["sets"].as_array().unwrap();
        let set = sets.iter().find(|set| set["name"] == name).unwrap();
        set["toKnow"].as_str().unwrap().to_owned()
    };
    assert!(
        clue("worker").contains("--print-commands labels"),
        "{found}"
    );
    assert!(clue("new").contains("--streams"), "{found}");
}

/// Images on Azure are replaced by those of the same plan and generation.
#[test]
fn images_of_the_marketplace_are_named() {
    let offers: Value = serde_json::from_str(&fixture("real/marketplace-rhel-9.json")).unwrap();
    let stream = json!({ "architectures": { "x86_64": {
        "artifacts": { "azure": { "release": "9.6.20251015-1" } },
        "rhel-coreos-extensions": { "marketplace": offers["x86_64"] } } } });
    let config_map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "stream": stream.to_string() },
        "metadata": { "name": "coreos-bootimages", "namespace": "openshift-machine-config-operator" } });
    let set = |name: &str, image: Value| {
        machine_set(
            name,
            &json!({ "kind": "AzureMachineProviderSpec", "location": "eastus", "image": image }),
        )
    };
    let urn = |publisher: &str, offer: &str, sku: &str, version: &str| json!({ "publisher": publisher, "offer": offer, "sku": sku, "version": version, "resourceID": "" });
    let items = [
        set(
            "free",
            urn("azureopenshift", "aro4", "412-v2", "412.86.20230131"),
        ),
        set(
            "first",
            urn("azureopenshift", "aro4", "aro_412", "412.86.20230131"),
        ),
        set(
            "paid",
            urn(
                "redhat-limited",
                "rh-opp-worker",
                "rh-opp-worker-gen1",
                "4.12.2023013112",
            ),
        ),
        set("foreign", urn("example", "rhcos", "412", "412.86.20230131")),
        config_map,
    ];
    let (found, _) = audited(items, &[]);
    let of = |name: &str| {
        let sets = found["sets"].as_array().unwrap();
        sets.iter().find(|set| set["name"] == name).unwrap().clone()
    };
    assert_eq!(
        of("free")["wantImage"],
        "azureopenshift:aro4:420-v2:9.6.20251015"
    );
    assert_eq!(
        of("first")["wantImage"],
        "azureopenshift:aro4:aro_420:9.6.20251015"
    );
    assert_eq!(of("foreign").get("wantImage"), None);
    let free = of("free");
    let remedy = free["remedy"].as_str().unwrap();
    assert!(remedy.ends_with("set spec.template.spec.providerSpec.value.image to the marketplace's azureopenshift:aro4:420-v2:9.6.20251015: 9.6.20251015, this cluster's own"), "{remedy}");
    let patch = free["patch"].as_str().unwrap();
    let (_, patch) = patch.split_once(" -p '").unwrap();
    let patch: Value = serde_json::from_str(patch.trim_end_matches('\'')).unwrap();
    assert_eq!(
        patch,
        json!([{ "op": "replace", "path": "/spec/template/spec/providerSpec/value/image", "value": { "publisher": "azureopenshift",
            "offer": "aro4", "sku": "420-v2", "version": "9.6.20251015", "resourceID": "", "type": "MarketplaceNoPlan" } }])
    );
    // OCP 4.18 without a RHEL says too little for the policy's minimum of RHEL.
    assert_eq!(of("paid")["bootImage"]["ocpVersion"], "4.12");
}

/// Azure Red Hat OpenShift: an empty `resourceID` beside the URN's fields, no `type`, and a SKU of the
/// first generation.
#[test]
fn a_machine_set_of_aro_is_known_by_its_urn() {
    let offers: Value = serde_json::from_str(&fixture("real/marketplace-rhel-9.json")).unwrap();
    let stream = json!({ "architectures": { "x86_64": { "rhel-coreos-extensions": { "marketplace": offers["x86_64"] } } } });
    let config_map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "stream": stream.to_string() },
        "metadata": { "name": "coreos-bootimages", "namespace": "openshift-machine-config-operator" } });
    let (found, exit) = audited([real("machineset-aro.json"), config_map], &[]);
    let set = &found["sets"][0];
    assert_eq!(
        (
            exit,
            &set["knownBy"],
            &set["bootImage"]["ocpVersion"],
            &set["pool"]
        ),
        (
            Exit::Refused,
            &json!("ImageName"),
            &json!("4.11"),
            &json!("worker")
        )
    );
    assert_eq!(set["wantImage"], "azureopenshift:aro4:aro_420:9.6.20251015");
}

/// Which release brought `managedBootImages` to which platform: openshift/api `features/features.go`
/// of the branches release-4.17 to release-4.22.
#[test]
fn managed_boot_images_are_advised_where_the_release_has_them() {
    let release = |version: &str| {
        json!({ "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": { "name": "version" },
            "status": { "desired": { "version": version } } })
    };
    let machine_configuration = json!({ "apiVersion": "operator.openshift.io/v1", "kind": "MachineConfiguration",
        "metadata": { "name": "cluster" }, "spec": {}, "status": {} });
    let provider = json!({ "kind": "AzureMachineProviderSpec", "location": "eastus",
        "image": { "publisher": "azureopenshift", "offer": "aro4", "sku": "412-v2", "version": "412.86.20230131" } });
    for (version, cloud, advised) in [
        ("4.20.5", "AzurePublicCloud", false),
        ("4.21.0", "AzurePublicCloud", true),
        ("4.21.0", "AzureStackCloud", false),
    ] {
        let infrastructure = json!({ "apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": { "name": "cluster" },
            "status": { "platformStatus": { "type": "Azure", "azure": { "cloudName": cloud } } } });
        let items = [
            machine_set("worker", &provider),
            release(version),
            machine_configuration.clone(),
            infrastructure,
        ];
        let (found, _) = audited(items, &[]);
        let remedy = found["sets"][0]["remedy"].as_str().unwrap();
        assert_eq!(
            remedy.contains("managedBootImages"),
            advised,
            "{version}: {remedy}"
        );
    }
}

#[test]
fn the_text_says_it_too() {
    let stock = [
        machine_set("worker", &aws("ami-0a")),
        real("coreos-bootimages-4.22.json"),
    ];
    let (text, _, _) = audit_text(&list(stock), &[]);
    assert!(
        text.contains("\n  worker: its Machines and Nodes were not read"),
        "{text}"
    );
}

/// An image that fails with the release, on one platform; the policy names some of what is known.
#[test]
fn known_issues_of_an_image_are_named_whether_or_not_the_policy_has_them() {
    let dir = tempfile::tempdir().unwrap();
    let policy = |issues: Value| {
        let path = dir.path().join("policy.json");
        let policy = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Warn",
            "limits": [{ "minimumOCPVersion": "4.1.0" }], "knownIssues": issues });
        std::fs::write(&path, policy.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let sets = |platform: &str, version: &str| {
        let provider = match platform {
            "aws" => aws("ami-old"),
            _ => gcp("projects/p/global/images/old"),
        };
        let [machine, node] = joined("worker", &provider, version);
        let file = dir.path().join("objects.json");
        let items = [machine_set("worker", &provider), machine, node];
        std::fs::write(&file, list(items)).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let issues = |policy: &str, from: &str, target: &str| {
        let args = ["--policy", policy, "--target", target, "--from", from];
        let (out, err, _) = audit(&[&args[..], &["-o", "json"]].concat());
        let found: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
        let found = found["sets"][0]["knownIssues"].as_array().cloned();
        let shown = |issue: &Value| {
            (
                issue["id"].as_str().unwrap().to_owned(),
                issue["inPolicy"] == true,
            )
        };
        found
            .unwrap_or_default()
            .iter()
            .map(shown)
            .collect::<Vec<_>>()
    };
    let issue = |id: &str, own: bool| (id.to_owned(), own);
    let old = sets("aws", "413.92.202303281804-0");
    let without = policy(json!([]));
    assert_eq!(issues(&without, &old, "4.21.0"), []);
    assert_eq!(
        issues(&without, &old, "4.22.0"),
        [issue("RPMOSTreeBefore2023.5", false)]
    );
    let text = |detail: &str| {
        audit(&[
            "--policy", &without, "--target", "4.22.0", "--from", &old, "-o", detail,
        ])
        .0
    };
    let words = "RPMOSTreeBefore2023.5 (a warning), which the policy lacks: its rpm-ostree is older than 2023.5, which may not rebase to 4.22";
    let plain = text("text")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(plain.contains(&format!("known issue {words}")), "{plain}");
    let next = format!("Next: `oc skewguard policy lint {without}`, which names");
    assert!(plain.contains(&next), "{plain}");
    assert!(
        text("wide").contains("  issue    RPMOSTreeBefore2023.5 (a warning), which"),
        "{}",
        text("wide")
    );
    assert!(
        text("html").contains(&format!("known issue {words}")),
        "{}",
        text("html")
    );
    // Its own, which counts instead of the list's of that name.
    let own = policy(json!([
        { "id": "RPMOSTreeBefore2023.5", "images": { "belowOCPVersion": "4.13.0" }, "reason": "r" },
        { "id": "Ours", "images": { "belowOCPVersion": "4.14.0" }, "reason": "r" } ]));
    assert_eq!(issues(&own, &old, "4.22.0"), [issue("Ours", true)]);
    // A condition on the platform.
    let first = "410.8.20190520.0";
    let without = policy(json!([]));
    assert_eq!(
        issues(&without, &sets("aws", first), "4.11.0"),
        [issue("AWSOldBootImagesLackAfterburn", false)]
    );
    assert_eq!(issues(&without, &sets("gcp", first), "4.11.0"), []);
}

/// A policy keeps the known issues of the day that it was written.
#[test]
fn known_issues_of_another_day_are_named() {
    let stale = "tests/data/cases/issue-of-another-window/stale.json";
    let cluster = "tests/data/cases/born-at-4.6";
    let (out, err, _) = audit(&["--policy", stale, "-o", "json", "--from", cluster]);
    let found: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
    let warnings = found["warnings"].as_array().unwrap();
    for wanted in [
        "policy: known issue NoDaemonForRHEL8 differs in targets from the one that this version of skewguard ships; `oc skewguard policy refresh FILE --file FILE` takes today's list in",
        "policy: known issue ShimOlderThanKernelSigningKey is withdrawn: 4.22 updates the ESP before the rebase, and new nodes of such images joined (openshift/machine-config-operator#5868); `oc skewguard policy refresh FILE --file FILE` takes today's list in",
    ] {
        assert!(warnings.contains(&json!(wanted)), "{warnings:#?}");
    }
}
