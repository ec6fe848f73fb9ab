//! What the documents say of the repository: links lead somewhere, and the table of modules is that
//! of the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Files with this ending in a folder and all below it.
pub(super) fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    found
}

/// Targets of the links in a page.
fn links(text: &str) -> Vec<&str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target)
        .collect()
}

/// The anchor that a heading gets.
fn anchor(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| {
        if c == ' ' {
            '-'
        } else {
            c.to_ascii_lowercase()
        }
    })
    .collect()
}

/// Address of the pages on the main branch.
const OURS: &str = "https://github.com/skewguard/skewguard/blob/main/";

/// The proposal is pasted into another repository: its links are whole, or lead to itself.
#[test]
fn the_proposal_links_to_no_path_of_this_repository() {
    let text = read(&root().join("docs/dev/enhancement.md"));
    let links = links(&text);
    assert!(links.iter().filter(|link| link.starts_with(OURS)).count() > 5);
    for link in links {
        assert!(
            link.starts_with("https://") || link.starts_with('#'),
            "{link}"
        );
    }
}

#[test]
fn every_link_of_the_documents_leads_somewhere() {
    let mut pages = files(&root().join("docs"), ".md");
    pages.extend(
        ["README.md", "SECURITY.md", "tests/trees/README.md"].map(|page| root().join(page)),
    );
    let (mut checked, mut broken) = (0, vec![]);
    for page in &pages {
        let text = read(page);
        for link in links(&text) {
            let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
            // A page that is made to be taken elsewhere names ours by their whole addresses.
            let target = if let Some(path) = path.strip_prefix(OURS) {
                root().join(path)
            } else if link.starts_with("http") {
                continue;
            } else if path.is_empty() {
                page.clone()
            } else {
                page.parent().unwrap().join(path)
            };
            let found = target.exists()
                && (fragment.is_empty()
                    || read(&target).lines().any(|line| {
                        line.starts_with('#')
                            && anchor(line.trim_start_matches(['#', ' '])) == fragment
                    }));
            checked += 1;
            if !found {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(checked > 20, "{checked} links");
    assert_eq!(broken, Vec::<String>::new());
}

/// The names in backticks.
fn quoted(text: &str) -> BTreeSet<String> {
    text.split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

/// A word of a command or a path, if it is one of the repository's.
fn named(word: &str) -> Option<&str> {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let folder = word.split_once('/')?.0;
    let ours = [
        "benches", "crates", "dist", "docs", "fuzz", "src", "systemd", "tests",
    ]
    .contains(&folder);
    // Not a pattern, nor what somebody puts in its place.
    let literal = word
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"./_-".contains(&b));
    (ours && literal && !word.starts_with("dist/skewguard")).then_some(word)
}

/// Whatever measures a figure or holds a promise is there: files, and cargo's targets by name.
#[test]
fn every_file_and_target_that_the_documents_name_exists() {
    let mut pages = files(&root().join("docs"), ".md");
    pages.extend(["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(|page| root().join(page)));
    let (mut checked, mut missing) = (0, vec![]);
    for page in &pages {
        let text = read(page);
        let code: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
        let words: Vec<&str> = code
            .iter()
            .flat_map(|code| code.split_whitespace())
            .collect();
        for word in words.iter().filter_map(|word| named(word)) {
            checked += 1;
            if !root().join(word).exists() {
                missing.push(format!("{}: {word}", page.display()));
            }
        }
        for pair in words
            .windows(2)
            .filter(|pair| ["--test", "--bench", "--example"].contains(&pair[0]))
        {
            let name = pair[1].trim_matches('`');
            let there = [
                format!("tests/{name}/main.rs"),
                format!("benches/{name}.rs"),
            ]
            .iter()
            .any(|path| root().join(path).exists())
                || read(&root().join("Cargo.toml")).contains(&format!("name = \"{name}\""));
            checked += 1;
            if name != "NAME" && !there {
                missing.push(format!("{}: {} {name}", page.display(), pair[0]));
            }
        }
    }
    assert!(checked > 50, "{checked} names");
    assert_eq!(missing, Vec::<String>::new());
}

/// Units of what is measured. Limits are in KiB and bytes, and hold by other tests.
const UNITS: [&str; 8] = ["ms", "us", "MB", "KB", "MiB", "GB", "%", "minutes"];

/// Sections whose figures are others'.
const OTHERS: [(&str, &str); 6] = [
    // What the command says of a sample.
    ("README.md", "## Ask a cluster"),
    // The most that is read of one file, which crates/admin/tests/audit holds.
    ("docs/audit.md", "## Without a connection"),
    // What etcd takes, and where the operator warns.
    ("docs/install.md", "## One MachineConfig"),
    // What the command says of an example.
    ("docs/did-not-join.md", "# A node did not join"),
    // Measured by hand, in a cgroup of its own.
    ("docs/dev/benchmarks.md", "## The pruning job"),
    // How long a MachineHealthCheck waits.
    ("docs/did-not-join.md", "### It is refused again and again"),
];

/// The sections of a page: heading and text.
fn sections(text: &str) -> Vec<(String, String)> {
    let mut found = vec![(String::new(), String::new())];
    let mut in_block = false;
    for line in text.lines() {
        in_block ^= line.trim_start().starts_with("```");
        if line.starts_with('#') && !in_block {
            found.push((line.to_owned(), String::new()));
        }
        let (_, section) = found.last_mut().unwrap();
        section.push_str(line);
        section.push('\n');
    }
    found
}

/// Whether there is a number with one of [`UNITS`].
fn has_figure(section: &str) -> bool {
    let words: Vec<&str> = section.split_whitespace().collect();
    let unit = |word: &str| UNITS.contains(&word.trim_matches([',', '.', ';', ':', ')']));
    words
        .windows(2)
        .any(|pair| pair[0].ends_with(|c: char| c.is_ascii_digit()) && unit(pair[1]))
}

/// The commands of the repository in a text, word by word: those that test, build or measure.
fn commands(text: &str) -> Vec<Vec<&str>> {
    // In backticks, in a block, or indented.
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('|'))
        .map(str::trim);
    let code = text.split('`').skip(1).step_by(2).chain(lines);
    let words = code.map(|code| {
        code.split('#')
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .collect::<Vec<_>>()
    });
    let begins = |words: &Vec<&str>| match words[..] {
        ["cargo", "test" | "bench", ..] | ["cargo", "run", _, "--example", ..] => true,
        [first, ..] => [
            "tests/run",
            "tests/age",
            "tests/faults",
            "tests/fuzz",
            "tests/mutants/run",
            "tests/boot/run",
            "tests/dist/run",
            "dist/build",
            "dist/sbom",
            "dist/release",
        ]
        .contains(&first),
        [] => false,
    };
    words.filter(begins).collect()
}

/// What a word of a command has to be found in: the sources of its program.
fn sources(command: &[&str]) -> String {
    let read_all = |folder: &str, ending| {
        files(&root().join(folder), ending)
            .iter()
            .map(|file| read(file))
            .collect::<String>()
    };
    match command[0] {
        "cargo" => match command.iter().position(|word| *word == "--test") {
            Some(_) => read_all("tests", ".rs") + &read_all("crates", ".rs"),
            None if command.contains(&"--lib") => {
                read_all("src", ".rs") + &read_all("tests", ".rs") + &read_all("crates", ".rs")
            }
            None => read_all("benches", ".rs") + &read(&root().join("Cargo.toml")),
        },
        "tests/boot/run" => read_all("tests/boot/boottier", ".py"),
        program => read(&root().join(program)),
    }
}

/// The command is there as well as its program: scenario, part, tier or test.
fn is_there(command: &[&str]) -> bool {
    let sources = sources(command);
    let skipped = if command[0] == "cargo" { 2 } else { 1 };
    let names = command[skipped..]
        .windows(2)
        .filter(|pair| !["--test", "--bin"].contains(&pair[0]))
        .map(|pair| pair[1]);
    let first = command.get(skipped).copied();
    // No option, path or version, and nothing in capitals that somebody replaces.
    let plain = |name: &&str| {
        name.chars().all(|c| !c.is_ascii_uppercase())
            && name.starts_with(|c: char| c.is_ascii_lowercase())
            && !name.contains(['/', '.'])
    };
    first
        .into_iter()
        .chain(names)
        .filter(plain)
        .all(|name| name.split("::").all(|part| sources.contains(part)))
}

#[test]
fn every_figure_of_the_documents_has_a_command_that_measures_it() {
    let mut pages = files(&root().join("docs"), ".md");
    pages.extend(["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(|page| root().join(page)));
    let (mut figures, mut bad) = (0, vec![]);
    for page in &pages {
        let name = page.strip_prefix(root()).unwrap().to_str().unwrap();
        for (heading, section) in sections(&read(page)) {
            let commands = commands(&section);
            bad.extend(
                commands
                    .iter()
                    .filter(|command| !is_there(command))
                    .map(|command| format!("{name}: {command:?} is not there")),
            );
            if has_figure(&section) && !OTHERS.contains(&(name, heading.as_str())) {
                figures += 1;
                if commands.is_empty() {
                    bad.push(format!(
                        "{name}: {heading}: figures, and no command that measures them"
                    ));
                }
            }
        }
    }
    assert!(figures > 10, "{figures} sections");
    assert_eq!(bad, Vec::<String>::new());
}

/// The table of modules in docs/dev/architecture.md: what each may import.
fn table() -> BTreeMap<String, BTreeSet<String>> {
    let core = ["clock", "text", "version", "policy", "verdict", "platform"].map(str::to_owned);
    let page = read(&root().join("docs/dev/architecture.md"));
    let (page, _) = page.split_once("The admin's modules").unwrap();
    let rows = page.lines().filter_map(|line| {
        match line.split('|').map(str::trim).collect::<Vec<_>>()[..] {
            ["", module, _, imports, ""] if !module.contains("skewguard") => {
                Some((module.strip_prefix('`')?.strip_suffix('`')?, imports))
            }
            _ => None,
        }
    });
    rows.map(|(module, imports)| {
        let mut allowed = quoted(imports);
        if imports.starts_with("core") {
            allowed.extend(core.clone());
        }
        (module.to_owned(), allowed)
    })
    .collect()
}

/// The modules of this crate that a module's sources name; items of the crate itself
/// (`crate::API_VERSION`) are none.
fn imported(module: &str) -> BTreeSet<String> {
    let mut sources = files(&root().join("src").join(module), ".rs");
    sources.extend(Some(root().join(format!("src/{module}.rs"))).filter(|file| file.exists()));
    assert!(!sources.is_empty(), "no sources of {module}");
    let mut found = BTreeSet::new();
    for source in sources {
        for line in read(&source)
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
        {
            for rest in line.split("crate::").skip(1) {
                // One name, or several in braces.
                let several = rest
                    .strip_prefix('{')
                    .map(|rest| rest.split('}').next().unwrap_or(rest));
                for path in several
                    .unwrap_or(rest)
                    .split(',')
                    .take(if several.is_some() { usize::MAX } else { 1 })
                {
                    let path = path.trim();
                    let name: String = path
                        .chars()
                        .take_while(|c| c.is_alphanumeric() || *c == '_')
                        .collect();
                    let is_macro = path[name.len()..].starts_with('!');
                    if name.starts_with(char::is_lowercase) && !is_macro && name != module {
                        found.insert(name);
                    }
                }
            }
        }
    }
    found
}

#[test]
fn modules_import_what_the_table_of_the_architecture_says() {
    let table = table();
    let modules = |file: &str| -> BTreeSet<String> {
        read(&root().join(file))
            .lines()
            .filter_map(|line| {
                line.trim_start_matches("pub(crate) ")
                    .trim_start_matches("pub ")
                    .strip_prefix("mod ")
            })
            .filter_map(|line| Some(line.strip_suffix(';')?.to_owned()))
            .collect()
    };
    let mut declared = modules("src/lib.rs");
    for of_no_row in ["inside", "support"] {
        assert!(declared.remove(of_no_row));
    }
    assert_eq!(
        table.keys().cloned().collect::<BTreeSet<_>>(),
        declared,
        "the table has every module of src/lib.rs"
    );
    for (module, allowed) in table.iter().filter(|(module, _)| *module != "cli") {
        let more: Vec<String> = imported(module).difference(allowed).cloned().collect();
        assert_eq!(
            more,
            Vec::<String>::new(),
            "{module} imports more than docs/dev/architecture.md says"
        );
    }
}

/// Texts that are read without a checkout name pages of the release: by its tag, and pages that are
/// there.
#[test]
fn addresses_of_pages_are_those_of_this_release() {
    let base = concat!(
        "https://github.com/skewguard/skewguard/blob/v",
        env!("CARGO_PKG_VERSION"),
        "/"
    );
    let mut shown = super::shipped();
    for file in [
        "dist/skewguard.catalog",
        "dist/man/skewguard.1",
        "crates/admin/src/lib.rs",
    ] {
        shown.insert(file.to_owned(), read(&root().join(file)));
    }
    let mut checked = 0;
    for (file, text) in shown {
        let text = text.replace("\\-", "-").replace("\\&", "");
        for rest in text.split("github.com/skewguard/skewguard/blob/").skip(1) {
            if rest.starts_with("v\"") {
                continue; // the macro itself
            }
            let address = rest.split([' ', '\n', '"', ')']).next().unwrap();
            let address = format!("https://github.com/skewguard/skewguard/blob/{address}");
            let page = address.strip_prefix(base);
            let page = page.unwrap_or_else(|| panic!("{file}: {address}"));
            assert!(root().join(page).exists(), "{file}: {page}");
            checked += 1;
        }
    }
    // What man pages show comes from the macro.
    assert!(checked >= 6, "{checked} addresses");
}

/// Blocks of a document that begin with one of these are outputs; `...` stands for lines that are
/// left out.
const OUTPUTS: [(&str, &str); 4] = [
    ("REFUSED ", "crates/admin/tests/audit/expected/aws.txt"),
    (
        "Not ready ",
        "crates/admin/tests/audit/expected/aws-target-4.22.txt",
    ),
    (
        "Refused: ",
        "tests/check/expected/rhcos-4.12-target-4.22-refused.txt",
    ),
    (
        "c1-x7k2p-worker-",
        "crates/admin/tests/why/expected/first-boot.txt",
    ),
];

#[test]
fn outputs_in_the_first_documents_are_what_the_program_prints() {
    let mut found = 0;
    for page in ["README.md", "docs/audit.md"] {
        let text = read(&root().join(page)).replace("```text\n", "```\n");
        let text = text.replace("```sh\n", "```\n");
        for block in text.split("```\n").skip(1).step_by(2) {
            let Some((_, path)) = OUTPUTS
                .iter()
                .find(|(first_word, _)| block.starts_with(first_word))
            else {
                continue;
            };
            found += 1;
            let printed = read(&root().join(path));
            for part in block.split("...\n").map(str::trim_end) {
                assert!(printed.contains(part), "{page}: not in {path}:\n{part}");
            }
        }
    }
    assert_eq!(found, 4);
}

/// The words that a page may have, and all pages with README, as `wc -w` counts them.
const PAGE: usize = 2_400;
const PAGES: usize = 15_500;

#[test]
fn the_pages_are_short_enough_to_be_read() {
    let mut pages = files(&root().join("docs"), ".md");
    pages.retain(|page| !page.starts_with(root().join("docs/dev")));
    assert!(pages.len() >= 10, "{pages:?}");
    pages.push(root().join("README.md"));
    let words = |page: &PathBuf| read(page).split_whitespace().count();
    let long: Vec<_> = pages.iter().filter(|page| words(page) > PAGE).collect();
    assert!(long.is_empty(), "over {PAGE} words: {long:?}");
    let all: usize = pages.iter().map(words).sum();
    assert!(
        all <= PAGES,
        "README.md and docs/*.md have {all} words: at most {PAGES}"
    );
}

/// The words of an enum of crates/core/src/verdict/mod.rs.
fn words_of(name: &str) -> BTreeSet<String> {
    let source = read(&root().join("crates/core/src/verdict/mod.rs"));
    let (_, list) = source.split_once(&format!("enum {name} {{")).unwrap();
    let (list, _) = list.split_once("\n    }").unwrap();
    let words = list.lines().filter_map(|line| line.split_once(" = \""));
    let words: BTreeSet<String> = words
        .filter_map(|(_, rest)| Some(rest.strip_suffix("\",")?.to_owned()))
        .collect();
    assert!(words.len() > 3, "{name}: {words:?}");
    words
}

#[test]
fn the_reference_has_every_command_and_every_reason() {
    let page = read(&root().join("docs/reference.md"));
    let of = |heading: &str| {
        let sections = sections(&page);
        let found = sections.into_iter().find(|(name, _)| name == heading);
        found.unwrap().1
    };
    let reasons = quoted(&of("## Reasons"));
    for word in words_of("Reason").into_iter().chain(words_of("LetThrough")) {
        assert!(reasons.contains(&word), "{word} is not in reference.md");
    }
    let commands = of("## Commands");
    let agents = ["check", "enforce", "allow", "report", "status", "inspect"];
    for name in agents {
        let begin = format!("| `skewguard {name}");
        assert!(
            commands.lines().any(|row| row.starts_with(&begin)),
            "{name} is not in reference.md"
        );
    }
    let mut program = skewguard_admin::cli::command();
    // The arguments of each command are made late (`defer`).
    program.build();
    let is_own = |command: &&clap::Command| command.get_name() != "help" && !command.is_hide_set();
    for command in program.get_subcommands().filter(is_own) {
        let name = command.get_name();
        let begin = format!("| `oc skewguard {name}");
        let row = commands.lines().find(|row| row.starts_with(&begin));
        let row = row.unwrap_or_else(|| panic!("{name} is not in reference.md"));
        for below in command.get_subcommands().filter(is_own) {
            assert!(row.contains(below.get_name()), "{below}: not in {row}");
        }
        let has_several = ["policy", "render"].contains(&name);
        assert_eq!(command.get_subcommands().count() > 3, has_several, "{name}");
    }
}

/// The names of a schema's fields, those of its parts included.
fn fields(schema: &serde_json::Value) -> BTreeSet<String> {
    let parts = schema["$defs"].as_object().unwrap().values();
    let all = parts
        .chain([schema])
        .filter_map(|part| part["properties"].as_object());
    all.flat_map(|properties| properties.keys().cloned())
        .collect()
}

#[test]
fn the_page_of_policies_has_each_field_of_the_schema_and_no_other() {
    let schema = read(&root().join("crates/admin/src/lint/schema.json"));
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    let page = read(&root().join("docs/policy.md"));
    let (_, page) = page.split_once("\n## Fields\n").unwrap();
    let (page, _) = page.split_once("\n## ").unwrap();
    let rows: String = page.lines().filter(|line| line.starts_with('|')).collect();
    let named = quoted(&rows);
    for field in fields(&schema) {
        assert!(named.contains(&field), "{field} is not in policy.md");
    }
    // What stands first in a row is a field.
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let cell = row.split('|').nth(1).unwrap();
        for name in quoted(cell) {
            assert!(fields(&schema).contains(&name), "{name} is no field");
        }
    }
}
