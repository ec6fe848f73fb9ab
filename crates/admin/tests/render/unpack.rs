//! What skewguard-unpack.service does with good and bad files, by the real programs.

use super::{Desk, data, file, program};
use serde_json::Value;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

/// A rendered MachineConfig as it lies on a node.
struct Node {
    desk: Desk,
    command: String,
    limit: String,
    packed: Vec<u8>,
    elf: Vec<u8>,
}

impl Node {
    fn new(compression: &str) -> Self {
        Self::with(compression, program(50_000))
    }

    fn with(compression: &str, elf: Vec<u8>) -> Self {
        let desk = Desk::new();
        desk.file("embed", &elf);
        let (_, out, err) = desk.render(&[
            "machineconfig",
            "--policy",
            "policy.json",
            "--binary",
            "embed",
            "--compression",
            compression,
        ]);
        assert_eq!(err, "");
        let object: Value = serde_saphyr::from_str(&out).unwrap();
        let config = &object["spec"]["config"];
        let unit = config["systemd"]["units"][0]["contents"].as_str().unwrap();
        let value = |key: &str| {
            unit.lines()
                .find_map(|line| line.strip_prefix(key))
                .unwrap_or_else(|| panic!("no {key} in {unit}"))
        };
        let path = value("ConditionPathExists=");
        let command = value("ExecStart=/bin/sh -c '").strip_suffix('\'').unwrap();
        let command = command
            .replace(path, "packed")
            .replace("/run/skewguard/bin/", "");
        Self {
            command,
            limit: value("LimitFSIZE=").to_owned(),
            packed: data(&file(config, path)["contents"]["source"]),
            desk,
            elf,
        }
    }

    /// The command's exit status, or the signal it died of as a negative number, and what it says.
    fn unpack(&self, command: &str, packed: &[u8]) -> (i32, String) {
        self.desk.file("packed", packed);
        let mut unpack = Command::new("prlimit");
        unpack
            .arg(format!("--fsize={}", self.limit))
            .args(["/bin/sh", "-c", command])
            .current_dir(self.desk.0.path())
            .env("LC_ALL", "C");
        let output = unpack.output().unwrap();
        let status = output
            .status
            .code()
            .unwrap_or_else(|| -output.status.signal().unwrap());
        (status, String::from_utf8(output.stderr).unwrap())
    }

    fn unpacked(&self) -> Vec<u8> {
        fs::read(self.desk.0.path().join("skewguard.new")).unwrap()
    }
}

#[test]
fn a_good_file_is_unpacked_without_a_word() {
    for compression in ["xz", "gzip"] {
        let node = Node::new(compression);
        assert_eq!(node.unpack(&node.command, &node.packed), (0, String::new()));
        assert_eq!(node.unpacked(), node.elf);
    }
}

#[test]
fn a_bad_file_or_a_host_without_the_program_fails_with_a_line() {
    for (compression, bomb) in [("xz", ["xz", "-0"]), ("gzip", ["gzip", "-1"])] {
        let node = Node::new(compression);
        let fails = |command: &str, packed: &[u8], says: &str| {
            let (status, said) = node.unpack(command, packed);
            assert!(
                status > 0 && said.contains(says) && said.lines().count() <= 2,
                "{compression}: exit {status}: {said}"
            );
        };
        fails(&node.command, &node.packed[..20_000], "nexpected end of");
        let mut changed = node.packed.clone();
        changed[25_000] ^= 1;
        fails(&node.command, &changed, "packed");
        fails(&node.command, b"#!/bin/sh\n", "not");
        fails(
            &node.command.replace("/usr/bin/", "/usr/bin/no-"),
            &node.packed,
            "not found",
        );

        // More than a binary ever has: cut off by LimitFSIZE=.
        let packed = Command::new("sh")
            .arg("-c")
            .arg(format!(
                "head -c 40000000 /dev/zero | {} -c",
                bomb.join(" ")
            ))
            .output()
            .unwrap();
        let (status, _) = node.unpack(&node.command, &packed.stdout);
        let sigxfsz = 25;
        assert!(
            [-sigxfsz, 128 + sigxfsz, 1].contains(&status),
            "{compression}: exit {status}"
        );
        assert!(node.unpacked().len() as u64 <= node.limit.parse().unwrap());
    }
}

/// Only what was rendered is ever made executable: the unit ends before that.
#[test]
fn another_program_is_not_taken() {
    for compression in ["xz", "gzip"] {
        let node = Node::new(compression);
        let mut other = node.elf.clone();
        *other.last_mut().unwrap() ^= 1;
        let other = Node::with(compression, other);
        let (status, said) = node.unpack(&node.command, &other.packed);
        assert!(
            status == 1 && said.contains("did NOT match"),
            "exit {status}: {said}"
        );
        assert_eq!(other.unpack(&other.command, &other.packed).0, 0);
    }
}

#[test]
fn a_dictionary_of_a_gibibyte_is_not_made() {
    let node = Node::new("xz");
    // In the block header, behind the filter for branches; the header has a checksum of its own.
    let mut greedy = node.packed.clone();
    let end = 12 + usize::from(greedy[12]) * 4;
    assert_eq!(greedy[14..18], [4, 0, 0x21, 1]);
    greedy[18] = 36;
    let mut sum = flate2::Crc::new();
    sum.update(&greedy[12..end]);
    greedy[end..end + 4].copy_from_slice(&sum.sum().to_le_bytes());
    let (status, said) = node.unpack(&node.command, &greedy);
    assert_eq!(status, 1);
    assert!(said.contains("Memory usage limit"), "{said}");
}
