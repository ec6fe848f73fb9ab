//! A later boot of the same installation, and a /var that an earlier installation left and that is
//! full, read-only, or was not written to before the first run ended.
//!
//! The mounts need a mount namespace of their own, with root rights inside and none outside.

use crate::enforce::{ALLOWED, Node, REFUSED, sample, stderr};
use crate::support::certificate::signed;
use crate::support::world;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// `boot N first|later` runs `enforce` as on that boot, and keeps the exit status and the verdict.
const BOOTS: &str = r#"
boot() {
    rm -rf run/skewguard run/systemd/system; mkdir -p run/systemd/system proc/sys/kernel/random
    printf '%032d\n' "$1" >proc/sys/kernel/random/boot_id
    echo 0123456789abcdef0123456789abcdef >etc/machine-id
    case $2 in first) first=ignition.firstboot ;; *) first= ;; esac
    sed "s/^/$first /" cmdline >proc/cmdline
    status=0; "$PROGRAM" enforce --root "$W" 2>"$AFTER/$1.err" || status=$?
    echo $status >"$AFTER/$1.status"; cp run/skewguard/verdict.json "$AFTER/$1.json"
}
"#;

struct Boots(tempfile::TempDir);

impl Boots {
    /// Runs a script (sh, in the tree's root) on a copy of a tree.
    fn of(name: &str, script: &str) -> Self {
        let tree = tempfile::tempdir().unwrap();
        let after = Self(tempfile::tempdir().unwrap());
        let script = format!(
            "set -eu\nmount -t tmpfs -o mode=755 tmpfs \"$W\"\ncp -a \"$TREE/.\" \"$W\"\ncd \"$W\"\ncp proc/cmdline .\n{BOOTS}\n{script}"
        );
        let output = world::output(
            world::shell(&[], &script)
                .env("W", tree.path())
                .env("AFTER", after.0.path())
                .env("TREE", sample(name))
                .env("PROGRAM", env!("CARGO_BIN_EXE_skewguard")),
        );
        assert!(output.status.success(), "{}", stderr(&output));
        after
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join(name)).unwrap()
    }

    fn status(&self, boot: u32) -> i32 {
        let status = self.read(&format!("{boot}.status"));
        status.trim().parse().unwrap()
    }

    fn verdict(&self, boot: u32) -> Value {
        serde_json::from_str(&self.read(&format!("{boot}.json"))).unwrap()
    }
}

/// The rebase puts its kernel there and loses power. What there was at first counts.
#[test]
fn the_space_in_boot_is_that_of_the_first_run() {
    let policy = r#"{"apiVersion":"skewguard.dev/v1alpha1","kind":"BootImageSkewPolicy","mode":"Enforce","limits":[{"minimumOCPVersion":"4.13.0","minimumBootFreeMiB":8}]}"#;
    let boots = Boots::of(
        ALLOWED,
        &format!(
            "rm etc/mcs-machine-config-content.json; echo '{policy}' >etc/skewguard/policy.json
             mkdir boot; mount -t tmpfs -o size=16m tmpfs boot
             mkdir -p boot/ostree/rhcos-1 boot/loader/entries; touch boot/loader/entries/1.conf
             boot 1 first
             mkdir boot/ostree/rhcos-2; head -c 12582912 /dev/zero >boot/ostree/rhcos-2/kernel
             boot 2 later
             rm etc/skewguard/boot-image.json; boot 3 later
             rm etc/skewguard/boot-image.json; boot 4 first
             rm etc/skewguard/boot-image.json; rm -r boot/ostree/rhcos-2; head -c 12582912 /dev/zero >boot/ostree/rhcos-1/kernel; boot 5 first
             rm boot/ostree/rhcos-1/kernel; boot 6 later"
        ),
    );
    let rule = |boot| {
        let verdict = boots.verdict(boot);
        let findings = verdict["findings"].as_array().unwrap().clone();
        let of = findings
            .iter()
            .find(|found| found["rule"] == "BootSpaceBelowMinimum")
            .unwrap_or_else(|| panic!("{findings:?}"));
        (boots.status(boot), of["result"].clone())
    };
    assert_eq!(rule(1), (0, json!("Pass")));
    assert_eq!(rule(2), (0, json!("Pass")), "the record has what there was");
    assert_eq!(rule(3), (0, json!("NotEvaluated")), "nobody knows");
    assert_eq!(
        rule(4),
        (0, json!("NotEvaluated")),
        "a kernel is there without an entry"
    );
    assert_eq!(rule(5), (3, json!("Fail")), "a first boot");
    assert_eq!(rule(6), (0, json!("Pass")), "room was made");
}

