//! After the first run: again, after a reboot, after `allow`, and once the first boot is over.

use crate::enforce::{ALLOWED, Node, REFUSED, WARNED, samples, stderr};
use std::fs;
use std::path::Path;

const CONFIG: &str = "etc/ignition-machine-config-encapsulated.json";

fn refused() -> Node {
    let node = Node::new(REFUSED);
    assert_eq!(node.run("enforce").status.code(), Some(3));
    node
}

fn reboot(node: &Node) {
    fs::remove_dir_all(node.path("run")).expect("/run is memory");
}

#[test]
fn refusing_again_changes_nothing() {
    let node = refused();
    let before = node.files();
    assert_eq!(node.run("enforce").status.code(), Some(3));
    assert_eq!(node.files(), before);
}

#[test]
fn what_is_refused_is_refused_after_a_reboot() {
    let node = refused();
    let before = node.files();
    reboot(&node);
    assert_eq!(node.run("enforce").status.code(), Some(3));
    assert_eq!(node.files(), before);
}

#[test]
fn a_refusal_stands_for_its_boot_whatever_is_decided_later_in_it() {
    for (what, change) in [
        ("override", "run/skewguard/override"),
        ("policy", "etc/skewguard/policy.json"),
        ("config", CONFIG),
    ] {
        let node = refused();
        match what {
            "override" => fs::write(node.path(change), "off\n").expect("written"),
            _ => fs::remove_file(node.path(change)).expect("removed"),
        }
        if what == "policy" {
            fs::remove_file(node.path("etc/mcs-machine-config-content.json")).expect("removed");
        }
        let before = node.files();
        let output = node.run("enforce");
        assert_eq!(output.status.code(), Some(3), "{what}");
        let error = stderr(&output);
        assert!(
            error.starts_with("skewguard: this boot was refused and stays refused"),
            "{what}: {error}"
        );
        assert!(
            error.ends_with("; to let the node through run: skewguard allow\n"),
            "{what}: {error}"
        );
        assert_eq!(node.files(), before, "{what}");
    }
}

#[test]
fn the_next_boot_decides_anew() {
    let node = refused();
    reboot(&node);
    fs::create_dir_all(node.path("run/skewguard")).expect("made");
    fs::write(node.path("run/skewguard/override"), "off\n").expect("written");
    assert_eq!(node.run("enforce").status.code(), Some(0));
    assert!(!node.is_stamped());
    assert_eq!(node.held(), [""; 0]);
    assert_eq!(
        node.files()["etc/issue"],
        Node::new(REFUSED).files()["etc/issue"],
        "the message is gone"
    );
    assert_eq!(
        node.json("run/skewguard/verdict.json")["verdict"],
        "Disabled"
    );
}

#[test]
fn allow_lifts_the_refusal_and_leaves_the_finding_on_record() {
    let node = refused();
    let output = node.run("allow");
    assert_eq!(
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).as_ref(),
            stderr(&output).as_str()
        ),
        (
            Some(0),
            "This node goes on, for this boot: first the OS update, which reboots the node if it changes anything, then the kubelet.\n\
             Follow it: journalctl -f -u machine-config-daemon-pull -u machine-config-daemon-firstboot\n",
            ""
        )
    );
    assert!(!node.is_stamped());
    assert_eq!(node.held(), [""; 0]);
    assert_eq!(
        node.files()["etc/issue"],
        Node::new(REFUSED).files()["etc/issue"]
    );

    // systemd starts our unit again, with everything else.
    assert_eq!(node.run("enforce").status.code(), Some(0));
    let verdict = node.json("run/skewguard/verdict.json");
    assert_eq!(
        (&verdict["verdict"], &verdict["action"]),
        (&"Refused".into(), &"Proceed".into())
    );
    assert_eq!(
        verdict["override"],
        serde_json::json!({ "value": "warn", "source": "File" })
    );
    assert!(!node.is_stamped());

    // For this boot: without an update the next one refuses again.
    reboot(&node);
    assert_eq!(node.run("enforce").status.code(), Some(3));
}

#[test]
fn allow_on_a_node_that_is_not_refused_does_nothing() {
    for name in [ALLOWED, WARNED] {
        let node = Node::new(name);
        node.run("enforce");
        let before = node.files();
        let output = node.run("allow");
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "This node is not refused: there is nothing to let through.\n"
        );
        assert_eq!(node.files(), before, "{name}");
    }
}

