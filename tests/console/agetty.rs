//! What the real agetty(8) makes of the message: which files it reads, and which address it says.

use crate::console::install::PROMPT;
use crate::console::message::issue;
use crate::console::{Context, live, update};
use crate::inside::console::Node;
use crate::node::Root;
use crate::support::world;
use std::path::Path;
use std::process::Command;

/// Runs `test` as root in namespaces of its own (mounts, network, host name).
fn alone(name: &str, test: impl FnOnce(&Path)) {
    let name = format!("inside::console::agetty::{name}");
    world::alone(&name, &["--net", "--uts"], "", "", |dir| {
        test(Path::new(dir))
    });
}

fn sh(script: &str) -> String {
    let output = Command::new("sh")
        .args(["-euc", script])
        .output()
        .expect("sh runs");
    let [out, err] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(
        output.status.success(),
        "{script}: {err}; install the Debian packages iproute2, util-linux and bsdutils"
    );
    out.replace('\r', "")
}

/// What agetty prints above the login prompt, from this file or from those that it looks for;
/// script(1) makes its terminal.
fn shown(file: Option<&Path>) -> String {
    let file = file
        .map(|path| format!("--issue-file {}", path.display()))
        .unwrap_or_default();
    sh(&format!(
        "script -qec '/usr/sbin/agetty --show-issue {file}' /dev/null"
    ))
}

/// A `/etc` with these files alone, and its tree, whose root is not `/`: nothing but files is
/// touched.
fn etc(dir: &Path, issue: &str) -> Root {
    let (etc, run) = (dir.join("etc"), dir.join("run"));
    for folder in [etc.join("issue.d"), run.clone()] {
        std::fs::create_dir_all(folder).expect("made");
    }
    std::fs::write(etc.join("issue"), issue).expect("written");
    for (name, text) in BELOW {
        std::fs::write(etc.join("issue.d").join(name), text).expect("written");
    }
    sh(&format!(
        "mount --bind {} /etc; mount --bind {} /run",
        etc.display(),
        run.display()
    ));
    Root::open(dir).expect("opened")
}

/// What stands below /etc/issue on a real node: of console-login-helper-messages the keys and the
/// interfaces, of Ignition what it did (coreos-ignition-write-issues, fedora-coreos-config).
const BELOW: [(&str, &str); 4] = [
    (
        "21_clhm_ssh_host_keys.issue",
        "SSH host key: SHA256:a (ED25519)\nSSH host key: SHA256:b (ECDSA)\nSSH host key: SHA256:c (RSA)\n",
    ),
    ("22_clhm_ens192.issue", "ens192: 192.0.2.7\n"),
    (
        "30_coreos_ignition_provisioning.issue",
        "Ignition: ran on 2026/11/25 10:00:00 UTC (this boot)\nIgnition: user-provided config was applied\n",
    ),
    (
        "30_ssh_authorized_keys.issue",
        "Ignition: wrote ssh authorized keys file for user: core\n",
    ),
];

#[test]
fn agetty_prints_the_message_of_a_node_that_goes_on_below_etc_issue() {
    alone(
        "agetty_prints_the_message_of_a_node_that_goes_on_below_etc_issue",
        |dir| {
            let root = etc(dir, "a banner that a MachineConfig owns\n");
            let warned = Node {
                mode: "Warn",
                ..Node::default()
            }
            .verdict();
            update(&root, &warned, &Context::default()).expect("shown");
            assert_eq!(
                std::fs::read_to_string("/etc/issue").expect("there"),
                "a banner that a MachineConfig owns\n"
            );
            assert!(Path::new(PROMPT).exists());
            let below: String = BELOW.iter().map(|(_, text)| *text).collect();
            let message = issue(&warned, &Context::default());
            assert_eq!(
                shown(None).trim_end(),
                format!("a banner that a MachineConfig owns\n{below}{message}").trim_end()
            );

            let refused = Node::default().verdict();
            let context = Context {
                address: Some("192.0.2.7".to_owned()),
                ..Context::default()
            };
            update(&root, &refused, &context).expect("shown");
            let message = issue(&refused, &context);
            let headline = message.lines().next().expect("a headline");
            let shown = shown(None);
            assert_eq!(
                shown.trim_end(),
                format!("{message}a banner that a MachineConfig owns\n{below}{headline}")
            );
            // Of a screen of 25 lines the last ones are left, with the prompt.
            assert!(shown.lines().count() > 24, "the top scrolls away");
        },
    );
}

