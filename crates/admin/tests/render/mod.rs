//! `oc skewguard render` as a whole program: what it prints, and what it refuses to print.

pub(crate) mod admission;
mod ignition;
mod machineconfig;
mod matrix;
mod pointer;
mod rights;
mod roles;
mod served;
mod unpack;

use base64::Engine as _;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const POLICY: &str = r#"{
  "apiVersion": "skewguard.dev/v1alpha1",
  "kind": "BootImageSkewPolicy",
  "mode": "Enforce",
  "limits": [ { "minimumOCPVersion": "4.13.0", "minimumRHCOSVersion": "9.2" } ]
}
"#;

/// Files for one test, and the program run with them.
pub(crate) struct Desk(tempfile::TempDir);

impl Desk {
    /// With a policy in policy.json.
    pub(crate) fn new() -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        desk.file("policy.json", POLICY);
        desk
    }

    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.0.path().to_owned()
    }

    /// Runs `oc skewguard render` with the words of a line.
    pub(crate) fn line(&self, line: &str) -> (i32, String, String) {
        self.render(&line.split(' ').collect::<Vec<_>>())
    }

    /// Runs `oc skewguard render`, from the directory of the files: exit status, results, everything
    /// else.
    pub(crate) fn render(&self, args: &[&str]) -> (i32, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_kubectl-skewguard"))
            .arg("render")
            .args(args)
            .current_dir(self.0.path())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (
            output.status.code().unwrap(),
            text(output.stdout),
            text(output.stderr),
        )
    }
}

/// A static program for x86_64 as far as its headers go (elf(5)), with `payload` bytes that do not
/// compress.
fn program(payload: usize) -> Vec<u8> {
    let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
    elf.resize(120, 0);
    (
        elf[16], elf[18], elf[20], elf[32], elf[52], elf[54], elf[56], elf[64],
    ) = (3, 62, 1, 64, 64, 56, 1, 1);
    let mark = b"skewguard.dev/v1alpha1";
    elf.extend(mark);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    elf.extend(
        std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .take(payload.saturating_sub(mark.len())),
    );
    elf
}

/// What a data URL holds.
pub(crate) fn data(url: &Value) -> Vec<u8> {
    let text = url
        .as_str()
        .unwrap()
        .strip_prefix("data:;base64,")
        .expect("a plain data URL");
    base64::engine::general_purpose::STANDARD
        .decode(text)
        .unwrap()
}

/// The file of an Ignition config with this path.
pub(crate) fn file<'a>(config: &'a Value, path: &str) -> &'a Value {
    let files = config["storage"]["files"].as_array().unwrap();
    files
        .iter()
        .find(|file| file["path"] == path)
        .unwrap_or_else(|| panic!("no {path}"))
}

fn unit_names(config: &Value) -> Vec<&str> {
    config["systemd"]["units"]
        .as_array()
        .unwrap()
        .iter()
        .map(|unit| unit["name"].as_str().unwrap())
        .collect()
}

pub(crate) fn repository() -> &'static Path {
    crate::support::apiserver::repository()
}
