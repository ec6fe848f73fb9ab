//! A cluster, read from its API server, from files or from a gather, into objects and logs.
//!
//! It knows nothing of policies, of words for a person, or of a command line.

pub mod add;
pub mod cluster;
pub mod connect;
pub mod file;
pub mod files;
pub mod index;
pub mod kinds;
pub mod known_by;
pub mod lenient;
pub mod logs;
pub mod moment;
pub mod names;
pub mod secrets;
pub mod unread;

use skewguard_core::{aleph, clock, platform, text, verdict, version};
