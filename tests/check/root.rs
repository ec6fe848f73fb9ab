//! Confined file access: files are written whole, and no path leads out of the root.

use skewguard::node::{Problem, Root};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .expect("listed")
        .map(|entry| {
            entry
                .expect("read")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_is_written_whole_with_its_mode_and_directories() {
    let dir = tempfile::tempdir().expect("tempdir");
    let root = Root::open(dir.path()).expect("opened");
    root.write("/var/lib/skewguard/verdict.json", b"one", 0o644)
        .expect("written");
    root.write("/var/lib/skewguard/verdict.json", b"two", 0o600)
        .expect("replaced");
    let path = dir.path().join("var/lib/skewguard/verdict.json");
    assert_eq!(fs::read(&path).expect("read"), b"two");
    assert_eq!(
        fs::metadata(&path).expect("stat").permissions().mode() & 0o7777,
        0o600
    );
    assert_eq!(
        names(&dir.path().join("var/lib/skewguard")),
        ["verdict.json"],
        "no temporary file stays"
    );
    assert_eq!(
        fs::metadata(dir.path().join("var/lib"))
            .expect("stat")
            .permissions()
            .mode()
            & 0o7777,
        0o755
    );
}

#[test]
fn a_link_at_the_end_is_replaced_and_one_on_the_way_is_followed_inside() {
    let outside = tempfile::tempdir().expect("tempdir");
    fs::write(outside.path().join("issue"), "theirs").expect("written");
    let dir = tempfile::tempdir().expect("tempdir");
    let root = Root::open(dir.path()).expect("opened");
    fs::create_dir_all(dir.path().join("etc")).expect("made");
    symlink(outside.path().join("issue"), dir.path().join("etc/issue")).expect("linked");
    root.write("/etc/issue", b"ours", 0o644).expect("written");
    assert_eq!(
        fs::read(outside.path().join("issue")).expect("read"),
        b"theirs"
    );
    assert!(
        fs::symlink_metadata(dir.path().join("etc/issue"))
            .expect("stat")
            .is_file()
    );

    fs::create_dir(dir.path().join("data")).expect("made");
    symlink("/data", dir.path().join("linked")).expect("linked");
    root.write("/linked/file", b"inside", 0o644)
        .expect("written");
    assert_eq!(
        fs::read(dir.path().join("data/file")).expect("read"),
        b"inside"
    );

    symlink(outside.path(), dir.path().join("out")).expect("linked");
    let error = root
        .write("/out/file", b"x", 0o644)
        .expect_err("there is no such directory inside");
    assert!(error.to_string().starts_with("/out/file: "), "{error}");
    assert_eq!(names(outside.path()), ["issue"]);
}

#[test]
fn a_failed_write_leaves_the_old_file_and_nothing_else() {
    let dir = tempfile::tempdir().expect("tempdir");
    let root = Root::open(dir.path()).expect("opened");
    fs::create_dir(dir.path().join("taken")).expect("made");
    assert!(
        root.write("/taken", b"x", 0o644).is_err(),
        "a directory is not replaced by a file"
    );
    assert_eq!(names(dir.path()), ["taken"]);
    for path in ["/", "", "/a/..", "/."] {
        assert!(root.write(path, b"x", 0o644).is_err(), "{path:?}");
    }
}

#[test]
fn links_are_put_read_and_removed_themselves() {
    let dir = tempfile::tempdir().expect("tempdir");
    let root = Root::open(dir.path()).expect("opened");
    root.write("/etc/issue", b"text", 0o644).expect("written");
    root.remove("/etc/issue").expect("removed");
    std::os::unix::fs::symlink("../usr/lib/issue", dir.path().join("etc/issue")).expect("linked");
    assert_eq!(
        root.read_link("/etc/issue").expect("read"),
        Some("../usr/lib/issue".into())
    );
    assert!(matches!(
        root.read("/etc/issue", 9).expect_err("dangling").problem,
        Problem::Dangling
    ));
    root.write("/usr/lib/issue", b"theirs", 0o644)
        .expect("written");
    assert_eq!(
        root.read("/etc/issue", 9).expect("read").as_deref(),
        Some(b"theirs".as_slice())
    );
    assert!(root.remove("/etc/issue").expect("removed"));
    assert!(!root.remove("/etc/issue").expect("nothing there"));
    assert!(
        !root
            .remove("/no/such/directory/file")
            .expect("nothing there")
    );
    assert!(
        !root
            .remove("/usr/lib/issue/below")
            .expect("nothing is below a file")
    );
    assert!(root.exists("/usr/lib/issue").expect("looked"));
    assert_eq!(root.read_link("/usr/lib/issue").expect("looked"), None);
}

#[test]
fn no_read_is_longer_than_asked_for() {
    let dir = tempfile::tempdir().expect("tempdir");
    let root = Root::open(dir.path()).expect("opened");
    root.write("/four", b"1234", 0o644).expect("written");
    assert_eq!(
        root.read("/four", 4).expect("read").as_deref(),
        Some(b"1234".as_slice())
    );
    assert_eq!(
        root.read("/four", 3).expect_err("too long").to_string(),
        "/four: is 4 bytes long; at most 3 are read"
    );
    assert_eq!(root.read("/none", 3).expect("absent is no error"), None);
    // For a file in /proc the kernel gives no size.
    let proc = Root::open(Path::new("/proc")).expect("opened");
    assert!(matches!(
        proc.read("/self/status", 10).expect_err("too long").problem,
        Problem::TooLarge { max: 10, .. }
    ));
}

#[test]
fn slash_is_live_by_any_name_and_nothing_else_is() {
    assert!(Root::open(Path::new("/")).expect("opened").is_live());
    assert!(Root::open(Path::new("/usr/..")).expect("opened").is_live());
    assert!(!Root::open(Path::new("/usr")).expect("opened").is_live());
}
