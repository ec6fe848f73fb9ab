//! `enforce` and `allow` at the same moment: one comes after the other, and what `allow` says
//! holds.

use crate::enforce::{Node, REFUSED};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn a_node_that_was_let_through_stays_so_whatever_ran_beside_it() {
    for turn in 0..40_u64 {
        let node = Node::new(REFUSED);
        assert_eq!(node.run("enforce").status.code(), Some(3));
        let before =
            fs::read_link(node.path("etc/issue.skewguard-saved")).expect("the link that was there");
        let start = |command| {
            node.program(command)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("skewguard starts")
        };
        let enforce = start("enforce");
        std::thread::sleep(Duration::from_micros(turn * 100));
        let allow = start("allow").wait_with_output().expect("it ends");
        enforce.wait_with_output().expect("it ends");
        assert_eq!(allow.status.code(), Some(0), "{turn}: {allow:?}");
        assert!(
            !node.is_stamped(),
            "{turn}: allow said that the node goes on"
        );
        assert_eq!(node.held(), [""; 0], "{turn}");
        let issue = node.path("etc/issue");
        // `enforce` comes second: it warns. `allow` comes second: the console is what it was.
        match fs::read_link(&issue) {
            Ok(link) => assert_eq!(link, before, "{turn}"),
            Err(_) => {
                let text = fs::read_to_string(issue).expect("a message");
                assert!(!text.contains("NODE REFUSED"), "{turn}: {text}");
            }
        }
    }
}

#[test]
fn whoever_keeps_the_lock_does_not_keep_the_boot() {
    let node = Node::new(REFUSED);
    assert_eq!(node.run("enforce").status.code(), Some(3));
    let mut keeper = Command::new("flock")
        .arg("--no-fork")
        .arg(node.path("run/skewguard/lock"))
        .args(["sleep", "1000"])
        .spawn()
        .expect("flock(1)");
    while !is_locked(&node.path("run/skewguard/lock")) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = node.run("enforce");
    assert_eq!(output.status.code(), Some(3));
    let note = "skewguard: /run/skewguard/lock: is locked by another skewguard; going on without the lock\n";
    assert!(
        crate::enforce::stderr(&output).starts_with(note),
        "{output:?}"
    );
    assert!(
        keeper.try_wait().expect("asked").is_none(),
        "the lock was kept all the while"
    );
    // A person waits until a boot's decision has come to its end.
    let allow = node
        .program("allow")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("skewguard starts");
    std::thread::sleep(Duration::from_secs(4));
    assert!(node.is_stamped());
    keeper.kill().expect("killed");
    keeper.wait().expect("it ended");
    let allow = allow.wait_with_output().expect("it ends");
    assert_eq!(
        (allow.status.code(), crate::enforce::stderr(&allow).as_str()),
        (Some(0), "")
    );
    assert!(!node.is_stamped());
}

fn is_locked(path: &Path) -> bool {
    fs::File::open(path).expect("the file").try_lock().is_err()
}
