//! A node that is installed again on a /var that it cannot write to: what the earlier installation
//! told the cluster is not its own.

use crate::cluster::node::{Node, transports};
use crate::cluster::target::bootstrap;
use crate::support::apiserver::{ApiServer, Options};
use crate::support::world;
use std::path::Path;

/// `boot N` is a first boot: it decides, and tells the cluster.
const SCRIPT: &str = r#"
set -eu
cd "$W"
boot() {
    rm -rf run; mkdir -p run/systemd/system
    printf '%032d\n' "$1" >proc/sys/kernel/random/boot_id
    "$PROGRAM" enforce --root "$W" && exit 9
    "$PROGRAM" report --root "$W" --once
    "$PROGRAM" report --root "$W" --once
    "$PROGRAM" status --root "$W" || true
}
sed -i 's/^/ignition.firstboot /' proc/cmdline
boot 1
mount --bind var var
mount -o remount,bind,ro var
boot 2
"#;

#[test]
fn what_an_earlier_installation_told_is_told_again_where_it_cannot_be_forgotten() {
    let [over, ..] = transports()[..] else {
        panic!("a transport")
    };
    let server = ApiServer::start(Options::default());
    let node = Node::new("worker-1", over);
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees/rhcos-4.12-refused");
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .arg(tree.join("."))
        .arg(node.path(""))
        .status();
    assert!(copied.unwrap().success());
    bootstrap(&server, &node);
    std::fs::create_dir_all(node.path("var")).unwrap();
    let output = world::output(
        world::shell(&[], SCRIPT)
            .env("W", node.path(""))
            .env("PROGRAM", env!("CARGO_BIN_EXE_skewguard")),
    );
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let reports = server.objects("bootimagereports");
    let names: Vec<&str> = reports
        .iter()
        .map(|report| report["metadata"]["name"].as_str().unwrap())
        .collect();
    let status = String::from_utf8_lossy(&output.stdout);
    let mut told: Vec<&str> = status
        .lines()
        .filter_map(|line| line.split_once("told: oc get bootimagereport -n skewguard "))
        .map(|(_, name)| name)
        .collect();
    told.sort_unstable();
    let mut names = names;
    names.sort_unstable();
    // Each installation has its own report, and names that.
    assert_eq!((names.len(), names), (2, told), "{status}{said}");
}
