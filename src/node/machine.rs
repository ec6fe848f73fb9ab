//! The machine as it was installed: its CPU, its /boot, its shim.

use super::rebase::ENTRIES;
use super::{FileError, Record, Root};
use crate::json;
use crate::text;
use crate::verdict::Machine;
use crate::version::{RpmVersion, cpu_levels};
use serde::Deserialize;

const CPUINFO: &str = "/proc/cpuinfo";

/// Limit for [`CPUINFO`], in bytes: more than its part about one CPU. Whole, it has
/// megabytes on large machines.
const CPUINFO_MAX: u64 = 16 << 10;

const BOOT: &str = "/boot";

/// Folder of the kernels of ostree's deployments.
const KERNELS: &str = "/boot/ostree";

/// File in which bootupd keeps what it installed on the EFI system partition (`src/model.rs` of
/// coreos/bootupd).
const BOOTUPD_STATE: &str = "/boot/bootupd-state.json";

/// Some KiB in reality: it lists every file.
const BOOTUPD_STATE_MAX: u64 = 256 << 10;

const EFI: &str = "/sys/firmware/efi";

/// UEFI specification, "Globally Defined Variables": four bytes of attributes, then one that is 1
/// where Secure Boot is on.
const SECURE_BOOT: &str =
    "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";

/// 1 where shim does not validate what it starts (`mokutil --disable-validation`): shim, `mok.c`;
/// Linux, `drivers/firmware/efi/libstub/secureboot.c`.
const SHIM_STATE: &str =
    "/sys/firmware/efi/efivars/MokSBStateRT-605dab50-e046-4300-abb6-3dd810dd8b23";

/// 1 where the machine was started by a secure IPL (Linux, `arch/s390/kernel/ipl.c`).
const IPL_SECURE: &str = "/sys/firmware/ipl/secure";

/// Reads what is known of the machine. What cannot be read becomes a warning and stays unknown;
/// what is missing stays unknown. `record` is that of this installation's first run.
pub(super) fn load(root: &Root, record: Option<&Record>, warnings: &mut Vec<String>) -> Machine {
    let mut or_unknown = |error: FileError| warnings.push(error.to_string());
    let cpuinfo = root
        .read_start(CPUINFO, CPUINFO_MAX)
        .unwrap_or_else(|error| {
            or_unknown(error);
            None
        });
    let (architecture, cpu) = cpu(&String::from_utf8_lossy(&cpuinfo.unwrap_or_default()));
    // A rebase puts a second kernel there, also one that is cut off on its way. So what there was is
    // what the first run saw, or what is free still, as room may have been made.
    let recorded = record.and_then(|record| record.boot_free_mib);
    let free = root.free(BOOT).unwrap_or_else(|error| {
        or_unknown(error);
        None
    });
    let free = free
        .filter(|_| recorded.is_some() || has_one_deployment(root))
        .map(|bytes| u32::try_from(bytes >> 20).unwrap_or(u32::MAX))
        .max(recorded);
    let secure_boot = secure_boot(root).unwrap_or_else(|error| {
        or_unknown(error);
        None
    });
    let shim = shim(root).unwrap_or_else(|error| {
        or_unknown(error);
        None
    });
    Machine {
        architecture: architecture.map(str::to_owned),
        cpu: cpu.map(str::to_owned),
        boot_free_mib: free,
        secure_boot,
        shim,
        ..Machine::default()
    }
}

/// /boot has the kernel of the installed deployment alone: one entry in the menu, and one folder, as
/// a rebase that was killed leaves a kernel without an entry. Or none, which only leaves more room.
fn has_one_deployment(root: &Root) -> bool {
    [ENTRIES, KERNELS]
        .into_iter()
        .all(|path| root.list(path, 2).is_ok_and(|names| names.len() <= 1))
}

/// Architecture and level of the CPU, from the beginning of /proc/cpuinfo. Its fields differ by
/// architecture.
fn cpu(cpuinfo: &str) -> (Option<&'static str>, Option<&'static str>) {
    let field = |name: &str| {
        cpuinfo.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim_end() == name).then_some(value.trim())
        })
    };
    if let Some(flags) = field("flags") {
        let flags: Vec<&str> = flags.split_ascii_whitespace().collect();
        // "lm": without it this is a 32-bit CPU.
        return if flags.contains(&"lm") {
            (Some("x86_64"), Some(x86_64_level(&flags)))
        } else {
            (None, None)
        };
    }
    if field("CPU implementer").is_some() {
        return (Some("aarch64"), None);
    }
    if field("vendor_id").is_some_and(|vendor| vendor == "IBM/S390") {
        return (Some("s390x"), s390x_level(cpuinfo));
    }
    match field("cpu").and_then(power) {
        Some(number) => (Some("ppc64le"), ppc64le_level(number)),
        None => (None, None),
    }
}

/// The features of each level beyond the one before it: x86-64 psABI, "Micro-Architecture Levels",
/// as Linux names them in cpuinfo (`arch/x86/include/asm/cpufeatures.h`; LZCNT is `abm` there, and
/// SSE3 `pni`).
const X86_64: [(&str, &[&str]); 3] = [
    (
        "x86-64-v2",
        &[
            "cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3",
        ],
    ),
    (
        "x86-64-v3",
        &[
            "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave",
        ],
    ),
    (
        "x86-64-v4",
        &["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"],
    ),
];

