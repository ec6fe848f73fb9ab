//! tests/setup and tests/run, with stand-ins for what they call: what a machine lacks is installed,
//! or named.

use std::fs::{create_dir, read_to_string};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A PATH of one folder, with what the scripts themselves call and a toolchain that has one of the
/// targets.
struct Machine {
    dir: tempfile::TempDir,
}

impl Machine {
    /// `user`: what `id -u` says.
    fn new(user: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let machine = Self { dir };
        let here = std::env::var_os("PATH").unwrap();
        for program in ["sh", "sed", "tr", "grep", "cat", "dirname", "ls", "wc"] {
            let found = std::env::split_paths(&here)
                .map(|folder| folder.join(program))
                .find(|path| path.exists());
            symlink(found.expect(program), machine.path(program)).unwrap();
        }
        create_dir(machine.path("x86_64-unknown-linux-musl")).unwrap();
        // `rustc --print target-libdir --target TARGET` names a folder, there or not.
        let dir = machine.dir.path().display();
        machine.has("rustc", &format!("echo {dir}/$4"));
        machine.has("id", &format!("echo {user}"));
        machine.has("cargo-clippy", "");
        machine.has("cargo-fmt", "");
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A program; the words that it is called with are kept.
    fn has(&self, name: &str, script: &str) {
        let asked = self.path(&format!("{name}.asked"));
        crate::support::script::script(
            &self.path(name),
            &format!("echo \"$@\" >>{}\n{script}", asked.display()),
        );
    }

    /// Everything that tests/packages names by a program.
    fn has_every_program(&self) {
        let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/packages");
        let table = read_to_string(packages).unwrap();
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            let known = line.split_whitespace().nth(1).unwrap();
            if !known.starts_with('/') && !self.path(known).exists() {
                self.has(known, "");
            }
        }
    }

    fn asked(&self, name: &str) -> Option<String> {
        read_to_string(self.path(&format!("{name}.asked"))).ok()
    }

    fn run(&self, script: &str, arguments: &[&str]) -> Output {
        Command::new("/bin/sh")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(script))
            .args(arguments)
            .env("PATH", self.dir.path())
            .output()
            .unwrap()
    }
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn setup_adds_the_targets_and_components_that_the_toolchain_lacks() {
    let machine = Machine::new("0");
    machine.has("apt-get", "");
    machine.has("rustup", "");
    let output = machine.run("tests/setup", &[]);
    assert!(output.status.success(), "{}", err(&output));
    let wanted = "component add clippy rustfmt rust-src\ntarget add x86_64-unknown-linux-musl aarch64-unknown-linux-musl aarch64-apple-darwin x86_64-pc-windows-gnu\n";
    assert_eq!(
        machine.asked("rustup").as_deref(),
        Some(wanted),
        "all of rust-toolchain.toml; rustup knows what is there"
    );
}

#[test]
fn setup_says_what_is_missing_where_there_is_no_rustup() {
    let machine = Machine::new("0");
    machine.has("apt-get", "");
    let output = machine.run("tests/setup", &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = err(&output);
    let wanted = "lacks the component rust-src, the target aarch64-unknown-linux-musl, the target aarch64-apple-darwin, the target x86_64-pc-windows-gnu. ";
    assert!(
        said.contains(wanted) && said.contains("https://rustup.rs"),
        "{said}"
    );
    // macOS and Windows are checked in one tier alone.
    let of_tier = |tier| err(&machine.run("tests/setup", &[tier]));
    assert!(
        of_tier("lint")
            .contains("lacks the target aarch64-apple-darwin, the target x86_64-pc-windows-gnu. ")
    );
    assert!(!of_tier("dist").contains("apple"));
}

#[test]
fn setup_installs_only_missing_packages_of_the_tiers_asked_for() {
    let machine = Machine::new("0");
    machine.has_every_program();
    for program in ["strace", "groff"] {
        std::fs::remove_file(machine.path(program)).unwrap();
    }
    machine.has("apt-get", "");
    let output = machine.run("tests/setup", &["cargo"]);
    assert!(output.status.success(), "{}", err(&output));
    let asked = machine.asked("apt-get").unwrap();
    let (update, install) = asked.split_once('\n').unwrap();
    assert_eq!(update, "-qq update");
    // What is known by a file may be missing on the machine of the test itself.
    assert!(install.contains(" strace"), "{install}");
    for other in ["groff", "mmdebstrap", "dbus"] {
        assert!(!install.contains(other), "{install}");
    }
}

#[test]
fn setup_without_root_names_packages_and_what_needs_them() {
    let machine = Machine::new("1000");
    machine.has("apt-get", "");
    machine.has("rustup", "");
    let output = machine.run("tests/setup", &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = err(&output);
    for line in [
        "    strace  (cargo: makes every system call of the agent fail, or kills it there)\n",
        "    ostree  (boot: the sysroot of a node)\n",
        "As root tests/setup installs them.\n",
    ] {
        assert!(said.contains(line), "{said}");
    }
    assert_eq!(machine.asked("apt-get"), None);
}

#[test]
fn run_skips_a_tier_that_lacks_something_and_is_no_success() {
    let machine = Machine::new("1000");
    machine.has("nproc", "echo 2");
    let output = machine.run("tests/run", &["boot"]);
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.starts_with("== tier boot SKIPPED: this machine lacks\n    root  ("),
        "{said}"
    );
    assert!(said.contains("\n    mmdebstrap  ("), "{said}");
    assert!(
        said.ends_with("\ntiers: 0 passed, 0 failed, 1 skipped\n"),
        "{said}"
    );
}

#[test]
fn fuzz_takes_whole_minutes_from_one_on() {
    let machine = Machine::new("0");
    for minutes in ["0", "", "-1", "1.5", "many"] {
        let output = machine.run("tests/fuzz", &[minutes]);
        assert_eq!(output.status.code(), Some(2), "{minutes}");
        assert_eq!(
            err(&output),
            format!("tests/fuzz: MINUTES is a whole number from 1 on, not \"{minutes}\"\n")
        );
        assert_eq!(machine.asked("rustc"), None, "nothing is built");
    }
}

#[test]
fn mutants_takes_files_that_are_there() {
    let output = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mutants/run"))
        .arg("src/nope.rs")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        err(&output),
        "tests/mutants/run: no such file: src/nope.rs\n"
    );
}
