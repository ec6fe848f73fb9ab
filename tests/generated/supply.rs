//! The lists of what is linked, and what cargo-deny does not see of Cargo.lock. The rest of
//! deny.toml is its own to check (`tests/run deny`).

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The strings of a list in deny.toml.
fn denied(list: &str) -> BTreeSet<String> {
    let text = read("deny.toml");
    let (_, rest) = text
        .split_once(&format!("\n{list} = ["))
        .unwrap_or_else(|| panic!("deny.toml: no {list}"));
    rest.split(']')
        .next()
        .unwrap()
        .split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

/// Every name in Cargo.lock, as often as it is there.
fn locked() -> Vec<String> {
    read("Cargo.lock")
        .lines()
        .filter_map(|line| {
            Some(
                line.strip_prefix("name = \"")?
                    .strip_suffix('"')?
                    .to_owned(),
            )
        })
        .collect()
}

/// What dist/sbom prints.
fn bill(build: &str) -> String {
    let sbom = Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/sbom");
    let output = Command::new(sbom)
        .arg(build)
        .output()
        .expect("bash is there");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Twice in Cargo.lock, but not in what is built for one of deny.toml's targets, so cargo-deny does
/// not see them.
const NOT_BUILT_TWICE: [&str; 4] = ["bit-set", "bit-vec", "r-efi", "windows-sys"];

#[test]
fn double_versions_are_those_of_deny_toml() {
    let mut seen = BTreeSet::new();
    let double: BTreeSet<String> = locked()
        .into_iter()
        .filter(|name| !seen.insert(name.clone()))
        .collect();
    assert_eq!(
        double,
        denied("skip")
            .into_iter()
            .chain(NOT_BUILT_TWICE.map(str::to_owned))
            .collect()
    );
}

/// One for another name would never be found to apply.
#[test]
fn every_advisory_is_for_a_crate_that_is_locked() {
    let locked = locked();
    let folders = std::fs::read_dir(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/advisory-db/crates"),
    )
    .unwrap();
    let files = folders
        .flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path());
    let advisories: Vec<String> = files.map(|file| read(file.to_str().unwrap())).collect();
    assert!(advisories.len() > 10, "{}", advisories.len());
    for advisory in advisories {
        assert!(
            locked
                .iter()
                .any(|name| advisory.contains(&format!("\npackage = \"{name}\"\n"))),
            "{advisory}"
        );
    }
}

#[test]
fn the_bills_of_materials_name_what_is_linked_and_its_licences() {
    let allowed = denied("allow");
    let names = ["full", "embed", "admin"].map(|build| {
        let text = bill(build);
        assert_eq!(text, bill(build), "the same bytes every time");
        let bill: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&bill["bomFormat"], &bill["specVersion"]),
            (&"CycloneDX".into(), &"1.5".into())
        );
        let mut names = BTreeSet::new();
        for component in bill["components"].as_array().unwrap() {
            let name = component["name"].as_str().unwrap();
            let licence = component["licenses"][0]["expression"]
                .as_str()
                .unwrap_or_else(|| panic!("{component}: no licence"));
            // Every expression so far is an `AND` of `OR`s.
            let one_of = |choice: &str| {
                choice
                    .split(" OR ")
                    .any(|licence| allowed.contains(licence.trim_matches(['(', ')'])))
            };
            assert!(licence.split(" AND ").all(one_of), "{name}: {licence}");
            assert!(
                ["rust-std", "musl"].contains(&name)
                    || component["hashes"][0]["content"]
                        .as_str()
                        .is_some_and(|hash| hash.len() == 64),
                "{component}"
            );
            names.insert(name.to_owned());
        }
        names
    });
    let [full, embed, admin] = names;
    assert!(embed.is_subset(&full), "{:?}", embed.difference(&full));
    for name in ["rustls", "ring", "reqwest"] {
        assert!(full.contains(name) && !embed.contains(name), "{name}");
    }
    assert!(admin.contains("clap_builder") && !full.contains("clap_builder"));
    // Only run while it is built, or only in tests.
    for name in [
        "clap_derive",
        "serde_derive",
        "proptest",
        "jsonschema",
        "cc",
        "syn",
        "quote",
        "proc-macro2",
        "unicode-ident",
    ] {
        assert!(!full.contains(name) && !admin.contains(name), "{name}");
    }
}

/// What the script prints.
fn printed(script: &str, build: &[&str]) -> String {
    let output = std::process::Command::new(script)
        .args(build)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// For each crate that is linked, its licence text, or its name where it has none of its own; the
/// package's tags have every licence, with each choice.
#[test]
fn licence_texts_and_the_tags_of_the_packages_cover_every_crate() {
    let spec = read("dist/skewguard.spec");
    let tags = spec
        .lines()
        .filter_map(|line| line.strip_prefix("License:"));
    let mut wanted = Vec::new();
    for build in ["full", "embed", "admin"] {
        wanted.push(printed("dist/licences", &["--expression", build]));
        let texts = printed("dist/licences", &[build]);
        for line in printed("dist/sbom", &["--list", build]).lines() {
            let [name, version, licence] = line.split('|').collect::<Vec<_>>()[..] else {
                panic!("{line}");
            };
            assert!(
                texts.contains(&format!(" {name} {version} ({licence})\n")),
                "{line}"
            );
        }
        for text in [
            "Copyright (c) 2005-2020 Rich Felker",
            "Permission is hereby granted",
        ] {
            assert!(texts.contains(text), "{build}: {text}");
        }
    }
    assert_eq!(
        tags.map(str::trim).collect::<Vec<_>>(),
        wanted.iter().map(|one| one.trim()).collect::<Vec<_>>()
    );
}
