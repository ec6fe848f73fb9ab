//! The unit files: what they use of systemd, what systemd says of them, and that they name the
//! paths that the code uses.

use crate::gate::always_held;
use crate::node::{ENCAPSULATED_PATH, STAMP_PATH};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

mod held;
mod laboratory;
mod selinux;

/// The systemd of the oldest boot images (RHEL 8.0).
const OLDEST: u16 = 239;

/// Every directive used, in the units of an image and in those that `render` delivers, with the version of systemd that it came with (its NEWS; 183 stands for
/// what is older than the counting).
const DIRECTIVES: [(&str, u16); 57] = [
    ("After", 183),
    ("AssertPathExists", 218),
    ("Before", 183),
    ("CapabilityBoundingSet", 183),
    ("ConditionArchitecture", 201),
    ("ConditionFileIsExecutable", 183),
    ("ConditionPathExists", 183),
    ("Description", 183),
    ("Documentation", 183),
    ("ExecStart", 183),
    ("ExecStartPre", 183),
    ("ExecStopPost", 183),
    ("IPAddressDeny", 235),
    ("KeyringMode", 235),
    ("LimitCORE", 183),
    ("LimitFSIZE", 183),
    ("LockPersonality", 235),
    ("MemoryDenyWriteExecute", 231),
    ("MemoryMax", 231),
    ("CPUQuota", 213),
    ("Nice", 183),
    ("NoNewPrivileges", 187),
    ("OOMPolicy", 243),
    ("OOMScoreAdjust", 183),
    ("PrivateDevices", 209),
    ("PrivateMounts", 239),
    ("PrivateTmp", 183),
    ("ProtectClock", 245),
    ("ProtectControlGroups", 232),
    ("ProtectHome", 214),
    ("ProtectKernelLogs", 244),
    ("ProtectKernelModules", 232),
    ("ProtectKernelTunables", 232),
    ("ProtectProc", 247),
    ("ProtectSystem", 214),
    ("ReadWritePaths", 231),
    ("RemainAfterExit", 183),
    ("RemoveIPC", 232),
    ("Restart", 183),
    ("RestartForceExitStatus", 215),
    ("RestartSec", 183),
    ("RestrictAddressFamilies", 211),
    ("RestrictNamespaces", 233),
    ("RestrictRealtime", 231),
    ("RestrictSUIDSGID", 242),
    // In [Unit], under this name, since 230.
    ("StartLimitIntervalSec", 230),
    ("SystemCallArchitectures", 209),
    ("SystemCallErrorNumber", 209),
    // 187; the groups (@clock) came with 231, the last of those used here (@keyring) with 235.
    ("SystemCallFilter", 235),
    ("TasksMax", 227),
    ("TimeoutStartSec", 188),
    ("TimeoutStopSec", 188),
    ("Type", 183),
    ("UMask", 183),
    ("WantedBy", 183),
    ("Wants", 183),
    // Prefix "+" of ExecStart.
    ("ExecStart+", 231),
];

/// Newer than the oldest systemd: skipped there, with a line in the journal, and nothing depends on
/// them. Before 243 an out-of-memory kill of one process did not fail a unit, which is what
/// `OOMPolicy=continue` asks for.
const MAY_BE_SKIPPED: [&str; 5] = [
    "OOMPolicy",
    "ProtectClock",
    "ProtectKernelLogs",
    "ProtectProc",
    "RestrictSUIDSGID",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("systemd")
}

fn units() -> Vec<PathBuf> {
    let files = fs::read_dir(folder())
        .expect("the units")
        .map(|entry| entry.expect("an entry").path());
    files
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "service")
        })
        .collect()
}

/// Directives and values of a unit file, in their order.
fn directives(path: &Path) -> Vec<(String, String)> {
    directives_of(&fs::read_to_string(path).expect("a unit"))
}

