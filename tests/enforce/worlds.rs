//! What the record says and what is said by it. Which node is held on which boot is in `oracle`.

use crate::enforce::{Node, REFUSED, stderr};
use crate::support::certificate::signed;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

const CONFIG: &str = "etc/ignition-machine-config-encapsulated.json";
const SERVED: &str = "etc/mcs-machine-config-content.json";
const POLICY: &str = "etc/skewguard/policy.json";
const CERTIFICATE: &str = "var/lib/kubelet/pki/kubelet-client-current.pem";
const RECORD: &str = "etc/skewguard/boot-image.json";

fn write(node: &Node, path: &str, text: &str) {
    let path = node.path(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("made");
    let _ = fs::remove_file(&path);
    fs::write(path, text).expect("written");
}

fn touch(node: &Node, path: &str, when: &str) {
    let mut touch = Command::new("touch");
    let status = touch.args(["-d", when]).arg(node.path(path)).status();
    assert!(status.expect("touch starts").success());
}

/// A boot: the first of the installation is boot 1.
fn boots(node: &Node, boot: u32, words: &str) {
    for path in ["run/skewguard", "run/systemd"] {
        let _ = fs::remove_dir_all(node.path(path));
    }
    let id = format!("{boot:032}");
    write(node, "proc/sys/kernel/random/boot_id", &id);
    let line = node.read("proc/cmdline").expect("a command line");
    let (_, line) = line.split_once("random.trust_cpu").expect("a real one");
    let first = if boot == 1 { "ignition.firstboot" } else { "" };
    write(
        node,
        "proc/cmdline",
        &format!("{first} {words} random.trust_cpu{line}"),
    );
}

/// The boot, and its verdict: held (`H`), let in (`G`).
fn boot(node: &Node, boot: u32) -> (char, Value) {
    boot_with(node, boot, "")
}

fn boot_with(node: &Node, boot: u32, words: &str) -> (char, Value) {
    boots(node, boot, words);
    let output = node.run("enforce");
    let verdict = node.json("run/skewguard/verdict.json");
    let fate = match output.status.code() {
        Some(3) => 'H',
        Some(0) => 'G',
        _ => panic!("{}", stderr(&output)),
    };
    (fate, verdict)
}

fn fate(node: &Node, number: u32) -> char {
    boot(node, number).0
}

/// The boots from that one on, three of them.
fn fates(node: &Node, from: u32) -> String {
    (from..from + 3).map(|number| fate(node, number)).collect()
}

/// Whether the node is said to have joined, or that it may have.
fn joined(verdict: &Value) -> (bool, bool) {
    let flag = |name: &str| verdict["deployment"][name] == true;
    (flag("firstBootFinished"), flag("mayHaveJoined"))
}

fn refused() -> Node {
    let node = Node::new(REFUSED);
    touch(&node, CONFIG, "now");
    node
}

/// A kubelet keeps its former ones beside it.
#[test]
fn every_certificate_that_the_first_run_saw_is_old() {
    let node = refused();
    write(&node, CERTIFICATE, &signed(0));
    let other = signed(0);
    let former = "var/lib/kubelet/pki/kubelet-client-2025-01-01.pem";
    write(&node, former, &other);
    assert_eq!(fate(&node, 1), 'H');
    write(&node, CERTIFICATE, &other);
    assert_eq!(fate(&node, 2), 'H');
    write(&node, CERTIFICATE, &signed(0));
    assert_eq!(fate(&node, 3), 'G');
}

/// The daemon's pod renames it on a Node. Its annotations alone are older than that.
#[test]
fn what_the_daemon_leaves_on_a_node_shows_that_it_joined() {
    let file = "etc/machine-config-daemon/node-annotation.json";
    let node = refused();
    write(&node, file, "{}");
    write(&node, "etc/machine-config-daemon/currentconfig", "{}");
    assert_eq!(fates(&node, 1), "HHH");
    write(&node, &format!("{file}.bak"), "{}");
    let (fate, verdict) = boot(&node, 4);
    assert_eq!((fate, joined(&verdict)), ('G', (true, false)));
}

#[test]
fn a_refusal_whose_hold_stood_outlives_what_it_was_decided_by() {
    for (path, text) in [
        (CONFIG, ""),
        (CONFIG, "{ \"meta"),
        (SERVED, ""),
        (POLICY, ""),
    ] {
        let damaged = || {
            let node = refused();
            if path == POLICY {
                fs::remove_file(node.path(SERVED)).expect("removed");
            }
            assert_eq!(fate(&node, 1), 'H');
            write(&node, path, text);
            node
        };
        let node = damaged();
        for number in 2..5 {
            let (fate, verdict) = boot(&node, number);
            let message = verdict["message"].as_str().expect("a message");
            assert_eq!(
                (fate, &verdict["verdict"]),
                ('H', &json!("Refused")),
                "{path}"
            );
            assert!(message.starts_with(&format!("/{path}: ")), "{message}");
            assert_eq!(
                message
                    .matches("it stays refused, as decided at 20")
                    .count(),
                1,
                "{message}"
            );
        }
        for word in ["off", "warn"] {
            for quoted in [format!("skewguard={word}"), format!("\"skewguard={word}\"")] {
                assert_eq!(boot_with(&damaged(), 2, &quoted).0, 'G', "{path} {quoted}");
            }
        }
        // A hold that did not stand.
        let node = damaged();
        let mut record = node.json(RECORD);
        record["refusal"]["gate"]["held"] = json!(false);
        write(&node, RECORD, &record.to_string());
        assert_eq!(fate(&node, 2), 'G', "{path}: it was not held");
    }
}

/// Another deployment is booted, of a target's image.
fn rebase(node: &Node) {
    let name = format!("{}.0", "decade".repeat(10));
    let deployments = node.path("sysroot/ostree/deploy/rhcos/deploy");
    let origin =
        "[origin]\ncontainer-image-reference=ostree-unverified-registry:quay.io/ocp:4.18\n";
    fs::write(deployments.join(format!("{name}.origin")), origin).expect("written");
    let links = node.path("sysroot/ostree/boot.1/rhcos");
    for link in fs::read_dir(links).expect("listed") {
        let link = link.expect("one").path().join("0");
        fs::remove_file(&link).expect("removed");
        symlink(format!("../../../deploy/rhcos/deploy/{name}"), link).expect("linked");
    }
}

/// /etc and /var of a seed, as installers copy them onto another image.
#[test]
fn the_record_of_another_image_is_none() {
    let node = refused();
    let seed = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageRecord",
        "version": "418.94.202501221327-0", "path": "/sysroot/.coreos-aleph-version.json",
        "deployment": "decade.0", "base": "y", "osVersion": "418.94.202501221327-0",
        "bootID": "9".repeat(32), "certificates": [], "kubeletOnEtc": true });
    write(&node, RECORD, &seed.to_string());
    assert_eq!(fates(&node, 2), "HHH");
    assert_eq!(node.json(RECORD)["bootID"], format!("{:032}", 2));
    let kept = node.json("var/lib/skewguard/verdict.json");
    assert_eq!(kept["installation"], format!("{:032}", 2));
}

