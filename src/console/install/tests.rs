//! Every kind of `/etc/issue`, every step killed or failing.

use super::*;
use crate::node::write::fault::{self, Fault};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

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

/// Edits made while the message stands: our part goes, theirs stays.
#[test]
fn what_an_admin_changed_meanwhile_survives() {
    type Edit = fn(&Path, String);
    let edits: [(&str, Edit, &str); 5] = [
        (
            "added below",
            |path, text| fs::write(path, text + "added\n").unwrap(),
            "banner\nadded\n",
        ),
        (
            "added above",
            |path, text| fs::write(path, format!("added\n{text}")).unwrap(),
            "added\nbanner\n",
        ),
        (
            "changed below",
            |path, text| fs::write(path, text.replace("banner", "other")).unwrap(),
            "other\n",
        ),
        (
            "wrote a new one",
            |path, _| fs::write(path, "new\n").unwrap(),
            "new\n",
        ),
        (
            "cut into the message",
            |path, _| fs::write(path, &FIRST[5..]).unwrap(),
            &FIRST[5..],
        ),
    ];
    for (what, edit, wanted) in edits {
        // With one refusal before the edit, and with another after it; with the state, and without.
        for (again, lost) in [(false, false), (true, false), (false, true), (true, true)] {
            let (dir, root) = node(|path| fs::write(path, "banner\n").unwrap());
            let issue = dir.path().join("etc/issue");
            hold(&root, FIRST).unwrap();
            edit(&issue, fs::read_to_string(&issue).unwrap());
            if again {
                hold(&root, SECOND).unwrap();
                assert_eq!(
                    fs::read_to_string(&issue).unwrap().matches(SECOND).count(),
                    1,
                    "{what}"
                );
            }
            if lost {
                fs::remove_file(dir.path().join("var/lib/skewguard/issue.saved")).unwrap();
            }
            restore(&root).unwrap();
            assert_eq!(
                fs::read_to_string(&issue).unwrap(),
                wanted,
                "{what}, again {again}, lost {lost}"
            );
            let names: Vec<String> = snapshot(dir.path())
                .into_keys()
                .filter(|name| name.contains("skewguard"))
                .collect();
            assert_eq!(names, ["run/skewguard", "var/lib/skewguard"], "{what}");
        }
    }
}

/// Another release has other headlines, and an admin may edit ours.
#[test]
fn the_original_comes_back_from_below_a_headline_that_is_not_known() {
    for case in CASES.iter().filter(|case| !case.below.is_empty()) {
        let (dir, root) = node(case.make);
        let before = snapshot(dir.path());
        hold(&root, FIRST).unwrap();
        let text = issue_of(&root);
        let changed = [
            b"*** HELD: OF ANOTHER RELEASE",
            text.strip_prefix(b"*** NODE").unwrap(),
        ];
        fs::write(dir.path().join("etc/issue"), changed.concat()).unwrap();
        restore(&root).unwrap();
        assert_eq!(snapshot(dir.path()), before, "{}", case.name);
    }
}

/// Every text ends with an empty original.
#[test]
fn a_new_text_in_the_place_of_an_empty_file_stays() {
    for lost in [false, true] {
        let (dir, root) = node(|path| fs::write(path, "").unwrap());
        hold(&root, FIRST).unwrap();
        fs::write(dir.path().join("etc/issue"), "*** OURS ***\n").unwrap();
        if lost {
            fs::remove_file(dir.path().join("var/lib/skewguard/issue.saved")).unwrap();
        }
        restore(&root).unwrap();
        assert_eq!(issue_of(&root), b"*** OURS ***\n", "lost {lost}");
    }
}

/// A message of another release is known by its digest, whatever its words and its end are.
#[test]
fn a_message_is_known_by_its_digest() {
    const OTHER: &str = "*** HELD: WORDS OF ANOTHER RELEASE ***\nNo last line.\n";
    const THIRD: &str = "*** HELD: WORDS OF A THIRD RELEASE ***\nNone here, too.\n";
    for case in CASES {
        let (dir, root) = node(case.make);
        let before = snapshot(dir.path());
        hold(&root, OTHER).unwrap();
        // The rebase, or the next refusal, changes what a symlink points to.
        let _ = fs::write(dir.path().join("usr/lib/issue"), "\\S of later\n");
        hold(&root, FIRST).unwrap();
        let shown = issue_of(&root);
        assert!(shown.starts_with(FIRST.as_bytes()), "{}", case.name);
        assert!(
            !shown.windows(8).any(|text| text == b"*** HELD"),
            "{}",
            case.name
        );
        hold(&root, THIRD).unwrap();
        restore(&root).unwrap();
        let mut before = before;
        let now = snapshot(dir.path());
        if let (Some(before), Some(now)) =
            (before.get_mut("usr/lib/issue"), now.get("usr/lib/issue"))
        {
            before.clone_from(now);
        }
        assert_eq!(now, before, "{}", case.name);
    }
}

/// The target of the symlink has changed, and the headline is not known.
#[test]
fn a_symlink_comes_back_from_below_an_edited_message() {
    let (dir, root) = node(|path| symlink("../usr/lib/issue", path).unwrap());
    hold(&root, FIRST).unwrap();
    let text = issue_of(&root);
    let edited = [b"*** EDITED", text.strip_prefix(b"*** NODE").unwrap()].concat();
    fs::write(dir.path().join("etc/issue"), edited).unwrap();
    fs::write(dir.path().join("usr/lib/issue"), "\\S\n").unwrap();
    restore(&root).unwrap();
    assert_eq!(
        fs::read_link(dir.path().join("etc/issue")).unwrap(),
        Path::new("../usr/lib/issue")
    );
}

