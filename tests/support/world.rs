//! Namespaces for one test, with the rights of root inside and none outside (user_namespaces(7)).

use std::env;
use std::process::{Command, Output};

/// Set in the inner run, to the directory that the script prepared.
const INSIDE: &str = "SKEWGUARD_TEST_WORLD";

/// What a process inside drops the powers of root with (setpriv(1)).
pub(crate) const WITHOUT_POWERS: &str = "setpriv --bounding-set=-all --inh-caps=-all";

/// `sh -c SCRIPT` in a mount namespace of its own, and in those that `more` asks unshare(1) for.
pub(crate) fn shell(more: &[&str], script: &str) -> Command {
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "--mount", "--fork"])
        .args(more)
        .args(["sh", "-c", script]);
    command
}

/// Runs a command of [`shell`].
pub(crate) fn output(command: &mut Command) -> Output {
    command
        .output()
        .unwrap_or_else(|error| panic!("unshare: {error}; install the Debian package util-linux"))
}

/// Runs `test` in a world of its own: `script` (sh, with a temporary directory as `$W`) sets it up,
/// then this test program starts again for the one test called `name` (its whole path), which gets
/// here a second time and runs `test` with that directory. `run_by` is a program that runs it, or
/// nothing.
///
/// Fails where namespaces cannot be had, naming what is missing: a test that does not run has not
/// passed.
pub(crate) fn alone(
    name: &str,
    more: &[&str],
    script: &str,
    run_by: &str,
    test: impl FnOnce(&str),
) {
    if let Ok(world) = env::var(INSIDE) {
        return test(&world);
    }
    let dir = tempfile::tempdir().expect("temporary directory");
    let script = format!(
        "set -eu\n{script}\nexec {run_by} \"$0\" --exact \"$1\" --nocapture --test-threads=1"
    );
    let output = output(
        shell(more, &script)
            .arg(env::current_exe().expect("a test knows its program"))
            .arg(name)
            .env("W", dir.path())
            .env(INSIDE, dir.path()),
    );
    let text = [output.stdout, output.stderr]
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .concat();
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{}: {text}\n(needs user namespaces: sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)",
        output.status
    );
}
