//! The units as a MachineConfig or a pointer delivers them (pure).
//!
//! `systemd/` has the units of a boot image, with the binary in /usr/bin. Those that Ignition
//! delivers have the same names and are in /etc, so they replace the image's: if a node has both,
//! only the delivered agent runs.

use super::binary::{Binary, Compression, MAX_BINARY, MAX_MEMORY};
use super::ignition::Unit;
use crate::IMAGE_PATH;
pub use skewguard_core::{FETCHED_PATH, PACKED_PATHS, UNPACKED_PATH};

/// The gate.
pub const SERVICE: &str = "skewguard.service";
/// The report to the cluster.
pub const REPORT_SERVICE: &str = "skewguard-report.service";
/// Unpacks the binary from a MachineConfig on the first boot, for the gate. No boot image has this
/// unit.
pub(super) const UNPACK_SERVICE: &str = "skewguard-unpack.service";
/// Unpacks it on later boots, for the report.
pub(super) const UNPACK_LATER_SERVICE: &str = "skewguard-unpack-later.service";

/// The units in a MachineConfig with a binary.
pub(super) const DELIVERED: [&str; 4] = [
    UNPACK_SERVICE,
    UNPACK_LATER_SERVICE,
    SERVICE,
    REPORT_SERVICE,
];

const SERVICE_TEXT: &str = include_str!("../../../../systemd/skewguard.service");
const REPORT_TEXT: &str = include_str!("../../../../systemd/skewguard-report.service");

impl Compression {
    /// The path of the packed binary on the node.
    pub(super) fn path(self) -> &'static str {
        let [xz, gzip] = PACKED_PATHS;
        match self {
            Compression::Xz => xz,
            Compression::Gzip => gzip,
        }
    }

    /// The command that prints it unpacked. xz takes as much memory as the file asks for, so it
    /// gets a limit; gzip takes 32 KB.
    fn program(self) -> String {
        match self {
            Compression::Xz => format!("/usr/bin/xz -dc --memlimit-decompress={MAX_MEMORY}MiB"),
            Compression::Gzip => "/usr/bin/gzip -dc".to_owned(),
        }
    }
}

/// The gate and the report, running the binary that [`unpack`] puts into /run.
pub fn for_packed(binary: &Binary) -> Vec<Unit> {
    let wants = format!("Wants={UNPACK_SERVICE}\nAfter={UNPACK_SERVICE}\n");
    let wants_either = format!(
        "Wants={UNPACK_SERVICE} {UNPACK_LATER_SERVICE}\nAfter={UNPACK_SERVICE} {UNPACK_LATER_SERVICE}\n"
    );
    // Where nothing was unpacked, because the node has another architecture, the report is skipped
    // instead of failing on every boot. The gate has no such condition: a skipped unit counts as
    // started for the units that require it, and would lift a refusal. It tolerates a missing
    // program by itself.
    let unpacked = format!("{wants_either}ConditionFileIsExecutable={UNPACKED_PATH}\n");
    vec![
        unit(UNPACK_SERVICE, unpack(binary, When::FirstBoot)),
        unit(UNPACK_LATER_SERVICE, unpack(binary, When::Later)),
        adapted(SERVICE, SERVICE_TEXT, UNPACKED_PATH, &wants),
        adapted(REPORT_SERVICE, REPORT_TEXT, UNPACKED_PATH, &unpacked),
    ]
}

/// The gate and the report, running the binary that Ignition fetched.
pub fn for_fetched() -> Vec<Unit> {
    [(SERVICE, SERVICE_TEXT), (REPORT_SERVICE, REPORT_TEXT)]
        .map(|(name, text)| adapted(name, text, FETCHED_PATH, ""))
        .into()
}

fn unit(name: &'static str, contents: String) -> Unit {
    Unit {
        name,
        enabled: true,
        contents,
    }
}

/// A unit of `systemd/` with another path of the binary and more lines in `[Unit]`. Without
/// comments: AWS takes only 16 KiB of user data, and a MachineConfig has little room, too.
fn adapted(name: &'static str, text: &str, path: &str, unit_lines: &str) -> Unit {
    let text: String = text
        .lines()
        .filter(|line| !line.starts_with(['#', ';']))
        .flat_map(|line| [line, "\n"])
        .collect();
    let text = text.replace(IMAGE_PATH, path);
    let lines = format!("[Unit]\n{unit_lines}");
    unit(name, text.replacen("[Unit]\n", &lines, 1))
}

/// On which boot a unit unpacks. On the first boot, which lasts as long as the encapsulated config
/// exists, the gate waits for that, and the kubelet for the gate. On later boots nothing of ours
/// may delay the kubelet, so another unit unpacks for the report alone.
#[derive(Clone, Copy)]
enum When {
    FirstBoot,
    Later,
}

