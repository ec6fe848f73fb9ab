//! The unit that a first boot waits for, by what systemd says (pure).

use super::{Cause, Finding, Phase};
use crate::node::LostRebase;
use crate::node::units::{CRIO, FIRSTBOOT, KUBELET, PULL, is_unit_name};
use std::collections::BTreeMap;
use std::time::Duration;

/// The units that do the work of a first boot. systemd is asked about them first.
pub(crate) const WORKING: [&str; 4] = [PULL, FIRSTBOOT, KUBELET, CRIO];

/// Makes a staged rebase the next boot's deployment, at shutdown.
const FINALIZE: &str = "ostree-finalize-staged.service";

/// Limit of the units that systemd is asked about.
const UNITS_MAX: usize = 1000;

/// A unit as systemd shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unit {
    /// Its name.
    pub id: String,
    /// `activating`, `failed`, ...
    pub active: String,
    /// `start`, `auto-restart`, ...
    pub sub: String,
    /// Number of restarts by systemd.
    pub restarts: u64,
    /// Time of its last change, since the kernel started. Zero where it never changed.
    pub since: Duration,
    /// A job is queued or running for it.
    pub has_job: bool,
    /// `After`: its job waits for the jobs of these.
    pub after: Vec<String>,
    /// `Requires`: it does not start where one of these fails.
    pub requires: Vec<String>,
}

/// Units by their names.
pub type Units = BTreeMap<String, Unit>;

/// The units that systemd is still to be asked about: first those that do the work of a first boot;
/// then those that keep one of them waiting.
pub(crate) fn to_ask(known: &Units) -> Vec<String> {
    if known.is_empty() {
        return WORKING.map(str::to_owned).to_vec();
    }
    let rests = |name| known.get(name).filter(|unit| unit.active == "inactive");
    let is_before_rebase = rests(PULL).is_some() && rests(FIRSTBOOT).is_some();
    let works = [PULL, FIRSTBOOT].map(|name| known.get(name));
    let is_rebasing = works
        .iter()
        .flatten()
        .any(|unit| unit.active == "activating");
    let waits = |unit: &Unit| unit.has_job || !unit.requires.is_empty();
    let kubelet = rests(KUBELET).filter(|unit| !is_rebasing && waits(unit));
    let mut roots = Vec::new();
    if is_before_rebase {
        roots.extend([PULL, FIRSTBOOT]);
    }
    roots.extend(kubelet.map(|_| KUBELET));
    blockers(known, &roots).1
}

/// Follows what keeps `roots` from starting: the jobs that a job waits for; without one, what it
/// requires. Returns the units in the way, whose jobs run or which have failed; and the units that
/// are not known yet.
fn blockers<'a>(known: &'a Units, roots: &[&'a str]) -> (Vec<&'a Unit>, Vec<String>) {
    let (mut names, mut at) = (roots.to_vec(), 0);
    let (mut found, mut unknown) = (Vec::new(), Vec::new());
    while let Some(name) = names.get(at).copied() {
        at += 1;
        let Some(unit) = known.get(name) else {
            unknown.push(name.to_owned());
            continue;
        };
        let is_before = |other: &String| known.get(other).is_none_or(|other| other.has_job);
        let next = match (unit.has_job, unit.active.as_str()) {
            (true, _) => &unit.after,
            (false, "inactive") => &unit.requires,
            _ => continue,
        };
        if unit.has_job {
            found.extend((!next.iter().any(is_before)).then_some(unit));
        } else {
            let required = next.iter().filter_map(|name| known.get(name));
            found.extend(required.filter(|unit| unit.active == "failed"));
        }
        for name in next {
            if names.len() < UNITS_MAX && !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }
    (found, unknown)
}

/// The unit that keeps one of `roots` from starting. Other jobs that run may have nothing to do
/// with it.
fn blocking_unit(known: &Units, roots: &[&str]) -> Option<Unit> {
    let mut found = blockers(known, roots).0.into_iter();
    let unit = found.find(|unit| !roots.contains(&unit.id.as_str()) && is_unit_name(&unit.id));
    unit.cloned()
}

/// The state of the rebase, by the node's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rebase {
    /// The encapsulated config is still there.
    ToCome,
    /// It was renamed, and the first run's deployment is still booted.
    Lost(LostRebase),
    /// There is nothing to rebase any more.
    Over,
}

/// Finds what a first boot that is not finished waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) phase: Phase,
    /// The unit; `None` if no unit is known to be in the way.
    pub(crate) unit: Option<Unit>,
    /// The cause, if it is known without the unit's journal.
    pub(crate) cause: Option<Cause>,
}

impl Waiting {
    /// What a journal says, beside what systemd says of its unit.
    pub(crate) fn settle(&self, found: Finding) -> Finding {
        let state = |unit: &Unit| {
            (
                unit.id == KUBELET,
                unit.active == "active",
                unit.sub == "start",
            )
        };
        let cause = match self.unit.as_ref().map(state) {
            _ if !found.cause.is_open() => found.cause,
            Some((true, true, _)) => Cause::NO_CERTIFICATE,
            Some((_, false, true)) => found.cause,
            _ => Cause::UNKNOWN,
        };
        Finding { cause, ..found }
    }
}

/// Finds what a first boot that is not finished waits for.
///
/// `None`: systemd gave no answer, and the first boot's state is unknown.
pub(crate) fn waits_for(units: &Units, rebase: Rebase) -> Option<Waiting> {
    let unit = |name: &str| units.get(name).cloned();
    let at = |phase, unit| {
        Some(Waiting {
            phase,
            unit: Some(unit),
            cause: None,
        })
    };
    let (pull, firstboot) = (unit(PULL)?, unit(FIRSTBOOT)?);
    let works = |unit: &Unit| matches!(unit.active.as_str(), "activating" | "failed");
    match rebase {
        Rebase::Lost(lost) if firstboot.active == "inactive" => Some(Waiting {
            phase: Phase::Rebase,
            unit: (lost == LostRebase::NotFinalized).then(|| Unit {
                id: FINALIZE.to_owned(),
                ..Unit::default()
            }),
            cause: Some(lost.into()),
        }),
        // The reboot is under way.
        Rebase::Lost(_) => at(Phase::Rebase, firstboot),
        Rebase::Over if firstboot.active == "activating" => at(Phase::Rebase, firstboot),
        Rebase::Over => {
            let (kubelet, crio) = (unit(KUBELET)?, unit(CRIO)?);
            let waits = kubelet.active == "inactive";
            let blocking = || blocking_unit(units, &[KUBELET]);
            let crio = || works(&crio).then_some(crio);
            let before = waits.then(|| blocking().or_else(crio)).flatten();
            at(Phase::Join, before.unwrap_or(kubelet))
        }
        Rebase::ToCome if works(&firstboot) => at(Phase::Rebase, firstboot),
        Rebase::ToCome if works(&pull) => at(Phase::Pull, pull),
        // The reboot is under way, or the rebase comes next.
        Rebase::ToCome if firstboot.active == "active" || pull.active == "active" => {
            at(Phase::Rebase, firstboot)
        }
        Rebase::ToCome => Some(Waiting {
            phase: Phase::Other,
            unit: blocking_unit(units, &[PULL, FIRSTBOOT]).map(|unit| Unit {
                id: unit.id,
                ..Unit::default()
            }),
            cause: None,
        }),
    }
}
