use crate::node::Root;
use crate::report::ledger::{INSTALLATION_PATH, Ledger, STATE_PATH, installation};
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn root() -> (tempfile::TempDir, Root) {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::open(dir.path()).unwrap();
    (dir, root)
}

#[test]
fn what_was_delivered_is_known_at_the_next_boot() {
    let (_dir, root) = root();
    let mut state = Ledger::load(&root, None).unwrap();
    assert!(state.known_report("a-1").is_none());
    state.report_delivered("a-1", Some("uid-1"));
    state.event_delivered("a-1", 1_772_323_200);
    state.node_patch = Some("digest".to_owned());
    state.no_verdict_boot = Some("boot-1".to_owned());
    state.save(&root).unwrap();
    let state = Ledger::load(&root, None).unwrap();
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
    let mut state = Ledger::new(None);
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
        let error = Ledger::load(&root, None).unwrap_err().to_string();
        assert!(error.starts_with(STATE_PATH), "{error}");
    }
}

#[test]
fn the_installation_id_is_made_once_and_kept() {
    let (dir, root) = root();
    let (id, problem) = installation(&root, None, None);
    assert!(problem.is_none());
    assert_eq!(id.len(), 32);
    assert_eq!(
        installation(&root, None, Some("0123456789abcdef0123456789abcdef")).0,
        id
    );
    let mode = fs::metadata(dir.path().join(&INSTALLATION_PATH[1..]))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let other = self::root();
    assert_ne!(installation(&other.1, None, None).0, id);
}

#[test]
fn a_damaged_id_is_replaced_and_one_that_cannot_be_kept_is_the_same_every_time() {
    let (dir, root) = root();
    root.write(INSTALLATION_PATH, b"../../etc/passwd", 0o600)
        .unwrap();
    let (id, problem) = installation(&root, None, None);
    assert!(problem.is_none() && id.len() == 32 && installation(&root, None, None).0 == id);

    fs::remove_file(dir.path().join(&INSTALLATION_PATH[1..])).unwrap();
    fs::create_dir(dir.path().join(&INSTALLATION_PATH[1..])).unwrap();
    let machine = Some("0123456789abcdef0123456789abcdef");
    let (id, problem) = installation(&root, None, machine);
    assert!(problem.is_some_and(|problem| problem.to_string().starts_with(INSTALLATION_PATH)));
    assert_eq!(id, installation(&root, None, machine).0);
    assert!(
        !id.contains("0123456789abcdef"),
        "machine-id(5) asks not to show it raw"
    );
}

proptest! {
    #[test]
    fn no_bytes_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let (_dir, root) = root();
        root.write(STATE_PATH, &bytes, 0o644).unwrap();
        let _ = Ledger::load(&root, None);
    }
}
