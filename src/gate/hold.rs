//! Holds a refused node back.

use super::always_held::{always, is_always, is_template};
use super::ask::ask;
use super::plan::{self, Plan, UnitStates};
use super::retry::{apart, on_any_connection, run};
use super::systemd::{Manager, PAUSE, Systemd, SystemdError};
use super::unit_state::UnitState;
use super::unverified::Unverified;
use super::{GateError, drop_ins};
use crate::node::units::{FIRSTBOOT, SKEWGUARD};
use crate::node::{self, ENCAPSULATED_BAK_PATH, ENCAPSULATED_PATH, FileError, Root, STAMP_PATH};
use crate::verdict::GateStatus;
use std::cell::Cell;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The part of all time that is reserved for stopping units that run already.
const STOPPING: Duration = Duration::from_secs(3);

/// Time for undoing a failed attempt, after all other time is used up.
const UNDO: Duration = Duration::from_secs(1);

/// Holds the node: writes drop-ins, reloads systemd, verifies that they apply, stops units that run
/// already, and writes the stamp. Without `systemd`, because the root is not the running system's,
/// only the files are written. What was done before is only verified.
///
/// Never fails; the status says what was done. The hold stands once the units that are always held
/// are verified; its error then says what of the others is in doubt. A node that cannot be held is
/// left as it was, and so is one whose rebase has begun; but a boot that was refused before stays
/// refused. Once the hold is verified the stamp is written, even if the connection to systemd is
/// lost after that.
pub(crate) fn hold(root: &Root, systemd: Option<&Systemd>) -> GateStatus {
    let refused_before = is_refused(root);
    let reloaded = Cell::new(false);
    let held = match systemd {
        None => hold_files(root),
        Some(systemd) => run(hold_live(root, systemd, &reloaded)),
    };
    match held {
        Ok(status) => status,
        Err(error) if refused_before => {
            let error =
                format!("an earlier run held the node, this one could not make sure: {error}");
            GateStatus {
                held: true,
                units: Vec::new(),
                error: Some(error),
            }
        }
        Err(error) => {
            undo(root, systemd.filter(|_| reloaded.get()));
            GateStatus {
                held: false,
                units: Vec::new(),
                error: Some(error.to_string()),
            }
        }
    }
}

/// This boot is refused. If that cannot be found out it is not, as for `test -e`.
pub(crate) fn is_refused(root: &Root) -> bool {
    node::is_refused(root).unwrap_or(false)
}

fn hold_files(root: &Root) -> Result<GateStatus, GateError> {
    let units = always();
    drop_ins::write(root, &units, &drop_ins::hold_drop_in())?;
    stamp(root)?;
    Ok(GateStatus {
        held: true,
        units,
        error: None,
    })
}

/// A hold that systemd was verified to apply.
struct Verified {
    /// The loaded units that are held.
    held: Vec<String>,
    /// Units of these that run already.
    running: Vec<String>,
    /// Unverified.
    error: Option<String>,
    /// Some of that, because the connection broke.
    has_lost: bool,
}

async fn hold_live(
    root: &Root,
    systemd: &Systemd,
    reloaded: &Cell<bool>,
) -> Result<GateStatus, GateError> {
    let end = Instant::now() + systemd.whole;
    let deadline = end - STOPPING.min(systemd.whole / 4);
    let work = async |manager: &Manager<'_>| verified(root, manager, reloaded).await;
    let mut done = on_any_connection(systemd, deadline, work).await?;
    // Another connection may settle what is in doubt. If none does, the hold stands all the same.
    if done.has_lost
        && let Ok(again) = on_any_connection(systemd, deadline, work).await
    {
        done = again;
    }
    let Verified {
        held,
        running,
        mut error,
        ..
    } = done;
    // From here on the node is held, unless the stamp cannot be written.
    if running.is_empty() {
        stamp(root)?;
    } else {
        let stopped = on_any_connection(systemd, end, async |manager: &Manager<'_>| {
            stop(manager, &running).await
        })
        .await;
        stamp(root)?;
        let down = match stopped {
            Ok(()) => {
                on_any_connection(systemd, end, async |manager: &Manager<'_>| {
                    are_down(manager, &running).await
                })
                .await
            }
            failed => failed,
        };
        if let Err(still) = down {
            let still = format!("{} may still run: {still}", running.join(" "));
            error = Some(
                [Some(still), error]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join("; "),
            );
        }
    }
    Ok(GateStatus {
        held: true,
        units: held,
        error,
    })
}

