//! The gate: holds back the rebase and the kubelet of a refused node, and lets them go again.
//!
//! [`plan`] decides what to hold (pure). [`hold`] writes runtime drop-ins that make those units
//! require `skewguard.service`, has systemd read them, verifies over D-Bus that they apply, and
//! last writes the stamp that makes `skewguard.service` fail. The hold stands once the units that
//! are always held are verified; any other one that cannot be held is a doubt that is said. Short
//! of that it holds nothing: without the stamp the service succeeds, and the units that require it
//! start.
//!
//! [`Memory`] is what outlives the boot: the record and the refusal are written to /etc before the
//! hold, and to /var after it; [`finish`] does what a run that was cut off has left undone.
//!
//! [`release`] goes the other way: it first makes what comes after the rebase require the rebase,
//! and only then takes the stamp away. So at no moment, and however it ends, can a kubelet start on
//! the old OS.

pub(crate) mod always_held;
mod ask;
mod drop_ins;
mod first_run;
mod hold;
pub(crate) mod plan;
mod private;
mod release;
mod retry;
mod systemd;
mod unit_state;
mod unverified;

use crate::node::FileError;
use crate::node::units::{FIRSTBOOT, SKEWGUARD};
pub(crate) use ask::ask;
pub(crate) use drop_ins::{drop_in_of_an_admin, held_units, is_overruled};
pub(crate) use first_run::{Memory, finish};
pub(crate) use hold::{HoldChange, clear, hold, is_refused, left_behind, restore_hold};
pub(crate) use plan::UnitStates;
pub(crate) use release::{Released, go_on, release, resume};
pub(crate) use systemd::Systemd;
use systemd::SystemdError;
pub(crate) use unit_state::UnitState;

/// The reason that a node could not be held, or not be let through.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GateError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("systemd: {0}")]
    Systemd(#[from] SystemdError),
    /// The drop-in is written, but systemd does not apply it.
    #[error("{unit} is not held: its {missing} does not name {}", SKEWGUARD)]
    NotHeld { unit: String, missing: &'static str },
    /// The rebase has begun. Stopped in the middle, it may leave neither the old OS nor the new
    /// one.
    #[error("{} has begun and is not interrupted", FIRSTBOOT)]
    HasBegun,
    /// The config of a first boot is there, and systemd knows no unit that would update the OS.
    #[error(
        "{} is not loaded, so it is not known what updates the OS, and that is not held",
        FIRSTBOOT
    )]
    NoRebase,
    /// The drop-in is replaced, but systemd does not apply that.
    #[error(
        "{unit} would start without the OS update: its {missing} does not name {}",
        FIRSTBOOT
    )]
    NotLetThrough { unit: String, missing: &'static str },
    /// The drop-in is removed, but systemd does not apply that.
    #[error("{0} is still held")]
    StillHeld(String),
    /// systemd does not apply the drop-in, because it reads an admin's instead.
    #[error("{unit} {is}: {} replaces the drop-in of skewguard; to change that, remove it", drop_in_of_an_admin(.unit))]
    Overruled { unit: String, is: &'static str },
    /// This boot leads elsewhere than usual.
    #[error("{0}, so nothing was started")]
    OtherTarget(String),
    /// systemd was asked to go on with the boot, but does not.
    #[error("{0} was not started")]
    NotStarted(&'static str),
}
