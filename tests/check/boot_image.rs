//! Which source names the boot image, and what is said when sources disagree.

use crate::check::{check_json, copy_tree, tree};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

const FACTS: &str = "tests/data/aleph";

fn node(change: impl FnOnce(&Path)) -> Value {
    let dir = tempfile::tempdir().expect("tempdir");
    copy_tree(&tree("rhcos-4.12-refused"), dir.path());
    change(dir.path());
    check_json(dir.path(), &[]).1
}

fn record(root: &Path, version: &str, commit: &str) {
    let os_version = if version.is_empty() {
        "411.86.202308081056-0"
    } else {
        version
    };
    let record = json!({"apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageRecord", "version": version,
        "deployment": format!("{commit}.0"), "base": "x", "osVersion": os_version});
    fs::write(
        root.join("etc/skewguard/boot-image.json"),
        record.to_string(),
    )
    .expect("written");
}

const BOOT: &str = "b007000000000000000000000000000000000000000000000000000000000000";
const FIRST: &str = "c0ffee0000000000000000000000000000000000000000000000000000000000";

#[test]
fn every_shape_of_aleph_is_read_under_every_name() {
    for (shape, version) in [
        ("a-create-disk.json", "410.84.202201251210-0"),
        ("a2-build-and-version.json", "39.20231204.1.0"),
        ("b1-osbuild-ostree.json", "40.20240416.3.1"),
        ("b2-osbuild-container.json", "418.94.202511191518-0"),
        ("c-bootc.json", "43.20260301.20.dev1"),
        ("d-bootc.json", "10.2.20260423-0"),
    ] {
        for name in [
            ".coreos-aleph-version.json",
            ".aleph-version.json",
            ".bootc-aleph.json",
        ] {
            let verdict = node(|root| {
                fs::remove_file(root.join("sysroot/.coreos-aleph-version.json")).expect("removed");
                fs::remove_file(root.join("etc/os-release")).expect("removed");
                fs::remove_file(root.join("usr/lib/os-release")).expect("removed");
                let facts = Path::new(env!("CARGO_MANIFEST_DIR"))
                    .join(FACTS)
                    .join(shape);
                fs::copy(facts, root.join("sysroot").join(name)).expect("copied");
            });
            assert_eq!(
                verdict["bootImage"]["version"], version,
                "{shape} as {name}"
            );
            assert_eq!(verdict["bootImage"]["path"], format!("/sysroot/{name}"));
            assert_eq!(verdict["warnings"], json!([]));
        }
    }
}

#[test]
fn without_an_aleph_the_record_of_the_first_run_counts_before_os_release() {
    let verdict = node(|root| {
        fs::remove_file(root.join("sysroot/.coreos-aleph-version.json")).expect("removed");
        record(root, "411.86.202308081056-0", FIRST);
    });
    assert_eq!(
        (
            &verdict["bootImage"]["version"],
            &verdict["bootImage"]["source"]
        ),
        (&json!("411.86.202308081056-0"), &json!("Record"))
    );
    assert_eq!(
        verdict["warnings"],
        json!([
            "/etc/os-release: the node runs 412.86.202303211731-0, which the installation put in place of the boot image, \
            411.86.202308081056-0 by /etc/skewguard/boot-image.json; the limits are applied to the former"
        ])
    );
}

#[test]
fn after_a_rebase_os_release_says_nothing_of_the_boot_image() {
    let verdict = node(|root| {
        fs::remove_file(root.join("sysroot/.coreos-aleph-version.json")).expect("removed");
        record(root, "", "a11ce");
    });
    assert_eq!(
        (&verdict["verdict"], &verdict["reason"]),
        (&json!("Undetermined"), &json!("BootImageUnknown"))
    );
    assert_eq!(
        (&verdict["bootImage"], &verdict["deployment"]["rebased"]),
        (&Value::Null, &json!(true))
    );
}