/// What an earlier installation left in /var, which takes nothing, and what of it the record says.
#[test]
fn a_kept_var_that_takes_nothing_does_not_let_a_refused_node_in() {
    let read_only = "mount --bind var var; mount -o remount,bind,ro var";
    let full = "mount -t tmpfs -o size=64k,mode=755 tmpfs var; mkdir -p var/lib/kubelet/pki; echo \"$PEM\" >var/lib/kubelet/pki/kubelet-client-current.pem; head -c 100000 /dev/zero >var/fill 2>/dev/null || true";
    for fault in [read_only, full] {
        let boots = Boots::of(
            REFUSED,
            &format!(
                "mkdir -p var/lib/kubelet/pki var/lib/skewguard; PEM='{}'
                 echo \"$PEM\" >var/lib/kubelet/pki/kubelet-client-current.pem
                 {fault}\nboot 1 first\nboot 1 first\nboot 2 later\nboot 3 later",
                signed(0)
            ),
        );
        for boot in 1..=3 {
            let said = boots.read(&format!("{boot}.err"));
            assert_eq!(boots.status(boot), 3, "{fault}: boot {boot}: {said}");
        }
    }
}

/// Where /etc does not take it, it is kept for this boot, and the next one decides anew. The node is
/// one node for the cluster.
#[test]
fn a_record_that_fits_nowhere_is_kept_for_this_boot_with_a_reason() {
    let boots = Boots::of(
        REFUSED,
        "mount --bind etc/skewguard etc/skewguard; mount -o remount,bind,ro etc/skewguard
         for n in 1 2; do
             boot $n $([ $n = 1 ] && echo first || echo later)
             cp run/skewguard/boot-image.json \"$AFTER/record-$n\"
             cp var/lib/skewguard/verdict.json \"$AFTER/kept-$n\"
         done",
    );
    let mut ids = Vec::new();
    for boot in [1, 2] {
        assert_eq!(boots.status(boot), 3);
        assert!(
            boots
                .read(&format!("record-{boot}"))
                .contains("BootImageRecord")
        );
        let kept: Value = serde_json::from_str(&boots.read(&format!("kept-{boot}"))).unwrap();
        ids.push(kept["installation"].clone());
        let verdict = boots.verdict(boot);
        assert_eq!(
            verdict["warnings"],
            json!([
                "/etc/skewguard/boot-image.json: Read-only file system (os error 30)",
                "the record of the first run is in /run/skewguard/boot-image.json instead",
            ])
        );
    }
    assert!(ids[0].is_string() && ids[0] == ids[1], "{ids:?}");
}

fn write(node: &Node, path: &str, bytes: &[u8]) {
    let path = node.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// The boot loader's links took turns, and today's cannot be read: that is no rebase.
#[test]
fn a_deployment_that_cannot_be_found_is_no_rebase() {
    for refuses in [false, true] {
        let node = Node::new(REFUSED);
        fs::remove_file(node.path("etc/mcs-machine-config-content.json")).unwrap();
        let policy = node.read("etc/skewguard/policy.json").unwrap();
        let policy = if refuses {
            policy.replace(
                r#""onUndetermined": "Proceed""#,
                r#""onUndetermined": "Refuse""#,
            )
        } else {
            policy
        };
        assert_eq!(policy.contains("Refuse"), refuses);
        write(&node, "etc/skewguard/policy.json", policy.as_bytes());
        assert_eq!(node.run("enforce").status.code(), Some(3));
        fs::remove_dir_all(node.path("run")).unwrap();
        let line = node.read("proc/cmdline").unwrap();
        let line = line.replace("/ostree/boot.1/", "/ostree/boot.0/");
        assert!(line.contains("boot.0"));
        write(&node, "proc/cmdline", line.as_bytes());
        let output = node.run("enforce");
        let verdict = node.json("run/skewguard/verdict.json");
        assert_eq!(verdict["deployment"]["rebased"], false, "{verdict:#}");
        assert_eq!(verdict["deployment"]["unreadable"], true, "{verdict:#}");
        assert_eq!(
            output.status.code(),
            Some(if refuses { 3 } else { 0 }),
            "{verdict:#}"
        );
    }
}

/// One byte in a value that nobody reads.
#[test]
fn os_release_is_read_whatever_else_is_in_it() {
    let node = Node::new(REFUSED);
    for path in ["etc/os-release", "usr/lib/os-release"] {
        let mut bytes = fs::read(node.path(path)).unwrap();
        bytes.extend(b"\nVENDOR_NAME=\"M\xfcller\"\n");
        if !Path::new(&node.path(path)).is_symlink() {
            write(&node, path, &bytes);
        }
    }
    assert_eq!(node.run("enforce").status.code(), Some(3));
}
