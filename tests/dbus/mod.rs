//! The tier "dbus": the gate against a private, real dbus-daemon, with a stand-in for systemd on
//! it.

mod ask;
mod bus;
mod gate_hold;
mod gate_release;
mod gate_trouble;
mod node;
mod oldest;
mod systemd1;
