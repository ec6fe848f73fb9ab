//! The exact text that people read and the JSON that scripts read.
//!
//! After a wanted change: `SKEWGUARD_BLESS=1 cargo test --test check` writes the files anew; read the diff.

use crate::{skewguard, tree};
use std::path::Path;

fn assert_file(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/check/expected").join(name);
    if std::env::var_os("SKEWGUARD_BLESS").is_some() {
        std::fs::write(&path, actual).expect("expectation written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == actual, "{name} differs\n--- expected\n{expected}\n--- actual\n{actual}");
}

#[test]
fn check_prints_what_the_expectation_shows() {
    for name in [
        "rhcos-4.12-refused",
        "rhcos-4.17-denied",
        "rhcos-9.6-allowed",
        "rhcos-4.12-override-off",
        "scos-9-minor-unknown",
        "two-step-update-already-rebased",
        "rhcos-4.12-no-policy",
    ] {
        let root = tree(name);
        let root = root.to_str().expect("plain path");
        for (form, ending) in [("text", "txt"), ("json", "json")] {
            let output = skewguard(&["check", "--root", root, "--output", form]);
            assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
            assert_file(&format!("{name}.{ending}"), &String::from_utf8_lossy(&output.stdout));
        }
    }
}

#[test]
fn inspect_prints_one_line_per_version() {
    let output =
        skewguard(&["inspect", "418.94.202511191518-0", "9.0.20250827-0", "39.20231101.3.0", "42s390x.81.20200131.0", "what\x1b[2J?"]);
    assert!(output.status.success());
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "418.94.202511191518-0: scheme Legacy, RHEL 9.4, OCP 4.18, built 2025-11-19, build 0\n\
         9.0.20250827-0: scheme RHELVersioned, RHEL 9 (minor unknown), OCP unknown, built 2025-08-27, build 0\n\
         39.20231101.3.0: scheme FCOS, RHEL unknown, OCP unknown, built 2023-11-01, build 0\n\
         42s390x.81.20200131.0: scheme Legacy, RHEL 8.1, OCP 4.2, built 2020-01-31, build 0\n\
         what\\u{1b}[2J?: no known scheme\n"
    );
    let output = skewguard(&["inspect", "--output", "json", "411.86.202308081056-0", "4.18.2026012111"]);
    assert!(output.status.success());
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "{\"version\":\"411.86.202308081056-0\",\"scheme\":\"Legacy\",\"rhelVersion\":\"8.6\",\"ocpVersion\":\"4.11\",\
         \"buildDate\":\"2023-08-08\",\"buildNumber\":0}\n{\"version\":\"4.18.2026012111\",\"scheme\":\"Unknown\"}\n"
    );
}

#[test]
fn wrong_usage_is_2_and_a_missing_root_is_1_with_its_name() {
    assert_eq!(skewguard(&["check", "--outptu", "json"]).status.code(), Some(2));
    assert_eq!(skewguard(&[]).status.code(), Some(2));
    assert_eq!(skewguard(&["inspect"]).status.code(), Some(2));
    let missing = skewguard(&["check", "--root", "/nonexistent/tree"]);
    assert_eq!(missing.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&missing.stderr), "skewguard: --root /nonexistent/tree: No such file or directory (os error 2)\n");
}

#[test]
fn the_console_message_is_printed_as_enforce_would_write_it() {
    let root = tree("rhcos-4.12-refused");
    let verdict = skewguard(&["check", "--root", root.to_str().expect("plain path"), "--output", "issue"]);
    assert_eq!((verdict.status.code(), verdict.stderr.is_empty()), (Some(3), true));
    assert_file("rhcos-4.12-refused.issue", &String::from_utf8_lossy(&verdict.stdout));

    let root = tree("rhcos-9.6-allowed");
    let allowed = skewguard(&["check", "--root", root.to_str().expect("plain path"), "--output", "issue"]);
    assert_eq!((allowed.status.code(), allowed.stdout.is_empty()), (Some(0), true));
    assert_eq!(String::from_utf8_lossy(&allowed.stderr), "skewguard: Allowed (WithinLimits): nothing would be shown on the console\n");
}