/// The unit that unpacks, made from `unpack.service`. Whatever fails in it, the gate goes on
/// without a binary, and so does the boot.
///
/// - It unpacks to /run, because /usr is read-only and nothing stays in /run.
/// - There the shell's file gets the SELinux type `initrc_var_run_t`, which init may not execute,
///   so `chcon` gives it the type of /usr/bin. Without SELinux that fails, harmlessly; with SELinux
///   the next line reports a wrong type. Although /run is mounted nosuid, init may change the
///   domain (selinux-policy, unconfined.te: `init_nnp_daemon_domain`).
/// - Only the renamed file is executed, so a unit that is killed leaves no partial program; and it is
///   renamed only if it is the program that was packed, by its SHA-256.
/// - The sandbox is that of the gate, for the same reasons: nothing of it takes time or a mount
///   namespace.
/// - `LimitFSIZE=` stops a file that unpacks to more than the largest binary.
/// - All directives are known to systemd 239.
fn unpack(binary: &Binary, when: When) -> String {
    let (not, before) = match when {
        When::FirstBoot => ("", format!("{SERVICE} {REPORT_SERVICE}")),
        When::Later => ("!", REPORT_SERVICE.to_owned()),
    };
    format!(
        include_str!("unpack.service"),
        path = binary.compression.path(),
        not = not,
        arch = binary.arch.systemd,
        before = before,
        max_binary = MAX_BINARY,
        dir = UNPACKED_PATH.trim_end_matches("/skewguard"),
        program = binary.compression.program(),
        digest = binary.digest,
        unpacked = UNPACKED_PATH,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::binary::Arch;

    fn packed(arch: Arch, compression: Compression) -> Binary {
        Binary {
            arch,
            compression,
            packed: vec![],
            unpacked: 0,
            digest: "5e1f".to_owned(),
        }
    }

    #[test]
    fn delivered_units_run_the_delivered_binary_and_no_other() {
        for (units, path) in [
            (
                for_packed(&packed(Arch::X86_64, Compression::Xz)),
                UNPACKED_PATH,
            ),
            (for_fetched(), FETCHED_PATH),
        ] {
            for unit in units
                .iter()
                .filter(|unit| !unit.name.starts_with("skewguard-unpack"))
            {
                assert!(
                    unit.contents
                        .lines()
                        .any(|line| line.starts_with("ExecStart=") && line.contains(path)),
                    "{} does not run {path}",
                    unit.name
                );
                assert!(
                    !unit.contents.contains(IMAGE_PATH),
                    "{} runs the image's binary",
                    unit.name
                );
            }
        }
    }

    #[test]
    fn gate_and_report_wait_for_their_unpacking_but_do_not_need_it() {
        for unit in for_packed(&packed(Arch::AARCH64, Compression::Gzip))
            .iter()
            .filter(|unit| !unit.name.starts_with("skewguard-unpack"))
        {
            let which = if unit.name == SERVICE {
                "skewguard-unpack.service"
            } else {
                "skewguard-unpack.service skewguard-unpack-later.service"
            };
            assert!(
                unit.contents
                    .starts_with(&format!("[Unit]\nWants={which}\nAfter={which}\n")),
                "{}",
                unit.contents
            );
            assert!(
                !unit.contents.contains("Requires=skewguard-unpack"),
                "{}",
                unit.contents
            );
            let skipped = unit
                .contents
                .contains("\nConditionFileIsExecutable=/run/skewguard/bin/skewguard\n");
            assert_eq!(skipped, unit.name == REPORT_SERVICE, "{}", unit.contents);
        }
    }

    /// The kubelet waits for the gate in every boot, and so for what the gate waits for.
    #[test]
    fn nothing_runs_before_the_gate_once_the_first_boot_is_over() {
        for unit in for_packed(&packed(Arch::X86_64, Compression::Xz)) {
            let line = |name: &str| {
                unit.contents
                    .lines()
                    .find_map(|line| line.strip_prefix(name))
                    .unwrap_or_default()
                    .to_owned()
            };
            let before_the_gate = line("Before=").split(' ').any(|name| name == SERVICE);
            let first_boot_only = unit
                .contents
                .contains("\nConditionPathExists=/etc/ignition-machine-config-encapsulated.json\n");
            let later_only = unit.contents.contains(
                "\nConditionPathExists=!/etc/ignition-machine-config-encapsulated.json\n",
            );
            assert_eq!(
                (before_the_gate, before_the_gate),
                (first_boot_only, unit.name == UNPACK_SERVICE),
                "{}",
                unit.name
            );
            assert_eq!(
                later_only,
                unit.name == UNPACK_LATER_SERVICE,
                "{}",
                unit.name
            );
        }
    }

    #[test]
    fn comments_are_dropped_and_nothing_else() {
        let text = "# a\n[Unit]\nA=b # c\n\n; d\nExecStart=/usr/bin/skewguard\n";
        assert_eq!(
            adapted(SERVICE, text, FETCHED_PATH, "After=x\n").contents,
            "[Unit]\nAfter=x\nA=b # c\n\nExecStart=/usr/local/bin/skewguard\n"
        );
    }

    #[test]
    fn the_unpacking_unit_word_for_word() {
        assert_eq!(
            unpack(&packed(Arch::AARCH64, Compression::Xz), When::FirstBoot),
            "[Unit]
Description=Unpack skewguard from its MachineConfig
Documentation=man:skewguard(1)
ConditionPathExists=/etc/skewguard/skewguard.xz
ConditionPathExists=/etc/ignition-machine-config-encapsulated.json
ConditionArchitecture=arm64
Before=skewguard.service skewguard-report.service

[Service]
Type=oneshot
RemainAfterExit=yes
TimeoutStartSec=30
TimeoutStopSec=5
LimitFSIZE=33554432
CapabilityBoundingSet=CAP_DAC_OVERRIDE CAP_FOWNER
IPAddressDeny=any
LockPersonality=yes
MemoryDenyWriteExecute=yes
RestrictAddressFamilies=AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
SystemCallFilter=~@clock @cpu-emulation @debug @keyring @module @mount @obsolete @raw-io @reboot @swap
UMask=0022
ExecStart=/usr/bin/mkdir -p /run/skewguard/bin
ExecStart=/bin/sh -c '/usr/bin/xz -dc --memlimit-decompress=64MiB /etc/skewguard/skewguard.xz >/run/skewguard/bin/skewguard.new && echo \"5e1f  /run/skewguard/bin/skewguard.new\" | /usr/bin/sha256sum --check --quiet'
ExecStart=/usr/bin/chmod 0755 /run/skewguard/bin/skewguard.new
ExecStart=-/usr/bin/chcon --reference=/usr/bin /run/skewguard/bin/skewguard.new
ExecStart=-/bin/sh -c '[ ! -e /sys/fs/selinux/enforce ] || /usr/bin/ls -Z /run/skewguard/bin/skewguard.new | /usr/bin/grep -q :bin_t: || echo \"<3>skewguard-report.service cannot start: /run/skewguard/bin/skewguard did not get the SELinux type bin_t\"'
ExecStart=/usr/bin/mv -f /run/skewguard/bin/skewguard.new /run/skewguard/bin/skewguard

[Install]
WantedBy=multi-user.target
"
        );
        let gzip = unpack(&packed(Arch::S390X, Compression::Gzip), When::Later);
        for line in [
            "ConditionPathExists=!/etc/ignition-machine-config-encapsulated.json",
            "Before=skewguard-report.service",
            "ConditionPathExists=/etc/skewguard/skewguard.gz",
            "ConditionArchitecture=s390x",
            "ExecStart=/bin/sh -c '/usr/bin/gzip -dc /etc/skewguard/skewguard.gz >/run/skewguard/bin/skewguard.new && echo \"5e1f  /run/skewguard/bin/skewguard.new\" | /usr/bin/sha256sum --check --quiet'",
        ] {
            assert!(gzip.lines().any(|found| found == line), "{gzip}");
        }
    }

    /// The line after chcon, run as systemd would, with `ls -Z` and SELinux played.
    #[test]
    fn a_program_that_did_not_get_its_type_is_said_and_fails_nothing() {
        let unit = unpack(&packed(Arch::X86_64, Compression::Xz), When::Later);
        let line = unit
            .lines()
            .find(|line| line.contains("ls -Z"))
            .unwrap_or_else(|| panic!("{unit}"));
        let script = line
            .trim_start_matches("ExecStart=-/bin/sh -c '")
            .trim_end_matches('\'');
        let said = |selinux: &str, context: &str| {
            let script = script
                .replace("/sys/fs/selinux/enforce", selinux)
                .replace("/usr/bin/ls -Z", &format!("echo {context}"));
            let output = std::process::Command::new("/bin/sh")
                .args(["-c", &script])
                .output()
                .expect("sh runs");
            assert!(
                output.status.success() && output.stderr.is_empty(),
                "{output:?}"
            );
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let word = "<3>skewguard-report.service cannot start: /run/skewguard/bin/skewguard did not get the SELinux type bin_t\n";
        assert_eq!(said("/", "system_u:object_r:initrc_var_run_t:s0"), word);
        assert_eq!(said("/", "system_u:object_r:bin_t:s0"), "");
        assert_eq!(said("/nonexistent", "?"), "");
    }
}
