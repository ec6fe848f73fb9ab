//! tests/setup, with stand-ins for what it calls: it adds what a toolchain lacks of rust-toolchain.toml's list.

use std::path::Path;
use std::process::{Command, Output};

/// Runs tests/setup where the toolchain has one of the targets. `rustup`: whether there is one.
fn setup(dir: &Path, rustup: bool) -> Output {
    std::fs::create_dir(dir.join("x86_64-unknown-linux-musl")).unwrap();
    // `rustc --print target-libdir --target TARGET` names a folder, there or not.
    let rustc = format!("echo {}/$4", dir.display());
    let mut programs = vec![("id", "echo 0".to_owned()), ("apt-get", String::new()), ("rustc", rustc)];
    if rustup {
        programs.push(("rustup", format!("echo \"$@\" >>{}/asked", dir.display())));
    }
    for (name, script) in programs {
        crate::script::script(&dir.join(name), &script);
    }
    // Without the rest of this machine's PATH: its own rustup is not to be found.
    let path = format!("{}:/usr/bin:/bin", dir.display());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/setup");
    Command::new("sh").arg(script).env("PATH", path).output().unwrap()
}

#[test]
fn setup_adds_the_targets_and_components_that_the_toolchain_lacks() {
    let dir = tempfile::tempdir().unwrap();
    let output = setup(dir.path(), true);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let asked = std::fs::read_to_string(dir.path().join("asked")).unwrap();
    let wanted = "component add clippy rustfmt rust-src\ntarget add x86_64-unknown-linux-musl aarch64-unknown-linux-musl\n";
    assert_eq!(asked, wanted, "all of rust-toolchain.toml; rustup knows what is there");
}

#[test]
fn setup_says_what_is_missing_where_there_is_no_rustup() {
    if Path::new("/usr/bin/rustup").exists() {
        eprintln!("skipped: rustup is in /usr/bin");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let output = setup(dir.path(), false);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    let wanted = "lacks the component rust-src, the target aarch64-unknown-linux-musl. ";
    assert!(said.contains(wanted) && said.contains("https://rustup.rs"), "{said}");
}