fn x86_64_level(flags: &[&str]) -> &'static str {
    let reached = X86_64
        .iter()
        .take_while(|(_, needed)| needed.iter().all(|flag| flags.contains(flag)));
    reached.last().map_or("x86-64-v1", |(level, _)| level)
}

/// Text after the name: `POWER9 (architected), altivec supported`, `POWER8NVL (raw), altivec
/// supported`, `Power11 (architected), altivec supported` (Linux,
/// `arch/powerpc/kernel/cpu_specs_book3s_64.h`).
fn power(cpu: &str) -> Option<&str> {
    let (name, number) = cpu.split_at_checked("POWER".len())?;
    name.eq_ignore_ascii_case("POWER").then_some(number)
}

/// Of what follows the name, the number counts.
fn ppc64le_level(number: &str) -> Option<&'static str> {
    let end = number
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(number.len());
    let level = format!("power{}", number.get(..end)?);
    known_level("ppc64le", &level)
}

/// From a line `processor 0: version = FF,  identification = 233EF7,  machine = 3906`. Machine
/// types: Linux, `arch/s390/kernel/processor.c`, `setup_elf_platform`.
fn s390x_level(cpuinfo: &str) -> Option<&'static str> {
    let (_, machine) = cpuinfo.split_once("machine = ")?;
    let level = match machine.get(..4)? {
        "2964" | "2965" => "z13",
        "3906" | "3907" => "z14",
        "8561" | "8562" => "z15",
        "3931" | "3932" => "z16",
        "9175" | "9176" => "z17",
        _ => return None,
    };
    known_level("s390x", level)
}

fn known_level(architecture: &str, level: &str) -> Option<&'static str> {
    let mut levels = cpu_levels(architecture)?.iter();
    levels.find(|known| **known == level).copied()
}

/// Reads if Secure Boot is on. Where the kernel has neither EFI nor IBM Z's list-directed IPL, it
/// is off.
fn secure_boot(root: &Root) -> Result<Option<bool>, FileError> {
    if let Some(secure) = root.read(IPL_SECURE, 64)? {
        return Ok(Some(secure.trim_ascii() == b"1"));
    }
    let value = |variable: Vec<u8>| match variable.as_slice() {
        [_, _, _, _, value] => Some(*value),
        _ => None,
    };
    match root.read(SECURE_BOOT, 64)? {
        Some(variable) => match value(variable) {
            // Who told shim not to validate has switched it off, for Linux as well.
            Some(1) => Ok(Some(root.read(SHIM_STATE, 64)?.and_then(value) != Some(1))),
            other => Ok(other.map(|_| false)),
        },
        None if root.exists(EFI)? => Ok(None),
        None => Ok(root.exists("/sys/firmware")?.then_some(false)),
    }
}

#[derive(Deserialize)]
struct BootupdState {
    installed: Installed,
}

#[derive(Deserialize)]
struct Installed {
    #[serde(rename = "EFI")]
    efi: Option<Component>,
}

#[derive(Deserialize)]
struct Component {
    meta: Meta,
}

#[derive(Deserialize)]
struct Meta {
    version: String,
}

/// The shim on the EFI system partition, as bootupd recorded it.
fn shim(root: &Root) -> Result<Option<String>, FileError> {
    let Some(bytes) = root.read(BOOTUPD_STATE, BOOTUPD_STATE_MAX)? else {
        return Ok(None);
    };
    let state: BootupdState = json::read(&bytes)
        .map_err(|_| FileError::content(BOOTUPD_STATE, "is not a state of bootupd"))?;
    let efi = state.installed.efi.map(|efi| efi.meta.version);
    Ok(efi.and_then(|packages| packages.split(',').find_map(shim_version)))
}

