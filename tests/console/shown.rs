//! From a verdict to the files of a node and back, as `enforce` and the report unit do it.

use crate::Node;
use skewguard::console::{self, Change, ClusterKnows, Context};
use skewguard::node::Root;
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
    let (refused, allowed) = (Node::default().verdict(), Node { image: Some("418.94.202511191518-0"), ..Node::default() }.verdict());
    let told = Context { cluster: ClusterKnows::Reported { name: None }, ..Context::default() };

    // Where no message stands, news of the cluster put none there.
    assert_eq!(console::refresh(&root, &refused, &told).expect("works"), Change::Nothing);
    assert_eq!(console::update(&root, &allowed, &told).expect("works"), Change::Nothing);
    assert!(!dir.path().join("var").exists() && !dir.path().join("etc/motd.d").exists(), "a node that is allowed is not touched");

    assert_eq!(console::update(&root, &refused, &Context::default()).expect("works"), Change::Shown);
    assert!(read("etc/issue").contains("\nCluster not told yet"));
    assert_eq!(console::refresh(&root, &refused, &told).expect("works"), Change::Shown);
    for name in ["etc/issue", "etc/motd.d/skewguard"] {
        assert!(read(name).contains("\nCluster told: oc get events -n skewguard\n"), "{name}: {}", read(name));
        assert_eq!(read(name).matches("NODE REFUSED").count(), 1, "{name}");
    }
    assert!(read("etc/issue").ends_with("\n\n\\S\n") && !read("etc/motd.d/skewguard").contains("\\"));

    assert_eq!(console::update(&root, &allowed, &Context::default()).expect("works"), Change::Restored);
    assert!(fs::symlink_metadata(dir.path().join("etc/issue")).expect("there").is_symlink());
    assert!(!dir.path().join("etc/motd.d/skewguard").exists() && !console::pending_restore(&root));
}
