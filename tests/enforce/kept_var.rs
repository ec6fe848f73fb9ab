//! A later boot of the same installation, and a /var that an earlier installation left and that is
//! full, read-only, or was not written to before the first run ended.
//!
//! The mounts need a mount namespace of their own, with root rights inside and none outside.

use crate::enforce::{ALLOWED, Node, REFUSED, sample, stderr};
use crate::support::world;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const CERTIFICATE: &str = "var/lib/kubelet/pki/kubelet-client-current.pem";

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
             boot 1 first
             head -c 12582912 /dev/zero >boot/kernel
             boot 2 later
             rm var/lib/skewguard/boot-image.json; boot 3 later
             rm var/lib/skewguard/boot-image.json; boot 4 first"
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
    assert_eq!(rule(4), (3, json!("Fail")), "a first boot");
}

/// What an earlier installation left: its certificate, its record, what it told the cluster.
const OLD_VAR: &str = r#"
mkdir -p var/lib/kubelet/pki var/lib/skewguard
echo of the earlier installation >var/lib/kubelet/pki/kubelet-client-current.pem
touch -d 2024-01-01 var/lib/kubelet/pki/kubelet-client-current.pem
echo '{"apiVersion":"skewguard.dev/v1alpha1","kind":"BootImageRecord","version":"418.94.202501221327-0","ostree":"/ostree/boot.0/rhcos/a11ce/0","machineID":"0123456789abcdef0123456789abcdef","bootID":"99999999999999999999999999999999"}' >var/lib/skewguard/boot-image.json
"#;

/// Whether or not the record fits, and wherever it is, the old certificate lets nobody in.
#[test]
fn a_kept_var_that_takes_nothing_does_not_let_a_refused_node_in() {
    let read_only = "mount --bind var var; mount -o remount,bind,ro var";
    let full = "mkdir keep; cp -a var/. keep/; mount -t tmpfs -o size=64k,mode=755 tmpfs var; cp -a keep/. var/; head -c 100000 /dev/zero >var/fill 2>/dev/null || true";
    for (fault, kept, words) in [
        (
            read_only,
            "etc/skewguard/boot-image.json",
            "Read-only file system",
        ),
        // Forgetting made room.
        (full, "var/lib/skewguard/boot-image.json", ""),
        (
            &*format!(
                "{full}; head -c 100000 /dev/zero >var/lib/skewguard/boot-image.json 2>/dev/null || true; rm -f var/lib/skewguard/*; head -c 100000 /dev/zero >var/fill2 2>/dev/null || true"
            ),
            "etc/skewguard/boot-image.json",
            "No space left on device",
        ),
    ] {
        let boots = Boots::of(
            REFUSED,
            &format!(
                "{OLD_VAR}{fault}\nboot 1 first\nls {kept} >&2\nboot 1 first\nboot 2 later\nboot 3 later"
            ),
        );
        for boot in 1..=3 {
            assert_eq!(
                boots.status(boot),
                3,
                "{fault}: boot {boot}: {}",
                boots.read(&format!("{boot}.err"))
            );
        }
        let warnings = boots.verdict(2)["warnings"].to_string();
        assert!(!warnings.contains("rebased since"), "{warnings}");
        let said = boots.read("1.err");
        assert!(said.contains(words), "{said}");
    }
}

/// Where neither /var nor /etc takes it, it is kept for this boot, and the next one has no evidence.
#[test]
fn a_record_that_fits_nowhere_is_kept_for_this_boot_with_a_reason() {
    let boots = Boots::of(
        REFUSED,
        &format!(
            "{OLD_VAR}for dir in var etc/skewguard; do mount --bind $dir $dir; mount -o remount,bind,ro $dir; done
             boot 1 first; cp run/skewguard/boot-image.json \"$AFTER/record\""
        ),
    );
    assert_eq!(boots.status(1), 3);
    assert!(boots.read("record").contains("BootImageRecord"));
    let verdict = boots.verdict(1);
    let warnings: Vec<&str> = verdict["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let read_only = "Read-only file system (os error 30)";
    assert_eq!(
        warnings,
        [
            &*format!("/var/lib/skewguard/boot-image.json: {read_only}"),
            &*format!("/etc/skewguard/boot-image.json: {read_only}"),
            "the record of this first run is in /run/skewguard/boot-image.json instead",
        ]
    );
}

/// The first run was ended before it made a record. The config of this installation is newer than
/// what is left of the earlier one.
#[test]
fn without_a_record_an_older_certificate_is_no_evidence() {
    let boots = Boots::of(
        REFUSED,
        &format!(
            "{OLD_VAR}rm var/lib/skewguard/*; touch etc/ignition-machine-config-encapsulated.json
             boot 2 later
             rm var/lib/skewguard/*
             touch {CERTIFICATE}; boot 3 later"
        ),
    );
    assert_eq!((boots.status(2), boots.status(3)), (3, 0));
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
