//! Holds a refused node back, and lets it through again.

use super::plan::{self, FIRSTBOOT, KUBELET, Known, RUNTIME_UNITS, STAMP_PATH, Step, UNIT, UnitState};
use super::systemd::{Manager, PAUSE, Route, Systemd, SystemdError};
use crate::node::{FileError, OVERRIDE_PATH, Root};
use crate::verdict::{GateStatus, OverrideWord};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Where Ignition and the Machine Config Daemon write unit files.
const UNIT_FILES: &str = "/etc/systemd/system";

/// Largest unit file that is read, in bytes.
const UNIT_FILE_MAX: u64 = 64 * 1024;

/// Most entries of a directory that are looked at.
const ENTRIES_MAX: usize = 4096;

/// The part of all time that is reserved for stopping units that run already.
const STOPPING: Duration = Duration::from_secs(3);

/// Time for undoing a failed attempt, after all other time is used up.
const UNDO: Duration = Duration::from_secs(1);

/// Waits before every route to systemd is tried again: long enough for a systemd that re-executes itself.
const PAUSES: [Duration; 4] =
    [Duration::from_millis(250), Duration::from_millis(500), Duration::from_millis(1000), Duration::from_millis(2000)];

/// How long to wait for a start of our own unit to end, before the boot is started again.
const SETTLING: Duration = Duration::from_secs(1);

/// The usual targets of a boot. Any other `default.target`, as on a rescue boot, was chosen on purpose.
const BOOT_TARGETS: [&str; 2] = ["multi-user.target", "graphical.target"];

