//! The first boot: every sample node, and what is left on it.

use crate::enforce::{ALLOWED, Node, OURS, REFUSED, WARNED, assert_whole, samples, stderr};
use serde_json::{Value, json};

/// A node on which the two verdict files say what `check` says, beside the gate.
fn assert_says_what_check_says(node: &Node, before: &Value, what: &str) {
    let run = node.json("run/skewguard/verdict.json");
    let mut kept = node.json("var/lib/skewguard/verdict.json");
    let id = kept
        .as_object_mut()
        .expect("an object")
        .remove("installation");
    assert!(id.is_some() && run == kept, "{what}");
    let mut decided = run;
    let gate = decided.as_object_mut().expect("an object").remove("gate");
    assert_eq!(&decided, before, "{what}");
    assert_eq!(gate.is_some(), before["action"] == "Block", "{what}");
}

#[test]
fn every_sample_node_is_held_or_goes_on_as_its_verdict_says() {
    for name in samples() {
        let node = Node::new(&name);
        let checked = node.run_with("check", &["--output", "json"]);
        let before: Value = serde_json::from_slice(&checked.stdout).expect("a verdict");
        let files_before = node.files();
        let output = node.run("enforce");
        assert_eq!(
            output.status.code(),
            checked.status.code(),
            "{name}: {}",
            stderr(&output)
        );
        let blocks = before["action"] == "Block";
        assert_eq!(
            (node.is_stamped(), !node.held().is_empty()),
            (blocks, blocks),
            "{name}"
        );
        assert_says_what_check_says(&node, &before, &name);
        assert_whole(&node.path(""), &name);

        let files = node.files();
        for (path, content) in &files_before {
            let may_change = OURS.contains(&path.as_str());
            assert!(
                may_change || files.get(path) == Some(content),
                "{name}: {path} changed"
            );
        }
        let foreign = |path: &&String| {
            let known =
                OURS.contains(&path.as_str()) || path.as_str() == "var/lib/skewguard/verdict.json";
            !known && !files_before.contains_key(*path) && !path.starts_with("run/systemd/system/")
        };
        assert_eq!(
            files.keys().find(foreign),
            None,
            "{name}: a file that nobody knows of"
        );
    }
}

#[test]
fn the_units_that_are_held_without_asking_systemd() {
    let node = Node::new(REFUSED);
    assert_eq!(node.run("enforce").status.code(), Some(3));
    let held = [
        "crio.service",
        "firstboot-osupdate.target",
        "kubelet-dependencies.target",
        "kubelet.service",
        "machine-config-daemon-firstboot.service",
        "machine-config-daemon-pull.service",
        "ovs-kubelet-recovery.service",
    ];
    assert_eq!(node.held(), held);
    let gate = node.json("run/skewguard/verdict.json")["gate"].clone();
    assert_eq!(gate["held"], true);
    assert_eq!(gate["units"].as_array().expect("a list").len(), held.len());
}

/// Of a later boot, and of the first one of an installation.
#[test]
fn the_record_of_the_first_run() {
    for first in [false, true] {
        let node = Node::new(REFUSED);
        if first {
            let line = node.read("proc/cmdline").expect("a command line");
            let line = format!("ignition.firstboot {line}");
            std::fs::write(node.path("proc/cmdline"), line).expect("written");
        }
        node.run("enforce");
        let mut record = node.json("etc/skewguard/boot-image.json");
        let fields = record.as_object_mut().expect("an object");
        let refusal = fields.remove("refusal").expect("a refusal");
        assert_eq!(refusal, node.json("run/skewguard/verdict.json"));
        assert!(fields.remove("refusedAt").is_some());
        assert_eq!(fields.remove("time").is_some(), first);
        let mut expected = json!({
            "apiVersion": "skewguard.dev/v1alpha1",
            "kind": "BootImageRecord",
            "version": "412.86.202303211731-0",
            "path": "/sysroot/.coreos-aleph-version.json",
            "rhel": false,
            "deployment": "c0ffee0000000000000000000000000000000000000000000000000000000000.0",
            "base": "x",
            "osVersion": "412.86.202303211731-0",
        });
        if first {
            expected["certificates"] = json!([]);
            expected["kubeletOnEtc"] = json!(true);
        }
        assert_eq!(record, expected);
    }
}

#[test]
fn a_refused_node_has_the_message_on_top_of_etc_issue_and_one_that_goes_on_beside_it() {
    for (name, first_line) in [
        (
            REFUSED,
            Some("*** NODE REFUSED: ITS BOOT IMAGE IS TOO OLD FOR THIS CLUSTER ***"),
        ),
        (
            WARNED,
            Some("*** WARNING: THE BOOT IMAGE OF THIS NODE IS TOO OLD FOR THIS CLUSTER ***"),
        ),
        (ALLOWED, None),
    ] {
        let node = Node::new(name);
        let before = node.read("etc/issue");
        let output = node.run("enforce");
        let (after, at_prompt) = (
            node.read("etc/issue"),
            node.read("run/skewguard-prompt.issue"),
        );
        match first_line {
            Some(line) if name == REFUSED => {
                let after = after.expect("an issue");
                assert_eq!(after.lines().next(), Some(line), "{name}: {after}");
                assert!(
                    after.ends_with(&before.expect("an issue")),
                    "{name}: what was there follows"
                );
                // Once more next to the prompt, below whatever else is shown.
                assert_eq!(at_prompt, Some(format!("{line}\n")));
            }
            // Byte for byte: its MachineConfig may own the file, and its kubelet starts in this
            // boot.
            _ => {
                assert_eq!(after, before, "{name}");
                assert_eq!(
                    at_prompt.as_deref().and_then(|text| text.lines().next()),
                    first_line,
                    "{name}"
                );
            }
        }
        assert!(
            stderr(&output).starts_with("skewguard: "),
            "{name}: with another root the entry goes to stderr: {}",
            stderr(&output)
        );
    }
}

#[test]
fn check_prints_the_message_that_stands() {
    for (name, at) in [
        (REFUSED, "etc/issue"),
        (WARNED, "run/skewguard-prompt.issue"),
    ] {
        let node = Node::new(name);
        std::fs::create_dir_all(node.path("usr/local/bin")).expect("made");
        std::fs::write(node.path("usr/local/bin/skewguard"), "").expect("written");
        node.run("enforce");
        let printed =
            String::from_utf8(node.run_with("check", &["--output", "issue"]).stdout).expect("text");
        let stands = node.read(at).expect("a message");
        // agetty's escapes for the address fill a line of their own.
        let is_way_in = |line: &&str| line.contains("core@") || line.contains("skewguard=off");
        let other_lines = |text: &str| {
            let lines: Vec<&str> = text.lines().filter(|line| !is_way_in(line)).collect();
            lines.join("\n")
        };
        assert!(
            other_lines(&stands).starts_with(&other_lines(&printed)) && printed.starts_with("*** "),
            "{name}: {printed}\n{stands}"
        );
        assert_eq!(stands.contains(r"core@\4 or \6"), name == REFUSED);
        assert_eq!(
            printed.contains("core@ADDRESS, then: sudo "),
            name == REFUSED
        );
        assert_eq!(
            printed.contains("sudo /usr/local/bin/skewguard allow"),
            name == REFUSED,
            "{printed}"
        );
    }
}

#[test]
fn a_root_that_is_none_is_an_error() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_skewguard"))
        .args(["enforce", "--root", "/nonexistent"])
        .output();
    let output = output.expect("skewguard starts");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        stderr(&output),
        "skewguard: --root /nonexistent: No such file or directory (os error 2)\n"
    );
}
