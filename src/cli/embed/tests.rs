//! clap is the measure: help is what it prints, and both parsers make the same of a command line.

use super::super::{AFTER_HELP, command, parse as by_clap};
use super::{COMMANDS, PROGRAM, Syntax, parse};
use crate::cli::Exit;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

/// clap's parser, without what only the full build has, for a terminal of 80 columns.
fn of_nodes() -> clap::Command {
    let after_help = format!(
        "{AFTER_HELP}\n\nThis build is for nodes: `audit`, `policy`, `render`, `schema` and `completion` are commands of \
         the full one."
    );
    let mut program = command().term_width(80).after_help(after_help);
    program.build();
    for command in program.get_subcommands_mut() {
        let of_nodes = COMMANDS.iter().find(|of| of.name == command.get_name());
        let mut changed = std::mem::take(command);
        match of_nodes {
            Some(syntax) => {
                changed = changed.mut_args(|arg| {
                    let hidden = arg.get_long().is_some_and(|long| {
                        long != "help" && syntax.options.iter().all(|option| option.long != long)
                    });
                    if hidden { arg.hide(true) } else { arg }
                });
            }
            None if changed.get_name() != "help" => changed = changed.hide(true),
            None => (),
        }
        *command = changed;
    }
    program
}

/// `SKEWGUARD_BLESS=1` writes the files again.
fn assert_help(command: &mut clap::Command, file: &str, syntax: &Syntax) {
    let texts = [command.render_help(), command.render_long_help()];
    for (at, end) in ["", "-long"].into_iter().enumerate() {
        let file = format!("src/cli/embed/{file}{end}.txt");
        let text = texts[at].to_string();
        let text: String = text
            .lines()
            .map(|line| format!("{}\n", line.trim_end()))
            .collect();
        if std::env::var_os("SKEWGUARD_BLESS").is_some() {
            std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file), &text).unwrap();
        } else {
            assert_eq!(syntax.help[at], text, "{file}: SKEWGUARD_BLESS=1 writes it");
        }
    }
}

#[test]
fn its_help_is_what_clap_prints() {
    let mut program = of_nodes();
    for syntax in &COMMANDS {
        let command = program.find_subcommand_mut(syntax.name).unwrap();
        assert_help(command, syntax.name, syntax);
    }
    assert_help(&mut program, "skewguard", &PROGRAM);
}

/// What is compared of an answer: clap also has tips, and a usage of what was written so far.
fn answer(parsed: Result<super::Command, (String, Exit)>) -> String {
    let (text, exit) = match parsed {
        Ok(command) => return format!("{command:?}"),
        Err(answer) => answer,
    };
    if exit == Exit::Done && text.contains("Usage: ") {
        // clap takes another width here.
        return format!("help, long {}: {:.60}", text.contains("Print help\n"), text);
    }
    let mut lines: Vec<&str> = text.lines().collect();
    if let Some(tip) = lines.iter().position(|line| line.starts_with("  tip: ")) {
        lines.drain(tip..tip + 2);
    }
    let usage = |line| {
        if str::starts_with(line, "Usage: ") {
            "Usage"
        } else {
            line
        }
    };
    let lines: Vec<&str> = lines.into_iter().map(usage).collect();
    format!("{exit:?}\n{}", lines.join("\n"))
}

#[test]
fn both_parsers_make_the_same_of_a_command_line() {
    // An underscore is a space, `\` a byte that is not UTF-8, `''` nothing.
    let lines = "
check
check --root /a --policy p --aleph -
check --root=/a --policy=p=q --aleph=-
check --output json
check --output=issue
check -o text
check -ojson
check -o=json
check -o=
check -o
check -o yaml
check -o JSON
check -oj\\
check --output
check --output=
check --output ''
check --root
check --root ''
check --root=
check --root --policy p
check --root -
check --root -o
check --root --
check --root /a --root /b
check -o json -o json
check -o json --output text
check --roo /a
check --foo
check --foo=1
check --\\=1
check --policy \\ --aleph a\\b
check --policy a_b
check -x
check -xo
check -\\
check a
check -- a
check --
check -
check ''
check -h
check -ho
check -oh
check --help
check --help=1
check --help --foo
check --foo --help
check --once
enforce
enforce --restore-console
enforce --restore-console=yes
enforce --restore-console --restore-console
enforce --root /a --restore-console x
enforce -h
allow
allow --root /a
allow --help
allow --output json
report
report --once --insecure-skip-tls-verify --kubeconfig k --root r
report --once=1
report --kubeconfig
report --kubeconfig --once
report --help
status
status -ojson --root /a
status -o issue
status -h
inspect
inspect a
inspect a b -o json c
inspect -- -a --output
inspect a -- -- b
inspect - '' \\
inspect -o json
inspect a -o
inspect a -x
inspect a --foo
inspect -h a
help
help check
help inspect
help nothing
help ''
-h
--help
-V
--version
-Vh
-hV
--version=1
--help=
-x
--root
--root /a check
--\\
nothing
''
-
\\
chek
Check
check check
";
    let mut differ = String::new();
    for line in lines.trim_matches('\n').lines() {
        let args = || {
            ["skewguard"].into_iter().chain(line.split(' ')).map(|arg| {
                let arg = arg.replace('_', " ").replace("''", "").into_bytes();
                let bytes = arg
                    .into_iter()
                    .map(|byte| if byte == b'\\' { 0xff } else { byte });
                OsString::from_vec(bytes.collect())
            })
        };
        let (own, clap) = (answer(parse(args())), answer(by_clap(args())));
        if own != clap {
            differ += &format!("\n== {line}\n{own}\n-- clap\n{clap}");
        }
    }
    let none = || Vec::<OsString>::new();
    let program = || vec![OsString::from("skewguard")];
    for args in [none, program] {
        let ((own, exit), (clap, by_clap)) =
            (parse(args()).unwrap_err(), by_clap(args()).unwrap_err());
        assert_eq!((exit, by_clap), (Exit::Usage, Exit::Usage));
        assert!(own.contains("\nCommands:") && clap.contains("\nCommands:"));
    }
    assert!(differ.is_empty(), "{differ}");
}
