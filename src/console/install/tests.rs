//! Every kind of `/etc/issue`, every step killed or failing.

use super::*;
use nix::errno::Errno;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

const FIRST: &str = "*** first refusal ***\nFound   a\n\n";
const SECOND: &str = "*** second refusal ***\nFound   b\n\n";
const MOTD_TEXT: &str = "refused\n";

/// What is at a path: type and mode, inode for a file, content or target.
type Entry = (u32, u64, Vec<u8>);

/// Everything below a directory, directories without their inode and content.
fn snapshot(dir: &Path) -> BTreeMap<String, Entry> {
    let mut all = BTreeMap::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(path) = todo.pop() {
        let meta = fs::symlink_metadata(&path).unwrap();
        let name = path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
        let (inode, content) = if meta.is_dir() {
            todo.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            (0, Vec::new())
        } else if meta.is_symlink() {
            (meta.ino(), fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes())
        } else if meta.is_file() {
            (meta.ino(), fs::read(&path).unwrap())
        } else {
            (meta.ino(), Vec::new())
        };
        all.insert(name, (meta.mode(), inode, content));
    }
    all
}

/// A node as RHCOS ships it, but for `/etc/issue`.
fn node(make_issue: impl FnOnce(&Path)) -> (tempfile::TempDir, Root) {
    // In memory, because every write is synced.
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    for path in ["etc/motd.d", "usr/lib", "var/lib/skewguard"] {
        fs::create_dir_all(dir.path().join(path)).unwrap();
    }
    fs::write(dir.path().join("usr/lib/issue"), "\\S \\S{VERSION_ID}\n").unwrap();
    fs::write(dir.path().join("etc/motd.d/other"), "not ours\n").unwrap();
    make_issue(&dir.path().join("etc/issue"));
    let root = Root::open(dir.path()).unwrap();
    (dir, root)
}

struct Case {
    name: &'static str,
    make: fn(&Path),
    /// What stands below the message.
    below: &'static [u8],
}

const CASES: [Case; 10] = [
    Case {
        name: "symlink as in RHCOS 4.11 to 4.18",
        make: |path| symlink("../usr/lib/issue", path).unwrap(),
        below: b"\\S \\S{VERSION_ID}\n",
    },
    Case { name: "absolute symlink", make: |path| symlink("/usr/lib/issue", path).unwrap(), below: b"\\S \\S{VERSION_ID}\n" },
    Case { name: "file", make: |path| fs::write(path, "\\S\nKernel \\r\n").unwrap(), below: b"\\S\nKernel \\r\n" },
    Case {
        name: "file of another mode, without a line end",
        make: |path| {
            fs::write(path, "banner").unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        },
        below: b"banner",
    },
    Case { name: "binary", make: |path| fs::write(path, b"\0\xff\x1b[2J\r\n").unwrap(), below: b"\0\xff\x1b[2J\r\n" },
    Case { name: "empty", make: |path| fs::write(path, "").unwrap(), below: b"" },
    Case { name: "missing", make: |_| {}, below: b"" },
    Case { name: "dangling symlink", make: |path| symlink("../run/issue", path).unwrap(), below: b"" },
    Case { name: "symlink to a directory", make: |path| symlink("../usr/lib", path).unwrap(), below: b"" },
    Case { name: "huge", make: |path| fs::write(path, vec![b'x'; 200 << 10]).unwrap(), below: b"" },
];

fn issue_of(root: &Root) -> Vec<u8> {
    fs::read(root.path().join("etc/issue")).unwrap()
}

#[test]
fn the_message_goes_on_top_never_stacks_and_leaves_no_trace() {
    for case in CASES {
        let (dir, root) = node(case.make);
        let before = snapshot(dir.path());
        for message in [FIRST, FIRST, SECOND, FIRST] {
            show(&root, message, MOTD_TEXT).unwrap();
            assert_eq!(issue_of(&root), [message.as_bytes(), case.below].concat(), "{}", case.name);
            assert_eq!(fs::read_to_string(dir.path().join("etc/motd.d/skewguard")).unwrap(), MOTD_TEXT);
            assert!(pending_restore(&root));
        }
        assert!(restore(&root).unwrap());
        assert_eq!(snapshot(dir.path()), before, "{}", case.name);
        assert!(!pending_restore(&root));
        assert!(!restore(&root).unwrap(), "nothing is left to restore");
    }
}

/// Then the message is on the console alone; what was to be restored is, and nothing waits for the next boot.
#[test]
fn a_motd_that_cannot_be_written_is_no_reason_to_restore_for_ever() {
    let (dir, root) = node(|issue| fs::write(issue, "banner\n").unwrap());
    fs::remove_dir_all(dir.path().join("etc/motd.d")).unwrap();
    fs::write(dir.path().join("etc/motd.d"), "a file where a directory should be").unwrap();
    let before = snapshot(dir.path());
    let error = show(&root, FIRST, MOTD_TEXT).unwrap_err();
    assert_eq!(error.to_string(), "/etc/motd.d/skewguard: Not a directory (os error 20)");
    assert!(restore(&root).unwrap());
    assert!(!pending_restore(&root));
    assert_eq!(snapshot(dir.path()), before);
}

