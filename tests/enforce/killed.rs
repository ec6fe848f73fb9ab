//! Killed at any moment: every file is the old one or the new one, and the next run comes to the same end.

use crate::{Node, REFUSED, assert_contents};
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn a_kill_at_any_moment_leaves_whole_files_and_is_made_good_by_the_next_run() {
    let whole = Node::new(REFUSED);
    assert_eq!(whole.run("enforce").status.code(), Some(3));
    let expected = whole.files();
    let (mut cut_short, mut done) = (0, 0);
    for n in 0..60 {
        let node = Node::new(REFUSED);
        let mut program = Command::new(env!("CARGO_BIN_EXE_skewguard"));
        let child = program.arg("enforce").arg("--root").arg(node.path("")).stderr(Stdio::null()).spawn();
        let mut child = child.expect("skewguard starts");
        std::thread::sleep(Duration::from_micros(300 * n));
        let _ = child.kill();
        let status = child.wait().expect("it ended");
        let what = format!("killed after {} us", 300 * n);
        if status.code().is_some() {
            done += 1
        } else {
            cut_short += 1
        }

        // A temporary file may be left by a kill, until the next run; nothing else may be half done. The stamp means that all drop-ins are there.
        assert_contents(&node.path(""), &what);
        if node.is_stamped() {
            assert_eq!(node.held(), whole.held(), "{what}");
        }
        assert_eq!(node.run("enforce").status.code(), Some(3), "{what}");
        assert_eq!(node.files(), expected, "{what}");
    }
    assert!(cut_short > 0, "no run was cut short ({done} were done)");
}