#[test]
fn what_the_installation_put_in_place_of_the_boot_image_is_judged() {
    let os_release = |version: &str| format!("ID=rhcos\nOSTREE_VERSION={version}\n");
    let booted = |version: &str, change: fn(&Path)| {
        node(|root| {
            fs::write(root.join("usr/lib/os-release"), os_release(version)).expect("written");
            change(root);
        })
    };
    let state = |verdict: &Value| {
        [
            &verdict["bootImage"]["version"],
            &verdict["judged"],
            &verdict["verdict"],
            &verdict["action"],
        ]
        .map(Value::clone)
    };
    let (aleph, replaced) = (json!("412.86.202303211731-0"), json!("BootedDeployment"));
    let verdict = booted("418.94.202511191518-0", |_| ());
    assert_eq!(
        state(&verdict),
        [
            aleph.clone(),
            replaced.clone(),
            json!("Allowed"),
            json!("Proceed")
        ]
    );
    assert_eq!(
        verdict["warnings"],
        json!([
            "/etc/os-release: the node runs 418.94.202511191518-0, which the installation put in place of the boot image, \
            412.86.202303211731-0 by /sysroot/.coreos-aleph-version.json; the limits are applied to the former"
        ])
    );
    // The same for an image that is too old, and for a node that was refused once and boots again.
    let again: fn(&Path) = |root| record(root, "412.86.202303211731-0", FIRST);
    for change in [|_: &Path| (), again] {
        let refused = booted("411.86.202308081056-0", change);
        assert_eq!(
            state(&refused),
            [
                aleph.clone(),
                replaced.clone(),
                json!("Refused"),
                json!("Block")
            ]
        );
        assert_eq!(
            refused["message"],
            "booted deployment is OCP 4.11; the minimum is 4.13.0"
        );
        assert_eq!(refused["deployment"]["image"]["path"], "/etc/os-release");
    }
    // After the rebase it no longer matters what was installed.
    let rebased = booted("418.94.202511191518-0", |root| {
        record(root, "412.86.202303211731-0", "a11ce")
    });
    assert_eq!(
        state(&rebased),
        [
            aleph.clone(),
            json!("BootImage"),
            json!("Refused"),
            json!("Proceed")
        ]
    );
    assert_eq!(rebased["warnings"], json!([]));
    // A version that cannot be decoded replaces nothing.
    let verdict = booted("next", |_| ());
    assert_eq!(
        state(&verdict),
        [
            aleph.clone(),
            json!("BootImage"),
            json!("Refused"),
            json!("Block")
        ]
    );
    assert_eq!(
        verdict["warnings"],
        json!([
            "/etc/os-release: says the boot image is next, but /sysroot/.coreos-aleph-version.json says 412.86.202303211731-0; the latter \
            is used"
        ])
    );
}

#[test]
fn os_release_is_read_in_every_quoting_and_a_minor_0_is_believed_of_rhel_only() {
    for (os_release, version, rhel) in [
        (
            "OSTREE_VERSION=\"412.86.202301311551-0\"\nVERSION=\"1\"\n",
            "412.86.202301311551-0",
            "8.6",
        ),
        (
            "OSTREE_VERSION='412.86.202301311551-0'\n",
            "412.86.202301311551-0",
            "8.6",
        ),
        (
            "OSTREE_VERSION=412.86.202301311551-0\n",
            "412.86.202301311551-0",
            "8.6",
        ),
        (
            "RHEL_VERSION=\"8.0\"\nVERSION=\"43.81.202001142154.0\"\n",
            "43.81.202001142154.0",
            "8.1",
        ),
        (
            "ID=\"rhel\"\nVERSION=\"9.6.20260504-0 (Plow)\"\n",
            "9.6.20260504-0",
            "9.6",
        ),
        (
            "ID=\"rhel\"\nOSTREE_VERSION='10.0.20260614-0'\n",
            "10.0.20260614-0",
            "10.0",
        ),
        (
            "ID=\"centos\"\nOSTREE_VERSION='10.0.20260614-0'\n",
            "10.0.20260614-0",
            "10",
        ),
    ] {
        let verdict = node(|root| {
            fs::remove_file(root.join("sysroot/.coreos-aleph-version.json")).expect("removed");
            fs::write(root.join("usr/lib/os-release"), os_release).expect("written");
        });
        let image = &verdict["bootImage"];
        assert_eq!(
            (&image["version"], &image["rhelVersion"]),
            (&json!(version), &json!(rhel)),
            "{os_release}"
        );
    }
    let verdict = node(|root| {
        fs::remove_file(root.join("sysroot/.coreos-aleph-version.json")).expect("removed");
        fs::write(
            root.join("usr/lib/os-release"),
            "ID=debian\nVERSION=\"12 (bookworm)\"\n",
        )
        .expect("written");
    });
    assert_eq!(
        verdict["reason"], "BootImageUnknown",
        "a distribution's release is no boot image"
    );
}

