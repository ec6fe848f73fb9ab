//! A first run that is cut off, or that never came: what later boots make of what it left undone.

use crate::enforce::{ALLOWED, Node, REFUSED, stderr};
use crate::support::certificate::signed;
use crate::support::world;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const CONFIG: &str = "etc/ignition-machine-config-encapsulated.json";
const CERTIFICATE: &str = "var/lib/kubelet/pki/kubelet-client-current.pem";
const RECORD: &str = "etc/skewguard/boot-image.json";
const KEPT: &str = "var/lib/skewguard/verdict.json";
const UNTOLD: &str = "var/lib/skewguard/untold-verdict.json";
const MACHINE: &str = "0123456789abcdef0123456789abcdef";

fn write(node: &Node, path: &str, text: &str) {
    let path = node.path(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("made");
    fs::write(path, text).expect("written");
}

fn touch(node: &Node, path: &str, day: &str) {
    let status = Command::new("touch")
        .args(["-d", day])
        .arg(node.path(path))
        .status();
    assert!(status.expect("touch starts").success());
}

/// A refused node with a certificate that an earlier installation left on /var.
fn with_an_old_certificate() -> Node {
    let node = Node::new(REFUSED);
    write(&node, CERTIFICATE, &signed(400));
    touch(&node, CONFIG, "now");
    node
}

/// A boot, the first of the installation or a later one.
fn boots(node: &Node, boot: u32) {
    let _ = fs::remove_dir_all(node.path("run/skewguard"));
    let _ = fs::remove_dir_all(node.path("run/systemd"));
    write(node, "etc/machine-id", MACHINE);
    write(
        node,
        "proc/sys/kernel/random/boot_id",
        &format!("{boot:032}"),
    );
    let line = node.read("proc/cmdline").expect("a command line");
    let line = line.replace("ignition.firstboot ", "");
    let first = if boot == 1 { "ignition.firstboot " } else { "" };
    write(node, "proc/cmdline", &format!("{first}{line}"));
}

fn code(node: &Node) -> Option<i32> {
    node.run("enforce").status.code()
}

/// The exit status of `enforce` on each of these boots.
fn codes(node: &Node, numbers: impl IntoIterator<Item = u32>) -> Vec<Option<i32>> {
    let boot = |number| {
        boots(node, number);
        code(node)
    };
    numbers.into_iter().map(boot).collect()
}

/// Runs `enforce` on the first boot of nodes that `make` makes, and kills it as it is about to rename
/// or remove a file: another one with every node. Those on which it had the time to refuse.
fn cut_off(make: impl Fn() -> Node) -> Vec<(String, Node)> {
    let mut refused = Vec::new();
    for call in ["renameat", "unlinkat"] {
        for nth in 1.. {
            let node = make();
            boots(&node, 1);
            let inject = format!("inject={call}:signal=KILL:when={nth}");
            let output = Command::new("strace")
                .args(["-f", "-qq", "-o", "/dev/null", "-e"])
                .args([&*format!("trace={call}"), "-e", &inject])
                .arg(env!("CARGO_BIN_EXE_skewguard"))
                .args(["enforce", "--root"])
                .arg(node.path(""))
                .env_remove("LD_LIBRARY_PATH")
                .output()
                .unwrap_or_else(|error| {
                    panic!("strace: {error}; install the Debian package strace")
                });
            if output.status.code() == Some(3) {
                break;
            }
            if node.is_stamped() {
                refused.push((format!("{call} {nth}"), node));
            }
        }
    }
    assert!(refused.len() > 8, "only {} of them", refused.len());
    refused
}

#[test]
fn a_refusal_that_was_cut_off_holds_on_every_later_boot() {
    for loss in [None, Some(""), Some("{ \"apiVersion\"")] {
        for (n, (at, node)) in cut_off(with_an_old_certificate).into_iter().enumerate() {
            if n % 5 == 0 {
                // It waits for a random part of a few seconds.
                node.run_with("report", &["--once"]);
            } else if let Some(loss) = loss {
                write(&node, RECORD, loss);
            }
            assert_eq!(codes(&node, 2..4), [Some(3); 2], "{loss:?}, {at}");
            let issue = node.read("etc/issue").expect("a message");
            assert_eq!(issue.matches("NODE REFUSED").count(), 1, "{at}: {issue}");
            write(&node, CERTIFICATE, &signed(0));
            assert_eq!(codes(&node, [4]), [Some(0)], "{loss:?}, {at}");
        }
    }
}

/// In a mount namespace of its own, because /boot is a file system.
#[test]
fn a_node_without_space_in_boot_stays_held_if_its_first_run_is_cut_off() {
    let policy = r#"{"apiVersion":"skewguard.dev/v1alpha1","kind":"BootImageSkewPolicy","mode":"Enforce","limits":[{"minimumOCPVersion":"4.13.0","minimumBootFreeMiB":100}]}"#;
    let script = r#"
set -eu
for n in $(seq 30); do
    mkdir "$W/$n"; mount -t tmpfs -o mode=755 tmpfs "$W/$n"; cd "$W/$n"; cp -a "$TREE/." .
    rm etc/mcs-machine-config-content.json; echo "$POLICY" >etc/skewguard/policy.json
    mkdir -p boot proc/sys/kernel/random; mount -t tmpfs -o size=64m tmpfs boot
    mkdir -p boot/ostree/rhcos-1 boot/loader/entries; touch boot/loader/entries/1.conf
    echo 0123456789abcdef0123456789abcdef >etc/machine-id; cp proc/cmdline cmdline
    boot() { printf '%032d\n' "$1" >proc/sys/kernel/random/boot_id; sed "s/^/$2 /" cmdline >proc/cmdline; }
    boot 1 ignition.firstboot
    strace -f -qq -o /dev/null -e trace=renameat -e inject=renameat:signal=KILL:when="$n" "$PROGRAM" enforce --root . && exit 1
    [ -e run/skewguard/refused ] || continue
    for later in 2 3; do
        rm -rf run/skewguard run/systemd; boot "$later" ""
        "$PROGRAM" enforce --root . && { echo "killed at $n: let in on boot $later"; exit 1; }
    done
    echo "held: $n"
done"#;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let output = world::output(
        world::shell(&[], script)
            .env("W", dir.path())
            .env("TREE", crate::enforce::sample(ALLOWED))
            .env("POLICY", policy)
            .env("PROGRAM", env!("CARGO_BIN_EXE_skewguard"))
            .env_remove("LD_LIBRARY_PATH"),
    );
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", stderr(&output));
    assert!(said.matches("held: ").count() > 8, "{said}");
}

