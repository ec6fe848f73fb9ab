//! What was there before the message, and what an admin changed: it comes back, or stays.

use super::*;

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
            let mut names: Vec<String> = snapshot(dir.path()).into_keys().collect();
            names.retain(|name| name.contains("skewguard"));
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
