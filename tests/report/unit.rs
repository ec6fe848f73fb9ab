//! skewguard-report.service as systemd reads it.

use std::path::Path;
use std::process::Command;

fn text() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("systemd/skewguard-report.service")).unwrap()
}

#[test]
fn systemd_finds_nothing_wrong_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let unit = dir.path().join("skewguard-report.service");
    // Programs and man pages are looked for on the host.
    let text = text().replace("/usr/bin/skewguard", "/bin/true").replace("Documentation=man:skewguard(1)\n", "");
    std::fs::write(&unit, text).unwrap();
    let output = Command::new("systemd-analyze").arg("verify").arg(&unit).output();
    let output = output.unwrap_or_else(|error| panic!("systemd-analyze: {error}; install the Debian package systemd"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let said: Vec<&str> = said.lines().filter(|line| line.contains("skewguard")).collect();
    assert!(output.status.success() && said.is_empty(), "{said:?}");
}

#[test]
fn it_is_no_part_of_the_boot_path() {
    let text = text();
    let settings: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(settings.iter().all(|line| !line.starts_with("Before=") && !line.starts_with("RequiredBy=")), "nothing waits for it");
    let orders = settings.iter().filter(|line| line.starts_with("After=") || line.starts_with("Wants=") || line.starts_with("Requires="));
    for order in orders {
        // On a first boot these wait for the rebase, directly or through ovs-configuration.service (design of the MCO's units, 4.14 on).
        for target in ["network-online.target", "firstboot-osupdate.target", "kubelet", "ovs-configuration", "nodeip-configuration"] {
            assert!(!order.contains(target), "{order}");
        }
    }
}

/// "Restarted on failure within limits": five times an hour, a minute apart; never for a run that came to its end.
#[test]
fn a_crash_is_tried_again_a_few_times() {
    let text = text();
    for line in ["Restart=on-failure", "RestartSec=60", "StartLimitIntervalSec=3600", "StartLimitBurst=5"] {
        assert_eq!(text.lines().filter(|found| *found == line).count(), 1, "{line}");
    }
}

/// The host may get its name late, and the report asks for it at every try. systemd.exec(5): with `ProtectHostname=` "hostname changes no longer
/// propagate from the system into the service".
#[test]
fn it_sees_the_host_as_it_is_called_now() {
    for line in text().lines() {
        assert!(!["ProtectHostname", "PrivateNetwork", "PrivateUsers"].iter().any(|name| line.starts_with(&format!("{name}="))), "{line}");
    }
}

/// What correctness needs is known to RHEL 8.0's systemd 239; what is newer is sandboxing, and skipped there with a warning.
#[test]
fn old_boot_images_skip_sandboxing_only() {
    let newer =
        [("PrivateMounts", 239), ("RestrictSUIDSGID", 242), ("ProtectKernelLogs", 244), ("ProtectClock", 245), ("ProtectProc", 247)];
    let known = [
        "After",
        "CapabilityBoundingSet",
        "Description",
        "Documentation",
        "ExecStart",
        "KeyringMode",
        "LimitCORE",
        "LockPersonality",
        "MemoryDenyWriteExecute",
        "MemoryMax",
        "Nice",
        "NoNewPrivileges",
        "OOMScoreAdjust",
        "PrivateDevices",
        "PrivateTmp",
        "ProtectControlGroups",
        "ProtectHome",
        "ProtectKernelModules",
        "ProtectKernelTunables",
        "ProtectSystem",
        "ReadWritePaths",
        "RemoveIPC",
        "Restart",
        "RestartSec",
        "RestrictAddressFamilies",
        "RestrictNamespaces",
        "RestrictRealtime",
        "StartLimitBurst",
        "StartLimitIntervalSec",
        "StateDirectory",
        "SystemCallArchitectures",
        "SystemCallErrorNumber",
        "SystemCallFilter",
        "TasksMax",
        "TimeoutStopSec",
        "Type",
        "UMask",
        "WantedBy",
    ];
    for line in text().lines().filter(|line| !line.starts_with('#') && line.contains('=')) {
        let (name, _) = line.split_once('=').unwrap();
        let is_newer = newer.iter().any(|(newer, _)| *newer == name);
        assert!(known.contains(&name) || is_newer, "{name}: since which systemd?");
    }
}
