use super::*;
use nix::unistd::{Uid, mkfifo, setfsuid};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

/// The same question, answered with openat2(2) and by the walk alone.
fn both(dir: &str, ask: impl Fn(&Root) -> String) -> [String; 2] {
    let root = Root::open(Path::new(dir)).expect("opened");
    assert!(
        root.has_openat2,
        "this test needs openat2(2), which Linux has from 5.6 on"
    );
    let walking = Root {
        has_openat2: false,
        ..Root::open(Path::new(dir)).expect("opened")
    };
    [root, walking].map(|root| ask(&root))
}

/// The answers to every query that takes a path.
fn everything(root: &Root, path: &str) -> String {
    let found = root
        .find(path, LOOK)
        .map(|found| found.map(|fd| fstat(fd).map(|stat| stat.st_ino)));
    let parent = root
        .parent(path)
        .map(|(dir, name)| (fstat(dir).map(|stat| stat.st_ino), name.to_owned()));
    let rest = (
        root.exists(path),
        root.changed(path),
        root.read_link(path),
        root.list(path, 64),
    );
    format!(
        "{:?} {found:?} {parent:?} {rest:?}",
        root.read(path, 64 << 10)
    )
}

/// Paths in [`tree`]: with `.` and `..`, missing ones, through files that are no directories,
/// through every link.
fn paths() -> Vec<String> {
    let names = [
        "",
        "/",
        "/file",
        "/dir",
        "/dir/file",
        "/dir/",
        "/file/",
        "/none",
        "/none/none",
        "/file/none",
        "/file/..",
        "/none/..",
        "/dir/..",
        "/..",
        "/../../file",
        "/dir/../../../file",
        "/./dir/./file",
        "//dir//file",
        "dir/file",
        "/fifo",
        "/socket",
        "/closed",
        "/closed/file",
        "/closed/none",
        "/secret",
    ];
    let links = [
        "absolute",
        "relative",
        "up",
        "to-dir",
        "dir/back",
        "dangling",
        "dangling-dir",
        "to-link",
        "self",
        "a",
        "chain-40",
        "chain-41",
    ];
    let below = ["", "/", "/file", "/none", "/..", "/../file", "/back/file"];
    let through = links
        .iter()
        .flat_map(|link| below.map(|rest| format!("/{link}{rest}")));
    names
        .map(str::to_owned)
        .into_iter()
        .chain(through)
        .chain([
            format!("/{}", "long".repeat(64)),
            format!("/dir{}", "/.".repeat(3000)),
        ])
        .collect()
}

fn tree() -> tempfile::TempDir {
    let tree = tempfile::tempdir().expect("temporary directory");
    let at = |name: &str| tree.path().join(name);
    for dir in ["dir", "closed"] {
        fs::create_dir(at(dir)).expect("made");
    }
    for file in ["file", "dir/file", "closed/file", "secret"] {
        fs::write(at(file), file).expect("written");
    }
    mkfifo(&at("fifo"), Mode::S_IRWXU).expect("made");
    UnixListener::bind(at("socket")).expect("bound");
    let links = [
        ("/dir/file", "absolute"),
        ("dir/file", "relative"),
        ("../../../dir/file", "up"),
        ("dir", "to-dir"),
        ("..", "dir/back"),
        ("none", "dangling"),
        ("none/none", "dangling-dir"),
        ("relative", "to-link"),
        ("self", "self"),
        ("b", "a"),
        ("a", "b"),
        ("dir/file", "link-1"),
    ];
    for (target, link) in links {
        symlink(target, at(link)).expect("linked");
    }
    for n in 2..=41 {
        symlink(format!("link-{}", n - 1), at(&format!("link-{n}"))).expect("linked");
    }
    for n in ["40", "41"] {
        fs::rename(at(&format!("link-{n}")), at(&format!("chain-{n}"))).expect("renamed");
    }
    tree
}

#[test]
fn the_kernel_and_the_walk_find_the_same() {
    let tree = tree();
    let dir = tree.path().to_str().expect("UTF-8");
    let compare = || {
        for path in paths() {
            let [kernel, walk] = both(dir, |root| everything(root, &path));
            assert_eq!(kernel, walk, "{path}");
        }
    };
    compare();
    // Again as an unprivileged user: setfsuid(2) changes only this thread, and only its file
    // access.
    for (path, mode) in [("", 0o755), ("closed", 0), ("secret", 0)] {
        fs::set_permissions(tree.path().join(path), fs::Permissions::from_mode(mode)).expect("set");
    }
    let before = setfsuid(Uid::from_raw(65534));
    compare();
    let denied = both(dir, |root| {
        format!(
            "{:?} {:?}",
            root.read("/secret", 9),
            root.exists("/closed/file")
        )
    });
    setfsuid(before);
    assert!(
        denied
            .iter()
            .all(|answer| answer.matches("PermissionDenied").count() == 2),
        "{denied:?}"
    );
    fs::set_permissions(
        tree.path().join("closed"),
        fs::Permissions::from_mode(0o755),
    )
    .expect("set");
}

#[test]
fn the_kernel_and_the_walk_agree_about_its_own_files() {
    let links = [
        "/self/exe",
        "/self/root",
        "/self/root/etc/passwd",
        "/self/cwd/Cargo.toml",
        "/self/fd/0",
        "/self/ns/mnt",
    ];
    let paths = links.iter().chain(&[
        "/cmdline",
        "/version",
        "/self/limits",
        "/mounts",
        "/self",
        "/thread-self/comm",
        "/1/../version",
    ]);
    for path in paths {
        let [kernel, walk] = both("/proc", |root| {
            format!(
                "{:?} {:?} {:?}",
                root.read(path, 64 << 10),
                root.exists(path),
                root.read_link(path)
            )
        });
        assert_eq!(kernel, walk, "{path}");
    }
    for path in ["/null", "/zero", "/stdin", "/fd", "/none", "/."] {
        let [kernel, walk] = both("/dev", |root| {
            format!("{:?} {:?}", root.read(path, 9), root.exists(path))
        });
        assert_eq!(kernel, walk, "{path}");
    }
}
