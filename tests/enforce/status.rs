//! `skewguard status`: what a person at a node reads, before and after the gate.

use super::{ALLOWED, Node, REFUSED, WARNED};

/// What `status` prints and its exit status, without what differs from run to run.
fn status(node: &Node) -> (Option<i32>, String) {
    let output = node.run("status");
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    let lines = text
        .lines()
        .map(|line| match line.trim_start().split_once(' ') {
            Some((name @ ("since" | "decided"), at)) => {
                let at = at.trim();
                assert!(
                    at.len() == 20 && at.starts_with("20") && at.ends_with('Z'),
                    "{line}"
                );
                format!("  {name:<12}TIME")
            }
            _ => line.to_owned(),
        });
    (output.status.code(), lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn a_refused_node_is_held_until_allow_lets_it_through() {
    let node = Node::new(REFUSED);
    assert_eq!(
        status(&node),
        (
            Some(0),
            "Not held: skewguard.service left no verdict on this boot".to_owned()
        )
    );
    node.run("enforce");
    let held = "\
Held: this node is refused, and does not go on to join
  since       TIME
  decided     TIME
  units       crio.service
              firstboot-osupdate.target
              kubelet-dependencies.target
              kubelet.service
              machine-config-daemon-firstboot.service
              machine-config-daemon-pull.service
              ovs-kubelet-recovery.service
  verdict     Refused: boot image is OCP 4.12; the minimum is 4.13.0
  rule        BelowMinimumOCPVersion
  policy      /etc/skewguard/policy.json (mode Enforce)
  cluster     not told yet (journalctl -u skewguard-report)
  let in      sudo /usr/bin/skewguard allow";
    assert_eq!(status(&node), (Some(3), held.to_owned()));
    node.run("allow");
    let through = "\
Let through: this node was refused, and somebody let it go on
  decided     TIME
  verdict     Refused: boot image is OCP 4.12; the minimum is 4.13.0
  rule        BelowMinimumOCPVersion
  policy      /etc/skewguard/policy.json (mode Enforce)
  override    warn, by /run/skewguard/override, now";
    let (code, said) = status(&node);
    assert_eq!(code, Some(0));
    assert!(said.starts_with(through), "{said}");
}

/// An admin's drop-in of the same name in /etc wins over ours.
#[test]
fn what_an_admin_has_taken_out_of_the_hold_is_named() {
    let node = Node::new(REFUSED);
    node.run("enforce");
    let folder = node.path("etc/systemd/system/crio.service.d");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("50-skewguard.conf"), "[Unit]\n").unwrap();
    let (code, said) = status(&node);
    assert_eq!(code, Some(3));
    let expected = "\
  units       firstboot-osupdate.target
              kubelet-dependencies.target
              kubelet.service
              machine-config-daemon-firstboot.service
              machine-config-daemon-pull.service
              ovs-kubelet-recovery.service
  not held    crio.service: /etc/systemd/system/crio.service.d/50-skewguard.conf replaces the drop-in of skewguard
  verdict";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn a_node_that_goes_on_is_not_held() {
    for (name, more) in [
        (ALLOWED, ""),
        (
            WARNED,
            "  verdict     Would be refused: boot image is OCP 4.12;",
        ),
        (WARNED, "  goes on     because the policy only warns"),
    ] {
        let node = Node::new(name);
        node.run("enforce");
        let (code, said) = status(&node);
        assert_eq!(code, Some(0));
        assert!(
            said.starts_with("Not held: this node goes on to join\n"),
            "{said}"
        );
        assert!(said.contains(more), "{said}");
    }
}

#[test]
fn an_override_of_another_word_is_ignored_and_said_to_be() {
    let node = Node::new(REFUSED);
    node.run("enforce");
    std::fs::write(node.path("run/skewguard/override"), "warm\n").unwrap();
    let (code, said) = status(&node);
    assert_eq!(code, Some(3));
    let line =
        "\n  override    warm, by /run/skewguard/override, ignored: write off, warn or enforce\n";
    assert!(said.contains(line), "{said}");
}

#[test]
fn a_damaged_verdict_is_named() {
    let node = Node::new(REFUSED);
    node.run("enforce");
    std::fs::write(node.path("run/skewguard/verdict.json"), "{\"a\":").unwrap();
    let (code, said) = status(&node);
    assert_eq!(code, Some(3), "the stamp holds it");
    assert!(
        said.contains("\n  error       /run/skewguard/verdict.json: "),
        "{said}"
    );
}

/// /var has the same verdict, as long as it is of this boot.
#[test]
fn the_kept_verdict_stands_in_for_a_damaged_one() {
    let node = Node::new(WARNED);
    node.run("enforce");
    for _ in 0..2 {
        std::fs::write(node.path("run/skewguard/verdict.json"), "{\"a\":").unwrap();
        let (code, said) = status(&node);
        assert_eq!(code, Some(0));
        assert!(
            said.starts_with("Not held: this node goes on to join\n"),
            "{said}"
        );
        assert!(
            said.contains("\n  error       /run/skewguard/verdict.json: "),
            "{said}"
        );
    }
    // Of an earlier boot: `enforce` took the lock since, and kept nothing.
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(2);
    while std::time::SystemTime::now() < later {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    std::fs::remove_file(node.path("run/skewguard/lock")).unwrap();
    std::fs::write(node.path("run/skewguard/lock"), "").unwrap();
    let (_, said) = status(&node);
    assert!(
        said.starts_with("Not held: skewguard.service left no verdict on this boot\n"),
        "{said}"
    );
}

/// Its config survived, so that the check runs on every boot.
#[test]
fn a_node_that_has_joined_does_not_go_on_to_join() {
    for name in [REFUSED, WARNED, ALLOWED] {
        let node = Node::new(name);
        std::fs::create_dir_all(node.path("etc/machine-config-daemon")).unwrap();
        std::fs::write(node.path(ANNOTATIONS), "{}").unwrap();
        assert_eq!(node.run("enforce").status.code(), Some(0));
        let (code, said) = status(&node);
        assert_eq!(code, Some(0));
        assert!(
            said.starts_with("Not held: the first boot is over\n"),
            "{said}"
        );
    }
}

/// An admin took its certificates away, so that the kubelet gets new ones.
#[test]
fn a_node_that_was_labelled_has_joined() {
    for (patch, state) in [
        (r#", "nodePatch": "0f""#, "the first boot is over"),
        ("", "this node goes on, but its first boot does not finish"),
    ] {
        let node = Node::new(ALLOWED);
        std::fs::create_dir_all(node.path("proc/sys/kernel/random")).unwrap();
        let id = "1".repeat(32);
        std::fs::write(node.path("proc/sys/kernel/random/boot_id"), id).unwrap();
        node.run("enforce");
        std::fs::remove_dir_all(node.path("run/skewguard")).unwrap();
        let config = "etc/ignition-machine-config-encapsulated.json";
        std::fs::rename(node.path(config), node.path(&format!("{config}.bak"))).unwrap();
        hangs(&node, true, "");
        let path = node.path("var/lib/skewguard/report-state.json");
        let kept = std::fs::read_to_string(&path).unwrap();
        let kept = kept.replacen(r#""ReportState""#, &format!(r#""ReportState"{patch}"#), 1);
        std::fs::write(&path, kept).unwrap();
        let (code, said) = status(&node);
        assert_eq!(code, Some(0));
        assert!(said.starts_with(&format!("Not held: {state}\n")), "{said}");
    }
}

/// What the report has kept of a first boot that hangs, of this installation or another one.
fn hangs(node: &Node, is_ours: bool, causes: &str) {
    let kept = node.json("var/lib/skewguard/verdict.json");
    let ours = kept["installation"].as_str().unwrap();
    let id = if is_ours { ours } else { "another" };
    let state = format!(
        r#"{{ "apiVersion": "skewguard.dev/v1alpha1", "kind": "ReportState", "installation": "{id}",
             "firstBoot": {{ "total": 2400, "waited": 2400,
                            "stall": {{ "phase": "Pull", "report": "worker-1-0123456789abcdef"{causes} }} }} }}"#
    );
    std::fs::write(node.path("var/lib/skewguard/report-state.json"), state).unwrap();
}

const ANNOTATIONS: &str = "etc/machine-config-daemon/node-annotation.json.bak";

#[test]
fn a_first_boot_that_hangs_is_not_said_to_go_on_to_join() {
    let node = Node::new(ALLOWED);
    node.run("enforce");
    hangs(
        &node,
        true,
        r#", "causes": ["Unreachable", "Unauthorized"]"#,
    );
    let (code, said) = status(&node);
    let expected = "\
Not held: this node goes on, but its first boot does not finish
  decided     TIME
  first boot  phase Pull, cause Unauthorized: the registry refuses the node's pull secret
              Check the cluster's pull secret (openshift-config/pull-secret; hosted: the HostedCluster's) for this registry or mirror. On the node: journalctl -b -u machine-config-daemon-pull.service
  verdict     ";
    assert_eq!(code, Some(0));
    assert!(said.starts_with(expected), "{said}");
    let json: serde_json::Value =
        serde_json::from_slice(&node.run_with("status", &["--output", "json"]).stdout).unwrap();
    assert_eq!(json["state"], "Stalled");
    assert_eq!(
        json["firstBoot"],
        serde_json::json!({ "phase": "Pull", "cause": "Unauthorized", "minutes": 40 })
    );

    // An older agent kept no causes, a newer one may know more.
    for (causes, cause) in [("", "Unknown"), (r#", "causes": ["Gremlins"]"#, "Gremlins")] {
        hangs(&node, true, causes);
        let said = status(&node).1;
        let line = format!(
            "  first boot  phase Pull, cause {cause}: no cause that skewguard knows was seen\n"
        );
        assert!(said.contains(&line), "{said}");
    }

    // Another machine's, and that of a node that has joined.
    hangs(&node, false, "");
    assert!(
        status(&node)
            .1
            .starts_with("Not held: this node goes on to join\n")
    );
    hangs(&node, true, "");
    std::fs::create_dir_all(node.path("etc/machine-config-daemon")).unwrap();
    std::fs::write(node.path(ANNOTATIONS), "{}").unwrap();
    assert!(
        status(&node)
            .1
            .starts_with("Not held: the first boot is over\n")
    );
}

/// A node whose daemon renamed its config and rebooted, and whose deployment is still the boot
/// image's.
fn rebased_in_vain() -> Node {
    let node = Node::new(ALLOWED);
    node.run("enforce");
    std::fs::remove_dir_all(node.path("run/skewguard")).unwrap();
    let config = "etc/ignition-machine-config-encapsulated.json";
    std::fs::rename(node.path(config), node.path(&format!("{config}.bak"))).unwrap();
    let boot = node.path("proc/sys/kernel/random");
    std::fs::create_dir_all(&boot).unwrap();
    std::fs::write(
        boot.join("boot_id"),
        "ffffffff-8f0a-4d5e-9d55-0a1b2c3d4e5f\n",
    )
    .unwrap();
    node
}

const NOT_FINALIZED: &str = "\
Not held: this node goes on, but its first boot does not finish
  decided     TIME
  first boot  phase Rebase, cause NotFinalized: the rebase was staged, but not finalized at the last shutdown, so the node still runs its old OS
              A full /boot, SELinux modules, a slow disk and a grub2-probe that does not know composefs are known to do this. Make the machine anew; if it happens again, on a faster disk where stopping timed out, else from a newer boot image. On the node: journalctl -b -1 -u ostree-finalize-staged
";

/// okd #1885.
#[test]
fn a_rebase_that_was_not_finalized_is_not_the_end_of_the_first_boot() {
    let node = rebased_in_vain();
    let (code, said) = status(&node);
    assert_eq!(code, Some(0));
    assert!(said.starts_with(NOT_FINALIZED), "{said}");
    let check = String::from_utf8(node.run("check").stdout).unwrap();
    let warning = "the rebase was staged, but not finalized: the node still runs the deployment of its first run";
    assert!(check.contains(warning), "{check}");
}

/// The target's deployment, with this origin; and where given the link that an entry of the boot
/// menu names.
fn deploy(node: &Node, origin: &str, link: Option<&str>) {
    let name = format!("{}.0", "ee".repeat(32));
    let folder = node.path("sysroot/ostree/deploy/rhcos/deploy");
    std::fs::write(folder.join(format!("{name}.origin")), origin).unwrap();
    let Some(link) = link else {
        return;
    };
    let boot = node.path("sysroot/ostree/boot.0/rhcos/new");
    std::fs::create_dir_all(&boot).unwrap();
    let deployment = format!("../../../deploy/rhcos/deploy/{name}");
    std::os::unix::fs::symlink(deployment, boot.join("0")).unwrap();
    let entries = node.path("boot/loader.0/entries");
    std::fs::create_dir_all(&entries).unwrap();
    std::os::unix::fs::symlink("loader.0", node.path("boot/loader")).unwrap();
    let booted = std::fs::read_to_string(node.path("proc/cmdline")).unwrap();
    let menu = [
        ("ostree-1-rhcos.conf", booted.trim()),
        ("ostree-2-rhcos.conf", link),
    ];
    for (name, options) in menu {
        let text = format!("title Red Hat\nversion 2\noptions {options}\nlinux /vmlinuz\n");
        std::fs::write(entries.join(name), text).unwrap();
    }
}

/// The image of the node's target.
fn target(node: &Node) -> String {
    let config = "etc/ignition-machine-config-encapsulated.json.bak";
    let config: serde_json::Value =
        serde_json::from_slice(&std::fs::read(node.path(config)).unwrap()).unwrap();
    config["spec"]["osImageURL"].as_str().unwrap().to_owned()
}

/// The new OS did not come up, and somebody chose the old entry; or rolled back.
#[test]
fn a_rebase_whose_entry_was_not_booted_is_told_apart() {
    for key in [
        "container-image-reference=ostree-unverified-registry:",
        "custom-url=pivot://",
    ] {
        let node = rebased_in_vain();
        let origin = format!("[origin]\n{key}{}\n", target(&node));
        deploy(&node, &origin, Some("ro ostree=/ostree/boot.0/rhcos/new/0"));
        let (code, said) = status(&node);
        assert_eq!(code, Some(0));
        let expected = "\
Not held: this node goes on, but its first boot does not finish
  decided     TIME
  first boot  phase Rebase, cause NotBooted: the rebase is in the boot menu, but the machine booted the entry of its old OS
              If somebody chose that entry, reboot. If the new OS did not come up, read how its boot ended, here or on its console; make the machine anew if it happens again. On the node: journalctl -b -1
";
        assert!(said.starts_with(expected), "{said}");
        let check = String::from_utf8(node.run("check").stdout).unwrap();
        let warning = "the rebase is in the boot menu, but was not booted: the node still runs the deployment of its first run; see journalctl -b -1\n";
        assert!(check.contains(warning), "{check}");
    }
}

/// A deployment alone is staged, and what the boot menu says otherwise proves nothing.
#[test]
fn a_rebase_that_no_entry_boots_was_not_finalized() {
    let link = "ro ostree=/ostree/boot.0/rhcos/new/0";
    for (image, entry, what) in [
        (None, None, "no entry"),
        (
            None,
            Some("ro ostree=/ostree/boot.0/rhcos/gone/0"),
            "no link",
        ),
        (None, Some("ro root=UUID=1"), "no ostree="),
        (Some("quay.io/a@sha256:00"), Some(link), "another image"),
        (Some("quay.io/a:latest"), Some(link), "a tag"),
    ] {
        let node = rebased_in_vain();
        let image = image.map_or_else(|| target(&node), str::to_owned);
        let key = "container-image-reference=ostree-unverified-registry";
        deploy(&node, &format!("[origin]\n{key}:{image}\n"), entry);
        let (_, said) = status(&node);
        assert!(said.starts_with(NOT_FINALIZED), "{what}: {said}");
    }
}
