//! The rules of a limit that judge the machine.

use super::Lint;
use super::wording::not_a_version;
use crate::policy::json::{Located, Object};
use crate::text;
use crate::version::{RpmVersion, cpu_levels, cpu_rank};
use std::collections::BTreeMap;

/// Size of /boot in MiB (coreos-assembler, since RHCOS 4.1).
const BOOT_SIZE: u32 = 384;

/// Checks the rules that judge the machine.
pub(super) fn machine(lint: &mut Lint, limit: &Object<'_>) {
    if let Some(at) = limit.get("minimumCPU") {
        minimum_cpu(lint, &at);
    }
    if let Some(at) = limit.get("minimumBootFreeMiB")
        && let Some(free) = at.read::<u32>().filter(|free| *free > BOOT_SIZE)
    {
        let message =
            format!("/boot of RHCOS has {BOOT_SIZE} MiB in all so far: {free} are never free");
        let help = "write how many MiB have to be free in /boot, such as 150";
        lint.warning(&at, "NothingCanPass", message, help);
    }
}

/// Checks the version of a shim.
pub(super) fn shim_version(lint: &mut Lint, at: &Located<'_>) {
    if RpmVersion::parse(&at.string().unwrap_or_default()).is_none() {
        let help = "write version and release of the package, such as \"15.8-3\"";
        not_a_version(lint, at, "is not a version of a package", help);
    }
}

fn minimum_cpu(lint: &mut Lint, at: &Located<'_>) {
    const HELP: &str =
        "write the lowest level for each architecture, such as { \"x86_64\": \"x86-64-v3\" }";
    let Some(levels) = at.read::<BTreeMap<String, String>>() else {
        return;
    };
    if levels.is_empty() {
        lint.warning(at, "NoEffect", "is empty: no CPU is judged", HELP);
    }
    for (architecture, level) in levels {
        let [architecture, level] =
            [architecture, level].map(|word| text::printable_up_to(&word, 60));
        let Some(known) = cpu_levels(&architecture) else {
            let message = format!("there are no levels for \"{architecture}\"");
            lint.error(at, "UnknownValue", message, HELP);
            continue;
        };
        if cpu_rank(&architecture, &level).is_none() {
            let message = format!("\"{level}\" is not a level of {architecture}");
            let help = format!("write one of {}", known.join(", "));
            lint.error(at, "UnknownValue", message, help);
        }
    }
}
