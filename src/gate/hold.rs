//! Holding a refused node back, and letting it go again.

use super::plan::{self, OSUPDATE_TARGET, RUNTIME_UNITS, STAMP_PATH, UNIT};
use super::systemd::{Manager, Systemd, SystemdError, daemon_reload};
use crate::node::{FileError, OVERRIDE_PATH, Root};
use crate::verdict::{GateStatus, OverrideWord};
use std::future::Future;
use std::time::Duration;
use tokio::time::Instant;

/// Most entries of the runtime unit directory that are looked at.
const ENTRIES_MAX: usize = 4096;

/// Set apart for taking back what was done, when all other time is used up.
const UNDO: Duration = Duration::from_secs(1);

/// Why a node could not be held, or not be let through.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// A drop-in, the override or the stamp cannot be written or removed.
    #[error(transparent)]
    File(#[from] FileError),
    /// systemd did not do it.
    #[error("systemd: {0}")]
    Systemd(#[from] SystemdError),
    /// The drop-in is there and systemd took no notice of it.
    #[error("{unit} is not held: its {missing} does not name {UNIT}")]
    NotHeld {
        /// The unit.
        unit: String,
        /// What it lacks.
        missing: plan::Missing,
    },
    /// The machinery for talking to systemd cannot be set up.
    #[error("runtime: {0}")]
    Runtime(#[source] std::io::Error),
}

/// Holds the node: drop-ins, reload, verification, stop of what already runs, and the stamp last. Without `systemd` (another root than the
/// running system's) only the files are written.
///
/// A node that cannot be held is left as it was, except that a boot that is refused already stays refused, and that what ran although it was to
/// wait for us may have been stopped. Never fails: the status says what was done.
pub fn hold(root: &Root, systemd: Option<&Systemd>) -> GateStatus {
    let refused_before = is_refused(root);
    let mut reloaded = false;
    let held = match systemd {
        None => hold_files(root),
        Some(systemd) => run(hold_live(root, systemd, &mut reloaded)),
    };
    match held {
        Ok(status) => status,
        Err(error) if refused_before => {
            let error = format!("an earlier run held the node, this one could not make sure: {error}");
            GateStatus { held: true, units: Vec::new(), error: Some(error) }
        }
        Err(error) => {
            undo(root, systemd.filter(|_| reloaded));
            GateStatus { held: false, units: Vec::new(), error: Some(error.to_string()) }
        }
    }
}

/// Whether this boot is refused: the stamp is there. In doubt it is not, as `test -e` would say.
pub fn is_refused(root: &Root) -> bool {
    root.exists(STAMP_PATH).unwrap_or(false)
}

fn hold_files(root: &Root) -> Result<GateStatus, GateError> {
    let units = plan::to_hold(&[]);
    write_drop_ins(root, &units)?;
    root.write(STAMP_PATH, b"", 0o644)?;
    Ok(GateStatus { held: true, units, error: None })
}

async fn hold_live(root: &Root, systemd: &Systemd, reloaded: &mut bool) -> Result<GateStatus, GateError> {
    let manager = Manager::connect(systemd).await?;
    // Without this answer the rebase and the kubelet are still held, only some of the network's services are not.
    let (ordered_after, error) = match manager.ordered_after(OSUPDATE_TARGET).await {
        Ok(units) => (units, None),
        Err(error) => (Vec::new(), Some(format!("services ordered after {OSUPDATE_TARGET} may not be held: {error}"))),
    };
    let units = plan::to_hold(&ordered_after);
    write_drop_ins(root, &units)?;
    manager.reload().await?;
    *reloaded = true;
    let mut held = Vec::new();
    let mut running = Vec::new();
    for unit in units {
        let state = manager.state(&unit).await?;
        if !state.is_loaded() {
            continue;
        }
        if let Some(missing) = state.missing() {
            return Err(GateError::NotHeld { unit, missing });
        }
        if state.is_running() {
            running.push(unit.clone());
        }
        held.push(unit);
    }
    for unit in &running {
        manager.stop(unit).await?;
    }
    root.write(STAMP_PATH, b"", 0o644)?;
    Ok(GateStatus { held: true, units: held, error })
}

fn write_drop_ins(root: &Root, units: &[String]) -> Result<(), FileError> {
    units.iter().try_for_each(|unit| root.write(&plan::drop_in_path(unit), plan::drop_in().as_bytes(), 0o644))
}

/// Takes back what a failed attempt left; `systemd` where it has read the drop-ins. What cannot be taken back does no harm: without the stamp
/// our unit succeeds, and what requires it starts.
fn undo(root: &Root, systemd: Option<&Systemd>) {
    let _ = root.remove(STAMP_PATH);
    let _ = remove_drop_ins(root);
    if let Some(systemd) = systemd {
        let _ = run(async { Ok(daemon_reload(systemd, Instant::now() + UNDO).await?) });
    }
}

/// Removes every drop-in of ours, whichever unit it is for. One that cannot be removed does not keep the others.
fn remove_drop_ins(root: &Root) -> Result<(), FileError> {
    let mut result = Ok(());
    for unit in held_units(root)? {
        match root.remove(&plan::drop_in_path(&unit)) {
            // Drop-ins of others keep the directory.
            Ok(_) => drop(root.remove_dir(&format!("{RUNTIME_UNITS}/{unit}.d"))),
            Err(error) => result = Err(error),
        }
    }
    result
}

/// The units that have a drop-in of ours.
fn held_units(root: &Root) -> Result<Vec<String>, FileError> {
    let mut units = Vec::new();
    for name in root.list(RUNTIME_UNITS, ENTRIES_MAX)? {
        let Some(unit) = name.to_str().and_then(|name| name.strip_suffix(".d")) else { continue };
        // What cannot be looked at is no directory of ours.
        if plan::is_unit_name(unit) && root.exists(&plan::drop_in_path(unit)).unwrap_or(false) {
            units.push(unit.to_owned());
        }
    }
    Ok(units)
}

/// The first half of letting a refused node through: the override for the rest of this boot, no stamp, no drop-ins, and systemd told. Whether
/// there was anything to release; a node that is not refused is not touched.
///
/// The override says `warn`: the finding stays on record, in the verdict and in the cluster, and no longer blocks.
///
/// # Errors
/// A file cannot be written or removed, or systemd cannot be told. Then the node may still be held.
pub fn release(root: &Root, systemd: Option<&Systemd>) -> Result<bool, GateError> {
    let units = held_units(root)?;
    if !is_refused(root) && units.is_empty() {
        return Ok(false);
    }
    // First of all: when our unit runs again, it must not refuse again.
    root.write(OVERRIDE_PATH, format!("{}\n", OverrideWord::Warn.as_str()).as_bytes(), 0o644)?;
    root.remove(STAMP_PATH)?;
    remove_drop_ins(root)?;
    if let Some(systemd) = systemd {
        run(async {
            let manager = Manager::connect(systemd).await?;
            manager.reload().await?;
            for unit in units.iter().map(String::as_str).chain([UNIT]) {
                manager.reset_failed(unit).await?;
            }
            Ok(())
        })?;
    }
    Ok(true)
}

/// The second half: `default.target` again, as one transaction, so that the rebase comes before the kubelet. The kubelet alone would join on the
/// old OS.
///
/// # Errors
/// systemd cannot be reached or refuses.
pub fn resume(systemd: &Systemd) -> Result<(), GateError> {
    run(async { Ok(Manager::connect(systemd).await?.start("default.target").await?) })
}

/// Runs the few calls on a runtime of their own; a node with nothing to hold never comes here.
fn run<T>(work: impl Future<Output = Result<T, GateError>>) -> Result<T, GateError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(GateError::Runtime)?;
    runtime.block_on(work)
}
