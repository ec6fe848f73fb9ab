//! Broken input, through `enforce`: it never blocks what `check` would not, and leaves nothing half
//! done.

use crate::enforce::{ALLOWED, Node, REFUSED, assert_whole, stderr};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

const INPUTS: [&str; 8] = [
    "etc/ignition-machine-config-encapsulated.json",
    "etc/mcs-machine-config-content.json",
    "etc/skewguard/policy.json",
    "etc/os-release",
    "proc/cmdline",
    "run/skewguard/override",
    "sysroot/.coreos-aleph-version.json",
    "etc/skewguard/boot-image.json",
];

type Break = (&'static str, fn(&Path));

fn gone(file: &Path) {
    let _ = fs::remove_file(file);
}

fn write(file: &Path, bytes: &[u8]) {
    gone(file);
    fs::write(file, bytes).expect("broken");
}

const WAYS: [Break; 12] = [
    ("missing", gone),
    ("empty", |file| write(file, b"")),
    ("binary", |file| {
        write(file, b"\x7fELF\0\xff\xfe\x1b[2J\\e{red}")
    }),
    ("null", |file| write(file, b"null")),
    ("a list", |file| write(file, b"[[]]")),
    ("200,000 levels", |file| write(file, &[b'['; 200_000])),
    ("wrong types", |file| {
        write(
            file,
            br#"{"version":7,"metadata":[],"spec":"x","mode":{},"limits":7,"ostree":3}"#,
        )
    }),
    ("truncated", |file| {
        let bytes = fs::read(file).unwrap_or_default();
        write(file, &bytes[..bytes.len() / 2]);
    }),
    ("9 MiB sparse", |file| {
        write(file, b"");
        fs::OpenOptions::new()
            .write(true)
            .open(file)
            .and_then(|file| file.set_len(9 << 20))
            .expect("grown");
    }),
    ("directory", |file| {
        gone(file);
        fs::create_dir(file).expect("made");
    }),
    ("FIFO", |file| {
        gone(file);
        nix::unistd::mkfifo(file, nix::sys::stat::Mode::S_IRWXU).expect("made");
    }),
    ("symlink loop", |file| {
        gone(file);
        symlink(file.file_name().expect("a name"), file).expect("linked");
    }),
];

#[test]
fn enforce_lets_a_good_image_through_whatever_is_broken() {
    every_breakage(ALLOWED);
}

#[test]
fn enforce_blocks_an_old_image_exactly_where_check_does() {
    every_breakage(REFUSED);
}

/// Both have an old aleph and are healthy: one was installed with its target image, the other is
/// between two steps of its update.
#[test]
fn a_node_that_has_left_its_boot_image_goes_on_though_that_cannot_be_read() {
    const ORIGIN: &str = "sysroot/ostree/deploy/rhcos/deploy/c0ffee0000000000000000000000000000000000000000000000000000000000.0.origin";
    for name in [
        "assisted-already-on-target",
        "two-step-update-already-rebased",
    ] {
        for input in [
            "etc/os-release",
            "proc/cmdline",
            "etc/skewguard/boot-image.json",
            ORIGIN,
        ] {
            for (way, break_it) in WAYS.iter().filter(|(way, _)| {
                [
                    "binary",
                    "9 MiB sparse",
                    "directory",
                    "FIFO",
                    "symlink loop",
                ]
                .contains(way)
            }) {
                let node = Node::new(name);
                let file = node.path(input);
                fs::create_dir_all(file.parent().expect("a parent")).expect("made");
                break_it(&file);
                let output = node.run("enforce");
                assert_eq!(
                    (output.status.code(), node.is_stamped()),
                    (Some(0), false),
                    "{name}: {input}: {way}: {}",
                    stderr(&output)
                );
            }
        }
    }
}

fn every_breakage(name: &str) {
    for input in INPUTS {
        for (way, break_it) in WAYS {
            let what = format!("{name}: {input}: {way}");
            let node = Node::new(name);
            let file = node.path(input);
            fs::create_dir_all(file.parent().expect("a parent")).expect("made");
            break_it(&file);
            let checked = node.run("check");
            let output = node.run("enforce");
            // Without the encapsulated config there is no first boot, and nothing to decide.
            let first_boot = node
                .path("etc/ignition-machine-config-encapsulated.json")
                .exists()
                || way == "symlink loop";
            let expected = if first_boot {
                checked.status.code()
            } else {
                Some(0)
            };
            assert_eq!(
                output.status.code(),
                expected,
                "{what}: {}",
                stderr(&output)
            );
            assert!(
                expected == Some(0) || name == REFUSED,
                "{what}: a good boot image is blocked"
            );
            assert_eq!(node.is_stamped(), expected == Some(3), "{what}");
            assert_eq!(!node.held().is_empty(), expected == Some(3), "{what}");
            // The broken record stays as it is.
            let _ = fs::remove_file(node.path("etc/skewguard/boot-image.json"));
            assert_whole(&node.path(""), &what);
            let printable = |b: &u8| *b == b'\n' || (b' '..=b'~').contains(b);
            assert!(
                output.stderr.iter().all(printable),
                "{what}: raw bytes in {:?}",
                stderr(&output)
            );
        }
    }
}
