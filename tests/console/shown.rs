//! From a verdict to the files of a node and back, as `enforce` and the report unit do it.

use crate::console::{self, Context};
use crate::inside::console::Node;
use crate::node::Root;
use crate::verdict::ClusterKnows;
use crate::verdict::{GateStatus, Verdict};
use std::fs;

/// A node whose `/etc/issue` is a symlink, as on RHCOS.
fn node() -> (tempfile::TempDir, Root) {
    let dir = tempfile::tempdir().expect("temporary directory");
    fs::create_dir_all(dir.path().join("etc")).expect("made");
    fs::create_dir_all(dir.path().join("usr/lib")).expect("made");
    fs::write(dir.path().join("usr/lib/issue"), "\\S\n").expect("written");
    std::os::unix::fs::symlink("../usr/lib/issue", dir.path().join("etc/issue")).expect("linked");
    let root = Root::open(dir.path()).expect("opened");
    (dir, root)
}

#[test]
fn the_message_follows_the_verdict_and_what_the_cluster_knows() {
    let (dir, root) = node();
    let read = |name: &str| fs::read_to_string(dir.path().join(name)).expect("readable");
    let (refused, allowed) = (
        Node::default().verdict(),
        Node {
            image: Some("418.94.202511191518-0"),
            ..Node::default()
        }
        .verdict(),
    );
    let told = Context {
        cluster: ClusterKnows::Told(None),
        ..Context::default()
    };

    // If no message is shown, news from the cluster does not show one.
    assert!(!console::refresh(&root, &refused, &told).expect("works"));
    assert!(!console::update(&root, &allowed, &told).expect("works"));
    assert!(
        !dir.path().join("var").exists() && !dir.path().join("etc/motd.d").exists(),
        "a node that is allowed is not touched"
    );

    assert!(console::update(&root, &refused, &Context::default()).expect("works"));
    assert!(read("etc/issue").contains("\nCluster not told yet"));
    assert!(console::refresh(&root, &refused, &told).expect("works"));
    for name in ["etc/issue", "etc/motd.d/skewguard"] {
        assert!(
            read(name).contains("\nCluster told: oc get events -n skewguard\n"),
            "{name}: {}",
            read(name)
        );
        assert_eq!(read(name).matches("NODE REFUSED").count(), 1, "{name}");
    }
    assert!(
        read("etc/issue").ends_with("\n\n\\S\n") && !read("etc/motd.d/skewguard").contains("\\")
    );

    assert!(console::update(&root, &allowed, &Context::default()).expect("works"));
    assert!(
        fs::symlink_metadata(dir.path().join("etc/issue"))
            .expect("there")
            .is_symlink()
    );
    assert!(!dir.path().join("etc/motd.d/skewguard").exists() && !console::pending_restore(&root));
}

/// A screen has no room for both. In /etc a message may outlive the agent.
#[test]
fn a_message_of_a_node_that_goes_on_is_one_line_beside_the_note_about_its_first_boot() {
    let (warned, unchecked) = (
        Node {
            mode: "Warn",
            ..Node::default()
        },
        Node {
            rules: r#""minimumFooVersion": "1.0""#,
            ..Node::default()
        },
    );
    for (node_of, headline, has_motd) in [
        (
            warned,
            "*** WARNING: THE BOOT IMAGE OF THIS NODE IS TOO OLD FOR THIS CLUSTER ***\n",
            true,
        ),
        (
            unchecked,
            "*** WARNING: THE BOOT IMAGE OF THIS NODE COULD NOT BE CHECKED ***\n",
            false,
        ),
    ] {
        let ((dir, root), verdict) = (node(), node_of.verdict());
        let context = Context::default();
        let whole = console::message::issue(&verdict, &context);
        let at_prompt = || {
            let path = dir.path().join("run/skewguard-prompt.issue");
            fs::read_to_string(path).expect("readable")
        };
        console::update(&root, &verdict, &context).expect("works");
        assert_eq!(at_prompt(), whole);
        let motd = dir.path().join("etc/motd.d/skewguard");
        assert_eq!(motd.exists(), has_motd);
        console::show_first_boot(&root, "*** FIRST BOOT NOT FINISHED ***\n").expect("works");
        for _ in 0..2 {
            console::refresh(&root, &verdict, &context).expect("works");
            assert_eq!(at_prompt(), headline);
        }
        console::hide_first_boot(&root).expect("works");
        console::refresh(&root, &verdict, &context).expect("works");
        assert_eq!(at_prompt(), whole);
        assert!(console::restore(&root).expect("works"));
        assert!(!motd.exists() && !dir.path().join("etc/issue.d/zz-skewguard.issue").exists());
        assert!(!console::pending_restore(&root));
    }
}