#[test]
fn where_one_os_release_cannot_be_read_the_other_is() {
    let verdict = node(|root| {
        fs::remove_file(root.join("sysroot/.coreos-aleph-version.json")).expect("removed");
        fs::remove_file(root.join("etc/os-release")).expect("removed");
        symlink("../nowhere", root.join("etc/os-release")).expect("linked");
    });
    let image = &verdict["bootImage"];
    assert_eq!(
        (&image["version"], &image["path"]),
        (
            &json!("412.86.202303211731-0"),
            &json!("/usr/lib/os-release")
        )
    );
    assert_eq!(
        verdict["warnings"],
        json!(["/etc/os-release: is a symlink to nothing inside the root"])
    );
}

#[test]
fn an_aleph_behind_links_inside_the_root_is_read_also_absolute_and_upward_ones() {
    for target in [
        "/etc/elsewhere.json",
        "../etc/elsewhere.json",
        "../../../../../etc/elsewhere.json",
    ] {
        let verdict = node(|root| {
            fs::remove_file(root.join("sysroot/.coreos-aleph-version.json")).expect("removed");
            fs::write(
                root.join("etc/elsewhere.json"),
                "{\"version\":\"411.86.202308081056-0\"}",
            )
            .expect("written");
            symlink(target, root.join("sysroot/.coreos-aleph-version.json")).expect("linked");
        });
        assert_eq!(
            verdict["bootImage"]["version"], "411.86.202308081056-0",
            "{target}"
        );
    }
}

#[test]
fn a_finished_first_boot_is_never_blocked() {
    let verdict = node(|root| {
        let config = root.join("etc/ignition-machine-config-encapsulated.json");
        fs::rename(&config, config.with_extension("json.bak")).expect("renamed");
    });
    assert_eq!(
        (&verdict["verdict"], &verdict["action"]),
        (&json!("Refused"), &json!("Proceed"))
    );
    assert_eq!(verdict["target"]["release"], "4.21.3");
}

