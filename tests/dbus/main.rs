//! The tier "dbus": the gate against a private, real dbus-daemon, with a stand-in for systemd on it.

#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod bus;
mod gate_hold;
mod gate_release;
mod gate_trouble;
mod identity;
mod node;
#[path = "../support/script.rs"]
mod script;
mod systemd1;
