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
fn lines_are_as_long_as_the_terminal_is_wide() {
    let args = "--from tests/data/audit/aws.json";
    let on = |columns| {
        shown(
            &format!("stty rows 15 cols {columns}; NO_COLOR=1"),
            args,
            "",
        )
    };
    for columns in [60, 80, 200] {
        let text = on(columns);
        assert!(text.starts_with("Not ready to enforce: "), "{text}");
        // However low the screen is.
        let count = |word| text.matches(word).count();
        let words = ["\nREFUSED  ", "\nUNKNOWN  ", "\nallowed  "];
        assert_eq!(words.map(count), [1, 3, 3], "{text}");
    }
    assert!(on(60).lines().count() > on(80).lines().count());
    let piped = |before: &str| shown(&format!("stty cols 60; {before}"), args, "| cat");
    let longest = |text: &str| {
        let prose = text.lines().filter(|line| !line.contains(['`', ':']));
        prose.map(str::len).max().unwrap()
    };
    let (plain, told) = (piped("NO_COLOR="), piped("COLUMNS=132"));
    assert!((73..=80).contains(&longest(&plain)), "a pipe: {plain}");
    assert!(longest(&told) > 100, "{told}");
}

#[test]
fn a_dumb_terminal_gets_no_escapes() {
    let text = shown(
        "unset CI; TERM=dumb NO_COLOR=",
        "-o wide --from tests/data/audit/aws.json",
        "",
    );
    assert!(!text.contains('\x1b'), "{text}");
}

#[test]
fn colour_is_for_a_terminal_that_wants_it() {
    let args = "-o wide --from tests/data/audit/aws.json";
    let plain = std::fs::read_to_string("tests/audit/expected/aws.txt").unwrap();
    let coloured = shown("TERM=xterm NO_COLOR=", args, "");
    let refused = "\n\x1b[1m\x1b[31mREFUSED\x1b[0m  MachineSet ";
    assert_eq!(coloured.matches(refused).count(), 1, "{coloured}");
    let escapes = ["\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[32m", "\x1b[0m"];
    let bare = escapes
        .iter()
        .fold(coloured, |text, escape| text.replace(escape, ""));
    assert_eq!(bare, plain);
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
