//! Every kind of `/etc/issue`, every step killed or failing.

use super::*;
use crate::node::write::fault::{self, Fault};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

mod original;

const FIRST: &str = "*** NODE REFUSED: ITS BOOT IMAGE IS a ***\nIt will not join.\n\nFound   a\nCluster not told yet\n\n";
const SECOND: &str = "*** NODE REFUSED: ITS BOOT IMAGE IS b ***\n\nFound   b\nCluster cannot be told:\n        why\n\n";
const MOTD_TEXT: &str = "refused\n";
const HEADLINE: &str = "*** NODE REFUSED ***\n";

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
            todo.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
            (0, Vec::new())
        } else if meta.is_symlink() {
            (
                meta.ino(),
                fs::read_link(&path)
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes(),
            )
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
    let dir = tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap();
    for path in [
        "etc/issue.d",
        "etc/motd.d",
        "run/skewguard",
        "usr/lib",
        "var/lib/skewguard",
    ] {
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
    Case {
        name: "absolute symlink",
        make: |path| symlink("/usr/lib/issue", path).unwrap(),
        below: b"\\S \\S{VERSION_ID}\n",
    },
    Case {
        name: "file",
        make: |path| fs::write(path, "\\S\nKernel \\r\n").unwrap(),
        below: b"\\S\nKernel \\r\n",
    },
    Case {
        name: "file of another mode, without a line end",
        make: |path| {
            fs::write(path, "banner").unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        },
        below: b"banner",
    },
    Case {
        name: "binary",
        make: |path| fs::write(path, b"\0\xff\x1b[2J\r\n").unwrap(),
        below: b"\0\xff\x1b[2J\r\n",
    },
    Case {
        name: "empty",
        make: |path| fs::write(path, "").unwrap(),
        below: b"",
    },
    Case {
        name: "missing",
        make: |_| {},
        below: b"",
    },
    Case {
        name: "dangling symlink",
        make: |path| symlink("../run/issue", path).unwrap(),
        below: b"",
    },
    Case {
        name: "symlink to a directory",
        make: |path| symlink("../usr/lib", path).unwrap(),
        below: b"",
    },
    Case {
        name: "huge",
        make: |path| fs::write(path, vec![b'x'; 200 << 10]).unwrap(),
        below: b"",
    },
];

/// Shows a message as of a node that is held.
fn hold(root: &Root, message: &str) -> Result<(), FileError> {
    show(root, &texts(Some(HEADLINE), message))
}

/// Shows a message as of a node that goes on.
fn go_on(root: &Root, message: &str) -> Result<(), FileError> {
    show(root, &texts(None, message))
}

fn texts(headline: Option<&str>, issue: &str) -> Texts {
    Texts {
        headline: headline.map(str::to_owned),
        issue: issue.to_owned(),
        motd: MOTD_TEXT.to_owned(),
    }
}

fn at_prompt(root: &Root) -> Option<String> {
    // By the link, as agetty reads it.
    root.read_text(PROMPT_LINK, 1 << 20).unwrap()
}

fn issue_of(root: &Root) -> Vec<u8> {
    root.read(ISSUE, 1 << 20).unwrap().unwrap()
}

#[test]
fn the_message_goes_on_top_never_stacks_and_leaves_no_trace() {
    for case in CASES {
        let (dir, root) = node(case.make);
        let before = snapshot(dir.path());
        for message in [FIRST, FIRST, SECOND, FIRST] {
            hold(&root, message).unwrap();
            assert_eq!(
                issue_of(&root),
                [message.as_bytes(), case.below].concat(),
                "{}",
                case.name
            );
            assert_eq!(
                fs::read_to_string(dir.path().join("etc/motd.d/skewguard")).unwrap(),
                MOTD_TEXT
            );
            assert_eq!(at_prompt(&root).as_deref(), Some(HEADLINE));
            assert!(pending_restore(&root));
        }
        assert!(restore(&root).unwrap());
        assert_eq!(snapshot(dir.path()), before, "{}", case.name);
        assert!(!pending_restore(&root));
        assert!(!restore(&root).unwrap(), "nothing is left to restore");
    }
}

/// The message is on the console alone then. Restoring leaves nothing for the next boot to restore.
#[test]
fn a_motd_that_cannot_be_written_is_no_reason_to_restore_for_ever() {
    let (dir, root) = node(|issue| fs::write(issue, "banner\n").unwrap());
    fs::remove_dir_all(dir.path().join("etc/motd.d")).unwrap();
    fs::write(
        dir.path().join("etc/motd.d"),
        "a file where a directory should be",
    )
    .unwrap();
    let before = snapshot(dir.path());
    let error = hold(&root, FIRST).unwrap_err();
    assert_eq!(
        error.to_string(),
        "/etc/motd.d/skewguard: Not a directory (os error 20)"
    );
    assert!(restore(&root).unwrap());
    assert!(!pending_restore(&root));
    assert_eq!(snapshot(dir.path()), before);
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Show,
    ShowAnother,
    GoOn,
    Restore,
}

/// Kills or fails a step at each change that it makes, then shows or restores: the outcome is as
/// without the fault.
#[test]
fn killed_or_failing_at_any_change_the_file_is_whole_and_comes_back() {
    let mut faults = 0;
    for case in CASES {
        for step in [Step::Show, Step::ShowAnother, Step::GoOn, Step::Restore] {
            for (done, once) in [(false, false), (true, false), (false, true)] {
                for left in 0.. {
                    let (dir, root) = node(case.make);
                    let before = snapshot(dir.path());
                    let what = format!(
                        "{}, {step:?}, change {left}, done {done}, once {once}",
                        case.name
                    );
                    if step != Step::Show {
                        hold(&root, FIRST).unwrap();
                    }
                    let (result, met) = fault::during(Fault { left, done, once }, || match step {
                        Step::Show | Step::ShowAnother => hold(&root, SECOND),
                        Step::GoOn => go_on(&root, SECOND),
                        Step::Restore => restore(&root).map(|_| ()),
                    });
                    if !met {
                        assert!(left >= 2 && result.is_ok(), "{what}");
                        break;
                    }
                    faults += 1;
                    assert!(result.is_err(), "{what}: the fault goes unnoticed");

                    let whole = |message: &str| [message.as_bytes(), case.below].concat();
                    let now = fs::symlink_metadata(dir.path().join("etc/issue"))
                        .ok()
                        .map(|_| snapshot(dir.path())["etc/issue"].clone());
                    let original = before.get("etc/issue").cloned();
                    let ours = now
                        .as_ref()
                        .is_some_and(|(_, _, text)| [whole(FIRST), whole(SECOND)].contains(text));
                    assert!(
                        ours || now == original,
                        "{what}: neither the old file nor a new one"
                    );
                    assert!(
                        ours == pending_restore(&root) || now == original,
                        "{what}: a message without a way back"
                    );

                    if left % 2 == 0 {
                        hold(&root, FIRST).unwrap();
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

/// A MachineConfig may own `/etc/issue`, and its daemon compares it once the kubelet has joined.
#[test]
fn what_stands_on_etc_issue_is_not_touched_for_a_node_that_goes_on() {
    for case in CASES {
        let (dir, root) = node(case.make);
        let before = snapshot(dir.path());
        // A message may be there from an earlier boot, or from an earlier release, which put every
        // message there.
        for shown_before in [false, true] {
            if shown_before {
                hold(&root, FIRST).unwrap();
            }
            for message in [SECOND, FIRST] {
                go_on(&root, message).unwrap();
                assert_eq!(at_prompt(&root).as_deref(), Some(message), "{}", case.name);
                assert!(pending_restore(&root));
                let mut now = snapshot(dir.path());
                now.retain(|name, _| before.contains_key(name));
                assert_eq!(now, before, "{}", case.name);
            }
            // A later run holds the node.
            hold(&root, FIRST).unwrap();
            assert_eq!(
                issue_of(&root),
                [FIRST.as_bytes(), case.below].concat(),
                "{}",
                case.name
            );
            assert_eq!(at_prompt(&root).as_deref(), Some(HEADLINE));
            go_on(&root, FIRST).unwrap();
            assert!(restore(&root).unwrap());
            assert_eq!(snapshot(dir.path()), before, "{}", case.name);
        }
    }
}

/// As older releases had it.
#[test]
fn a_message_beside_etc_issue_goes_with_the_others() {
    let (dir, root) = node(|path| fs::write(path, "banner\n").unwrap());
    let before = snapshot(dir.path());
    for again in [false, true] {
        fs::write(dir.path().join("etc/issue.d/skewguard.issue"), SECOND).unwrap();
        if again {
            go_on(&root, FIRST).unwrap();
            assert!(!root.exists(BESIDE).unwrap());
        }
        assert!(restore(&root).unwrap());
        assert_eq!(snapshot(dir.path()), before);
    }
}

/// The state is missing if /var is mounted after the message was written.
#[test]
fn without_the_state_the_message_is_known_by_its_text() {
    for case in CASES {
        let (dir, root) = node(case.make);
        let before = snapshot(dir.path());
        hold(&root, FIRST).unwrap();
        fs::remove_file(dir.path().join("var/lib/skewguard/issue.saved")).unwrap();
        assert!(
            pending_restore(&root) && restore(&root).unwrap(),
            "{}",
            case.name
        );
        assert_eq!(snapshot(dir.path()), before, "{}", case.name);
    }
}

#[test]
fn a_text_of_ours_is_never_kept_as_the_original() {
    let (dir, root) = node(|path| fs::write(path, "banner\n").unwrap());
    let before = snapshot(dir.path());
    hold(&root, FIRST).unwrap();
    // An earlier release could do this when it failed to read the file.
    let issue = dir.path().join("etc/issue");
    fs::remove_file(dir.path().join("etc/issue.skewguard-saved")).unwrap();
    fs::hard_link(&issue, dir.path().join("etc/issue.skewguard-saved")).unwrap();
    fs::remove_file(&issue).unwrap();
    fs::write(&issue, SECOND).unwrap();
    let state = format!(r#"{{"messages":["x"],"below":"{}"}}"#, sha256_hex(b""));
    fs::write(dir.path().join("var/lib/skewguard/issue.saved"), state).unwrap();
    restore(&root).unwrap();
    assert_eq!(fs::read_to_string(&issue).unwrap(), "banner\n");
    assert_eq!(
        snapshot(dir.path()).into_keys().collect::<Vec<_>>(),
        before.into_keys().collect::<Vec<_>>()
    );
}

thread_local! {
    static LINES_LOOKED_AT: Cell<usize> = const { Cell::new(0) };
}

pub(super) fn count_line() {
    LINES_LOOKED_AT.set(LINES_LOOKED_AT.get() + 1);
}

/// Runs `work`; returns how many lines it looked at. A line counts each time.
fn lines_looked_at(work: impl FnOnce()) -> usize {
    LINES_LOOKED_AT.set(0);
    work();
    LINES_LOOKED_AT.get()
}

/// As older agents kept them.
#[test]
fn the_messages_in_a_state_are_not_looked_for() {
    let (dir, root) = node(|path| fs::write(path, vec![b'a'; 64 << 10]).unwrap());
    let before = snapshot(dir.path());
    hold(&root, FIRST).unwrap();
    let state = format!(
        r#"{{"messages":[{}"b"],"below":""}}"#,
        r#""a","#.repeat(13_000)
    );
    fs::write(dir.path().join("var/lib/skewguard/issue.saved"), state).unwrap();
    let lines = lines_looked_at(|| assert!(restore(&root).unwrap()));
    assert!(
        lines < 30,
        "{lines} lines, of a message of five above a line of 64 KiB"
    );
    assert_eq!(snapshot(dir.path()), before);
}

/// Every line begins a message, and none ends.
#[test]
fn a_file_full_of_headlines_is_looked_through_once() {
    let text = "*** NODE REFUSED: ITS BOOT IMAGE\n".repeat(4000);
    let lines = lines_looked_at(|| assert_eq!(strip(text.as_bytes(), None), None));
    assert!(lines <= 4000 * (1 + message::LINES_MAX), "{lines} lines");
    assert_eq!(
        strip(format!("a\n{FIRST}b\n{SECOND}c").as_bytes(), None),
        Some((2, b"a\nb\nc".to_vec()))
    );
}