/// The report tells it then: see tests/report/untold.rs.
#[test]
fn a_refusal_is_put_aside_by_a_boot_that_reports_nothing() {
    const KEPT: &str = "var/lib/skewguard/verdict.json";
    const UNTOLD: &str = "var/lib/skewguard/untold-verdict.json";
    let node = refused();
    let refusal = node.read(KEPT);
    let cmdline = node.read("proc/cmdline").expect("a command line");
    let boots_with = |word: &str, code: i32| {
        reboot(&node);
        let line = format!("{} skewguard={word}\n", cmdline.trim());
        fs::write(node.path("proc/cmdline"), line).expect("written");
        let output = node.run("enforce");
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    };
    for boot in 1..=3 {
        boots_with("off", 0);
        assert_eq!(node.read(UNTOLD), refusal, "boot {boot}");
        assert_eq!(node.json(KEPT)["verdict"], "Disabled");
    }
    // A newer refusal is reported itself.
    for (word, code) in [("warn", 0), ("enforce", 3)] {
        boots_with("off", 0);
        assert!(node.path(UNTOLD).exists());
        boots_with(word, code);
        assert!(!node.path(UNTOLD).exists(), "{word}");
    }
    // A reinstallation that kept /var has nothing to tell of the earlier installation.
    let reinstalled = format!("ignition.firstboot {} skewguard=off\n", cmdline.trim());
    fs::write(node.path("proc/cmdline"), reinstalled).expect("written");
    fs::create_dir_all(node.path("proc/sys/kernel/random")).expect("made");
    fs::write(node.path("proc/sys/kernel/random/boot_id"), "2".repeat(32)).expect("written");
    reboot(&node);
    assert_eq!(node.run("enforce").status.code(), Some(0));
    assert!(!node.path(UNTOLD).exists());
}

/// What the node has instead of the encapsulated config once its first boot is over.
fn finish(node: &Node, renamed: bool) {
    let (from, to) = (node.path(CONFIG), node.path(&format!("{CONFIG}.bak")));
    if renamed {
        fs::rename(from, to).expect("renamed")
    } else {
        fs::remove_file(from).expect("removed")
    }
}

#[test]
fn once_the_first_boot_is_over_nothing_is_ever_held_or_decided() {
    for name in samples() {
        for renamed in [true, false] {
            let node = Node::new(&name);
            if !node.path(CONFIG).exists() {
                continue;
            }
            finish(&node, renamed);
            let before = node.files();
            let output = node.run("enforce");
            assert_eq!(
                (output.status.code(), stderr(&output).as_str()),
                (Some(0), ""),
                "{name}"
            );
            assert_eq!(node.files(), before, "{name}");
        }
    }
}

#[test]
fn the_message_goes_however_the_node_got_on() {
    for name in [REFUSED, WARNED] {
        for renamed in [true, false] {
            let node = Node::new(name);
            assert!(node.path("etc/issue").is_symlink(), "as on RHCOS");
            let before = node.files();
            node.run("enforce");
            assert!(
                node.path("etc/motd.d/skewguard").exists(),
                "{name}: a message stands"
            );
            reboot(&node);
            finish(&node, renamed);
            assert_eq!(node.run("enforce").status.code(), Some(0), "{name}");
            let mut after = node.files();
            // The record and the last verdict are for later boots; the lock is an empty file in
            // /run.
            after.retain(|path, _| {
                !path.starts_with("var/lib/skewguard/")
                    && !path.starts_with(CONFIG)
                    && path != "run/skewguard/lock"
                    && path != "etc/skewguard/boot-image.json"
            });
            let expected: Vec<_> = before
                .iter()
                .filter(|(path, _)| !path.starts_with(CONFIG))
                .collect();
            assert_eq!(
                after.iter().collect::<Vec<_>>(),
                expected,
                "{name}: byte for byte, link for link"
            );
            assert!(
                !node.path("var/lib/skewguard/issue.saved").exists(),
                "{name}: nothing left to restore"
            );
        }
    }
}

#[test]
fn the_message_of_a_node_that_goes_on_ends_with_its_boot() {
    let node = Node::new(WARNED);
    let messages = ["run/skewguard-prompt.issue", "etc/motd.d/skewguard"];
    let link = node.path("etc/issue.d/zz-skewguard.issue");
    node.run("enforce");
    assert!(messages.iter().all(|path| node.path(path).exists()));
    assert_eq!(
        fs::read_link(&link).expect("a link"),
        Path::new("/run/skewguard-prompt.issue")
    );
    let output = node.run_with("enforce", &["--restore-console"]);
    assert_eq!(
        (output.status.code(), stderr(&output).as_str()),
        (Some(0), "")
    );
    assert!(
        !link.is_symlink() && !messages.iter().any(|path| node.path(path).exists()),
        "the next deployment gets none of it"
    );
    assert_eq!(
        node.json("var/lib/skewguard/verdict.json")["verdict"],
        "Refused",
        "the verdict stays"
    );
}