#[test]
fn a_node_that_may_have_joined_is_never_blocked_although_its_config_is_still_there() {
    let verdict = node(|root| {
        let pki = root.join("var/lib/kubelet/pki");
        fs::create_dir_all(&pki).expect("made");
        fs::write(pki.join("kubelet-client-2026-01-02-03-04-05.pem"), "").expect("written");
        symlink(
            "/var/lib/kubelet/pki/kubelet-client-2026-01-02-03-04-05.pem",
            pki.join("kubelet-client-current.pem"),
        )
        .expect("linked");
    });
    assert_eq!(
        (&verdict["verdict"], &verdict["action"]),
        (&json!("Refused"), &json!("Proceed"))
    );
    assert_eq!(verdict["letThrough"], "MayHaveJoined");
    assert_eq!(verdict["target"]["release"], "4.21.3");
    // Some releases of the daemon write it before the rebase. Where there is no config, there is no
    // rebase to come.
    for (config, action) in [(true, "Block"), (false, "Proceed")] {
        let verdict = node(|root| {
            fs::create_dir_all(root.join("etc/machine-config-daemon")).expect("made");
            fs::write(root.join("etc/machine-config-daemon/currentconfig"), "{}").expect("written");
            if !config {
                fs::remove_file(root.join("etc/ignition-machine-config-encapsulated.json"))
                    .expect("removed");
            }
        });
        assert_eq!(
            (
                &verdict["action"],
                &verdict["deployment"]["mayHaveJoined"] == true
            ),
            (&json!(action), !config)
        );
    }
    // The kubelet writes its kubeconfig before it asks for a certificate.
    let verdict = node(|root| {
        fs::create_dir_all(root.join("var/lib/kubelet")).expect("made");
        fs::write(root.join("var/lib/kubelet/kubeconfig"), "").expect("written");
    });
    assert_eq!(verdict["action"], "Block");
}

#[test]
fn a_command_line_that_is_not_all_utf_8_keeps_its_other_arguments() {
    let with = |name: &str, more: &[u8]| {
        let dir = tempfile::tempdir().expect("tempdir");
        copy_tree(&tree(name), dir.path());
        let path = dir.path().join("proc/cmdline");
        let line = [
            b"title=caf\xe9 ",
            more,
            b" ",
            &fs::read(&path).expect("read"),
        ]
        .concat();
        fs::write(path, line).expect("written");
        check_json(dir.path(), &[]).1
    };
    let warned = json!([
        "/proc/cmdline: is not all UTF-8 text; arguments that are not UTF-8 cannot be read"
    ]);
    let off = with("rhcos-4.12-refused", b"skewguard=off");
    assert_eq!(
        (&off["verdict"], &off["platform"], &off["warnings"]),
        (&json!("Disabled"), &json!("aws"), &warned)
    );
    assert_eq!(
        with("rhcos-4.12-refused", b"")["action"],
        "Block",
        "what it runs is known"
    );
    assert_eq!(
        with("assisted-already-on-target", b"")["reason"],
        "AlreadyOnTarget"
    );
}

/// It is not known whether the installation replaced an image whose version follows no scheme.
#[test]
fn an_aleph_that_is_not_understood_gives_way_to_os_release() {
    let verdict = node(|root| {
        let aleph = root.join("sysroot/.coreos-aleph-version.json");
        fs::write(aleph, "{\"version\": \"custom-build-7\"}").expect("written");
    });
    assert_eq!(
        (
            &verdict["bootImage"]["source"],
            &verdict["bootImage"]["version"],
            &verdict["judged"],
            &verdict["action"]
        ),
        (
            &json!("OsRelease"),
            &json!("412.86.202303211731-0"),
            &json!("BootImage"),
            &json!("Block")
        )
    );
    assert_eq!(
        verdict["warnings"],
        json!([
            "/sysroot/.coreos-aleph-version.json: version \"custom-build-7\" is not understood; /etc/os-release is used: 412.86.202303211731-0"
        ])
    );
}

#[test]
fn a_tree_without_deployments_is_judged_by_its_image() {
    let verdict = node(|root| fs::remove_dir_all(root.join("sysroot/ostree")).expect("removed"));
    assert_eq!(
        (&verdict["verdict"], &verdict["action"]),
        (&json!("Refused"), &json!("Block"))
    );
    assert_eq!(verdict["warnings"], json!([]));
}

