//! The contents of a file in an Ignition config: data URLs, compression, verification (Ignition
//! specs 2.2 and 3.0 to 3.6).

use crate::gzip::{self, Unpack};
use crate::node::sha256_hex;
use crate::policy::MAX_BYTES;
use crate::text::hex;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use sha2::{Digest, Sha512};
use std::borrow::Cow;

/// `contents` of a file.
#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Contents<'a> {
    #[serde(borrow)]
    source: Option<Text<'a>>,
    #[serde(borrow)]
    compression: Option<Text<'a>>,
    #[serde(borrow)]
    verification: Option<Verification<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Verification<'a> {
    #[serde(borrow)]
    hash: Option<Text<'a>>,
}

/// A wrapper, because serde borrows a `Cow` only as a field of its own and not inside an `Option`.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The text; `None` where it is absent or empty.
fn given<'a>(text: Option<&'a Text<'_>>) -> Option<&'a str> {
    text.map(|text| &*text.0).filter(|text| !text.is_empty())
}

impl Contents<'_> {
    /// The policy's bytes. Without a source the file is empty, as for Ignition.
    ///
    /// # Errors
    /// What is wrong, as a clause about the config: "carries the policy in ...".
    pub(super) fn policy(&self) -> Result<Vec<u8>, String> {
        let too_large = || format!("carries a policy of more than {MAX_BYTES} bytes");
        let raw = given(self.source.as_ref()).map_or(Ok(Vec::new()), decode)?;
        let bytes = match given(self.compression.as_ref()) {
            None => raw,
            Some("gzip") => gzip::unpack(&raw, MAX_BYTES).map_err(|error| match error {
                Unpack::Broken => undecodable("it is not gzip"),
                Unpack::TooLarge => too_large(),
            })?,
            Some(_) => return Err("carries the policy in an unknown compression".to_owned()),
        };
        if bytes.len() as u64 > MAX_BYTES {
            return Err(too_large());
        }
        if let Some(hash) = given(
            self.verification
                .as_ref()
                .and_then(|verification| verification.hash.as_ref()),
        ) {
            verify(&bytes, hash)?;
        }
        Ok(bytes)
    }
}

fn undecodable(why: &str) -> String {
    format!("carries the policy in a data URL that does not decode: {why}")
}

/// Decodes `data:[mediatype][;base64],DATA` (RFC 2397). The content of an `http:`, `s3:` or similar
/// source is not in the config.
fn decode(url: &str) -> Result<Vec<u8>, String> {
    let (scheme, rest) = url.split_once(':').unwrap_or_default();
    if !scheme.eq_ignore_ascii_case("data") {
        return Err("carries the policy as another URL than a data URL".to_owned());
    }
    let (kind, data) = rest
        .split_once(',')
        .ok_or_else(|| undecodable("there is no comma"))?;
    let bytes: Cow<'_, [u8]> = percent_encoding::percent_decode_str(data).into();
    if kind
        .rsplit(';')
        .next()
        .is_some_and(|last| last.eq_ignore_ascii_case("base64"))
    {
        STANDARD
            .decode(bytes)
            .map_err(|_| undecodable("it is not base64"))
    } else {
        Ok(bytes.into_owned())
    }
}

/// Checks the decompressed bytes against `sha512-HEX` or `sha256-HEX`.
fn verify(bytes: &[u8], hash: &str) -> Result<(), &'static str> {
    let (function, want) = hash.split_once('-').unwrap_or_default();
    let have = match function {
        "sha512" => hex(&Sha512::digest(bytes)),
        "sha256" => sha256_hex(bytes),
        _ => return Err("carries the policy with a verification hash of unknown form"),
    };
    if want.eq_ignore_ascii_case(&have) {
        Ok(())
    } else {
        Err("carries a policy that does not match its verification hash")
    }
}
