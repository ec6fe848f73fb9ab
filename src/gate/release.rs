//! Lets a refused node through.
//!
//! At every moment a kubelet that somebody starts either fails or waits for a rebase that is
//! started with it:
//!
//! | what was done last | what comes after the rebase | the rebase |
//! |---|---|---|
//! | nothing, the override, some of the files | is held | is held |
//! | systemd has read the files | requires the rebase | starts |
//! | the stamp is removed, the boot is started again | requires the rebase | starts, or has begun |
//!
//! systemd applies all files at once. If somebody else has it read some of them earlier, each unit
//! is as in the first or in the second line, and a start of the kubelet waits for a rebase, or
//! fails with one that is held.

use super::drop_ins;
use super::plan::{self, FIRSTBOOT, KUBELET, UNIT};
use super::retry::{on_any_connection, run};
use super::systemd::{Manager, PAUSE, Systemd};
use super::{GateError, STAMP_PATH};
use crate::node::{ENCAPSULATED_PATH, FileError, OVERRIDE_PATH, Root};
use crate::verdict::OverrideWord;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long to wait for a start of our own unit to end, before the boot is started again.
const SETTLING: Duration = Duration::from_secs(1);

/// The usual targets of a boot. Any other `default.target`, as on a rescue boot, was chosen on
/// purpose.
const BOOT_TARGETS: [&str; 2] = ["multi-user.target", "graphical.target"];

/// The first half of letting a refused node through: writes the override for the rest of this boot,
/// makes what comes after the rebase require it, has systemd apply that, and then removes the
/// stamp. Returns whether there was anything to do; a node that is not refused is not touched. It
/// can be repeated, whatever an earlier one has left.
///
/// The override says `warn`, so that what was found stays in the verdict and in the cluster, but
/// does not block any more.
///
/// # Errors
/// A file cannot be examined, written or removed, or systemd cannot be told. What comes after the
/// rebase is then still held, or requires the rebase.
pub(crate) fn release(root: &Root, systemd: Option<&Systemd>) -> Result<bool, GateError> {
    if !is_held_or_begun(root)? {
        return Ok(false);
    }
    let mut units = drop_ins::list(root)?;
    // First, so that our unit does not refuse the node again when it runs next.
    root.write(
        OVERRIDE_PATH,
        format!("{}\n", OverrideWord::Warn.as_str()).as_bytes(),
        0o644,
    )?;
    let Some(systemd) = systemd else {
        drop_ins::remove(root, &units)?;
        root.remove(STAMP_PATH)?;
        return Ok(true);
    };
    // Also those whose drop-in somebody has removed.
    units.extend(plan::always());
    units.sort();
    units.dedup();
    let deadline = Instant::now() + systemd.whole;
    run(on_any_connection(
        systemd,
        deadline,
        async |manager: &Manager<'_>| {
            let_through(root, manager, &units).await?;
            root.remove(STAMP_PATH)?;
            for unit in units.iter().map(String::as_str).chain([UNIT]) {
                manager.reset_failed(unit).await?;
            }
            Ok(())
        },
    ))?;
    Ok(true)
}

/// Whether the node is held, or was let through in this boot, perhaps by an `allow` that did not
/// come to its end.
fn is_held_or_begun(root: &Root) -> Result<bool, FileError> {
    Ok(root.exists(STAMP_PATH)?
        || !drop_ins::held_units(root)?.is_empty()
        || (root.exists(ENCAPSULATED_PATH)? && root.exists(OVERRIDE_PATH)?))
}

/// Replaces the drop-ins, and has systemd apply that. A node without a unit that rebases has none
/// to wait for.
async fn let_through(
    root: &Root,
    manager: &Manager<'_>,
    units: &[String],
) -> Result<(), GateError> {
    let rebases = manager.state(FIRSTBOOT).await?.is_loaded();
    let (after, free): (Vec<&String>, Vec<&String>) = units
        .iter()
        .partition(|unit| rebases && !plan::is_rebase(unit));
    drop_ins::write(root, after.iter().copied(), &plan::drop_in_let_through())?;
    drop_ins::remove(root, free.iter().copied())?;
    if not_let_through(manager, &after, &free).await?.is_some() {
        manager.reload().await?;
    }
    match not_let_through(manager, &after, &free).await? {
        Some(GateError::NotLetThrough { unit, .. }) if drop_ins::is_overruled(root, &unit) => {
            let is = "would start without the OS update";
            Err(GateError::Overruled { unit, is })
        }
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// What systemd does not apply yet: `after` come after the rebase, `free` require nothing of ours
/// any more.
async fn not_let_through(
    manager: &Manager<'_>,
    after: &[&String],
    free: &[&String],
) -> Result<Option<GateError>, GateError> {
    for unit in after.iter().filter(|unit| !plan::is_template(unit)) {
        if let Some(missing) = manager.state(unit).await?.missing_rebase() {
            let unit = (*unit).clone();
            return Ok(Some(GateError::NotLetThrough { unit, missing }));
        }
    }
    for unit in free.iter().filter(|unit| !plan::is_template(unit)) {
        let state = manager.state(unit).await?;
        if state.is_loaded() && state.missing() != Some("Requires") {
            return Ok(Some(GateError::StillHeld((*unit).clone())));
        }
    }
    Ok(None)
}

/// The second half: starts `default.target` again, as one transaction, so that the rebase comes
/// before the kubelet. Returns once the rebase is queued or running; on a node without such a unit,
/// once the kubelet is.
///
/// # Errors
/// systemd cannot be reached or refuses, this boot has another target than usual, or the rebase was
/// not started.
pub(crate) fn resume(systemd: &Systemd) -> Result<(), GateError> {
    run(on_any_connection(
        systemd,
        Instant::now() + systemd.whole,
        async |manager: &Manager<'_>| {
            let target = manager.state("default.target").await?.id;
            if !BOOT_TARGETS.contains(&target.as_str()) {
                return Err(GateError::OtherTarget(crate::text::printable(&target)));
            }
            // A start of our unit that began while the stamp existed still fails, and so does every
            // job that waits for it.
            let until = Instant::now() + SETTLING;
            while Instant::now() < until && manager.state(UNIT).await?.active == "activating" {
                sleep(PAUSE).await;
            }
            manager.start("default.target").await?;
            for unit in [FIRSTBOOT, KUBELET] {
                let state = manager.state(unit).await?;
                if state.is_loaded() {
                    return if state.has_job || state.is_running() {
                        Ok(())
                    } else {
                        Err(GateError::NotStarted(unit))
                    };
                }
            }
            Err(GateError::NotStarted(FIRSTBOOT))
        },
    ))
}
