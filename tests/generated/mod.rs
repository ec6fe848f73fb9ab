//! What is written twice. Man pages and completions are generated from the admins' argument parser, and
//! what is committed must be what the parser gives; what the documents say of the repository must
//! be so.

mod docs;
mod man;
mod schemas;
mod setup;
mod supply;

use clap_complete::Shell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The file name of what admins run.
const NAME: &str = "kubectl-skewguard";

fn generated() -> BTreeMap<PathBuf, Vec<u8>> {
    // The build's own version text names commit and architecture.
    let command = || skewguard_admin::cli::command().long_version(None::<&'static str>);
    let mut files = man::pages(command());
    for (shell, file) in [
        (Shell::Bash, "kubectl-skewguard.bash"),
        (Shell::Zsh, "_kubectl-skewguard"),
        (Shell::Fish, "kubectl-skewguard.fish"),
    ] {
        let mut script = Vec::new();
        // Of a name with a hyphen, clap_complete's script for bash finds no subcommand.
        let name = match shell {
            Shell::Bash => "kubectl_skewguard",
            _ => NAME,
        };
        clap_complete::generate(shell, &mut command(), name, &mut script);
        let mut script = String::from_utf8(script).unwrap();
        match shell {
            Shell::Bash => script = script.replace(&format!(" {name}\n"), &format!(" {NAME}\n")),
            Shell::Fish => script += &words_for_fish(&command()),
            _ => {}
        }
        files.insert(
            Path::new("dist/completions").join(file),
            script.into_bytes(),
        );
    }
    files
}

/// The words that an argument may be: clap_complete's script for fish has those of options only.
fn words_for_fish(command: &clap::Command) -> String {
    let mut command = command.clone();
    command.build();
    let words = command.get_subcommands().flat_map(|sub| {
        let words = sub.get_positionals().map(|arg| {
            let words = arg.get_possible_values();
            words
                .iter()
                .map(|word| word.get_name().to_owned())
                .collect::<Vec<_>>()
                .join(" ")
        });
        let words = words.filter(|words| !words.is_empty());
        words.map(move |words| {
            format!(
                "complete -c kubectl-skewguard -n \"__fish_kubectl_skewguard_using_subcommand {}\" -f -a \"{words}\"\n",
                sub.get_name()
            )
        })
    });
    words.collect()
}

fn committed() -> BTreeMap<PathBuf, Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = BTreeMap::new();
    for dir in ["dist/man", "dist/completions"] {
        for entry in std::fs::read_dir(root.join(dir)).into_iter().flatten() {
            let entry = entry.unwrap();
            // The agent's page is written by hand.
            if !entry.file_name().to_string_lossy().contains(NAME) {
                continue;
            }
            files.insert(
                Path::new(dir).join(entry.file_name()),
                std::fs::read(entry.path()).unwrap(),
            );
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

#[test]
fn what_is_committed_is_what_the_parser_gives() {
    let wanted = generated();
    assert!(wanted.contains_key(Path::new(
        "dist/man/kubectl-skewguard-render-machineconfig.1"
    )));
    if std::env::var_os("SKEWGUARD_BLESS").is_some() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for stale in committed()
            .keys()
            .filter(|path| !wanted.contains_key(*path))
        {
            std::fs::remove_file(root.join(stale)).unwrap();
        }
        for (path, bytes) in &wanted {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), bytes).unwrap();
        }
    }
    let found = committed();
    let stale: Vec<_> = wanted
        .keys()
        .chain(found.keys())
        .filter(|path| wanted.get(*path) != found.get(*path))
        .collect();
    assert!(
        stale.is_empty(),
        "not what the parser gives: {stale:?}; SKEWGUARD_BLESS=1 cargo test --test it generated:: writes them again"
    );
}
