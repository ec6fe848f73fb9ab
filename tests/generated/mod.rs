//! What is written twice: man pages and completions are made from the admins' argument parser, the
//! agent's page by hand; and what the documents say of the repository must be so.

mod commits;
mod docs;
mod schemas;
mod supply;
mod words;
mod workflows;

use skewguard_admin::cli::{Exit, Io};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Runs what admins run, and gives back what it prints.
fn admin(arguments: &[&str]) -> String {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let arguments = ["oc skewguard"].iter().chain(arguments).map(Into::into);
    skewguard_admin::cli::run(
        arguments,
        &mut Io {
            out: &mut out,
            err: &mut err,
        },
    );
    String::from_utf8(out).unwrap()
}

/// The files that packages install, by their path: as `dist/build` has them made.
fn shipped() -> BTreeMap<String, String> {
    let dir = tempfile::tempdir().unwrap();
    admin(&["man", dir.path().to_str().unwrap()]);
    let mut files = BTreeMap::new();
    for folder in ["man", "completions"] {
        for entry in std::fs::read_dir(dir.path().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(dir.path()).unwrap().to_str().unwrap();
            files.insert(name.to_owned(), std::fs::read_to_string(&path).unwrap());
        }
    }
    files
}

/// The words of a text that begin like options, without their values.
fn options(text: &str) -> BTreeSet<&str> {
    let is_option = |word: &&str| word.starts_with('-') && word.contains(char::is_alphabetic);
    text.split(|c: char| c.is_whitespace() || "[]=`,;()".contains(c))
        .filter(is_option)
        .collect()
}