/// Why a node could not be held, or not be let through.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("systemd: {0}")]
    Systemd(#[from] SystemdError),
    /// The drop-in is written, but systemd does not apply it.
    #[error("{unit} is not held: its {missing} does not name {UNIT}")]
    NotHeld { unit: String, missing: &'static str },
    /// This boot has another target than usual.
    #[error("default.target is {0}, so nothing was started")]
    OtherTarget(String),
    /// systemd was asked to go on with the boot, but does not.
    #[error("{0} was not started")]
    NotStarted(&'static str),
}

/// Holds the node: writes drop-ins, reloads systemd, verifies that they apply, stops units that run already, and writes the stamp. Without
/// `systemd`, because the root is not the running system's, only the files are written. What was done before is only verified.
///
/// Never fails; the status says what was done. A node that cannot be held is left as it was, but a boot that was refused before stays
/// refused. Once the hold is verified the stamp is written, even if the connection to systemd is lost after that.
pub fn hold(root: &Root, systemd: Option<&Systemd>) -> GateStatus {
    let refused_before = is_refused(root);
    let reloaded = Cell::new(false);
    let held = match systemd {
        None => hold_files(root),
        Some(systemd) => run(hold_live(root, systemd, &reloaded)),
    };
    match held {
        Ok(status) => status,
        Err(error) if refused_before => {
            let error = format!("an earlier run held the node, this one could not make sure: {error}");
            GateStatus { held: true, units: Vec::new(), error: Some(error) }
        }
        Err(error) => {
            undo(root, systemd.filter(|_| reloaded.get()));
            GateStatus { held: false, units: Vec::new(), error: Some(error.to_string()) }
        }
    }
}

/// Whether this boot is refused, because the stamp exists. If that cannot be found out it is not, as for `test -e`.
pub fn is_refused(root: &Root) -> bool {
    root.exists(STAMP_PATH).unwrap_or(false)
}

fn hold_files(root: &Root) -> Result<GateStatus, GateError> {
    let units = plan::always();
    write_drop_ins(root, &units)?;
    stamp(root)?;
    Ok(GateStatus { held: true, units, error: None })
}

/// A hold that systemd was verified to apply.
struct Verified {
    /// The loaded units that are held.
    held: Vec<String>,
    /// Those of them that run already.
    running: Vec<String>,
    /// What is in doubt.
    error: Option<String>,
}

async fn hold_live(root: &Root, systemd: &Systemd, reloaded: &Cell<bool>) -> Result<GateStatus, GateError> {
    let end = Instant::now() + systemd.whole;
    let deadline = end - STOPPING.min(systemd.whole / 4);
    let work = async |manager: &Manager<'_>| verified(root, manager, reloaded).await;
    let Verified { held, running, mut error } = on_any_connection(systemd, deadline, work).await?;
    // From here on the node is held, unless the stamp cannot be written.
    if running.is_empty() {
        stamp(root)?;
    } else {
        let stopped = on_any_connection(systemd, end, async |manager: &Manager<'_>| stop(manager, &running).await).await;
        stamp(root)?;
        let down = match stopped {
            Ok(()) => on_any_connection(systemd, end, async |manager: &Manager<'_>| are_down(manager, &running).await).await,
            failed => failed,
        };
        if let Err(still) = down {
            error = Some(format!("{} may still run: {still}", running.join(" ")));
        }
    }
    Ok(GateStatus { held: true, units: held, error })
}

/// Writes the drop-ins, has systemd read them, and verifies that they apply.
async fn verified(root: &Root, manager: &Manager<'_>, reloaded: &Cell<bool>) -> Result<Verified, GateError> {
    let (mut known, mut unsure) = (Known::new(), BTreeMap::new());
    let mut units = loop {
        match plan::to_hold(&known) {
            Step::Hold(units) => break units,
            Step::Look(unit) => {
                let state = match manager.state(&unit).await {
                    // systemd may deny answers about other units. Those stay in doubt.
                    Err(SystemdError::Refused(why)) if !plan::is_always(&unit) => {
                        unsure.insert(unit.clone(), why);
                        UnitState::default()
                    }
                    state => state?,
                };
                known.insert(unit, state);
            }
        }
    };
    add_unloaded(root, &mut units, &known);
    let written = write_drop_ins(root, &units)?;
    if written || units.iter().any(|unit| known.get(unit).is_none_or(|state| state.missing().is_some())) {
        manager.reload().await?;
        reloaded.set(true);
        known.clear();
    }
    let (mut held, mut running) = (Vec::new(), Vec::new());
    for unit in units.into_iter().filter(|unit| !unit.contains("@.") && !unsure.contains_key(unit)) {
        let state = match known.remove(&unit) {
            Some(state) => state,
            None => manager.state(&unit).await?,
        };
        if let Some(missing) = state.missing() {
            return Err(GateError::NotHeld { unit, missing });
        }
        if state.is_loaded() && state.is_running() {
            running.push(unit.clone());
        }
        if state.is_loaded() {
            held.push(unit);
        }
    }
    let unsure: Vec<String> = unsure.into_values().collect();
    let error = (!unsure.is_empty()).then(|| format!("systemd does not say whether these are to be held: {}", unsure.join("; ")));
    Ok(Verified { held, running, error })
}

/// Adds services that systemd has not loaded, but whose files say that they wait for a held unit.
fn add_unloaded(root: &Root, units: &mut Vec<String>, known: &Known) {
    // If the directory cannot be listed, units that are not loaded stay unknown.
    let names = root.list(UNIT_FILES, ENTRIES_MAX).unwrap_or_default();
    let mut files: BTreeMap<&str, String> = names
        .iter()
        .filter_map(|name| name.to_str())
        .filter(|name| plan::is_unit_name(name) && name.ends_with(".service") && !known.contains_key(*name))
        .filter_map(|name| Some((name, root.read_text(&format!("{UNIT_FILES}/{name}"), UNIT_FILE_MAX).ok()??)))
        .collect();
    while let Some(name) = files.iter().find_map(|(name, text)| plan::waits_for(name, text, units).then_some(*name)) {
        files.remove(name);
        units.push(name.to_owned());
    }
}

async fn stop(manager: &Manager<'_>, units: &[String]) -> Result<(), GateError> {
    for unit in units {
        manager.stop(unit).await?;
    }
    Ok(())
}

async fn are_down(manager: &Manager<'_>, units: &[String]) -> Result<(), GateError> {
    for unit in units {
        while manager.state(unit).await?.is_running() {
            sleep(PAUSE).await;
        }
    }
    Ok(())
}

/// Runs `work` on one connection to systemd after the other, until it succeeds: the bus; the bus again, if it can be reached, because
/// systemd may only have been slow to answer; then systemctl. After a pause all of this is repeated, because a systemd that re-executes
/// itself cannot be reached for a moment. If systemd refuses, the round is finished but not repeated.
async fn on_any_connection<T>(
    systemd: &Systemd,
    deadline: Instant,
    mut work: impl AsyncFnMut(&Manager<'_>) -> Result<T, GateError>,
) -> Result<T, GateError> {
    let mut lost = BTreeMap::new();
    let mut pauses = PAUSES.into_iter();
    loop {
        let (mut refused, mut may_pass, mut has_bus) = (None, false, true);
        for route in [Route::Bus, Route::Bus, Route::Systemctl] {
            if route == Route::Bus && !has_bus {
                continue;
            }
            let done = match Manager::connect(systemd, route, deadline).await {
                Ok(manager) => work(&manager).await,
                Err(error) => {
                    has_bus = false;
                    Err(error.into())
                }
            };
            match done {
                Ok(_) | Err(GateError::File(_)) => return done,
                Err(GateError::Systemd(SystemdError::Unreachable(why))) => {
                    lost.entry(route).or_insert_with(|| format!("{route}: {why}"));
                    may_pass = true;
                }
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        match pauses.next() {
            Some(pause) if may_pass && refused.is_none() && Instant::now() + pause < deadline => sleep(pause).await,
            _ => {
                let lost = || SystemdError::Unreachable(lost.into_values().collect::<Vec<_>>().join("; ")).into();
                return Err(refused.unwrap_or_else(lost));
            }
        }
    }
}

/// Writes the drop-ins that are missing. Returns whether any was.
fn write_drop_ins(root: &Root, units: &[String]) -> Result<bool, FileError> {
    let text = plan::drop_in();
    let mut written = false;
    for path in units.iter().map(|unit| plan::drop_in_path(unit)) {
        if root.read(&path, text.len() as u64).ok().flatten().is_none_or(|there| there != text.as_bytes()) {
            root.write(&path, text.as_bytes(), 0o644)?;
            written = true;
        }
    }
    Ok(written)
}

fn stamp(root: &Root) -> Result<(), FileError> {
    if is_refused(root) { Ok(()) } else { root.write(STAMP_PATH, b"", 0o644) }
}

/// Undoes a failed attempt; with `systemd` if that has read the drop-ins. A drop-in that cannot be removed does no harm: without the stamp
/// our unit succeeds, and the units that require it start.
fn undo(root: &Root, systemd: Option<&Systemd>) {
    let _ = root.remove(STAMP_PATH);
    let _ = drop_ins(root).and_then(|units| remove_drop_ins(root, &units));
    if let Some(systemd) = systemd {
        let work = async |manager: &Manager<'_>| Ok(manager.reload().await?);
        let _ = run(on_any_connection(systemd, Instant::now() + UNDO, work));
    }
}

/// The units that have a drop-in of ours, or that may have one because that cannot be found out.
fn drop_ins(root: &Root) -> Result<Vec<String>, FileError> {
    let names = root.list(RUNTIME_UNITS, ENTRIES_MAX)?;
    let units = names.iter().filter_map(|name| name.to_str()?.strip_suffix(".d")).filter(|unit| plan::is_unit_name(unit));
    Ok(units.filter(|unit| root.exists(&plan::drop_in_path(unit)).unwrap_or(true)).map(str::to_owned).collect())
}

/// Removes our drop-ins of these units, as many as can be removed.
fn remove_drop_ins(root: &Root, units: &[String]) -> Result<(), FileError> {
    let mut done = Ok(());
    for unit in units {
        match root.remove(&plan::drop_in_path(unit)) {
            // The directory stays if it has drop-ins of others.
            Ok(_) => drop(root.remove_dir(&format!("{RUNTIME_UNITS}/{unit}.d"))),
            failed => done = failed.map(drop),
        }
    }
    done
}

/// The first half of letting a refused node through: writes the override for the rest of this boot, removes stamp and drop-ins, and tells
/// systemd. Returns whether there was anything to release; a node that is not refused is not touched.
///
/// The override says `warn`, so that what was found stays in the verdict and in the cluster, but does not block any more.
///
/// # Errors
/// A file cannot be examined, written or removed, or systemd cannot be told. The node may still be held.
pub fn release(root: &Root, systemd: Option<&Systemd>) -> Result<bool, GateError> {
    let units = drop_ins(root)?;
    if units.is_empty() && !root.exists(STAMP_PATH)? {
        return Ok(false);
    }
    // First, so that our unit does not refuse the node again when it runs next.
    root.write(OVERRIDE_PATH, format!("{}\n", OverrideWord::Warn.as_str()).as_bytes(), 0o644)?;
    root.remove(STAMP_PATH)?;
    remove_drop_ins(root, &units)?;
    if let Some(systemd) = systemd {
        run(on_any_connection(systemd, Instant::now() + systemd.whole, async |manager: &Manager<'_>| {
            manager.reload().await?;
            for unit in units.iter().map(String::as_str).chain([UNIT]) {
                manager.reset_failed(unit).await?;
            }
            Ok(())
        }))?;
    }
    Ok(true)
}

/// The second half: starts `default.target` again, as one transaction, so that the rebase comes before the kubelet. The kubelet alone would
/// join on the old OS. Returns once the rebase is queued or running; on a node without such a unit, once the kubelet is.
///
/// # Errors
/// systemd cannot be reached or refuses, this boot has another target than usual, or the rebase was not started.
pub fn resume(systemd: &Systemd) -> Result<(), GateError> {
    run(on_any_connection(systemd, Instant::now() + systemd.whole, async |manager: &Manager<'_>| {
        let target = manager.state("default.target").await?.id;
        if !BOOT_TARGETS.contains(&target.as_str()) {
            return Err(GateError::OtherTarget(crate::text::printable(&target)));
        }
        // A start of our unit that began while the stamp existed still fails, and so does every job that waits for it.
        let until = Instant::now() + SETTLING;
        while Instant::now() < until && manager.state(UNIT).await?.active == "activating" {
            sleep(PAUSE).await;
        }
        manager.start("default.target").await?;
        for unit in [FIRSTBOOT, KUBELET] {
            let state = manager.state(unit).await?;
            if state.is_loaded() {
                return if state.has_job || state.is_running() { Ok(()) } else { Err(GateError::NotStarted(unit)) };
            }
        }
        Err(GateError::NotStarted(FIRSTBOOT))
    }))
}

/// Runs the calls on a runtime made for them. A node with nothing to hold never gets here.
fn run<T>(work: impl Future<Output = Result<T, GateError>>) -> Result<T, GateError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| SystemdError::Unreachable(format!("runtime: {error}")))?;
    runtime.block_on(work)
}
