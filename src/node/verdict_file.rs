//! The verdict as files, for the report, for scripts and for people.

use super::{FileError, Problem, Root};
use crate::verdict::Verdict;

/// This boot's verdict.
pub const RUN_VERDICT_PATH: &str = "/run/skewguard/verdict.json";

/// The last verdict, of whichever boot.
pub const KEPT_VERDICT_PATH: &str = "/var/lib/skewguard/verdict.json";

/// Writes one of the verdict files, whole or not at all. That of a node that goes on is not waited for until it is on the disk: the boot would
/// wait with it.
///
/// # Errors
/// The kernel says no; then the file is what it was.
pub fn save_verdict(root: &Root, path: &str, verdict: &Verdict) -> Result<(), FileError> {
    let mut json =
        serde_json::to_vec_pretty(verdict).map_err(|error| FileError { path: path.to_owned(), problem: Problem::Io(error.into()) })?;
    json.push(b'\n');
    if verdict.blocks() { root.write(path, &json, 0o644) } else { root.write_soon(path, &json, 0o644) }
}
