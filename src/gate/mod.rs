//! The gate: holds the rebase and the kubelet of a refused node back, and lets them go again.
//!
//! What to hold is decided in [`plan`] (pure). [`hold`] writes runtime drop-ins that make those units require `skewguard.service`, has systemd
//! read them, checks over D-Bus that they took effect, and writes the stamp that makes `skewguard.service` fail. So a hold that is not
//! complete holds nothing: without the stamp the service succeeds, and whatever requires it starts.

mod hold;
pub mod plan;
mod systemd;

pub use hold::{GateError, hold, is_refused, release, resume};
pub use plan::STAMP_PATH;
pub use systemd::Systemd;