/// It put every message on top of /etc/issue, where a MachineConfig may own the file.
#[test]
fn the_message_of_an_older_agent_is_taken_off_etc_issue() {
    for name in [WARNED, ALLOWED] {
        let node = Node::new(REFUSED);
        node.run("enforce");
        let (message, state) = (
            node.read("etc/issue").expect("a message"),
            node.path("var/lib/skewguard/issue.saved"),
        );
        let below =
            serde_json::from_slice::<serde_json::Value>(&fs::read(&state).expect("a state"))
                .expect("JSON")["below"]
                .clone();
        let node = Node::new(name);
        let before = node.files()["etc/issue"].clone();
        node.run("enforce");
        fs::rename(
            node.path("etc/issue"),
            node.path("etc/issue.skewguard-saved"),
        )
        .expect("kept");
        fs::write(node.path("etc/issue"), &message).expect("written");
        let saved = serde_json::json!({ "messages": [message.trim_end_matches("\\S \\S{VERSION_ID}\n")], "below": below });
        fs::write(
            node.path("var/lib/skewguard/issue.saved"),
            saved.to_string(),
        )
        .expect("written");
        assert_eq!(node.run("enforce").status.code(), Some(0));
        assert_eq!(node.files()["etc/issue"], before, "{name}");
        assert!(
            !node.path("etc/issue.skewguard-saved").exists()
                && !node.path("var/lib/skewguard/issue.saved").exists(),
            "{name}"
        );
        assert_eq!(
            node.path("run/skewguard-prompt.issue").exists(),
            name == WARNED
        );
    }
}

/// /var is mounted only after the decision, `allow` comes after that.
#[test]
fn allow_takes_the_message_away_although_what_is_known_of_it_is_hidden() {
    let node = refused();
    fs::rename(node.path("var/lib/skewguard"), node.path("var/lib/hidden")).expect("hidden");
    assert_eq!(node.run("allow").status.code(), Some(0));
    assert_eq!(
        node.files()["etc/issue"],
        Node::new(REFUSED).files()["etc/issue"]
    );
    assert!(
        !node.path("etc/motd.d/skewguard").exists()
            && !node.path("etc/issue.skewguard-saved").exists()
    );
}

#[test]
fn a_node_that_has_joined_is_not_held_although_its_config_is_still_there() {
    let node = Node::new(REFUSED);
    let before = node.files()["etc/issue"].clone();
    fs::create_dir_all(node.path("etc/machine-config-daemon")).expect("made");
    let annotations = "etc/machine-config-daemon/node-annotation.json.bak";
    fs::write(node.path(annotations), "{}").expect("written");
    assert_eq!(node.run("enforce").status.code(), Some(0));
    assert!(!node.is_stamped());
    assert_eq!(node.held(), [""; 0]);
    assert_eq!(node.files()["etc/issue"], before);
    assert_eq!(
        node.json("run/skewguard/verdict.json")["verdict"],
        "Refused",
        "the finding is on record"
    );
}

/// Held or not is not known then, so what stands on the console stays.
#[test]
fn a_stamp_that_cannot_be_looked_at_keeps_the_message() {
    for command in [&["enforce"][..], &["report", "--once"]] {
        let node = refused();
        finish(&node, true);
        fs::remove_file(node.path("run/skewguard/refused")).expect("removed");
        std::os::unix::fs::symlink("refused", node.path("run/skewguard/refused")).expect("a loop");
        let before = node.files()["etc/issue"].clone();
        let output = node.run_with(command[0], &command[1..]);
        assert_eq!(output.status.code(), Some(1), "{command:?}: {output:?}");
        assert_eq!(node.files()["etc/issue"], before, "{command:?}");
        if command[0] == "enforce" {
            assert!(
                stderr(&output)
                    .contains("/run/skewguard/refused: Too many levels of symbolic links"),
                "{output:?}"
            );
        }
    }
}

/// `skewguard.service` is skipped then, so that the kubelet waits for nothing; see tests/units.
#[test]
fn the_report_takes_away_a_message_that_the_first_boot_left() {
    for name in [REFUSED, WARNED] {
        let node = Node::new(name);
        let before = node.files();
        node.run("enforce");
        let shown = node.files();
        assert_ne!(before, shown);
        // The first boot is not over: the message stands.
        node.run_with("report", &["--once"]);
        assert!(node.path("etc/motd.d/skewguard").exists(), "{name}");
        reboot(&node);
        finish(&node, true);
        let output = node.run_with("report", &["--once"]);
        assert!(
            !stderr(&output).contains("the message on the console"),
            "{output:?}"
        );
        let mut after = node.files();
        after.retain(|path, _| {
            !path.starts_with("var/lib/skewguard/")
                && path != "etc/skewguard/boot-image.json"
                && !path.starts_with(CONFIG)
                && path != "run/skewguard/lock"
        });
        let expected: Vec<_> = before
            .iter()
            .filter(|(path, _)| !path.starts_with(CONFIG))
            .collect();
        assert_eq!(after.iter().collect::<Vec<_>>(), expected, "{name}");
    }
}