/// Writes the drop-ins, has systemd read them, and verifies that they apply.
///
/// # Errors
/// One of the units that are always held cannot be held. Whatever is wrong with any other unit is
/// in doubt.
async fn verified(
    root: &Root,
    manager: &Manager<'_>,
    reloaded: &Cell<bool>,
) -> Result<Verified, GateError> {
    let Survey {
        plan,
        mut known,
        mut silent,
    } = survey(root, manager).await?;
    if is_running(&known, FIRSTBOOT) {
        return Err(GateError::HasBegun);
    }
    let written = drop_ins::write(root, &plan.units, &drop_ins::hold_drop_in())?;
    let mut unverified = Unverified::default();
    for (_, error) in &written.failed {
        unverified.about(error);
    }
    let failed: Vec<String> = written.failed.into_iter().map(|(unit, _)| unit).collect();
    let units: Vec<String> = plan
        .units
        .into_iter()
        .filter(|unit| !failed.contains(unit))
        .collect();
    // Reading the files again helps all but those for which systemd reads another one.
    let is_missing = |unit: &&String| {
        let state = known.get(*unit);
        state.is_some_and(|state| state.missing().is_some()) && !drop_ins::is_overruled(root, unit)
    };
    if written.any || units.iter().any(|unit| is_missing(&unit)) {
        manager.reload().await?;
        reloaded.set(true);
        known = states_again(manager, &units, &mut silent).await?;
    }
    let has_answer = |unit: &String| !silent.iter().any(|(silent, _)| silent == unit);
    let units = units.into_iter().filter(has_answer);
    let (held, running) = held(root, units, &known, &mut unverified)?;
    if !held.iter().any(|unit| unit == FIRSTBOOT) && root.exists(ENCAPSULATED_PATH).unwrap_or(false)
    {
        unverified.about(GateError::NoRebase);
    }
    let has_lost = !silent.is_empty() && manager.is_broken.get();
    for (unit, why) in silent {
        unverified.silent_about(unit, why);
    }
    unverified.leave_out(plan.left_out);
    Ok(Verified {
        held,
        running,
        error: unverified.text(),
        has_lost,
    })
}

/// Units for which the drop-ins apply, and those of them that run already.
///
/// # Errors
/// As [`verified`].
fn held(
    root: &Root,
    units: impl Iterator<Item = String>,
    known: &UnitStates,
    unverified: &mut Unverified,
) -> Result<(Vec<String>, Vec<String>), GateError> {
    let (mut held, mut running) = (Vec::new(), Vec::new());
    for unit in units {
        let Some(state) = known.get(&unit) else {
            continue;
        };
        let is_fixed = is_always(&unit);
        match drop_ins::applied(root, unit, state) {
            Ok(unit) if !state.is_loaded() => drop(unit),
            Ok(unit) if state.is_running() && unit == FIRSTBOOT => return Err(GateError::HasBegun),
            Ok(unit) => {
                running.extend(state.is_running().then(|| unit.clone()));
                held.push(unit);
            }
            Err(error) if is_fixed => return Err(error),
            Err(error) => unverified.about(error),
        }
    }
    Ok((held, running))
}

/// Asks again about the units that systemd can load.
async fn states_again(
    manager: &Manager<'_>,
    units: &[String],
    silent: &mut Unanswered,
) -> Result<UnitStates, GateError> {
    let mut known = UnitStates::new();
    let loadable = units.iter().filter(|unit| !is_template(unit));
    let loadable: Vec<String> = loadable.cloned().collect();
    for (unit, answer) in manager.states(&loadable, manager.deadline).await {
        silent.retain(|(silent, _)| *silent != unit);
        record_answer(unit, answer, &mut known, silent)?;
    }
    Ok(known)
}

/// Units without an answer of systemd, and why.
type Unanswered = Vec<(String, SystemdError)>;

/// The units to hold, and what systemd said of them.
struct Survey {
    plan: Plan,
    known: UnitStates,
    silent: Unanswered,
}

/// Asks systemd what is to be held, one round after the other. The units that are always held are
/// in the first round. The others have half of the time in all: what systemd has not said by then
/// stays in doubt.
///
/// # Errors
/// systemd does not say what is with a unit that is always held.
async fn survey(root: &Root, manager: &Manager<'_>) -> Result<Survey, GateError> {
    let files = drop_ins::services(root);
    let (mut known, mut silent) = (UnitStates::new(), Unanswered::new());
    let mut rest = None;
    loop {
        let plan = plan::plan(&known, &files);
        if plan.ask.is_empty() {
            return Ok(Survey {
                plan,
                known,
                silent,
            });
        }
        let until = rest.unwrap_or(manager.deadline);
        for (unit, answer) in manager.states(&plan.ask, until).await {
            record_answer(unit, answer, &mut known, &mut silent)?;
        }
        let left = manager.deadline.saturating_duration_since(Instant::now());
        rest = rest.or_else(|| Some(Instant::now() + left / 2));
    }
}

/// Records systemd's answer. A missing answer counts as no dependencies.
///
/// # Errors
/// There is none about a unit that is always held.
fn record_answer(
    unit: String,
    answer: Result<UnitState, SystemdError>,
    known: &mut UnitStates,
    silent: &mut Unanswered,
) -> Result<(), GateError> {
    let state = match answer {
        Ok(state) => state,
        Err(error) if is_always(&unit) => return Err(error.into()),
        Err(error) => {
            silent.push((unit.clone(), error));
            UnitState::default()
        }
    };
    known.insert(unit, state);
    Ok(())
}

