//! The rules of a limit that judge the machine.

use super::{Lint, Rule};
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
        lint.say(
            &at,
            Rule::BootTooSmall,
            &[("size", &BOOT_SIZE), ("free", &free)],
        );
    }
}

/// Checks the version of a shim.
pub(super) fn shim_version(lint: &mut Lint, at: &Located<'_>) {
    if RpmVersion::parse(&at.string().unwrap_or_default()).is_none() {
        lint.say(at, Rule::NotAShim, &[]);
    }
}

fn minimum_cpu(lint: &mut Lint, at: &Located<'_>) {
    let Some(levels) = at.read::<BTreeMap<String, String>>() else {
        return;
    };
    if levels.is_empty() {
        lint.say(at, Rule::NoCPUs, &[]);
    }
    for (architecture, level) in levels {
        let [architecture, level] =
            [architecture, level].map(|word| text::printable_up_to(&word, 60));
        let Some(known) = cpu_levels(&architecture) else {
            lint.say(at, Rule::NoLevels, &[("architecture", &architecture)]);
            continue;
        };
        if cpu_rank(&architecture, &level).is_none() {
            lint.say(
                at,
                Rule::UnknownLevel,
                &[
                    ("architecture", &architecture),
                    ("level", &level),
                    ("levels", &known.join(", ")),
                ],
            );
        }
    }
}
