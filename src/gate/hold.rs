//! Holding a refused node back, and letting it go again.

use super::plan::{self, FIRSTBOOT, KUBELET, Known, RUNTIME_UNITS, STAMP_PATH, Step, UNIT, UnitState};
use super::systemd::{Manager, PAUSE, Route, Systemd, SystemdError};
use crate::node::{FileError, OVERRIDE_PATH, Root};
use crate::verdict::{GateStatus, OverrideWord};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Unit files of the node's own configuration: where Ignition and the machine config daemon write them.
const UNIT_FILES: &str = "/etc/systemd/system";

const UNIT_FILE_MAX: u64 = 64 * 1024;

const ENTRIES_MAX: usize = 4096;

/// Of all the time there is, set apart for stopping what already runs.
const STOPPING: Duration = Duration::from_secs(3);

/// Set apart for taking back what was done, when all other time is used up.
const UNDO: Duration = Duration::from_secs(1);

/// Waited before every way to systemd is tried again, a little longer each time: about as long as systemd takes to execute itself anew.
const PAUSES: [Duration; 4] =
    [Duration::from_millis(250), Duration::from_millis(500), Duration::from_millis(1000), Duration::from_millis(2000)];

/// How long our own unit may take to end a start that has begun, before the boot is set going again.
const SETTLING: Duration = Duration::from_secs(1);

/// What a boot that goes on leads to. Any other `default.target`, as on a rescue boot, is somebody's choice.
const BOOT_TARGETS: [&str; 2] = ["multi-user.target", "graphical.target"];

