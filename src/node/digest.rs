//! Digests of what is read.

use crate::text::hex;
use sha2::{Digest, Sha256};

/// SHA-256, in hex.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
