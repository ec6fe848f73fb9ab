//! Whatever stands in the files of a node, the message stays a message.

use crate::console::Context;
use crate::console::message::{issue, kernel_log, motd, short};
use crate::inside::console::{Node, overridden};
use crate::verdict::ClusterKnows;
use crate::verdict::{GateStatus, OverrideWord, Verdict};
use proptest::prelude::*;
use std::process::Command;

/// What agetty(8) makes of the text; only the two escapes that we write are allowed to be there.
fn as_agetty(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, chars.as_str().chars().next()) {
            ('\\', Some('\\')) => {
                chars.next();
                out.push('\\');
            }
            ('\\', Some('4')) => {
                chars.next();
                out.push_str("255.255.255.255");
            }
            ('\\', Some('6')) => {
                chars.next();
                out.push_str("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
            }
            ('\\', next) => panic!("agetty would take \\\\{next:?} for an escape in\n{text}"),
            (c, _) => out.push(c),
        }
    }
    out
}

fn assert_holds(text: &str, most: usize) {
    for line in text.lines() {
        assert!(line.len() <= 79, "{} columns: {line}", line.len());
        assert!(line.bytes().all(|b| (b' '..=b'~').contains(&b)), "{line:?}");
    }
    assert!(text.lines().count() <= most, "{text}");
}

fn assert_message(verdict: &Verdict, context: &Context) {
    let screen = as_agetty(&issue(verdict, context));
    assert_holds(&screen, 20);
    assert!(
        screen.starts_with("*** ") && screen.ends_with("\n\n"),
        "{screen}"
    );
    for label in ["Found ", "Needed ", "Fix ", "More ", "Cluster "] {
        assert_eq!(
            screen
                .lines()
                .filter(|line| line.starts_with(label))
                .count(),
            1,
            "{label}\n{screen}"
        );
    }
    let motd = motd(verdict, context);
    assert_holds(&motd, 20);
    assert!(motd.contains("\nCluster "), "{motd}");
    assert_holds(&short(verdict, context), 6);
    let kernel_log = kernel_log(verdict);
    assert!(
        kernel_log.len() <= 400 && kernel_log.bytes().all(|b| (b' '..=b'~').contains(&b)),
        "{kernel_log:?}"
    );
}

/// Text as an attacker or a broken disk would have it.
fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[\\\\4Sne{}/ -]{0,40}",
        "[a-z]{0,2000}",
        "([a-z]{1,90} ){0,40}",
        Just("\u{1b}[2J\u{9b}31m\r\n\u{202e}\u{7f}\u{0}".repeat(30)),
        Just("\\e{red}\\4{eth0}\\S{PRETTY_NAME}\\l\\".to_owned()),
        Just("*** \nFound \nCluster told".to_owned()),
        Just(String::new()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// A verdict as read back from a file that somebody else wrote: nothing in it was made
    /// printable.
    #[test]
    fn the_message_holds_for_any_text_in_the_verdict(
        texts in proptest::collection::vec(hostile(), 16),
        number in 0..4_usize,
        held in any::<bool>(),
    ) {
        let text = |n: usize| texts[n].clone();
        let rules = [
            Node::default().rules,
            r#""deniedVersions": [ { "version": "411.*", "reason": "x" } ]"#,
            r#""rhelMajors": [9]"#,
            r#""maximumRHCOSVersion": "8.4""#,
        ][number];
        let mut verdict = Node { rules, ..Node::default() }.verdict();
        verdict.message = text(0);
        for finding in &mut verdict.findings {
            (finding.have, finding.want, finding.message) = (Some(text(1)), text(2), text(3));
        }
        let image = verdict.boot_image.as_mut().expect("the node has one");
        (image.version, image.rhel_version, image.ocp_version, image.path) = (text(4), Some(text(5)), Some(text(6)), Some(text(7)));
        (verdict.target.pool, verdict.target.release, verdict.platform) = (Some(text(8)), Some(text(9)), Some(text(10)));
        let policy = verdict.policy.as_mut().expect("the node has one");
        (policy.path, policy.limit_release, policy.help_text, policy.help_url) = (text(11), Some(text(12)), Some(text(13)), Some(text(14)));
        verdict.gate = Some(GateStatus { held, units: Vec::new(), error: Some(text(15)) });
        for cluster in [ClusterKnows::NotYet, ClusterKnows::Told(Some(text(0))), ClusterKnows::CannotBeTold(text(1))] {
            for address in [None, Some(text(2))] {
                assert_message(&verdict, &Context { address, program: text(3), boot: Some(text(5)), is_secret: held, cluster: cluster.clone() });
            }
        }
    }

    /// The same with a verdict that is decided from a hostile policy, version, pool and platform.
    #[test]
    fn the_message_holds_for_any_policy_and_image(
        image in hostile(), platform in hostile(), pool in hostile(), reason in hostile(), help in hostile(), warn in any::<bool>(),
    ) {
        let quoted = |text: &str| serde_json::to_string(text).expect("a string is JSON");
        let rules = format!(r#""deniedVersions": [ {{ "version": "*", "reason": {} }} ]"#, quoted(&reason));
        let help = format!(r#"{{ "text": {0}, "url": {0} }}"#, quoted(&help));
        let node = Node { image: Some(&image), platform: &platform, pool: &pool, rules: &rules, help: &help, ..Node::default() };
        let mut facts = node.facts();
        if warn {
            facts.r#override = overridden(OverrideWord::Warn);
        }
        assert_message(&crate::verdict::decide(&facts), &Context::default());
    }
}

/// What the real agetty makes of such a message.
#[test]
fn agetty_prints_hostile_text_as_it_stands_in_the_motd() {
    let reason = r#""deniedVersions": [ { "version": "411.*", "reason": "\\e{red}\\4{eth0} \\S \\l \u001b[2J \\" } ]"#;
    let verdict = Node {
        rules: reason,
        ..Node::default()
    }
    .verdict();
    let context = Context {
        address: Some("192.0.2.7".to_owned()),
        ..Context::default()
    };
    let file = tempfile::NamedTempFile::new().expect("temporary file");
    std::fs::write(file.path(), issue(&verdict, &context)).expect("written");
    // agetty wants a terminal; script(1) makes one.
    let command = format!(
        "/usr/sbin/agetty --show-issue --issue-file {}",
        file.path().display()
    );
    let output = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .output();
    let output = output.unwrap_or_else(|e| {
        panic!("script: {e}; install the Debian packages bsdutils and util-linux")
    });
    let shown = String::from_utf8(output.stdout)
        .expect("agetty prints what it is given")
        .replace('\r', "");
    let motd =
        motd(&verdict, &context).replace("Let in  sudo", "Let in  ssh core@192.0.2.7, then: sudo");
    assert_eq!(shown.trim_end(), motd.trim_end());
}