/// What an earlier installation told the cluster is not this one's, and what this one had to tell is
/// not lost.
#[test]
fn what_was_told_and_what_was_not_is_this_installations() {
    let make = || {
        let node = with_an_old_certificate();
        write(&node, UNTOLD, "{}");
        node
    };
    for (n, (at, node)) in cut_off(make).into_iter().enumerate() {
        if n % 5 == 0 {
            node.run_with("report", &["--once"]);
        }
        boots(&node, 2);
        write(&node, "run/skewguard/override", "off");
        assert_eq!(code(&node), Some(0), "{at}");
        let untold = node.json(UNTOLD);
        assert_eq!(
            (&untold["verdict"], &untold["gate"]["held"]),
            (&json!("Refused"), &json!(true)),
            "{at}: {untold:#}"
        );
        assert_eq!(node.json(KEPT)["verdict"], "Disabled", "{at}");
    }
}

/// The report's unit starts beside it where somebody starts it again.
#[test]
fn a_report_that_starts_beside_a_decision_leaves_its_message() {
    let (node, twin) = (Node::new(REFUSED), Node::new(REFUSED));
    boots(&node, 1);
    boots(&twin, 1);
    assert_eq!(code(&twin), Some(3));
    fs::create_dir_all(node.path("run/skewguard")).expect("made");
    let lock = fs::File::create(node.path("run/skewguard/lock")).expect("made");
    lock.lock().expect("locked");
    let mut report = node
        .program("report")
        .arg("--once")
        .stderr(Stdio::null())
        .spawn()
        .expect("skewguard starts");
    let fds = format!("/proc/{}/fd", report.id());
    let waits = || {
        let open = fs::read_dir(&fds).into_iter().flatten().flatten();
        let link = |entry: fs::DirEntry| fs::read_link(entry.path()).ok();
        open.filter_map(link)
            .any(|file| file == node.path("run/skewguard/lock"))
    };
    while !waits() {
        assert!(report.try_wait().expect("asked").is_none(), "it has ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    // The decision ends with a refusal.
    for folder in ["etc", "var", "run"] {
        copy(&twin.path(folder), &node.path(folder));
    }
    drop(lock);
    report.wait().expect("it ends");
    let issue = node.read("etc/issue").expect("a message");
    assert_eq!(issue.matches("NODE REFUSED").count(), 1, "{issue}");
    assert!(node.path("etc/motd.d/skewguard").exists() && node.is_stamped());
}

fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp")
        .args(["-a", "--remove-destination"])
        .args([from.join("."), to.to_owned()])
        .status();
    assert!(status.expect("cp starts").success());
}