fn directives_of(text: &str) -> Vec<(String, String)> {
    let lines = text
        .lines()
        .filter(|line| !line.starts_with(['#', '[']) && !line.is_empty());
    lines
        .map(|line| line.split_once('=').unwrap_or_else(|| panic!("{line}")))
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

fn own() -> Vec<(String, String)> {
    directives(&folder().join("skewguard.service"))
}

fn values<'a>(directives: &'a [(String, String)], name: &str) -> Vec<&'a str> {
    directives
        .iter()
        .filter(|(other, _)| other == name)
        .map(|(_, value)| value.as_str())
        .collect()
}

#[test]
fn only_directives_that_the_oldest_systemd_knows_are_needed() {
    use skewguard_admin::render::units::{for_fetched, for_packed};
    let delivered = for_packed(&packed()).into_iter().chain(for_fetched());
    let delivered = delivered.flat_map(|unit| directives_of(&unit.contents));
    let baked = units().into_iter().flat_map(|unit| directives(&unit));
    let mut used = BTreeSet::new();
    for (name, value) in baked.chain(delivered) {
        if name == "ExecStart" && value.starts_with('+') {
            used.insert("ExecStart+".to_owned());
        }
        used.insert(name);
    }
    let listed: BTreeSet<String> = DIRECTIVES
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    assert_eq!(used, listed, "the list is of what is used");
    let newer: Vec<&str> = DIRECTIVES
        .iter()
        .filter(|(_, since)| *since > OLDEST)
        .map(|(name, _)| *name)
        .collect();
    assert_eq!(newer, MAY_BE_SKIPPED);
}

fn systemd_analyze(args: &[&str], unit: &Path) -> (bool, String) {
    let output = Command::new("systemd-analyze")
        .args(args)
        .arg(unit)
        .output()
        .unwrap_or_else(|error| {
            panic!("systemd-analyze: {error}; install the Debian package systemd")
        });
    let text = [output.stdout, output.stderr]
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .concat();
    (output.status.success(), text)
}

/// A program that can be run, as systemd wants it: this one.
fn installed() -> String {
    let program = std::env::current_exe().expect("a test knows its program");
    program.to_str().expect("a plain path").to_owned()
}

#[test]
fn systemd_has_nothing_to_say_about_them() {
    let dir = tempfile::tempdir().expect("a directory");
    for unit in units() {
        // Verified where the program is not installed: with this test's own program in its place.
        let text = fs::read_to_string(&unit)
            .expect("a unit")
            .replace("/usr/bin/skewguard", &installed());
        let copy = dir.path().join(unit.file_name().expect("a name"));
        fs::write(&copy, text).expect("written");
    }
    for unit in units() {
        let copy = dir.path().join(unit.file_name().expect("a name"));
        assert_eq!(
            systemd_analyze(&["verify", "--man=no"], &copy),
            (true, String::new()),
            "{}",
            unit.display()
        );
    }
}

/// A binary as a MachineConfig carries it.
fn packed() -> skewguard_admin::render::binary::Binary {
    use skewguard_admin::render::binary::{Arch, Binary, Compression};
    Binary {
        arch: Arch::X86_64,
        compression: Compression::Xz,
        packed: vec![],
        unpacked: 0,
        digest: "0".repeat(64),
    }
}

/// As a MachineConfig and as a pointer deliver them: adapted, and the one that unpacks.
#[test]
fn systemd_has_nothing_to_say_about_the_delivered_ones() {
    use skewguard_admin::render::units;
    for (delivered, program) in [
        (units::for_packed(&packed()), units::UNPACKED_PATH),
        (units::for_fetched(), units::FETCHED_PATH),
    ] {
        let dir = tempfile::tempdir().expect("a directory");
        for unit in &delivered {
            let text = unit.contents.replace(program, &installed());
            fs::write(dir.path().join(unit.name), text).expect("written");
        }
        for unit in &delivered {
            assert_eq!(
                systemd_analyze(&["verify", "--man=no"], &dir.path().join(unit.name)),
                (true, String::new()),
                "{}",
                unit.name
            );
            if unit.name.starts_with("skewguard-unpack") {
                let (tight, text) = systemd_analyze(
                    &["security", "--offline=true", "--no-pager", "--threshold=45"],
                    &dir.path().join(unit.name),
                );
                assert!(
                    tight,
                    "{}: {}",
                    unit.name,
                    text.lines().last().unwrap_or_default()
                );
            }
        }
    }
}

