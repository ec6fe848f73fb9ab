//! What is built from: deny.toml, held without cargo-deny, and the lists of what is linked.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The strings of a list of deny.toml.
fn denied(list: &str) -> BTreeSet<String> {
    let text = read("deny.toml");
    let (_, rest) = text.split_once(&format!("\n{list} = [")).unwrap_or_else(|| panic!("deny.toml: no {list}"));
    rest.split(']').next().unwrap().split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The packages of Cargo.lock: each one's fields.
fn locked() -> Vec<BTreeMap<String, String>> {
    let fields = |package: &str| {
        let pairs = package.lines().filter_map(|line| line.split_once(" = "));
        pairs.map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned())).collect()
    };
    read("Cargo.lock").split("[[package]]").skip(1).map(fields).collect()
}

/// What dist/sbom prints.
fn bill(build: &str) -> String {
    let sbom = Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/sbom");
    let output = Command::new(sbom).arg(build).output().expect("bash is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_crate_is_of_the_registry_and_has_a_checksum() {
    let packages = locked();
    assert!(packages.len() > 100, "{}", packages.len());
    for package in packages.iter().filter(|package| package["name"] != "skewguard") {
        assert_eq!(package.get("source").map(String::as_str), Some(REGISTRY), "{package:?}");
        assert_eq!(package["checksum"].len(), 64, "{package:?}");
    }
}

/// Twice in Cargo.lock, but not in what is built for one of deny.toml's targets, so cargo-deny does not see them.
const NOT_BUILT_TWICE: [&str; 6] = ["bit-set", "bit-vec", "getrandom", "r-efi", "syn", "windows-sys"];

#[test]
fn double_versions_are_those_of_deny_toml() {
    let double = |names: Vec<String>| {
        let mut seen = BTreeSet::new();
        names.into_iter().filter(|name| !seen.insert(name.clone())).collect::<BTreeSet<_>>()
    };
    let linked: Value = serde_json::from_str(&bill("full")).unwrap();
    let linked = linked["components"].as_array().unwrap().iter().map(|component| component["name"].as_str().unwrap().to_owned());
    assert_eq!(double(linked.collect()), denied("skip"));
    let locked = double(locked().into_iter().map(|package| package["name"].clone()).collect());
    assert_eq!(locked, denied("skip").into_iter().chain(NOT_BUILT_TWICE.map(str::to_owned)).collect());
}

#[test]
fn no_crate_is_older_than_its_advisories() {
    let numbers = |version: &str| version.split(['.', '+']).take(3).map(|part| part.parse::<u32>().unwrap()).collect::<Vec<_>>();
    let text = read("tests/data/advisories.tsv");
    let rows: Vec<Vec<&str>> = text.lines().filter(|line| !line.starts_with('#')).skip(1).map(|line| line.split('\t').collect()).collect();
    assert!(rows.len() > 10, "{rows:?}");
    let packages = locked();
    for row in rows {
        let [name, advisory, fixed, _] = row[..] else { panic!("{row:?}") };
        let mut versions = packages.iter().filter(|package| package["name"] == name).map(|package| &package["version"]).peekable();
        assert!(versions.peek().is_some(), "{name} is not linked any more: take {advisory} out");
        for version in versions {
            assert!(numbers(version) >= numbers(fixed), "{name} {version} has {advisory}: {fixed} or newer is needed");
        }
    }
}

#[test]
fn the_bills_of_materials_name_what_is_linked_and_its_licences() {
    let allowed = denied("allow");
    let names = ["full", "embed"].map(|build| {
        let text = bill(build);
        assert_eq!(text, bill(build), "the same bytes every time");
        let bill: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
        let mut names = BTreeSet::new();
        for component in bill["components"].as_array().unwrap() {
            let name = component["name"].as_str().unwrap();
            let licence = component["licenses"][0]["expression"].as_str().unwrap_or_else(|| panic!("{component}: no licence"));
            // Every expression so far is an `AND` of `OR`s.
            let one_of = |choice: &str| choice.split(" OR ").any(|licence| allowed.contains(licence.trim_matches(['(', ')'])));
            assert!(licence.split(" AND ").all(one_of), "{name}: {licence}");
            assert!(name == "rust-std" || component["hashes"][0]["content"].as_str().is_some_and(|hash| hash.len() == 64), "{component}");
            names.insert(name.to_owned());
        }
        names
    });
    let [full, embed] = names;
    assert!(embed.is_subset(&full), "{:?}", embed.difference(&full));
    for name in ["rustls", "ring", "reqwest"] {
        assert!(full.contains(name) && !embed.contains(name), "{name}");
    }
    // Only run while it is built, or only in tests.
    for name in ["clap_derive", "serde_derive", "proptest", "jsonschema", "cc"] {
        assert!(!full.contains(name), "{name}");
    }
}
