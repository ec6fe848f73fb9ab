//! The lists of what is linked, what of it has a known vulnerability that does not apply, and what
//! cargo-deny does not see of Cargo.lock. The rest of deny.toml is its own to check (`tests/run
//! deny`).

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
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

/// What is wrong with a document, by a schema of `tests/data/supply`. Of the two schemas that
/// CycloneDX's refers to nothing may be used: no bill has a signature, or a licence by its id.
fn invalid(schema: &str, document: &Value) -> Vec<String> {
    let schema: Value =
        serde_json::from_str(&read(&format!("tests/data/supply/{schema}"))).unwrap();
    let none = json!({ "not": {}, "definitions": { "signature": { "not": {} } } });
    let registry = ["spdx", "jsf-0.82"].map(|name| {
        let uri = format!("http://cyclonedx.org/schema/{name}.SNAPSHOT.schema.json");
        (uri, none.clone())
    });
    let registry = jsonschema::Registry::new().extend(registry).unwrap();
    let registry = registry.prepare().unwrap();
    jsonschema::options()
        .with_registry(&registry)
        .should_validate_formats(true)
        .build(&schema)
        .unwrap()
        .iter_errors(document)
        .map(|error| format!("{error} at {}", error.instance_path()))
        .collect()
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

/// The minimum elements of a bill of materials by NTIA (2021): supplier, name, version, another
/// identifier, dependencies, author and time; and the serial number, by which others name it.
fn has_the_minimum_elements(bill: &Value) {
    let text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    let about = &bill["metadata"];
    assert!(text(&bill["serialNumber"]), "{bill}");
    assert!(
        text(&about["timestamp"]) && text(&about["authors"][0]["name"]),
        "{about}"
    );
    let components = bill["components"].as_array().unwrap();
    let mut references = BTreeSet::new();
    for component in components.iter().chain([&about["component"]]) {
        for key in ["name", "version", "purl"] {
            assert!(text(&component[key]), "{key}: {component}");
        }
        assert!(text(&component["supplier"]["name"]), "{component}");
        let reference = component["bom-ref"].as_str().unwrap();
        assert!(references.insert(reference), "{component}");
    }
    let edges: BTreeMap<&str, &Vec<Value>> = bill["dependencies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                one["ref"].as_str().unwrap(),
                one["dependsOn"].as_array().unwrap(),
            )
        })
        .collect();
    // Everything is reached from the program.
    let mut reached = BTreeSet::new();
    let mut next = vec![about["component"]["bom-ref"].as_str().unwrap()];
    while let Some(one) = next.pop() {
        if reached.insert(one) {
            next.extend(edges[one].iter().map(|on| on.as_str().unwrap()));
        }
    }
    assert_eq!(reached, references);
}

/// A bill describes one binary, by its digest; of another one, or of another day, it has another
/// serial number.
#[test]
fn a_bill_of_materials_has_the_digest_of_its_binary() {
    let made = |binary: &str, time: &str| -> Value {
        let output = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/sbom"))
            .args(["embed", "x86_64", binary])
            .env("SOURCE_DATE_EPOCH", time)
            .output()
            .unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let dir = tempfile::tempdir().unwrap();
    let binary = dir.path().join("skewguard-embed");
    std::fs::write(&binary, "abc").unwrap();
    let bill = made(binary.to_str().unwrap(), "1767225600");
    assert_eq!(invalid("bom-1.5.SNAPSHOT.schema.json", &bill), [""; 0]);
    assert_eq!(bill["metadata"]["timestamp"], "2026-01-01T00:00:00Z");
    // FIPS 180's own example.
    let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(
        bill["metadata"]["component"]["hashes"],
        json!([{ "alg": "SHA-256", "content": digest }])
    );
    let later = made(binary.to_str().unwrap(), "1767225601");
    std::fs::write(&binary, "abd").unwrap();
    let other = made(binary.to_str().unwrap(), "1767225600");
    let serials = [bill, later, other].map(|bill| bill["serialNumber"].to_string());
    assert_eq!(BTreeSet::from(serials).len(), 3);
}

/// What says that a vulnerability does not apply names what is linked today: a newer musl makes it
/// wrong.
#[test]
fn the_vex_document_speaks_of_what_is_linked() {
    let document: Value = serde_json::from_str(&read("dist/skewguard.openvex.json")).unwrap();
    assert_eq!(invalid("openvex_json_schema.json", &document), [""; 0]);
    let mut linked = BTreeSet::new();
    for build in ["full", "embed", "admin"] {
        let bill: Value = serde_json::from_str(&bill(build)).unwrap();
        let components = bill["components"].as_array().unwrap();
        linked.extend(components.iter().map(|one| one["purl"].to_string()));
        let program = bill["metadata"]["component"]["name"].as_str().unwrap();
        linked.insert(format!("\"pkg:cargo/{program}\""));
    }
    let mut names = BTreeSet::new();
    for statement in document["statements"].as_array().unwrap() {
        assert!(names.insert(statement["vulnerability"]["name"].to_string()));
        for product in statement["products"].as_array().unwrap() {
            let parts = product["subcomponents"].as_array().unwrap();
            assert!(!parts.is_empty(), "{product}");
            for id in parts
                .iter()
                .chain([product])
                .map(|one| one["@id"].to_string())
            {
                assert!(linked.contains(&id), "{id}: {statement}");
            }
        }
    }
}

#[test]
fn the_bills_of_materials_name_what_is_linked_and_its_licences() {
    let allowed = denied("allow");
    let names = ["full", "embed", "admin"].map(|build| {
        let text = bill(build);
        assert_eq!(text, bill(build), "the same bytes every time");
        let bill: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(invalid("bom-1.5.SNAPSHOT.schema.json", &bill), [""; 0]);
        has_the_minimum_elements(&bill);
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
