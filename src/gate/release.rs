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

use super::GateError;
use super::always_held::{always, is_always, is_rebase, is_template};
use super::drop_ins;
use super::retry::{on_any_connection, run};
use super::systemd::{Manager, PAUSE, Systemd, SystemdError};
use super::unverified::Unverified;
use crate::node::units::{FIRSTBOOT, KUBELET, SKEWGUARD};
use crate::node::{ENCAPSULATED_PATH, FileError, OVERRIDE_PATH, Root, STAMP_PATH, is_refused};
use crate::verdict::OverrideWord;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Longest wait for a start of our own unit to end, before the boot is started again.
const SETTLING: Duration = Duration::from_secs(1);

/// The usual targets of a boot. Any other `default.target`, as on a rescue boot, was chosen on
/// purpose.
const BOOT_TARGETS: [&str; 2] = ["multi-user.target", "graphical.target"];

/// Targets for somebody who works on the node alone, however that was entered: `systemd.unit=` and `systemctl
/// rescue` leave `default.target` as it is.
const RESCUE_TARGETS: [&str; 2] = ["rescue.target", "emergency.target"];

/// The first half of letting a refused node through: writes the override for the rest of this boot,
/// makes what comes after the rebase require it, has systemd apply that, and then removes the
/// stamp. A node that is not refused is not touched. It can be repeated, whatever an earlier one has
/// left.
///
/// The override says `warn`, so that what was found stays in the verdict and in the cluster, but
/// does not block any more.
///
/// # Errors
/// A file cannot be examined, written or removed, or systemd cannot be told. What comes after the
/// rebase is then still held, or requires the rebase. About any other unit than those that are
/// always held, that is a doubt and no error.
pub(crate) fn release(root: &Root, systemd: Option<&Systemd>) -> Result<Released, GateError> {
    if !is_held_or_begun(root)? {
        return Ok(Released::NothingToDo);
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
        return Ok(Released::Done { doubt: None });
    };
    // Also those whose drop-in somebody has removed.
    let removed = always().into_iter().filter(|unit| !units.contains(unit));
    let removed: Vec<String> = removed.collect();
    units.extend(removed);
    let deadline = Instant::now() + systemd.whole;
    let doubt = run(on_any_connection(
        systemd,
        deadline,
        async |manager: &Manager<'_>| {
            let unverified = let_through(root, manager, &units).await?;
            root.remove(STAMP_PATH)?;
            let failed = [&units[..], &[SKEWGUARD.to_owned()]].concat();
            for (unit, done) in manager.reset_failed(&failed).await {
                if is_always(&unit) || unit == SKEWGUARD {
                    done?;
                }
            }
            Ok(unverified.text())
        },
    ))?;
    Ok(Released::Done { doubt })
}

/// The outcome of letting a node through.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Released {
    /// It is not refused.
    NothingToDo,
    Done {
        /// The doubt about units that are not always held.
        doubt: Option<String>,
    },
}

/// The node is held, or was let through in this boot, perhaps by an `allow` that did not
/// come to its end.
fn is_held_or_begun(root: &Root) -> Result<bool, FileError> {
    Ok(is_refused(root)?
        || !drop_ins::held_units(root)?.is_empty()
        || (root.exists(ENCAPSULATED_PATH)? && root.exists(OVERRIDE_PATH)?))
}

