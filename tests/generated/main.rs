//! Man pages and completions are generated from the argument parser; what is committed must be what the parser gives.
//!
//! `SKEWGUARD_UPDATE=1 cargo test --test generated` writes them again.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(feature = "author")]

use clap::Command;
use clap_complete::Shell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One page per command, subcommands' names joined by dashes as in git(1).
fn pages(command: &Command, name: &'static str, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    // Without a date, which would change the page without a change of the program.
    let man = clap_mangen::Man::new(command.clone().name(name).version(env!("CARGO_PKG_VERSION")))
        .title(name.to_uppercase())
        .manual("skewguard")
        .date("");
    let mut page = Vec::new();
    man.render(&mut page).unwrap();
    files.insert(Path::new("dist/man").join(format!("{name}.1")), page);
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help" && !sub.is_hide_set()) {
        // Names in clap are static.
        pages(sub, format!("{name}-{}", sub.get_name()).leak(), files);
    }
}

fn generated() -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    // The build's own version text names commit and architecture.
    let command = || skewguard::cli::command().long_version(None::<&'static str>);
    let mut built = command();
    built.build();
    pages(&built, "skewguard", &mut files);
    for (shell, file) in [(Shell::Bash, "skewguard.bash"), (Shell::Zsh, "_skewguard"), (Shell::Fish, "skewguard.fish")] {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut command(), "skewguard", &mut script);
        files.insert(Path::new("dist/completions").join(file), script);
    }
    files
}

fn committed() -> BTreeMap<PathBuf, Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = BTreeMap::new();
    for dir in ["dist/man", "dist/completions"] {
        for entry in std::fs::read_dir(root.join(dir)).into_iter().flatten() {
            let entry = entry.unwrap();
            files.insert(Path::new(dir).join(entry.file_name()), std::fs::read(entry.path()).unwrap());
        }
    }
    files
}

#[test]
fn what_is_committed_is_what_the_parser_gives() {
    let wanted = generated();
    assert!(wanted.contains_key(Path::new("dist/man/skewguard-render-machineconfig.1")));
    if std::env::var_os("SKEWGUARD_UPDATE").is_some() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for stale in committed().keys().filter(|path| !wanted.contains_key(*path)) {
            std::fs::remove_file(root.join(stale)).unwrap();
        }
        for (path, bytes) in &wanted {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), bytes).unwrap();
        }
    }
    let found = committed();
    let stale: Vec<_> = wanted.keys().chain(found.keys()).filter(|path| wanted.get(*path) != found.get(*path)).collect();
    assert!(stale.is_empty(), "not what the parser gives: {stale:?}; SKEWGUARD_UPDATE=1 cargo test --test generated writes them again");
}