/// A [`Root`] whose `left`-th change is the last: with `done` it still happens. Everything after it fails, as after a kill; with `once` only
/// that one fails, as without space.
struct Faulty<'a> {
    root: &'a Root,
    left: Cell<usize>,
    done: bool,
    once: bool,
    dead: Cell<bool>,
}

impl Faulty<'_> {
    fn change<T>(&self, path: &str, make: impl FnOnce() -> Result<T, FileError>) -> Result<T, FileError> {
        let failed = || FileError::io(path, Errno::ENOSPC);
        if self.dead.get() && !self.once {
            return Err(failed());
        }
        let left = self.left.get();
        self.left.set(left.wrapping_sub(1));
        if left > 0 || self.dead.get() {
            return make();
        }
        self.dead.set(true);
        if self.done {
            make()?;
        }
        Err(failed())
    }
}

impl Files for Faulty<'_> {
    fn read(&self, path: &str, max: u64) -> Result<Option<Vec<u8>>, FileError> {
        self.root.read(path, max)
    }
    fn read_link(&self, path: &str) -> Result<Option<OsString>, FileError> {
        self.root.read_link(path)
    }
    fn list(&self, path: &str) -> Result<Vec<OsString>, FileError> {
        self.root.list(path, 100)
    }
    fn write(&self, path: &str, bytes: &[u8], mode: u32) -> Result<(), FileError> {
        self.change(path, || self.root.write(path, bytes, mode))
    }
    fn hard_link(&self, from: &str, to: &str) -> Result<(), FileError> {
        self.change(to, || self.root.hard_link(from, to))
    }
    fn rename(&self, from: &str, to: &str) -> Result<bool, FileError> {
        self.change(to, || self.root.rename(from, to))
    }
    fn remove(&self, path: &str) -> Result<bool, FileError> {
        self.change(path, || self.root.remove(path))
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Show,
    ShowAnother,
    Restore,
}

/// Runs one step with a fault at every change it makes, and afterwards goes either way: all must end as if nothing had happened.
#[test]
fn killed_or_failing_at_any_change_the_file_is_whole_and_comes_back() {
    let mut faults = 0;
    for case in CASES {
        for step in [Step::Show, Step::ShowAnother, Step::Restore] {
            for (done, once) in [(false, false), (true, false), (false, true)] {
                for left in 0.. {
                    let (dir, root) = node(case.make);
                    let before = snapshot(dir.path());
                    let what = format!("{}, {step:?}, change {left}, done {done}, once {once}", case.name);
                    if step != Step::Show {
                        show(&root, FIRST, MOTD_TEXT).unwrap();
                    }
                    let files = Faulty { root: &root, left: Cell::new(left), done, once, dead: Cell::new(false) };
                    let result = match step {
                        Step::Show | Step::ShowAnother => show(&files, SECOND, MOTD_TEXT),
                        Step::Restore => take_away(&files).map(|_| ()),
                    };
                    if !files.dead.get() {
                        assert!(left >= 3 && result.is_ok(), "{what}");
                        break;
                    }
                    faults += 1;
                    assert!(result.is_err(), "{what}: the fault goes unnoticed");

                    let whole = |message: &str| [message.as_bytes(), case.below].concat();
                    let now = fs::symlink_metadata(dir.path().join("etc/issue")).ok().map(|_| snapshot(dir.path())["etc/issue"].clone());
                    let original = before.get("etc/issue").cloned();
                    let ours = now.as_ref().is_some_and(|(_, _, text)| [whole(FIRST), whole(SECOND)].contains(text));
                    assert!(ours || now == original, "{what}: neither the old file nor a new one");
                    assert!(ours == pending_restore(&root) || now == original, "{what}: a message without a way back");

                    if left % 2 == 0 {
                        show(&root, FIRST, MOTD_TEXT).unwrap();
                        assert_eq!(issue_of(&root), whole(FIRST), "{what}");
                    }
                    restore(&root).unwrap();
                    assert_eq!(snapshot(dir.path()), before, "{what}");
                }
            }
        }
    }
    assert!(faults > 200, "only {faults} faults were tried");
}

