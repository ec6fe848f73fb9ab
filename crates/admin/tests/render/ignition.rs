//! `render ignition`: every spec, against the table of fields.

use super::{Desk, POLICY, data, file, program, repository, unit_names};
use serde_json::{Value, json};

const SPECS: [&str; 7] = [
    "2.2.0", "3.0.0", "3.1.0", "3.2.0", "3.3.0", "3.4.0", "3.5.0",
];

/// The fields that a spec has, from tests/data/ignition-fields.tsv.
fn fields(spec: &str) -> Vec<String> {
    let table =
        std::fs::read_to_string(repository().join("tests/data/ignition-fields.tsv")).unwrap();
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(|row| match row.split('\t').collect::<Vec<_>>()[..] {
        [field, first, last] => {
            (first <= spec && (last == "-" || spec <= last)).then(|| field.to_owned())
        }
        _ => panic!("not a row: {row}"),
    })
    .collect()
}

/// Paths of all values in a document, `[]` for the entries of a list.
fn paths(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                paths(
                    value,
                    &if path.is_empty() {
                        key.clone()
                    } else {
                        format!("{path}.{key}")
                    },
                    found,
                );
            }
        }
        Value::Array(list) => list
            .iter()
            .for_each(|value| paths(value, &format!("{path}[]"), found)),
        _ => found.push(path.to_owned()),
    }
}

/// What is wrong with the fields of a config: those that its spec does not have, and what old
/// Ignitions fail on.
fn wrong_fields(config: &Value, spec: &str) -> Vec<String> {
    let (known, mut used) = (fields(spec), vec![]);
    paths(config, "", &mut used);
    assert!(used.len() > 1, "{used:?}");
    // Ignition before 2.1.1 fails on `compression`.
    let mut wrong: Vec<String> = used
        .into_iter()
        .filter(|field| !known.contains(field) || field.ends_with("compression"))
        .collect();
    let files = config["storage"]["files"].as_array().into_iter().flatten();
    for file in files {
        if spec == "2.2.0" && file["filesystem"] != "root" {
            wrong.push("storage.files[].filesystem is required".to_owned());
        }
        let hash = &file["contents"]["verification"]["hash"];
        if !hash.is_null()
            && !hash
                .as_str()
                .is_some_and(|hash| hash.starts_with("sha512-"))
        {
            wrong.push("sha256 came with 3.1.0".to_owned());
        }
    }
    wrong
}

pub(super) fn assert_fields_of_spec(config: &Value, spec: &str) {
    assert_eq!(
        wrong_fields(config, spec),
        Vec::<String>::new(),
        "spec {spec}"
    );
}

#[test]
fn a_field_that_a_spec_does_not_have_is_found() {
    let config = |file: Value| json!({"ignition": {"version": ""}, "storage": {"files": [file]}});
    for (file, spec, found) in [
        (
            json!({"path": "/a", "filesystem": "root"}),
            "3.0.0",
            "storage.files[].filesystem",
        ),
        (
            json!({"path": "/a"}),
            "2.2.0",
            "storage.files[].filesystem is required",
        ),
        (
            json!({"path": "/a", "contents": {"httpHeaders": [{"name": "a"}]}}),
            "3.0.0",
            "storage.files[].contents.httpHeaders[].name",
        ),
        (
            json!({"path": "/a", "contents": {"compression": "gzip"}}),
            "3.5.0",
            "storage.files[].contents.compression",
        ),
        (
            json!({"path": "/a", "contents": {"verification": {"hash": "sha256-00"}}}),
            "3.5.0",
            "sha256 came with 3.1.0",
        ),
        (
            json!({"path": "/a", "modes": 1}),
            "3.5.0",
            "storage.files[].modes",
        ),
    ] {
        assert_eq!(wrong_fields(&config(file), spec), [found], "{spec}");
    }
    assert_eq!(
        wrong_fields(
            &json!({"ignition": {"version": ""}, "kernelArguments": {"shouldExist": ["a"]}}),
            "3.2.0"
        ),
        ["kernelArguments.shouldExist[]"]
    );
}

#[test]
fn the_table_tells_specs_apart() {
    assert!(fields("2.2.0").contains(&"storage.files[].filesystem".to_owned()));
    assert!(!fields("3.0.0").contains(&"storage.files[].filesystem".to_owned()));
    assert!(!fields("3.0.0").contains(&"storage.files[].contents.httpHeaders[].name".to_owned()));
    assert!(fields("3.5.0").contains(&"storage.files[].contents.httpHeaders[].name".to_owned()));
}

#[test]
fn every_spec_uses_only_fields_that_it_has() {
    let desk = Desk::new();
    desk.file("embed", program(5000));
    for spec in SPECS {
        let (exit, out, err) = desk.render(&[
            "ignition",
            "--spec",
            spec,
            "--policy",
            "policy.json",
            "--binary",
            "embed",
        ]);
        assert_eq!((exit, err.as_str()), (0, ""));
        let config: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(config["ignition"]["version"], spec);
        assert_fields_of_spec(&config, spec);
        assert_eq!(
            data(&file(&config, "/etc/skewguard/policy.json")["contents"]["source"]),
            POLICY.as_bytes()
        );
        // Decimal, as JSON has no octal numbers: 0644.
        assert_eq!(file(&config, "/etc/skewguard/skewguard.xz")["mode"], 420);
        assert_eq!(
            unit_names(&config),
            [
                "skewguard-unpack.service",
                "skewguard-unpack-later.service",
                "skewguard.service",
                "skewguard-report.service"
            ]
        );
    }
}

#[test]
fn what_has_no_room_in_a_live_iso_is_a_warning() {
    let desk = Desk::new();
    desk.file("embed", program(270_000));
    let (exit, out, err) =
        desk.render(&["ignition", "--policy", "policy.json", "--binary", "embed"]);
    assert_eq!((exit, out.is_empty()), (0, false));
    assert!(
        err.starts_with(
            "skewguard: warning: a live ISO has room for 262,144 bytes of Ignition configs, packed, and the binary alone has 270,"
        ),
        "{err}"
    );
    assert!(
        err.ends_with(
            "For an ISO use --policy-only here, and `oc skewguard render pointer` for the binary.\n"
        ),
        "{err}"
    );
}

#[test]
fn the_oldest_of_spec_3_is_the_default() {
    let desk = Desk::new();
    let (_, out, _) = desk.render(&["ignition", "--policy", "policy.json", "--policy-only"]);
    assert!(
        out.starts_with(r#"{"ignition":{"version":"3.0.0"},"#),
        "{out}"
    );
    assert!(out.ends_with("}\n"));
}

#[test]
fn other_specs_are_wrong_usage() {
    let desk = Desk::new();
    for spec in ["", "2.3.0", "3.6.0", "3.0", "4.0.0"] {
        let (exit, out, err) = desk.render(&[
            "ignition",
            "--spec",
            spec,
            "--policy",
            "policy.json",
            "--policy-only",
        ]);
        assert_eq!((exit, out.as_str()), (2, ""));
        assert!(
            err.contains("known are 2.2.0 and 3.0.0 to 3.5.0") || spec.is_empty(),
            "{err}"
        );
    }
}
