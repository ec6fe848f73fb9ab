//! The Node's name, from the kubelet's client certificate (pure).
//!
//! An X.509 parser would take more space than the rest of the report. Only one name is needed, from
//! a certificate that the cluster itself issued and its API server checks anyway. So the
//! certificate is parsed only as far as its subject (DER; RFC 5280, section 4.1).

use super::server::is_host_name;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

/// id-at-commonName, 2.5.4.3, as DER content.
const COMMON_NAME: [u8; 3] = [0x55, 0x04, 0x03];

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT_IDENTIFIER: u8 = 0x06;
/// `[0] EXPLICIT`, the version of a TBSCertificate.
const VERSION: u8 = 0xa0;

/// The `NAME` in the common name `system:node:NAME` of the first certificate in a PEM file. Keys in
/// that file are skipped.
///
/// # Errors
/// There is no certificate, or it is not a node's.
pub(crate) fn node_name(pem: &[u8]) -> Result<String, String> {
    let der = CertificateDer::from_pem_slice(pem).map_err(|_| "holds no certificate in PEM")?;
    let name = common_name(&der).ok_or("is not an X.509 certificate")?;
    match name.strip_prefix("system:node:") {
        // Checked, because it becomes part of a URL.
        Some(node)
            if is_host_name(node)
                && !node.contains(|c: char| c.is_ascii_uppercase() || c == '_') =>
        {
            Ok(node.to_owned())
        }
        _ => Err(format!(
            "is not a node's: its common name is {:?}, not \"system:node:NAME\"",
            crate::text::printable_up_to(&name, 253)
        )),
    }
}

/// The last common name of the subject, the most specific one, as in Go's crypto/x509.
fn common_name(der: &[u8]) -> Option<String> {
    let (certificate, _) = expect(der, SEQUENCE)?;
    let (mut rest, _) = expect(certificate, SEQUENCE)?;
    if let Some((VERSION, _, after)) = element(rest) {
        rest = after;
    }
    // serialNumber, signature, issuer, validity
    for _ in 0..4 {
        (_, _, rest) = element(rest)?;
    }
    let (mut subject, _) = expect(rest, SEQUENCE)?;
    let mut found = None;
    while !subject.is_empty() {
        let (mut set, after) = expect(subject, SET)?;
        while !set.is_empty() {
            let (attribute, next) = expect(set, SEQUENCE)?;
            let (kind, value) = expect(attribute, OBJECT_IDENTIFIER)?;
            if kind == COMMON_NAME {
                let (_, text, _) = element(value)?;
                found = Some(String::from_utf8_lossy(text).into_owned());
            }
            set = next;
        }
        subject = after;
    }
    found
}

/// Parses an element that must have this tag: its content, and what follows.
fn expect(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    element(der)
        .filter(|(found, _, _)| *found == tag)
        .map(|(_, content, rest)| (content, rest))
}

/// Parses one element: its tag, its content, and what follows. Lengths must be definite and of at
/// most three bytes (X.690, section 10.1).
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x83 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (
                bytes
                    .iter()
                    .fold(0, |length, byte| length << 8 | usize::from(*byte)),
                rest,
            )
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}
