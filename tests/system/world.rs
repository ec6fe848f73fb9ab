//! A mount namespace per test, with root rights inside and none outside (user_namespaces(7)).

use std::env;
use std::process::Command;

/// Set in the inner run, to the directory that the script prepared.
const INSIDE: &str = "SKEWGUARD_TEST_WORLD";

/// Whether the inner run may do what root may.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Powers {
    Root,
    None,
}

/// Runs `test` in a world of its own: `script` (sh, with the directory as `$W`) sets it up, then this test program starts again for the one
/// test called `name`, which gets here a second time and runs `test`; with or without the capabilities of root.
///
/// Fails where namespaces cannot be had, naming what is missing: a test that does not run has not passed.
pub(crate) fn alone(name: &str, script: &str, powers: Powers, test: impl FnOnce(&str)) {
    if let Ok(world) = env::var(INSIDE) {
        return test(&world);
    }
    let dir = tempfile::tempdir().expect("temporary directory");
    let drop = match powers {
        Powers::Root => "",
        Powers::None => "setpriv --bounding-set=-all --inh-caps=-all",
    };
    let script = format!("set -eu\n{script}\nexec {drop} \"$0\" --exact \"$1\" --nocapture --test-threads=1");
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "--fork", "sh", "-c", &script])
        .arg(env::current_exe().expect("a test knows its program"))
        .arg(name)
        .env("W", dir.path())
        .env(INSIDE, dir.path())
        .output()
        .unwrap_or_else(|e| panic!("unshare: {e}; install the Debian package util-linux"));
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{}: {text}\n(needs user namespaces: sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)",
        output.status
    );
}
