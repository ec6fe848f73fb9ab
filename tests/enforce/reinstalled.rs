//! What an installation is: /var may be older, and `ostree=` changes without a rebase.

use crate::enforce::{Node, REFUSED, stderr};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

const RECORD: &str = "var/lib/skewguard/boot-image.json";
const CERTIFICATE: &str = "var/lib/kubelet/pki/kubelet-client-current.pem";
const CMDLINE: &str = "proc/cmdline";
/// What an earlier installation told the cluster, or had to tell it.
const OF_THE_EARLIER: [&str; 3] = [
    "installation-id",
    "report-state.json",
    "untold-verdict.json",
];
const BOOT: &str = "b007000000000000000000000000000000000000000000000000000000000000";
const COMMIT: &str = "c0ffee0000000000000000000000000000000000000000000000000000000000";

fn write(node: &Node, path: &str, text: &str) {
    let path = node.path(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("made");
    fs::write(path, text).expect("written");
}

/// A boot of the refused node: its ids, and whether it is the first one of an installation.
fn boots(node: &Node, machine: char, boot: char, first: bool) {
    let _ = fs::remove_dir_all(node.path("run/skewguard"));
    let _ = fs::remove_dir_all(node.path("run/systemd"));
    let id = |digit: char| digit.to_string().repeat(32);
    write(node, "etc/machine-id", &id(machine));
    write(node, "proc/sys/kernel/random/boot_id", &id(boot));
    let first = if first { "ignition.firstboot " } else { "" };
    let line = format!("{first}ignition.platform.id=metal ostree=/ostree/boot.1/rhcos/{BOOT}/0\n");
    write(node, CMDLINE, &line);
}

/// A node that an earlier installation left with a record of another deployment, a certificate, and
/// what it told the cluster.
fn with_an_older_var() -> Node {
    let node = Node::new(REFUSED);
    let record = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageRecord",
        "version": "418.94.202501221327-0", "ostree": "/ostree/boot.0/rhcos/a11ce/0", "rhel": false });
    write(&node, RECORD, &record.to_string());
    write(&node, CERTIFICATE, "of the earlier installation");
    write(&node, "var/lib/kubelet/kubeconfig", "");
    for path in OF_THE_EARLIER {
        write(&node, &format!("var/lib/skewguard/{path}"), "{}");
    }
    node
}

fn code(node: &Node) -> Option<i32> {
    node.run("enforce").status.code()
}

#[test]
fn a_refused_node_is_held_after_a_reinstallation_that_kept_var() {
    for damaged in [false, true] {
        let node = with_an_older_var();
        if damaged {
            write(&node, RECORD, "{ damaged");
        }
        boots(&node, 'b', '1', true);
        assert_eq!(code(&node), Some(3), "damaged: {damaged}");
        let record = node.json(RECORD);
        assert_eq!(
            (&record["version"], &record["machineID"]),
            (&json!("412.86.202303211731-0"), &json!("b".repeat(32)))
        );
        for path in OF_THE_EARLIER {
            let path = format!("var/lib/skewguard/{path}");
            assert!(
                !node.path(&path).exists(),
                "{path} is of the earlier installation"
            );
        }
        // The same boot again, and the next one: the old certificate still is none.
        for boot in ['1', '2'] {
            boots(&node, 'b', boot, boot == '1');
            assert_eq!(code(&node), Some(3), "boot {boot}");
            assert_eq!(node.json(RECORD), record);
        }
    }
}

/// On KVM systemd can take the machine id from the machine's UUID, which a reinstallation does not
/// change.
#[test]
fn a_reinstallation_with_the_same_machine_id_is_a_new_installation() {
    let node = with_an_older_var();
    boots(&node, 'b', '1', true);
    assert_eq!(code(&node), Some(3));
    write(&node, CERTIFICATE, "issued in the first installation");
    boots(&node, 'b', '2', false);
    assert_eq!(code(&node), Some(0), "it has joined");
    boots(&node, 'b', '3', true);
    assert_eq!(code(&node), Some(3), "reinstalled");
    assert_eq!(node.json(RECORD)["bootID"], json!("3".repeat(32)));
}

#[test]
fn a_node_that_joined_since_its_installation_is_never_held() {
    // With the record of this installation, on its first boot and later.
    for boot in ['1', '2'] {
        let node = with_an_older_var();
        boots(&node, 'b', '1', true);
        assert_eq!(code(&node), Some(3));
        write(&node, CERTIFICATE, "issued to this installation");
        boots(&node, 'b', boot, boot == '1');
        assert_eq!(code(&node), Some(0), "boot {boot}");
    }
    // With a record of an older release, with that of another machine id, and with none.
    for record in [true, false] {
        let node = with_an_older_var();
        if !record {
            fs::remove_file(node.path(RECORD)).expect("removed");
        }
        boots(&node, 'b', '2', false);
        assert_eq!(code(&node), Some(0), "record: {record}");
    }
    let node = with_an_older_var();
    boots(&node, 'a', '1', true);
    code(&node);
    write(&node, CERTIFICATE, "issued to this installation");
    boots(&node, 'b', '2', false);
    assert_eq!(code(&node), Some(0), "the machine id was changed by hand");
    assert_eq!(code(&node), Some(0), "and again, with the new record");
    // Two signs at once.
    let node = Node::new(REFUSED);
    fs::remove_file(node.path("etc/ignition-machine-config-encapsulated.json")).expect("removed");
    write(&node, CERTIFICATE, "x");
    write(&node, "var/lib/kubelet/kubeconfig", "x");
    write(&node, "etc/machine-config-daemon/currentconfig", "{}");
    let checked = node.run_with("check", &["--output", "json"]);
    let verdict: Value = serde_json::from_slice(&checked.stdout).expect("a verdict");
    assert_eq!(verdict["deployment"]["firstBootFinished"], true);
}