/// Why a node could not be held, or not be let through.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("systemd: {0}")]
    Systemd(#[from] SystemdError),
    /// The drop-in is there and systemd took no notice of it.
    #[error("{unit} is not held: its {missing} does not name {UNIT}")]
    NotHeld { unit: String, missing: &'static str },
    /// The boot leads elsewhere.
    #[error("default.target is {0}, so nothing was started")]
    OtherTarget(String),
    /// The boot was asked to go on, and does not.
    #[error("{0} was not started")]
    NotStarted(&'static str),
}

/// Holds the node: drop-ins, reload, verification, stop of what already runs, and the stamp. Without `systemd` (another root than the running
/// system's) only the files are written. Where all of this was done before it is only verified.
///
/// A node that cannot be held is left as it was, except that a boot that is refused already stays refused. Never fails: the status says what
/// was done. Once all is verified the stamp is written, even if the connection to systemd is lost then.
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

/// Whether this boot is refused: the stamp is there. In doubt it is not, as `test -e` would say.
pub fn is_refused(root: &Root) -> bool {
    root.exists(STAMP_PATH).unwrap_or(false)
}

fn hold_files(root: &Root) -> Result<GateStatus, GateError> {
    let units = plan::always();
    write_drop_ins(root, &units)?;
    stamp(root)?;
    Ok(GateStatus { held: true, units, error: None })
}

struct Verified {
    held: Vec<String>,
    running: Vec<String>,
    error: Option<String>,
}

async fn hold_live(root: &Root, systemd: &Systemd, reloaded: &Cell<bool>) -> Result<GateStatus, GateError> {
    let end = Instant::now() + systemd.whole;
    let deadline = end - STOPPING.min(systemd.whole / 4);
    let work = async |manager: &Manager<'_>| verified(root, manager, reloaded).await;
    let Verified { held, running, mut error } = on_any_connection(systemd, deadline, work).await?;
    // From here on the node is held, and only a stamp that cannot be written lets it go.
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

/// Holds, as far as systemd is concerned, and makes sure.
async fn verified(root: &Root, manager: &Manager<'_>, reloaded: &Cell<bool>) -> Result<Verified, GateError> {
    let (mut known, mut unsure) = (Known::new(), BTreeMap::new());
    let mut units = loop {
        match plan::to_hold(&known) {
            Step::Hold(units) => break units,
            Step::Look(unit) => {
                let state = match manager.state(&unit).await {
                    // systemd may refuse to tell us about other units.
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

/// Adds the services that systemd has not loaded, and whose files say that they wait for what is held.
fn add_unloaded(root: &Root, units: &mut Vec<String>, known: &Known) {
    // Where it cannot be listed, nothing can be said of what is not loaded.
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

/// Does `work` on one connection to systemd after the other, until one of them answers: the bus; a new one where the bus can be had, for systemd
/// may have done meanwhile what it was slow to answer; systemctl; and then all again, for a systemd that executes itself anew has none for a moment.
/// What systemd refuses is asked once on each way.
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

/// Writes the drop-ins that are not there; whether there were any.
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

/// Takes back what a failed attempt left; `systemd` where it has read the drop-ins. A drop-in that stays does no harm: without the stamp our
/// unit succeeds, and what requires it starts.
fn undo(root: &Root, systemd: Option<&Systemd>) {
    let _ = root.remove(STAMP_PATH);
    let _ = drop_ins(root).and_then(|units| remove_drop_ins(root, &units));
    if let Some(systemd) = systemd {
        let work = async |manager: &Manager<'_>| Ok(manager.reload().await?);
        let _ = run(on_any_connection(systemd, Instant::now() + UNDO, work));
    }
}

/// The units that have a drop-in of ours; one that cannot be looked for counts.
fn drop_ins(root: &Root) -> Result<Vec<String>, FileError> {
    let names = root.list(RUNTIME_UNITS, ENTRIES_MAX)?;
    let units = names.iter().filter_map(|name| name.to_str()?.strip_suffix(".d")).filter(|unit| plan::is_unit_name(unit));
    Ok(units.filter(|unit| root.exists(&plan::drop_in_path(unit)).unwrap_or(true)).map(str::to_owned).collect())
}

/// Removes our drop-ins of these units. One that cannot be removed does not keep the others.
fn remove_drop_ins(root: &Root, units: &[String]) -> Result<(), FileError> {
    let mut done = Ok(());
    for unit in units {
        match root.remove(&plan::drop_in_path(unit)) {
            // Drop-ins of others keep the directory.
            Ok(_) => drop(root.remove_dir(&format!("{RUNTIME_UNITS}/{unit}.d"))),
            failed => done = failed.map(drop),
        }
    }
    done
}

/// The first half of letting a refused node through: the override for the rest of this boot, no stamp, no drop-ins, and systemd told. Whether
/// there was anything to release; a node that is not refused is not touched.
///
/// The override says `warn`: the finding stays on record, in the verdict and in the cluster, and no longer blocks.
///
/// # Errors
/// A file cannot be looked at, written or removed, or systemd cannot be told. Then the node may still be held.
pub fn release(root: &Root, systemd: Option<&Systemd>) -> Result<bool, GateError> {
    let units = drop_ins(root)?;
    if units.is_empty() && !root.exists(STAMP_PATH)? {
        return Ok(false);
    }
    // First, so that our unit does not refuse again when it next runs.
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

/// The second half: `default.target` again, as one transaction, so that the rebase comes before the kubelet. The kubelet alone would join on the
/// old OS. Returns when the rebase is on its way, or the kubelet where a node has no such unit.
///
/// # Errors
/// systemd cannot be reached or refuses; the boot leads to another target than the usual ones, or goes on without the rebase.
pub fn resume(systemd: &Systemd) -> Result<(), GateError> {
    run(on_any_connection(systemd, Instant::now() + systemd.whole, async |manager: &Manager<'_>| {
        let target = manager.state("default.target").await?.id;
        if !BOOT_TARGETS.contains(&target.as_str()) {
            return Err(GateError::OtherTarget(crate::text::printable(&target)));
        }
        // A start of our unit that began while the stamp was there still fails, and with it every job queued behind it.
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

/// Runs the few calls on a runtime of their own; a node with nothing to hold never comes here.
fn run<T>(work: impl Future<Output = Result<T, GateError>>) -> Result<T, GateError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| SystemdError::Unreachable(format!("runtime: {error}")))?;
    runtime.block_on(work)
}
