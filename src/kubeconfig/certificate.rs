//! The Node's name, from the kubelet's client certificate (pure).
//!
//! Only one name is needed, from a certificate that the cluster itself issued and its API server
//! checks anyway. So the certificate is parsed only as far as its subject.

use super::server::is_host_name;
use crate::node::der::{SEQUENCE, certificates, element, expect, subject};

/// id-at-commonName, 2.5.4.3, as DER content.
const COMMON_NAME: [u8; 3] = [0x55, 0x04, 0x03];

const SET: u8 = 0x31;
const OBJECT_IDENTIFIER: u8 = 0x06;

/// The `NAME` in the common name `system:node:NAME` of the first certificate in a PEM file. Keys in
/// that file are skipped.
///
/// # Errors
/// There is no certificate, or it is not a node's.
pub(crate) fn node_name(pem: &[u8]) -> Result<String, String> {
    let found = certificates(pem).unwrap_or_default();
    let der = found.first().ok_or("holds no certificate in PEM")?;
    let name = common_name(der).ok_or("is not an X.509 certificate")?;
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
    let mut subject = subject(der)?;
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