#[test]
fn the_argument_of_a_first_boot_begins_anew_unless_the_record_is_of_this_boot() {
    let node = refused();
    write(&node, CERTIFICATE, &signed(30));
    assert_eq!(fate(&node, 1), 'H');
    let first = node.json(RECORD);
    // A second run of one boot shares its record.
    node.run("enforce");
    assert_eq!(node.json(RECORD), first);
    // Its removal was not synced.
    boots(&node, 2, "ignition.firstboot");
    assert_eq!(node.run("enforce").status.code(), Some(3));
    assert_eq!(node.json(RECORD)["bootID"], format!("{:032}", 2));
    assert_eq!(fates(&node, 3), "HHH");
}

/// Once the node is past what it was refused for.
#[test]
fn the_report_takes_the_refusal_out() {
    for joins in [false, true] {
        let node = refused();
        assert_eq!(fate(&node, 1), 'H');
        let rest = |node: &Node| {
            let mut record = node.json(RECORD);
            let fields = record.as_object_mut().expect("an object");
            fields.remove("refusal");
            fields.remove("refusedAt");
            record
        };
        let record = rest(&node);
        assert_eq!(node.json(RECORD)["refusal"]["gate"]["held"], true);
        boots(&node, 2, "");
        node.run_with("report", &["--once"]);
        assert_eq!(node.json(RECORD)["refusal"]["gate"]["held"], true);
        if joins {
            write(&node, CERTIFICATE, &signed(0));
        } else {
            rebase(&node);
        }
        node.run_with("report", &["--once"]);
        assert_eq!(node.json(RECORD), record);
    }
}
