//! Texts that are compared word for word.

use std::path::Path;

/// Asserts that `file`, below `tests/`, says exactly this. `SKEWGUARD_BLESS=1` writes it again.
pub(crate) fn assert_file(file: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(file);
    if std::env::var_os("SKEWGUARD_BLESS").is_some() {
        std::fs::write(&path, actual).expect("expectation written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == actual,
        "tests/{file} differs (after a wanted change, SKEWGUARD_BLESS=1 writes it again)\n--- expected\n{expected}\n--- actual\n{actual}"
    );
}
