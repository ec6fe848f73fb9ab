//! What is written twice. Man pages and completions are generated from the argument parser, and
//! what is committed must be what the parser gives; what the documents say of the repository must
//! be so.

#![cfg(feature = "admin")]

mod docs;
mod man;
mod schemas;
mod setup;
mod supply;

use clap_complete::Shell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn generated() -> BTreeMap<PathBuf, Vec<u8>> {
    // The build's own version text names commit and architecture.
    let command = || skewguard::cli::command().long_version(None::<&'static str>);
    let mut files = man::pages(command());
    for (shell, file) in [
        (Shell::Bash, "skewguard.bash"),
        (Shell::Zsh, "_skewguard"),
        (Shell::Fish, "skewguard.fish"),
    ] {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut command(), "skewguard", &mut script);
        if shell == Shell::Fish {
            script.extend(words_for_fish(&command()).bytes());
        }
        files.insert(Path::new("dist/completions").join(file), script);
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
                "complete -c skewguard -n \"__fish_skewguard_using_subcommand {}\" -f -a \"{words}\"\n",
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
            files.insert(
                Path::new(dir).join(entry.file_name()),
                std::fs::read(entry.path()).unwrap(),
            );
        }
    }
    files
}

/// The list is made before the arguments of each command are (`defer`): what a command is for has
/// to be known by then.
#[test]
fn help_says_what_each_command_is_for() {
    let help = skewguard::cli::command().render_help().to_string();
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let (list, _) = list.split_once("\n\n").unwrap();
    let blank: Vec<&str> = list
        .lines()
        .filter(|line| line.split_whitespace().count() < 3)
        .collect();
    assert!(list.lines().count() > 8 && blank.is_empty(), "{blank:?}");
}

#[test]
fn what_is_committed_is_what_the_parser_gives() {
    let wanted = generated();
    assert!(wanted.contains_key(Path::new("dist/man/skewguard-render-machineconfig.1")));
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
