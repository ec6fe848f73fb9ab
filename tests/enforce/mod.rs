//! `skewguard enforce` and `skewguard allow` as whole programs, on sample node trees, on broken
//! ones and on disks that refuse to be written.

mod bad_input;
mod cut_off;
mod first_boot;
mod kept_var;
mod later;
mod live;
mod oracle;
mod order;
mod race;
mod rebased;
mod reinstalled;
mod status;
mod unwritable;
mod worlds;

use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

pub(crate) const REFUSED: &str = "rhcos-4.12-refused";
pub(crate) const ALLOWED: &str = "rhcos-4.18-allowed";
pub(crate) const WARNED: &str = "rhcos-4.12-warn";

/// What a run may leave on a node: these files, and drop-ins in `run/systemd/system`.
pub(crate) const OURS: [&str; 12] = [
    "etc/issue",
    "etc/issue.d/zz-skewguard.issue",
    "etc/issue.skewguard-saved",
    "etc/motd.d/skewguard",
    "etc/skewguard/boot-image.json",
    "run/skewguard-prompt.issue",
    "run/skewguard/boot-image.json",
    "run/skewguard/lock",
    "run/skewguard/override",
    "run/skewguard/refused",
    "run/skewguard/verdict.json",
    "var/lib/skewguard/issue.saved",
];

/// A copy of a sample tree to work on.
pub(crate) struct Node {
    dir: TempDir,
}

pub(crate) fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/trees")
        .join(name)
}

pub(crate) fn samples() -> Vec<String> {
    let entries = fs::read_dir(sample("")).expect("the trees are there");
    let names = entries.map(|entry| {
        entry
            .expect("readable")
            .file_name()
            .into_string()
            .expect("plain names")
    });
    names.filter(|name| !name.ends_with(".md")).collect()
}

impl Node {
    pub(crate) fn new(name: &str) -> Self {
        let node = Self {
            dir: tempfile::tempdir().expect("a temporary directory"),
        };
        fs::set_permissions(node.dir.path(), fs::Permissions::from_mode(0o755)).expect("opened up");
        let copied = Command::new("cp")
            .arg("-a")
            .arg(sample(name).join("."))
            .arg(node.dir.path())
            .status();
        assert!(copied.expect("cp starts").success());
        node
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(crate) fn run(&self, command: &str) -> Output {
        self.run_with(command, &[])
    }

    pub(crate) fn run_with(&self, command: &str, more: &[&str]) -> Output {
        self.program(command)
            .args(more)
            .output()
            .expect("skewguard starts")
    }

    /// The program with this command on this node, to be started.
    pub(crate) fn program(&self, command: &str) -> Command {
        let mut program = Command::new(env!("CARGO_BIN_EXE_skewguard"));
        program.arg(command).arg("--root").arg(self.dir.path());
        program
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        fs::read(self.path(path))
            .ok()
            .map(|bytes| String::from_utf8(bytes).expect("text"))
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        let text = self
            .read(path)
            .unwrap_or_else(|| panic!("{path} is missing"));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(crate) fn is_stamped(&self) -> bool {
        self.path("run/skewguard/refused").exists()
    }

    /// The units that have a drop-in of ours.
    pub(crate) fn held(&self) -> Vec<String> {
        let files = files(self.dir.path());
        let units = files.keys().filter_map(|path| {
            path.strip_prefix("run/systemd/system/")?
                .strip_suffix(".d/50-skewguard.conf")
        });
        units.map(str::to_owned).collect()
    }

    /// Everything below the root that is no directory.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        files(self.dir.path())
    }
}

/// Path and content, or target of the symlink, of everything below `dir` that is no directory.
pub(crate) fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(here) = todo.pop() {
        for entry in fs::read_dir(&here)
            .expect("a directory")
            .map(|entry| entry.expect("an entry"))
        {
            let (path, kind) = (entry.path(), entry.file_type().expect("a type"));
            if kind.is_dir() {
                todo.push(path);
                continue;
            }
            let name = path
                .strip_prefix(dir)
                .expect("below")
                .to_string_lossy()
                .into_owned();
            let content = if kind.is_symlink() {
                fs::read_link(&path)
                    .expect("a target")
                    .into_os_string()
                    .into_encoded_bytes()
            } else if kind.is_file() {
                fs::read(&path).unwrap_or_default()
            } else {
                b"special".to_vec()
            };
            found.insert(name, content);
        }
    }
    found
}

/// Every file of ours is whole: JSON that parses, no temporary file, a drop-in that is complete.
pub(crate) fn assert_whole(dir: &Path, what: &str) {
    for (path, content) in files(dir) {
        let name = Path::new(&path)
            .file_name()
            .and_then(OsStr::to_str)
            .unwrap_or_default();
        let is_temporary = name.contains(".skewguard-") && path != "etc/issue.skewguard-saved";
        assert!(!is_temporary, "{what}: {path} was left behind");
        let ours = path.starts_with("run/skewguard/") || path.starts_with("var/lib/skewguard/");
        if ours && path.ends_with(".json") {
            serde_json::from_slice::<Value>(&content)
                .unwrap_or_else(|error| panic!("{what}: {path}: {error}"));
        }
        if path.ends_with("50-skewguard.conf") {
            let text = String::from_utf8_lossy(&content);
            assert!(
                text.ends_with("[Unit]\nRequires=skewguard.service\nAfter=skewguard.service\nAssertPathExists=!/run/skewguard/refused\n"),
                "{what}: {path}: {text}"
            );
        }
    }
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
