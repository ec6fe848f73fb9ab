//! On the running system, as far as a test can be one: the node's tree is `/` of a mount namespace,
//! so that `enforce` takes it for live.

use crate::enforce::{ALLOWED, REFUSED, sample};
use crate::support::world;
use std::process::Command;

/// Runs `enforce` with a tree as `/`, without systemd, D-Bus or journald in it: its exit status,
/// and what it asked the kernel for.
fn enforce(name: &str) -> (Option<i32>, String) {
    let tree = tempfile::tempdir().expect("a temporary directory");
    let trace = tempfile::tempdir().expect("a temporary directory");
    let script = "set -eu\nmount -t tmpfs -o mode=755 tmpfs \"$W\"\ncp -a \"$TREE/.\" \"$W\"\ncd \"$W\"\nmkdir -p trace program lib lib64 usr/lib run\n\
                  mount --rbind /usr/lib usr/lib\n[ ! -e /lib64 ] || mount --rbind /lib64 lib64\nmount --rbind /lib lib\n\
                  mount --bind \"${PROGRAM%/*}\" program\n\
                  exec strace -f -qq -o \"$TRACE/trace\" -e trace=connect,epoll_create1,execve,socket \
                  unshare --root=\"$W\" /program/skewguard enforce";
    let output = world::output(
        world::shell(&[], script)
            .env("W", tree.path())
            .env("TRACE", trace.path())
            .env("TREE", sample(name))
            .env("PROGRAM", env!("CARGO_BIN_EXE_skewguard")),
    );
    let trace = std::fs::read_to_string(trace.path().join("trace"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    let trace = trace.unwrap_or_else(|error| {
        panic!("strace: {error}; install the Debian packages strace and util-linux: {stderr}")
    });
    assert!(
        trace.contains("execve(\"/program/skewguard\", [\"/program/skewguard\", \"enforce\"]"),
        "{trace}\n{stderr}"
    );
    (output.status.code(), trace)
}

#[test]
fn a_node_with_nothing_to_refuse_opens_no_bus_starts_no_runtime_and_runs_no_program() {
    let (code, trace) = enforce(ALLOWED);
    assert_eq!(code, Some(0), "{trace}");
    let ours = trace
        .split_once("execve(\"/program/skewguard\"")
        .expect("our program")
        .1;
    assert!(
        !ours.contains("dbus") && !ours.contains("epoll_create1") && !ours.contains("execve("),
        "{ours}"
    );
    assert!(!ours.contains("AF_INET"), "{ours}");
}

#[test]
fn a_node_that_is_refused_asks_systemd_and_without_a_bus_it_is_not_held() {
    let (code, trace) = enforce(REFUSED);
    assert_eq!(code, Some(1), "{trace}");
    let ours = trace
        .split_once("execve(\"/program/skewguard\"")
        .expect("our program")
        .1;
    assert!(
        ours.contains("sun_path=\"/run/dbus/system_bus_socket\""),
        "{ours}"
    );
    assert!(!ours.contains("AF_INET"), "{ours}");
}

/// A node that is taken for a tree is "held" by files that systemd never reads.
#[test]
fn the_running_system_is_never_taken_for_a_tree() {
    let check = |root: &str, nth: u32| {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let calls = "stat,fstat,newfstatat,statx";
        let output = Command::new("strace")
            .args([
                "-qq",
                "-e",
                &format!("trace={calls}"),
                "-e",
                &format!("inject={calls}:error=EIO:when={nth}"),
                "-o",
            ])
            .arg(dir.path().join("trace"))
            .args([env!("CARGO_BIN_EXE_skewguard"), "check", "--root", root])
            .output()
            .unwrap_or_else(|error| panic!("strace: {error}; install the Debian package strace"));
        (
            output,
            std::fs::read_to_string(dir.path().join("trace")).expect("a trace"),
        )
    };
    let asks = |line: &str| line.contains("(AT_FDCWD, \"/\", ") || line.contains("stat(\"/\", ");
    let mut failed = 0;
    for nth in 1..200 {
        let (output, trace) = check("/usr/..", nth);
        if trace
            .lines()
            .any(|line| asks(line) && line.contains("INJECTED"))
        {
            failed += 1;
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(
                (output.status.code(), said.as_str()),
                (
                    Some(1),
                    "skewguard: --root /usr/..: Input/output error (os error 5)\n"
                )
            );
        }
    }
    assert_eq!(failed, 1, "it asks whether that is the running system");
    // `/` itself is.
    assert!(!check("/", 1000).1.lines().any(asks));
}
