//! `/etc/issue` on file systems that are full, read-only or unreadable.

use crate::console::{self, Context};
use crate::inside::system::{allowed, refused};
use crate::node::Root;
use crate::support::world::{WITHOUT_POWERS, alone};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A node's tree in memory, small, with a symlink as RHCOS has it.
const TREE: &str = r#"
mount -t tmpfs -o size=256k,mode=755 tmpfs "$W"
mkdir -p "$W/etc/motd.d" "$W/usr/lib" "$W/var/lib/skewguard"
printf '\\S\n' > "$W/usr/lib/issue"
ln -s ../usr/lib/issue "$W/etc/issue"
"#;

/// Every name, type, mode and content below a directory.
fn listing(dir: &str) -> String {
    let script = r#"cd "$1" && find . ! -type d -printf '%p %M %l\n' | sort && find . -type f -exec sha256sum {} + | sort"#;
    let output = Command::new("sh")
        .args(["-c", script, "sh", dir])
        .output()
        .expect("sh runs");
    String::from_utf8(output.stdout).expect("plain names")
}

fn sh(script: &str) {
    assert!(
        Command::new("sh")
            .args(["-euc", script])
            .status()
            .expect("sh runs")
            .success(),
        "{script}"
    );
}

#[test]
fn a_read_only_etc_is_an_error_and_nothing_changes() {
    let script =
        format!("{TREE}\nmount --bind \"$W/etc\" \"$W/etc\"\nmount -o remount,bind,ro \"$W/etc\"");
    alone(
        "inside::system::files::a_read_only_etc_is_an_error_and_nothing_changes",
        &[],
        &script,
        "",
        |world| {
            let root = Root::open(Path::new(world)).expect("the tree");
            let before = listing(&format!("{world}/etc"));
            let error = console::update(&root, &refused(), &Context::default())
                .expect_err("/etc is read-only");
            assert!(
                error.to_string().starts_with("/etc/issue")
                    && error.to_string().contains("Read-only file system"),
                "{error}"
            );
            assert_eq!(listing(&format!("{world}/etc")), before);

            // Once it can be written again, a later boot shows or cleans up.
            sh(&format!("mount -o remount,bind,rw {world}/etc"));
            assert!(console::update(&root, &refused(), &Context::default()).expect("writable"));
            sh(&format!("mount -o remount,bind,ro {world}/etc"));
            console::update(&root, &allowed(), &Context::default()).expect_err("/etc is read-only");
            assert!(
                console::pending_restore(&root),
                "it is still to be restored"
            );
            sh(&format!("mount -o remount,bind,rw {world}/etc"));
            assert!(console::update(&root, &allowed(), &Context::default()).expect("writable"));
            assert_eq!(listing(&format!("{world}/etc")), before);
        },
    );
}

#[test]
fn a_full_disk_at_any_point_leaves_the_old_file_or_the_new_one() {
    alone(
        "inside::system::files::a_full_disk_at_any_point_leaves_the_old_file_or_the_new_one",
        &[],
        TREE,
        "",
        |world| {
            let root = Root::open(Path::new(world)).expect("the tree");
            let before = listing(world);
            let issue = format!("{world}/etc/issue");
            let (mut failed, mut shown) = (0, 0);
            // From no page left to enough for everything.
            for free in 0..12 {
                sh(&format!(
                    "cat /dev/zero > {world}/filler || :; truncate -s -$(({free} * 4096)) {world}/filler"
                ));
                match console::update(&root, &refused(), &Context::default()) {
                    Ok(change) => {
                        assert!(change && console::pending_restore(&root));
                        shown += 1;
                    }
                    Err(error) => {
                        assert!(
                            error.to_string().contains("No space left on device"),
                            "{error}"
                        );
                        let text = fs::read_to_string(&issue).expect("it is there");
                        assert!(
                            text == "\\S\n"
                                || (text.starts_with("*** NODE REFUSED")
                                    && text.ends_with("\n\n\\S\n")),
                            "{text}"
                        );
                        failed += 1;
                    }
                }
                // Taking away needs no space: it removes and renames.
                console::restore(&root).expect("restoring works on a full disk");
                fs::remove_file(format!("{world}/filler")).expect("removed");
                assert_eq!(listing(world), before, "{free} pages free");
            }
            assert!(failed > 1 && shown > 1, "{failed} failed, {shown} shown");
        },
    );
}

