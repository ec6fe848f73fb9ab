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
