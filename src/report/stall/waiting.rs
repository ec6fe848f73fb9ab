//! What a first boot waits for, by what systemd says (pure).

use super::{Cause, FIRSTBOOT, KUBELET, PULL, Phase};
use crate::text::printable_up_to;
use std::time::Duration;

const CRIO: &str = "crio.service";

/// What is asked of systemd: its arguments for `systemctl`. systemd 239 has all these properties.
pub(crate) const SHOW: &[&str] = &[
    "show",
    "--property=Id,ActiveState,SubState,NRestarts,StateChangeTimestampMonotonic",
    PULL,
    FIRSTBOOT,
    KUBELET,
    CRIO,
];

/// The jobs that are under way, and what each waits for: the arguments for `systemctl`.
pub(crate) const JOBS: &[&str] = &[
    "list-jobs",
    "--before",
    "--no-legend",
    "--no-pager",
    "--full",
];

/// What makes a staged rebase the next boot's deployment, at shutdown.
const FINALIZE: &str = "ostree-finalize-staged.service";

/// Most jobs that are looked at.
const JOBS_MAX: usize = 1000;

/// A unit as systemd shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Unit {
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
}

/// Reads what [`SHOW`] printed.
pub(crate) fn units(shown: &str) -> Vec<Unit> {
    let word = |value: &str| printable_up_to(value, 64);
    shown
        .split("\n\n")
        .take(16)
        .map(|block| {
            let mut unit = Unit::default();
            for (key, value) in block.lines().filter_map(|line| line.split_once('=')) {
                match key {
                    "Id" => unit.id = word(value),
                    "ActiveState" => unit.active = word(value),
                    "SubState" => unit.sub = word(value),
                    "NRestarts" => unit.restarts = value.parse().unwrap_or_default(),
                    "StateChangeTimestampMonotonic" => {
                        unit.since = Duration::from_micros(value.parse().unwrap_or_default());
                    }
                    _ => {}
                }
            }
            unit
        })
        .filter(|unit| !unit.id.is_empty())
        .collect()
}

/// A job that systemd has queued.
struct Job<'a> {
    id: &'a str,
    unit: &'a str,
    is_running: bool,
    /// The jobs that it waits for.
    waits_for: Vec<&'a str>,
}

/// Reads what [`JOBS`] printed: `JOB UNIT TYPE STATE`, and below it for each job that it waits for
/// `waiting for job JOB (UNIT/TYPE)`. systemd 239 has its two labels the wrong way round, and says
/// `blocking job JOB (UNIT/TYPE)` (`systemctl.c`, `GetJobBefore`).
fn jobs(shown: &str) -> Vec<Job<'_>> {
    let mut jobs: Vec<Job<'_>> = Vec::new();
    for line in shown.lines() {
        let labels = ["waiting for job ", "blocking job "];
        let other = labels.iter().find_map(|label| line.split_once(label));
        if let Some((_, other)) = other {
            if let (Some(job), Some(id)) = (jobs.last_mut(), other.split(' ').next()) {
                job.waits_for.push(id);
            }
        } else if jobs.len() < JOBS_MAX
            && let [id, unit, _, state] = line.split_ascii_whitespace().collect::<Vec<_>>()[..]
        {
            jobs.push(Job {
                id,
                unit,
                is_running: state == "running",
                waits_for: Vec::new(),
            });
        }
    }
    jobs
}

/// The unit whose job runs and keeps the pull or the rebase waiting, from what [`JOBS`] printed.
/// Other jobs that run may have nothing to do with it.
pub(crate) fn blocking_unit(shown: &str) -> Option<String> {
    let jobs = jobs(shown);
    let starts = |job: &&Job<'_>| job.unit == PULL || job.unit == FIRSTBOOT;
    let mut ids: Vec<&str> = jobs.iter().filter(starts).map(|job| job.id).collect();
    let mut at = 0;
    while let Some(id) = ids.get(at) {
        at += 1;
        let Some(job) = jobs.iter().find(|job| job.id == *id) else {
            continue;
        };
        if job.is_running && !starts(&job) && is_unit_name(job.unit) {
            return Some(job.unit.to_owned());
        }
        for next in &job.waits_for {
            if !ids.contains(next) && ids.len() < JOBS_MAX {
                ids.push(next);
            }
        }
    }
    None
}

/// Whether this can be the argument of `journalctl -u`.
fn is_unit_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.@:\\".contains(c);
    name.len() <= 255 && !name.starts_with('-') && name.chars().all(fits)
}

/// How far the rebase is, by the node's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rebase {
    /// The encapsulated config is still there.
    ToCome,
    /// It was renamed, and the booted deployment is still that of the first run.
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

/// What a first boot that is not finished waits for. `blocking_unit` says what keeps the pull
/// waiting, and is only asked if neither the pull nor the rebase has begun; its outer `None` is no
/// answer.
///
/// `None`: systemd gave no answer, which says nothing about the first boot.
pub(crate) fn waits_for(
    units: &[Unit],
    rebase: Rebase,
    blocking_unit: impl FnOnce() -> Option<Option<String>>,
) -> Option<Waiting> {
    let unit = |name: &str| units.iter().find(|unit| unit.id == name).cloned();
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
            unit: blocking_unit()?.map(|id| Unit {
                id,
                ..Unit::default()
            }),
            cause: None,
        }),
    }
}