/// Edits made while the message stands: our part goes, theirs stays.
#[test]
fn what_an_admin_changed_meanwhile_survives() {
    type Edit = fn(&Path, String);
    let edits: [(&str, Edit, &str); 5] = [
        ("added below", |path, text| fs::write(path, text + "added\n").unwrap(), "banner\nadded\n"),
        ("added above", |path, text| fs::write(path, format!("added\n{text}")).unwrap(), "added\nbanner\n"),
        ("changed below", |path, text| fs::write(path, text.replace("banner", "other")).unwrap(), "other\n"),
        ("wrote a new one", |path, _| fs::write(path, "new\n").unwrap(), "new\n"),
        ("cut into the message", |path, _| fs::write(path, &FIRST[5..]).unwrap(), &FIRST[5..]),
    ];
    for (what, edit, wanted) in edits {
        // At once, and after a second refusal in between.
        for again in [false, true] {
            let (dir, root) = node(|path| fs::write(path, "banner\n").unwrap());
            let issue = dir.path().join("etc/issue");
            show(&root, FIRST, MOTD_TEXT).unwrap();
            edit(&issue, fs::read_to_string(&issue).unwrap());
            if again {
                show(&root, SECOND, MOTD_TEXT).unwrap();
                assert_eq!(fs::read_to_string(&issue).unwrap().matches(SECOND).count(), 1, "{what}");
            }
            restore(&root).unwrap();
            assert_eq!(fs::read_to_string(&issue).unwrap(), wanted, "{what}, again {again}");
            let names: Vec<String> = snapshot(dir.path()).into_keys().filter(|name| name.contains("skewguard")).collect();
            assert_eq!(names, ["var/lib/skewguard"], "{what}");
        }
    }
}

#[test]
fn what_an_admin_took_away_stays_away() {
    let (dir, root) = node(|path| symlink("../usr/lib/issue", path).unwrap());
    show(&root, FIRST, MOTD_TEXT).unwrap();
    fs::remove_file(dir.path().join("etc/issue")).unwrap();
    fs::remove_file(dir.path().join("etc/motd.d/skewguard")).unwrap();
    restore(&root).unwrap();
    assert!(!dir.path().join("etc/issue").exists());

    // With the kept file gone, what was below the message is still known.
    let (dir, root) = node(|path| symlink("../usr/lib/issue", path).unwrap());
    show(&root, FIRST, MOTD_TEXT).unwrap();
    fs::remove_file(dir.path().join("etc/issue.skewguard-saved")).unwrap();
    restore(&root).unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("etc/issue")).unwrap(), "\\S \\S{VERSION_ID}\n");
}

/// The rebase changes what the symlink points to; that is no edit.
#[test]
fn a_symlink_comes_back_also_after_its_target_changed() {
    let (dir, root) = node(|path| symlink("../usr/lib/issue", path).unwrap());
    show(&root, FIRST, MOTD_TEXT).unwrap();
    fs::write(dir.path().join("usr/lib/issue"), "\\S\n").unwrap();
    restore(&root).unwrap();
    assert_eq!(fs::read_link(dir.path().join("etc/issue")).unwrap(), Path::new("../usr/lib/issue"));
}

#[test]
fn a_directory_is_left_alone_and_said_to_be_one() {
    let (dir, root) = node(|path| fs::create_dir(path).unwrap());
    let before = snapshot(dir.path());
    let error = show(&root, FIRST, MOTD_TEXT).unwrap_err();
    assert_eq!(error.to_string(), "/etc/issue: is a directory; it is left alone");
    assert_eq!(snapshot(dir.path()), before);
}

#[test]
fn a_fifo_is_kept_aside_without_being_opened() {
    let make = |path: &Path| nix::unistd::mkfifo(path, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
    let (dir, root) = node(make);
    let before = snapshot(dir.path());
    show(&root, FIRST, MOTD_TEXT).unwrap();
    assert_eq!(issue_of(&root), FIRST.as_bytes());
    restore(&root).unwrap();
    assert_eq!(snapshot(dir.path()), before);
}

#[test]
fn a_state_that_cannot_be_read_does_not_keep_the_file_from_coming_back() {
    for junk in ["", "{", "[]", "null", "{\"messages\": 7}", "{\"messages\": [\"\"], \"below\": \"\"}"] {
        for again in [false, true] {
            let (dir, root) = node(|path| symlink("../usr/lib/issue", path).unwrap());
            let before = snapshot(dir.path());
            show(&root, FIRST, MOTD_TEXT).unwrap();
            fs::write(dir.path().join("var/lib/skewguard/issue.saved"), junk).unwrap();
            if again {
                show(&root, SECOND, MOTD_TEXT).unwrap();
                assert_eq!(issue_of(&root), [SECOND.as_bytes(), b"\\S \\S{VERSION_ID}\n"].concat(), "{junk}");
            }
            restore(&root).unwrap();
            assert_eq!(snapshot(dir.path()), before, "{junk}, again {again}");
        }
    }
}

#[test]
fn temporary_files_of_killed_writes_are_swept_and_no_others() {
    let (dir, root) = node(|path| fs::write(path, "banner\n").unwrap());
    show(&root, FIRST, MOTD_TEXT).unwrap();
    let etc = dir.path().join("etc");
    for name in [".issue.skewguard-77", "motd.d/.skewguard.skewguard-77", ".issue.swp", "issue.rpmnew"] {
        fs::write(etc.join(name), "half").unwrap();
    }
    restore(&root).unwrap();
    let left: Vec<String> = snapshot(&etc).into_keys().filter(|name| name.contains("issue") || name.contains("77")).collect();
    assert_eq!(left, [".issue.swp", "issue", "issue.rpmnew"]);
}
