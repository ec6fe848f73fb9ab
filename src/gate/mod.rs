//! The gate: holds back the rebase and the kubelet of a refused node, and lets them go again.
//!
//! [`plan`] decides what to hold (pure). [`hold`] writes runtime drop-ins that make those units require `skewguard.service`, has systemd
//! read them, verifies over D-Bus that they apply, and last writes the stamp that makes `skewguard.service` fail. An incomplete hold holds
//! nothing: without the stamp the service succeeds, and the units that require it start.

mod hold;
pub mod plan;
mod systemd;

pub use hold::{GateError, hold, is_refused, release, resume};
pub use plan::STAMP_PATH;
pub use systemd::Systemd;
