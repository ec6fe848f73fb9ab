//! What is reported, when, and what is kept of it: pure parts, and the driver with a clock and a network of its own.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod answers;
mod certificate;
mod delivery;
mod driver;
mod names;
mod objects;
mod sample;
mod state;