fn is_running(known: &UnitStates, unit: &str) -> bool {
    known
        .get(unit)
        .is_some_and(|state| state.is_loaded() && state.is_running())
}

async fn stop(manager: &Manager<'_>, units: &[String]) -> Result<(), GateError> {
    for (_, stopped) in manager.stop(units).await {
        stopped?;
    }
    Ok(())
}

async fn are_down(manager: &Manager<'_>, units: &[String]) -> Result<(), GateError> {
    loop {
        let mut running = false;
        for (_, state) in manager.states(units, manager.deadline).await {
            running |= state?.is_running();
        }
        if !running {
            return Ok(());
        }
        sleep(PAUSE).await;
    }
}

fn stamp(root: &Root) -> Result<(), FileError> {
    if is_refused(root) {
        Ok(())
    } else {
        root.write(STAMP_PATH, b"", 0o644)
    }
}

/// Undoes a failed attempt; with `systemd` if that has read the drop-ins. A drop-in that cannot be
/// removed does no harm: without the stamp our unit succeeds, and the units that require it start.
fn undo(root: &Root, systemd: Option<&Systemd>) {
    let _ = root.remove(STAMP_PATH);
    let _ = drop_ins::list(root).and_then(|units| drop_ins::remove(root, &units));
    if let Some(systemd) = systemd {
        let _ = reload(systemd, UNDO);
    }
}

/// The units whose drop-ins have no purpose on a boot that is not refused: those of an attempt that
/// ended in the middle; and, where there was nothing to rebase, those that make the rest wait for
/// the rebase.
///
/// # Errors
/// A file cannot be examined.
pub(crate) fn left_behind(root: &Root) -> Result<Vec<String>, FileError> {
    if node::is_refused(root)? {
        return Ok(Vec::new());
    }
    // A rebase renames the config and reboots; only without one it is removed.
    let is_over = !root.exists(ENCAPSULATED_PATH)? && !root.exists(ENCAPSULATED_BAK_PATH)?;
    if is_over {
        drop_ins::list(root)
    } else {
        drop_ins::held_units(root)
    }
}

/// Removes the drop-ins of [`left_behind`]. Returns whether there was any.
///
/// # Errors
/// A file cannot be examined or removed, or systemd cannot be told.
pub(crate) fn clear(root: &Root, systemd: Option<&Systemd>) -> Result<bool, GateError> {
    let any = drop_ins::remove(root, &left_behind(root)?)?;
    if let Some(systemd) = systemd.filter(|_| any) {
        apart(|| reload(systemd, STOPPING)).unwrap_or(Ok(()))?;
    }
    Ok(any)
}

/// A hold's changes since it was verified.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct HoldChange {
    /// It was made again, because drop-ins were removed, as by `systemctl revert`.
    pub again: Option<GateStatus>,
    /// Units that appeared since and are held now.
    pub new: Vec<String>,
    /// Units that are no longer held, because a drop-in of an admin has replaced ours.
    pub overruled: Vec<String>,
}

/// Looks at a refused node: holds what is not held any more because what holds it was removed, and
/// what comes after the rebase and is new. A drop-in that an admin has put in the place of ours is
/// left alone. `held`: the units that the verdict names.
pub(crate) fn restore_hold(root: &Root, systemd: &Systemd, held: &[String]) -> HoldChange {
    if !is_refused(root) {
        return HoldChange::default();
    }
    let mut units = always();
    units.extend(held.iter().filter(|unit| !is_always(unit)).cloned());
    let drop_in = drop_ins::hold_drop_in();
    let is_whole = units.iter().all(|unit| drop_ins::has(root, unit, &drop_in));
    let is_overruled = |unit: &&String| drop_ins::is_overruled(root, unit);
    let overruled: Vec<String> = units.iter().filter(is_overruled).cloned().collect();
    units.extend(drop_ins::held_units(root).unwrap_or_default());
    let look = || {
        let status = hold(root, Some(systemd));
        let is_new = |unit: &&String| !units.contains(unit);
        HoldChange {
            new: status.units.iter().filter(is_new).cloned().collect(),
            again: (!is_whole).then_some(status),
            overruled: not_held(systemd, &overruled),
        }
    };
    apart(look).unwrap_or_default()
}

/// Units of these that systemd does not hold any more; none if it cannot be asked.
fn not_held(systemd: &Systemd, units: &[String]) -> Vec<String> {
    if units.is_empty() {
        return Vec::new();
    }
    let next = |known: &UnitStates| match known.is_empty() {
        true => units.to_vec(),
        false => Vec::new(),
    };
    let known = ask(systemd, STOPPING, &[], &next).unwrap_or_default();
    let free = known
        .into_iter()
        .filter(|(_, state)| state.missing().is_some());
    free.map(|(unit, _)| unit).collect()
}

/// Has systemd read the unit files again.
fn reload(systemd: &Systemd, most: Duration) -> Result<(), GateError> {
    let work = async |manager: &Manager<'_>| {
        manager.state(SKEWGUARD).await?;
        Ok(manager.reload().await?)
    };
    run(on_any_connection(systemd, Instant::now() + most, work))
}
