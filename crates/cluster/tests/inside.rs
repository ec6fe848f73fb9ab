//! The tests of what the library makes of objects: a module of it, as they ask its own types.
//!
//! `cargo test --workspace --lib inside::cluster::` runs them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod cluster;