/// The file that would let the node through exists, but cannot be read.
#[test]
fn what_may_let_the_node_through_and_cannot_be_read_does_unless_the_policy_says_otherwise() {
    const ORIGIN: &str = "sysroot/ostree/deploy/rhcos/deploy/c0ffee0000000000000000000000000000000000000000000000000000000000.0.origin";
    const RECORD: &str = "etc/skewguard/boot-image.json";
    let known = format!("ostree=/ostree/boot.1/rhcos/{BOOT}/0 ");
    let written = |bytes: &[u8]| Some([known.as_bytes(), bytes].concat());
    // A file, its content (none: it is a symlink to itself), and what the warning names.
    let breaks: [(&str, Option<Vec<u8>>, &str); 11] = [
        (
            "proc/cmdline",
            Some(b"ostree=/ostree/boot.1/rhcos/elsewhere/0".to_vec()),
            "elsewhere",
        ),
        (
            "proc/cmdline",
            Some(b"ostree=/ostree/boot.1/rhcos/\xff/0".to_vec()),
            "cmdline",
        ),
        ("proc/cmdline", Some(b"\xff".to_vec()), "cmdline"),
        ("proc/cmdline", written(b"skewguard=off\xff"), "cmdline"),
        (
            ORIGIN,
            Some(b"[origin]\ncontainer-image-reference=\xff\n".to_vec()),
            ".origin",
        ),
        (RECORD, None, "boot-image.json"),
        // Its deployment was not known at the first boot.
        (
            RECORD,
            Some(
                br#"{"apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageRecord"}"#.to_vec(),
            ),
            "whether the node was rebased",
        ),
        ("usr/lib/os-release", None, "os-release"),
        ("run/skewguard/override", None, "override"),
        (
            "run/skewguard/override",
            Some(b"off\xff".to_vec()),
            "override",
        ),
        (
            "run/skewguard/override",
            Some([b' '; 65].to_vec()),
            "override",
        ),
    ];
    for (path, bytes, named) in breaks {
        for (on_undetermined, action) in [("Proceed", "Proceed"), ("Refuse", "Block")] {
            let verdict = node(|root| {
                let path = root.join(path);
                fs::create_dir_all(path.parent().expect("a parent")).expect("made");
                match &bytes {
                    Some(bytes) => fs::write(path, bytes).expect("written"),
                    None => {
                        let _ = fs::remove_file(&path);
                        symlink(path.file_name().expect("a name"), &path).expect("linked");
                    }
                }
                let policy = root.join("etc/skewguard/policy.json");
                let text = fs::read_to_string(&policy).expect("read");
                let text = text.replace(
                    "\"onUndetermined\": \"Proceed\"",
                    &format!("\"onUndetermined\": \"{on_undetermined}\""),
                );
                fs::write(policy, text).expect("written");
                fs::remove_file(root.join("etc/mcs-machine-config-content.json")).expect("removed");
            });
            assert_eq!(
                (&verdict["verdict"], &verdict["action"]),
                (&json!("Refused"), &json!(action)),
                "{path} {bytes:?}"
            );
            let why = if action == "Proceed" {
                json!("Unreadable")
            } else {
                Value::Null
            };
            assert_eq!(verdict["letThrough"], why, "{path}");
            assert!(
                verdict["warnings"].to_string().contains(named),
                "{path}: {}",
                verdict["warnings"]
            );
        }
    }
    // An argument that lets the node through counts where the file cannot be read.
    let off = node(|root| {
        fs::create_dir_all(root.join("run/skewguard/override")).expect("made");
        fs::write(root.join("proc/cmdline"), "skewguard=off").expect("written");
    });
    assert_eq!(
        off["override"],
        json!({"value": "off", "source": "KernelArgument"})
    );
}

