//! A cluster, read from its API server, from files or from a gather, into objects and logs.
//!
//! It knows nothing of policies or of a command line. Failures are facts; what helps has a name, and no words.

pub mod add;
mod clocks;
pub mod cluster;
pub mod connect;
pub mod file;
pub mod files;
#[cfg(test)]
#[path = "../tests/inside.rs"]
mod inside;
pub mod kinds;
pub mod known_by;
pub mod lenient;
pub mod links;
pub mod logs;
pub mod moment;
pub mod names;
pub mod secrets;
pub mod seen;
pub mod trouble;
pub mod unread;

use skewguard_core::{aleph, clock, platform, text, verdict, version};