/// The agent's page is written by hand.
#[test]
fn the_agents_page_has_its_commands_options_and_version() {
    let help = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_skewguard"))
            .args(words)
            .output()
            .unwrap();
        assert!(output.status.success(), "{words:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("dist/man/skewguard.1")).unwrap();
    assert!(page.contains(&format!("\"skewguard {}\"", env!("CARGO_PKG_VERSION"))));
    let page = page
        .replace("\\-", "-")
        .replace("\\fB", "")
        .replace("\\fI", "")
        .replace("\\fR", "");
    let whole = help(&["--help"]);
    let (_, list) = whole.split_once("Commands:\n").unwrap();
    let (list, _) = list.split_once("\n\n").unwrap();
    let of_list = |line: &str| {
        line.strip_prefix("  ")?
            .split(' ')
            .next()
            .map(str::to_owned)
    };
    let commands: Vec<String> = list
        .lines()
        .filter_map(of_list)
        .filter(|name| !name.is_empty())
        .collect();
    assert_eq!(commands.len(), 7, "{commands:?}");
    let mut helps = whole.clone();
    for name in &commands {
        assert!(page.contains(&format!("\n.TP\n{name}\n")), "{name}");
        if name != "help" {
            let help_of = help(&["help", name]);
            assert_eq!(help_of, help(&[name, "--help"]));
            assert_eq!(help_of, help(&[name, "-h"]));
            helps += &help_of;
        }
    }
    for line in helps.lines() {
        assert!(line.len() <= 80, "{line}");
    }
    assert_eq!(options(&helps), options(&page));
}

/// The list is made before the arguments of each command are (`defer`): what a command is for has
/// to be known by then.
#[test]
fn help_says_what_each_command_is_for() {
    let help = skewguard_admin::cli::command().render_help().to_string();
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let (list, _) = list.split_once("\n\n").unwrap();
    let blank: Vec<&str> = list
        .lines()
        .filter(|line| line.split_whitespace().count() < 3)
        .collect();
    assert!(list.lines().count() > 6 && blank.is_empty(), "{blank:?}");
}

/// Name and parser of each command that help shows.
fn commands(command: &clap::Command, name: &str, all: &mut Vec<(String, clap::Command)>) {
    all.push((name.to_owned(), command.clone()));
    for sub in command.get_subcommands() {
        if !sub.is_hide_set() && sub.get_name() != "help" {
            commands(sub, &format!("{name}-{}", sub.get_name()), all);
        }
    }
}

#[test]
fn every_command_has_a_page_with_its_options() {
    let mut command = skewguard_admin::cli::command();
    command.build();
    let mut all = Vec::new();
    commands(&command, "kubectl-skewguard", &mut all);
    assert!(all.len() > 15, "{}", all.len());
    let shipped = shipped();
    let pages = shipped.keys().filter(|name| name.starts_with("man/"));
    assert_eq!(
        pages.cloned().collect::<BTreeSet<_>>(),
        all.iter()
            .map(|(name, _)| format!("man/{name}.1"))
            .collect()
    );
    let title = format!("\"skewguard {}\"", env!("CARGO_PKG_VERSION"));
    for (name, mut command) in all {
        let page = &shipped[&format!("man/{name}.1")];
        assert!(page.contains(&title), "{name}: {page}");
        // As one types it, and beside pages that there are.
        let typed = command.get_bin_name().unwrap().replace('-', "\\-");
        let (head, see_also) = page.split_once(".SH \"SEE ALSO\"\n").unwrap();
        assert!(
            head.contains(&format!(".SH SYNOPSIS\n\\fB{typed}\\fR ")),
            "{name}: {head}"
        );
        for other in see_also.replace("\\-", "-").split("\\fB").skip(1) {
            let (other, _) = other.split_once("\\fR(1)").unwrap();
            let is_there = shipped.contains_key(&format!("man/{other}.1"));
            assert!(is_there || other == "skewguard", "{name}: {other}");
        }
        let plain = page
            .replace("\\-", "-")
            .replace("\\fB", " ")
            .replace("\\fR", " ");
        let help = command.render_long_help().to_string();
        let of_page = options(&plain);
        for option in options(&help).iter().filter(|word| word.starts_with("--")) {
            assert!(of_page.contains(option), "{name}: {option}");
        }
        // What is left of 80 columns beside the indentation of a page.
        let verbatim = page.split(".nf\n").skip(1);
        for example in verbatim.filter_map(|part| part.split(".fi").next()) {
            for line in example
                .replace("\\-", "-")
                .replace("\\\\", "/")
                .replace("\\*(Aq", "'")
                .lines()
            {
                assert!(line.len() <= 72, "{name}: {line}");
            }
        }
    }
}

#[test]
fn completions_in_packages_are_those_of_the_command() {
    let shipped = shipped();
    for (shell, file) in [
        ("bash", "kubectl-skewguard.bash"),
        ("zsh", "_kubectl-skewguard"),
        ("fish", "kubectl-skewguard.fish"),
    ] {
        let script = &shipped[&format!("completions/{file}")];
        assert_eq!(&admin(&["completion", shell]), script);
        assert!(
            script.contains("machineconfig") && script.contains("--policy"),
            "{shell}"
        );
    }
    assert_eq!(
        shipped
            .keys()
            .filter(|name| name.starts_with("completions/"))
            .count(),
        3
    );
}

/// bash itself, as Tab would call the script; zsh and fish are asked in `tests/dist`.
#[test]
fn bash_completes_subcommands_and_words() {
    let script = "\
        eval \"$SCRIPT\"; set -- $(complete -p kubectl-skewguard); \
        while [ \"$1\" != -F ]; do shift; done; \
        complete_line() { COMP_WORDS=(\"$@\") COMP_CWORD=$(($# - 1)); $function \"$1\" \"${@: -1}\" \"${@: -2:1}\"; echo \"${COMPREPLY[*]}\"; }; \
        function=$2; complete_line kubectl-skewguard render ma; complete_line kubectl-skewguard comp; complete_line kubectl-skewguard completion z";
    let output = Command::new("bash")
        .args(["-uec", script])
        .env("SCRIPT", admin(&["completion", "bash"]))
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "machineconfig manifests\ncompletion\nzsh\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Where the folder cannot be made, the error names it.
#[test]
fn pages_that_cannot_be_written_are_an_error() {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let exit = skewguard_admin::cli::run(
        ["oc skewguard", "man", file.to_str().unwrap()].map(Into::into),
        &mut Io {
            out: &mut out,
            err: &mut err,
        },
    );
    let err = String::from_utf8(err).unwrap();
    assert_eq!((exit, out.len()), (Exit::Failed, 0), "{err}");
    assert!(
        err.contains("/file/") && err.contains("Not a directory"),
        "{err}"
    );
}
