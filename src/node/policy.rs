//! Finds the policy, and compares the one on disk with the one that was served.

use super::machine_config::SERVED_PATH;
use super::{FileError, Root, sha256_hex};
use crate::policy::{MAX_BYTES, POLICY_PATH};
use crate::verdict::PolicyInput;

/// Finds the policy. The served config is the authority, if it still counts; a file on
/// disk that differs adds a warning. Where the served config cannot be read, the file on disk is
/// not used instead: it may hold another policy. Afterwards the cluster updates the file on disk
/// only.
pub(super) fn find(
    root: &Root,
    served: Result<Option<Vec<u8>>, FileError>,
    warnings: &mut Vec<String>,
) -> PolicyInput {
    let mut unreadable = |path: &str, error: FileError| {
        warnings.push(error.to_string());
        PolicyInput::Invalid {
            path: path.to_owned(),
            digest: None,
            error: error.problem.to_string(),
        }
    };
    let served = match served {
        Ok(served) => served,
        Err(error) => return unreadable(SERVED_PATH, error),
    };
    match (served, root.read(POLICY_PATH, MAX_BYTES)) {
        (None, Ok(None)) => PolicyInput::Absent,
        (None, Ok(Some(bytes))) => input(POLICY_PATH, &bytes),
        (None, Err(error)) => unreadable(POLICY_PATH, error),
        (Some(served), Ok(Some(disk))) if served == disk => input(POLICY_PATH, &disk),
        (Some(served), disk) => {
            let what = match disk {
                Ok(Some(disk)) => format!(
                    "{POLICY_PATH}: differs from the served policy (it has {})",
                    digest(&disk)
                ),
                Ok(None) => format!("{POLICY_PATH}: is missing"),
                Err(error) => error.to_string(),
            };
            warnings.push(format!("{what}; the one in {SERVED_PATH} is used"));
            input(SERVED_PATH, &served)
        }
    }
}

/// Parses a policy's bytes.
pub fn input(path: &str, bytes: &[u8]) -> PolicyInput {
    PolicyInput::new(path, digest(bytes), bytes)
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", sha256_hex(bytes))
}
