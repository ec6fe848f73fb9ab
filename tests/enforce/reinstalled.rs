//! What an installation is: /var may be older, and `ostree=` changes without a rebase.

use crate::enforce::{Node, REFUSED, stderr};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

const CMDLINE: &str = "proc/cmdline";
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

fn code(node: &Node) -> Option<i32> {
    node.run("enforce").status.code()
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
        "etc/machine-config-daemon/node-annotation.json.bak",
        "{}",
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
