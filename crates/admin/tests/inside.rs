//! The tests that look inside: modules of the library.
//!
//! `cargo test -p skewguard-admin --lib inside::SUBJECT::` runs one subject. Where texts are compared
//! word for word, `SKEWGUARD_BLESS=1` before it writes the expected ones again: read the diff.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr
)]

mod core;