/// "ssh core@..." as it is on the screen, before any address is known to the agent and once one is.
#[test]
fn agetty_says_the_address_that_there_is() {
    alone("agetty_says_the_address_that_there_is", |dir| {
        let refused = Node::default().verdict();
        let file = dir.join("message");
        let ssh = |address: Option<&str>| {
            let context = Context {
                address: address.map(str::to_owned),
                ..Context::default()
            };
            std::fs::write(&file, issue(&refused, &context)).expect("written");
            let text = shown(Some(&file));
            let line = text
                .lines()
                .find(|line| line.starts_with("Let in  "))
                .unwrap_or_else(|| panic!("{text}"));
            line.trim_start_matches("Let in  ").to_owned()
        };
        sh(
            "hostname localhost; ip link set lo up; ip link add n0 type veth peer name n1
            sysctl -qw net.ipv6.conf.n1.disable_ipv6=1; ip link set n0 up; ip link set n1 up",
        );
        // Without an address, agetty prints that of the loopback interface.
        assert!(
            ssh(None).starts_with("ssh core@127.0.0.1 or "),
            "{}",
            ssh(None)
        );
        sh("ip address add 2001:db8::7/64 dev n0 nodad");
        let v6_only = ssh(None);
        assert!(
            v6_only.starts_with("ssh core@127.0.0.1 or ") && v6_only.ends_with("2001:db8::7"),
            "{v6_only}"
        );
        assert_eq!(
            ssh(Some("2001:db8::7")),
            "ssh core@2001:db8::7, then: sudo /usr/bin/skewguard allow"
        );
        sh("ip address add 192.0.2.7/24 dev n0");
        assert_eq!(ssh(None), "ssh core@192.0.2.7 or 2001:db8::7");
        sh("ip address del 2001:db8::7/64 dev n0");
        assert!(
            ssh(None).starts_with("ssh core@192.0.2.7 or "),
            "{}",
            ssh(None)
        );
        assert_eq!(
            ssh(Some("192.0.2.7")),
            "ssh core@192.0.2.7, then: sudo /usr/bin/skewguard allow"
        );
    });
}

/// agetty prints a waiting prompt again when an address comes, and on `agetty --reload`.
#[test]
fn a_prompt_that_waits_is_drawn_again() {
    alone("a_prompt_that_waits_is_drawn_again", |dir| {
        let (file, screen) = (dir.join("message"), dir.join("screen"));
        let refused = Node::default().verdict();
        std::fs::write(&file, issue(&refused, &Context::default())).expect("written");
        sh("mount -t tmpfs tmpfs /run; hostname localhost; ip link set lo up; ip link add n0 type veth peer name n1
            ip link set n0 up; ip link set n1 up");
        // Without a prompt the file that agettys watch does not exist. We do not make it: it would
        // get the wrong SELinux type.
        live::reload_prompts().expect("nothing to do");
        assert!(!Path::new("/run/agetty.reload").exists());
        let mut agetty = Command::new("script")
            .args([
                "-qefc",
                &format!(
                    "/usr/sbin/agetty --noclear --nohostname --issue-file {} - linux",
                    file.display()
                ),
            ])
            .arg(&screen)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("script starts");
        let mut until = |what: &str| {
            for _ in 0..200 {
                let text = std::fs::read(&screen).unwrap_or_default();
                if String::from_utf8_lossy(&text).contains(what) {
                    return;
                }
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            let _ = agetty.kill();
            panic!(
                "no {what:?} on the screen: {}",
                String::from_utf8_lossy(&std::fs::read(&screen).unwrap_or_default())
            );
        };
        until("ssh core@127.0.0.1 or ");
        sh("ip address add 192.0.2.7/24 dev n0");
        until("ssh core@192.0.2.7 or ");
        let known = Context {
            address: Some("192.0.2.7".to_owned()),
            ..Context::default()
        };
        std::fs::write(&file, issue(&refused, &known)).expect("written");
        live::reload_prompts().expect("reloaded");
        until("ssh core@192.0.2.7, then: sudo /usr/bin/skewguard allow");
        let _ = agetty.kill();
        let _ = agetty.wait();
    });
}
