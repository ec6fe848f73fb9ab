//! On a terminal, which script(1) makes: colour, and a line that says how far it is.

use super::served::{Served, fleet, serve};
use super::{POLICY, apiserver};
use apiserver::{Lists, Options};
use std::process::Command;
use std::time::Duration;

/// What the audit writes to a terminal, with these arguments, and with this text before and after the command.
fn shown(before: &str, args: &str, behind: &str) -> String {
    let command = format!("{before} {} audit --policy {POLICY} {args} {behind}", env!("CARGO_BIN_EXE_skewguard"));
    let output = Command::new("script").args(["-qc", &command, "/dev/null"]).output().expect("script(1) runs (Debian: bsdutils)");
    String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n")
}

#[test]
fn colour_is_for_a_terminal_that_wants_it() {
    let args = "--from tests/data/audit/aws.json";
    let plain = std::fs::read_to_string("tests/audit/expected/aws.txt").unwrap();
    let coloured = shown("NO_COLOR=", args, "");
    assert_eq!(coloured.matches("\n\x1b[1;31mREFUSED  \x1b[0m  MachineSet ").count(), 2, "{coloured}");
    assert_eq!(coloured.replace("\x1b[1;31m", "").replace("\x1b[33m", "").replace("\x1b[32m", "").replace("\x1b[0m", ""), plain);
    assert_eq!(shown("NO_COLOR=1", args, ""), plain);
    assert_eq!(shown("NO_COLOR=", args, "| cat"), plain);
}

/// The line appears after a second, names what is read and how much of it, and is gone at the end.
#[test]
fn a_line_says_how_far_it_is() {
    let slow = |delay| serve(Lists::of(fleet(300, 2)), Options { delay: Duration::from_millis(delay), ..Options::default() });
    let lines = |served: &Served, behind: &str| shown("", &format!("--kubeconfig {}", served.kubeconfig.display()), behind);
    let shown = lines(&slow(100), ">/dev/null");
    assert!(shown.starts_with("\r\x1b[Kreading "), "{shown:?}");
    assert!(shown.ends_with("\r\x1b[Kreading nodes: 250\r\x1b[Kreading nodes: 300\r\x1b[K"), "{shown:?}");
    assert_eq!(lines(&slow(100), "2>&1 >/dev/null | cat"), "", "nobody watches");
}