#[test]
fn without_permission_nothing_changes() {
    let script = format!("{TREE}\nchmod 555 \"$W/etc\"");
    alone(
        "inside::system::files::without_permission_nothing_changes",
        &[],
        &script,
        WITHOUT_POWERS,
        |world| {
            let root = Root::open(Path::new(world)).expect("the tree");
            let before = listing(&format!("{world}/etc"));
            let error =
                console::update(&root, &refused(), &Context::default()).expect_err("not allowed");
            assert!(error.to_string().contains("Permission denied"), "{error}");
            assert_eq!(
                fs::read_link(format!("{world}/etc/issue")).expect("still the symlink"),
                Path::new("../usr/lib/issue")
            );
            // Who logs in is told all the same, and both changes are undone.
            assert!(Path::new(world).join("etc/motd.d/skewguard").exists());
            console::restore(&root).expect("the motd goes");
            assert_eq!(listing(&format!("{world}/etc")), before);
        },
    );
}

/// The file may hold our message, and the kept copy may be the only original.
#[test]
fn while_it_cannot_be_read_nothing_is_done_to_the_issue() {
    alone(
        "inside::system::files::while_it_cannot_be_read_nothing_is_done_to_the_issue",
        &[],
        TREE,
        WITHOUT_POWERS,
        |world| {
            let root = Root::open(Path::new(world)).expect("the tree");
            let before = listing(&format!("{world}/etc"));
            console::update(&root, &refused(), &Context::default()).expect("shown");
            sh(&format!("chmod 0 {world}/etc/issue"));
            let shown = listing(&format!("{world}/etc"));
            let other = Context {
                program: "/other".to_owned(),
                ..Context::default()
            };
            let error = console::update(&root, &refused(), &other).expect_err("it cannot be read");
            assert!(
                error
                    .to_string()
                    .starts_with("/etc/issue: Permission denied"),
                "{error}"
            );
            console::restore(&root).expect_err("it cannot be read");
            let without_motd = |listing: &str| {
                listing
                    .lines()
                    .filter(|line| !line.contains("motd") && !line.contains("issue.d"))
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            };
            assert_eq!(
                without_motd(&listing(&format!("{world}/etc"))),
                without_motd(&shown)
            );
            sh(&format!("chmod 644 {world}/etc/issue"));
            console::update(&root, &refused(), &other).expect("shown");
            console::restore(&root).expect("restored");
            assert_eq!(listing(&format!("{world}/etc")), before);
        },
    );
}

#[test]
fn an_unreadable_issue_is_kept_and_not_repeated() {
    let script = format!(
        "{TREE}\nrm \"$W/etc/issue\"; echo secret > \"$W/etc/issue\"; chmod 0 \"$W/etc/issue\""
    );
    alone(
        "inside::system::files::an_unreadable_issue_is_kept_and_not_repeated",
        &[],
        &script,
        WITHOUT_POWERS,
        |world| {
            let root = Root::open(Path::new(world)).expect("the tree");
            assert!(
                fs::read(format!("{world}/etc/issue")).is_err(),
                "the test needs a file that it cannot read"
            );
            assert!(console::update(&root, &refused(), &Context::default()).expect("shown"));
            assert!(
                fs::read_to_string(format!("{world}/etc/issue"))
                    .expect("ours")
                    .ends_with("skewguard-report)\n\n")
            );
            assert!(console::update(&root, &allowed(), &Context::default()).expect("restored"));
            sh(&format!("chmod 600 {world}/etc/issue"));
            assert_eq!(
                fs::read_to_string(format!("{world}/etc/issue")).expect("readable now"),
                "secret\n"
            );
        },
    );
}
