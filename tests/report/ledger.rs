use crate::node::{Root, STATE_PATH};
use crate::report::ledger::Ledger;
use proptest::prelude::*;
use std::fs;

fn root() -> (tempfile::TempDir, Root) {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::open(dir.path()).unwrap();
    (dir, root)
}

#[test]
fn what_was_delivered_is_known_at_the_next_boot() {
    let (_dir, root) = root();
    let mut state = Ledger::load(&root, "a").unwrap();
    assert!(state.known_report("a-1").is_none());
    state.report_delivered("a-1", Some("uid-1"));
    state.event_delivered("a-1", 1_772_323_200);
    state.node_patch = Some("digest".to_owned());
    state.no_verdict_boot = Some("boot-1".to_owned());
    state.save(&root).unwrap();
    let state = Ledger::load(&root, "a").unwrap();
    assert!(state.known_report("a-1").is_some() && state.known_report("a-2").is_none());
    assert_eq!(
        state.known_report("a-1").unwrap().uid.as_deref(),
        Some("uid-1")
    );
    assert_eq!(
        (state.last_event("a-1"), state.last_event("a-2")),
        (Some(1_772_323_200), None)
    );
    assert_eq!(
        (
            state.node_patch.as_deref(),
            state.no_verdict_boot.as_deref()
        ),
        (Some("digest"), Some("boot-1"))
    );
}

#[test]
fn the_state_stays_small() {
    let (dir, root) = root();
    let mut state = Ledger::new("a");
    for n in 0..1000 {
        state.report_delivered(&format!("host-{n:016x}"), Some(&"u".repeat(10_000)));
    }
    assert!(
        state.known_report(&format!("host-{:016x}", 999)).is_some()
            && state.known_report(&format!("host-{:016x}", 1)).is_none()
    );
    state.save(&root).unwrap();
    assert!(
        fs::metadata(dir.path().join(&STATE_PATH[1..]))
            .unwrap()
            .len()
            < 8 * 1024
    );
}

#[test]
fn a_damaged_state_is_an_error_that_names_the_file() {
    for bytes in [
        "",
        "{",
        "[]",
        r#"{"apiVersion":1}"#,
        "\u{0}",
        &"[".repeat(200_000),
    ] {
        let (_dir, root) = root();
        root.write(STATE_PATH, bytes.as_bytes(), 0o644).unwrap();
        let error = Ledger::load(&root, "a").unwrap_err().to_string();
        assert!(error.starts_with(STATE_PATH), "{error}");
    }
}

/// /var may be older than the installation.
#[test]
fn what_another_installation_told_does_not_count() {
    let (_dir, root) = root();
    let mut state = Ledger::new("b");
    state.report_delivered("a-1", None);
    state.save(&root).unwrap();
    let state = Ledger::load(&root, "a").unwrap();
    assert!(state.known_report("a-1").is_none());
}

proptest! {
    #[test]
    fn no_bytes_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let (_dir, root) = root();
        root.write(STATE_PATH, &bytes, 0o644).unwrap();
        let _ = Ledger::load(&root, "a");
    }
}
