//! The folders of the audit: which of them a folder may import.

use crate::support::apiserver::repository;
use std::collections::BTreeMap;
use std::path::Path;

/// The table of folders in docs/dev/architecture.md: the folders above a row are those that it may
/// import.
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

#[test]
fn folders_import_those_above_them_alone() {
    let table = table();
    assert_eq!(table, ["results", "judge"]);
    let audit = repository().join("crates/admin/src/audit");
    for (place, folder) in table.iter().enumerate() {
        for (file, names) in imports(&audit.join(folder)) {
            for name in names {
                let at = table.iter().position(|other| *other == name);
                let may = name == "cluster" || at.is_some_and(|at| at < place);
                assert!(may, "{file} imports {name}");
            }
        }
    }
}

/// What is printed is made from results alone.
#[test]
fn forms_import_no_object_of_a_cluster() {
    let forms = repository().join("crates/admin/src/cli/audit/forms");
    for (file, names) in imports(&forms) {
        for name in names {
            let is_lower = !["cluster", "input", "judge"].contains(&name.as_str());
            assert!(is_lower, "{file} imports {name}");
        }
    }
}
