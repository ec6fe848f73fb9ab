//! The rules about what the boot image or the machine was born with and a rebase does not change.

use super::{Evaluation, finding};
use crate::policy::Limit;
use crate::text;
use crate::verdict::{Finding, Machine, Reason};
use crate::version::{RpmVersion, cpu_rank};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Applies them.
pub(super) fn rules(limit: &Limit, machine: &Machine) -> [Option<Finding>; 3] {
    [
        finding(
            Reason::CpuBelowMinimum,
            &limit.minimum_cpu,
            "CPU",
            |levels| show_cpu(levels, machine),
            |levels| cpu(levels, machine),
        ),
        finding(
            Reason::BootSpaceBelowMinimum,
            &limit.minimum_boot_free,
            "/boot",
            |least| format!("{least} MiB free in /boot"),
            |least| boot_space(*least, machine),
        ),
        finding(
            Reason::ShimBelowMinimum,
            &limit.minimum_shim,
            "shim",
            |least| least.as_str().to_owned(),
            |least| shim(least, machine),
        ),
    ]
}

/// The level for this machine's architecture; all of them where that is unknown.
fn show_cpu(levels: &BTreeMap<String, String>, machine: &Machine) -> String {
    let own = machine
        .architecture
        .as_ref()
        .and_then(|own| levels.get(own));
    let all = || {
        let all = levels.values().map(|level| text::printable(level));
        all.collect::<Vec<_>>().join(", ")
    };
    own.map_or_else(all, |level| text::printable(level))
}

fn cpu(levels: &BTreeMap<String, String>, machine: &Machine) -> Evaluation {
    let have = machine.cpu.clone();
    let Some(architecture) = &machine.architecture else {
        return Evaluation::open(have, "the machine's architecture is unknown");
    };
    let Some(least) = levels.get(architecture) else {
        return Evaluation::open(have, format!("the rule has no level for {architecture}"));
    };
    let Some(wanted) = cpu_rank(architecture, least) else {
        let why =
            format!("a level of {architecture} that is not known to this version of skewguard");
        return Evaluation::open(have, why);
    };
    let known = have.and_then(|have| Some((cpu_rank(architecture, &have)?, have)));
    let Some((rank, have)) = known else {
        return Evaluation::open(None, "the level of the machine's CPU is unknown");
    };
    let message = format!("is {have}; the minimum is {least}");
    Evaluation::decided(rank >= wanted, have, message)
}

fn boot_space(least: u32, machine: &Machine) -> Evaluation {
    let Some(free) = machine.boot_free_mib else {
        return Evaluation::open(
            None,
            "what is free in /boot is unknown: it is read before the rebase, and where /boot is mounted",
        );
    };
    Evaluation::decided(
        free >= least,
        format!("{free} MiB"),
        format!("has {free} MiB free; the minimum is {least}"),
    )
}

fn shim(least: &RpmVersion, machine: &Machine) -> Evaluation {
    let have = machine.shim.clone();
    match machine.secure_boot {
        None => return Evaluation::open(have, "it is unknown whether Secure Boot is on"),
        Some(false) => {
            let have = have.unwrap_or_else(|| "Secure Boot off".to_owned());
            return Evaluation::decided(
                true,
                have,
                "may be of any version: Secure Boot is off".to_owned(),
            );
        }
        Some(true) => {}
    }
    let known = have.and_then(|have| Some((RpmVersion::parse(&have)?, have)));
    let Some((version, have)) = known else {
        return Evaluation::open(None, "no file on this node names its shim");
    };
    let message = format!(
        "is {have}; with Secure Boot on the minimum is {}",
        least.as_str()
    );
    Evaluation::decided(version.compare(least) != Ordering::Less, have, message)
}
