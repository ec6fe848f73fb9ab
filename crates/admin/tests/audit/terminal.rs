//! On a terminal, which script(1) makes: colour, and a line that says how far it is.

use super::POLICY;
use super::served::{Served, fleet, serve};
use crate::support::apiserver;
use apiserver::{Lists, Options};
use std::process::Command;
use std::time::Duration;

/// What the audit writes to a terminal, with these arguments, and with this text before and after
/// the command.
fn shown(before: &str, args: &str, behind: &str) -> String {
    let command = format!(
        "{before} {} audit --policy {POLICY} {args} {behind}",
        env!("CARGO_BIN_EXE_kubectl-skewguard")
    );
    let output = Command::new("script")
        .args(["-qc", &command, "/dev/null"])
        .output()
        .expect("script(1) runs (Debian: bsdutils)");
    let text = String::from_utf8(output.stdout).unwrap();
    super::without_time(&text.replace("\r\n", "\n"))
}

/// script(1) has the columns that stty(1) sets.
#[test]
fn a_table_fits_the_terminal_and_names_are_never_cut() {
    let args = "--from tests/data/audit/aws.json";
    for columns in [80, 160] {
        let text = shown(
            &format!("stty rows 24 cols {columns}; NO_COLOR=1"),
            args,
            "",
        );
        let row = text
            .lines()
            .find(|line| line.contains("/c1-unknown"))
            .unwrap();
        assert!(row.ends_with("..."), "{text}");
        assert!(columns == 80 || row.len() <= columns, "{row}");
        assert!(
            text.contains("openshift-machine-api/c1-wrong-region"),
            "{text}"
        );
        let long = text
            .lines()
            .filter(|line| line.len() > columns && line.contains(' '));
        let unbroken = |line: &&str| {
            line.starts_with("  oc patch")
                || line.contains("openshift-machine-api/")
                || line.starts_with("VERDICT ")
        };
        assert_eq!(long.filter(|line| !unbroken(line)).count(), 0, "{text}");
    }
    let piped = shown("stty rows 24 cols 80; NO_COLOR=", args, "| cat");
    assert!(
        piped.contains("and its name has none\n"),
        "a pipe has no columns: {piped}"
    );
}

#[test]
fn a_dumb_terminal_gets_no_escapes() {
    let text = shown(
        "TERM=dumb NO_COLOR=",
        "-o wide --from tests/data/audit/aws.json",
        "",
    );
    assert!(!text.contains('\x1b'), "{text}");
}

#[test]
fn colour_is_for_a_terminal_that_wants_it() {
    let args = "-o wide --from tests/data/audit/aws.json";
    let plain = std::fs::read_to_string("tests/audit/expected/aws.txt").unwrap();
    let coloured = shown("NO_COLOR=", args, "");
    assert_eq!(
        coloured
            .matches("\n\x1b[1;31mREFUSED  \x1b[0m  MachineSet ")
            .count(),
        2,
        "{coloured}"
    );
    assert_eq!(
        coloured
            .replace("\x1b[1;31m", "")
            .replace("\x1b[33m", "")
            .replace("\x1b[32m", "")
            .replace("\x1b[0m", ""),
        plain
    );
    assert_eq!(shown("NO_COLOR=1", args, ""), plain);
    assert_eq!(shown("NO_COLOR=", args, "| cat"), plain);
}

/// The line appears after a second, names what is read and how much of it, and is gone at the end.
#[test]
fn a_line_says_how_far_it_is() {
    let slow = |delay| {
        serve(
            Lists::of(fleet(300, 2)),
            Options {
                delay: Duration::from_millis(delay),
                ..Options::default()
            },
        )
    };
    let lines = |served: &Served, behind: &str| {
        shown(
            "",
            &format!("--kubeconfig {}", served.kubeconfig.display()),
            behind,
        )
    };
    let shown = lines(&slow(100), ">/dev/null");
    assert!(shown.starts_with("\r\x1b[Kreading "), "{shown:?}");
    assert!(
        shown.ends_with("\r\x1b[Kreading nodes: 250\r\x1b[Kreading nodes: 300\r\x1b[K"),
        "{shown:?}"
    );
    assert_eq!(
        lines(&slow(100), "2>&1 >/dev/null | cat"),
        "",
        "nobody watches"
    );
}
