//! What is reported, when, and what is recorded of it: the pure parts, and the driver with a clock and a network made for the test.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "../support/apiserver/admission.rs"]
#[allow(dead_code, unreachable_pub)] // It is the test API server's, which uses all of it.
mod admission;
mod answers;
mod certificate;
mod delivery;
mod driver;
mod identity;
mod kept;
mod manifests;
mod names;
mod objects;
mod prune;
mod sample;
#[path = "../support/apiserver/schema.rs"]
#[allow(dead_code, unreachable_pub)] // It is the test API server's, which uses all of it.
mod schema;
mod schemas;
#[path = "../support/script.rs"]
mod script;
mod stage;
mod state;
mod unit;