/// CentOS Stream's strings have minor 0 for want of one.
#[test]
fn minor_nought_of_an_aleph_is_a_minor_where_os_release_is_of_rhel() {
    for (id, rhel, result) in [("rhel", "10.0", "Fail"), ("centos", "10", "NotEvaluated")] {
        let verdict = node(|root| {
            let aleph = root.join("sysroot/.coreos-aleph-version.json");
            fs::write(aleph, r#"{"version": "10.0.20250628-0"}"#).expect("written");
            let release = format!("ID={id}\nOSTREE_VERSION=10.0.20250628-0\n");
            fs::write(root.join("usr/lib/os-release"), release).expect("written");
            fs::remove_file(root.join("etc/mcs-machine-config-content.json")).expect("removed");
            let policy = json!({"apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy",
                "mode": "Enforce", "limits": [{"minimumRHCOSVersion": "10.2"}]});
            fs::write(root.join("etc/skewguard/policy.json"), policy.to_string()).expect("written");
        });
        let judged = (
            &verdict["bootImage"]["rhelVersion"],
            &verdict["findings"][0]["result"],
        );
        assert_eq!(judged, (&json!(rhel), &json!(result)), "{id}: {verdict:#}");
    }
}

#[test]
fn only_the_same_digest_is_already_on_target() {
    let reference = |text: &str| {
        let text = text.to_owned();
        node(move |root| {
            let origin = "sysroot/ostree/deploy/rhcos/deploy/c0ffee0000000000000000000000000000000000000000000000000000000000.0.origin";
            fs::write(
                root.join(origin),
                format!("[origin]\ncontainer-image-reference={text}\n"),
            )
            .expect("written");
        })
    };
    let digest = format!("sha256:{}", "4f3a".repeat(16));
    let on_target = reference(&format!(
        "ostree-unverified-registry:mirror.example.com/ocp@{digest}"
    ));
    assert_eq!(
        (&on_target["verdict"], &on_target["reason"]),
        (&json!("Allowed"), &json!("AlreadyOnTarget"))
    );
    assert_eq!(
        on_target["findings"][0]["result"], "Fail",
        "findings are kept"
    );
    let other = reference(
        "ostree-unverified-registry:quay.io/openshift-release-dev/ocp-v4.0-art-dev:latest",
    );
    assert_eq!(other["verdict"], "Refused");
}

#[test]
fn the_override_file_wins_over_the_kernel_argument() {
    let verdict = |argument: &str, file: Option<&str>| {
        node(|root| {
            fs::write(
                root.join("proc/cmdline"),
                format!("ro ignition.platform.id=aws {argument}\n"),
            )
            .expect("written");
            if let Some(word) = file {
                fs::create_dir_all(root.join("run/skewguard")).expect("made");
                fs::write(root.join("run/skewguard/override"), word).expect("written");
            }
        })
    };
    let action = |verdict: Value| {
        (
            verdict["verdict"].as_str().unwrap_or("").to_owned(),
            verdict["action"].as_str().unwrap_or("").to_owned(),
        )
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(
        action(verdict("skewguard=off", None)),
        pair("Disabled", "Proceed")
    );
    // As systemd reads quotes.
    for quoted in ["\"skewguard=off\"", "skewguard=\"off\""] {
        assert_eq!(
            action(verdict(quoted, None)),
            pair("Disabled", "Proceed"),
            "{quoted}"
        );
    }
    assert_eq!(
        action(verdict("skewguard=warn", None)),
        pair("Refused", "Proceed")
    );
    assert_eq!(
        action(verdict("skewguard=off skewguard=enforce", None)),
        pair("Refused", "Block")
    );
    assert_eq!(
        action(verdict("skewguard=enforce", Some("off\n"))),
        pair("Disabled", "Proceed")
    );
    assert_eq!(
        action(verdict("skewguard=off", Some("warn"))),
        pair("Refused", "Proceed")
    );
    assert_eq!(
        verdict("skewguard=off", Some("warn"))["override"],
        json!({"value": "warn", "source": "File"})
    );
    let odd = verdict("skewguard=of", None);
    assert_eq!(
        (&odd["override"], &odd["action"]),
        (&Value::Null, &json!("Block"))
    );
    assert_eq!(
        odd["warnings"],
        json!(["kernel argument skewguard=: \"of\" is ignored; write off, warn or enforce"])
    );
}
