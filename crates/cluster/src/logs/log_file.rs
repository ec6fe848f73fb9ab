//! A log of a file (pure).

use std::path::PathBuf;

/// A log that was found.
#[derive(Debug)]
pub struct LogFile {
    pub(super) kind: Log,
    /// It is whole, and was read when the objects of its gather were.
    pub(super) is_of_now: bool,
    pub(super) gather: Option<PathBuf>,
    /// Bytes that are read: the first.
    pub(super) most: u64,
}

/// A log that says something here.
#[derive(Debug)]
pub enum Log {
    /// Of the machine-config-server's pod of this name.
    Server(String),
    Approver,
    /// Of HyperShift's ignition server: its namespace, where the path has one, and its pod.
    Ignition(String, String),
}