#[test]
fn an_edited_file_keeps_the_owner_and_mode_of_the_original() {
    let (dir, root) = node(|path| {
        fs::write(path, "banner\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        let _ = std::os::unix::fs::chown(path, Some(12), Some(34));
    });
    let issue = dir.path().join("etc/issue");
    let of = |path: &Path| {
        let meta = fs::metadata(path).unwrap();
        (meta.mode(), meta.uid(), meta.gid())
    };
    let before = of(&issue);
    hold(&root, FIRST).unwrap();
    fs::write(&issue, [&issue_of(&root)[..], b"added\n"].concat()).unwrap();
    restore(&root).unwrap();
    assert_eq!(fs::read_to_string(&issue).unwrap(), "banner\nadded\n");
    assert_eq!(of(&issue), before);
}

#[test]
fn what_an_admin_took_away_stays_away() {
    let (dir, root) = node(|path| symlink("../usr/lib/issue", path).unwrap());
    hold(&root, FIRST).unwrap();
    fs::remove_file(dir.path().join("etc/issue")).unwrap();
    fs::remove_file(dir.path().join("etc/motd.d/skewguard")).unwrap();
    restore(&root).unwrap();
    assert!(!dir.path().join("etc/issue").exists());

    // Without the hard link, the text below the message is kept.
    let (dir, root) = node(|path| symlink("../usr/lib/issue", path).unwrap());
    hold(&root, FIRST).unwrap();
    fs::remove_file(dir.path().join("etc/issue.skewguard-saved")).unwrap();
    restore(&root).unwrap();
    assert_eq!(
        fs::read_to_string(dir.path().join("etc/issue")).unwrap(),
        "\\S \\S{VERSION_ID}\n"
    );
}

/// The rebase changes what the symlink points to; that is no edit.
#[test]
fn a_symlink_comes_back_also_after_its_target_changed() {
    let (dir, root) = node(|path| symlink("../usr/lib/issue", path).unwrap());
    hold(&root, FIRST).unwrap();
    fs::write(dir.path().join("usr/lib/issue"), "\\S\n").unwrap();
    restore(&root).unwrap();
    assert_eq!(
        fs::read_link(dir.path().join("etc/issue")).unwrap(),
        Path::new("../usr/lib/issue")
    );
}

#[test]
fn a_directory_is_left_alone_and_said_to_be_one() {
    let (dir, root) = node(|path| fs::create_dir(path).unwrap());
    let before = snapshot(dir.path());
    let error = hold(&root, FIRST).unwrap_err();
    assert_eq!(
        error.to_string(),
        "/etc/issue: is a directory; it is left alone"
    );
    assert_eq!(
        fs::read_to_string(dir.path().join("etc/motd.d/skewguard")).unwrap(),
        MOTD_TEXT,
        "ssh logins are told"
    );
    assert_eq!(at_prompt(&root).as_deref(), Some(FIRST), "and the console");
    restore(&root).unwrap();
    assert_eq!(snapshot(dir.path()), before);
}

#[test]
fn a_fifo_is_kept_aside_without_being_opened() {
    let make = |path: &Path| {
        nix::unistd::mkfifo(path, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap()
    };
    let (dir, root) = node(make);
    let before = snapshot(dir.path());
    hold(&root, FIRST).unwrap();
    assert_eq!(issue_of(&root), FIRST.as_bytes());
    restore(&root).unwrap();
    assert_eq!(snapshot(dir.path()), before);
}

#[test]
fn a_state_that_cannot_be_read_does_not_keep_the_file_from_coming_back() {
    for junk in [
        "",
        "{",
        "[]",
        "null",
        "{\"messages\": 7}",
        "{\"messages\": [\"\"], \"below\": \"\"}",
    ] {
        for again in [false, true] {
            let (dir, root) = node(|path| symlink("../usr/lib/issue", path).unwrap());
            let before = snapshot(dir.path());
            hold(&root, FIRST).unwrap();
            fs::write(dir.path().join("var/lib/skewguard/issue.saved"), junk).unwrap();
            if again {
                hold(&root, SECOND).unwrap();
                assert_eq!(
                    issue_of(&root),
                    [SECOND.as_bytes(), b"\\S \\S{VERSION_ID}\n"].concat(),
                    "{junk}"
                );
            }
            restore(&root).unwrap();
            assert_eq!(snapshot(dir.path()), before, "{junk}, again {again}");
        }
    }
}

#[test]
fn temporary_files_of_killed_writes_are_swept_and_no_others() {
    // Also if the first write was killed, so that there is nothing to restore.
    for shown in [true, false] {
        let (dir, root) = node(|path| fs::write(path, "banner\n").unwrap());
        if shown {
            hold(&root, FIRST).unwrap();
        }
        for name in [
            "etc/.issue.skewguard-77-0",
            "etc/motd.d/.skewguard.skewguard-77-0",
            "var/lib/skewguard/.boot-image.json.skewguard-77-1",
        ] {
            fs::write(dir.path().join(name), "half").unwrap();
        }
        for name in ["etc/.issue.swp", "etc/issue.rpmnew"] {
            fs::write(dir.path().join(name), "theirs").unwrap();
        }
        assert_eq!(restore(&root).unwrap(), shown);
        let left: Vec<String> = snapshot(dir.path())
            .into_keys()
            .filter(|name| name.contains(".issue") || name.contains("77"))
            .collect();
        assert_eq!(left, ["etc/.issue.swp"]);
        assert!(dir.path().join("etc/issue.rpmnew").exists());
    }
}