/// As `enforce` leaves it on a node that is held.
fn held() -> Verdict {
    Verdict {
        gate: Some(GateStatus {
            held: true,
            ..GateStatus::default()
        }),
        ..Node::default().verdict()
    }
}

fn stamp(dir: &std::path::Path) {
    fs::create_dir_all(dir.join("run/skewguard")).expect("made");
    fs::write(dir.join("run/skewguard/refused"), "").expect("written");
}

/// What the report has learnt stays in the message when `enforce` or `check`, which do not use the
/// network, write or print it again.
#[test]
fn whoever_writes_or_prints_the_message_next_says_what_is_known() {
    let (dir, root) = node();
    stamp(dir.path());
    fs::create_dir_all(dir.path().join("run/skewguard/bin")).expect("made");
    fs::write(dir.path().join("run/skewguard/bin/skewguard"), "").expect("written");
    let read = || fs::read_to_string(dir.path().join("etc/issue")).expect("readable");
    let expected =
        |context: &Context| format!("{}\\S\n", console::message::issue(&held(), context));

    let first = Context::load(&root, &held());
    console::update(&root, &held(), &first).expect("works");
    assert!(
        read().contains("sudo /run/skewguard/bin/skewguard allow"),
        "the program that the units run: {}",
        read()
    );
    let why = "403, the Role skewguard-report is missing there".to_owned();
    let learnt = Context {
        address: Some("2001:db8::7".to_owned()),
        cluster: ClusterKnows::CannotBeTold(why),
        ..first.clone()
    };
    console::refresh(&root, &held(), &learnt).expect("works");
    assert_eq!(read(), expected(&learnt));
    assert_eq!(Context::load(&root, &held()), learnt);
    // What is known belongs to this verdict and this boot.
    let other = Verdict {
        message: "another".to_owned(),
        ..held()
    };
    assert_eq!(Context::load(&root, &other), first);
    fs::write(dir.path().join("run/skewguard/console.json"), "{}").expect("written");
    assert_eq!(Context::load(&root, &held()), first);
}

#[test]
fn the_program_is_the_one_that_the_units_of_the_node_run() {
    let places = [
        ("usr/bin/skewguard", "/usr/bin/skewguard"),
        ("usr/local/bin/skewguard", "/usr/local/bin/skewguard"),
        (
            "run/skewguard/bin/skewguard",
            "/run/skewguard/bin/skewguard",
        ),
    ];
    let (dir, root) = node();
    assert_eq!(Context::load(&root, &held()).program, "/usr/bin/skewguard");
    // The root tree of a node that is not running: its /run is empty.
    fs::create_dir_all(dir.path().join("etc/skewguard")).expect("made");
    fs::write(dir.path().join("etc/skewguard/skewguard.gz"), "").expect("written");
    assert_eq!(
        Context::load(&root, &held()).program,
        "/run/skewguard/bin/skewguard"
    );
    for (file, program) in places {
        fs::create_dir_all(dir.path().join(file).parent().expect("a directory")).expect("made");
        fs::write(dir.path().join(file), "").expect("written");
        assert_eq!(Context::load(&root, &held()).program, program);
    }
}

/// `allow` may come between the report's look at the verdict and the message.
#[test]
fn no_message_comes_back_on_a_node_that_was_let_through() {
    let (dir, root) = node();
    stamp(dir.path());
    console::update(&root, &held(), &Context::default()).expect("works");
    fs::remove_file(dir.path().join("run/skewguard/refused")).expect("removed");
    // Also if `allow` could not remove the message: then this does.
    assert!(console::refresh(&root, &held(), &Context::default()).expect("works"));
    assert!(
        fs::symlink_metadata(dir.path().join("etc/issue"))
            .expect("there")
            .is_symlink()
    );
    assert!(!console::refresh(&root, &held(), &Context::default()).expect("works"));
}
