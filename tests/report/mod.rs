//! What is reported, when, and what is recorded of it: the pure parts, and the driver with a clock
//! and a network made for the test.

mod answers;
mod certificate;
mod driver;
mod identities;
mod identity;
mod ledger;
mod manifests;
mod names;
mod objects;
mod prune;
mod sample;
mod schedule;
mod schemas;
mod stage;
mod stall;
mod unit;
mod untold;