#[test]
fn the_sandbox_is_as_tight_as_the_documentation_says() {
    // In tenths, with room for other weights of another systemd; docs/security.md has the figures.
    for (unit, most) in [
        ("skewguard.service", "45"),
        ("skewguard-report.service", "25"),
    ] {
        let threshold = format!("--threshold={most}");
        let (tight, text) = systemd_analyze(
            &["security", "--offline=true", "--no-pager", &threshold],
            &folder().join(unit),
        );
        assert!(tight, "{unit}: {}", text.lines().last().unwrap_or_default());
    }
}

#[test]
fn the_conditions_and_the_decision_are_about_the_files_that_the_code_writes() {
    let own = own();
    let [first_boot, refused] = [ENCAPSULATED_PATH, STAMP_PATH].map(|path| format!("|{path}"));
    // All without "|", and one with it (systemd.unit(5)).
    assert_eq!(
        values(&own, "ConditionPathExists"),
        ["/run/ostree-booted", &first_boot, &refused]
    );
    assert_eq!(values(&own, "AssertPathExists"), [format!("!{STAMP_PATH}")]);
    assert_eq!(
        values(&own, "ExecStart"),
        [
            "-/usr/bin/timeout -v -k 2 50 /usr/bin/skewguard enforce".to_owned(),
            format!("+/usr/bin/test ! -e {STAMP_PATH}")
        ]
    );
}

#[test]
fn nothing_but_the_decision_can_fail_the_unit_or_hang_on_it() {
    let own = own();
    for (name, value) in [
        ("Type", "oneshot"),
        // Far above what timeout(1) allows: for what not even SIGKILL ends.
        ("TimeoutStartSec", "120"),
        ("TimeoutStopSec", "10"),
        ("LimitCORE", "0"),
        ("StartLimitIntervalSec", "0"),
        ("OOMPolicy", "continue"),
    ] {
        assert_eq!(values(&own, name), [value], "{name}");
    }
    let names: BTreeSet<&str> = own.iter().map(|(name, _)| name.as_str()).collect();
    for name in [
        "RequiredBy",
        "Requires",
        "BindsTo",
        "StateDirectory",
        "RuntimeDirectory",
        "PrivateTmp",
        "RequiresMountsFor",
        "User",
    ] {
        assert!(!names.contains(name), "{name}");
    }
    assert_eq!(
        values(&own, "WantedBy"),
        ["multi-user.target machine-config-daemon-firstboot.service kubelet-dependencies.target"]
    );
    assert!(
        !values(&own, "After")
            .join(" ")
            .contains("network-online.target"),
        "a cycle: part of what is held comes before it"
    );
    assert!(
        values(&own, "ExecStopPost")
            .iter()
            .all(|stop| stop.starts_with("-/usr/bin/timeout "))
    );
}

#[test]
fn what_is_held_waits_for_the_decision() {
    let own = own();
    let before: BTreeSet<String> = values(&own, "Before")
        .join(" ")
        .split(' ')
        .map(str::to_owned)
        .collect();
    let mut expected: BTreeSet<String> = always_held::always().into_iter().collect();
    // Only ever started by a failure of what waits.
    expected.remove("ovs-kubelet-recovery.service");
    // Where firstboot-osupdate.target is not part of the boot, nothing would order these.
    expected
        .extend(["ovs-configuration.service", "nodeip-configuration.service"].map(str::to_owned));
    // The message is there before the first login.
    expected.insert("systemd-user-sessions.service".to_owned());
    assert_eq!(before, expected);
}

#[test]
fn the_preset_enables_every_unit() {
    let preset = fs::read_to_string(folder().join("80-skewguard.preset")).expect("a preset");
    let enabled: BTreeSet<String> = preset
        .lines()
        .filter_map(|line| line.strip_prefix("enable "))
        .map(str::to_owned)
        .collect();
    let names = units()
        .iter()
        .map(|path| {
            path.file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    assert_eq!(enabled, names);
}
