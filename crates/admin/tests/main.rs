//! The tests from outside: one program, a module for each subject (docs/dev/architecture.md, "Where
//! the tests are"). `inside.rs` has the others.
//!
//! `cargo test -p skewguard-admin --test it SUBJECT::` runs one subject. Where texts are compared word
//! for word, `SKEWGUARD_BLESS=1` before it writes the expected ones again: read the diff.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr
)]

mod agree;
mod alerts;
mod audit;
mod line;
mod lives;
mod mistakes;
mod policy;
mod render;
mod screens;
#[allow(dead_code)] // The agent's tests use the rest.
#[path = "../../../tests/support/mod.rs"]
mod support;
mod why;
