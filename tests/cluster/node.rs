//! A node's tree, and the agent run on it.

use serde_json::{Value, json};
use skewguard::transport::CURL;
use skewguard::verdict::Verdict;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How the agent reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// Its own TLS.
    Tls,
    /// The host's curl.
    Curl,
}

/// The transports of this build.
pub(crate) fn transports() -> Vec<Over> {
    if cfg!(feature = "tls") {
        vec![Over::Tls, Over::Curl]
    } else {
        vec![Over::Curl]
    }
}

pub(crate) struct Node {
    dir: tempfile::TempDir,
}

impl Node {
    /// A node of that name.
    pub(crate) fn new(host: &str, over: Over) -> Self {
        let node = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        node.write("etc/hostname", &format!("{host}\n"));
        node.write("etc/machine-id", "0123456789abcdef0123456789abcdef\n");
        node.write(
            "proc/cmdline",
            "ignition.platform.id=aws ostree=/ostree/boot.1/rhcos/abc/0\n",
        );
        node.write(
            "proc/sys/kernel/random/boot_id",
            "7c1f6b1e-8f0a-4d5e-9d55-0a1b2c3d4e5f\n",
        );
        // Each is an installation of its own.
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let record = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageRecord",
            "bootID": format!("{:016}{made:016}", std::process::id()) });
        node.write("etc/skewguard/boot-image.json", &record.to_string());
        assert!(
            over == Over::Tls || std::path::Path::new(CURL).exists(),
            "{CURL} is missing; install the Debian package curl"
        );
        // FIPS mode is what makes a build with TLS use curl.
        node.write(
            "proc/sys/crypto/fips_enabled",
            if over == Over::Curl { "1\n" } else { "0\n" },
        );
        node
    }

    /// Writes a file of this installation below /var.
    pub(crate) fn keep(&self, path: &str, mut kept: Value) {
        let record = std::fs::read(self.path("etc/skewguard/boot-image.json")).unwrap();
        let record: Value = serde_json::from_slice(&record).unwrap();
        kept["installation"] = record["bootID"].clone();
        self.write(path, &kept.to_string());
    }

    /// The verdict of a sample tree, refused and held.
    pub(crate) fn refused(host: &str, over: Over) -> Self {
        let node = Self::new(host, over);
        node.write(
            "run/skewguard/verdict.json",
            &serde_json::to_string(&verdict("rhcos-4.12-refused")).unwrap(),
        );
        node.write("run/skewguard/refused", "");
        node
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// `skewguard report --once`: what it said, and its exit status.
    pub(crate) fn report(&self) -> (String, i32) {
        outcome(self.run(&["--once"]))
    }

    /// The same with at most so many bytes of memory for data.
    pub(crate) fn report_within(&self, bytes: u64) -> (String, i32) {
        let command = self.command();
        let mut limited = Command::new("prlimit");
        limited
            .arg(format!("--data={bytes}"))
            .arg(command.get_program())
            .args(command.get_args())
            .arg("--once");
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => limited.env(name, value),
                None => limited.env_remove(name),
            };
        }
        outcome(limited.output().unwrap_or_else(|error| {
            panic!("prlimit: {error}; install the Debian package util-linux")
        }))
    }

    fn run(&self, more: &[&str]) -> Output {
        self.command()
            .args(more)
            .output()
            .expect("skewguard starts")
    }

    /// `skewguard report` on this tree.
    pub(crate) fn command(&self) -> Command {
        let given =
            std::env::var_os("SKEWGUARD_TEST_PROGRAM").filter(|program| !program.is_empty());
        let mut command = Command::new(given.unwrap_or(env!("CARGO_BIN_EXE_skewguard").into()));
        // A proxy in the environment must not be used; this one does not exist, so using it would
        // fail.
        for name in [
            "http_proxy",
            "https_proxy",
            "HTTPS_PROXY",
            "all_proxy",
            "ALL_PROXY",
        ] {
            command.env(name, "http://127.0.0.1:9");
        }
        command
            .args(["report", "--root"])
            .arg(self.dir.path())
            .env_remove("JOURNAL_STREAM");
        command
    }
}

/// What a run said, and its exit status.
fn outcome(output: Output) -> (String, i32) {
    assert!(output.stdout.is_empty(), "{:?}", output.stdout);
    (
        String::from_utf8(output.stderr).unwrap(),
        output.status.code().unwrap_or(-1),
    )
}

/// What `check` decides about a sample tree.
pub(crate) fn verdict(tree: &str) -> Verdict {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/trees")
        .join(tree);
    skewguard::report::situation::decide_now(&skewguard::node::Root::open(&path).unwrap()).unwrap()
}
