//! What a first boot waits for, by what systemd says (pure).

use super::{Cause, Phase};
use crate::node::units::{CRIO, FIRSTBOOT, KUBELET, PULL, is_unit_name};
use std::collections::BTreeMap;
use std::time::Duration;

/// The units that do the work of a first boot. systemd is asked about them first.
pub(crate) const WORKING: [&str; 4] = [PULL, FIRSTBOOT, KUBELET, CRIO];

/// What makes a staged rebase the next boot's deployment, at shutdown.
const FINALIZE: &str = "ostree-finalize-staged.service";

/// Most units that systemd is asked about.
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
    /// How often systemd restarted it.
    pub restarts: u64,
    /// When it came into this state: time since the kernel started. Zero where it never changed.
    pub since: Duration,
    /// A job is queued or running for it.
    pub has_job: bool,
    /// `After`: its job waits for the jobs of these.
    pub after: Vec<String>,
}

/// Units by their names.
pub type Units = BTreeMap<String, Unit>;

/// The units that systemd is still to be asked about: first those that do the work of a first boot;
/// then, where neither the pull nor the rebase has begun, those that their jobs wait for.
pub(crate) fn to_ask(known: &Units) -> Vec<String> {
    if known.is_empty() {
        return WORKING.map(str::to_owned).to_vec();
    }
    let has_begun = |name| {
        known
            .get(name)
            .is_none_or(|unit: &Unit| unit.active != "inactive")
    };
    if has_begun(PULL) || has_begun(FIRSTBOOT) {
        return Vec::new();
    }
    queue(known).1
}

/// Follows the jobs that the pull and the rebase wait for. Returns the units that have one and wait
/// for no other, so that theirs run; and the units that are not known yet.
fn queue(known: &Units) -> (Vec<&Unit>, Vec<String>) {
    let (mut names, mut at) = (vec![PULL, FIRSTBOOT], 0);
    let (mut run, mut unknown) = (Vec::new(), Vec::new());
    while let Some(name) = names.get(at).copied() {
        at += 1;
        let Some(unit) = known.get(name) else {
            unknown.push(name.to_owned());
            continue;
        };
        if !unit.has_job {
            continue;
        }
        let is_before = |other: &String| known.get(other).is_none_or(|other| other.has_job);
        if !unit.after.iter().any(is_before) {
            run.push(unit);
        }
        for next in &unit.after {
            if names.len() < UNITS_MAX && !names.contains(&next.as_str()) {
                names.push(next);
            }
        }
    }
    (run, unknown)
}

/// The unit whose job runs and keeps the pull or the rebase waiting. Other jobs that run may have
/// nothing to do with it.
fn blocking_unit(known: &Units) -> Option<&str> {
    let (run, _) = queue(known);
    let mut ids = run.into_iter().map(|unit| unit.id.as_str());
    ids.find(|id| ![PULL, FIRSTBOOT].contains(id) && is_unit_name(id))
}

/// How far the rebase is, by the node's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rebase {
    /// The encapsulated config is still there.
    ToCome,
    /// It was renamed, and the first run's deployment is still booted.
    NotFinalized,
    /// There is nothing to rebase any more.
    Over,
}

/// What a first boot that is not finished waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) phase: Phase,
    /// The unit; `None` if no unit is known to be in the way.
    pub(crate) unit: Option<Unit>,
    /// Why, if that is known without the unit's journal.
    pub(crate) cause: Option<Cause>,
}

/// What a first boot that is not finished waits for.
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
        Rebase::NotFinalized if firstboot.active == "inactive" => Some(Waiting {
            phase: Phase::Rebase,
            unit: Some(Unit {
                id: FINALIZE.to_owned(),
                ..Unit::default()
            }),
            cause: Some(Cause::NotFinalized),
        }),
        // The reboot is under way.
        Rebase::NotFinalized => at(Phase::Rebase, firstboot),
        Rebase::Over if firstboot.active == "activating" => at(Phase::Rebase, firstboot),
        Rebase::Over => {
            let (kubelet, crio) = (unit(KUBELET)?, unit(CRIO)?);
            let is_running = crio.active == "active";
            at(Phase::Join, if is_running { kubelet } else { crio })
        }
        Rebase::ToCome if works(&firstboot) => at(Phase::Rebase, firstboot),
        Rebase::ToCome if works(&pull) => at(Phase::Pull, pull),
        // The reboot is under way, or the rebase comes next.
        Rebase::ToCome if firstboot.active == "active" || pull.active == "active" => {
            at(Phase::Rebase, firstboot)
        }
        Rebase::ToCome => Some(Waiting {
            phase: Phase::Other,
            unit: blocking_unit(units).map(|id| Unit {
                id: id.to_owned(),
                ..Unit::default()
            }),
            cause: None,
        }),
    }
}
