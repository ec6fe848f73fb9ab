//! What skewguard-report.service must and must not say. `tests/units` has systemd read it, and
//! lists every directive with its version.

use std::path::Path;

fn text() -> String {
    std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("systemd/skewguard-report.service"),
    )
    .unwrap()
}

#[test]
fn it_is_no_part_of_the_boot_path() {
    let text = text();
    let settings: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(
        settings
            .iter()
            .all(|line| !line.starts_with("Before=") && !line.starts_with("RequiredBy=")),
        "nothing waits for it"
    );
    let orders = settings.iter().filter(|line| {
        line.starts_with("After=") || line.starts_with("Wants=") || line.starts_with("Requires=")
    });
    for order in orders {
        // On a first boot these wait for the rebase, directly or through ovs-configuration.service
        // (design of the MCO's units, 4.14 on).
        for target in [
            "network-online.target",
            "firstboot-osupdate.target",
            "kubelet",
            "ovs-configuration",
            "nodeip-configuration",
        ] {
            assert!(!order.contains(target), "{order}");
        }
    }
}

/// systemd restarts it a minute later, however often, on a failure and on a signal that is not
/// systemd's own.
#[test]
fn a_crash_and_a_signal_leave_no_node_without_a_watcher() {
    let text = text();
    for line in [
        "Restart=on-failure",
        "RestartForceExitStatus=SIGHUP SIGINT SIGPIPE SIGTERM",
        "RestartSec=60",
        "StartLimitIntervalSec=0",
    ] {
        assert_eq!(
            text.lines().filter(|found| *found == line).count(),
            1,
            "{line}"
        );
    }
}

/// The host may get its name late, and the report asks for it at every try. systemd.exec(5): with
/// `ProtectHostname=` "hostname changes no longer propagate from the system into the service".
#[test]
fn it_sees_the_host_as_it_is_called_now() {
    for line in text().lines() {
        assert!(
            !["ProtectHostname", "PrivateNetwork", "PrivateUsers"]
                .iter()
                .any(|name| line.starts_with(&format!("{name}="))),
            "{line}"
        );
    }
}
