//! File contents in an Ignition config: data URLs, compression, verification (Ignition specs 2.2 and 3.0 to 3.6).

use crate::gzip::{self, Unpack};
use crate::text::hex;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use sha2::{Digest, Sha256, Sha512};
use std::borrow::Cow;

/// Largest policy read, decompressed, in bytes.
pub(crate) const MAX_POLICY: u64 = crate::policy::MAX_BYTES;

/// Why a file's contents in a served config could not be had.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ContentError {
    /// The config itself.
    #[error("is no MachineConfig: {0}")]
    Json(String),
    /// `http:`, `s3:` and the like: what came from there is not in the config.
    #[error("carries the policy as another URL than a data URL")]
    NotADataUrl,
    /// The data URL does not decode.
    #[error("carries the policy in a data URL that does not decode: {0}")]
    Encoding(&'static str),
    /// Larger than a policy can be.
    #[error("carries a policy of more than {MAX_POLICY} bytes")]
    TooLarge,
    /// A compression other than gzip.
    #[error("carries the policy in an unknown compression")]
    Compression,
    /// A hash function other than sha256 and sha512, or no hash.
    #[error("carries the policy with a verification hash of unknown form")]
    HashForm,
    /// Not the bytes that were meant.
    #[error("carries a policy that does not match its verification hash")]
    Hash,
}

/// `contents` of a file.
#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Source<'a> {
    #[serde(default, borrow)]
    source: Option<Text<'a>>,
    #[serde(default, borrow)]
    compression: Option<Text<'a>>,
    #[serde(default, borrow)]
    verification: Option<Verification<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Verification<'a> {
    #[serde(default, borrow)]
    hash: Option<Text<'a>>,
}

/// serde borrows a `Cow` only where it stands alone.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl Source<'_> {
    /// The file's bytes. No source is an empty file, as in Ignition.
    pub(super) fn bytes(&self) -> Result<Vec<u8>, ContentError> {
        let set = |text: &'_ Option<Text<'_>>| text.as_ref().map(|text| text.0.to_string()).filter(|text| !text.is_empty());
        let raw = match &self.source {
            Some(source) if !source.0.is_empty() => decode(&source.0)?,
            _ => Vec::new(),
        };
        let bytes = match set(&self.compression).as_deref() {
            None => raw,
            Some("gzip") => gunzip(&raw)?,
            Some(_) => return Err(ContentError::Compression),
        };
        if bytes.len() as u64 > MAX_POLICY {
            return Err(ContentError::TooLarge);
        }
        if let Some(hash) = self.verification.as_ref().and_then(|verification| set(&verification.hash)) {
            verify(&bytes, &hash)?;
        }
        Ok(bytes)
    }
}

/// Decodes `data:[mediatype][;base64],DATA` (RFC 2397).
fn decode(url: &str) -> Result<Vec<u8>, ContentError> {
    let rest = url.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("data:")).and_then(|_| url.get(5..));
    let rest = rest.ok_or(ContentError::NotADataUrl)?;
    let (kind, data) = rest.split_once(',').ok_or(ContentError::Encoding("there is no comma"))?;
    let bytes: Vec<u8> = percent_encoding::percent_decode_str(data).collect();
    if kind.rsplit(';').next().is_some_and(|last| last.eq_ignore_ascii_case("base64")) {
        STANDARD.decode(bytes).map_err(|_| ContentError::Encoding("it is not base64"))
    } else {
        Ok(bytes)
    }
}

fn gunzip(bytes: &[u8]) -> Result<Vec<u8>, ContentError> {
    gzip::unpack(bytes, MAX_POLICY).map_err(|error| match error {
        Unpack::Broken => ContentError::Encoding("it is not gzip"),
        Unpack::TooLarge => ContentError::TooLarge,
    })
}

/// Checks `sha512-HEX` or `sha256-HEX`, of the decompressed bytes.
fn verify(bytes: &[u8], hash: &str) -> Result<(), ContentError> {
    let (function, want) = hash.split_once('-').ok_or(ContentError::HashForm)?;
    let have = match function {
        "sha512" => hex(&Sha512::digest(bytes)),
        "sha256" => hex(&Sha256::digest(bytes)),
        _ => return Err(ContentError::HashForm),
    };
    if want.eq_ignore_ascii_case(&have) { Ok(()) } else { Err(ContentError::Hash) }
}