/// The version in a package's name: `shim-x64-15.6-1.el9.x86_64`, `shim-aa64-15.4-2.el8_1.aarch64`,
/// and `shim-x64 15.8-3` or `shim 15.8-3` as later releases of bootupd write it. Packages for
/// 32-bit firmware are left out.
fn shim_version(package: &str) -> Option<String> {
    let rest = package.trim().strip_prefix("shim")?;
    let rest = ["-x64", "-aa64"]
        .iter()
        .find_map(|firmware| rest.strip_prefix(firmware))
        .unwrap_or(rest);
    let version = rest.strip_prefix(['-', ' '])?;
    let version = [".x86_64", ".aarch64"]
        .iter()
        .find_map(|arch| version.strip_suffix(arch))
        .unwrap_or(version);
    RpmVersion::parse(version).map(|version| text::printable(version.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files say where they come from.
    #[test]
    fn levels_of_real_machines() {
        for (file, architecture, level) in [
            ("ppc64le-power9-qemu", Some("ppc64le"), Some("power9")),
            ("ppc64le-power8", Some("ppc64le"), Some("power8")),
            ("s390x-z14", Some("s390x"), Some("z14")),
            ("aarch64-cortex-a53", Some("aarch64"), None),
            ("x86_64-v2-xeon-w3530", Some("x86_64"), Some("x86-64-v2")),
            ("x86_64-v4-rocket-lake", Some("x86_64"), Some("x86-64-v4")),
            ("i686-virtualbox", None, None),
        ] {
            let text = std::fs::read_to_string(format!("tests/data/cpuinfo/{file}")).unwrap();
            assert_eq!(cpu(&text), (architecture, level), "{file}");
        }
    }

    /// A single feature that a hypervisor hides is enough.
    #[test]
    fn the_level_is_the_highest_that_is_whole() {
        let text = std::fs::read_to_string("tests/data/cpuinfo/x86_64-v4-rocket-lake").unwrap();
        for (hidden, level) in [
            (" avx512vl", "x86-64-v3"),
            (" abm", "x86-64-v2"),
            (" popcnt", "x86-64-v1"),
        ] {
            assert_eq!(cpu(&text.replace(hidden, "")).1, Some(level), "{hidden}");
        }
    }

    #[test]
    fn what_is_not_a_known_cpu_stays_unknown() {
        for (text, architecture) in [
            ("", None),
            ("flags", None),
            ("flags\t: ", None),
            ("cpu\t: POWER99 (raw)\n", Some("ppc64le")),
            ("cpu\t: POWER\n", Some("ppc64le")),
            ("cpu\t: POWE", None),
            ("cpu\t: PPC970MP, altivec supported\n", None),
            (
                "vendor_id : IBM/S390\nprocessor 0: machine = 99\n",
                Some("s390x"),
            ),
            (
                "vendor_id : IBM/S390\nprocessor 0: machine = 9999\n",
                Some("s390x"),
            ),
        ] {
            assert_eq!(cpu(text), (architecture, None), "{text}");
        }
    }

    /// Linux 6.9 and later write it so (`arch/powerpc/kernel/cpu_specs_book3s_64.h`).
    #[test]
    fn power11_has_another_spelling() {
        let text = "processor\t: 0\ncpu\t\t: Power11 (architected), altivec supported\n";
        assert_eq!(cpu(text), (Some("ppc64le"), Some("power11")));
    }

    /// Bytes of the variables as Linux gives them: four of attributes, then the value.
    #[test]
    fn secure_boot_is_on_where_something_enforces_it() {
        let on: &[u8] = &[6, 0, 0, 0, 1];
        let off: &[u8] = &[6, 0, 0, 0, 0];
        for (files, wanted) in [
            (&[(SECURE_BOOT, on)][..], Some(true)),
            (&[(SECURE_BOOT, off)], Some(false)),
            (&[(SECURE_BOOT, &[1])], None),
            (&[(SECURE_BOOT, on), (SHIM_STATE, off)], Some(true)),
            (
                &[(SECURE_BOOT, on), (SHIM_STATE, &[6, 0, 0, 0, 1])],
                Some(false),
            ),
            (&[("/sys/firmware/efi/fw_platform_size", b"64\n")], None),
            (&[("/sys/firmware/ipl/secure", b"1\n")], Some(true)),
            (&[("/sys/firmware/ipl/secure", b"0\n")], Some(false)),
            (&[("/sys/firmware/ipl/ipl_type", b"ccw\n")], Some(false)),
            (&[], None),
        ] {
            let dir = tempfile::tempdir().unwrap();
            for (path, bytes) in files {
                let path = dir.path().join(path.trim_start_matches('/'));
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, bytes).unwrap();
            }
            let root = Root::open(dir.path()).unwrap();
            assert_eq!(secure_boot(&root).unwrap(), wanted, "{files:?}");
        }
    }

    /// Lists as releases of bootupd from 2020 to 2025 write them, and OpenShift's documentation
    /// shows them.
    #[test]
    fn the_shim_in_lists_of_packages() {
        for (packages, shim) in [
            (
                "grub2-efi-x64-1:2.04-31.el8_4.1.x86_64,shim-x64-15-8.el8_1.x86_64",
                Some("15-8.el8_1"),
            ),
            (
                "grub2-efi-aa64-1:2.02-99.el8_4.1.aarch64,shim-aa64-15.4-2.el8_1.aarch64",
                Some("15.4-2.el8_1"),
            ),
            (
                "grub2-efi-ia32-1:2.12-28.fc41.x86_64,grub2-efi-x64-1:2.12-28.fc41.x86_64,shim-ia32-15.8-3.x86_64,shim-x64-15.8-3.x86_64",
                Some("15.8-3"),
            ),
            (
                "grub2-efi-x64 1:2.12-28.fc41, shim-x64 15.8-3",
                Some("15.8-3"),
            ),
            ("grub2-1:2.12-28.fc42,shim-15.8-3", Some("15.8-3")),
            ("shimmer-1.0-1,grub2-1:2.12-28.fc42", None),
            ("shim-x64-\u{1b}[2J", None),
            ("", None),
        ] {
            assert_eq!(
                packages.split(',').find_map(shim_version).as_deref(),
                shim,
                "{packages}"
            );
        }
    }
}
