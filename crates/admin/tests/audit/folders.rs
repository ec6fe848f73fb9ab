//! The folders of the audit: which of them may be imported where.

use crate::support::apiserver::repository;
use std::collections::BTreeMap;
use std::path::Path;

/// The folders by their table in docs/dev/architecture.md.
fn table() -> Vec<String> {
    let page = repository().join("docs/dev/architecture.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows = page
        .lines()
        .skip_while(|line| !line.starts_with("| folder of `audit` |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    rows.map(|row| row.split('`').nth(1).unwrap().to_owned())
        .collect()
}

/// The folders of the audit that each file of a folder names.
fn imports(folder: &Path) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let names = text.split("crate::audit::").skip(1).map(|rest| {
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
            name
        });
        found.insert(path.display().to_string(), names.collect());
    }
    found
}

/// The table has every folder, and what is printed knows none of those that judge.
#[test]
fn results_import_no_folder_that_judges() {
    let table = table();
    let audit = repository().join("crates/admin/src/audit");
    for entry in std::fs::read_dir(&audit).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(name == "mod" || table.contains(&name), "{name}");
    }
    for (file, names) in imports(&audit.join("results")) {
        for name in names {
            let is_lower = name == "results" || !table.contains(&name);
            assert!(is_lower, "{file} imports {name}");
        }
    }
}

/// What is printed is made from results alone.
#[test]
fn forms_import_no_object_of_a_cluster() {
    let forms = repository().join("crates/admin/src/cli/audit/forms");
    for (file, names) in imports(&forms) {
        for name in names {
            let judges = table().contains(&name) && name != "results";
            let is_lower = !judges && !["cluster", "input"].contains(&name.as_str());
            assert!(is_lower, "{file} imports {name}");
        }
    }
}
