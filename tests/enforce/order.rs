//! What `enforce` does first: nothing waits for a disk that is slow.

use crate::enforce::{ALLOWED, Node, REFUSED, WARNED};
use std::process::Command;

/// The system calls of `enforce` that name a file or sync one, in their order.
fn traced(node: &Node) -> Vec<String> {
    let trace = tempfile::NamedTempFile::new().expect("a temporary file");
    let output = Command::new("strace")
        .args(["-f", "-qq", "-y", "-o"])
        .arg(trace.path())
        .args(["-e", "trace=?fsync,?fdatasync,?linkat,?renameat,?renameat2"])
        .arg(env!("CARGO_BIN_EXE_skewguard"))
        .args(["enforce", "--root"])
        .arg(node.path(""))
        .env_remove("LD_LIBRARY_PATH")
        .output()
        .unwrap_or_else(|error| panic!("strace: {error}; install the Debian package strace"));
    assert!(output.status.code().is_some(), "{output:?}");
    let text = std::fs::read_to_string(trace.path()).expect("a trace");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_refused_node_is_held_before_anything_is_written_to_var() {
    let node = Node::new(REFUSED);
    let calls = traced(&node);
    let place = |what: &str| {
        let place = calls.iter().position(|call| call.contains(what));
        place.unwrap_or_else(|| panic!("nothing of {what}: {calls:#?}"))
    };
    assert!(place("\"refused\"") < place("/var/lib"), "{calls:#?}");
    // The record is the first file on the disk, and its folder: the next boot decides by it.
    let synced = calls.iter().filter(|call| call.contains("fsync("));
    let synced: Vec<&String> = synced.filter(|call| !call.contains("/run/")).collect();
    assert!(
        synced[0].contains("etc/skewguard/.boot-image.json"),
        "{synced:#?}"
    );
    assert!(synced[1].contains("etc/skewguard>"), "{synced:#?}");
    let at = calls.iter().position(|call| call == synced[0]).unwrap();
    assert!(at < place("/var/lib"), "{calls:#?}");
}

fn assert_waits_for_no_disk(node: &Node, what: &str) {
    let calls = traced(node);
    let synced: Vec<&String> = calls.iter().filter(|call| call.contains("sync(")).collect();
    assert!(synced.is_empty(), "{what}: {synced:#?}");
}

#[test]
fn a_node_that_goes_on_waits_for_no_disk() {
    for tree in [ALLOWED, WARNED] {
        let node = Node::new(tree);
        assert_waits_for_no_disk(&node, tree);
        assert!(node.path("etc/skewguard/boot-image.json").exists());
        assert_eq!(node.path("etc/motd.d/skewguard").exists(), tree == WARNED);
    }
    // Refused, and on the next boot let in: the message is taken away.
    let node = Node::new(REFUSED);
    traced(&node);
    std::fs::remove_dir_all(node.path("run")).expect("removed");
    std::fs::create_dir_all(node.path("run/skewguard")).expect("made");
    std::fs::write(node.path("run/skewguard/override"), "off").expect("written");
    assert_waits_for_no_disk(&node, "let in after a refusal");
    assert!(!node.path("etc/motd.d/skewguard").exists());
}
