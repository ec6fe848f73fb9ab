//! The words of CONTRIBUTING.md: the turns of its table are not written, and doc comments open with
//! a noun or a verb.

use super::docs::files;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// The words of a text, without signs around them: also of one that goes on in the next line.
fn words(text: &str) -> Vec<String> {
    let is_sign = |c: char| !c.is_alphanumeric() && !"{}".contains(c);
    text.split_whitespace()
        .map(|word| word.trim_matches(is_sign).to_lowercase())
        .filter(|word| !word.is_empty())
        .collect()
}

/// The left column of the table.
fn turns() -> Vec<Vec<String>> {
    let page = read(&root().join("CONTRIBUTING.md"));
    let (_, table) = page.split_once("| not | but |\n|---|---|\n").unwrap();
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    rows.map(|row| words(row.split('|').nth(1).unwrap()))
        .collect()
}

/// Tells whether these words begin with a turn, whose `X` is any word and whose number is any
/// number.
fn begins(words: &[String], turn: &[String]) -> bool {
    let is_number = |word: &str| word.starts_with(|c: char| c == '{' || c.is_ascii_digit());
    let is_same = |(word, turn): (&String, &String)| {
        turn == "x" || word == turn || is_number(word) && is_number(turn)
    };
    words.len() >= turn.len() && words.iter().zip(turn).all(is_same)
}

#[test]
fn a_turn_is_found_in_code_and_over_the_end_of_a_line() {
    let [twice, known] = ["X stands here twice", "of 2 it is not known"].map(words);
    let has = |text: &str, turn: &[String]| {
        let words = words(text);
        (0..words.len()).any(|at| begins(&words[at..], turn))
    };
    assert!(has(r#"format!("{path} stands here twice")"#, &twice));
    assert!(has("/// What of {count} it is\n/// not known.", &known));
    assert!(!has("of some it is not known", &known));
}

#[test]
fn no_text_has_a_turn_of_the_left_column() {
    let turns = turns();
    assert!(turns.len() > 10, "{turns:?}");
    let mut found = vec![];
    for (folder, ending) in [
        ("src", ".rs"),
        ("crates", ".rs"),
        ("crates/admin/src", ".json"),
        ("docs", ".md"),
    ] {
        for file in files(&root().join(folder), ending) {
            let words = words(&read(&file));
            let has = |turn: &&Vec<String>| (0..words.len()).any(|at| begins(&words[at..], turn));
            let hits = turns.iter().filter(has);
            found.extend(hits.map(|turn| format!("{}: {}", file.display(), turn.join(" "))));
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

/// Openings of doc comments that describe by a relative clause.
const OPENINGS: [&str; 12] = [
    "What", "Whether", "Who", "Whose", "Why", "How", "Where", "That", "Those", "As", "Most", "One",
];

/// In a hundred: fewer than this many of them, in each crate.
const LIMIT: usize = 5;

#[test]
fn doc_comments_open_with_a_noun_or_a_verb() {
    for folder in [
        "src",
        "crates/core/src",
        "crates/cluster/src",
        "crates/admin/src",
    ] {
        let (mut all, mut found) = (0, vec![]);
        for file in files(&root().join(folder), ".rs") {
            let mut before = false;
            for line in read(&file).lines() {
                let line = line.trim_start();
                let text = line.strip_prefix("///").or(line.strip_prefix("//!"));
                if let (Some(text), false) = (text, before) {
                    all += 1;
                    let first = text
                        .split(|c: char| !c.is_alphanumeric() && c != ' ')
                        .next();
                    let first = first.unwrap_or_default().split_whitespace().next();
                    if first.is_some_and(|word| OPENINGS.contains(&word)) {
                        found.push(format!("{}: {line}", file.display()));
                    }
                }
                before = text.is_some();
            }
        }
        assert!(
            found.len() * 100 < LIMIT * all,
            "{folder}: {} of {all}: {found:#?}",
            found.len()
        );
    }
}

/// Sources whose texts are a shell's, of logs, or of secrets.
const OF_OTHERS: [&str; 3] = ["scripts.rs", "server_line.rs", "secrets.rs"];

/// Whoever reads a cluster has no command line: failures are facts, and what helps has its words in
/// `crates/admin/src/trouble.rs`.
#[test]
fn the_cluster_names_no_option_and_no_command() {
    let mut found = vec![];
    for file in files(&root().join("crates/cluster/src"), ".rs") {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap();
        if OF_OTHERS.contains(&name) || name.ends_with("_tests.rs") {
            continue;
        }
        let text = read(&file);
        let lines = text.split("#[cfg(test)]").next().unwrap().lines();
        let code = lines.filter(|line| !line.trim_start().starts_with("//"));
        let is_option = |rest: &str| rest.starts_with(|c: char| c.is_ascii_lowercase());
        let says = |line: &&str| line.contains("`oc ") || line.split("--").skip(1).any(is_option);
        found.extend(code.filter(says).map(|line| format!("{name}: {line}")));
    }
    assert_eq!(found, Vec::<String>::new());
}
