//! After a reboot into another deployment: a rebase ends a refusal, and a local change on the boot
//! image does not.

use crate::enforce::{Node, REFUSED, stderr};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;

const RECORD: &str = "etc/skewguard/boot-image.json";
const DEPLOYMENTS: &str = "sysroot/ostree/deploy/rhcos/deploy";
const BOOT: &str = "b007000000000000000000000000000000000000000000000000000000000000";
const FIRST: &str = "c0ffee0000000000000000000000000000000000000000000000000000000000";
const OTHER: &str = "1ace0000000000000000000000000000000000000000000000000000000000ff";
/// `rpm-ostree` writes `baserefspec` as soon as something is added (`rust/src/origin.rs`).
const INSTALLED: &str = "baserefspec=x\n\n[packages]\nrequested=strace;\n";
const PIVOTED: &str = "refspec=1ace\ncustom-url=pivot://quay.io/ocp@sha256:00\n";

/// A refused node after its first run; the boot image's origin has this text.
fn refused(origin: &str) -> Node {
    let node = Node::new(REFUSED);
    write_origin(&node, FIRST, origin);
    write_ids(&node, '1');
    let output = node.run("enforce");
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    node
}

fn write_origin(node: &Node, commit: &str, origin: &str) {
    let path = node.path(&format!("{DEPLOYMENTS}/{commit}.0.origin"));
    fs::write(path, format!("[origin]\n{origin}")).expect("written");
}

fn write_ids(node: &Node, boot: char) {
    let boot_id = node.path("proc/sys/kernel/random/boot_id");
    fs::create_dir_all(boot_id.parent().expect("a folder")).expect("made");
    fs::write(boot_id, boot.to_string().repeat(32)).expect("written");
    fs::write(node.path("etc/machine-id"), "a".repeat(32)).expect("written");
}

/// Reboots into a deployment of another commit, with the same kernel and initramfs. `None`: its
/// origin is missing.
fn reboot(node: &Node, origin: Option<&str>, os_version: &str) {
    fs::remove_dir_all(node.path("run")).expect("/run is memory");
    write_ids(node, '2');
    let os_release = node.path("usr/lib/os-release");
    fs::write(
        os_release,
        format!("ID=rhcos\nOSTREE_VERSION='{os_version}'\n"),
    )
    .expect("written");
    if let Some(origin) = origin {
        write_origin(node, OTHER, origin);
    }
    // The links take turns with every write of the boot loader's configuration.
    let line = node.read("proc/cmdline").expect("a command line");
    let line = line.replace("/boot.1/", "/boot.0/");
    fs::write(node.path("proc/cmdline"), line).expect("written");
    let boot = node.path(&format!("sysroot/ostree/boot.0/rhcos/{BOOT}"));
    fs::create_dir_all(&boot).expect("made");
    let _ = fs::remove_file(boot.join("0"));
    symlink(
        format!("../../../deploy/rhcos/deploy/{OTHER}.0"),
        boot.join("0"),
    )
    .expect("linked");
}

/// Exit status of `enforce`, and why the verdict lets the node through.
fn decide(node: &Node) -> (Option<i32>, Value) {
    let output = node.run("enforce");
    let verdict = node.json("run/skewguard/verdict.json");
    (output.status.code(), verdict["letThrough"].clone())
}

const BOOT_IMAGE: &str = "412.86.202303211731-0";
const TARGET: &str = "9.6.20250826-1";

#[test]
fn a_local_commit_on_the_boot_image_is_no_rebase() {
    let of_a_container =
        "container-image-reference=ostree-image-signed:docker://quay.io/ocp:4.12\n";
    let of_a_commit = format!("refspec={FIRST}\n");
    let with = |base: &str, more: &str| format!("{base}\n[{more}\n");
    for (first, now) in [
        ("refspec=x\n", INSTALLED.to_owned()),
        (
            "refspec=x\n",
            with("baserefspec=x\n", "overrides]\nreplace-local=kernel-5-1;"),
        ),
        (
            "refspec=x\n",
            with("baserefspec=x\n", "rpmostree]\nregenerate-initramfs=true"),
        ),
        (
            "refspec=x\n",
            with("baserefspec=ostree://x\n", "packages]\nrequested=strace;"),
        ),
        // As the local-commit case from the field has it: the first run's commit by its name.
        (
            "refspec=x\n",
            with(
                "baserefspec=ostree://c0ffee\n",
                "packages]\nrequested=strace;",
            ),
        ),
        (
            &of_a_commit,
            with(
                &format!("base{of_a_commit}"),
                "packages]\nrequested=strace;",
            ),
        ),
        (
            of_a_container,
            with(of_a_container, "packages]\nrequested=strace;"),
        ),
    ] {
        let node = refused(first);
        reboot(&node, Some(&now), BOOT_IMAGE);
        assert_eq!(decide(&node), (Some(3), Value::Null), "{now}");
        // Once more, and a rebase on top of it.
        reboot(&node, Some(&now), BOOT_IMAGE);
        assert_eq!(decide(&node), (Some(3), Value::Null), "{now}");
        reboot(
            &node,
            Some(&format!("{PIVOTED}\n[packages]\nrequested=strace;\n")),
            TARGET,
        );
        assert_eq!(decide(&node), (Some(0), "Rebased".into()), "{now}");
    }
}

#[test]
fn another_base_or_another_version_is_a_rebase() {
    let of_a_container = |digest: char| {
        let digest = digest.to_string().repeat(64);
        format!(
            "container-image-reference=ostree-unverified-registry:quay.io/ocp@sha256:{digest}\n"
        )
    };
    for (first, now, os_version) in [
        ("refspec=x\n".to_owned(), of_a_container('a'), BOOT_IMAGE),
        ("refspec=x\n".to_owned(), PIVOTED.to_owned(), BOOT_IMAGE),
        (
            "refspec=x\n".to_owned(),
            "refspec=y\n".to_owned(),
            BOOT_IMAGE,
        ),
        ("refspec=x\n".to_owned(), "refspec=x\n".to_owned(), TARGET),
        (of_a_container('a'), of_a_container('b'), BOOT_IMAGE),
        (of_a_container('a'), of_a_container('a'), TARGET),
    ] {
        let node = refused(&first);
        reboot(&node, Some(&now), os_version);
        assert_eq!(decide(&node), (Some(0), "Rebased".into()), "{first} {now}");
    }
}

/// Doubt is no rebase: it is the policy's `onUndetermined` that lets the node through.
#[test]
fn an_origin_that_cannot_be_read_shows_no_rebase() {
    for origin in [None, Some(""), Some("[packages\nrefspec=\u{0}\n")] {
        let node = refused("refspec=x\n");
        reboot(&node, origin, BOOT_IMAGE);
        assert_eq!(decide(&node), (Some(0), "Unreadable".into()), "{origin:?}");
        let verdict = node.json("run/skewguard/verdict.json");
        assert_eq!(verdict["deployment"]["rebased"], false);
        let warnings = verdict["warnings"].to_string();
        assert!(
            warnings.contains("whether the node was rebased since is not known"),
            "{origin:?}: {warnings}"
        );
    }
}

#[test]
fn the_record_has_base_and_version_of_the_first_run() {
    let node = refused("container-image-reference=ostree-image-signed:docker://quay.io/ocp:4.12\n");
    let record = node.json(RECORD);
    assert_eq!(
        (&record["base"], &record["osVersion"]),
        (
            &"ostree-image-signed:docker://quay.io/ocp:4.12".into(),
            &BOOT_IMAGE.into()
        )
    );
}