/// Replaces the drop-ins, and has systemd apply that. A node without a unit that rebases has none
/// to wait for.
async fn let_through(
    root: &Root,
    manager: &Manager<'_>,
    units: &[String],
) -> Result<Unverified, GateError> {
    let rebases = manager.state(FIRSTBOOT).await?.is_loaded();
    let waits = |unit: &str| rebases && !is_rebase(unit);
    let (after, free): (Vec<&String>, Vec<&String>) = units.iter().partition(|unit| waits(unit));
    let written = drop_ins::write(root, after, &drop_ins::release_drop_in())?;
    drop_ins::remove(root, free)?;
    let mut unverified = Unverified::default();
    for (_, error) in &written.failed {
        unverified.about(error);
    }
    let is_written = |unit: &&String| !written.failed.iter().any(|(failed, _)| failed == *unit);
    let loadable = units.iter().filter(|unit| !is_template(unit));
    let loadable: Vec<String> = loadable.filter(is_written).cloned().collect();
    if !not_let_through(manager, &loadable, waits).await?.is_empty() {
        manager.reload().await?;
    }
    for (unit, why) in not_let_through(manager, &loadable, waits).await? {
        let why = match why {
            NotLetThrough::Silent(error) => {
                unverified.silent_about(unit, error);
                continue;
            }
            NotLetThrough::Lacks(_) if drop_ins::is_overruled(root, &unit) => {
                let is = "would start without the OS update";
                GateError::Overruled {
                    unit: unit.clone(),
                    is,
                }
            }
            NotLetThrough::Lacks(missing) => GateError::NotLetThrough {
                unit: unit.clone(),
                missing,
            },
            NotLetThrough::StillHeld => GateError::StillHeld(unit.clone()),
        };
        if is_always(&unit) {
            return Err(why);
        }
        unverified.about(why);
    }
    Ok(unverified)
}

/// The reason that a unit does not count as let through.
enum NotLetThrough {
    /// systemd does not say.
    Silent(SystemdError),
    /// It comes after the rebase, and lacks this dependency on it.
    Lacks(&'static str),
    /// It is the rebase, or there is none, and it requires our unit.
    StillHeld,
}

/// Finds what systemd does not apply yet: units that wait for the rebase require it, and the others
/// require nothing of ours any more.
///
/// # Errors
/// systemd does not say what is with a unit that is always held.
async fn not_let_through(
    manager: &Manager<'_>,
    units: &[String],
    waits: impl Fn(&str) -> bool,
) -> Result<Vec<(String, NotLetThrough)>, GateError> {
    let left = manager.deadline.saturating_duration_since(Instant::now());
    let mut wrong = Vec::new();
    for (unit, state) in manager.states(units, Instant::now() + left / 4).await {
        let why = match state {
            Err(error) if is_always(&unit) => return Err(error.into()),
            Err(error) => Some(NotLetThrough::Silent(error)),
            Ok(state) if waits(&unit) => state.missing_rebase().map(NotLetThrough::Lacks),
            Ok(state) => (state.is_loaded() && state.missing() != Some("Requires"))
                .then_some(NotLetThrough::StillHeld),
        };
        wrong.extend(why.map(|why| (unit, why)));
    }
    Ok(wrong)
}

/// The second half: starts `default.target` again, as one transaction, so that the rebase comes
/// before the kubelet. Returns once the rebase is queued or running; on a node without such a unit,
/// once the kubelet is.
///
/// # Errors
/// systemd cannot be reached or refuses, this boot leads elsewhere than usual, or the rebase was
/// not started.
pub(crate) fn resume(systemd: &Systemd) -> Result<(), GateError> {
    start_boot(systemd, "replace")
}

/// Goes on with a boot that lost its queued jobs with a decision that was stopped. What is queued by
/// now, as for a shutdown, stays.
///
/// # Errors
/// As [`resume`].
pub(crate) fn go_on(systemd: &Systemd) -> Result<(), GateError> {
    start_boot(systemd, "fail")
}

fn start_boot(systemd: &Systemd, mode: &str) -> Result<(), GateError> {
    run(on_any_connection(
        systemd,
        Instant::now() + systemd.whole,
        async |manager: &Manager<'_>| {
            let target = manager.state("default.target").await?.id;
            if !BOOT_TARGETS.contains(&target.as_str()) {
                let target = crate::text::printable(&target);
                return Err(GateError::OtherTarget(format!(
                    "default.target is {target}"
                )));
            }
            for target in RESCUE_TARGETS {
                let state = manager.state(target).await?;
                if state.has_job || state.is_running() {
                    return Err(GateError::OtherTarget(format!("{target} is up")));
                }
            }
            // A start of our unit that began while the stamp existed still fails, and so does every
            // job that waits for it.
            let until = Instant::now() + SETTLING;
            while Instant::now() < until && manager.state(SKEWGUARD).await?.active == "activating" {
                sleep(PAUSE).await;
            }
            manager.start("default.target", mode).await?;
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
