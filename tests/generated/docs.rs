//! What the documents say of the repository: links lead somewhere, and the table of modules is that of the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Files with this ending in a folder and all below it.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
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
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target).collect()
}

/// The anchor that a heading gets.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

#[test]
fn every_link_of_the_documents_leads_somewhere() {
    let mut pages = files(&root().join("docs"), ".md");
    pages.extend(["README.md", "SECURITY.md", "tests/trees/README.md"].map(|page| root().join(page)));
    let (mut checked, mut broken) = (0, vec![]);
    for page in &pages {
        let text = read(page);
        for link in links(&text).into_iter().filter(|link| !link.starts_with("http")) {
            let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
            let found = target.exists()
                && (fragment.is_empty()
                    || read(&target).lines().any(|line| line.starts_with('#') && anchor(line.trim_start_matches(['#', ' '])) == fragment));
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
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// A word of a command or a path, if it is one of the repository's.
fn named(word: &str) -> Option<&str> {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let folder = word.split_once('/')?.0;
    let ours = ["benches", "dist", "docs", "fuzz", "src", "systemd", "tests"].contains(&folder);
    // Not a pattern, nor what somebody puts in its place.
    let literal = word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"./_-".contains(&b));
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
        let words: Vec<&str> = code.iter().flat_map(|code| code.split_whitespace()).collect();
        for word in words.iter().filter_map(|word| named(word)) {
            checked += 1;
            if !root().join(word).exists() {
                missing.push(format!("{}: {word}", page.display()));
            }
        }
        for pair in words.windows(2).filter(|pair| ["--test", "--bench", "--example"].contains(&pair[0])) {
            let name = pair[1].trim_matches('`');
            let there = [format!("tests/{name}/main.rs"), format!("benches/{name}.rs")].iter().any(|path| root().join(path).exists())
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

/// The table of modules in docs/architecture.md: what each may import.
fn table() -> BTreeMap<String, BTreeSet<String>> {
    let core = ["text", "version", "policy", "verdict"].map(str::to_owned);
    let page = read(&root().join("docs/architecture.md"));
    let rows = page.lines().filter_map(|line| match line.split('|').map(str::trim).collect::<Vec<_>>()[..] {
        ["", module, _, imports, ""] => Some((module.strip_prefix('`')?.strip_suffix('`')?, imports)),
        _ => None,
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

/// The modules of this crate that a module's sources name; items of the crate itself (`crate::API_VERSION`) are none.
fn imported(module: &str) -> BTreeSet<String> {
    let mut sources = files(&root().join("src").join(module), ".rs");
    sources.extend(Some(root().join(format!("src/{module}.rs"))).filter(|file| file.exists()));
    assert!(!sources.is_empty(), "no sources of {module}");
    let mut found = BTreeSet::new();
    for source in sources {
        for line in read(&source).lines().filter(|line| !line.trim_start().starts_with("//")) {
            for rest in line.split("crate::").skip(1) {
                // One name, or several in braces.
                let several = rest.strip_prefix('{').map(|rest| rest.split('}').next().unwrap_or(rest));
                for path in several.unwrap_or(rest).split(',').take(if several.is_some() { usize::MAX } else { 1 }) {
                    let name: String = path.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                    if name.starts_with(char::is_lowercase) && name != module {
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
    let declared: BTreeSet<String> = read(&root().join("src/lib.rs"))
        .lines()
        .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';').map(str::to_owned))
        .collect();
    assert_eq!(table.keys().cloned().collect::<BTreeSet<_>>(), declared, "the table has every module of src/lib.rs");
    for (module, allowed) in table.iter().filter(|(module, _)| *module != "cli") {
        let more: Vec<String> = imported(module).difference(allowed).cloned().collect();
        assert_eq!(more, Vec::<String>::new(), "{module} imports more than docs/architecture.md says");
    }
}