/// Daemons of some releases write it before the rebase, and again when they roll back.
#[test]
fn the_daemons_currentconfig_alone_does_not_let_a_node_in() {
    let node = Node::new(REFUSED);
    write(&node, "etc/machine-config-daemon/currentconfig", "{}");
    assert_eq!(code(&node), Some(3));
}

/// `rpm-ostree kargs` and a rollback write the boot loader's configuration, and the links take
/// turns.
#[test]
fn a_write_of_the_boot_loader_is_no_rebase_and_another_commit_is_one() {
    for (deployment, expected) in [
        (format!("{COMMIT}.0"), 3),
        (format!("{COMMIT}.1"), 3),
        (format!("{}.0", "decade".repeat(10)), 0),
    ] {
        let node = Node::new(REFUSED);
        boots(&node, 'b', '1', true);
        assert_eq!(code(&node), Some(3));
        boots(&node, 'b', '2', false);
        let boot = node.path("sysroot/ostree/boot.0/rhcos/b007");
        fs::create_dir_all(&boot).expect("made");
        symlink(
            format!("../../../deploy/rhcos/deploy/{deployment}"),
            boot.join("0"),
        )
        .expect("linked");
        let origin = node.path(&format!(
            "sysroot/ostree/deploy/rhcos/deploy/{deployment}.origin"
        ));
        fs::write(origin, "[origin]\n").expect("written");
        write(
            &node,
            CMDLINE,
            "ignition.platform.id=metal ostree=/ostree/boot.0/rhcos/b007/0\n",
        );
        let output = node.run("enforce");
        assert_eq!(
            output.status.code(),
            Some(expected),
            "{deployment}: {}",
            stderr(&output)
        );
    }
}

/// As of an image that boots without ostree's links: nothing says that it was rebased.
#[test]
fn two_boots_without_an_ostree_argument_are_of_one_deployment() {
    let node = Node::new(REFUSED);
    for boot in ['1', '2'] {
        boots(&node, 'b', boot, boot == '1');
        let line = node.read(CMDLINE).expect("a line");
        let (line, _) = line.split_once("ostree=").expect("an argument");
        write(&node, CMDLINE, line);
        write(&node, "run/ostree-booted", "");
        assert_eq!(code(&node), Some(3), "boot {boot}");
        let warnings = &node.json("run/skewguard/verdict.json")["warnings"];
        assert_eq!(warnings, &json!([]), "boot {boot}");
    }
}

/// RHEL workers of packages have the same config, and no rebase: the Machine Config Operator's own
/// units are skipped there.
#[test]
fn a_system_without_deployments_is_left_alone() {
    let node = Node::new(REFUSED);
    write(
        &node,
        CMDLINE,
        "BOOT_IMAGE=(hd0,gpt2)/vmlinuz-4.18.0 root=/dev/mapper/rhel-root ro\n",
    );
    let before = node.files();
    let output = node.run("enforce");
    assert_eq!(
        (output.status.code(), stderr(&output).as_str()),
        (Some(0), "")
    );
    assert_eq!(node.files(), before);
    write(&node, "run/ostree-booted", "");
    assert_eq!(code(&node), Some(3));
}

/// The cluster updates the file on disk; what was served at the first boot stays as it was then.
#[test]
fn after_the_first_boot_the_policy_on_disk_counts() {
    let node = Node::new(REFUSED);
    let config = "etc/ignition-machine-config-encapsulated.json";
    fs::rename(node.path(config), node.path(&format!("{config}.bak"))).expect("renamed");
    write(
        &node,
        "var/lib/kubelet/pki/kubelet-client-current.pem",
        "joined",
    );
    let policy = node.read("etc/skewguard/policy.json").expect("a policy");
    write(
        &node,
        "etc/skewguard/policy.json",
        &policy.replace("\"Enforce\"", "\"Warn\""),
    );
    let checked = node.run_with("check", &["--output", "json"]);
    let verdict: Value = serde_json::from_slice(&checked.stdout).expect("a verdict");
    assert_eq!(
        (
            &verdict["policy"]["mode"],
            &verdict["policy"]["path"],
            &verdict["warnings"]
        ),
        (
            &json!("Warn"),
            &json!("/etc/skewguard/policy.json"),
            &json!([])
        )
    );
}
